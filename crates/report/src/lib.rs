//! Views of a Run.
//!
//! In: a Run document, the seconds of a run in progress, or plain values of a loader. Out: text, written to a
//! `&mut dyn Write`, one view per file. Must never: change a figure; compute a verdict; depend on how the
//! load was driven.

pub mod answer;
pub mod audit;
pub mod capacity;
pub mod compare;
pub mod csv;
pub mod data;
pub mod doctor;
pub mod experiment;
pub mod fleet;
pub mod hdr_log;
pub mod history;
pub mod html;
pub mod json;
mod junit;
mod licence;
pub mod live;
pub mod loading;
pub mod metrics;
pub mod price;
mod printer;
pub mod problems;
mod redraw;
pub mod scenarios;
pub mod settings;
pub mod style;
pub mod suite;
mod table;
pub mod terminal;
pub mod text;
pub mod trend;
pub mod units;
pub mod visible;

pub use live::{LiveView, RunOutline};
pub use loading::{LoadProgressView, LoadStepProgress};
pub use style::{Size, Style};

#[cfg(test)]
#[path = "../tests/support/sample_run.rs"]
mod sample_run;

use std::io;

/// Ignores the error of a closed pipe, as in `prony show last | head`, and returns every other error.
pub fn ignore_closed_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::ignore_closed_pipe;
    use std::io;

    #[test]
    fn a_closed_pipe_is_ignored_and_a_full_disk_is_not() {
        assert!(ignore_closed_pipe(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(ignore_closed_pipe(Err(io::ErrorKind::StorageFull.into())).is_err());
    }
}
