//! What happens at each second of a run: it is stored and shown.
//!
//! In: rows of the loop. Out: the kept document, the live view. Must never: end a run because a
//! second could not be shown.

use super::keep::Keeper;
use prony_drive::{Observer, Start};
use prony_measure::{Row, Schedule};
use prony_report::Live;
use prony_store::{Run, RunWriter};
use std::io::Stderr;

/// Watches one run.
pub struct Watch {
    live: Live<Stderr>,
    keeper: Keeper,
}

impl Watch {
    /// A watch that adds to what is kept.
    pub fn new(live: Live<Stderr>, keeper: Keeper) -> Watch {
        Watch { live, keeper }
    }

    /// Removes the live view and gives back what is kept.
    pub fn end(mut self) -> (Run, Option<RunWriter>) {
        // Where stderr is closed there is no view to remove.
        let _ = self.live.finish();
        self.keeper.end()
    }

    fn complain(&mut self, complaint: Option<String>) {
        if let Some(complaint) = complaint {
            let _ = self.live.say(&format!("prony: {complaint}"));
        }
    }
}

impl Observer for Watch {
    fn started(&mut self, start: &Start) {
        let complaint = self.keeper.started(start);
        self.complain(complaint);
    }

    fn row(&mut self, row: &Row, schedule: &Schedule) {
        let complaint = self.keeper.row(row, schedule);
        self.complain(complaint);
        if let Some(second) = self.keeper.last() {
            let _ = self.live.second(second);
        }
    }
}
