//! Logging in, whatever the protocol.
//!
//! In: bytes from a socket. Out: bytes for it, and at the end what the loop needs of the session.
//! Must never: let the loop see which protocol it is. A second protocol is a second variant here.

use crate::Channel;
use crate::ConnectError;
use crate::postgres::{self, Connector};

/// A log-in under way.
pub enum LogIn {
    /// PostgreSQL.
    Postgres(Connector),
}

/// How far it is.
#[derive(Debug)]
pub enum Progress {
    /// Send what was appended, come back with what arrives.
    More,
    /// Logged in. Send what was appended.
    Done(LoggedIn),
}

/// A session that is ready for its first statement.
#[derive(Debug)]
pub struct LoggedIn {
    /// What stands between the protocol and the socket from now on.
    pub channel: Channel,
    /// Bytes that came behind the log-in; hardly ever any.
    pub leftover: Vec<u8>,
    /// The session refuses writes, as far as the server has said.
    pub read_only: bool,
    /// The server is a standby, as far as it has said.
    pub standby: bool,
}

impl LogIn {
    /// The first bytes; call it once, when the socket is connected.
    ///
    /// # Errors
    /// The log-in cannot be expressed in the protocol.
    pub fn start(&mut self, to_socket: &mut Vec<u8>) -> Result<Progress, ConnectError> {
        let LogIn::Postgres(connector) = self;
        connector.start(to_socket).map(progress)
    }

    /// Takes bytes from the socket, split anywhere.
    ///
    /// # Errors
    /// The connection is of no further use. `to_socket` may hold a last word for the server.
    pub fn receive(
        &mut self,
        from_socket: &[u8],
        to_socket: &mut Vec<u8>,
    ) -> Result<Progress, ConnectError> {
        let LogIn::Postgres(connector) = self;
        connector.receive(from_socket, to_socket).map(progress)
    }

    /// Whether the conversation has come to run over TLS, or tried to.
    pub fn over_tls(&self) -> bool {
        let LogIn::Postgres(connector) = self;
        connector.over_tls()
    }
}

/// Servers before version 14 do not report what kind of session it is; the control connection has
/// asked them.
fn progress(progress: postgres::Progress) -> Progress {
    match progress {
        postgres::Progress::More => Progress::More,
        postgres::Progress::Done(session, channel) => {
            let on = |name| session.parameters.get(name) == Some("on");
            let standby = on("in_hot_standby");
            Progress::Done(LoggedIn {
                channel,
                read_only: standby || on("default_transaction_read_only"),
                standby,
                leftover: session.leftover,
            })
        }
    }
}
