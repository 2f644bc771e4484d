//! Addresses of hosts, for all protocols. Must never: connect.

use crate::error::{Error, resolver_reason};
use crate::target::{Address, Endpoint};
use prony_wire::Secret;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// Longest path of a unix socket in bytes: `sockaddr_un` holds 108, including the final zero.
const MAX_SOCKET_PATH_BYTES: usize = 107;

pub(crate) fn unix_socket(path: PathBuf) -> Result<Vec<Address>, String> {
    let length = path.as_os_str().len();
    if length > MAX_SOCKET_PATH_BYTES {
        return Err(format!(
            "unix socket path \"{}\" is too long ({length} bytes, at most {MAX_SOCKET_PATH_BYTES})",
            path.display()
        ));
    }
    Ok(vec![Address::Unix(path)])
}

/// All addresses that getaddrinfo returns, in its order; at least one.
pub(crate) fn look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    if addresses.is_empty() {
        Err(io::Error::other("the name has no address"))
    } else {
        Ok(addresses)
    }
}

/// As [`look_up`]; an error is a sentence.
pub(crate) fn look_up_name(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    look_up(host, port).map_err(|error| {
        let reason = resolver_reason(&error);
        format!("could not translate host name \"{host}\" to address: {reason}")
    })
}

/// A host with its addresses, in the order to try them, or why it has none.
pub(crate) struct ResolvedHost {
    pub addresses: Result<Vec<Address>, String>,
    pub host: String,
    pub port: u16,
    pub password: Option<Secret>,
}

/// The endpoints of several hosts. A host without an address is only a warning if a different one has some, because libpq
/// tries the next host.
pub(crate) fn endpoints_of(
    hosts: impl Iterator<Item = ResolvedHost>,
    hint: &str,
    warnings: &mut Vec<String>,
) -> Result<Vec<Endpoint>, Error> {
    let mut endpoints = Vec::new();
    let mut failures = Vec::new();
    for host in hosts {
        match host.addresses {
            Ok(addresses) => endpoints.extend(addresses.into_iter().map(|address| Endpoint {
                address,
                host: host.host.clone(),
                port: host.port,
                password: host.password.clone(),
            })),
            Err(problem) => failures.push(problem),
        }
    }
    if endpoints.is_empty() {
        return Err(Error::NoAddress {
            problem: failures.join("; "),
            hint: hint.into(),
        });
    }
    warnings.append(&mut failures);
    Ok(endpoints)
}
