//! Whether each acknowledged commit is still on the server after the run, and no other is.
//!
//! In: a Run with the readings of what its commits add. Out: `lost-commits`. Must never: call commits lost that were
//! not acknowledged, or claim that none is missing if others wrote too.

use crate::checks::{Finding, caveat, invalid, note};
use crate::errors::had_lost_users;
use crate::formatting::{count, joined, thousands};
use crate::ledger::lost_by_ledger;
use crate::server::{check_restart, others_committed};
use crate::tables::check_tables_replaced;
use prony_store::{EventKind, GrowthReading, Run, RunState, Severity};

/// What a reading of the server shows, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Balance {
    /// The server has what the clients committed.
    Even,
    /// It was not read.
    Unknown,
    /// The server has more than the clients can have committed.
    More,
    /// The server has less than was acknowledged.
    Less,
}

pub(crate) fn check_lost_commits(run: &Run) -> Option<Finding> {
    // Its finding says what became of the rows.
    if check_tables_replaced(run).is_some_and(|check| check.severity == Severity::Invalid) {
        return None;
    }
    // A ledger knows each commit by itself.
    if lost_by_ledger(run).is_some() {
        return None;
    }
    let balances: Vec<(Balance, String)> = run.growth.iter().map(balance).collect();
    let worst = balances.iter().map(|(balance, _)| *balance).max()?;
    let sentences = sentences_of(&balances, worst);
    let was_disturbed = was_disturbed(run);
    let others_wrote = others_committed(run);
    let is_countable = run.growth.iter().any(|reading| !reading.kinds.is_empty());
    let is_any_even = balances
        .iter()
        .any(|(balance, _)| *balance == Balance::Even);
    match worst {
        Balance::Less => invalid(
            sentences,
            "The server lost commits that it had acknowledged, as in a crash without durable commits or a failover to a \
             replica that had not received them; or something deleted these rows or dropped these inserts. Find out \
             which.",
        ),
        Balance::More if was_disturbed && !others_wrote => invalid(
            format!("{sentences} Commits were doubled, or others wrote."),
            "Look for others that write to these tables; if there are none, a proxy or a driver in between repeats \
             transactions.",
        ),
        Balance::More => caveat(
            format!(
                "{sentences} Others wrote to the same tables, so it is not known whether acknowledged commits are \
                 missing."
            ),
            "Run on tables that nobody else uses.",
        ),
        Balance::Unknown if was_disturbed && !is_any_even => caveat(
            format!(
                "Connections were lost, and it was not checked whether acknowledged commits are missing: {sentences}"
            ),
            if is_countable {
                "Run again, let the run end by itself, keep a server reachable after it, and use tables that are small \
                 enough to be counted."
            } else {
                "To measure an outage, use a workload whose commits add rows (tpcb, tpcc, oltp_insert), on tables that are \
                 small enough to be counted."
            },
        ),
        Balance::Unknown => {
            // Without a loss of connections, what cannot be counted by design is no news; and the verdict on a
            // partial run says that it is partial.
            if !is_countable || run.state != RunState::Complete {
                return None;
            }
            note(
                format!("Not all acknowledged commits were looked for on the server: {sentences}"),
                "This matters only if the server may have crashed or changed during the run.",
            )
        }
        Balance::Even if was_disturbed && others_wrote => caveat(
            "Connections were lost, and other clients used this database, so it is not known whether acknowledged \
             commits are missing: rows of others may have taken their place.",
            "Run on a database that nobody else uses.",
        ),
        Balance::Even => None,
    }
}

/// Acknowledged commits that the server does not have; the error says why that is not known.
pub(crate) fn lost_commits(run: &Run) -> Result<u64, String> {
    if let Some(lost) = lost_by_ledger(run) {
        return Ok(lost);
    }
    if run.growth.is_empty() {
        return Err("the workload's commits add no rows that could be counted".to_owned());
    }
    let mut lost = 0;
    let mut is_complete = true;
    for reading in &run.growth {
        match (reading.before, reading.after) {
            (Some(before), Some(after)) => {
                lost += (before.saturating_add(reading.committed)).saturating_sub(after);
            }
            _ => is_complete = false,
        }
    }
    if lost > 0 {
        return Ok(lost);
    }
    if !is_complete {
        return Err("not all rows that commits add were counted".to_owned());
    }
    if others_committed(run) {
        let reason = "others wrote to the same database, and their rows may have taken the place of lost ones";
        return Err(reason.to_owned());
    }
    Ok(0)
}

fn sentences_of(balances: &[(Balance, String)], balance: Balance) -> String {
    let matching = balances.iter().filter(|(other, _)| *other == balance);
    joined(matching.map(|(_, sentence)| sentence.as_str()), " ")
}

/// Whether connections were lost or the server changed at any time of the run, so that commits may be missing.
fn was_disturbed(run: &Run) -> bool {
    let mut events = run.events.iter();
    had_lost_users(run)
        || events.any(|event| event.kind == EventKind::Outage)
        || check_restart(run).is_some()
}

/// What a reading shows, and a sentence with its counts.
fn balance(reading: &GrowthReading) -> (Balance, String) {
    let GrowthReading {
        what,
        committed,
        ambiguous,
        ..
    } = reading;
    let (Some(before), Some(after)) = (reading.before, reading.after) else {
        let reason = reading.not_read.as_deref();
        let reason = reason.unwrap_or("the run did not end");
        return (
            Balance::Unknown,
            format!("{what} were not counted: {reason}."),
        );
    };
    let growth = i128::from(after) - i128::from(before);
    let acknowledged = i128::from(*committed);
    let maximum = acknowledged + i128::from(*ambiguous);
    let number = |number: i128| thousands(u64::try_from(number.unsigned_abs()).unwrap_or(u64::MAX));
    let grown = if growth < 0 {
        format!(
            "There are {} fewer {what} than before the run",
            number(growth)
        )
    } else {
        format!("The run added {} {what}", number(growth))
    };
    let commits = format!(
        "{} commits that add one each were acknowledged",
        thousands(*committed)
    );
    if growth < acknowledged {
        let missing = count(
            u64::try_from(acknowledged - growth).unwrap_or(u64::MAX),
            "acknowledged commit",
        );
        let sentence = format!("{missing} missing on the server. {grown}, but {commits}.");
        return (Balance::Less, sentence);
    }
    if growth > maximum {
        let more = number(growth - maximum);
        let sentence = format!(
            "{grown}, but {commits}, and {} more may have committed: {more} too many.",
            thousands(*ambiguous)
        );
        return (Balance::More, sentence);
    }
    (Balance::Even, String::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, observed_mut, observed_run};
    use prony_assertions::TextAssertions;
    use prony_store::Event;

    const COMMITTED: u64 = 1_000;
    const AMBIGUOUS: u64 = 3;

    fn reading(growth: i64) -> GrowthReading {
        GrowthReading {
            what: "rows of pgbench_history".to_owned(),
            kinds: vec!["tpcb".to_owned()],
            before: Some(5_000),
            after: 5_000_u64.checked_add_signed(growth),
            committed: COMMITTED,
            ambiguous: AMBIGUOUS,
            not_read: None,
        }
    }

    fn not_read() -> GrowthReading {
        GrowthReading {
            after: None,
            not_read: Some("that would read 9.0 GB".to_owned()),
            ..reading(0)
        }
    }

    fn with_outage(mut run: Run) -> Run {
        run.events.push(Event {
            at_s: 20.0,
            until_s: Some(23.0),
            kind: EventKind::Outage,
            count: 64,
            ..Event::default()
        });
        run
    }

    /// An observed run during which other clients committed in the same database.
    fn with_others() -> Run {
        let mut run = observed_run();
        let after = observed_mut(&mut run).after.as_mut().unwrap();
        after.commits = Some(12_000_000);
        run
    }

    #[test]
    fn acknowledged_commits_balance_with_what_they_add() {
        use Severity::{Caveat, Invalid, Note};
        let uncounted = GrowthReading {
            kinds: Vec::new(),
            ..not_read()
        };
        let interrupted = || Run {
            state: RunState::Partial,
            ..healthy()
        };
        let quiet = healthy;
        let outage = || with_outage(healthy());
        type Case = (Run, Vec<GrowthReading>, Option<(Severity, &'static str)>);
        let cases: [Case; 20] = [
            (quiet(), vec![], None),
            (outage(), vec![], None),
            (quiet(), vec![reading(1_000)], None),
            // Ambiguous commits may or may not be there.
            (outage(), vec![reading(1_000)], None),
            (outage(), vec![reading(1_003)], None),
            (
                quiet(),
                vec![reading(999)],
                Some((Invalid, "1 acknowledged commit missing")),
            ),
            (
                outage(),
                vec![reading(999)],
                Some((
                    Invalid,
                    "The run added 999 rows of pgbench_history, but 1,000 commits",
                )),
            ),
            (
                quiet(),
                vec![reading(-10)],
                Some((Invalid, "There are 10 fewer rows")),
            ),
            // A loss of one kind is not made good by the others.
            (
                quiet(),
                vec![reading(1_000), reading(990), not_read(), reading(2_000)],
                Some((Invalid, "10 acknowledged commits missing")),
            ),
            (
                outage(),
                vec![reading(1_004)],
                Some((Invalid, "1 too many. Commits were doubled")),
            ),
            (
                quiet(),
                vec![reading(1_004)],
                Some((Caveat, "Others wrote to the same tables")),
            ),
            (
                with_outage(with_others()),
                vec![reading(1_004)],
                Some((Caveat, "Others wrote to the same tables")),
            ),
            (
                with_outage(with_others()),
                vec![reading(1_000)],
                Some((Caveat, "rows of others may have taken their place")),
            ),
            (with_others(), vec![reading(1_000)], None),
            // What was counted is even; the rest is named.
            (
                outage(),
                vec![reading(1_000), not_read()],
                Some((Note, "were not counted: that would")),
            ),
            (
                quiet(),
                vec![not_read()],
                Some((Note, "were not counted: that would read 9.0 GB.")),
            ),
            (
                outage(),
                vec![not_read()],
                Some((Caveat, "Connections were lost, and it was not")),
            ),
            (quiet(), vec![uncounted.clone()], None),
            (
                outage(),
                vec![uncounted],
                Some((Caveat, "Connections were lost, and it was not")),
            ),
            (interrupted(), vec![not_read()], None),
        ];
        for (mut run, readings, expected) in cases {
            run.growth = readings;
            let check = check_lost_commits(&run);
            let found = check.as_ref().map(|check| check.severity);
            assert_eq!(
                found,
                expected.map(|(severity, _)| severity),
                "{check:?} {:?}",
                run.growth
            );
            if let (Some(check), Some((_, text))) = (check, expected) {
                check.finding.assert_contains(text);
                let names_workloads = check.advice.contains("use a workload");
                let is_countable = run.growth.iter().any(|reading| !reading.kinds.is_empty());
                assert!(!(names_workloads && is_countable), "{check:?}");
            }
        }
    }

    #[test]
    fn rows_of_replaced_tables_are_not_called_lost() {
        let mut run = observed_run();
        run.growth = vec![reading(-5_000)];
        assert!(check_lost_commits(&run).is_some());
        let observed = observed_mut(&mut run);
        let ids = |id: &str| Some([("pgbench_history".to_owned(), id.to_owned())].into());
        observed.before.as_mut().unwrap().table_ids = ids("16390/16390");
        observed.after.as_mut().unwrap().table_ids = ids("16390/17002");
        assert_eq!(check_lost_commits(&run), None, "tables-replaced reports it");
    }
}
