//! What an error of a statement means to sysbench, and what it says of it.
//!
//! In: errors of the workload's users. Out: whether an event begins again; lines of the log, the end of
//! the run. Must never: show a password, or let a run go on after a FATAL line.

use super::call::{Call, advise};
use prony_dialect::sysbench::{
    Command, Driver, Ignored, Level, advice, failing_function, function_failed, mysql_failed,
    pgsql_failed, sql_error,
};
use prony_server::control::Error;
use prony_workload::oltp::manner::{Judge, Trouble, Verdict};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
}

impl Judge for Errors {
    fn verdict(&self, trouble: &Trouble<'_>) -> Verdict {
        let error = trouble.error;
        if self.ignored.starts_anew(self.driver, error) {
            return Verdict::Again;
        }
        let told = self.driver.told(error);
        let (number, said) = (told.number, told.message);
        let (prepared, query) = (trouble.prepared, trouble.statement);
        let lines = match self.driver {
            Driver::Mysql => mysql_failed(prepared, number, &said, query),
            Driver::Pgsql => pgsql_failed(prepared, FATAL_ERROR, &said, query),
        };
        advise(advice(
            self.driver,
            number,
            &String::from_utf8_lossy(&error.code),
        ));
        let reason = sql_error(number, &told.state, &said);
        let function = failing_function(Command::Run, true);
        let lines = lines + &function_failed(function, None, &reason);
        self.call.log(Level::Fatal, &lines);
        self.fatal.store(true, Ordering::Relaxed);
        self.end.store(true, Ordering::Relaxed);
        Verdict::Ends(reason)
    }
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
    advise(advice(driver, number, said.code()));
    let reason = sql_error(number, said.code(), &said.message);
    lines + &function_failed(function, None, &reason)
}
