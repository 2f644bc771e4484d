//! The figures of one interval: of one worker, or of all workers merged.
//!
//! In: samples, and what the loop tells of itself. Out: a box that is handed from the worker to
//! the collector and back. Must never: allocate while it records.

use crate::errors::ErrorLedger;
use crate::health::Health;
use crate::queries::Queries;
use crate::sample::{Outcome, Sample};
use crate::schedule::Span;
use crate::tally::{Shape, Tally};

/// What became of the stamps of replies, and what a send costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StampCounts {
    /// Replies with a usable stamp.
    pub stamped: u64,
    /// Replies without one.
    pub unstamped: u64,
    /// Stamps before their request or after their notice: discarded.
    pub impossible: u64,
    /// Stamps taken since the last reading of the clock offset when it was found to have moved.
    pub doubtful: u64,
    /// How often the offset between the clocks moved by more than a microsecond.
    pub clock_steps: u64,
    /// Sum of the calibrated send times, nanoseconds.
    pub send_cost_sum_ns: u64,
    /// Transmit stamps behind that sum.
    pub transmit_stamps: u64,
}

impl StampCounts {
    /// Adds another's counts.
    pub fn add(&mut self, other: &StampCounts) {
        self.stamped = self.stamped.saturating_add(other.stamped);
        self.unstamped = self.unstamped.saturating_add(other.unstamped);
        self.impossible = self.impossible.saturating_add(other.impossible);
        self.doubtful = self.doubtful.saturating_add(other.doubtful);
        self.clock_steps = self.clock_steps.saturating_add(other.clock_steps);
        self.send_cost_sum_ns = self.send_cost_sum_ns.saturating_add(other.send_cost_sum_ns);
        self.transmit_stamps = self.transmit_stamps.saturating_add(other.transmit_stamps);
    }

    /// Mean time for one send of a batch, nanoseconds; 0 without transmit stamps.
    pub fn send_cost_ns(&self) -> f64 {
        if self.transmit_stamps == 0 {
            return 0.0;
        }
        self.send_cost_sum_ns as f64 / self.transmit_stamps as f64
    }
}

/// What is not in any figure of the parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leftover {
    /// Transactions that ended after the window, or were in flight when the run was cut off.
    pub unfinished: u64,
    /// Scheduled starts that were due in the window and never began.
    pub never_started: u64,
    /// Samples that ended in an interval already handed over, and were counted in the next one
    /// (or as unfinished after the window). Not zero means that the loop reports ends out of order.
    pub misplaced: u64,
}

impl Leftover {
    /// Adds another's counts.
    pub fn add(&mut self, other: &Leftover) {
        self.unfinished = self.unfinished.saturating_add(other.unfinished);
        self.never_started = self.never_started.saturating_add(other.never_started);
        self.misplaced = self.misplaced.saturating_add(other.misplaced);
    }
}

/// The figures of one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Its place in time.
    pub span: Span,
    /// One entry a kind. Empty in a row that no worker had anything to say of.
    pub kinds: Vec<Tally<u32>>,
    /// Failures.
    pub errors: ErrorLedger,
    /// How the client did.
    pub health: Health,
    /// What users counted.
    pub queries: Queries,
    /// Stamps.
    pub stamps: StampCounts,
    /// What is in no figure.
    pub leftover: Leftover,
}

impl Interval {
    /// An empty interval with room for what the shape asks for.
    pub fn new(span: Span, shape: Shape) -> Interval {
        let kinds = (0..shape.kinds).map(|_| Tally::new(shape)).collect();
        Interval {
            kinds,
            ..Interval::empty(span)
        }
    }

    /// An interval in which nothing happened.
    pub fn empty(span: Span) -> Interval {
        Interval {
            span,
            kinds: Vec::new(),
            errors: ErrorLedger::default(),
            health: Health::default(),
            queries: Queries::default(),
            stamps: StampCounts::default(),
            leftover: Leftover::default(),
        }
    }

    /// Counts one sample, whenever it ended. Does not allocate.
    ///
    /// # Panics
    /// If the sample's kind is not one of the shape's.
    #[inline]
    pub fn record(&mut self, sample: &Sample) {
        self.kinds[usize::from(sample.kind)].record(sample);
        if let Outcome::Failed(class, code) = sample.outcome {
            self.errors.count(sample.kind, class, code, 1);
        }
    }

    /// Adds another interval of the same index; the later end of the two stands.
    pub fn add(&mut self, other: &Interval) {
        self.span.end_ns = self.span.end_ns.max(other.span.end_ns);
        for (place, tally) in other.kinds.iter().enumerate() {
            match self.kinds.get_mut(place) {
                Some(sum) => sum.add_same(tally),
                None => self.kinds.push(tally.clone()),
            }
        }
        self.errors.add(&other.errors);
        self.health.add(&other.health);
        self.queries.add(&other.queries);
        self.stamps.add(&other.stamps);
        self.leftover.add(&other.leftover);
    }

    /// All kinds together; `None` if nothing happened.
    pub fn all(&self) -> Option<Tally<u32>> {
        let (first, rest) = self.kinds.split_first()?;
        let mut all = first.clone();
        rest.iter().for_each(|tally| all.add_same(tally));
        Some(all)
    }

    /// Forgets all and keeps the memory.
    pub fn clear(&mut self) {
        self.kinds.iter_mut().for_each(Tally::clear);
        self.errors.clear();
        self.health = Health::default();
        self.queries = Queries::default();
        self.stamps = StampCounts::default();
        self.leftover = Leftover::default();
    }

    /// Whether there is nothing in it that a row would miss.
    pub fn is_void(&self) -> bool {
        self.leftover == Leftover::default()
            && self.queries == Queries::default()
            && self.stamps == StampCounts::default()
            && self.errors.total() == 0
            && self.kinds.iter().all(|tally| {
                tally.committed + tally.rolled_back + tally.failed + tally.skipped == 0
            })
    }

    /// Whether it has room for what the shape asks for, and no more.
    pub(crate) fn has_shape(&self, shape: Shape) -> bool {
        self.kinds.len() == shape.kinds
            && self.kinds.iter().all(|tally| {
                tally.service.is_some() == shape.open_loop
                    && tally.parts.is_some() == shape.parts
                    && tally.connect.is_some() == shape.connect
            })
    }
}
