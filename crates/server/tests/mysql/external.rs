//! Tests on external servers: `PRONY_TEST_MYSQL` lists URLs of accounts that may create accounts,
//! separated by spaces, such as `mysql://root@127.0.0.1:6680/`. Without it the test prints that it
//! skips.

use crate::support::connect;
use prony_assertions::TextAssertions;
use prony_document::Product;
use prony_server::control::Control;
use prony_test_servers::TestControl;

/// Authentication plugins, and whether each needs a secure connection or a key.
const PLUGINS: [(&str, bool); 3] = [
    ("mysql_native_password", false),
    ("sha256_password", true),
    ("caching_sha2_password", true),
];

fn server_urls() -> Vec<String> {
    let urls = std::env::var("PRONY_TEST_MYSQL").unwrap_or_default();
    if urls.is_empty() {
        eprintln!("skipped: PRONY_TEST_MYSQL names no server");
    }
    urls.split_whitespace().map(str::to_owned).collect()
}

/// Creates an account for each plugin of this server, named after it.
fn create_accounts(root: &mut Control) -> Vec<(&'static str, bool)> {
    let sql = "SELECT plugin_name FROM information_schema.plugins WHERE plugin_type = \
               'AUTHENTICATION' AND plugin_status = 'ACTIVE'";
    let active: Vec<_> = root
        .query(sql)
        .unwrap()
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    let is_active = |(name, _): &(&str, bool)| active.iter().any(|plugin| plugin == name);
    let plugins: Vec<_> = PLUGINS.into_iter().filter(is_active).collect();
    // Anonymous accounts for this host, which old servers have, take precedence over accounts for
    // any host.
    let _ = root.execute("DROP USER ''@'localhost'");
    for (name, _) in &plugins {
        let account = &name[..6];
        let _ = root.execute(&format!("DROP USER {account}@'%'"));
        let mysql = format!("CREATE USER {account}@'%' IDENTIFIED WITH {name} BY 'sesame'");
        let mariadb =
            format!("CREATE USER {account}@'%' IDENTIFIED VIA {name} USING PASSWORD('sesame')");
        let outcome =
            root.execute(if root.product() == Product::MARIADB { &mariadb } else { &mysql });
        // MySQL 5.6 has a different syntax for the password of a plugin.
        let Err(error) = outcome else { continue };
        eprintln!("{name}: {error}");
        root.execute(&format!("CREATE USER {account}@'%' IDENTIFIED WITH {name}"))
            .unwrap();
        let old_passwords = i32::from(*name == "sha256_password") * 2;
        root.execute(&format!("SET old_passwords = {old_passwords}"))
            .unwrap();
        root.execute(&format!(
            "SET PASSWORD FOR {account}@'%' = PASSWORD('sesame')"
        ))
        .unwrap();
    }
    plugins
}

fn account_url(server: &str, account: &str, password: &str, options: &str) -> String {
    let host_part = server.split('@').nth(1).expect("an account in the URL");
    let host_part = host_part.split('?').next().unwrap_or(host_part);
    let separator = if host_part.contains('/') { "" } else { "/" };
    format!("mysql://{account}:{password}@{host_part}{separator}?{options}")
}

#[test]
fn plugins_statements_and_errors_on_external_servers() {
    for server in server_urls() {
        let mut root = connect(&server).unwrap_or_else(|error| panic!("{server}: {error}"));
        let has_tls = root.tls().is_some();
        let version = root.parameter("server_version").unwrap().to_owned();
        let plugins = create_accounts(&mut root);
        eprintln!("{version}, TLS {has_tls}: {plugins:?}");
        for (plugin, needs_secure_connection) in plugins {
            let account = &plugin[..6];
            let url = |options: &str| account_url(&server, account, "sesame", options);
            let log_in = |options: &str| {
                connect(&url(options)).map(|mut control| {
                    let name = control.query_value("SELECT CURRENT_USER()").unwrap();
                    name.unwrap().assert_starts_with(account);
                })
            };
            // With an empty cache the server needs the full password.
            root.run("FLUSH PRIVILEGES");
            match (needs_secure_connection, log_in("ssl-mode=DISABLED")) {
                (false, outcome) => outcome.unwrap(),
                (true, Ok(())) => eprintln!("{version}: {plugin} by RSA"),
                // A server without an RSA key refuses.
                (true, Err(error)) => eprintln!("{version}: {plugin} has no RSA: {error}"),
            }
            // If the plugin caches passwords, this one is now cached and needs no TLS.
            if plugin.starts_with("caching") {
                log_in("ssl-mode=DISABLED").unwrap();
            }
            root.run("FLUSH PRIVILEGES");
            if has_tls {
                log_in("ssl-mode=REQUIRED").unwrap();
                log_in("ssl-mode=REQUIRED").unwrap();
            } else {
                let error = log_in("ssl-mode=REQUIRED").unwrap_err().to_string();
                error.assert_contains("does not support SSL");
            }
            let wrong_url = account_url(&server, account, "wrong", "get-server-public-key=1");
            let error = connect(&wrong_url).err().expect("a refusal");
            assert_eq!(
                error.server_error().map(|error| error.number),
                Some(1045),
                "{error}"
            );
        }
        check_statements(&mut root);
    }
}

/// Checks that do not depend on the account.
fn check_statements(control: &mut Control) {
    control.run("CREATE DATABASE IF NOT EXISTS prony_others");
    control.run("USE prony_others");
    control.run("DROP TABLE IF EXISTS t");
    control
        .execute(
            "CREATE TABLE t (i INT UNSIGNED, b BIGINT, d DOUBLE, n DECIMAL(10,2), dt DATETIME(3), \
             s VARCHAR(20), e TIME)",
        )
        .unwrap();
    let inserted = control.execute(
        "INSERT INTO t VALUES (4294967295, -5, 0.25, 1.50, '2026-11-21 01:02:03.004', 'é', \
         '-01:02:03'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    );
    assert_eq!(inserted.unwrap(), 2);
    let text = control.query("SELECT * FROM t").unwrap();
    let binary = control
        .query_with("SELECT * FROM t WHERE 'x' = $1", &["x"])
        .unwrap();
    assert_eq!(text, binary);
    let error = control.query_with("SELECT * FROM nowhere WHERE 1 = $1", &["1"]);
    let error = error.unwrap_err();
    assert_eq!(
        error.server_error().map(|error| error.number),
        Some(1146),
        "{error}"
    );
    // MySQL cannot prepare these; they are sent as text.
    control.query_with("BEGIN", &[]).unwrap();
    control.query_with("ROLLBACK", &[]).unwrap();
    let _ = control.execute("DROP PROCEDURE IF EXISTS p");
    control.run("CREATE PROCEDURE p(IN a INT) BEGIN SELECT a; SELECT a + 1, 'x'; END");
    let rows = control.query_with("CALL p($1)", &["1"]).unwrap();
    assert_eq!(rows, [[Some("2".to_owned()), Some("x".to_owned())]]);
    assert_eq!(
        control
            .query_value("SELECT 1; SELECT 2")
            .unwrap()
            .as_deref(),
        Some("2")
    );
    let long = "x".repeat(1 << 20);
    let rows = control.query_with("SELECT LENGTH($1)", &[&long]).unwrap();
    assert_eq!(rows[0][0].as_deref(), Some("1048576"));
}
