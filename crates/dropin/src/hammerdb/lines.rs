//! Prints, logs and stores the lines of virtual users, from any thread.
//!
//! Must never: interleave two lines, or end a run because its log cannot be written.

use super::clock;
use crate::output::{lock, print};
use prony_dialect::hammerdb::OutputOptions;
use prony_dialect::hammerdb::text;
use prony_plan::system_error;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::Mutex;

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
    pub fn open(output: &OutputOptions) -> Result<VuserLines, String> {
        let open = |path: &String| {
            open_log(path, &text::log_header(&clock::now_as_text())).map_err(|error| {
                let reason = system_error(&error);
                format!("cannot write the log file {path}: {reason}")
            })
        };
        let log = output.log_path.as_ref().map(open).transpose()?;
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
        let mut state = lock(&self.state);
        print(&text::terminal_line(&line));
        state.store_line(line);
    }

    /// Prints and logs a line of virtual user 1.
    pub fn say(&self, line: impl Display) {
        self.print_line(1, line);
    }

    /// Prints and logs a line of a virtual user.
    pub fn print_line(&self, number: u32, line: impl Display) {
        let line = line.to_string();
        let mut state = lock(&self.state);
        let user_line = text::vuser_line(number, &line);
        if self.show_output {
            print(&text::terminal_line(&user_line));
        }
        if let Some(log) = &mut state.log {
            let timestamp = self.logs_timestamps.then(clock::now_as_text);
            let entry = text::log_entry(number, &line, timestamp.as_deref());
            if let Err(error) = log.write_all(entry.as_bytes()) {
                state.log = None;
                super::warn(&format!("cannot write to the log file any more: {error}"));
            }
        }
        state.store_line(user_line);
    }

    /// Returns the lines to store in the job, and starts with no lines again.
    pub fn take_lines(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.state).stored_lines)
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
