//! The seconds of runs in progress, from their journals.
//!
//! However many browsers show a run, its journal is read once for each second that is added to it.

use prony_report::html::store::events_of;
use prony_store::{FileStamp, RunState, RunStore};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Tells the page that the run has ended.
const END: &str = "event: end\ndata: \n\n";
/// A comment, by which a client that has gone is noticed.
const NOTHING_NEW: &str = ":\n\n";

/// The latest event of each run that somebody watches, with the state of its journal.
#[derive(Default)]
pub struct LiveRuns(Mutex<HashMap<String, (FileStamp, String)>>);

impl LiveRuns {
    fn latest(&self, store: &RunStore, id: &str) -> Option<(FileStamp, String)> {
        // Others wait for the one that reads.
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = store.journal_stamp(id);
        if let (Some(stamp), Some((known, event))) = (stamp, latest.get(id))
            && stamp == *known
        {
            return Some((stamp, event.clone()));
        }
        let run = store.load_stored(id).ok();
        let run = run.filter(|run| run.state == RunState::Running);
        let event = run.and_then(|run| Some((stamp?, events_of(&run).ok()?)));
        match &event {
            Some(event) => latest.insert(id.to_owned(), event.clone()),
            None => latest.remove(id),
        };
        event
    }
}

/// What one browser is told of a run.
pub struct LiveEvents {
    id: String,
    sent: Option<FileStamp>,
    has_ended: bool,
}

impl LiveEvents {
    pub fn new(id: &str) -> LiveEvents {
        LiveEvents {
            id: id.to_owned(),
            sent: None,
            has_ended: false,
        }
    }

    /// The next event; `None` after the one that says that the run has ended.
    pub fn next(&mut self, runs: &LiveRuns, store: &RunStore) -> Option<String> {
        if self.has_ended {
            return None;
        }
        let Some((stamp, event)) = runs.latest(store, &self.id) else {
            self.has_ended = true;
            return Some(END.to_owned());
        };
        if self.sent.replace(stamp) == Some(stamp) {
            return Some(NOTHING_NEW.to_owned());
        }
        Some(event)
    }
}
