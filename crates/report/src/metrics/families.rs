//! The metric families of an [`Exposition`], in the text format.
//!
//! In: an [`Exposition`]. Out: its text. Must never: write a family twice, or a sample before its family.

use super::{BUCKET_BOUNDS_S, Exposition, ServerTotals};
use prony_store::{SecondPhase, ServerSecond};
use std::fmt::Display;
use std::io::{self, Write};

/// Name, type and help of each family, one line each.
const FAMILIES: &str = "\
prony_run_info gauge Labels that describe the run; always 1.
prony_clients gauge Virtual users.
prony_target_transactions_per_second gauge Requested transactions per second.
prony_connections gauge Open connections at the end of the last second.
prony_elapsed_seconds gauge Time from the start of the load to the end of the last second.
prony_measuring gauge Whether the last second belongs to the measured window (1) or to the warm-up (0).
prony_waiting_starts gauge Starts that were due at the end of the last second and were waiting for a client.
prony_transactions_total counter Transactions since the start of the load, warm-up included, by kind and outcome.
prony_retries_total counter Retries of transactions, by kind.
prony_errors_total counter Failed transactions by kind, class and SQLSTATE or error number.
prony_response_seconds histogram Response times of committed transactions since the start of the load, measured from the scheduled start.
prony_recent_response_seconds summary Response times of committed transactions of all kinds; quantiles cover the last second and are omitted if it has too few samples.
prony_client_cpu_seconds_total counter CPU time of the client's threads since the start of the load.
prony_client_loop_delay_seconds gauge Longest iteration of an event loop of the client in the last second.
prony_server_commits_total counter Transactions that the server committed, by its own count.
prony_server_rollbacks_total counter Transactions that the server rolled back, by its own count.
prony_server_cache_hits_total counter Pages that the server found in its cache.
prony_server_cache_reads_total counter Pages that the server had to read into its cache.
prony_server_log_bytes_total counter Bytes of the server's write-ahead or redo log.
prony_server_temporary_bytes_total counter Bytes of the server's temporary files.
prony_server_deadlocks_total counter Deadlocks, by the server's count.
prony_server_cpu_seconds_total counter CPU time of the database server's processes since the start of the load.
prony_server_cpu_busy_ratio gauge Share of the CPUs of the server's machine that were busy in the last second.
prony_server_cpu_io_wait_ratio gauge Share of the CPUs of the server's machine that were idle while I/O was in progress.
prony_server_cpu_steal_ratio gauge Share of the CPU time of the server's machine that the hypervisor withheld.
prony_server_disk_busy_ratio gauge Share of the last second in which the busiest disk had I/O in progress.
prony_server_replication_lag_seconds gauge Replication lag of the slowest replica, in seconds.
prony_server_replication_lag_bytes gauge Replication lag of the slowest replica, in bytes of log.
prony_server_connections gauge Connections of clients, by the server's count.
prony_server_active_connections gauge Connections that execute a statement, including those that wait during one.
prony_server_lock_waiting_connections gauge Connections that wait for a lock.
prony_server_vacuums gauge Vacuums in progress.
prony_server_session_states gauge Active connections by wait event; CPU is the number of those that do not wait.
";

/// Name, type and help of each family, in the order in which they are written.
pub(super) fn list() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    FAMILIES.lines().filter_map(|line| {
        let (name, description) = line.split_once(' ')?;
        let (metric_type, help) = description.split_once(' ')?;
        Some((name, metric_type, help))
    })
}

pub(super) fn write(out: &mut dyn Write, all: &Exposition) -> io::Result<()> {
    let text = &mut MetricsText { out };
    write_run(text, all)?;
    write_transactions(text, all)?;
    write_responses(text, all)?;
    write_recent_responses(text, all)?;
    text.single("prony_client_cpu_seconds_total", all.client_cpu_s)?;
    let delay_ns = all.last.as_ref().map(|last| last.loop_delay_max_ns);
    let delay_s = delay_ns.map(|ns| ns as f64 / 1e9);
    text.single("prony_client_loop_delay_seconds", delay_s)?;
    write_server_counts(text, &all.server)?;
    match &all.server.last {
        Some(last) => write_server_gauges(text, last),
        None => Ok(()),
    }
}

struct MetricsText<'a> {
    out: &'a mut dyn Write,
}

impl MetricsText<'_> {
    /// Writes the HELP and TYPE lines of a family.
    fn family(&mut self, name: &str) -> io::Result<()> {
        let family = list().find(|(family, ..)| *family == name);
        let (_, metric_type, help) = family.ok_or_else(|| io::Error::other(name.to_owned()))?;
        writeln!(
            self.out,
            "# HELP {name} {help}\n# TYPE {name} {metric_type}"
        )
    }

    fn sample(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        value: impl Display,
    ) -> io::Result<()> {
        self.out.write_all(name.as_bytes())?;
        for (index, (label, text)) in labels.iter().enumerate() {
            let separator = if index == 0 { '{' } else { ',' };
            write!(self.out, "{separator}{label}=\"{}\"", escaped(text))?;
        }
        let end = if labels.is_empty() { "" } else { "}" };
        writeln!(self.out, "{end} {value}")
    }

    /// Writes a family with one sample without labels; nothing if its value is unknown.
    fn single(&mut self, name: &str, value: Option<impl Display>) -> io::Result<()> {
        let Some(value) = value else { return Ok(()) };
        self.family(name)?;
        self.sample(name, &[], value)
    }
}

/// A label's value, escaped for use between quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

fn write_run(text: &mut MetricsText<'_>, all: &Exposition) -> io::Result<()> {
    let name = "prony_run_info";
    text.family(name)?;
    let labels = all.labels.iter();
    let labels = labels.map(|(label, text)| (*label, text.as_str()));
    text.sample(name, &labels.collect::<Vec<_>>(), 1)?;
    text.single("prony_clients", Some(all.clients))?;
    text.single("prony_target_transactions_per_second", all.target_tps)?;
    let last = all.last.as_ref();
    text.single("prony_connections", last.map(|last| last.connections))?;
    let elapsed_s = last.map(|last| last.at_s + last.length_s);
    text.single("prony_elapsed_seconds", elapsed_s)?;
    let measuring = last.map(|last| u8::from(last.phase != SecondPhase::Warmup));
    text.single("prony_measuring", measuring)?;
    text.single("prony_waiting_starts", all.waiting_starts)
}

fn write_transactions(text: &mut MetricsText<'_>, all: &Exposition) -> io::Result<()> {
    let name = "prony_transactions_total";
    text.family(name)?;
    for kind in &all.kinds {
        for (outcome, count) in [
            ("committed", kind.committed),
            ("rolled_back", kind.rolled_back),
            ("failed", kind.failed),
            ("skipped", kind.skipped),
        ] {
            text.sample(name, &[("kind", &kind.name), ("outcome", outcome)], count)?;
        }
    }
    let name = "prony_retries_total";
    text.family(name)?;
    for kind in &all.kinds {
        text.sample(name, &[("kind", &kind.name)], kind.retries)?;
    }
    let name = "prony_errors_total";
    text.family(name)?;
    for error in &all.errors {
        let labels = [
            ("kind", &*error.kind),
            ("class", &error.class),
            ("code", &error.code),
        ];
        text.sample(name, &labels, error.count)?;
    }
    Ok(())
}

fn write_responses(text: &mut MetricsText<'_>, all: &Exposition) -> io::Result<()> {
    text.family("prony_response_seconds")?;
    for kind in &all.kinds {
        let name = "prony_response_seconds_bucket";
        let mut cumulative = 0;
        for (bound_s, count) in BUCKET_BOUNDS_S.iter().zip(&kind.buckets) {
            cumulative += count;
            let bound = bound_s.to_string();
            text.sample(name, &[("kind", &kind.name), ("le", &bound)], cumulative)?;
        }
        text.sample(name, &[("kind", &kind.name), ("le", "+Inf")], kind.samples)?;
        let labels = [("kind", kind.name.as_str())];
        text.sample("prony_response_seconds_sum", &labels, kind.sum_s)?;
        text.sample("prony_response_seconds_count", &labels, kind.samples)?;
    }
    Ok(())
}

/// As usual in a summary, quantiles cover a short recent period and sums cover the whole run.
fn write_recent_responses(text: &mut MetricsText<'_>, all: &Exposition) -> io::Result<()> {
    let name = "prony_recent_response_seconds";
    text.family(name)?;
    if let Some(last) = &all.last {
        for (quantile, ns) in [
            ("0.5", last.p50_ns),
            ("0.95", last.p95_ns),
            ("0.99", last.p99_ns),
        ] {
            if let Some(ns) = ns {
                text.sample(name, &[("quantile", quantile)], ns as f64 / 1e9)?;
            }
        }
    }
    let sum_s: f64 = all.kinds.iter().map(|kind| kind.sum_s).sum();
    // The sum of no floats is -0.
    text.sample("prony_recent_response_seconds_sum", &[], sum_s + 0.0)?;
    let count: u64 = all.kinds.iter().map(|kind| kind.samples).sum();
    text.sample("prony_recent_response_seconds_count", &[], count)
}

fn write_server_counts(text: &mut MetricsText<'_>, server: &ServerTotals) -> io::Result<()> {
    text.single("prony_server_commits_total", server.commits)?;
    text.single("prony_server_rollbacks_total", server.rollbacks)?;
    text.single("prony_server_cache_hits_total", server.cache_hits)?;
    text.single("prony_server_cache_reads_total", server.cache_reads)?;
    text.single("prony_server_log_bytes_total", server.log_bytes)?;
    text.single("prony_server_temporary_bytes_total", server.temp_bytes)?;
    text.single("prony_server_deadlocks_total", server.deadlocks)?;
    text.single("prony_server_cpu_seconds_total", server.cpu_s)
}

fn write_server_gauges(text: &mut MetricsText<'_>, last: &ServerSecond) -> io::Result<()> {
    let machine = last.machine.clone().unwrap_or_default();
    text.single("prony_server_cpu_busy_ratio", machine.busy_share)?;
    text.single("prony_server_cpu_io_wait_ratio", machine.io_wait_share)?;
    text.single("prony_server_cpu_steal_ratio", machine.steal_share)?;
    text.single("prony_server_disk_busy_ratio", machine.disk_busy_share)?;
    text.single(
        "prony_server_replication_lag_seconds",
        last.replication_lag_s,
    )?;
    text.single(
        "prony_server_replication_lag_bytes",
        last.replication_lag_bytes,
    )?;
    text.single("prony_server_connections", last.connections)?;
    text.single("prony_server_active_connections", last.active)?;
    text.single("prony_server_lock_waiting_connections", last.lock_waits)?;
    text.single("prony_server_vacuums", last.vacuums)?;
    if last.waits.is_empty() {
        return Ok(());
    }
    let name = "prony_server_session_states";
    text.family(name)?;
    for (event, count) in &last.waits {
        text.sample(name, &[("event", event)], count)?;
    }
    Ok(())
}
