//! Connects as libpq does with pgbench's connection options.
//!
//! In: `-h`, `-p`, `-U`, a database name that may be a connection string, the environment. Out: a target; a
//! control connection; libpq's error messages. Must never: print a password.

use super::call::PgbenchCall;
use super::password;
use crate::output::eprint;
use prony_dialect::libpq;
use prony_dialect::pgbench::{ConnectionOptions, Messages};
use prony_runner::signals;
use prony_server::control::FailureCause;
use prony_server::secrets;
use prony_server::{Control, Environment, ProtocolOptions, Target, control};
use prony_wire::Secret;
use prony_wire::postgres::ConnectError;
use std::time::Duration;

/// The SQLSTATE of a refused password.
const INVALID_PASSWORD: &str = "28P01";

/// Returns the target of the options. `purpose`: of the connection, such as `initialization`.
///
/// # Errors
/// The text for standard error.
pub fn target(
    call: &PgbenchCall,
    connection: &ConnectionOptions,
    purpose: &str,
) -> Result<Target, String> {
    resolve(connection, &call.messages, &Environment::from_process())
        .map_err(|problem| connect_error(call, connection, &problem, purpose))
}

/// pgbench's options as libpq keywords, besides the name of the database.
pub fn libpq_options<'a>(
    connection: &'a ConnectionOptions,
    messages: &'a Messages,
) -> [(&'static str, &'a str); 4] {
    let or_empty = |value: &'a Option<String>| value.as_deref().unwrap_or_default();
    [
        ("host", or_empty(&connection.host)),
        ("port", or_empty(&connection.port)),
        ("user", or_empty(&connection.user)),
        ("fallback_application_name", messages.progname()),
    ]
}

/// A database name that is a connection string overrides the options, as in `PQconnectdbParams`. The error is libpq's
/// message.
fn resolve(
    connection: &ConnectionOptions,
    messages: &Messages,
    environment: &Environment,
) -> Result<Target, String> {
    let options = libpq_options(connection, messages);
    // The database's name, or a connection string that contains it.
    let dbname = &connection.dbname;
    let mut target =
        prony_server::resolve_postgres_options(&options, "the command line", dbname, environment)
            .map_err(|error| libpq::target_error(&error, dbname))?;
    // libpq waits without a time limit by default.
    target.connect_timeout.get_or_insert(Duration::MAX);
    signals::interrupt_waits_of(&mut target);
    Ok(target)
}

/// Connects, and prints what libpq prints about the connection options. If the server requires a password and there is
/// none, prompts for it and stores it in the target for further connections.
///
/// # Errors
/// The text for standard error.
pub fn open(
    call: &PgbenchCall,
    connection: &ConnectionOptions,
    target: &mut Target,
    purpose: &str,
) -> Result<Control, String> {
    for warning in &target.warnings {
        eprint(&format!("WARNING: {warning}\n"));
    }
    let control =
        connect(target).map_err(|problem| connect_error(call, connection, &problem, purpose))?;
    // The server's own pgbench reads -d differently.
    if control.server_version() < 170_000 {
        eprint(&level_hint(call, connection));
    }
    Ok(control)
}

/// The error is libpq's message.
fn connect(target: &mut Target) -> Result<Control, String> {
    let error = match Control::connect(target) {
        Ok(control) => return Ok(control),
        Err(error) => error,
    };
    if !needs_password(&error) {
        return Err(libpq::error_message(&error) + &password_origin(target, &error));
    }
    let password = password::prompt();
    if !password.is_empty() {
        let password = Secret::new(password);
        for endpoint in &mut target.endpoints {
            endpoint.password = Some(password.clone());
        }
    }
    Control::connect(target).map_err(|error| libpq::error_message(&error))
}

/// The line about the password file, if the server refused a password from it.
fn password_origin(target: &Target, error: &control::Error) -> String {
    let ProtocolOptions::PostgreSql(options) = &target.protocol else {
        return String::new();
    };
    match &options.password_file {
        Some(path) if error.sqlstate() == Some(INVALID_PASSWORD) => {
            format!("\npassword retrieved from file \"{}\"", path.display())
        }
        _ => String::new(),
    }
}

fn needs_password(error: &control::Error) -> bool {
    let last_failure = match error {
        control::Error::Connect(failures) => failures.last(),
        _ => None,
    };
    let cause = last_failure.map(|failure| &failure.cause);
    matches!(
        cause,
        Some(FailureCause::Login(ConnectError::PasswordNeeded))
    )
}

/// Prints the server's notices, as libpq does.
pub fn print_notices(control: &mut Control) {
    for notice in control.take_notices() {
        eprint(&format!("{notice}\n"));
    }
}

/// What `-d` means at the default level.
pub const MEANING_OF_D: &str = "-d names the database, as since pgbench 17; for debugging output, as up to pgbench 16, use --debug or set \
     PRONY_PGBENCH_COMPAT=16";

/// What `-d` means at the default level; empty if the user named a level or did not use the option.
fn level_hint(call: &PgbenchCall, connection: &ConnectionOptions) -> String {
    if call.names_level || !connection.named_by_short_d {
        return String::new();
    }
    call.messages.hint(MEANING_OF_D)
}

/// pgbench's message about a failed connection.
fn connect_error(
    call: &PgbenchCall,
    connection: &ConnectionOptions,
    problem: &str,
    purpose: &str,
) -> String {
    let messages = &call.messages;
    if !call.level.at_least(14) {
        // The name may be a connection string from the environment.
        let database = secrets::redact_argument(&connection.dbname);
        let text = format!("connection to database \"{database}\" failed: {problem}");
        return messages.error(&text);
    }
    let text = format!("could not create connection for {purpose}");
    messages.error(problem) + &messages.fatal(&text) + &level_hint(call, connection)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_dialect::pgbench::Level;

    fn options(host: &str, port: &str, user: &str, dbname: &str) -> ConnectionOptions {
        let non_empty = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        ConnectionOptions {
            host: non_empty(host),
            port: non_empty(port),
            user: non_empty(user),
            dbname: dbname.to_owned(),
            named_by_short_d: false,
        }
    }

    fn resolve_options(
        connection: &ConnectionOptions,
        environment: &Environment,
    ) -> Result<Target, String> {
        let messages = Messages::new("/usr/bin/pgbench-15", &Level::default());
        resolve(connection, &messages, environment)
    }

    fn environment() -> Environment {
        Environment::without_home("me")
            .with("PGHOST", "/env")
            .with("PGPORT", "1")
            .with("PGUSER", "env")
            .with("PGDATABASE", "env")
    }

    fn describe(connection: &ConnectionOptions, environment: &Environment) -> String {
        let target = resolve_options(connection, environment).expect("valid options");
        let ProtocolOptions::PostgreSql(options) = &target.protocol else {
            panic!("pgbench connects to PostgreSQL");
        };
        let mut parameters = options.parameters.iter();
        let name = parameters.find(|(name, _)| name == "application_name");
        let name = name.map_or("", |(_, value)| value);
        let (user, database) = (&target.user, &target.database);
        format!("{} {user} {database} {name}", target.describe())
    }

    #[test]
    fn connection_string_overrides_options_which_override_environment() {
        let env = environment();
        let url = "postgres://v@127.0.0.1:3/e?application_name=n";
        for (host, port, user, dbname, expected) in [
            ("", "", "", "d", "unix:/env/.s.PGSQL.1 env d pgbench-15"),
            ("/h", "2", "u", "d", "unix:/h/.s.PGSQL.2 u d pgbench-15"),
            (
                "/h",
                "2",
                "u",
                "host=/s dbname=e",
                "unix:/s/.s.PGSQL.2 u e pgbench-15",
            ),
            ("/h", "2", "u", url, "tcp:127.0.0.1:3 v e n"),
            (
                "",
                "",
                "u",
                "port=4",
                "unix:/env/.s.PGSQL.4 u env pgbench-15",
            ),
        ] {
            let connection = options(host, port, user, dbname);
            assert_eq!(describe(&connection, &env), expected, "{connection:?}");
        }
        let env_with_appname = env.with("PGAPPNAME", "n");
        describe(&options("", "", "", "d"), &env_with_appname).assert_ends_with(" n");
    }

    #[test]
    fn connect_timeout_is_unlimited_by_default() {
        let connect_timeout = |dbname: &str| {
            let target = resolve_options(&options("/h", "", "", dbname), &environment());
            target.expect("valid options").connect_timeout
        };
        assert_eq!(connect_timeout("d"), Some(Duration::MAX));
        assert_eq!(
            connect_timeout("connect_timeout=3"),
            Some(Duration::from_secs(3))
        );
    }

    #[test]
    fn errors_have_libpqs_wording() {
        let not_an_integer = |option: &str| {
            format!("invalid integer value \"x\" for connection option \"{option}\"")
        };
        for (port, dbname, expected) in [
            ("x", "d", &*not_an_integer("port")),
            ("0", "d", "invalid port number: \"0\""),
            ("", "connect_timeout=x", &not_an_integer("connect_timeout")),
            (
                "",
                "host=/x,/y port=1,2,3",
                "could not match 3 port numbers to 2 hosts",
            ),
            ("", "foo=bar", "invalid connection option \"foo\""),
            ("", "sslmode=bar", "invalid sslmode value: \"bar\""),
            ("", "service=d", "definition of service \"d\" not found"),
        ] {
            let connection = options("", port, "", dbname);
            let problem = resolve_options(&connection, &environment());
            assert_eq!(problem.expect_err("invalid options"), expected);
        }
    }

    #[test]
    fn an_unreachable_server_gives_libpqs_message() {
        let connection = options("/x,/y", "", "", "d");
        let mut target = resolve_options(&connection, &environment()).expect("valid options");
        let problem = connect(&mut target).err().expect("no server listens");
        let message = |host: &str| {
            format!(
                "connection to server on socket \"{host}/.s.PGSQL.1\" failed: No such file or \
                 directory\n\tIs the server running locally and accepting connections on that \
                 socket?"
            )
        };
        assert_eq!(problem, format!("{}\n{}", message("/x"), message("/y")));
    }
}
