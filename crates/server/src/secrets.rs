//! Finds and hides passwords in command lines and messages.
//!
//! Must never: miss a password that libpq would find. Hiding too much is harmless.

use crate::find_secret_keyword;
use std::ffi::OsString;
use std::ops::Range;

/// The byte ranges of passwords in an argument: in the authority of a URI, and after a secret keyword such as
/// `password=` in its query or in a conninfo string. Ranges are in order and do not overlap.
pub fn password_ranges(argument: &[u8]) -> Vec<Range<usize>> {
    if let Some(start) = sysbench_password_value(argument) {
        // The value extends to the end of the argument.
        return std::iter::once(start..argument.len())
            .filter(|range| !range.is_empty())
            .collect();
    }
    let mut ranges = Vec::new();
    if let Some(range) = authority_password(argument) {
        ranges.push(range);
    }
    let mut from = 0;
    while let Some(keyword) = next_secret_keyword(&argument[from..]) {
        let after_key = from + keyword.end;
        let (start, end) = value_range(argument, after_key);
        if start < end
            && ranges
                .last()
                .is_none_or(|last: &Range<usize>| last.end <= start)
        {
            ranges.push(start..end);
        }
        from = end.max(after_key);
    }
    ranges
}

/// The start of the value of sysbench's `--mysql-password=` or `--pgsql-password=`, in which `-` and
/// `_` are equivalent.
fn sysbench_password_value(argument: &[u8]) -> Option<usize> {
    let equals = argument.iter().position(|byte| *byte == b'=')?;
    let name = argument[..equals].strip_prefix(b"--")?;
    let is_named = |expected: &[u8]| {
        let same =
            |(byte, expected): (&u8, &u8)| byte == expected || (*byte, *expected) == (b'_', b'-');
        name.len() == expected.len() && name.iter().zip(expected).all(same)
    };
    (is_named(b"mysql-password") || is_named(b"pgsql-password")).then_some(equals + 1)
}

/// The next secret keyword of libpq, or `PWD` or a token of SQL Server's connection strings.
fn next_secret_keyword(text: &[u8]) -> Option<Range<usize>> {
    let names = ["pwd", "token"].into_iter();
    let others = names.filter_map(|name| {
        let start = find(text, name.as_bytes())?;
        Some(start..start + name.len())
    });
    others
        .chain(find_secret_keyword(text))
        .min_by_key(|range| range.start)
}

/// Replaces each password in an argument with `***`.
pub fn redact_argument(argument: &str) -> String {
    let mut text = String::with_capacity(argument.len());
    let mut from = 0;
    for range in password_ranges(argument.as_bytes()) {
        text.push_str(&argument[from..range.start]);
        text.push_str("***");
        from = range.end;
    }
    text.push_str(&argument[from..]);
    text
}

/// Replaces each password of these arguments in a message with `***`, even if the message truncates
/// it with dots. Parsers quote a URL that was given in the wrong place.
pub fn redact_message(message: &str, arguments: &[OsString]) -> String {
    let mut text = message.to_owned();
    for argument in arguments.iter().filter_map(|argument| argument.to_str()) {
        for range in password_ranges(argument.as_bytes()) {
            // Match the character before the password too: a short password may also occur in other
            // text, which must stay.
            let (sign, secret) = argument[range.start - 1..range.end].split_at(1);
            text = text.replace(&format!("{sign}{secret}"), &format!("{sign}***"));
            for (cut, _) in secret.char_indices().skip(1) {
                let truncated = format!("{sign}{}...", &secret[..cut]);
                text = text.replace(&truncated, &format!("{sign}***..."));
            }
        }
    }
    text
}

/// `scheme://user:PASSWORD@host`: libpq ends the user at the first `:` and the password at the
/// next `@`, and a `/` before that ends the authority. We take the last `@` before a `?`, so that
/// a password that was not percent-encoded is hidden as a whole. For NATS, `TOKEN@host` is a secret without a user.
fn authority_password(argument: &[u8]) -> Option<Range<usize>> {
    let authority = find(argument, b"://")? + 3;
    let after_scheme = &argument[authority..];
    let end = after_scheme
        .iter()
        .position(|&b| b == b'?')
        .unwrap_or(after_scheme.len());
    let after_scheme = &after_scheme[..end];
    let at = after_scheme.iter().rposition(|&b| b == b'@')?;
    let start = match after_scheme[..at].iter().position(|&b| b == b':') {
        Some(colon) => colon + 1,
        None if is_nats(&argument[..authority]) => 0,
        None => return None,
    };
    let range = authority + start..authority + at;
    (!range.is_empty()).then_some(range)
}

fn is_nats(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    text.ends_with(b"nats://") || text.ends_with(b"tls://")
}

/// Start and end of the value after a keyword. There may be spaces around the `=`, as in conninfo
/// strings. The value ends at its closing quote (a backslash escapes), or without quotes at an `&` or a
/// space.
fn value_range(argument: &[u8], after_key: usize) -> (usize, usize) {
    let is_blank = |b: &u8| b.is_ascii_whitespace();
    let skip = |from: usize| from + argument[from..].iter().take_while(|b| is_blank(b)).count();
    let equals = skip(after_key);
    if argument.get(equals) != Some(&b'=') {
        return (after_key, after_key);
    }
    let mut start = skip(equals + 1);
    let quote = argument
        .get(start)
        .copied()
        .filter(|b| matches!(b, b'\'' | b'"' | b'{'));
    if quote.is_some() {
        start += 1;
    }
    let mut end = start;
    while let Some(&byte) = argument.get(end) {
        match (quote, byte) {
            // In braces, a doubled brace stands for itself.
            (Some(b'{'), b'}') => match argument.get(end + 1) {
                Some(b'}') => end += 1,
                _ => break,
            },
            (Some(b'{'), _) => {}
            (_, b'\\') => end += 1,
            (Some(quote), byte) if byte == quote => break,
            (None, b'&') => break,
            (None, byte) if byte.is_ascii_whitespace() => break,
            _ => {}
        }
        end += 1;
    }
    (start, end.min(argument.len()))
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len())
        .position(|window| window.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests {
    use super::{redact_argument, redact_message};

    #[test]
    fn passwords_are_hidden_in_every_notation() {
        let cases = [
            ("postgres://u:geheim@h/d", "postgres://u:***@h/d"),
            (
                "--url=postgresql://u:geheim@h:1,i:2/d?x=1",
                "--url=postgresql://u:***@h:1,i:2/d?x=1",
            ),
            ("postgres://u:ge/h@eim@h/d", "postgres://u:***@h/d"),
            (
                "postgres:///d?user=u&password=geheim&x=1",
                "postgres:///d?user=u&password=***&x=1",
            ),
            (
                "host=h password=geheim user=u",
                "host=h password=*** user=u",
            ),
            (
                "host=h password = 'ge \\'heim' user=u",
                "host=h password = '***' user=u",
            ),
            ("password=a sslpassword=b", "password=*** sslpassword=***"),
            ("PASSWORD=geheim", "PASSWORD=***"),
            ("nats://geheim@bus:4222/vm1", "nats://***@bus:4222/vm1"),
            ("--nats=tls://u:geheim@bus", "--nats=tls://u:***@bus"),
            ("--mysql-password=ge heim&x=1", "--mysql-password=***"),
            ("--pgsql_password='\"\\", "--pgsql_password=***"),
            (
                "postgres://u:a@h/d?password=b",
                "postgres://u:***@h/d?password=***",
            ),
        ];
        for (argument, redacted) in cases {
            assert_eq!(redact_argument(argument), redacted);
        }
    }

    #[test]
    fn the_value_of_each_secret_keyword_is_found() {
        for keyword in crate::secret_keywords() {
            for (argument, redacted) in [
                (
                    format!("host=h {keyword}=geheim user=u"),
                    format!("host=h {keyword}=*** user=u"),
                ),
                (
                    format!("postgres://u@h/d?{keyword}=geheim&x=1"),
                    format!("postgres://u@h/d?{keyword}=***&x=1"),
                ),
            ] {
                assert_eq!(redact_argument(&argument), redacted);
            }
        }
        assert_eq!(
            redact_argument("postgres://h/d?p%61ssword=geheim"),
            "postgres://h/d?p%61ssword=***"
        );
    }

    #[test]
    fn no_password_is_shown_in_a_message_that_quotes_or_truncates_an_argument() {
        let arguments = ["prony", "-spostgres://u:geheim@h/d", "password=a"].map(Into::into);
        for (message, redacted) in [
            (
                "no file postgres://u:geheim@h/d",
                "no file postgres://u:***@h/d",
            ),
            (
                "\"postgres://u:geh...\" is no name",
                "\"postgres://u:***...\" is no name",
            ),
            ("\"password=a\" is no name", "\"password=***\" is no name"),
        ] {
            assert_eq!(redact_message(message, &arguments), redacted);
        }
    }

    #[test]
    fn an_argument_without_a_password_is_unchanged() {
        for argument in [
            "run",
            "--clients=64",
            "postgres://u@h:5432/d",
            "nats://bus:4222/vm1",
            "postgres://h:5432/d?sslmode=require",
            "host=/tmp user=u passfile=/x",
            "password",
            "password=",
        ] {
            assert_eq!(redact_argument(argument), argument);
        }
    }
}
