//! The login to MySQL or MariaDB. Must never: show a password.

use crate::Secret;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Whether a session is in the state in which the login put it (1 or 0). The server executes `init_connect` after
/// the login, and may ignore the character set that a login requests.
pub const SESSION_CHECK: &str = "SELECT @@autocommit = 1 AND @@character_set_client = 'utf8mb4' \
     AND @@character_set_connection = 'utf8mb4' AND @@character_set_results <=> 'utf8mb4'";

/// Puts a session into that state. A program decides itself where its transactions begin, as on the other engines.
pub const SET_SESSION: &str = "SET autocommit = 1, character_set_client = utf8mb4, \
     character_set_results = utf8mb4, collation_connection = utf8mb4_general_ci";

/// The credentials and permissions of a login, shared by all connections to one endpoint.
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
    /// Whether the password may be sent in the clear, over TLS or a unix socket, if the server requests that
    /// (`mysql_clear_password`).
    pub cleartext: bool,
    /// Whether the server's RSA key may be requested on a connection that is not secure, where an attacker
    /// could answer with another key (`get-server-public-key`, or the server is on this machine).
    pub get_server_public_key: bool,
    /// The server's RSA key in PEM, known in advance (`server-public-key-path`).
    pub server_public_key: Option<Vec<u8>>,
    /// Whether `LOAD DATA LOCAL` may be used, after which the server requests data.
    pub local_infile: bool,
    /// Whether rows that an UPDATE matched but did not change count as affected.
    pub found_rows: bool,
    /// Whether [`SET_SESSION`] follows each login, because sessions begin in another state. Shared by all logins to
    /// a server: its first session finds that out, with [`SESSION_CHECK`].
    pub sets_session: Arc<AtomicBool>,
    /// Whether the connection is a unix socket, on which nobody can eavesdrop.
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
