//! What virtual users say.
//!
//! In: their lines, from any thread. Out: the terminal, the log file, a memory for the job. Must
//! never: mix two lines, or end a run because its log is full.

use super::clock;
use prony_dialect::hammerdb::Output;
use prony_dialect::hammerdb::text;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Lines that a job keeps; later ones are only printed and logged.
const KEPT_MAX: usize = 10_000;

/// The lines of one build or run.
pub struct Lines {
    shown: bool,
    timestamps: bool,
    inner: Mutex<Inner>,
}

struct Inner {
    log: Option<File>,
    said: Vec<String>,
}

impl Lines {
    /// Opens the log, which is added to.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn open(output: &Output) -> Result<Lines, String> {
        let log = match &output.log {
            Some(path) => Some(
                open_log(path, &text::log_header(&clock::date()))
                    .map_err(|error| format!("the log file {path} cannot be written: {error}"))?,
            ),
            None => None,
        };
        Ok(Lines {
            shown: output.shown,
            timestamps: output.timestamps,
            inner: Mutex::new(Inner {
                log,
                said: Vec::new(),
            }),
        })
    }

    /// A virtual user begins.
    pub fn running(&self, number: u32) {
        self.status(text::running(number));
    }

    /// A virtual user ended.
    pub fn finished(&self, number: u32, success: bool) {
        self.status(text::finished(number, success));
    }

    /// A virtual user fails, and why.
    pub fn failed(&self, number: u32, reason: &str) {
        self.status(text::failure(number, reason));
        self.finished(number, false);
    }

    /// A line that is on the terminal in any case, and not in the log.
    pub fn status(&self, line: String) {
        let mut inner = self.lock();
        super::print(&text::terminal(&line));
        inner.keep(line);
    }

    /// A line of a virtual user's work.
    pub fn told(&self, number: u32, line: impl Display) {
        let line = line.to_string();
        let mut inner = self.lock();
        let shown = text::vuser(number, &line);
        if self.shown {
            super::print(&text::terminal(&shown));
        }
        if let Some(log) = &mut inner.log {
            let stamp = self.timestamps.then(clock::date);
            let entry = text::log(number, &line, stamp.as_deref());
            if let Err(error) = log.write_all(entry.as_bytes()) {
                inner.log = None;
                super::complain(&format!("hammerdbcli: the log file ends here: {error}\n"));
            }
        }
        inner.keep(shown);
    }

    /// Gives up all lines so far.
    pub fn said(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().said)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn keep(&mut self, line: String) {
        if self.said.len() < KEPT_MAX {
            self.said.push(line);
        }
    }
}

/// A log that is added to, with a header for what follows.
pub fn open_log(path: &str, header: &str) -> std::io::Result<File> {
    let mut log = OpenOptions::new().create(true).append(true).open(path)?;
    log.write_all(header.as_bytes())?;
    Ok(log)
}
