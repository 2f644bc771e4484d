//! Whether runs meet what a user requires of them.
//!
//! In: requirements, a Run or the answers of repeats, and the runs of a label to compare with. Out: an [`Answer`]. Must
//! never: call a requirement met or missed while its limit is inside the interval of its figure.
//!
//! What a run counts (errors, outages, lost commits, its longest time) is a fact of that run. Any other figure of one
//! run has the interval of its own conditions, from its seconds; that of three or more repeats comes from their values.

use crate::all_kinds;
use crate::compare::sides::{
    CompareOptions, FigureComparison, Side, SideComparison, SidesComparison, compare_sides,
};
use crate::compare::{MEAN_FIGURE, TPS_FIGURE, Unit, differences};
use crate::experiment::is_counted;
use crate::formatting;
use crate::growth::lost_commits;
use crate::noise::is_invalid_by_others_only;
use crate::outage::{NOT_BACK, Recovery, longest_outage_s, recovery};
use crate::percentile_intervals::{interval_of, lower_bound_of};
use crate::statistics::{self, ALPHA, series_mean, student};
use crate::steady::{judged_rows, per_second_rates};
use prony_store::{
    Answer, AnswerVerdict, Comparator, Latency, RequiredFigure, RequiredLimit, Requirement,
    RequirementResult, Run, RunState, Second, Severity, Statistic, samples_needed,
};
use std::collections::BTreeSet;

/// Least number of repeats whose values alone give an interval.
const MIN_REPEATS: usize = 3;

/// Runs of a label that count, the newest of those that can be compared: enough for a narrow interval, and of the same
/// weeks.
pub const MAX_BASELINE_RUNS: usize = 10;

/// The runs of a label, to compare with.
#[derive(Clone, Debug)]
pub struct Baseline {
    pub label: String,
    pub runs: Vec<Run>,
}

/// What a run that has not ended answers.
pub fn unanswered(requirements: &[Requirement]) -> Option<Answer> {
    let results = requirements
        .iter()
        .map(|requirement| undecided(requirement, None, "the run has not ended"));
    (!requirements.is_empty()).then(|| Answer {
        verdict: AnswerVerdict::Undecided,
        results: results.collect(),
    })
}

/// Answers what is required of a run. A comparison with a label that is not among the baselines keeps its result.
pub(crate) fn answer_run(run: &mut Run, baselines: &[Baseline]) {
    let Some(mut answer) = run.answer.take() else {
        return;
    };
    for result in &mut answer.results {
        let requirement = &result.requirement;
        let decided = match requirement.baseline() {
            None => Some(decide(requirement, run)),
            Some(label) => beside(requirement, label, &[run], baselines),
        };
        if let Some(decided) = decided {
            *result = decided;
        }
    }
    let requirements = answer.results.iter().map(|result| &result.requirement);
    let may_be_used = is_usable(run, requirements);
    answer.verdict = verdict_of(&answer.results, may_be_used);
    run.answer = Some(answer);
}

/// The answer of repeats; `None` if nothing is required. Until as many as were planned are complete, only what was counted
/// in one decides, and only against it.
pub fn answer_repeats(
    requirements: &[Requirement],
    runs: &[&Run],
    planned: usize,
    baselines: &[Baseline],
) -> Option<Answer> {
    let mut answer = answer_together(requirements, runs, baselines, |requirement, label| {
        undecided(requirement, None, format!("no run has the label {label}"))
    })?;
    let complete = runs.iter().filter(|run| run.state == RunState::Complete);
    let complete = complete.count();
    if complete < planned {
        let results = answer.results.iter_mut();
        for result in results.filter(|result| !is_missed_fact(result)) {
            result.verdict = AnswerVerdict::Undecided;
            result.reason = Some(format!("{complete} of {planned} runs were completed"));
        }
        answer.verdict = verdict_of(&answer.results, true);
    }
    Some(answer)
}

/// The answer of a compared side; `None` if nothing is required or it is not comparable. The label `A` means the first
/// side.
pub fn answer_side(
    requirements: &[Requirement],
    comparison: &SidesComparison,
    side: &SideComparison,
    runs: &[&Run],
    baselines: &[Baseline],
) -> Option<Answer> {
    if side.figures.is_empty() {
        return None;
    }
    let mut answer = answer_together(requirements, runs, baselines, |requirement, _| {
        compared(requirement, comparison, side)
    })?;
    let mut beyond = side.despite.clone();
    beyond.extend(comparison.disturbed.as_ref().map(|disturbed| {
        format!(
            "others disturbed the runs ({})",
            disturbed.checks.join(", ")
        )
    }));
    if !beyond.is_empty() {
        let passed = |result: &&mut RequirementResult| result.verdict == AnswerVerdict::Pass;
        for result in answer.results.iter_mut().filter(passed) {
            result.verdict = AnswerVerdict::Undecided;
            result.reason = Some(format!("shown despite {}", beyond.join("; ")));
        }
        answer.verdict = verdict_of(&answer.results, true).min(answer.verdict);
    }
    Some(answer)
}

/// The answer of runs of one side, those that may be used if there are such; a limit that one of the others missed by what
/// was counted is missed too. `other`: the result beside a label that is not among the baselines.
fn answer_together(
    requirements: &[Requirement],
    runs: &[&Run],
    baselines: &[Baseline],
    other: impl Fn(&Requirement, &str) -> RequirementResult,
) -> Option<Answer> {
    let usable = runs.iter().copied();
    let usable: Vec<&Run> = usable
        .filter(|run| is_usable(run, requirements.iter()))
        .collect();
    let has_usable = !usable.is_empty();
    // Without a run that may be used, all of them say why not.
    let counted = if has_usable { &*usable } else { runs };
    let results = requirements
        .iter()
        .map(|requirement| match requirement.baseline() {
            Some(label) => beside(requirement, label, counted, baselines)
                .unwrap_or_else(|| other(requirement, label)),
            None => {
                let result = |run: &&Run| {
                    given_result(requirement, run).unwrap_or_else(|| decide(requirement, run))
                };
                let missed: Vec<RequirementResult> =
                    runs.iter().map(result).filter(is_missed_fact).collect();
                if missed.is_empty() {
                    combine(requirement, &counted.iter().map(result).collect::<Vec<_>>())
                } else {
                    combine(requirement, &missed)
                }
            }
        });
    let results: Vec<RequirementResult> = results.collect();
    (!results.is_empty()).then(|| Answer {
        verdict: verdict_of(&results, has_usable),
        results,
    })
}

/// The result that a run has already; its series may no longer be in memory.
fn given_result(requirement: &Requirement, run: &Run) -> Option<RequirementResult> {
    let mut results = run.answer.as_ref()?.results.iter();
    results
        .find(|result| result.requirement == *requirement)
        .cloned()
}

/// Whether a run can meet what is required. The work of others makes an outage longer, and loses no commit: what a drill
/// requires is met in spite of it.
fn is_usable<'a>(run: &Run, requirements: impl IntoIterator<Item = &'a Requirement>) -> bool {
    use RequiredFigure::{Lost, Outage, Recovery};
    let is_of_drill =
        |requirement: &Requirement| matches!(requirement.figure, Outage | Recovery | Lost);
    is_counted(run) || (requirements.into_iter().all(is_of_drill) && is_invalid_by_others_only(run))
}

fn verdict_of(results: &[RequirementResult], may_be_used: bool) -> AnswerVerdict {
    // Worst first.
    let worst = results.iter().map(|result| result.verdict).min();
    match worst {
        Some(AnswerVerdict::Pass) if !may_be_used => AnswerVerdict::Undecided,
        worst => worst.unwrap_or_default(),
    }
}

fn undecided(
    requirement: &Requirement,
    value: Option<f64>,
    reason: impl Into<String>,
) -> RequirementResult {
    RequirementResult {
        requirement: requirement.clone(),
        verdict: AnswerVerdict::Undecided,
        value,
        interval: None,
        compared: None,
        reason: Some(reason.into()),
    }
}

/// The result of a figure that is between the ends of an interval, which are equal for a fact.
fn within(
    requirement: &Requirement,
    comparator: Comparator,
    limit: f64,
    value: f64,
    interval: Option<[f64; 2]>,
) -> RequirementResult {
    let ends = interval.unwrap_or([value, value]);
    let holds = ends.map(|end| comparator.holds(end, limit));
    let verdict = match holds {
        [true, true] => AnswerVerdict::Pass,
        [false, false] => AnswerVerdict::Fail,
        _ => AnswerVerdict::Undecided,
    };
    let is_open = verdict == AnswerVerdict::Undecided;
    RequirementResult {
        requirement: requirement.clone(),
        verdict,
        value: Some(value),
        interval,
        compared: None,
        reason: is_open.then(|| "the limit is inside the interval: measure longer".to_owned()),
    }
}

fn decide(requirement: &Requirement, run: &Run) -> RequirementResult {
    if run.state == RunState::Running {
        return undecided(requirement, None, "the run has not ended");
    }
    let is_fact = is_fact(&requirement.figure);
    let Some(limit) = requirement.limit.value() else {
        return undecided(requirement, None, NOTHING_TO_COMPARE);
    };
    let figure = figure(requirement, run);
    if let Ok((_, None)) | Err(_) = figure
        && let Some(reason) = surely_above(requirement, run, limit)
    {
        return RequirementResult {
            verdict: AnswerVerdict::Fail,
            ..undecided(requirement, figure.ok().map(|(value, _)| value), reason)
        };
    }
    let (value, interval) = match figure {
        Ok(figure) => figure,
        Err(reason) => return undecided(requirement, None, reason),
    };
    let result = within(requirement, requirement.comparator, limit, value, interval);
    // A missed limit on what was counted is a fact, however the run ended.
    match interval {
        _ if is_missed_fact(&result) => result,
        _ if run.state == RunState::Partial => {
            undecided(requirement, Some(value), "the run ended early")
        }
        _ if !is_usable(run, [requirement]) => {
            undecided(requirement, Some(value), unusable(&[run]))
        }
        None if !is_fact => undecided(requirement, Some(value), no_interval_reason(run)),
        _ => result,
    }
}

/// How far a percentile is above its limit for certain, although it has no interval; `None` if that is not certain.
fn surely_above(requirement: &Requirement, run: &Run, limit: f64) -> Option<String> {
    let RequiredFigure::Time {
        kind,
        is_server,
        statistic,
    } = &requirement.figure
    else {
        return None;
    };
    if run.state != RunState::Complete || !is_usable(run, [requirement]) {
        return None;
    }
    let times = times_of(run, kind.as_deref(), *is_server).ok()?;
    let least_ns = lower_bound_of(run, times, statistic.quantile()?)? as f64;
    (least_ns > limit).then(|| {
        let (least, count) = (
            formatting::time(least_ns),
            formatting::thousands(times.samples),
        );
        format!("but {count} transactions show with 95 % confidence that it is at least {least}")
    })
}

/// Whether a figure is counted in each run, so that it has no interval.
fn is_fact(figure: &RequiredFigure) -> bool {
    match figure {
        RequiredFigure::Errors
        | RequiredFigure::Outage
        | RequiredFigure::Recovery
        | RequiredFigure::Lost => true,
        RequiredFigure::Time { statistic, .. } => *statistic == Statistic::Max,
        RequiredFigure::Primary | RequiredFigure::Throughput | RequiredFigure::Metric(_) => false,
    }
}

/// Whether a figure that was counted misses its limit, which stays so whatever else is found.
fn is_missed_fact(result: &RequirementResult) -> bool {
    result.verdict == AnswerVerdict::Fail && is_fact(&result.requirement.figure)
}

/// Whether the value of a result without an interval meets its limit, even if it is wrong by this factor; `None` if that
/// does not follow, or if there is an interval or no value.
pub(crate) fn is_met_by_value(result: &RequirementResult, factor: f64) -> Option<bool> {
    let limit = result.requirement.limit.value()?;
    let value = result.value.filter(|_| result.interval.is_none())?;
    let comparator = result.requirement.comparator;
    let [low, high] = [value / factor, value * factor].map(|end| comparator.holds(end, limit));
    (low == high).then_some(low)
}

fn no_interval_reason(run: &Run) -> &'static str {
    if judged_rows(run).is_none() {
        "an interval needs 20 whole seconds without lost connections"
    } else {
        "the seconds of the run depend too much on each other for an interval: measure longer"
    }
}

/// A value, and the interval in which it lies.
type Figure = (f64, Option<[f64; 2]>);

/// A run's figure; the error says why there is none.
fn figure(requirement: &Requirement, run: &Run) -> Result<Figure, String> {
    let all = all_kinds(run).ok_or("nothing was measured")?;
    match &requirement.figure {
        RequiredFigure::Primary => Err(NOTHING_TO_COMPARE.to_owned()),
        RequiredFigure::Throughput => Ok((all.tps, throughput_interval(run, all.tps))),
        RequiredFigure::Metric(name) => {
            let mut rates = run.rates.iter();
            let rate = rates.find(|rate| rate.name.as_str() == name);
            let rate = rate.ok_or_else(|| format!("the workload has no {name}"))?;
            Ok((rate.value, throughput_interval(run, rate.value)))
        }
        RequiredFigure::Errors => match requirement.limit {
            RequiredLimit::Share(_) if all.ended() == 0 => Err("no transaction ended".to_owned()),
            RequiredLimit::Share(_) => Ok((all.failed as f64 / all.ended() as f64, None)),
            _ => Ok((all.failed as f64, None)),
        },
        RequiredFigure::Outage => Ok((longest_outage_s(run)? * 1e9, None)),
        RequiredFigure::Recovery => match recovery(run)? {
            Recovery::After(seconds) => Ok((seconds * 1e9, None)),
            // Beyond the limit already: what would follow decides nothing.
            Recovery::NotWithin(seconds) if requirement.limit.value() < Some(seconds * 1e9) => {
                Ok((seconds * 1e9, None))
            }
            Recovery::NotWithin(_) => Err(NOT_BACK.to_owned()),
        },
        RequiredFigure::Lost => lost_commits(run).map(|lost| (lost as f64, None)),
        RequiredFigure::Time {
            kind,
            is_server,
            statistic,
        } => time_figure(run, times_of(run, kind.as_deref(), *is_server)?, *statistic),
    }
}

/// The response or server times of a kind, or of all; the error says why there are none.
fn times_of<'a>(run: &'a Run, kind: Option<&str>, is_server: bool) -> Result<&'a Latency, String> {
    let figures = match kind {
        None => all_kinds(run).ok_or("nothing was measured")?,
        Some(name) => {
            let mut kinds = run.measured.kinds.iter();
            let found = kinds.find(|figures| figures.kind.as_deref() == Some(name));
            found.ok_or_else(|| format!("the workload has no transaction {name}"))?
        }
    };
    if !is_server {
        return Ok(&figures.response);
    }
    let parts = figures.parts.as_ref();
    let parts = parts.ok_or("the server's part of the time is not known")?;
    Ok(&parts.server)
}

/// Per second or per minute; the variation is that of the throughput.
fn throughput_interval(run: &Run, value: f64) -> Option<[f64; 2]> {
    let rates = per_second_rates(run, |second| second.committed)?;
    scaled_mean_interval(&rates, value)
}

/// The interval of the mean of a run's seconds, scaled to a value that means the same.
fn scaled_mean_interval(seconds: &[f64], value: f64) -> Option<[f64; 2]> {
    let mean = series_mean(seconds)?;
    let half = student::quantile(1.0 - ALPHA / 2.0, mean.dof) * mean.variance.sqrt() / mean.mean;
    half.is_finite()
        .then_some([value * (1.0 - half).max(0.0), value * (1.0 + half)])
}

fn time_figure(run: &Run, times: &Latency, statistic: Statistic) -> Result<Figure, String> {
    if times.samples == 0 {
        return Err("no transaction committed".to_owned());
    }
    let percentile = |ns: Option<u64>| {
        let quantile = statistic.quantile().unwrap_or_default();
        let ns = ns.ok_or_else(|| {
            let needed = samples_needed(quantile);
            format!(
                "{} needs {needed} transactions, and there are {}",
                statistic.name(),
                times.samples
            )
        })?;
        if ns == 0 {
            return Err(format!("{} is 0", statistic.name()));
        }
        let interval = interval_of(run, times, quantile);
        // The value is of the same histogram; rounding must not put it outside.
        let interval = interval.map(|[low, high]| [low.min(ns) as f64, high.max(ns) as f64]);
        Ok((ns as f64, interval))
    };
    match statistic {
        Statistic::Mean => {
            let rows = judged_rows(run).unwrap_or_default();
            let means: Vec<f64> = rows
                .into_iter()
                .map(|second: &Second| second.mean_ns)
                .collect();
            Ok((times.mean_ns, scaled_mean_interval(&means, times.mean_ns)))
        }
        Statistic::Max => Ok((times.max_ns as f64, None)),
        Statistic::P50 => percentile(times.p50_ns),
        Statistic::P90 => percentile(times.p90_ns),
        Statistic::P95 => percentile(times.p95_ns),
        Statistic::P99 => percentile(times.p99_ns),
        Statistic::P999 => percentile(times.p999_ns),
    }
}

/// The result of repeats from those of each.
fn combine(requirement: &Requirement, results: &[RequirementResult]) -> RequirementResult {
    let values: Vec<f64> = results.iter().filter_map(|result| result.value).collect();
    // What is counted has upper limits: of runs with the same verdict, the highest is the worst.
    let worst = results.iter().min_by(|a, b| {
        let by_value = b.value.unwrap_or(0.0).total_cmp(&a.value.unwrap_or(0.0));
        a.verdict.cmp(&b.verdict).then(by_value)
    });
    let Some(worst) = worst else {
        return undecided(requirement, None, "there is no run");
    };
    let Some(limit) = requirement.limit.value() else {
        return worst.clone();
    };
    // The worst run decides what was counted, and has the reason why a figure is absent.
    if is_fact(&requirement.figure) || results.len() == 1 {
        return worst.clone();
    }
    let all_fail = (results.iter()).all(|result| result.verdict == AnswerVerdict::Fail);
    if values.len() < results.len() {
        // One of several may miss a limit by chance, however certain it is by itself.
        let verdict = match worst.verdict {
            AnswerVerdict::Fail if !all_fail => AnswerVerdict::Undecided,
            verdict => verdict,
        };
        return RequirementResult {
            verdict,
            ..worst.clone()
        };
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let interval = if values.len() < MIN_REPEATS {
        // Two repeats scatter by chance, and each has an interval of its own: both must be on one side of the limit.
        let intervals = results.iter().map(|result| result.interval);
        let hull = intervals.reduce(|a, b| {
            let ([a_low, a_high], [b_low, b_high]) = (a?, b?);
            Some([a_low.min(b_low), a_high.max(b_high)])
        });
        hull.flatten()
    } else {
        statistics::mean_interval(&values)
    };
    let Some(interval) = interval else {
        // Each of them is certain by itself.
        if values.len() < MIN_REPEATS && all_fail {
            return worst.clone();
        }
        let reason = format!(
            "{} repeats give no interval: repeat it {MIN_REPEATS} times, or measure longer",
            values.len()
        );
        return undecided(requirement, Some(mean), reason);
    };
    within(
        requirement,
        requirement.comparator,
        limit,
        mean,
        Some(interval),
    )
}

/// The result of runs beside those of a label; `None` if the label is not among the baselines.
fn beside(
    requirement: &Requirement,
    label: &str,
    runs: &[&Run],
    baselines: &[Baseline],
) -> Option<RequirementResult> {
    let baseline = baselines.iter().find(|baseline| baseline.label == label)?;
    Some(compare_with(requirement, runs, baseline))
}

fn compare_with(
    requirement: &Requirement,
    runs: &[&Run],
    baseline: &Baseline,
) -> RequirementResult {
    let side = |runs: Vec<_>| Side {
        name: String::new(),
        runs,
    };
    if !runs.iter().any(|run| is_counted(run)) {
        return undecided(requirement, None, unusable(runs));
    }
    // A label may have runs of other settings and machines.
    let alike = baseline.runs.iter().filter(|run| {
        let differences = runs.iter().flat_map(|own| differences(run, own));
        !differences
            .into_iter()
            .any(|difference| difference.severity == Severity::Invalid)
    });
    let mut alike: Vec<&Run> = alike.collect();
    // Ids begin with the time.
    alike.sort_by(|a, b| b.id.cmp(&a.id));
    alike.truncate(MAX_BASELINE_RUNS);
    let sides = [side(alike), side(runs.to_vec())];
    if sides[0].runs.is_empty() {
        let label = &baseline.label;
        let reason =
            format!("no run of {label} can be compared with it: see prony runs --label {label}");
        return undecided(requirement, None, reason);
    }
    let comparison = compare_sides(&sides, &CompareOptions::default());
    match &comparison.side_comparisons[..] {
        [side] => compared(requirement, &comparison, side),
        _ => undecided(requirement, None, NOTHING_TO_COMPARE),
    }
}

/// That the figures of these runs must not be used, and by which checks.
fn unusable(runs: &[&Run]) -> String {
    let checks = runs.iter().flat_map(|run| &run.checks);
    let invalid = checks.filter(|check| check.severity == Severity::Invalid);
    let ids: BTreeSet<&str> = invalid.map(|check| &*check.id).collect();
    let ids: Vec<&str> = ids.into_iter().collect();
    let text = "the run's figures must not be used";
    match &*ids.join(", ") {
        "" => text.to_owned(),
        ids => format!("{text} ({ids})"),
    }
}

const NOTHING_TO_COMPARE: &str = "there is nothing to compare with";

/// The result of a side beside the first.
fn compared(
    requirement: &Requirement,
    comparison: &SidesComparison,
    side: &SideComparison,
) -> RequirementResult {
    let RequiredLimit::Of { share, label } = &requirement.limit else {
        return undecided(requirement, None, NOTHING_TO_COMPARE);
    };
    let found: Option<&FigureComparison> = match &requirement.figure {
        RequiredFigure::Primary => comparison.primary_figure(side),
        figure => match name_in_comparisons(figure) {
            Some(name) => side.figures.iter().find(|compared| compared.name == name),
            None => return undecided(requirement, None, format!("comparisons have no {figure}")),
        },
    };
    let Some(found) = found else {
        let reason = if side.figures.is_empty() {
            format!("it cannot be compared with {label}")
        } else {
            "the sides have no such figure".to_owned()
        };
        return undecided(requirement, None, reason);
    };
    let undecided = |reason| RequirementResult {
        compared: Some(found.name.clone()),
        ..undecided(requirement, Some(found.ratio), reason)
    };
    let Some(significance) = found.significance else {
        return undecided("a side has 1 run, which says nothing about other runs: repeat both");
    };
    let (comparator, limit) = match (&requirement.figure, found.unit) {
        // Slower by 3 % is a time longer by 3 %.
        (RequiredFigure::Primary, Unit::Nanoseconds) => (Comparator::AtMost, 2.0 - share),
        _ => (requirement.comparator, *share),
    };
    let interval = Some([significance.low, significance.high]);
    let result = within(requirement, comparator, limit, found.ratio, interval);
    let is_primary = requirement.figure == RequiredFigure::Primary;
    if result.verdict == AnswerVerdict::Pass
        && is_primary
        && found.unit == Unit::Rate
        && comparison.is_rate_given()
    {
        return undecided("at a rate, the throughput is that of the load");
    }
    let fewest = found.a.values.len().min(found.b.values.len());
    if result.verdict == AnswerVerdict::Pass && fewest < MIN_REPEATS {
        return undecided("a side has 2 runs, and an interval needs 3: repeat both");
    }
    RequirementResult {
        compared: Some(found.name.clone()),
        ..result
    }
}

/// A figure's name in comparisons; `None` if these do not have it.
fn name_in_comparisons(figure: &RequiredFigure) -> Option<String> {
    match figure {
        RequiredFigure::Throughput => Some(TPS_FIGURE.to_owned()),
        RequiredFigure::Metric(name) => Some(name.clone()),
        RequiredFigure::Time {
            kind: None,
            is_server: false,
            statistic,
        } => match statistic {
            Statistic::Mean => Some(MEAN_FIGURE.to_owned()),
            Statistic::P90 | Statistic::Max => None,
            Statistic::P50 | Statistic::P95 | Statistic::P99 | Statistic::P999 => {
                Some(statistic.name().to_owned())
            }
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests;
