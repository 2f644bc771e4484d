//! Errors of a login, for all protocols. Must never: show a password.

use crate::ServerError;
use crate::tds;
use crate::tls_error::describe_tls_error;

/// Why a connection could not be opened.
///
/// Errors of the socket itself are reported by its owner. The texts are libpq's where libpq
/// has one, because users know those.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server refused the login with this error.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// The server requires a password, and the caller has none.
    #[error("fe_sendauth: no password supplied")]
    PasswordNeeded,
    /// TLS is required, and the server does not support it.
    #[error("server does not support SSL, but SSL was required")]
    TlsUnsupported,
    /// The server answered the request for TLS with an error. Its text is not shown, because it is not
    /// authenticated (CVE-2024-10977).
    #[error("server sent an error response during SSL exchange")]
    TlsRequestFailed,
    /// Unencrypted bytes followed the server's agreement to use TLS (CVE-2021-23222).
    #[error("received unencrypted data after SSL response")]
    BytesBeforeTls,
    /// TLS is required, but the caller gave no configuration for it.
    #[error("TLS was requested, but no TLS configuration was given")]
    TlsNotConfigured,
    /// With `sslnegotiation=direct` the server must choose the protocol by ALPN.
    #[error("direct SSL connection was established without ALPN protocol negotiation extension")]
    AlpnMissing,
    /// The TLS layer failed, for example because the certificate is not trusted.
    #[error("SSL error: {}", describe_tls_error(.0))]
    Tls(rustls::Error),
    /// An authentication method that Prony does not support.
    #[error("authentication method \"{0}\" is not supported")]
    AuthUnsupported(&'static str),
    /// `require_auth` excludes the method that the server requests.
    #[error("authentication method requirement \"{required}\" failed: {reason}")]
    AuthExcluded {
        required: String,
        /// What the server did that violates the option.
        reason: &'static str,
    },
    /// The caller requires channel binding, and the server refused it or does not support it.
    #[error("channel binding is required, but {0}")]
    ChannelBinding(&'static str),
    /// The SCRAM exchange broke one of its rules, or the server could not prove that it knows the
    /// password.
    #[error("SCRAM authentication failed: {0}")]
    Scram(&'static str),
    /// A name or parameter contains a zero byte, which the protocol cannot carry.
    #[error("the connection parameter \"{0}\" contains a zero byte")]
    ZeroByte(String),
    /// A MySQL authentication plugin that Prony does not support.
    #[error("authentication plugin \"{0}\" is not supported")]
    PluginUnsupported(String),
    /// A MySQL server requests the password in a form that is only safe over TLS.
    #[error("authentication plugin \"{0}\" requires a secure connection")]
    SecureTransportNeeded(&'static str),
    /// A MySQL server requests the password in the clear, which is not enabled.
    #[error("authentication plugin \"mysql_clear_password\" is not enabled")]
    CleartextRefused,
    /// The RSA key of a MySQL server, for encrypting the password, cannot be used.
    #[error("{0}")]
    ServerKey(&'static str),
    /// The peer does not speak MySQL's protocol, or violates it.
    #[error("the server at this address does not speak the MySQL protocol: {0}")]
    NotMysql(String),
    /// TLS is turned off, and a SQL Server requires it.
    #[error("the server requires TLS, which is turned off")]
    TlsRequired,
    /// A SQL Server negotiated TLS 1.3 where only 1.2 is possible.
    #[error("TLS 1.3 needs TDS 8.0 (encrypt=strict); inside TDS packets the newest is TLS 1.2")]
    TlsVersionInPackets,
    /// With TDS 8.0 the server must begin with TLS, which one that has only older versions does not.
    #[error(
        "the server does not begin with TLS, as encrypt=strict (TDS 8.0) requires: SQL Server 2022 or later does"
    )]
    StrictTlsRefused {
        /// Whether the server has answered nothing in time.
        is_silent: bool,
    },
    /// A login to SQL Server with an account that SQL Server does not manage itself, such as a Windows
    /// account.
    #[error("{0} logins are not supported: use a SQL Server login with a password")]
    SqlLoginNeeded(&'static str),
    /// The SQL Server has this version, which lacks statements that Prony's workloads need.
    #[error("the server is SQL Server {0}: Prony needs SQL Server 2012 (version 11.0) or later")]
    SqlServerTooOld(String),
    /// A name in a login to SQL Server is too long.
    #[error("the {0} is longer than 128 characters, the most that SQL Server accepts")]
    NameTooLong(&'static str),
    /// A SQL Server routes the login to another server: connect there and log in again.
    #[error("the server routes this login to {}, port {}", .0.host, .0.port)]
    Routed(Box<tds::Route>),
    /// The login was routed from server to server too often: the routes may form a circle.
    #[error("the login was routed more than {0} times")]
    RoutedTooOften(u8),
    /// The peer does not speak SQL Server's protocol, or violates it.
    #[error("the server at this address does not speak the TDS protocol: {0}")]
    NotTds(String),
    /// The peer does not speak PostgreSQL's protocol, or violates it.
    #[error("the server at this address does not speak the PostgreSQL protocol: {0}")]
    Protocol(String),
}

impl From<ServerError> for ConnectError {
    fn from(error: ServerError) -> Self {
        ConnectError::Server(Box::new(error))
    }
}

impl ConnectError {
    pub fn server_error(&self) -> Option<&ServerError> {
        match self {
            ConnectError::Server(error) => Some(error),
            _ => None,
        }
    }
}
