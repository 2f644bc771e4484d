//! Hears scripts: what they print, and what goes wrong.
//!
//! In: calls from all workers. Out: lines on stdout in sysbench's words; the end of the run. Must never:
//! tell the same failure once a thread.

use super::super::bench::Kept;
use super::super::call::{Call, advise, show, tell};
use super::super::connection;
use crate::signals::Signals;
use prony_dialect::sysbench::{
    Database, Driver, Level, Script, THREADS_FAILED, advice, driver, fatal, function_failed,
    mysql_failed, mysql_next_failed, mysql_not_prepared, pgsql_failed, pgsql_not_prepared,
    repeated, threads_late, warning,
};
use prony_server::control::{Error, Failure};
use prony_workload::lua::{Listener, SqlFailure, Step};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// libpq's number of a result that is an error.
const FATAL_ERROR: u32 = 7;

/// What is said of a script that blocks.
const KEPT_WAITING: &str = "prony: the script ran for 0.1 s and more without asking the database for anything \
    (os.execute, io.popen, a socket of its own, a long computation?): the other users of its thread had to wait \
    meanwhile, and their figures have that in them\n";

/// Hears all states of a script.
pub struct Ear {
    call: Call,
    driver: Driver,
    database: Database,
    /// Time for threads to begin, seconds.
    within_s: u32,
    /// Threads are about to begin: one that does not get its connection in time ends the run.
    begins: AtomicBool,
    is_late: AtomicBool,
    /// Their flag is set by the first function that gives up, too.
    signals: Signals,
    /// The run in the store, while there is one.
    kept: OnceLock<Kept>,
    is_fatal: AtomicBool,
    /// The last text of the log, and how often it came again.
    last: Mutex<(String, u64)>,
}

impl Ear {
    /// The flag of `signals` ends the run.
    pub fn new(call: &Call, asked: &Script, signals: &Signals) -> Ear {
        Ear {
            call: Call::new(&asked.settings, call.shown.clone()),
            driver: driver(&asked.settings.database).unwrap_or(Driver::Mysql),
            database: asked.settings.database.clone(),
            within_s: asked.settings.thread_init_timeout_s,
            begins: AtomicBool::new(false),
            is_late: AtomicBool::new(false),
            signals: signals.clone(),
            kept: OnceLock::new(),
            is_fatal: AtomicBool::new(false),
            last: Mutex::default(),
        }
    }

    /// Whether a function has given up, and it was told.
    pub fn is_fatal(&self) -> bool {
        self.is_fatal.load(Ordering::Relaxed)
    }

    /// Threads of a run are about to begin, or have begun.
    pub fn begins(&self, begins: bool) {
        self.begins.store(begins, Ordering::Relaxed);
    }

    /// Whether the run ended because threads did not begin in time.
    pub fn is_late(&self) -> bool {
        self.is_late.load(Ordering::Relaxed)
    }

    /// A connection that a thread asked for was refused.
    pub fn unreached(&self, driver: Driver, failures: &[Failure]) {
        if connection::is_late(failures) && self.begins.load(Ordering::Relaxed) {
            self.log(Level::Fatal, &fatal(&threads_late(self.within_s)));
            self.is_late.store(true, Ordering::Relaxed);
            self.end();
            return;
        }
        let lines = connection::unreachable(&self.database, driver, failures);
        self.log(Level::Fatal, &lines);
    }

    /// All is to end at once, and why is told.
    fn end(&self) {
        self.is_fatal.store(true, Ordering::Relaxed);
        self.signals.flag().store(true, Ordering::Relaxed);
    }

    /// The run is kept here.
    pub fn keeps(&self, kept: &Kept) {
        let _ = self.kept.set(kept.clone());
    }

    /// Nothing more is heard before other texts follow: says how often the last one came again.
    pub fn settle(&self) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, again) = std::mem::take(&mut *last);
        if again > 0 {
            self.call.log(Level::Fatal, &repeated(again));
        }
    }

    /// A text of the log; one that comes again is only counted.
    fn log(&self, level: Level, text: &str) {
        if self.is_fatal() {
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0 == text {
            last.1 += 1;
            return;
        }
        if last.1 > 0 {
            self.call.log(level, &repeated(last.1));
        }
        *last = (text.to_owned(), 0);
        self.call.log(level, text);
    }
}

impl Listener for Ear {
    fn shown(&self, text: &[u8]) {
        show(text);
    }

    fn unreachable(&self, lines: &str) {
        self.log(Level::Fatal, lines);
    }

    fn refused(&self, error: &Error) {
        let lines = connection::refused(&self.database, self.driver, error);
        self.log(Level::Fatal, &lines);
    }

    fn kept_waiting(&self) {
        tell(KEPT_WAITING);
    }

    fn fatal(&self, text: &str) {
        self.log(Level::Fatal, &fatal(text));
    }

    fn alert(&self, text: &str) {
        self.log(Level::Alert, &format!("ALERT: {text}\n"));
    }

    fn warning(&self, text: &str) {
        self.log(Level::Warning, &warning(text));
    }

    fn sql_failed(&self, failure: &SqlFailure<'_>) {
        let SqlFailure {
            number, said, sql, ..
        } = *failure;
        let lines = match (self.driver, failure.step) {
            (Driver::Mysql, Step::Prepare) => mysql_not_prepared(number, said),
            (Driver::Pgsql, Step::Prepare) => pgsql_not_prepared(said),
            (Driver::Mysql, Step::Next | Step::NextExecuted) => {
                mysql_next_failed(failure.step == Step::NextExecuted, number, said, sql)
            }
            (Driver::Mysql, step) => mysql_failed(step == Step::Execute, number, said, sql),
            (Driver::Pgsql, step) => pgsql_failed(step == Step::Execute, FATAL_ERROR, said, sql),
        };
        let state = String::from_utf8_lossy(&failure.error.code);
        advise(advice(self.driver, number, &state));
        self.log(Level::Fatal, &lines);
    }

    fn failed(&self, function: &str, reason: &str) {
        if !function.is_empty() {
            let more = match function {
                "thread_init" => fatal(THREADS_FAILED),
                _ => String::new(),
            };
            self.log(
                Level::Fatal,
                &(function_failed(function, None, reason) + &more),
            );
        }
        self.end();
    }

    fn done_failed(&self, reason: &str) {
        let lines = function_failed("thread_done", None, reason);
        self.log(Level::Fatal, &lines);
    }

    fn stuck(&self, reason: &str) {
        let signal = self.signals.asked().map(|(_, name)| name);
        if signal.is_none() {
            self.log(Level::Fatal, &fatal(reason));
        }
        // From here on nothing else writes to the store.
        let _held = self
            .kept
            .get()
            .map(|kept| kept.cut_off(signal.unwrap_or(reason)));
        self.signals.pass_on();
        // Its worker never comes back, and a run is not left while one is at work.
        std::process::exit(1);
    }
}
