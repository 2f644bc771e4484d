//! Connects to the server of a script's settings.
//!
//! In: a login, the environment. Out: a target, a control connection. Must never: print a password.

use prony_dialect::hammerdb::{Login, text};
use prony_document::SqlDialect;
use prony_fleet::ToolServer;
use prony_runner::signals;
use prony_server::control::Error;
use prony_server::{Control, Environment, Target, resolve_client_options};
use std::path::Path;

/// The target of a login. Other options (certificates, time-outs) come from the environment, as in every
/// program that uses libpq or MySQL's client.
pub fn target(login: &Login) -> Result<Target, String> {
    let env = Environment::from_process();
    let port = login.port.to_string();
    let options = client_options(login, &port);
    let resolved =
        resolve_client_options(login.product.dialect, &options, "the settings", "", &env);
    let mut target = resolved.map_err(|error| error.to_string())?;
    signals::interrupt_waits_of(&mut target);
    for warning in &target.warnings {
        super::warn(&warning.to_string());
    }
    Ok(target)
}

/// A login as options of its protocol's clients.
fn client_options<'a>(login: &'a Login, port: &'a str) -> Vec<(&'a str, &'a str)> {
    match login.product.dialect {
        SqlDialect::PostgreSql => vec![
            ("host", login.host.as_str()),
            ("port", port),
            ("sslmode", &login.ssl_mode),
            ("user", &login.user),
            ("password", login.password.reveal()),
            ("dbname", &login.database),
        ],
        SqlDialect::TransactSql => sql_server_options(login, port),
        SqlDialect::MySql => mysql_options(login, port),
    }
}

/// How agents find the server of a login, of which this machine found `target`.
pub fn tool_server(login: &Login, target: &Target) -> ToolServer {
    let port = login.port.to_string();
    ToolServer::new(login.product.dialect, &client_options(login, &port), target)
}

/// The settings of MySQL or MariaDB as options of their clients.
fn mysql_options<'a>(login: &'a Login, port: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut options: Vec<(&str, &str)> = match &login.socket {
        Some(socket) => vec![("protocol", "socket"), ("socket", socket)],
        None => vec![("protocol", "tcp")],
    };
    match &login.ssl {
        None => options.push(("ssl-mode", "DISABLED")),
        Some(ssl) => {
            // Accounts that log in with a token of a cloud service send it through mysql_clear_password.
            options.extend([
                ("ssl-mode", "VERIFY_CA"),
                ("ssl-ca", ssl.ca.as_str()),
                ("enable-cleartext-plugin", "1"),
            ]);
            if let Some((certificate, key)) = &ssl.client_cert {
                options.extend([
                    ("ssl-cert", certificate.as_str()),
                    ("ssl-key", key.as_str()),
                ]);
            }
        }
    }
    options.extend([
        ("host", login.host.as_str()),
        ("port", port),
        ("user", &login.user),
        ("password", login.password.reveal()),
        ("database", &login.database),
    ]);
    options
}

/// The settings of SQL Server as options of its clients.
fn sql_server_options<'a>(login: &'a Login, port: &'a str) -> Vec<(&'static str, &'a str)> {
    let mut options = vec![
        ("server", login.host.as_str()),
        ("user", &login.user),
        ("password", login.password.reveal()),
        ("database", &login.database),
    ];
    if let Some(connection) = &login.sql_server {
        let switch = |on: bool| if on { "true" } else { "false" };
        options.extend([
            ("encrypt", switch(connection.encrypts)),
            (
                "TrustServerCertificate",
                switch(connection.trusts_certificate),
            ),
        ]);
        if connection.uses_port {
            options.push(("port", port));
        }
    }
    options
}

/// Opens a control connection, without a time limit.
///
/// # Errors
///
/// The message of libpq or of MySQL's client.
pub fn connect(target: &Target, login: &Login) -> Result<Control, String> {
    let failure_message = |error: Error| {
        let server = target.describe();
        text::connect_failure(
            &text::Destination {
                database: &target.database,
                server: &server,
                user: &target.user,
            },
            login.password_section(),
            &error,
        )
    };
    let mut control = crate::cleartext::connect(target).map_err(failure_message)?;
    // A build has long statements, which time-outs of the role or the database would end.
    let settings = match control.dialect() {
        SqlDialect::PostgreSql if control.server_version() >= 140_000 => {
            "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; \
             set idle_session_timeout = 0"
        }
        SqlDialect::PostgreSql => {
            "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0"
        }
        SqlDialect::MySql => "set session wait_timeout = 2147483",
        // Its time-outs are the clients'.
        SqlDialect::TransactSql => return Ok(control),
    };
    control.execute(settings).map_err(failure_message)?;
    Ok(control)
}

/// The cipher of a connection to MySQL or MariaDB, as the server names it, empty without TLS; `None` on the other
/// engines, where virtual users do not print it.
pub fn cipher(control: &Control) -> Option<String> {
    match control.dialect() {
        SqlDialect::PostgreSql | SqlDialect::TransactSql => None,
        SqlDialect::MySql => {
            let tls = control.tls().unwrap_or_default();
            let (_, cipher) = tls.split_once(' ').unwrap_or_default();
            Some(cipher.to_owned())
        }
    }
}

/// Connects with a login; returns its target and a control connection.
pub fn open(login: &Login) -> Result<(Target, Control), String> {
    let target = target(login)?;
    let control = connect(&target, login).map_err(|message| match &login.socket {
        // HammerDB's default path often does not fit the installation, so the message names the alternative.
        Some(path) if !Path::new(path).exists() => format!(
            "{message}\nSocket {path} does not exist: to connect over TCP, use diset connection {} null",
            login.key("socket")
        ),
        _ => message,
    })?;
    Ok((target, control))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_dialect::hammerdb::{SqlServerConnection, Ssl};
    use prony_document::Product;
    use prony_server::SslMode;
    use prony_wire::Secret;

    fn login(product: Product, port: u16, user: &str, password: &str) -> Login {
        Login {
            product,
            host: "127.0.0.1".to_owned(),
            port,
            ssl_mode: String::new(),
            socket: None,
            ssl: None,
            sql_server: None,
            user: user.to_owned(),
            password: Secret::new(password),
            database: "tpcc".to_owned(),
        }
    }

    #[test]
    fn mysql_settings_with_special_characters_become_options() {
        let mut login = login(Product::MYSQL, 3306, "root", "p@ss/#:1");
        login.socket = Some("/tmp/my sql.sock".to_owned());
        let assert_options = |login: &Login, expected: &[(&str, &str)]| {
            let options = mysql_options(login, "3306");
            for pair in expected {
                assert!(options.contains(pair), "{}", pair.0);
            }
        };
        let socket_options = [
            ("protocol", "socket"),
            ("socket", "/tmp/my sql.sock"),
            ("ssl-mode", "DISABLED"),
            ("user", "root"),
            ("password", "p@ss/#:1"),
            ("database", "tpcc"),
        ];
        assert_options(&login, &socket_options);
        let resolved = target(&login).expect("valid settings");
        assert_eq!(resolved.describe(), "unix:/tmp/my sql.sock");
        login.socket = None;
        login.ssl = Some(Ssl {
            ca: "/c/ca.pem".to_owned(),
            client_cert: Some(("/c/cert.pem".to_owned(), "/c/key.pem".to_owned())),
        });
        let tls_options = [
            ("protocol", "tcp"),
            ("host", "127.0.0.1"),
            ("port", "3306"),
            ("ssl-mode", "VERIFY_CA"),
            ("ssl-ca", "/c/ca.pem"),
            ("enable-cleartext-plugin", "1"),
            ("ssl-cert", "/c/cert.pem"),
            ("ssl-key", "/c/key.pem"),
        ];
        assert_options(&login, &tls_options);
        let error = target(&login).expect_err("no such file");
        error.assert_contains("/c/").assert_lacks("p@ss");
    }

    #[test]
    fn sql_server_settings_with_special_characters_become_options() {
        let mut login = login(Product::SQL_SERVER, 14_330, "sa", "p;w}=d\"");
        login.sql_server = Some(SqlServerConnection {
            uses_port: true,
            encrypts: true,
            trusts_certificate: true,
            azure: false,
        });
        let resolved = target(&login).expect("valid settings");
        let endpoint = &resolved.endpoints[0];
        assert_eq!(resolved.describe(), "tcp:127.0.0.1:14330");
        assert_eq!(
            (resolved.user.as_str(), resolved.database.as_str()),
            ("sa", "tpcc")
        );
        let password = endpoint.password.as_ref().expect("a password");
        assert_eq!(password.reveal(), "p;w}=d\"");
        assert_eq!(resolved.tls.mode, SslMode::Require);
        // Without mssqls_tcp, as in HammerDB, the port is ignored; the host may name one.
        if let Some(connection) = &mut login.sql_server {
            connection.uses_port = false;
            connection.encrypts = false;
        }
        let resolved = target(&login).expect("valid settings");
        assert_eq!(resolved.describe(), "tcp:127.0.0.1:1433");
        assert_eq!(resolved.tls.mode, SslMode::Prefer);
        login.host = "tcp:127.0.0.1,1444".to_owned();
        let resolved = target(&login).expect("valid settings");
        assert_eq!(resolved.describe(), "tcp:127.0.0.1:1444");
    }

    #[test]
    fn a_failure_without_a_database_names_the_server() {
        // Port 9 is the discard port, on which no server listens.
        let mut login = login(Product::MYSQL, 9, "sbtest", "x");
        login.database = String::new();
        let target = target(&login).expect("valid settings");
        let error = connect(&target, &login).err().expect("no server listens");
        let expected = "Connection to server tcp:127.0.0.1:9 as sbtest failed\n";
        error.assert_starts_with(expected);
    }
}
