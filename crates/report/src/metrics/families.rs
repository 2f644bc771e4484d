//! The metric families.
//!
//! In: an [`Exposition`]. Out: its text. Must never: write a family twice, or a sample without its
//! family.

use super::{BOUNDS_NS, Exposition, KindSoFar, ServerSoFar};
use prony_store::ServerSecond;
use std::fmt::Display;
use std::io::{self, Write};

const COUNTER: &str = "counter";
const GAUGE: &str = "gauge";

pub(super) fn write(out: &mut dyn Write, all: &Exposition) -> io::Result<()> {
    let mut page = Page { out };
    run(&mut page, all)?;
    transactions(&mut page, all)?;
    responses(&mut page, all)?;
    recent(&mut page, all)?;
    client(&mut page, all)?;
    server_counts(&mut page, &all.server)?;
    match &all.server.last {
        Some(last) => server_now(&mut page, last),
        None => Ok(()),
    }
}

type Labels<'a> = [(&'a str, &'a str)];

/// The text so far.
struct Page<'a> {
    out: &'a mut dyn Write,
}

impl Page<'_> {
    fn family(&mut self, name: &str, sort: &str, help: &str) -> io::Result<()> {
        writeln!(self.out, "# HELP {name} {help}\n# TYPE {name} {sort}")
    }

    fn sample(&mut self, name: &str, labels: &Labels<'_>, value: impl Display) -> io::Result<()> {
        self.out.write_all(name.as_bytes())?;
        for (place, (label, text)) in labels.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
            write!(self.out, "{before}{label}=\"{}\"", escaped(text))?;
        }
        let end = if labels.is_empty() { "" } else { "}" };
        writeln!(self.out, "{end} {value}")
    }

    /// A family of one sample, if its value is known.
    fn one<V: Display>(
        &mut self,
        name: &str,
        sort: &str,
        help: &str,
        value: Option<V>,
    ) -> io::Result<()> {
        let Some(value) = value else { return Ok(()) };
        self.family(name, sort, help)?;
        self.sample(name, &[], value)
    }
}

/// A label's value as it stands between quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

fn run(page: &mut Page<'_>, all: &Exposition) -> io::Result<()> {
    let name = "prony_run_info";
    page.family(name, GAUGE, "What the run is; always 1.")?;
    let labels: Vec<(&str, &str)> = all
        .labels
        .iter()
        .map(|(label, text)| (*label, text.as_str()))
        .collect();
    page.sample(name, &labels, 1)?;
    let help = "Virtual users.";
    page.one("prony_clients", GAUGE, help, Some(all.clients))?;
    let help = "Transactions a second that were asked for.";
    let name = "prony_target_transactions_per_second";
    page.one(name, GAUGE, help, all.target_tps)?;
    let last = all.last.as_ref();
    let help = "Connections that were up at the end of the last second.";
    let up = last.map(|last| last.connections);
    page.one("prony_connections", GAUGE, help, up)?;
    let help = "Time from the start of the load to the end of the last second.";
    let elapsed_s = last.map(|last| last.at_s + last.seconds);
    page.one("prony_elapsed_seconds", GAUGE, help, elapsed_s)?;
    let help = "Whether the last second belongs to the measured window (1) or to the warm-up (0).";
    let measuring = last.map(|last| u8::from(last.part != "warmup"));
    page.one("prony_measuring", GAUGE, help, measuring)?;
    let help = "Starts that were due at the end of the last second and waited for a client.";
    page.one("prony_waiting_starts", GAUGE, help, all.waiting)
}

fn transactions(page: &mut Page<'_>, all: &Exposition) -> io::Result<()> {
    let name = "prony_transactions_total";
    let help = "Transactions since the start of the load, warm-up included, by kind and outcome.";
    page.family(name, COUNTER, help)?;
    for kind in &all.kinds {
        for (outcome, count) in [
            ("committed", kind.committed),
            ("rolled_back", kind.rolled_back),
            ("failed", kind.failed),
            ("skipped", kind.skipped),
        ] {
            let labels = [("kind", kind.name.as_str()), ("outcome", outcome)];
            page.sample(name, &labels, count)?;
        }
    }
    let name = "prony_retries_total";
    page.family(name, COUNTER, "Extra tries of transactions, by kind.")?;
    for kind in &all.kinds {
        page.sample(name, &[("kind", &kind.name)], kind.retries)?;
    }
    let name = "prony_errors_total";
    let help = "Failed transactions by kind, class and SQLSTATE or error number.";
    page.family(name, COUNTER, help)?;
    for error in &all.errors {
        let labels = [
            ("kind", error.kind.as_str()),
            ("class", &error.class),
            ("code", &error.code),
        ];
        page.sample(name, &labels, error.count)?;
    }
    Ok(())
}

fn responses(page: &mut Page<'_>, all: &Exposition) -> io::Result<()> {
    let name = "prony_response_seconds";
    let help = "Response times of committed transactions since the start of the load, from the \
                moment they were due.";
    page.family(name, "histogram", help)?;
    for kind in &all.kinds {
        let mut below = 0;
        for (bound_ns, count) in BOUNDS_NS.iter().zip(&kind.buckets) {
            below += count;
            let bound = (*bound_ns as f64 / 1e9).to_string();
            let labels = [("kind", kind.name.as_str()), ("le", &bound)];
            page.sample("prony_response_seconds_bucket", &labels, below)?;
        }
        let labels = [("kind", kind.name.as_str()), ("le", "+Inf")];
        page.sample("prony_response_seconds_bucket", &labels, kind.times)?;
        let labels = &labels[..1];
        page.sample("prony_response_seconds_sum", labels, kind.sum_s)?;
        page.sample("prony_response_seconds_count", labels, kind.times)?;
    }
    Ok(())
}

/// As usual in a summary, quantiles are of a short while and the sums of all the time.
fn recent(page: &mut Page<'_>, all: &Exposition) -> io::Result<()> {
    let name = "prony_recent_response_seconds";
    let help = "Response times of committed transactions of all kinds; the quantiles are of the \
                last second, and only there with enough samples behind them.";
    page.family(name, "summary", help)?;
    if let Some(last) = &all.last {
        for (quantile, ns) in [
            ("0.5", last.p50_ns),
            ("0.95", last.p95_ns),
            ("0.99", last.p99_ns),
        ] {
            if let Some(ns) = ns {
                page.sample(name, &[("quantile", quantile)], ns as f64 / 1e9)?;
            }
        }
    }
    let sum_s: f64 = all.kinds.iter().map(|kind| kind.sum_s).sum();
    // An empty sum of floats is -0.
    page.sample("prony_recent_response_seconds_sum", &[], sum_s + 0.0)?;
    let times = |kind: &KindSoFar| kind.times;
    let count: u64 = all.kinds.iter().map(times).sum();
    page.sample("prony_recent_response_seconds_count", &[], count)
}

fn client(page: &mut Page<'_>, all: &Exposition) -> io::Result<()> {
    let name = "prony_client_cpu_seconds_total";
    let help = "CPU time of the client's threads since the start of the load.";
    page.one(name, COUNTER, help, all.client_cpu_s)?;
    let name = "prony_client_loop_delay_seconds";
    let help = "Longest turn of any of the client's loops in the last second.";
    let delay = |last: &prony_store::Second| last.loop_delay_max_ns as f64 / 1e9;
    page.one(name, GAUGE, help, all.last.as_ref().map(delay))
}

fn server_counts(page: &mut Page<'_>, server: &ServerSoFar) -> io::Result<()> {
    for (name, help, value) in [
        (
            "prony_server_commits_total",
            "Transactions that the server committed, by its own count.",
            server.commits,
        ),
        (
            "prony_server_rollbacks_total",
            "Transactions that the server rolled back, by its own count.",
            server.rollbacks,
        ),
        (
            "prony_server_cache_hits_total",
            "Pages that the server found in its cache.",
            server.cache_hits,
        ),
        (
            "prony_server_cache_reads_total",
            "Pages that the server had to read into its cache.",
            server.cache_reads,
        ),
        (
            "prony_server_log_bytes_total",
            "Bytes of the server's write-ahead or redo log.",
            server.log_bytes,
        ),
        (
            "prony_server_temporary_bytes_total",
            "Bytes of the server's temporary files.",
            server.temp_bytes,
        ),
        (
            "prony_server_deadlocks_total",
            "Deadlocks, by the server's count.",
            server.deadlocks,
        ),
    ] {
        page.one(name, COUNTER, help, value)?;
    }
    let name = "prony_server_cpu_seconds_total";
    let help = "CPU time of the database server's processes since the start of the load.";
    page.one(name, COUNTER, help, server.cpu_s)
}

fn server_now(page: &mut Page<'_>, last: &ServerSecond) -> io::Result<()> {
    let machine = last.machine.clone().unwrap_or_default();
    for (name, help, value) in [
        (
            "prony_server_cpu_busy_ratio",
            "Share of the CPUs of the server's machine that were at work in the last second.",
            machine.busy,
        ),
        (
            "prony_server_cpu_io_wait_ratio",
            "Share of the CPUs of the server's machine that were idle while I/O was under way.",
            machine.io_wait,
        ),
        (
            "prony_server_cpu_steal_ratio",
            "Share of the CPU time of the server's machine that the hypervisor took.",
            machine.steal,
        ),
        (
            "prony_server_disk_busy_ratio",
            "The busiest disk's share of the last second with I/O under way.",
            machine.disk_busy,
        ),
        (
            "prony_server_replication_lag_seconds",
            "How far the slowest replica was behind.",
            last.replication_lag_s,
        ),
    ] {
        page.one(name, GAUGE, help, value)?;
    }
    let name = "prony_server_replication_lag_bytes";
    let help = "How much log the slowest replica was behind.";
    page.one(name, GAUGE, help, last.replication_lag_bytes)?;
    for (name, help, value) in [
        (
            "prony_server_connections",
            "Connections of clients, by the server's count.",
            last.connections,
        ),
        (
            "prony_server_active_connections",
            "Connections at work or waiting inside a statement.",
            last.active,
        ),
        (
            "prony_server_lock_waiting_connections",
            "Connections that waited for a lock.",
            last.lock_waits,
        ),
        ("prony_server_vacuums", "Vacuums under way.", last.vacuums),
    ] {
        page.one(name, GAUGE, help, value)?;
    }
    if last.waits.is_empty() {
        return Ok(());
    }
    let name = "prony_server_session_states";
    let help = "Connections at work, by what they waited for; CPU is no wait.";
    page.family(name, GAUGE, help)?;
    for (event, count) in &last.waits {
        page.sample(name, &[("event", event)], count)?;
    }
    Ok(())
}
