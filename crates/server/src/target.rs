//! Where and how to connect: the outcome of reading a URL and the customary environment.
//!
//! In: nothing. Out: plain data for `control` (blocking) and `drive` (the loop). Must never: show a
//! password; every field that holds one is a [`Secret`].

use prony_wire::{Exchange, QueryMode, Secret};
use rustls::pki_types::ServerName;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
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
    /// Which authentication methods the server may use (`require_auth`).
    pub require_auth: RequireAuth,
    /// What to ask of a TCP socket.
    pub tcp: TcpOptions,
    /// How the server is spoken to.
    pub protocol: Protocol,
    /// Further servers, which the clients of a run take in turn with this one; the control connection
    /// goes to this one alone.
    pub others: Vec<Target>,
    /// What the user should know though it stops nothing: a password file that others can read,
    /// a host name without an address beside others that have one. One line each.
    pub warnings: Vec<String>,
}

impl Target {
    /// The addresses in one line, as messages and results show them.
    pub fn describe(&self) -> String {
        self.endpoints
            .iter()
            .map(Endpoint::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Requests and replies in this server's protocol. `describe`: PostgreSQL is asked for the row
    /// description with each execution.
    pub fn exchange(&self, mode: QueryMode, describe: bool) -> Exchange {
        match self.protocol {
            Protocol::Postgres => Exchange::postgres(mode, describe),
            Protocol::Mysql(_) => Exchange::mysql(mode),
        }
    }
}

/// How a server is spoken to.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// As PostgreSQL.
    Postgres,
    /// As MySQL or MariaDB.
    Mysql(MysqlOptions),
}

/// What only MySQL's log-in knows.
#[derive(Clone, Debug, Default)]
pub struct MysqlOptions {
    /// `enable-cleartext-plugin`: the password may be sent itself, over TLS or a unix socket.
    pub cleartext: bool,
    /// `get-server-public-key`: the server's RSA key may be asked for without TLS.
    pub get_server_public_key: bool,
    /// The key in `server-public-key-path`, PEM.
    pub server_public_key: Option<Vec<u8>>,
    /// `local-infile`: LOAD DATA LOCAL may be used on the control connection.
    pub local_infile: bool,
    /// Count matched rows as affected, not changed ones.
    pub found_rows: bool,
}

/// One address of the server.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// What to connect to.
    pub address: Address,
    /// Host name as written, for the certificate check and for messages: the folder of a unix
    /// socket, empty where only `hostaddr` was given.
    pub host: String,
    /// Port as written.
    pub port: u16,
    /// Password for this endpoint, from the URL, PGPASSWORD or the password file.
    pub password: Option<Secret>,
}

impl Endpoint {
    /// Whom the server's certificate must name: the host as written, else its address. `None` for
    /// a unix socket.
    pub fn server_name(&self) -> Option<ServerName<'static>> {
        let Address::Tcp(address) = &self.address else {
            return None;
        };
        let ip = || ServerName::IpAddress(address.ip().into());
        // A name that is no DNS name never passes a check; without a check any name does.
        Some(ServerName::try_from(self.host.clone()).unwrap_or_else(|_| ip()))
    }
}

/// `unix:/run/postgresql/.s.PGSQL.5432` or `tcp:127.0.0.1:5432 (db.example)`.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp(address) => {
                write!(f, "tcp:{address}")?;
                if !self.host.is_empty() && self.host != address.ip().to_string() {
                    write!(f, " ({})", self.host)?;
                }
                Ok(())
            }
        }
    }
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
    /// connections. `None` for [`SslMode::Disable`], and when every endpoint is a unix socket.
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

/// libpq's `require_auth`: which authentication methods a server may ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RequireAuth {
    /// Whatever the server asks.
    #[default]
    Any,
    /// These only.
    OneOf(Vec<AuthMethod>),
    /// All but these.
    NoneOf(Vec<AuthMethod>),
}

impl RequireAuth {
    /// Whether the server may use this method; ask before answering it, and ask for
    /// [`AuthMethod::None`] when the server lets the client in without a question.
    pub fn allows(&self, method: AuthMethod) -> bool {
        match self {
            RequireAuth::Any => true,
            RequireAuth::OneOf(methods) => methods.contains(&method),
            RequireAuth::NoneOf(methods) => !methods.contains(&method),
        }
    }
}

/// An authentication method, as `require_auth` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// No question: `trust`, `peer`, a certificate alone.
    None,
    /// The password itself.
    Password,
    /// Its MD5 digest.
    Md5,
    /// SCRAM-SHA-256, with channel binding or without.
    ScramSha256,
    /// Kerberos.
    Gss,
    /// Windows.
    Sspi,
    /// A bearer token.
    OAuth,
}

/// What to ask of a TCP socket; `None`: the system's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOptions {
    /// Probe a silent connection (`keepalives`).
    pub keepalive: bool,
    /// Silence before the first probe, in seconds.
    pub keepalive_idle_s: Option<u32>,
    /// Time between probes, in seconds.
    pub keepalive_interval_s: Option<u32>,
    /// Lost probes that end the connection.
    pub keepalive_count: Option<u32>,
    /// How long sent data may stay unacknowledged, in milliseconds.
    pub user_timeout_ms: Option<u32>,
}

impl Default for TcpOptions {
    /// libpq's: probes at the system's pace.
    fn default() -> Self {
        TcpOptions {
            keepalive: true,
            keepalive_idle_s: None,
            keepalive_interval_s: None,
            keepalive_count: None,
            user_timeout_ms: None,
        }
    }
}

impl TcpOptions {
    /// Sets these and `TCP_NODELAY` on a TCP socket, as libpq does before it connects.
    ///
    /// # Errors
    ///
    /// The first option that the system refuses.
    pub fn apply(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let set = |level, name, value: u32| -> io::Result<()> {
            // SAFETY: the descriptor is open, and the pointer is to a value of the stated size.
            let status = unsafe {
                libc::setsockopt(
                    socket.as_raw_fd(),
                    level,
                    name,
                    std::ptr::from_ref(&value).cast(),
                    size_of::<u32>() as libc::socklen_t,
                )
            };
            if status == 0 {
                Ok(())
            } else {
                Err(io::Error::last_os_error())
            }
        };
        set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        if self.keepalive {
            set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
            let details = [
                (libc::TCP_KEEPIDLE, self.keepalive_idle_s),
                (libc::TCP_KEEPINTVL, self.keepalive_interval_s),
                (libc::TCP_KEEPCNT, self.keepalive_count),
            ];
            for (name, value) in details {
                value.map_or(Ok(()), |value| set(libc::IPPROTO_TCP, name, value))?;
            }
        }
        match self.user_timeout_ms {
            Some(value) => set(libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, value),
            None => Ok(()),
        }
    }
}
