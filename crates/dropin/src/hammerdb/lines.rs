//! Prints, logs and stores the lines of virtual users, from any thread.
//!
//! Must never: interleave two lines, or end a run because its log cannot be written.

use super::clock;
use prony_dialect::hammerdb::OutputOptions;
use prony_dialect::hammerdb::text;
use prony_plan::system_error;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// The maximum number of lines stored in a job; further lines are only printed and logged.
const MAX_STORED_LINES: usize = 10_000;

/// The output lines of one build or run.
pub struct VuserLines {
    show_output: bool,
    logs_timestamps: bool,
    state: Mutex<LineState>,
}

struct LineState {
    log: Option<File>,
    /// The lines to store in the job, up to [`MAX_STORED_LINES`].
    stored_lines: Vec<String>,
}

impl VuserLines {
    /// Opens the log for appending.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn open(output: &OutputOptions) -> Result<VuserLines, String> {
        let log = match &output.log_path {
            Some(path) => Some(
                open_log(path, &text::log_header(&clock::now_as_text())).map_err(|error| {
                    format!("cannot write the log file {path}: {}", system_error(&error))
                })?,
            ),
            None => None,
        };
        Ok(VuserLines {
            show_output: output.show_output,
            logs_timestamps: output.logs_timestamps,
            state: Mutex::new(LineState {
                log,
                stored_lines: Vec::new(),
            }),
        })
    }

    /// Prints that a virtual user starts.
    pub fn print_running(&self, number: u32) {
        self.print_status(text::running_line(number));
    }

    /// Prints that a virtual user ended.
    pub fn print_finished(&self, number: u32, success: bool) {
        self.print_status(text::finished_line(number, success));
    }

    /// Prints the failure of a virtual user.
    pub fn print_failed(&self, number: u32, reason: &str) {
        self.print_status(text::failure_line(number, reason));
        self.print_finished(number, false);
    }

    /// Prints a line on the terminal, regardless of the options, but not in the log.
    pub fn print_status(&self, line: String) {
        let mut state = self.lock();
        super::print(&text::terminal_line(&line));
        state.store_line(line);
    }

    /// Prints and logs a line of a virtual user.
    pub fn print_line(&self, number: u32, line: impl Display) {
        let line = line.to_string();
        let mut state = self.lock();
        let user_line = text::vuser_line(number, &line);
        if self.show_output {
            super::print(&text::terminal_line(&user_line));
        }
        if let Some(log) = &mut state.log {
            let timestamp = self.logs_timestamps.then(clock::now_as_text);
            let entry = text::log_entry(number, &line, timestamp.as_deref());
            if let Err(error) = log.write_all(entry.as_bytes()) {
                state.log = None;
                super::eprint(&format!(
                    "hammerdbcli: cannot write to the log file any more: {error}\n"
                ));
            }
        }
        state.store_line(user_line);
    }

    /// Returns the lines to store in the job, and starts with no lines again.
    pub fn take_lines(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().stored_lines)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LineState {
    fn store_line(&mut self, line: String) {
        if self.stored_lines.len() < MAX_STORED_LINES {
            self.stored_lines.push(line);
        }
    }
}

/// Opens a log for appending and writes a header.
pub fn open_log(path: &str, header: &str) -> std::io::Result<File> {
    let mut log = OpenOptions::new().create(true).append(true).open(path)?;
    log.write_all(header.as_bytes())?;
    Ok(log)
}
