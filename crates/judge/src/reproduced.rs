//! A run beside the published scenario that it repeats: how far its figures are from those, and what is
//! different here.
//!
//! In: a Run with its scenario. Out: deviations and differences. Must never: call a deviation a fault of
//! either server; say that nothing differs where it is not known.

mod differences;
mod size;

pub use differences::{Difference, differences};

use crate::watch;
use prony_store::Run;
use serde::Serialize;

/// A published figure beside the measured one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deviation {
    /// What it counts.
    pub name: String,
    /// Unit of both.
    pub unit: String,
    /// As published.
    pub published: f64,
    /// As measured here; absent where this run does not tell.
    pub measured: Option<f64>,
    /// The measured one against the published one: -0.4 is 40 % less.
    pub change: Option<f64>,
}

/// All published figures of a run's scenario, in their order; none for a run of its own.
pub fn deviations(run: &Run) -> Vec<Deviation> {
    let published = run.scenario.iter().flat_map(|scenario| &scenario.published);
    published
        .map(|one| {
            let measured = measured(run, &one.name);
            Deviation {
                name: one.name.clone(),
                unit: one.unit.clone(),
                published: one.value,
                measured,
                change: measured
                    .filter(|_| one.value > 0.0)
                    .map(|measured| measured / one.value - 1.0),
            }
        })
        .collect()
}

/// What this run has of a figure, in the unit of the published one.
fn measured(run: &Run, name: &str) -> Option<f64> {
    let all = run.measured.kinds.first()?;
    let seconds = Some(run.measured.seconds).filter(|seconds| *seconds > 0.0)?;
    let queries = run.measured.queries.as_ref();
    let some = (all.response.samples > 0).then_some(());
    let rate = |name: &str| run.rates.iter().find(|rate| rate.name == name);
    match name {
        "NOPM" | "TPM" => rate(name).map(|rate| rate.value),
        // What the guides call TPS beside TPM is a sixtieth of it: rollbacks are in it.
        "TPS" if rate("NOPM").is_some() => rate("TPM").map(|rate| rate.value / 60.0),
        "TPS" => Some(all.tps),
        "QPS" => match run.scenario.as_ref()?.statements {
            Some(statements) => Some(all.tps * f64::from(statements)),
            None => queries
                .map(|counts| (counts.reads + counts.writes + counts.others) as f64 / seconds),
        },
        "latency mean" => some.map(|()| all.response.mean_ns / 1e6),
        "latency stddev" => {
            some?;
            let times = all.response.distribution().ok()?;
            Some(times.histogram.stdev() / 1e6)
        }
        "latency p95" => all.response.p95_ns.map(|ns| ns as f64 / 1e6),
        "CPU" => watch::machine(run, |machine| machine.busy).map(|share| share * 100.0),
        "reads" => queries.map(|counts| counts.reads as f64 / seconds * 60.0),
        "writes" => queries.map(|counts| counts.writes as f64 / seconds * 60.0),
        _ => None,
    }
}

/// From this share of pages found in the cache on, data counts as wholly cached.
pub const WHOLLY_CACHED: f64 = 0.99;
/// So much may a cached share differ from the one that was asked for, as a part of it.
pub const CACHED_TOLERANCE: f64 = 0.2;

/// Whether as much of the data was cached as was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CachedSeen {
    /// Size of the data before the run, bytes.
    pub data_bytes: Option<u64>,
    /// That is the size of the whole database: the workload's own tables are not all known.
    pub whole_database: bool,
    /// How much of it fits into what was named: the machine's memory, or the server's cache.
    pub share: Option<f64>,
    /// How much of it fits into the server's own cache.
    pub holds: Option<f64>,
    /// Pages that were found in the server's own cache, share of those asked for.
    pub hit_ratio: Option<f64>,
    /// Whether that is what was asked for: by the share, and by the hit ratio, which finds all pages of
    /// data that is wholly cached. Of data that the own cache alone need not hold, the hit ratio says
    /// nothing. Absent where it is not known.
    pub fits: Option<bool>,
}

/// What was seen of the cache, for a run that asked for a share.
pub fn cached(run: &Run) -> Option<CachedSeen> {
    let asked = run.cached.as_ref()?;
    let hits = watch::sum(run, |row| row.cache_hits);
    let reads = watch::sum(run, |row| row.cache_reads);
    let pages = hits.zip(reads).filter(|(hits, reads)| hits + reads > 0);
    let hit_ratio = pages.map(|(hits, reads)| crate::words::share(hits, hits + reads));
    let before = watch::observed(run).and_then(|seen| seen.before.as_ref());
    let data = size::before(run);
    let data_bytes = data.map(|data| data.bytes);
    let part = |of: u64| data_bytes.map(|data| (of as f64 / data as f64).min(1.0));
    let cache_bytes = before.and_then(|state| state.cache_bytes);
    let own = cache_bytes == Some(asked.of_bytes);
    let share = part(asked.of_bytes);
    let close = share.map(|share| (share / asked.share - 1.0).abs() <= CACHED_TOLERANCE);
    let fits = match (own, close) {
        (false, close) => close,
        (true, close) => close
            .zip(hit_ratio)
            .map(|(close, ratio)| close && (ratio >= WHOLLY_CACHED) == (asked.share >= 1.0)),
    };
    Some(CachedSeen {
        data_bytes,
        whole_database: data.is_some_and(|data| data.whole_database),
        share,
        holds: cache_bytes.and_then(part),
        hit_ratio,
        fits,
    })
}

#[cfg(test)]
mod tests;
