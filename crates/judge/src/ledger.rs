//! Whether each commit of a run that kept a ledger is accounted for.
//!
//! In: a Run with its account. Out: `ledger`, and the number of lost commits. Must never: call a commit lost that the
//! server did not acknowledge, or the account complete if the table was not read.

use crate::checks::{Finding, caveat, invalid, note};
use crate::formatting::{count, thousands};
use crate::outage::outages;
use prony_store::{LedgerAccount, LostCommit, Run};

/// Advice if entries are missing, doubled or unknown.
const LOSSES_ADVICE: &str = "An unbroken series of each client is what a server had not stored when it crashed, or a replica had not received: see \
     the durability of the server, and what replaced it. Scattered, doubled and unknown entries are faults of the server or of something in \
     between. The table is kept.";

pub(crate) fn check_ledger(run: &Run) -> Option<Finding> {
    let account = run.ledger.as_ref()?;
    if let Some(reason) = &account.not_read {
        let acknowledged = thousands(account.acknowledged);
        let finding = format!(
            "{acknowledged} commits were acknowledged, and it is not known which are there: {reason}"
        );
        // A run that is not stored has no id, and cannot be decided later.
        let how_to_decide = match run.id.as_str() {
            "" => String::new(),
            id => format!(": prony check ledger --run {id} --url URL decides once more"),
        };
        let advice = format!("The table {} is kept{how_to_decide}.", account.table);
        return caveat(finding, advice);
    }
    let text = ledger_sentence(account);
    if account.has_faults() {
        return invalid(text, LOSSES_ADVICE);
    }
    if !account.has_entries() {
        let advice = "No transaction with an entry committed, so that there is nothing to account for: see the failed \
                      transactions, and which transactions have an entry.";
        return caveat(text, advice);
    }
    if account.unrecorded > 0 {
        let advice = "Procedures that commit by themselves have none: choose options of the workload by which they do not (tpcc: \
                      mode=statements). On SQL Server a single statement of the simple protocol has none.";
        return caveat(text, advice);
    }
    note(text, "")
}

/// The number of lost commits; if the account is not complete, at least that many. `None` if it is not known whether any
/// is lost, such as when nothing was acknowledged.
pub fn lost_by_ledger(run: &Run) -> Option<u64> {
    let ledger = run.ledger.as_ref();
    let account = ledger.filter(|account| account.not_read.is_none())?;
    let is_complete = account.unrecorded == 0 && account.has_entries();
    (account.lost > 0 || is_complete).then_some(account.lost)
}

/// How long before the outage the oldest lost commit was acknowledged, at least and at most, seconds: the data that a
/// recovery point objective (RPO) allows to lose. Between machines, their clocks may differ. `None` if nothing was lost
/// before an outage, or its time is not known.
pub fn recovery_point_s(run: &Run) -> Option<[f64; 2]> {
    let account = run.ledger.as_ref()?;
    let first = account.first_lost.first()?;
    let last = account.first_series_end.as_ref().unwrap_or(first);
    let outages = outages(run);
    // The outage that lost commits is not always the longest one: it is the first that had not ended when the last commit
    // of the lost series was acknowledged.
    let beginning_of_outage_s = |time_s: f64| {
        let mut outages = outages.iter();
        let outage = outages.find(|(_, until_s)| until_s.is_none_or(|until_s| until_s > time_s));
        outage.map(|(from_s, _)| *from_s)
    };
    let soonest_s = beginning_of_outage_s(last.after_s?)?;
    // By the latest time of the acknowledgement, all outages may have ended.
    let latest_s = beginning_of_outage_s(last.by_s?).unwrap_or(soonest_s);
    let gap = run.commit_gap.as_ref();
    let clock_bound_s = gap.and_then(|gap| gap.clock_bound_s).unwrap_or(0.0);
    let most_s = latest_s - first.after_s? + clock_bound_s;
    let least_s = (soonest_s - first.by_s? - clock_bound_s).max(0.0);
    (most_s > 0.0).then_some([least_s, most_s])
}

fn describe_lost_commit(commit: &LostCommit) -> String {
    let acknowledged_s = commit.after_s.zip(commit.by_s);
    let time = acknowledged_s.map_or(String::new(), |(after_s, by_s)| {
        format!(", acknowledged between {after_s:.1} s and {by_s:.1} s")
    });
    let LostCommit {
        client, sequence, ..
    } = commit;
    format!("number {sequence} of client {client}{time}")
}

/// What became of the commits, in a sentence without its end.
pub fn ledger_sentence(account: &LedgerAccount) -> String {
    let mut text = format!(
        "lost {} of {} acknowledged commits",
        thousands(account.lost),
        thousands(account.acknowledged)
    );
    if let Some(first) = account.first_lost.first() {
        let kind = match account.clients_scattered {
            0 => "of each client an unbroken series".to_owned(),
            clients => format!("scattered at {}", count(clients.into(), "client")),
        };
        text.push_str(&format!(
            ", {kind}; the first is {}",
            describe_lost_commit(first)
        ));
    }
    for (number, what) in [
        (account.duplicated, "there more than once"),
        (account.phantom, "there without having been committed"),
        (
            account.reordered.unwrap_or(0),
            "took effect before an earlier one of the same client",
        ),
    ] {
        if number > 0 {
            text.push_str(&format!("; {} {what}", thousands(number)));
        }
    }
    if account.unknown > 0 {
        text.push_str(&format!(
            "; {} more are there whose replies the killed client may not have got",
            thousands(account.unknown)
        ));
    }
    if account.ambiguous > 0 {
        text.push_str(&format!(
            "; {} without a reply, of which {} are there",
            thousands(account.ambiguous),
            thousands(account.ambiguous_found)
        ));
    }
    if account.unrecorded > 0 {
        let unrecorded = count(account.unrecorded, "transaction");
        text.push_str(&format!(
            "; {unrecorded} committed without an entry, and are not accounted for"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_store::{CommitGap, LostCommit, Severity};

    fn severity_and_text(account: LedgerAccount) -> (Severity, String) {
        let run = Run {
            ledger: Some(account),
            ..Run::default()
        };
        let finding = check_ledger(&run).expect("a ledger always has a finding");
        (finding.severity, finding.finding)
    }

    #[test]
    fn the_account_decides_and_says_what_is_missing() {
        let complete = LedgerAccount {
            acknowledged: 4376,
            ambiguous: 3,
            ambiguous_found: 1,
            ..LedgerAccount::default()
        };
        let text = "lost 0 of 4,376 acknowledged commits; 3 without a reply, of which 1 are there";
        assert_eq!(
            severity_and_text(complete.clone()),
            (Severity::Note, text.to_owned())
        );
        let lossy = LedgerAccount {
            lost: 2,
            first_lost: vec![LostCommit {
                client: 5,
                sequence: 211,
                after_s: Some(8.0),
                by_s: Some(9.0),
            }],
            ..complete.clone()
        };
        let (severity, text) = severity_and_text(lossy);
        assert_eq!(severity, Severity::Invalid);
        text.assert_starts_with("lost 2 of 4,376 acknowledged commits, of each client an unbroken series; the first is number 211 of client 5, acknowledged between 8.0 s and 9.0 s;");
        let reordered = LedgerAccount {
            reordered: Some(4),
            ..complete.clone()
        };
        let (severity, text) = severity_and_text(reordered);
        assert_eq!(severity, Severity::Invalid);
        text.assert_contains("; 4 took effect before an earlier one of the same client");
        let unread = LedgerAccount {
            not_read: Some("no server".to_owned()),
            ..complete.clone()
        };
        let of_unread = Run {
            id: "20261130-155308-tpcb-84cd".to_owned(),
            ledger: Some(unread),
            ..Run::default()
        };
        let finding = check_ledger(&of_unread).expect("a ledger always has a finding");
        assert_eq!(finding.severity, Severity::Caveat);
        let command = "prony check ledger --run 20261130-155308-tpcb-84cd --url URL";
        finding.advice.assert_contains(command);
        let empty = LedgerAccount::default();
        assert_eq!(severity_and_text(empty.clone()).0, Severity::Caveat);
        let of_empty = Run {
            ledger: Some(empty),
            ..Run::default()
        };
        assert_eq!(lost_by_ledger(&of_empty), None);
        let edited = LedgerAccount {
            acknowledged: u64::MAX,
            ..complete.clone()
        };
        assert_eq!(severity_and_text(edited).0, Severity::Note);
        let unrecorded = LedgerAccount {
            unrecorded: 1,
            ..complete
        };
        let (severity, text) = severity_and_text(unrecorded);
        assert_eq!(severity, Severity::Caveat);
        text.assert_contains("; 1 transaction committed without an entry");
    }

    #[test]
    fn the_recovery_point_is_the_age_of_the_oldest_lost_commit() {
        let lost_between = |after_s, by_s| {
            let mut run = Run {
                ledger: Some(LedgerAccount {
                    lost: 1,
                    first_lost: vec![LostCommit {
                        after_s: Some(after_s),
                        by_s: Some(by_s),
                        ..LostCommit::default()
                    }],
                    ..LedgerAccount::default()
                }),
                commit_gap: Some(CommitGap {
                    from_s: 20.5,
                    until_s: Some(23.5),
                    ..CommitGap::default()
                }),
                ..Run::default()
            };
            run.measured.length_s = 0.01;
            run
        };
        assert_eq!(
            recovery_point_s(&lost_between(18.0, 19.0)),
            Some([1.5, 2.5])
        );
        assert_eq!(
            recovery_point_s(&lost_between(20.0, 21.0)),
            Some([0.0, 0.5])
        );
        let mut of_fleet = lost_between(18.0, 19.0);
        if let Some(gap) = &mut of_fleet.commit_gap {
            gap.clock_bound_s = Some(0.25);
        }
        assert_eq!(recovery_point_s(&of_fleet), Some([1.25, 2.75]));
        assert_eq!(
            recovery_point_s(&lost_between(24.0, 25.0)),
            None,
            "after it"
        );
        let without_outage = Run {
            commit_gap: None,
            ..lost_between(18.0, 19.0)
        };
        assert_eq!(recovery_point_s(&without_outage), None);

        // A pause at 5 s, a failover at 10 s that loses the commits since 1 s, and a longer restart at 40 s.
        let mut run = lost_between(1.0, 2.0);
        let gap = run.commit_gap.as_mut().expect("it has one");
        (gap.from_s, gap.until_s) = (40.0, Some(45.0));
        gap.all = vec![(5.0, Some(5.5)), (10.0, Some(12.0)), (40.0, Some(45.0))];
        let account = run.ledger.as_mut().expect("it has one");
        account.first_series_end = Some(LostCommit {
            after_s: Some(9.0),
            by_s: Some(10.0),
            ..LostCommit::default()
        });
        assert_eq!(recovery_point_s(&run), Some([8.0, 9.0]));
    }
}
