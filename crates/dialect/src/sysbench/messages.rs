//! Messages of commands and errors.
//!
//! In: names and numbers. Out: text; without a prefix where a level is put before it. Must never: hold
//! a password.

use super::bundled::{Bundled, Command};
use super::compat::Compat;
use super::printed::fatal;

/// `--test` was used.
pub const TEST_DEPRECATED: &str = "the --test option is deprecated. You can pass a script name or path on the command line without any options.";
/// At a rate, more events wait than the queue holds; sysbench then ends with 1.
pub const QUEUE_FULL: &str = "The event queue is full. This means the worker threads are unable to keep up with the specified event generation rate";
/// Events that the queue holds.
pub const QUEUE_EVENTS: u64 = 131_072;
/// With `--verbosity=4`, when `--events` are done.
pub const EVENTS_DONE: &str = "Event limit exceeded, exiting...\n";
/// With `--verbosity=4`, when `--time` is over.
pub const TIME_DONE: &str = "Time limit exceeded, exiting...\n";
/// With `--verbosity=4`, when all threads have ended.
pub const DONE: &str = "Done.\n\n";
/// `prewarm` on PostgreSQL.
pub const PREWARM_MYSQL_ONLY: &str = "prewarm is currently MySQL only";
/// Some thread could not begin.
pub const THREADS_FAILED: &str = "Thread initialization failed!";
/// The exit status when threads did not begin in time.
pub const EXIT_LATE: u8 = 2;
/// The exit status when the run was cut short by `--forced-shutdown`.
pub const EXIT_FORCED: u8 = 2;

/// The answer to tests that measure no database.
pub fn not_a_database(test: &str) -> String {
    format!("'{test}' does not measure a database, and Prony measures databases only.")
}

/// The command is none of the test's.
pub fn unknown_command(word: &str) -> String {
    format!("Unknown command: {word}")
}

/// An option is none that the test knows; `shown` is [`super::Given::shown`].
pub fn invalid_option(shown: &str) -> String {
    format!("invalid option: {shown}")
}

/// A name of the configuration file is none that is known.
pub fn not_exported(name: &str) -> String {
    format!("Global option '{name}' will not be exported, because the type is unknown")
}

/// A test without a command.
pub fn command_required(test: &Bundled, compat: Compat) -> String {
    let commands = match (test.declares_options, compat) {
        (true, Compat::V1_0) => "prepare, prewarm, run, cleanup, help",
        (true, Compat::V1_1) => "prepare, warmup, prewarm, run, cleanup, help",
        (false, _) => "prepare, run, cleanup",
    };
    format!("Command is required. Supported commands: {commands}")
}

/// `prepare`: a table is made.
pub fn creating_table(table: &str) -> String {
    format!("Creating table '{table}'...\n")
}

/// `prepare`: rows are loaded. sysbench says so where there are any.
pub fn inserting(rows: u64, table: &str) -> String {
    format!("Inserting {rows} records into '{table}'\n")
}

/// `prepare`: the index on `k`.
pub fn creating_index(table: &str) -> String {
    format!("Creating a secondary index on '{table}'...\n")
}

/// `cleanup`.
pub fn dropping_table(table: &str) -> String {
    format!("Dropping table '{table}'...\n")
}

/// `prewarm`.
pub fn prewarming(table: &str) -> String {
    format!("Prewarming table {table}\n")
}

/// A connection to MySQL could not be opened; `place` is as [`super::Endpoint`] is shown.
pub fn mysql_unreachable(place: &str, code: u32, message: &str) -> String {
    let first = fatal(&format!(
        "unable to connect to MySQL server on {place}, aborting..."
    ));
    first + &fatal(&format!("error {code}: {message}"))
}

/// A connection to PostgreSQL could not be opened.
pub fn pgsql_unreachable(message: &str) -> String {
    fatal(&format!(
        "Connection to database failed: {}\n",
        message.trim_end()
    ))
}

/// A statement failed on MySQL and the error is not one to ignore.
pub fn mysql_failed(prepared: bool, code: u32, message: &str, query: &str) -> String {
    let function = if prepared {
        "mysql_stmt_execute"
    } else {
        "mysql_drv_query"
    };
    fatal(&format!(
        "{function}() returned error {code} ({message}) for query '{query}'"
    ))
}

/// A further result on MySQL is an error that is not one to ignore. Of a text none is named.
pub fn mysql_next_failed(prepared: bool, code: u32, message: &str, query: &str) -> String {
    let (function, of) = match prepared {
        true => (
            "mysql_drv_stmt_next_result",
            format!(" for query '{query}'"),
        ),
        false => ("mysql_drv_next_result", String::new()),
    };
    fatal(&format!(
        "{function}() returned error {code} ({message}){of}"
    ))
}

/// A statement could not be prepared on MySQL.
pub fn mysql_not_prepared(code: u32, message: &str) -> String {
    let first = fatal("mysql_stmt_prepare() failed");
    first + &fatal(&format!("MySQL error: {code} \"{message}\""))
}

/// A statement failed on PostgreSQL; `status` is libpq's number of the result, 7 for an error. Of a
/// prepared one the text is not named.
pub fn pgsql_failed(prepared: bool, status: u32, message: &str, query: &str) -> String {
    if prepared {
        return fatal(&format!("PQexecPrepared() failed: {status} {message}"));
    }
    let first = fatal(&format!("PQexec() failed: {status} {message}"));
    first + &fatal(&format!("failed query was: {query}"))
}

/// A statement could not be prepared on PostgreSQL; `message` is as psql shows it, with its severity
/// and all its lines.
pub fn pgsql_not_prepared(message: &str) -> String {
    fatal(&format!("PQprepare() failed: {}\n", message.trim_end()))
}

/// What [`function_failed`] calls the part of a bundled test that did not get on. `begun`: threads had
/// begun with events.
pub fn failing_function(command: Command, begun: bool) -> &'static str {
    match command {
        Command::Run if begun => "thread_run",
        Command::Run => "thread_init",
        Command::Cleanup => "cleanup",
        Command::Prepare | Command::Prewarm | Command::Help => "sysbench.cmdline.call_command",
    }
}

/// Why a thread did not begin: it could not connect.
pub const NOT_CONNECTED: &str = "connection creation failed";
/// Why a thread did not begin: a statement could not be prepared.
pub const NOT_PREPARED: &str = "SQL API error";
/// Why a thread did not begin: there is no such driver, or one of its options is wrong.
pub const NO_DRIVER: &str = "failed to initialize the DB driver";

/// A function of the test gave up; `place` is its file and line, where there is one.
pub fn function_failed(function: &str, place: Option<&str>, reason: &str) -> String {
    let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
    fatal(&format!("`{function}' function failed: {place}{reason}"))
}

/// Why a statement made it give up. PostgreSQL has no numbers: `code` is 0 there.
pub fn sql_error(code: u32, state: &str, message: &str) -> String {
    format!("SQL error, errno = {code}, state = '{state}': {message}")
}

/// `--forced-shutdown`: the report follows, with [`super::Report::unfinished`].
pub const FORCED_SHUTDOWN: &str = "The --max-time limit has expired, forcing shutdown...";

/// In place of a line that came several times more.
pub fn repeated(times: u64) -> String {
    format!("(last message repeated {times} times)\n")
}

/// Threads did not begin within `--thread-init-timeout`, 30 s up to 1.0. Without a prefix.
pub fn threads_late(seconds: u32) -> String {
    format!("Worker threads failed to initialize within {seconds} seconds!")
}
