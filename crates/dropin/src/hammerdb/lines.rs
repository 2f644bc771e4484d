//! Prints, logs and stores the lines of virtual users, from any thread.
//!
//! Must never: interleave two lines, or end a run because its log cannot be written.

use super::clock;
use prony_dialect::hammerdb::OutputOptions;
use prony_dialect::hammerdb::text;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// The maximum number of lines stored in a job; further lines are only printed and logged.
const MAX_STORED_LINES: usize = 10_000;

/// The output lines of one build or run.
pub struct VuserLines {
    show_output: bool,
    timestamps: bool,
    state: Mutex<LineState>,
}

struct LineState {
    log: Option<File>,
    /// The lines to store in the job.
    stored: Vec<String>,
}

impl VuserLines {
    /// Opens the log for appending.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn open(output: &OutputOptions) -> Result<VuserLines, String> {
        let log = match &output.log {
            Some(path) => Some(
                open_log(path, &text::log_header(&clock::now_as_text()))
                    .map_err(|error| format!("cannot write the log file {path}: {error}"))?,
            ),
            None => None,
        };
        Ok(VuserLines {
            show_output: output.show_output,
            timestamps: output.timestamps,
            state: Mutex::new(LineState {
                log,
                stored: Vec::new(),
            }),
        })
    }

    /// Prints that a virtual user starts.
    pub fn print_running(&self, number: u32) {
        self.print_status(text::running(number));
    }

    /// Prints that a virtual user ended.
    pub fn print_finished(&self, number: u32, success: bool) {
        self.print_status(text::finished(number, success));
    }

    /// Prints the failure of a virtual user.
    pub fn print_failed(&self, number: u32, reason: &str) {
        self.print_status(text::failure(number, reason));
        self.print_finished(number, false);
    }

    /// Prints a line on the terminal, regardless of the options, but not in the log.
    pub fn print_status(&self, line: String) {
        let mut state = self.lock();
        super::print(&text::terminal(&line));
        state.store(line);
    }

    /// Prints and logs a line of a virtual user.
    pub fn print_line(&self, number: u32, line: impl Display) {
        let line = line.to_string();
        let mut state = self.lock();
        let user_line = text::vuser(number, &line);
        if self.show_output {
            super::print(&text::terminal(&user_line));
        }
        if let Some(log) = &mut state.log {
            let timestamp = self.timestamps.then(clock::now_as_text);
            let entry = text::log(number, &line, timestamp.as_deref());
            if let Err(error) = log.write_all(entry.as_bytes()) {
                state.log = None;
                super::eprint(&format!(
                    "hammerdbcli: cannot write to the log file any more: {error}\n"
                ));
            }
        }
        state.store(user_line);
    }

    /// Removes and returns all lines so far.
    pub fn take_lines(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().stored)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LineState {
    fn store(&mut self, line: String) {
        if self.stored.len() < MAX_STORED_LINES {
            self.stored.push(line);
        }
    }
}

/// Opens a log for appending and writes a header.
pub fn open_log(path: &str, header: &str) -> std::io::Result<File> {
    let mut log = OpenOptions::new().create(true).append(true).open(path)?;
    log.write_all(header.as_bytes())?;
    Ok(log)
}
