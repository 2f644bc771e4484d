//! The metrics of a run in progress for Prometheus, in text exposition format 0.0.4.
//!
//! In: counts since the start of the load, the last second, observations of the server. Out: metric
//! families, each with HELP and TYPE, names with base units. Must never: show a password; write a sample
//! for an unknown value; let a counter decrease.
//!
//! Rules: <https://prometheus.io/docs/instrumenting/exposition_formats/> and
//! <https://prometheus.io/docs/practices/naming/>; `promtool check metrics` reports no problem.

mod families;

use hdrhistogram::{Counter, Histogram};
use prony_store::{Second, ServerSecond};
use std::io::{self, Write};

pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of the buckets of response times, in seconds.
pub const BUCKET_BOUNDS_S: [f64; 20] = [
    50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0, 25.0, 50.0, 100.0,
];

/// Name, type and help of each family, for the documentation.
pub fn families() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    families::list()
}

/// What Prometheus is told of a run.
#[derive(Clone, Debug, Default)]
pub struct Exposition {
    /// Labels that describe the run, with their values; never a password.
    pub labels: Vec<(&'static str, String)>,
    pub clients: u32,
    /// Requested rate, in transactions per second; absent in a closed loop.
    pub target_tps: Option<f64>,
    /// One entry per kind, with distinct names.
    pub kinds: Vec<KindTotals>,
    /// Failed transactions by kind, class and code.
    pub errors: Vec<ErrorTotals>,
    /// CPU time of the client's threads, in seconds.
    pub client_cpu_s: Option<f64>,
    /// Starts that were due at the end of the last second and were waiting for a client; absent in a closed
    /// loop.
    pub waiting_starts: Option<u64>,
    /// The last second; absent until the first has ended.
    pub last: Option<Second>,
    pub server: ServerTotals,
}

impl Exposition {
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        families::write(out, self)
    }
}

/// Totals of one kind of transaction since the start of the load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KindTotals {
    pub name: String,
    pub committed: u64,
    /// Rolled back intentionally.
    pub rolled_back: u64,
    pub failed: u64,
    /// Skipped because the start was later than the latency limit.
    pub skipped: u64,
    pub retries: u64,
    /// Number of response times of committed transactions per bucket: at most its bound in [`BUCKET_BOUNDS_S`]
    /// and above the previous bound. Times above the last bound are in no bucket.
    pub buckets: [u64; BUCKET_BOUNDS_S.len()],
    /// Number of response times, including those above the last bound.
    pub samples: u64,
    /// Sum of the response times, in seconds.
    pub sum_s: f64,
}

impl KindTotals {
    /// Adds the response times of a histogram in nanoseconds. Each value is rounded up to the end of its
    /// histogram bucket, at most 0.1 % too high.
    pub fn add_times<C: Counter>(&mut self, times: &Histogram<C>) {
        for recorded in times.iter_recorded() {
            let end_s = times.highest_equivalent(recorded.value_iterated_to()) as f64 / 1e9;
            let index = BUCKET_BOUNDS_S.partition_point(|bound_s| *bound_s < end_s);
            if let Some(bucket) = self.buckets.get_mut(index) {
                *bucket += recorded.count_at_value().as_u64();
            }
        }
    }
}

/// Failed transactions of one kind, class and code since the start of the load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorTotals {
    pub kind: String,
    /// Class, as in the Run document.
    pub class: String,
    /// SQLSTATE, or the error number of a server that has no SQLSTATE; empty for errors that are
    /// counted together.
    pub code: String,
    pub count: u64,
}

/// Totals of the observations of the server since the start of the load; values never reported are absent.
#[derive(Clone, Debug, Default)]
pub struct ServerTotals {
    commits: Option<u64>,
    rollbacks: Option<u64>,
    cache_hits: Option<u64>,
    cache_reads: Option<u64>,
    log_bytes: Option<u64>,
    temp_bytes: Option<u64>,
    deadlocks: Option<u64>,
    cpu_s: Option<f64>,
    last: Option<ServerSecond>,
}

impl ServerTotals {
    pub fn add(&mut self, second: &ServerSecond) {
        for (sum, increase) in [
            (&mut self.commits, second.commits),
            (&mut self.rollbacks, second.rollbacks),
            (&mut self.cache_hits, second.cache_hits),
            (&mut self.cache_reads, second.cache_reads),
            (&mut self.log_bytes, second.log_bytes),
            (&mut self.temp_bytes, second.temp_bytes),
            (&mut self.deadlocks, second.deadlocks),
        ] {
            if let Some(increase) = increase {
                *sum = Some(sum.unwrap_or(0).saturating_add(increase));
            }
        }
        let cpu_s = second
            .machine
            .as_ref()
            .and_then(|machine| machine.server_cpu_s);
        if let Some(cpu_s) = cpu_s {
            *self.cpu_s.get_or_insert_default() += cpu_s.max(0.0);
        }
        self.last = Some(second.clone());
    }
}

#[cfg(test)]
mod tests;
