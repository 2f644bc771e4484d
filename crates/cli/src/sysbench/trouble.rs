//! What an error of a statement means to sysbench, and what it says of it.
//!
//! In: errors of the workload's users. Out: whether an event begins again; lines of the log, the end of
//! the run. Must never: show a password, or let a run go on after a FATAL line.

use super::call::Call;
use prony_dialect::sysbench::{
    Command, Driver, Ignored, Level, PGSQL_IGNORED, failing_function, function_failed,
    mysql_failed, pgsql_failed, sql_error,
};
use prony_server::control::Error;
use prony_session::{DbError, ErrorClass};
use prony_workload::oltp::manner::{Judge, Trouble, Verdict};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// MySQL's number for a connection that is lost under a statement.
const LOST: u32 = 2013;
/// And its words, as MariaDB's client library has them.
const LOST_WORDS: &str = "Lost connection to server during query";
/// For answers that break the protocol.
const MALFORMED: u32 = 2027;
/// libpq's number of a result that is an error.
const FATAL_ERROR: u32 = 7;

/// Judges for all users of a run.
pub struct Errors {
    call: Arc<Call>,
    driver: Driver,
    ignored: Ignored,
    /// Set by the first error that ends the run.
    end: Arc<AtomicBool>,
    /// Whether one did.
    fatal: AtomicBool,
}

impl Errors {
    /// `end` ends the run.
    pub fn new(call: Arc<Call>, driver: Driver, ignored: Ignored, end: Arc<AtomicBool>) -> Self {
        Errors {
            call,
            driver,
            ignored,
            end,
            fatal: AtomicBool::new(false),
        }
    }

    /// Whether an error has ended the run, and been told.
    pub fn is_fatal(&self) -> bool {
        self.fatal.load(Ordering::Relaxed)
    }

    fn is_ignored(&self, error: &DbError) -> bool {
        match self.driver {
            Driver::Pgsql => PGSQL_IGNORED
                .iter()
                .any(|code| code.as_bytes() == error.code),
            // Whatever number the loss has: who names one of them wants to go on.
            Driver::Mysql if is_lost(error) => self.ignored.reconnects(),
            Driver::Mysql => self.ignored.has(number(error)),
        }
    }
}

impl Judge for Errors {
    fn verdict(&self, trouble: &Trouble<'_>) -> Verdict {
        let error = trouble.error;
        if self.is_ignored(error) {
            return Verdict::Again;
        }
        let (number, said) = (number(error), message(error, self.driver));
        let (prepared, query) = (trouble.prepared, trouble.statement);
        let lines = match self.driver {
            Driver::Mysql => mysql_failed(prepared, number, &said, query),
            Driver::Pgsql => pgsql_failed(prepared, FATAL_ERROR, &said, query),
        };
        let state = match (self.driver, error.number) {
            // Found by the client itself.
            (Driver::Mysql, 0) => "HY000",
            _ => std::str::from_utf8(&error.code).unwrap_or_default(),
        };
        let reason = sql_error(number, state, &said);
        let function = failing_function(Command::Run, true);
        let lines = lines + &function_failed(function, None, &reason);
        self.call.log(Level::Fatal, &lines);
        self.fatal.store(true, Ordering::Relaxed);
        self.end.store(true, Ordering::Relaxed);
        Verdict::Ends(reason)
    }
}

fn is_lost(error: &DbError) -> bool {
    matches!(
        error.class,
        ErrorClass::LostConnection | ErrorClass::AmbiguousCommit
    )
}

/// MySQL's number of an error; 0 for those of PostgreSQL.
fn number(error: &DbError) -> u32 {
    match (error.number, error.class) {
        (0, ErrorClass::Protocol) => MALFORMED,
        (0, _) if is_lost(error) => LOST,
        (number, _) => u32::from(number),
    }
}

fn message(error: &DbError, driver: Driver) -> String {
    if driver == Driver::Mysql && error.number == 0 && is_lost(error) {
        return LOST_WORDS.to_owned();
    }
    error.message.clone()
}

/// What is said of a statement that the server refused on a control connection, and of the function
/// that gave up because of it.
pub fn statement(driver: Driver, command: Command, error: &Error, query: &str) -> String {
    let function = failing_function(command, false);
    let Some(said) = error.server() else {
        let text = error.to_string();
        return function_failed(function, None, &text);
    };
    let number = u32::from(said.number);
    let lines = match driver {
        Driver::Mysql => mysql_failed(false, number, &said.message, query),
        Driver::Pgsql => pgsql_failed(false, FATAL_ERROR, &said.message, query),
    };
    let reason = sql_error(number, said.code(), &said.message);
    lines + &function_failed(function, None, &reason)
}
