//! Converts measured totals to the types of the Run document.
//!
//! Totals and rows of `measure` become [`Figures`], [`Second`], [`ClientHealth`] and [`Timing`]. Figures are
//! never changed, and NaN is never stored.

use crate::run::*;
use prony_document::{InFlight, SecondPhase, ServiceTimePartsSource};
use prony_measure::{
    Counter, Distribution, ErrorClass, Health, Interval, IntervalRow, PartDistributions,
    PartTotals, ProcessHealth, RecordedTimes, RunPhase, Tally, TimestampCounts, Totals,
    decode_histogram, encode_histogram,
};

/// Shortest gap between ends of transactions that a second stores, nanoseconds.
const GAP_MIN_NS: u64 = 50_000_000;
/// Most gaps of a second.
const MAX_GAPS: usize = 4;

/// The figures of one part of a run. `kinds` are the names of the kinds of transaction.
pub fn figures(totals: &Totals, kinds: &[String]) -> Figures {
    figures_over(totals, kinds, totals.seconds())
}

/// Like [`figures`], with the length of the part in seconds: a journal with lost rows covers less time.
pub(crate) fn figures_over(totals: &Totals, kinds: &[String], seconds: f64) -> Figures {
    let mut by_kind = vec![kind_figures(None, &totals.all_kinds(), seconds)];
    for (index, tally) in totals.kinds.iter().enumerate() {
        by_kind.push(kind_figures(Some(kind_name(kinds, index)), tally, seconds));
    }
    // A single kind is all kinds, whose histograms are not repeated.
    if let [_, only] = by_kind.as_mut_slice() {
        only.clear_histograms();
    }
    Figures {
        length_s: seconds,
        kinds: by_kind,
        errors: errors(totals, kinds),
        unfinished: totals.excluded.unfinished,
        in_flight: in_flight(totals),
        in_flight_s: in_flight_s(totals, totals.excluded.in_flight_ns),
        in_flight_max_s: in_flight_s(totals, totals.excluded.in_flight_max_ns),
        never_started: totals.excluded.never_started,
        queries: if_counted(totals.queries),
    }
}

/// The name of the kind with this index, or its number if `kinds` has no name for it.
pub(crate) fn kind_name(kinds: &[String], index: usize) -> String {
    match kinds.get(index) {
        Some(name) => name.clone(),
        None => format!("kind {}", index + 1),
    }
}

/// The outcomes of unfinished transactions; absent unless all are known.
fn in_flight(totals: &Totals) -> Option<InFlight> {
    let in_flight = totals.excluded.in_flight;
    (in_flight.total() == totals.excluded.unfinished).then_some(in_flight)
}

/// A time for which unfinished transactions had been in progress within the window; absent unless it is known.
fn in_flight_s(totals: &Totals, in_flight_ns: u64) -> Option<f64> {
    let is_known = totals.excluded.unfinished == 0 || in_flight_ns > 0;
    is_known.then_some(in_flight_ns as f64 / 1e9)
}

fn errors(totals: &Totals, kinds: &[String]) -> Vec<ErrorCount> {
    let entries = totals.errors.entries().iter();
    let mut errors: Vec<ErrorCount> = entries
        // Entries with count 0 only keep the message of an error that ended no transaction: skip them.
        .filter(|entry| entry.count > 0)
        .map(|entry| ErrorCount {
            kind: Some(kind_name(kinds, entry.kind.into())),
            class: entry.class,
            code: String::from_utf8_lossy(&entry.code).into_owned(),
            count: entry.count,
            example: entry.example.clone(),
        })
        .collect();
    errors.sort_by_key(|error| std::cmp::Reverse(error.count));
    if totals.errors.others() > 0 {
        errors.push(ErrorCount {
            kind: None,
            class: ErrorClass::Other,
            code: String::new(),
            count: totals.errors.others(),
            example: "further errors, beyond those counted separately".into(),
        });
    }
    errors
}

fn kind_figures(kind: Option<String>, tally: &Tally<u64>, seconds: f64) -> KindFigures {
    KindFigures {
        kind,
        committed: tally.committed,
        rolled_back: tally.rolled_back,
        failed: tally.failed,
        skipped: tally.skipped,
        retries: tally.retries,
        retried: tally.retried,
        over_latency_limit: tally.over_latency_limit,
        tps: ratio(tally.committed as f64, seconds),
        response: latency(&tally.response),
        service: service_latency(tally),
        attempts: tally.attempt_responses().as_ref().map(latency),
        failed_response: (tally.failed_response.samples > 0)
            .then(|| latency(&tally.failed_response)),
        lag: tally.lag.as_ref().map(latency),
        parts: tally.parts.as_ref().and_then(service_time_parts),
        connect: tally.connect.as_ref().map(latency),
        busy_s: tally.busy_ns as f64 / 1e9,
    }
}

/// The service time; in a closed loop it is the response time, whose histogram is not repeated.
fn service_latency(tally: &Tally<u64>) -> Latency {
    let times = latency(tally.service());
    match tally.service {
        Some(_) => times,
        None => Latency {
            histogram: String::new(),
            ..times
        },
    }
}

fn service_time_parts(parts: &PartDistributions<u64>) -> Option<PartLatencies> {
    (parts.server.samples > 0).then(|| PartLatencies {
        send_wait: latency(&parts.send_wait),
        server: latency(&parts.server),
        client_wait: latency(&parts.client_wait),
        server_times_upper_bound: parts.server_times_upper_bound,
    })
}

/// Converts a distribution: computes its percentiles and encodes its histogram as text.
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
    /// The full distribution, from which any percentile can be computed. Its sum is computed from the mean
    /// and is therefore not exact to the nanosecond.
    ///
    /// # Errors
    /// If the histogram cannot be read, or its number of samples is not `samples`.
    pub fn distribution(&self) -> Result<Distribution<u64>, String> {
        let mut times = Distribution::default();
        if self.samples > 0 {
            times.histogram = decode_histogram(&self.histogram)?;
        }
        if times.histogram.len() != self.samples {
            return Err("a histogram does not hold as many samples as declared".into());
        }
        times.samples = self.samples;
        times.sum_ns = (self.mean_ns * self.samples as f64).round().max(0.0) as u128;
        times.min_ns = self.min_ns;
        times.max_ns = self.max_ns.max(self.min_ns);
        Ok(times)
    }

    /// The times of the histogram, without the memory of its empty buckets.
    ///
    /// # Errors
    /// If the histogram cannot be read, or its number of samples is not `samples`.
    pub fn recorded_times(&self) -> Result<RecordedTimes, String> {
        let times = RecordedTimes::decode(&self.histogram)?;
        if times.samples() != self.samples {
            return Err("a histogram does not hold as many samples as declared".into());
        }
        Ok(times)
    }
}

/// The figures of one second of the run. `load_start_ns` is the start of the load on the run's clock.
pub fn second(row: &IntervalRow, load_start_ns: u64) -> Second {
    let interval = &row.interval;
    let span = interval.span;
    let mut second = Second {
        at_s: span.start_ns.saturating_sub(load_start_ns) as f64 / 1e9,
        length_s: span.length_ns() as f64 / 1e9,
        phase: match span.phase {
            RunPhase::Warmup => SecondPhase::Warmup,
            RunPhase::Measured | RunPhase::Drain => SecondPhase::Measured,
        },
        client_cpu_s: in_s(interval.health.cpu_ns()),
        loop_delay_max_ns: interval.health.iteration_max_ns,
        gaps: longest_gaps(interval, load_start_ns),
        connections: interval.health.connections,
        queries: if_counted(interval.queries),
        ..Second::default()
    };
    for error in interval.errors.entries() {
        *second.errors.entry(error.class).or_default() += error.count;
    }
    if let Some(all) = interval.all_kinds() {
        second.committed = all.committed;
        second.rolled_back = all.rolled_back;
        second.failed = all.failed;
        second.mean_ns = all.response.mean_ns();
        second.p50_ns = all.response.quantile_ns(0.50);
        second.p95_ns = all.response.quantile_ns(0.95);
        second.p99_ns = all.response.quantile_ns(0.99);
        second.max_ns = all.response.max_ns;
        let attempts = all.attempt_responses();
        second.attempts_p99_ns = attempts.and_then(|times| times.quantile_ns(0.99));
        let server = all.parts.as_ref().map(|parts| &parts.server);
        second.server_mean_ns = server
            .filter(|server| server.samples > 0)
            .map(Distribution::mean_ns);
    }
    second
}

/// The longest gaps of an interval. `load_start_ns` is the start of the load on the run's clock.
fn longest_gaps(interval: &Interval, load_start_ns: u64) -> Vec<Gap> {
    let span = interval.span;
    let mut gaps: Vec<_> = interval.gaps.until(span.length_ns()).collect();
    gaps.retain(|gap| gap.length_ns() >= GAP_MIN_NS);
    gaps.sort_by_key(|gap| std::cmp::Reverse(gap.length_ns()));
    gaps.truncate(MAX_GAPS);
    gaps.sort_by_key(|gap| gap.start_ns);
    let start_ns = span.start_ns.saturating_sub(load_start_ns);
    gaps.iter()
        .map(|gap| Gap {
            at_s: start_ns.saturating_add(gap.start_ns) as f64 / 1e9,
            length_s: gap.length_ns() as f64 / 1e9,
        })
        .collect()
}

/// Counts; absent if all are zero.
fn if_counted<T: Copy + Default + PartialEq>(counts: T) -> Option<T> {
    (counts != T::default()).then_some(counts)
}

pub fn client_health(totals: &Totals) -> ClientHealth {
    client_health_over(totals, totals.seconds())
}

pub(crate) fn client_health_over(totals: &Totals, seconds: f64) -> ClientHealth {
    let committed = totals.kinds.iter().map(|tally| tally.committed).sum();
    let Totals {
        health,
        worker_cpu_ns,
        process,
        ..
    } = totals;
    health_of(health, worker_cpu_ns, process, committed, seconds)
}

pub fn client_health_of_part(totals: &PartTotals) -> ClientHealth {
    let (workers, process) = (&totals.worker_cpu_ns, &totals.process);
    let seconds = totals.seconds();
    health_of(&totals.health, workers, process, totals.committed, seconds)
}

fn health_of(
    health: &Health,
    worker_cpu_ns: &[Option<u64>],
    process: &ProcessHealth,
    committed: u64,
    seconds: f64,
) -> ClientHealth {
    let busiest_s = in_s(worker_cpu_ns.iter().flatten().max().copied());
    ClientHealth {
        cpu_user_s: in_s(health.cpu_user_ns),
        cpu_system_s: in_s(health.cpu_system_ns),
        busiest_thread_share: busiest_s.and_then(|busy_s| known_ratio(busy_s, seconds)),
        cpu_per_transaction_us: in_s(health.cpu_ns())
            .and_then(|cpu_s| known_ratio(cpu_s * 1e6, committed as f64)),
        loop_delay_max_ns: health.iteration_max_ns,
        run_queue_s: in_s(health.run_queue_ns),
        steal_share: process.steal_share(),
        memory_peak_bytes: process.memory_peak_bytes,
        batch: if_counted(health.batch),
        coalescing_workers: if_counted(health.coalescing_workers),
        pinned_workers: if_counted(health.pinned_workers),
    }
}

/// How well the parts of the service time were measured, from the counts of timestamps.
pub fn timing(counts: &TimestampCounts, parts_source: ServiceTimePartsSource) -> Timing {
    Timing {
        parts_source,
        with_timestamp: counts.usable,
        without_timestamp: counts.missing,
        impossible: counts.impossible,
        doubtful: counts.doubtful,
        clock_steps: counts.clock_steps,
        send_cost_ns: counts.send_cost_ns(),
        transmit_timestamps: counts.transmit_timestamps,
    }
}

/// Converts to seconds; absent, not zero, if the kernel did not report the value.
fn in_s(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e9)
}

/// A ratio; absent if the divisor is zero.
fn known_ratio(dividend: f64, divisor: f64) -> Option<f64> {
    (divisor > 0.0).then(|| dividend / divisor)
}

/// A ratio; 0 if the divisor is zero, because a document holds only finite numbers.
fn ratio(dividend: f64, divisor: f64) -> f64 {
    known_ratio(dividend, divisor).unwrap_or(0.0)
}
