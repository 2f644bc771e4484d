//! A run as it goes on, for Prometheus: its text exposition format, version 0.0.4.
//!
//! In: counts since the start of the load, the last second, what was seen of the server. Out: metric
//! families, each with HELP and TYPE, names with base units. Must never: show a password; give a zero
//! for what is not known, which is left out; let a counter go back.
//!
//! Rules: <https://prometheus.io/docs/instrumenting/exposition_formats/> and
//! <https://prometheus.io/docs/practices/naming/>; `promtool check metrics` finds nothing.

mod families;

use hdrhistogram::{Counter, Histogram};
use prony_store::{Second, ServerSecond};
use std::io::{self, Write};

/// What an answer says of itself.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of the buckets of response times, nanoseconds.
pub const BOUNDS_NS: [u64; 20] = [
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    25_000_000_000,
    50_000_000_000,
    100_000_000_000,
];

/// All that is shown.
#[derive(Clone, Debug, Default)]
pub struct Exposition {
    /// What the run is: labels and their values, without a password.
    pub labels: Vec<(&'static str, String)>,
    /// Clients.
    pub clients: u32,
    /// Rate that was asked for, transactions a second; absent in a closed loop.
    pub target_tps: Option<f64>,
    /// One entry a kind, with names that differ.
    pub kinds: Vec<KindSoFar>,
    /// Failed transactions by sort.
    pub errors: Vec<ErrorSoFar>,
    /// CPU time of the client's threads, seconds.
    pub client_cpu_s: Option<f64>,
    /// Starts that were due at the end of the last second and waited; absent in a closed loop.
    pub waiting: Option<u64>,
    /// The last second; absent before the first has ended.
    pub last: Option<Second>,
    /// What was seen of the server.
    pub server: ServerSoFar,
}

impl Exposition {
    /// Writes it.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        families::write(out, self)
    }
}

/// One kind of transaction since the start of the load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KindSoFar {
    /// Name.
    pub name: String,
    /// Committed.
    pub committed: u64,
    /// Rolled back by intent.
    pub rolled_back: u64,
    /// Failed.
    pub failed: u64,
    /// Never started, because hopelessly late.
    pub skipped: u64,
    /// Extra tries.
    pub retries: u64,
    /// Response times of committed ones up to each of [`BOUNDS_NS`] and above the bound before; those
    /// above the last bound are in none.
    pub buckets: [u64; BOUNDS_NS.len()],
    /// How many response times.
    pub times: u64,
    /// Their sum, seconds.
    pub sum_s: f64,
}

impl KindSoFar {
    /// Adds response times of a histogram in nanoseconds. What a cell of it holds counts where the
    /// cell ends, at most 0.1 % later.
    pub fn add_times<C: Counter>(&mut self, times: &Histogram<C>) {
        for cell in times.iter_recorded() {
            let end_ns = times.highest_equivalent(cell.value_iterated_to());
            let place = BOUNDS_NS.partition_point(|bound_ns| *bound_ns < end_ns);
            if let Some(bucket) = self.buckets.get_mut(place) {
                *bucket += cell.count_at_value().as_u64();
            }
        }
    }
}

/// Failed transactions of one sort since the start of the load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorSoFar {
    /// Kind of transaction.
    pub kind: String,
    /// Class, as in the Run document.
    pub class: String,
    /// SQLSTATE, or the number of a server that has none; empty for sorts that are no longer told
    /// apart.
    pub code: String,
    /// How many.
    pub count: u64,
}

/// What was seen of the server since the start of the load; what was never told is absent.
#[derive(Clone, Debug, Default)]
pub struct ServerSoFar {
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

impl ServerSoFar {
    /// Adds one second.
    pub fn add(&mut self, second: &ServerSecond) {
        for (sum, grown) in [
            (&mut self.commits, second.commits),
            (&mut self.rollbacks, second.rollbacks),
            (&mut self.cache_hits, second.cache_hits),
            (&mut self.cache_reads, second.cache_reads),
            (&mut self.log_bytes, second.log_bytes),
            (&mut self.temp_bytes, second.temp_bytes),
            (&mut self.deadlocks, second.deadlocks),
        ] {
            if let Some(grown) = grown {
                *sum = Some(sum.unwrap_or(0).saturating_add(grown));
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
