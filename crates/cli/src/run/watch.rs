//! What happens at each second of a run: it is stored and shown, and so is what was seen of the server.
//!
//! In: rows of the loop. Out: the kept document, the live view, the page for Prometheus. Must never: end a run because a
//! second could not be shown.

use super::counting::Counting;
use super::keep::Keeper;
use super::metrics::Shown;
use super::observing::{Job, Observing};
use prony_drive::{Observer, Start};
use prony_measure::{Row, Schedule};
use prony_report::Live;
use prony_server::Target;
use prony_store::{Run, RunWriter};
use std::io::Stderr;

/// Watches one run.
pub struct Watch {
    live: Live<Stderr>,
    keeper: Keeper,
    /// The server whose own count is asked for.
    count: Option<Target>,
    counting: Option<Counting>,
    /// What is needed to look at the server, until the load starts.
    look: Option<Job>,
    observing: Option<Observing>,
    /// Where others may look on.
    metrics: Option<Shown>,
}

impl Watch {
    /// A watch that adds to what is kept, has the transactions of `count` counted, and the server
    /// looked at by `look`.
    pub fn new(
        live: Live<Stderr>,
        keeper: Keeper,
        count: Option<Target>,
        look: Option<Job>,
    ) -> Watch {
        Watch {
            live,
            keeper,
            count,
            counting: None,
            look,
            observing: None,
            metrics: None,
        }
    }

    /// Also shows it there.
    pub fn with_metrics(mut self, metrics: Option<Shown>) -> Watch {
        self.metrics = metrics;
        self
    }

    /// Removes the live view; gives back what is kept, and what the server counted a minute.
    pub fn end(mut self, interrupted: bool) -> (Run, Option<RunWriter>, Option<f64>) {
        // Where stderr is closed there is no view to remove.
        let _ = self.live.finish();
        let counting = self.counting.take();
        let counted = counting.and_then(|counting| counting.end(interrupted));
        let (mut run, writer) = self.keeper.end();
        if let Some(observing) = self.observing.take() {
            observing.end(interrupted, run.observed.get_or_insert_default());
        }
        (run, writer, counted)
    }

    fn complain(&mut self, complaint: Option<String>) {
        if let Some(complaint) = complaint {
            let _ = self.live.say(&format!("prony: {complaint}"));
        }
    }
}

impl Observer for Watch {
    fn started(&mut self, start: &Start) {
        let count = self.count.as_ref();
        self.counting = count.and_then(|target| Counting::start(target, start.schedule));
        let look = self.look.take();
        self.observing = look.and_then(|job| Observing::start(job, start.schedule));
        let complaint = self.keeper.started(start);
        self.complain(complaint);
    }

    fn row(&mut self, row: &Row, schedule: &Schedule) {
        let complaint = self.keeper.row(row, schedule);
        self.complain(complaint);
        let mut seen = Vec::new();
        if let Some(observing) = &self.observing {
            let (seconds, complaint) = self.keeper.server(observing);
            seen = seconds;
            self.complain(complaint);
        }
        seen.iter().for_each(|second| self.live.server(second));
        if let Some(second) = self.keeper.last() {
            let _ = self.live.second(second);
            if let Some(metrics) = &mut self.metrics {
                metrics.row(row, second, &seen);
            }
        }
    }
}
