//! Tests of creating and dropping databases, on a server for tests in this process.

use super::{env, options};
use crate::control::Control;
use crate::database::{create_database, drop_database};
use crate::{Target, resolve_sql_server_options};
use prony_assertions::TextAssertions;
use prony_tds_server::{Config, Listener, Outcome};
use std::sync::{Arc, Mutex};

/// A server that refuses the first `refusals` attempts to drop a database with this error. Returns a
/// connection and the statements that the server received.
fn server(refusals: usize, error: i32) -> (Control, Arc<Mutex<Vec<String>>>) {
    let statements = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&statements);
    let config = Config::new(move |sql, _| {
        let mut received = received.lock().expect("no test has panicked");
        received.push(sql.to_owned());
        let is_drop = |sql: &&String| sql.starts_with("drop database");
        let attempts = received.iter().filter(is_drop).count();
        if sql.starts_with("drop database") && attempts <= refusals {
            vec![Outcome::Error(error, 1, 16, "Cannot drop it".to_owned())]
        } else {
            vec![Outcome::Done]
        }
    });
    let port = Listener::start(config).address().port().to_string();
    let target = with_settings(&[("port", &port), ("encrypt", "disable")]);
    let control = Control::connect(&target).expect("connects");
    statements.lock().expect("no test has panicked").clear();
    (control, statements)
}

fn with_settings(settings: &[(&str, &str)]) -> Target {
    let login = [
        ("server", "127.0.0.1"),
        ("user", "sa"),
        ("password", "Sesame1"),
    ];
    resolve_sql_server_options(&[&login[..], settings].concat(), "the settings", &env())
        .expect("valid settings")
}

fn sent(statements: &Mutex<Vec<String>>) -> Vec<String> {
    statements.lock().expect("no test has panicked").clone()
}

#[test]
fn settings_need_no_quoting() {
    let target = with_settings(&[
        ("TrustServerCertificate", "true"),
        ("password", "a;b}=c"),
        ("database", "a b;c"),
        ("port", ""),
    ]);
    assert_eq!(super::password(&target), "a;b}=c");
    assert_eq!(target.database, "a b;c");
    assert_eq!(target.endpoints[0].port, 1433);
    assert!(!options(&target).strict);
    let error = resolve_sql_server_options(&[("sever", "x")], "the settings", &env())
        .expect_err("no such option");
    error.to_string().assert_contains("sever");
    let login = [
        ("server", "127.0.0.1"),
        ("user", "sa"),
        ("encrypt", "maybe"),
    ];
    let error =
        resolve_sql_server_options(&login, "the command line", &env()).expect_err("no such value");
    error.to_string().assert_contains("the command line");
}

#[test]
fn a_database_without_sessions_is_dropped_at_once() {
    let (mut control, statements) = server(0, 0);
    create_database(&mut control, "a]b").expect("creates it");
    drop_database(&mut control, "a]b").expect("drops it");
    assert_eq!(
        sent(&statements),
        ["create database [a]]b]", "drop database [a]]b]"]
    );
}

#[test]
fn sessions_of_a_database_are_disconnected_before_it_is_dropped() {
    let (mut control, statements) = server(1, 3702);
    drop_database(&mut control, "shop").expect("drops it");
    let single_user = "alter database [shop] set single_user with rollback immediate";
    let drop_statement = "drop database [shop]";
    assert_eq!(
        sent(&statements),
        [drop_statement, single_user, drop_statement]
    );
    // A database that still cannot be dropped stays usable.
    let (mut control, statements) = server(2, 3702);
    assert!(drop_database(&mut control, "shop").is_err());
    let multi_user = "alter database [shop] set multi_user";
    assert_eq!(
        sent(&statements).last().map(String::as_str),
        Some(multi_user)
    );
}

#[test]
fn other_refusals_disconnect_nobody() {
    let (mut control, statements) = server(1, 3701);
    let error = drop_database(&mut control, "shop").expect_err("refused");
    error.to_string().assert_contains("Cannot drop it");
    assert_eq!(sent(&statements), ["drop database [shop]"]);
}
