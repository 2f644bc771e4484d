//! The findings of a comparison, in sentences.
//!
//! In: `judge`'s comparison of the sides. Out: plain text; of the text in the documents, only names of
//! figures and the reasons for omitted repeats are in it. Must never: claim more than the interval
//! supports, or hide how the interval was computed.

use crate::text::verdict::TOO_SHORT;
use crate::text::{difference, plain};
use crate::units::{self, format_of};
use prony_judge::compare::sides::{
    Basis, FigureComparison, SideComparison, SideSummary, SidesComparison, Significance,
    typical_runs_needed,
};
use prony_judge::compare::{Difference, FigurePair, Unit, Verdict};
use prony_judge::experiment::Spread;
use prony_judge::noise::RunNoise;
use prony_store::{Run, Severity};
use std::borrow::Borrow;

/// Severities with their headings, the worst first.
const SEVERITY_HEADINGS: [(Severity, &str); 3] = [
    (Severity::Invalid, "Why they are not comparable"),
    (Severity::Caveat, "Caveats"),
    (Severity::Note, "Notes"),
];

/// The differences of each severity under its heading, the worst first.
pub(crate) fn group_by_severity(
    differences: &[Difference],
) -> impl Iterator<Item = (&'static str, Severity, Vec<&Difference>)> {
    let groups = SEVERITY_HEADINGS.into_iter().map(|(severity, heading)| {
        let differences = differences.iter();
        let matching = differences.filter(|difference| difference.severity == severity);
        (heading, severity, matching.collect::<Vec<_>>())
    });
    groups.filter(|(_, _, matching)| !matching.is_empty())
}

/// A change above this limit, in percent, is printed as `over 1,000 %`.
const MAX_PERCENT: f64 = 1_000.0;

/// The caution if each side has a single run.
pub(crate) fn single_runs_caution() -> String {
    single_runs_caution_for("One run per side")
}

/// The caution for sides with a single run; `None` if all have several.
fn caution_for_single_runs(sides: &[SideSummary]) -> Option<String> {
    let single = sides.iter().filter(|side| side.runs.len() == 1);
    let labels: Vec<String> = single.map(|side| plain(&side.label)).collect();
    match labels.len() {
        0 => None,
        count if count == sides.len() => Some(single_runs_caution()),
        _ => Some(single_runs_caution_for(&format!(
            "One run of {}",
            labels.join(", ")
        ))),
    }
}

fn single_runs_caution_for(subject: &str) -> String {
    format!(
        "{subject}: repeated runs of the same system differ as well, and a single run cannot show by how much. {} \
         Run each side several times, alternately.",
        runs_needed_sentence()
    )
}

const NORMAL_INTERVAL_CAUTION: &str = "There are too few runs for an exact interval. These intervals assume that the logarithms of the figures are \
     normally distributed, and are too wide if one of the runs was disturbed. Exact intervals need 4 runs per \
     side, or 5 if up to six sides are compared with the first.";

const PAIRS_CAUTION: &str = "Changes are mean ratios of pairs of runs that took turns, so that what disturbs both runs of a pair cancels out. Their \
     intervals assume that the logarithms of these ratios are normally distributed.";

/// The range of two shares: `23 to 61 %`, or `40 %` if they are equal.
pub(crate) fn percent_range(ends: [f64; 2]) -> String {
    let [low, high] = ends.map(units::whole_percent);
    if low == high { low } else { format!("{} to {high}", low.trim_end_matches(" %")) }
}

/// The noise of the runs of a variant, from the least to the most; a dash if it is not known.
pub(crate) fn noise_of_variant(runs: &[impl Borrow<Run>], variant: &str) -> String {
    let runs = runs.iter().map(Borrow::borrow);
    let own = runs.filter(|run| run.variant() == Some(variant));
    let shares = own.filter_map(|run| RunNoise::of(run).share()).collect();
    let noise = Spread::from_values(shares);
    units::or_dash(noise, |noise| percent_range([noise.low, noise.high]))
}

/// The caution if others disturbed the runs; `None` if they did not.
pub(crate) fn disturbed_caution(comparison: &SidesComparison) -> Option<String> {
    let disturbed = comparison.disturbed.as_ref()?;
    let sides = comparison.sides.iter().zip(&disturbed.noise);
    let noise_of_sides = sides.map(|(side, noise)| {
        let range = percent_range((*noise)?);
        Some(format!("{range} in the runs of {}", plain(&side.label)))
    });
    let noise_of_sides: Option<Vec<String>> = noise_of_sides.collect();
    let sentence = match noise_of_sides {
        Some(noise) => {
            let noise = noise.join(", ");
            format!("Others used, or the hypervisor withheld, of the CPUs {noise}.")
        }
        None => "How much of the CPUs others used is not known for all runs.".to_owned(),
    };
    Some(format!(
        "{sentence} The figures are those of a disturbed system: only their ratios may be used, not the throughput or the \
         response times of a side."
    ))
}

/// A sentence on how many runs are needed to detect a difference.
fn runs_needed_sentence() -> String {
    let needed = typical_runs_needed();
    format!(
        "If runs of the same system scatter by {}, as is usual on a quiet machine, {} runs per side are needed \
         to detect a difference of {}.",
        units::whole_percent(needed.scatter),
        needed.runs,
        units::whole_percent(needed.effect)
    )
}

/// Whether runs of a side are too short, without a final period; `None` if none is.
pub(crate) fn too_short_sentence(side: &SideSummary) -> Option<String> {
    let (short, all) = (side.too_short.len(), side.runs.len());
    let subject = match short {
        0 => return None,
        short if short == all => format!("{} is", plain(&side.label)),
        short => format!("{short} of {all} runs of {} are", plain(&side.label)),
    };
    Some(format!("{subject} {TOO_SHORT}"))
}

/// One sentence for each repeat that the comparison leaves out, with the reason.
pub(crate) fn left_out_sentences(side: &SideSummary) -> impl Iterator<Item = String> + '_ {
    side.left_out.iter().map(|left_out| {
        format!(
            "{}: run {} left out: {}.",
            plain(&side.label),
            left_out.position,
            plain(&left_out.reason)
        )
    })
}

/// The column titles of both sides and of the change. Repeats are shown by their medians, and the change
/// is computed from the medians.
pub(crate) fn column_titles(compared_side: &SideComparison) -> [String; 3] {
    let repeated =
        |compared: &FigureComparison| compared.a.values.len() > 1 || compared.b.values.len() > 1;
    let [first, second] = labels(compared_side);
    let change = "change".to_owned();
    if compared_side.figures.iter().any(repeated) {
        [
            format!("{first}, median"),
            format!("{second}, median"),
            change,
        ]
    } else {
        [first, second, change]
    }
}

pub(crate) fn cautions(comparison: &SidesComparison) -> Vec<String> {
    let figures = || {
        let side_comparisons = comparison.side_comparisons.iter();
        side_comparisons.flat_map(|compared_side| &compared_side.figures)
    };
    let mut notes = Vec::new();
    if figures().next().is_none() {
        return notes;
    }
    notes.extend(disturbed_caution(comparison));
    notes.extend(caution_for_single_runs(&comparison.sides));
    let intervals = || figures().filter_map(|figure| figure.significance);
    if let Some(primary) = comparison
        .primary
        .as_ref()
        .filter(|_| intervals().next().is_some())
    {
        notes.push(format!(
            "Figures are medians of the runs, with 95 % intervals unless another level is given. Only {} is tested: even if the \
             sides do not differ, one in twenty of the other intervals excludes 0.",
            plain(primary)
        ));
    }
    if intervals().any(|significance| significance.basis == Basis::Normal) {
        notes.push(NORMAL_INTERVAL_CAUTION.to_owned());
    }
    if intervals().any(|significance| significance.basis == Basis::Pairs) {
        notes.push(PAIRS_CAUTION.to_owned());
    }
    // Sides that are not comparable, or have a single run, have no interval to widen.
    let is_tested = |side: &&SideComparison| {
        let mut intervals = side.figures.iter().filter_map(|figure| figure.significance);
        intervals.any(|significance| significance.p.is_some())
    };
    let side_comparisons = comparison.side_comparisons.iter();
    let tested = side_comparisons.filter(is_tested).count();
    if tested > 1 {
        notes.push(format!(
            "{tested} comparisons against {}: Holm's method widens the intervals, so that if the sides do not \
             differ, only one report in twenty shows a difference.",
            plain(&comparison.sides[0].label)
        ));
    }
    notes
}

/// A note that names the sides without a ratio; `None` if all sides have one.
pub(crate) fn no_ratio_notice(comparison: &SidesComparison) -> Option<String> {
    let sides = comparison.side_comparisons.iter();
    let not_comparable = sides.filter(|side| side.verdict == Verdict::NotComparable);
    let labels: Vec<String> = not_comparable.map(|side| plain(&side.labels[1])).collect();
    match labels.len() {
        count if count == comparison.side_comparisons.len() => Some("No ratio is given".to_owned()),
        0 => None,
        _ => Some(format!("No ratio is given for {}", labels.join(", "))),
    }
}

pub(crate) fn labels(side: &SideComparison) -> [String; 2] {
    side.labels.each_ref().map(|label| plain(label))
}

/// Whether a figure of two sides differs; `names` are those of the sides.
pub(crate) fn figure_sentence(names: [&str; 2], compared: &FigureComparison) -> String {
    let [first, second] = names;
    let name = plain(&compared.name);
    let change_size = format_share((compared.ratio - 1.0).abs());
    let is_lower = compared.ratio < 1.0;
    let Some(significance) = compared.significance else {
        return if compared.ratio.is_finite() {
            untested_sentence(names, compared)
        } else {
            format!("{name}: there is no ratio.")
        };
    };
    let basis = describe_basis(compared, &significance);
    let level = format_level(&significance);
    let Some(is_significant) = significance.is_significant else {
        return format!(
            "{name}: {} ({level} interval {}); not tested.",
            ratio_as_change(compared.ratio),
            format_interval(&significance)
        );
    };
    if !is_significant {
        return format!(
            "{name}: no difference found between {first} and {second} ({level} interval {}, \
             {basis}); a difference of {} or more would probably have been found.",
            format_interval(&significance),
            format_share(significance.detectable)
        );
    }
    let comparative = match compared.unit {
        Unit::Nanoseconds => difference::lower_or_higher(is_lower),
        Unit::Rate => slower_or_faster(is_lower),
    };
    format!(
        "{name}: {second} is {change_size} {comparative} than {first} ({level} interval {}, {basis}).",
        difference::shares(&significance)
    )
}

/// Both figures with their ratio, and the reason why the difference is not tested.
fn untested_sentence(names: [&str; 2], compared: &FigureComparison) -> String {
    let [first, second] = names;
    let [a, b] = [&compared.a, &compared.b].map(|side| format_figure(compared.unit, side.median));
    format!(
        "{}: {first} {a}, {second} {b} ({}); no statement about a difference: {}.",
        plain(&compared.name),
        ratio_as_change(compared.ratio),
        untested_reason(names, compared)
    )
}

/// Why nothing is said about a difference.
pub(super) fn untested_reason(names: [&str; 2], compared: &FigureComparison) -> String {
    let [first, second] = names;
    match [&compared.a, &compared.b].map(|side| side.values.len()) {
        [1, 1] => "there is 1 run per side".to_owned(),
        [1, _] => format!("{first} has 1 run"),
        [_, 1] => format!("{second} has 1 run"),
        _ => "a figure is not above 0".to_owned(),
    }
}

pub(super) fn slower_or_faster(is_lower: bool) -> &'static str {
    if is_lower { "slower" } else { "faster" }
}

/// The interval of the change: `-1.2 to +2.0 %`.
pub(crate) fn format_interval(significance: &Significance) -> String {
    let ends = [significance.low, significance.high].map(format_change);
    format!("{} to {} %", ends[0], ends[1])
}

/// A ratio as a change in percent, without the percent sign: `-1.2`, `over +1,000`.
pub(crate) fn format_change(ratio: f64) -> String {
    match (ratio - 1.0) * 100.0 {
        // Changes this large usually come from the wide interval of only two runs: their digits would be
        // false precision.
        percent if percent > MAX_PERCENT => "over +1,000".to_owned(),
        // Adding 0.0 turns -0.0 into 0.0, so that the sign is `+`.
        percent => format!("{:+.1}", (percent * 10.0).round() / 10.0 + 0.0),
    }
}

/// The numbers of runs (`5 runs each`, `5 and 4 runs`, `5 pairs of runs`).
fn number_of_runs(compared: &FigureComparison, significance: &Significance) -> String {
    let [a, b] = [&compared.a, &compared.b].map(|sample| units::count(sample.values.len() as u64));
    match significance.basis {
        Basis::Pairs => format!("{a} pairs of runs"),
        _ if a == b => format!("{a} runs each"),
        _ => format!("{a} and {b} runs"),
    }
}

/// The numbers of runs, and what the interval assumes of them.
pub(super) fn describe_basis(compared: &FigureComparison, significance: &Significance) -> String {
    let runs = number_of_runs(compared, significance);
    match significance.basis {
        Basis::Ranks => runs,
        Basis::Pairs => format!("{runs}, assuming that their ratios are log-normal"),
        Basis::Normal => format!("{runs}, assuming a normal distribution"),
    }
}

/// Formats the confidence level: `95 %`, `97.5 %`, `98.3 %`.
pub(super) fn format_level(significance: &Significance) -> String {
    let text = format!("{:.1}", significance.level * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

pub(super) fn format_share(share: f64) -> String {
    match share * 100.0 {
        percent if percent > MAX_PERCENT => "over 1,000 %".to_owned(),
        _ => units::percent_with_tenths(share),
    }
}

/// A figure with its unit, unless its name includes the unit.
pub(crate) fn format_figure(unit: Unit, value: f64) -> String {
    format_of(unit)(value)
}

/// The interval of the change; `none` if it was not computed.
pub(crate) fn change_interval_text(compared: &FigureComparison) -> String {
    compared
        .significance
        .map_or("none".to_owned(), |significance| {
            format_interval(&significance)
        })
}

/// The cells of a figure behind its name: both medians, the change and its interval.
pub(crate) fn figure_cells(compared: &FigureComparison) -> [String; 4] {
    [
        format_figure(compared.unit, compared.a.median),
        format_figure(compared.unit, compared.b.median),
        ratio_as_change(compared.ratio),
        change_interval_text(compared),
    ]
}

/// The change relative to the first side.
pub(crate) fn change_text(pair: &FigurePair) -> String {
    ratio_as_change(pair.b / pair.a)
}

/// A ratio as a change: `+3.5 %`, `over +1,000 %`.
pub(crate) fn ratio_as_change(ratio: f64) -> String {
    if ratio.is_finite() { format!("{} %", format_change(ratio)) } else { "–".to_owned() }
}
