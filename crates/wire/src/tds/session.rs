//! The login to SQL Server. Must never: show a password.

use crate::Secret;

/// How the account proves who it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authentication {
    /// A name and a password that SQL Server itself keeps.
    #[default]
    Sql,
    /// A Windows account; not supported.
    Windows,
    /// A Microsoft Entra account; not supported.
    Entra,
}

/// The credentials of a login, and its settings. All connections to one endpoint share one.
#[derive(Clone, Debug)]
pub struct Login {
    /// Account; must be SQL Server's own.
    pub user: String,
    /// Password.
    pub password: Secret,
    /// Kind of the account.
    pub authentication: Authentication,
    /// Initial database; empty: the account's default.
    pub database: String,
    /// Name of the server, as the user gave it.
    pub server: String,
    /// Name of this machine, which the server shows in its list of sessions.
    pub host: String,
    /// Name of the program, likewise.
    pub application: String,
    /// Process id of the client, likewise.
    pub client_pid: u32,
    /// Requested packet size in bytes, 512 to 32,767; the server chooses. Under TLS at most 16,383.
    pub packet_size: u16,
    /// The session only reads: a listener of an availability group may then route it to a secondary.
    pub read_only: bool,
}

impl Default for Login {
    fn default() -> Self {
        Login {
            user: String::new(),
            password: Secret::default(),
            authentication: Authentication::Sql,
            database: String::new(),
            server: String::new(),
            host: String::new(),
            application: "prony".to_owned(),
            client_pid: 0,
            // As ADO.NET and JDBC request it.
            packet_size: 8000,
            read_only: false,
        }
    }
}

impl Login {
    /// A login with a password.
    pub fn new(user: impl Into<String>, password: Secret, database: impl Into<String>) -> Login {
        Login {
            user: user.into(),
            password,
            database: database.into(),
            ..Login::default()
        }
    }
}

/// Where a server routes a login: connect there, and log in again with a
/// [`Connector`](super::Connector) that continues this route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Name of the other server; it may have an instance after a backslash.
    pub host: String,
    /// Its TCP port.
    pub port: u16,
    /// How often the login has been routed, this time included.
    pub hops: u8,
}
