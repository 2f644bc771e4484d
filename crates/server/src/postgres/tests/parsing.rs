//! Parsing of URIs and of conninfo strings.

use super::super::parse;
use super::error_text;
use prony_assertions::TextAssertions;

/// The options as sorted `key=value`, joined by `|`, without duplicates; or the error.
fn parsed(text: &str) -> String {
    match parse(text) {
        Err(error) => format!("ERR {error}"),
        Ok(pairs) => {
            let map: std::collections::BTreeMap<&str, String> = pairs
                .into_iter()
                .map(|(keyword, value)| (keyword.name, value))
                .collect();
            map.iter()
                .map(|(k, v)| format!("{k}={v}"))
                .collect::<Vec<_>>()
                .join("|")
        }
    }
}

#[test]
fn uris_are_parsed_as_in_libpq() {
    let table = [
        (
            "postgresql://u:secret@host:12345/db",
            "dbname=db|host=host|password=secret|port=12345|user=u",
        ),
        (
            "postgresql://u@host:12345/db",
            "dbname=db|host=host|port=12345|user=u",
        ),
        ("postgresql://host:12345/", "host=host|port=12345"),
        ("postgresql://u@", "user=u"),
        ("postgresql://", ""),
        ("postgres://", ""),
        ("postgresql://?hostaddr=127.0.0.1", "hostaddr=127.0.0.1"),
        (
            "postgresql://example.com?hostaddr=63.1.2.4",
            "host=example.com|hostaddr=63.1.2.4",
        ),
        ("postgresql://%68ost/", "host=host"),
        (
            "postgresql://host/db?u%73er=someotheruser&port=12345",
            "dbname=db|host=host|port=12345|user=someotheruser",
        ),
        (
            "postgresql://host:12345?user=u",
            "host=host|port=12345|user=u",
        ),
        ("postgresql://host?", "host=host"),
        (
            "postgresql://[::1]:12345/db",
            "dbname=db|host=::1|port=12345",
        ),
        ("postgresql://[2001:db8::1234]/", "host=2001:db8::1234"),
        ("postgresql://[200z:db8::1234]/", "host=200z:db8::1234"),
        ("postgresql://[::1]", "host=::1"),
        ("postgres://@host", "host=host"),
        ("postgres://host:/", "host=host"),
        ("postgres://:12345/", "port=12345"),
        (
            "postgres://o@?host=/no/such/directory",
            "host=/no/such/directory|user=o",
        ),
        (
            "postgres://o@:12345/db?host=/path/to/socket",
            "dbname=db|host=/path/to/socket|port=12345|user=o",
        ),
        (
            "postgres://%2Fvar%2Flib%2Fpostgresql/dbname",
            "dbname=dbname|host=/var/lib/postgresql",
        ),
        ("postgresql://host?ssl=true", "host=host|sslmode=require"),
        ("postgresql://h/?requiressl=1", "host=h|sslmode=require"),
        (
            "postgresql://h1:1,h2,[::1]:3/db",
            "dbname=db|host=h1,h2,::1|port=1,,3",
        ),
        ("postgresql://h1,h2/", "host=h1,h2|port=,"),
        ("postgresql://,/", "host=,|port=,"),
        (
            "postgresql://u:p:q@h/d",
            "dbname=d|host=h|password=p:q|user=u",
        ),
        (
            "postgresql://u:a?b@h/d",
            "dbname=d|host=h|password=a?b|user=u",
        ),
        ("postgresql://:pw@h", "host=h|password=pw"),
        ("postgresql://h/d/e", "dbname=d/e|host=h"),
        ("postgresql://h/d?port=1&port=2&", "dbname=d|host=h|port=2"),
        (
            "postgresql://h/d?application_name=a+b",
            "application_name=a+b|dbname=d|host=h",
        ),
        // libpq 18 ignores spaces around a part.
        ("postgresql://h/d ", "dbname=d|host=h"),
    ];
    for (text, expected) in table {
        assert_eq!(parsed(text), expected, "{text}");
    }
}

#[test]
fn conninfo_strings_are_parsed_as_in_libpq() {
    let table = [
        ("host=a  port = 5 ", "host=a|port=5"),
        (r"host='a b' password=it\'s", "host=a b|password=it's"),
        (r"host='a\'b\\c'", r"host=a'b\c"),
        ("host=", "host="),
        ("host= port=5", "host=port=5"),
        ("host='a'port=5", "host=a|port=5"),
        ("requiressl=1", "sslmode=require"),
        ("requiressl=0", "sslmode=prefer"),
        ("host=a host=b", "host=b"),
        ("dbname=postgres://x", "dbname=postgres://x"),
        (r"host=a\", "host=a"),
        ("password='' user=\"x\"", "password=|user=\"x\""),
        (" \t\n", ""),
        ("", ""),
        // psql reads a word without "=" as a database name.
        ("shop", "dbname=shop"),
        ("shop two", "dbname=shop two"),
        (
            "keepalives=0 tcp_user_timeout=5 krbsrvname=x gsslib=gssapi",
            "gsslib=gssapi|keepalives=0|krbsrvname=x|tcp_user_timeout=5",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(parsed(text), expected, "{text}");
    }
}

#[test]
fn malformed_text_is_refused_with_a_reason() {
    let table = [
        (
            "postgresql://host/db?u%7aer=x",
            "invalid connection option \"uzer\"",
        ),
        ("postgresql://host?uzer=", "did you mean \"user\"?"),
        ("postgres://[::1", "lacks its closing \"]\""),
        ("postgres://[]", "IPv6 address in the URI is empty"),
        ("postgres://[::1]z", "unexpected character after the \"]\""),
        (
            "postgresql://host?zzz",
            "missing key/value separator \"=\" in URI query parameter 1",
        ),
        (
            "postgresql://host?port=1&&user=x",
            "missing key/value separator \"=\" in URI query parameter 2",
        ),
        ("postgresql://host?&", "missing key/value separator"),
        (
            "postgresql://host?user=key=value",
            "extra key/value separator \"=\"",
        ),
        (
            "postgres://host?dbname=%XXfoo",
            "invalid percent-encoded token in URI query parameter 1",
        ),
        ("postgresql://a%00b", "forbidden value %00 in the host"),
        (
            "postgresql://%1",
            "invalid percent-encoded token in the host",
        ),
        (
            "postgresql://u:%@h",
            "invalid percent-encoded token in the password",
        ),
        ("postgresql://%ff", "not UTF-8"),
        ("postgresql://host?ssl=1", "ssl=true"),
        (
            "postgresql://h/a b",
            "unexpected spaces in the database name",
        ),
        (
            "host=a b",
            "missing \"=\" after the word at character 8, after the value of \"host\"",
        ),
        ("host='a", "unterminated quoted string"),
        (r"host='a\", "unterminated quoted string"),
        ("x=1", "invalid connection option \"x\""),
        ("=5", "invalid connection option"),
        ("sslmod=require", "did you mean \"sslmode\"?"),
        // libpq reads these as a keyword or a database name, which does not help the user.
        ("postgre://", "\"postgre://\" is not a scheme of PostgreSQL"),
        ("POSTGRES://h/d", "begin the URL with postgresql://"),
        (
            "mysql://u:p@h/d?x=1",
            "\"mysql://\" is not a scheme of PostgreSQL",
        ),
        ("postgresql://u:p@ss@h/d", "write %40"),
    ];
    for (text, expected) in table {
        let error = parsed(text);
        assert!(
            error.starts_with("ERR ") && error.contains(expected),
            "{text}: {error}"
        );
    }
}

#[test]
fn a_zero_byte_is_refused() {
    for text in ["user=a\0b", "postgres://h/a\0b", "a\0b", "password=\0"] {
        error_text(text).assert_contains("has a zero byte");
    }
}

#[test]
fn an_error_shows_no_part_of_a_password() {
    let texts = [
        "user=u password=my hunter2 x",
        "user=u password=my hunter2=x",
        "password='my hunter2",
        "password=a user=b hunter2!=c",
        "postgresql://u:hunter2%@h/d",
        "postgresql://u:pa@hunter2@h/d",
        "postgresql://u:hunter2/b@h/d",
        "postgresql://u:%zzhunter2@h/d",
        "postgresql://h/d?password=a&hunter2=x",
        "postgresql://h/d?password=hunter2=x",
        "postgresql://h/d?password=hunter2%",
        "postgresql://u:hunter2@[::1/d",
        "mysql://u:hunter2@h/d",
        "mysql://u:hunter2@h/d?a=b",
        "hunter2!@://x",
    ];
    for text in texts {
        let error = error_text(text);
        assert!(!error.contains("hunter2"), "{text}: {error}");
    }
}
