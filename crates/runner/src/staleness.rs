//! How far replicas are behind what clients know to be committed, by the ledger.
//!
//! In: the ledger of a run, the servers for reads. Out: [`ReplicaStaleness`]. Must never: count a commit as missing that
//! was acknowledged after the reading began or whose outcome is not known, or let a replica that does not answer delay
//! the others or the end of a run.

use prony_drive::clock::Clock;
use prony_server::{Control, Target};
use prony_session::{Ledger, LedgerEntry};
use prony_store::{ReplicaStaleness, nearest_rank};
use prony_workload::ledger::LedgerTable;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// Time between two snapshots of what the clients know, which is the resolution of ages.
const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(20);
/// A replica is read once in this many intervals.
const INTERVALS_PER_READING: u32 = 10;
/// The most numbers that all snapshots together may have: 32 MB.
const MAX_NUMBERS: usize = 4_000_000;
/// How long the end of a run waits for the last readings.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the ledger's table at the replicas during the load.
pub(crate) struct StalenessObserver {
    state: Arc<ObserverState>,
    /// Disconnected once all threads have ended.
    ended: Receiver<()>,
}

/// What the threads of the observer share.
struct ObserverState {
    ledger: Arc<Ledger>,
    table: LedgerTable,
    must_end: AtomicBool,
    readings: Mutex<Readings>,
}

impl StalenessObserver {
    /// Starts to read at each of the servers for reads; `None` if there is none.
    pub(crate) fn start(
        ledger: &Arc<Ledger>,
        table: &LedgerTable,
        target: &Target,
    ) -> Option<StalenessObserver> {
        let replicas = target.targets_for_reads();
        if replicas.is_empty() {
            return None;
        }
        let state = Arc::new(ObserverState {
            ledger: Arc::clone(ledger),
            table: table.clone(),
            must_end: AtomicBool::new(false),
            readings: Mutex::new(Readings::new(replicas.len())),
        });
        let (sender, ended) = channel();
        let spawn = |body: Box<dyn FnOnce(&ObserverState) + Send>| {
            let state = Arc::clone(&state);
            let sender: Sender<()> = sender.clone();
            let thread = thread::Builder::new().name("staleness".to_owned());
            let spawned = thread.spawn(move || {
                // Dropped when the thread ends, which `ended` notices.
                let _sender = sender;
                body(&state);
            });
            spawned.ok()
        };
        spawn(Box::new(ObserverState::take_snapshots))?;
        for (index, target) in replicas.into_iter().enumerate() {
            let reader = ReplicaReader {
                index,
                target,
                control: None,
                table_end: 0,
            };
            spawn(Box::new(move |state| state.observe(reader)))?;
        }
        Some(StalenessObserver { state, ended })
    }

    /// What was read until now. A reading that has no answer yet is left out.
    pub(crate) fn end(self) -> ReplicaStaleness {
        self.state.must_end.store(true, Ordering::Relaxed);
        // Nothing is sent: this waits for the threads, but not for a replica that hangs.
        let _ = self.ended.recv_timeout(END_TIMEOUT);
        self.state.lock().result()
    }
}

impl Drop for StalenessObserver {
    /// Ends the threads of a run that fails, too.
    fn drop(&mut self) {
        self.state.must_end.store(true, Ordering::Relaxed);
    }
}

/// Reads the ledger's table at one replica.
struct ReplicaReader {
    index: usize,
    target: Target,
    /// `None` until it is connected, and after an error.
    control: Option<Control>,
    /// Where the table ended at the last reading; 0 before the first.
    table_end: u64,
}

impl ObserverState {
    fn lock(&self) -> MutexGuard<'_, Readings> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn must_end(&self) -> bool {
        self.must_end.load(Ordering::Relaxed)
    }

    /// Takes snapshots until the end.
    fn take_snapshots(&self) {
        while !self.must_end() {
            let at_ns = Clock::System.now_ns();
            let last = self.ledger.last_numbers();
            self.lock().add_snapshot(Snapshot { at_ns, last });
            sleep(SNAPSHOT_INTERVAL);
        }
    }

    /// Reads a replica until the end.
    fn observe(&self, mut reader: ReplicaReader) {
        loop {
            let pause_ends = Instant::now() + SNAPSHOT_INTERVAL * INTERVALS_PER_READING;
            if let Err(error) = self.read(&mut reader) {
                // The table may not be there yet, or the connection is lost.
                reader.control = None;
                self.lock().failures[reader.index] = Some(error);
            }
            while !self.must_end() && Instant::now() < pause_ends {
                sleep(SNAPSHOT_INTERVAL);
            }
            if self.must_end() {
                return;
            }
        }
    }

    fn start_of_reading(&self) -> ReadingStart {
        let at_ns = Clock::System.now_ns();
        // In this order: a commit whose outcome is not known is among these before it is the last one.
        let last = self.ledger.last_numbers();
        ReadingStart {
            snapshot: Snapshot { at_ns, last },
            ambiguous: self.ledger.ambiguous(),
            seen_before: self.lock().seen_before.clone(),
        }
    }

    fn read(&self, reader: &mut ReplicaReader) -> Result<(), String> {
        let start = self.start_of_reading();
        let control = match &mut reader.control {
            Some(control) => control,
            None => {
                let control =
                    Control::connect(&reader.target).map_err(|error| error.to_string())?;
                reader.control.insert(control)
            }
        };
        let entries = self.table.latest(control, &mut reader.table_end);
        let entries = entries.map_err(|error| error.to_string())?;
        self.lock().add_reading(reader.index, start, &entries);
        Ok(())
    }
}

/// What the clients knew at one time of the run's clock: the last number of each.
struct Snapshot {
    at_ns: u64,
    last: Vec<u64>,
}

/// What was known when a reading began.
struct ReadingStart {
    snapshot: Snapshot,
    /// Commits that may not exist, in order.
    ambiguous: Vec<LedgerEntry>,
    /// What the reading before it has shown, at whichever replica.
    seen_before: Vec<u64>,
}

/// Commits of a client that a replica does not have.
struct MissingCommits {
    count: u64,
    /// The lowest number.
    first: u64,
}

impl ReadingStart {
    /// The commits of a client that are missing if this number is the last that was seen; `None` if none are.
    fn missing_after(&self, client: usize, seen: u64) -> Option<MissingCommits> {
        let last = self.snapshot.last[client];
        let entry = |sequence| LedgerEntry {
            client: client as u32,
            sequence,
        };
        let end_of = |entry: LedgerEntry| self.ambiguous.partition_point(|other| *other <= entry);
        let unknown = self.ambiguous.get(end_of(entry(seen))..end_of(entry(last)));
        let unknown = unknown.unwrap_or_default();
        let count = last.saturating_sub(seen) - unknown.len() as u64;
        let mut first = seen + 1;
        for entry in unknown {
            first += u64::from(entry.sequence == first);
        }
        (count > 0).then_some(MissingCommits { count, first })
    }
}

/// The snapshots, and the results of all readings.
struct Readings {
    snapshots: VecDeque<Snapshot>,
    /// The last number of each client that each replica has shown; empty without a reading.
    seen: Vec<Vec<u64>>,
    /// The last number of each client that the reading before has shown, at whichever replica.
    seen_before: Vec<u64>,
    /// Why the last failed reading of each replica failed.
    failures: Vec<Option<String>>,
    /// Of each reading: the number of missing commits, and the age of the oldest.
    commits: Vec<f64>,
    ages_s: Vec<f64>,
    /// Readings that showed less than an earlier one at the same replica.
    went_back: u64,
    /// Readings that showed less than the reading before it, at whichever replica.
    went_back_across: u64,
}

impl Readings {
    fn new(replicas: usize) -> Readings {
        Readings {
            snapshots: VecDeque::new(),
            seen: vec![Vec::new(); replicas],
            seen_before: Vec::new(),
            failures: vec![None; replicas],
            commits: Vec::new(),
            ages_s: Vec::new(),
            went_back: 0,
            went_back_across: 0,
        }
    }

    fn add_snapshot(&mut self, snapshot: Snapshot) {
        let most = MAX_NUMBERS / snapshot.last.len().max(1);
        self.snapshots.push_back(snapshot);
        if self.snapshots.len() > most {
            self.thin_snapshots(most * 3 / 4);
        }
    }

    /// Leaves about this many snapshots: the older they are, the fewer, so that an age is wrong by a share of itself.
    fn thin_snapshots(&mut self, wanted: usize) {
        // The distance between two snapshots, in per cent of their age.
        let mut percent = 1;
        while self.snapshots.len() > wanted.max(2) && percent <= 100 {
            let newest_ns = self.snapshots.back().map_or(0, |newest| newest.at_ns);
            let mut kept = VecDeque::with_capacity(self.snapshots.len());
            let mut last_ns = None;
            while let Some(snapshot) = self.snapshots.pop_back() {
                let at_ns = snapshot.at_ns;
                let age_ns = newest_ns - at_ns;
                let is_apart =
                    last_ns.is_none_or(|last_ns: u64| (last_ns - at_ns) * 100 >= age_ns * percent);
                // The oldest one stays, or the greatest age would shrink.
                if is_apart || self.snapshots.is_empty() {
                    last_ns = Some(at_ns);
                    kept.push_front(snapshot);
                }
            }
            self.snapshots = kept;
            percent *= 2;
        }
    }

    /// Adds a reading: `entries` are clients, each with the highest number that it found.
    fn add_reading(&mut self, replica: usize, start: ReadingStart, entries: &[(u32, u64)]) {
        let clients = start.snapshot.last.len();
        let seen = &mut self.seen[replica];
        seen.resize(clients, 0);
        self.seen_before.resize(clients, 0);
        let mut is_back = false;
        let mut is_back_across = false;
        for &(client, highest) in entries {
            let client = client as usize;
            if client < clients {
                is_back |= highest < seen[client];
                // Compared with what was seen when the reading began, not with what another replica has shown since.
                let before = start.seen_before.get(client);
                is_back_across |= before.is_some_and(|before| highest < *before);
                seen[client] = highest;
                self.seen_before[client] = highest;
            }
        }
        self.went_back += u64::from(is_back);
        self.went_back_across += u64::from(is_back_across);
        let mut commits = 0;
        let mut oldest_ns = start.snapshot.at_ns;
        for (client, seen) in seen.iter().enumerate() {
            let Some(missing) = start.missing_after(client, *seen) else {
                continue;
            };
            commits += missing.count;
            let is_before = |snapshot: &Snapshot| snapshot.last[client] < missing.first;
            let known_at = self.snapshots.partition_point(is_before);
            if let Some(snapshot) = self.snapshots.get(known_at) {
                oldest_ns = oldest_ns.min(snapshot.at_ns);
            }
        }
        self.commits.push(commits as f64);
        self.ages_s
            .push((start.snapshot.at_ns - oldest_ns) as f64 / 1e9);
    }

    fn result(&mut self) -> ReplicaStaleness {
        self.commits.sort_by(f64::total_cmp);
        self.ages_s.sort_by(f64::total_cmp);
        let at = |values: &[f64], percent| nearest_rank(values, percent).unwrap_or_default();
        let mut not_read = None;
        for (seen, failure) in self.seen.iter().zip(&self.failures) {
            if seen.is_empty() {
                let silent = || "a replica did not answer until the end of the load".to_owned();
                not_read = Some(failure.clone().unwrap_or_else(silent));
            }
        }
        ReplicaStaleness {
            readings: self.commits.len() as u64,
            not_read,
            commits_p50: at(&self.commits, 50) as u64,
            commits_p95: at(&self.commits, 95) as u64,
            commits_max: at(&self.commits, 100) as u64,
            age_p50_s: at(&self.ages_s, 50),
            age_p95_s: at(&self.ages_s, 95),
            age_max_s: at(&self.ages_s, 100),
            went_back: self.went_back,
            went_back_across: (self.seen.len() > 1).then_some(self.went_back_across),
            told_within_s: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A reading that begins now, at the time of the last snapshot.
    fn start(readings: &Readings, ambiguous: &[(u32, u64)]) -> ReadingStart {
        let newest = readings.snapshots.back().expect("a snapshot");
        let entry = |&(client, sequence)| LedgerEntry { client, sequence };
        ReadingStart {
            snapshot: Snapshot {
                at_ns: newest.at_ns,
                last: newest.last.clone(),
            },
            ambiguous: ambiguous.iter().map(entry).collect(),
            seen_before: readings.seen_before.clone(),
        }
    }

    fn note(readings: &mut Readings, at_ns: u64, last: Vec<u64>) {
        readings.add_snapshot(Snapshot { at_ns, last });
    }

    fn read(readings: &mut Readings, replica: usize, entries: &[(u32, u64)]) {
        readings.add_reading(replica, start(readings, &[]), entries);
    }

    #[test]
    fn a_replica_is_behind_by_what_was_acknowledged_before_the_reading() {
        let mut readings = Readings::new(2);
        for at in 0..=10 {
            note(&mut readings, at * SECOND, vec![at * 10, at]);
        }
        // Of client 0 the numbers from 71 on are missing, which were known at 8 s; of client 1 none.
        read(&mut readings, 0, &[(0, 70), (1, 10)]);
        assert_eq!((readings.commits[0], readings.ages_s[0]), (30.0, 2.0));
        // The other replica is even further behind: who reads there next sees less than before.
        read(&mut readings, 1, &[(0, 50)]);
        assert_eq!((readings.commits[1], readings.ages_s[1]), (60.0, 9.0));
        assert_eq!((readings.went_back, readings.went_back_across), (0, 1));
        read(&mut readings, 0, &[(0, 60)]);
        assert_eq!((readings.went_back, readings.went_back_across), (1, 1));
        read(&mut readings, 1, &[(0, 100), (1, 10)]);
        // It began before that one had its answer.
        let mut early = start(&readings, &[]);
        early.seen_before = vec![60, 10];
        readings.add_reading(0, early, &[(0, 90)]);
        let result = readings.result();
        assert_eq!((result.readings, result.commits_max), (5, 60));
        assert_eq!((result.age_max_s, result.went_back_across), (9.0, Some(1)));
        assert_eq!(result.not_read, None);
    }

    #[test]
    fn commits_that_may_not_exist_are_not_missing() {
        let mut readings = Readings::new(1);
        note(&mut readings, SECOND, vec![7, 3]);
        note(&mut readings, 2 * SECOND, vec![8, 4]);
        note(&mut readings, 3 * SECOND, vec![9, 4]);
        // The primary died with 8 and 4 in flight; client 0 went on with 9.
        let ambiguous = [(0, 5), (0, 8), (1, 4)];
        let begun = start(&readings, &ambiguous);
        readings.add_reading(0, begun, &[(0, 7), (1, 3)]);
        assert_eq!((readings.commits[0], readings.ages_s[0]), (1.0, 0.0));
        let begun = start(&readings, &ambiguous);
        readings.add_reading(0, begun, &[(0, 9), (1, 3)]);
        assert_eq!((readings.commits[1], readings.ages_s[1]), (0.0, 0.0));
    }

    #[test]
    fn the_age_of_many_clients_is_roughly_right_however_great() {
        let clients = MAX_NUMBERS / 400;
        let mut readings = Readings::new(1);
        for at in 0..3_000 {
            note(&mut readings, at * SECOND / 50, vec![at + 1; clients]);
        }
        assert!(
            readings.snapshots.len() <= 400,
            "{}",
            readings.snapshots.len()
        );
        for seen in [0, 1_500, 2_900] {
            let entries = (0..clients as u32).map(|client| (client, seen));
            read(&mut readings, 0, &entries.collect::<Vec<_>>());
        }
        for (age_s, expected_s) in readings.ages_s.iter().zip([59.98, 29.98, 1.98]) {
            assert!(
                (age_s / expected_s - 1.0).abs() < 0.1,
                "{age_s} {expected_s}"
            );
        }
    }

    #[test]
    fn a_table_that_was_never_read_has_a_reason() {
        let mut readings = Readings::new(2);
        note(&mut readings, SECOND, vec![1]);
        read(&mut readings, 0, &[(0, 1)]);
        let silent = readings.result();
        assert_eq!(silent.readings, 1);
        assert!(
            silent
                .not_read
                .is_some_and(|it| it.contains("did not answer"))
        );
        readings.failures[1] = Some("no".to_owned());
        assert_eq!(readings.result().not_read.as_deref(), Some("no"));
    }
}
