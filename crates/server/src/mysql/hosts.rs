//! Resolves the hosts to a unix socket or to addresses.
//!
//! In: hosts of the URL, options. Out: endpoints, in the order to try them. Must never: connect.

use super::url::Host;
use crate::error::Error;
use crate::option_values::{OptionValues, Origin};
use crate::postgres::Environment;
use crate::resolve::{ResolvedHost, endpoints_of, look_up_name, unix_socket};
use crate::target::{Address, Endpoint};
use prony_wire::Secret;
use std::path::PathBuf;

const DEFAULT_PORT: u16 = 3306;

/// The transport that the option `protocol` selects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transport {
    /// The host decides: a unix socket for `localhost`, else TCP.
    ByHost,
    Tcp,
    Socket,
}

/// Resolves the hosts of the URL, or of the options if the URL has none.
pub(super) fn resolve(
    hosts: &[Host],
    options: &OptionValues,
    env: &Environment,
    password: Option<Secret>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Endpoint>, Error> {
    let transport = match options.non_empty("protocol").map(str::to_ascii_lowercase) {
        None => Transport::ByHost,
        Some(name) => match name.as_str() {
            "default" => Transport::ByHost,
            "tcp" => Transport::Tcp,
            "socket" => Transport::Socket,
            _ => return Err(options.invalid_value("protocol", "write tcp or socket")),
        },
    };
    let port = options.number::<u16>("port")?.filter(|port| *port > 0);
    let port = port.unwrap_or(DEFAULT_PORT);
    let default = [(options.get("host").unwrap_or_default().to_owned(), None)];
    let hosts = if hosts.is_empty() { &default[..] } else { hosts };
    // A socket path in the URL takes precedence over a port in it.
    let socket_in_url = matches!(options.origin("socket"), Origin::Url(_));
    let resolved = hosts.iter().map(|(host, port_in_url)| {
        let is_local = host.is_empty() || host == "localhost";
        let host = if is_local { "localhost" } else { host };
        let use_socket = match transport {
            Transport::Tcp => false,
            Transport::Socket => true,
            Transport::ByHost => is_local && (port_in_url.is_none() || socket_in_url),
        };
        let port = port_in_url.unwrap_or(port);
        ResolvedHost {
            addresses: if use_socket {
                unix_socket(socket_path(options, env))
            } else {
                let addresses = look_up_name(host, port);
                addresses.map(|found| found.into_iter().map(Address::Tcp).collect())
            },
            host: host.to_owned(),
            port,
            password: password.clone(),
        }
    });
    let hint = "check the host (URL, option files, MYSQL_HOST) and the name service";
    endpoints_of(resolved, hint, warnings)
}

/// The path of the server's socket: that of the option `socket`, else the first default path that exists.
fn socket_path(options: &OptionValues, env: &Environment) -> PathBuf {
    let default_path = || {
        let existing = env.mysql_sockets.iter().find(|path| path.exists());
        existing.or(env.mysql_sockets.first()).cloned()
    };
    let path = options
        .non_empty("socket")
        .map(PathBuf::from)
        .or_else(default_path);
    path.unwrap_or_else(|| PathBuf::from("/tmp/mysql.sock"))
}
