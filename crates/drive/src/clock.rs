//! The run's clock, and the offset of the kernel's stamps from it.
//!
//! In: the system's clocks, or a simulated one. Out: fresh readings. Must never: cache a reading. The
//! only place in the project that reads the time for measuring.

use std::cell::Cell;
use std::rc::Rc;

/// Source of times.
#[derive(Clone, Debug)]
pub enum Clock {
    /// CLOCK_MONOTONIC; the kernel's stamps are CLOCK_REALTIME.
    System,
    /// Time of a simulated network.
    Simulated(Rc<SimTime>),
}

/// Simulated time.
#[derive(Debug, Default)]
pub struct SimTime {
    /// Nanoseconds.
    pub now_ns: Cell<u64>,
    /// How far a simulated kernel's stamps are ahead of it, nanoseconds.
    pub stamp_offset_ns: Cell<i64>,
}

impl Clock {
    /// A fresh reading, nanoseconds.
    pub fn now_ns(&self) -> u64 {
        match self {
            Clock::System => read(libc::CLOCK_MONOTONIC),
            Clock::Simulated(time) => time.now_ns.get(),
        }
    }

    /// How far the clock of the kernel's stamps is ahead of this one, nanoseconds: read between two
    /// readings of this one, the narrowest of five.
    pub fn stamp_offset_ns(&self) -> i64 {
        let Clock::Simulated(time) = self else {
            let reading = |_| {
                let before = read(libc::CLOCK_MONOTONIC);
                let stamp = read(libc::CLOCK_REALTIME);
                let after = read(libc::CLOCK_MONOTONIC);
                (after - before, stamp as i64 - before.midpoint(after) as i64)
            };
            return (0..5).map(reading).min().map_or(0, |(_, offset)| offset);
        };
        time.stamp_offset_ns.get()
    }
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writing; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
