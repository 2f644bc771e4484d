//! Handles and reports errors of statements as sysbench does.
//!
//! In: errors of the workload's users. Out: the decision to restart an event or to end the run; lines of the
//! log. Must never: print a password, or continue a run after a FATAL line.

use super::call::{SysbenchCall, set_advice};
use prony_dialect::sysbench::{
    BULK_INSERT_FAILED, Command, Driver, IgnoredErrors, LogLevel, advice_of_test, failing_function,
    function_failed, sql_error, statement_failed,
};
use prony_server::control::Error;
use prony_workload::oltp::policy::{ErrorAction, ErrorPolicy, StatementFailure};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Handles errors of all users of a run.
pub struct SysbenchErrorPolicy {
    call: SysbenchCall,
    driver: Driver,
    ignored: IgnoredErrors,
    /// Whether all statements are those of `bulk_insert`.
    is_bulk: bool,
    /// The flag that ends the run; the first fatal error sets it.
    stop_flag: Arc<AtomicBool>,
    has_ended_run: AtomicBool,
}

impl SysbenchErrorPolicy {
    /// `stop_flag`: ends the run when it is set.
    pub fn new(
        call: SysbenchCall,
        driver: Driver,
        ignored: IgnoredErrors,
        is_bulk: bool,
        stop_flag: Arc<AtomicBool>,
    ) -> Self {
        SysbenchErrorPolicy {
            call,
            driver,
            ignored,
            is_bulk,
            stop_flag,
            has_ended_run: AtomicBool::new(false),
        }
    }

    /// Prints the lines about an error, and ends the run.
    pub fn end_run(&self, error: &FatalError) {
        let (number, code) = (error.number, &error.code);
        set_advice(advice_of_test(self.driver, Command::Run, number, code));
        self.call.log(LogLevel::Fatal, &error.lines);
        self.has_ended_run.store(true, Ordering::Relaxed);
        self.stop_flag.store(true, Ordering::Relaxed);
    }

    /// Whether an error has ended the run and is printed.
    pub fn has_ended_run(&self) -> bool {
        self.has_ended_run.load(Ordering::Relaxed)
    }
}

/// An error that ends a run.
#[derive(Serialize, Deserialize)]
pub struct FatalError {
    /// Lines of the log.
    pub lines: String,
    /// The server's number and code of it.
    pub number: u32,
    pub code: String,
    /// Why its user ends.
    pub reason: String,
}

/// The error of a statement that is not ignored. `is_bulk`: all statements are those of `bulk_insert`.
pub fn fatal_error(driver: Driver, is_bulk: bool, failure: &StatementFailure<'_>) -> FatalError {
    let error = failure.error;
    let reported = driver.describe_error(error);
    let (number, message) = (reported.number, reported.message);
    let lines = statement_failed(
        driver,
        failure.is_prepared,
        number,
        &message,
        failure.statement,
    );
    let reason = if is_bulk {
        BULK_INSERT_FAILED.to_owned()
    } else {
        sql_error(number, &reported.sqlstate, &message)
    };
    let function = failing_function(Command::Run, true);
    FatalError {
        lines: lines + &function_failed(function, &reason),
        number,
        code: String::from_utf8_lossy(&error.code).into_owned(),
        reason,
    }
}

impl ErrorPolicy for SysbenchErrorPolicy {
    fn action(&self, failure: &StatementFailure<'_>) -> ErrorAction {
        if self.ignored.restarts_event(self.driver, failure.error) {
            return ErrorAction::Retry;
        }
        let error = fatal_error(self.driver, self.is_bulk, failure);
        self.end_run(&error);
        ErrorAction::EndUser(error.reason)
    }
}

/// The log lines about a statement that failed on a control connection, with the name of the function of
/// sysbench that executes the statement.
pub fn statement_failure_lines(
    driver: Driver,
    command: Command,
    error: &Error,
    query: &str,
) -> String {
    let function = failing_function(command, false);
    let Some(server_error) = error.server_error() else {
        let text = error.to_string();
        return function_failed(function, &text);
    };
    let number = server_error.number;
    let lines = statement_failed(driver, false, number, &server_error.message, query);
    set_advice(advice_of_test(driver, command, number, server_error.code()));
    let reason = sql_error(number, server_error.code(), &server_error.message);
    lines + &function_failed(function, &reason)
}
