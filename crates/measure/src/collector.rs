//! Merges the workers' recordings.
//!
//! In: finished intervals of all workers. Out: one row for each interval, and the totals of the phases.
//! Must never: average a percentile, or count a sample twice.

use crate::errors::ErrorLedger;
use crate::health::{Health, ProcessHealth, ProcessProbe, sum_known};
use crate::interval::{ExcludedTransactions, Interval, TimestampCounts};
use crate::schedule::{RunPhase, RunSchedule};
use crate::tally::{RecorderLayout, Tally};
use prony_document::QueryCounts;
use std::collections::VecDeque;

/// One interval of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalRow {
    /// The interval, merged from all workers.
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
    pub queries: QueryCounts,
    pub timestamps: TimestampCounts,
    /// Transactions that no figure includes.
    pub excluded: ExcludedTransactions,
}

impl Totals {
    /// Creates empty totals.
    pub fn new(start_ns: u64, layout: RecorderLayout) -> Totals {
        Totals {
            start_ns,
            end_ns: start_ns,
            kinds: (0..layout.kinds).map(|_| Tally::new(layout)).collect(),
            errors: ErrorLedger::default(),
            health: Health::default(),
            worker_cpu_ns: Vec::new(),
            process: ProcessHealth::default(),
            queries: QueryCounts::default(),
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
                    let mut sum = Tally::new(RecorderLayout::closed_loop(1));
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

    /// The tallies of all kinds, added up.
    pub fn all_kinds(&self) -> Tally<u64> {
        let mut sum = match self.kinds.first() {
            Some(first) => first.clone(),
            None => Tally::new(RecorderLayout::closed_loop(1)),
        };
        self.kinds
            .iter()
            .skip(1)
            .for_each(|tally| sum.add_same(tally));
        sum
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
    /// State of the workers that skipped this interval, at its end.
    health_of_skipped_workers: Health,
}

#[derive(Clone, Copy, Debug, Default)]
struct WorkerProgress {
    /// The first interval that the worker has neither delivered nor skipped.
    next_index: u32,
    has_ended: bool,
    /// Health in the last interval that the worker delivered.
    last_health: Health,
}

impl WorkerProgress {
    /// Whether the worker has delivered or skipped this interval, or has ended.
    fn has_passed(&self, index: u32) -> bool {
        self.has_ended || self.next_index > index
    }
}

/// Merges the intervals of all workers of a run.
#[derive(Debug)]
pub struct Collector {
    schedule: RunSchedule,
    layout: RecorderLayout,
    workers: Vec<WorkerProgress>,
    /// Index of the first row in `pending_rows`.
    first_pending_index: u32,
    pending_rows: VecDeque<PendingRow>,
    #[expect(clippy::vec_box, reason = "the boxes are sent between threads")]
    spare_intervals: Vec<Box<Interval>>,
    probe: ProcessProbe,
    warmup: Totals,
    measured: Totals,
    /// End of the drain in nanoseconds, and the transactions that ended in it or were cut off.
    drain: Option<(u64, ExcludedTransactions)>,
}

impl Collector {
    /// A collector for this number of workers, all with this schedule and layout.
    pub fn new(schedule: RunSchedule, layout: RecorderLayout, workers: usize) -> Collector {
        Collector {
            schedule,
            layout,
            workers: vec![WorkerProgress::default(); workers],
            first_pending_index: 0,
            pending_rows: VecDeque::new(),
            spare_intervals: Vec::new(),
            probe: ProcessProbe::new(),
            warmup: Totals::new(schedule.start_ns, layout),
            measured: Totals::new(schedule.window_start_ns(), layout),
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
            // Every interval of the window gets a row, even if no transaction ended in the last ones.
            self.extend_pending_rows(span.index);
            self.fill_skipped_intervals(worker, span.index);
            self.end_worker(worker);
            let (drain_end_ns, drained) = self.drain.get_or_insert_default();
            *drain_end_ns = (*drain_end_ns).max(span.end_ns);
            drained.add(&interval.excluded);
            self.measured.timestamps.add(&interval.timestamps);
            for (sum, tally) in self.measured.kinds.iter_mut().zip(&interval.kinds) {
                sum.committed_after_window += tally.committed_after_window;
            }
            return self.clear_interval(interval);
        }
        // If a worker delivers an interval whose row has been returned, its samples go to the oldest pending
        // row, so that none is lost.
        let index = span.index.saturating_sub(self.first_pending_index) as usize;
        self.extend_pending_rows(span.index.max(self.first_pending_index).saturating_add(1));
        self.fill_skipped_intervals(worker, span.index);
        let progress = &mut self.workers[worker];
        progress.next_index = progress.next_index.max(span.index.saturating_add(1));
        progress.last_health = interval.health;
        let pending_row = &mut self.pending_rows[index];
        let cpu_ns = &mut pending_row.worker_cpu_ns[worker];
        *cpu_ns = sum_known(*cpu_ns, interval.health.cpu_ns());
        match &mut pending_row.interval {
            Some(merged) => {
                merged.add(&interval);
                self.clear_interval(interval)
            }
            // The interval of the first worker to deliver becomes the row, and the worker gets a spare one.
            None => {
                pending_row.interval = Some(interval);
                match self.spare_intervals.pop() {
                    Some(spare) => spare,
                    None => Box::new(Interval::new(span, self.layout)),
                }
            }
        }
    }

    /// Records that a worker has ended.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn end_worker(&mut self, worker: usize) {
        self.workers[worker].has_ended = true;
    }

    /// Returns the oldest row that every worker has delivered or passed, and adds it to the totals.
    pub fn next_row(&mut self) -> Option<IntervalRow> {
        let is_complete = self
            .workers
            .iter()
            .all(|worker| worker.has_passed(self.first_pending_index));
        if !is_complete || self.pending_rows.is_empty() {
            return None;
        }
        let pending_row = self.pending_rows.pop_front()?;
        let index = self.first_pending_index;
        self.first_pending_index += 1;
        let process = match pending_row.interval {
            Some(_) => self.probe.read_since_last(),
            None => ProcessHealth::default(),
        };
        let empty = || Box::new(Interval::empty(self.schedule.span(index)));
        let mut interval = pending_row.interval.unwrap_or_else(empty);
        interval
            .health
            .add_end_state(&pending_row.health_of_skipped_workers);
        // A worker that has ended has no connections any more; only its scheduling still counts.
        let ended_workers = self
            .workers
            .iter()
            .filter(|worker| worker.next_index <= index);
        for worker in ended_workers {
            interval.health.add_end_state(&Health {
                batch: worker.last_health.batch,
                pinned_workers: worker.last_health.pinned_workers,
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
        let interval = self.clear_interval(row.interval);
        if interval.has_shape(self.layout) && self.spare_intervals.len() < 2 * self.workers.len() {
            self.spare_intervals.push(interval);
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
        (0..self.workers.len()).for_each(|worker| self.end_worker(worker));
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

    /// Fills in the intervals before `end_index` that a worker skipped because it got no CPU in them: its
    /// connections stayed up and its starts kept waiting.
    fn fill_skipped_intervals(&mut self, worker: usize, end_index: u32) {
        let progress = &mut self.workers[worker];
        let from = progress.next_index.saturating_sub(self.first_pending_index) as usize;
        let skipped_count = end_index
            .saturating_sub(self.first_pending_index)
            .saturating_sub(from as u32);
        progress.next_index = progress.next_index.max(end_index);
        for pending_row in self
            .pending_rows
            .iter_mut()
            .skip(from)
            .take(skipped_count as usize)
        {
            pending_row
                .health_of_skipped_workers
                .add_end_state(&progress.last_health);
        }
    }

    /// Adds pending rows for all intervals before this index.
    fn extend_pending_rows(&mut self, end_index: u32) {
        let row_count = end_index.saturating_sub(self.first_pending_index) as usize;
        let workers = self.workers.len();
        while self.pending_rows.len() < row_count {
            self.pending_rows.push_back(PendingRow {
                interval: None,
                worker_cpu_ns: vec![None; workers],
                health_of_skipped_workers: Health::default(),
            });
        }
    }

    fn clear_interval(&self, mut interval: Box<Interval>) -> Box<Interval> {
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
    /// The measured window. `excluded.unfinished` includes transactions that ended after the window.
    pub measured: Totals,
    /// Time from the end of the window until the last worker had ended, seconds.
    pub drain_s: f64,
}
