//! Selects the endpoints of connections, and writes the log lines of failures.
//!
//! In: the options of drivers; failed attempts. Out: the driver, its endpoints in rotation; lines of the log.
//! Must never: resolve a name, or print a password.

use super::advice::advice;
use super::messages::{mysql_unreachable, pgsql_unreachable};
use super::options::{DatabaseOptions, MysqlOptions};
use super::output::fatal_line;
use crate::{libpq, mysql_client};
use prony_plan::QueryMode;
use prony_server::Address;
use prony_server::control::{ConnectFailure, FailureCause};
use prony_wire::ConnectError;
use prony_workload::sysbench::Driver;
use std::fmt;
use std::path::Path;

/// The advice if a server asks for the password in clear text on a connection without TLS.
const CLEARTEXT_REFUSED: &str = "the server asks for the password in clear text (mysql_clear_password): use \
     --mysql-ssl=on (sysbench 1.1: --mysql-ssl=REQUIRED), or the server's unix socket and \
     LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN=1 in the environment";

/// Advice if TLS is required and the server does not offer it.
const NO_TLS: &str = "configure a certificate on the server (ssl-cert and ssl-key), or remove --mysql-ssl: \
    connections are then not encrypted";

/// Advice if the password would be given to whoever answers with an RSA key of their own.
const NO_SECURE_CONNECTION: &str = "without TLS, another server could answer with its own key and learn the password: \
    use --mysql-ssl or, on a trusted network, --mysql-get-server-public-key=on";

/// The port of `--mysql-port=0`.
const DEFAULT_PORT: u16 = 3306;

/// The endpoint of a connection to MySQL. `Display` formats it as in sysbench's messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Socket(String),
    /// A host and its port; `localhost` means the default socket, as in MySQL's clients.
    Host(String, u16),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Socket(path) => write!(f, "socket '{path}'"),
            Endpoint::Host(host, port) => write!(f, "host '{host}', port {port}"),
        }
    }
}

/// Parses `--db-driver`.
///
/// # Errors
///
/// The driver does not exist. The error contains the log lines that sysbench prints when threads start.
pub fn parse_driver(database: &DatabaseOptions) -> Result<Driver, String> {
    match database.driver.as_str() {
        "mysql" => Ok(Driver::Mysql),
        "pgsql" => Ok(Driver::Pgsql),
        other => Err(fatal_line(&format!(
            "invalid database driver name: '{other}'"
        ))),
    }
}

/// Parses `--db-ps-mode`: the protocol mode.
///
/// # Errors
///
/// The value of `--db-ps-mode` is invalid. The error is the line of the log.
pub fn parse_ps_mode(database: &DatabaseOptions) -> Result<QueryMode, String> {
    match database.ps_mode.as_str() {
        "auto" => Ok(QueryMode::Prepared),
        "disable" => Ok(QueryMode::Simple),
        other => Err(fatal_line(&format!(
            "Invalid value for db-ps-mode: {other}"
        ))),
    }
}

/// The endpoints that connections use in rotation: the sockets, if there are any; otherwise the ports of the
/// first host, then those of the next host. Never empty.
pub fn endpoints(mysql: &MysqlOptions) -> Vec<Endpoint> {
    if !mysql.sockets.is_empty() {
        return mysql
            .sockets
            .iter()
            .cloned()
            .map(Endpoint::Socket)
            .collect();
    }
    let of_host = |host: &String| {
        let ports = mysql.ports.iter();
        let endpoints = ports.map(|port| Endpoint::Host(host.clone(), *port));
        endpoints.collect::<Vec<_>>()
    };
    mysql.hosts.iter().flat_map(of_host).collect()
}

/// The log lines if no attempt to connect succeeded, and the advice about the error, if there is any.
pub fn describe_connect_failure(
    database: &DatabaseOptions,
    driver: Driver,
    failures: &[ConnectFailure],
) -> (String, Option<&'static str>) {
    if driver == Driver::Pgsql {
        let mut causes = failures.iter().rev().map(|failure| &failure.cause);
        let server_error = causes.find_map(|cause| match cause {
            FailureCause::Login(error) => error.server_error(),
            _ => None,
        });
        let advice = server_error.and_then(|error| advice(driver, 0, error.code()));
        return (pgsql_unreachable(&libpq::connect_error(failures)), advice);
    }
    let Some(last) = failures.last() else {
        let text = "there is no address to connect to";
        let lines = mysql_unreachable("?", mysql_client::CONNECTION_ERROR, text);
        return (lines, None);
    };
    let endpoint = endpoint_of(&database.mysql, last);
    let (code, text) = mysql_client::connect_error(last, &endpoint);
    let advice = match &last.cause {
        FailureCause::Login(ConnectError::TlsUnsupported) => Some(NO_TLS),
        FailureCause::Login(ConnectError::SecureTransportNeeded(_)) => Some(NO_SECURE_CONNECTION),
        FailureCause::Login(ConnectError::CleartextRefused) => Some(CLEARTEXT_REFUSED),
        FailureCause::Login(ConnectError::PluginUnsupported(_)) => {
            advice(driver, mysql_client::AUTH_PLUGIN_CANNOT_LOAD, "")
        }
        _ => advice(driver, code, ""),
    };
    let lines = mysql_unreachable(&endpoint.to_string(), code, &text);
    (lines, advice)
}

/// The log lines for a connection that failed after the server had answered.
pub fn login_failure_lines(database: &DatabaseOptions, driver: Driver, text: &str) -> String {
    match driver {
        Driver::Mysql => {
            let endpoint = endpoints(&database.mysql)[0].to_string();
            mysql_unreachable(&endpoint, mysql_client::SERVER_LOST, text)
        }
        Driver::Pgsql => pgsql_unreachable(text),
    }
}

/// The endpoint of the options to which an attempt failed; the first endpoint if none matches.
fn endpoint_of(mysql: &MysqlOptions, failure: &ConnectFailure) -> Endpoint {
    let attempted = &failure.endpoint;
    let endpoints = endpoints(mysql);
    let matches_attempt = |endpoint: &&Endpoint| match (endpoint, &attempted.address) {
        (Endpoint::Socket(path), Address::Unix(address)) => Path::new(path) == address,
        (Endpoint::Host(host, _), Address::Unix(_)) => host == "localhost",
        (Endpoint::Host(host, port), Address::Tcp(_)) => {
            let is_default = *port == 0 && attempted.port == DEFAULT_PORT;
            *host == attempted.host && (*port == attempted.port || is_default)
        }
        _ => false,
    };
    let matching = endpoints.iter().find(matches_attempt);
    matching.unwrap_or(&endpoints[0]).clone()
}
