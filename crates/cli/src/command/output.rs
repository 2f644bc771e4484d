//! Writes results, and nothing else, to stdout.
//!
//! A closed pipe is not an error, and control characters from servers and files never reach a terminal.

use crate::exit::{Exit, Failure};
use prony_plan::system_error;
use prony_report::visible::{Visible, visible};
use prony_report::{Style, ignore_closed_pipe, json};
use serde::Serialize;
use std::io::{self, BufWriter, IsTerminal, Write};

/// Writes text or JSON to stdout, buffered, with control characters made visible. A closed pipe (`| head`) ends the
/// output silently.
pub fn show(view: impl FnOnce(&mut dyn Write, &Style) -> io::Result<()>) -> Result<(), Failure> {
    let stdout = io::stdout();
    let style = Style::of(&stdout);
    let mut out = Visible::new(BufWriter::new(stdout.lock()), &style);
    check_written(view(&mut out, &style).and_then(|()| out.flush()))
}

/// Writes a value as JSON if that is asked for, otherwise its view.
pub fn show_or_json(
    as_json: bool,
    value: &impl Serialize,
    view: impl FnOnce(&mut dyn Write, &Style) -> io::Result<()>,
) -> Result<(), Failure> {
    if as_json { show(|out, _| json::write_pretty(out, value)) } else { show(view) }
}

/// Writes CSV, a log or a page for other programs, unchanged except on a terminal.
pub fn show_raw(view: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        return show(|out, _| view(out));
    }
    let mut out = BufWriter::new(stdout.lock());
    check_written(view(&mut out).and_then(|()| out.flush()))
}

/// Converts a failed write to a failure; a closed pipe is a success.
fn check_written(result: io::Result<()>) -> Result<(), Failure> {
    ignore_closed_pipe(result).map_err(|error| {
        let message = format!(
            "cannot write the result to stdout: {}",
            system_error(&error)
        );
        // Runs are stored before they are shown.
        let hint = "`prony runs` lists what is stored, and `prony show` shows it again";
        Failure::new(Exit::Unexpected, message, hint)
    })
}

/// Prints a line to stderr, with control characters made visible. Does nothing if stderr is closed.
pub fn notice(line: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(line));
}

/// Tells the user whom a step of a run waits for.
pub fn waiting_for(awaited: &str) {
    notice(&format!("prony: waiting for {awaited}"));
}
