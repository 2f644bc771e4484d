//! The document and journal of a run in progress, accessible from any thread.
//!
//! Must never: end a run because a second could not be stored, or finish the document twice.

use crate::document;
use crate::observing::ServerObserver;
use prony_drive::LoadStart;
use prony_measure::{IntervalRow, RunSchedule};
use prony_store::{
    HistogramRecorder, LedgerAccount, Run, RunState, RunStore, RunWriter, Second, SecondSeries,
    ServerSecond, StoreError,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The document of a run in progress, and its journal.
#[derive(Clone, Default)]
pub struct Recording(Arc<Mutex<Option<RecordingState>>>);

/// A lock of the recording: while it exists, nothing is written.
#[must_use]
pub struct RecordingLock<'a>(
    #[expect(dead_code, reason = "holds the lock")] MutexGuard<'a, Option<RecordingState>>,
);

impl Recording {
    /// Begins to record; until then, nothing is.
    pub(crate) fn begin(&self, state: RecordingState) {
        *self.lock() = Some(state);
    }

    fn lock(&self) -> MutexGuard<'_, Option<RecordingState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn record_start(&self, start: &LoadStart) -> Result<(), StoreError> {
        match self.lock().as_mut() {
            Some(state) => state.record_start(start),
            None => Ok(()),
        }
    }

    /// Adds a complete second; returns it in the form of the document, and whether it could be stored.
    pub(crate) fn record_row(
        &self,
        row: &IntervalRow,
        schedule: &RunSchedule,
    ) -> (Option<Second>, Result<(), StoreError>) {
        match self.lock().as_mut() {
            Some(state) => {
                let result = state.record_row(row, schedule);
                (state.run.series.last().cloned(), result)
            }
            None => (None, Ok(())),
        }
    }

    /// Adds the server's observations since the last call; returns the server's seconds, and whether all could be stored.
    pub(crate) fn record_server(
        &self,
        observer: &ServerObserver,
    ) -> (Vec<ServerSecond>, Result<(), StoreError>) {
        match self.lock().as_mut() {
            Some(state) => state.record_server(observer),
            None => (Vec::new(), Ok(())),
        }
    }

    /// Writes what the clients know of their commits to the journal.
    pub(crate) fn record_ledger(&self, account: &LedgerAccount) -> Result<(), StoreError> {
        let mut state = self.lock();
        match state.as_mut().and_then(|state| state.storage.as_mut()) {
            Some((_, writer)) => writer.write_ledger(account),
            None => Ok(()),
        }
    }

    /// Ends the recording; returns the document, and what stores it if it is stored. After [`Recording::store_partial`] the
    /// document is empty.
    pub(crate) fn end(self) -> (Run, Option<RunWriter>) {
        match self.lock().take() {
            Some(mut state) => {
                let kinds = &state.run.workload.kinds;
                state.run.histograms = state.histograms.finish(kinds);
                (state.run, state.storage.map(|(_, writer)| writer))
            }
            None => (Run::default(), None),
        }
    }

    /// Stores the run so far as a partial run, or discards it if nothing was measured. Any thread of a
    /// process that is about to exit may call this method. Nothing is written while the returned lock exists.
    pub fn store_partial(&self, reason: &str) -> RecordingLock<'_> {
        let mut state = self.lock();
        if let Some((store, writer)) = state.take().and_then(|state| state.storage) {
            // Load the run from the journal: loading computes its totals, which `state.run` gets only at the
            // end.
            match store.load(writer.id()) {
                Ok(run) if run.series.is_empty() => writer.discard(),
                Ok(mut run) => {
                    run.state = RunState::Partial;
                    run.ended_because = Some(reason.to_owned());
                    prony_judge::judge_run(&mut run);
                    // If writing fails, the journal remains, with the same figures.
                    let _ = writer.finish(&run);
                }
                Err(_) => {}
            }
        }
        RecordingLock(state)
    }
}

/// The contents of a [`Recording`].
pub(crate) struct RecordingState {
    /// Where the run is stored, and the writer of its journal; `None` if it is not stored.
    storage: Option<(RunStore, RunWriter)>,
    run: Run,
    series: SecondSeries,
    histograms: HistogramRecorder,
}

impl RecordingState {
    /// A recording that extends this document, and the journal if there is one.
    pub(crate) fn new(storage: Option<(RunStore, RunWriter)>, run: Run) -> RecordingState {
        RecordingState {
            storage,
            run,
            series: SecondSeries::default(),
            histograms: HistogramRecorder::default(),
        }
    }

    fn record_start(&mut self, start: &LoadStart) -> Result<(), StoreError> {
        document::record_start(&mut self.run, start);
        match &mut self.storage {
            Some((_, writer)) => writer.write_header(&self.run),
            None => Ok(()),
        }
    }

    fn record_row(&mut self, row: &IntervalRow, schedule: &RunSchedule) -> Result<(), StoreError> {
        let result = match &mut self.storage {
            Some((_, writer)) => writer.write_second(row, schedule.start_ns),
            None => Ok(()),
        };
        let second = self.series.next_second(row, schedule.start_ns);
        self.run.series.push(second);
        self.histograms.add(row);
        result
    }

    fn record_server(
        &mut self,
        observer: &ServerObserver,
    ) -> (Vec<ServerSecond>, Result<(), StoreError>) {
        let update = observer.receive(self.run.observed.get_or_insert_default());
        let Some((_, writer)) = &mut self.storage else {
            return (update.seconds, Ok(()));
        };
        let mut result = Ok(());
        for second in &update.seconds {
            // Write all seconds, even if one write fails.
            let write_result = writer.write_server_second(second);
            result = result.and(write_result);
        }
        for event in &update.events {
            let write_result = writer.write_server_event(event);
            result = result.and(write_result);
        }
        (update.seconds, result)
    }
}
