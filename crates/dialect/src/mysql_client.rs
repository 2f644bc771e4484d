//! Error numbers and messages of the client libraries of MySQL and MariaDB.
//!
//! In: errors of a target or of attempts to connect. Out: the texts of MariaDB's library. Must never:
//! connect, or print a password.

use crate::sysbench::Endpoint;
use prony_server::control::{ConnectFailure, FailureCause};
use prony_server::{Address, Error};
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

/// The number and the message of the error of an endpoint that cannot be used.
pub fn target_error(error: &Error, endpoint: &Endpoint) -> (u32, String) {
    match (error, endpoint) {
        // -2 is EAI_NONAME.
        (Error::NoAddress { .. }, Endpoint::Host(host, _)) => {
            (UNKNOWN_HOST, format!("Unknown server host '{host}' (-2)"))
        }
        (Error::File { .. } | Error::Tls { .. }, _) => (SSL_CONNECTION_ERROR, error.to_string()),
        (other, _) => (CONNECTION_ERROR, other.to_string()),
    }
}

/// The number and the message of the error of a failed attempt to connect to an endpoint.
pub fn connect_error(failure: &ConnectFailure, endpoint: &Endpoint) -> (u32, String) {
    match &failure.cause {
        FailureCause::Login(error) => match error.server_error() {
            Some(error) => (error.number, error.message.clone()),
            None => (SSL_CONNECTION_ERROR, error.to_string()),
        },
        FailureCause::Io(error) => (CONNECTION_ERROR, io_message(failure, endpoint, error)),
        other => (
            SERVER_LOST,
            format!("Lost connection to server at 'handshake': {other}"),
        ),
    }
}

/// The message if nothing answers at the address of an attempt.
fn io_message(failure: &ConnectFailure, endpoint: &Endpoint, error: &io::Error) -> String {
    let errno = error.raw_os_error().unwrap_or(0);
    match (&failure.endpoint.address, endpoint) {
        (Address::Unix(path), _) => {
            let path = path.display();
            format!("Can't connect to local server through socket '{path}' ({errno})")
        }
        // A socket is never tried over TCP.
        (Address::Tcp(_), Endpoint::Host(name, _) | Endpoint::Socket(name)) => {
            format!("Can't connect to server on '{name}' ({errno})")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_without_a_socket_names_the_default_socket() {
        let path = "/var/run/mysqld/mysqld.sock";
        let failure = |address: Address| ConnectFailure {
            endpoint: Box::new(prony_server::Endpoint {
                address,
                host: "localhost".to_owned(),
                port: 3306,
                password: None,
            }),
            cause: FailureCause::Io(io::Error::from_raw_os_error(2)),
        };
        let localhost = Endpoint::Host("localhost".to_owned(), 3306);
        let text = |address| connect_error(&failure(address), &localhost).1;
        assert_eq!(
            text(Address::Unix(path.into())),
            format!("Can't connect to local server through socket '{path}' (2)")
        );
        assert_eq!(
            text(Address::Tcp("127.0.0.1:3306".parse().expect("an address"))),
            "Can't connect to server on 'localhost' (2)"
        );
    }
}
