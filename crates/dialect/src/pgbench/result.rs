//! Converts measured figures to the data that pgbench reports.
//!
//! In: figures of the whole run or of some seconds. Out: plain data for the report and for progress lines.
//! Must never: count a transaction twice, or omit one.

use super::moments::Moments;
use super::options::RunOptions;
use super::pre_run::TableFacts;
use super::report::{CommandReport, Counts, RunReport, ScriptReport};
use prony_measure::{Distribution, ErrorClass, ErrorLedger, Tally, Totals};
use prony_workload::script::{CommandStats, Script};

pub struct MeasuredRun<'a> {
    /// All transactions; each script is a kind.
    pub totals: &'a Totals,
    /// Seconds taken to open the connections.
    pub connect_s: f64,
    /// Figures by script and command; empty without `-r`.
    pub commands: &'a [Vec<CommandStats>],
}

pub fn run_report(
    options: &RunOptions,
    tables: TableFacts,
    scripts: &[Script],
    measured: &MeasuredRun<'_>,
) -> RunReport {
    let totals = measured.totals;
    let all_kinds = totals.all_kinds();
    let script_report = |(number, script): (usize, &Script)| {
        let tally = totals.kinds.get(number);
        let counts = tally
            .map(|tally| outcome_counts(tally, &totals.errors, Some(number), &options.percentiles));
        ScriptReport {
            counts: counts.unwrap_or_default(),
            commands: command_reports(script, measured.commands.get(number)),
        }
    };
    let connecting_ns = (measured.connect_s * 1e9) as u64;
    let reconnect_ns = all_kinds.connect.as_ref().map(|times| times.sum_ns as u64);
    RunReport {
        options: options.clone(),
        tables,
        counts: run_counts(options, totals),
        over_latency_limit: all_kinds.over_latency_limit,
        duration_ns: totals.end_ns.saturating_sub(totals.start_ns),
        connecting_ns,
        // pgbench 13 adds up the connection times of its threads. Prony measures only the time of all threads
        // in parallel, and its threads take about equal times.
        connections_ns: reconnect_ns
            .unwrap_or(connecting_ns.saturating_mul(u64::from(options.threads))),
        scripts: scripts.iter().enumerate().map(script_report).collect(),
    }
}

pub fn run_counts(options: &RunOptions, totals: &Totals) -> Counts {
    let all_kinds = totals.all_kinds();
    outcome_counts(&all_kinds, &totals.errors, None, &options.percentiles)
}

fn command_reports(script: &Script, figures: Option<&Vec<CommandStats>>) -> Vec<CommandReport> {
    let Some(figures) = figures else {
        return Vec::new();
    };
    let commands = script.commands.iter().zip(figures);
    commands
        .map(|(command, figures)| CommandReport {
            first_line: command.first_line().to_owned(),
            latency: Moments {
                count: figures.count,
                sum_us: figures.sum_ns as f64 / 1e3,
                ..Moments::default()
            },
            failures: figures.failures,
            retries: figures.retries,
        })
        .collect()
}

/// The counts and times of one script's transactions, or of all transactions if `script` is `None`.
fn outcome_counts(
    tally: &Tally<u64>,
    errors: &ErrorLedger,
    script: Option<usize>,
    percentiles: &[f64],
) -> Counts {
    let [serialization, deadlock] = [ErrorClass::Serialization, ErrorClass::Deadlock]
        .map(|class| count_failures(errors, script, class));
    let percentile = |percent: &f64| Some((*percent, percentile_ms(&tally.response, *percent)?));
    Counts {
        succeeded: tally.committed,
        skipped: tally.skipped,
        serialization_failures: serialization,
        deadlock_failures: deadlock,
        other_failures: tally.failed.saturating_sub(serialization + deadlock),
        retried: tally.retried,
        retries: tally.retries,
        latency: moments_of(&tally.response),
        lag: tally.lag.as_ref().map(moments_of).unwrap_or_default(),
        percentiles_ms: percentiles.iter().filter_map(percentile).collect(),
    }
}

/// The failures of one class, of one script or of all.
fn count_failures(errors: &ErrorLedger, script: Option<usize>, class: ErrorClass) -> u64 {
    let entries = errors.entries().iter();
    entries
        .filter(|entry| entry.class == class)
        .filter(|entry| script.is_none_or(|script| usize::from(entry.kind) == script))
        .map(|entry| entry.count)
        .sum()
}

/// A percentile in ms; `None` if there are too few samples. The 100th percentile is the maximum.
fn percentile_ms(times: &Distribution<u64>, percent: f64) -> Option<f64> {
    let time_ns = if percent >= 100.0 {
        (times.samples > 0).then_some(times.max_ns)
    } else {
        times.quantile_ns(percent / 100.0)
    };
    time_ns.map(|time_ns| time_ns as f64 / 1e6)
}

fn moments_of(times: &Distribution<u64>) -> Moments {
    Moments {
        count: times.samples,
        sum_us: times.sum_ns as f64 / 1e3,
        sum_of_squares_us2: times.squares_ns2 / 1e6,
        min_us: times.min_ns as f64 / 1e3,
        max_us: times.max_ns as f64 / 1e3,
    }
}
