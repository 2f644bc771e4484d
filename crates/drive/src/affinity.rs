//! What a worker asks of its thread and process: a CPU of its own, sharp timers, enough files.
//!
//! In: numbers. Out: settings of the kernel. Must never: fail a run for a wish; only the files are
//! needed.

/// Pins the calling thread to the `n`-th of the CPUs that the process may use. False: refused.
pub fn pin(n: usize) -> bool {
    // SAFETY: all-zero bytes are a valid, empty set; the calls read and write only that set.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        if libc::sched_getaffinity(0, size, &raw mut allowed) != 0 {
            return false;
        }
        let cpus: Vec<usize> = (0..libc::CPU_SETSIZE as usize)
            .filter(|cpu| libc::CPU_ISSET(*cpu, &allowed))
            .collect();
        let Some(cpu) = cpus.get(n % cpus.len().max(1)) else {
            return false;
        };
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(*cpu, &mut one);
        libc::sched_setaffinity(0, size, &raw const one) == 0
    }
}

/// Lets the calling thread's timers fire when they are due, not up to 50 µs later.
pub fn sharp_timers() {
    // SAFETY: no pointers are involved.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// Makes room for as many open files as this process may have.
pub fn allow_most_files() {
    // As many as the hard limit says, by asking for more than there can be.
    if let Err(most) = allow_files(u64::MAX) {
        let _ = allow_files(most);
    }
}

/// Makes room for `wanted` open files, raising the soft limit if need be.
///
/// # Errors
/// The hard limit, if it is too low.
pub fn allow_files(wanted: u64) -> Result<(), u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid for reading and writing.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 || limit.rlim_cur >= wanted {
            return Ok(());
        }
        limit.rlim_cur = wanted.min(limit.rlim_max);
        if limit.rlim_cur < wanted || libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) != 0 {
            return Err(limit.rlim_max);
        }
    }
    Ok(())
}
