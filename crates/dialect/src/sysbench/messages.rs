//! Messages of commands and errors.
//!
//! In: names and numbers. Out: text, without the prefix of the log level. Must never: contain a password.

use super::bundled::{BundledTest, Command};
use super::compat::Compat;
use super::output::fatal_line;
use prony_workload::sysbench::Driver;

/// The warning about `--test`.
pub const TEST_DEPRECATED: &str = "the --test option is deprecated. You can pass a script name or path on the command line without any options.";
/// The error if more events of `--rate` wait than the queue holds; sysbench then exits with 1.
pub const QUEUE_FULL: &str = "The event queue is full. This means the worker threads are unable to keep up with the specified event generation rate";
/// The number of events of `--rate` that may wait.
pub const QUEUE_CAPACITY_EVENTS: u64 = 131_072;
/// Printed at `--verbosity=4` when all events of `--events` have ended.
pub const EVENT_LIMIT_REACHED: &str = "Event limit exceeded, exiting...\n";
/// Printed at `--verbosity=4` when `--time` is over.
pub const TIME_LIMIT_REACHED: &str = "Time limit exceeded, exiting...\n";
/// Printed at `--verbosity=4` when all threads have ended.
pub const ALL_THREADS_ENDED: &str = "Done.\n\n";
/// The exit status if threads did not start within `--thread-init-timeout`.
pub const EXIT_STATUS_LATE_START: u8 = 2;
/// The exit status after `--forced-shutdown`.
pub const EXIT_STATUS_FORCED_SHUTDOWN: u8 = 2;

/// The error of `prewarm` on PostgreSQL.
pub fn prewarm_mysql_only(compat: Compat) -> &'static str {
    match compat {
        Compat::V1_0 => "prewarm is currently MySQL only",
        Compat::V1_1 => "warmup is currently MySQL only",
    }
}

/// The line of the log if a thread could not start.
pub fn threads_failed(compat: Compat) -> String {
    fatal_line(match compat {
        Compat::V1_0 => "Thread initialization failed!",
        Compat::V1_1 => "Threads initialization failed!",
    })
}

/// The error if the system cannot create the thread of worker `number`, counted from 0.
pub fn thread_not_created(number: u32, error: &std::io::Error) -> String {
    let text = prony_plan::system_error(error);
    let errno = error.raw_os_error().unwrap_or(0);
    format!("sb_thread_create() for thread #{number} failed. errno = {errno} ({text})")
}

/// The error for tests that do not measure a database.
pub fn not_a_database_test(test: &str) -> String {
    format!("'{test}' does not measure a database, and Prony measures databases only.")
}

pub fn unknown_command(name: &str) -> String {
    format!("Unknown command: {name}")
}

/// The warning about an unknown name in the configuration file.
pub fn unknown_option_in_file(name: &str) -> String {
    format!("Global option '{name}' will not be exported, because the type is unknown")
}

/// The error of a command line without a command.
pub fn command_required(test: &BundledTest, compat: Compat) -> String {
    let commands = match compat {
        _ if !test.declares_options => "prepare, run, cleanup",
        Compat::V1_0 => "prepare, prewarm, run, cleanup, help",
        Compat::V1_1 => "prepare, warmup, prewarm, run, cleanup, help",
    };
    format!("Command is required. Supported commands: {commands}")
}

/// `prepare`: creates a table.
pub fn creating_table(table: &str) -> String {
    format!("Creating table '{table}'...\n")
}

/// `prepare`: loads rows. sysbench prints it only if there are rows.
pub fn inserting_rows(rows: u64, table: &str) -> String {
    format!("Inserting {rows} records into '{table}'\n")
}

/// `prepare`: creates the index on `k`.
pub fn creating_index(table: &str) -> String {
    format!("Creating a secondary index on '{table}'...\n")
}

/// `cleanup`: drops a table.
pub fn dropping_table(table: &str) -> String {
    format!("Dropping table '{table}'...\n")
}

/// `prewarm`: reads a table.
pub fn prewarming_table(table: &str, compat: Compat) -> String {
    let verb = match compat {
        Compat::V1_0 => "Prewarming",
        Compat::V1_1 => "Preloading",
    };
    format!("{verb} table {table}\n")
}

/// The error if a connection to MySQL cannot be opened; `endpoint` is an [`super::Endpoint`] as text.
pub fn mysql_unreachable(endpoint: &str, code: u32, message: &str) -> String {
    let first = fatal_line(&format!(
        "unable to connect to MySQL server on {endpoint}, aborting..."
    ));
    first + &fatal_line(&format!("error {code}: {message}"))
}

/// The error if a connection to PostgreSQL cannot be opened.
pub fn pgsql_unreachable(message: &str) -> String {
    fatal_line(&format!(
        "Connection to database failed: {}\n",
        message.trim_end()
    ))
}

/// The error of a statement, if the error is not ignored. `prepared`: whether it was a prepared statement, whose query
/// PostgreSQL's driver does not print.
pub fn statement_failed(
    driver: Driver,
    prepared: bool,
    code: u32,
    message: &str,
    query: &str,
) -> String {
    let mysql_error = |function: &str| {
        fatal_line(&format!(
            "{function}() returned error {code} ({message}) for query '{query}'"
        ))
    };
    let pgsql_error = |function: &str| {
        fatal_line(&format!(
            "{function}() failed: {PGRES_FATAL_ERROR} {message}"
        ))
    };
    match (driver, prepared) {
        (Driver::Mysql, false) => mysql_error("mysql_drv_query"),
        (Driver::Mysql, true) => mysql_error("mysql_stmt_execute"),
        (Driver::Pgsql, false) => {
            pgsql_error("PQexec") + &fatal_line(&format!("failed query was: {query}"))
        }
        (Driver::Pgsql, true) => pgsql_error("PQexecPrepared"),
    }
}

/// libpq's result status of a failed statement.
const PGRES_FATAL_ERROR: u32 = 7;

/// The error of a second or later result of a statement on MySQL, if the error is not ignored. The query is
/// printed only for a prepared statement.
pub fn mysql_next_result_failed(prepared: bool, code: u32, message: &str, query: &str) -> String {
    let (function, query_text) = if prepared {
        (
            "mysql_drv_stmt_next_result",
            format!(" for query '{query}'"),
        )
    } else {
        ("mysql_drv_next_result", String::new())
    };
    fatal_line(&format!(
        "{function}() returned error {code} ({message}){query_text}"
    ))
}

/// The error if a statement cannot be prepared. On PostgreSQL, `message` is the message as psql prints it, with severity
/// and all lines.
pub fn prepare_failed(driver: Driver, code: u32, message: &str) -> String {
    match driver {
        Driver::Mysql => {
            let first = fatal_line("mysql_stmt_prepare() failed");
            first + &fatal_line(&format!("MySQL error: {code} \"{message}\""))
        }
        Driver::Pgsql => fatal_line(&format!("PQprepare() failed: {}\n", message.trim_end())),
    }
}

/// The name that [`function_failed`] prints for the failed part of a bundled test. `events_started`: whether
/// threads have started events.
pub fn failing_function(command: Command, events_started: bool) -> &'static str {
    match command {
        Command::Run if events_started => "thread_run",
        Command::Run => "thread_init",
        Command::Cleanup => "cleanup",
        Command::Prepare | Command::Prewarm | Command::Help => "sysbench.cmdline.call_command",
    }
}

/// The reason if a thread did not start because it could not connect.
pub const NOT_CONNECTED: &str = "connection creation failed";
/// The reason if a thread did not start because it could not prepare a statement.
pub const NOT_PREPARED: &str = "SQL API error";
/// The reason if a thread did not start because its driver, or an option of the driver, is invalid.
pub const NO_DRIVER: &str = "failed to initialize the DB driver";

/// The reason if a statement of `bulk_insert` failed.
pub const BULK_INSERT_FAILED: &str = "db_bulk_insert_next() failed";

/// The error of a function, as sysbench names it, for this reason.
pub fn function_failed(function: &str, reason: &str) -> String {
    fatal_line(&format!("`{function}' function failed: {reason}"))
}

/// The error of a statement, as the reason of [`function_failed`]. `code` is 0 on PostgreSQL, which has no
/// error numbers.
pub fn sql_error(code: u32, state: &str, message: &str) -> String {
    format!("SQL error, errno = {code}, state = '{state}': {message}")
}

/// Printed by `--forced-shutdown` before the report, which contains [`super::Report::unfinished`].
pub const FORCED_SHUTDOWN: &str = "The --max-time limit has expired, forcing shutdown...";

/// Printed in place of further repetitions of a line.
pub fn repetitions_line(times: u64) -> String {
    format!("(last message repeated {times} times)\n")
}

/// The error if threads did not start within `--thread-init-timeout`, which is 30 s up to version 1.0. It has
/// no prefix.
pub fn threads_not_ready(seconds: u32) -> String {
    format!("Worker threads failed to initialize within {seconds} seconds!")
}
