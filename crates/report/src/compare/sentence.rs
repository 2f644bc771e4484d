//! The findings of a comparison, in sentences.
//!
//! In: `judge`'s comparison of the sides. Out: plain text; the only text from documents is names of
//! figures. Must never: claim more than the interval supports, or hide what it is based on.

use super::{Limits, figure, signed};
use crate::text::plain;
use crate::units;
use prony_judge::compare::sides::{
    Basis, FigureComparison, SideComparison, SideSummary, SidesComparison, Significance,
    runs_needed_usually,
};
use prony_judge::compare::{Unit, Verdict};

/// Larger changes are printed as `over`, percent.
const MAX_PERCENT: f64 = 1_000.0;

/// The caution about single runs.
pub(crate) fn one_run_each() -> String {
    format!(
        "One run per side: repeated runs of one system differ too, and the seconds of one run do not show by \
         how much. {} Repeat both alternately.",
        runs_needed()
    )
}

/// The caution about intervals that assume a distribution.
const TOO_FEW_FOR_RANKS: &str = "So few runs allow no exact interval: these take the scatter of runs as normal (of their logarithms), and \
     are too wide if a run was disturbed. Exact intervals need 4 runs per side; 5 if there are up to six sides \
     besides A.";

/// How many runs a difference takes.
fn runs_needed() -> String {
    let needed = runs_needed_usually();
    format!(
        "If runs of one system scatter by {}, as is usual on a quiet machine, it takes {} runs per side to find \
         a difference of {}.",
        whole_percent(needed.scatter),
        needed.runs,
        whole_percent(needed.effect)
    )
}

fn whole_percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// One sentence for each leading figure of every side, and whether the side keeps each limit.
pub(super) fn sentences(comparison: &SidesComparison, limits: &Limits) -> Vec<String> {
    let each = comparison.against.iter().flat_map(|compared_side| {
        let leading = comparison.leading_figures(compared_side).into_iter();
        let figures: Vec<String> = leading
            .map(|figure| side_sentence(compared_side.letter, figure))
            .collect();
        let results = limits.results(comparison, compared_side);
        let results: Vec<String> = results.map(|result| result.text).collect();
        figures.into_iter().chain(results)
    });
    let left_out = comparison.sides.iter().flat_map(left_out_sentences);
    left_out.chain(each).collect()
}

/// The repeats that are left out, one sentence each.
fn left_out_sentences(side: &SideSummary) -> impl Iterator<Item = String> + '_ {
    side.left_out.iter().map(|left_out| {
        format!(
            "{}: run {} left out: {}.",
            side.letter,
            left_out.position,
            plain(&left_out.reason)
        )
    })
}

/// The column titles of both sides and of the change. Figures of repeats are medians, and so is what the change
/// is computed from.
pub(super) fn headings(compared_side: &SideComparison) -> [String; 3] {
    let repeated =
        |compared: &FigureComparison| compared.a.values.len() > 1 || compared.b.values.len() > 1;
    let letter = compared_side.letter;
    let titles = match compared_side.figures.iter().any(repeated) {
        true => ["A, median", "{}, median", "{} against A"],
        false => ["A", "{}", "{} against A"],
    };
    titles.map(|title| title.replace("{}", &letter.to_string()))
}

/// Cautions that apply to all figures.
pub(super) fn cautions(comparison: &SidesComparison) -> Vec<String> {
    let figures = || {
        comparison
            .against
            .iter()
            .flat_map(|compared_side| &compared_side.figures)
    };
    let mut notes = Vec::new();
    if figures().next().is_none() {
        return notes;
    }
    let single_runs = |side: &&SideSummary| side.runs.len() == 1;
    if comparison.sides.iter().any(|side| single_runs(&side)) {
        notes.push(one_run_each());
    }
    let intervals = || figures().filter_map(|figure| figure.significance);
    if let Some(primary) = comparison
        .primary
        .as_ref()
        .filter(|_| intervals().next().is_some())
    {
        notes.push(format!(
            "Figures are medians of the runs. Only {} is tested. The intervals of the other figures have 95 % each: \
             with equal sides, one of twenty excludes 0.",
            plain(primary)
        ));
    }
    if intervals().any(|significance| significance.basis == Basis::Normal) {
        notes.push(TOO_FEW_FOR_RANKS.to_owned());
    }
    // Sides that do not compare, or have single runs, have no interval to widen.
    let has_interval = |compared_side: &&SideComparison| {
        compared_side
            .figures
            .iter()
            .any(|compared| compared.significance.is_some_and(|it| it.p.is_some()))
    };
    let tested = comparison.against.iter().filter(has_interval).count();
    if tested > 1 {
        notes.push(format!(
            "{tested} comparisons against A: Holm's method widens the intervals, so that with equal sides \
             only one such report in twenty shows any difference.",
        ));
    }
    notes
}

/// The sides that have no ratio; `None` if all have one.
pub(super) fn no_ratio(comparison: &SidesComparison) -> Option<String> {
    let not_comparable = comparison.against.iter();
    let not_comparable =
        not_comparable.filter(|compared_side| compared_side.verdict == Verdict::NotComparable);
    let letters: Vec<String> = not_comparable
        .map(|compared_side| compared_side.letter.to_string())
        .collect();
    match letters.len() {
        all if all == comparison.against.len() => Some("No ratio is given".to_owned()),
        0 => None,
        _ => Some(format!("No ratio is given for {}", letters.join(", "))),
    }
}

/// One figure in a sentence, the side named by its letter.
pub(super) fn side_sentence(letter: char, compared: &FigureComparison) -> String {
    sentence(["A", letter.encode_utf8(&mut [0; 4])], compared)
}

/// Like `side_sentence`, with other names for the sides.
pub(crate) fn sentence(names: [&str; 2], compared: &FigureComparison) -> String {
    let [first, second] = names;
    let name = plain(&compared.name);
    let size = share((compared.ratio - 1.0).abs());
    let less = compared.ratio < 1.0;
    let word = if less { "lower" } else { "higher" };
    let Some(significance) = compared.significance else {
        return match compared.ratio.is_finite() {
            true => without_statement(names, compared),
            false => format!("{name}: there is no ratio."),
        };
    };
    let basis = basis(compared, &significance);
    let level = level(&significance);
    let Some(difference) = significance.is_significant else {
        return format!(
            "{name}: {} ({level} interval {}); not tested.",
            signed(compared.ratio),
            format_interval(&significance)
        );
    };
    if !difference {
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
    let direction = match compared.unit {
        Unit::Nanoseconds => word,
        Unit::Rate => slower_or_faster(less),
    };
    format!(
        "{name}: {second} is {direction} by {size} ({level} interval {} to {}, {basis}).",
        share(near).trim_end_matches(" %"),
        share(far)
    )
}

/// Both figures with their ratio, and why nothing is said about a difference.
fn without_statement(names: [&str; 2], compared: &FigureComparison) -> String {
    let [first, second] = names;
    let [a, b] = [&compared.a, &compared.b].map(|side| figure(compared.unit, side.median));
    let reason = match [&compared.a, &compared.b].map(|side| side.values.len()) {
        [1, 1] => "1 run per side".to_owned(),
        [1, _] => format!("{first} has 1 run"),
        [_, 1] => format!("{second} has 1 run"),
        _ => "a figure is not above 0".to_owned(),
    };
    format!(
        "{}: {first} {a}, {second} {b} ({}); no statement about a difference: {reason}.",
        plain(&compared.name),
        signed(compared.ratio)
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
        // Not -0.0.
        percent => format!("{:+.1}", (percent * 10.0).round() / 10.0 + 0.0),
    }
}

/// `5 runs each`, `5 and 4 runs`, and whether that assumes normal scatter.
fn basis(compared: &FigureComparison, significance: &Significance) -> String {
    let [a, b] = [&compared.a, &compared.b].map(|sample| sample.values.len() as u64);
    let runs = match a == b {
        true => format!("{} runs each", units::count(a)),
        false => format!("{} and {} runs", units::count(a), units::count(b)),
    };
    match significance.basis {
        Basis::Ranks => runs,
        Basis::Normal => format!("{runs}, scatter taken as normal"),
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
