//! The answer of a comparison, in one line for each side: whether it differs from the first, and by how much.
//!
//! In: `judge`'s comparison of the sides. Out: plain text. Must never: call a figure the same because its interval is
//! wide, or give a figure of sides that are not comparable.

use super::comparison::{
    describe_basis, format_figure, format_interval, format_level, format_share, labels,
    ratio_as_change, slower_or_faster, untested_reason,
};
use super::{cut, joined, plain};
use prony_judge::compare::sides::{
    FigureComparison, SideComparison, SidesComparison, Significance,
};
use prony_judge::compare::{Difference, Unit, Verdict};
use prony_store::Severity;

/// A figure whose interval ends within this share of no change is called the same.
const SAME_SHARE: f64 = 0.05;

/// If only a difference above this share would have been found, the runs say nothing.
const MAX_DETECTABLE: f64 = 0.5;

/// Maximum length of a value that differs.
const MAX_VALUE_CHARS: usize = 40;

/// The answer for each side except the first; of several sides by the primary figure only, which leaves one line to each.
pub(crate) fn answers(comparison: &SidesComparison) -> Vec<String> {
    let sides = &comparison.side_comparisons;
    let max_further = if sides.len() == 1 { usize::MAX } else { 0 };
    sides
        .iter()
        .map(|side| answer(comparison, side, max_further))
        .collect()
}

/// The verdict on the comparison below the answers; `None` if the answers say that the sides are not comparable.
pub(crate) fn label_below(comparison: &SidesComparison) -> Option<String> {
    let is_said = matches!(
        comparison.verdict,
        Verdict::NotComparable | Verdict::ShownDespite
    );
    (!is_said || comparison.side_comparisons.is_empty()).then(|| comparison.label())
}

/// Whether a side differs from the first, by its primary figure and at most `max_further` further headline figures.
fn answer(comparison: &SidesComparison, side: &SideComparison, max_further: usize) -> String {
    let figures = comparison.headline_figures(side);
    let Some((primary, further)) = figures.split_first() else {
        let [_, second] = labels(side);
        // With several sides, the line says which one it is.
        let subject = match comparison.side_comparisons.len() {
            1 => String::new(),
            _ => format!("{second}: "),
        };
        let reason = why_without_figures(comparison, side);
        return format!("{subject}NOT COMPARABLE: {reason}.");
    };
    // With a given rate, the throughput is that rate, and says nothing of the side.
    let is_measured =
        |figure: &&&FigureComparison| figure.unit != Unit::Rate || !comparison.is_rate_given();
    let further = further.iter().filter(is_measured).take(max_further);
    let text = match primary.significance {
        Some(significance) => {
            let mut texts = vec![tested_text(side, primary, &significance)];
            texts.extend(further.map(|figure| further_text(figure)));
            texts.join(", ")
        }
        None => untested_text(side, primary, further.copied()),
    };
    let despite = match side.verdict {
        Verdict::ShownDespite => format!("{}: ", side.label()),
        _ => String::new(),
    };
    format!("{despite}{text}.")
}

/// Why a side has no figures: its runs or those of the first are no repeats, or the sides differ too much.
fn why_without_figures(comparison: &SidesComparison, side: &SideComparison) -> String {
    let shortened = |difference: &Difference| {
        [&difference.what, &difference.a, &difference.b]
            .map(|text| cut(&plain(text), MAX_VALUE_CHARS))
    };
    let mut sides = comparison.sides.iter();
    let mixed = sides.find(|other| {
        let takes_part = other.letter == side.letter || other.letter == comparison.sides[0].letter;
        takes_part && !other.repeat_differences.is_empty()
    });
    if let Some(mixed) = mixed {
        let mut text = format!(
            "the runs of {} are not repeats of each other",
            plain(&mixed.label)
        );
        if let Some(first) = decisive(&mixed.repeat_differences).next() {
            let [what, a, b] = shortened(first);
            text += &format!(" ({what}: {a} and {b})");
        }
        return text;
    }
    let mut differences = decisive(&side.differences);
    let Some(first) = differences.next() else {
        return "the runs have no figure in common".to_owned();
    };
    let [what, a, b] = shortened(first);
    let text = format!("{what} ({a} against {b}): {}", first.why);
    match differences.count() {
        0 => text,
        more => format!("{text}; and {more} more"),
    }
}

/// The differences that forbid a comparison.
fn decisive(differences: &[Difference]) -> impl Iterator<Item = &Difference> {
    let differences = differences.iter();
    differences.filter(|difference| difference.severity == Severity::Invalid)
}

/// What the test of the primary figure says.
fn tested_text(
    side: &SideComparison,
    compared: &FigureComparison,
    significance: &Significance,
) -> String {
    let [first, second] = labels(side);
    let name = plain(&compared.name);
    let runs = describe_basis(compared, significance);
    // The level that readers assume needs no words.
    let level = match format_level(significance) {
        usual if usual == "95 %" => String::new(),
        level => format!("{level} interval "),
    };
    if significance.is_significant != Some(true) {
        let interval = format_interval(significance);
        let answer = if significance.detectable > MAX_DETECTABLE {
            format!("The runs scatter too much to say whether {second} differs from {first}")
        } else {
            format!("No difference found between {first} and {second}")
        };
        return format!(
            "{answer} ({name}: {level}{interval}, {runs}; {} would probably have been found)",
            format_share(significance.detectable)
        );
    }
    let size = format_share((compared.ratio - 1.0).abs());
    let ends = shares(significance);
    let is_lower = compared.ratio < 1.0;
    match compared.unit {
        Unit::Rate => {
            let comparative = slower_or_faster(is_lower);
            format!("{second} is {size} {comparative} than {first} ({name}: {level}{ends}, {runs})")
        }
        Unit::Nanoseconds => {
            let comparative = lower_or_higher(is_lower);
            format!("{second} has {size} {comparative} {name} than {first} ({level}{ends}, {runs})")
        }
    }
}

/// Another figure beside the primary one, which is not tested.
fn further_text(compared: &FigureComparison) -> String {
    let name = plain(&compared.name);
    let Some(significance) = &compared.significance else {
        return format!("{name} {}", ratio_as_change(compared.ratio));
    };
    if significance.high < 1.0 || significance.low > 1.0 {
        let size = format_share((compared.ratio - 1.0).abs());
        let comparative = lower_or_higher(compared.ratio < 1.0);
        return format!("{name} {size} {comparative} ({})", shares(significance));
    }
    let interval = format_interval(significance);
    if significance.low >= 1.0 - SAME_SHARE && significance.high <= 1.0 + SAME_SHARE {
        format!("{name} the same ({interval})")
    } else {
        format!("{name} not certain ({interval})")
    }
}

pub(super) fn lower_or_higher(is_lower: bool) -> &'static str {
    if is_lower { "lower" } else { "higher" }
}

/// The two ends of an interval that excludes no change as shares of the first side's figure, the end closer to no
/// change first: `8.0 to 16.0 %`.
pub(super) fn shares(significance: &Significance) -> String {
    let [near, far] = if significance.high < 1.0 {
        [1.0 - significance.high, 1.0 - significance.low]
    } else {
        [significance.low - 1.0, significance.high - 1.0]
    };
    let near = format_share(near);
    format!("{} to {}", near.trim_end_matches(" %"), format_share(far))
}

/// The figures of sides of which nothing can be said.
fn untested_text<'a>(
    side: &SideComparison,
    primary: &'a FigureComparison,
    further: impl Iterator<Item = &'a FigureComparison>,
) -> String {
    let [first, second] = labels(side);
    let figures = std::iter::once(primary).chain(further).map(|figure| {
        let [a, b] = [&figure.a, &figure.b].map(|side| format_figure(figure.unit, side.median));
        let change = ratio_as_change(figure.ratio);
        format!("{} {a} and {b} ({change})", plain(&figure.name))
    });
    format!(
        "Not known whether {second} differs from {first}, because {}: {}",
        untested_reason([&first, &second], primary),
        joined(figures, ", ")
    )
}
