//! How the client itself did: whether it could have been the limit.
//!
//! In: what the kernel says of the thread and the machine, and what the loop says of its turns.
//! Out: plain figures. Must never: be read in the hot path, or say zero where nothing is known.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// One worker's health in one interval, or several merged. What could not be read is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// User CPU time, nanoseconds (getrusage).
    pub cpu_user_ns: Option<u64>,
    /// System CPU time, nanoseconds (getrusage).
    pub cpu_system_ns: Option<u64>,
    /// Time ready to run without a CPU, nanoseconds (`/proc/thread-self/schedstat`).
    pub run_queue_ns: Option<u64>,
    /// Turns of the loop.
    pub turns: u64,
    /// Longest turn, nanoseconds.
    pub turn_max_ns: u64,
    /// Replies handled in those turns.
    pub replies: u64,
    /// Connections that were up at the end.
    pub connections: u32,
    /// Starts that were due at the end and waited for a user; with a rate only.
    pub waiting: u64,
    /// Transactions that were under way at the end; with a rate only.
    pub under_way: u32,
    /// How workers stood to `SCHED_BATCH` at the end; those that had ended before it as they stood
    /// then.
    pub batch: Batch,
}

/// Workers by what became of `SCHED_BATCH` (sched(7)), which those ask for that share their machine's CPUs
/// with the server; all zero where none asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// They ran under it.
    pub under: u32,
    /// They went back to the usual policy: other programs made them wait.
    pub left: u32,
    /// The system refused it.
    pub refused: u32,
}

impl Batch {
    fn add(&mut self, other: &Batch) {
        self.under = self.under.saturating_add(other.under);
        self.left = self.left.saturating_add(other.left);
        self.refused = self.refused.saturating_add(other.refused);
    }
}

impl Health {
    /// Adds another worker's health of the same interval: times and counts add up, the longest
    /// turn is the longest of either.
    pub fn add(&mut self, other: &Health) {
        self.add_times(other);
        self.add_standing(other);
    }

    /// Adds what stood at the end of another worker's interval, and none of its times and counts.
    pub(crate) fn add_standing(&mut self, other: &Health) {
        self.connections = self.connections.saturating_add(other.connections);
        self.waiting = self.waiting.saturating_add(other.waiting);
        self.under_way = self.under_way.saturating_add(other.under_way);
        self.batch.add(&other.batch);
    }

    /// Adds the health of a later interval: as [`Health::add`], but what stood at its end is the
    /// later one's.
    pub fn follow(&mut self, later: &Health) {
        self.add_times(later);
        self.connections = later.connections;
        (self.waiting, self.under_way) = (later.waiting, later.under_way);
        self.batch = later.batch;
    }

    fn add_times(&mut self, other: &Health) {
        self.cpu_user_ns = sum(self.cpu_user_ns, other.cpu_user_ns);
        self.cpu_system_ns = sum(self.cpu_system_ns, other.cpu_system_ns);
        self.run_queue_ns = sum(self.run_queue_ns, other.run_queue_ns);
        self.turns = self.turns.saturating_add(other.turns);
        self.turn_max_ns = self.turn_max_ns.max(other.turn_max_ns);
        self.replies = self.replies.saturating_add(other.replies);
    }

    /// User and system CPU time, nanoseconds.
    pub fn cpu_ns(&self) -> Option<u64> {
        sum(self.cpu_user_ns, self.cpu_system_ns)
    }
}

pub(crate) fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

/// CPU and run-queue times of a thread since it began.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadTimes {
    user_ns: Option<u64>,
    system_ns: Option<u64>,
    run_queue_ns: Option<u64>,
}

/// Reads the times of the thread that made it.
#[derive(Debug)]
pub struct ThreadProbe {
    schedstat: Option<File>,
    last: ThreadTimes,
}

impl ThreadProbe {
    /// Begins to watch the calling thread. Files that cannot be opened leave their figures absent.
    pub fn new() -> ThreadProbe {
        let mut probe = ThreadProbe {
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
            last: ThreadTimes::default(),
        };
        probe.last = probe.read();
        probe
    }

    /// Fills in the times since the last call. To be called on the thread that made the probe.
    pub fn take(&mut self, health: &mut Health) {
        let now = self.read();
        health.cpu_user_ns = difference(now.user_ns, self.last.user_ns);
        health.cpu_system_ns = difference(now.system_ns, self.last.system_ns);
        health.run_queue_ns = difference(now.run_queue_ns, self.last.run_queue_ns);
        self.last = now;
    }

    fn read(&self) -> ThreadTimes {
        let (user_ns, system_ns) = thread_cpu_ns();
        ThreadTimes {
            user_ns,
            system_ns,
            run_queue_ns: self.schedstat.as_ref().and_then(run_queue_ns),
        }
    }
}

impl Default for ThreadProbe {
    fn default() -> Self {
        ThreadProbe::new()
    }
}

fn difference(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(before?))
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
fn run_queue_ns(schedstat: &File) -> Option<u64> {
    let mut text = [0u8; 128];
    let length = schedstat.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The process and the machine in one interval. What could not be read is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessHealth {
    /// Largest resident memory of the process so far, bytes (VmHWM).
    pub memory_peak_bytes: Option<u64>,
    /// CPU time stolen by the hypervisor, clock ticks of all CPUs (`/proc/stat`).
    pub steal_ticks: Option<u64>,
    /// All CPU time, idle included, clock ticks of all CPUs.
    pub total_ticks: Option<u64>,
}

impl ProcessHealth {
    /// Adds a later interval's.
    pub fn follow(&mut self, later: &ProcessHealth) {
        self.memory_peak_bytes = self.memory_peak_bytes.max(later.memory_peak_bytes);
        self.steal_ticks = sum(self.steal_ticks, later.steal_ticks);
        self.total_ticks = sum(self.total_ticks, later.total_ticks);
    }

    /// Stolen share of the machine's CPU time, 0 to 1.
    pub fn steal(&self) -> Option<f64> {
        match (self.steal_ticks?, self.total_ticks?) {
            (_, 0) => None,
            (steal, total) => Some((steal as f64 / total as f64).min(1.0)),
        }
    }
}

/// Reads the process and the machine.
#[derive(Debug)]
pub struct ProcessProbe {
    last: Option<(u64, u64)>,
}

impl ProcessProbe {
    /// Begins to watch.
    pub fn new() -> ProcessProbe {
        ProcessProbe { last: read_ticks() }
    }

    /// The figures since the last call.
    pub fn take(&mut self) -> ProcessHealth {
        let now = read_ticks();
        let before = std::mem::replace(&mut self.last, now);
        ProcessHealth {
            memory_peak_bytes: read_memory_peak_bytes(),
            steal_ticks: difference(now.map(|t| t.0), before.map(|t| t.0)),
            total_ticks: difference(now.map(|t| t.1), before.map(|t| t.1)),
        }
    }
}

impl Default for ProcessProbe {
    fn default() -> Self {
        ProcessProbe::new()
    }
}

fn read_ticks() -> Option<(u64, u64)> {
    ticks(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// Steal and total ticks of the line `cpu`, whose fields are user nice system idle iowait irq
/// softirq steal guest guest_nice; guest time is contained in user and nice (proc_stat(5)).
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line
        .split_ascii_whitespace()
        .take(8)
        .map(|field| field.parse().ok())
        .collect::<Option<_>>()?;
    Some((*fields.get(7)?, fields.iter().sum()))
}

fn read_memory_peak_bytes() -> Option<u64> {
    memory_peak_bytes(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn memory_peak_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_absent() {
        assert_eq!(ticks("cpu0 1 2 3"), None);
        assert_eq!(ticks("cpu  1 2 3 4"), None);
        assert_eq!(ticks("cpu  1 2 3 4 5 6 7 8 100 100\n"), Some((8, 36)));
        assert_eq!(memory_peak_bytes("VmRSS: 5 kB"), None);
        assert_eq!(memory_peak_bytes("VmHWM:\t  20 kB\n"), Some(20_480));
        let empty = ProcessHealth::default();
        assert_eq!(empty.steal(), None);
        assert_eq!(sum(None, Some(3)), Some(3));
        assert_eq!(sum(None, None), None);
    }

    #[test]
    fn a_busy_thread_shows_its_cpu_time() {
        let mut probe = ThreadProbe::new();
        let mut health = Health::default();
        let mut spent_ns = 0;
        // getrusage may advance by whole ticks: work until it shows.
        while spent_ns == 0 {
            std::hint::black_box((0..1_000_000u64).map(std::hint::black_box).sum::<u64>());
            probe.take(&mut health);
            spent_ns = health.cpu_ns().expect("getrusage is always there");
        }
        assert!(spent_ns < 60_000_000_000, "since the last reading only");
    }

    #[test]
    fn merging_workers_and_following_intervals_differ_in_the_connections() {
        let one = Health {
            turn_max_ns: 7,
            connections: 3,
            cpu_user_ns: Some(5),
            ..Health::default()
        };
        let mut workers = one;
        workers.add(&Health {
            turn_max_ns: 4,
            ..one
        });
        assert_eq!((workers.turn_max_ns, workers.connections), (7, 6));
        assert_eq!(
            (workers.cpu_user_ns, workers.run_queue_ns),
            (Some(10), None)
        );
        let mut later = one;
        later.follow(&one);
        assert_eq!(later.connections, 3);
    }
}
