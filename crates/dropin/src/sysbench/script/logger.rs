//! Logs the output of scripts and their errors.
//!
//! In: calls from all workers. Out: sysbench's lines on stdout; the end of the run. Must never: print the
//! same error once per thread.

use super::super::call::{SysbenchCall, eprint, print_advice, print_output_bytes, set_advice};
use super::super::connection;
use super::failure_line;
use prony_dialect::sysbench::{
    Command, DatabaseOptions, Driver, LogLevel, ScriptCommand, advice, advice_of_test, fatal_line,
    function_failed, mysql_next_result_failed, parse_driver, prepare_failed, statement_failed,
    threads_failed, threads_not_ready, warning_line,
};
use prony_runner::{Recording, Signals, TerminationSignal};
use prony_server::control::{ConnectFailure, Error};
use prony_workload::lua::{Listener, LuaScriptError, Report, SqlFailure, SqlOperation};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

/// The warning about a script that blocks.
const BLOCKED_WARNING: &str = "prony: the script ran for at least 0.1 s without a database query \
    (io.popen, its own socket, a long computation?): other users of its thread had to wait, \
    and their figures include this wait\n";

/// The logger of all Lua states of a script.
pub struct ScriptLogger {
    call: SysbenchCall,
    driver: Driver,
    database: DatabaseOptions,
    /// Time limit for starting threads, in seconds.
    thread_init_timeout_s: u32,
    /// Whether threads are starting. If a connection times out while they are, the run ends.
    is_starting: AtomicBool,
    /// Whether threads did not start in time, which ended the run.
    start_timed_out: AtomicBool,
    /// The signals, whose flag ends the run: a signal or the first function that fails sets the flag.
    signals: Signals,
    /// The run in the store, once it has started.
    recording: OnceLock<Recording>,
    /// Whether a function has failed; nothing is logged after its error.
    has_failed: AtomicBool,
    /// The command, if the script uses a bundled test's tables and does not name any itself.
    bundled_command: OnceLock<Command>,
    /// Advice about the last statement that failed, and the server's message: printed only if the error ends
    /// the command, because the script may handle it.
    advice: Mutex<Option<(&'static str, String)>>,
}

impl ScriptLogger {
    /// `signals`: the signals whose flag ends the run.
    pub fn new(call: &SysbenchCall, command: &ScriptCommand, signals: &Signals) -> ScriptLogger {
        ScriptLogger {
            call: call.clone(),
            driver: parse_driver(&command.settings.database).unwrap_or(Driver::Mysql),
            database: command.settings.database.clone(),
            thread_init_timeout_s: command.settings.thread_init_timeout_s,
            is_starting: AtomicBool::new(false),
            start_timed_out: AtomicBool::new(false),
            signals: signals.clone(),
            recording: OnceLock::new(),
            has_failed: AtomicBool::new(false),
            bundled_command: OnceLock::new(),
            advice: Mutex::new(None),
        }
    }

    /// Sets the text and the command of the script, from which advice about its tables follows.
    pub fn set_script(&self, text: &[u8], command: Option<&str>) {
        let names_tables = text.windows(6).any(|word| word == b"sbtest");
        let command = match command {
            Some("run") => Command::Run,
            Some("prepare") => Command::Prepare,
            _ => return,
        };
        if !names_tables {
            let _ = self.bundled_command.set(command);
        }
    }

    /// Has the advice about the last failed statement printed after the next error, if `reason`, which ends
    /// the command, is that failure.
    pub fn set_advice_about(&self, reason: &str) {
        let last = self.advice.lock().ok().and_then(|mut last| last.take());
        let is_reason = |message: &str| {
            let api_errors = ["() failed", "SQL API error"];
            reason.contains(message) || api_errors.iter().any(|error| reason.ends_with(error))
        };
        // Another thread that failed at the same time may have taken the advice: it is left alone.
        if let Some((text, _)) = last.filter(|(_, message)| is_reason(message)) {
            set_advice(Some(text));
        }
    }

    /// Whether a function has failed and its error is printed.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Sets whether threads are starting.
    pub fn set_starting(&self, is_starting: bool) {
        self.is_starting.store(is_starting, Ordering::Relaxed);
    }

    /// Whether the run ended because threads did not start in time.
    pub fn start_timed_out(&self) -> bool {
        self.start_timed_out.load(Ordering::Relaxed)
    }

    /// Reports a thread's failed connection.
    pub fn log_connect_failure(&self, driver: Driver, failures: &[ConnectFailure]) {
        if connection::has_timed_out(failures) && self.is_starting.load(Ordering::Relaxed) {
            self.log(
                LogLevel::Fatal,
                &fatal_line(&threads_not_ready(self.thread_init_timeout_s)),
            );
            self.start_timed_out.store(true, Ordering::Relaxed);
            self.end_run();
            return;
        }
        let lines = connection::connect_failure_lines(&self.database, driver, failures);
        self.log(LogLevel::Fatal, &lines);
    }

    /// Ends the run; the reason is already printed.
    fn end_run(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
        self.signals.flag().store(true, Ordering::Relaxed);
    }

    /// Stores the recording of the run.
    pub fn set_recording(&self, recording: &Recording) {
        let _ = self.recording.set(recording.clone());
    }

    fn log(&self, level: LogLevel, text: &str) {
        if !self.has_failed() {
            self.call.log(level, text);
        }
    }

    /// Reports an error of a hook, which does not end the run.
    pub fn log_hook_failure(&self, error: &LuaScriptError) {
        // A signal interrupts hooks, which is not a failure.
        if !self.signals.flag().load(Ordering::Relaxed) {
            self.log(LogLevel::Fatal, &failure_line(error));
        }
    }
}

impl Listener for ScriptLogger {
    fn connection_refused(&self, error: &Error) {
        let lines = connection::control_error_lines(&self.database, self.driver, error);
        self.log(LogLevel::Fatal, &lines);
    }

    fn report(&self, report: Report<'_>) {
        match report {
            Report::Output(text) => print_output_bytes(&text),
            Report::ServerUnavailable(lines) => self.log(LogLevel::Fatal, &lines),
            Report::ThreadBlocked => eprint(BLOCKED_WARNING),
            Report::Fatal(text) => self.log(LogLevel::Fatal, &fatal_line(&text)),
            Report::Alert(text) => self.log(LogLevel::Alert, &format!("ALERT: {text}\n")),
            Report::Warning(text) => self.log(LogLevel::Warning, &warning_line(&text)),
            Report::SqlFailed(failure) => self.log_sql_failure(&failure),
            Report::FunctionFailed { function, reason } => {
                self.end_failed_run(&function, &reason);
            }
            Report::ThreadDoneFailed(reason) => {
                self.log(LogLevel::Fatal, &function_failed("thread_done", &reason));
            }
            Report::Stuck(reason) => self.end_stuck(&reason),
        }
    }
}

impl ScriptLogger {
    fn log_sql_failure(&self, failure: &SqlFailure<'_>) {
        let (number, message, sql) = (failure.error_number, &*failure.message, &*failure.sql);
        let lines = match (self.driver, failure.operation) {
            (driver, SqlOperation::Prepare) => prepare_failed(driver, number, message),
            (Driver::Mysql, SqlOperation::NextResult) => {
                mysql_next_result_failed(false, number, message, sql)
            }
            (Driver::Mysql, SqlOperation::NextExecutedResult) => {
                mysql_next_result_failed(true, number, message, sql)
            }
            (driver, operation) => {
                let prepared = operation == SqlOperation::Execute;
                statement_failed(driver, prepared, number, message, sql)
            }
        };
        let state = String::from_utf8_lossy(&failure.code);
        let text = match self.bundled_command.get() {
            Some(command) if message.contains("sbtest") => {
                advice_of_test(self.driver, *command, number, &state)
            }
            _ => advice(self.driver, number, &state),
        };
        if let Ok(mut advice) = self.advice.lock() {
            *advice = text.map(|text| (text, message.to_owned()));
        }
        self.log(LogLevel::Fatal, &lines);
    }

    /// Logs that a function of the script failed, and ends the run.
    fn end_failed_run(&self, function: &str, reason: &str) {
        self.set_advice_about(reason);
        if !function.is_empty() {
            let threads_failed = match function {
                "thread_init" => threads_failed(self.call.compat),
                _ => String::new(),
            };
            self.log(
                LogLevel::Fatal,
                &(function_failed(function, reason) + &threads_failed),
            );
        }
        self.end_run();
        // If another thread's error has ended the run already, nothing was logged here.
        print_advice();
    }

    /// Ends the process of a script that cannot be interrupted.
    fn end_stuck(&self, reason: &str) {
        let signal = self.signals.received().map(TerminationSignal::name);
        if signal.is_none() {
            self.log(LogLevel::Fatal, &fatal_line(reason));
        }
        // Keep the returned lock until the process ends, so that no other thread writes to the store.
        let _lock = self
            .recording
            .get()
            .map(|recording| recording.store_partial(signal.unwrap_or(reason)));
        self.signals.end_by_signal();
        // The worker of the stuck script never returns, and a run ends only when all workers have returned.
        std::process::exit(1);
    }
}
