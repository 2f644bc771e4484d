//! Whether runs meet what a user requires of them.
//!
//! In: requirements, a Run or the answers of repeats, and the runs of a label to compare with. Out: an [`Answer`]. Must
//! never: call a requirement met or missed while its limit is inside the interval of its figure.
//!
//! What a run counts (errors, outages, lost commits, its longest time) is a fact of that run. Any other figure of one
//! run has the interval of its own conditions, from its seconds; that of three or more repeats comes from their values.

mod figure;
mod relative;

use crate::checks::ids_of;
use crate::compare::sides::{SideComparison, SidesComparison};
use crate::experiment::is_counted;
use crate::formatting::joined;
use crate::noise::is_invalid_by_others_only;
use crate::statistics;
use figure::{figure, no_interval_reason, surely_above};
use prony_store::{
    Answer, AnswerVerdict, Comparator, RequiredFigure, Requirement, RequirementResult, Run,
    RunState, Severity, Statistic,
};
use relative::{NOTHING_TO_COMPARE, against_first_side, against_label};

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

/// What a run that has not ended answers; `None` if nothing is required.
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
            Some(label) => against_label(requirement, label, &[run], baselines),
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
    let is_complete = |run: &&&Run| run.state == RunState::Complete;
    let complete = runs.iter().filter(is_complete).count();
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
        against_first_side(requirement, comparison, side)
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
    let is_usable = |run: &&Run| is_usable(run, requirements.iter());
    let usable: Vec<&Run> = runs.iter().copied().filter(is_usable).collect();
    let has_usable = !usable.is_empty();
    // Without a run that may be used, all of them say why not.
    let counted = if has_usable { &*usable } else { runs };
    let requirements = requirements.iter();
    let results = requirements.map(|requirement| match requirement.baseline() {
        Some(label) => against_label(requirement, label, counted, baselines)
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

/// The worst verdict of the results; figures that must not be used meet nothing.
fn verdict_of(results: &[RequirementResult], may_be_used: bool) -> AnswerVerdict {
    // Verdicts are ordered from the worst to the best.
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

/// The result of one run by its own figure.
fn decide(requirement: &Requirement, run: &Run) -> RequirementResult {
    if run.state == RunState::Running {
        return undecided(requirement, None, "the run has not ended");
    }
    let Some(limit) = requirement.limit.value() else {
        return undecided(requirement, None, NOTHING_TO_COMPARE);
    };
    let figure = figure(requirement, run);
    let has_interval = matches!(figure, Ok((_, Some(_))));
    if !has_interval && let Some(reason) = surely_above(requirement, run, limit) {
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
    if is_missed_fact(&result) {
        result
    } else if run.state == RunState::Partial {
        undecided(requirement, Some(value), "the run ended early")
    } else if !is_usable(run, [requirement]) {
        undecided(requirement, Some(value), unusable(&[run]))
    } else if interval.is_none() && !is_fact(&requirement.figure) {
        undecided(requirement, Some(value), no_interval_reason(run))
    } else {
        result
    }
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

/// That the figures of these runs must not be used, and by which checks.
fn unusable(runs: &[&Run]) -> String {
    let ids = ids_of(runs.iter().copied(), Severity::Invalid);
    let text = "the run's figures must not be used";
    if ids.is_empty() { text.to_owned() } else { format!("{text} ({})", joined(ids, ", ")) }
}

#[cfg(test)]
mod tests;
