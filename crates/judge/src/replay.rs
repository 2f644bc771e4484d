//! The latency of replayed statements over repeats, beside the one that the server logged for them.
//!
//! In: the runs of a replay. Out: for each statement the ratio of its latency to the logged one, with an interval. Must
//! never: count a run that must not be used, or an interval of a single run.
//!
//! The interval is that of the median over the runs. The log is one run of the application: what it would have had on
//! another day is not known, and not in the interval.

use crate::experiment::is_counted;
use crate::statistics::{ALPHA, median, median_intervals};
use prony_store::{RecordedLatency, Run, StatementLatency};

/// A statement's latency beside the logged one.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayedStatement {
    pub name: String,
    /// Number of runs in which it was executed.
    pub runs: usize,
    /// Mean latency.
    pub mean: TimeBesideLog,
    /// 99th percentile; `None` if the log or a run has too few executions for it.
    pub p99: Option<TimeBesideLog>,
    /// The time that all of its executions took longer than logged, nanoseconds; below zero if they were shorter.
    pub added_ns: f64,
}

/// A time over several runs, and in the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeBesideLog {
    /// What the log says, nanoseconds.
    pub recorded_ns: f64,
    /// The median of the runs, nanoseconds.
    pub median_ns: f64,
    /// The interval of the ratio of the two, at 95 %; `None` for a single run.
    pub interval: Option<[f64; 2]>,
}

impl TimeBesideLog {
    /// The median of the runs' values; `None` without a value, or if the logged time is zero: logs have whole microseconds.
    fn of(recorded_ns: f64, values: &[f64]) -> Option<TimeBesideLog> {
        if values.is_empty() || recorded_ns <= 0.0 {
            return None;
        }
        let interval = median_intervals(&[values], ALPHA).swap_remove(0);
        Some(TimeBesideLog {
            recorded_ns,
            median_ns: median(values),
            interval: interval.map(|ends| ends.map(|end| end / recorded_ns)),
        })
    }

    pub fn ratio(&self) -> f64 {
        self.median_ns / self.recorded_ns
    }
}

/// The statements of a replay over the runs that count, the one with the most added time first.
pub fn replayed_statements(runs: &[&Run]) -> Vec<ReplayedStatement> {
    let counted: Vec<&Run> = runs.iter().copied().filter(|run| is_counted(run)).collect();
    let first = counted.iter().flat_map(|run| &run.statements).next();
    let statements = first.into_iter().flatten().filter_map(|statement| {
        let recorded = statement.recorded?;
        let same = |other: &&StatementLatency| {
            other.name == statement.name && other.recorded == Some(recorded)
        };
        let counted = counted.iter();
        let of_runs = counted.filter_map(|run| run.statements.as_ref()?.iter().find(same));
        of_statement(recorded, &of_runs.collect::<Vec<_>>())
    });
    let mut statements: Vec<ReplayedStatement> = statements.collect();
    statements.sort_by(|a, b| b.added_ns.total_cmp(&a.added_ns));
    statements
}

fn of_statement(
    recorded: RecordedLatency,
    of_runs: &[&StatementLatency],
) -> Option<ReplayedStatement> {
    let name = of_runs.first()?.name.clone();
    let executed = of_runs.iter().filter(|run| run.latency.samples > 0);
    let means: Vec<f64> = executed.clone().map(|run| run.latency.mean_ns).collect();
    let p99: Option<Vec<f64>> = executed
        .clone()
        .map(|run| run.latency.p99_ns.map(|ns| ns as f64))
        .collect();
    let added =
        executed.map(|run| (run.latency.mean_ns - recorded.mean_ns) * run.latency.samples as f64);
    Some(ReplayedStatement {
        name,
        runs: means.len(),
        mean: TimeBesideLog::of(recorded.mean_ns, &means)?,
        p99: recorded
            .p99_ns
            .zip(p99)
            .and_then(|(recorded_ns, values)| TimeBesideLog::of(recorded_ns as f64, &values)),
        added_ns: added.sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;
    use prony_store::{Latency, RunState};

    fn run(means_ns: [f64; 2]) -> Run {
        let statement = |name: &str, mean_ns: f64, recorded_ns: f64| StatementLatency {
            name: name.to_owned(),
            latency: Latency {
                samples: 100,
                mean_ns,
                p99_ns: Some((mean_ns * 4.0) as u64),
                ..Latency::default()
            },
            recorded: Some(RecordedLatency {
                samples: 2_000,
                mean_ns: recorded_ns,
                p99_ns: Some(2_000_000),
                ..RecordedLatency::default()
            }),
            ..StatementLatency::default()
        };
        let [select, update] = means_ns;
        Run {
            statements: Some(vec![
                statement("select", select, 1e6),
                statement("update", update, 5e6),
            ]),
            ..healthy()
        }
    }

    #[test]
    fn a_statement_has_the_interval_of_its_ratio_over_the_runs() {
        let mut runs: Vec<Run> = [1.0, 1.1, 1.2, 1.05, 1.15, 1.3]
            .map(|factor| run([1e6 * factor, 1e7 * factor]))
            .to_vec();
        // It ended early, and does not count.
        runs.push(Run {
            state: RunState::Partial,
            ..run([9e9, 9e9])
        });
        let statements = replayed_statements(&runs.iter().collect::<Vec<_>>());
        let [update, select] = &statements[..] else {
            panic!("{statements:?}");
        };
        assert_eq!((&*update.name, update.runs), ("update", 6));
        assert_eq!((&*select.name, select.runs), ("select", 6));
        // From six runs on the smallest and the largest are the interval.
        let [low, high] = update.mean.interval.expect("six runs");
        assert!((low - 2.0).abs() < 1e-9 && (high - 2.6).abs() < 1e-9);
        assert!((update.mean.ratio() - 2.25).abs() < 1e-9);
        let p99 = select.p99.expect("enough executions");
        assert!((p99.ratio() - 2.25).abs() < 1e-6, "{p99:?}");
    }

    #[test]
    fn one_run_has_no_interval_and_other_runs_no_statements() {
        let single = run([2e6, 5e6]);
        let statements = replayed_statements(&[&single]);
        assert_eq!(statements[0].mean.interval, None);
        assert!((statements[0].mean.ratio() - 2.0).abs() < 1e-9);
        assert_eq!(replayed_statements(&[&healthy()]), []);
        assert_eq!(replayed_statements(&[]), []);
    }
}
