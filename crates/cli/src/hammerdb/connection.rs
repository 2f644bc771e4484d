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
        Product::MySql | Product::MariaDb => prony_server::resolve(&url(login), &env),
    };
    let target = resolved
        // The settings are a script's.
        .map_err(|error| error.to_string().replace(" (from the command line)", ""))?;
    for warning in &target.warnings {
        super::complain(&format!("hammerdbcli: {warning}\n"));
    }
    Ok(target)
}

/// The settings of MySQL or MariaDB as a connection URL.
fn url(login: &Login) -> String {
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
    let options: Vec<String> = options
        .iter()
        .map(|(name, value)| format!("{name}={}", encoded(value)))
        .collect();
    let host = match login.host.contains(':') {
        true => format!("[{}]", login.host),
        false => encoded(&login.host),
    };
    format!(
        "mysql://{}:{}@{host}:{}/{}?{}",
        encoded(&login.user),
        encoded(login.password.reveal()),
        login.port,
        encoded(&login.database),
        options.join("&")
    )
}

/// Every byte that could mean something in a URL in its hexadecimal form.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' => {
                encoded.push(char::from(byte));
            }
            _ => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}

/// Connects for everything but the load, for as long as it takes.
///
/// # Errors
/// The words of libpq, or of MySQL's client.
pub fn connect(target: &Target) -> Result<Control, String> {
    let failed = |error: Error| {
        format!(
            "Connection to database {} as {} failed\n{}",
            target.database,
            target.user,
            words(&error)
        )
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
    fn settings_of_mysql_become_a_url_whatever_is_in_them() {
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
        assert_eq!(
            url(&login),
            "mysql://root:p%40ss%2F%23%3A1@127.0.0.1:3306/tpcc?protocol=socket&\
             socket=%2Ftmp%2Fmy%20sql.sock&ssl-mode=DISABLED&get-server-public-key=1"
        );
        login.socket = None;
        login.ssl = Some(Ssl {
            ca: "/c/ca.pem".to_owned(),
            own: Some(("/c/cert.pem".to_owned(), "/c/key.pem".to_owned())),
        });
        assert!(url(&login).ends_with(
            "?protocol=tcp&ssl-mode=VERIFY_CA&ssl-ca=%2Fc%2Fca.pem&ssl-cert=%2Fc%2Fcert.pem&\
             ssl-key=%2Fc%2Fkey.pem"
        ));
    }
}
