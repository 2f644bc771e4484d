//! The lists of hosts, addresses and ports, and what the name service says of them.
//!
//! In: `host`, `hostaddr`, `port`. Out: endpoints in the order in which to try them. Must never:
//! connect.

use super::environment::Environment;
use super::options::{Options, Origin};
use crate::error::Error;
use crate::target::{Address, Endpoint};
use prony_plan::SplitMix;
use prony_wire::Secret;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// PostgreSQL's port unless said otherwise.
const DEFAULT_PORT: u16 = 5432;

/// Longest path of a unix socket in bytes: `sockaddr_un` has room for 108 with the final zero.
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// One element of the list of hosts, not yet resolved.
pub(crate) struct Spec {
    /// How it is reached.
    pub kind: Kind,
    /// `host` as written, or the socket folder by default.
    pub host: String,
    /// `hostaddr` as written, or empty.
    pub hostaddr: String,
    /// Port.
    pub port: u16,
    /// No host was given: the default socket folder.
    pub is_default: bool,
    /// Password for it.
    pub password: Option<Secret>,
}

/// How a host is reached.
pub(crate) enum Kind {
    /// A folder with a unix socket.
    Unix(PathBuf),
    /// A name for the name service.
    Name,
    /// `hostaddr`, which spares the name service.
    Addr,
}

/// Reads the three lists, by libpq's rules ("Specifying Multiple Hosts").
///
/// # Errors
///
/// Lists whose lengths do not fit, ports that are none, abstract sockets.
pub(crate) fn specs(options: &Options, env: &Environment) -> Result<Vec<Spec>, Error> {
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
        let given = hosts.len();
        let problem = format!("could not match {given} host names to {count} hostaddr values");
        return Err(mismatch(problem));
    }
    let mut ports = ports.unwrap_or_else(|| vec![""]);
    if ports.len() == 1 {
        ports = vec![ports[0]; count];
    }
    if ports.len() != count {
        let given = ports.len();
        return Err(mismatch(format!(
            "could not match {given} port numbers to {count} hosts"
        )));
    }
    (0..count)
        .map(|i| spec(hosts[i], addrs[i], port(ports[i], options)?, env))
        .collect()
}

/// One element of the lists.
fn spec(host: &str, addr: &str, port: u16, env: &Environment) -> Result<Spec, Error> {
    let is_default = host.is_empty() && addr.is_empty();
    let folder = match is_default {
        true => Some(env.socket_dir(port)),
        false => (addr.is_empty() && host.starts_with('/')).then(|| PathBuf::from(host)),
    };
    if addr.is_empty() && host.starts_with('@') {
        return Err(Error::Unsupported {
            what: "a unix socket in the abstract namespace (host=@...)".into(),
            hint: "give the server a socket folder with unix_socket_directories".into(),
        });
    }
    let host = match &folder {
        Some(folder) => folder.display().to_string(),
        None => host.to_owned(),
    };
    let kind = match folder {
        Some(folder) => Kind::Unix(folder),
        None if addr.is_empty() => Kind::Name,
        None => Kind::Addr,
    };
    Ok(Spec {
        kind,
        host,
        hostaddr: addr.to_owned(),
        port,
        is_default,
        password: None,
    })
}

/// A port number; nothing means the default.
fn port(text: &str, options: &Options) -> Result<u16, Error> {
    if text.is_empty() {
        return Ok(DEFAULT_PORT);
    }
    let number = text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    number.ok_or_else(|| {
        let origin = options.origin("port");
        // An unescaped slash in a password makes half of it a port; do not show that.
        if origin == Origin::Url && !text.bytes().all(|b| b.is_ascii_digit()) {
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

/// Asks the name service, and orders the addresses.
///
/// As libpq goes on to the next host, a name without an address is a warning while another host
/// has one.
///
/// # Errors
///
/// No host has an address.
pub(crate) fn resolve(
    mut specs: Vec<Spec>,
    shuffle: bool,
    warnings: &mut Vec<String>,
) -> Result<Vec<Endpoint>, Error> {
    let mut random = shuffle.then(random);
    if let Some(random) = &mut random {
        random.shuffle(&mut specs);
    }
    let mut endpoints = Vec::new();
    let mut failures = Vec::new();
    for spec in &specs {
        match addresses(spec) {
            Ok(mut found) => {
                if let Some(random) = &mut random {
                    random.shuffle(&mut found);
                }
                endpoints.extend(found.into_iter().map(|address| Endpoint {
                    address,
                    host: spec.host.clone(),
                    port: spec.port,
                    password: spec.password.clone(),
                }));
            }
            Err(problem) => failures.push(problem),
        }
    }
    if endpoints.is_empty() {
        return Err(Error::NoAddress {
            problem: failures.join("; "),
            hint: "check the host (URL, PGHOST) and the name service".into(),
        });
    }
    warnings.append(&mut failures);
    Ok(endpoints)
}

/// The addresses of one host.
fn addresses(spec: &Spec) -> Result<Vec<Address>, String> {
    match &spec.kind {
        Kind::Unix(folder) => {
            let path = folder.join(format!(".s.PGSQL.{}", spec.port));
            let length = path.as_os_str().len();
            if length > MAX_SOCKET_PATH_BYTES {
                return Err(format!(
                    "unix socket path \"{}\" is too long ({length} bytes, at most \
                     {MAX_SOCKET_PATH_BYTES})",
                    path.display()
                ));
            }
            Ok(vec![Address::Unix(path)])
        }
        Kind::Addr => numeric(&spec.hostaddr, spec.port),
        Kind::Name => lookup(&spec.host, spec.port).map_err(|e| {
            format!(
                "could not translate host name \"{}\" to address: {e}",
                spec.host
            )
        }),
    }
}

/// A numeric address, without asking the name service.
fn numeric(text: &str, port: u16) -> Result<Vec<Address>, String> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(vec![Address::Tcp(SocketAddr::new(ip, port))]);
    }
    let refuse = |why: &str| format!("could not parse network address \"{text}\": {why}");
    // fe80::1%eth0 and 127.1 are numeric for getaddrinfo only.
    let (before, _) = text.split_once('%').unwrap_or((text, ""));
    let v6 = before.contains(':') && before.parse::<IpAddr>().is_ok();
    if v6 || text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return lookup(text, port).map_err(|e| refuse(&e.to_string()));
    }
    Err(refuse("hostaddr takes an IP address, host takes a name"))
}

/// All addresses that getaddrinfo gives, in its order.
fn lookup(host: &str, port: u16) -> std::io::Result<Vec<Address>> {
    let found: Vec<Address> = (host, port).to_socket_addrs()?.map(Address::Tcp).collect();
    match found.is_empty() {
        true => Err(std::io::Error::other("the name has no address")),
        false => Ok(found),
    }
}

/// Seeded by the system, from which the standard library keys its hash maps: enough to spread clients
/// over hosts.
fn random() -> SplitMix {
    SplitMix::new(RandomState::new().build_hasher().finish())
}
