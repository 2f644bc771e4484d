//! Who logs in, and the session that comes of it.
//!
//! In: nothing. Out: plain data. Must never: show a password or a cancel key.

use super::auth::AuthMethods;
use super::scram::KeyCache;
use crate::Secret;
use crate::{ConnectError, ServerError};

/// Who logs in, and how. One is shared by all connections to one endpoint.
#[derive(Debug, Default)]
pub struct Login {
    /// Role.
    pub user: String,
    /// Database.
    pub database: String,
    /// Start-up parameters beside user and database.
    pub parameters: Vec<(String, String)>,
    /// Password, if there is one.
    pub password: Option<Secret>,
    /// What is asked of channel binding.
    pub channel_binding: ChannelBinding,
    /// Which ways of authentication are admitted (libpq's `require_auth`).
    pub auth_methods: AuthMethods,
    /// The salted password, so that it is computed once for all connections.
    pub(super) keys: KeyCache,
}

impl Login {
    /// A log-in without password or further parameters.
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
    /// Where the server offers it over TLS.
    #[default]
    Prefer,
    /// Or no connection.
    Require,
}

/// What identifies a session to a CancelRequest.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CancelKey {
    /// The server process that serves the session; 0 if the server named none.
    pub backend_pid: u32,
    /// The secret that goes with it.
    pub secret: Box<[u8]>,
}

impl std::fmt::Debug for CancelKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CancelKey({}, ***)", self.backend_pid)
    }
}

/// What the server says of its settings: name and value, in the order of arrival.
///
/// One allocation for all, because ten thousand connections each hold one.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Parameters(String);

impl Parameters {
    /// The value last reported for `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .filter(|(known, _)| *known == name)
            .last()
            .map(|(_, value)| value)
    }

    /// All reports.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut parts = self.0.split_terminator('\0');
        std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
    }

    /// Adds what a ParameterStatus message says: two zero-terminated texts.
    pub fn add(&mut self, body: &[u8]) -> Result<(), ConnectError> {
        let malformed = || ConnectError::Protocol("malformed ParameterStatus".into());
        let mut parts = body
            .strip_suffix(&[0])
            .ok_or_else(malformed)?
            .split(|&byte| byte == 0);
        let (Some(name), Some(value), None) = (parts.next(), parts.next(), parts.next()) else {
            return Err(malformed());
        };
        for part in [name, value] {
            self.0.push_str(&String::from_utf8_lossy(part));
            self.0.push('\0');
        }
        Ok(())
    }
}

impl std::fmt::Debug for Parameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// A session that is ready for its first statement.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// For cancelling what it does.
    pub cancel: CancelKey,
    /// The server's settings as reported during start-up.
    pub parameters: Parameters,
    /// Notices of the start-up, such as the warning of a changed collation.
    pub notices: Vec<ServerError>,
    /// Bytes that came behind the first ReadyForQuery; hardly ever any.
    pub leftover: Vec<u8>,
}
