//! Settings of a worker's thread and of the process: CPU pinning, precise timers, the limit on open files.
//!
//! Must never: fail a run because the kernel refuses a setting. Only too low a limit on open files is an
//! error.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity, set_current_timer_slack};
use std::num::NonZeroU64;

/// The number of CPUs that the calling thread may use by its affinity; 0 if the kernel does not report it.
pub fn allowed_cpu_count() -> usize {
    sched_getaffinity(None).map_or(0, |allowed| allowed.count() as usize)
}

/// Pins the calling thread to the CPU with this index among those that the process may use. After the last CPU, the
/// indexes start over. Returns false if the kernel refuses.
pub fn pin_thread(index: usize) -> bool {
    let Ok(allowed) = sched_getaffinity(None) else {
        return false;
    };
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .collect();
    let Some(cpu) = cpus.get(index % cpus.len().max(1)) else {
        return false;
    };
    let mut cpu_set = CpuSet::new();
    cpu_set.set(*cpu);
    sched_setaffinity(None, &cpu_set).is_ok()
}

/// Makes the calling thread's timers fire when they are due, not up to 50 µs later.
pub fn use_precise_timers() {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Raises the soft limit on open files to the hard limit.
pub fn raise_file_limit() {
    // This asks for more than the hard limit, which the error then holds.
    if let Err(hard_limit) = ensure_file_limit(u64::MAX) {
        let _ = ensure_file_limit(hard_limit);
    }
}

/// Ensures that `needed` files can be open, raising the soft limit if necessary.
///
/// # Errors
/// The hard limit, if it is too low.
pub fn ensure_file_limit(needed: u64) -> Result<(), u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // `None` means unlimited.
    let (current, maximum) = (current.unwrap_or(u64::MAX), maximum.unwrap_or(u64::MAX));
    if current >= needed {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(needed),
        maximum: Some(maximum),
    };
    if needed > maximum || setrlimit(Resource::Nofile, raised).is_err() {
        return Err(maximum);
    }
    Ok(())
}
