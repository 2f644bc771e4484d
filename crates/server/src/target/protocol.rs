//! Options that only one protocol has.
//!
//! Must never: show a password.

use super::AddressRace;
use prony_document::SqlDialect;
pub use prony_wire::postgres::ChannelBinding;
use rustls::pki_types::ServerName;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The protocol that a server speaks, with the options that only it has.
#[derive(Clone, Debug)]
pub enum ProtocolOptions {
    PostgreSql(PostgresOptions),
    /// The protocol of MySQL and MariaDB.
    MySql(MysqlOptions),
    SqlServer(SqlServerOptions),
}

impl ProtocolOptions {
    pub fn dialect(&self) -> SqlDialect {
        match self {
            ProtocolOptions::PostgreSql(_) => SqlDialect::PostgreSql,
            ProtocolOptions::MySql(_) => SqlDialect::MySql,
            ProtocolOptions::SqlServer(_) => SqlDialect::TransactSql,
        }
    }
}

#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// Startup parameters other than user and database: application_name, options,
    /// client_encoding...
    pub parameters: Vec<(String, String)>,
    /// Whether SCRAM uses channel binding (`channel_binding`).
    pub channel_binding: ChannelBinding,
    /// The kind of session that an endpoint must offer (`target_session_attrs`).
    pub session_attrs: SessionAttrs,
    /// Which authentication methods the server may use (`require_auth`).
    pub require_auth: RequireAuth,
    /// `sslnegotiation=direct`: TLS from the first byte, without an SSLRequest.
    pub direct_tls: bool,
    pub password_file: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct SqlServerOptions {
    /// Name of the program, which the server shows in its list of sessions (`app name`).
    pub program_name: String,
    /// Name of this machine, likewise (`workstation id`).
    pub client_host: String,
    /// Requested packet size in bytes (`packet size`); the server chooses.
    pub packet_size: u16,
    /// The sessions only read (`ApplicationIntent=ReadOnly`): a listener of an availability group may route
    /// them to a secondary.
    pub read_only: bool,
    /// `encrypt=strict`, TDS 8.0: TLS comes first.
    pub strict: bool,
    /// The name that the certificate must have instead of the host's (`HostNameInCertificate`).
    pub certificate_name: Option<ServerName<'static>>,
    /// With `MultiSubnetFailover`: which of the server's addresses answers.
    pub address_race: Option<Arc<AddressRace>>,
    /// SET statements for the settings that a plan asks for in each session.
    pub session_settings: Vec<String>,
}

/// Options that only MySQL and MariaDB have.
#[derive(Clone, Debug, Default)]
pub struct MysqlOptions {
    /// Connection attributes, which the server lists in `performance_schema`.
    pub attributes: Vec<(String, String)>,
    /// `enable-cleartext-plugin`: the password may be sent in clear text, over TLS or a unix
    /// socket.
    pub allow_cleartext: bool,
    /// `get-server-public-key`: the server's RSA key may be requested without TLS also from another machine.
    pub get_server_public_key: bool,
    /// The key in `server-public-key-path`, PEM.
    pub server_public_key: Option<Vec<u8>>,
    /// `local-infile`: LOAD DATA LOCAL may be used on the control connection.
    pub local_infile: bool,
    /// Whether connections set the state of their sessions after the login, because the server puts it into another.
    /// The first control connection to it finds out.
    pub sets_session: Arc<AtomicBool>,
    /// Settings that each session begins with, as assignments of SET; each name and value is quoted.
    pub session_settings: Vec<String>,
    /// Report matched rows as affected, rather than changed rows (`CLIENT_FOUND_ROWS`).
    pub found_rows: bool,
}

/// libpq's `target_session_attrs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionAttrs {
    Any,
    /// A session that accepts writes.
    ReadWrite,
    /// A session that refuses writes.
    ReadOnly,
    /// A server that is not in recovery.
    Primary,
    /// A server in recovery.
    Standby,
    /// A server in recovery if there is one, else any.
    PreferStandby,
}

/// libpq's `require_auth`: which authentication methods a server may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RequireAuth {
    #[default]
    Any,
    OneOf(Vec<AuthMethod>),
    /// All methods but these.
    NoneOf(Vec<AuthMethod>),
}

impl RequireAuth {
    /// Whether the server may use this method. Call it before answering a request, and for
    /// [`AuthMethod::None`] when the server accepts the client without a request.
    pub fn allows(&self, method: AuthMethod) -> bool {
        match self {
            RequireAuth::Any => true,
            RequireAuth::OneOf(methods) => methods.contains(&method),
            RequireAuth::NoneOf(methods) => !methods.contains(&method),
        }
    }
}

impl fmt::Display for RequireAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mark, methods) = match self {
            RequireAuth::Any => return Ok(()),
            RequireAuth::OneOf(methods) => ("", methods),
            RequireAuth::NoneOf(methods) => ("!", methods),
        };
        for (index, method) in methods.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{mark}{}", method.name())?;
        }
        Ok(())
    }
}

/// An authentication method, as `require_auth` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// No authentication request: `trust`, `peer`, or only a certificate.
    None,
    /// Clear-text password.
    Password,
    /// MD5 digest of the password.
    Md5,
    /// SCRAM-SHA-256, with channel binding or without.
    ScramSha256,
    /// GSSAPI (Kerberos).
    Gss,
    /// SSPI (Windows).
    Sspi,
    /// A bearer token.
    OAuth,
}

impl AuthMethod {
    pub const ALL: [AuthMethod; 7] = [
        AuthMethod::None,
        AuthMethod::Password,
        AuthMethod::Md5,
        AuthMethod::ScramSha256,
        AuthMethod::Gss,
        AuthMethod::Sspi,
        AuthMethod::OAuth,
    ];

    /// The method's name in `require_auth`.
    pub fn name(self) -> &'static str {
        match self {
            AuthMethod::None => "none",
            AuthMethod::Password => "password",
            AuthMethod::Md5 => "md5",
            AuthMethod::ScramSha256 => "scram-sha-256",
            AuthMethod::Gss => "gss",
            AuthMethod::Sspi => "sspi",
            AuthMethod::OAuth => "oauth",
        }
    }
}
