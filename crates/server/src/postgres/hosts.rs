//! Reads the lists of hosts, addresses and ports, and resolves names.
//!
//! In: `host`, `hostaddr`, `port`. Out: endpoints, in the order to try them. Must never: connect.

use super::environment::Environment;
use crate::error::Error;
use crate::option_values::{OptionValues, Origin};
use crate::resolve::{ResolvedHost, endpoints_of, look_up, look_up_name, unix_socket};
use crate::target::{Address, Endpoint};
use prony_wire::Secret;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

const DEFAULT_PORT: u16 = 5432;

/// One element of the list of hosts, not yet resolved.
pub(crate) struct HostSpec {
    pub kind: HostKind,
    /// `host` as written, or the default socket folder.
    pub host: String,
    /// `hostaddr` as written, or empty.
    pub hostaddr: String,
    pub port: u16,
    /// Whether no host was given and `host` is the default socket folder.
    pub is_default: bool,
    pub password: Option<Secret>,
}

pub(crate) enum HostKind {
    /// A folder with a unix socket.
    Unix(PathBuf),
    /// A host name to resolve.
    Name,
    /// `hostaddr`, which needs no resolving.
    Addr,
}

/// Reads the three lists by libpq's rules ("Specifying Multiple Hosts").
///
/// # Errors
///
/// Lists of different lengths, invalid ports, abstract sockets.
pub(crate) fn host_specs(
    options: &OptionValues,
    env: &Environment,
) -> Result<Vec<HostSpec>, Error> {
    let list = |name: &str| -> Option<Vec<&str>> {
        options
            .non_empty(name)
            .map(|value| value.split(',').collect())
    };
    let (hosts, addrs, ports) = (list("host"), list("hostaddr"), list("port"));
    let count = addrs.as_ref().or(hosts.as_ref()).map_or(1, Vec::len);
    let hosts = hosts.unwrap_or_else(|| vec![""; count]);
    let addrs = addrs.unwrap_or_else(|| vec![""; count]);
    let mismatch = |problem: String| Error::Host {
        problem,
        hint: "give the lists the same length; an element may be empty".into(),
    };
    if hosts.len() != count {
        let host_count = hosts.len();
        let problem = format!("could not match {host_count} host names to {count} hostaddr values");
        return Err(mismatch(problem));
    }
    let mut ports = ports.unwrap_or_else(|| vec![""]);
    if ports.len() == 1 {
        ports = vec![ports[0]; count];
    }
    if ports.len() != count {
        let port_count = ports.len();
        return Err(mismatch(format!(
            "could not match {port_count} port numbers to {count} hosts"
        )));
    }
    (0..count)
        .map(|i| host_spec(hosts[i], addrs[i], parse_port(ports[i], options)?, env))
        .collect()
}

/// One element of the lists.
fn host_spec(host: &str, addr: &str, port: u16, env: &Environment) -> Result<HostSpec, Error> {
    let is_default = host.is_empty() && addr.is_empty();
    let folder = if is_default {
        Some(env.socket_dir(port))
    } else {
        (addr.is_empty() && host.starts_with('/')).then(|| PathBuf::from(host))
    };
    if addr.is_empty() && host.starts_with('@') {
        return Err(Error::Unsupported {
            feature: "a unix socket in the abstract namespace (host=@...)".into(),
            hint: "give the server a socket folder with unix_socket_directories".into(),
        });
    }
    let host = match &folder {
        Some(folder) => folder.display().to_string(),
        None => host.to_owned(),
    };
    let kind = match folder {
        Some(folder) => HostKind::Unix(folder),
        None if addr.is_empty() => HostKind::Name,
        None => HostKind::Addr,
    };
    Ok(HostSpec {
        kind,
        host,
        hostaddr: addr.to_owned(),
        port,
        is_default,
        password: None,
    })
}

/// Parses a port number; an empty text means the default.
fn parse_port(text: &str, options: &OptionValues) -> Result<u16, Error> {
    if text.is_empty() {
        return Ok(DEFAULT_PORT);
    }
    let number = text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    number.ok_or_else(|| {
        let origin = options.origin("port");
        // If a password contains an unescaped slash, this text may be a part of it: do not show it.
        if matches!(origin, Origin::Url(_)) && !text.bytes().all(|b| b.is_ascii_digit()) {
            return Error::conninfo(
                "the port is not a number",
                "a port is 1 to 65535; in a password write %2F for \"/\" and %3A for \":\"",
            );
        }
        Error::Value {
            option: "port",
            value: text.to_owned(),
            origin: origin.to_string(),
            hint: "a port is a number from 1 to 65535".into(),
        }
    })
}

/// Resolves names to addresses, in the order to try them.
pub(crate) fn resolve(
    specs: Vec<HostSpec>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Endpoint>, Error> {
    let resolved = specs.into_iter().map(|spec| ResolvedHost {
        addresses: addresses(&spec),
        host: spec.host,
        port: spec.port,
        password: spec.password,
    });
    let hint = "check the host (URL, PGHOST) and the name service";
    endpoints_of(resolved, hint, warnings)
}

fn addresses(spec: &HostSpec) -> Result<Vec<Address>, String> {
    match &spec.kind {
        HostKind::Unix(folder) => {
            let path = folder.join(format!(".s.PGSQL.{}", spec.port));
            unix_socket(path)
        }
        HostKind::Addr => parse_address(&spec.hostaddr, spec.port),
        HostKind::Name => look_up_name(&spec.host, spec.port).map(over_tcp),
    }
}

/// Parses a numeric address, without a DNS query.
fn parse_address(text: &str, port: u16) -> Result<Vec<Address>, String> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(vec![Address::Tcp(SocketAddr::new(ip, port))]);
    }
    let error_text = |reason: &str| format!("could not parse network address \"{text}\": {reason}");
    // Only getaddrinfo accepts fe80::1%eth0 and 127.1 as numeric.
    let (address, _) = text.split_once('%').unwrap_or((text, ""));
    let is_ipv6 = address.contains(':') && address.parse::<IpAddr>().is_ok();
    if is_ipv6 || text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        let found = look_up(text, port).map_err(|e| error_text(&e.to_string()));
        return found.map(over_tcp);
    }
    Err(error_text(
        "hostaddr takes an IP address, host takes a name",
    ))
}

fn over_tcp(addresses: Vec<SocketAddr>) -> Vec<Address> {
    addresses.into_iter().map(Address::Tcp).collect()
}
