//! Differences between what `prony doctor` found before two runs.
//!
//! In: two Runs. Out: differences. Must never: report that a measurement, such as a round trip, differs slightly.

use super::{Difference, difference};
use crate::doctor::MEASURED;
use Severity::{Caveat, Note};
use prony_store::{DoctorFinding, DoctorState, Run, Severity};

pub(super) const OTHER_STATE: &str =
    "a machine or server that was less fit for the load delivers other figures";
pub(super) const OTHER_VALUE: &str = "it may explain a difference";
pub(super) const ONE_EXAMINED: &str =
    "the other machine was not examined before its run (--doctor)";

pub(super) fn doctor_differences(a: &Run, b: &Run) -> Vec<Difference> {
    let (doctor_a, doctor_b) = match (&a.doctor, &b.doctor) {
        (Some(a), Some(b)) => (a, b),
        (None, None) => return Vec::new(),
        _ => {
            let text = |run: &Run| match &run.doctor {
                Some(doctor) => doctor.worst().name().to_owned(),
                None => "not examined".to_owned(),
            };
            let found = difference(Note, "doctor", text(a), text(b), ONE_EXAMINED);
            return found.into_iter().collect();
        }
    };
    let pairs = doctor_a.findings.iter().filter_map(|first| {
        let mut others = doctor_b.findings.iter();
        let second =
            others.find(|other| (&other.id, other.subject) == (&first.id, first.subject))?;
        Some((first, second))
    });
    pairs
        .filter_map(|(first, second)| finding_difference(first, second))
        .collect()
}

/// The difference between two findings on one property: of their states, else of their values.
fn finding_difference(a: &DoctorFinding, b: &DoctorFinding) -> Option<Difference> {
    let name = format!("doctor: {}", a.id);
    let states = [a.state, b.state];
    if states.contains(&DoctorState::Unknown) {
        return None;
    }
    if a.state != b.state {
        let text = |finding: &DoctorFinding| format!("{}: {}", finding.state.name(), finding.value);
        return difference(Caveat, &name, text(a), text(b), OTHER_STATE);
    }
    if MEASURED.contains(&&*a.id) {
        return None;
    }
    difference(Note, &name, a.value.clone(), b.value.clone(), OTHER_VALUE)
}

/// What this module compares, as one text.
pub(super) fn doctor_key(run: &Run) -> String {
    let Some(doctor) = &run.doctor else {
        return String::new();
    };
    let findings = doctor.findings.iter().map(|finding| {
        let value = if MEASURED.contains(&&*finding.id) { "" } else { &finding.value };
        (&finding.id, finding.subject, finding.state, value)
    });
    format!("{:?}", findings.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Verdict, compare, comparison_key};
    use crate::sample::healthy;
    use prony_store::DoctorReport;

    fn examined(findings: &[(&str, DoctorState, &str)]) -> Run {
        let finding = |(id, state, value): &(&str, DoctorState, &str)| DoctorFinding {
            id: (*id).to_owned(),
            state: *state,
            value: (*value).to_owned(),
            ..DoctorFinding::default()
        };
        let mut run = healthy();
        run.doctor = Some(DoctorReport {
            findings: findings.iter().map(finding).collect(),
            ..DoctorReport::default()
        });
        run
    }

    #[test]
    fn another_state_is_a_caveat_and_another_value_a_note() {
        use DoctorState::{Bad, Ok, Unknown};
        let base = examined(&[("mtu", Ok, "1500"), ("steal", Ok, "0 %")]);
        let verdict_of = |other: &Run| {
            let comparison = compare(&base, other, false);
            let subjects = comparison.differences.into_iter().map(|found| found.what);
            let keys_differ = comparison_key(&base) != comparison_key(other);
            (
                comparison.verdict,
                subjects.collect::<Vec<_>>(),
                keys_differ,
            )
        };
        let other = examined(&[("mtu", Ok, "9000"), ("steal", Ok, "0.4 %")]);
        let note = vec!["doctor: mtu".to_owned()];
        assert_eq!(verdict_of(&other), (Verdict::Comparable, note, true));
        let other = examined(&[("mtu", Ok, "1500"), ("steal", Bad, "20 %")]);
        let caveat = vec!["doctor: steal".to_owned()];
        assert_eq!(verdict_of(&other), (Verdict::WithCaveats, caveat, true));
        let other = examined(&[("mtu", Unknown, ""), ("steal", Ok, "0.3 %")]);
        assert_eq!(verdict_of(&other), (Verdict::Comparable, Vec::new(), true));
        let other = examined(&[("mtu", Ok, "1500"), ("steal", Ok, "0.3 %")]);
        assert_eq!(verdict_of(&other), (Verdict::Comparable, Vec::new(), false));
    }

    #[test]
    fn one_examined_run_is_a_note() {
        let comparison = compare(&examined(&[]), &healthy(), false);
        assert_eq!(comparison.verdict, Verdict::Comparable);
        assert_eq!(comparison.differences[0].what, "doctor");
        assert_eq!(comparison.differences[0].b, "not examined");
    }
}
