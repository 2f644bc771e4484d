//! The login to MySQL or MariaDB. Must never: show a password.

use crate::Secret;

/// The credentials of a login and its permissions. All connections to one endpoint share it.
#[derive(Clone, Debug, Default)]
pub struct Login {
    /// Account.
    pub user: String,
    /// Default database; empty for none.
    pub database: String,
    /// Password, if there is one.
    pub password: Option<Secret>,
    /// Names and values that the server shows in its table of connection attributes.
    pub attributes: Vec<(String, String)>,
    /// The password may be sent in the clear if the server requests that (`mysql_clear_password`),
    /// over TLS or a unix socket.
    pub cleartext: bool,
    /// The server's RSA key may be requested on a connection that is not secure: an attacker could
    /// answer with a key of their own (`get-server-public-key`).
    pub get_server_public_key: bool,
    /// The server's RSA key in PEM, known in advance (`server-public-key-path`).
    pub server_public_key: Option<Vec<u8>>,
    /// `LOAD DATA LOCAL` may be used: the server may request data after a statement of that kind.
    pub local_infile: bool,
    /// Count matched rows instead of changed ones as affected.
    pub found_rows: bool,
    /// The connection is a unix socket: nobody can eavesdrop.
    pub over_unix_socket: bool,
}

impl Login {
    /// A login without a password.
    pub fn new(user: impl Into<String>, database: impl Into<String>) -> Login {
        Login {
            user: user.into(),
            database: database.into(),
            ..Login::default()
        }
    }
}
