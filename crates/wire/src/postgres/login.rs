//! The login to PostgreSQL. Must never: show a password.

use super::require_auth::RequireAuth;
use super::scram::KeyCache;
use crate::Secret;

/// The credentials and options of a login. All connections to one endpoint share it.
#[derive(Clone, Debug, Default)]
pub struct Login {
    pub user: String,
    pub database: String,
    /// Startup parameters besides user and database.
    pub parameters: Vec<(String, String)>,
    pub password: Option<Secret>,
    pub channel_binding: ChannelBinding,
    pub require_auth: RequireAuth,
    /// The salted password, computed once for all connections.
    pub(super) keys: KeyCache,
}

impl Login {
    /// A login without password or additional parameters.
    pub fn new(user: impl Into<String>, database: impl Into<String>) -> Login {
        Login {
            user: user.into(),
            database: database.into(),
            ..Login::default()
        }
    }
}

/// libpq's `channel_binding`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// If the server offers it over TLS.
    #[default]
    Prefer,
    /// Always; refuse the connection otherwise.
    Require,
}
