//! Opens one connection over the routes that its target allows, logs in, and passes its bytes on.
//!
//! In: events of the socket. Out: whether the connection is up, or the failure of each route. Must never:
//! block; the result of anything that takes time arrives as an event.

use crate::clock::Clock;
use crate::io::{Io, Slot};
use prony_plan::splitmix64;
use prony_server::control::{
    AfterFailure, ConnectFailure, FailureCause, Route, mismatch, routes_to_endpoint,
};
use prony_server::{AddressRace, SessionAttrs, Target};
use prony_wire::login::LoginProgress;
use prony_wire::{Channel, PendingLogin, Session, SessionFlags, describe_tls_error};
use std::convert::Infallible;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Where a connection begins: an endpoint of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FirstEndpoint {
    /// Index of the target's routes.
    pub route_index: usize,
    /// Index of the endpoint among those of the target.
    pub endpoint: u16,
    /// How many of the endpoints after it may be tried.
    pub others: u16,
    /// Seed of a random order of the other hosts; `None`: the order of the list.
    pub shuffle: Option<u64>,
}

/// The routes to a server, shared by all links to it.
#[derive(Debug)]
pub struct Routes {
    /// The routes to each endpoint, in the order in which they are tried.
    by_endpoint: Vec<Vec<Route>>,
    /// The endpoints of each host.
    hosts: Vec<Range<usize>>,
    session: SessionAttrs,
    /// Time limit of one attempt.
    timeout: Duration,
    /// Which endpoint answers, if all are tried at once.
    race: Option<Arc<AddressRace>>,
}

impl Routes {
    /// The routes that a target allows.
    pub fn new(target: &Target) -> Self {
        let endpoints = target.endpoints.iter();
        Routes {
            by_endpoint: endpoints
                .map(|endpoint| routes_to_endpoint(target, endpoint))
                .collect(),
            hosts: target.hosts(),
            session: target.session_attrs(),
            timeout: target.connect_limit(),
            race: target.address_race().cloned(),
        }
    }

    /// The endpoints that are tried after the first, in this order: around the end of the list. In a random order of hosts,
    /// the addresses of a host stay together, after those of the first host.
    fn others(&self, first: FirstEndpoint) -> impl DoubleEndedIterator<Item = u16> {
        let count = self.by_endpoint.len();
        let start = usize::from(first.endpoint);
        let following = (1..=usize::from(first.others)).map(move |step| (start + step) % count);
        let mut others: Vec<usize> = following.collect();
        if let Some(seed) = first.shuffle {
            let host_of =
                |endpoint: usize| self.hosts.iter().position(|host| host.contains(&endpoint));
            let first_host = host_of(start);
            others.sort_by_cached_key(|endpoint| {
                let host = host_of(*endpoint);
                let rank = host.map(|host| splitmix64(&mut (seed ^ host as u64)));
                (host != first_host, rank)
            });
        }
        others.into_iter().map(|endpoint| endpoint as u16)
    }

    /// Whether all endpoints are tried at once.
    pub fn has_race(&self) -> bool {
        self.race.is_some()
    }

    /// Deadline of a part of an attempt that begins now.
    pub fn deadline_ns(&self, clock: &Clock, part: AttemptPart) -> u64 {
        let timeout = match &self.race {
            Some(_) if part == AttemptPart::Opening => self.timeout.min(AddressRace::OPENING_LIMIT),
            _ => self.timeout,
        };
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        clock.now_ns().saturating_add(timeout_ns)
    }
}

/// The parts of an attempt to connect that have a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptPart {
    /// The socket is connected; without a race of addresses, this deadline includes the login.
    Opening,
    Login,
}

/// State of a link.
enum Phase {
    Down,
    Opening,
    LoggingIn(Box<PendingLogin>),
    Up,
}

/// What became of a connection attempt after its latest event.
#[derive(Debug)]
pub enum LinkStep {
    /// The attempt continues with the next event.
    Waiting,
    /// The attempt continues with a computation: feed no bytes soon.
    Computing,
    /// The connection is up. Holds the session flags, and the bytes that followed the login.
    Up(SessionFlags, Vec<u8>),
    /// The server's queue of new connections is full at the moment.
    TryLater,
    /// Every route failed: see [`Link::failures`].
    Failed,
}

/// One connection, with or without TLS.
pub struct Link {
    phase: Phase,
    channel: Channel,
    /// The index of the endpoint that is being tried.
    endpoint_index: u16,
    /// The further endpoints that may be tried; the next one is the last.
    endpoints_left: Vec<u16>,
    /// The index of the route to that endpoint.
    route_index: u16,
    /// The failure of each route that the current attempt, or the last one, has tried.
    failures: Vec<ConnectFailure>,
    /// The route to the server to which a SQL Server routed the login.
    redirected: Option<Box<Route>>,
}

/// Buffers that the links of a worker share.
#[derive(Default)]
pub struct ScratchBuffers {
    /// Bytes from a socket that TLS has yet to decrypt.
    pub from_socket: Vec<u8>,
    /// Bytes to send: messages of a login, or encrypted data.
    to_socket: Vec<u8>,
    /// Decrypted bytes.
    plain: Vec<u8>,
}

impl Link {
    pub fn down() -> Self {
        Link {
            phase: Phase::Down,
            channel: Channel::Plain,
            endpoint_index: 0,
            endpoints_left: Vec::new(),
            route_index: 0,
            failures: Vec::new(),
            redirected: None,
        }
    }

    /// A link that is up over a channel.
    pub fn over(channel: Channel) -> Self {
        Link {
            phase: Phase::Up,
            channel,
            ..Link::down()
        }
    }

    pub fn into_channel(self) -> Channel {
        self.channel
    }

    /// The index of the endpoint of the connection, or of the latest attempt.
    pub fn endpoint_index(&self) -> u16 {
        self.endpoint_index
    }

    /// Whether the connection is up.
    pub fn is_up(&self) -> bool {
        matches!(self.phase, Phase::Up)
    }

    /// Whether the connection is neither up nor being opened.
    pub fn is_down(&self) -> bool {
        matches!(self.phase, Phase::Down)
    }

    /// Whether the socket is being connected, before the login.
    pub fn is_opening(&self) -> bool {
        matches!(self.phase, Phase::Opening)
    }

    /// Version and cipher of the connection's TLS, if it uses TLS.
    pub fn tls(&self) -> Option<String> {
        self.channel.description()
    }

    /// Why the last attempt failed, one failure for each route that was tried; also of one that succeeded on a later
    /// route.
    pub fn failures(&self) -> &[ConnectFailure] {
        &self.failures
    }

    /// Like [`Link::failures`]; the link forgets them.
    pub fn take_failures(&mut self) -> Vec<ConnectFailure> {
        std::mem::take(&mut self.failures)
    }

    /// Starts connecting, with the first route to the first of the endpoints, or to the one that won the race of addresses.
    pub fn begin(
        &mut self,
        io: &mut impl Io,
        slot: Slot,
        routes: &Routes,
        endpoints: FirstEndpoint,
    ) -> LinkStep {
        let count = routes.by_endpoint.len();
        let winner = routes.race.as_ref().map(|race| race.first_index(count));
        self.endpoint_index = winner.map_or(endpoints.endpoint, |winner| winner as u16);
        self.endpoints_left.clear();
        let others = routes.others(FirstEndpoint {
            endpoint: self.endpoint_index,
            ..endpoints
        });
        self.endpoints_left.extend(others.rev());
        self.route_index = 0;
        self.failures.clear();
        self.redirected = None;
        self.open(io, slot, routes)
    }

    /// Closes the connection; sends `closing_message` first if it is up.
    pub fn close(&mut self, io: &mut impl Io, slot: Slot, closing_message: &[u8]) {
        let mut encoded_message = Vec::new();
        if self.is_up() {
            self.channel.send(closing_message, &mut encoded_message);
        }
        io.close(slot, &encoded_message);
        self.phase = Phase::Down;
        self.channel = Channel::Plain;
    }

    /// Starts the login, once the socket is connected.
    pub fn on_socket_connected(
        &mut self,
        io: &mut impl Io,
        slot: Slot,
        routes: &Routes,
        scratch: &mut ScratchBuffers,
    ) -> LinkStep {
        if self.redirected.is_none()
            && let Some(race) = &routes.race
        {
            race.record_answer(self.endpoint_index.into());
        }
        let mut log_in = self.route(routes).new_login();
        scratch.to_socket.clear();
        let progress = log_in.start(&mut scratch.to_socket);
        self.phase = Phase::LoggingIn(Box::new(log_in));
        match progress {
            Ok(_) => {
                // If the server sends first, there is nothing to send.
                if !scratch.to_socket.is_empty() {
                    io.send(slot, &scratch.to_socket, false);
                }
                LinkStep::Waiting
            }
            Err(error) => self.try_next_route(io, slot, routes, FailureCause::Login(error)),
        }
    }

    /// Feeds bytes from the socket to the login. Ignores them if no login is in progress.
    pub fn feed_login(
        &mut self,
        bytes: &[u8],
        io: &mut impl Io,
        slot: Slot,
        routes: &Routes,
        scratch: &mut ScratchBuffers,
    ) -> LinkStep {
        let Phase::LoggingIn(log_in) = &mut self.phase else {
            return LinkStep::Waiting;
        };
        scratch.to_socket.clear();
        let progress = log_in.receive(bytes, &mut scratch.to_socket);
        if !scratch.to_socket.is_empty() {
            io.send(slot, &scratch.to_socket, false);
        }
        match progress {
            Ok(LoginProgress::More) => LinkStep::Waiting,
            Ok(LoginProgress::Computing) => LinkStep::Computing,
            Ok(LoginProgress::Done(session, channel)) => {
                if let Some(reason) = session_mismatch(&session, routes.session) {
                    return self.try_next_route(
                        io,
                        slot,
                        routes,
                        FailureCause::SessionMismatch(reason),
                    );
                }
                self.channel = channel;
                self.phase = Phase::Up;
                LinkStep::Up(session.flags, session.trailing_bytes)
            }
            Err(error) => self.try_next_route(io, slot, routes, FailureCause::Login(error)),
        }
    }

    /// Handles a socket that is closed while the link is connecting.
    pub fn on_socket_closed(
        &mut self,
        io: &mut impl Io,
        slot: Slot,
        routes: &Routes,
        errno: i32,
    ) -> LinkStep {
        // A unix socket with a full queue of new connections returns EAGAIN.
        if errno == libc::EAGAIN && matches!(self.phase, Phase::Opening) {
            self.close(io, slot, &[]);
            return LinkStep::TryLater;
        }
        let cause = match errno {
            0 => FailureCause::Closed,
            errno => FailureCause::Io(io::Error::from_raw_os_error(errno)),
        };
        self.try_next_route(io, slot, routes, cause)
    }

    /// Handles an attempt that took too long.
    pub fn on_timeout(&mut self, io: &mut impl Io, slot: Slot, routes: &Routes) -> LinkStep {
        self.try_next_route(io, slot, routes, FailureCause::Timeout)
    }

    /// Passes the bytes that arrived on a link that is up to `consume`, decrypted if the link uses TLS.
    pub fn receive<T>(
        &mut self,
        bytes: &[u8],
        io: &mut impl Io,
        slot: Slot,
        scratch: &mut ScratchBuffers,
        consume: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, String> {
        scratch.plain.clear();
        scratch.to_socket.clear();
        let ScratchBuffers {
            plain, to_socket, ..
        } = scratch;
        let received = self.channel.receive(bytes, plain, to_socket);
        if !to_socket.is_empty() {
            io.send(slot, to_socket, false);
        }
        received.map_err(|error| format!("SSL error: {}", describe_tls_error(&error)))?;
        Ok(consume(plain))
    }

    /// Sends a request. `request_timestamp`: whether to request the kernel's timestamp of its departure.
    pub fn send(
        &mut self,
        bytes: &[u8],
        request_timestamp: bool,
        io: &mut impl Io,
        slot: Slot,
        scratch: &mut ScratchBuffers,
    ) {
        if self.channel.is_plain() {
            return io.send(slot, bytes, request_timestamp);
        }
        scratch.to_socket.clear();
        self.channel.send(bytes, &mut scratch.to_socket);
        io.send(slot, &scratch.to_socket, request_timestamp);
    }

    /// Whether the connection does not use TLS: received bytes then need not pass through [`Link::receive`].
    pub fn is_plain(&self) -> bool {
        self.channel.is_plain()
    }

    fn route<'a>(&'a self, routes: &'a Routes) -> &'a Route {
        if let Some(redirected) = &self.redirected {
            return redirected;
        }
        &routes.by_endpoint[usize::from(self.endpoint_index)][usize::from(self.route_index)]
    }

    fn open(&mut self, io: &mut impl Io, slot: Slot, routes: &Routes) -> LinkStep {
        self.phase = Phase::Opening;
        let route = self.route(routes);
        match io.open(slot, &route.endpoint.address, &route.tcp) {
            Ok(()) => LinkStep::Waiting,
            Err(error) => self.try_next_route(io, slot, routes, FailureCause::Io(error)),
        }
    }

    /// Records a failure and tries the next route, or the endpoint to which the server redirected the login.
    /// Fails if the failure allows no further route, or none is left.
    fn try_next_route(
        &mut self,
        io: &mut impl Io,
        slot: Slot,
        routes: &Routes,
        cause: FailureCause,
    ) -> LinkStep {
        let route = self.route(routes);
        if let Some(redirected) = route.redirected(&cause) {
            self.close(io, slot, &[]);
            self.redirected = Some(Box::new(redirected));
            return self.open(io, slot, routes);
        }
        if self.redirected.is_none()
            && self.is_opening()
            && let Some(race) = &routes.race
        {
            race.record_failure(self.endpoint_index.into());
        }
        let over_tls = match &self.phase {
            Phase::LoggingIn(log_in) => log_in.uses_tls(),
            _ => false,
        };
        let next_attempt = route.after_failure(over_tls, &cause);
        let endpoint = Box::new(route.endpoint.clone());
        self.failures.push(ConnectFailure { endpoint, cause });
        self.close(io, slot, &[]);
        self.redirected = None;
        let more_routes = usize::from(self.route_index) + 1
            < routes.by_endpoint[usize::from(self.endpoint_index)].len();
        match next_attempt {
            AfterFailure::NextRoute if more_routes => self.route_index += 1,
            AfterFailure::NextEndpoint => match self.endpoints_left.pop() {
                Some(next) => {
                    self.endpoint_index = next;
                    self.route_index = 0;
                }
                None => return LinkStep::Failed,
            },
            _ => return LinkStep::Failed,
        }
        self.open(io, slot, routes)
    }
}

/// Why a session does not have the requested attributes (`target_session_attrs`); `None` if it has them.
/// Attributes that the login does not report count as false: the control connection has queried them.
fn session_mismatch(session: &Session, requested: SessionAttrs) -> Option<&'static str> {
    let Ok(result) = mismatch(requested, |property| {
        Ok::<_, Infallible>(property.reported(session).unwrap_or(false))
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_plan::SplitMix;
    use prony_server::{Environment, resolve};
    use std::collections::BTreeMap;

    #[test]
    fn the_others_follow_in_the_list_s_order_or_in_one_of_all_orders_of_hosts() {
        let url = "postgres://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3,127.0.0.1:4/d";
        let mut target = resolve(url, &Environment::without_home("ann")).expect("numeric");
        // A name with two addresses.
        let address = target.endpoints[1].clone();
        target.endpoints.insert(1, address);
        for endpoint in &mut target.endpoints {
            endpoint.host = format!("host{}", endpoint.port);
        }
        let routes = Routes::new(&target);
        let others = |endpoint, shuffle| -> Vec<u16> {
            let first = FirstEndpoint {
                endpoint,
                others: 4,
                shuffle,
                ..FirstEndpoint::default()
            };
            routes.others(first).collect()
        };
        assert_eq!(others(3, None), [4, 0, 1, 2]);
        let mut orders = BTreeMap::new();
        let mut random = SplitMix::new(1);
        for _ in 0..600 {
            let order = others(1, Some(random.number()));
            *orders.entry(order).or_insert(0) += 1;
        }
        assert_eq!(orders.len(), 6, "{orders:?}");
        for (order, count) in orders {
            assert_eq!(
                order[0], 2,
                "the second address of the same host: {order:?}"
            );
            // 100 are expected, plus or minus 9.
            assert!((55..145).contains(&count), "{order:?}: {count}");
        }
    }
}
