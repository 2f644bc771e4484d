//! The report at the end of a run.
//!
//! In: a [`RunReport`]. Out: the text for standard output. Must never: compute what the run did not measure,
//! or change a line because of an option that pgbench does not have.
//!
//! Levels 13 and 14 include skipped transactions in totals and report no failures. Levels 15 to 17 end the
//! report early if no transaction succeeded, level 18 if there was no transaction.

use super::level::{Level, version_num};
use super::moments::Moments;
use super::number::{format_fixed, percent};
use super::options::{Limit, PartitionMethod, Protocol};
use super::script_report::{ScriptReport, write_script_block};

/// The first line of a run's standard output, printed after connecting. Empty for level 13.
///
/// `server_version`: the server's parameter of that name. If the level has no minor version and the server
/// has the same major version, pgbench is assumed to have the server's version.
pub fn banner(level: &Level, server_version: &str) -> String {
    if !level.at_least(14) {
        return String::new();
    }
    match version_num(server_version) {
        Some(server) if server == level.version_num() => format!("pgbench ({})\n", level.text()),
        Some(server) if !level.has_minor() && server / 10_000 == u32::from(level.major()) => {
            format!("pgbench ({server_version})\n")
        }
        _ => format!("pgbench ({}, server {server_version})\n", level.text()),
    }
}

/// Counts of transactions by outcome, and their times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Successful transactions.
    pub succeeded: u64,
    /// Transactions that were not started because they were too late (-R with -L).
    pub skipped: u64,
    /// Transactions that failed with serialization errors.
    pub serialization_failures: u64,
    /// Transactions that failed with deadlocks.
    pub deadlock_failures: u64,
    /// Transactions that failed with other errors (--continue-on-error).
    pub other_failures: u64,
    /// Transactions that were tried more than once.
    pub retried: u64,
    /// Tries after the first.
    pub retries: u64,
    /// Latency of successful transactions, from the scheduled start and including all tries.
    pub latency: Moments,
    /// How late transactions started (-R).
    pub lag: Moments,
    /// Requested percentiles: per cent, and latency in ms.
    pub percentiles_ms: Vec<(f64, f64)>,
}

impl Counts {
    pub fn failures(&self) -> u64 {
        self.serialization_failures + self.deadlock_failures + self.other_failures
    }

    /// All scheduled transactions: successful, skipped and failed.
    pub fn scheduled(&self) -> u64 {
        self.succeeded + self.skipped + self.failures()
    }
}

/// The data of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// The scale, counted or from `-s`.
    pub scale: u32,
    /// The partitions of pgbench_accounts, if a builtin script runs.
    pub partitions: Option<(PartitionMethod, u32)>,
    /// `-M`.
    pub protocol: Protocol,
    /// `-c`.
    pub clients: u32,
    /// The number of threads used (`-j`).
    pub threads: u32,
    /// `--max-tries`; 0 means no limit.
    pub max_tries: u32,
    /// `-t` or `-T`.
    pub limit: Limit,
    /// Whether `-R` is set.
    pub rate_limited: bool,
    /// `-L`, µs.
    pub latency_limit_us: Option<u64>,
    /// Whether `-P` is set; pgbench then measures latencies.
    pub has_progress: bool,
    /// `-C`.
    pub reconnect: bool,
    /// `--failures-detailed`.
    pub failures_detailed: bool,
    /// `-r`.
    pub per_command: bool,
    /// All transactions.
    pub counts: Counts,
    /// Successful transactions that took longer than `-L`.
    pub over_latency_limit: u64,
    /// Nanoseconds from the first thread's start of the load, after connecting, to the end of the run.
    pub duration_ns: u64,
    /// Nanoseconds from the start of the threads to the first thread's start of the load.
    pub connecting_ns: u64,
    /// Nanoseconds of all connection attempts together; with `-C`, only of those within transactions.
    pub connections_ns: u64,
    /// The scripts in order; never empty.
    pub scripts: Vec<ScriptReport>,
}

impl RunReport {
    /// Whether pgbench measures the latency of each transaction with these options.
    fn measures_latency(&self) -> bool {
        self.rate_limited || self.has_progress || self.latency_limit_us.is_some()
    }

    /// Whether pgbench skips transactions that are too late.
    pub(crate) fn can_skip(&self) -> bool {
        self.rate_limited && self.latency_limit_us.is_some()
    }
}

/// The complete report, without the banner.
pub fn report_text(level: &Level, run: &RunReport) -> String {
    let mut text = String::new();
    write_parameters(&mut text, level, run);
    let counts = &run.counts;
    let total = counts.scheduled();
    if level.at_least(18) && total == 0 {
        return text;
    }
    if level.at_least(15) {
        text += &format!(
            "number of failed transactions: {} ({}%)\n",
            counts.failures(),
            format_fixed(percent(counts.failures(), total), 3)
        );
        write_failure_details(&mut text, "", level, run, counts);
        if counts.succeeded + counts.skipped == 0 && !level.at_least(18) {
            return text;
        }
    } else if total == 0 {
        return text;
    }
    if run.can_skip() {
        let blank = if level.at_least(15) { "" } else { " " };
        text += &format!(
            "number of transactions skipped: {} ({}{blank}%)\n",
            counts.skipped,
            format_fixed(percent(counts.skipped, total), 3)
        );
    }
    write_late_count(&mut text, level, run);
    write_latency_summary(&mut text, level, run);
    write_tps(&mut text, level, run);
    if run.scripts.len() > 1 || run.per_command {
        for (number, script) in run.scripts.iter().enumerate() {
            write_script_block(&mut text, level, run, number + 1, script);
        }
    }
    text
}

fn write_parameters(text: &mut String, level: &Level, run: &RunReport) {
    let kind = match &run.scripts[..] {
        [script] => script.description.as_str(),
        _ => "multiple scripts",
    };
    *text += &format!("transaction type: {kind}\nscaling factor: {}\n", run.scale);
    if let Some((method, count)) = run.partitions {
        *text += &format!("partition method: {}\npartitions: {count}\n", method.name());
    }
    *text += &format!(
        "query mode: {}\nnumber of clients: {}\nnumber of threads: {}\n",
        run.protocol.name(),
        run.clients,
        run.threads
    );
    if level.at_least(15) && run.max_tries != 0 {
        *text += &format!("maximum number of tries: {}\n", run.max_tries);
    }
    let processed = run.counts.succeeded;
    match run.limit {
        Limit::Transactions(per_client) => {
            let requested = u64::from(per_client) * u64::from(run.clients);
            *text += &format!(
                "number of transactions per client: {per_client}\n\
                 number of transactions actually processed: {processed}/{requested}\n"
            );
        }
        Limit::Seconds(seconds) => {
            *text += &format!(
                "duration: {seconds} s\nnumber of transactions actually processed: {processed}\n"
            );
        }
    }
}

/// Writes the failures of each kind, and the retries; only for level 15 and later. `prefix`: how lines begin,
/// ` - ` in a script's block.
pub(crate) fn write_failure_details(
    text: &mut String,
    prefix: &str,
    level: &Level,
    run: &RunReport,
    counts: &Counts,
) {
    let total = counts.scheduled();
    let share = |part| format_fixed(percent(part, total), 3);
    if run.failures_detailed {
        let kinds = [
            ("serialization", counts.serialization_failures),
            ("deadlock", counts.deadlock_failures),
            ("other", counts.other_failures),
        ];
        let kind_count = if level.at_least(19) { 3 } else { 2 };
        for (kind, number) in &kinds[..kind_count] {
            *text += &format!(
                "{prefix}number of {kind} failures: {number} ({}%)\n",
                share(*number)
            );
        }
    }
    if run.max_tries != 1 {
        *text += &format!(
            "{prefix}number of transactions retried: {} ({}%)\n{prefix}total number of retries: {}\n",
            counts.retried,
            share(counts.retried),
            counts.retries
        );
    }
}

fn write_late_count(text: &mut String, level: &Level, run: &RunReport) {
    let Some(limit_us) = run.latency_limit_us else {
        return;
    };
    let succeeded = run.counts.succeeded;
    let share = if succeeded > 0 {
        percent(run.over_latency_limit, succeeded)
    } else {
        0.0
    };
    let blank = if level.at_least(15) { "" } else { " " };
    *text += &format!(
        "number of transactions above the {} ms latency limit: {}/{succeeded} ({}{blank}%)\n",
        format_fixed(limit_us as f64 / 1000.0, 1),
        run.over_latency_limit,
        format_fixed(share, 3)
    );
}

/// Writes the measured mean and standard deviation, if latencies were measured.
pub(crate) fn write_latency(text: &mut String, prefix: &str, counts: &Counts) {
    if counts.latency.count > 0 {
        *text += &format!(
            "{prefix}latency average = {} ms\n{prefix}latency stddev = {} ms\n",
            format_fixed(counts.latency.mean_ms(), 3),
            format_fixed(counts.latency.stddev_ms(), 3)
        );
    }
}

/// Writes the additional lines of `--percentiles`.
pub(crate) fn write_percentiles(text: &mut String, prefix: &str, counts: &Counts) {
    for (percentile, latency_ms) in &counts.percentiles_ms {
        *text += &format!(
            "{prefix}latency p{percentile} = {} ms\n",
            format_fixed(*latency_ms, 3)
        );
    }
}

fn write_latency_summary(text: &mut String, level: &Level, run: &RunReport) {
    let counts = &run.counts;
    if run.measures_latency() {
        write_latency(text, "", counts);
    } else {
        // Without measured latencies, pgbench computes the mean as if clients never paused.
        let connecting_ns = if level.at_least(14) {
            0
        } else {
            run.connecting_ns
        };
        let total_us = to_us(run.duration_ns + connecting_ns);
        let failures = if counts.failures() > 0 && level.at_least(15) {
            " (including failures)"
        } else {
            ""
        };
        *text += &format!(
            "latency average = {} ms{failures}\n",
            format_fixed(
                0.001 * total_us * f64::from(run.clients) / counts.scheduled() as f64,
                3
            )
        );
    }
    write_percentiles(text, "", counts);
    if run.rate_limited {
        let base = if level.at_least(15) {
            counts.succeeded
        } else {
            counts.scheduled()
        };
        *text += &format!(
            "rate limit schedule lag: avg {} (max {}) ms\n",
            format_fixed(0.001 * counts.lag.sum_us / base as f64, 3),
            format_fixed(0.001 * counts.lag.max_us, 3)
        );
    }
}

/// Converts ns to µs: pgbench's unit, which determines its rounding.
fn to_us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// Transactions per second. Only at level 13, the time includes connecting.
pub(crate) fn tps(level: &Level, run: &RunReport, transactions: u64) -> f64 {
    let connecting_ns = if level.at_least(14) {
        0
    } else {
        run.connecting_ns
    };
    transactions as f64 / (to_us(run.duration_ns + connecting_ns) / 1e6)
}

fn write_tps(text: &mut String, level: &Level, run: &RunReport) {
    let counts = &run.counts;
    let tps = tps(level, run, counts.succeeded);
    if !level.at_least(14) {
        // Level 13 subtracts each client's share of the connection time in the second figure.
        let total_us = to_us(run.duration_ns + run.connecting_ns);
        let load_us = total_us - to_us(run.connections_ns) / f64::from(run.clients);
        *text += &format!(
            "tps = {} (including connections establishing)\n\
             tps = {} (excluding connections establishing)\n",
            format_fixed(tps, 6),
            format_fixed(counts.succeeded as f64 / (load_us / 1e6), 6)
        );
    } else if run.reconnect {
        let connections = if level.at_least(15) {
            counts.succeeded + counts.failures()
        } else {
            counts.scheduled()
        };
        *text += &format!(
            "average connection time = {} ms\ntps = {} (including reconnection times)\n",
            format_fixed(0.001 * to_us(run.connections_ns) / connections as f64, 3),
            format_fixed(tps, 6)
        );
    } else {
        *text += &format!(
            "initial connection time = {} ms\ntps = {} (without initial connection time)\n",
            format_fixed(0.001 * to_us(run.connecting_ns), 3),
            format_fixed(tps, 6)
        );
    }
}
