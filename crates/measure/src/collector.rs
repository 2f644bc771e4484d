//! Merges the workers' recordings.
//!
//! In: finished intervals of all workers, or the rows of all processes that drive parts of the run. Out: one row for each
//! interval, and the totals of the phases. Must never: average a percentile, or count a sample twice.

use crate::errors::ErrorLedger;
use crate::health::{Health, ProcessHealth, ProcessProbe, sum_known};
use crate::interval::{ExcludedTransactions, Interval, TimestampCounts};
use crate::schedule::{RunPhase, RunSchedule, Span};
use crate::serialized::{ReceivedRow, add_worker_cpu};
use crate::tally::{RecorderLayout, Tally};
use prony_document::QueryCounts;
use std::collections::VecDeque;
use std::ops::Range;

/// An interval of a run.
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
    pub kinds: Vec<Tally<u64>>,
    pub errors: ErrorLedger,
    /// Health of all workers together; values as of the end of an interval are those of the last interval.
    pub health: Health,
    /// CPU time of each worker, nanoseconds.
    pub worker_cpu_ns: Vec<Option<u64>>,
    pub process: ProcessHealth,
    pub queries: QueryCounts,
    pub timestamps: TimestampCounts,
    /// Transactions that no figure includes.
    pub excluded: ExcludedTransactions,
}

impl Totals {
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
        add_worker_cpu(&mut self.worker_cpu_ns, &row.worker_cpu_ns);
    }

    /// The sum of all kinds.
    pub fn all_kinds(&self) -> Tally<u64> {
        let Some((first, others)) = self.kinds.split_first() else {
            return Tally::new(RecorderLayout::closed_loop(1));
        };
        let mut sum = first.clone();
        others.iter().for_each(|tally| sum.add_same(tally));
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
    /// What other processes reported of themselves and their machines; `None` if the row is of this process.
    process: Option<ProcessHealth>,
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

    /// Whether the worker has ended without delivering or skipping this interval.
    fn ended_before(&self, index: u32) -> bool {
        self.has_ended && self.next_index <= index
    }
}

/// Merges the intervals of all workers of a run. A worker is a thread of this process, or another process, which has merged
/// the intervals of its own threads ([`Collector::of_processes`]).
#[derive(Debug)]
pub struct Collector {
    schedule: RunSchedule,
    layout: RecorderLayout,
    workers: Vec<WorkerProgress>,
    /// The threads of each worker, as indexes of [`IntervalRow::worker_cpu_ns`]: one, or all those of a process.
    threads: Vec<Range<usize>>,
    /// Index of the first row in `pending_rows`.
    first_pending_index: u32,
    pending_rows: VecDeque<PendingRow>,
    #[expect(clippy::vec_box, reason = "the boxes are sent between threads")]
    spare_intervals: Vec<Box<Interval>>,
    probe: ProcessProbe,
    warmup: Totals,
    measured: Totals,
    /// The drain of the workers that have ended.
    drain: Option<Box<Interval>>,
}

impl Collector {
    pub fn new(schedule: RunSchedule, layout: RecorderLayout, workers: usize) -> Collector {
        Collector::of_processes(schedule, layout, &vec![1; workers])
    }

    /// A collector whose workers are processes with these numbers of threads, which deliver rows
    /// ([`Collector::add_row`]).
    pub fn of_processes(
        schedule: RunSchedule,
        layout: RecorderLayout,
        threads: &[usize],
    ) -> Collector {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for count in threads {
            let start = ranges.last().map_or(0, |before| before.end);
            ranges.push(start..start + count);
        }
        Collector {
            schedule,
            layout,
            workers: vec![WorkerProgress::default(); threads.len()],
            threads: ranges,
            first_pending_index: 0,
            pending_rows: VecDeque::new(),
            spare_intervals: Vec::new(),
            probe: ProcessProbe::new(),
            warmup: Totals::new(schedule.start_ns, layout),
            measured: Totals::new(schedule.window_start_ns(), layout),
            drain: None,
        }
    }

    /// Sets another length of the warm-up, as all workers do ([`crate::Recorder::set_warmup`]), before any row of the
    /// window.
    pub fn set_warmup(&mut self, warmup_ns: u64) {
        self.schedule.warmup_ns = warmup_ns;
        self.measured = Totals::new(self.schedule.window_start_ns(), self.layout);
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
            self.end_window(worker, span);
            return match &mut self.drain {
                Some(drain) => {
                    drain.add(&interval);
                    cleared(interval)
                }
                None => {
                    self.drain = Some(interval);
                    self.take_spare_or_new(span)
                }
            };
        }
        let index = self.record_delivery(worker, span, interval.health);
        let pending_row = &mut self.pending_rows[index];
        let threads = self.threads[worker].clone();
        add_thread_cpu(pending_row, threads, &[interval.health.cpu_ns()]);
        match &mut pending_row.interval {
            Some(merged) => {
                merged.add(&interval);
                cleared(interval)
            }
            // The interval of the first worker to deliver becomes the row, and the worker gets a spare one.
            None => {
                pending_row.interval = Some(interval);
                self.take_spare_or_new(span)
            }
        }
    }

    /// Adds the next row of a worker that is a process ([`Collector::of_processes`]). Rows are delivered in order of time;
    /// the last one may be the drain.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn add_row(&mut self, worker: usize, row: &ReceivedRow) {
        let (interval, span) = (&row.interval, row.interval.span());
        if span.phase == RunPhase::Drain {
            self.end_window(worker, span);
            let layout = self.layout;
            let empty = || Box::new(Interval::new(span, layout));
            return interval.add_to(self.drain.get_or_insert_with(empty));
        }
        let index = self.record_delivery(worker, span, interval.health());
        let pending_row = &mut self.pending_rows[index];
        let health = pending_row.process.get_or_insert_default();
        health.add_later(&row.process);
        let threads = self.threads[worker].clone();
        // A process with a single thread has its CPU time in the interval.
        match threads.len() {
            1 => add_thread_cpu(pending_row, threads, &[interval.health().cpu_ns()]),
            _ => add_thread_cpu(pending_row, threads, &row.worker_cpu_ns),
        }
        let mut sum = pending_row.interval.take().unwrap_or_else(|| {
            let mut first = self.take_spare_or_new(span);
            first.span = span;
            first
        });
        interval.add_to(&mut sum);
        self.pending_rows[index].interval = Some(sum);
    }

    /// Ends the window of a worker that delivers its drain, which is the last that it delivers.
    fn end_window(&mut self, worker: usize, span: Span) {
        // Every interval of the window gets a row, even if no transaction ended in the last ones.
        self.extend_pending_rows(span.index);
        self.fill_skipped_intervals(worker, span.index);
        self.end_worker(worker);
    }

    /// Records that a worker delivers an interval with this state at its end: adds the rows that are missing, and empty
    /// intervals for those that the worker skipped. Returns the index of the interval's pending row. If that row has been
    /// returned already, it is the index of the oldest one, so that no sample is lost.
    fn record_delivery(&mut self, worker: usize, span: Span, health: Health) -> usize {
        self.extend_pending_rows(span.index.max(self.first_pending_index).saturating_add(1));
        self.fill_skipped_intervals(worker, span.index);
        let progress = &mut self.workers[worker];
        progress.next_index = progress.next_index.max(span.index.saturating_add(1));
        progress.last_health = health;
        span.index.saturating_sub(self.first_pending_index) as usize
    }

    /// A cleared interval: a spare one, whose span is an old one, or a new one of this span.
    fn take_spare_or_new(&mut self, span: Span) -> Box<Interval> {
        match self.spare_intervals.pop() {
            Some(spare) => spare,
            None => Box::new(Interval::new(span, self.layout)),
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
        let process = match (pending_row.process, &pending_row.interval) {
            (Some(process), _) => process,
            (None, Some(_)) => self.probe.read_since_last(),
            (None, None) => ProcessHealth::default(),
        };
        let empty = || Box::new(Interval::empty(self.schedule.span(index)));
        let mut interval = pending_row.interval.unwrap_or_else(empty);
        interval
            .health
            .add_end_state(&pending_row.health_of_skipped_workers);
        // A worker that has ended has no connections any more; only its scheduling still counts.
        let workers = self.workers.iter();
        for worker in workers.filter(|worker| worker.ended_before(index)) {
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
        let interval = cleared(row.interval);
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
        for worker in 0..self.workers.len() {
            self.end_worker(worker);
        }
        let rows: Vec<IntervalRow> = std::iter::from_fn(|| self.next_row()).collect();
        if let Some(drain) = &self.drain {
            self.measured.excluded.add(&drain.excluded);
            self.measured.timestamps.add(&drain.timestamps);
            for (sum, tally) in self.measured.kinds.iter_mut().zip(&drain.kinds) {
                sum.committed_after_window += tally.committed_after_window;
            }
        }
        let drain_ns = self.drain.as_ref().map_or(0, |drain| {
            let window_end_ns = self.schedule.window_end_ns();
            drain.span.end_ns.saturating_sub(window_end_ns)
        });
        let has_warmup = self.schedule.warmup_ns > 0 && self.warmup.end_ns > self.warmup.start_ns;
        CollectedFigures {
            rows,
            drain_s: drain_ns as f64 / 1e9,
            warmup: has_warmup.then_some(self.warmup),
            measured: self.measured,
            drain: self.drain,
        }
    }

    /// Fills in the intervals before `end_index` that a worker skipped because it got no CPU in them: its
    /// connections stayed up and its starts kept waiting.
    fn fill_skipped_intervals(&mut self, worker: usize, end_index: u32) {
        let progress = &mut self.workers[worker];
        if progress.next_index >= end_index {
            return;
        }
        let first = self.first_pending_index;
        let from = progress.next_index.saturating_sub(first) as usize;
        let to = end_index.saturating_sub(first) as usize;
        progress.next_index = end_index;
        // The callers have added the rows before `end_index`.
        for pending_row in self.pending_rows.range_mut(from..to) {
            pending_row
                .health_of_skipped_workers
                .add_end_state(&progress.last_health);
        }
    }

    /// Adds pending rows for all intervals before this index.
    fn extend_pending_rows(&mut self, end_index: u32) {
        let row_count = end_index.saturating_sub(self.first_pending_index) as usize;
        let threads = self.threads.last().map_or(0, |threads| threads.end);
        while self.pending_rows.len() < row_count {
            self.pending_rows.push_back(PendingRow {
                interval: None,
                worker_cpu_ns: vec![None; threads],
                health_of_skipped_workers: Health::default(),
                process: None,
            });
        }
    }
}

fn cleared(mut interval: Box<Interval>) -> Box<Interval> {
    interval.clear();
    interval
}

fn add_thread_cpu(row: &mut PendingRow, threads: Range<usize>, cpu_ns: &[Option<u64>]) {
    for (sum_ns, added_ns) in row.worker_cpu_ns[threads].iter_mut().zip(cpu_ns) {
        *sum_ns = sum_known(*sum_ns, *added_ns);
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
    /// The drain of all workers, which `measured` includes; absent if none reached it.
    pub drain: Option<Box<Interval>>,
}
