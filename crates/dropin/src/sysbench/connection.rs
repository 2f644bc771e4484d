//! Connects with sysbench's options, and reports failures in sysbench's texts.
//!
//! Must never: print a password.

use super::agents;
use super::call::{eprint, set_advice};
use prony_dialect::mysql_client;
use prony_dialect::sysbench::{
    DatabaseOptions, Driver, Endpoint, GeneralOptions, MysqlOptions, NO_DRIVER, NOT_CONNECTED,
    PgsqlOptions, describe_connect_failure, endpoints, login_failure_lines, mysql_unreachable,
    parse_driver, parse_ps_mode, pgsql_unreachable,
};
use prony_fleet::ToolServer;
use prony_plan::Spread;
use prony_runner::signals;
use prony_server::control::{ConnectFailure, Error, FailureCause};
use prony_server::{Environment, Target, resolve_mysql_options, resolve_postgres_options};
use std::time::Duration;

/// The driver and target; or the lines of the log and the reason why threads cannot start.
pub type ResolvedServer = Result<(Driver, Target), (String, &'static str)>;

/// The driver and target of checked options.
pub fn resolve_server(settings: &GeneralOptions) -> ResolvedServer {
    let database = &settings.database;
    warn_about_cipher(database);
    let driver_options = parse_driver(database).and_then(|_| parse_ps_mode(database));
    driver_options.map_err(|lines| (lines, NO_DRIVER))?;
    target(database, settings.thread_init_timeout_s).map_err(|lines| (lines, NOT_CONNECTED))
}

/// The driver and target of the options. `timeout_s`: the time limit for connecting, in seconds.
///
/// # Errors
///
/// The log text to print; the caller appends the line that names the failed function.
fn target(database: &DatabaseOptions, timeout_s: u32) -> Result<(Driver, Target), String> {
    let driver = parse_driver(database)?;
    let mut target = match driver {
        Driver::Mysql => mysql_target(&database.mysql)?,
        Driver::Pgsql => {
            let environment = Environment::from_process();
            let port = database.pgsql.port.to_string();
            let options = pgsql_options(&database.pgsql, &port);
            resolve_postgres_options(&options, "the options", "", &environment)
                .map_err(|error| pgsql_unreachable(&error.to_string()))?
        }
    };
    let timeout = Duration::from_secs(u64::from(timeout_s.max(1)));
    target.connect_timeout.get_or_insert(timeout);
    for additional_target in &mut target.additional_targets {
        additional_target.connect_timeout.get_or_insert(timeout);
    }
    signals::interrupt_waits_of(&mut target);
    Ok((driver, target))
}

/// How agents find the server of checked options, of which this machine found `target`.
pub fn tool_server(database: &DatabaseOptions, target: &Target) -> ToolServer {
    match parse_driver(database) {
        Ok(Driver::Mysql) => {
            let endpoint = endpoints(&database.mysql).remove(0);
            let port = port_text(&endpoint);
            let options = mysql_options(&database.mysql, &endpoint, &port);
            agents::server(Driver::Mysql, &options, target)
        }
        _ => {
            let port = database.pgsql.port.to_string();
            let options = pgsql_options(&database.pgsql, &port);
            agents::server(Driver::Pgsql, &options, target)
        }
    }
}

/// A placeholder target, for a script that might never connect.
pub fn placeholder_target(driver: Driver) -> Target {
    let environment = Environment::without_home("sbtest");
    let options = [("host", "127.0.0.1"), ("port", "1"), ("user", "sbtest")];
    let target = match driver {
        Driver::Mysql => resolve_mysql_options(&options, "the options", &environment),
        Driver::Pgsql => resolve_postgres_options(&options, "the options", "", &environment),
    };
    target.expect("a numeric address is always valid")
}

/// Whether the last attempt to connect timed out, for which sysbench has its own exit status.
pub fn has_timed_out(failures: &[ConnectFailure]) -> bool {
    let last_failure = failures.last();
    last_failure.is_some_and(|failure| matches!(failure.cause, FailureCause::Timeout))
}

/// The target of MySQL's options: the first endpoint, and the additional targets that connections rotate
/// through. Like sysbench, ignores the mysql client's option files and environment variables.
fn mysql_target(mysql: &MysqlOptions) -> Result<Target, String> {
    let process = Environment::from_process();
    let mut environment = Environment::without_home("sbtest");
    environment.mysql_sockets = process.mysql_sockets;
    let mut targets = Vec::new();
    for endpoint in endpoints(mysql) {
        let port = port_text(&endpoint);
        let options = mysql_options(mysql, &endpoint, &port);
        let target =
            resolve_mysql_options(&options, "the options", &environment).map_err(|error| {
                let (code, text) = mysql_client::target_error(&error, &endpoint);
                mysql_unreachable(&endpoint.to_string(), code, &text)
            })?;
        targets.push(target);
    }
    let mut target = targets.remove(0);
    target.additional_targets = targets;
    target.spread = Spread::RoundRobin;
    Ok(target)
}

fn port_text(endpoint: &Endpoint) -> String {
    match endpoint {
        Endpoint::Host(_, port) => port.to_string(),
        Endpoint::Socket(_) => String::new(),
    }
}

/// Warns that `--mysql-ssl-cipher` is ignored, unless TLS is off.
fn warn_about_cipher(database: &DatabaseOptions) {
    let mysql = &database.mysql;
    let ciphers = mysql.ssl_cipher.as_ref();
    if let Some(cipher) = ciphers.filter(|_| !matches!(mysql.ssl.as_str(), "off" | "disabled")) {
        eprint(&format!(
            "prony: --mysql-ssl-cipher={cipher} is ignored: client and server choose the strongest cipher of \
             TLS 1.3 or 1.2 that both support; to allow fewer, set ssl_cipher on the server\n"
        ));
    }
}

/// sysbench's options as libpq keywords.
fn pgsql_options<'a>(pgsql: &'a PgsqlOptions, port: &'a str) -> [(&'a str, &'a str); 6] {
    [
        ("host", &pgsql.host),
        ("port", port),
        ("user", &pgsql.user),
        ("password", pgsql.password.reveal()),
        ("dbname", &pgsql.database),
        ("sslmode", pgsql.sslmode.as_deref().unwrap_or_default()),
    ]
}

/// sysbench's options as options of MySQL's client.
fn mysql_options<'a>(
    mysql: &'a MysqlOptions,
    endpoint: &'a Endpoint,
    port: &'a str,
) -> Vec<(&'a str, &'a str)> {
    let mut options = match endpoint {
        Endpoint::Socket(path) => vec![("host", "localhost"), ("socket", path.as_str())],
        // MySQL's client connects to the host localhost over the default socket.
        Endpoint::Host(host, _) => vec![("host", host.as_str()), ("port", port)],
    };
    // With --mysql-ssl=on, sysbench 1.0 reads the CA, certificate and key from files with fixed names.
    let (mode, default_files) = match mysql.ssl.as_str() {
        "off" => ("disabled", [""; 3]),
        // Like sysbench's client library, verify the server against the first file.
        "on" => (
            "VERIFY_CA",
            ["cacert.pem", "client-cert.pem", "client-key.pem"],
        ),
        other => (other, [""; 3]),
    };
    options.extend([
        ("user", mysql.user.as_str()),
        ("password", mysql.password.reveal()),
        ("database", &mysql.database),
        ("ssl-mode", mode),
    ]);
    // sysbench's client library always requests the server's public key, which accounts with caching_sha2_password
    // need without TLS. On another machine, that gives the password to whoever answers.
    if mysql.get_server_public_key {
        options.push(("get-server-public-key", "1"));
    }
    if mode != "disabled" {
        // Accounts that log in with a token of a cloud service send it through mysql_clear_password. Prony
        // does so only if the connection uses TLS.
        options.push(("enable-cleartext-plugin", "1"));
        let files = [&mysql.ssl_ca, &mysql.ssl_cert, &mysql.ssl_key];
        let names = ["ssl-ca", "ssl-cert", "ssl-key"];
        for ((name, file), default_file) in names.into_iter().zip(files).zip(default_files) {
            options.push((name, file.as_deref().unwrap_or(default_file)));
        }
    }
    options
}

/// The log lines about a control connection that could not be opened.
pub fn control_error_lines(database: &DatabaseOptions, driver: Driver, error: &Error) -> String {
    match error {
        Error::Connect(failures) => connect_failure_lines(database, driver, failures),
        other => login_failure_lines(database, driver, &other.to_string()),
    }
}

/// The log lines if no connection to the server could be opened. Stores the advice, which is printed after
/// the log lines.
pub fn connect_failure_lines(
    database: &DatabaseOptions,
    driver: Driver,
    failures: &[ConnectFailure],
) -> String {
    let (lines, advice) = describe_connect_failure(database, driver, failures);
    set_advice(advice);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_dialect::sysbench::{Compat, Host, Invocation, parse_args};
    use prony_server::ProtocolOptions;
    use std::path::{Path, PathBuf};

    struct HostWithoutFiles;

    impl Host for HostWithoutFiles {
        fn find_script(&self, _: &str) -> Option<PathBuf> {
            None
        }

        fn read_file(&self, _: &Path) -> Result<String, String> {
            Err("none".to_owned())
        }
    }

    fn database(line: &str) -> DatabaseOptions {
        let line = format!("{line} oltp_read_only run");
        let arguments: Vec<_> = line.split_whitespace().map(Into::into).collect();
        match parse_args(&arguments, Compat::V1_0, &HostWithoutFiles) {
            Ok(Invocation::Native(native)) => native.settings.database,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn mysql_options_give_a_target_for_each_host_and_port() {
        let options = database(
            "--mysql-host=127.0.0.1,127.0.0.2 --mysql-port=1,2 --mysql-user=a:b --mysql-password=g/@h --mysql-db=d",
        );
        let (driver, target) = target(&options, 30).expect("valid options");
        assert_eq!(driver, Driver::Mysql);
        let described: Vec<String> = std::iter::once(&target)
            .chain(&target.additional_targets)
            .map(Target::describe)
            .collect();
        let addresses = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.2:1", "127.0.0.2:2"];
        assert_eq!(described, addresses.map(|address| format!("tcp:{address}")));
        assert_eq!(
            (target.user.as_str(), target.database.as_str()),
            ("a:b", "d")
        );
        let password = target.endpoints[0].password.as_ref();
        assert_eq!(password.map(prony_wire::Secret::reveal), Some("g/@h"));
        format!("{target:?}").assert_lacks("g/@h");
    }

    #[test]
    fn pgsql_options_are_not_parsed_as_a_url() {
        let options = database(
            "--db-driver=pgsql --pgsql-host=/tmp/x --pgsql-port=5 --pgsql-user=a@b --pgsql-password=p:w/% --pgsql-db=d?",
        );
        let (driver, target) = target(&options, 30).expect("valid options");
        assert_eq!(driver, Driver::Pgsql);
        assert_eq!(target.describe(), "unix:/tmp/x/.s.PGSQL.5");
        let names = (target.user.as_str(), target.database.as_str());
        assert_eq!(names, ("a@b", "d?"));
        let password = target.endpoints[0].password.as_ref();
        assert_eq!(password.map(prony_wire::Secret::reveal), Some("p:w/%"));
        let mut invalid = options.clone();
        invalid.pgsql.sslmode = Some("often".to_owned());
        let error = super::target(&invalid, 30).expect_err("invalid ssl mode");
        error.assert_contains("often").assert_lacks("command line");
    }

    #[test]
    fn an_error_names_the_options_and_no_url() {
        let mut options = database("--mysql-host=127.0.0.1 --mysql-port=0");
        let (_, resolved) = target(&options, 30).expect("valid options");
        assert_eq!(resolved.describe(), "tcp:127.0.0.1:3306");
        let allows_cleartext = |target: &Target| matches!(&target.protocol, ProtocolOptions::MySql(options) if options.allow_cleartext);
        assert!(!allows_cleartext(&resolved));
        options.mysql.ssl = "required".to_owned();
        assert!(allows_cleartext(
            &target(&options, 30).expect("valid options").1
        ));
        options.mysql.ssl = "often".to_owned();
        let error = target(&options, 30).expect_err("invalid ssl mode");
        let expected = "invalid ssl-mode value: \"often\" (from the options)";
        error.assert_contains(expected).assert_lacks("URL");
    }

    #[test]
    fn mysql_socket_overrides_mysql_host() {
        let options = database("--mysql-socket=/x/s,/y/s --mysql-host=h.invalid");
        let (_, target) = target(&options, 30).expect("valid options");
        assert_eq!(target.describe(), "unix:/x/s");
        assert_eq!(target.additional_targets[0].describe(), "unix:/y/s");
        assert_eq!(target.spread, Spread::RoundRobin);
    }

    #[test]
    fn an_unknown_driver_is_rejected() {
        let error = target(&database("--db-driver=foo"), 30).expect_err("no such driver");
        assert_eq!(error, "FATAL: invalid database driver name: 'foo'\n");
    }

    #[test]
    fn an_unknown_host_has_mysqls_error_message() {
        let error = target(&database("--mysql-host=h.invalid"), 30).expect_err("no such host");
        assert_eq!(
            error,
            "FATAL: unable to connect to MySQL server on host 'h.invalid', port 3306, aborting...\n\
             FATAL: error 2005: Unknown server host 'h.invalid' (-2)\n"
        );
    }
}
