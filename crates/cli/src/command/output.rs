//! Writes results, and nothing else, to stdout.
//!
//! A closed pipe is not an error, and control characters from foreign text never reach a terminal.

use crate::exit::Failure;
use prony_report::visible::{Visible, visible};
use prony_report::{Style, until_pipe_closes};
use std::io::{self, BufWriter, IsTerminal, Write};

/// Writes text or JSON to stdout, buffered, with control characters made visible. A closed pipe (`| head`) ends the
/// output silently.
pub fn show(view: impl FnOnce(&mut dyn Write, &Style) -> io::Result<()>) -> Result<(), Failure> {
    let stdout = io::stdout();
    let style = Style::of(&stdout);
    let mut out = Visible::new(BufWriter::new(stdout.lock()), &style);
    write_outcome(view(&mut out, &style).and_then(|()| out.flush()))
}

/// Writes CSV, a log or a page for other programs, unchanged except on a terminal.
pub fn show_raw(view: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        return show(|out, _| view(out));
    }
    let mut out = BufWriter::new(stdout.lock());
    write_outcome(view(&mut out).and_then(|()| out.flush()))
}

fn write_outcome(written: io::Result<()>) -> Result<(), Failure> {
    until_pipe_closes(written).map_err(|error| {
        Failure::from(anyhow::Error::new(error).context("cannot write the result"))
    })
}

/// A progress line on stderr; ignored if stderr is closed.
pub fn notice(line: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(line));
}
