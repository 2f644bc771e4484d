//! What can go wrong with a control connection, in the words that users of libpq know.
//!
//! In: causes. Out: text for a person: what failed, then what to do. Must never: show a password
//! or a statement, which may contain one.

use crate::target::{Address, Endpoint};
use prony_wire::{ConnectError, ServerError};
use rustls::{CertificateError, Error as TlsError};
use std::fmt;
use std::io;

/// A failure of the control connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No endpoint could be used; one failure for each attempt, in order. Never empty.
    #[error("{}", lines(.0))]
    Connect(Vec<Failure>),
    /// The server refused a statement. The connection is still good unless the error is fatal.
    #[error("{0}")]
    Statement(Box<ServerError>),
    /// The connection ended under a statement.
    #[error(
        "server closed the connection unexpectedly\n\tThis probably means the server terminated \
         abnormally\n\tbefore or while processing the request."
    )]
    Closed,
    /// The socket failed.
    #[error("the connection to the server was lost: {0}")]
    Io(io::Error),
    /// The TLS layer failed after the log-in.
    #[error("SSL error: {0}")]
    Tls(TlsError),
    /// The server sent what the protocol does not allow here.
    #[error("the server's answer breaks the PostgreSQL protocol: {0}")]
    Protocol(String),
    /// The server broke its protocol.
    #[error("{0}")]
    Violation(String),
    /// The statement cannot be sent this way.
    #[error("{0}")]
    Usage(&'static str),
    /// The connection had already failed.
    #[error("the connection to the server is closed; open a new one")]
    Dead,
}

impl Error {
    /// The server's own error, where there is one; of several attempts the last.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            Error::Statement(error) => Some(error),
            Error::Connect(failures) => {
                failures
                    .iter()
                    .rev()
                    .find_map(|failure| match &failure.cause {
                        Cause::Login(error) => error.server(),
                        _ => None,
                    })
            }
            _ => None,
        }
    }

    /// The SQLSTATE, where the server gave one.
    pub fn sqlstate(&self) -> Option<&str> {
        self.server().map(ServerError::code)
    }

    /// What the user can do about a statement that MySQL or MariaDB refuses, where we know. The text
    /// of attempts to connect has its hints in it, and PostgreSQL sends its own.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::Statement(error) => hint_for_number(error.number),
            _ => None,
        }
    }

    /// Whether the connection is of no further use.
    pub fn is_lost(&self) -> bool {
        match self {
            Error::Statement(error) => error.is_fatal(),
            Error::Usage(_) => false,
            _ => true,
        }
    }
}

/// One paragraph a failure; a hint that holds for several in a row stands behind the last.
fn lines(failures: &[Failure]) -> String {
    let mut text = String::new();
    for (index, failure) in failures.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        text.push_str(&failure.to_string());
        let next = failures.get(index + 1).and_then(Failure::hint);
        if let Some(hint) = failure.hint().filter(|hint| next != Some(hint)) {
            text.push_str("\n\t");
            text.push_str(hint);
        }
    }
    text
}

/// One failed attempt to connect.
#[derive(Debug)]
pub struct Failure {
    /// Where to.
    pub endpoint: Box<Endpoint>,
    /// Why not.
    pub cause: Cause,
}

/// Why an attempt to connect failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The socket could not be connected.
    Io(io::Error),
    /// `connect_timeout` passed.
    Timeout,
    /// The server closed the connection during the log-in.
    Closed,
    /// The log-in failed.
    Login(ConnectError),
    /// `target_session_attrs` asks for another kind of session.
    Session(&'static str),
    /// The session could not be asked what kind it is.
    SessionUnknown(Box<Error>),
}

/// As libpq words it, without the hint.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Endpoint {
            address,
            host,
            port,
            ..
        } = &*self.endpoint;
        match address {
            Address::Unix(path) => {
                write!(f, "connection to server on socket \"{}\"", path.display())?;
            }
            Address::Tcp(address) => {
                let ip = address.ip().to_string();
                let host = if host.is_empty() { &ip } else { host };
                write!(f, "connection to server at \"{host}\"")?;
                if *host != ip {
                    write!(f, " ({ip})")?;
                }
                write!(f, ", port {port}")?;
            }
        }
        write!(f, " failed: {}", self.cause)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Io(error) => match error.raw_os_error() {
                // Without Rust's "(os error 111)".
                Some(_) => f.write_str(error.to_string().split(" (os error").next().unwrap_or("")),
                None => write!(f, "{error}"),
            },
            Cause::Timeout => f.write_str("timeout expired"),
            Cause::Closed => f.write_str("server closed the connection unexpectedly"),
            Cause::Login(error) => write!(f, "{error}"),
            Cause::Session(text) => f.write_str(text),
            Cause::SessionUnknown(error) => write!(f, "{error}"),
        }
    }
}

impl Failure {
    /// What the user can do, where we know.
    pub fn hint(&self) -> Option<&'static str> {
        match &self.cause {
            Cause::Io(error) => self.hint_for_socket(error.kind()),
            Cause::Timeout => Some(
                "Does the host exist, and does no firewall drop its packets? \
                 connect_timeout sets how long to wait.",
            ),
            Cause::Closed => Some(
                "This probably means the server terminated abnormally, or that another kind of \
                 server listens there.",
            ),
            Cause::Login(error) => hint_for_login(error),
            Cause::Session(_) => Some("target_session_attrs asks for another kind of session."),
            Cause::SessionUnknown(_) => None,
        }
    }

    fn hint_for_socket(&self, kind: io::ErrorKind) -> Option<&'static str> {
        use io::ErrorKind::{ConnectionRefused, NotFound, PermissionDenied};
        match (&self.endpoint.address, kind) {
            (Address::Unix(_), ConnectionRefused | NotFound) => {
                Some("Is the server running locally and accepting connections on that socket?")
            }
            (Address::Unix(_), PermissionDenied) => {
                Some("The socket's permissions (unix_socket_permissions) do not admit this user.")
            }
            (Address::Tcp(_), ConnectionRefused) => {
                Some("Is the server running on that host and accepting TCP/IP connections?")
            }
            _ => None,
        }
    }
}

fn hint_for_login(error: &ConnectError) -> Option<&'static str> {
    match error {
        ConnectError::Server(error) if error.number > 0 => hint_for_number(error.number),
        ConnectError::Server(error) => hint_for_sqlstate(&error.code),
        ConnectError::PasswordNeeded => Some(
            "The server asks for a password: give it in PGPASSWORD or the password file \
             (~/.pgpass), or in the URL.",
        ),
        ConnectError::TlsUnsupported => Some(
            "Turn TLS on in the server (PostgreSQL: ssl = on; MySQL and MariaDB: ssl-cert and \
             ssl-key), or use sslmode=prefer (MySQL: ssl-mode=PREFERRED) to go without.",
        ),
        ConnectError::Tls(error) => hint_for_tls(error),
        ConnectError::AlpnMissing => {
            Some("sslnegotiation=direct needs PostgreSQL 17 or later; leave it out.")
        }
        ConnectError::AuthUnsupported(_) => Some(
            "Prony speaks trust, password, md5 and scram-sha-256; the server's pg_hba.conf chooses.",
        ),
        ConnectError::AuthExcluded(_) => Some("require_auth does not admit it."),
        ConnectError::ChannelBinding(_) => Some(
            "channel_binding=require needs TLS and scram-sha-256 on the server; use prefer to go \
             without.",
        ),
        ConnectError::Scram(_) => Some(
            "Somebody else may be answering in the server's place; no password was given away.",
        ),
        ConnectError::PluginUnsupported(_) => Some(
            "Prony speaks mysql_native_password, caching_sha2_password, sha256_password, ed25519 \
             and mysql_clear_password; ALTER USER gives the account another one.",
        ),
        ConnectError::SecureTransportNeeded(_) => Some(
            "Use ssl-mode=REQUIRED or the server's unix socket; or, where nobody can come between, \
             get-server-public-key=1.",
        ),
        ConnectError::CleartextRefused => Some(
            "The server asks for the password itself: enable-cleartext-plugin=1 allows it, over TLS \
             or a unix socket only.",
        ),
        ConnectError::Protocol(_) | ConnectError::NotMysql(_) => Some("Check host and port."),
        _ => None,
    }
}

/// MySQL's and MariaDB's errors, of log-ins and of statements.
fn hint_for_number(number: u16) -> Option<&'static str> {
    Some(match number {
        1045 => {
            "Check user and password in the URL, in MYSQL_PWD or in the option files (~/.my.cnf); \
             SHOW GRANTS tells from where an account may connect. One that is to use TLS (REQUIRE SSL) \
             needs ssl-mode=REQUIRED."
        }
        1698 => {
            "The account logs in by the name of the system's user (unix_socket): run as that user."
        }
        1142 => "GRANT the account rights on this table.",
        1146 => "Load the tables into this database, or name the one that has them.",
        1290 => {
            "An option of the server forbids it, such as read_only on a replica: its message names which."
        }
        1836 => "The server is read-only, such as a replica: use the primary.",
        1044 => "GRANT the account rights on this database.",
        1049 => "Create it with CREATE DATABASE, or name another database.",
        1040 | 1203 | 1226 => {
            "The server's max_connections, or a limit of the account, is reached: use fewer clients \
             or raise the limit."
        }
        1129 => {
            "The server blocks this host after too many failed attempts: FLUSH HOSTS ends that."
        }
        1130 => "The server knows no account that may connect from this host.",
        1251 | 2059 => "The account's authentication plugin needs a newer client.",
        1820 | 1862 => {
            "The password has expired: set a new one with ALTER USER in the server's client."
        }
        3159 => "The server takes encrypted connections only: use ssl-mode=REQUIRED.",
        3118 | 4151 => "The account is locked: ALTER USER ... ACCOUNT UNLOCK.",
        1053 => "The server is stopping: try again in a moment.",
        _ => return None,
    })
}

fn hint_for_sqlstate(code: &[u8; 5]) -> Option<&'static str> {
    Some(match code {
        b"28P01" => "Check the password in the URL, in PGPASSWORD or in the password file.",
        b"28000" => {
            "The server's pg_hba.conf decides who may connect from where, and whether with TLS."
        }
        b"3D000" => "Create it with createdb, or name another database.",
        b"53300" => {
            "The server's max_connections, or a limit of the role or database, is reached: use \
             fewer clients or raise the limit."
        }
        b"57P03" => "The server is starting, stopping or recovering: try again in a moment.",
        _ => return None,
    })
}

fn hint_for_tls(error: &TlsError) -> Option<&'static str> {
    Some(match error {
        TlsError::InvalidCertificate(reason) => match reason {
            // The second: another authority of the same name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "No authority that you trust signed the server's certificate: name the right one \
                 with sslrootcert=FILE."
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "The certificate is for another host name: connect to a name it bears, or use \
                 sslmode=verify-ca."
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "The server's certificate has expired, or this machine's clock is wrong."
            }
            _ => "The server's certificate does not pass the check that sslmode asks for.",
        },
        TlsError::InvalidMessage(_) => "Does the server speak TLS 1.2 or newer at this address?",
        TlsError::AlertReceived(_) => {
            "The server broke off: it may want a client certificate (sslcert, sslkey) or another \
             TLS version."
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::hint_for_number;

    /// Such as secure_file_priv or skip-grant-tables: only the server's message tells which.
    #[test]
    fn an_option_that_forbids_a_statement_is_not_guessed() {
        let hint = hint_for_number(1290).expect("a hint");
        assert!(hint.contains("An option of the server") && hint.contains("names which"));
        assert!(!hint.contains("is read-only"));
    }
}
