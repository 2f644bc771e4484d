//! What is to happen at a later time.
//!
//! In: times and what for. Out: what is due, oldest first. Must never: look at a clock.

use crate::io::Slot;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// A sleeping user wakes.
    Wake(Slot),
    /// A link tries again to connect.
    Retry(Slot),
    /// A user hears that its connection could not even be begun.
    Refused(Slot),
}

/// Times ahead.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(u64, Due)>>,
}

impl Timers {
    /// Adds one.
    pub fn add(&mut self, at_ns: u64, due: Due) {
        self.heap.push(Reverse((at_ns, due)));
    }

    /// The earliest time, `u64::MAX` if there is none.
    pub fn next_ns(&self) -> u64 {
        self.heap
            .peek()
            .map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns)
    }

    /// The next one that is due.
    pub fn pop(&mut self, now_ns: u64) -> Option<Due> {
        if self.next_ns() > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse((_, due))| due)
    }
}
