//! Hides passwords in a connection string.
//!
//! The string is rebuilt from the parsed parts; text that cannot be parsed is not shown.
//! Must never: guess where a password is.

use super::{conninfo, options, uri};

const MASK: &str = "***";

/// The URL or conninfo string with every password replaced by `***`.
///
/// If the text cannot be parsed, or an unescaped `/` or `@` may have moved part of a password
/// elsewhere, only the scheme is shown.
pub fn redact(url: &str) -> String {
    match uri::strip_scheme(url) {
        Some(rest) => {
            let scheme = &url[..url.len() - rest.len()];
            format!(
                "{scheme}{}",
                redact_uri(rest).unwrap_or_else(|| MASK.to_owned())
            )
        }
        None => redact_conninfo(url).unwrap_or_else(|| MASK.to_owned()),
    }
}

/// The redacted URI after its scheme; `None` if it cannot be shown.
fn redact_uri(rest: &str) -> Option<String> {
    uri::parse(rest).ok()?;
    let parts = uri::split(rest).ok()?;
    let is_safe = |(host, port): &(&str, &str)| {
        !host.contains('@') && port.bytes().all(|b| b.is_ascii_digit())
    };
    let no_user = parts.user.is_none() && parts.password.is_none();
    let has_at = |text: &str| text.contains('@');
    if !parts.hosts.iter().all(is_safe)
        || has_at(parts.dbname)
        || (no_user && parts.query.is_some_and(has_at))
    {
        return None;
    }
    let mut redacted = parts.user.unwrap_or("").to_owned();
    if parts.password.is_some() {
        redacted.push(':');
        redacted.push_str(MASK);
    }
    if !redacted.is_empty() {
        redacted.push('@');
    }
    let hosts: Vec<String> = parts
        .hosts
        .iter()
        .map(|(host, port)| {
            // A host that begins with "[" or contains a delimiter was written in brackets, even if
            // it is not an address.
            let host = if host.starts_with('[') || host.contains([':', '/', '?', ',']) {
                format!("[{host}]")
            } else {
                (*host).to_owned()
            };
            if port.is_empty() {
                host
            } else {
                format!("{host}:{port}")
            }
        })
        .collect();
    redacted.push_str(&hosts.join(","));
    if !parts.dbname.is_empty() {
        redacted.push('/');
        redacted.push_str(parts.dbname);
    }
    if let Some(query) = parts.query.filter(|query| !query.is_empty()) {
        let parameters: Option<Vec<String>> = query
            .trim_end_matches('&')
            .split('&')
            .map(redact_parameter)
            .collect();
        redacted.push('?');
        redacted.push_str(&parameters?.join("&"));
    }
    Some(redacted)
}

/// One redacted `key=value` of a query.
fn redact_parameter(parameter: &str) -> Option<String> {
    let (key, value) = parameter.split_once('=')?;
    let name = uri::decode(key, "a key").ok()?;
    let secret = options::find(&name).is_some_and(|keyword| keyword.secret);
    Some(format!("{key}={}", if secret { MASK } else { value }))
}

/// The redacted conninfo string or database name; `None` if it cannot be shown.
fn redact_conninfo(text: &str) -> Option<String> {
    uri::refuse_foreign_scheme(text).ok()?;
    if !text.contains('=') {
        return Some(text.to_owned());
    }
    let pairs = conninfo::parse(text).ok()?;
    let redacted = pairs.iter().map(|(keyword, value)| {
        if keyword.secret {
            format!("{}={MASK}", keyword.name)
        } else {
            format!("{}={}", keyword.name, quote(value))
        }
    });
    Some(redacted.collect::<Vec<_>>().join(" "))
}

fn quote(value: &str) -> String {
    let needs_no_quotes = |c: char| !conninfo::is_whitespace(c) && c != '\'' && c != '\\';
    if !value.is_empty() && value.chars().all(needs_no_quotes) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}
