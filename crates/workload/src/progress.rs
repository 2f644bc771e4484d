//! How far a load is: counted by its loaders, shown a few times a second at most.
//!
//! In: rows and bytes as they are sent. Out: calls of [`Progress::step`], seconds of each phase.
//! Must never: print; take a lock for each row.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Shortest time between two calls within a phase.
const INTERVAL: Duration = Duration::from_millis(250);

/// What a load is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Dropping the old tables and creating new ones.
    Create,
    /// Sending rows.
    Rows,
    /// Collecting statistics, and marking pages all-visible where that is still to be done.
    Statistics,
    /// Building primary keys.
    Keys,
}

impl Phase {
    /// One word: `create`, `rows`, `statistics`, `keys`.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Create => "create",
            Phase::Rows => "rows",
            Phase::Statistics => "statistics",
            Phase::Keys => "keys",
        }
    }
}

/// How far a load is.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What it is doing.
    pub phase: Phase,
    /// The table concerned; empty where it is all of them.
    pub table: &'static str,
    /// Rows of all tables sent so far.
    pub rows_done: u64,
    /// Rows of all tables to send.
    pub rows_total: u64,
    /// Since the start of the load.
    pub elapsed: Duration,
}

/// Is told how far a load is.
pub trait Progress: Sync {
    /// At the start of each phase and table, and at most four times a second within one. May be
    /// called from any loader's thread, never from two at once.
    fn step(&self, step: &Step);
}

/// Shows nothing.
impl Progress for () {
    fn step(&self, _: &Step) {}
}

/// Counts for one load, and passes on to its [`Progress`].
pub struct Meter<'a> {
    progress: &'a dyn Progress,
    started: Instant,
    rows_total: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    shown: Mutex<Shown>,
}

struct Shown {
    phase: Phase,
    table: &'static str,
    phase_since: Instant,
    last: Instant,
    seconds: Vec<(Phase, f64)>,
}

impl<'a> Meter<'a> {
    /// Starts the clock, in [`Phase::Create`].
    pub fn start(progress: &'a dyn Progress, rows_total: u64) -> Self {
        let now = Instant::now();
        let shown = Shown {
            phase: Phase::Create,
            table: "",
            phase_since: now,
            last: now,
            seconds: Vec::new(),
        };
        let meter = Meter {
            progress,
            started: now,
            rows_total: AtomicU64::new(rows_total),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            shown: Mutex::new(shown),
        };
        meter.enter(Phase::Create, "");
        meter
    }

    /// So many rows are to be sent, where that shows only after the start.
    pub fn expect(&self, rows_total: u64) {
        self.rows_total.store(rows_total, Ordering::Relaxed);
    }

    /// A phase begins, or goes on with another table.
    pub fn enter(&self, phase: Phase, table: &'static str) {
        let mut shown = self.lock();
        let now = Instant::now();
        if shown.phase != phase {
            shown.close(now);
            shown.phase = phase;
        }
        shown.table = table;
        self.show(&mut shown, now);
    }

    /// Rows were sent, in so many bytes. Cheap enough for every buffer, not for every row.
    pub fn sent(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        // A loader that finds another one showing progress has better things to do than wait.
        let Ok(mut shown) = self.shown.try_lock() else {
            return;
        };
        let now = Instant::now();
        if now.duration_since(shown.last) >= INTERVAL {
            self.show(&mut shown, now);
        }
    }

    /// Rows sent so far, of all tables.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Bytes of rows sent so far, without the framing of the protocol.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Ends the last phase: seconds of each phase, in order, and of the whole.
    pub fn finish(&self) -> (Vec<(Phase, f64)>, f64) {
        let now = Instant::now();
        let mut shown = self.lock();
        shown.close(now);
        let phases = std::mem::take(&mut shown.seconds);
        (phases, now.duration_since(self.started).as_secs_f64())
    }

    fn show(&self, shown: &mut Shown, now: Instant) {
        shown.last = now;
        self.progress.step(&Step {
            phase: shown.phase,
            table: shown.table,
            rows_done: self.rows(),
            rows_total: self.rows_total.load(Ordering::Relaxed),
            elapsed: now.duration_since(self.started),
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shown> {
        // A panic of another loader has its own report; the counts stay good.
        self.shown
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Shown {
    /// Adds the time since the phase began to its sum: a phase may be entered more than once.
    fn close(&mut self, now: Instant) {
        let seconds = now.duration_since(self.phase_since).as_secs_f64();
        self.phase_since = now;
        let phase = self.phase;
        match self.seconds.iter_mut().find(|(known, _)| *known == phase) {
            Some((_, sum)) => *sum += seconds,
            None => self.seconds.push((phase, seconds)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Seen(Mutex<Vec<Step>>);
    impl Progress for Seen {
        fn step(&self, step: &Step) {
            self.0.lock().expect("one thread").push(*step);
        }
    }

    #[test]
    fn shows_each_start_and_not_each_buffer() {
        let seen = Seen(Mutex::new(Vec::new()));
        let meter = Meter::start(&seen, 1000);
        meter.enter(Phase::Rows, "a");
        for _ in 0..1000 {
            meter.sent(1, 30);
        }
        meter.enter(Phase::Keys, "");
        let (phases, total) = meter.finish();
        assert_eq!((meter.rows(), meter.bytes()), (1000, 30_000));
        assert_eq!(
            phases.iter().map(|(phase, _)| *phase).collect::<Vec<_>>(),
            [Phase::Create, Phase::Rows, Phase::Keys]
        );
        let sum: f64 = phases.iter().map(|(_, seconds)| seconds).sum();
        assert!(
            (sum - total).abs() < 1e-6,
            "phases tile the whole: {sum} of {total}"
        );
        let steps = seen.0.into_inner().expect("one thread");
        let most = 3 + usize::try_from((total / INTERVAL.as_secs_f64()) as u64).expect("small");
        assert!(steps.len() <= most, "{} calls in {total} s", steps.len());
        assert_eq!(steps.last().map(|step| step.rows_done), Some(1000));
    }
}
