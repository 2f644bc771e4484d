//! Compares a run with the published scenario that it repeats: how far its figures deviate, and which
//! conditions differ.
//!
//! In: a Run with its scenario. Out: deviations and differences. Must never: call a deviation a fault of
//! either server, or omit a condition because it is unknown.

mod differences;
mod settings;
mod size;
mod suite;

pub use differences::{Difference, differences};
use prony_store::scenario::PublishedFigure;
use prony_store::{NOPM, PublishedMetric, Run, SqlDialect, TPM};
pub use suite::{ComparedFigure, SuiteRow, SuiteSummary, suite_summary};

use crate::observations;
use serde::Serialize;

/// Relative tolerance of the window's length.
const DURATION_TOLERANCE: f64 = 0.01;

/// What forbids to compare a run's figures with the published ones, such as less data; empty if they can be compared. A run
/// on another machine can: that is what a reproduction is for.
pub fn not_comparable_by(run: &Run) -> Vec<&'static str> {
    let Some(scenario) = &run.scenario else {
        return Vec::new();
    };
    let original = &scenario.original;
    let is_shorter = |published: Option<f64>, measured_s: f64| {
        published.is_some_and(|published_s| measured_s < published_s * (1.0 - DURATION_TOLERANCE))
    };
    let dialects = original.dialect.zip(run.server.dialect());
    let fewer_clients = original
        .clients
        .is_some_and(|clients| run.drive.clients < clients);
    [
        (
            "another engine",
            dialects.is_some_and(|(original, here)| original != here),
        ),
        ("less data", scenario.size_share < 1.0),
        ("fewer clients", fewer_clients),
        (
            "a shorter window",
            is_shorter(original.duration_s, run.measured.length_s),
        ),
        (
            "less warm-up",
            is_shorter(original.warmup_s, run.window.warmup_s),
        ),
    ]
    .into_iter()
    .filter_map(|(what, applies)| applies.then_some(what))
    .collect()
}

/// The published figures of a run's scenario with the measured ones, in the scenario's order; empty for a run
/// without a scenario.
pub fn deviations(run: &Run) -> Vec<ComparedFigure> {
    let is_comparable = not_comparable_by(run).is_empty();
    let published = run.scenario.iter().flat_map(|scenario| &scenario.published);
    published
        .map(|figure| suite::new_figure(figure, measured_value(run, figure.name), is_comparable))
        .collect()
}

/// The relative change from a published value, or from the nearest end of a published range, to a measured one; `None` if
/// the published value is not above 0.
pub(crate) fn relative_change(published: &PublishedFigure, measured: f64) -> Option<f64> {
    let high = published.high.unwrap_or(published.value);
    let nearest = measured.min(high).max(published.value);
    (nearest > 0.0).then(|| measured / nearest - 1.0)
}

/// The workload's name for transactions per minute by the server's count where TPM counts batch requests.
const TPM_BY_TRANSACTIONS: &str = "TPM by transactions";

/// Whether TPM counts batch requests, as on SQL Server.
pub(crate) fn counts_batch_requests(run: &Run) -> bool {
    run.server.dialect() == Some(SqlDialect::TransactSql) && run.metric(TPM).is_some()
}

/// This run's value of a figure, in the unit of the published figure.
fn measured_value(run: &Run, metric: PublishedMetric) -> Option<f64> {
    let all = run.measured.all_kinds()?;
    let seconds = Some(run.measured.length_s).filter(|seconds| *seconds > 0.0)?;
    let queries = run.measured.queries.as_ref();
    let is_sampled = all.response.samples > 0;
    let load = run
        .scenario
        .as_ref()
        .and_then(|scenario| scenario.load.as_ref());
    let load_phase = |name: &str| load.and_then(|load| load.phases.get(name).copied());

    match metric {
        PublishedMetric::Nopm => run.metric(NOPM),
        PublishedMetric::Tpm => run.metric(TPM),
        // On SQL Server, TPM counts batch requests, so the server's count of transactions has a name of its own.
        PublishedMetric::Tps if counts_batch_requests(run) => run
            .metric(TPM_BY_TRANSACTIONS)
            .map(|per_minute| per_minute / 60.0),
        // If TPM is published too, TPS is TPM / 60, which includes rollbacks.
        PublishedMetric::Tps if run.metric(NOPM).is_some() => {
            run.metric(TPM).map(|per_minute| per_minute / 60.0)
        }
        PublishedMetric::Tps => Some(all.tps),
        PublishedMetric::Qps => match run.scenario.as_ref()?.qps_statements_per_txn {
            Some(statements) => Some(all.tps * f64::from(statements)),
            None => queries
                .map(|counts| (counts.reads + counts.writes + counts.others) as f64 / seconds),
        },
        PublishedMetric::LatencyMean => is_sampled.then(|| all.response.mean_ns / 1e6),
        PublishedMetric::LatencyStddev => {
            let times = all.response.recorded_times().ok()?;
            is_sampled.then(|| times.variance_ns2().sqrt() / 1e6)
        }
        PublishedMetric::LatencyP95 => all.response.p95_ns.map(|ns| ns as f64 / 1e6),
        PublishedMetric::Cpu => {
            observations::server_machine_mean(run, |machine| machine.busy_share)
                .map(|share| share * 100.0)
        }
        PublishedMetric::LoadTime => load.map(|load| load.seconds),
        PublishedMetric::LoadRows => load_phase("rows"),
        // pgbench vacuums and analyzes its tables, which is the phase of statistics here.
        PublishedMetric::LoadVacuum => load_phase("statistics"),
        PublishedMetric::LoadKeys => load_phase("keys"),
        PublishedMetric::Reads => queries.map(|counts| counts.reads as f64 / seconds * 60.0),
        PublishedMetric::Writes => queries.map(|counts| counts.writes as f64 / seconds * 60.0),
        PublishedMetric::BatchRequests if counts_batch_requests(run) => {
            run.metric(TPM).map(|per_minute| per_minute / 60.0)
        }
        // One run has neither a price nor a counterpart without backups.
        PublishedMetric::BatchRequests
        | PublishedMetric::TpsPerDollar
        | PublishedMetric::BackupOverhead => None,
    }
}

/// Smallest share of pages found in the cache for which data counts as wholly cached.
pub const WHOLLY_CACHED_MIN_HIT_RATIO: f64 = 0.99;
/// Largest deviation of the cached share, relative to the requested share.
pub const CACHED_SHARE_TOLERANCE: f64 = 0.2;

/// Whether the requested share of the data was cached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CacheObservation {
    /// Size of the data before the run, bytes.
    pub data_bytes: Option<u64>,
    /// Whether `data_bytes` is the size of the whole database, because not all of the workload's tables are
    /// known.
    pub whole_database: bool,
    /// Share of the data that fits into the requested cache: the machine's memory, or the server's own cache.
    pub share: Option<f64>,
    /// Share of the data that fits into the server's own cache.
    pub server_cache_share: Option<f64>,
    /// Pages found in the server's own cache, share of all page requests.
    pub hit_ratio: Option<f64>,
    /// Whether the cached share is as requested, by the size of the cache and, if the server's own cache is
    /// meant, by the hit ratio, which must be about 1 exactly if all data is requested to be cached. `None`
    /// if unknown.
    pub is_as_requested: Option<bool>,
}

/// The observed cache; `None` for a run that did not request a cached share.
pub fn cache_observation(run: &Run) -> Option<CacheObservation> {
    let requested = run.cached.as_ref()?;
    let pages = observations::cache_pages(run);
    let hit_ratio = pages.map(|(hits, all)| crate::formatting::share(hits, all));
    let before = run.state_before();
    let data = size::data_size_before(run);
    let data_bytes = data.map(|data| data.bytes);
    let share_in_cache =
        |cache_bytes: u64| data_bytes.map(|data| (cache_bytes as f64 / data as f64).min(1.0));
    let cache_bytes = before.and_then(|state| state.cache_bytes);
    let is_server_cache = cache_bytes == Some(requested.of_bytes);
    let share = share_in_cache(requested.of_bytes);
    let is_close =
        share.map(|share| (share / requested.share - 1.0).abs() <= CACHED_SHARE_TOLERANCE);
    let is_as_requested = if is_server_cache {
        is_close.zip(hit_ratio).map(|(is_close, ratio)| {
            is_close && (ratio >= WHOLLY_CACHED_MIN_HIT_RATIO) == (requested.share >= 1.0)
        })
    } else {
        is_close
    };
    Some(CacheObservation {
        data_bytes,
        whole_database: data.is_some_and(|data| data.whole_database),
        share,
        server_cache_share: cache_bytes.and_then(share_in_cache),
        hit_ratio,
        is_as_requested,
    })
}

#[cfg(test)]
mod tests;
