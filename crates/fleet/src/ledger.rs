//! The account that the clients of agents keep of their commits.
//!
//! In: the table of a run. Out: what an agent's clients know, each second and at the end. Must never: call a commit
//! acknowledged whose client does not.

use crate::link::Link;
use crate::message::FromAgent;
use prony_drive::clock::Clock;
use prony_session::{Ledger, LedgerEntry};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// More commits than a client has in any run.
const SEQUENCE_MAX: u64 = 1 << 48;

/// The account of a run, which its agents complete.
#[derive(Clone, Debug)]
pub struct FleetLedger {
    pub table: String,
    pub ledger: Arc<Ledger>,
    /// Takes the longest time after which an agent told what its clients know, nanoseconds.
    pub told_late_ns: Arc<AtomicU64>,
}

/// What the clients of one agent know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LedgerPart {
    first_client: u32,
    /// When they knew it at least, nanoseconds from the start of the load.
    pub at_ns: u64,
    /// The last number of each client.
    last: Vec<u64>,
    /// Client and number of the commits whose outcome is not known.
    ambiguous: Vec<(u32, u64)>,
    unrecorded: u64,
}

impl LedgerPart {
    /// What these clients know, in a load that began at this time.
    pub fn of(ledger: &Ledger, clients: &Range<u32>, start_ns: u64) -> LedgerPart {
        let at_ns = Clock::System.now_ns().saturating_sub(start_ns);
        // In this order: a commit whose outcome is not known is among these before it is the last one.
        let last = ledger.last_numbers();
        let ambiguous = ledger.ambiguous().into_iter();
        LedgerPart {
            first_client: clients.start,
            at_ns,
            last: last[clients.start as usize..clients.end as usize].to_vec(),
            ambiguous: ambiguous
                .map(|entry| (entry.client, entry.sequence))
                .collect(),
            unrecorded: ledger.unrecorded(),
        }
    }

    /// Adds it to the account of the run, whose agent drives these clients. `is_final`: the agent knows no more.
    ///
    /// # Errors
    /// It is not that of these clients.
    pub fn add_to(
        &self,
        ledger: &Ledger,
        clients: &Range<u32>,
        is_final: bool,
    ) -> Result<(), String> {
        let is_of_client = |&(client, sequence): &(u32, u64)| {
            clients.contains(&client) && (1..=SEQUENCE_MAX).contains(&sequence)
        };
        let is_of_clients = self.first_client == clients.start
            && self.last.len() == clients.len()
            && self.last.iter().all(|&last| last <= SEQUENCE_MAX)
            && self.ambiguous.iter().all(is_of_client)
            && self.unrecorded <= SEQUENCE_MAX;
        if !is_of_clients {
            return Err("it sent an account of commits that is not that of its clients".to_owned());
        }
        let ambiguous = self.ambiguous.iter();
        let ambiguous: Vec<LedgerEntry> = ambiguous
            .map(|&(client, sequence)| LedgerEntry { client, sequence })
            .collect();
        ledger.note(self.first_client, &self.last, &ambiguous);
        if is_final {
            ledger.add_unrecorded(self.unrecorded);
        }
        Ok(())
    }
}

/// How often an agent tells what its clients know, if others read it at replicas.
const TELL_INTERVAL: Duration = Duration::from_millis(50);

/// Drives a load that begins at this time, and tells in the meantime what these clients know.
pub(crate) fn drive_and_tell<T>(
    link: &Link,
    ledger: Option<(&Ledger, Range<u32>)>,
    start_ns: u64,
    drive: impl FnOnce() -> T,
) -> T {
    let Some((ledger, clients)) = ledger else {
        return drive();
    };
    // Dropped at the end, also by a panic.
    let (at_end, ended) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(TELL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let part = LedgerPart::of(ledger, &clients, start_ns);
                // If the coordinator is gone, the load ends.
                let _ = link.send(&FromAgent::Ledger(Box::new(part)));
            }
        });
        let driven = drive();
        drop(at_end);
        driven
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_session::{EntryPlacement, StatementTable};

    #[test]
    fn the_account_of_a_run_has_what_the_clients_of_all_agents_know() {
        let ledger = || {
            let placement = EntryPlacement::InRequest;
            Ledger::new(String::new(), placement, 4, &StatementTable::new())
        };
        let (run, agent) = (ledger(), ledger());
        let entry = |client, sequence| LedgerEntry { client, sequence };
        agent.note(2, &[5, 7], &[entry(3, 7)]);
        agent.add_unrecorded(2);
        let sent = serde_json::to_string(&LedgerPart::of(&agent, &(2..4), 0)).expect("JSON");
        let part: LedgerPart = serde_json::from_str(&sent).expect("JSON");
        for (clients, wrong) in [
            (2..5, part.clone()),
            (1..3, part.clone()),
            (
                2..4,
                LedgerPart {
                    ambiguous: vec![(4, 7)],
                    ..part.clone()
                },
            ),
            (
                2..4,
                LedgerPart {
                    ambiguous: vec![(3, 0)],
                    ..part.clone()
                },
            ),
            (
                2..4,
                LedgerPart {
                    last: vec![5, u64::MAX],
                    ..part.clone()
                },
            ),
        ] {
            assert!(wrong.add_to(&run, &clients, false).is_err(), "{wrong:?}");
        }
        assert!(run.ambiguous().is_empty());
        part.add_to(&run, &(2..4), false).expect("its clients");
        assert_eq!(
            (run.last_numbers(), run.unrecorded()),
            (vec![0, 0, 5, 7], 0)
        );
        run.note(0, &[1, 2, 4], &[]);
        part.add_to(&run, &(2..4), true).expect("its clients");
        assert_eq!(run.last_numbers(), [1, 2, 5, 7]);
        assert_eq!(run.ambiguous(), [entry(3, 7)]);
        assert_eq!(run.unrecorded(), 2);
    }
}
