//! Cancelling what a session does.
//!
//! In: the key that the server gave the session. Out: a CancelRequest over a connection of its own.
//! Must never: use the session's own connection, which is busy.

use super::Cause;
use super::error::{Error, Failure};
use super::open::converse;
use super::route::Route;
use super::socket::{Deadline, Socket};
use prony_wire::postgres::CancelKey;
use std::io::IoSlice;
use std::time::Duration;

/// How long a request may take; the server answers it by closing.
const PATIENCE: Duration = Duration::from_secs(10);

/// Cancels what one session does, from any thread.
#[derive(Clone, Debug)]
pub struct Canceller {
    route: Box<Route>,
    key: CancelKey,
    over_tls: bool,
}

impl Canceller {
    /// For a session opened over this route. `over_tls`: its connection uses TLS; then the request
    /// does too, so that nobody reads the key on the way.
    pub fn new(route: Route, key: CancelKey, over_tls: bool) -> Canceller {
        Canceller {
            route: Box::new(route),
            key,
            over_tls,
        }
    }

    /// Asks the server to end the session's current statement with an error (57014), and waits
    /// until it has taken the request. Whether it comes in time is uncertain by nature.
    ///
    /// # Errors
    /// The server could not be reached.
    pub fn cancel(&self) -> Result<(), Error> {
        self.request().map_err(|cause| {
            let endpoint = Box::new(self.route.endpoint.clone());
            Error::Connect(vec![Failure { endpoint, cause }])
        })
    }

    fn request(&self) -> Result<(), Cause> {
        let deadline = Deadline::after(Some(PATIENCE));
        let socket = Socket::connect(&self.route.endpoint.address, deadline).map_err(Cause::Io)?;
        let mut connector = self.route.cancel_connector(self.key.clone(), self.over_tls);
        let (_, mut channel) = converse(&socket, &mut connector, deadline)?;
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
