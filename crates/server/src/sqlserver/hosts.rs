//! Resolves the server's name to addresses.
//!
//! In: the options. Out: endpoints, in the order to try them. Must never: connect. A named instance without a
//! port is looked up at the SQL Browser of its host.

use super::browser;
use crate::error::Error;
use crate::option_values::OptionValues;
use crate::resolve::look_up_name;
use crate::target::{Address, Endpoint};
use prony_wire::Secret;
use std::net::{IpAddr, SocketAddr};

const DEFAULT_PORT: u16 = 1433;
/// The name of the default instance, which clients need not state.
const DEFAULT_INSTANCE: &str = "MSSQLSERVER";

/// A server as users name it: `tcp:host\instance,port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerName {
    pub host: String,
    pub instance: Option<String>,
    pub port: Option<u16>,
}

/// Reads the options `server`, `port` and `instance`.
pub(super) fn read_server_name(options: &OptionValues) -> Result<ServerName, Error> {
    let text = options.non_empty("server").unwrap_or_default().trim();
    let text = match text.split_once(':') {
        Some((protocol, name)) if protocol.eq_ignore_ascii_case("tcp") => name,
        Some((protocol, _))
            if ["np", "lpc", "admin"]
                .iter()
                .any(|unsupported| protocol.eq_ignore_ascii_case(unsupported)) =>
        {
            return Err(Error::Unsupported {
                feature: format!("the protocol {protocol} of a server's name"),
                hint: "connect with TCP: write tcp:host,port".into(),
            });
        }
        _ => text,
    };
    let (text, port_in_name) = match text.rsplit_once(',') {
        Some((host, port)) => (host, Some(parse_port(port)?)),
        None => (text, None),
    };
    let (host, instance) = match text.split_once('\\') {
        Some((host, instance)) => (host, Some(instance)),
        None => (text, None),
    };
    if host.eq_ignore_ascii_case("(localdb)") || instance.is_some_and(|name| name.contains('\\')) {
        return Err(Error::Unsupported {
            feature: "a server that is reached by a named pipe".into(),
            hint: "connect with TCP: write tcp:host,port".into(),
        });
    }
    let host = host.trim().trim_start_matches('[').trim_end_matches(']');
    let is_local = ["", ".", "(local)"]
        .iter()
        .any(|name| host.eq_ignore_ascii_case(name));
    let port = match (port_in_name, options.non_empty("port")) {
        (Some(port), _) => Some(port),
        (None, Some(text)) => Some(parse_port(text)?),
        (None, None) => None,
    };
    let instance = instance.or(options.non_empty("instance")).map(str::trim);
    let is_named = |name: &&str| !name.is_empty() && !name.eq_ignore_ascii_case(DEFAULT_INSTANCE);
    Ok(ServerName {
        host: if is_local { "localhost" } else { host }.to_owned(),
        instance: instance.filter(is_named).map(str::to_owned),
        port,
    })
}

/// Parses a port. The error does not show the text: an unescaped slash in a password turns part of it into
/// a port.
fn parse_port(text: &str) -> Result<u16, Error> {
    let number = text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    number.ok_or_else(|| {
        Error::conninfo(
            "the port is not a number",
            "a port is 1 to 65535; in a URL write %2F for \"/\" and %3A for \":\" in a password",
        )
    })
}

pub(super) fn resolve(
    server: &ServerName,
    password: Option<&Secret>,
) -> Result<Vec<Endpoint>, Error> {
    let host = server.host.as_str();
    let addresses = look_up_addresses(host)?;
    let port = match (server.port, &server.instance) {
        // With a port, the name of the instance is ignored, as in all clients.
        (Some(port), _) => port,
        (None, None) => DEFAULT_PORT,
        (None, Some(instance)) => {
            browser::find_port(&addresses, instance).map_err(|problem| Error::Host {
                problem: format!("the port of the instance \"{instance}\" on {host} is unknown: {problem}"),
                hint: "start the service SQL Server Browser and open UDP port 1434, or name the instance's port".into(),
            })?
        }
    };
    let endpoint = |ip: &IpAddr| Endpoint {
        address: Address::Tcp(SocketAddr::new(*ip, port)),
        host: host.to_owned(),
        port,
        password: password.cloned(),
    };
    Ok(addresses.iter().map(endpoint).collect())
}

/// All addresses of a host, in the resolver's order; at least one.
fn look_up_addresses(host: &str) -> Result<Vec<IpAddr>, Error> {
    let addresses = look_up_name(host, DEFAULT_PORT).map_err(|problem| Error::NoAddress {
        problem,
        hint: "check the host (URL, SQLCMDSERVER) and the name service".into(),
    })?;
    let mut distinct: Vec<IpAddr> = Vec::new();
    for address in addresses {
        if !distinct.contains(&address.ip()) {
            distinct.push(address.ip());
        }
    }
    Ok(distinct)
}
