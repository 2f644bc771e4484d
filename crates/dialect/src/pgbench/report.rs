//! The report at the end of a run.
//!
//! In: a [`RunReport`]. Out: the text for standard output. Must never: compute what the run did not measure,
//! or change a line because of an option that pgbench does not have.
//!
//! Levels 13 and 14 include skipped transactions in totals and report no failures. Levels 15 to 17 end the
//! report early if no transaction succeeded, level 18 if there was no transaction.

use super::level::{Level, version_num};
use super::moments::Moments;
use super::number::{format_fixed, format_percent};
use super::options::{Limit, RunOptions, ScriptChoice};
use super::pre_run::TableFacts;

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
    pub succeeded: u64,
    /// Transactions that were not started because they were too late (-R with -L).
    pub skipped: u64,
    /// Transactions that failed with serialization errors.
    pub serialization_failures: u64,
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

#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    pub options: RunOptions,
    /// The scale, counted or from `-s`, and the partitions, if a builtin script runs.
    pub tables: TableFacts,
    pub counts: Counts,
    /// Successful transactions that took longer than `-L`.
    pub over_latency_limit: u64,
    /// Nanoseconds from the first thread's start of the load, after connecting, to the end of the run.
    pub duration_ns: u64,
    /// Nanoseconds from the start of the threads to the first thread's start of the load.
    pub connecting_ns: u64,
    /// Nanoseconds of all connection attempts together; with `-C`, only of those within transactions.
    pub connections_ns: u64,
    /// The figures of each script, in the order of the options.
    pub scripts: Vec<ScriptReport>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptReport {
    pub counts: Counts,
    /// The script's commands in order, for `-r`.
    pub commands: Vec<CommandReport>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandReport {
    pub first_line: String,
    pub latency: Moments,
    /// Errors that were not retried.
    pub failures: u64,
    pub retries: u64,
}

/// The complete report, without the banner.
pub fn report_text(level: &Level, run: &RunReport) -> String {
    let mut writer = ReportWriter {
        text: String::new(),
        level,
        run,
        options: &run.options,
    };
    writer.write_report();
    writer.text
}

/// The text written so far, and what determines the next lines.
struct ReportWriter<'a> {
    text: String,
    level: &'a Level,
    run: &'a RunReport,
    options: &'a RunOptions,
}

impl ReportWriter<'_> {
    fn write_report(&mut self) {
        self.write_parameters();
        let counts = &self.run.counts;
        let total = counts.scheduled();
        if self.level.at_least(18) && total == 0 {
            return;
        }
        if self.level.at_least(15) {
            self.write_failures("", counts);
            if counts.succeeded + counts.skipped == 0 && !self.level.at_least(18) {
                return;
            }
        } else if total == 0 {
            return;
        }
        if self.options.can_skip() {
            self.text += &format!(
                "number of transactions skipped: {} ({}{}%)\n",
                counts.skipped,
                format_percent(counts.skipped, total, 3),
                self.blank_before_percent()
            );
        }
        self.write_late_count();
        self.write_latency_summary();
        self.write_tps();
        let (choices, scripts) = (&self.options.scripts, &self.run.scripts);
        for (number, (choice, script)) in (1..).zip(choices.iter().zip(scripts)) {
            if choices.len() > 1 {
                self.write_script(number, choice, &script.counts);
            }
            if self.options.report_per_command {
                self.write_commands(if choices.len() > 1 { " - " } else { "" }, script);
            }
        }
    }

    fn write_parameters(&mut self) {
        let options = self.options;
        let description = match &options.scripts[..] {
            [script] => script.description(),
            _ => "multiple scripts".to_owned(),
        };
        self.text += &format!(
            "transaction type: {description}\nscaling factor: {}\n",
            self.run.tables.scale
        );
        if let Some((method, count)) = self.run.tables.partitions {
            let method = method.name();
            self.text += &format!("partition method: {method}\npartitions: {count}\n");
        }
        self.text += &format!(
            "query mode: {}\nnumber of clients: {}\nnumber of threads: {}\n",
            options.protocol.name(),
            options.clients,
            options.threads
        );
        if self.level.at_least(15) && options.max_tries != 0 {
            self.text += &format!("maximum number of tries: {}\n", options.max_tries);
        }
        let processed = self.run.counts.succeeded;
        self.text += &match options.limit {
            Limit::Transactions(per_client) => {
                let requested = u64::from(per_client) * u64::from(options.clients);
                format!(
                    "number of transactions per client: {per_client}\n\
                     number of transactions actually processed: {processed}/{requested}\n"
                )
            }
            Limit::Seconds(seconds) => format!(
                "duration: {seconds} s\nnumber of transactions actually processed: {processed}\n"
            ),
        };
    }

    /// Writes the failures, also of each kind, and the retries; only for level 15 and later. `prefix`: how lines begin,
    /// ` - ` in a script's block.
    fn write_failures(&mut self, prefix: &str, counts: &Counts) {
        let share = |part| format_percent(part, counts.scheduled(), 3);
        let failures = counts.failures();
        self.text += &format!(
            "{prefix}number of failed transactions: {failures} ({}%)\n",
            share(failures)
        );
        if self.options.failures_detailed {
            let kinds = [
                ("serialization", counts.serialization_failures),
                ("deadlock", counts.deadlock_failures),
                ("other", counts.other_failures),
            ];
            let kind_count = if self.level.at_least(19) { 3 } else { 2 };
            for (kind, number) in &kinds[..kind_count] {
                let share = share(*number);
                self.text += &format!("{prefix}number of {kind} failures: {number} ({share}%)\n");
            }
        }
        if self.options.max_tries != 1 {
            self.text += &format!(
                "{prefix}number of transactions retried: {} ({}%)\n{prefix}total number of retries: {}\n",
                counts.retried,
                share(counts.retried),
                counts.retries
            );
        }
    }

    /// Up to level 14, a blank precedes the sign in the lines about all scripts together.
    fn blank_before_percent(&self) -> &'static str {
        if self.level.at_least(15) { "" } else { " " }
    }

    fn write_late_count(&mut self) {
        let Some(limit_us) = self.options.latency_limit_us else {
            return;
        };
        let (late, succeeded) = (self.run.over_latency_limit, self.run.counts.succeeded);
        self.text += &format!(
            "number of transactions above the {} ms latency limit: {late}/{succeeded} ({}{}%)\n",
            format_fixed(limit_us as f64 / 1000.0, 1),
            // Not NaN if no transaction succeeded.
            format_percent(late, succeeded.max(1), 3),
            self.blank_before_percent()
        );
    }

    /// Writes the measured mean and standard deviation, if latencies were measured.
    fn write_latency(&mut self, prefix: &str, counts: &Counts) {
        if counts.latency.count > 0 {
            self.text += &format!(
                "{prefix}latency average = {} ms\n{prefix}latency stddev = {} ms\n",
                format_fixed(counts.latency.mean_ms(), 3),
                format_fixed(counts.latency.stddev_ms(), 3)
            );
        }
    }

    /// Writes the additional lines of `--percentiles`.
    fn write_percentiles(&mut self, prefix: &str, counts: &Counts) {
        for (percentile, latency_ms) in &counts.percentiles_ms {
            let latency_ms = format_fixed(*latency_ms, 3);
            self.text += &format!("{prefix}latency p{percentile} = {latency_ms} ms\n");
        }
    }

    fn write_latency_summary(&mut self) {
        let (options, counts) = (self.options, &self.run.counts);
        let is_rate_limited = options.rate_tps.is_some();
        if is_rate_limited || options.progress_s.is_some() || options.latency_limit_us.is_some() {
            self.write_latency("", counts);
        } else {
            // Without these options pgbench measures no latencies, and computes the mean as if clients never paused.
            let failures = if counts.failures() > 0 && self.level.at_least(15) {
                " (including failures)"
            } else {
                ""
            };
            let mean_ms =
                0.001 * self.elapsed_us() * f64::from(options.clients) / counts.scheduled() as f64;
            let mean_ms = format_fixed(mean_ms, 3);
            self.text += &format!("latency average = {mean_ms} ms{failures}\n");
        }
        self.write_percentiles("", counts);
        if is_rate_limited {
            let base = if self.level.at_least(15) { counts.succeeded } else { counts.scheduled() };
            self.text += &format!(
                "rate limit schedule lag: avg {} (max {}) ms\n",
                format_fixed(0.001 * counts.lag.sum_us / base as f64, 3),
                format_fixed(0.001 * counts.lag.max_us, 3)
            );
        }
    }

    /// Microseconds of the load. Only at level 13, the time includes connecting.
    fn elapsed_us(&self) -> f64 {
        let connecting_ns = if self.level.at_least(14) { 0 } else { self.run.connecting_ns };
        to_us(self.run.duration_ns + connecting_ns)
    }

    /// The rate of so many transactions, as printed.
    fn tps(&self, transactions: u64) -> String {
        format_fixed(transactions as f64 / (self.elapsed_us() / 1e6), 6)
    }

    fn write_tps(&mut self) {
        let (run, counts) = (self.run, &self.run.counts);
        let tps = self.tps(counts.succeeded);
        self.text += &if !self.level.at_least(14) {
            // Level 13 subtracts each client's share of the connection time in the second figure.
            let connections_us = to_us(run.connections_ns) / f64::from(self.options.clients);
            let load_us = self.elapsed_us() - connections_us;
            format!(
                "tps = {tps} (including connections establishing)\n\
                 tps = {} (excluding connections establishing)\n",
                format_fixed(counts.succeeded as f64 / (load_us / 1e6), 6)
            )
        } else if self.options.reconnect {
            let connections = if self.level.at_least(15) {
                counts.succeeded + counts.failures()
            } else {
                counts.scheduled()
            };
            let connect_ms = 0.001 * to_us(run.connections_ns) / connections as f64;
            format!(
                "average connection time = {} ms\ntps = {tps} (including reconnection times)\n",
                format_fixed(connect_ms, 3)
            )
        } else {
            format!(
                "initial connection time = {} ms\ntps = {tps} (without initial connection time)\n",
                format_fixed(0.001 * to_us(run.connecting_ns), 3)
            )
        };
    }

    /// Writes the block of one of several scripts, without its commands.
    fn write_script(&mut self, number: usize, choice: &ScriptChoice, counts: &Counts) {
        const PREFIX: &str = " - ";
        let weights = self.options.scripts.iter();
        let weights: u64 = weights.map(|choice| u64::from(choice.weight)).sum();
        self.text += &format!(
            "SQL script {number}: {}\n - weight: {} (targets {}% of total)\n",
            choice.description(),
            choice.weight,
            format_percent(u64::from(choice.weight), weights, 1)
        );
        // "N transactions" counts all transactions, but at levels 15 to 17 only the successful ones.
        let (part, total) = match self.level.major() {
            15..=17 => (counts.succeeded, self.run.counts.succeeded),
            _ => (counts.scheduled(), self.run.counts.scheduled()),
        };
        let (share, tps) = (format_percent(part, total, 1), self.tps(counts.succeeded));
        if self.level.at_least(18) {
            self.text += &format!(" - {part} transactions ({share}% of total)\n");
            if counts.scheduled() > 0 {
                let succeeded = counts.succeeded;
                self.text += &format!(
                    " - number of transactions actually processed: {succeeded} (tps = {tps})\n"
                );
            }
        } else {
            self.text += &format!(" - {part} transactions ({share}% of total, tps = {tps})\n");
        }
        if self.level.at_least(15) && (counts.scheduled() > 0 || !self.level.at_least(18)) {
            self.write_failures(PREFIX, counts);
        }
        if self.options.can_skip() && counts.scheduled() > 0 {
            self.text += &format!(
                " - number of transactions skipped: {} ({}%)\n",
                counts.skipped,
                format_percent(counts.skipped, counts.scheduled(), 3)
            );
        }
        self.write_latency(PREFIX, counts);
        self.write_percentiles(PREFIX, counts);
    }

    fn write_commands(&mut self, prefix: &str, script: &ScriptReport) {
        let has_retries = self.options.max_tries != 1;
        let has_failures = self.level.at_least(15);
        let heading = if !has_failures {
            ""
        } else if has_retries {
            ", failures and retries"
        } else {
            " and failures"
        };
        // Between the columns after the first.
        let gap = if self.level.at_least(18) { " " } else { "  " };
        self.text += &format!("{prefix}statement latencies in milliseconds{heading}:\n");
        for command in &script.commands {
            let mean = format_fixed(command.latency.mean_ms(), 3);
            self.text += &format!("   {mean:>11}  ");
            if has_failures {
                self.text += &format!("{:>10}{gap}", command.failures);
            }
            if has_failures && has_retries {
                self.text += &format!("{:>10}{gap}", command.retries);
            }
            self.text += &format!("{}\n", command.first_line);
        }
    }
}

/// Converts ns to µs: pgbench's unit, which determines its rounding.
fn to_us(ns: u64) -> f64 {
    ns as f64 / 1e3
}
