//! Measured totals as they stand in the document.
//!
//! In: totals and rows of `measure`. Out: [`Figures`], [`Second`], [`Client`], [`Timing`]. Must
//! never: change a figure, or write one that is not a number.

use crate::client::{Batch, Client};
use crate::histogram::{decode_histogram, encode_histogram};
use crate::named::QueryCounts;
use crate::run::*;
use hdrhistogram::Counter;
use prony_measure::{Distribution, PartTimes, Queries, Row, StampCounts, Tally, Totals};

/// The figures of one part. `kinds` are the names of the kinds of transaction.
pub fn figures(totals: &Totals, kinds: &[String]) -> Figures {
    figures_over(totals, kinds, totals.seconds())
}

/// The figures of one part whose length is known otherwise, seconds.
pub(crate) fn figures_over(totals: &Totals, kinds: &[String], seconds: f64) -> Figures {
    let name = |place: usize| match kinds.get(place) {
        Some(name) => name.clone(),
        None => format!("kind {}", place + 1),
    };
    let mut figures = vec![kind_figures("all".into(), &totals.all(), seconds)];
    for (place, tally) in totals.kinds.iter().enumerate() {
        figures.push(kind_figures(name(place), tally, seconds));
    }
    Figures {
        seconds,
        kinds: figures,
        errors: errors(totals, name),
        unfinished: totals.leftover.unfinished,
        never_started: totals.leftover.never_started,
        queries: queries(&totals.queries),
    }
}

fn errors(totals: &Totals, name: impl Fn(usize) -> String) -> Vec<ErrorCount> {
    let entries = totals.errors.entries().iter();
    let mut errors: Vec<ErrorCount> = entries
        // A message may be known of an error that did not end a transaction.
        .filter(|entry| entry.count > 0)
        .map(|entry| ErrorCount {
            kind: name(usize::from(entry.kind)),
            class: entry.class.name().into(),
            code: String::from_utf8_lossy(&entry.code).into_owned(),
            count: entry.count,
            example: entry.example.clone(),
        })
        .collect();
    errors.sort_by_key(|error| std::cmp::Reverse(error.count));
    if totals.errors.others() > 0 {
        errors.push(ErrorCount {
            kind: "all".into(),
            class: "other".into(),
            code: String::new(),
            count: totals.errors.others(),
            example: "further sorts of error, beyond those told apart".into(),
        });
    }
    errors
}

fn kind_figures(kind: String, tally: &Tally<u64>, seconds: f64) -> KindFigures {
    KindFigures {
        kind,
        committed: tally.committed,
        rolled_back: tally.rolled_back,
        failed: tally.failed,
        skipped: tally.skipped,
        retries: tally.retries,
        retried: tally.retried,
        late: tally.late,
        tps: ratio(tally.committed as f64, seconds),
        response: latency(&tally.response),
        service: latency(tally.service()),
        lag: tally.lag.as_ref().map(latency),
        split: tally.parts.as_ref().and_then(split),
        connect: tally.connect.as_ref().map(latency),
        busy_s: tally.busy_ns as f64 / 1e9,
    }
}

fn split(parts: &PartTimes<u64>) -> Option<Split> {
    (parts.server.samples > 0).then(|| Split {
        send_wait: latency(&parts.send_wait),
        server: latency(&parts.server),
        client_wait: latency(&parts.client_wait),
        upper_bounds: parts.upper_bounds,
    })
}

/// A distribution with its percentiles and its histogram as text.
pub fn latency<C: Counter>(times: &Distribution<C>) -> Latency {
    Latency {
        samples: times.samples,
        mean_ns: times.mean_ns(),
        min_ns: times.min_ns,
        max_ns: times.max_ns,
        p50_ns: times.quantile_ns(0.50),
        p90_ns: times.quantile_ns(0.90),
        p95_ns: times.quantile_ns(0.95),
        p99_ns: times.quantile_ns(0.99),
        p999_ns: times.quantile_ns(0.999),
        histogram: encode_histogram(&times.histogram),
    }
}

impl Latency {
    /// The distribution behind the figures, for percentiles other than those. The sum is
    /// that of the mean, not exact to the nanosecond.
    ///
    /// # Errors
    /// In words, if the histogram cannot be read or does not hold as many samples as are named.
    pub fn distribution(&self) -> Result<Distribution<u64>, String> {
        let mut times = Distribution::default();
        if self.samples > 0 {
            times.histogram = decode_histogram(&self.histogram)?;
        }
        if times.histogram.len() != self.samples {
            return Err("a histogram does not hold as many samples as it says".into());
        }
        times.samples = self.samples;
        times.sum_ns = (self.mean_ns * self.samples as f64).round().max(0.0) as u128;
        times.min_ns = self.min_ns;
        times.max_ns = self.max_ns.max(self.min_ns);
        Ok(times)
    }
}

/// One second of the run. `load_start_ns` is the start of the load on the run's clock.
pub fn second(row: &Row, load_start_ns: u64) -> Second {
    let interval = &row.interval;
    let span = interval.span;
    let mut second = Second {
        at_s: span.start_ns.saturating_sub(load_start_ns) as f64 / 1e9,
        seconds: span.length_ns() as f64 / 1e9,
        part: span.part.name().into(),
        client_cpu_s: in_s(interval.health.cpu_ns()),
        loop_delay_max_ns: interval.health.turn_max_ns,
        connections: interval.health.connections,
        queries: queries(&interval.queries),
        ..Second::default()
    };
    if let Some(all) = interval.all() {
        second.committed = all.committed;
        second.rolled_back = all.rolled_back;
        second.failed = all.failed;
        second.mean_ns = all.response.mean_ns();
        second.p50_ns = all.response.quantile_ns(0.50);
        second.p95_ns = all.response.quantile_ns(0.95);
        second.p99_ns = all.response.quantile_ns(0.99);
        second.max_ns = all.response.max_ns;
        let server = all.parts.as_ref().map(|parts| &parts.server);
        second.server_mean_ns = server
            .filter(|server| server.samples > 0)
            .map(Distribution::mean_ns);
    }
    second
}

/// What users counted, if they counted anything.
fn queries(counted: &Queries) -> Option<QueryCounts> {
    (*counted != Queries::default()).then_some(QueryCounts {
        reads: counted.reads,
        writes: counted.writes,
        others: counted.others,
        ignored_errors: counted.errors,
        reconnects: counted.reconnects,
    })
}

/// The client's own health in one part.
pub fn client(totals: &Totals) -> Client {
    client_over(totals, totals.seconds())
}

pub(crate) fn client_over(totals: &Totals, seconds: f64) -> Client {
    let health = &totals.health;
    let committed: u64 = totals.kinds.iter().map(|tally| tally.committed).sum();
    let busiest_s = in_s(totals.worker_cpu_ns.iter().flatten().max().copied());
    Client {
        cpu_user_s: in_s(health.cpu_user_ns),
        cpu_system_s: in_s(health.cpu_system_ns),
        busiest_thread: busiest_s.and_then(|busy_s| known_ratio(busy_s, seconds)),
        cpu_per_transaction_us: in_s(health.cpu_ns())
            .and_then(|cpu_s| known_ratio(cpu_s * 1e6, committed as f64)),
        loop_delay_max_ns: health.turn_max_ns,
        run_queue_s: in_s(health.run_queue_ns),
        steal: totals.process.steal(),
        memory_peak_bytes: totals.process.memory_peak_bytes,
        batch: batch(health.batch),
    }
}

fn batch(of: prony_measure::Batch) -> Option<Batch> {
    (of != prony_measure::Batch::default()).then_some(Batch {
        under: of.under,
        left: of.left,
        refused: of.refused,
    })
}

/// How good the split is, by its counts; `split` says in words where stamps were available.
pub fn timing(stamps: &StampCounts, split: String) -> Timing {
    Timing {
        split,
        stamped: stamps.stamped,
        unstamped: stamps.unstamped,
        impossible: stamps.impossible,
        doubtful: stamps.doubtful,
        clock_steps: stamps.clock_steps,
        send_cost_ns: stamps.send_cost_ns(),
        transmit_stamps: stamps.transmit_stamps,
    }
}

/// Seconds; absent where the kernel did not tell, which is not the same as zero.
fn in_s(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e9)
}

/// A ratio that is absent where there is nothing to divide by.
fn known_ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// A ratio that is 0 where there is nothing to divide by: a document holds numbers only.
fn ratio(part: f64, whole: f64) -> f64 {
    known_ratio(part, whole).unwrap_or(0.0)
}
