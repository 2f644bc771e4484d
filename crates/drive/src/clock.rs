//! The run's clock, and the offset of the kernel's timestamps from it.
//!
//! In: the system's clocks, or a simulated one. Out: fresh readings. Must never: cache a reading. This
//! is the only module that reads the time for measurements.

use std::cell::Cell;
use std::rc::Rc;

#[derive(Clone, Debug)]
pub enum Clock {
    /// CLOCK_MONOTONIC. The kernel's timestamps are readings of CLOCK_REALTIME.
    System,
    /// Time of a simulated network.
    Simulated(Rc<SimTime>),
}

#[derive(Debug, Default)]
pub struct SimTime {
    /// The current time, nanoseconds.
    pub now_ns: Cell<u64>,
    /// How far the clock of the simulated kernel's timestamps is ahead of this time, nanoseconds.
    pub timestamp_offset_ns: Cell<i64>,
}

impl Clock {
    /// A fresh reading, nanoseconds.
    pub fn now_ns(&self) -> u64 {
        match self {
            Clock::System => read(libc::CLOCK_MONOTONIC),
            Clock::Simulated(time) => time.now_ns.get(),
        }
    }

    /// How far the clock of the kernel's timestamps is ahead of this one, nanoseconds. The other clock is
    /// read between two readings of this one, five times; the offset with the shortest time between them is
    /// used.
    pub fn timestamp_offset_ns(&self) -> i64 {
        match self {
            Clock::System => {
                let readings = (0..5).map(|_| read_offset());
                let best = readings.min_by_key(|reading| reading.span_ns);
                best.map_or(0, |reading| reading.offset_ns)
            }
            Clock::Simulated(time) => time.timestamp_offset_ns.get(),
        }
    }
}

struct OffsetReading {
    /// Time between the two readings of CLOCK_MONOTONIC.
    span_ns: u64,
    /// How far CLOCK_REALTIME is ahead of the middle between them.
    offset_ns: i64,
}

fn read_offset() -> OffsetReading {
    let before = read(libc::CLOCK_MONOTONIC);
    let realtime = read(libc::CLOCK_REALTIME);
    let after = read(libc::CLOCK_MONOTONIC);
    OffsetReading {
        span_ns: after - before,
        offset_ns: realtime as i64 - before.midpoint(after) as i64,
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
