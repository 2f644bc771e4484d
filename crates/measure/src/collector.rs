//! Merges the workers' recordings.
//!
//! In: finished intervals of all workers. Out: one row for each interval, and the totals of the phases.
//! Must never: average a percentile, or count a sample twice.

use crate::errors::ErrorLedger;
use crate::health::{Health, ProcessHealth, ProcessProbe, sum_known};
use crate::interval::{ExcludedTransactions, Interval, TimestampCounts};
use crate::queries::Queries;
use crate::schedule::{RunPhase, RunSchedule};
use crate::tally::{Shape, Tally};
use std::collections::VecDeque;

/// One interval of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalRow {
    /// All workers merged.
    pub interval: Box<Interval>,
    /// CPU time of each worker, nanoseconds; absent if it could not be read.
    pub worker_cpu_ns: Vec<Option<u64>>,
    /// The process and the machine since the previous row.
    pub process: ProcessHealth,
}

/// The figures of one phase of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// Start of the phase, nanoseconds on the run's clock.
    pub start_ns: u64,
    /// End of the phase: the end of the last interval of any worker.
    pub end_ns: u64,
    /// One entry per kind.
    pub kinds: Vec<Tally<u64>>,
    /// Failures.
    pub errors: ErrorLedger,
    /// Health of all workers together; values as of the end of an interval are those of the last interval.
    pub health: Health,
    /// CPU time of each worker, nanoseconds.
    pub worker_cpu_ns: Vec<Option<u64>>,
    /// The process and the machine.
    pub process: ProcessHealth,
    /// Queries and reconnects of the users.
    pub queries: Queries,
    /// Counts of timestamps.
    pub timestamps: TimestampCounts,
    /// Transactions that no figure includes.
    pub excluded: ExcludedTransactions,
}

impl Totals {
    /// Creates empty totals.
    pub fn new(start_ns: u64, shape: Shape) -> Totals {
        Totals {
            start_ns,
            end_ns: start_ns,
            kinds: (0..shape.kinds).map(|_| Tally::new(shape)).collect(),
            errors: ErrorLedger::default(),
            health: Health::default(),
            worker_cpu_ns: Vec::new(),
            process: ProcessHealth::default(),
            queries: Queries::default(),
            timestamps: TimestampCounts::default(),
            excluded: ExcludedTransactions::default(),
        }
    }

    /// Adds the next row.
    pub fn add(&mut self, row: &IntervalRow) {
        let interval = &row.interval;
        self.end_ns = self.end_ns.max(interval.span.end_ns);
        for (index, tally) in interval.kinds.iter().enumerate() {
            match self.kinds.get_mut(index) {
                Some(sum) => sum.add(tally),
                None => {
                    let mut sum = Tally::new(Shape::closed(1));
                    sum.add(tally);
                    self.kinds.push(sum);
                }
            }
        }
        self.errors.add(&interval.errors);
        self.health.add_later(&interval.health);
        self.process.add_later(&row.process);
        self.queries.add(&interval.queries);
        self.timestamps.add(&interval.timestamps);
        self.excluded.add(&interval.excluded);
        let workers = self.worker_cpu_ns.len().max(row.worker_cpu_ns.len());
        self.worker_cpu_ns.resize(workers, None);
        for (sum_ns, &cpu_ns) in self.worker_cpu_ns.iter_mut().zip(&row.worker_cpu_ns) {
            *sum_ns = sum_known(*sum_ns, cpu_ns);
        }
    }

    /// All kinds together.
    pub fn all(&self) -> Tally<u64> {
        let mut all = match self.kinds.first() {
            Some(first) => first.clone(),
            None => Tally::new(Shape::closed(1)),
        };
        self.kinds
            .iter()
            .skip(1)
            .for_each(|tally| all.add_same(tally));
        all
    }

    /// Length of the phase, seconds.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }
}

/// A row that some workers have not delivered yet.
#[derive(Debug)]
struct PendingRow {
    interval: Option<Box<Interval>>,
    worker_cpu_ns: Vec<Option<u64>>,
    /// State, at the end of this interval, of the workers that skipped it.
    skipped_workers: Health,
}

/// Progress of a worker.
#[derive(Clone, Copy, Debug, Default)]
struct WorkerProgress {
    /// The first interval that the worker has neither delivered nor skipped.
    next_index: u32,
    /// Whether the worker has ended.
    ended: bool,
    /// Health in the last interval that the worker delivered.
    last_health: Health,
}

impl WorkerProgress {
    fn has_passed(&self, index: u32) -> bool {
        self.ended || self.next_index > index
    }
}

/// Merges the intervals of all workers of a run.
#[derive(Debug)]
pub struct Collector {
    schedule: RunSchedule,
    shape: Shape,
    workers: Vec<WorkerProgress>,
    /// Index of the first row in `pending`.
    first_pending: u32,
    pending: VecDeque<PendingRow>,
    #[expect(clippy::vec_box, reason = "the boxes are sent between threads")]
    spares: Vec<Box<Interval>>,
    probe: ProcessProbe,
    warmup: Totals,
    measured: Totals,
    /// End of the drain, and the transactions that ended in it or were cut off.
    drain: Option<(u64, ExcludedTransactions)>,
}

impl Collector {
    /// A collector for this number of workers, all with this schedule and shape.
    pub fn new(schedule: RunSchedule, shape: Shape, workers: usize) -> Collector {
        Collector {
            schedule,
            shape,
            workers: vec![WorkerProgress::default(); workers],
            first_pending: 0,
            pending: VecDeque::new(),
            spares: Vec::new(),
            probe: ProcessProbe::new(),
            warmup: Totals::new(schedule.start_ns, shape),
            measured: Totals::new(schedule.window_start_ns(), shape),
            drain: None,
        }
    }

    /// Adds a worker's next finished interval and returns a cleared one for its
    /// [`crate::Recorder::give_back`]. A worker delivers intervals in order of time; intervals that it skips
    /// are empty.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn add(&mut self, worker: usize, interval: Box<Interval>) -> Box<Interval> {
        let span = interval.span;
        if span.phase == RunPhase::Drain {
            // The window lasted to its end, even if no transaction ended in its last intervals.
            self.extend_pending(span.index);
            self.fill_skipped(worker, span.index);
            self.end(worker);
            let drain = self.drain.get_or_insert_default();
            drain.0 = drain.0.max(span.end_ns);
            drain.1.add(&interval.excluded);
            self.measured.timestamps.add(&interval.timestamps);
            return self.cleared(interval);
        }
        // If a worker delivers an interval whose row has been returned, its samples go to the oldest pending
        // row, so that none is lost.
        let index = span.index.saturating_sub(self.first_pending) as usize;
        self.extend_pending(span.index.max(self.first_pending).saturating_add(1));
        self.fill_skipped(worker, span.index);
        let progress = &mut self.workers[worker];
        progress.next_index = progress.next_index.max(span.index.saturating_add(1));
        progress.last_health = interval.health;
        let pending_row = &mut self.pending[index];
        let cpu_ns = &mut pending_row.worker_cpu_ns[worker];
        *cpu_ns = sum_known(*cpu_ns, interval.health.cpu_ns());
        match &mut pending_row.interval {
            Some(row) => {
                row.add(&interval);
                self.cleared(interval)
            }
            // The interval of the first worker to deliver becomes the row, and the worker gets a spare one.
            None => {
                pending_row.interval = Some(interval);
                match self.spares.pop() {
                    Some(spare) => spare,
                    None => Box::new(Interval::new(span, self.shape)),
                }
            }
        }
    }

    /// Records that a worker has ended.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn end(&mut self, worker: usize) {
        self.workers[worker].ended = true;
    }

    /// Returns the oldest row that every worker has delivered or passed, and adds it to the totals.
    pub fn next_row(&mut self) -> Option<IntervalRow> {
        let complete = self
            .workers
            .iter()
            .all(|worker| worker.has_passed(self.first_pending));
        if !complete || self.pending.is_empty() {
            return None;
        }
        let pending_row = self.pending.pop_front()?;
        let index = self.first_pending;
        self.first_pending += 1;
        let process = match pending_row.interval {
            Some(_) => self.probe.read_since_last(),
            None => ProcessHealth::default(),
        };
        let empty = || Box::new(Interval::empty(self.schedule.span(index)));
        let mut interval = pending_row.interval.unwrap_or_else(empty);
        interval.health.add_end_state(&pending_row.skipped_workers);
        // Of a worker that has ended, only the scheduling policy still counts: its connections are closed.
        let ended_workers = self
            .workers
            .iter()
            .filter(|worker| worker.next_index <= index);
        for worker in ended_workers {
            interval.health.add_end_state(&Health {
                batch: worker.last_health.batch,
                ..Health::default()
            });
        }
        let row = IntervalRow {
            interval,
            worker_cpu_ns: pending_row.worker_cpu_ns,
            process,
        };
        match row.interval.span.phase {
            RunPhase::Warmup => self.warmup.add(&row),
            _ => self.measured.add(&row),
        }
        Some(row)
    }

    /// Returns a row that is no longer needed, so that its memory is reused.
    pub fn recycle(&mut self, row: IntervalRow) {
        let interval = self.cleared(row.interval);
        if interval.has_shape(self.shape) && self.spares.len() < 2 * self.workers.len() {
            self.spares.push(interval);
        }
    }

    /// Totals of the warm-up, over the rows returned so far.
    pub fn warmup(&self) -> &Totals {
        &self.warmup
    }

    /// Totals of the measured window, over the rows returned so far.
    pub fn measured(&self) -> &Totals {
        &self.measured
    }

    /// Ends the collection: returns the remaining rows, complete or not, and all totals.
    pub fn finish(mut self) -> CollectedFigures {
        (0..self.workers.len()).for_each(|worker| self.end(worker));
        let rows: Vec<IntervalRow> = std::iter::from_fn(|| self.next_row()).collect();
        let drain_end_ns = self.drain.map(|(end_ns, excluded)| {
            self.measured.excluded.add(&excluded);
            end_ns
        });
        let has_warmup = self.schedule.warmup_ns > 0 && self.warmup.end_ns > self.warmup.start_ns;
        CollectedFigures {
            rows,
            drain_s: drain_end_ns.map_or(0, |end_ns| {
                end_ns.saturating_sub(self.schedule.window_end_ns())
            }) as f64
                / 1e9,
            warmup: has_warmup.then_some(self.warmup),
            measured: self.measured,
        }
    }

    /// Fills in intervals that a worker skipped because it got no CPU in them: its connections stayed up
    /// and its starts kept waiting.
    fn fill_skipped(&mut self, worker: usize, end: u32) {
        let progress = &mut self.workers[worker];
        let from = progress.next_index.saturating_sub(self.first_pending) as usize;
        let skipped = end
            .saturating_sub(self.first_pending)
            .saturating_sub(from as u32);
        progress.next_index = progress.next_index.max(end);
        for pending_row in self.pending.iter_mut().skip(from).take(skipped as usize) {
            pending_row
                .skipped_workers
                .add_end_state(&progress.last_health);
        }
    }

    /// Adds pending rows up to this index.
    fn extend_pending(&mut self, index: u32) {
        let rows = index.saturating_sub(self.first_pending) as usize;
        let workers = self.workers.len();
        while self.pending.len() < rows {
            self.pending.push_back(PendingRow {
                interval: None,
                worker_cpu_ns: vec![None; workers],
                skipped_workers: Health::default(),
            });
        }
    }

    fn cleared(&self, mut interval: Box<Interval>) -> Box<Interval> {
        interval.clear();
        interval
    }
}

/// All figures that the workers of a run recorded.
#[derive(Clone, Debug)]
pub struct CollectedFigures {
    /// Rows that [`Collector::next_row`] has not returned.
    pub rows: Vec<IntervalRow>,
    /// The warm-up; absent if there was none.
    pub warmup: Option<Totals>,
    /// The measured window. Its `excluded.unfinished` includes transactions that ended after it.
    pub measured: Totals,
    /// Time from the end of the window until the last worker had ended, seconds.
    pub drain_s: f64,
}
