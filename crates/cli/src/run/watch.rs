//! What happens at each second of a run: it is stored and shown.
//!
//! In: rows of the loop. Out: lines in the journal, the live view, the series of the document. Must
//! never: end a run because a second could not be stored or shown.

use super::document;
use prony_drive::{Observer, Start};
use prony_measure::{Row, Schedule};
use prony_report::Live;
use prony_store::{Run, RunWriter};
use std::io::Stderr;

/// Watches one run.
pub struct Watch {
    live: Live<Stderr>,
    writer: Option<RunWriter>,
    run: Run,
    complained: bool,
}

impl Watch {
    /// A watch that adds to this document.
    pub fn new(live: Live<Stderr>, writer: Option<RunWriter>, run: Run) -> Watch {
        Watch {
            live,
            writer,
            run,
            complained: false,
        }
    }

    /// Removes the live view and gives back what it was given.
    pub fn end(mut self) -> (Run, Option<RunWriter>) {
        // Where stderr is closed there is no view to remove.
        let _ = self.live.finish();
        (self.run, self.writer)
    }

    /// Says once that storing fails: the disk may be full, and the run goes on.
    fn complain(&mut self, stored: Result<(), prony_store::StoreError>) {
        if let Err(error) = stored
            && !std::mem::replace(&mut self.complained, true)
        {
            let _ = self.live.say(&format!("prony: {error}; the run goes on"));
        }
    }
}

impl Observer for Watch {
    fn started(&mut self, start: &Start) {
        document::started(&mut self.run, start);
        let stored = match &mut self.writer {
            Some(writer) => writer.header(&self.run),
            None => Ok(()),
        };
        self.complain(stored);
    }

    fn row(&mut self, row: &Row, schedule: &Schedule) {
        let second = prony_store::second(row, schedule.start_ns);
        let stored = match &mut self.writer {
            Some(writer) => writer.second(row, schedule.start_ns),
            None => Ok(()),
        };
        self.complain(stored);
        let _ = self.live.second(&second);
        self.run.series.push(second);
    }
}
