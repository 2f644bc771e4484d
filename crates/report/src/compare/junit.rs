//! A comparison as JUnit XML, for a CI server.
//!
//! In: documents, and `judge`'s comparison of them. Out: a suite for each side against the first: one
//! case for comparability, one for each figure, and one for each requirement.

use super::{SideAnswers, side_name};
use crate::answer::{self, UndecidedCase};
use crate::junit::{TestCase, TestSuite, write_document};
use crate::text::comparison::{figure_sentence, labels, too_short_sentence};
use prony_judge::compare::sides::{SideComparison, SidesComparison};
use prony_judge::compare::{Difference, Verdict};
use prony_store::{Run, Severity};
use std::io::{self, Write};

/// Writes the comparison as XML. `runs` are the documents of each side.
pub fn write_junit(
    out: &mut dyn Write,
    runs: &[Vec<&Run>],
    comparison: &SidesComparison,
    sides: &SideAnswers,
) -> io::Result<()> {
    let name = |index: usize| match (runs.get(index), comparison.sides.get(index)) {
        (Some(runs), Some(side)) => side_name(runs, side),
        _ => String::new(),
    };
    let mut suites = Vec::new();
    for (index, compared_side) in (1..).zip(&comparison.side_comparisons) {
        let (first, second) = (name(0), name(index));
        let [first_label, label] = labels(compared_side);
        suites.push(TestSuite {
            title: format!("{label} ({second}) against {first_label} ({first})"),
            cases: test_cases(comparison, compared_side, sides),
        });
    }
    write_document(out, "prony compare", &suites)
}

fn test_cases(
    comparison: &SidesComparison,
    compared_side: &SideComparison,
    answers: &SideAnswers,
) -> Vec<TestCase> {
    let both_sides = comparison
        .sides
        .iter()
        .filter(|side| side.letter == 'A' || side.letter == compared_side.letter);
    let mut reasons = Vec::new();
    for side in both_sides.clone() {
        if !side.repeat_differences.is_empty() {
            reasons.push(format!(
                "the runs of {} are not repeats of each other",
                side.label
            ));
        }
    }
    for Difference {
        severity,
        what,
        a,
        b,
        why,
    } in &compared_side.differences
    {
        if *severity != Severity::Note {
            reasons.push(format!("{what}: {a} | {b}: {why}"));
        }
    }
    reasons.extend(both_sides.filter_map(too_short_sentence));
    let mut cases = vec![TestCase {
        name: "comparable".to_owned(),
        message: if reasons.is_empty() {
            compared_side.label()
        } else {
            format!("{}: {}", compared_side.label(), reasons.join("; "))
        },
        failed: compared_side.verdict == Verdict::NotComparable,
    }];
    let [first, second] = labels(compared_side);
    cases.extend(compared_side.figures.iter().map(|figure| TestCase {
        name: figure.name.clone(),
        message: figure_sentence([&first, &second], figure),
        failed: false,
    }));
    let mut of_side = answers.answers.iter();
    if let Some((_, answer)) = of_side.find(|(name, _)| *name == compared_side.labels[1]) {
        let undecided =
            if answers.pass_undecided { UndecidedCase::Passes } else { UndecidedCase::Fails };
        cases.extend(answer::test_cases(answer, undecided));
    }
    cases
}
