//! The figures of one interval, of one worker or of all workers merged.
//!
//! In: samples, and the loop's figures about itself. Out: an [`Interval`], which moves in a box from the
//! worker to the collector and back. Must never: allocate while recording.

use crate::errors::ErrorLedger;
use crate::gaps::Gaps;
use crate::health::Health;
use crate::sample::{Outcome, Sample};
use crate::schedule::Span;
use crate::tally::{RecorderLayout, Tally};
use prony_document::{ErrorClass, InFlight, QueryCounts, add_counts};
use serde::{Deserialize, Serialize};

/// Counts of the timestamps of replies, and the duration of a send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimestampCounts {
    /// Replies with a usable timestamp.
    pub usable: u64,
    /// Replies without a timestamp.
    pub missing: u64,
    /// Timestamps that were discarded because they are before their request, or after the loop noticed the
    /// reply.
    pub impossible: u64,
    /// Usable timestamps from a period in which the offset between the clocks changed.
    pub doubtful: u64,
    /// Number of changes of the offset between the clocks by more than a microsecond.
    pub clock_steps: u64,
    /// Sum of the estimated durations of a send, one after each transmit timestamp, nanoseconds.
    pub send_cost_sum_ns: u64,
    /// Number of transmit timestamps that contribute to `send_cost_sum_ns`.
    pub transmit_timestamps: u64,
}

impl TimestampCounts {
    pub fn add(&mut self, other: &TimestampCounts) {
        add_counts!(
            self,
            other,
            [
                usable,
                missing,
                impossible,
                doubtful,
                clock_steps,
                send_cost_sum_ns,
                transmit_timestamps
            ]
        );
    }

    /// Mean time for one send of a batch, nanoseconds; 0 without transmit timestamps.
    pub fn send_cost_ns(&self) -> f64 {
        if self.transmit_timestamps == 0 {
            return 0.0;
        }
        self.send_cost_sum_ns as f64 / self.transmit_timestamps as f64
    }
}

/// Transactions that are excluded from the figures of every phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludedTransactions {
    /// Transactions that ended after the window, or were in flight when the run was cut off.
    pub unfinished: u64,
    /// Outcomes of the unfinished transactions.
    pub in_flight: InFlight,
    /// How long the unfinished transactions had been in progress within the window when it ended, summed,
    /// nanoseconds.
    pub in_flight_ns: u64,
    /// The longest of these times, nanoseconds.
    pub in_flight_max_ns: u64,
    /// Scheduled starts that were due in the window and never began.
    pub never_started: u64,
    /// Samples that ended in an interval that was already delivered. They are counted in the next interval,
    /// or as unfinished after the window. A value above zero means that the loop reports ends out of order.
    pub counted_in_later_interval: u64,
}

impl ExcludedTransactions {
    /// Counts a transaction that no figure includes. `in_window_ns` is how long it had been in progress within
    /// the window when that ended.
    pub(crate) fn count(&mut self, outcome: Outcome, in_window_ns: u64) {
        match outcome {
            Outcome::Skipped => self.never_started += 1,
            _ => {
                self.unfinished += 1;
                self.add_in_flight_time(in_window_ns);
            }
        }
        match outcome {
            Outcome::Committed => self.in_flight.committed += 1,
            Outcome::RolledBack => self.in_flight.rolled_back += 1,
            Outcome::Failed(ErrorClass::AmbiguousCommit, _) => self.in_flight.ambiguous += 1,
            Outcome::Failed(..) => self.in_flight.failed += 1,
            // A skipped transaction was never in flight.
            Outcome::Skipped => {}
        }
    }

    /// Counts a transaction that the end of the run cut off. `in_window_ns` is how long it had been in progress
    /// within the window when that ended.
    pub fn count_cut_off(&mut self, may_have_committed: bool, in_window_ns: u64) {
        self.unfinished += 1;
        self.add_in_flight_time(in_window_ns);
        if may_have_committed {
            self.in_flight.ambiguous += 1
        } else {
            self.in_flight.cut_off += 1
        }
    }

    fn add_in_flight_time(&mut self, in_window_ns: u64) {
        self.in_flight_ns = self.in_flight_ns.saturating_add(in_window_ns);
        self.in_flight_max_ns = self.in_flight_max_ns.max(in_window_ns);
    }

    pub fn add(&mut self, other: &ExcludedTransactions) {
        self.unfinished = self.unfinished.saturating_add(other.unfinished);
        self.in_flight.add(&other.in_flight);
        self.in_flight_ns = self.in_flight_ns.saturating_add(other.in_flight_ns);
        self.in_flight_max_ns = self.in_flight_max_ns.max(other.in_flight_max_ns);
        add_counts!(self, other, [never_started, counted_in_later_interval]);
    }
}

/// What was recorded in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The interval's index, phase and times.
    pub span: Span,
    /// One entry for each kind. Empty in a row for which no worker delivered an interval.
    pub kinds: Vec<Tally<u32>>,
    /// The longest times in which no transaction ended.
    pub gaps: Gaps,
    pub errors: ErrorLedger,
    pub health: Health,
    pub queries: QueryCounts,
    pub timestamps: TimestampCounts,
    /// Transactions that no figure includes.
    pub excluded: ExcludedTransactions,
}

impl Interval {
    /// An empty interval with the memory that the layout needs.
    pub fn new(span: Span, layout: RecorderLayout) -> Interval {
        let kinds = (0..layout.kinds).map(|_| Tally::new(layout)).collect();
        Interval {
            kinds,
            ..Interval::empty(span)
        }
    }

    /// An interval without figures, and without memory for figures.
    pub fn empty(span: Span) -> Interval {
        Interval {
            span,
            kinds: Vec::new(),
            gaps: Gaps::default(),
            errors: ErrorLedger::default(),
            health: Health::default(),
            queries: QueryCounts::default(),
            timestamps: TimestampCounts::default(),
            excluded: ExcludedTransactions::default(),
        }
    }

    /// Counts one sample, without checking that it ended in this interval. Does not allocate.
    ///
    /// # Panics
    /// If the layout does not have the sample's kind.
    #[inline]
    pub fn record(&mut self, sample: &Sample) {
        self.kinds[usize::from(sample.kind)].record(sample);
        match sample.outcome {
            Outcome::Failed(class, code) => self.errors.count(sample.kind, class, code, 1),
            Outcome::Skipped => return,
            Outcome::Committed | Outcome::RolledBack => {}
        }
        let end_ns = sample.ended_ns.saturating_sub(self.span.start_ns);
        self.gaps.record_end(end_ns);
    }

    /// Adds another interval, of the same index or a later one; the result ends at the later of the two ends. Gaps
    /// of intervals with different starts are not known.
    pub fn add(&mut self, other: &Interval) {
        if self.span.start_ns == other.span.start_ns {
            self.gaps.intersect(&other.gaps)
        } else {
            self.gaps = Gaps::unknown()
        }
        self.span.end_ns = self.span.end_ns.max(other.span.end_ns);
        for (index, tally) in other.kinds.iter().enumerate() {
            match self.kinds.get_mut(index) {
                Some(sum) => sum.add_same(tally),
                None => self.kinds.push(tally.clone()),
            }
        }
        self.errors.add(&other.errors);
        self.health.add(&other.health);
        self.queries.add(&other.queries);
        self.timestamps.add(&other.timestamps);
        self.excluded.add(&other.excluded);
    }

    /// The sum of all kinds; `None` if the interval has no kinds, because no worker delivered it.
    pub fn all_kinds(&self) -> Option<Tally<u32>> {
        let (first, others) = self.kinds.split_first()?;
        let mut sum = first.clone();
        others.iter().for_each(|tally| sum.add_same(tally));
        Some(sum)
    }

    /// Removes all figures and keeps the memory.
    pub fn clear(&mut self) {
        self.kinds.iter_mut().for_each(Tally::clear);
        self.gaps = Gaps::default();
        self.errors.clear();
        self.health = Health::default();
        self.queries = QueryCounts::default();
        self.timestamps = TimestampCounts::default();
        self.excluded = ExcludedTransactions::default();
    }

    pub fn is_empty(&self) -> bool {
        self.excluded == ExcludedTransactions::default()
            && self.queries == QueryCounts::default()
            && self.timestamps == TimestampCounts::default()
            && self.errors.total() == 0
            && self.kinds.iter().all(|tally| {
                tally.committed + tally.rolled_back + tally.failed + tally.skipped == 0
            })
    }

    /// Whether the interval has exactly the memory that the layout needs.
    pub(crate) fn has_shape(&self, layout: RecorderLayout) -> bool {
        self.kinds.len() == layout.kinds
            && self.kinds.iter().all(|tally| {
                tally.service.is_some() == layout.open_loop
                    && tally.parts.is_some() == layout.has_parts
                    && tally.connect.is_some() == layout.has_connect_time
            })
    }
}
