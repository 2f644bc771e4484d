//! Merges what the workers recorded.
//!
//! In: finished intervals of all workers. Out: one row an interval, and the totals of the parts.
//! Must never: average a percentile, or count a sample twice.

use crate::errors::ErrorLedger;
use crate::health::{Health, ProcessHealth, ProcessProbe, sum};
use crate::interval::{Interval, Leftover, StampCounts};
use crate::queries::Queries;
use crate::schedule::{Part, Schedule};
use crate::tally::{Shape, Tally};
use std::collections::VecDeque;

/// One interval of the whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// All workers merged.
    pub interval: Box<Interval>,
    /// CPU time of each worker, nanoseconds; absent where it could not be read.
    pub worker_cpu_ns: Vec<Option<u64>>,
    /// The process and the machine, up to when the row was completed.
    pub process: ProcessHealth,
}

/// The figures of one part of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// Start of the part, nanoseconds of the run's clock.
    pub start_ns: u64,
    /// Its end: the end of the last interval of any worker.
    pub end_ns: u64,
    /// One entry a kind.
    pub kinds: Vec<Tally<u64>>,
    /// Failures.
    pub errors: ErrorLedger,
    /// The workers together; what stood at the end of an interval is that of the last one.
    pub health: Health,
    /// CPU time of each worker, nanoseconds.
    pub worker_cpu_ns: Vec<Option<u64>>,
    /// The process and the machine.
    pub process: ProcessHealth,
    /// What users counted.
    pub queries: Queries,
    /// Stamps.
    pub stamps: StampCounts,
    /// What is in no figure.
    pub leftover: Leftover,
}

impl Totals {
    /// Nothing yet.
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
            stamps: StampCounts::default(),
            leftover: Leftover::default(),
        }
    }

    /// Adds a row that follows those already in it.
    pub fn add(&mut self, row: &Row) {
        let interval = &row.interval;
        self.end_ns = self.end_ns.max(interval.span.end_ns);
        for (place, tally) in interval.kinds.iter().enumerate() {
            match self.kinds.get_mut(place) {
                Some(sum) => sum.add(tally),
                None => {
                    let mut sum = Tally::new(Shape::closed(1));
                    sum.add(tally);
                    self.kinds.push(sum);
                }
            }
        }
        self.errors.add(&interval.errors);
        self.health.follow(&interval.health);
        self.process.follow(&row.process);
        self.queries.add(&interval.queries);
        self.stamps.add(&interval.stamps);
        self.leftover.add(&interval.leftover);
        let workers = self.worker_cpu_ns.len().max(row.worker_cpu_ns.len());
        self.worker_cpu_ns.resize(workers, None);
        for (sum_ns, &cpu_ns) in self.worker_cpu_ns.iter_mut().zip(&row.worker_cpu_ns) {
            *sum_ns = sum(*sum_ns, cpu_ns);
        }
    }

    /// All kinds together.
    pub fn all(&self) -> Tally<u64> {
        let mut all = match self.kinds.first() {
            Some(first) => first.clone(),
            None => Tally::new(Shape::closed(1)),
        };
        self.kinds.iter().skip(1).for_each(|t| all.add_same(t));
        all
    }

    /// Length of the part, seconds.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }
}

/// A row to which some workers have still to add.
#[derive(Debug)]
struct Open {
    interval: Option<Box<Interval>>,
    worker_cpu_ns: Vec<Option<u64>>,
    /// What stood at the end of this interval with the workers that left it out.
    left_out: Health,
}

/// How far a worker is.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// The first interval that it has neither delivered nor left out.
    next: u32,
    /// It delivers nothing more.
    ended: bool,
    /// The health of the last interval that it delivered.
    last: Health,
}

impl Progress {
    fn is_past(&self, index: u32) -> bool {
        self.ended || self.next > index
    }
}

/// Merges the intervals of all workers of a run.
#[derive(Debug)]
pub struct Collector {
    schedule: Schedule,
    shape: Shape,
    workers: Vec<Progress>,
    /// Number of the first row in `open`.
    first: u32,
    open: VecDeque<Open>,
    #[expect(
        clippy::vec_box,
        reason = "the boxes travel between threads as they are"
    )]
    spares: Vec<Box<Interval>>,
    probe: ProcessProbe,
    warmup: Totals,
    measured: Totals,
    drain: Option<(u64, Leftover)>,
}

impl Collector {
    /// A collector for so many workers, all with this schedule and shape.
    pub fn new(schedule: Schedule, shape: Shape, workers: usize) -> Collector {
        Collector {
            schedule,
            shape,
            workers: vec![Progress::default(); workers],
            first: 0,
            open: VecDeque::new(),
            spares: Vec::new(),
            probe: ProcessProbe::new(),
            warmup: Totals::new(schedule.start_ns, shape),
            measured: Totals::new(schedule.window_start_ns(), shape),
            drain: None,
        }
    }

    /// Takes a worker's next finished interval and gives a cleared one for its
    /// [`crate::Recorder::give_back`]. A worker delivers in order of time; intervals that it left
    /// out are empty.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn add(&mut self, worker: usize, interval: Box<Interval>) -> Box<Interval> {
        let span = interval.span;
        if span.part == Part::Drain {
            // The window went on to its end, even if nothing ended in its last intervals.
            self.open_until(span.index);
            self.keep_standing(worker, span.index);
            self.end(worker);
            let drain = self.drain.get_or_insert_default();
            drain.0 = drain.0.max(span.end_ns);
            drain.1.add(&interval.leftover);
            self.measured.stamps.add(&interval.stamps);
            return self.cleared(interval);
        }
        // A worker that delivers out of order must not lose samples: the oldest open row has them.
        let place = span.index.saturating_sub(self.first) as usize;
        self.open_until(span.index.max(self.first).saturating_add(1));
        self.keep_standing(worker, span.index);
        let progress = &mut self.workers[worker];
        progress.next = progress.next.max(span.index.saturating_add(1));
        progress.last = interval.health;
        let open = &mut self.open[place];
        let cpu_ns = &mut open.worker_cpu_ns[worker];
        *cpu_ns = sum(*cpu_ns, interval.health.cpu_ns());
        match &mut open.interval {
            Some(row) => {
                row.add(&interval);
                self.cleared(interval)
            }
            // The first to deliver lends its box for the row, and gets another.
            None => {
                open.interval = Some(interval);
                match self.spares.pop() {
                    Some(spare) => spare,
                    None => Box::new(Interval::new(span, self.shape)),
                }
            }
        }
    }

    /// Notes that a worker delivers nothing more.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn end(&mut self, worker: usize) {
        self.workers[worker].ended = true;
    }

    /// The next row that every worker has delivered or is past, oldest first. Its figures are in
    /// the totals from then on.
    pub fn next_row(&mut self) -> Option<Row> {
        let complete = self.workers.iter().all(|of| of.is_past(self.first));
        if !complete || self.open.is_empty() {
            return None;
        }
        let open = self.open.pop_front()?;
        let index = self.first;
        self.first += 1;
        let process = match open.interval {
            Some(_) => self.probe.take(),
            None => ProcessHealth::default(),
        };
        let empty = || Box::new(Interval::empty(self.schedule.span(index)));
        let mut interval = open.interval.unwrap_or_else(empty);
        interval.health.add_standing(&open.left_out);
        // What an ended worker ran under stays true of the run; its connections are gone.
        for ended in self.workers.iter().filter(|of| of.next <= index) {
            interval.health.add_standing(&Health {
                batch: ended.last.batch,
                ..Health::default()
            });
        }
        let row = Row {
            interval,
            worker_cpu_ns: open.worker_cpu_ns,
            process,
        };
        match row.interval.span.part {
            Part::Warmup => self.warmup.add(&row),
            _ => self.measured.add(&row),
        }
        Some(row)
    }

    /// Brings back a row that nobody needs any more, so that its memory is used again.
    pub fn recycle(&mut self, row: Row) {
        let interval = self.cleared(row.interval);
        if interval.has_shape(self.shape) && self.spares.len() < 2 * self.workers.len() {
            self.spares.push(interval);
        }
    }

    /// Totals of the warm-up, of the rows given out so far.
    pub fn warmup(&self) -> &Totals {
        &self.warmup
    }

    /// Totals of the measured window, of the rows given out so far.
    pub fn measured(&self) -> &Totals {
        &self.measured
    }

    /// Ends the collection: the rows not yet given out, complete or not, and all totals.
    pub fn finish(mut self) -> Collected {
        (0..self.workers.len()).for_each(|worker| self.end(worker));
        let rows: Vec<Row> = std::iter::from_fn(|| self.next_row()).collect();
        let drain_end_ns = self.drain.map(|(end_ns, leftover)| {
            self.measured.leftover.add(&leftover);
            end_ns
        });
        let warmed = self.schedule.warmup_ns > 0 && self.warmup.end_ns > self.warmup.start_ns;
        Collected {
            rows,
            drain_s: drain_end_ns.map_or(0, |end_ns| {
                end_ns.saturating_sub(self.schedule.window_end_ns())
            }) as f64
                / 1e9,
            warmup: warmed.then_some(self.warmup),
            measured: self.measured,
        }
    }

    /// A worker that was kept from running over whole intervals left them out; its connections were
    /// up all the same, its starts waited on.
    fn keep_standing(&mut self, worker: usize, until: u32) {
        let progress = &mut self.workers[worker];
        let from = progress.next.saturating_sub(self.first) as usize;
        let left_out = until.saturating_sub(self.first).saturating_sub(from as u32);
        progress.next = progress.next.max(until);
        for open in self.open.iter_mut().skip(from).take(left_out as usize) {
            open.left_out.add_standing(&progress.last);
        }
    }

    /// Opens all rows before that index.
    fn open_until(&mut self, index: u32) {
        let rows = index.saturating_sub(self.first) as usize;
        let workers = self.workers.len();
        while self.open.len() < rows {
            self.open.push_back(Open {
                interval: None,
                worker_cpu_ns: vec![None; workers],
                left_out: Health::default(),
            });
        }
    }

    fn cleared(&self, mut interval: Box<Interval>) -> Box<Interval> {
        interval.clear();
        interval
    }
}

/// All that a run's workers recorded.
#[derive(Clone, Debug)]
pub struct Collected {
    /// Rows that had not been given out before.
    pub rows: Vec<Row>,
    /// The warm-up; absent where there was none.
    pub warmup: Option<Totals>,
    /// The measured window. Its `leftover.unfinished` holds what ended after it too.
    pub measured: Totals,
    /// From the end of the window until the last worker was done, seconds.
    pub drain_s: f64,
}
