//! Messages of commands and errors.
//!
//! In: names and numbers. Out: text, without the prefix of the log level. Must never: contain a password.

use super::bundled::{Bundled, Command};
use super::compat::Compat;
use super::output::fatal;

/// `--test` was used.
pub const TEST_DEPRECATED: &str = "the --test option is deprecated. You can pass a script name or path on the command line without any options.";
/// At a rate, more events wait than the queue holds; sysbench then exits with 1.
pub const QUEUE_FULL: &str = "The event queue is full. This means the worker threads are unable to keep up with the specified event generation rate";
/// The capacity of the queue, in events.
pub const QUEUE_EVENTS: u64 = 131_072;
/// Printed at `--verbosity=4` when `--events` are done.
pub const EVENTS_DONE: &str = "Event limit exceeded, exiting...\n";
/// Printed at `--verbosity=4` when `--time` is over.
pub const TIME_DONE: &str = "Time limit exceeded, exiting...\n";
/// Printed at `--verbosity=4` when all threads have ended.
pub const DONE: &str = "Done.\n\n";
/// `prewarm` on PostgreSQL.
pub const PREWARM_MYSQL_ONLY: &str = "prewarm is currently MySQL only";
/// A thread could not start.
pub const THREADS_FAILED: &str = "Thread initialization failed!";
/// The system could not create the thread of worker `number`, counted from 0.
pub fn thread_failed(number: u32, error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let errno = error.raw_os_error().unwrap_or(0);
    format!("sb_thread_create() for thread #{number} failed. errno = {errno} ({text})")
}
/// The exit status if threads did not start in time.
pub const EXIT_LATE: u8 = 2;
/// The exit status after `--forced-shutdown`.
pub const EXIT_FORCED: u8 = 2;

/// The error for tests that do not measure a database.
pub fn not_a_database_test(test: &str) -> String {
    format!("'{test}' does not measure a database, and Prony measures databases only.")
}

/// The test has no such command.
pub fn unknown_command(word: &str) -> String {
    format!("Unknown command: {word}")
}

/// The test has no such option; `option` is [`super::GivenOption::redacted`].
pub fn invalid_option(option: &str) -> String {
    format!("invalid option: {option}")
}

/// A name in the configuration file is unknown.
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

/// `prepare`: creates a table.
pub fn creating_table(table: &str) -> String {
    format!("Creating table '{table}'...\n")
}

/// `prepare`: loads rows. sysbench prints it only if there are any.
pub fn inserting(rows: u64, table: &str) -> String {
    format!("Inserting {rows} records into '{table}'\n")
}

/// `prepare`: creates the index on `k`.
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

/// A connection to MySQL could not be opened; `endpoint` is an [`super::Endpoint`] as text.
pub fn mysql_unreachable(endpoint: &str, code: u32, message: &str) -> String {
    let first = fatal(&format!(
        "unable to connect to MySQL server on {endpoint}, aborting..."
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

/// A statement failed on MySQL, with an error that is not ignored.
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

/// A further result on MySQL is an error that is not ignored. For an unprepared statement no query is named.
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

/// A statement failed on PostgreSQL; `status` is libpq's number of the result status, 7 for an error. For a
/// prepared statement the query is not named.
pub fn pgsql_failed(prepared: bool, status: u32, message: &str, query: &str) -> String {
    if prepared {
        return fatal(&format!("PQexecPrepared() failed: {status} {message}"));
    }
    let first = fatal(&format!("PQexec() failed: {status} {message}"));
    first + &fatal(&format!("failed query was: {query}"))
}

/// A statement could not be prepared on PostgreSQL; `message` is as psql prints it, with its severity and all
/// its lines.
pub fn pgsql_not_prepared(message: &str) -> String {
    fatal(&format!("PQprepare() failed: {}\n", message.trim_end()))
}

/// The name that [`function_failed`] prints for the failed part of a bundled test. `events_started`: threads had
/// started events.
pub fn failing_function(command: Command, events_started: bool) -> &'static str {
    match command {
        Command::Run if events_started => "thread_run",
        Command::Run => "thread_init",
        Command::Cleanup => "cleanup",
        Command::Prepare | Command::Prewarm | Command::Help => "sysbench.cmdline.call_command",
    }
}

/// Why a thread did not start: it could not connect.
pub const NOT_CONNECTED: &str = "connection creation failed";
/// Why a thread did not start: it could not prepare a statement.
pub const NOT_PREPARED: &str = "SQL API error";
/// Why a thread did not start: the driver does not exist, or one of its options is invalid.
pub const NO_DRIVER: &str = "failed to initialize the DB driver";

/// A function of the test failed; `location` is its file and line, if known.
pub fn function_failed(function: &str, location: Option<&str>, reason: &str) -> String {
    let location = location
        .map(|location| format!("{location}: "))
        .unwrap_or_default();
    fatal(&format!("`{function}' function failed: {location}{reason}"))
}

/// The error of a statement as the reason. PostgreSQL has no error numbers: `code` is 0.
pub fn sql_error(code: u32, state: &str, message: &str) -> String {
    format!("SQL error, errno = {code}, state = '{state}': {message}")
}

/// `--forced-shutdown`; the report follows, with [`super::Report::unfinished`].
pub const FORCED_SHUTDOWN: &str = "The --max-time limit has expired, forcing shutdown...";

/// Printed in place of further repetitions of a line.
pub fn repeated(times: u64) -> String {
    format!("(last message repeated {times} times)\n")
}

/// Threads did not start within `--thread-init-timeout`, which is 30 s up to 1.0. Without a prefix.
pub fn threads_late(seconds: u32) -> String {
    format!("Worker threads failed to initialize within {seconds} seconds!")
}
