//! The longest time without a commit, over all clients and of each.
//!
//! In: the samples of each worker, of this machine or of others. Out: [`CommitGapTimes`]. Must never: count the time
//! before a client's first commit, which is that of connecting, or after the window, in which no transaction begins, or
//! a commit that only read.

use crate::gaps::Gap;
use crate::sample::{Outcome, Sample, TxnKind};
use crate::schedule::RunSchedule;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shorter times without a commit of a worker are not kept.
const KEPT_NS: u64 = 100_000_000;
/// How long a client, or all of them, must be without a commit at the end of the load to count as not back.
const NOT_BACK_NS: u64 = 1_000_000_000;

/// The most times without a commit that are listed.
const MAX_GAPS: usize = 20;

/// The times without a commit that the workers of a run have recorded.
#[derive(Clone, Default)]
pub struct CommitGaps {
    workers: Arc<Mutex<Vec<WorkerGaps>>>,
    /// Kinds of transaction that only read, while others write: a standby may go on with them, so that they do not count.
    reading: Arc<[TxnKind]>,
}

impl CommitGaps {
    /// For a load with this number of kinds of transaction; `only_reads` says of each whether it only reads.
    pub fn new(kinds: usize, only_reads: impl Fn(usize) -> bool) -> CommitGaps {
        let reading = (0..kinds).filter(|kind| only_reads(*kind));
        let reading: Vec<TxnKind> = reading.filter_map(|kind| kind.try_into().ok()).collect();
        let has_writing = reading.len() < kinds;
        CommitGaps {
            workers: Arc::default(),
            reading: reading.into_iter().filter(|_| has_writing).collect(),
        }
    }

    /// A recorder for the samples of one worker.
    pub fn recorder(&self) -> GapRecorder {
        GapRecorder {
            gaps: WorkerGaps::default(),
            first_client: 0,
            all: self.clone(),
        }
    }

    fn workers(&self) -> MutexGuard<'_, Vec<WorkerGaps>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the workers of this machine have recorded, with times since the start of its load.
    pub fn since(&self, start_ns: u64) -> Vec<WorkerGaps> {
        let workers = self.workers();
        let since = |ns: u64| ns.saturating_sub(start_ns);
        workers.iter().map(|worker| worker.map(since)).collect()
    }

    /// Adds what the workers of another machine have recorded, whose load began at this time of this machine's clock.
    pub fn add(&self, gaps: &[WorkerGaps], start_ns: u64) {
        let mut workers = self.workers();
        let on_clock = |ns: u64| ns.saturating_add(start_ns);
        workers.extend(gaps.iter().map(|worker| worker.map(on_clock)));
    }

    /// The longest time without a commit in a load with this schedule, which may have ended earlier; `None` if there was no
    /// commit.
    pub fn longest(&self, schedule: &RunSchedule) -> Option<CommitGapTimes> {
        let start_ns = schedule.start_ns;
        let workers = self.workers();
        let ended_ns = workers.iter().map(|worker| worker.ended_ns).max()?;
        let window_end_ns = schedule.window_ns.map_or(u64::MAX, |length_ns| {
            schedule.window_start_ns().saturating_add(length_ns)
        });
        let end_ns = ended_ns.min(window_end_ns);
        let mut all = gaps_of_all(&workers, end_ns)?;
        all.sort_by_key(|gap| Reverse(gap.length_ns()));
        all.truncate(MAX_GAPS);
        // If none was long enough to be kept, there was no time without a commit to speak of.
        let longest = all.first().copied().unwrap_or(Gap {
            start_ns: end_ns,
            end_ns,
        });
        all.sort_by_key(|gap| gap.start_ns);
        let clients = workers.iter().flat_map(|worker| &worker.clients);
        let with_commits = clients.filter(|client| client.last_ns > 0);
        let mut of_clients: Vec<LongestGap> =
            with_commits.map(|client| client.longest(end_ns)).collect();
        of_clients.sort_unstable_by_key(|gap| gap.length_ns);
        let length_at = |index: usize| of_clients.get(index).map_or(0, |gap| gap.length_ns);
        let times = |gap: &Gap| {
            let is_over = gap.end_ns < end_ns || gap.length_ns() < NOT_BACK_NS;
            let since = |ns: u64| ns.saturating_sub(start_ns);
            (since(gap.start_ns), is_over.then(|| since(gap.end_ns)))
        };
        let last = of_clients.len().saturating_sub(1);
        Some(CommitGapTimes {
            longest: times(&longest),
            all: all.iter().map(times).collect(),
            clients_ns: [length_at(0), length_at(last / 2), length_at(last)],
            not_back: of_clients.iter().filter(|gap| !gap.is_over).count() as u32,
        })
    }
}

/// Times without a commit, each from the last commit before it to the first one after it, if there was one; nanoseconds
/// from the start of the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitGapTimes {
    pub longest: (u64, Option<u64>),
    /// The longest ones, in order.
    pub all: Vec<(u64, Option<u64>)>,
    /// The longest time of the client with the shortest one, of the median, and of that with the longest, nanoseconds.
    pub clients_ns: [u64; 3],
    /// Clients that did not commit again.
    pub not_back: u32,
}

/// What one worker has recorded.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct WorkerGaps {
    first_ns: u64,
    last_ns: u64,
    ended_ns: u64,
    /// Times without a commit, in order.
    #[serde(with = "gap_pairs")]
    gaps: Vec<Gap>,
    /// By number of the client, from the lowest one that committed.
    clients: Vec<ClientGap>,
}

impl WorkerGaps {
    /// The same with other times.
    fn map(&self, time: impl Fn(u64) -> u64) -> WorkerGaps {
        let gap = |gap: &Gap| Gap {
            start_ns: time(gap.start_ns),
            end_ns: time(gap.end_ns),
        };
        let client = |client: &ClientGap| ClientGap {
            // 0 is no commit.
            last_ns: match client.last_ns {
                0 => 0,
                last_ns => time(last_ns).max(1),
            },
            longest_ns: client.longest_ns,
        };
        WorkerGaps {
            first_ns: time(self.first_ns),
            last_ns: time(self.last_ns),
            ended_ns: time(self.ended_ns),
            gaps: self.gaps.iter().map(gap).collect(),
            clients: self.clients.iter().map(client).collect(),
        }
    }

    /// The times without a commit, with those before the first and after the last one: another worker may have had
    /// commits then.
    fn with_ends(&self) -> Vec<Gap> {
        let before = Gap {
            start_ns: 0,
            end_ns: self.first_ns,
        };
        let after = Gap {
            start_ns: self.last_ns,
            end_ns: u64::MAX,
        };
        let inner = self.gaps.iter().copied();
        std::iter::once(before)
            .chain(inner)
            .chain([after])
            .collect()
    }
}

/// One client's commits.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct ClientGap {
    /// The last commit; 0: none yet.
    last_ns: u64,
    longest_ns: u64,
}

impl ClientGap {
    /// The longest time without a commit in a load that ends at `end_ns`.
    fn longest(&self, end_ns: u64) -> LongestGap {
        let open_ns = end_ns.saturating_sub(self.last_ns);
        let is_over = open_ns <= NOT_BACK_NS || open_ns <= self.longest_ns;
        LongestGap {
            length_ns: if is_over { self.longest_ns } else { open_ns },
            is_over,
        }
    }
}

/// The longest time without a commit of one client.
struct LongestGap {
    length_ns: u64,
    /// Whether it was over before the end of the load.
    is_over: bool,
}

/// The serialised form of gaps: start and end of each.
mod gap_pairs {
    use crate::gaps::Gap;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(gaps: &[Gap], serializer: S) -> Result<S::Ok, S::Error> {
        let pairs: Vec<(u64, u64)> = gaps.iter().map(|gap| (gap.start_ns, gap.end_ns)).collect();
        pairs.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Gap>, D::Error> {
        let pairs = Vec::<(u64, u64)>::deserialize(input)?.into_iter();
        Ok(pairs
            .map(|(start_ns, end_ns)| Gap { start_ns, end_ns })
            .collect())
    }
}

/// Records the times without a commit of one worker.
pub struct GapRecorder {
    gaps: WorkerGaps,
    /// The lowest client that committed.
    first_client: u32,
    all: CommitGaps,
}

impl GapRecorder {
    /// A transaction of this client of the run ended.
    pub fn sample(&mut self, client: u32, sample: &Sample) {
        if sample.outcome != Outcome::Committed || self.all.reading.contains(&sample.kind) {
            return;
        }
        let (now_ns, worker) = (sample.ended_ns, &mut self.gaps);
        if worker.last_ns == 0 {
            worker.first_ns = now_ns;
        } else if now_ns.saturating_sub(worker.last_ns) >= KEPT_NS {
            worker.gaps.push(Gap {
                start_ns: worker.last_ns,
                end_ns: now_ns,
            });
        }
        worker.last_ns = worker.last_ns.max(now_ns);
        if worker.clients.is_empty() {
            self.first_client = client;
        } else if client < self.first_client {
            let before = (self.first_client - client) as usize;
            let lower = std::iter::repeat_n(ClientGap::default(), before);
            worker.clients.splice(..0, lower);
            self.first_client = client;
        }
        let index = (client - self.first_client) as usize;
        if index >= worker.clients.len() {
            worker.clients.resize(index + 1, ClientGap::default());
        }
        let own = &mut worker.clients[index];
        if own.last_ns > 0 {
            own.longest_ns = own.longest_ns.max(now_ns.saturating_sub(own.last_ns));
        }
        own.last_ns = now_ns;
    }

    /// The worker has ended: adds what it has recorded to that of the others.
    pub fn ended(&mut self, now_ns: u64) {
        let mut gaps = std::mem::take(&mut self.gaps);
        gaps.ended_ns = now_ns;
        if gaps.last_ns > 0 {
            self.all.workers().push(gaps);
        }
    }
}

/// The times before `end_ns` in which no worker had a commit, after the first commit; `None` without workers.
fn gaps_of_all(workers: &[WorkerGaps], end_ns: u64) -> Option<Vec<Gap>> {
    let of_workers = workers.iter().map(WorkerGaps::with_ends);
    let mut common = of_workers.reduce(|left, right| intersection(&left, &right))?;
    common.retain(|gap| gap.start_ns > 0 && gap.start_ns < end_ns);
    for gap in &mut common {
        gap.end_ns = gap.end_ns.min(end_ns);
    }
    Some(common)
}

/// The times that are in both lists, which are in order.
fn intersection(left: &[Gap], right: &[Gap]) -> Vec<Gap> {
    let mut in_both = Vec::new();
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
        let gap = Gap {
            start_ns: one.start_ns.max(other.start_ns),
            end_ns: one.end_ns.min(other.end_ns),
        };
        if gap.start_ns < gap.end_ns {
            in_both.push(gap);
        }
        if one.end_ns < other.end_ns {
            left.next();
        } else {
            right.next();
        }
    }
    in_both
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    /// From 10 s to 20 s of the clock.
    const TEN_SECONDS: RunSchedule = RunSchedule {
        start_ns: 10 * SECOND,
        warmup_ns: 0,
        window_ns: Some(10 * SECOND),
        interval_ns: SECOND,
    };

    fn commit(listener: &mut GapRecorder, client: u32, at_ns: u64) {
        listener.sample(
            client,
            &Sample {
                kind: 0,
                outcome: Outcome::Committed,
                scheduled_ns: at_ns,
                started_ns: at_ns,
                ended_ns: at_ns,
                connect_ns: 0,
                retries: 0,
                parts: None,
            },
        );
    }

    #[test]
    fn nobody_commits_only_while_no_worker_does() {
        let gaps = CommitGaps::default();
        let [mut one, mut other] = [gaps.recorder(), gaps.recorder()];
        for at in [11, 12, 18, 19] {
            commit(&mut one, 0, at * SECOND);
        }
        commit(&mut other, 2, 13 * SECOND);
        for at in [13, 17, 19] {
            commit(&mut other, 1, at * SECOND);
        }
        commit(&mut other, 2, 19 * SECOND);
        // A client that does not come back.
        commit(&mut other, 3, 12 * SECOND);
        assert_eq!(other.gaps.clients.len(), 3, "those of its own clients");
        // The workers end at different times, after the window.
        one.ended(23 * SECOND);
        other.ended(22 * SECOND);
        let longest = gaps.longest(&TEN_SECONDS).expect("commits");
        assert_eq!(longest.longest, (3 * SECOND, Some(7 * SECOND)));
        let all = [(1, 2), (2, 3), (3, 7)];
        let all = all.map(|(from, until)| (from * SECOND, Some(until * SECOND)));
        assert_eq!(longest.all[..3], all, "in order");
        assert_eq!(longest.clients_ns, [4, 6, 8].map(|s| s * SECOND));
        assert_eq!(longest.not_back, 1);
    }

    /// The other worker is an agent's, whose clock is 100 s ahead.
    #[test]
    fn workers_of_other_machines_merge_as_those_of_this_one() {
        let one_machine = CommitGaps::default();
        let (here, there) = (CommitGaps::default(), CommitGaps::default());
        let ahead = 100 * SECOND;
        for (gaps, client, offset, commits) in [
            (&one_machine, 0, 0, [11, 12, 18, 19]),
            (&one_machine, 1, 0, [13, 14, 17, 19]),
            (&here, 0, 0, [11, 12, 18, 19]),
            (&there, 1, ahead, [13, 14, 17, 19]),
        ] {
            let mut worker = gaps.recorder();
            for at in commits {
                commit(&mut worker, client, at * SECOND + offset);
            }
            worker.ended(21 * SECOND + offset);
        }
        let merged = CommitGaps::default();
        let start_ns = TEN_SECONDS.start_ns;
        merged.add(&here.since(start_ns), start_ns);
        let sent = serde_json::to_string(&there.since(start_ns + ahead)).expect("JSON");
        let received: Vec<WorkerGaps> = serde_json::from_str(&sent).expect("JSON");
        merged.add(&received, start_ns);
        let expected = one_machine.longest(&TEN_SECONDS).expect("commits");
        assert_eq!(expected.longest, (4 * SECOND, Some(7 * SECOND)));
        assert_eq!(merged.longest(&TEN_SECONDS), Some(expected));
    }

    #[test]
    fn an_outage_without_an_end_begins_with_the_last_transaction() {
        for (last, is_over) in [(19 * SECOND, true), (13 * SECOND, false)] {
            let gaps = CommitGaps::default();
            let mut worker = gaps.recorder();
            commit(&mut worker, 0, 12 * SECOND);
            commit(&mut worker, 0, last);
            let mut idle = gaps.recorder();
            commit(&mut idle, 1, 11 * SECOND);
            commit(&mut idle, 1, 12 * SECOND);
            worker.ended(23 * SECOND);
            idle.ended(24 * SECOND);
            let longest = gaps.longest(&TEN_SECONDS).expect("commits");
            assert_eq!(longest.longest.1.is_some(), is_over, "{longest:?}");
        }
        // Without a gap that is worth keeping it is known that there was none.
        let steady = CommitGaps::default();
        let mut worker = steady.recorder();
        for tenth in 100..=201 {
            commit(&mut worker, 0, tenth * SECOND / 10 - tenth);
        }
        worker.ended(21 * SECOND);
        let longest = steady.longest(&TEN_SECONDS).expect("commits");
        let (from_ns, until_ns) = longest.longest;
        assert!(until_ns.is_some_and(|until_ns| until_ns - from_ns < KEPT_NS));
        let nothing = CommitGaps::default();
        nothing.recorder().ended(20 * SECOND);
        assert_eq!(nothing.longest(&TEN_SECONDS), None);
    }
}
