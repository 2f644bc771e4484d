//! From pgbench's connection options to a server, as libpq goes there.
//!
//! In: `-h`, `-p`, `-U`, a database name that may be a connection string, the environment. Out: a
//! target; a control connection; errors in libpq's words. Must never: show a password.

use super::call::{Call, say};
use super::password;
use crate::secrets;
use prony_dialect::pgbench::{Connection, Voice};
use prony_server::control::{Cause, Failure};
use prony_server::{Address, Control, Environment, Error, Target, control};
use prony_wire::Secret;
use prony_wire::postgres::ConnectError;

/// What libpq says of a connection that ends without a word.
const CLOSED: &str = "server closed the connection unexpectedly\n\
    \tThis probably means the server terminated abnormally\n\
    \tbefore or while processing the request.";

/// Where to connect. What a connection string in place of the database name says goes before the
/// options, as with `PQconnectdbParams`.
///
/// # Errors
/// libpq's words for what is wrong.
pub fn target(connection: &Connection, voice: &Voice) -> Result<Target, String> {
    resolved(connection, voice, &Environment::from_process())
}

fn resolved(
    connection: &Connection,
    voice: &Voice,
    environment: &Environment,
) -> Result<Target, String> {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let (host, port, user) = (
        text(&connection.host),
        text(&connection.port),
        text(&connection.user),
    );
    let before = [
        ("host", &*host),
        ("port", &*port),
        ("user", &*user),
        ("fallback_application_name", voice.progname()),
    ];
    prony_server::resolve_over(&before, &connection.dbname, environment)
        .map_err(|error| unresolved(&error))
}

/// libpq's words, without the hints that Prony gives elsewhere.
fn unresolved(error: &Error) -> String {
    match error {
        Error::Value {
            option: "port",
            value,
            ..
        } => match value.trim().parse::<i32>() {
            Ok(_) => format!("invalid port number: \"{value}\""),
            Err(_) => format!("invalid integer value \"{value}\" for connection option \"port\""),
        },
        Error::Value { option, value, .. } => format!("invalid {option} value: \"{value}\""),
        Error::UnknownOption { name, .. } => format!("invalid connection option \"{name}\""),
        Error::Service { problem, .. } | Error::Host { problem, .. } => problem.clone(),
        Error::NoAddress { problem, .. } => {
            problem.replace("failed to lookup address information: ", "")
        }
        other => other.to_string(),
    }
}

/// Connects. Where the server wants a password and there is none, it is asked for and kept in the
/// target, for further connections.
///
/// # Errors
/// libpq's words.
pub fn connect(target: &mut Target) -> Result<Control, String> {
    let error = match Control::connect(target) {
        Ok(control) => return Ok(control),
        Err(error) => error,
    };
    if !needs_password(&error) {
        return Err(libpq(&error));
    }
    let password = password::prompt();
    if !password.is_empty() {
        let password = Secret::new(password);
        for endpoint in &mut target.endpoints {
            endpoint.password = Some(password.clone());
        }
    }
    Control::connect(target).map_err(|error| libpq(&error))
}

fn needs_password(error: &control::Error) -> bool {
    let last = match error {
        control::Error::Connect(failures) => failures.last(),
        _ => None,
    };
    let cause = last.map(|failure| &failure.cause);
    matches!(cause, Some(Cause::Login(ConnectError::PasswordNeeded)))
}

/// Prints what is dubious about how a server is to be reached, as libpq does.
pub fn warn(target: &Target) {
    for warning in &target.warnings {
        say(&format!("WARNING: {warning}\n"));
    }
}

/// Prints what the server has said by the way, as libpq does.
pub fn notices(control: &mut Control) {
    for notice in control.take_notices() {
        say(&format!("{notice}\n"));
    }
}

/// All that pgbench says where it cannot connect. `database`: the name asked for; `purpose`: what the
/// connection was for, such as `initialization`.
pub fn refusal(call: &Call, database: &str, problem: &str, purpose: &str) -> String {
    let voice = &call.voice;
    if !call.level.at_least(14) {
        // What is printed here may be a connection string, and come from the environment.
        let database = secrets::without(database);
        let text = format!("connection to database \"{database}\" failed: {problem}");
        return voice.error(&text);
    }
    let text = format!("could not create connection for {purpose}");
    voice.error(problem) + &voice.fatal(&text)
}

/// An error of a control connection under a statement as `PQerrorMessage` words it.
pub fn in_statement(error: &control::Error, sql: &str) -> String {
    match error {
        control::Error::Statement(error) if !error.is_fatal() => error.in_statement(sql),
        other => libpq(other),
    }
}

/// An error of a control connection as `PQerrorMessage` words it, without the last line end.
pub fn libpq(error: &control::Error) -> String {
    match error {
        control::Error::Connect(all) => failures(all),
        control::Error::Statement(error) if error.is_fatal() => format!("{error}\n{CLOSED}"),
        control::Error::Closed | control::Error::Dead => CLOSED.to_owned(),
        other => other.to_string(),
    }
}

/// The same for attempts to connect.
pub fn failures(failures: &[Failure]) -> String {
    let texts: Vec<String> = failures.iter().map(attempt).collect();
    texts.join("\n")
}

fn attempt(failure: &Failure) -> String {
    let hint = match (&failure.cause, &failure.endpoint.address) {
        (Cause::Io(_), Address::Unix(_)) => {
            "\n\tIs the server running locally and accepting connections on that socket?"
        }
        (Cause::Io(_), Address::Tcp(_)) => {
            "\n\tIs the server running on that host and accepting TCP/IP connections?"
        }
        (Cause::Closed, _) => {
            CLOSED.trim_start_matches("server closed the connection unexpectedly")
        }
        _ => "",
    };
    format!("{failure}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_dialect::pgbench::Level;
    use std::path::Path;

    fn asked(host: &str, port: &str, user: &str, dbname: &str) -> Connection {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Connection {
            host: some(host),
            port: some(port),
            user: some(user),
            dbname: dbname.to_owned(),
        }
    }

    fn to(connection: &Connection, environment: &Environment) -> Result<Target, String> {
        let voice = Voice::new("/usr/bin/pgbench-15", &Level::default());
        resolved(connection, &voice, environment)
    }

    fn environment() -> Environment {
        Environment::new("me", Path::new("/nonexistent"))
            .with("PGHOST", "/env")
            .with("PGPORT", "1")
            .with("PGUSER", "env")
            .with("PGDATABASE", "env")
    }

    fn shown(connection: &Connection, environment: &Environment) -> String {
        let target = to(connection, environment).expect("it can be read");
        let name = target
            .parameters
            .iter()
            .find(|(name, _)| name == "application_name");
        format!(
            "{} {} {} {}",
            target.describe(),
            target.user,
            target.database,
            name.map_or("", |(_, value)| value)
        )
    }

    #[test]
    fn the_string_goes_before_options_and_those_before_the_environment() {
        let env = environment();
        let cases = [
            (
                asked("", "", "", "d"),
                "unix:/env/.s.PGSQL.1 env d pgbench-15",
            ),
            (
                asked("/h", "2", "u", "d"),
                "unix:/h/.s.PGSQL.2 u d pgbench-15",
            ),
            (
                asked("/h", "2", "u", "host=/s dbname=e"),
                "unix:/s/.s.PGSQL.2 u e pgbench-15",
            ),
            (
                asked(
                    "/h",
                    "2",
                    "u",
                    "postgres://v@127.0.0.1:3/e?application_name=n",
                ),
                "tcp:127.0.0.1:3 v e n",
            ),
            (
                asked("", "", "u", "port=4"),
                "unix:/env/.s.PGSQL.4 u env pgbench-15",
            ),
        ];
        for (connection, expected) in cases {
            assert_eq!(shown(&connection, &env), expected, "{connection:?}");
        }
        let named = env.with("PGAPPNAME", "n");
        assert!(shown(&asked("", "", "", "d"), &named).ends_with(" n"));
    }

    #[test]
    fn mistakes_are_told_in_libpqs_words() {
        let cases = [
            (
                asked("", "x", "", "d"),
                "invalid integer value \"x\" for connection option \"port\"",
            ),
            (asked("", "0", "", "d"), "invalid port number: \"0\""),
            (
                asked("", "", "", "host=/x,/y port=1,2,3"),
                "could not match 3 port numbers to 2 hosts",
            ),
            (
                asked("", "", "", "foo=bar"),
                "invalid connection option \"foo\"",
            ),
            (
                asked("", "", "", "sslmode=bar"),
                "invalid sslmode value: \"bar\"",
            ),
            (
                asked("", "", "", "service=d"),
                "definition of service \"d\" not found",
            ),
        ];
        for (connection, expected) in cases {
            let problem = to(&connection, &environment()).expect_err("a mistake");
            assert_eq!(problem, expected);
        }
    }

    #[test]
    fn a_server_that_is_away_is_told_as_libpq_tells_it() {
        let connection = asked("/x,/y", "", "", "d");
        let mut target = to(&connection, &environment()).expect("it can be read");
        let problem = connect(&mut target).err().expect("nobody is there");
        let one = |host: &str| {
            format!(
                "connection to server on socket \"{host}/.s.PGSQL.1\" failed: No such file or \
                 directory\n\tIs the server running locally and accepting connections on that \
                 socket?"
            )
        };
        assert_eq!(problem, format!("{}\n{}", one("/x"), one("/y")));
    }
}
