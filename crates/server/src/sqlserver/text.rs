//! Parses connection strings: URLs as in Go, JDBC, ADO.NET and ODBC.
//!
//! In: text. Out: options. Must never: repeat the text in an error; it may contain a password, even in an
//! unexpected place.

use super::options::{self, find_option, is_secret};
use crate::error::Error;
use crate::option_values::{MASK, OptionValues};
use crate::postgres::uri::{decode, split};

/// A connection string of SQL Server, without its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionText<'a> {
    /// `sqlserver://user:password@host:port/instance?database=d`.
    Url(&'a str),
    /// `jdbc:sqlserver://host\instance:port;databaseName=d;user=u`.
    Jdbc(&'a str),
    /// `Server=tcp:host,port;Database=d;User Id=u`: values may be in quotes.
    Ado(&'a str),
    /// `Driver={...};Server=host;UID=u`: values may be in braces.
    Odbc(&'a str),
}

/// Recognizes a connection string for SQL Server; `None` for any other text.
pub(crate) fn recognize(text: &str) -> Option<ConnectionText<'_>> {
    let without_prefix = |prefix: &str| {
        let head = text.get(..prefix.len())?;
        head.eq_ignore_ascii_case(prefix)
            .then(|| &text[prefix.len()..])
    };
    if let Some(body) = without_prefix("sqlserver://").or_else(|| without_prefix("mssql://")) {
        return Some(ConnectionText::Url(body));
    }
    if let Some(body) = without_prefix("jdbc:sqlserver://") {
        return Some(ConnectionText::Jdbc(body));
    }
    if let Some(body) = without_prefix("odbc:") {
        return Some(ConnectionText::Odbc(body));
    }
    // libpq's connection strings have no keyword that names the server in these ways.
    let names = || {
        text.split(';')
            .filter_map(|part| Some(part.split_once('=')?.0.trim()))
    };
    let has_any = |keywords: &[&str]| {
        names().any(|name| {
            keywords
                .iter()
                .any(|keyword| name.eq_ignore_ascii_case(keyword))
        })
    };
    if text.contains("://") || !text.contains('=') {
        return None;
    }
    if has_any(&["driver", "dsn"]) {
        return Some(ConnectionText::Odbc(text));
    }
    let server_keywords = [
        "server",
        "data source",
        "addr",
        "address",
        "network address",
    ];
    has_any(&server_keywords).then_some(ConnectionText::Ado(text))
}

/// Parses a connection string and sets its options.
pub(super) fn parse(
    text: ConnectionText<'_>,
    options: &mut OptionValues,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    match text {
        ConnectionText::Url(url_body) => parse_url(url_body, options, warnings),
        ConnectionText::Jdbc(rest) => {
            let (server, rest) = rest.split_once(';').unwrap_or((rest, ""));
            let (server, port) = match server.rsplit_once(':') {
                Some((host, port)) if !port.ends_with(']') => (host, port),
                _ => (server, ""),
            };
            if !server.is_empty() {
                options::set_known(options, "server", server, "the URL");
            }
            if !port.is_empty() {
                options::set_known(options, "port", port, "the URL");
            }
            set_options(parse_pairs(rest, '{')?, options, warnings)
        }
        ConnectionText::Ado(text) => set_options(parse_pairs(text, '"')?, options, warnings),
        ConnectionText::Odbc(text) => set_options(parse_pairs(text, '{')?, options, warnings),
    }
}

fn set_options(
    pairs: Vec<(String, String)>,
    options: &mut OptionValues,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    for (index, (name, value)) in pairs.iter().enumerate() {
        let location = format!("the connection string, part {}", index + 1);
        options::set(options, name, value, &location, warnings)?;
    }
    Ok(())
}

fn parse_url(
    url_body: &str,
    options: &mut OptionValues,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let parts = split(url_body)?;
    parts.refuse_at_sign_in_hosts("URL")?;
    let [(host, port)] = parts.hosts[..] else {
        return Err(Error::conninfo(
            "the URL has several hosts",
            "name one; a listener of an availability group stands for all of its servers",
        ));
    };
    let mut set_if_given = |option: &'static str, raw: &str| -> Result<(), Error> {
        if !raw.is_empty() {
            let value = decode(raw, &format!("the {option}"))?;
            options::set_known(options, option, &value, "the URL");
        }
        Ok(())
    };
    set_if_given("user", parts.user.unwrap_or_default())?;
    set_if_given("password", parts.password.unwrap_or_default())?;
    set_if_given("server", host)?;
    set_if_given("port", port)?;
    set_if_given("instance", parts.dbname)?;
    for (index, parameter) in parts.query_parameters().enumerate() {
        let location = format!("URL query parameter {}", index + 1);
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        // In a query, a plus sign stands for a space.
        let decode_query = |raw: &str| decode(&raw.replace(['+', ' '], "%20"), &location);
        let (name, value) = (decode_query(name)?, decode_query(value)?);
        options::set(options, &name, &value, &location, warnings)?;
    }
    Ok(())
}

/// Splits `name=value;name=value`. `quote`: `{` if values may be in braces, `"` if they may be in single or
/// double quotes. A closing sign inside a value is doubled.
fn parse_pairs(text: &str, quote: char) -> Result<Vec<(String, String)>, Error> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start_matches([';', ' ']);
    while !rest.is_empty() {
        let number = pairs.len() + 1;
        let error = |problem: &str| {
            Error::conninfo(
                format!("part {number} of the connection string {problem}"),
                "write name=value, separated by semicolons; enclose a value with a semicolon in quotes, or in braces \
                 for ODBC and JDBC",
            )
        };
        let (name, after) = rest.split_once('=').ok_or_else(|| error("has no \"=\""))?;
        let after = after.trim_start();
        let closing = match (quote, after.chars().next()) {
            ('{', Some('{')) => Some('}'),
            ('"', Some(sign @ ('"' | '\''))) => Some(sign),
            _ => None,
        };
        let (value, after) = match closing {
            Some(closing) => {
                let (value, after) = parse_quoted(&after[1..], closing)
                    .ok_or_else(|| error("has no closing quote"))?;
                let after = after.trim_start();
                let after = match after.strip_prefix(';') {
                    Some(after) => after,
                    None if after.is_empty() => after,
                    None => return Err(error("goes on after its closing quote")),
                };
                (value, after)
            }
            None => {
                let (value, after) = after.split_once(';').unwrap_or((after, ""));
                (value.trim_end().to_owned(), after)
            }
        };
        pairs.push((name.trim().to_owned(), value));
        rest = after.trim_start_matches([';', ' ']);
    }
    Ok(pairs)
}

/// Parses a value up to its closing sign; returns the value and the text after the sign.
fn parse_quoted(text: &str, closing: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let (part, after) = rest.split_once(closing)?;
        value.push_str(part);
        match after.strip_prefix(closing) {
            Some(after) => {
                value.push(closing);
                rest = after;
            }
            None => return Some((value, after)),
        }
    }
}

/// Replaces passwords in a connection string. If it cannot be parsed, or part of a password may be
/// elsewhere in it, only its prefix is shown. `None`: the text is not for SQL Server.
pub(crate) fn redact(text: &str) -> Option<String> {
    let form = recognize(text)?;
    let (ConnectionText::Url(rest)
    | ConnectionText::Jdbc(rest)
    | ConnectionText::Ado(rest)
    | ConnectionText::Odbc(rest)) = form;
    let prefix = &text[..text.len() - rest.len()];
    let redacted = redact_body(form).unwrap_or_else(|| MASK.to_owned());
    Some(format!("{prefix}{redacted}"))
}

fn redact_body(form: ConnectionText<'_>) -> Option<String> {
    parse(form, &mut OptionValues::default(), &mut Vec::new()).ok()?;
    match form {
        ConnectionText::Url(rest) => redact_url(rest),
        ConnectionText::Jdbc(rest) => {
            let (server, rest) = rest.split_once(';').unwrap_or((rest, ""));
            let shown = redact_pairs(rest, '{')?;
            let separator = if shown.is_empty() { "" } else { ";" };
            (!server.contains('@')).then(|| format!("{server}{separator}{shown}"))
        }
        ConnectionText::Ado(text) => redact_pairs(text, '"'),
        ConnectionText::Odbc(text) => redact_pairs(text, '{'),
    }
}

fn redact_pairs(text: &str, quote: char) -> Option<String> {
    let pairs = parse_pairs(text, quote).ok()?;
    let shown = pairs.iter().map(|(name, value)| {
        if is_secret(name) { format!("{name}={MASK}") } else { format!("{name}={value}") }
    });
    Some(shown.collect::<Vec<_>>().join(";"))
}

fn redact_url(rest: &str) -> Option<String> {
    split(rest).ok()?.redacted(|parameter| {
        let name = parameter.split('=').next().unwrap_or_default();
        let name = decode(&name.replace('+', "%20"), "a name").ok()?;
        Some(is_secret(&name) || find_option(&name) == Some("password"))
    })
}
