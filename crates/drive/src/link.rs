//! One connection's way from nothing to logged in, and its bytes after that.
//!
//! In: events of its socket. Out: whether it is up, or every failure on the way. Must never: wait;
//! whatever takes time comes back as an event.

use crate::clock::Clock;
use crate::io::{Io, Slot};
use prony_server::control::{Cause, Failure, Next, Route, attempts, unfit};
use prony_server::{SessionAttrs, Target};
use prony_wire::log_in::Progress;
use prony_wire::{Agreed, Channel, LogIn, LoggedIn};
use std::convert::Infallible;
use std::io;
use std::time::Duration;

/// The ways to a server, shared by all links to it.
#[derive(Debug)]
pub struct Routes {
    endpoints: Vec<Vec<Route>>,
    session: SessionAttrs,
    /// Time for one attempt.
    timeout: Option<Duration>,
}

impl Routes {
    /// The ways that a target allows.
    pub fn new(target: &Target) -> Self {
        let endpoints = target.endpoints.iter();
        Routes {
            endpoints: endpoints
                .map(|endpoint| attempts(target, endpoint))
                .collect(),
            session: target.session,
            timeout: target.connect_timeout,
        }
    }

    /// When an attempt that begins now has taken too long.
    pub fn deadline_ns(&self, clock: &Clock) -> u64 {
        self.timeout.map_or(u64::MAX, |timeout| {
            clock.now_ns().saturating_add(timeout.as_nanos() as u64)
        })
    }
}

/// Where a link is.
enum Phase {
    Down,
    Opening,
    LoggingIn(Box<LogIn>),
    Up,
}

/// What became of a step.
#[derive(Debug)]
pub enum Step {
    /// Wait for the next event.
    Waiting,
    /// The connection is up: what its log-in has settled, and bytes that came behind it.
    Up(Agreed, Vec<u8>),
    /// The server's queue of new connections is full for the moment.
    TryLater,
    /// No way leads there: why, for each that was tried.
    Failed(Vec<Failure>),
}

/// One connection.
pub struct Link {
    phase: Phase,
    channel: Channel,
    endpoint: u16,
    attempt: u16,
    failures: Vec<Failure>,
}

/// Buffers that the links of a worker share.
#[derive(Default)]
pub struct Scratch {
    /// Bytes of a socket on their way through TLS.
    pub from_socket: Vec<u8>,
    to_socket: Vec<u8>,
    plain: Vec<u8>,
}

impl Link {
    /// A link that is down.
    pub fn down() -> Self {
        Link {
            phase: Phase::Down,
            channel: Channel::Plain,
            endpoint: 0,
            attempt: 0,
            failures: Vec::new(),
        }
    }

    /// Whether it is up.
    pub fn is_up(&self) -> bool {
        matches!(self.phase, Phase::Up)
    }

    /// Whether nothing is there or under way.
    pub fn is_down(&self) -> bool {
        matches!(self.phase, Phase::Down)
    }

    /// Whether an attempt has just begun.
    pub fn is_opening(&self) -> bool {
        matches!(self.phase, Phase::Opening)
    }

    /// Version and cipher of its TLS.
    pub fn tls(&self) -> Option<String> {
        self.channel.description()
    }

    /// Begins to connect, from the first endpoint.
    pub fn begin(&mut self, io: &mut impl Io, slot: Slot, routes: &Routes) -> Step {
        self.endpoint = 0;
        self.attempt = 0;
        self.failures.clear();
        self.open(io, slot, routes)
    }

    /// Closes it, with these last words if it is up.
    pub fn close(&mut self, io: &mut impl Io, slot: Slot, words: &[u8]) {
        let mut farewell = Vec::new();
        if self.is_up() {
            self.channel.send(words, &mut farewell);
        }
        io.close(slot, &farewell);
        self.phase = Phase::Down;
        self.channel = Channel::Plain;
    }

    /// The socket is connected.
    pub fn opened(
        &mut self,
        io: &mut impl Io,
        slot: Slot,
        routes: &Routes,
        scratch: &mut Scratch,
    ) -> Step {
        let mut log_in = self.route(routes).log_in();
        scratch.to_socket.clear();
        let begun = log_in.start(&mut scratch.to_socket);
        self.phase = Phase::LoggingIn(Box::new(log_in));
        match begun {
            Ok(_) => {
                // Where the server speaks first there is nothing to send.
                if !scratch.to_socket.is_empty() {
                    io.send(slot, &scratch.to_socket, false);
                }
                Step::Waiting
            }
            Err(error) => self.next(io, slot, routes, Cause::Login(error)),
        }
    }

    /// Bytes for the log-in.
    pub fn log_in(
        &mut self,
        bytes: &[u8],
        io: &mut impl Io,
        slot: Slot,
        routes: &Routes,
        scratch: &mut Scratch,
    ) -> Step {
        let Phase::LoggingIn(log_in) = &mut self.phase else {
            return Step::Waiting;
        };
        scratch.to_socket.clear();
        let progress = log_in.receive(bytes, &mut scratch.to_socket);
        if !scratch.to_socket.is_empty() {
            io.send(slot, &scratch.to_socket, false);
        }
        match progress {
            Ok(Progress::More) => Step::Waiting,
            Ok(Progress::Done(session)) => {
                if let Some(misfit) = misfit(&session, routes.session) {
                    return self.next(io, slot, routes, Cause::Session(misfit));
                }
                self.channel = session.channel;
                self.phase = Phase::Up;
                self.failures = Vec::new();
                Step::Up(session.agreed, session.leftover)
            }
            Err(error) => self.next(io, slot, routes, Cause::Login(error)),
        }
    }

    /// The socket is closed while the link is on its way.
    pub fn failed(&mut self, io: &mut impl Io, slot: Slot, routes: &Routes, errno: i32) -> Step {
        // A unix socket with a full queue of new connections says "try again".
        if errno == libc::EAGAIN && matches!(self.phase, Phase::Opening) {
            self.close(io, slot, &[]);
            return Step::TryLater;
        }
        let cause = match errno {
            0 => Cause::Closed,
            errno => Cause::Io(io::Error::from_raw_os_error(errno)),
        };
        self.next(io, slot, routes, cause)
    }

    /// The attempt took too long.
    pub fn timed_out(&mut self, io: &mut impl Io, slot: Slot, routes: &Routes) -> Step {
        self.next(io, slot, routes, Cause::Timeout)
    }

    /// Takes what arrived on a link that is up, through TLS if there is any, and hands it on.
    ///
    /// # Errors
    /// Why the connection is of no further use.
    pub fn receive<T>(
        &mut self,
        bytes: &[u8],
        io: &mut impl Io,
        slot: Slot,
        scratch: &mut Scratch,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, String> {
        scratch.plain.clear();
        scratch.to_socket.clear();
        let Scratch {
            plain, to_socket, ..
        } = scratch;
        let received = self.channel.receive(bytes, plain, to_socket);
        if !to_socket.is_empty() {
            io.send(slot, to_socket, false);
        }
        received.map_err(|error| format!("TLS failed: {error}"))?;
        Ok(take(plain))
    }

    /// Sends a request.
    pub fn send(
        &mut self,
        bytes: &[u8],
        stamp: bool,
        io: &mut impl Io,
        slot: Slot,
        scratch: &mut Scratch,
    ) {
        if self.channel.is_plain() {
            return io.send(slot, bytes, stamp);
        }
        scratch.to_socket.clear();
        self.channel.send(bytes, &mut scratch.to_socket);
        io.send(slot, &scratch.to_socket, stamp);
    }

    /// Whether bytes pass unchanged, so that [`Link::receive`] may be skipped.
    pub fn is_plain(&self) -> bool {
        self.channel.is_plain()
    }

    fn route<'a>(&self, routes: &'a Routes) -> &'a Route {
        &routes.endpoints[usize::from(self.endpoint)][usize::from(self.attempt)]
    }

    fn open(&mut self, io: &mut impl Io, slot: Slot, routes: &Routes) -> Step {
        self.phase = Phase::Opening;
        let route = self.route(routes);
        match io.open(slot, &route.endpoint.address, &route.tcp) {
            Ok(()) => Step::Waiting,
            Err(error) => self.next(io, slot, routes, Cause::Io(error)),
        }
    }

    /// Goes on to the next way, if the failure leads to one.
    fn next(&mut self, io: &mut impl Io, slot: Slot, routes: &Routes, cause: Cause) -> Step {
        let route = self.route(routes);
        let over_tls = match &self.phase {
            Phase::LoggingIn(log_in) => log_in.over_tls(),
            _ => false,
        };
        let next = route.after_failure(over_tls, &cause);
        self.failures.push(Failure {
            endpoint: Box::new(route.endpoint.clone()),
            cause,
        });
        self.close(io, slot, &[]);
        let more_attempts =
            usize::from(self.attempt) + 1 < routes.endpoints[usize::from(self.endpoint)].len();
        let more_endpoints = usize::from(self.endpoint) + 1 < routes.endpoints.len();
        match next {
            Next::Attempt if more_attempts => self.attempt += 1,
            Next::Endpoint if more_endpoints => {
                self.endpoint += 1;
                self.attempt = 0;
            }
            _ => return Step::Failed(std::mem::take(&mut self.failures)),
        }
        self.open(io, slot, routes)
    }
}

/// Why a session is not of the kind that is wanted. What its log-in did not say the control connection has
/// asked.
fn misfit(session: &LoggedIn, wanted: SessionAttrs) -> Option<&'static str> {
    let Ok(misfit) = unfit(wanted, |aspect| {
        Ok::<_, Infallible>(aspect.said(session.kind).unwrap_or(false))
    });
    misfit
}
