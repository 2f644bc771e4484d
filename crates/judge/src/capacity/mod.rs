//! How much a server can take while it meets what is required, and what is the limit there.
//!
//! In: the runs at several rates (steps), and the requirements. Out: a verdict for each step, and the answer with the
//! limit. Must never: answer from a run whose figures must not be used without saying so.
//!
//! A step fails if the load fell behind its rate, or if a figure with its whole interval misses a limit. A step that is
//! too short for an interval is decided by the figure alone, and says so; a longer one without an interval, because some of
//! its seconds have no transactions, only by a figure that is far from the limit.

mod clients;
mod search;

pub use clients::{ClientsResult, ClientsSearch, ClientsStep, max_clients};
pub use search::{Capacity, CapacityState, NextStep, RateVerdict, Search};

use crate::compare::property_differences;
use crate::limiter::{LimiterFinding, first_known, limiter};
use crate::observations::server_machine_mean;
use crate::requirements::{answer_repeats, is_met_by_value};
use crate::thresholds::STEADY_MIN_SECONDS;
use crate::{all_kinds, client};
use prony_store::{
    Answer, AnswerVerdict, RequiredFigure, RequiredLimit, Requirement, RequirementResult, Run,
    RunState, Severity,
};
use serde::Serialize;
use std::borrow::Borrow;

/// How precise an answer is unless somebody asks for more or less: plus or minus this share.
pub const DEFAULT_PRECISION: f64 = 0.02;
/// Checks by which the load fell behind its rate.
const BEHIND_CHECKS: [&str; 2] = ["rate", "never-started"];
/// A figure without an interval is far from its limit if it is more than this factor above or below it.
const CLEAR_FACTOR: f64 = 1.25;
/// The setting that a search over rates varies.
pub const OVER_RATE: &str = "rate";
/// The compared property in which runs at two rates differ.
const PACE: &str = "pace";
/// The setting that a search over clients varies, and the compared property in which its runs differ.
pub const OVER_CLIENTS: &str = "clients";
const CLIENT_CHECK: &str = "client-limit";

/// A step of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CapacityStep {
    /// Id of its run.
    pub run: String,
    /// The rate that was asked for, transactions per second.
    pub rate: f64,
    /// The length of its window, seconds.
    pub length_s: f64,
    /// Committed transactions per second.
    pub achieved: Option<f64>,
    /// Median response time of committed transactions, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile of it, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Mean time from a reply's arrival until the client noticed it, nanoseconds; absent if it is not known.
    pub client_wait_ns: Option<f64>,
    /// Busy share of the CPUs of the server's machine, 0 to 1; absent if it was not observed.
    pub server_cpu_share: Option<f64>,
    pub verdict: AnswerVerdict,
    /// The highest of the required times as a share of its limit; absent if the load fell behind.
    pub share_of_limit: Option<f64>,
    /// Whether the transactions kept up with the rate.
    pub keeps_up: bool,
    /// Whether the verdict rests on intervals, not on figures alone.
    pub is_certain: bool,
    pub is_client_limit: bool,
    /// Ids of other checks by which its figures must not be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invalid_by: Vec<String>,
    /// What its figures say to the requirements, by themselves.
    pub answer: Option<Answer>,
}

/// The answer of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CapacityResult {
    /// Id of the experiment whose runs are the steps.
    pub experiment: String,
    pub workload: String,
    pub requirements: Vec<Requirement>,
    pub capacity: Capacity,
    /// Whether the search ended before it was done, as by a signal.
    pub is_unfinished: bool,
    /// What is the limit; absent if no rate failed.
    pub limiter: Option<LimiterFinding>,
    /// The steps in their order.
    pub steps: Vec<CapacityStep>,
}

/// Why a requirement says nothing about a highest rate; `None` if it does.
pub fn refusal(requirement: &Requirement) -> Option<&'static str> {
    if let RequiredLimit::Of { .. } = requirement.limit {
        return Some("find needs a limit of its own, not a share of other runs, such as p99<20ms");
    }
    match requirement.figure {
        RequiredFigure::Primary | RequiredFigure::Throughput | RequiredFigure::Metric(_) => {
            Some("find varies the rate itself: require times, errors or outages, such as p99<20ms")
        }
        _ => None,
    }
}

/// Why two runs are no steps of one search over the rate or the clients: what else they differ in, and its two values.
pub fn difference(a: &Run, b: &Run, over: &str) -> Option<(String, [String; 2])> {
    let varied = if over == OVER_RATE { PACE } else { over };
    let mut differences = property_differences(a, b).into_iter();
    let found =
        differences.find(|found| found.severity == Severity::Invalid && found.what != varied)?;
    Some((found.what, [found.a, found.b]))
}

/// Whether a run can be a step of a search over the rate or the clients: nothing else distinguishes it from the others.
pub fn is_step(run: &Run, over: &str) -> bool {
    let names = run.point().iter().map(|setting| &*setting.name);
    names.eq([over]) && run.drive.rate_tps.is_some() == (over == OVER_RATE)
}

/// Judges a run at a rate. The run must have its seconds.
pub fn judge_step(run: &Run, requirements: &[Requirement]) -> CapacityStep {
    // Figures that must not be used still have a verdict; `invalid_by` says so beside it.
    let by_itself = Run {
        checks: Vec::new(),
        answer: None,
        ..run.clone()
    };
    let answer = answer_repeats(requirements, &[&by_itself], 0, &[]);
    let is_behind = run
        .checks
        .iter()
        .any(|check| BEHIND_CHECKS.contains(&&*check.id) && check.severity >= Severity::Caveat);
    let all = all_kinds(run);
    let keeps_up = !is_behind && all.is_some_and(|all| all.committed > 0);
    let is_short = run.measured.length_s < STEADY_MIN_SECONDS as f64;
    let factor = if is_short { 1.0 } else { CLEAR_FACTOR };
    let results = answer.iter().flat_map(|answer| &answer.results);
    // A step that fails for another reason says nothing of where a time meets its limit.
    let fails_otherwise = results
        .clone()
        .any(|result| result.verdict == AnswerVerdict::Fail && share_of_limit(result).is_none());
    let highest_share = results
        .clone()
        .filter_map(share_of_limit)
        .filter(|_| keeps_up && !fails_otherwise)
        .reduce(f64::max);
    let decided: Vec<(AnswerVerdict, bool)> = results
        .map(
            |result| match (result.verdict, is_met_by_value(result, factor)) {
                (AnswerVerdict::Undecided, Some(true)) => (AnswerVerdict::Pass, false),
                (AnswerVerdict::Undecided, Some(false)) => (AnswerVerdict::Fail, false),
                (verdict, _) => (verdict, true),
            },
        )
        .collect();
    let verdict = if run.state != RunState::Complete {
        AnswerVerdict::Undecided
    } else if !keeps_up {
        AnswerVerdict::Fail
    } else {
        // Verdicts are ordered from the worst to the best.
        let worst = decided.iter().map(|(verdict, _)| *verdict).min();
        worst.unwrap_or(AnswerVerdict::Pass)
    };
    let invalid = run.checks.iter().filter(|check| {
        let is_other = !BEHIND_CHECKS.contains(&&*check.id) && check.id != CLIENT_CHECK;
        check.severity == Severity::Invalid && is_other
    });
    let limited = client::cpu_limit(run);
    CapacityStep {
        run: run.id.clone(),
        rate: run.drive.rate_tps.unwrap_or_default(),
        length_s: run.measured.length_s,
        achieved: all.map(|all| all.tps),
        p50_ns: all.and_then(|all| all.response.p50_ns),
        p99_ns: all.and_then(|all| all.response.p99_ns),
        client_wait_ns: all.and_then(|all| Some(all.parts.as_ref()?.client_wait.mean_ns)),
        server_cpu_share: server_machine_mean(run, |machine| machine.busy_share),
        verdict,
        share_of_limit: highest_share,
        keeps_up,
        is_certain: decided.iter().all(|(_, is_certain)| *is_certain),
        is_client_limit: limited.is_some_and(|(severity, _)| severity == Severity::Invalid),
        invalid_by: invalid.map(|check| check.id.clone()).collect(),
        answer,
    }
}

/// A response or server time as a share of its upper limit: with it, a search estimates at which rate the time meets the
/// limit. `None` for other figures. The length of an outage is compared with a time too, but does not grow with the rate.
fn share_of_limit(result: &RequirementResult) -> Option<f64> {
    let Requirement {
        figure: RequiredFigure::Time { .. },
        limit: RequiredLimit::Time(limit),
        ..
    } = &result.requirement
    else {
        return None;
    };
    let share = result.value? / limit;
    (share.is_finite() && share > 0.0).then_some(share)
}

impl CapacityResult {
    /// The answer of these steps; `runs` are theirs, in the same order.
    pub fn new(
        search: &Search,
        requirements: &[Requirement],
        steps: Vec<CapacityStep>,
        runs: &[impl Borrow<Run>],
    ) -> CapacityResult {
        let runs: Vec<&Run> = runs.iter().map(Borrow::borrow).collect();
        let verdicts: Vec<RateVerdict> = steps.iter().map(CapacityStep::rate_verdict).collect();
        let capacity = search.capacity(&verdicts);
        let is_last_complete = runs
            .last()
            .is_none_or(|run| run.state == RunState::Complete);
        let is_done = matches!(search.next_step(&verdicts), NextStep::Done(_));
        let first = runs.first().copied();
        let experiment = first.and_then(|run| run.experiment.as_ref());
        CapacityResult {
            experiment: experiment.map_or_else(String::new, |experiment| experiment.id.clone()),
            workload: first.map_or_else(String::new, |run| run.workload.name.clone()),
            requirements: requirements.to_vec(),
            limiter: limit_of(&capacity, &steps, &runs),
            is_unfinished: !(is_done && is_last_complete),
            capacity,
            steps,
        }
    }

    /// The answer of stored runs, with their seconds and in any order, to what was required of the last one; `None` unless
    /// they are the steps of a search, or the points of one experiment over rates of which something was required that a
    /// rate can miss.
    pub fn of(runs: &[impl Borrow<Run>]) -> Option<CapacityResult> {
        let runs = in_order(runs);
        let last = runs.last()?;
        // A search may be one for the highest rate with which the server keeps up.
        let settings = last.search();
        if last.answer.is_none() && settings.is_none() {
            return None;
        }
        let requirements = required_of(last);
        let is_refused = requirements
            .iter()
            .any(|required| refusal(required).is_some());
        if is_refused || !runs.iter().all(|run| is_step(run, OVER_RATE)) {
            return None;
        }
        let steps: Vec<CapacityStep> = runs
            .iter()
            .map(|run| judge_step(run, &requirements))
            .collect();
        let search = Search {
            start: steps[0].rate,
            is_estimate: settings.is_none_or(|search| search.is_estimate),
            precision: settings.map_or(DEFAULT_PRECISION, |search| search.precision),
            max_steps: settings.map_or(steps.len(), |search| search.max_steps as usize),
        };
        Some(CapacityResult::new(&search, &requirements, steps, &runs))
    }

    /// Whether there is an answer: it fails if no rate meets what is required, and is undecided if its steps do not
    /// decide or must not be used.
    pub fn verdict(&self) -> AnswerVerdict {
        match self.capacity.state {
            CapacityState::Below => AnswerVerdict::Fail,
            CapacityState::Unknown | CapacityState::Contradictory => AnswerVerdict::Undecided,
            CapacityState::Found | CapacityState::Imprecise | CapacityState::AtLeast => {
                if self.invalid_by().is_empty() {
                    AnswerVerdict::Pass
                } else {
                    AnswerVerdict::Undecided
                }
            }
        }
    }

    /// Ids of checks by which steps next to the answer must not be used.
    pub fn invalid_by(&self) -> Vec<&str> {
        let is_bound = |step: &&CapacityStep| {
            [self.capacity.low, self.capacity.high].contains(&Some(step.rate))
        };
        let bounds = self.steps.iter().filter(is_bound);
        let mut ids: Vec<&str> = bounds
            .flat_map(|step| step.invalid_by.iter().map(String::as_str))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

impl CapacityStep {
    pub fn rate_verdict(&self) -> RateVerdict {
        let mut results = self.answer.iter().flat_map(|answer| &answer.results);
        let is_unknown = results.any(|result| result.value.is_none());
        RateVerdict {
            rate: self.rate,
            verdict: self.verdict,
            share_of_limit: self.share_of_limit,
            is_unknown: self.verdict == AnswerVerdict::Undecided && is_unknown,
            length_s: self.length_s,
            delivered: self.achieved.unwrap_or_default(),
            is_full: self.verdict == AnswerVerdict::Fail && !self.keeps_up && !self.is_client_limit,
        }
    }
}

/// The runs of an experiment in the order in which they were measured. They may have been grouped by variant, and the last
/// one says whether the experiment was stopped.
fn in_order(runs: &[impl Borrow<Run>]) -> Vec<&Run> {
    let mut runs: Vec<&Run> = runs.iter().map(Borrow::borrow).collect();
    runs.sort_by_key(|run| run.experiment.as_ref().map(|own| own.position));
    runs
}

fn required_of(run: &Run) -> Vec<Requirement> {
    let results = run.answer.iter().flat_map(|answer| &answer.results);
    results.map(|result| result.requirement.clone()).collect()
}

/// What is the limit at the lowest rate that failed, or at the next one where it shows.
fn limit_of(capacity: &Capacity, steps: &[CapacityStep], runs: &[&Run]) -> Option<LimiterFinding> {
    let high = capacity.high?;
    let mut rates: Vec<f64> = steps.iter().map(|step| step.rate).collect();
    rates.retain(|rate| *rate >= high);
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let findings = rates.into_iter().map(|rate| {
        let own: Vec<&Run> = runs
            .iter()
            .copied()
            .filter(|run| run.drive.rate_tps == Some(rate))
            .collect();
        limiter(&rate.to_string(), &own)
    });
    first_known(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirements::unanswered;
    use crate::sample::{healthy_at_rate, observed_mut};
    use crate::sweep::Limiter;
    use prony_store::{Check, MachineSecond, ServerSecond, Setting};

    fn requirement(text: &str) -> Requirement {
        Requirement::parse(text).unwrap()
    }

    fn at_rate(rate: f64, p99_ns: u64) -> Run {
        let mut run = healthy_at_rate();
        run.id = format!("run-{rate}");
        run.drive.rate_tps = Some(rate);
        let all = &mut run.measured.kinds[0];
        (all.tps, all.committed) = (rate, (rate * 60.0) as u64);
        all.response.p99_ns = Some(p99_ns);
        run
    }

    fn short(mut run: Run) -> Run {
        run.measured.length_s = 5.0;
        run
    }

    fn invalid_by(run: &mut Run, id: &str) {
        run.checks.push(Check {
            id: id.to_owned(),
            severity: Severity::Invalid,
            kind: None,
            finding: String::new(),
            advice: String::new(),
        });
    }

    #[test]
    fn a_step_without_intervals_is_decided_by_its_figure() {
        let limits = [requirement("p99<20ms")];
        let passed = judge_step(&short(at_rate(100.0, 15_000_000)), &limits);
        assert_eq!(
            (passed.verdict, passed.is_certain),
            (AnswerVerdict::Pass, false)
        );
        let near = judge_step(&at_rate(100.0, 22_000_000), &limits);
        assert_eq!(near.verdict, AnswerVerdict::Undecided, "after 60 s");
        let failed = judge_step(&short(at_rate(100.0, 30_000_000)), &limits);
        assert_eq!(
            (failed.verdict, failed.keeps_up),
            (AnswerVerdict::Fail, true)
        );
        let far = judge_step(&at_rate(100.0, 50_000_000), &limits);
        assert_eq!(
            (far.verdict, far.share_of_limit),
            (AnswerVerdict::Fail, Some(2.5))
        );
        let free = judge_step(&at_rate(100.0, 30_000_000), &[]);
        assert_eq!((free.verdict, free.is_certain), (AnswerVerdict::Pass, true));
    }

    #[test]
    fn a_step_that_falls_behind_fails_and_other_faults_are_beside_the_verdict() {
        let limits = [requirement("p99<20ms")];
        let mut run = at_rate(100.0, 9_000_000);
        invalid_by(&mut run, "steal");
        let stolen = judge_step(&run, &limits);
        assert_eq!(
            (stolen.verdict, stolen.keeps_up),
            (AnswerVerdict::Pass, true)
        );
        assert_eq!(stolen.invalid_by, ["steal"]);
        invalid_by(&mut run, "rate");
        let behind = judge_step(&run, &limits);
        assert_eq!(
            (behind.verdict, behind.keeps_up),
            (AnswerVerdict::Fail, false)
        );
        run.state = RunState::Partial;
        assert_eq!(judge_step(&run, &limits).verdict, AnswerVerdict::Undecided);
    }

    #[test]
    fn what_rises_with_the_rate_cannot_be_required() {
        for text in [
            "throughput>5000/s",
            "p99<=110% of main",
            "not slower than main by 3%",
        ] {
            assert!(refusal(&requirement(text)).is_some(), "{text}");
        }
        for text in ["p99<20ms", "errors<0.1%", "outage<1s", "server.p95<5ms"] {
            assert_eq!(refusal(&requirement(text)), None, "{text}");
        }
    }

    #[test]
    fn the_limit_is_named_where_it_shows() {
        let limits = [requirement("p99<20ms")];
        let search = Search {
            start: 100.0,
            is_estimate: true,
            precision: 0.02,
            max_steps: 3,
        };
        let busy = |run: &mut Run, share: f64| {
            observed_mut(run).series = vec![ServerSecond {
                at_s: 10.0,
                length_s: 1.0,
                machine: Some(MachineSecond {
                    busy_share: Some(share),
                    ..MachineSecond::default()
                }),
                ..ServerSecond::default()
            }];
        };
        let mut runs = [
            at_rate(100.0, 9_000_000),
            at_rate(103.0, 50_000_000),
            at_rate(125.0, 90_000_000),
        ];
        for (run, share) in runs.iter_mut().zip([0.7, 0.8, 0.99]) {
            busy(run, share);
        }
        let steps = runs.iter().map(|run| judge_step(run, &limits)).collect();
        let found = CapacityResult::new(&search, &limits, steps, &runs);
        assert_eq!(
            CapacityResult::of(&runs),
            None,
            "nothing was required of them, and they are no sweep"
        );
        for run in &mut runs {
            run.answer = unanswered(&limits);
            let rate = run.drive.rate_tps.unwrap().to_string();
            run.experiment.get_or_insert_default().point = vec![Setting::new("rate", rate)];
        }
        assert_eq!(CapacityResult::of(&runs), Some(found.clone()));
        assert_eq!(
            (found.capacity.low, found.capacity.high),
            (Some(100.0), Some(103.0))
        );
        let limiter = found.limiter.unwrap();
        assert_eq!(
            (limiter.limiter, &*limiter.at),
            (Limiter::ServerCpus, "125")
        );
    }

    #[test]
    fn a_search_that_was_stopped_is_unfinished_in_whatever_order_its_runs_are_read() {
        let stopped = Run {
            state: RunState::Partial,
            ..at_rate(103.0, 50_000_000)
        };
        let mut measured = [
            at_rate(100.0, 9_000_000),
            at_rate(103.0, 50_000_000),
            at_rate(125.0, 90_000_000),
            stopped,
        ];
        for (position, run) in (0..).zip(&mut measured) {
            run.answer = unanswered(&[requirement("p99<20ms")]);
            let rate = run.drive.rate_tps.unwrap().to_string();
            let experiment = run.experiment.get_or_insert_default();
            experiment.point = vec![Setting::new("rate", rate)];
            experiment.position = position;
        }
        let [first, second, third, stopped] = &measured;
        let found = CapacityResult::of(&measured).expect("the steps of a search");
        assert!(found.is_unfinished);
        // A page has the runs by their rates, so that a complete one is the last.
        let by_rate = CapacityResult::of(&[first, second, stopped, third]);
        assert_eq!(by_rate, Some(found));
    }
}
