//! The result of a login, for all protocols. Must never: show a cancel key.

use crate::{ConnectError, ServerError, SessionFlags};

/// The key with which another connection can cancel a session's commands.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CancelKey {
    /// The server process (MySQL: the connection's number) of the session; 0 if the server sent none.
    pub backend_pid: u32,
    /// The session's secret; empty for MySQL.
    pub secret: Box<[u8]>,
}

impl std::fmt::Debug for CancelKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CancelKey({}, ***)", self.backend_pid)
    }
}

/// The settings that the server reported: name and value, in the order of arrival.
///
/// All settings share one allocation, because there may be ten thousand connections.
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

    /// All reported settings; a name may appear several times.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut parts = self.0.split_terminator('\0');
        std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
    }

    /// Adds the setting of a PostgreSQL ParameterStatus message: two zero-terminated texts.
    pub fn add(&mut self, body: &[u8]) -> Result<(), ConnectError> {
        let malformed = || ConnectError::Protocol("malformed ParameterStatus".into());
        let mut parts = body
            .strip_suffix(&[0])
            .ok_or_else(malformed)?
            .split(|&byte| byte == 0);
        let (Some(name), Some(value), None) = (parts.next(), parts.next(), parts.next()) else {
            return Err(malformed());
        };
        let text = String::from_utf8_lossy;
        self.set(&text(name), &text(value));
        Ok(())
    }

    /// Adds a setting; [`Parameters::get`] returns the last value of a name.
    pub fn set(&mut self, name: &str, value: &str) {
        for part in [name, value] {
            self.0.push_str(part);
            self.0.push('\0');
        }
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
    pub cancel: CancelKey,
    /// The settings that the server reported during the login; `server_version` is always one of them.
    pub parameters: Parameters,
    /// Notices that the server sent during the login, such as the warning of a changed collation.
    pub notices: Vec<ServerError>,
    /// Whether the password itself was sent without TLS.
    pub password_in_clear: bool,
    /// Settings negotiated at login that later requests depend on.
    pub flags: SessionFlags,
    /// Bytes that followed the login; almost always empty.
    pub trailing_bytes: Vec<u8>,
}
