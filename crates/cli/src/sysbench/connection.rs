//! From sysbench's connection options to servers, and what it says when there is no way.
//!
//! In: `--mysql-*`, `--pgsql-*`. Out: a target; errors in sysbench's words. Must never: show a password.

use super::call::{advise, tell};
use prony_dialect::sysbench::{
    Database, Driver, Endpoint, Mysql, Pgsql, advice, driver, endpoints, mysql_unreachable,
    pgsql_unreachable,
};
use prony_server::control::{Cause, Error, Failure};
use prony_server::{Address, Environment, Target, resolve_mysql, resolve_over};
use prony_wire::ConnectError;
use std::path::Path;
use std::time::Duration;

/// What the client libraries of MySQL and MariaDB say of a host that has no address.
const UNKNOWN_HOST: u32 = 2005;
/// Of one that does not answer.
const NOT_THERE: u32 = 2002;
/// Of a connection that ends under the log-in.
const LOST_AT_LOGIN: u32 = 2013;
/// Of a log-in that fails on this side, and of answers that are no protocol.
const TLS_FAILED: u32 = 2026;

/// Of a plugin that the client does not have.
const PLUGIN_UNKNOWN: u32 = 2059;
/// What to do where TLS is asked for and the server has none.
const NO_TLS: &str = "give the server a certificate (ssl-cert and ssl-key in its configuration), or leave \
    --mysql-ssl out: without it nothing is encrypted";

/// What port 0 stands for.
const USUAL_PORT: u16 = 3306;

/// Where to connect, with the driver that was asked for, and so much time for it, seconds.
///
/// # Errors
/// Lines of the log, without the one that names the function which failed.
pub fn target(database: &Database, within_s: u32) -> Result<(Driver, Target), String> {
    let driver = driver(database)?;
    let mut target = match driver {
        Driver::Mysql => mysql(&database.mysql)?,
        Driver::Pgsql => {
            let environment = Environment::from_process();
            let port = database.pgsql.port.to_string();
            resolve_over(&pgsql_given(&database.pgsql, &port), "", &environment).map_err(
                |error| {
                    // Its options are not libpq's.
                    let text = error.to_string().replace(" (from the command line)", "");
                    pgsql_unreachable(&text)
                },
            )?
        }
    };
    let within = Duration::from_secs(u64::from(within_s.max(1)));
    target.connect_timeout.get_or_insert(within);
    for other in &mut target.others {
        other.connect_timeout.get_or_insert(within);
    }
    Ok((driver, target))
}

/// A server that nobody is to connect to: for a script that may do without any.
pub fn nowhere(driver: Driver) -> Target {
    let environment = Environment::new("sbtest", Path::new("/nonexistent"));
    let given = [("host", "127.0.0.1"), ("port", "1"), ("user", "sbtest")];
    let target = match driver {
        Driver::Mysql => resolve_mysql(&given, &environment),
        Driver::Pgsql => resolve_over(&given, "", &environment),
    };
    target.expect("an address in numbers needs nothing else")
}

/// Whether a server took too long to let us in: sysbench has a status of its own for that.
pub fn is_late(failures: &[Failure]) -> bool {
    let last = failures.last();
    last.is_some_and(|failure| matches!(failure.cause, Cause::Timeout))
}

/// The first server, with the others that take turns with it. Option files and variables of the
/// mysql client are not read: sysbench does not either.
fn mysql(mysql: &Mysql) -> Result<Target, String> {
    let process = Environment::from_process();
    let mut environment = Environment::new("sbtest", Path::new("/nonexistent"));
    environment.mysql_sockets = process.mysql_sockets;
    let mut targets = Vec::new();
    for endpoint in endpoints(mysql) {
        let port = match &endpoint {
            Endpoint::Host(_, port) => port.to_string(),
            Endpoint::Socket(_) => String::new(),
        };
        let given = given(mysql, &endpoint, &port);
        let target = resolve_mysql(&given, &environment).map_err(|error| {
            let (code, text) = match (&error, &endpoint) {
                (prony_server::Error::NoAddress { .. }, Endpoint::Host(host, _)) => {
                    (UNKNOWN_HOST, format!("Unknown server host '{host}' (-2)"))
                }
                (prony_server::Error::File { .. } | prony_server::Error::Tls { .. }, _) => {
                    (TLS_FAILED, error.to_string())
                }
                (other, _) => (NOT_THERE, other.to_string()),
            };
            mysql_unreachable(&endpoint.to_string(), code, &text)
        })?;
        targets.push(target);
    }
    let mut first = targets.remove(0);
    first.others = targets;
    Ok(first)
}

/// Says that a list of ciphers is not heeded, where there is one and TLS is asked for.
pub fn warn_of_cipher(database: &Database) {
    let mysql = &database.mysql;
    let asked = mysql.ssl_cipher.as_ref();
    if let Some(cipher) = asked.filter(|_| !matches!(mysql.ssl.as_str(), "off" | "disabled")) {
        tell(&format!(
            "prony: --mysql-ssl-cipher={cipher} is not heeded: client and server agree on the strongest cipher of \
             TLS 1.3, or 1.2, that both have; to allow fewer set ssl_cipher on the server\n"
        ));
    }
}

/// What options say, by libpq's keywords.
fn pgsql_given<'a>(pgsql: &'a Pgsql, port: &'a str) -> [(&'a str, &'a str); 6] {
    [
        ("host", &pgsql.host),
        ("port", port),
        ("user", &pgsql.user),
        ("password", pgsql.password.reveal()),
        ("dbname", &pgsql.database),
        ("sslmode", pgsql.sslmode.as_deref().unwrap_or_default()),
    ]
}

/// What options say, as the server's room names it.
fn given<'a>(mysql: &'a Mysql, endpoint: &'a Endpoint, port: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut given = match endpoint {
        Endpoint::Socket(path) => vec![("host", "localhost"), ("socket", path.as_str())],
        // Of localhost, its customary socket.
        Endpoint::Host(host, _) => vec![("host", host.as_str()), ("port", port)],
    };
    // Up to 1.0 the names of the files are fixed.
    let (mode, usual) = match mysql.ssl.as_str() {
        "off" => ("disabled", [""; 3]),
        // The server is checked against the first file, as by the library of sysbench.
        "on" => (
            "VERIFY_CA",
            ["cacert.pem", "client-cert.pem", "client-key.pem"],
        ),
        other => (other, [""; 3]),
    };
    given.extend([
        ("user", mysql.user.as_str()),
        ("password", mysql.password.reveal()),
        ("database", &mysql.database),
        ("ssl-mode", mode),
        // As the library of sysbench: servers from 8.0 on ask it of their usual accounts without TLS.
        ("get-server-public-key", "1"),
    ]);
    if mode != "disabled" {
        let files = [&mysql.ssl_ca, &mysql.ssl_cert, &mysql.ssl_key];
        let names = ["ssl-ca", "ssl-cert", "ssl-key"];
        for ((name, file), usual) in names.into_iter().zip(files).zip(usual) {
            given.push((name, file.as_deref().unwrap_or(usual)));
        }
    }
    given
}

/// Why a control connection was not opened.
pub fn refused(database: &Database, driver: Driver, error: &Error) -> String {
    match error {
        Error::Connect(failures) => unreachable(database, driver, failures),
        other => match driver {
            Driver::Mysql => {
                let place = endpoints(&database.mysql)[0].to_string();
                mysql_unreachable(&place, LOST_AT_LOGIN, &other.to_string())
            }
            Driver::Pgsql => pgsql_unreachable(&other.to_string()),
        },
    }
}

/// Why no way leads to the server.
pub fn unreachable(database: &Database, driver: Driver, failures: &[Failure]) -> String {
    if driver == Driver::Pgsql {
        let said = failures
            .iter()
            .rev()
            .find_map(|failure| match &failure.cause {
                Cause::Login(error) => error.server(),
                _ => None,
            });
        advise(said.and_then(|said| advice(driver, 0, said.code())));
        return pgsql_unreachable(&crate::pgbench::libpq_failures(failures));
    }
    let Some(last) = failures.last() else {
        return mysql_unreachable("?", NOT_THERE, "no way leads there");
    };
    let place = place(&database.mysql, last);
    let (code, text) = match &last.cause {
        Cause::Login(error) => match error.server() {
            Some(said) => (u32::from(said.number), said.message.clone()),
            None => (TLS_FAILED, error.to_string()),
        },
        Cause::Io(error) => (NOT_THERE, not_there(&place, error)),
        other => (
            LOST_AT_LOGIN,
            format!("Lost connection to server at 'handshake': {other}"),
        ),
    };
    advise(match &last.cause {
        Cause::Login(ConnectError::TlsUnsupported) => Some(NO_TLS),
        Cause::Login(ConnectError::PluginUnsupported(_)) => advice(driver, PLUGIN_UNKNOWN, ""),
        _ => advice(driver, code, ""),
    });
    mysql_unreachable(&place.to_string(), code, &text)
}

/// In the words of MariaDB's client library.
fn not_there(place: &Endpoint, error: &std::io::Error) -> String {
    let errno = error.raw_os_error().unwrap_or(0);
    match place {
        Endpoint::Socket(path) => {
            format!("Can't connect to local server through socket '{path}' ({errno})")
        }
        Endpoint::Host(host, _) => format!("Can't connect to server on '{host}' ({errno})"),
    }
}

/// The endpoint, as it was asked for, that an attempt went to.
fn place(mysql: &Mysql, failure: &Failure) -> Endpoint {
    let went_to = &failure.endpoint;
    let all = endpoints(mysql);
    let is_it = |endpoint: &&Endpoint| match (endpoint, &went_to.address) {
        (Endpoint::Socket(path), Address::Unix(there)) => Path::new(path) == there,
        (Endpoint::Host(host, _), Address::Unix(_)) => host == "localhost",
        (Endpoint::Host(host, port), Address::Tcp(_)) => {
            let is_usual = *port == 0 && went_to.port == USUAL_PORT;
            *host == went_to.host && (*port == went_to.port || is_usual)
        }
        _ => false,
    };
    all.iter().find(is_it).unwrap_or(&all[0]).clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_dialect::sysbench::{Compat, Host, Invocation, read};
    use std::path::PathBuf;

    struct Nowhere;

    impl Host for Nowhere {
        fn find_script(&self, _: &str) -> Option<PathBuf> {
            None
        }

        fn read_file(&self, _: &Path) -> Result<String, String> {
            Err("none".to_owned())
        }
    }

    fn database(line: &str) -> Database {
        let line = format!("{line} oltp_read_only run");
        let arguments: Vec<_> = line.split_whitespace().map(Into::into).collect();
        match read(&arguments, Compat::V1_0, &Nowhere) {
            Ok(Invocation::Native(native)) => native.settings.database,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn options_lead_to_servers_that_take_turns() {
        let asked = database(
            "--mysql-host=127.0.0.1,127.0.0.2 --mysql-port=1,2 --mysql-user=a:b --mysql-password=g/@h --mysql-db=d",
        );
        let (driver, target) = target(&asked, 30).expect("can be read");
        assert_eq!(driver, Driver::Mysql);
        let all: Vec<String> = std::iter::once(&target)
            .chain(&target.others)
            .map(Target::describe)
            .collect();
        let places = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.2:1", "127.0.0.2:2"];
        assert_eq!(all, places.map(|place| format!("tcp:{place}")));
        assert_eq!(
            (target.user.as_str(), target.database.as_str()),
            ("a:b", "d")
        );
        let password = target.endpoints[0].password.as_ref();
        assert_eq!(password.map(prony_wire::Secret::reveal), Some("g/@h"));
        assert!(!format!("{target:?}").contains("g/@h"));
    }

    #[test]
    fn options_of_postgresql_are_plain_text() {
        let asked = database(
            "--db-driver=pgsql --pgsql-host=/tmp/x --pgsql-port=5 --pgsql-user=a@b --pgsql-password=p:w/% --pgsql-db=d?",
        );
        let (driver, target) = target(&asked, 30).expect("can be read");
        assert_eq!(driver, Driver::Pgsql);
        assert_eq!(target.describe(), "unix:/tmp/x/.s.PGSQL.5");
        let names = (target.user.as_str(), target.database.as_str());
        assert_eq!(names, ("a@b", "d?"));
        let password = target.endpoints[0].password.as_ref();
        assert_eq!(password.map(prony_wire::Secret::reveal), Some("p:w/%"));
        let mut wrong = asked.clone();
        wrong.pgsql.sslmode = Some("often".to_owned());
        let text = super::target(&wrong, 30).expect_err("no mode");
        assert!(
            text.contains("often") && !text.contains("command line"),
            "{text}"
        );
    }

    #[test]
    fn what_is_wrong_with_an_option_is_not_said_of_a_url() {
        let mut asked = database("--mysql-host=127.0.0.1 --mysql-port=0");
        let (_, usual) = target(&asked, 30).expect("can be read");
        assert_eq!(usual.describe(), "tcp:127.0.0.1:3306");
        asked.mysql.ssl = "often".to_owned();
        let text = target(&asked, 30).expect_err("no mode");
        let said = "invalid ssl-mode value: \"often\" (from the options)";
        assert!(text.contains(said) && !text.contains("URL"), "{text}");
    }

    #[test]
    fn sockets_go_before_hosts_and_a_driver_must_be_known() {
        let asked = database("--mysql-socket=/x/s,/y/s --mysql-host=h.invalid");
        let (_, target) = target(&asked, 30).expect("can be read");
        assert_eq!(target.describe(), "unix:/x/s");
        assert_eq!(target.others[0].describe(), "unix:/y/s");
        let unknown = super::target(&database("--db-driver=foo"), 30).expect_err("no such");
        assert_eq!(unknown, "FATAL: invalid database driver name: 'foo'\n");
        let nowhere = super::target(&database("--mysql-host=h.invalid"), 30).expect_err("no such");
        assert_eq!(
            nowhere,
            "FATAL: unable to connect to MySQL server on host 'h.invalid', port 3306, aborting...\n\
             FATAL: error 2005: Unknown server host 'h.invalid' (-2)\n"
        );
    }
}
