//! Resolves the hosts to a unix socket or to addresses.
//!
//! In: hosts of the URL, options. Out: endpoints, in the order to try them. Must never: connect.

use super::invalid_value;
use super::options::Options;
use super::url::Host;
use crate::error::{Error, resolver_reason};
use crate::option_values::Origin;
use crate::postgres::Environment;
use crate::target::{Address, Endpoint};
use prony_wire::Secret;
use std::net::ToSocketAddrs;
use std::path::PathBuf;

const DEFAULT_PORT: u16 = 3306;

/// Longest path of a unix socket in bytes: `sockaddr_un` holds 108, including the final zero.
const MAX_SOCKET_PATH_BYTES: usize = 107;

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
    options: &Options,
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
            _ => return Err(invalid_value(options, "protocol", "write tcp or socket")),
        },
    };
    let port = options.number::<u16>("port")?.filter(|port| *port > 0);
    let port = port.unwrap_or(DEFAULT_PORT);
    let default = [(options.get("host").unwrap_or_default().to_owned(), None)];
    let hosts = if hosts.is_empty() {
        &default[..]
    } else {
        hosts
    };
    let mut endpoints = Vec::new();
    let mut failures = Vec::new();
    for (host, port_in_url) in hosts {
        let is_local = host.is_empty() || host == "localhost";
        // A socket path in the URL takes precedence over a port in it.
        let socket_in_url = matches!(options.origin("socket"), Origin::Url(_));
        let use_socket = match transport {
            Transport::Tcp => false,
            Transport::Socket => true,
            Transport::ByHost => is_local && (port_in_url.is_none() || socket_in_url),
        };
        let port = port_in_url.unwrap_or(port);
        let addresses = if use_socket {
            socket_path(options, env).map(|path| vec![Address::Unix(path)])
        } else {
            lookup(if is_local { "localhost" } else { host }, port)
        };
        match addresses {
            Ok(addresses) => endpoints.extend(addresses.into_iter().map(|address| Endpoint {
                address,
                host: if is_local { "localhost" } else { host }.to_owned(),
                port,
                password: password.clone(),
            })),
            Err(problem) => failures.push(problem),
        }
    }
    if endpoints.is_empty() {
        return Err(Error::NoAddress {
            problem: failures.join("; "),
            hint: "check the host (URL, option files, MYSQL_HOST) and the name service".into(),
        });
    }
    warnings.append(&mut failures);
    Ok(endpoints)
}

/// The path of the server's socket: that of the option `socket`, else the first default path that exists.
fn socket_path(options: &Options, env: &Environment) -> Result<PathBuf, String> {
    let default_path = || {
        let existing = env.mysql_sockets.iter().find(|path| path.exists());
        existing.or(env.mysql_sockets.first()).cloned()
    };
    let path = options
        .non_empty("socket")
        .map(PathBuf::from)
        .or_else(default_path);
    let path = path.unwrap_or_else(|| PathBuf::from("/tmp/mysql.sock"));
    let length = path.as_os_str().len();
    if length > MAX_SOCKET_PATH_BYTES {
        return Err(format!(
            "unix socket path \"{}\" is too long ({length} bytes, at most {MAX_SOCKET_PATH_BYTES})",
            path.display()
        ));
    }
    Ok(path)
}

fn lookup(host: &str, port: u16) -> Result<Vec<Address>, String> {
    let failure = |reason: &dyn std::fmt::Display| {
        format!("could not translate host name \"{host}\" to address: {reason}")
    };
    let addresses = (host, port)
        .to_socket_addrs()
        .map_err(|error| failure(&resolver_reason(&error)))?;
    let addresses: Vec<Address> = addresses.map(Address::Tcp).collect();
    if addresses.is_empty() {
        Err(failure(&"the name has no address"))
    } else {
        Ok(addresses)
    }
}
