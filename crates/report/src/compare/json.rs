//! A comparison for programs.
//!
//! In: `judge`'s comparison of the sides. Out: one JSON document.

use super::{SideAnswers, remarks};
use crate::text::difference;
use prony_judge::compare::sides::{SidesComparison, typical_runs_needed};
use prony_judge::sweep::Sweep;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes the comparison as one JSON document, with the curves of a sweep if its points are compared.
pub fn write_json(
    out: &mut dyn Write,
    comparison: &SidesComparison,
    sides: &SideAnswers,
    sweep: Option<&Sweep>,
) -> io::Result<()> {
    crate::json::write_pretty(out, &document(comparison, sides, sweep))
}

/// The comparison as a JSON document: the answer first.
pub fn document(comparison: &SidesComparison, sides: &SideAnswers, sweep: Option<&Sweep>) -> Value {
    let mut document = json!({
        "verdict": comparison.verdict,
        "caveats": comparison.caveats,
        "primary": comparison.primary,
        "answer": difference::answers(comparison),
        "remarks": remarks(comparison),
        "sides": comparison.sides,
        "side_comparisons": comparison.side_comparisons,
    });
    if let Some(disturbed) = &comparison.disturbed {
        document["disturbed"] = json!(disturbed);
    }
    if comparison.sides.iter().any(|side| side.runs.len() == 1) {
        document["runs_needed"] = json!(typical_runs_needed());
    }
    if !sides.answers.is_empty() {
        let answers = sides.answers.iter();
        document["answers"] = answers
            .map(|(label, answer)| json!({ "label": label, "answer": answer }))
            .collect();
    }
    if let Some(sweep) = sweep {
        document["sweep"] = json!(sweep);
    }
    document
}
