//! The progress of a load: counted by its loaders, reported at most four times per second.
//!
//! Calls [`Progress::update`], and measures the seconds of each phase. Must never print, or take a
//! lock for each row.

use crate::names::named_enum;
use crate::parallel::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Minimum time between two reports within a phase.
const MIN_REPORT_INTERVAL: Duration = Duration::from_millis(250);

named_enum! {
    pub enum LoadPhase {
        /// Dropping the old tables and creating new ones.
        Create = "create",
        Rows = "rows",
        /// Collecting statistics, and marking pages all-visible if they are not yet.
        Statistics = "statistics",
        /// Building primary keys.
        Keys = "keys",
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ProgressUpdate {
    pub phase: LoadPhase,
    /// The current table; empty if the phase concerns all tables.
    pub table: &'static str,
    /// Rows of all tables sent so far.
    pub rows_done: u64,
    /// Rows of all tables to send.
    pub rows_total: u64,
    /// Time since the start of the load.
    pub elapsed: Duration,
}

/// Receives the updates on the progress of a load.
pub trait Progress: Sync {
    /// Called at the start of each phase and table, and at most four times per second within one. Any
    /// loader's thread may call it, but never two at once.
    fn update(&self, update: &ProgressUpdate);
}

impl Progress for () {
    fn update(&self, _: &ProgressUpdate) {}
}

/// Counts the progress of one load, and reports it to its [`Progress`].
pub struct ProgressMeter<'a> {
    progress: &'a dyn Progress,
    started: Instant,
    rows_total: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    state: Mutex<MeterState>,
}

struct MeterState {
    phase: LoadPhase,
    table: &'static str,
    phase_started: Instant,
    last_report: Instant,
    /// Total time in each phase so far, in seconds.
    phase_seconds: Vec<(LoadPhase, f64)>,
}

impl<'a> ProgressMeter<'a> {
    /// Starts the clock, in [`LoadPhase::Create`].
    pub fn start(progress: &'a dyn Progress, rows_total: u64) -> Self {
        let now = Instant::now();
        let state = MeterState {
            phase: LoadPhase::Create,
            table: "",
            phase_started: now,
            last_report: now,
            phase_seconds: Vec::new(),
        };
        let meter = ProgressMeter {
            progress,
            started: now,
            rows_total: AtomicU64::new(rows_total),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            state: Mutex::new(state),
        };
        meter.enter_phase(LoadPhase::Create, "");
        meter
    }

    /// Sets the number of rows to send, if it only becomes known after the start.
    pub fn set_rows_total(&self, rows_total: u64) {
        self.rows_total.store(rows_total, Ordering::Relaxed);
    }

    /// Begins a phase, or continues it with the next table.
    pub fn enter_phase(&self, phase: LoadPhase, table: &'static str) {
        let mut state = self.lock_state();
        let now = Instant::now();
        if state.phase != phase {
            state.end_phase(now);
            state.phase = phase;
        }
        state.table = table;
        self.report(&mut state, now);
    }

    /// Counts rows sent, and their bytes. Call it once per buffer, because a call per row is too expensive.
    pub fn add_sent(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        // If another loader is reporting progress, do not wait for it.
        let Ok(mut state) = self.state.try_lock() else {
            return;
        };
        let now = Instant::now();
        if now.duration_since(state.last_report) >= MIN_REPORT_INTERVAL {
            self.report(&mut state, now);
        }
    }

    /// Rows sent so far, of all tables.
    pub fn rows_sent(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Bytes of rows sent so far, without protocol framing.
    pub fn bytes_sent(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Ends the last phase; returns the seconds of each phase, in order, and of the whole load.
    pub fn finish(&self) -> (Vec<(LoadPhase, f64)>, f64) {
        let now = Instant::now();
        let mut state = self.lock_state();
        state.end_phase(now);
        let phases = std::mem::take(&mut state.phase_seconds);
        (phases, now.duration_since(self.started).as_secs_f64())
    }

    fn report(&self, state: &mut MeterState, now: Instant) {
        state.last_report = now;
        self.progress.update(&ProgressUpdate {
            phase: state.phase,
            table: state.table,
            rows_done: self.rows_sent(),
            rows_total: self.rows_total.load(Ordering::Relaxed),
            elapsed: now.duration_since(self.started),
        });
    }

    fn lock_state(&self) -> std::sync::MutexGuard<'_, MeterState> {
        // The lock is poisoned if a loader panicked, which is reported separately; the counts are still
        // valid.
        lock(&self.state)
    }
}

impl MeterState {
    /// Adds the time since the phase was entered to its total, because a phase may be entered more than once.
    fn end_phase(&mut self, now: Instant) {
        let seconds = now.duration_since(self.phase_started).as_secs_f64();
        self.phase_started = now;
        let phase = self.phase;
        match self
            .phase_seconds
            .iter_mut()
            .find(|(recorded, _)| *recorded == phase)
        {
            Some((_, sum)) => *sum += seconds,
            None => self.phase_seconds.push((phase, seconds)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct UpdateRecorder(Mutex<Vec<ProgressUpdate>>);
    impl Progress for UpdateRecorder {
        fn update(&self, update: &ProgressUpdate) {
            self.0.lock().expect("one thread").push(*update);
        }
    }

    #[test]
    fn reports_each_phase_start_but_not_each_buffer() {
        let recorder = UpdateRecorder(Mutex::new(Vec::new()));
        let meter = ProgressMeter::start(&recorder, 1000);
        meter.enter_phase(LoadPhase::Rows, "a");
        for _ in 0..1000 {
            meter.add_sent(1, 30);
        }
        meter.enter_phase(LoadPhase::Keys, "");
        let (phases, total) = meter.finish();
        assert_eq!((meter.rows_sent(), meter.bytes_sent()), (1000, 30_000));
        assert_eq!(
            phases.iter().map(|(phase, _)| *phase).collect::<Vec<_>>(),
            [LoadPhase::Create, LoadPhase::Rows, LoadPhase::Keys]
        );
        let sum: f64 = phases.iter().map(|(_, seconds)| seconds).sum();
        assert!(
            (sum - total).abs() < 1e-6,
            "the phases add up to {sum} s of {total} s"
        );
        let updates = recorder.0.into_inner().expect("one thread");
        let max_updates =
            3 + usize::try_from((total / MIN_REPORT_INTERVAL.as_secs_f64()) as u64).expect("small");
        assert!(
            updates.len() <= max_updates,
            "{} calls in {total} s",
            updates.len()
        );
        assert_eq!(updates.last().map(|update| update.rows_done), Some(1000));
    }
}
