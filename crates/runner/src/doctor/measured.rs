//! What the kernel's files do not say: whether io_uring works, how late timers are, what others do.
//!
//! Must never: put load on the machine.

use crate::signals;
use prony_drive::affinity::use_precise_timers;
use prony_drive::io::ring;
use prony_judge::doctor::{IdleUsage, MachineFacts};
use prony_server::observe::machine::read_this_machine;
use std::thread;
use std::time::{Duration, Instant};

/// Number of sleeps whose lateness is measured.
const SLEEPS: usize = 50;
const SLEEP: Duration = Duration::from_millis(1);

/// Adds to `facts` what is measured. `watch`: how long to watch what others do; zero: not at all.
pub(super) fn measure(facts: &mut MachineFacts, watch: Duration) {
    facts.usage = watch_machine(watch);
    facts.io_uring_problem = ring::probe().err().map(|error| error.to_string());
    // Precise timers are a property of a thread: those of the caller stay as they are.
    let measured = thread::spawn(timer_lateness_ns).join();
    facts.timer_lateness_ns = measured.ok();
    facts.clock_is_synchronised = clock_is_synchronised();
}

/// Median lateness of sleeps of [`SLEEP`] with precise timers.
fn timer_lateness_ns() -> u64 {
    use_precise_timers();
    let mut times_ns = [0; SLEEPS];
    for time_ns in &mut times_ns {
        let start = Instant::now();
        thread::sleep(SLEEP);
        let late = start.elapsed().saturating_sub(SLEEP);
        *time_ns = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
    }
    times_ns.sort_unstable();
    times_ns[SLEEPS / 2]
}

/// Whether the kernel's clock follows a time server (adjtimex(2)); `None` if the kernel does not say.
fn clock_is_synchronised() -> Option<bool> {
    // SAFETY: all-zero bytes are a valid `timex`, whose `modes` of zero change nothing.
    let mut state = unsafe { std::mem::zeroed::<libc::timex>() };
    // SAFETY: the pointer is to a `timex` that lives until the call returns.
    let status = unsafe { libc::adjtimex(&raw mut state) };
    (status >= 0).then_some(state.status & libc::STA_UNSYNC == 0)
}

/// Watches the machine for a time, or until a signal; `None` if that time is zero.
fn watch_machine(time: Duration) -> Option<IdleUsage> {
    if time.is_zero() {
        return None;
    }
    let (start, before) = (Instant::now(), read_this_machine());
    signals::wait(time);
    let seconds = start.elapsed().as_secs_f64();
    let usage = read_this_machine().usage_since(&before, seconds);
    Some(IdleUsage {
        seconds,
        busy_share: usage.busy_share,
        steal_share: usage.steal_share,
        swapped_bytes: usage.swap_bytes,
    })
}
