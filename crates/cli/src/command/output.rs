//! stdout: results, and nothing else.
//!
//! In: a view. Out: its text on stdout. Must never: take a closed pipe for an error.

use crate::exit::Failure;
use prony_report::{Style, until_pipe_closes};
use std::io::{self, BufWriter, Write};

/// Writes to stdout, buffered. A reader that has gone away (`| head`) ends the output quietly.
pub fn show(view: impl FnOnce(&mut dyn Write, &Style) -> io::Result<()>) -> Result<(), Failure> {
    let stdout = io::stdout();
    let style = Style::of(&stdout);
    let mut out = BufWriter::new(stdout.lock());
    let written = view(&mut out, &style).and_then(|()| out.flush());
    until_pipe_closes(written).map_err(|error| {
        Failure::from(anyhow::Error::new(error).context("cannot write the result"))
    })
}

/// A line about what is going on, on stderr. Where that is closed nobody is told.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
