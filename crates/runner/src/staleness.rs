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

/// How often it is noted what the clients know, which is the resolution of ages.
const NOTE_INTERVAL: Duration = Duration::from_millis(20);
/// A replica is read once in so many of these.
const NOTES_PER_READING: u32 = 10;
/// The most numbers that are kept to tell ages by.
const MAX_NUMBERS: usize = 4_000_000;
/// How long the end of a run waits for the last readings.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the ledger's table at the replicas during the load.
pub(crate) struct StalenessObserver {
    shared: Arc<Shared>,
    /// Disconnected once all threads have ended.
    ended: Receiver<()>,
}

struct Shared {
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
        let shared = Arc::new(Shared {
            ledger: Arc::clone(ledger),
            table: table.clone(),
            must_end: AtomicBool::new(false),
            readings: Mutex::new(Readings::new(replicas.len())),
        });
        let (sender, ended) = channel();
        let spawn = |body: Box<dyn FnOnce(&Shared) + Send>| {
            let (shared, sender): (_, Sender<()>) = (Arc::clone(&shared), sender.clone());
            let name = thread::Builder::new().name("staleness".to_owned());
            let spawned = name.spawn(move || {
                let _at_end = sender;
                body(&shared);
            });
            spawned.ok()
        };
        spawn(Box::new(Shared::note))?;
        for (index, replica) in replicas.into_iter().enumerate() {
            spawn(Box::new(move |shared| shared.observe(index, &replica)))?;
        }
        Some(StalenessObserver { shared, ended })
    }

    /// What was read until now. A reading that has no answer yet is left out.
    pub(crate) fn end(self) -> ReplicaStaleness {
        self.shared.must_end.store(true, Ordering::Relaxed);
        // Nothing is sent; the others need not wait for a replica that hangs.
        let _ = self.ended.recv_timeout(END_TIMEOUT);
        self.shared.lock().result()
    }
}

impl Drop for StalenessObserver {
    /// Also of a run that fails.
    fn drop(&mut self) {
        self.shared.must_end.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Readings> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn must_end(&self) -> bool {
        self.must_end.load(Ordering::Relaxed)
    }

    /// Notes what the clients know until the end.
    fn note(&self) {
        while !self.must_end() {
            let now_ns = Clock::System.now_ns();
            let last = self.ledger.last_numbers();
            self.lock().note(now_ns, last);
            sleep(NOTE_INTERVAL);
        }
    }

    fn observe(&self, index: usize, replica: &Target) {
        let (mut control, mut end) = (None, 0);
        loop {
            let pause_ends = Instant::now() + NOTE_INTERVAL * NOTES_PER_READING;
            let start = self.start_of_reading();
            if let Err(error) = self.read(index, replica, start, &mut control, &mut end) {
                // The table may not be there yet, or the connection is lost.
                control = None;
                self.lock().failures[index] = Some(error);
            }
            while !self.must_end() && Instant::now() < pause_ends {
                sleep(NOTE_INTERVAL);
            }
            if self.must_end() {
                return;
            }
        }
    }

    fn start_of_reading(&self) -> Start {
        let at_ns = Clock::System.now_ns();
        // In this order: a commit whose outcome is not known is among these before it is the last one.
        let last = self.ledger.last_numbers();
        Start {
            note: Note { at_ns, last },
            ambiguous: self.ledger.ambiguous(),
            seen_before: self.lock().seen_before.clone(),
        }
    }

    fn read(
        &self,
        index: usize,
        replica: &Target,
        start: Start,
        control: &mut Option<Control>,
        end: &mut u64,
    ) -> Result<(), String> {
        let connected = match control {
            Some(connected) => connected,
            None => {
                let connected = Control::connect(replica).map_err(|error| error.to_string())?;
                control.insert(connected)
            }
        };
        let entries = self.table.latest(connected, end);
        let entries = entries.map_err(|error| error.to_string())?;
        self.lock().read(index, start, &entries);
        Ok(())
    }
}

/// What the clients knew at one time.
struct Note {
    at_ns: u64,
    last: Vec<u64>,
}

/// What was known when a reading began.
struct Start {
    note: Note,
    /// Commits that may not exist, in order.
    ambiguous: Vec<LedgerEntry>,
    /// What the reading before has shown, at whichever replica.
    seen_before: Vec<u64>,
}

impl Start {
    /// How many commits of a client are missing after this number, and the first of them.
    fn missing_after(&self, client: usize, seen: u64) -> Option<(u64, u64)> {
        let last = self.note.last[client];
        let entry = |sequence| LedgerEntry {
            client: client as u32,
            sequence,
        };
        let [from, to] = [entry(seen), entry(last)]
            .map(|entry| self.ambiguous.partition_point(|one| *one <= entry));
        let unknown = self.ambiguous.get(from..to).unwrap_or_default();
        let missing = last.saturating_sub(seen) - unknown.len() as u64;
        let mut first = seen + 1;
        for entry in unknown {
            first += u64::from(entry.sequence == first);
        }
        (missing > 0).then_some((missing, first))
    }
}

struct Readings {
    notes: VecDeque<Note>,
    /// The last number of each client that each replica has shown; empty without a reading.
    seen: Vec<Vec<u64>>,
    /// The last number of each client that the reading before has shown, at whichever replica.
    seen_before: Vec<u64>,
    /// Why the last failed reading of each replica failed.
    failures: Vec<Option<String>>,
    commits: Vec<f64>,
    ages_s: Vec<f64>,
    went_back: u64,
    went_back_across: u64,
}

impl Readings {
    fn new(replicas: usize) -> Readings {
        Readings {
            notes: VecDeque::new(),
            seen: vec![Vec::new(); replicas],
            seen_before: Vec::new(),
            failures: vec![None; replicas],
            commits: Vec::new(),
            ages_s: Vec::new(),
            went_back: 0,
            went_back_across: 0,
        }
    }

    fn note(&mut self, at_ns: u64, last: Vec<u64>) {
        let most = MAX_NUMBERS / last.len().max(1);
        self.notes.push_back(Note { at_ns, last });
        if self.notes.len() > most {
            self.thin_notes(most * 3 / 4);
        }
    }

    /// Leaves about this many notes: the older they are, the fewer, so that an age is wrong by a share of itself.
    fn thin_notes(&mut self, wanted: usize) {
        let mut percent = 1;
        while self.notes.len() > wanted.max(2) && percent <= 100 {
            let newest_ns = self.notes.back().map_or(0, |note| note.at_ns);
            let mut kept = VecDeque::with_capacity(self.notes.len());
            let mut last_ns = None;
            while let Some(note) = self.notes.pop_back() {
                let age_ns = newest_ns - note.at_ns;
                let is_apart = last_ns
                    .is_none_or(|last_ns: u64| (last_ns - note.at_ns) * 100 >= age_ns * percent);
                // The oldest one stays, or the greatest age would shrink.
                if is_apart || self.notes.is_empty() {
                    last_ns = Some(note.at_ns);
                    kept.push_front(note);
                }
            }
            (self.notes, percent) = (kept, percent * 2);
        }
    }

    /// Adds a reading: the highest number of each client that it found.
    fn read(&mut self, replica: usize, start: Start, entries: &[(u32, u64)]) {
        let clients = start.note.last.len();
        let seen = &mut self.seen[replica];
        seen.resize(clients, 0);
        self.seen_before.resize(clients, 0);
        let (mut is_back, mut is_back_across) = (false, false);
        for &(client, highest) in entries {
            let client = client as usize;
            if client < clients {
                is_back |= highest < seen[client];
                // Not what another replica has shown in the meantime.
                is_back_across |= start.seen_before.get(client) > Some(&highest);
                (seen[client], self.seen_before[client]) = (highest, highest);
            }
        }
        self.went_back += u64::from(is_back);
        self.went_back_across += u64::from(is_back_across);
        let (mut commits, mut oldest_ns) = (0, start.note.at_ns);
        for (client, seen) in seen.iter().enumerate() {
            let Some((missing, first)) = start.missing_after(client, *seen) else {
                continue;
            };
            commits += missing;
            let is_before = |note: &Note| note.last[client] < first;
            let known = self.notes.get(self.notes.partition_point(is_before));
            oldest_ns = oldest_ns.min(known.map_or(u64::MAX, |note| note.at_ns));
        }
        self.commits.push(commits as f64);
        self.ages_s
            .push((start.note.at_ns - oldest_ns) as f64 / 1e9);
    }

    fn result(&mut self) -> ReplicaStaleness {
        self.commits.sort_by(f64::total_cmp);
        self.ages_s.sort_by(f64::total_cmp);
        let at = |values: &[f64], percent| nearest_rank(values, percent).unwrap_or_default();
        let of_replicas = self.seen.iter().zip(&self.failures);
        let mut unread = of_replicas
            .filter(|(seen, _)| seen.is_empty())
            .map(|(_, failure)| {
                let silent = || "a replica did not answer until the end of the load".to_owned();
                failure.clone().unwrap_or_else(silent)
            });
        ReplicaStaleness {
            readings: self.commits.len() as u64,
            not_read: unread.next_back(),
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

    /// A reading that begins now, at the time of the last note.
    fn start(readings: &Readings, ambiguous: &[(u32, u64)]) -> Start {
        let note = readings.notes.back().expect("noted");
        let entry = |&(client, sequence)| LedgerEntry { client, sequence };
        Start {
            note: Note {
                at_ns: note.at_ns,
                last: note.last.clone(),
            },
            ambiguous: ambiguous.iter().map(entry).collect(),
            seen_before: readings.seen_before.clone(),
        }
    }

    fn read(readings: &mut Readings, replica: usize, entries: &[(u32, u64)]) {
        readings.read(replica, start(readings, &[]), entries);
    }

    #[test]
    fn a_replica_is_behind_by_what_was_acknowledged_before_the_reading() {
        let mut readings = Readings::new(2);
        for at in 0..=10 {
            readings.note(at * SECOND, vec![at * 10, at]);
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
        readings.read(0, early, &[(0, 90)]);
        let result = readings.result();
        assert_eq!((result.readings, result.commits_max), (5, 60));
        assert_eq!((result.age_max_s, result.went_back_across), (9.0, Some(1)));
        assert_eq!(result.not_read, None);
    }

    #[test]
    fn commits_that_may_not_exist_are_not_missing() {
        let mut readings = Readings::new(1);
        readings.note(SECOND, vec![7, 3]);
        readings.note(2 * SECOND, vec![8, 4]);
        readings.note(3 * SECOND, vec![9, 4]);
        // The primary died with 8 and 4 in flight; client 0 went on with 9.
        let ambiguous = [(0, 5), (0, 8), (1, 4)];
        let begun = start(&readings, &ambiguous);
        readings.read(0, begun, &[(0, 7), (1, 3)]);
        assert_eq!((readings.commits[0], readings.ages_s[0]), (1.0, 0.0));
        let begun = start(&readings, &ambiguous);
        readings.read(0, begun, &[(0, 9), (1, 3)]);
        assert_eq!((readings.commits[1], readings.ages_s[1]), (0.0, 0.0));
    }

    #[test]
    fn the_age_of_many_clients_is_roughly_right_however_great() {
        let clients = MAX_NUMBERS / 400;
        let mut readings = Readings::new(1);
        for at in 0..3_000 {
            readings.note(at * SECOND / 50, vec![at + 1; clients]);
        }
        assert!(readings.notes.len() <= 400, "{}", readings.notes.len());
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
        readings.note(SECOND, vec![1]);
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
