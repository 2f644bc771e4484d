//! Where the passwords are in a command line.
//!
//! In: one argument. Out: the places of passwords in it, or the argument without them; a message
//! without those that the arguments hold. Must never: miss one where libpq would find one; to hide
//! too much is harmless here.

use std::ffi::OsString;
use std::ops::Range;

/// The byte ranges of passwords in an argument: in the authority of a URI, and after `password=`
/// or `sslpassword=` in its query or in a conninfo string. Ranges are in order and do not overlap.
pub fn places(argument: &[u8]) -> Vec<Range<usize>> {
    if let Some(start) = own_option(argument) {
        // To its end, whatever stands in it.
        return std::iter::once(start..argument.len())
            .filter(|place| !place.is_empty())
            .collect();
    }
    let mut found = Vec::new();
    if let Some(range) = in_authority(argument) {
        found.push(range);
    }
    let mut from = 0;
    while let Some(at) = find(&argument[from..], b"password") {
        let after_key = from + at + b"password".len();
        let (start, end) = value(argument, after_key);
        if start < end
            && found
                .last()
                .is_none_or(|last: &Range<usize>| last.end <= start)
        {
            found.push(start..end);
        }
        from = end.max(after_key);
    }
    found
}

/// Where the value of sysbench's `--mysql-password=` or `--pgsql-password=` begins; `-` and `_` are
/// equal there.
fn own_option(argument: &[u8]) -> Option<usize> {
    let equals = argument.iter().position(|byte| *byte == b'=')?;
    let name = argument[..equals].strip_prefix(b"--")?;
    let same = |known: &[u8]| {
        let equal = |(one, other): (&u8, &u8)| one == other || (*one, *other) == (b'_', b'-');
        name.len() == known.len() && name.iter().zip(known).all(equal)
    };
    (same(b"mysql-password") || same(b"pgsql-password")).then_some(equals + 1)
}

/// The argument with `***` for each password.
pub fn without(argument: &str) -> String {
    let mut text = String::with_capacity(argument.len());
    let mut from = 0;
    for place in places(argument.as_bytes()) {
        text.push_str(&argument[from..place.start]);
        text.push_str("***");
        from = place.end;
    }
    text.push_str(&argument[from..]);
    text
}

/// The message with `***` for each password of these arguments, also for one that the message cuts
/// off with dots. A URL in the wrong place is quoted by whoever expected something else there.
pub fn hide(message: &str, arguments: &[OsString]) -> String {
    let mut text = message.to_owned();
    for argument in arguments.iter().filter_map(|argument| argument.to_str()) {
        for place in places(argument.as_bytes()) {
            // With the ASCII sign before it, so that a short password does not blot out the message.
            let (sign, secret) = argument[place.start - 1..place.end].split_at(1);
            text = text.replace(&format!("{sign}{secret}"), &format!("{sign}***"));
            for (cut, _) in secret.char_indices().skip(1) {
                let begun = format!("{sign}{}...", &secret[..cut]);
                text = text.replace(&begun, &format!("{sign}***..."));
            }
        }
    }
    text
}

/// `scheme://user:PASSWORD@host`: libpq ends the user at the first `:` and the password at the
/// next `@`, and a `/` before that ends the authority. We take the last `@` before a `?`, so that
/// a password that was not percent-encoded is hidden as a whole.
fn in_authority(argument: &[u8]) -> Option<Range<usize>> {
    let authority = find(argument, b"://")? + 3;
    let rest = &argument[authority..];
    let rest = &rest[..rest.iter().position(|&b| b == b'?').unwrap_or(rest.len())];
    let at = rest.iter().rposition(|&b| b == b'@')?;
    let colon = rest[..at].iter().position(|&b| b == b':')?;
    let range = authority + colon + 1..authority + at;
    (!range.is_empty()).then_some(range)
}

/// The value after a keyword: blanks around `=` as conninfo strings allow them, quotes with their
/// backslashes, the end at `&`, a blank or a closing quote of a surrounding TOML or shell word.
fn value(argument: &[u8], after_key: usize) -> (usize, usize) {
    let blank = |b: &u8| b.is_ascii_whitespace();
    let skip = |from: usize| from + argument[from..].iter().take_while(|b| blank(b)).count();
    let equals = skip(after_key);
    if argument.get(equals) != Some(&b'=') {
        return (after_key, after_key);
    }
    let mut start = skip(equals + 1);
    let quote = argument
        .get(start)
        .copied()
        .filter(|b| matches!(b, b'\'' | b'"'));
    if quote.is_some() {
        start += 1;
    }
    let mut end = start;
    while let Some(&byte) = argument.get(end) {
        match (quote, byte) {
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
    use super::{hide, without};

    #[test]
    fn every_way_to_write_a_password_is_found() {
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
            ("--mysql-password=ge heim&x=1", "--mysql-password=***"),
            ("--pgsql_password='\"\\", "--pgsql_password=***"),
            (
                "postgres://u:a@h/d?password=b",
                "postgres://u:***@h/d?password=***",
            ),
        ];
        for (argument, shown) in cases {
            assert_eq!(without(argument), shown);
        }
    }

    #[test]
    fn a_message_that_quotes_or_cuts_an_argument_shows_no_password() {
        let arguments = ["prony", "-spostgres://u:geheim@h/d", "password=a"].map(Into::into);
        for (message, shown) in [
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
            assert_eq!(hide(message, &arguments), shown);
        }
    }

    #[test]
    fn what_holds_no_password_stays() {
        for argument in [
            "run",
            "--clients=64",
            "postgres://u@h:5432/d",
            "postgres://h:5432/d?sslmode=require",
            "host=/tmp user=u passfile=/x",
            "password",
            "password=",
        ] {
            assert_eq!(without(argument), argument);
        }
    }
}
