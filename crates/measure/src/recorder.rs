//! Records the samples of one worker.
//!
//! In: samples as they end, and the time. Out: one finished [`Interval`] after the other. Must
//! never: allocate for a sample, lock, read a clock, or lose a sample.

use crate::health::ThreadProbe;
use crate::interval::{Interval, Leftover, StampCounts};
use crate::queries::Queries;
use crate::sample::{Code, ErrorClass, Kind, Outcome, Sample};
use crate::schedule::{Part, Schedule};
use crate::tally::Shape;
use std::collections::VecDeque;

/// Spare intervals kept, so that a rotation need not allocate.
const SPARES_MAX: usize = 3;

/// Records the samples of one worker thread, each in the interval in which it ended.
///
/// Finished intervals are to be taken with [`Recorder::take`] and brought back, when the collector
/// is done with them, with [`Recorder::give_back`].
#[derive(Debug)]
pub struct Recorder {
    /// First nanosecond of the current interval.
    from_ns: u64,
    /// Its length; 0 in the drain, so that each sample takes the slow path.
    length_ns: u64,
    current: Box<Interval>,
    schedule: Schedule,
    shape: Shape,
    finished: VecDeque<Box<Interval>>,
    #[expect(
        clippy::vec_box,
        reason = "the boxes travel between threads as they are"
    )]
    spares: Vec<Box<Interval>>,
    probe: ThreadProbe,
    connections: u32,
    done: bool,
}

impl Recorder {
    /// A recorder for the calling thread, whose CPU time it counts from now on.
    pub fn new(schedule: Schedule, shape: Shape) -> Recorder {
        let span = schedule.span_at(schedule.start_ns);
        let mut recorder = Recorder {
            from_ns: 0,
            length_ns: 0,
            current: Box::new(Interval::new(span, shape)),
            schedule,
            shape,
            finished: VecDeque::with_capacity(2 * SPARES_MAX),
            spares: Vec::with_capacity(SPARES_MAX),
            probe: ThreadProbe::new(),
            connections: 0,
            done: false,
        };
        recorder.spares.push(Box::new(Interval::new(span, shape)));
        recorder.watch_current();
        recorder
    }

    /// Counts one sample in the interval in which it ended; after the window, as unfinished. Does
    /// not allocate.
    ///
    /// Samples should come in the order of their ends, and before a [`Recorder::rotate`] with a
    /// later time: one that ended in an interval already taken is counted in the current one.
    ///
    /// # Panics
    /// If the sample's kind is not one of the shape's.
    #[inline]
    pub fn record(&mut self, sample: &Sample) {
        if sample.ended_ns.wrapping_sub(self.from_ns) < self.length_ns {
            self.current.record(sample);
        } else {
            self.record_elsewhere(sample);
        }
    }

    /// Notes a turn of the loop: how long it took, nanoseconds, and how many replies it handled.
    #[inline]
    pub fn turn(&mut self, turn_ns: u64, replies: u64) {
        let health = &mut self.current.health;
        health.turns += 1;
        health.turn_max_ns = health.turn_max_ns.max(turn_ns);
        health.replies += replies;
    }

    /// Adds what users counted since the last call to the current interval.
    #[inline]
    pub fn count(&mut self, queries: &Queries) {
        self.current.queries.add(queries);
    }

    /// Whether a moment lies outside the current interval; always, in the drain.
    #[inline]
    pub fn is_past(&self, at_ns: u64) -> bool {
        at_ns.wrapping_sub(self.from_ns) >= self.length_ns
    }

    /// The current interval's counts of stamps.
    #[inline]
    pub fn stamps(&mut self) -> &mut StampCounts {
        &mut self.current.stamps
    }

    /// Sets how many connections are up from now on.
    #[inline]
    pub fn set_connections(&mut self, connections: u32) {
        self.connections = connections;
    }

    /// Sets how many starts wait for a user and how many transactions are under way as the current
    /// interval ends.
    pub fn set_queue(&mut self, waiting: u64, under_way: u32) {
        let health = &mut self.current.health;
        (health.waiting, health.under_way) = (waiting, under_way);
    }

    /// Keeps the first message of a sort of error. To be called in the error path only.
    pub fn record_error_example(
        &mut self,
        kind: Kind,
        class: ErrorClass,
        code: Code,
        message: &str,
    ) {
        self.current.errors.example(kind, class, code, message);
    }

    /// When the current interval ends: [`Recorder::rotate`] is due then. `u64::MAX` in the drain.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.current.span.end_ns
    }

    /// Closes the current interval if it has ended at `now_ns`; says whether one is to be taken.
    /// Intervals in which nothing can have happened are left out.
    #[inline]
    pub fn rotate(&mut self, now_ns: u64) -> bool {
        if now_ns >= self.due_ns() && !self.done {
            self.close_and_open(now_ns);
        }
        !self.finished.is_empty()
    }

    /// A finished interval, oldest first.
    pub fn take(&mut self) -> Option<Box<Interval>> {
        self.finished.pop_front()
    }

    /// Brings back an interval that the collector is done with, already cleared.
    pub fn give_back(&mut self, interval: Box<Interval>) {
        if self.spares.len() < SPARES_MAX && interval.has_shape(self.shape) {
            self.spares.push(interval);
        }
    }

    /// Ends the recording at `now_ns`: the current interval is cut there and is to be taken with
    /// any before it. Adds what was in flight or due and never begun at the end.
    ///
    /// Samples recorded after this are counted as unfinished in the last interval if it is still
    /// here.
    pub fn finish(&mut self, now_ns: u64, leftover: Leftover) {
        if self.done {
            return;
        }
        self.rotate(now_ns);
        let span = &mut self.current.span;
        span.end_ns = now_ns.clamp(span.start_ns, span.end_ns);
        self.current.leftover.add(&leftover);
        let span = self.current.span;
        // A run that ends where an interval begins has no interval there.
        if span.length_ns() > 0 || !self.current.is_void() || span.part == Part::Drain {
            self.push_current(Box::new(Interval::empty(span)));
        }
        self.length_ns = 0;
        self.done = true;
    }

    #[cold]
    fn record_elsewhere(&mut self, sample: &Sample) {
        let ended_ns = sample.ended_ns;
        if ended_ns >= self.due_ns() && !self.done {
            self.close_and_open(ended_ns);
        }
        let current = &mut self.current;
        let here = !self.done && current.span.part != Part::Drain;
        if here && ended_ns >= current.span.start_ns {
            return current.record(sample);
        }
        if ended_ns < current.span.start_ns || self.done {
            let home = self.finished.iter_mut().rev().find(|interval| {
                let span = interval.span;
                span.part != Part::Drain && (span.start_ns..span.end_ns).contains(&ended_ns)
            });
            if let Some(home) = home {
                return home.record(sample);
            }
            // The very first interval takes what ended before the start of the load.
            if here {
                current.leftover.misplaced += u64::from(current.span.index > 0);
                return current.record(sample);
            }
        }
        let last = match self.finished.back_mut() {
            Some(last) if self.done => last,
            _ => current,
        };
        last.leftover.misplaced += u64::from(ended_ns < self.schedule.window_end_ns());
        match sample.outcome {
            Outcome::Skipped => last.leftover.never_started += 1,
            _ => last.leftover.unfinished += 1,
        }
    }

    /// Hands over the current interval and opens the one that `now_ns` lies in.
    #[cold]
    fn close_and_open(&mut self, now_ns: u64) {
        let next = match self.spares.pop() {
            Some(spare) => spare,
            None => Box::new(Interval::new(self.current.span, self.shape)),
        };
        self.push_current(next);
        self.current.span = self.schedule.span_at(now_ns);
        self.watch_current();
    }

    fn push_current(&mut self, next: Box<Interval>) {
        let mut closed = std::mem::replace(&mut self.current, next);
        closed.health.connections = self.connections;
        self.probe.take(&mut closed.health);
        self.finished.push_back(closed);
    }

    fn watch_current(&mut self) {
        let span = self.current.span;
        self.from_ns = span.start_ns;
        self.length_ns = match span.part {
            Part::Drain => 0,
            _ => span.length_ns(),
        };
    }
}
