//! Settings that a worker requests for its thread and process: a CPU of its own, precise timers,
//! enough open files.
//!
//! In: numbers. Out: settings of the kernel. Must never: fail a run because one is refused, except the
//! files, which are needed.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity, set_current_timer_slack};
use std::num::NonZeroU64;

/// Pins the calling thread to the `n`-th CPU that the process may use. False: refused.
pub fn pin(n: usize) -> bool {
    let Ok(allowed) = sched_getaffinity(None) else {
        return false;
    };
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .collect();
    let Some(cpu) = cpus.get(n % cpus.len().max(1)) else {
        return false;
    };
    let mut one = CpuSet::new();
    one.set(*cpu);
    sched_setaffinity(None, &one).is_ok()
}

/// Makes the calling thread's timers fire when they are due, not up to 50 µs later.
pub fn use_precise_timers() {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Raises the limit on open files as far as this process may.
pub fn allow_most_files() {
    // An impossible request returns the hard limit, which is then requested.
    if let Err(most) = allow_files(u64::MAX) {
        let _ = allow_files(most);
    }
}

/// Ensures that `wanted` files can be open, raising the soft limit if necessary.
///
/// # Errors
/// The hard limit, if it is too low.
pub fn allow_files(wanted: u64) -> Result<(), u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // No limit at all is a limit of `u64::MAX`.
    let (current, maximum) = (current.unwrap_or(u64::MAX), maximum.unwrap_or(u64::MAX));
    if current >= wanted {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: Some(maximum),
    };
    if wanted > maximum || setrlimit(Resource::Nofile, raised).is_err() {
        return Err(maximum);
    }
    Ok(())
}
