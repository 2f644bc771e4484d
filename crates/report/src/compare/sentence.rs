//! What a comparison found, in sentences.
//!
//! In: what `judge` made of the sides. Out: plain text, with nothing from a document but names of
//! figures. Must never: say more than the interval does, or hide what it rests on.

use super::Limit;
use crate::text::plain;
use crate::units;
use prony_judge::compare::Unit;
use prony_judge::compare::sides::{Against, Basis, Contrast, Found, Gate, Sides};

/// What the figures say, a sentence each: of every side the leading ones, then what follows for the
/// limit that was asked for.
pub(super) fn told(found: &Sides, limit: Option<Limit>) -> Vec<String> {
    let mut told = Vec::new();
    for one in &found.against {
        let leading = found.leading(one);
        told.extend(leading.iter().map(|figure| of_letter(one.letter, figure)));
        if let Some(limit) = limit {
            told.extend(held(found, one, limit).map(|(_, text)| text));
        }
    }
    told
}

/// What is to be known of all figures.
pub(super) fn caution(found: &Sides) -> Vec<String> {
    let shown = || found.against.iter().flat_map(|one| &one.figures);
    let mut notes = Vec::new();
    if shown().next().is_none() {
        return notes;
    }
    if found.sides.iter().all(|side| side.runs.len() == 1) {
        notes.push(
            "One run each: runs of the same thing differ too, and two runs do not say by how much. \
             Repeat both in turn before a conclusion is drawn from a small difference."
                .to_owned(),
        );
    } else {
        notes.push(
            "Figures are medians of the runs; the change and its interval are of their geometric \
             means."
                .to_owned(),
        );
    }
    if found.against.len() > 1 && shown().any(|one| one.found.is_some()) {
        notes.push(format!(
            "{} comparisons against A: intervals are wider and levels higher for it (Holm), so that \
             equals show a difference in any of them one time in twenty.",
            found.against.len()
        ));
    }
    notes
}

/// One figure in a sentence.
pub(super) fn of_letter(letter: char, of: &Contrast) -> String {
    sentence(["A", letter.encode_utf8(&mut [0; 4])], of)
}

/// The same with other names for the sides.
pub(crate) fn sentence(names: [&str; 2], of: &Contrast) -> String {
    let [first, letter] = names;
    let name = plain(&of.name);
    let (direction, size) = direction(of);
    let Some(found) = of.found else {
        if !of.ratio.is_finite() {
            return format!("{name}: there is no ratio.");
        }
        return format!(
            "{name}: {letter}'s is {direction} by {size}; {}.",
            "nothing says how much of that is chance"
        );
    };
    let basis = basis(of, &found);
    let level = level(&found);
    if !found.difference {
        let [low, high] = [found.low, found.high].map(|ratio| (ratio - 1.0) * 100.0);
        return format!(
            "{name}: no difference found between {first} and {letter} ({level} interval {low:+.1} to \
             {high:+.1} %, {basis}); one of {} or more would probably have been found.",
            share(found.detectable)
        );
    }
    // As a share of the first side's, from the near end to the far one.
    let ends = match of.ratio < 1.0 {
        true => [1.0 - found.high, 1.0 - found.low],
        false => [found.low - 1.0, found.high - 1.0],
    };
    let verb = match (of.unit, of.ratio < 1.0) {
        (Unit::Rate, false) => "is faster",
        (Unit::Rate, true) => "is slower",
        (Unit::Nanoseconds, false) => "takes longer",
        (Unit::Nanoseconds, true) => "takes less",
    };
    let [near, far] = ends.map(|end| end * 100.0);
    format!(
        "{name}: {letter} {verb} by {size} ({level} interval {near:.1} to {far:.1} %, {basis})."
    )
}

/// What follows for a limit: whether it is held, and the sentence; nothing without figures.
pub(super) fn held(found: &Sides, one: &Against, limit: Limit) -> Option<(bool, String)> {
    let gate = found.gate(one, limit.allowed)?;
    let leading = found.leading(one);
    let name = plain(&leading.first()?.name);
    let (letter, allowed) = (one.letter, share(limit.allowed));
    Some(match gate {
        Gate::Slower => (
            false,
            format!(
                "{letter} is slower than A by more than {allowed} ({name}): the limit is broken."
            ),
        ),
        Gate::Within => (
            true,
            format!(
                "{letter} is not slower than A by more than {allowed} ({name}): the limit is held."
            ),
        ),
        Gate::Unsure => (
            !limit.surely,
            format!(
                "These runs cannot tell whether {letter} is slower than A by more than {allowed} \
                 ({name}); repeat both in turn, more often."
            ),
        ),
    })
}

/// `5 runs each`, `5 and 4 runs`, or that it is the seconds of single runs.
fn basis(of: &Contrast, found: &Found) -> String {
    let [a, b] = [&of.a, &of.b].map(|sample| sample.values.len() as u64);
    match found.basis {
        Basis::WithinOneRun => "within one run each; how far runs differ is not covered".to_owned(),
        Basis::Repeats if a == b => format!("{} runs each", units::count(a)),
        Basis::Repeats => format!("{} and {} runs", units::count(a), units::count(b)),
    }
}

fn direction(of: &Contrast) -> (&'static str, String) {
    let word = if of.ratio < 1.0 { "lower" } else { "higher" };
    (word, share((of.ratio - 1.0).abs()))
}

/// `95 %`, `97.5 %`, `98.3 %`.
fn level(found: &Found) -> String {
    let text = format!("{:.1}", found.level * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

fn share(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
