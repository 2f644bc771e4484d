//! The report at the end of a run.
//!
//! In: a [`RunReport`]. Out: the text for standard output. Must never: compute what the run did not
//! measure, or change a line for an option that pgbench does not have.
//!
//! 13 and 14 count skipped transactions among all, and know no failures; 15 to 17 end the report where
//! nothing succeeded, 18 where nothing was counted at all.

use super::level::{Level, version_num};
use super::moments::Moments;
use super::number::{fixed, percent};
use super::options::{Limit, PartitionMethod, Protocol};
use super::script_report::{ScriptReport, script_block};

/// The first line of a run's standard output, printed once connected. Empty at 13, which has none.
///
/// `server_version`: the server's parameter of that name. Where only a major was asked for and the
/// server is of that major, pgbench is taken to be the server's own.
pub fn banner(level: &Level, server_version: &str) -> String {
    if !level.at_least(14) {
        return String::new();
    }
    match version_num(server_version) {
        Some(server) if server == level.version_num() => format!("pgbench ({})\n", level.text()),
        Some(server) if !level.minor_said() && server / 10_000 == u32::from(level.major()) => {
            format!("pgbench ({server_version})\n")
        }
        _ => format!("pgbench ({}, server {server_version})\n", level.text()),
    }
}

/// What became of transactions, and how long they took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Succeeded.
    pub succeeded: u64,
    /// Never started because they were hopelessly late (-R with -L).
    pub skipped: u64,
    /// Failed by serialization errors.
    pub serialization_failures: u64,
    /// Failed by deadlocks.
    pub deadlock_failures: u64,
    /// Failed by other errors (--continue-on-error).
    pub other_failures: u64,
    /// Tried more than once.
    pub retried: u64,
    /// All tries but the first ones.
    pub retries: u64,
    /// Latency of the successful: from the scheduled start, all tries included.
    pub latency: Moments,
    /// How late they started (-R).
    pub lag: Moments,
    /// Percentiles asked for: per cent and latency in ms.
    pub percentiles_ms: Vec<(f64, f64)>,
}

impl Counts {
    /// All failures.
    pub fn failures(&self) -> u64 {
        self.serialization_failures + self.deadlock_failures + self.other_failures
    }

    /// All that were due: successful, skipped and failed.
    pub fn all(&self) -> u64 {
        self.succeeded + self.skipped + self.failures()
    }
}

/// Everything the report is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// Scale, as counted or as `-s` said.
    pub scale: u32,
    /// How pgbench_accounts is partitioned, where a builtin script is used.
    pub partitions: Option<(PartitionMethod, u32)>,
    /// `-M`.
    pub protocol: Protocol,
    /// `-c`.
    pub clients: u32,
    /// `-j`, as used.
    pub threads: u32,
    /// `--max-tries`; 0 is without limit.
    pub max_tries: u32,
    /// `-t` or `-T`.
    pub limit: Limit,
    /// `-R` was given.
    pub rate_limited: bool,
    /// `-L`, µs.
    pub latency_limit_us: Option<u64>,
    /// `-P` was given: latencies were measured.
    pub progress: bool,
    /// `-C`.
    pub reconnect: bool,
    /// `--failures-detailed`.
    pub failures_detailed: bool,
    /// `-r`.
    pub per_command: bool,
    /// All transactions.
    pub counts: Counts,
    /// Successful ones that took longer than `-L`.
    pub late: u64,
    /// From the first thread's start after connecting to the end of everything, ns.
    pub duration_ns: u64,
    /// From the start of all to the first thread's start after connecting, ns.
    pub connecting_ns: u64,
    /// Sum of the time of all connection attempts, ns; with `-C` those of transactions.
    pub connections_ns: u64,
    /// The scripts in order; never empty.
    pub scripts: Vec<ScriptReport>,
}

impl RunReport {
    /// Whether latencies were measured transaction by transaction as far as this report goes.
    fn measured(&self) -> bool {
        self.rate_limited || self.progress || self.latency_limit_us.is_some()
    }

    pub(crate) fn skips(&self) -> bool {
        self.rate_limited && self.latency_limit_us.is_some()
    }
}

/// The whole report, without the banner.
pub fn report(level: &Level, run: &RunReport) -> String {
    let mut text = String::new();
    parameters(&mut text, level, run);
    let counts = &run.counts;
    let all = counts.all();
    if level.at_least(18) && all == 0 {
        return text;
    }
    if level.at_least(15) {
        text += &format!(
            "number of failed transactions: {} ({}%)\n",
            counts.failures(),
            fixed(percent(counts.failures(), all), 3)
        );
        details(&mut text, "", level, run, counts);
        if counts.succeeded + counts.skipped == 0 && !level.at_least(18) {
            return text;
        }
    } else if all == 0 {
        return text;
    }
    if run.skips() {
        let blank = if level.at_least(15) { "" } else { " " };
        text += &format!(
            "number of transactions skipped: {} ({}{blank}%)\n",
            counts.skipped,
            fixed(percent(counts.skipped, all), 3)
        );
    }
    late(&mut text, level, run);
    latency(&mut text, level, run);
    speed(&mut text, level, run);
    if run.scripts.len() > 1 || run.per_command {
        for (number, script) in run.scripts.iter().enumerate() {
            script_block(&mut text, level, run, number + 1, script);
        }
    }
    text
}

fn parameters(text: &mut String, level: &Level, run: &RunReport) {
    let kind = match &run.scripts[..] {
        [only] => only.description.as_str(),
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
        Limit::Transactions(each) => {
            let asked = u64::from(each) * u64::from(run.clients);
            *text += &format!(
                "number of transactions per client: {each}\n\
                 number of transactions actually processed: {processed}/{asked}\n"
            );
        }
        Limit::Seconds(seconds) => {
            *text += &format!(
                "duration: {seconds} s\nnumber of transactions actually processed: {processed}\n"
            );
        }
    }
}

/// Failures by kind, and retries: 15 and later. `mark` begins the lines of a script's block.
pub(crate) fn details(
    text: &mut String,
    mark: &str,
    level: &Level,
    run: &RunReport,
    counts: &Counts,
) {
    let all = counts.all();
    let share = |part| fixed(percent(part, all), 3);
    if run.failures_detailed {
        let kinds = [
            ("serialization", counts.serialization_failures),
            ("deadlock", counts.deadlock_failures),
            ("other", counts.other_failures),
        ];
        let known = if level.at_least(19) { 3 } else { 2 };
        for (kind, number) in &kinds[..known] {
            *text += &format!(
                "{mark}number of {kind} failures: {number} ({}%)\n",
                share(*number)
            );
        }
    }
    if run.max_tries != 1 {
        *text += &format!(
            "{mark}number of transactions retried: {} ({}%)\n{mark}total number of retries: {}\n",
            counts.retried,
            share(counts.retried),
            counts.retries
        );
    }
}

fn late(text: &mut String, level: &Level, run: &RunReport) {
    let Some(limit_us) = run.latency_limit_us else {
        return;
    };
    let succeeded = run.counts.succeeded;
    let share = if succeeded > 0 {
        percent(run.late, succeeded)
    } else {
        0.0
    };
    let blank = if level.at_least(15) { "" } else { " " };
    *text += &format!(
        "number of transactions above the {} ms latency limit: {}/{succeeded} ({}{blank}%)\n",
        fixed(limit_us as f64 / 1000.0, 1),
        run.late,
        fixed(share, 3)
    );
}

/// Mean and deviation as measured; nothing where nothing was.
pub(crate) fn measured(text: &mut String, mark: &str, counts: &Counts) {
    if counts.latency.count > 0 {
        *text += &format!(
            "{mark}latency average = {} ms\n{mark}latency stddev = {} ms\n",
            fixed(counts.latency.mean_ms(), 3),
            fixed(counts.latency.stddev_ms(), 3)
        );
    }
}

/// The added lines of `--percentiles`.
pub(crate) fn percentiles(text: &mut String, mark: &str, counts: &Counts) {
    for (percentile, latency_ms) in &counts.percentiles_ms {
        *text += &format!(
            "{mark}latency p{percentile} = {} ms\n",
            fixed(*latency_ms, 3)
        );
    }
}

fn latency(text: &mut String, level: &Level, run: &RunReport) {
    let counts = &run.counts;
    if run.measured() {
        measured(text, "", counts);
    } else {
        // Not measured: what it must have been if clients never paused.
        let connecting_ns = if level.at_least(14) {
            0
        } else {
            run.connecting_ns
        };
        let whole_us = us(run.duration_ns + connecting_ns);
        let failures = if counts.failures() > 0 && level.at_least(15) {
            " (including failures)"
        } else {
            ""
        };
        *text += &format!(
            "latency average = {} ms{failures}\n",
            fixed(
                0.001 * whole_us * f64::from(run.clients) / counts.all() as f64,
                3
            )
        );
    }
    percentiles(text, "", counts);
    if run.rate_limited {
        let base = if level.at_least(15) {
            counts.succeeded
        } else {
            counts.all()
        };
        *text += &format!(
            "rate limit schedule lag: avg {} (max {}) ms\n",
            fixed(0.001 * counts.lag.sum_us / base as f64, 3),
            fixed(0.001 * counts.lag.max_us, 3)
        );
    }
}

/// ns to µs, pgbench's unit: its roundings follow from it.
fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// Transactions a second in the time over which 14 and later (13: with connecting) count them.
pub(crate) fn tps(level: &Level, run: &RunReport, transactions: u64) -> f64 {
    let connecting_ns = if level.at_least(14) {
        0
    } else {
        run.connecting_ns
    };
    transactions as f64 / (us(run.duration_ns + connecting_ns) / 1e6)
}

fn speed(text: &mut String, level: &Level, run: &RunReport) {
    let counts = &run.counts;
    let tps = tps(level, run, counts.succeeded);
    if !level.at_least(14) {
        // 13: the second takes each client's share of the connecting out of the whole.
        let whole_us = us(run.duration_ns + run.connecting_ns);
        let without_us = whole_us - us(run.connections_ns) / f64::from(run.clients);
        *text += &format!(
            "tps = {} (including connections establishing)\n\
             tps = {} (excluding connections establishing)\n",
            fixed(tps, 6),
            fixed(counts.succeeded as f64 / (without_us / 1e6), 6)
        );
    } else if run.reconnect {
        let connections = if level.at_least(15) {
            counts.succeeded + counts.failures()
        } else {
            counts.all()
        };
        *text += &format!(
            "average connection time = {} ms\ntps = {} (including reconnection times)\n",
            fixed(0.001 * us(run.connections_ns) / connections as f64, 3),
            fixed(tps, 6)
        );
    } else {
        *text += &format!(
            "initial connection time = {} ms\ntps = {} (without initial connection time)\n",
            fixed(0.001 * us(run.connecting_ns), 3),
            fixed(tps, 6)
        );
    }
}
