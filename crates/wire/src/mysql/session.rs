//! Who logs in, and the session that comes of it.
//!
//! In: nothing. Out: plain data. Must never: show a password.

use crate::Secret;

/// Who logs in, and what may be done for it. One is shared by all connections to one endpoint.
#[derive(Clone, Debug, Default)]
pub struct Login {
    /// Account.
    pub user: String,
    /// Default database; empty: none.
    pub database: String,
    /// Password, if there is one.
    pub password: Option<Secret>,
    /// Names and values that the server shows in its table of connection attributes.
    pub attributes: Vec<(String, String)>,
    /// The password may be sent as it is where the server asks for that (`mysql_clear_password`),
    /// over TLS or a unix socket.
    pub cleartext: bool,
    /// The server's RSA key may be asked for on a connection that is not safe from others: they
    /// could answer with a key of their own (`get-server-public-key`).
    pub get_server_public_key: bool,
    /// The server's RSA key in PEM, known beforehand (`server-public-key-path`).
    pub server_public_key: Option<Vec<u8>>,
    /// `LOAD DATA LOCAL` may be used: the server may ask for data where a statement of that kind
    /// was sent.
    pub local_infile: bool,
    /// Count matched rows instead of changed ones as affected.
    pub found_rows: bool,
    /// The connection is a unix socket: nobody else reads along.
    pub over_unix_socket: bool,
}

impl Login {
    /// A log-in without a password.
    pub fn new(user: impl Into<String>, database: impl Into<String>) -> Login {
        Login {
            user: user.into(),
            database: database.into(),
            ..Login::default()
        }
    }
}

/// A session that is ready for its first statement.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// The server's version as it tells it, such as `8.0.31` or `10.11.19-MariaDB-0+deb12u1`.
    pub version: String,
    /// Number of the connection, as KILL takes it.
    pub connection_id: u32,
    /// Results come without EOF packets.
    pub deprecate_eof: bool,
    /// Status flags of the log-in.
    pub status: u16,
    /// Bytes that came behind the log-in; hardly ever any.
    pub leftover: Vec<u8>,
}
