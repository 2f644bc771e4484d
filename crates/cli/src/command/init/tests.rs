use super::found::without_password;
use super::*;
use prony_server::control::Error;
use prony_server::statements::StatementsError;
use prony_wire::{Protocol, ServerError};

#[test]
fn a_plan_is_not_made_over_a_connection_that_the_server_has_ended() {
    let error = |severity: &str, code: [u8; 5]| {
        let error = ServerError::new(Protocol::PostgreSql, 0, code, "no".to_owned());
        let severity = severity.to_owned();
        StatementsError::Server(Error::Statement(Box::new(ServerError {
            severity,
            ..error
        })))
    };
    let refused = goals::why_unreadable(error("ERROR", *b"42501"));
    assert!(refused.is_ok_and(|reason| reason.contains("no")));
    let ended = goals::why_unreadable(error("FATAL", *b"57P01"));
    assert!(ended.is_err_and(|failure| failure.exit == Exit::Connect));
    assert!(goals::why_unreadable(StatementsError::Server(Error::Closed)).is_err());
}

#[test]
fn a_password_is_cut_out_of_a_url_or_the_url_is_left_out() {
    for (url, expected) in [
        (
            "postgres://bench@db1/bench",
            (Some("postgres://bench@db1/bench"), false),
        ),
        (
            "postgres://u:secret@db1/b?sslmode=require",
            (Some("postgres://u@db1/b?sslmode=require"), true),
        ),
        ("mysql://u:secret@db1/b", (Some("mysql://u@db1/b"), true)),
        ("host=db1 password=secret dbname=b", (None, true)),
        ("", (Some(""), false)),
    ] {
        let stripped = without_password(url);
        let found = (stripped.url.as_deref(), stripped.had_password);
        assert_eq!(found, expected, "{url}");
    }
}

#[test]
fn words_of_a_command_line_are_quoted_if_they_need_it() {
    assert_eq!(shell_word("mysql://u@h:1/d"), "mysql://u@h:1/d");
    assert_eq!(
        shell_word("postgres://h/d?a=b&c=d"),
        "'postgres://h/d?a=b&c=d'"
    );
    assert_eq!(shell_word("it's"), "'it'\\''s'");
}

#[test]
fn a_plan_is_named_so_that_it_is_no_workload() {
    for (path, argument) in [
        ("plan.toml", "plan.toml"),
        ("a/plan", "a/plan"),
        ("plan", "./plan"),
        ("my plan", "'./my plan'"),
    ] {
        assert_eq!(goals::plan_argument(path.as_ref()), argument);
    }
}
