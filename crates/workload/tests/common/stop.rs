//! A load that is stopped at a certain point.

use prony_workload::{Phase, Progress, Step};
use std::sync::atomic::{AtomicBool, Ordering};

/// Sets the stop flag in a phase, once so many rows are on the way.
pub struct StopAt<'a>(pub Phase, pub u64, pub &'a AtomicBool);

impl Progress for StopAt<'_> {
    fn step(&self, step: &Step) {
        if step.phase == self.0 && step.rows_done >= self.1 {
            self.2.store(true, Ordering::Relaxed);
        }
    }
}
