//! What became of each commit of a run that kept a ledger.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The account of a run's commits: each transaction wrote its number into a table, in itself, and the client kept
/// which numbers were acknowledged. After the load, the table was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerAccount {
    /// The table. It was dropped if every commit is accounted for.
    pub table: String,
    /// Commits with an entry that the server acknowledged, over the whole run.
    pub acknowledged: u64,
    /// Commits that were sent and whose reply did not arrive.
    pub ambiguous: u64,
    /// Of those, the ones that are in the table.
    pub ambiguous_found: u64,
    /// Acknowledged commits that are not in the table.
    pub lost: u64,
    /// Entries that are in the table more than once, each counted as often as it is there too much.
    pub duplicated: u64,
    /// Entries whose commit was never sent, or which the server had refused.
    pub phantom: u64,
    /// Entries that took effect before an earlier one of the same client; absent where the server does not show it, as SQL
    /// Server and Galera, and in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordered: Option<u64>,
    /// Clients whose lost commits are not one unbroken series: they are scattered, as by a corruption, not the last
    /// ones before a crash or of a replica that lagged behind.
    pub clients_scattered: u32,
    /// The first lost commits: those acknowledged earliest, then by client and number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_lost: Vec<LostCommit>,
    /// The last commit of the unbroken series of one client that the first lost one begins: the outage that lost it
    /// came after this; absent in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_series_end: Option<LostCommit>,
    /// Transactions that committed without an entry, such as single statements outside a block.
    #[serde(default)]
    pub unrecorded: u64,
    /// Why the table was not read, so that nothing is known of what is there; absent if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_read: Option<String>,
    /// What the clients knew last, by which `prony check ledger` decides once more; absent if every commit is accounted for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_state: Option<LedgerState>,
    /// Which server had the table when it was created, and where its log was: timeline, LSN, GTIDs, state of its cluster.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub server_before: BTreeMap<String, String>,
    /// The same of the server that was asked for the table after the load.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub server_after: BTreeMap<String, String>,
    /// How far the servers for reads were behind; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staleness: Option<ReplicaStaleness>,
    /// Entries after what the client knew last: a client that was killed may or may not have got their replies.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub unknown: u64,
}

/// What the clients of a run knew of their commits at some time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerState {
    /// The highest number of each client whose transaction had ended.
    pub last: Vec<u64>,
    /// Those of them whose reply did not arrive.
    pub ambiguous: Vec<LedgerNumber>,
    /// Whether the load had ended, so that there are no later commits.
    pub is_final: bool,
    /// When they knew it, seconds from the start of the load; absent in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_s: Option<f64>,
    /// As of [`LedgerMark`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete_s: Option<f64>,
    /// What they knew before, about once a second, in order; less often in a long load of very many clients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<LedgerMark>,
}

/// What the clients of a run knew at one time, from which a lost commit has its time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerMark {
    /// Seconds from the start of the load.
    pub at_s: f64,
    /// What was acknowledged before this is in it, seconds from the start of the load, if clients of other machines told it
    /// later; otherwise `at_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete_s: Option<f64>,
    /// The highest number of each client whose transaction had ended.
    pub last: Vec<u64>,
}

/// The most numbers that the marks of a run keep: with 1,000 clients, those of 1,000 seconds.
const MAX_MARKED: usize = 1_000_000;

impl LedgerMark {
    /// Adds a mark after those before it. If they have become too many, the one is dropped whose neighbours are closest to
    /// each other: the greatest distance stays within twice the mean one, which is the length of the load by the number of
    /// marks.
    pub fn add_to(self, marks: &mut Vec<LedgerMark>) {
        if (marks.len() + 1) * self.last.len() > MAX_MARKED {
            let length_s = |three: &[LedgerMark]| three[2].at_s - three[0].at_s;
            let threes = marks.windows(3).enumerate();
            let closest = threes.min_by(|a, b| length_s(a.1).total_cmp(&length_s(b.1)));
            if let Some((first, _)) = closest {
                marks.remove(first + 1);
            }
        }
        marks.push(self);
    }
}

impl LedgerAccount {
    /// Whether commits were lost, duplicated, reordered, or are there that no client knows of.
    pub fn has_faults(&self) -> bool {
        let reordered = self.reordered.unwrap_or(0);
        [self.lost, self.duplicated, self.phantom, reordered] != [0; 4]
    }

    /// Whether a commit with an entry was sent: otherwise nothing is accounted for.
    pub fn has_entries(&self) -> bool {
        self.acknowledged > 0 || self.ambiguous > 0
    }
}

impl LedgerState {
    /// Between which times the server acknowledged a transaction, seconds from the start of the load; each `None` if it is
    /// not known.
    pub fn acknowledged_between(&self, number: LedgerNumber) -> [Option<f64>; 2] {
        let last_of = |mark: &LedgerMark| mark.last.get(number.client as usize).copied();
        let is_before = |mark: &LedgerMark| last_of(mark).unwrap_or(0) < number.sequence;
        let (earlier, later) = self.marks.split_at(self.marks.partition_point(is_before));
        let Some(by_s) = later.first().map(|mark| mark.at_s).or(self.at_s) else {
            // Documents of earlier versions have neither marks nor a time.
            return [None, None];
        };
        let after_s = earlier
            .last()
            .map_or(0.0, |mark| mark.complete_s.unwrap_or(mark.at_s));
        [Some(after_s), Some(by_s)]
    }
}

/// How far replicas were behind what the clients knew to be committed when a reading began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplicaStaleness {
    /// Readings of the ledger's table at the servers for reads, in turns.
    pub readings: u64,
    /// Why there was none, or none at one of the servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_read: Option<String>,
    /// Commits that a reading did not show: median.
    pub commits_p50: u64,
    /// 95th percentile.
    pub commits_p95: u64,
    /// The most.
    pub commits_max: u64,
    /// How long before the reading the oldest of them was known to be committed, seconds: median. Within 20 ms; with
    /// thousands of clients, great ages within some percent.
    pub age_p50_s: f64,
    /// 95th percentile.
    pub age_p95_s: f64,
    /// The longest.
    pub age_max_s: f64,
    /// Readings that did not show a commit which the reading before at the same server had shown.
    pub went_back: u64,
    /// The same of the reading before at any of the servers; absent if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub went_back_across: Option<u64>,
    /// Other machines told within this time that a commit was acknowledged, seconds: an age may be longer by as much;
    /// absent if this machine drove the clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_within_s: Option<f64>,
}

/// A commit that the server acknowledged and does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LostCommit {
    /// The client, from 0.
    pub client: u32,
    /// The number of the client's transaction, from 1.
    pub sequence: u64,
    /// It was acknowledged after this, seconds from the start of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_s: Option<f64>,
    /// It was acknowledged before this: about a second later, or in a long load of thousands of clients some minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_s: Option<f64>,
}

/// The number of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerNumber {
    /// The client, from 0.
    pub client: u32,
    /// The number of the client's transaction, from 1.
    pub sequence: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_was_acknowledged_between_two_marks() {
        let mut marks = Vec::new();
        for (at_s, last) in [(1.0, [10, 0]), (2.0, [10, 5]), (3.0, [30, 5])] {
            let mark = LedgerMark {
                at_s,
                last: last.to_vec(),
                ..LedgerMark::default()
            };
            mark.add_to(&mut marks);
        }
        let state = LedgerState {
            at_s: Some(3.5),
            marks,
            ..LedgerState::default()
        };
        let between = |client, sequence| {
            let number = LedgerNumber { client, sequence };
            state.acknowledged_between(number)
        };
        assert_eq!(between(0, 10), [Some(0.0), Some(1.0)]);
        assert_eq!(between(0, 11), [Some(2.0), Some(3.0)]);
        assert_eq!(between(1, 1), [Some(1.0), Some(2.0)]);
        assert_eq!(between(1, 6), [Some(3.0), Some(3.5)]);
        // Other machines told what they had known 0.25 s before.
        let mut told = state.clone();
        told.marks[1].complete_s = Some(1.75);
        let number = LedgerNumber {
            client: 0,
            sequence: 11,
        };
        assert_eq!(told.acknowledged_between(number), [Some(1.75), Some(3.0)]);
        let unknown = LedgerState::default();
        let number = LedgerNumber::default();
        assert_eq!(unknown.acknowledged_between(number), [None, None]);
    }

    #[test]
    fn marks_of_many_clients_become_coarser() {
        let mut marks = Vec::new();
        for at in 0..5_000u32 {
            let mark = LedgerMark {
                at_s: f64::from(at),
                last: vec![at.into(); 1_000],
                ..LedgerMark::default()
            };
            mark.add_to(&mut marks);
        }
        assert!(marks.len() <= 1_000, "{}", marks.len());
        assert_eq!(marks.last().map(|mark| mark.at_s), Some(4_999.0));
        assert!(
            marks
                .windows(2)
                .all(|pair| pair[1].at_s - pair[0].at_s <= 10.0)
        );
        // Also at the beginning.
        assert!(marks[0].at_s <= 10.0);
    }
}
