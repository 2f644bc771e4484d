//! The stored document of a run while it goes on.
//!
//! In: the start and the rows of the loop. Out: the document as far as it is known, and lines in its
//! journal. Must never: end a run because a second could not be stored.

use super::document;
use super::observing::Observing;
use prony_drive::Start;
use prony_measure::{Row, Schedule};
use prony_store::{Run, RunWriter, Second, ServerSecond, StoreError};

/// Keeps one run.
pub struct Keeper {
    writer: Option<RunWriter>,
    run: Run,
    complained: bool,
}

impl Keeper {
    /// Adds to this document, and to the journal if there is one.
    pub fn new(writer: Option<RunWriter>, run: Run) -> Keeper {
        Keeper {
            writer,
            run,
            complained: false,
        }
    }

    /// Gives back what it was given.
    pub fn end(self) -> (Run, Option<RunWriter>) {
        (self.run, self.writer)
    }

    /// The load starts. Gives a complaint if that could not be stored.
    pub fn started(&mut self, start: &Start) -> Option<String> {
        document::started(&mut self.run, start);
        let stored = match &mut self.writer {
            Some(writer) => writer.header(&self.run),
            None => Ok(()),
        };
        self.complaint(stored)
    }

    /// A second is complete. Gives a complaint if it could not be stored.
    pub fn row(&mut self, row: &Row, schedule: &Schedule) -> Option<String> {
        let stored = match &mut self.writer {
            Some(writer) => writer.second(row, schedule.start_ns),
            None => Ok(()),
        };
        self.run
            .series
            .push(prony_store::second(row, schedule.start_ns));
        self.complaint(stored)
    }

    /// Takes what was seen of the server since the last time, and gives its seconds. Gives a
    /// complaint if it could not be stored.
    pub fn server(&mut self, observing: &Observing) -> (Vec<ServerSecond>, Option<String>) {
        let heard = observing.hear(self.run.observed.get_or_insert_default());
        let Some(writer) = &mut self.writer else {
            return (heard.seconds, None);
        };
        let seconds = heard
            .seconds
            .iter()
            .map(|second| writer.server_second(second));
        let mut stored: Result<(), StoreError> = seconds.collect();
        for event in &heard.events {
            stored = stored.and(writer.server_event(event));
        }
        (heard.seconds, self.complaint(stored))
    }

    /// The last second.
    pub fn last(&self) -> Option<&Second> {
        self.run.series.last()
    }

    /// Says once that storing fails: the disk may be full, and the run goes on.
    fn complaint(&mut self, stored: Result<(), StoreError>) -> Option<String> {
        let error = stored.err()?;
        let first = !std::mem::replace(&mut self.complained, true);
        first.then(|| format!("{error}; the run goes on"))
    }
}
