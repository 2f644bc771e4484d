//! How far replicas are behind what clients know to be committed, by the ledger.
//!
//! In: the ledger of a run, the servers for reads. Out: [`ReplicaStaleness`]. Must never: count a commit as missing that
//! was acknowledged after the reading began, or delay the end of a run by a replica that does not answer.

use prony_drive::clock::Clock;
use prony_server::{Control, Target};
use prony_session::Ledger;
use prony_store::ReplicaStaleness;
use prony_workload::ledger::LedgerTable;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, sleep};
use std::time::Duration;

/// How often it is noted what the clients know, which is the resolution of ages.
const NOTE_INTERVAL: Duration = Duration::from_millis(20);
/// A replica is read once in so many of these.
const NOTES_PER_READING: u32 = 10;
/// The most numbers that are kept to tell ages by.
const MAX_NUMBERS: usize = 1_000_000;
/// How long the end of a run waits for the last reading.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the ledger's table at the replicas during the load.
pub(crate) struct StalenessObserver {
    must_end: Arc<AtomicBool>,
    result: Receiver<ReplicaStaleness>,
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
        let must_end = Arc::new(AtomicBool::new(false));
        let (sender, result) = channel();
        let (ledger, table, end) = (Arc::clone(ledger), table.clone(), Arc::clone(&must_end));
        let observe = move || {
            // The receiver is gone if the run did not wait.
            let _ = sender.send(observe(&ledger, &table, &replicas, &end));
        };
        let name = thread::Builder::new().name("staleness".to_owned());
        name.spawn(observe).ok()?;
        Some(StalenessObserver { must_end, result })
    }

    /// What was read until now.
    pub(crate) fn end(self) -> ReplicaStaleness {
        self.must_end.store(true, Ordering::Relaxed);
        let in_time = self.result.recv_timeout(END_TIMEOUT);
        in_time.unwrap_or_else(|_| ReplicaStaleness {
            not_read: Some("a replica did not answer at the end of the load".to_owned()),
            ..ReplicaStaleness::default()
        })
    }
}

impl Drop for StalenessObserver {
    /// Also of a run that fails.
    fn drop(&mut self) {
        self.must_end.store(true, Ordering::Relaxed);
    }
}

fn observe(
    ledger: &Ledger,
    table: &LedgerTable,
    replicas: &[Target],
    must_end: &AtomicBool,
) -> ReplicaStaleness {
    let mut readings = Readings::new(replicas.len());
    let mut controls: Vec<Option<Control>> = replicas.iter().map(|_| None).collect();
    let mut failure = None;
    for note in 0u32.. {
        if must_end.load(Ordering::Relaxed) {
            break;
        }
        let now_ns = Clock::System.now_ns();
        readings.note(now_ns, ledger.last_numbers());
        if note % NOTES_PER_READING == 0 {
            let replica = (note / NOTES_PER_READING) as usize % replicas.len();
            let control = &mut controls[replica];
            if control.is_none() {
                match Control::connect(&replicas[replica]) {
                    Ok(connected) => *control = Some(connected),
                    Err(error) => failure = Some(error.to_string()),
                }
            }
            if let Some(connected) = control {
                match table.latest(connected) {
                    Ok(entries) => readings.read(replica, &entries),
                    // The table may not be there yet, or the connection is lost.
                    Err(error) => {
                        failure = Some(error.to_string());
                        *control = None;
                    }
                }
            }
        }
        sleep(NOTE_INTERVAL);
    }
    readings.result(failure)
}

/// What the clients knew at one time.
struct Note {
    at_ns: u64,
    last: Vec<u64>,
}

/// What was read, and what the clients knew.
struct Readings {
    notes: VecDeque<Note>,
    /// The last number of each client that each replica has shown.
    seen: Vec<Vec<u64>>,
    /// The last number of each client that the reading before has shown, at whichever replica.
    seen_before: Vec<u64>,
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
            commits: Vec::new(),
            ages_s: Vec::new(),
            went_back: 0,
            went_back_across: 0,
        }
    }

    fn note(&mut self, at_ns: u64, last: Vec<u64>) {
        while self.notes.len() * last.len() > MAX_NUMBERS {
            self.notes.pop_front();
        }
        self.notes.push_back(Note { at_ns, last });
    }

    /// Adds a reading that began after the last note: the highest number of each client that it found.
    fn read(&mut self, replica: usize, entries: &[(u32, u64)]) {
        let Some(now) = self.notes.back() else { return };
        let seen = &mut self.seen[replica];
        seen.resize(now.last.len(), 0);
        self.seen_before.resize(now.last.len(), 0);
        let (mut is_back, mut is_back_across) = (false, false);
        for &(client, highest) in entries {
            let client = client as usize;
            if client < seen.len() {
                is_back |= highest < seen[client];
                is_back_across |= highest < self.seen_before[client];
                (seen[client], self.seen_before[client]) = (highest, highest);
            }
        }
        self.went_back += u64::from(is_back);
        self.went_back_across += u64::from(is_back_across);
        let behind = now.last.iter().zip(seen.iter());
        let commits = behind
            .map(|(last, seen)| last.saturating_sub(*seen))
            .sum::<u64>();
        let oldest_ns = (0..seen.len()).filter(|client| now.last[*client] > seen[*client]);
        let oldest_ns = oldest_ns.map(|client| {
            let is_seen = |note: &Note| note.last[client] <= seen[client];
            let index = self.notes.partition_point(is_seen);
            self.notes[index].at_ns
        });
        let age_ns = oldest_ns.min().map_or(0, |oldest_ns| now.at_ns - oldest_ns);
        self.commits.push(commits as f64);
        self.ages_s.push(age_ns as f64 / 1e9);
    }

    fn result(mut self, failure: Option<String>) -> ReplicaStaleness {
        let readings = self.commits.len() as u64;
        self.commits.sort_by(f64::total_cmp);
        self.ages_s.sort_by(f64::total_cmp);
        let at = |values: &[f64], share: f64| {
            let index = (values.len().saturating_sub(1)) as f64 * share;
            values.get(index.round() as usize).copied().unwrap_or(0.0)
        };
        ReplicaStaleness {
            readings,
            not_read: failure.filter(|_| readings == 0),
            commits_p50: at(&self.commits, 0.5) as u64,
            commits_p95: at(&self.commits, 0.95) as u64,
            commits_max: at(&self.commits, 1.0) as u64,
            age_p50_s: at(&self.ages_s, 0.5),
            age_p95_s: at(&self.ages_s, 0.95),
            age_max_s: at(&self.ages_s, 1.0),
            went_back: self.went_back,
            went_back_across: (self.seen.len() > 1).then_some(self.went_back_across),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_replica_is_behind_by_what_was_acknowledged_before_the_reading() {
        let mut readings = Readings::new(2);
        for at in 0..=10 {
            readings.note(at * SECOND, vec![at * 10, at]);
        }
        // Of client 0 the numbers from 71 on are missing, which were known at 8 s; of client 1 none.
        readings.read(0, &[(0, 70), (1, 10)]);
        assert_eq!((readings.commits[0], readings.ages_s[0]), (30.0, 2.0));
        // The other replica is even further behind: who reads there next sees less than before.
        readings.read(1, &[(0, 50)]);
        assert_eq!((readings.commits[1], readings.ages_s[1]), (60.0, 9.0));
        assert_eq!((readings.went_back, readings.went_back_across), (0, 1));
        readings.read(0, &[(0, 60)]);
        assert_eq!((readings.went_back, readings.went_back_across), (1, 1));
        readings.read(1, &[(0, 100), (1, 10)]);
        let result = readings.result(None);
        assert_eq!((result.readings, result.commits_max), (4, 60));
        assert_eq!((result.age_max_s, result.went_back_across), (9.0, Some(1)));
    }

    #[test]
    fn a_table_that_was_never_read_has_a_reason() {
        let result = Readings::new(1).result(Some("no".to_owned()));
        assert_eq!(
            (result.readings, result.not_read.as_deref()),
            (0, Some("no"))
        );
    }
}
