//! The findings of a comparison, in sentences.
//!
//! In: `judge`'s comparison of the sides. Out: plain text; the only text from documents is names of
//! figures. Must never: claim more than the interval supports, or hide what it is based on.

use super::Limit;
use crate::text::plain;
use crate::units;
use prony_judge::compare::sides::{
    Basis, FigureComparison, GateResult, SideComparison, SidesComparison, Significance,
};
use prony_judge::compare::{Unit, Verdict};

/// Larger changes are printed as `over`, percent.
const MAX_PERCENT: f64 = 1_000.0;

/// The caution about single runs.
pub(crate) const ONE_RUN_EACH: &str = "One run each: repeated runs differ too, and two single runs do not show by how much. The \
     interval of TPS or NOPM is based only on the seconds of these two runs; response times of single \
     runs have none. Repeat both alternately before you draw conclusions from a small difference.";

/// One sentence for each leading figure of every side, and, if there is a limit, whether the side is
/// within it.
pub(super) fn sentences(found: &SidesComparison, limit: Option<Limit>) -> Vec<String> {
    let each = found.against.iter().flat_map(|one| {
        let leading = found.leading(one).into_iter();
        let figures: Vec<String> = leading
            .map(|figure| side_sentence(one.letter, figure))
            .collect();
        let gate = limit.and_then(|limit| gate_result(found, one, limit));
        figures.into_iter().chain(gate.map(|(_, text)| text))
    });
    each.collect()
}

/// The column titles of both sides and of the change. Figures of repeats are medians; the change is that of
/// the means.
pub(super) fn headings(of: &SideComparison) -> [String; 3] {
    let repeated = |one: &FigureComparison| one.a.values.len() > 1 || one.b.values.len() > 1;
    let letter = of.letter;
    let titles = match of.figures.iter().any(repeated) {
        true => ["A, median", "{}, median", "{} against A, of means"],
        false => ["A", "{}", "{} against A"],
    };
    titles.map(|title| title.replace("{}", &letter.to_string()))
}

/// Cautions that apply to all figures.
pub(super) fn cautions(found: &SidesComparison) -> Vec<String> {
    let figures = || found.against.iter().flat_map(|one| &one.figures);
    let mut notes = Vec::new();
    if figures().next().is_none() {
        return notes;
    }
    let single = found.sides.iter().all(|side| side.runs.len() == 1);
    notes.push(match single {
        true => ONE_RUN_EACH.to_owned(),
        false => {
            "Figures are medians of the runs; the change and its interval are of their geometric \
                  means."
                .to_owned()
        }
    });
    // Sides that do not compare, or have only response times of single runs, have no interval to
    // widen.
    let has_interval =
        |one: &&SideComparison| one.figures.iter().any(|of| of.significance.is_some());
    let tested = found.against.iter().filter(has_interval).count();
    if tested > 1 {
        notes.push(format!(
            "{tested} comparisons against A: Holm's method widens the intervals, so that with equal sides \
             only one such report in twenty shows any difference.",
        ));
    }
    notes
}

/// The sides that have no ratio; `None` if all have one.
pub(super) fn no_ratio(found: &SidesComparison) -> Option<String> {
    let without = found.against.iter();
    let without = without.filter(|one| one.verdict == Verdict::NotComparable);
    let letters: Vec<String> = without.map(|one| one.letter.to_string()).collect();
    match letters.len() {
        all if all == found.against.len() => Some("No ratio is given".to_owned()),
        0 => None,
        _ => Some(format!("No ratio is given for {}", letters.join(", "))),
    }
}

/// One figure in a sentence, the side named by its letter.
pub(super) fn side_sentence(letter: char, of: &FigureComparison) -> String {
    sentence(["A", letter.encode_utf8(&mut [0; 4])], of)
}

/// Like `side_sentence`, with other names for the sides.
pub(crate) fn sentence(names: [&str; 2], of: &FigureComparison) -> String {
    let [first, second] = names;
    let name = plain(&of.name);
    let size = share((of.ratio - 1.0).abs());
    let less = of.ratio < 1.0;
    let word = if less { "lower" } else { "higher" };
    let Some(significance) = of.significance else {
        return match of.ratio.is_finite() {
            true => format!(
                "{name}: {second} is {word} by {size}; {}chance is not ruled out.",
                match (of.a.values.len(), of.b.values.len()) {
                    (1, 1) => "single runs give no interval, so ",
                    _ => "",
                }
            ),
            false => format!("{name}: there is no ratio."),
        };
    };
    let basis = basis(of, &significance);
    let level = level(&significance);
    if !significance.difference {
        return format!(
            "{name}: no difference found between {first} and {second} ({level} interval {}, \
             {basis}); a difference of {} or more would probably have been found.",
            format_interval(&significance),
            share(significance.detectable)
        );
    }
    // As a share of the first side's figure, from the near end of the interval to the far one.
    let [near, far] = match less {
        true => [1.0 - significance.high, 1.0 - significance.low],
        false => [significance.low - 1.0, significance.high - 1.0],
    };
    let subject = match (of.unit, significance.basis) {
        (Unit::Nanoseconds, _) => format!("{second} is {word}"),
        (Unit::Rate, Basis::Repeats) => format!("{second} is {}", slower_or_faster(less)),
        // A finding about one run may not hold for its configuration.
        (Unit::Rate, Basis::WithinOneRun) => {
            format!("{second}'s single run is {}", slower_or_faster(less))
        }
    };
    format!(
        "{name}: {subject} by {size} ({level} interval {} to {}, {basis}).",
        share(near).trim_end_matches(" %"),
        share(far)
    )
}

fn slower_or_faster(less: bool) -> &'static str {
    if less { "slower" } else { "faster" }
}

/// The interval of the change: `-1.2 to +2.0 %`.
pub(super) fn format_interval(significance: &Significance) -> String {
    let ends = [significance.low, significance.high].map(format_change);
    format!("{} to {} %", ends[0], ends[1])
}

/// A ratio as a change in percent, without the percent sign: `-1.2`, `over +1,000`.
pub(super) fn format_change(ratio: f64) -> String {
    match (ratio - 1.0) * 100.0 {
        // With two runs, digits may be false precision.
        percent if percent > MAX_PERCENT => "over +1,000".to_owned(),
        percent => format!("{percent:+.1}"),
    }
}

/// Whether a side passes the limit, and a sentence about it; `None` without figures.
pub(super) fn gate_result(
    found: &SidesComparison,
    one: &SideComparison,
    limit: Limit,
) -> Option<(bool, String)> {
    let gate = found.gate(one, limit.allowed)?;
    let name = plain(&found.leading(one).first()?.name);
    let (letter, allowed) = (one.letter, share(limit.allowed));
    let (passed, text) = match gate {
        GateResult::Slower => (
            false,
            format!(
                "{letter} is slower than A by more than {allowed} ({name}): the limit is exceeded."
            ),
        ),
        GateResult::Within => (
            true,
            format!(
                "{letter} is not slower than A by more than {allowed} ({name}): the limit is kept."
            ),
        ),
        GateResult::Unsure => (
            !limit.fail_if_unsure,
            format!(
                "These runs do not show whether {letter} is slower than A by more than {allowed} \
                 ({name}); repeat both alternately, more often."
            ),
        ),
    };
    Some((passed, text))
}

/// `5 runs each`, `5 and 4 runs`, or that the basis is the seconds of single runs.
fn basis(of: &FigureComparison, significance: &Significance) -> String {
    let [a, b] = [&of.a, &of.b].map(|sample| sample.values.len() as u64);
    match significance.basis {
        Basis::WithinOneRun => {
            "from the seconds of one run each, so without the variation between runs".to_owned()
        }
        Basis::Repeats if a == b => format!("{} runs each", units::count(a)),
        Basis::Repeats => format!("{} and {} runs", units::count(a), units::count(b)),
    }
}

/// The confidence level: `95 %`, `97.5 %`, `98.3 %`.
fn level(significance: &Significance) -> String {
    let text = format!("{:.1}", significance.level * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

fn share(share: f64) -> String {
    match share * 100.0 {
        percent if percent > MAX_PERCENT => "over 1,000 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}
