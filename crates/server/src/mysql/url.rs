//! Parses connection URLs: `mysql://user:password@host:port,host:port/database?option=value`.
//!
//! In: text. Out: options and hosts. Must never: repeat the text in an error; it may contain a
//! password, even in an unexpected place.

use super::options::{self, is_secret, suggestion};
use crate::error::Error;
use crate::option_values::{MASK, OptionValues, Origin};
use crate::postgres::uri::{decode, split};
use prony_plan::Spread;

/// A host as written, and its port if there is one.
pub(super) type Host = (String, Option<u16>);

/// Schemes with which MySQL's and MariaDB's connectors take one of the hosts at random for each connection.
const BALANCED_SCHEMES: [&str; 4] = [
    "mysql:loadbalance://",
    "mariadb:loadbalance://",
    "jdbc:mysql:loadbalance://",
    "jdbc:mariadb:loadbalance://",
];

/// The text after `mysql://`, `mariadb://` or one of [`BALANCED_SCHEMES`]; `None` if it begins with none.
pub(crate) fn strip_scheme(text: &str) -> Option<&str> {
    let mut schemes = ["mysql://", "mariadb://"].iter().chain(&BALANCED_SCHEMES);
    schemes.find_map(|scheme| text.strip_prefix(scheme))
}

/// With which host a connection begins, by the scheme.
pub(crate) fn spread(text: &str) -> Spread {
    if BALANCED_SCHEMES
        .iter()
        .any(|scheme| text.starts_with(scheme))
    {
        Spread::Random
    } else {
        Spread::First
    }
}

/// Parses a URL without its scheme and sets its options, which replace earlier values. Returns its
/// hosts.
pub(super) fn read(rest: &str, options: &mut OptionValues) -> Result<Vec<Host>, Error> {
    let parts = split(rest)?;
    parts.refuse_at_sign_in_hosts("URL")?;
    let mut set = |name: &str, raw: Option<&str>| -> Result<(), Error> {
        if let Some(raw) = raw.filter(|raw| !raw.is_empty()) {
            let value = decode(raw, &format!("the {name}"))?;
            options::set(options, name, Some(&value), Origin::Url("the URL"));
        }
        Ok(())
    };
    set("user", parts.user)?;
    set("password", parts.password)?;
    set("database", Some(parts.dbname))?;
    let mut hosts = Vec::new();
    for (host, port) in &parts.hosts {
        if host.is_empty() && port.is_empty() {
            continue;
        }
        hosts.push((decode(host, "the host")?, parse_port(port)?));
    }
    // If the query contains an "@", part of an unescaped password may be there.
    let may_have_password = parts.query.is_some_and(|query| query.contains('@'));
    for (index, parameter) in parts.query_parameters().enumerate() {
        let location = format!("URL query parameter {}", index + 1);
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = parameter.contains('=').then(|| decode(value, &location));
        let value = value.transpose()?;
        let name = decode(name, &location)?;
        if !options::set(options, &name, value.as_deref(), Origin::Url("the URL")) {
            return Err(unknown_option_error(&name, location, may_have_password));
        }
    }
    Ok(hosts)
}

/// Parses a port. The error does not show the text: an unescaped slash in a password turns part of
/// it into a port.
fn parse_port(text: &str) -> Result<Option<u16>, Error> {
    if text.is_empty() {
        return Ok(None);
    }
    let number = text.parse::<u16>().ok().filter(|port| *port > 0);
    number.map(Some).ok_or_else(|| {
        Error::conninfo(
            "the port is not a number",
            "a port is 1 to 65535; in a password write %2F for \"/\" and %3A for \":\"",
        )
    })
}

/// The error for an unknown query key. It shows the key unless that may be part of a password.
fn unknown_option_error(name: &str, location: String, may_have_password: bool) -> Error {
    let is_plain = name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b == b'-' || b == b'_');
    if is_plain && !may_have_password {
        return Error::UnknownOption {
            name: name.to_owned(),
            origin: format!("the URL, {location}"),
            hint: suggestion(name),
        };
    }
    Error::conninfo(
        format!("invalid {location}"),
        "write %26 for an \"&\" and %3D for an \"=\" in a password",
    )
}

/// Replaces passwords in a URL. If the URL cannot be parsed, or part of a password may be elsewhere
/// in it, only the scheme is shown.
pub(crate) fn redact(url: &str) -> Option<String> {
    let rest = strip_scheme(url)?;
    let scheme = &url[..url.len() - rest.len()];
    let shown = redact_rest(rest).unwrap_or_else(|| MASK.to_owned());
    Some(format!("{scheme}{shown}"))
}

fn redact_rest(rest: &str) -> Option<String> {
    read(rest, &mut OptionValues::default()).ok()?;
    split(rest).ok()?.redacted(|parameter| {
        let Some((name, _)) = parameter.split_once('=') else {
            return Some(false);
        };
        Some(is_secret(&decode(name, "a name").ok()?))
    })
}
