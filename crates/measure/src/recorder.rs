//! Records the samples of one worker.
//!
//! In: samples of transactions as they end, and the time. Out: finished [`Interval`]s, one after the other.
//! Must never: allocate for a sample, take a lock, read a clock, or lose a sample.

use crate::health::ThreadProbe;
use crate::interval::{ExcludedTransactions, Interval, TimestampCounts};
use crate::sample::{ErrorCode, Outcome, Sample, TxnKind};
use crate::schedule::{RunPhase, RunSchedule};
use crate::tally::RecorderLayout;
use prony_document::{BatchScheduling, ErrorClass, QueryCounts};
use std::collections::VecDeque;

/// Maximum number of spare intervals. They are reused, so that a rotation does not allocate.
const MAX_SPARE_INTERVALS: usize = 3;

/// Records the samples of one worker thread, each in the interval in which it ended.
///
/// Take finished intervals with [`Recorder::take_finished`]; return them with [`Recorder::give_back`] when
/// the collector no longer needs them.
#[derive(Debug)]
pub struct Recorder {
    /// First nanosecond of the current interval.
    current_start_ns: u64,
    /// Length of the current interval; 0 in the drain, so that each sample goes to `record_outside_current`.
    current_length_ns: u64,
    current: Box<Interval>,
    schedule: RunSchedule,
    layout: RecorderLayout,
    finished: VecDeque<Box<Interval>>,
    #[expect(clippy::vec_box, reason = "the boxes are sent between threads")]
    spare_intervals: Vec<Box<Interval>>,
    probe: ThreadProbe,
    connections: u32,
    connections_lost: u32,
    is_coalescing: bool,
    batch: BatchScheduling,
    has_ended: bool,
}

impl Recorder {
    /// A recorder for the calling thread, whose CPU time it counts from now on.
    pub fn new(schedule: RunSchedule, layout: RecorderLayout) -> Recorder {
        let span = schedule.span_at(schedule.start_ns);
        let mut recorder = Recorder {
            current_start_ns: 0,
            current_length_ns: 0,
            current: Box::new(Interval::new(span, layout)),
            schedule,
            layout,
            finished: VecDeque::with_capacity(2 * MAX_SPARE_INTERVALS),
            spare_intervals: Vec::with_capacity(MAX_SPARE_INTERVALS),
            probe: ThreadProbe::new(),
            connections: 0,
            connections_lost: 0,
            is_coalescing: false,
            batch: BatchScheduling::default(),
            has_ended: false,
        };
        recorder
            .spare_intervals
            .push(Box::new(Interval::new(span, layout)));
        recorder.cache_current_bounds();
        recorder
    }

    pub fn schedule(&self) -> &RunSchedule {
        &self.schedule
    }

    /// Sets another length of the warm-up: whole intervals that the load has not reached. Call it before a
    /// [`Recorder::rotate`] to a time after it.
    pub fn set_warmup(&mut self, warmup_ns: u64) {
        self.schedule.warmup_ns = warmup_ns;
    }

    /// Counts one sample in the interval in which it ended, or as unfinished if it ended after the window.
    /// Does not allocate.
    ///
    /// Record samples in the order of their ends, and before a [`Recorder::rotate`] with a later time: a
    /// sample that ended in an interval that was already taken is counted in the current interval.
    ///
    /// # Panics
    /// If the layout does not have the sample's kind.
    #[inline]
    pub fn record(&mut self, sample: &Sample) {
        if sample.ended_ns.wrapping_sub(self.current_start_ns) < self.current_length_ns {
            self.current.record(sample);
        } else {
            self.record_outside_current(sample);
        }
    }

    /// Records an iteration of the loop: its duration in nanoseconds, and the number of replies handled.
    #[inline]
    pub fn record_iteration(&mut self, iteration_ns: u64, replies: u64) {
        let health = &mut self.current.health;
        health.iterations += 1;
        health.iteration_max_ns = health.iteration_max_ns.max(iteration_ns);
        health.replies += replies;
    }

    #[inline]
    pub fn count_queries(&mut self, queries: &QueryCounts) {
        self.current.queries.add(queries);
    }

    /// Whether a time is outside the current interval; always true in the drain.
    #[inline]
    pub fn is_outside_current(&self, at_ns: u64) -> bool {
        at_ns.wrapping_sub(self.current_start_ns) >= self.current_length_ns
    }

    #[inline]
    pub fn timestamps(&mut self) -> &mut TimestampCounts {
        &mut self.current.timestamps
    }

    /// Sets how many connections are up from now on, and how many are lost and not restored.
    #[inline]
    pub fn set_connections(&mut self, connections: u32, connections_lost: u32) {
        self.connections = connections;
        self.connections_lost = connections_lost;
    }

    /// Sets whether the worker waits for several replies at once from now on.
    pub fn set_coalescing(&mut self, is_coalescing: bool) {
        self.is_coalescing = is_coalescing;
    }

    /// Sets the scheduling policy of the worker's thread from now on.
    pub fn set_batch(&mut self, batch: BatchScheduling) {
        self.batch = batch;
    }

    /// Sets how many starts wait for a user and how many transactions are in progress as the current
    /// interval ends.
    pub fn set_waiting_and_in_progress(&mut self, starts_waiting: u64, in_progress: u32) {
        let health = &mut self.current.health;
        health.starts_waiting = starts_waiting;
        health.in_progress = in_progress;
    }

    /// Stores the first message of an error type. Call it for failed transactions only: it allocates.
    pub fn record_error_example(
        &mut self,
        kind: TxnKind,
        class: ErrorClass,
        code: ErrorCode,
        message: &str,
    ) {
        self.current
            .errors
            .store_example(kind, class, code, message);
    }

    /// The end of the current interval, at which [`Recorder::rotate`] is due. `u64::MAX` in the drain.
    #[inline]
    pub fn rotation_due_ns(&self) -> u64 {
        self.current.span.end_ns
    }

    /// Closes the current interval if it has ended at `now_ns`, and opens the one that contains `now_ns`;
    /// intervals between these two are skipped. Returns whether a finished interval is available.
    #[inline]
    pub fn rotate(&mut self, now_ns: u64) -> bool {
        if now_ns >= self.rotation_due_ns() && !self.has_ended {
            self.start_next_interval(now_ns);
        }
        self.has_finished()
    }

    #[inline]
    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    pub fn take_finished(&mut self) -> Option<Box<Interval>> {
        self.finished.pop_front()
    }

    /// Returns an interval that the collector no longer needs, already cleared.
    pub fn give_back(&mut self, interval: Box<Interval>) {
        if self.spare_intervals.len() < MAX_SPARE_INTERVALS && interval.has_shape(self.layout) {
            self.spare_intervals.push(interval);
        }
    }

    /// Ends the recording at `now_ns`: the current interval ends there, and can be taken. `excluded` are the
    /// transactions that were then in flight, or were due and never started.
    ///
    /// Samples recorded after this are counted as unfinished in the last interval unless it has been taken.
    pub fn finish(&mut self, now_ns: u64, excluded: ExcludedTransactions) {
        if self.has_ended {
            return;
        }
        self.rotate(now_ns);
        let span = &mut self.current.span;
        span.end_ns = now_ns.clamp(span.start_ns, span.end_ns);
        self.current.excluded.add(&excluded);
        let span = self.current.span;
        // If the run ends exactly where the current interval begins, that interval is empty and is not
        // delivered.
        if span.length_ns() > 0 || !self.current.is_empty() || span.phase == RunPhase::Drain {
            self.replace_current(Box::new(Interval::empty(span)));
        }
        self.current_length_ns = 0;
        self.has_ended = true;
    }

    /// Counts a sample that did not end in the current interval: in the next one, in a finished one that was not taken
    /// yet, or as unfinished.
    #[cold]
    fn record_outside_current(&mut self, sample: &Sample) {
        let ended_ns = sample.ended_ns;
        if ended_ns >= self.rotation_due_ns() && !self.has_ended {
            self.start_next_interval(ended_ns);
        }
        let current = &mut self.current;
        let is_recording = !self.has_ended && current.span.phase != RunPhase::Drain;
        if is_recording && ended_ns >= current.span.start_ns {
            return current.record(sample);
        }
        if ended_ns < current.span.start_ns || self.has_ended {
            let containing_interval = self.finished.iter_mut().rev().find(|interval| {
                let span = interval.span;
                span.phase != RunPhase::Drain && (span.start_ns..span.end_ns).contains(&ended_ns)
            });
            if let Some(interval) = containing_interval {
                return interval.record(sample);
            }
            // The first interval counts transactions that ended before the start of the load.
            if is_recording {
                current.excluded.counted_in_later_interval += u64::from(current.span.index > 0);
                return current.record(sample);
            }
        }
        let last_interval = match self.finished.back_mut() {
            Some(interval) if self.has_ended => interval,
            _ => current,
        };
        last_interval.excluded.counted_in_later_interval +=
            u64::from(ended_ns < self.schedule.window_end_ns());
        let in_window_ns = self.schedule.time_in_window_ns(sample.started_ns, ended_ns);
        last_interval.excluded.count(sample.outcome, in_window_ns);
        if sample.outcome == Outcome::Committed
            && let Some(tally) = last_interval.kinds.get_mut(usize::from(sample.kind))
        {
            tally.committed_after_window += 1;
        }
    }

    /// Finishes the current interval and opens the one that contains `now_ns`.
    #[cold]
    fn start_next_interval(&mut self, now_ns: u64) {
        let next = match self.spare_intervals.pop() {
            Some(spare) => spare,
            None => Box::new(Interval::new(self.current.span, self.layout)),
        };
        self.replace_current(next);
        self.current.span = self.schedule.span_at(now_ns);
        self.cache_current_bounds();
    }

    /// Moves the current interval to the finished ones.
    fn replace_current(&mut self, next: Box<Interval>) {
        let mut closed = std::mem::replace(&mut self.current, next);
        closed.health.connections = self.connections;
        closed.health.connections_lost = self.connections_lost;
        closed.health.coalescing_workers = self.is_coalescing.into();
        closed.health.batch = self.batch;
        self.probe.fill_in(&mut closed.health);
        self.finished.push_back(closed);
    }

    fn cache_current_bounds(&mut self) {
        let span = self.current.span;
        self.current_start_ns = span.start_ns;
        self.current_length_ns = match span.phase {
            RunPhase::Drain => 0,
            _ => span.length_ns(),
        };
    }
}
