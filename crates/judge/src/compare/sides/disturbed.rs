//! Comparisons of runs that are invalid only because others used the machines.
//!
//! In: sides of which too few runs may be used otherwise. Out: those runs, as pairs if they took turns; what their
//! comparison rests on. Must never: take in a run with another fault, compare throughput of runs that did not take turns,
//! or keep a comparison whose intervals say nothing.

use super::figures::{self, FigureComparison};
use super::{
    LeftOutRepeat, Side, SideComparison, Verdict, leave_out_invalid, unusable_reason, worst_first,
};
use crate::checks::ids_of;
use crate::compare::Difference;
use crate::compare::usability::INVALID_BY;
use crate::noise::{RunNoise, is_cpu_figure, is_invalid_by_others_only};
use crate::statistics::median;
use crate::thresholds::{DISTURBED_MAX_DETECTABLE, DISTURBED_MAX_UNEQUAL_SHARE};
use prony_store::{Run, RunOrder, Severity};
use serde::Serialize;

/// Fewest runs of a side whose scatter says something.
const MIN_RUNS: usize = 2;

const WHY_USED: &str =
    "others used the machines: the figures scatter by that, which the intervals include";

/// What a comparison of runs that others disturbed rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disturbed {
    /// Number of the runs that are invalid by the work of others.
    pub invalid_runs: usize,
    /// Number of all runs that take part.
    pub runs: usize,
    /// The checks by which they are invalid.
    pub checks: Vec<String>,
    /// Whether the runs of all sides took turns, so that throughput is compared by pairs; otherwise only CPU time per
    /// transaction is compared.
    pub pairs: bool,
    /// For each side, the lowest and the highest share of the CPUs that others used or the hypervisor withheld, among its
    /// runs; `None` if that was not observed.
    pub noise: Vec<Option<[f64; 2]>>,
}

impl Disturbed {
    /// The verdict as reports print it.
    fn label(&self) -> String {
        let subject = match self.invalid_runs {
            all if all == self.runs => "RUNS INVALID".to_owned(),
            some => format!("{some} OF {} RUNS INVALID", self.runs),
        };
        let basis = if self.pairs {
            "compared by pairs that took turns, whose noise the intervals include"
        } else {
            "compared by CPU time per transaction only"
        };
        format!("{subject} ({}), {basis}", self.checks.join(", "))
    }

    /// The figures of two sides: of pairs if their runs took turns, else CPU time only, and that only if others disturbed
    /// both sides alike. Clears `pairs` if the runs did not take turns.
    pub(super) fn figures(&mut self, first: &Side<'_>, side: &Side<'_>) -> Vec<FigureComparison> {
        if let Some([first, second]) = pairs(first, side) {
            return figures::figure_comparisons(&first, &second, true);
        }
        self.pairs = false;
        if !are_equally_noisy(first, side) {
            return Vec::new();
        }
        let mut figures = figures::figure_comparisons(&first.runs, &side.runs, false);
        figures.retain(|figure| is_cpu_figure(&figure.name));
        figures
    }

    /// Labels the comparisons, and refuses those whose intervals say nothing.
    pub(super) fn label_or_refuse(
        &self,
        comparisons: &mut [SideComparison],
        primary: Option<&str>,
    ) {
        for comparison in comparisons {
            if comparison.verdict == Verdict::NotComparable {
                continue;
            }
            let mut figures = comparison.figures.iter();
            let says_something = figures.any(|figure| {
                let decides = Some(&*figure.name) == primary || is_cpu_figure(&figure.name);
                decides
                    && figure.significance.is_some_and(|significance| {
                        significance.detectable <= DISTURBED_MAX_DETECTABLE
                            || significance.low > 1.0
                            || significance.high < 1.0
                    })
            });
            if says_something {
                comparison.disturbed = Some(self.label());
                continue;
            }
            comparison.verdict = Verdict::NotComparable;
            comparison.figures.clear();
            for difference in &mut comparison.differences {
                if difference.what == INVALID_BY {
                    difference.severity = Severity::Invalid;
                    difference.why = "others used the machines, too much or not alike for the figures to say anything: let the \
                                  sides take turns in an experiment, repeat them more often, or use quieter machines";
                }
            }
            worst_first(&mut comparison.differences);
        }
    }
}

/// The runs of each side that take part, and those left out. Runs that others disturbed take part only where a side has too
/// few that they did not, and where every side then has enough; otherwise there is no [`Disturbed`].
pub(super) fn choose_runs<'a>(
    sides: &[Side<'a>],
) -> (Vec<(Side<'a>, Vec<LeftOutRepeat>)>, Option<Disturbed>) {
    let count = |side: &Side<'_>, reason: fn(&Run) -> Option<String>| {
        let runs = side.runs.iter();
        runs.filter(|run| reason(run).is_none()).count()
    };
    let is_short = |side: &Side<'_>| {
        let usable = count(side, unusable_reason);
        usable < MIN_RUNS && count(side, unusable_beside_noise) > usable
    };
    let all_have_enough = sides
        .iter()
        .all(|side| count(side, unusable_beside_noise) >= MIN_RUNS);
    if !sides.iter().any(is_short) || !all_have_enough {
        let sides = sides.iter();
        let undisturbed = sides.map(|side| leave_out_invalid(side, unusable_reason));
        return (undisturbed.collect(), None);
    }
    let chosen: Vec<_> = sides
        .iter()
        .map(|side| leave_out_invalid(side, unusable_beside_noise))
        .collect();
    let runs = || chosen.iter().flat_map(|(side, _)| &side.runs);
    let invalid = || runs().filter(|run| is_invalid_by_others_only(run));
    let ids = ids_of(invalid().copied(), Severity::Invalid);
    let disturbed = Disturbed {
        invalid_runs: invalid().count(),
        runs: runs().count(),
        checks: ids.into_iter().map(str::to_owned).collect(),
        pairs: true,
        noise: chosen.iter().map(|(side, _)| noise_of(side)).collect(),
    };
    (chosen, Some(disturbed))
}

/// Why a run must not be used, even if the noise of others is looked beyond; `None` if it may be.
fn unusable_beside_noise(run: &Run) -> Option<String> {
    unusable_reason(run).filter(|_| !is_invalid_by_others_only(run))
}

fn noise_of(side: &Side<'_>) -> Option<[f64; 2]> {
    let runs = side.runs.iter();
    let shares: Option<Vec<f64>> = runs.map(|run| RunNoise::of(run).share()).collect();
    let shares = shares?;
    let low = shares.iter().copied().reduce(f64::min)?;
    Some([low, shares.iter().copied().fold(low, f64::max)])
}

/// Whether others disturbed both sides alike: CPU time for a transaction rises with the noise, because of cold caches and
/// switches between processes.
fn are_equally_noisy(first: &Side<'_>, second: &Side<'_>) -> bool {
    let medians = [first, second].map(|side| {
        let shares = side.runs.iter().map(|run| RunNoise::of(run).share());
        Some(median(&shares.collect::<Option<Vec<f64>>>()?))
    });
    matches!(medians, [Some(a), Some(b)] if (a - b).abs() <= DISTURBED_MAX_UNEQUAL_SHARE)
}

/// The runs of two sides of which each has a partner: the run of the other side in the same repeat of an experiment whose
/// variants took turns. `None` with fewer than two pairs.
fn pairs<'a>(first: &Side<'a>, second: &Side<'a>) -> Option<[Vec<&'a Run>; 2]> {
    let mut partners = [Vec::new(), Vec::new()];
    for run in &first.runs {
        let mut others = second.runs.iter();
        let is_partner = |other: &&&Run| turn(run).is_some() && turn(other) == turn(run);
        if let Some(other) = others.find(is_partner) {
            partners[0].push(*run);
            partners[1].push(*other);
        }
    }
    (partners[0].len() >= MIN_RUNS).then_some(partners)
}

/// The experiment and the repeat of a run, if the variants of the experiment took turns.
fn turn(run: &Run) -> Option<(&str, u32)> {
    let experiment = run.experiment.as_ref()?;
    (experiment.order != RunOrder::Sequential).then_some((&*experiment.id, experiment.repeat))
}

/// Turns the difference that the runs are invalid into a caveat: they are so by others only.
pub(super) fn look_beyond_noise(differences: &mut [Difference]) {
    for difference in differences {
        if difference.what == INVALID_BY && difference.severity == Severity::Invalid {
            (difference.severity, difference.why) = (Severity::Caveat, WHY_USED);
        }
    }
}
