//! Parses connection URIs: `postgresql://user:password@host:port,host:port/dbname?keyword=value`.
//!
//! In: text. Out: keyword and value pairs. Must never: repeat the text in an error; it may contain
//! a password, even in an unexpected place.

use super::options::{self, Keyword};
use crate::error::Error;
use crate::option_values::MASK;

/// The text after `postgres://` or `postgresql://`; `None` if it begins with neither.
pub(crate) fn strip_scheme(text: &str) -> Option<&str> {
    text.strip_prefix("postgresql://")
        .or_else(|| text.strip_prefix("postgres://"))
}

/// Refuses other schemes such as `ftp://`, which libpq would read as a database name or a keyword.
///
/// # Errors
///
/// Shows the scheme, but nothing after it.
pub(crate) fn refuse_foreign_scheme(text: &str) -> Result<(), Error> {
    let Some((scheme, _)) = text.split_once("://") else {
        return Ok(());
    };
    if scheme.contains('=') {
        return Ok(());
    }
    let scheme = scheme.trim();
    let is_plain = scheme.len() <= 20 && scheme.bytes().all(|b| b.is_ascii_alphanumeric());
    let problem = if is_plain {
        format!("\"{scheme}://\" is not a scheme of PostgreSQL")
    } else {
        "it does not begin with a scheme of PostgreSQL".to_owned()
    };
    Err(Error::conninfo(
        problem,
        "begin the URL with postgresql:// or postgres://; with mysql://, mariadb:// or sqlserver:// for those servers",
    ))
}

/// The parts of a URI, not yet decoded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct UriParts<'a> {
    pub user: Option<&'a str>,
    pub password: Option<&'a str>,
    /// Hosts and ports in pairs; either may be empty. Brackets are removed from hosts.
    pub hosts: Vec<(&'a str, &'a str)>,
    pub dbname: &'a str,
    pub query: Option<&'a str>,
}

impl UriParts<'_> {
    /// The parameters of the query, without empty ones.
    pub(crate) fn query_parameters(&self) -> impl Iterator<Item = &str> {
        let parameters = self.query.unwrap_or_default().split('&');
        parameters.filter(|parameter| !parameter.is_empty())
    }

    /// The URL after its scheme, without its password. `None` if an unescaped `/` or `@` may have moved a part of a password
    /// elsewhere, or if `is_secret` does not know whether the value of a parameter of the query is secret.
    pub(crate) fn redacted(&self, is_secret: impl Fn(&str) -> Option<bool>) -> Option<String> {
        let is_safe = |(host, port): &(&str, &str)| {
            !host.contains('@') && port.bytes().all(|b| b.is_ascii_digit())
        };
        let no_user = self.user.is_none() && self.password.is_none();
        let has_at = |text: &str| text.contains('@');
        if !self.hosts.iter().all(is_safe)
            || has_at(self.dbname)
            || (no_user && self.query.is_some_and(has_at))
        {
            return None;
        }
        let mut redacted = self.user.unwrap_or_default().to_owned();
        if self.password.is_some() {
            redacted.push(':');
            redacted.push_str(MASK);
        }
        if !redacted.is_empty() {
            redacted.push('@');
        }
        let hosts = self.hosts.iter().map(|(host, port)| {
            // A host that begins with "[" or contains a delimiter was written in brackets, even if
            // it is not an address.
            let host = if host.starts_with('[') || host.contains([':', '/', '?', ',']) {
                format!("[{host}]")
            } else {
                (*host).to_owned()
            };
            if port.is_empty() { host } else { format!("{host}:{port}") }
        });
        redacted.push_str(&hosts.collect::<Vec<_>>().join(","));
        if !self.dbname.is_empty() {
            redacted.push('/');
            redacted.push_str(self.dbname);
        }
        let mut separator = '?';
        for parameter in self.query_parameters() {
            redacted.push(std::mem::replace(&mut separator, '&'));
            if is_secret(parameter)? {
                let name = parameter.split('=').next().unwrap_or_default();
                redacted.push_str(&format!("{name}={MASK}"));
            } else {
                redacted.push_str(parameter);
            }
        }
        Some(redacted)
    }

    /// Refuses an `@` in the hosts; `kind` names the text in messages.
    pub(crate) fn refuse_at_sign_in_hosts(&self, kind: &str) -> Result<(), Error> {
        let mut texts = self.hosts.iter().flat_map(|(host, port)| [host, port]);
        if texts.any(|text| text.contains('@')) {
            Err(Error::conninfo(
                format!("the host part of the {kind} contains a second \"@\""),
                "write %40 for an \"@\" in the user name or password",
            ))
        } else {
            Ok(())
        }
    }
}

/// Splits the text after the scheme, without decoding (libpq's manual, "Connection URIs").
pub(crate) fn split(rest: &str) -> Result<UriParts<'_>, Error> {
    let mut parts = UriParts::default();
    let mut rest = rest;
    // There is a user part if an @ comes before the first slash.
    if let Some(at) = rest
        .find(['@', '/'])
        .filter(|&at| rest.as_bytes()[at] == b'@')
    {
        let (user, password) = match rest[..at].split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (&rest[..at], None),
        };
        parts.user = Some(user).filter(|user| !user.is_empty());
        parts.password = password.filter(|password| !password.is_empty());
        rest = &rest[at + 1..];
    }
    loop {
        let (host, after) = split_host(rest)?;
        let (port, after) = match after.strip_prefix(':') {
            Some(after) => after.split_at(after.find(['/', '?', ',']).unwrap_or(after.len())),
            None => ("", after),
        };
        parts.hosts.push((host, port));
        rest = after;
        match rest.strip_prefix(',') {
            Some(next_host) => rest = next_host,
            None => break,
        }
    }
    if let Some(after) = rest.strip_prefix('/') {
        let end = after.find('?').unwrap_or(after.len());
        parts.dbname = &after[..end];
        rest = &after[end..];
    }
    parts.query = rest.strip_prefix('?');
    Ok(parts)
}

/// A host name, or an IPv6 address in brackets, and what follows it.
fn split_host(rest: &str) -> Result<(&str, &str), Error> {
    let Some(inner) = rest.strip_prefix('[') else {
        return Ok(rest.split_at(rest.find([':', '/', '?', ',']).unwrap_or(rest.len())));
    };
    let hint = "write an IPv6 address as [::1], followed by :port or /dbname";
    let end = inner.find(']').ok_or_else(|| {
        Error::conninfo("an IPv6 address in the URI lacks its closing \"]\"", hint)
    })?;
    let (host, after) = (&inner[..end], &inner[end + 1..]);
    if host.is_empty() {
        return Err(Error::conninfo("an IPv6 address in the URI is empty", hint));
    }
    if !(after.is_empty() || after.starts_with([':', '/', '?', ','])) {
        return Err(Error::conninfo(
            "unexpected character after the \"]\" of an IPv6 address",
            hint,
        ));
    }
    Ok((host, after))
}

/// Parses a URI without its scheme into options.
pub(crate) fn parse(rest: &str) -> Result<Vec<(&'static Keyword, String)>, Error> {
    let parts = split(rest)?;
    parts.refuse_at_sign_in_hosts("URI")?;
    let mut pairs = Vec::new();
    let mut push = |name: &str, raw: &str, part: &str| -> Result<(), Error> {
        if !raw.is_empty() {
            pairs.push((options::expect_keyword(name), decode(raw, part)?));
        }
        Ok(())
    };
    push("user", parts.user.unwrap_or(""), "the user name")?;
    push("password", parts.password.unwrap_or(""), "the password")?;
    let join = |list: Vec<&str>| list.join(",");
    push(
        "host",
        &join(parts.hosts.iter().map(|h| h.0).collect()),
        "the host",
    )?;
    push(
        "port",
        &join(parts.hosts.iter().map(|h| h.1).collect()),
        "the port",
    )?;
    push("dbname", parts.dbname, "the database name")?;
    if let Some(query) = parts.query {
        parse_query(query, &mut pairs)?;
    }
    Ok(pairs)
}

/// Adds the options of a query, `key=value&key=value`.
fn parse_query(query: &str, pairs: &mut Vec<(&'static Keyword, String)>) -> Result<(), Error> {
    let hint = "write key=value, joined by \"&\"; write %3D for \"=\" and %26 for \"&\" in a value";
    // As with libpq, one trailing "&" is allowed; an empty parameter elsewhere is not.
    if query.is_empty() {
        return Ok(());
    }
    let query = query.strip_suffix('&').unwrap_or(query);
    for (number, parameter) in query.split('&').enumerate() {
        let location = format!("URI query parameter {}", number + 1);
        let mut pieces = parameter.split('=');
        let (Some(key), Some(value)) = (pieces.next(), pieces.next()) else {
            return Err(Error::conninfo(
                format!("missing key/value separator \"=\" in {location}"),
                hint,
            ));
        };
        if pieces.next().is_some() {
            let problem = format!("extra key/value separator \"=\" in {location}");
            return Err(Error::conninfo(problem, hint));
        }
        let key = decode(key, &location)?;
        let value = decode(value, &location)?;
        pairs.push(match options::find(&key) {
            Some(keyword) => (keyword, value),
            // libpq accepts JDBC's `ssl=true`, and no other value of `ssl`.
            None if key == "ssl" && value == "true" => {
                (options::expect_keyword("sslmode"), "require".to_owned())
            }
            None => match options::translate_obsolete(&key, &value) {
                Some(pair) => pair,
                None => return Err(unknown_key_error(key, pairs.last(), location)),
            },
        });
    }
    Ok(())
}

/// The error for a query key that is not an option. It shows the key, unless the key may be part of an
/// unescaped password that contains an `&`.
fn unknown_key_error(
    key: String,
    previous: Option<&(&'static Keyword, String)>,
    location: String,
) -> Error {
    let is_plain = key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    if is_plain && !previous.is_some_and(|(keyword, _)| keyword.secret) {
        let hint = match key.as_str() {
            "ssl" => "write ssl=true, or better sslmode=require".to_owned(),
            _ => options::suggestion(&key),
        };
        let origin = format!("the connection string, {location}");
        return Error::UnknownOption {
            name: key,
            origin,
            hint,
        };
    }
    Error::conninfo(
        format!("invalid {location}"),
        "write %26 for an \"&\" and %3D for an \"=\" in a password",
    )
}

/// Decodes percent-encoding; `part` names the text in errors.
pub(crate) fn decode(raw: &str, part: &str) -> Result<String, Error> {
    let error = |problem: &str| {
        Error::conninfo(
            format!("{problem} in {part}"),
            "a \"%\" begins a two-digit hexadecimal code; write %25 for the sign itself",
        )
    };
    // libpq 18 ignores spaces around a part, and refuses them inside.
    let raw = raw.trim_matches(' ');
    if raw.contains(' ') {
        return Err(Error::conninfo(
            format!("unexpected spaces in {part}"),
            "write %20 for a space",
        ));
    }
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let digit = |index: usize| after.get(index).and_then(|b| char::from(*b).to_digit(16));
        let (Some(high), Some(low)) = (digit(0), digit(1)) else {
            return Err(error("invalid percent-encoded token"));
        };
        if (high, low) == (0, 0) {
            return Err(error("forbidden value %00"));
        }
        bytes.push((high * 16 + low) as u8);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| error("percent-encoded bytes that are not UTF-8"))
}
