//! Every way in which a log-in can fail, whatever the protocol.
//!
//! In: nothing. Out: [`ConnectError`]. Must never: show a password.

use crate::ServerError;

/// Why a connection could not be opened.
///
/// Nothing here is about the socket itself: that is its owner's to report. The texts are libpq's
/// where libpq has one, because those are the ones that users have met.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server refused, and said why.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// The server wants a password and none was given.
    #[error("fe_sendauth: no password supplied")]
    PasswordNeeded,
    /// TLS was demanded, the server has none.
    #[error("server does not support SSL, but SSL was required")]
    TlsUnsupported,
    /// The server answered the request for TLS with an error. Its text is not shown: nobody vouches
    /// for it (CVE-2024-10977).
    #[error("server sent an error response during SSL exchange")]
    TlsRequestFailed,
    /// Bytes came in the clear behind the consent to TLS (CVE-2021-23222).
    #[error("received unencrypted data after SSL response")]
    BytesBeforeTls,
    /// TLS was demanded but the caller gave no configuration for it.
    #[error("TLS is asked for, but no TLS configuration was given")]
    TlsNotConfigured,
    /// With `sslnegotiation=direct` the server must choose the protocol by ALPN.
    #[error("direct SSL connection was established without ALPN protocol negotiation extension")]
    AlpnMissing,
    /// The TLS layer failed: an untrusted certificate, no common version...
    #[error("SSL error: {0}")]
    Tls(rustls::Error),
    /// A way of authentication that Prony does not speak.
    #[error("authentication method \"{0}\" is not supported")]
    AuthUnsupported(&'static str),
    /// `require_auth` excludes what the server asks for.
    #[error("authentication method requirement failed: server requested {0}")]
    AuthExcluded(&'static str),
    /// `channel_binding=require`, and the server would not or could not.
    #[error("channel binding is required, but {0}")]
    ChannelBinding(&'static str),
    /// The SCRAM exchange broke one of its rules, or the server could not prove that it knows the
    /// password.
    #[error("SCRAM authentication failed: {0}")]
    Scram(&'static str),
    /// A name or parameter contains a zero byte, which the protocol cannot carry.
    #[error("the connection parameter \"{0}\" contains a zero byte")]
    ZeroByte(String),
    /// A plugin of MySQL's authentication that Prony does not speak.
    #[error("authentication plugin \"{0}\" is not supported")]
    PluginUnsupported(String),
    /// MySQL's server wants the password in a way that is only safe over TLS.
    #[error("authentication plugin \"{0}\" requires a secure connection")]
    SecureTransportNeeded(&'static str),
    /// MySQL's server wants the password itself, and nobody allowed it to be sent.
    #[error("authentication plugin \"mysql_clear_password\" is not enabled")]
    CleartextRefused,
    /// The RSA key by which MySQL's server wants the password cannot be used.
    #[error("{0}")]
    ServerKey(&'static str),
    /// The peer does not speak MySQL's protocol, or not correctly.
    #[error("the server at this address does not speak the MySQL protocol: {0}")]
    NotMysql(String),
    /// The peer does not speak PostgreSQL's protocol, or not correctly.
    #[error("the server at this address does not speak the PostgreSQL protocol: {0}")]
    Protocol(String),
}

impl From<ServerError> for ConnectError {
    fn from(error: ServerError) -> Self {
        ConnectError::Server(Box::new(error))
    }
}

impl ConnectError {
    /// The server's own error, where it sent one.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            ConnectError::Server(error) => Some(error),
            _ => None,
        }
    }
}
