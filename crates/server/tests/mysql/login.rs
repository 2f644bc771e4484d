//! Logins with each plugin of MariaDB, with TLS and without.

use crate::support::{connect, shared_accounts};
use prony_assertions::{TestFolder, TextAssertions};
use prony_server::control::Control;

fn current_user_name(control: &mut Control) -> String {
    let name = control.query_value("SELECT CURRENT_USER()").unwrap();
    name.unwrap()
        .split('@')
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn every_plugin_works_over_every_transport() {
    let accounts = shared_accounts();
    for account in ["native", "edward"] {
        for (mode, tls) in [("DISABLED", false), ("PREFERRED", true), ("REQUIRED", true)] {
            let url = accounts.url(account, &format!("ssl-mode={mode}"));
            let mut control = connect(&url).unwrap_or_else(|e| panic!("{account} {mode}: {e}"));
            assert_eq!(current_user_name(&mut control), account);
            assert_eq!(control.tls().is_some(), tls, "{account} {mode}");
            let cipher = control
                .query("SHOW SESSION STATUS LIKE 'Ssl_version'")
                .unwrap();
            assert_eq!(cipher[0][1].as_deref().unwrap_or_default().is_empty(), !tls);
        }
        let socket = accounts.server.url_for(&format!("{account}:sesame"), "");
        assert_eq!(current_user_name(&mut connect(&socket).unwrap()), account);
        let over_tls = format!("{socket}&ssl-mode=REQUIRED");
        assert!(connect(&over_tls).unwrap().tls().is_some());
    }
    let port = accounts.server.port();
    let url = format!("mysql://empty@127.0.0.1:{port}/");
    assert_eq!(current_user_name(&mut connect(&url).unwrap()), "empty");
}

#[test]
fn refusals_have_the_servers_message() {
    let accounts = shared_accounts();
    let login_error = |url: &str| match connect(url) {
        Ok(_) => panic!("{url} logged in"),
        Err(error) => error,
    };
    for account in ["native", "edward"] {
        let url = accounts.url(account, "").replace("sesame", "wrong");
        let error = login_error(&url);
        assert_eq!(
            error.server_error().map(|error| error.number),
            Some(1045),
            "{error}"
        );
        assert_eq!(error.sqlstate(), Some("28000"));
        let text = error.to_string();
        text.assert_contains("ERROR 1045 (28000): Access denied");
        text.assert_contains("MYSQL_PWD").assert_lacks("wrong");
        // A refusal is final: there is no second attempt without TLS.
        assert_eq!(text.matches("failed:").count(), 1, "{text}");
    }
    let error_number = |url: &str| login_error(url).server_error().map(|error| error.number);
    assert_eq!(error_number(&accounts.url("locked", "")), Some(4151));
    assert_eq!(
        error_number(&accounts.url("safe", "ssl-mode=DISABLED")),
        Some(1045)
    );
    assert!(connect(&accounts.url("safe", "ssl-mode=REQUIRED")).is_ok());
    let unknown_database = accounts.url("native", "database=nowhere");
    assert!(matches!(error_number(&unknown_database), Some(1044 | 1049)));
    // MariaDB accepts an expired account if the client cannot handle expired passwords, and refuses
    // its statements; with disconnect_on_expired_password it refuses the login.
    match connect(&accounts.url("expired", "")) {
        Err(error) => assert_eq!(error.server_error().map(|error| error.number), Some(1862)),
        Ok(mut control) => {
            let error = control.execute("SELECT 1").unwrap_err();
            assert_eq!(
                error.server_error().map(|error| error.number),
                Some(1820),
                "{error}"
            );
            // The hint is the same as for a refused login.
            let hint = error.hint().expect("a hint");
            hint.assert_contains("ALTER USER");
        }
    }
}

#[test]
fn certificates_are_verified_according_to_the_mode() {
    let accounts = shared_accounts();
    let ca = accounts.authority.display();
    let url = |mode: &str| accounts.url("native", &format!("ssl-mode={mode}&ssl-ca={ca}"));
    assert!(connect(&url("VERIFY_CA")).unwrap().tls().is_some());
    let error = connect(&url("VERIFY_IDENTITY"))
        .err()
        .expect("a name mismatch");
    error.to_string().assert_contains("SSL error");
    let other_authority = rcgen::generate_simple_self_signed(vec!["db.test".to_owned()]).unwrap();
    let folder = TestFolder::create();
    let path = folder.write("other.pem", other_authority.cert.pem());
    let url = accounts.url("native", &format!("ssl-ca={}", path.display()));
    connect(&url)
        .err()
        .expect("an unknown authority")
        .to_string()
        .assert_contains("SSL error");
}

#[test]
fn a_server_without_tls_is_refused_if_tls_is_required() {
    let server = prony_test_servers::shared_mariadb();
    let url = server.tcp_url_with_password().reveal().to_owned();
    let error = connect(&format!("{url}?ssl-mode=REQUIRED")).err().unwrap();
    let text = error.to_string();
    text.assert_contains("does not support SSL");
    text.assert_contains("ssl-cert");
    assert!(
        connect(&format!("{url}?ssl-mode=PREFERRED"))
            .unwrap()
            .tls()
            .is_none()
    );
}
