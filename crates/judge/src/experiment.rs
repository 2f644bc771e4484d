//! The figures of an experiment's variants: medians of their repeats.
//!
//! In: the runs of an experiment. Out: for each variant its median, lowest and highest. Must never: take the
//! best of several runs, count a run that must not be used, or judge whether variants differ, which `compare`
//! does.

use crate::noise::is_of_others;
use crate::statistics::median;
use crate::{all_kinds, distinct, errors, worst};
use prony_store::{Check, ExperimentKind, Latency, NOPM, Run, RunState, Severity};
use std::borrow::Borrow;

/// The figures of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantFigures {
    pub name: String,
    /// Number of its runs.
    pub runs: usize,
    /// Number of its runs that are complete and may be used.
    pub counted: usize,
    /// NOPM if each counted run has it, otherwise committed transactions per second; `None` if no run counts.
    pub rate: Option<Spread>,
    /// The rates of the counted runs, in their order.
    pub rates: Vec<f64>,
    /// Median response time, nanoseconds; `None` if a counted run has none.
    pub p50_ns: Option<Spread>,
    /// 99th percentile of the response time, nanoseconds; `None` if a counted run has none.
    pub p99_ns: Option<Spread>,
}

/// How far the runs of a variant are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median: the middle run, or the mean of the two in the middle.
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Spread {
    /// The spread of some values; `None` if there is none.
    pub fn from_values(values: Vec<f64>) -> Option<Spread> {
        let by_size = |a: &f64, b: &f64| a.total_cmp(b);
        Some(Spread {
            median: median(&values),
            low: values.iter().copied().min_by(by_size)?,
            high: values.iter().copied().max_by(by_size)?,
        })
    }

    /// The range from lowest to highest as a share of the median; `None` if the median is zero.
    pub fn share(&self) -> Option<f64> {
        (self.median > 0.0).then(|| (self.high - self.low) / self.median)
    }
}

/// Whether a run is complete and may be used.
pub fn is_counted(run: &Run) -> bool {
    let usable = worst(&run.checks) != Some(Severity::Invalid);
    usable && run.state == RunState::Complete && all_kinds(run).is_some()
}

/// Checks that find the same in the next run: of the machines, the server, the data and the plan. The others may be
/// due to the moment, such as a lost connection, a stall or a restart.
const LASTING_CHECKS: [&str; 11] = [
    "client-limit",
    "consistency",
    "errors",
    "foreign-load",
    "neighbours",
    "nothing-committed",
    "rate",
    "server-commits",
    "server-steal",
    "steal",
    "throttled",
];

/// Why an experiment cannot succeed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastingProblem<'a> {
    /// The check that makes the runs invalid, and probably the next ones.
    pub check: &'a Check,
    /// The variant whose runs are all invalid by it; `None` if all runs are.
    pub variant: Option<&'a str>,
}

/// What makes every run of an experiment invalid, or every run of a variant; `None` if nothing does, or before two runs.
/// A sweep goes on while it has points that have not run: one may be beyond what the client can do. Variants are compared
/// although others disturb their runs.
pub fn lasting_problem(runs: &[Run]) -> Option<LastingProblem<'_>> {
    let last = runs.last()?;
    let own: Vec<&Run> = runs
        .iter()
        .filter(|run| run.variant() == last.variant())
        .collect();
    let is_sweep = match last.experiment_kind() {
        // A search ends by itself, and the rows of a suite are different loads.
        Some(ExperimentKind::Search(_) | ExperimentKind::Suite(_)) => return None,
        kind => kind == Some(&ExperimentKind::Sweep),
    };
    let experiment = last.experiment.as_ref();
    let variant_count = experiment.map_or(1, |experiment| experiment.variants.len());
    let may_differ = is_sweep && variant_names(runs).len() < variant_count;
    let is_invalid_by = |run: &Run, id: &str| {
        let mut checks = run.checks.iter();
        checks.any(|check| check.id == id && check.severity == Severity::Invalid)
            && !errors::had_lost_users(run)
    };
    // Runs that others disturb are compared in spite of that.
    let is_looked_beyond = |id: &str| variant_count > 1 && !is_sweep && is_of_others(id);
    let checks = last.checks.iter();
    let lasting =
        checks.filter(|check| LASTING_CHECKS.contains(&&*check.id) && !is_looked_beyond(&check.id));
    let mut problems = lasting.filter_map(|check| {
        let are_all = runs.len() > 1 && runs.iter().all(|run| is_invalid_by(run, &check.id));
        let are_own = own.len() > 1 && own.iter().all(|run| is_invalid_by(run, &check.id));
        let variant = if are_all && !may_differ {
            None
        } else if are_own && !is_sweep {
            last.variant()
        } else {
            return None;
        };
        Some(LastingProblem { check, variant })
    });
    problems.next()
}

/// Whether there are counted runs and all of them have NOPM, which is then the leading figure.
pub fn all_have_nopm(runs: &[impl Borrow<Run>]) -> bool {
    let runs = runs.iter().map(Borrow::borrow);
    let mut counted = runs.filter(|run| is_counted(run)).peekable();
    counted.peek().is_some() && counted.all(|run| nopm(run).is_some())
}

fn nopm(run: &Run) -> Option<f64> {
    run.metric(NOPM)
}

/// Names of the variants that have runs, in the plan's order; without a plan, in the order of the runs.
pub fn variant_names(runs: &[impl Borrow<Run>]) -> Vec<String> {
    let experiments = || {
        runs.iter()
            .filter_map(|run| run.borrow().experiment.as_ref())
    };
    let mut names = distinct(experiments().map(|experiment| experiment.variant.clone()));
    let variants = experiments().next().map(|experiment| &experiment.variants);
    names.sort_by_key(|name| variants?.iter().position(|variant| variant == name));
    names
}

/// The figures of the variants with these names, from the runs of one experiment.
pub fn variants(names: &[String], runs: &[impl Borrow<Run>]) -> Vec<VariantFigures> {
    let by_nopm = all_have_nopm(runs);
    let runs = || runs.iter().map(Borrow::borrow);
    let figures = |name: &String| {
        let own = runs().filter(|run| run.variant() == Some(name));
        VariantFigures::of(name, &own.collect::<Vec<&Run>>(), by_nopm)
    };
    names.iter().map(figures).collect()
}

impl VariantFigures {
    pub(crate) fn of(name: &str, runs: &[&Run], by_nopm: bool) -> VariantFigures {
        let counted = runs.iter().copied().filter(|run| is_counted(run));
        let counted: Vec<&Run> = counted.collect();
        let tps = |run: &Run| all_kinds(run).map(|all| all.tps);
        let rate = |run: &&Run| if by_nopm { nopm(run) } else { tps(run) };
        let rates: Vec<f64> = counted.iter().filter_map(rate).collect();
        let spread_of = |percentile: fn(&Latency) -> Option<u64>| {
            let value = |run: &&Run| Some(percentile(&all_kinds(run)?.response)? as f64);
            let values: Option<Vec<f64>> = counted.iter().map(value).collect();
            values.and_then(Spread::from_values)
        };
        VariantFigures {
            name: name.to_owned(),
            runs: runs.len(),
            counted: counted.len(),
            rate: Spread::from_values(rates.clone()),
            rates,
            p50_ns: spread_of(|latency| latency.p50_ns),
            p99_ns: spread_of(|latency| latency.p99_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;
    use prony_store::{ErrorClass, ErrorCount, Experiment, IndustryMetric};

    fn run(variant: &str, tps: f64, p99_ns: Option<u64>) -> Run {
        let mut run = healthy();
        run.measured.kinds[0].tps = tps;
        run.measured.kinds[0].response.p99_ns = p99_ns;
        run.experiment = Some(Experiment {
            variant: variant.to_owned(),
            ..Experiment::default()
        });
        run
    }

    fn names() -> Vec<String> {
        ["a", "b"].map(str::to_owned).to_vec()
    }

    #[test]
    fn figures_are_medians_not_the_best() {
        let runs = [
            run("b", 500.0, Some(9)),
            run("a", 100.0, Some(1)),
            run("a", 300.0, Some(5)),
            run("a", 110.0, Some(3)),
            run("b", 700.0, None),
        ];
        let figures = variants(&names(), &runs);
        let [a, b] = &figures[..] else {
            panic!("{figures:?}")
        };
        let spread = a.rate.unwrap();
        assert_eq!(
            (spread.median, spread.low, spread.high),
            (110.0, 100.0, 300.0)
        );
        assert_eq!(spread.share(), Some(200.0 / 110.0));
        assert_eq!(a.p99_ns.unwrap().median, 3.0);
        assert_eq!(
            b.rate.unwrap().median,
            600.0,
            "the mean of the two in the middle"
        );
        assert_eq!(b.p99_ns, None, "one run has no p99");
        assert_eq!((b.runs, b.counted), (2, 2));
    }

    #[test]
    fn invalid_and_partial_runs_do_not_count() {
        let mut invalid = run("a", 900.0, Some(1));
        invalid.checks.push(Check {
            severity: Severity::Invalid,
            ..crate::checks::new_remark("x", Severity::Invalid, "", "").unwrap()
        });
        let mut partial = run("a", 800.0, Some(1));
        partial.state = RunState::Partial;
        let figures = variants(&names(), &[invalid, partial, run("a", 100.0, Some(1))]);
        assert_eq!((figures[0].runs, figures[0].counted), (3, 1));
        assert_eq!(figures[0].rate.unwrap().high, 100.0);
        assert_eq!((figures[1].runs, figures[1].rate), (0, None));
    }

    #[test]
    fn an_experiment_ends_after_two_runs_that_are_invalid_for_one_reason() {
        let invalid = |variant, id| {
            let mut run = run(variant, 900.0, None);
            let check = crate::new_check(id, Severity::Invalid, "found", "Do this.");
            run.checks.extend(check);
            run
        };
        let problem = |runs: &[Run]| {
            let problem = lasting_problem(runs)?;
            Some((problem.check.id.clone(), problem.variant.map(str::to_owned)))
        };
        let neighbours = |variant| invalid(variant, "neighbours");
        let all = Some(("neighbours".to_owned(), None));
        let both = [neighbours("a"), neighbours("b")];
        assert_eq!(problem(&both), all);
        assert_eq!(problem(&both[..1]), None, "perhaps by chance");
        assert_eq!(problem(&[neighbours("a"), run("b", 9.0, None)]), None);
        assert_eq!(problem(&[neighbours("a"), invalid("b", "steal")]), None);
        let compared = both.clone().map(|mut run| {
            run.experiment.as_mut().unwrap().variants = names();
            run
        });
        assert_eq!(problem(&compared), None, "pairs of runs still compare");
        let of_a = [neighbours("a"), run("b", 9.0, None), neighbours("a")];
        assert_eq!(
            problem(&of_a),
            Some(("neighbours".to_owned(), Some("a".to_owned())))
        );
        let point = |mut run: Run| {
            let experiment = run.experiment.as_mut().unwrap();
            experiment.kind = ExperimentKind::Sweep;
            experiment.variants = names();
            run
        };
        let of_point = of_a.map(point);
        assert_eq!(
            problem(&of_point),
            None,
            "the other points may be within what the client can do"
        );
        assert_eq!(
            problem(&[neighbours("a"), neighbours("a")].map(point)),
            None
        );
        assert_eq!(problem(&[neighbours("a"), neighbours("b")].map(point)), all);
        let outages = [invalid("a", "outage"), invalid("b", "outage")];
        assert_eq!(problem(&outages), None, "of the moment");
        let mut failed = [invalid("a", "errors"), invalid("b", "errors")];
        assert!(problem(&failed).is_some());
        let errors = &mut failed[0].measured.errors;
        errors.push(ErrorCount {
            kind: None,
            class: ErrorClass::LostConnection,
            code: "57P01".to_owned(),
            count: 1,
            example: String::new(),
        });
        assert_eq!(problem(&failed), None);
    }

    #[test]
    fn nopm_leads_if_every_run_has_it() {
        let mut with_nopm = run("a", 100.0, None);
        with_nopm.rates.push(IndustryMetric {
            name: NOPM.to_owned(),
            value: 2_700.0,
            ..IndustryMetric::default()
        });
        assert_eq!(
            variants(&names(), &[with_nopm.clone()])[0]
                .rate
                .unwrap()
                .median,
            2_700.0
        );
        let mixed = [with_nopm, run("b", 50.0, None)];
        assert!(!all_have_nopm(&mixed) && !all_have_nopm(&[] as &[Run]));
        assert_eq!(variants(&names(), &mixed)[0].rate.unwrap().median, 100.0);
    }
}
