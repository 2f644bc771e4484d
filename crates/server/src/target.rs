//! A resolved URL: where and how to connect.
//!
//! Plain data, used by `control` (blocking) and `drive` (the loop). Must never: show a password; every
//! field that holds one is a [`Secret`].

mod address_race;
mod protocol;

pub use address_race::AddressRace;
pub use protocol::{
    AuthMethod, ChannelBinding, MysqlOptions, PostgresOptions, ProtocolOptions, RequireAuth,
    SessionAttrs, SqlServerOptions,
};

use crate::control::{CONNECT_TIMEOUT, WaitOptions};
use prony_plan::Spread;
use prony_wire::mysql::SessionUse;
use prony_wire::{Exchange, QueryMode, Secret};
use rustls::pki_types::ServerName;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Each client may try all addresses, and each is observed. Workers number them in 16 bits.
const ENDPOINTS_MAX: usize = 1_000;

/// Refuses more addresses than a benchmark has servers.
pub(crate) fn limited(endpoints: Vec<Endpoint>) -> Result<Vec<Endpoint>, crate::Error> {
    match endpoints.len() {
        ..=ENDPOINTS_MAX => Ok(endpoints),
        count => Err(crate::Error::Host {
            problem: format!("the hosts have {count} addresses, more than {ENDPOINTS_MAX}"),
            hint: "name only the servers of the benchmark".into(),
        }),
    }
}

/// Where the server is and how to log in. Names are already resolved and files already read.
#[derive(Clone, Debug)]
pub struct Target {
    /// The addresses to try, in this order. Never empty.
    pub endpoints: Vec<Endpoint>,
    /// Role (PostgreSQL) or account (MySQL).
    pub user: String,
    pub database: String,
    pub tls: Tls,
    /// Time limit for connecting to one endpoint and logging in, if the user set one;
    /// [`Duration::MAX`] means no limit.
    pub connect_timeout: Option<Duration>,
    /// How long the control connection waits for the server after login.
    pub wait_options: WaitOptions,
    pub tcp: TcpOptions,
    pub protocol: ProtocolOptions,
    /// With which of the hosts a connection of a run begins. The control connection begins with the first.
    pub spread: Spread,
    /// Additional servers, whose hosts are those of the run too; the control connection uses only this target.
    pub additional_targets: Vec<Target>,
    /// The server that takes read-only transactions of a run, if another one does.
    pub read_target: Option<Box<Target>>,
    /// Whether the statements are Prony's own, rather than those of a tool that it replaces, whose sessions must stay as
    /// the server makes them.
    pub has_own_statements: bool,
    /// Warnings for the user, one line each, such as a password file that other users can read, or
    /// one of several host names that does not resolve.
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

    /// The endpoints of each host: a name may have several addresses.
    pub fn hosts(&self) -> Vec<Range<usize>> {
        let mut hosts: Vec<Range<usize>> = Vec::new();
        for (index, endpoint) in self.endpoints.iter().enumerate() {
            let is_same = |host: &&mut Range<usize>| {
                let first = &self.endpoints[host.start];
                !first.host.is_empty()
                    && (&first.host, first.port) == (&endpoint.host, endpoint.port)
            };
            match hosts.last_mut().filter(is_same) {
                Some(host) => host.end = index + 1,
                None => hosts.push(index..index + 1),
            }
        }
        hosts
    }

    /// Each host of this target and of the additional ones, as a target of its own.
    pub fn targets_of_hosts(&self) -> Vec<Target> {
        let targets = std::iter::once(self).chain(&self.additional_targets);
        let of_target = |target: &Target| {
            let of_host = |host: Range<usize>| Target {
                endpoints: target.endpoints[host].to_vec(),
                additional_targets: Vec::new(),
                read_target: None,
                ..target.clone()
            };
            target.hosts().into_iter().map(of_host).collect::<Vec<_>>()
        };
        targets.flat_map(of_target).collect()
    }

    /// As [`Target::targets_of_hosts`], of the server for reads; empty if there is none.
    pub fn targets_for_reads(&self) -> Vec<Target> {
        let reads = self.read_target.as_deref();
        reads.map(Target::targets_of_hosts).unwrap_or_default()
    }

    /// Time limit for connecting to one endpoint and logging in.
    pub fn connect_limit(&self) -> Duration {
        self.connect_timeout.unwrap_or(CONNECT_TIMEOUT)
    }

    pub fn session_use(&self) -> SessionUse {
        if self.has_own_statements { SessionUse::Own } else { SessionUse::Foreign }
    }

    /// Environment variables by which the usual clients reach the first endpoint; without a password.
    pub fn client_environment(&self) -> Vec<(&'static str, String)> {
        let Some(endpoint) = self.endpoints.first() else {
            return Vec::new();
        };
        let (host, socket) = match &endpoint.address {
            Address::Unix(path) => (None, Some(path)),
            Address::Tcp(address) if endpoint.host.is_empty() => {
                (Some(address.ip().to_string()), None)
            }
            Address::Tcp(_) => (Some(endpoint.host.clone()), None),
        };
        let port = endpoint.port.to_string();
        match &self.protocol {
            ProtocolOptions::PostgreSql(_) => {
                let folder = socket.and_then(|path| path.parent());
                let folder = folder.map(|folder| folder.display().to_string());
                let host = host.or(folder).unwrap_or_default();
                vec![
                    ("PGHOST", host),
                    ("PGPORT", port),
                    ("PGUSER", self.user.clone()),
                    ("PGDATABASE", self.database.clone()),
                ]
            }
            ProtocolOptions::MySql(_) => match (host, socket) {
                (Some(host), _) => vec![("MYSQL_HOST", host), ("MYSQL_TCP_PORT", port)],
                (None, socket) => {
                    let path = socket.map(|path| path.display().to_string());
                    vec![("MYSQL_UNIX_PORT", path.unwrap_or_default())]
                }
            },
            ProtocolOptions::SqlServer(_) => Vec::new(),
        }
    }

    /// The kind of session that an endpoint must offer.
    pub fn session_attrs(&self) -> SessionAttrs {
        match &self.protocol {
            ProtocolOptions::PostgreSql(options) => options.session_attrs,
            // MySQL's protocol does not report the kind of session.
            ProtocolOptions::MySql(_) => SessionAttrs::Any,
            // ApplicationIntent requests a kind of server, and the server answers by routing.
            ProtocolOptions::SqlServer(_) => SessionAttrs::Any,
        }
    }

    /// Which of the addresses answers, if all are to be tried at once (`MultiSubnetFailover` of SQL Server).
    pub fn address_race(&self) -> Option<&Arc<AddressRace>> {
        match &self.protocol {
            ProtocolOptions::SqlServer(options) if self.endpoints.len() > 1 => {
                options.address_race.as_ref()
            }
            _ => None,
        }
    }

    pub fn set_program_name(&mut self, name: &str) {
        let (settings, key) = match &mut self.protocol {
            ProtocolOptions::PostgreSql(options) => (&mut options.parameters, "application_name"),
            ProtocolOptions::MySql(options) => (&mut options.attributes, "program_name"),
            ProtocolOptions::SqlServer(options) => {
                name.clone_into(&mut options.program_name);
                return;
            }
        };
        settings.retain(|(name, _)| name != key);
        settings.push((key.to_owned(), name.to_owned()));
    }

    /// Allows [`crate::Control::load_data`] on connections to this target, if its protocol supports
    /// it.
    pub fn allow_load_data(&mut self) {
        match &mut self.protocol {
            ProtocolOptions::PostgreSql(_) | ProtocolOptions::SqlServer(_) => {}
            ProtocolOptions::MySql(options) => options.local_infile = true,
        }
    }

    /// The codec of this server's protocol. `describe`: request PostgreSQL's row description with
    /// each execution.
    pub fn exchange(&self, mode: QueryMode, describe: bool) -> Exchange {
        match self.protocol {
            ProtocolOptions::PostgreSql(_) => Exchange::postgres(mode, describe),
            ProtocolOptions::MySql(_) => Exchange::mysql(mode),
            ProtocolOptions::SqlServer(_) => Exchange::tds(mode),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Endpoint {
    pub address: Address,
    /// Host name as written, for the certificate check and for messages. For a unix socket it is
    /// the directory; it is empty if only `hostaddr` was given.
    pub host: String,
    pub port: u16,
    /// Password for this endpoint, from the URL, PGPASSWORD or the password file.
    pub password: Option<Secret>,
}

impl Endpoint {
    /// Whether traffic to this endpoint leaves this machine: neither a unix socket nor a loopback
    /// address.
    pub fn is_remote(&self) -> bool {
        match &self.address {
            Address::Unix(_) => false,
            Address::Tcp(address) => !address.ip().to_canonical().is_loopback(),
        }
    }

    /// The name that the server's certificate must have: the host as written, else its address.
    /// `None` for a unix socket.
    pub fn server_name(&self) -> Option<ServerName<'static>> {
        let Address::Tcp(address) = &self.address else {
            return None;
        };
        let ip = || ServerName::IpAddress(address.ip().into());
        // A host that is not a DNS name never matches a certificate. The address then serves only
        // connections that do not verify the name.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Path of a unix socket.
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// TLS settings. Unix sockets never use TLS.
#[derive(Clone, Debug)]
pub struct Tls {
    /// libpq's `sslmode`.
    pub mode: SslMode,
    /// The rustls configuration for connections that use TLS; built once, shared by all
    /// connections. `None` for [`SslMode::Disable`], and when every endpoint is a unix socket.
    pub config: Option<Arc<rustls::ClientConfig>>,
}

/// libpq's `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SslMode {
    /// Never use TLS.
    Disable,
    /// Try without TLS first, then with TLS if the server requires it.
    Allow,
    /// TLS if the server supports it, else without (libpq's default).
    Prefer,
    /// TLS, without verifying the server.
    Require,
    /// TLS, with a certificate signed by a trusted authority.
    VerifyCa,
    /// TLS, with a certificate for this host name signed by a trusted authority.
    VerifyFull,
}

/// TCP socket options; `None`: the system's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOptions {
    /// Send keepalive probes on an idle connection (`keepalives`).
    pub keepalive: bool,
    /// Idle time before the first probe, in seconds.
    pub keepalive_idle_s: Option<u32>,
    /// Time between probes, in seconds.
    pub keepalive_interval_s: Option<u32>,
    /// Number of lost probes after which the connection is dead.
    pub keepalive_count: Option<u32>,
    /// How long sent data may stay unacknowledged, in milliseconds (`tcp_user_timeout`, MySQL's `write-timeout`).
    pub user_timeout_ms: Option<u32>,
    /// The longest wait of a client for the reply to a request (MySQL's `read-timeout`, SQL Server's `socketTimeout`).
    pub reply_timeout: Option<Duration>,
}

impl Default for TcpOptions {
    /// libpq's defaults: keepalive probes at the system's intervals.
    fn default() -> Self {
        TcpOptions {
            keepalive: true,
            keepalive_idle_s: None,
            keepalive_interval_s: None,
            keepalive_count: None,
            user_timeout_ms: None,
            reply_timeout: None,
        }
    }
}

impl TcpOptions {
    /// These options for a connection that may be silent for minutes while the server works. Sets
    /// the intervals that the user did not set, so that a lost peer is noticed within a minute.
    pub fn with_keepalive_probes(self) -> TcpOptions {
        TcpOptions {
            keepalive_idle_s: self.keepalive_idle_s.or(Some(30)),
            keepalive_interval_s: self.keepalive_interval_s.or(Some(10)),
            keepalive_count: self.keepalive_count.or(Some(3)),
            ..self
        }
    }

    /// Sets these options and `TCP_NODELAY` on a TCP socket, as libpq does before it connects.
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
            if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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
            Some(value) => {
                // The kernel refuses more, which is no time-out either.
                let value = value.min(i32::MAX.unsigned_abs());
                set(libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, value)
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_program_name_replaces_an_earlier_name() {
        let env = crate::Environment::without_home("me");
        for (url, key) in [
            (
                "postgresql://h.invalid:1/d?hostaddr=127.0.0.1",
                "application_name",
            ),
            ("mysql://u@127.0.0.1/d", "program_name"),
        ] {
            let mut target = crate::resolve(url, &env).expect("a target");
            target.set_program_name("other");
            target.set_program_name("bench");
            let list = match &target.protocol {
                ProtocolOptions::PostgreSql(options) => &options.parameters,
                ProtocolOptions::MySql(options) => &options.attributes,
                ProtocolOptions::SqlServer(_) => panic!("no list of names"),
            };
            let names: Vec<_> = list.iter().filter(|(name, _)| name == key).collect();
            assert_eq!(names, [&(key.to_owned(), "bench".to_owned())]);
        }
    }

    #[test]
    fn missing_probe_intervals_are_filled_in_and_user_settings_stay() {
        let probing = TcpOptions::default().with_keepalive_probes();
        let intervals = (
            probing.keepalive_idle_s,
            probing.keepalive_interval_s,
            probing.keepalive_count,
        );
        assert_eq!(intervals, (Some(30), Some(10), Some(3)));
        let user_options = TcpOptions {
            keepalive: false,
            keepalive_idle_s: Some(7),
            ..TcpOptions::default()
        };
        let probing = user_options.with_keepalive_probes();
        assert!(!probing.keepalive && probing.keepalive_idle_s == Some(7));
    }
}
