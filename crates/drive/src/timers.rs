//! Things that are due later. Never reads a clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Things that are due later, by time.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    heap: BinaryHeap<Reverse<(u64, T)>>,
}

impl<T: Ord> Default for Timers<T> {
    fn default() -> Self {
        Timers {
            heap: BinaryHeap::new(),
        }
    }
}

impl<T: Ord> Timers<T> {
    pub fn add(&mut self, at_ns: u64, thing: T) {
        self.heap.push(Reverse((at_ns, thing)));
    }

    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// When the earliest thing is due; `u64::MAX` if there is none.
    pub fn next_ns(&self) -> u64 {
        self.heap
            .peek()
            .map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns)
    }

    /// Removes and returns the earliest thing that is due.
    pub fn pop(&mut self, now_ns: u64) -> Option<T> {
        if self.next_ns() > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse((_, thing))| thing)
    }
}
