//! Stops a load at a given point.

use prony_workload::{LoadPhase, Progress, ProgressUpdate};
use std::sync::atomic::{AtomicBool, Ordering};

/// Sets the stop flag in a phase, once this many rows have been sent.
pub struct StopAt<'a>(pub LoadPhase, pub u64, pub &'a AtomicBool);

impl Progress for StopAt<'_> {
    fn update(&self, step: &ProgressUpdate) {
        let StopAt(phase, rows, stop) = self;
        if step.phase == *phase && step.rows_done >= *rows {
            stop.store(true, Ordering::Relaxed);
        }
    }
}
