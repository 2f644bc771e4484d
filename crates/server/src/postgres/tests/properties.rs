//! Property tests: parsing and redaction of arbitrary text.

use super::super::{Environment, collect_options, parse, redact};
use super::Folder;
use proptest::prelude::*;

#[test]
fn redaction_hides_only_passwords() {
    let table = [
        ("postgres://u:pw@h:1/d", "postgres://u:***@h:1/d"),
        (
            "postgresql://u@h,[::1]:2/d?sslmode=require",
            "postgresql://u@h,[::1]:2/d?sslmode=require",
        ),
        ("postgres://:pw@/", "postgres://:***@"),
        (
            "postgres://h/d?password=x&user=u",
            "postgres://h/d?password=***&user=u",
        ),
        (
            "postgres://h/d?pass%77ord=x&sslpassword=y&",
            "postgres://h/d?pass%77ord=***&sslpassword=***",
        ),
        ("postgres://", "postgres://"),
        ("postgres://[/]", "postgres://[/]"),
        ("postgres://[[?]", "postgres://[[?]"),
        (
            "postgres://h/?oauth_client_secret=x",
            "postgres://h?oauth_client_secret=***",
        ),
        ("host=h password=pw", "host=h password=***"),
        (
            r"host='a b' password='it\'s' user='' port=5",
            "host='a b' password=*** user='' port=5",
        ),
        ("shop", "shop"),
        ("", ""),
        // The text cannot be parsed, or a password may be in the wrong part: only the scheme is shown.
        ("postgres://u:p@ss@h/d", "postgres://***"),
        ("postgres://u:p/ss@h/d", "postgres://***"),
        ("postgres://u:1/ss@h/d", "postgres://***"),
        ("postgres://u:12/3?user=x@h/d", "postgres://***"),
        ("postgres://u:%@h/d", "postgres://***"),
        ("postgresql://h?passwort=x", "postgresql://***"),
        ("password=a b c", "***"),
        ("password='a", "***"),
        ("mysql://u:p@h/d", "***"),
    ];
    for (text, expected) in table {
        assert_eq!(redact(text), expected, "{text}");
    }
}

/// Text that resembles a connection string.
fn text_like_a_connection_string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("postgres://"),
        Just("postgresql://"),
        Just("password="),
        Just("sslpassword="),
        Just("user"),
        Just("host="),
        Just("port=5"),
        Just("@"),
        Just(":"),
        Just("/"),
        Just("?"),
        Just("&"),
        Just("="),
        Just("%"),
        Just("%2F"),
        Just("%41"),
        Just("'"),
        Just("\\"),
        Just(" "),
        Just(","),
        Just("["),
        Just("]"),
        Just("é"),
        Just("x"),
        Just("1"),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn secret_values(text: &str) -> Vec<String> {
    let pairs = parse(text).unwrap_or_default();
    let secret = pairs.into_iter().filter(|(keyword, _)| keyword.secret);
    secret
        .map(|(_, value)| value)
        .filter(|value| !value.is_empty())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parsing_any_text_never_panics(text in any::<String>()) {
        let env = Environment::without_home("os");
        let _ = collect_options(&[], "the command line", &text, &env);
        let _ = redact(&text);
    }

    #[test]
    fn redaction_keeps_all_options_except_secrets(text in text_like_a_connection_string()) {
        let env = Environment::without_home("os");
        let _ = collect_options(&[], "the command line", &text, &env);
        let redacted = redact(&text);
        // The redacted text can be parsed, and has the same options except for the secrets.
        if parse(&text).is_ok() && !redacted.ends_with("://***") {
            let non_secret_options = |text: &str| -> Vec<(&str, String)> {
                let pairs = parse(text).unwrap();
                let non_secret = pairs.into_iter().filter(|(keyword, _)| !keyword.secret);
                non_secret.map(|(keyword, value)| (keyword.name, value)).collect()
            };
            prop_assert_eq!(non_secret_options(&text), non_secret_options(&redacted));
            prop_assert!(secret_values(&redacted).iter().all(|secret| secret == "***"), "{}", redacted);
        }
    }

    #[test]
    fn a_uri_password_is_never_shown(
        password in "[A-Z0-9@:/?#%&=' \\\\]{4,12}",
        user in "[a-z]{0,4}",
        tail in "(h1|h1:5|)(/d|)(\\?user=u|)",
    ) {
        let text = format!("postgres://{user}:{password}@{tail}");
        let redacted = redact(&text);
        prop_assert!(!redacted.contains(&password), "{} -> {}", text, redacted);
        for secret in secret_values(&text) {
            prop_assert!(secret.len() < 4 || !redacted.contains(&secret), "{} -> {}", text, redacted);
        }
    }

    #[test]
    fn a_conninfo_password_is_never_shown(
        password in "[A-Z0-9@:/?#%&=' \\\\]{4,12}",
        quoted in any::<bool>(),
    ) {
        let q = if quoted { "'" } else { "" };
        let text = format!("host=h password={q}{password}{q} user=u");
        let redacted = redact(&text);
        prop_assert!(!redacted.contains(&password), "{} -> {}", text, redacted);
        for secret in secret_values(&text) {
            prop_assert!(secret.len() < 4 || !redacted.contains(&secret), "{} -> {}", text, redacted);
        }
    }

    #[test]
    fn reading_any_password_file_never_panics(text in any::<String>(), line in "[a:*\\\\]{0,12}") {
        let folder = Folder::new();
        folder.write(".pgpass", format!("{line}\n{text}"));
        super::super::resolve("host=/a user=a dbname=a", &folder.env()).unwrap();
    }
}
