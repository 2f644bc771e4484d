//! Cancelling what a session does.
//!
//! In: the key or number that the server gave the session. Out: a CancelRequest, or `KILL QUERY`, over
//! a connection of its own.
//! Must never: use the session's own connection, which is busy.

use super::Cause;
use super::error::{Error, Failure};
use super::open::{converse, log_in, postgres_step};
use super::route::Route;
use super::socket::{Deadline, Socket};
use prony_wire::postgres::CancelKey;
use std::io::IoSlice;
use std::time::Duration;

/// How long a request may take; the server answers it by closing.
const PATIENCE: Duration = Duration::from_secs(10);

/// MySQL's error for a connection that is not there (ER_NO_SUCH_THREAD).
const NO_SUCH_THREAD: u16 = 1094;

/// Cancels what one session does, from any thread.
#[derive(Clone, Debug)]
pub struct Canceller {
    route: Box<Route>,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// PostgreSQL's.
    Request { key: CancelKey, over_tls: bool },
    /// MySQL's: the number of the connection.
    Kill(u32),
}

impl Canceller {
    /// For a session opened over this route. `over_tls`: its connection uses TLS; then the request
    /// does too, so that nobody reads the key on the way.
    pub fn new(route: Route, key: CancelKey, over_tls: bool) -> Canceller {
        Canceller {
            route: Box::new(route),
            what: What::Request { key, over_tls },
        }
    }

    /// For the session with MySQL or MariaDB of this number, opened over this route.
    pub fn kill_query(route: Route, connection_id: u32) -> Canceller {
        Canceller {
            route: Box::new(route),
            what: What::Kill(connection_id),
        }
    }

    /// Asks the server to end the session's current statement with an error (57014), and waits
    /// until it has taken the request. Whether it comes in time is uncertain by nature.
    ///
    /// # Errors
    /// The server could not be reached.
    pub fn cancel(&self) -> Result<(), Error> {
        let deadline = Deadline::after(Some(PATIENCE));
        let done = match &self.what {
            What::Request { key, over_tls } => self.request(key.clone(), *over_tls, deadline),
            What::Kill(number) => match log_in((*self.route).clone(), deadline) {
                // A connection that is gone needs no cancelling.
                Ok(mut control) => match control.execute(&format!("KILL QUERY {number}")) {
                    Err(Error::Statement(error)) if error.number == NO_SUCH_THREAD => return Ok(()),
                    outcome => return outcome.map(drop),
                },
                Err((cause, _)) => Err(cause),
            },
        };
        done.map_err(|cause| {
            let endpoint = Box::new(self.route.endpoint.clone());
            Error::Connect(vec![Failure { endpoint, cause }])
        })
    }

    fn request(&self, key: CancelKey, over_tls: bool, deadline: Deadline) -> Result<(), Cause> {
        let socket = Socket::connect(&self.route, deadline).map_err(Cause::Io)?;
        let mut connector = self.route.cancel_connector(key, over_tls);
        let (_, mut channel) = converse(&socket, deadline, |from_socket, to_socket| {
            postgres_step(&mut connector, from_socket, to_socket)
        })?;
        let mut goodbye = Vec::new();
        channel.close(&mut goodbye);
        let _ = socket.send_all(&mut [IoSlice::new(&goodbye)], deadline, |_| Ok(()));
        // The server closes when it has passed the signal on; any end is as good.
        let mut rest = Vec::new();
        while matches!(socket.receive(&mut rest, deadline), Ok(1..)) {
            rest.clear();
        }
        Ok(())
    }
}
