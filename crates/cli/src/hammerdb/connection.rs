//! From a script's connection settings to a server.
//!
//! In: a login, the environment. Out: a target, a control connection. Must never: show a password.

use prony_dialect::hammerdb::{Login, Product};
use prony_server::Product as Engine;
use prony_server::control::Error;
use prony_server::{Control, Environment, Target};
use std::path::Path;

/// Where to connect. What the settings do not say (certificates, time-outs) comes from the customary
/// environment, as for every program that uses libpq or MySQL's client.
///
/// # Errors
/// What is wrong with the settings.
pub fn target(login: &Login) -> Result<Target, String> {
    let env = Environment::from_process();
    let resolved = match login.product {
        Product::PostgreSql => {
            let port = login.port.to_string();
            let before = [
                ("host", login.host.as_str()),
                ("port", &port),
                ("sslmode", &login.ssl_mode),
                ("user", &login.user),
                ("password", login.password.reveal()),
                ("dbname", &login.database),
            ];
            prony_server::resolve_over(&before, "", &env)
        }
        Product::MySql | Product::MariaDb => {
            let port = login.port.to_string();
            prony_server::resolve_mysql(&given(login, &port), &env)
        }
    };
    let target = resolved
        // The settings are a script's.
        .map_err(|error| {
            let text = error.to_string().replace(" (from the command line)", "");
            text.replace(" (from the options)", "")
        })?;
    for warning in &target.warnings {
        super::complain(&format!("hammerdbcli: {warning}\n"));
    }
    Ok(target)
}

/// The settings of MySQL or MariaDB as options of their clients.
fn given<'a>(login: &'a Login, port: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut options: Vec<(&str, &str)> = match &login.socket {
        Some(socket) => vec![("protocol", "socket"), ("socket", socket)],
        None => vec![("protocol", "tcp")],
    };
    match &login.ssl {
        // A password then goes encrypted by the server's key, where its plugin asks for that.
        None => options.extend([("ssl-mode", "DISABLED"), ("get-server-public-key", "1")]),
        Some(ssl) => {
            options.extend([("ssl-mode", "VERIFY_CA"), ("ssl-ca", ssl.ca.as_str())]);
            if let Some((certificate, key)) = &ssl.own {
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

/// Connects for everything but the load, for as long as it takes.
///
/// # Errors
/// The words of libpq, or of MySQL's client.
pub fn connect(target: &Target) -> Result<Control, String> {
    let failed = |error: Error| {
        // The superuser of MySQL connects to the server, and to no database of it.
        let place = match target.database.as_str() {
            "" => format!("server {}", target.describe()),
            name => format!("database {name}"),
        };
        let (user, words) = (&target.user, words(&error));
        format!("Connection to {place} as {user} failed\n{words}")
    };
    let mut control = Control::connect(target).map_err(failed)?;
    // Time-outs of a role or database are meant for applications.
    let settings = match control.product() {
        Engine::Postgres if control.server_version() >= 140_000 => {
            "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; \
             set idle_session_timeout = 0"
        }
        Engine::Postgres => {
            "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0"
        }
        Engine::Mysql | Engine::MariaDb => "set session wait_timeout = 2147483",
    };
    control.execute(settings).map_err(failed)?;
    Ok(control)
}

/// The cipher of a connection to MySQL or MariaDB, as that server calls it; empty without.
pub fn cipher(control: &Control) -> String {
    let tls = control.tls().unwrap_or_default();
    let (_, cipher) = tls.split_once(' ').unwrap_or_default();
    cipher.to_owned()
}

/// What the server or the system said. Hints about URLs and password files are left out: a script
/// names neither.
pub fn words(error: &Error) -> String {
    let said = match error {
        Error::Connect(failures) => {
            let said: Vec<String> = failures.iter().map(ToString::to_string).collect();
            said.join("\n")
        }
        other => other.to_string(),
    };
    // Invalid password: HammerDB keeps those of earlier calls, and scripts may count on that.
    if matches!(error.sqlstate(), Some("28P01" | "28000")) {
        return said + "\nPasswords are not kept from call to call: set them with diset tpcc";
    }
    said
}

/// A login's target and a connection to it.
///
/// # Errors
/// As for the two.
pub fn open(login: &Login) -> Result<(Target, Control), String> {
    let target = target(login)?;
    let control = connect(&target).map_err(|words| match &login.socket {
        // The shipped setting is the socket of another installation as often as not.
        Some(path) if !Path::new(path).exists() => format!(
            "{words}\nThere is no socket {path}: diset connection {} null connects by TCP",
            login.product.key("socket")
        ),
        _ => words,
    })?;
    Ok((target, control))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_dialect::hammerdb::Ssl;
    use prony_wire::Secret;

    #[test]
    fn settings_of_mysql_become_options_whatever_is_in_them() {
        let mut login = Login {
            product: Product::MySql,
            host: "127.0.0.1".to_owned(),
            port: 3306,
            ssl_mode: String::new(),
            socket: Some("/tmp/my sql.sock".to_owned()),
            ssl: None,
            user: "root".to_owned(),
            password: Secret::new("p@ss/#:1"),
            database: "tpcc".to_owned(),
        };
        let has = |login: &Login, wanted: &[(&str, &str)]| {
            let given = given(login, "3306");
            for pair in wanted {
                assert!(given.contains(pair), "{}", pair.0);
            }
        };
        let by_socket = [
            ("protocol", "socket"),
            ("socket", "/tmp/my sql.sock"),
            ("ssl-mode", "DISABLED"),
            ("get-server-public-key", "1"),
            ("user", "root"),
            ("password", "p@ss/#:1"),
            ("database", "tpcc"),
        ];
        has(&login, &by_socket);
        let found = target(&login).expect("can be read");
        assert_eq!(found.describe(), "unix:/tmp/my sql.sock");
        login.socket = None;
        login.ssl = Some(Ssl {
            ca: "/c/ca.pem".to_owned(),
            own: Some(("/c/cert.pem".to_owned(), "/c/key.pem".to_owned())),
        });
        let with_tls = [
            ("protocol", "tcp"),
            ("host", "127.0.0.1"),
            ("port", "3306"),
            ("ssl-mode", "VERIFY_CA"),
            ("ssl-ca", "/c/ca.pem"),
            ("ssl-cert", "/c/cert.pem"),
            ("ssl-key", "/c/key.pem"),
        ];
        has(&login, &with_tls);
        let text = target(&login).expect_err("no such file");
        assert!(text.contains("/c/") && !text.contains("p@ss"), "{text}");
    }

    #[test]
    fn a_login_to_no_database_is_named_by_its_server() {
        // A port of discard, where nobody listens.
        let login = Login {
            product: Product::MySql,
            host: "127.0.0.1".to_owned(),
            port: 9,
            ssl_mode: String::new(),
            socket: None,
            ssl: None,
            user: "sbtest".to_owned(),
            password: Secret::new("x"),
            database: String::new(),
        };
        let target = target(&login).expect("can be read");
        let text = connect(&target).err().expect("nobody listens");
        let said = "Connection to server tcp:127.0.0.1:9 as sbtest failed\n";
        assert!(text.starts_with(said), "{text}");
    }
}
