//! The serialised form of an interval: what a journal stores, and what one machine sends to another.
//!
//! Converts an [`Interval`] to its serialised form and back, without loss. Must never: panic, or allocate
//! more than the input and the recorder layout of the run need, whatever a file or a network delivers.
//!
//! Times count from the start of the load, because the clocks of two machines have no common origin.

mod tally;

use crate::errors::ErrorLedger;
use crate::gaps::Gaps;
use crate::health::{BatchPolicyCounts, Health};
use crate::interval::{ExcludedTransactions, InFlight, Interval, TimestampCounts};
use crate::queries::Queries;
use crate::sample::{ErrorCode, TxnKind};
use crate::schedule::{RunPhase, RunSchedule, Span};
use crate::tally::RecorderLayout;
use prony_wire::ErrorClass;
use serde::{Deserialize, Serialize};
use tally::SerializedTally;

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
    /// An error has a class or code that does not exist.
    #[error("{0}")]
    Error(&'static str),
}

/// The serialised form of an [`Interval`]. It omits the latency limit, which the receiver knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SerializedInterval {
    index: u32,
    phase: String,
    /// Start of the interval, since the start of the load.
    start_ns: u64,
    /// End of the interval, since the start of the load; `u64::MAX` if it has no end.
    end_ns: u64,
    kinds: Vec<SerializedTally>,
    errors: Vec<SerializedError>,
    other_errors: u64,
    cpu_user_ns: Option<u64>,
    cpu_system_ns: Option<u64>,
    run_queue_ns: Option<u64>,
    iterations: u64,
    iteration_max_ns: u64,
    replies: u64,
    connections: u32,
    #[serde(default)]
    connections_lost: u32,
    #[serde(default)]
    starts_waiting: u64,
    #[serde(default)]
    in_progress: u32,
    /// Workers under `SCHED_BATCH`, workers that returned to the default policy, refused requests.
    #[serde(default)]
    batch: [u32; 3],
    #[serde(default)]
    coalescing_workers: u32,
    #[serde(default)]
    pinned_workers: u32,
    /// Usable, missing, impossible, doubtful, clock steps, send cost sum, transmit timestamps.
    timestamps: [u64; 7],
    /// Unfinished, never started, counted in a later interval.
    excluded: [u64; 3],
    /// Outcomes of the unfinished: committed, rolled back, failed, ambiguous, cut off.
    #[serde(default)]
    in_flight: [u64; 5],
    /// How long they had been in progress within the window.
    #[serde(default)]
    in_flight_ns: u64,
    /// The longest of these times.
    #[serde(default)]
    in_flight_max_ns: u64,
    /// [`Gaps::to_times`]; absent if the gaps are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gaps: Option<Vec<u64>>,
    /// Reads, writes, others, ignored errors, reconnects.
    #[serde(default)]
    queries: [u64; 5],
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SerializedError {
    kind: TxnKind,
    class: String,
    /// The code as text, with one character for each byte.
    code: String,
    count: u64,
    example: String,
}

impl SerializedInterval {
    /// Serialises an interval; `load_start_ns` is the start of the load on the clock of the interval.
    pub fn new(interval: &Interval, load_start_ns: u64) -> SerializedInterval {
        let (span, health, excluded) = (interval.span, interval.health, interval.excluded);
        let errors = interval
            .errors
            .entries()
            .iter()
            .map(|entry| SerializedError {
                kind: entry.kind,
                class: entry.class.name().into(),
                code: entry.code.iter().map(|&byte| char::from(byte)).collect(),
                count: entry.count,
                example: entry.example.clone(),
            });
        SerializedInterval {
            index: span.index,
            phase: span.phase.name().into(),
            start_ns: span.start_ns.saturating_sub(load_start_ns),
            end_ns: match span.end_ns {
                u64::MAX => u64::MAX,
                end_ns => end_ns.saturating_sub(load_start_ns),
            },
            kinds: interval.kinds.iter().map(SerializedTally::new).collect(),
            errors: errors.collect(),
            other_errors: interval.errors.others(),
            cpu_user_ns: health.cpu_user_ns,
            cpu_system_ns: health.cpu_system_ns,
            run_queue_ns: health.run_queue_ns,
            iterations: health.iterations,
            iteration_max_ns: health.iteration_max_ns,
            replies: health.replies,
            connections: health.connections,
            connections_lost: health.connections_lost,
            starts_waiting: health.starts_waiting,
            in_progress: health.in_progress,
            batch: health.batch.to_counts(),
            coalescing_workers: health.coalescing_workers,
            pinned_workers: health.pinned_workers,
            timestamps: interval.timestamps.to_counts(),
            excluded: [
                excluded.unfinished,
                excluded.never_started,
                excluded.counted_in_later_interval,
            ],
            in_flight: excluded.in_flight.to_counts(),
            in_flight_ns: excluded.in_flight_ns,
            in_flight_max_ns: excluded.in_flight_max_ns,
            gaps: interval.gaps.to_times(),
            queries: interval.queries.to_counts(),
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
        self.check_counts()?;
        let mut interval = Interval::empty(self.span_on_clock(load_start_ns)?);
        if !self.kinds.is_empty() {
            // Check before memory for histograms is reserved.
            let shapes_match = self.kinds.iter().all(|tally| tally.has_shape(layout));
            if self.kinds.len() != layout.kinds || !shapes_match {
                return Err(InvalidInterval::Layout);
            }
        }
        interval.gaps = Gaps::from_times(self.gaps.as_deref())
            .ok_or(InvalidInterval::Span("its gaps contradict each other"))?;
        interval.errors = self.to_error_ledger(layout.kinds)?;
        interval.health = self.to_health();
        let [unfinished, never_started, counted_in_later_interval] = self.excluded;
        interval.excluded = ExcludedTransactions {
            unfinished,
            in_flight: InFlight::from_counts(self.in_flight),
            in_flight_ns: self.in_flight_ns,
            in_flight_max_ns: self.in_flight_max_ns,
            never_started,
            counted_in_later_interval,
        };
        interval.timestamps = TimestampCounts::from_counts(self.timestamps);
        interval.queries = Queries::from_counts(self.queries);
        let tallies = self.kinds.into_iter();
        interval.kinds = tallies
            .map(|tally| tally.into_tally(layout.latency_limit_ns))
            .collect::<Result<_, _>>()?;
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
    ) -> Result<Interval, InvalidInterval> {
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
        self.into_interval(schedule.start_ns, layout)
    }

    fn span_on_clock(&self, load_start_ns: u64) -> Result<Span, InvalidInterval> {
        let phase = RunPhase::from_name(&self.phase);
        let phase = phase.ok_or(InvalidInterval::Span("its phase is unknown"))?;
        let on_clock = |since_start_ns: u64| match since_start_ns {
            u64::MAX => Some(u64::MAX),
            _ => load_start_ns.checked_add(since_start_ns),
        };
        match (on_clock(self.start_ns), on_clock(self.end_ns)) {
            (Some(start_ns), Some(end_ns)) if start_ns <= end_ns => Ok(Span {
                index: self.index,
                phase,
                start_ns,
                end_ns,
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
            let class = ErrorClass::from_name(&error.class)
                .ok_or(InvalidInterval::Error("a class of error is unknown"))?;
            let code = parse_error_code(&error.code).ok_or(InvalidInterval::Error(
                "an error code does not have five characters",
            ))?;
            errors.count(error.kind, class, code, error.count);
            errors.store_example(error.kind, class, code, &error.example);
        }
        errors.count_others(self.other_errors);
        Ok(errors)
    }

    fn to_health(&self) -> Health {
        Health {
            cpu_user_ns: self.cpu_user_ns,
            cpu_system_ns: self.cpu_system_ns,
            run_queue_ns: self.run_queue_ns,
            iterations: self.iterations,
            iteration_max_ns: self.iteration_max_ns,
            replies: self.replies,
            connections: self.connections,
            connections_lost: self.connections_lost,
            starts_waiting: self.starts_waiting,
            in_progress: self.in_progress,
            batch: BatchPolicyCounts::from_counts(self.batch),
            coalescing_workers: self.coalescing_workers,
            pinned_workers: self.pinned_workers,
        }
    }

    fn check_counts(&self) -> Result<(), InvalidInterval> {
        // `send_cost_sum_ns` (`_`) and `in_flight_ns` are not checked, because they are added with saturation;
        // the other counts are added without overflow checks.
        let [
            usable,
            missing,
            impossible,
            doubtful,
            clock_steps,
            _,
            transmit_timestamps,
        ] = self.timestamps;
        let timestamps = [
            usable,
            missing,
            impossible,
            doubtful,
            clock_steps,
            transmit_timestamps,
        ];
        let health = [
            self.iterations,
            self.replies,
            self.starts_waiting,
            self.other_errors,
        ];
        check_counts(&timestamps)?;
        check_counts(&health)?;
        check_counts(&self.excluded)?;
        check_counts(&self.in_flight)?;
        check_counts(&self.queries)?;
        let mut errors = self.errors.iter();
        errors.try_for_each(|error| check_counts(&[error.count]))
    }
}

fn check_counts(counts: &[u64]) -> Result<(), InvalidInterval> {
    if counts.iter().all(|&count| count <= COUNT_MAX) {
        Ok(())
    } else {
        Err(InvalidInterval::Count("a count is impossibly large"))
    }
}

/// Parses a code of five characters, each of which encodes a byte.
fn parse_error_code(text: &str) -> Option<ErrorCode> {
    let mut code = ErrorCode::default();
    let mut chars = text.chars();
    for byte in &mut code {
        *byte = u8::try_from(chars.next()?).ok()?;
    }
    chars.next().is_none().then_some(code)
}

/// Counts that are serialised as an array, in this order.
trait CountArray<const N: usize, T> {
    fn to_counts(self) -> [T; N];
    fn from_counts(counts: [T; N]) -> Self;
}

macro_rules! impl_count_array {
    ($($type:ident [$number:ty; $length:literal] { $($field:ident),+ })+) => {$(
        impl CountArray<$length, $number> for $type {
            fn to_counts(self) -> [$number; $length] {
                [$(self.$field),+]
            }

            fn from_counts([$($field),+]: [$number; $length]) -> $type {
                $type { $($field),+ }
            }
        }
    )+};
}

impl_count_array! {
    BatchPolicyCounts [u32; 3] { active, reverted, refused }
    InFlight [u64; 5] { committed, rolled_back, failed, ambiguous, cut_off }
    Queries [u64; 5] { reads, writes, others, errors, reconnects }
    TimestampCounts [u64; 7] {
        usable, missing, impossible, doubtful, clock_steps, send_cost_sum_ns, transmit_timestamps
    }
}
