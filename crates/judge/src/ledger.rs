//! Whether each commit of a run that kept a ledger is accounted for.
//!
//! In: a Run with its account. Out: `ledger`, and the number of lost commits. Must never: call a commit lost that the
//! server did not acknowledge, or the account complete if the table was not read.

use crate::checks::{Finding, new_finding};
use crate::formatting::{count, thousands};
use prony_store::{LedgerAccount, Run, Severity};

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
        let advice = format!(
            "The table {} is kept: prony check ledger --url URL decides once more.",
            account.table
        );
        return new_finding(Severity::Caveat, finding, advice);
    }
    let text = ledger_sentence(account);
    if account.lost + account.duplicated + account.phantom > 0 {
        return new_finding(Severity::Invalid, text, LOSSES_ADVICE);
    }
    if account.unrecorded > 0 {
        let unrecorded = count(account.unrecorded, "transaction");
        let finding =
            format!("{text}. {unrecorded} committed without an entry, and are not accounted for");
        let advice = "Procedures that commit have none, and on MySQL and MariaDB only transactions that end with a statement of their own have one: \
                      choose options of the workload by which they do (tpcc: mode=statements).";
        return new_finding(Severity::Caveat, finding, advice);
    }
    new_finding(Severity::Note, text, "")
}

/// The lost commits of a complete account; `None` if there is none.
pub(crate) fn lost_by_ledger(run: &Run) -> Option<u64> {
    let account = run
        .ledger
        .as_ref()
        .filter(|account| account.not_read.is_none())?;
    (account.lost > 0 || account.unrecorded == 0).then_some(account.lost)
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
            ", {kind}; the first is number {} of client {}",
            first.sequence, first.client
        ));
    }
    for (number, what) in [
        (account.duplicated, "there more than once"),
        (account.phantom, "there without having been committed"),
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
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_store::LedgerNumber;

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
            first_lost: vec![LedgerNumber {
                client: 5,
                sequence: 211,
            }],
            ..complete.clone()
        };
        let (severity, text) = severity_and_text(lossy);
        assert_eq!(severity, Severity::Invalid);
        text.assert_starts_with("lost 2 of 4,376 acknowledged commits, of each client an unbroken series; the first is number 211 of client 5;");
        let unread = LedgerAccount {
            not_read: Some("no server".to_owned()),
            ..complete.clone()
        };
        assert_eq!(severity_and_text(unread).0, Severity::Caveat);
        let unrecorded = LedgerAccount {
            unrecorded: 1,
            ..complete
        };
        assert_eq!(severity_and_text(unrecorded).0, Severity::Caveat);
    }
}
