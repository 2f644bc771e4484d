//! Options that only one protocol has.
//!
//! Must never: show a password.

use super::AddressRace;
use prony_document::SqlDialect;
pub use prony_wire::mysql::MysqlOptions;
pub use prony_wire::postgres::{AuthMethod, ChannelBinding, RequireAuth};
use rustls::pki_types::ServerName;
use std::path::PathBuf;
use std::sync::Arc;

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
