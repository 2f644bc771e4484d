//! Tests of canceling statements, on a server for tests in this process.

use super::env;
use crate::control::{Control, Error};
use crate::resolve_sql_server_options;
use prony_tds_server::{Config, Encryption, Listener, Outcome, Received, Request, TestCertificate};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A statement that never ends.
const ENDLESS: &str = "waitfor delay '23:00'";

/// A server on which [`ENDLESS`] runs until it is canceled; a connection, and what the server received.
fn server(encryption: Encryption) -> (Control, Arc<Mutex<Received>>) {
    let mut config =
        Config::new(
            |sql, _| {
                if sql == ENDLESS { vec![Outcome::Hang] } else { vec![Outcome::Done] }
            },
        );
    config.encryption = encryption;
    let certificate = TestCertificate::new("127.0.0.1");
    config.tls = Some(certificate.server_config(&[&rustls::version::TLS12], false));
    let received = Arc::clone(&config.received);
    let port = Listener::start(config).address().port().to_string();
    let encrypt = match encryption {
        Encryption::NotSupported => "disable",
        _ => "true",
    };
    let settings = [
        ("server", "127.0.0.1"),
        ("port", &port),
        ("user", "sa"),
        ("password", "Sesame1"),
        ("encrypt", encrypt),
        ("TrustServerCertificate", "true"),
    ];
    let target =
        resolve_sql_server_options(&settings, "the settings", &env()).expect("valid settings");
    (Control::connect(&target).expect("connects"), received)
}

fn requests(received: &Mutex<Received>) -> Vec<Request> {
    received
        .lock()
        .expect("no test has panicked")
        .requests
        .clone()
}

/// Runs [`ENDLESS`]; meanwhile another thread cancels it `times` times.
fn run_and_cancel(control: &mut Control, received: &Arc<Mutex<Received>>, times: u32) -> Error {
    let (canceller, received) = (control.canceller(), Arc::clone(received));
    let is_endless =
        |request: &Request| matches!(request, Request::Batch { text, .. } if text == ENDLESS);
    let canceling = thread::spawn(move || {
        while !requests(&received).iter().any(is_endless) {
            thread::sleep(Duration::from_millis(5));
        }
        for _ in 0..times {
            canceller.cancel().expect("it is requested");
        }
    });
    let error = control.execute(ENDLESS).expect_err("it is canceled");
    canceling.join().expect("no panic");
    error
}

#[test]
fn an_attention_cancels_a_statement_and_the_session_goes_on() {
    for encryption in [Encryption::NotSupported, Encryption::Required] {
        let (mut control, received) = server(encryption);
        let error = run_and_cancel(&mut control, &received, 1);
        assert_eq!(error.sqlstate(), Some("HY008"), "{error}");
        assert_eq!(requests(&received).last(), Some(&Request::Attention));
        control.execute("select 1").expect("the session goes on");
        let logins = received.lock().expect("no test has panicked").logins.len();
        assert_eq!(logins, 1, "no second connection");
    }
}

#[test]
fn a_cancel_before_a_statement_does_not_cancel_it() {
    let (mut control, received) = server(Encryption::NotSupported);
    let canceller = control.canceller();
    canceller.cancel().expect("it is requested");
    control.execute("select 1").expect("it runs");
    assert!(!requests(&received).contains(&Request::Attention));
}

#[test]
fn a_second_cancel_of_a_statement_kills_the_session() {
    let (mut control, received) = server(Encryption::NotSupported);
    run_and_cancel(&mut control, &received, 2);
    let is_kill = |request: &Request| matches!(request, Request::Batch { text, .. } if text.starts_with("KILL "));
    assert!(requests(&received).iter().any(is_kill));
}
