//! The client's resource use, which shows whether the client was the bottleneck.
//!
//! In: the kernel's figures for the thread and the machine, and the loop's figures for its iterations. Out:
//! health per interval. Must never: be collected in the hot path, or report an unknown value as zero.

use prony_document::{BatchScheduling, add_counts};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Health of one worker in one interval, or of several workers or intervals together. Values that could not
/// be read are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// User CPU time, nanoseconds (getrusage).
    pub cpu_user_ns: Option<u64>,
    /// System CPU time, nanoseconds (getrusage).
    pub cpu_system_ns: Option<u64>,
    /// Time in which the thread was runnable and had no CPU, nanoseconds (`/proc/thread-self/schedstat`).
    pub run_queue_ns: Option<u64>,
    /// Iterations of the loop.
    pub iterations: u64,
    /// Longest iteration, nanoseconds.
    pub iteration_max_ns: u64,
    /// Replies handled in the interval's iterations.
    pub replies: u64,
    /// Connections that were up at the end of the interval.
    pub connections: u32,
    /// Connections that had been lost by the end of the interval and were not restored.
    pub connections_lost: u32,
    /// Starts that were due at the end of the interval and waited for a user; only with a rate.
    pub starts_waiting: u64,
    /// Transactions that were in progress at the end of the interval; only with a rate.
    pub in_progress: u32,
    /// The outcomes of the workers' requests for `SCHED_BATCH`, including workers that have ended.
    pub batch: BatchScheduling,
    /// Workers that waited for several replies at once at the end of the interval.
    pub coalescing_workers: u32,
    /// Workers that were pinned to one CPU each, including workers that have ended.
    pub pinned_workers: u32,
}

impl Health {
    /// Adds another worker's health in the same interval: times and counts add up, and the longest iteration
    /// is the longer one of both workers.
    pub fn add(&mut self, other: &Health) {
        self.add_times(other);
        self.add_end_state(other);
    }

    /// Adds the state at the end of another worker's interval, without its times and counts.
    pub(crate) fn add_end_state(&mut self, other: &Health) {
        add_counts!(
            self,
            other,
            [
                connections,
                connections_lost,
                starts_waiting,
                in_progress,
                coalescing_workers,
                pinned_workers
            ]
        );
        self.batch.add(&other.batch);
    }

    /// Adds the health of a later interval: like [`Health::add`], but the state at the end is that of the
    /// later interval.
    pub fn add_later(&mut self, later: &Health) {
        self.add_times(later);
        self.connections = later.connections;
        self.connections_lost = later.connections_lost;
        self.starts_waiting = later.starts_waiting;
        self.in_progress = later.in_progress;
        self.batch = later.batch;
        self.coalescing_workers = later.coalescing_workers;
        self.pinned_workers = later.pinned_workers;
    }

    fn add_times(&mut self, other: &Health) {
        self.cpu_user_ns = sum_known(self.cpu_user_ns, other.cpu_user_ns);
        self.cpu_system_ns = sum_known(self.cpu_system_ns, other.cpu_system_ns);
        self.run_queue_ns = sum_known(self.run_queue_ns, other.run_queue_ns);
        self.iterations = self.iterations.saturating_add(other.iterations);
        self.iteration_max_ns = self.iteration_max_ns.max(other.iteration_max_ns);
        self.replies = self.replies.saturating_add(other.replies);
    }

    /// User and system CPU time, nanoseconds.
    pub fn cpu_ns(&self) -> Option<u64> {
        sum_known(self.cpu_user_ns, self.cpu_system_ns)
    }
}

/// The sum of two values; an absent value counts as 0, unless both are absent.
pub(crate) fn sum_known(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}

/// CPU and run-queue times of a thread since its start.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadTimes {
    user_ns: Option<u64>,
    system_ns: Option<u64>,
    run_queue_ns: Option<u64>,
}

/// Reads the CPU and run-queue times of the thread that created the probe.
#[derive(Debug)]
pub struct ThreadProbe {
    schedstat: Option<File>,
    times_at_last_call: ThreadTimes,
}

impl ThreadProbe {
    /// Starts to read the calling thread's times. If schedstat cannot be opened, run-queue times are absent.
    pub fn new() -> ThreadProbe {
        let mut probe = ThreadProbe {
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
            times_at_last_call: ThreadTimes::default(),
        };
        probe.times_at_last_call = probe.read();
        probe
    }

    /// Fills in the thread's times since the last call. Must be called on the thread that created the probe.
    pub fn fill_in(&mut self, health: &mut Health) {
        let current = self.read();
        health.cpu_user_ns = difference_if_known(current.user_ns, self.times_at_last_call.user_ns);
        health.cpu_system_ns =
            difference_if_known(current.system_ns, self.times_at_last_call.system_ns);
        health.run_queue_ns =
            difference_if_known(current.run_queue_ns, self.times_at_last_call.run_queue_ns);
        self.times_at_last_call = current;
    }

    fn read(&self) -> ThreadTimes {
        let (user_ns, system_ns) = thread_cpu_ns();
        ThreadTimes {
            user_ns,
            system_ns,
            run_queue_ns: self.schedstat.as_ref().and_then(read_run_queue_ns),
        }
    }
}

impl Default for ThreadProbe {
    fn default() -> Self {
        ThreadProbe::new()
    }
}

fn difference_if_known(current: Option<u64>, previous: Option<u64>) -> Option<u64> {
    Some(current?.saturating_sub(previous?))
}

/// User and system CPU time of the calling thread, nanoseconds.
fn thread_cpu_ns() -> (Option<u64>, Option<u64>) {
    // SAFETY: rusage is plain integers, for which zeroes are a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live rusage that the call fills in.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) } != 0;
    if failed {
        return (None, None);
    }
    (timeval_ns(usage.ru_utime), timeval_ns(usage.ru_stime))
}

fn timeval_ns(time: libc::timeval) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let micros = u64::try_from(time.tv_usec).ok()?;
    Some(seconds * 1_000_000_000 + micros * 1_000)
}

/// Second field of schedstat: time spent waiting on a run queue, nanoseconds
/// (Documentation/scheduler/sched-stats.rst).
fn read_run_queue_ns(schedstat: &File) -> Option<u64> {
    let mut text = [0u8; 128];
    let length = schedstat.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The process and the machine in one interval. Values that could not be read are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessHealth {
    /// Peak resident memory of the process so far, bytes (VmHWM).
    pub memory_peak_bytes: Option<u64>,
    /// CPU time stolen by the hypervisor, clock ticks of all CPUs (`/proc/stat`).
    pub steal_ticks: Option<u64>,
    /// All CPU time, idle included, clock ticks of all CPUs.
    pub total_ticks: Option<u64>,
}

impl ProcessHealth {
    /// Adds the figures of a later interval, or those of another machine in the same interval: the memory is that of
    /// the largest process.
    pub fn add_later(&mut self, later: &ProcessHealth) {
        self.memory_peak_bytes = self.memory_peak_bytes.max(later.memory_peak_bytes);
        self.steal_ticks = sum_known(self.steal_ticks, later.steal_ticks);
        self.total_ticks = sum_known(self.total_ticks, later.total_ticks);
    }

    /// Stolen share of the machine's CPU time, 0 to 1.
    pub fn steal_share(&self) -> Option<f64> {
        match (self.steal_ticks?, self.total_ticks?) {
            (_, 0) => None,
            (steal, total) => Some((steal as f64 / total as f64).min(1.0)),
        }
    }
}

/// CPU time of the machine since its start, clock ticks of all CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTicks {
    steal: u64,
    total: u64,
}

/// Reads the figures of this process and this machine.
#[derive(Debug)]
pub struct ProcessProbe {
    /// The ticks at the last call; `None` if they could not be read.
    last_ticks: Option<CpuTicks>,
}

impl ProcessProbe {
    pub fn new() -> ProcessProbe {
        ProcessProbe {
            last_ticks: read_ticks(),
        }
    }

    /// The ticks since the last call, and the peak memory so far.
    pub fn read_since_last(&mut self) -> ProcessHealth {
        let current = read_ticks();
        let previous = std::mem::replace(&mut self.last_ticks, current);
        let status = std::fs::read_to_string("/proc/self/status").ok();
        ProcessHealth {
            memory_peak_bytes: status.and_then(|status| parse_memory_peak_bytes(&status)),
            steal_ticks: difference_if_known(
                current.map(|ticks| ticks.steal),
                previous.map(|ticks| ticks.steal),
            ),
            total_ticks: difference_if_known(
                current.map(|ticks| ticks.total),
                previous.map(|ticks| ticks.total),
            ),
        }
    }
}

impl Default for ProcessProbe {
    fn default() -> Self {
        ProcessProbe::new()
    }
}

fn read_ticks() -> Option<CpuTicks> {
    parse_ticks(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// The ticks of the line `cpu`, whose fields are user nice system idle iowait irq
/// softirq steal guest guest_nice; guest time is contained in user and nice (proc_stat(5)).
fn parse_ticks(stat: &str) -> Option<CpuTicks> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line
        .split_ascii_whitespace()
        .take(8)
        .map(|field| field.parse().ok())
        .collect::<Option<_>>()?;
    Some(CpuTicks {
        steal: *fields.get(7)?,
        total: fields.iter().sum(),
    })
}

/// The peak memory in the text of `/proc/self/status`.
fn parse_memory_peak_bytes(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_read_are_absent() {
        assert_eq!(parse_ticks("cpu0 1 2 3"), None);
        assert_eq!(parse_ticks("cpu  1 2 3 4"), None);
        let ticks = parse_ticks("cpu  1 2 3 4 5 6 7 8 100 100\n").expect("all fields");
        assert_eq!((ticks.steal, ticks.total), (8, 36));
        assert_eq!(parse_memory_peak_bytes("VmRSS: 5 kB"), None);
        assert_eq!(parse_memory_peak_bytes("VmHWM:\t  20 kB\n"), Some(20_480));
        let empty = ProcessHealth::default();
        assert_eq!(empty.steal_share(), None);
        assert_eq!(sum_known(None, Some(3)), Some(3));
        assert_eq!(sum_known(None, None), None);
    }

    #[test]
    fn a_busy_thread_shows_its_cpu_time() {
        let mut probe = ThreadProbe::new();
        let mut health = Health::default();
        let mut spent_ns = 0;
        // getrusage may advance by whole ticks: work until the time changes.
        while spent_ns == 0 {
            std::hint::black_box((0..1_000_000u64).map(std::hint::black_box).sum::<u64>());
            probe.fill_in(&mut health);
            spent_ns = health.cpu_ns().expect("getrusage works");
        }
        assert!(
            spent_ns < 60_000_000_000,
            "the time since the last reading only"
        );
    }

    #[test]
    fn connections_add_up_over_workers_and_not_over_intervals() {
        let health = Health {
            iteration_max_ns: 7,
            connections: 3,
            cpu_user_ns: Some(5),
            ..Health::default()
        };
        let mut workers = health;
        workers.add(&Health {
            iteration_max_ns: 4,
            ..health
        });
        assert_eq!((workers.iteration_max_ns, workers.connections), (7, 6));
        assert_eq!(
            (workers.cpu_user_ns, workers.run_queue_ns),
            (Some(10), None)
        );
        let mut later = health;
        later.add_later(&health);
        assert_eq!(later.connections, 3);
    }
}
