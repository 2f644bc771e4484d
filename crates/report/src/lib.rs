//! Views of a Run.
//!
//! In: a Run document, or its seconds as they come; plain values of a loader. Out: text, pushed
//! into a `&mut dyn Write`, one view a file. Must never: change a figure, compute a verdict, or
//! know how the load was driven.
//!
//! A new view is a new file with one function that takes what it shows and a `&mut dyn Write`.

pub mod audit;
pub mod compare;
pub mod csv;
pub mod data;
pub mod experiment;
pub mod hdr_log;
pub mod history;
pub mod html;
pub mod json;
pub mod live;
pub mod loading;
pub mod metrics;
pub mod price;
pub mod problems;
pub mod redraw;
pub mod reproduced;
pub mod scenarios;
pub mod style;
pub mod table;
pub mod terminal;
pub mod text;
pub mod units;

pub use live::{Goal, Live};
pub use loading::{Amount, Loading};
pub use problems::Problem;
pub use style::{Size, Style};

#[cfg(test)]
mod sample_run;

use std::io;

/// Takes the end of a closed pipe (`prony show last | head`) as the end of the output, not as an
/// error. Any other error stays.
pub fn until_pipe_closes(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::until_pipe_closes;
    use std::io;

    #[test]
    fn a_closed_pipe_is_quiet_and_a_full_disk_is_not() {
        assert!(until_pipe_closes(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(until_pipe_closes(Err(io::ErrorKind::StorageFull.into())).is_err());
    }
}
