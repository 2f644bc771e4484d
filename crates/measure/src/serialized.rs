//! The serialised form of an interval: what a journal stores, and what one machine sends to another.
//!
//! Converts an [`Interval`] to its serialised form and back, without loss. Must never: panic, or allocate
//! more than the input and the recorder layout of the run need, whatever a file or a network delivers.
//!
//! Times count from the start of the load, because the clocks of two machines have no common origin.

mod row;
mod tally;
mod times;

pub(crate) use row::add_worker_cpu;
pub use row::{PartTotals, ReceivedRow, SerializedRow};
pub use times::SerializedTimes;

use crate::errors::{ErrorEntry, ErrorLedger};
use crate::gaps::Gaps;
use crate::health::Health;
use crate::interval::{ExcludedTransactions, Interval, TimestampCounts};
use crate::schedule::{RunSchedule, Span};
use crate::tally::{RecorderLayout, Tally};
use prony_document::QueryCounts;
use serde::{Deserialize, Serialize};
use tally::{SerializedTally, SparseTally};

/// Largest count that is accepted: a billion per second for three days. Sums of many such counts do not
/// overflow.
const COUNT_MAX: u64 = 1 << 48;

/// Why a serialised interval is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInterval {
    /// Its times are invalid, or do not belong to an interval of this run.
    #[error("{0}")]
    Span(&'static str),
    /// It has other kinds of transaction or distributions than the run.
    #[error("it does not have the run's kinds of transaction and distributions")]
    Layout,
    /// Its counts contradict each other, or are impossibly large.
    #[error("{0}")]
    Count(&'static str),
    /// A histogram cannot be read.
    #[error("{0}")]
    Histogram(String),
}

/// The serialised form of an [`Interval`]. It omits the latency limit, which the receiver knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SerializedInterval {
    /// Its times count from the start of the load; an end of `u64::MAX` means that it has none.
    span: Span,
    kinds: Vec<SerializedTally>,
    errors: Vec<ErrorEntry>,
    other_errors: u64,
    health: Health,
    timestamps: TimestampCounts,
    excluded: ExcludedTransactions,
    /// [`Gaps::to_times`]; absent if the gaps are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gaps: Option<Vec<u64>>,
    queries: QueryCounts,
}

impl SerializedInterval {
    /// Serialises an interval; `load_start_ns` is the start of the load on the clock of the interval.
    pub fn new(interval: &Interval, load_start_ns: u64) -> SerializedInterval {
        let span = interval.span;
        SerializedInterval {
            span: Span {
                start_ns: span.start_ns.saturating_sub(load_start_ns),
                end_ns: match span.end_ns {
                    u64::MAX => u64::MAX,
                    end_ns => end_ns.saturating_sub(load_start_ns),
                },
                ..span
            },
            kinds: interval.kinds.iter().map(SerializedTally::new).collect(),
            errors: interval.errors.entries().to_vec(),
            other_errors: interval.errors.others(),
            health: interval.health,
            timestamps: interval.timestamps,
            excluded: interval.excluded,
            gaps: interval.gaps.to_times(),
            queries: interval.queries,
        }
    }

    /// The layout of these figures, with no latency limit. The number of kinds is not validated: check it
    /// before memory is reserved by it.
    pub fn layout(&self) -> RecorderLayout {
        let first = self.kinds.first();
        RecorderLayout {
            kinds: self.kinds.len(),
            ..first.map_or(RecorderLayout::closed_loop(0), SerializedTally::layout)
        }
    }

    /// Counts of transactions of all kinds: committed, rolled back, failed, skipped.
    pub fn counts(&self) -> [u64; 4] {
        let mut sums = [0_u64; 4];
        for tally in &self.kinds {
            for (sum, count) in sums.iter_mut().zip(tally.counts) {
                *sum = sum.saturating_add(count);
            }
        }
        sums
    }

    /// Restores the interval on a clock on which the load starts at `load_start_ns`.
    ///
    /// # Errors
    /// If the figures do not have this layout, or contradict each other. An interval without kinds matches
    /// every layout.
    pub fn into_interval(
        self,
        load_start_ns: u64,
        layout: RecorderLayout,
    ) -> Result<Interval, InvalidInterval> {
        let SparseInterval {
            others: mut interval,
            kinds,
        } = self.into_sparse(load_start_ns, layout)?;
        let restore = |sparse: &SparseTally| {
            let mut tally = Tally::new(layout);
            sparse.add_to(&mut tally);
            tally
        };
        interval.kinds = kinds.iter().map(restore).collect();
        Ok(interval)
    }

    /// Restores an interval that another machine recorded, for the [`crate::Collector`] of this schedule
    /// and layout, at the time `now_ns`.
    ///
    /// # Errors
    /// As [`SerializedInterval::into_interval`], and if it is not one of the schedule's intervals or cannot
    /// have begun: the collector would reserve memory for all intervals before it.
    pub fn into_interval_of_run(
        self,
        schedule: &RunSchedule,
        layout: RecorderLayout,
        now_ns: u64,
    ) -> Result<SparseInterval, InvalidInterval> {
        let span = self.span_on_clock(schedule.start_ns)?;
        let expected = schedule.span(span.index);
        if (expected.index, expected.phase, expected.start_ns)
            != (span.index, span.phase, span.start_ns)
            || span.end_ns > expected.end_ns
        {
            return Err(InvalidInterval::Span("it is not an interval of the run"));
        }
        if span.start_ns > now_ns {
            return Err(InvalidInterval::Span("it lies in the future"));
        }
        self.into_sparse(schedule.start_ns, layout)
    }

    fn into_sparse(
        self,
        load_start_ns: u64,
        layout: RecorderLayout,
    ) -> Result<SparseInterval, InvalidInterval> {
        self.check_counts()?;
        let mut others = Interval::empty(self.span_on_clock(load_start_ns)?);
        if !self.kinds.is_empty() {
            // Check before memory for histograms is reserved.
            let shapes_match = self.kinds.iter().all(|tally| tally.has_shape(layout));
            if self.kinds.len() != layout.kinds || !shapes_match {
                return Err(InvalidInterval::Layout);
            }
        }
        others.gaps = Gaps::from_times(self.gaps.as_deref())
            .ok_or(InvalidInterval::Span("its gaps contradict each other"))?;
        others.errors = self.to_error_ledger(layout.kinds)?;
        others.health = self.health;
        others.excluded = self.excluded;
        others.timestamps = self.timestamps;
        others.queries = self.queries;
        let kinds = self.kinds.into_iter().map(SerializedTally::into_sparse);
        Ok(SparseInterval {
            others,
            kinds: kinds.collect::<Result<_, _>>()?,
        })
    }

    fn span_on_clock(&self, load_start_ns: u64) -> Result<Span, InvalidInterval> {
        let on_clock = |since_start_ns: u64| match since_start_ns {
            u64::MAX => Some(u64::MAX),
            _ => load_start_ns.checked_add(since_start_ns),
        };
        match (on_clock(self.span.start_ns), on_clock(self.span.end_ns)) {
            (Some(start_ns), Some(end_ns)) if start_ns <= end_ns => Ok(Span {
                start_ns,
                end_ns,
                ..self.span
            }),
            _ => Err(InvalidInterval::Span("its times are impossible")),
        }
    }

    fn to_error_ledger(&self, kinds: usize) -> Result<ErrorLedger, InvalidInterval> {
        let mut errors = ErrorLedger::default();
        for error in &self.errors {
            if usize::from(error.kind) >= kinds {
                return Err(InvalidInterval::Layout);
            }
            errors.count(error.kind, error.class, error.code, error.count);
            errors.store_example(error.kind, error.class, error.code, &error.example);
        }
        errors.count_others(self.other_errors);
        Ok(errors)
    }

    fn check_counts(&self) -> Result<(), InvalidInterval> {
        // `send_cost_sum_ns`, `in_flight_ns` and the times of `health` are not checked, because they are added with
        // saturation; other counts are added without overflow checks.
        let (times, excluded, queries) = (&self.timestamps, &self.excluded, &self.queries);
        let (in_flight, health) = (&excluded.in_flight, &self.health);
        check_counts(&[
            times.usable,
            times.missing,
            times.impossible,
            times.doubtful,
        ])?;
        check_counts(&[times.clock_steps, times.transmit_timestamps])?;
        check_counts(&[excluded.unfinished, excluded.never_started])?;
        check_counts(&[excluded.counted_in_later_interval, self.other_errors])?;
        check_counts(&[in_flight.committed, in_flight.rolled_back, in_flight.failed])?;
        check_counts(&[in_flight.ambiguous, in_flight.cut_off])?;
        check_counts(&[queries.reads, queries.writes, queries.others])?;
        check_counts(&[queries.ignored_errors, queries.reconnects])?;
        check_counts(&[health.iterations, health.replies, health.starts_waiting])?;
        let mut errors = self.errors.iter();
        errors.try_for_each(|error| check_counts(&[error.count]))
    }
}

/// An interval of another machine, decoded and checked. It is added to another one in a time that depends on the buckets
/// that are not empty, and not on the size of histograms.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseInterval {
    /// All but the kinds.
    others: Interval,
    kinds: Vec<SparseTally>,
}

impl SparseInterval {
    /// The interval's index, phase and times.
    pub fn span(&self) -> Span {
        self.others.span
    }

    pub(crate) fn health(&self) -> Health {
        self.others.health
    }

    /// Adds the interval to one of the same span and layout.
    pub fn add_to(&self, sum: &mut Interval) {
        sum.add(&self.others);
        for (sum, tally) in sum.kinds.iter_mut().zip(&self.kinds) {
            tally.add_to(sum);
        }
    }
}

fn check_counts(counts: &[u64]) -> Result<(), InvalidInterval> {
    if counts.iter().all(|&count| count <= COUNT_MAX) {
        Ok(())
    } else {
        Err(InvalidInterval::Count("a count is impossibly large"))
    }
}
