//! libpq's error messages for a malformed connection string.
//!
//! Used by commands that replace a libpq program and print its messages. Must never: quote text that
//! may contain a password; the errors of `uri` and `conninfo` never do. Source: `conninfo_parse`
//! and `conninfo_uri_parse_options` of fe-connect.c.

use super::{conninfo, options, uri};

/// libpq's error message for a connection string. `None` if the string is well-formed, or if it may
/// contain a password, even in an unexpected place.
pub fn libpq_message(text: &str) -> Option<String> {
    if options::find_secret_keyword(text.as_bytes()).is_some() {
        return None;
    }
    match uri::strip_scheme(text) {
        Some(rest) => uri_error(text, rest),
        None if text.contains('=') && !text.contains('@') => conninfo_error(text),
        None => None,
    }
}

fn uri_error(text: &str, rest: &str) -> Option<String> {
    let host = match rest.split_once('@') {
        None => rest,
        // A password that is not percent-encoded may contain "/", "?" and "@": this text may be part of it.
        Some((user, host)) if user.contains(['/', '?']) || host.contains('@') => return None,
        Some((_, host)) => host,
    };
    // The user may have left out the host: `postgres://user:password/dbname`.
    if !has_valid_ports(host) {
        return None;
    }
    match bracket_error(text, host) {
        // This message quotes the whole text, so return it only if there is no user part.
        Some(message) => (host.len() == rest.len()).then_some(message),
        None => encoding_or_query_error(host),
    }
}

/// Whether every port before the database name is a number, so that none is part of a password.
fn has_valid_ports(rest: &str) -> bool {
    let hosts = &rest[..rest.find(['/', '?']).unwrap_or(rest.len())];
    hosts.split(',').all(|host| {
        let after_address = match host.strip_prefix('[') {
            // An address without its closing bracket has no port.
            Some(inner) => inner.split_once(']').map_or("", |(_, tail)| tail),
            None => host,
        };
        let port = after_address.split_once(':').map_or("", |(_, port)| port);
        port.is_empty() || port.parse::<u16>().is_ok()
    })
}

/// The error for brackets that are not closed, are empty or are followed by other characters.
fn bracket_error(text: &str, rest: &str) -> Option<String> {
    let mut rest = rest;
    loop {
        if let Some(inner) = rest.strip_prefix('[') {
            let Some(end) = inner.find(']') else {
                return Some(format!(
                    "end of string reached when looking for matching \"]\" in IPv6 host address in URI: \
                     \"{text}\""
                ));
            };
            if end == 0 {
                return Some(format!(
                    "IPv6 host address may not be empty in URI: \"{text}\""
                ));
            }
            rest = &inner[end + 1..];
            let following = rest.chars().next();
            if let Some(following) = following.filter(|c| ![':', '/', '?', ','].contains(c)) {
                let position = text.len() - rest.len() + 1;
                return Some(format!(
                    "unexpected character \"{following}\" at position {position} in URI (expected \":\" or \"/\"): \
                     \"{text}\""
                ));
            }
        }
        let end = rest.find(['/', '?', ','])?;
        rest = rest[end..].strip_prefix(',')?;
    }
}

/// The error for percent-encoding in any part, or for the query.
fn encoding_or_query_error(rest: &str) -> Option<String> {
    let parts = uri::split(rest).ok()?;
    let join = |list: Vec<&str>| list.join(",");
    let texts = [
        join(parts.hosts.iter().map(|host| host.0).collect()),
        parts.dbname.to_owned(),
    ];
    let query = parts.query.unwrap_or_default();
    let query = query.strip_suffix('&').unwrap_or(query);
    let parameters = query.split('&').filter(|_| !query.is_empty());
    texts
        .iter()
        .find_map(|text| percent_error(text))
        .or_else(|| parameters.map(parameter_error).find_map(|error| error))
}

fn parameter_error(text: &str) -> Option<String> {
    let mut pieces = text.split('=');
    let (key, value) = (pieces.next().unwrap_or_default(), pieces.next());
    let Some(value) = value else {
        return Some(format!(
            "missing key/value separator \"=\" in URI query parameter: \"{key}\""
        ));
    };
    if pieces.next().is_some() {
        return Some(format!(
            "extra key/value separator \"=\" in URI query parameter: \"{key}\""
        ));
    }
    if let Some(error) = percent_error(key).or_else(|| percent_error(value)) {
        return Some(error);
    }
    let name = uri::decode(key, "").ok()?;
    match name.as_str() {
        "ssl" if value == "true" => None,
        "port" => port_error(&uri::decode(value, "").ok()?),
        name if is_known(name) => None,
        name => Some(format!("invalid URI query parameter: \"{name}\"")),
    }
}

/// The error for a percent sign without a two-digit code, or for %00.
fn percent_error(text: &str) -> Option<String> {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        let code = rest.get(at + 1..at + 3);
        let code = code.filter(|code| code.iter().all(u8::is_ascii_hexdigit));
        match code {
            None => return Some(format!("invalid percent-encoded token: \"{text}\"")),
            Some(b"00") => {
                return Some(format!(
                    "forbidden value %00 in percent-encoded value: \"{text}\""
                ));
            }
            Some(_) => rest = &rest[at + 3..],
        }
    }
    None
}

fn conninfo_error(text: &str) -> Option<String> {
    let mut chars = text.char_indices().peekable();
    loop {
        conninfo::skip_whitespace(&mut chars);
        let &(start, _) = chars.peek()?;
        let name = conninfo::read_keyword(text, start, &mut chars);
        conninfo::skip_whitespace(&mut chars);
        if chars.next_if(|&(_, c)| c == '=').is_none() {
            return Some(format!(
                "missing \"=\" after \"{name}\" in connection info string"
            ));
        }
        conninfo::skip_whitespace(&mut chars);
        let Some(value) = conninfo::read_value(&mut chars) else {
            return Some("unterminated quoted string in connection info string".to_owned());
        };
        if !is_known(name) {
            return Some(format!("invalid connection option \"{name}\""));
        }
        if name == "port"
            && let Some(error) = port_error(&value)
        {
            return Some(error);
        }
    }
}

fn is_known(name: &str) -> bool {
    options::find(name).is_some() || name == "requiressl"
}

/// The error for the first element in a list of ports that is not a number.
fn port_error(list: &str) -> Option<String> {
    let is_number = |text: &&str| text.is_empty() || text.trim().parse::<i32>().is_ok();
    let invalid = list.split(',').find(|text| !is_number(text))?;
    Some(format!(
        "invalid integer value \"{invalid}\" for connection option \"port\""
    ))
}

#[cfg(test)]
mod tests {
    use super::libpq_message;

    /// Connection strings with the message that pgbench 15.18 prints.
    const LIBPQ_MESSAGES: [(&str, &str); 18] = [
        (
            "postgresql://u@127.0.0.1:1/d?nosuch=1&x=2",
            "invalid URI query parameter: \"nosuch\"",
        ),
        (
            "postgres://u:pw@h/d?nosuch=1",
            "invalid URI query parameter: \"nosuch\"",
        ),
        (
            "postgres://h/d?nosuch=1",
            "invalid URI query parameter: \"nosuch\"",
        ),
        ("postgres://h/d?a=1&", "invalid URI query parameter: \"a\""),
        (
            "postgres://h/d?nosuch",
            "missing key/value separator \"=\" in URI query parameter: \"nosuch\"",
        ),
        (
            "postgres://h/d?&a=1",
            "missing key/value separator \"=\" in URI query parameter: \"\"",
        ),
        (
            "postgres://h/d?a=b=c",
            "extra key/value separator \"=\" in URI query parameter: \"a\"",
        ),
        (
            "postgres://[::1/d",
            "end of string reached when looking for matching \"]\" in IPv6 host address in URI: \
             \"postgres://[::1/d\"",
        ),
        (
            "postgres://[]/d",
            "IPv6 host address may not be empty in URI: \"postgres://[]/d\"",
        ),
        (
            "postgres://[::1]x/d",
            "unexpected character \"x\" at position 17 in URI (expected \":\" or \"/\"): \
             \"postgres://[::1]x/d\"",
        ),
        ("postgres://h/%zz", "invalid percent-encoded token: \"%zz\""),
        ("postgres://%41%", "invalid percent-encoded token: \"%41%\""),
        (
            "postgres://h/%00",
            "forbidden value %00 in percent-encoded value: \"%00\"",
        ),
        (
            "port=abc",
            "invalid integer value \"abc\" for connection option \"port\"",
        ),
        (
            "host=x port",
            "missing \"=\" after \"port\" in connection info string",
        ),
        (
            "a b=c",
            "missing \"=\" after \"a\" in connection info string",
        ),
        (
            "host='x",
            "unterminated quoted string in connection info string",
        ),
        ("host=x =y", "invalid connection option \"\""),
    ];

    #[test]
    fn each_error_has_libpqs_message() {
        for (text, message) in LIBPQ_MESSAGES {
            assert_eq!(libpq_message(text).as_deref(), Some(message), "{text}");
        }
        for valid in [
            "",
            "bench",
            "postgres://h:5432,[::1]:1/d?sslmode=require",
            "host=x port=1,2",
        ] {
            assert_eq!(libpq_message(valid), None, "{valid}");
        }
    }

    #[test]
    fn text_that_may_be_a_password_is_not_quoted() {
        for text in [
            "postgres://user:secret@[::1/d",
            "postgres://user:sec?ret@h/d?x=1",
            "postgres://user:sec/ret@h/d?x=1",
            "postgres://user:sec@ret@h/d?x=1",
            "postgres://user:s3cret/d",
            "postgres://user:99999/d",
            "postgres://user:s3cret,[::1/d",
            "postgres://h/d?pass%77ord=ab%xyz",
            "postgres://h/d?password=x&y=z",
            "password=open sesame",
        ] {
            assert_eq!(libpq_message(text), None, "{text}");
        }
    }

    #[test]
    fn no_value_of_a_secret_keyword_is_quoted() {
        for keyword in crate::postgres::options::secret_keywords() {
            for text in [
                format!("host=h {keyword}=open sesame"),
                format!("host=h {keyword}=open sesame=x"),
                format!("postgres://h/d?{keyword}=ab%xyz"),
                format!("postgres://h/d?{keyword}=ab=cd&x"),
                format!("postgres://[::1/d?{keyword}=open"),
            ] {
                assert_eq!(libpq_message(&text), None, "{text}");
            }
        }
    }
}
