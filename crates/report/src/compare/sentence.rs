//! What a comparison found, in sentences.
//!
//! In: what `judge` made of the sides. Out: plain text, with nothing from a document but names of
//! figures. Must never: say more than the interval does, or hide what it rests on.

use super::Limit;
use crate::text::plain;
use crate::units;
use prony_judge::compare::sides::{Against, Basis, Contrast, Found, Gate, Sides};
use prony_judge::compare::{Unit, Verdict};

/// Changes beyond this are not told in digits, per cent.
const MOST_PERCENT: f64 = 1_000.0;

/// What is to be known where each side has one run.
pub(crate) const ONE_RUN_EACH: &str = "One run each: runs of the same thing differ too, and two runs do not say by how much. An \
     interval of TPS or NOPM is by the seconds of these two runs alone; a response time of a single run \
     has none. Repeat both in turn before a conclusion is drawn from a small difference.";

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

/// What stands above the figures of both and above the change: of repeats the figures are medians, and the
/// change is not that of the medians.
pub(super) fn headings(of: &Against) -> [String; 3] {
    let repeated = |one: &Contrast| one.a.values.len() > 1 || one.b.values.len() > 1;
    let letter = of.letter;
    match of.figures.iter().any(repeated) {
        true => [
            "A, median".to_owned(),
            format!("{letter}, median"),
            format!("{letter} against A, of means"),
        ],
        false => [
            "A".to_owned(),
            letter.to_string(),
            format!("{letter} against A"),
        ],
    }
}

/// What is to be known of all figures.
pub(super) fn caution(found: &Sides) -> Vec<String> {
    let shown = || found.against.iter().flat_map(|one| &one.figures);
    let mut notes = Vec::new();
    if shown().next().is_none() {
        return notes;
    }
    if found.sides.iter().all(|side| side.runs.len() == 1) {
        notes.push(ONE_RUN_EACH.to_owned());
    } else {
        notes.push(
            "Figures are medians of the runs; the change and its interval are of their geometric \
             means."
                .to_owned(),
        );
    }
    // Of those that do not compare, or of which nothing tells, there is no interval to widen.
    let tells = |one: &&Against| one.figures.iter().any(|of| of.found.is_some());
    let tested = found.against.iter().filter(tells).count();
    if tested > 1 {
        notes.push(format!(
            "{tested} comparisons against A: Holm's method makes the intervals wider, so that of equals \
             a difference is found in any of them one time in twenty.",
        ));
    }
    notes
}

/// Of which sides no ratio is given; nothing where there is one of each.
pub(super) fn no_ratio(found: &Sides) -> Option<String> {
    let without = found.against.iter();
    let without = without.filter(|one| one.verdict == Verdict::NotComparable);
    let letters: Vec<String> = without.map(|one| one.letter.to_string()).collect();
    match letters.len() {
        all if all == found.against.len() => Some("No ratio is given".to_owned()),
        0 => None,
        _ => Some(format!("No ratio is given of {}", letters.join(", "))),
    }
}

/// One figure in a sentence.
pub(super) fn of_letter(letter: char, of: &Contrast) -> String {
    sentence(["A", letter.encode_utf8(&mut [0; 4])], of)
}

/// The same with other names for the sides.
pub(crate) fn sentence(names: [&str; 2], of: &Contrast) -> String {
    let [first, second] = names;
    let name = plain(&of.name);
    let size = share((of.ratio - 1.0).abs());
    let less = of.ratio < 1.0;
    let word = if less { "lower" } else { "higher" };
    let Some(found) = of.found else {
        return match of.ratio.is_finite() {
            true => format!(
                "{name}: {second}'s is {word} by {size}; {}nothing says how much of that is chance.",
                match (of.a.values.len(), of.b.values.len()) {
                    (1, 1) => "a single run a side gives it no interval, and ",
                    _ => "",
                }
            ),
            false => format!("{name}: there is no ratio."),
        };
    };
    let basis = basis(of, &found);
    let level = level(&found);
    if !found.difference {
        return format!(
            "{name}: no difference found between {first} and {second} ({level} interval {}, \
             {basis}); one of {} or more would probably have been found.",
            between(&found),
            share(found.detectable)
        );
    }
    // As a share of the first side's, from the near end to the far one.
    let [near, far] = match less {
        true => [1.0 - found.high, 1.0 - found.low],
        false => [found.low - 1.0, found.high - 1.0],
    };
    let says = match (of.unit, found.basis) {
        (Unit::Nanoseconds, _) => format!("{second}'s is {word}"),
        (Unit::Rate, Basis::Repeats) => format!("{second} is {}", speed(less)),
        // What one run shows need not hold for what it was made with.
        (Unit::Rate, Basis::WithinOneRun) => format!("{second}'s one run is {}", speed(less)),
    };
    format!(
        "{name}: {says} by {size} ({level} interval {} to {}, {basis}).",
        share(near).trim_end_matches(" %"),
        share(far)
    )
}

fn speed(less: bool) -> &'static str {
    if less { "slower" } else { "faster" }
}

/// From where to where the change may be: `-1.2 to +2.0 %`.
pub(super) fn between(found: &Found) -> String {
    let ends = [found.low, found.high].map(in_percent);
    format!("{} to {} %", ends[0], ends[1])
}

/// How much more or less a ratio is, in percent without their sign: `-1.2`, `over +1,000`.
pub(super) fn in_percent(ratio: f64) -> String {
    match (ratio - 1.0) * 100.0 {
        // Two runs may say so little that digits would only pretend.
        percent if percent > MOST_PERCENT => "over +1,000".to_owned(),
        percent => format!("{percent:+.1}"),
    }
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
        Basis::WithinOneRun => {
            "by the seconds of one run each: how far runs differ is not covered".to_owned()
        }
        Basis::Repeats if a == b => format!("{} runs each", units::count(a)),
        Basis::Repeats => format!("{} and {} runs", units::count(a), units::count(b)),
    }
}

/// `95 %`, `97.5 %`, `98.3 %`.
fn level(found: &Found) -> String {
    let text = format!("{:.1}", found.level * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

fn share(share: f64) -> String {
    match share * 100.0 {
        percent if percent > MOST_PERCENT => "over 1,000 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}
