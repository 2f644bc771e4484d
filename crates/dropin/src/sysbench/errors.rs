//! Handles and reports errors of statements as sysbench does.
//!
//! In: errors of the workload's users. Out: the decision to restart an event or to end the run; lines of the
//! log. Must never: print a password, or continue a run after a FATAL line.

use super::call::{SysbenchCall, set_advice};
use prony_dialect::sysbench::{
    Command, Driver, IgnoredErrors, LogLevel, advice, failing_function, function_failed,
    mysql_failed, pgsql_failed, sql_error,
};
use prony_server::control::Error;
use prony_workload::oltp::policy::{ErrorAction, ErrorPolicy, StatementFailure};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// libpq's PGRES_FATAL_ERROR.
const FATAL_ERROR: u32 = 7;

/// Handles errors of all users of a run.
pub struct SysbenchErrorPolicy {
    call: Arc<SysbenchCall>,
    driver: Driver,
    ignored: IgnoredErrors,
    /// The flag that ends the run; the first fatal error sets it.
    end: Arc<AtomicBool>,
    /// Whether an error ended the run.
    fatal: AtomicBool,
}

impl SysbenchErrorPolicy {
    /// `end`: the flag that ends the run.
    pub fn new(
        call: Arc<SysbenchCall>,
        driver: Driver,
        ignored: IgnoredErrors,
        end: Arc<AtomicBool>,
    ) -> Self {
        SysbenchErrorPolicy {
            call,
            driver,
            ignored,
            end,
            fatal: AtomicBool::new(false),
        }
    }

    /// Whether an error has ended the run and is printed.
    pub fn is_fatal(&self) -> bool {
        self.fatal.load(Ordering::Relaxed)
    }
}

impl ErrorPolicy for SysbenchErrorPolicy {
    fn action(&self, failure: &StatementFailure<'_>) -> ErrorAction {
        let error = failure.error;
        if self.ignored.restarts_event(self.driver, error) {
            return ErrorAction::Retry;
        }
        let reported = self.driver.report(error);
        let (number, message) = (reported.number, reported.message);
        let (prepared, query) = (failure.prepared, failure.statement);
        let lines = match self.driver {
            Driver::Mysql => mysql_failed(prepared, number, &message, query),
            Driver::Pgsql => pgsql_failed(prepared, FATAL_ERROR, &message, query),
        };
        set_advice(advice(
            self.driver,
            number,
            &String::from_utf8_lossy(&error.code),
        ));
        let reason = sql_error(number, &reported.state, &message);
        let function = failing_function(Command::Run, true);
        let lines = lines + &function_failed(function, None, &reason);
        self.call.log(LogLevel::Fatal, &lines);
        self.fatal.store(true, Ordering::Relaxed);
        self.end.store(true, Ordering::Relaxed);
        ErrorAction::EndUser(reason)
    }
}

/// The log lines for a statement that failed on a control connection, and for the function that failed
/// because of it.
pub fn statement_failure(driver: Driver, command: Command, error: &Error, query: &str) -> String {
    let function = failing_function(command, false);
    let Some(server_error) = error.server() else {
        let text = error.to_string();
        return function_failed(function, None, &text);
    };
    let number = server_error.number;
    let lines = match driver {
        Driver::Mysql => mysql_failed(false, number, &server_error.message, query),
        Driver::Pgsql => pgsql_failed(false, FATAL_ERROR, &server_error.message, query),
    };
    set_advice(advice(driver, number, server_error.code()));
    let reason = sql_error(number, server_error.code(), &server_error.message);
    lines + &function_failed(function, None, &reason)
}
