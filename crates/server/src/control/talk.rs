//! A blocking connection that asks as users of the loop do: texts in any encoding, prepared statements,
//! replies of several results.
//!
//! In: requests, as `wire` makes them. Out: its replies. Must never: drive load, show a password.

use super::error::{Cause, Error};
use super::kind;
use super::open::{connect_by, converse, io_cause, step};
use super::route::Route;
use super::socket::{Deadline, Socket};
use crate::target::{SessionAttrs, Target};
use prony_wire::{Channel, Exchange, Fed, LoggedIn, QueryMode, SessionKind};
use std::io::IoSlice;
use std::time::Duration;

/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// A blocking connection on which requests are made as the loop makes them.
pub struct Talk {
    socket: Socket,
    channel: Channel,
    exchange: Exchange,
    /// The connection failed or ended; nothing more can be done with it.
    dead: bool,
    /// How long to wait for the server.
    patience: Deadline,
}

impl Talk {
    /// Connects to the first endpoint whose session is of the kind that the target asks for
    /// (`target_session_attrs`); statements are sent in this mode.
    ///
    /// # Errors
    /// [`Error::Connect`] with every failure on the way.
    pub fn connect(target: &Target, mode: QueryMode) -> Result<Talk, Error> {
        let one = |route, deadline| log_in(route, deadline, mode);
        let check = |(talk, kind): &mut (Talk, SessionKind), wanted, deadline| {
            talk.check(wanted, *kind, deadline)
        };
        connect_by(target, one, check).map(|(talk, _)| talk)
    }

    pub(super) fn new(socket: Socket, session: LoggedIn, mut exchange: Exchange) -> Talk {
        exchange.agree(session.agreed);
        // Only the end of the session can be here; what breaks the protocol shows with the first
        // reply.
        let _ = exchange.feed(&session.leftover);
        Talk {
            socket,
            channel: session.channel,
            exchange,
            dead: false,
            patience: Deadline::NEVER,
        }
    }

    /// Does the session suit? Its server is asked for what its log-in did not say.
    fn check(
        &mut self,
        wanted: SessionAttrs,
        said: SessionKind,
        deadline: Deadline,
    ) -> Result<(), Cause> {
        self.patience = deadline;
        kind::check(wanted, |aspect| match aspect.said(said) {
            Some(said) => Ok(said),
            None => {
                self.ask(|exchange| exchange.query(aspect.question()))?;
                let first = self.exchange.rows().next();
                Ok(kind::is_yes(first.and_then(|(_, row)| row.text(0))))
            }
        })?;
        self.patience = Deadline::NEVER;
        Ok(())
    }

    /// What the last reply holds, and which statements are prepared.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// A statement is not used any more: the server is told with a later request.
    pub fn close(&mut self, statement: &prony_wire::Statement) {
        self.exchange.close(statement);
    }

    /// Makes a request and waits for its reply, which [`Talk::exchange`] holds then.
    ///
    /// # Errors
    /// [`Error::Statement`] when the server refuses; the connection is then still good unless the error
    /// is fatal. Otherwise it is lost.
    pub fn ask(&mut self, request: impl FnOnce(&mut Exchange)) -> Result<(), Error> {
        if self.dead {
            return Err(Error::Dead);
        }
        request(&mut self.exchange);
        if let Err(error) = self.converse() {
            self.dead = true;
            // What the server said before it closed explains it better.
            return Err(match self.exchange.last_words() {
                Some(said) => Error::Statement(Box::new(said)),
                None => error,
            });
        }
        match self.exchange.error() {
            None => Ok(()),
            Some(error) => {
                self.dead = error.is_fatal();
                Err(Error::Statement(Box::new(error)))
            }
        }
    }

    fn converse(&mut self) -> Result<(), Error> {
        let sent = self.send();
        let (mut from_socket, mut plain) = (Vec::new(), Vec::new());
        loop {
            from_socket.clear();
            let received = self.socket.receive(&mut from_socket, self.patience);
            match received {
                Ok(0) => return Err(sent.err().unwrap_or(Error::Closed)),
                Ok(_) => {}
                Err(error) => return Err(closed(error)),
            }
            plain.clear();
            let mut answers = Vec::new();
            let taken = self.channel.receive(&from_socket, &mut plain, &mut answers);
            self.put(&answers)?;
            taken.map_err(Error::Tls)?;
            if plain.is_empty() {
                continue;
            }
            let fed = self.exchange.feed(&plain);
            match fed.map_err(|violation| Error::Violation(violation.to_string()))? {
                Fed::More => {}
                Fed::Send => self.send()?,
                Fed::Complete => return Ok(()),
            }
        }
    }

    fn send(&mut self) -> Result<(), Error> {
        if self.channel.is_plain() {
            return self.put(self.exchange.outgoing());
        }
        let mut sealed = Vec::new();
        self.channel.send(self.exchange.outgoing(), &mut sealed);
        self.put(&sealed)
    }

    fn put(&self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.socket
            .send_all(&mut [IoSlice::new(bytes)], self.patience, wait_for_reader)
            .map_err(closed)
    }
}

/// One attempt. The error says whether TLS was in play.
fn log_in(
    route: Route,
    deadline: Deadline,
    mode: QueryMode,
) -> Result<(Talk, SessionKind), (Cause, bool)> {
    let socket = Socket::connect(&route, deadline).map_err(|error| (io_cause(error), false))?;
    let mut log_in = route.log_in();
    let session = converse(&socket, deadline, |from_socket, to_socket| {
        step(&mut log_in, from_socket, to_socket)
    })
    .map_err(|cause| (cause, log_in.over_tls()))?;
    // How many columns a result has is told of each.
    let exchange = match route.connector() {
        Some(_) => Exchange::postgres(mode, true),
        None => Exchange::mysql(mode),
    };
    let kind = session.kind;
    Ok((Talk::new(socket, session, exchange), kind))
}

/// While the server does not read, it has something to say: it is read behind the request. A server
/// that says so much that it waits for us to read before it reads on does not exist: each command
/// is answered when it has been read.
fn wait_for_reader(_: &Socket) -> std::io::Result<()> {
    std::thread::sleep(Duration::from_millis(1));
    Ok(())
}

fn closed(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe => Error::Closed,
        _ => Error::Io(error),
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        if self.dead {
            return;
        }
        let mut goodbye = Vec::new();
        self.channel.send(self.exchange.farewell(), &mut goodbye);
        self.channel.close(&mut goodbye);
        let deadline = Deadline::after(Some(GOODBYE));
        let _ = self
            .socket
            .send_all(&mut [IoSlice::new(&goodbye)], deadline, |_| Ok(()));
    }
}
