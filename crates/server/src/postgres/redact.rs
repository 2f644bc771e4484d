//! Hides passwords in a connection string.
//!
//! The string is rebuilt from the parsed parts; text that cannot be parsed is not shown.
//! Must never: guess where a password is.

use super::{conninfo, options, uri};
use crate::option_values::MASK;

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
    uri::split(rest).ok()?.redacted(|parameter| {
        let (key, _) = parameter.split_once('=')?;
        let name = uri::decode(key, "a key").ok()?;
        Some(options::find(&name).is_some_and(|keyword| keyword.secret))
    })
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
