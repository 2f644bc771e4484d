//! A comparison for programs.
//!
//! In: `judge`'s comparison of the sides. Out: one JSON document. Must never: lose a member of an
//! earlier version: `a`, `b`, `differences` and `figures` are those of the first two sides, and the
//! figures are medians.

use super::Limit;
use super::sentence::{gate_result, sentences};
use prony_judge::compare::sides::{SidesComparison, runs_needed_usually};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes the comparison as one JSON document.
pub fn write(out: &mut dyn Write, found: &SidesComparison, limit: Option<Limit>) -> io::Result<()> {
    let id = |side: usize| match found.sides.get(side).map(|side| side.runs.as_slice()) {
        Some([only]) => Value::from(only.as_str()),
        Some(several) => Value::from(several.join(",")),
        None => Value::Null,
    };
    let first = found.against.first();
    let pairs = first.iter().flat_map(|one| &one.figures).map(|figure| {
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
        "verdict": found.verdict,
        "differences": first.map(|one| &one.differences),
        "figures": pairs.collect::<Vec<_>>(),
        "caveats": found.caveats,
        "told": sentences(found, limit),
        "sides": found.sides,
        "against": found.against,
    });
    if found.sides.iter().any(|side| side.runs.len() == 1) {
        document["runs_needed"] = json!(runs_needed_usually());
    }
    if let Some(limit) = limit {
        let each = found.against.iter().map(|one| {
            json!({
                "letter": one.letter,
                "gate": found.gate(one, limit.allowed),
                "held": gate_result(found, one, limit).map(|(passed, _)| passed),
            })
        });
        document["limit"] = json!({
            "slower_by": limit.allowed,
            "sides": each.collect::<Vec<_>>(),
        });
    }
    crate::json::pretty(out, &document)
}
