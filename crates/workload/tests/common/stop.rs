//! Stops a load at a given point.

use prony_workload::{LoadPhase, Progress, ProgressUpdate};
use std::sync::atomic::{AtomicBool, Ordering};

/// Sets the stop flag in a phase, once this many rows have been sent.
pub struct StopAt<'a>(pub LoadPhase, pub u64, pub &'a AtomicBool);

impl Progress for StopAt<'_> {
    fn update(&self, step: &ProgressUpdate) {
        if step.phase == self.0 && step.rows_done >= self.1 {
            self.2.store(true, Ordering::Relaxed);
        }
    }
}
