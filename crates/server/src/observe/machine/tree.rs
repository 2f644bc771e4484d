//! CPU time of processes on this machine.
//!
//! In: the process of a server. Out: CPU time of it and all its children. Must never: count the same
//! time twice, or go through all processes of the machine.

use super::proc::TICKS_A_SECOND;
use std::fs::read_to_string;

/// The processes of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processes {
    /// The one that started the others.
    pub root: u32,
}

impl Processes {
    /// CPU time that they have used, with that of children which have ended, seconds. `None`: the
    /// root is gone, or the kernel does not tell.
    pub fn cpu_s(self) -> Option<f64> {
        let (own, ended) = times(&format!("/proc/{}/stat", self.root))?;
        let mut ticks = own + ended;
        let mut parents = vec![self.root];
        while let Some(parent) = parents.pop() {
            // Children of the first thread: database servers fork from there.
            let path = format!("/proc/{parent}/task/{parent}/children");
            let children = read_to_string(path).unwrap_or_default();
            for child in children.split_ascii_whitespace() {
                // One that has ended meanwhile is among the ended ones next time.
                if let Some((own, ended)) = times(&format!("/proc/{child}/stat")) {
                    ticks += own + ended;
                    parents.extend(child.parse::<u32>().ok());
                }
            }
        }
        Some(ticks as f64 / TICKS_A_SECOND)
    }
}

/// CPU time of one process or, with `thread`, of one thread of it, seconds.
pub fn task_cpu_s(process: u32, thread: Option<u32>) -> Option<f64> {
    let path = match thread {
        Some(thread) => format!("/proc/{process}/task/{thread}/schedstat"),
        None => format!("/proc/{process}/schedstat"),
    };
    // Nanoseconds on a CPU, waiting for one, and time slices.
    let stat = read_to_string(path).ok()?;
    let ns: u64 = stat.split_ascii_whitespace().next()?.parse().ok()?;
    Some(ns as f64 / 1e9)
}

/// CPU time of the calling thread, seconds.
pub fn thread_cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Ticks of a process, and of its children that have ended and were waited for.
fn times(path: &str) -> Option<(u64, u64)> {
    ticks(&read_to_string(path).ok()?)
}

/// The name of a process stands in brackets and may hold anything; after it come the state and, from
/// the 14th field on, utime, stime, cutime and cstime.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |place: usize| fields.get(place - 3)?.parse::<u64>().ok();
    Some((number(14)? + number(15)?, number(16)? + number(17)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194304 100 0 0 0 11 22 33 44 20 0 1 0 5 6 7";
        assert_eq!(ticks(stat), Some((33, 77)));
        assert_eq!(ticks("42 (a"), None);
    }

    #[test]
    fn of_this_process() {
        let mut number = 1_u64;
        let before = thread_cpu_s();
        while thread_cpu_s() - before < 0.05 {
            number = std::hint::black_box(number.wrapping_mul(31));
        }
        let own = Processes {
            root: std::process::id(),
        };
        assert!(own.cpu_s().unwrap() > 0.0);
        assert!(task_cpu_s(std::process::id(), None).unwrap() > 0.0);
        assert_eq!(Processes { root: u32::MAX }.cpu_s(), None);
    }
}
