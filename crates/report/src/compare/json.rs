//! A comparison for programs.
//!
//! In: `judge`'s comparison of the sides. Out: one JSON document. Must never: lose a member of an
//! earlier version: `a`, `b`, `differences` and `figures` are those of the first two sides, and the
//! figures are medians.

use super::{SideAnswers, sentences};
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
    let id = |side: usize| match comparison.sides.get(side).map(|side| side.runs.as_slice()) {
        Some([only]) => Value::from(only.as_str()),
        Some(several) => Value::from(several.join(",")),
        None => Value::Null,
    };
    let first = comparison.side_comparisons.first();
    let pairs = first
        .iter()
        .flat_map(|compared_side| &compared_side.figures)
        .map(|figure| {
            json!({
                "name": figure.name,
                "unit": figure.unit,
                "a": figure.a.median,
                "b": figure.b.median,
            })
        });
    let mut document = json!({
        "a": id(0),
        "b": id(1),
        "verdict": comparison.verdict,
        "differences": first.map(|compared_side| &compared_side.differences),
        "figures": pairs.collect::<Vec<_>>(),
        "caveats": comparison.caveats,
        "primary": comparison.primary,
        "told": sentences(comparison),
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
    crate::json::write_pretty(out, &document)
}
