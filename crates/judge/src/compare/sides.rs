//! Compares repeated runs of several sides with the first side.
//!
//! In: two or more sides, each of one or more finished Runs. Out: [`SidesComparison`]: the differences, the
//! verdict, and the ratio of every figure with the part that chance explains. Must never: let the best of
//! several runs represent them, compute a ratio if two sides are not comparable, or use the variation within
//! one run as the variation between runs.

use super::usability::FINDINGS;
use super::{
    Difference, NO_CHECKS, Verdict, check_ids, comparison_key, despite,
    differences_allowing_intended, property_differences, worst_first,
};
use crate::formatting::join_values;
use crate::noise::is_cpu_figure;
use crate::{all_kinds, distinct, is_too_short_for_steadiness, statistics};
use prony_store::{Run, RunState, Severity};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};

mod disturbed;
mod evidence;
mod figures;
mod repeat_caveats;

pub use disturbed::Disturbed;
pub use figures::{
    Basis, FigureComparison, FigureSample, RunsNeeded, Significance, typical_runs_needed,
};

#[derive(Clone, Debug)]
pub struct Side<'a> {
    /// The variant, as the experiment names it; empty if unknown.
    pub name: String,
    /// The runs of the side, at least one.
    pub runs: Vec<&'a Run>,
}

/// A comparison of several sides with the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SidesComparison {
    /// The worst verdict of all sides.
    pub verdict: Verdict,
    pub caveats: usize,
    /// Whether a side's load had a rate, so that response times differ rather than throughput.
    pub paced: bool,
    /// Name of the figure that is tested, at 5 %; the others are given without a verdict. Absent if no side
    /// has figures.
    pub primary: Option<String>,
    /// Whether it is the one that the options name.
    #[serde(skip)]
    is_primary_requested: bool,
    /// What the comparison rests on, if runs that others disturbed take part in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<Disturbed>,
    pub sides: Vec<SideSummary>,
    /// Each side except the first, compared with the first.
    pub side_comparisons: Vec<SideComparison>,
}

/// The runs of a side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SideSummary {
    /// `A`, `B` and so on.
    pub letter: char,
    /// What it is called: its variant if all sides have different ones, otherwise the letter.
    pub label: String,
    /// The variant; empty if unknown.
    pub name: String,
    /// Ids of its runs, without those left out.
    pub runs: Vec<String>,
    /// Ids of those whose window is too short to judge steadiness.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub too_short: Vec<String>,
    /// Repeats that must not be used; empty if none of the side's runs may be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutRepeat>,
    /// Why its own runs are not repeats of each other; empty if they are.
    pub repeat_differences: Vec<Difference>,
}

/// A repeat that a comparison leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOutRepeat {
    /// The id of the run.
    pub run: String,
    /// The position of the run in the experiment, or on the side, from 1.
    pub position: usize,
    /// Why the run must not be used: the ids of checks, or text.
    pub reason: String,
}

/// One side compared with the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideComparison {
    /// The letter of the side.
    pub letter: char,
    /// What the first side and this one are called.
    pub labels: [String; 2],
    /// Whether the two sides are comparable, which requires that the runs of each side are repeats.
    pub verdict: Verdict,
    /// Differences between the first side and this one, the worst first.
    pub differences: Vec<Difference>,
    /// What forbids the comparison and was looked beyond, because the options say so; no requirement passes then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub despite: Vec<String>,
    /// The figures; empty if the two sides are not comparable.
    pub figures: Vec<FigureComparison>,
    /// The verdict if runs that others disturbed are compared; its parts are in [`SidesComparison::disturbed`].
    #[serde(skip)]
    disturbed: Option<String>,
}

impl SidesComparison {
    /// Whether the throughput is that of the load and says nothing of the server: at a rate, unless the user
    /// asked for it.
    pub fn is_rate_given(&self) -> bool {
        self.paced && !self.is_primary_requested
    }

    /// Whether a figure is tested that is neither the one of this name, nor one that the request `cpu` or `throughput`
    /// means.
    pub fn tests_another_than(&self, name: &str) -> bool {
        let primary = self.primary.as_deref();
        primary.is_some_and(|primary| !figures::figures_of_request(name).contains(&primary))
    }

    /// The verdict as reports print it.
    pub fn label(&self) -> String {
        let mut sides = self.side_comparisons.iter();
        let mut disturbed = sides.clone().filter_map(|side| side.disturbed.clone());
        if let (Some(label), Verdict::WithCaveats) = (disturbed.next(), self.verdict) {
            return label;
        }
        match (self.verdict, self.caveats) {
            (Verdict::ShownDespite, _) => sides
                .find_map(SideComparison::despite_label)
                .unwrap_or_default(),
            (Verdict::WithCaveats, 1) => "COMPARABLE, WITH 1 CAVEAT".to_owned(),
            (Verdict::WithCaveats, count) => format!("COMPARABLE, WITH {count} CAVEATS"),
            (verdict, _) => verdict.label().to_owned(),
        }
    }

    /// The headline figures: the primary one, then the 99th percentile if the primary one is a throughput, or the
    /// throughput if not. If others disturbed the runs, CPU time per transaction, which they change least, is the second.
    pub fn headline_figures<'a>(&self, side: &'a SideComparison) -> Vec<&'a FigureComparison> {
        let mut headline = figures::headline_figures(&side.figures, self.primary.as_deref());
        if self.disturbed.is_some() && !headline.iter().any(|figure| is_cpu_figure(&figure.name)) {
            let mut others = side.figures.iter();
            let cpu = others.find(|figure| is_cpu_figure(&figure.name));
            let second = headline.len().min(1);
            headline.splice(second..second, cpu);
        }
        headline
    }

    /// The figure that decides whether a side differs from the first.
    pub fn primary_figure<'a>(&self, side: &'a SideComparison) -> Option<&'a FigureComparison> {
        let name = self.primary.as_ref()?;
        side.figures.iter().find(|figure| figure.name == *name)
    }
}

impl SideComparison {
    /// The verdict as reports print it.
    pub fn label(&self) -> String {
        let despite = self.despite_label().or_else(|| self.disturbed.clone());
        despite.unwrap_or_else(|| self.verdict.label().to_owned())
    }

    fn despite_label(&self) -> Option<String> {
        let reasons = self.despite.join("; ");
        (!reasons.is_empty()).then(|| format!("NOT COMPARABLE, shown despite {reasons}"))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompareOptions {
    /// Name of the primary figure instead of the usual one; without effect if a side lacks it.
    pub primary: Option<String>,
    /// Compare two engines of the same workload, such as PostgreSQL and MySQL.
    pub across_engines: bool,
    /// Names of differences to look beyond: some of [`ALLOWED_DESPITE`](super::ALLOWED_DESPITE).
    pub despite: Vec<String>,
}

pub fn compare_sides(sides: &[Side<'_>], options: &CompareOptions) -> SidesComparison {
    let (usable_sides, mut disturbed) = disturbed::choose_runs(sides);
    let has_names = have_different_names(sides);
    let summaries: Vec<SideSummary> = ('A'..)
        .zip(&usable_sides)
        .map(|(letter, side)| summarize(letter, has_names, side))
        .collect();
    let sides: Vec<Side<'_>> = usable_sides.into_iter().map(|(side, _)| side).collect();

    let all_runs = || sides.iter().flat_map(|side| &side.runs);
    let paced = all_runs().any(|run| run.drive.rate_tps.is_some());
    let others = sides.iter().skip(1);
    let figures: Vec<Vec<FigureComparison>> = others
        .map(|side| match &mut disturbed {
            Some(disturbed) => disturbed.figures(&sides[0], side),
            None => figures::figure_comparisons(&sides[0].runs, &side.runs, false),
        })
        .collect();
    let primary = figures::primary_name(&figures, paced, options.primary.as_deref());
    let is_disturbed = disturbed.is_some();
    let mut comparisons = compare_to_first(
        &sides,
        options,
        &summaries,
        figures,
        primary.as_deref(),
        is_disturbed,
    );
    figures::decide_significance(&mut comparisons, primary.as_deref(), statistics::ALPHA);
    if let Some(disturbed) = &disturbed {
        disturbed.label_or_refuse(&mut comparisons, primary.as_deref());
    }
    let worst_verdict = comparisons
        .iter()
        .map(|comparison| comparison.verdict)
        .max();
    SidesComparison {
        verdict: worst_verdict.unwrap_or(Verdict::NotComparable),
        caveats: count_caveats(&comparisons),
        paced,
        is_primary_requested: primary.as_deref().is_some_and(|primary| {
            let requested = options.primary.as_deref();
            requested.is_some_and(|name| figures::figures_of_request(name).contains(&primary))
        }),
        primary,
        disturbed,
        sides: summaries,
        side_comparisons: comparisons,
    }
}

/// Each side except the first with its differences and its figures, which are not tested yet.
fn compare_to_first(
    sides: &[Side<'_>],
    options: &CompareOptions,
    summaries: &[SideSummary],
    figures: Vec<Vec<FigureComparison>>,
    primary: Option<&str>,
    is_disturbed: bool,
) -> Vec<SideComparison> {
    let Some((first, others)) = sides.split_first() else {
        return Vec::new();
    };
    let missing_runs_caveat = repeat_caveats::missing_runs_caveat(sides);
    let is_mixed = |side: usize| !summaries[side].repeat_differences.is_empty();
    let indexed = (1..).zip(others).zip(figures);
    indexed
        .map(|((index, side), mut figures)| {
            let headline_figures = figures::headline_figures(&figures, primary);
            let mut differences =
                merged_differences(&first.runs, &side.runs, options.across_engines);
            if is_disturbed {
                disturbed::look_beyond_noise(&mut differences);
            }
            let mut despite = despite::look_beyond(&mut differences, &options.despite);
            differences.extend(repeat_caveats::repeat_caveats(
                first,
                side,
                headline_figures.first().copied(),
            ));
            differences.extend(missing_runs_caveat.clone());
            worst_first(&mut differences);
            // A side whose runs are not repeats of each other has no figure.
            let mut verdict = if is_mixed(0) || is_mixed(index) {
                Verdict::NotComparable
            } else {
                Verdict::from_differences(&differences)
            };
            if verdict == Verdict::NotComparable {
                figures.clear();
                despite.clear();
            } else if !despite.is_empty() {
                verdict = Verdict::ShownDespite;
            }
            SideComparison {
                letter: summaries[index].letter,
                labels: [0, index].map(|side| summaries[side].label.clone()),
                verdict,
                despite,
                differences,
                figures,
                disturbed: None,
            }
        })
        .collect()
}

/// Leaves out repeats that must not be used, for the reason that `unusable` gives. If no run of the side may be used, all
/// remain, so that the comparison says why they cannot be compared.
fn leave_out_invalid<'a>(
    side: &Side<'a>,
    unusable: fn(&Run) -> Option<String>,
) -> (Side<'a>, Vec<LeftOutRepeat>) {
    let (mut runs, mut left_out) = (Vec::new(), Vec::new());
    for (index, run) in side.runs.iter().enumerate() {
        match unusable(run) {
            None => runs.push(*run),
            Some(reason) => left_out.push(LeftOutRepeat {
                run: run.id.clone(),
                position: (run.experiment.as_ref())
                    .map_or(index + 1, |experiment| experiment.position as usize),
                reason,
            }),
        }
    }
    if runs.is_empty() {
        return (side.clone(), Vec::new());
    }
    let name = side.name.clone();
    (Side { name, runs }, left_out)
}

/// Why a run must not be used; `None` if it may be.
fn unusable_reason(run: &Run) -> Option<String> {
    let invalid_ids = check_ids(&run.checks, Severity::Invalid);
    let has_figures = all_kinds(run).is_some_and(|kind| kind.committed > 0);
    if run.state == RunState::Running {
        Some("still in progress".to_owned())
    } else if invalid_ids != NO_CHECKS {
        Some(invalid_ids)
    } else if !has_figures {
        Some("nothing committed".to_owned())
    } else {
        None
    }
}

/// Whether each side has a variant of its own.
fn have_different_names(sides: &[Side<'_>]) -> bool {
    let names: BTreeSet<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    names.len() == sides.len() && !names.contains("")
}

/// Describes the runs of a side. `has_name`: the side is called by its variant, otherwise by its letter.
fn summarize(
    letter: char,
    has_name: bool,
    (side, left_out): &(Side<'_>, Vec<LeftOutRepeat>),
) -> SideSummary {
    let mut repeat_differences = into_differences(pairwise_differences(&side.runs));
    repeat_differences.retain(|difference| difference.severity == Severity::Invalid);
    // Runs that must not be used say only that.
    if side.runs.iter().all(|run| unusable_reason(run).is_some()) {
        repeat_differences.clear();
    }
    let id = |run: &&Run| run.id.clone();
    let too_short = side
        .runs
        .iter()
        .filter(|run| is_too_short_for_steadiness(run));
    SideSummary {
        letter,
        label: if has_name { side.name.clone() } else { letter.to_string() },
        name: side.name.clone(),
        runs: side.runs.iter().map(id).collect(),
        too_short: too_short.map(id).collect(),
        left_out: left_out.clone(),
        repeat_differences,
    }
}

/// Number of caveats; a caveat on several sides counts once.
fn count_caveats(side_comparisons: &[SideComparison]) -> usize {
    let side_comparisons = side_comparisons.iter();
    let differences = side_comparisons.flat_map(|comparison| &comparison.differences);
    let caveats = differences.filter(|difference| difference.severity == Severity::Caveat);
    let names = caveats.map(|difference| difference.what.as_str());
    let names: BTreeSet<&str> = names.collect();
    names.len()
}

/// The differences of all pairs of a run of one side and a run of the other, merged by property.
fn merged_differences(first: &[&Run], second: &[&Run], across_engines: bool) -> Vec<Difference> {
    let (first, second) = (group_by_key(first), group_by_key(second));
    let mut merged = MergedDifferences::default();
    for a in &first {
        for b in &second {
            add_differences(
                &mut merged,
                differences_allowing_intended(a[0], b[0], across_engines),
            );
        }
    }
    into_differences(merged)
}

/// A difference between runs that should be repeats of each other.
pub(crate) struct RepeatDifference {
    pub severity: Severity,
    pub what: String,
    /// The distinct values; a single value if all runs have the same problem.
    pub values: Vec<String>,
}

/// The differences between runs that should be repeats of each other, the worst first.
pub(crate) fn repeat_differences(runs: &[&Run]) -> Vec<RepeatDifference> {
    let mut merged = pairwise_differences(runs).entries;
    merged.sort_by_key(|entry| std::cmp::Reverse(entry.difference.severity));
    let repeats = merged.into_iter().map(|entry| RepeatDifference {
        severity: entry.difference.severity,
        what: entry.difference.what,
        values: distinct(entry.values_a.into_iter().chain(entry.values_b)),
    });
    repeats.collect()
}

/// The differences of all pairs of runs of one side, merged by property. That a run must not be used is no difference
/// between runs.
fn pairwise_differences(runs: &[&Run]) -> MergedDifferences {
    let groups = group_by_key(runs);
    let mut merged = MergedDifferences::default();
    for (index, group) in groups.iter().enumerate() {
        for other_group in &groups[index + 1..] {
            add_differences(&mut merged, property_differences(group[0], other_group[0]));
        }
    }
    merged
}

/// Groups runs by their comparison key. Only one run of each group is compared, because hundreds of repeats
/// would make tens of thousands of pairs.
fn group_by_key<'a>(runs: &[&'a Run]) -> Vec<Vec<&'a Run>> {
    let mut indexes: HashMap<Vec<String>, usize> = HashMap::new();
    let mut groups: Vec<Vec<&Run>> = Vec::new();
    for run in runs {
        let index = *indexes.entry(comparison_key(run)).or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}

/// A difference of several pairs of runs: the worst severity, and all values that the runs of either side have.
struct MergedDifference {
    difference: Difference,
    values_a: Vec<String>,
    values_b: Vec<String>,
}

#[derive(Default)]
struct MergedDifferences {
    entries: Vec<MergedDifference>,
    /// Index in `entries` by name, because hundreds of differences are looked up for tens of thousands of
    /// pairs.
    indexes: HashMap<String, usize>,
}

fn add_differences(merged: &mut MergedDifferences, differences: Vec<Difference>) {
    for difference in differences {
        let add_value = |values: &mut Vec<String>, value: String| {
            if !values.contains(&value) {
                values.push(value);
            }
        };
        let entries = &mut merged.entries;
        let index = match merged.indexes.get(&difference.what) {
            Some(index) => *index,
            None => {
                let index = entries.len();
                merged.indexes.insert(difference.what.clone(), index);
                entries.push(MergedDifference {
                    difference: difference.clone(),
                    values_a: Vec::new(),
                    values_b: Vec::new(),
                });
                index
            }
        };
        let entry = &mut entries[index];
        let worst = &mut entry.difference;
        if difference.severity > worst.severity {
            (worst.severity, worst.why) = (difference.severity, difference.why);
        }
        add_value(&mut entry.values_a, difference.a);
        add_value(&mut entry.values_b, difference.b);
    }
}

fn into_differences(merged: MergedDifferences) -> Vec<Difference> {
    let have_same = |values_a: &[String], values_b: &[String]| {
        values_a.len() == values_b.len() && values_a.iter().all(|value| values_b.contains(value))
    };
    let joined = merged
        .entries
        .into_iter()
        // What runs of both sides have is no difference between the sides.
        .filter(|entry| {
            entry.difference.what != FINDINGS || !have_same(&entry.values_a, &entry.values_b)
        })
        .map(|entry| Difference {
            a: join_values(&entry.values_a),
            b: join_values(&entry.values_b),
            ..entry.difference
        });
    let mut differences: Vec<Difference> = joined.collect();
    worst_first(&mut differences);
    differences
}

#[cfg(test)]
mod tests;
