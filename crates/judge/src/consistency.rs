//! Whether the data was still consistent after the run.
//!
//! In: a Run with the findings of its workload's check (`--check-after`). Out: `consistency`. Must never: report a
//! run whose data was not checked.

use crate::checks::{Finding, caveat, invalid};
use crate::formatting::count;
use prony_store::{FindingState, Run};

pub(crate) fn check_consistency(run: &Run) -> Option<Finding> {
    let consistency = run.consistency.as_ref()?;
    if let Some(error) = &consistency.error {
        return caveat(
            format!("The data could not be checked after the run: {error}."),
            "Check it now: prony check.",
        );
    }
    let findings = consistency.findings.iter();
    let mut wrong = findings.filter(|finding| finding.state == FindingState::Wrong);
    let first = wrong.next()?;
    let others = match wrong.count() as u64 {
        0 => String::new(),
        number => format!(" (and {})", count(number, "other condition")),
    };
    invalid(
        format!(
            "After the run the data failed its consistency check: {}: {}{others}.",
            first.id, first.text
        ),
        "The server lost or mixed up transactions, or other programs changed the data: find out which. If the data \
         was wrong before the run, load it again.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;
    use prony_assertions::TextAssertions;
    use prony_store::{ConsistencyCheck, ConsistencyFinding, Severity};

    fn finding(id: &str, state: FindingState) -> ConsistencyFinding {
        ConsistencyFinding {
            id: id.to_owned(),
            state,
            text: "5 rows, expected 6".to_owned(),
        }
    }

    #[test]
    fn failed_conditions_invalidate_a_run() {
        let mut run = healthy();
        assert_eq!(check_consistency(&run), None, "not checked");
        let mut check_of = |states: &[FindingState]| {
            let findings = states.iter().map(|state| finding("balances", *state));
            run.consistency = Some(ConsistencyCheck {
                findings: findings.collect(),
                error: None,
            });
            check_consistency(&run)
        };
        use FindingState::{Note, Ok, Wrong};
        assert_eq!(check_of(&[Ok, Note]), None);
        let check = check_of(&[Ok, Wrong, Wrong]).unwrap();
        assert_eq!(check.severity, Severity::Invalid);
        let text = "balances: 5 rows, expected 6 (and 1 other condition)";
        check.finding.assert_contains(text);
    }

    #[test]
    fn a_check_that_failed_to_complete_is_a_caveat() {
        let mut run = healthy();
        run.consistency = Some(ConsistencyCheck {
            findings: Vec::new(),
            error: Some("the server closed the connection".to_owned()),
        });
        let check = check_consistency(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        check.finding.assert_contains("closed the connection");
    }
}
