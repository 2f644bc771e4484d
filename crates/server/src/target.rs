//! Where and how to connect: the outcome of reading a URL and the customary environment.
//!
//! In: nothing. Out: plain data for `control` (blocking) and `drive` (the loop). Must never: show a
//! password; every field that holds one is a [`Secret`].

use prony_wire::Secret;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where the server is and how to log in, with names resolved and files read.
#[derive(Clone, Debug)]
pub struct Target {
    /// The addresses to try, in this order. Never empty.
    pub endpoints: Vec<Endpoint>,
    /// Role.
    pub user: String,
    /// Database.
    pub database: String,
    /// Startup parameters beside user and database: application_name, options, client_encoding...
    pub parameters: Vec<(String, String)>,
    /// What is asked of TLS.
    pub tls: Tls,
    /// What is asked of authentication.
    pub channel_binding: ChannelBinding,
    /// Which session an endpoint must offer (`target_session_attrs`).
    pub session: SessionAttrs,
    /// Time for one endpoint to answer and log in; `None`: no limit.
    pub connect_timeout: Option<Duration>,
}

/// One address of the server.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// What to connect to.
    pub address: Address,
    /// Host name as written: for the certificate check and for messages.
    pub host: String,
    /// Port as written.
    pub port: u16,
    /// Password for this endpoint, from the URL, PGPASSWORD or the password file.
    pub password: Option<Secret>,
}

/// A socket address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Path of a unix socket.
    Unix(PathBuf),
    /// Address and port.
    Tcp(SocketAddr),
}

/// What is asked of TLS. Unix sockets never use it.
#[derive(Clone, Debug)]
pub struct Tls {
    /// libpq's `sslmode`.
    pub mode: SslMode,
    /// The rustls configuration to use when a mode leads to TLS; built once, shared by all
    /// connections. `None` only for [`SslMode::Disable`].
    pub config: Option<Arc<rustls::ClientConfig>>,
    /// `sslnegotiation=direct`: TLS from the first byte, without asking.
    pub direct: bool,
}

/// libpq's `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SslMode {
    /// Never TLS.
    Disable,
    /// Without TLS first, with TLS if the server insists.
    Allow,
    /// With TLS if the server has it, else without (libpq's default).
    Prefer,
    /// TLS, whoever the server is.
    Require,
    /// TLS, and a certificate of a known authority.
    VerifyCa,
    /// TLS, and a certificate of a known authority for this host name.
    VerifyFull,
}

/// libpq's `channel_binding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// Where the server offers it over TLS.
    Prefer,
    /// Or no connection.
    Require,
}

/// libpq's `target_session_attrs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionAttrs {
    /// Any server.
    Any,
    /// Accepts writes.
    ReadWrite,
    /// Refuses writes.
    ReadOnly,
    /// Not in recovery.
    Primary,
    /// In recovery.
    Standby,
    /// In recovery if one is found, else any.
    PreferStandby,
}
