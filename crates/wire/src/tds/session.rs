//! Settings of a login to SQL Server. Must never: show a password.

use crate::Secret;

/// The credentials and settings of a login, shared by all connections to one endpoint.
#[derive(Clone, Debug, Default)]
pub struct Login {
    pub user: String,
    pub password: Secret,
    /// Initial database; empty: the account's default.
    pub database: String,
    /// Name of the server, as the user wrote it.
    pub server: String,
    /// Name of the client's machine, which the server lists with the session.
    pub host: String,
    /// Name of the program, which the server lists with the session.
    pub application: String,
    /// Process id of the client, which the server lists with the session.
    pub client_pid: u32,
    /// Requested packet size in bytes, 512 to 32,767 (under TLS at most 16,383 are requested); the server may
    /// choose another one.
    pub packet_size: u16,
    /// Whether the session only reads; the listener of an availability group may then route it to a
    /// secondary.
    pub read_only: bool,
    /// Statements that each session runs before its first request, such as `SET XACT_ABORT ON`; empty: none.
    pub session_setup: String,
}

impl Login {
    /// A login with a SQL Server account.
    pub fn new(user: impl Into<String>, password: Secret, database: impl Into<String>) -> Login {
        Login {
            user: user.into(),
            password,
            database: database.into(),
            application: "prony".to_owned(),
            // The default of ADO.NET and JDBC.
            packet_size: 8000,
            ..Login::default()
        }
    }
}

/// Another server to which a server routes a login: connect to it, and log in with a new
/// [`Connector`](super::Connector) that was given the route by `after_route`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Host of the other server, perhaps with the name of an instance after a backslash.
    pub host: String,
    pub port: u16,
    /// How often the login has been routed, including this route.
    pub hops: u8,
}
