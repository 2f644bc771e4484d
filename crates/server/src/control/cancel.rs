//! Cancels a session's current statement.
//!
//! In: the session's cancel key or connection id. Out: a CancelRequest or `KILL QUERY` over a new connection; for
//! SQL Server an attention, which the thread that waits for the reply sends on the session's own connection, then
//! `KILL`. Must never: write to the session's own connection, which another thread is using.

use super::FailureCause;
use super::connect_failure::ConnectFailure;
use super::error::Error;
use super::open::{cause_of_io_error, log_in, run_login};
use super::route::Route;
use super::socket::{Deadline, Socket};
use super::waiting::AttentionRequest;
use prony_wire::{CancelKey, PendingLogin, QueryMode};
use std::time::Duration;

/// Time limit for a cancel request; the server answers it by closing the connection.
const TIMEOUT: Duration = Duration::from_secs(10);

/// MySQL's error for a connection that does not exist (ER_NO_SUCH_THREAD).
const NO_SUCH_THREAD: u32 = 1094;
/// SQL Server's error for a session that does not exist ("is not an active process ID").
const NO_SUCH_PROCESS: u32 = 6106;

/// Cancels the statement of one session, from any thread.
#[derive(Clone, Debug)]
pub struct Canceller {
    route: Box<Route>,
    method: CancelMethod,
}

#[derive(Clone, Debug)]
pub(super) enum CancelMethod {
    /// PostgreSQL's CancelRequest. `over_tls`: the session's connection uses TLS, so the request does too, to
    /// protect the key.
    Request { key: CancelKey, over_tls: bool },
    /// MySQL's `KILL QUERY` with the connection id.
    KillQuery(u32),
    /// For the SQL Server session with this id. The first cancel asks for an attention, which cancels the statement
    /// alone and needs no permission. If a statement runs on, because the connection is stuck or the server ignores
    /// attentions, further cancels end the whole session by `KILL`, for which the login needs the permission ALTER
    /// ANY CONNECTION.
    AttentionThenKill(u32, AttentionRequest),
}

impl Canceller {
    /// A handle for a session that was opened over this route.
    pub(super) fn new(route: Route, method: CancelMethod) -> Canceller {
        Canceller {
            route: Box::new(route),
            method,
        }
    }

    /// Requests that the server end the session's current statement with an error, and waits until it has
    /// accepted the request; for an attention it does not wait. The statement may still end normally first.
    pub fn cancel(&self) -> Result<(), Error> {
        let deadline = Deadline::after(Some(TIMEOUT));
        match &self.method {
            CancelMethod::Request { key, over_tls } => self
                .send_cancel_request(key.clone(), *over_tls, deadline)
                .map_err(|cause| self.failure(cause)),
            CancelMethod::KillQuery(id) => {
                self.kill(&format!("KILL QUERY {id}"), NO_SUCH_THREAD, deadline)
            }
            CancelMethod::AttentionThenKill(_, attention) if attention.request() => Ok(()),
            CancelMethod::AttentionThenKill(id, _) => {
                self.kill(&format!("KILL {id}"), NO_SUCH_PROCESS, deadline)
            }
        }
    }

    /// Runs a statement on another connection. `gone`: the server's error if there is no such session.
    fn kill(&self, statement: &str, gone: u32, deadline: Deadline) -> Result<(), Error> {
        let mut opened = log_in((*self.route).clone(), deadline, QueryMode::Simple)
            .map_err(|failed| self.failure(failed.failure.cause))?;
        let reply = opened
            .connection
            .request(|exchange| exchange.query(statement));
        match reply {
            // A connection that no longer exists needs no cancel.
            Err(Error::Statement(error)) if error.number == gone => Ok(()),
            outcome => outcome,
        }
    }

    fn failure(&self, cause: FailureCause) -> Error {
        let endpoint = Box::new(self.route.endpoint.clone());
        Error::Connect(vec![ConnectFailure { endpoint, cause }])
    }

    fn send_cancel_request(
        &self,
        key: CancelKey,
        over_tls: bool,
        deadline: Deadline,
    ) -> Result<(), FailureCause> {
        let socket = Socket::connect(&self.route, deadline).map_err(cause_of_io_error)?;
        let connector = self.route.cancel_connector(key, over_tls);
        let mut login = PendingLogin::Postgres(Box::new(connector));
        let (_, mut channel) = run_login(&socket, deadline, &mut login)?;
        let mut closing_message = Vec::new();
        channel.close(&mut closing_message);
        let _ = socket.send_all(&closing_message, deadline);
        // The server closes the connection once it has signalled the backend; ignore errors until then.
        let mut ignored = Vec::new();
        while matches!(socket.receive(&mut ignored, deadline), Ok(1..)) {
            ignored.clear();
        }
        Ok(())
    }
}
