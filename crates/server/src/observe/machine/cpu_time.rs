//! CPU time of processes and threads on this machine.
//!
//! Must never: count the same time twice, or scan all processes of the machine.

use super::proc::TICKS_PER_SECOND;
use std::fs::read_to_string;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerProcesses {
    /// Process id of the parent of all other processes.
    pub root_pid: u32,
}

impl ServerProcesses {
    /// CPU time of all processes, including children that have ended, in seconds. `None`: the root
    /// process has ended, or the kernel does not report its times.
    pub fn cpu_s(self) -> Option<f64> {
        let (own, ended) = read_ticks(&format!("/proc/{}/stat", self.root_pid))?;
        let mut ticks = own + ended;
        let mut parents = vec![self.root_pid];
        while let Some(parent) = parents.pop() {
            // Reads only the children of the main thread, from which database servers fork.
            let path = format!("/proc/{parent}/task/{parent}/children");
            let children = read_to_string(path).unwrap_or_default();
            for child in children.split_ascii_whitespace() {
                // A child that has just ended is missing here; the next reading counts it as an ended child.
                if let Some((own, ended)) = read_ticks(&format!("/proc/{child}/stat")) {
                    ticks += own + ended;
                    parents.extend(child.parse::<u32>().ok());
                }
            }
        }
        Some(ticks as f64 / TICKS_PER_SECOND)
    }
}

/// What serves a connection on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServingTask {
    pub process: u32,
    /// `None` on PostgreSQL, where each connection has a process.
    pub thread: Option<u32>,
}

impl ServingTask {
    /// Its CPU time, seconds; `None` if it has ended.
    pub fn cpu_s(self) -> Option<f64> {
        let process = self.process;
        let path = match self.thread {
            Some(thread) => format!("/proc/{process}/task/{thread}/schedstat"),
            None => format!("/proc/{process}/schedstat"),
        };
        // Fields: nanoseconds on a CPU, nanoseconds waiting for one, number of time slices.
        let stat = read_to_string(path).ok()?;
        let ns: u64 = stat.split_ascii_whitespace().next()?.parse().ok()?;
        Some(ns as f64 / 1e9)
    }
}

pub fn thread_cpu_s() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // libc's function, because rustix reads the kernel's vDSO, which valgrind unmaps.
    // SAFETY: the kernel only writes to `time`. The clock always exists, so the call cannot fail.
    unsafe {
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
    }
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// CPU ticks of a process, and of its ended and reaped children.
fn read_ticks(path: &str) -> Option<(u64, u64)> {
    parse_ticks(&read_to_string(path).ok()?)
}

/// The CPU ticks in a stat file: its own (utime, stime), and its ended children's (cutime, cstime).
/// These are fields 14 to 17. The process name before them is in brackets and may contain anything.
fn parse_ticks(stat: &str) -> Option<(u64, u64)> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index - 3)?.parse::<u64>().ok();
    Some((number(14)? + number(15)?, number(16)? + number(17)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_may_contain_anything() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194304 100 0 0 0 11 22 33 44 20 0 1 0 5 6 7";
        assert_eq!(parse_ticks(stat), Some((33, 77)));
        assert_eq!(parse_ticks("42 (a"), None);
    }

    #[test]
    fn this_process_has_cpu_time() {
        let mut number = 1_u64;
        let before = thread_cpu_s();
        while thread_cpu_s() - before < 0.05 {
            number = std::hint::black_box(number.wrapping_mul(31));
        }
        let this_process = ServerProcesses {
            root_pid: std::process::id(),
        };
        assert!(this_process.cpu_s().unwrap() > 0.0);
        let this = ServingTask {
            process: std::process::id(),
            thread: None,
        };
        assert!(this.cpu_s().unwrap() > 0.0);
        assert_eq!(ServerProcesses { root_pid: u32::MAX }.cpu_s(), None);
    }
}
