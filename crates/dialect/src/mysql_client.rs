//! Error numbers and messages of the client libraries of MySQL and MariaDB.
//!
//! In: errors of a target or of attempts to connect. Out: the texts of MariaDB's library. Must never:
//! connect, or print a password.

use crate::sysbench::Endpoint;
use prony_server::Error;
use prony_server::control::{ConnectFailure, FailureCause};
use std::io;

/// CR_CONNECTION_ERROR: the server does not answer.
pub const CONNECTION_ERROR: u32 = 2002;
/// CR_UNKNOWN_HOST: the host has no address.
const UNKNOWN_HOST: u32 = 2005;
/// CR_SERVER_LOST: the connection ends during login.
pub const SERVER_LOST: u32 = 2013;
/// CR_SSL_CONNECTION_ERROR: login fails on the client's side, or the server's answer violates the protocol.
const SSL_CONNECTION_ERROR: u32 = 2026;
/// CR_AUTH_PLUGIN_CANNOT_LOAD: the client does not have the authentication plugin.
pub const AUTH_PLUGIN_CANNOT_LOAD: u32 = 2059;

/// The error of an endpoint that cannot be used.
pub fn target_error(error: &Error, endpoint: &Endpoint) -> (u32, String) {
    match (error, endpoint) {
        (Error::NoAddress { .. }, Endpoint::Host(host, _)) => {
            (UNKNOWN_HOST, format!("Unknown server host '{host}' (-2)"))
        }
        (Error::File { .. } | Error::Tls { .. }, _) => (SSL_CONNECTION_ERROR, error.to_string()),
        (other, _) => (CONNECTION_ERROR, other.to_string()),
    }
}

/// The error of a failed attempt to connect to an endpoint.
pub fn connect_error(failure: &ConnectFailure, endpoint: &Endpoint) -> (u32, String) {
    match &failure.cause {
        FailureCause::Login(error) => match error.server_error() {
            Some(error) => (error.number, error.message.clone()),
            None => (SSL_CONNECTION_ERROR, error.to_string()),
        },
        FailureCause::Io(error) => (CONNECTION_ERROR, connection_error(endpoint, error)),
        other => (
            SERVER_LOST,
            format!("Lost connection to server at 'handshake': {other}"),
        ),
    }
}

fn connection_error(endpoint: &Endpoint, error: &io::Error) -> String {
    let errno = error.raw_os_error().unwrap_or(0);
    match endpoint {
        Endpoint::Socket(path) => {
            format!("Can't connect to local server through socket '{path}' ({errno})")
        }
        Endpoint::Host(host, _) => format!("Can't connect to server on '{host}' ({errno})"),
    }
}
