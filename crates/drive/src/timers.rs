//! Timers of a worker: events that are due later.
//!
//! In: events, and when each is due. Out: the events that are due, earliest first. Must never: read a clock.

use crate::io::Slot;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimerEvent {
    /// A sleeping user wakes.
    Wake(Slot),
    /// A link tries to connect again.
    Retry(Slot),
    /// A login continues a computation.
    ContinueLogin(Slot),
    /// A user is resumed to learn that its requested connection could not be opened: no attempt could begin.
    Refused(Slot),
}

/// Pending timers, by time.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(u64, TimerEvent)>>,
}

impl Timers {
    /// Adds a timer.
    pub fn add(&mut self, at_ns: u64, event: TimerEvent) {
        self.heap.push(Reverse((at_ns, event)));
    }

    /// Whether there are no timers.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// When the earliest event is due; `u64::MAX` if there is none.
    pub fn next_ns(&self) -> u64 {
        self.heap
            .peek()
            .map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns)
    }

    /// Removes and returns the earliest event that is due.
    pub fn pop(&mut self, now_ns: u64) -> Option<TimerEvent> {
        if self.next_ns() > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse((_, event))| event)
    }
}
