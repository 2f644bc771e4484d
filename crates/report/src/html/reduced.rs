//! Reduces the document of a long run, so that its page stays small.
//!
//! In: a Run. Out: the same Run with fewer rows over time, each covering several seconds, and the hash of the
//! full document. Must never: change a figure of the whole run, or average a percentile.
//!
//! Histograms of the whole run are left out if they are of the warm-up or repeat another, because the page
//! does not use them. The percentiles of merged rows are computed from the histograms of the seconds. A document without
//! histograms, of an older version, keeps its rows.

use prony_store::{
    CoarseHistogram, Figures, HistogramSeries, IntervalHistograms, KindFigures, MachineSecond,
    QueryCounts, ReducedFrom, Run, Second, SecondPhase, ServerSecond, TimeHistograms,
    TransactionTime, encode_series,
};
use std::collections::BTreeMap;

/// How much a document of a page may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of rows of the client's series; a row takes about 300 bytes.
    rows: usize,
    /// Maximum number of readings of the server; a reading takes about 600 bytes.
    readings: usize,
    /// Maximum number of intervals with histograms.
    intervals: usize,
    /// Whether the only histogram that remains is that of the response time of the whole run, of all kinds.
    drops_histograms: bool,
}

/// Maximum number of documents of a page that shows each run in full. With more, a page would be too large.
pub const MAX_DETAILED_DOCUMENTS: usize = 6;

impl Limits {
    /// The limits of each document if the page has one.
    const OF_ONE_RUN: Limits = Limits {
        rows: 2_000,
        readings: 600,
        intervals: 300,
        drops_histograms: false,
    };
    /// The limits of each document of a page that does not show each run in full: fewer rows show no course.
    const BRIEF: Limits = Limits {
        rows: 45,
        readings: 10,
        intervals: 0,
        drops_histograms: true,
    };

    /// The limits of each document of a page with this many: they share two fifths of the space of one. The
    /// rest is for what does not depend on the length of a run, such as settings and whole histograms.
    pub fn of_page_with(documents: usize) -> Limits {
        if documents > MAX_DETAILED_DOCUMENTS {
            return Limits::BRIEF;
        }
        let one = Limits::OF_ONE_RUN;
        let share = |one: usize| match documents {
            0 | 1 => one,
            _ => 2 * one / 5 / documents,
        };
        Limits {
            rows: share(one.rows),
            readings: share(one.readings),
            intervals: share(one.intervals),
            drops_histograms: false,
        }
    }
}

/// The reduced document of a run; `None` if the run is short enough, or its histograms cannot be read. `sha256`
/// is the hash of the full document.
pub fn reduce(run: &Run, sha256: &str, limits: Limits) -> Option<Run> {
    let intervals = run
        .histograms
        .as_ref()
        .map_or(0, |series| series.rows.len());
    let readings = run.observed.as_ref().map_or(0, |seen| seen.series.len());
    let has_long_series = run.series.len() > limits.rows && intervals > 0;
    let drops_histograms = limits.drops_histograms && has_dropped_histograms(run);
    let is_short = !has_long_series && readings <= limits.readings && intervals <= limits.intervals;
    if is_short && !drops_histograms {
        return None;
    }
    let mut reduced = run.clone();
    // The rules judge the seconds.
    prony_judge::judge_if_unjudged(&mut reduced);
    reduced.reduced_from = Some(ReducedFrom {
        sha256: sha256.to_owned(),
        series_rows: run.series.len() as u64,
        observed_rows: readings as u64,
        histogram_intervals: intervals as u64,
    });
    if let Some(histograms) = &run.histograms {
        let mut merged = histograms.clone();
        if has_long_series {
            merged = merge_histograms(histograms, &run.series, limits.rows)?;
            let response = histograms.intervals(TransactionTime::Response, None, &run.series);
            let response = response.ok()?;
            let groups = group(&response, limits.rows, phase);
            reduced.series = groups.into_iter().map(merge_seconds).collect();
            merged.rows = vec![1; reduced.series.len()];
        }
        reduced.histograms = if limits.drops_histograms {
            None
        } else {
            Some(merge_histograms(
                &merged,
                &reduced.series,
                limits.intervals,
            )?)
        };
    }
    if limits.drops_histograms {
        reduced
            .measured
            .kinds
            .iter_mut()
            .for_each(drop_detailed_histograms)
    } else {
        drop_repeated_histograms(&mut reduced.measured)
    }
    if let Some(warmup) = &mut reduced.warmup {
        for kind in &mut warmup.kinds {
            kind.clear_histograms();
        }
    }
    if let Some(observed) = &mut reduced.observed {
        let warmup_s = run.window.warmup_s;
        let in_window = |row: &ServerSecond| row.at_s + row.length_s / 2.0 >= warmup_s;
        let groups = group(&observed.series, limits.readings, in_window);
        observed.series = groups.into_iter().filter_map(merge_readings).collect();
    }
    Some(reduced)
}

/// Whether a document has histograms that [`drop_detailed_histograms`] removes.
fn has_dropped_histograms(run: &Run) -> bool {
    run.measured.kinds.iter().any(|kind| {
        let mut dropped = kind.clone();
        drop_detailed_histograms(&mut dropped);
        dropped != *kind
    })
}

/// Removes the histograms of a kind of transaction; of all kinds, that of the response time remains.
fn drop_detailed_histograms(kind: &mut KindFigures) {
    let response = std::mem::take(&mut kind.response.histogram);
    kind.clear_histograms();
    if kind.kind.is_none() {
        kind.response.histogram = response;
    }
}

/// Removes the histograms of the whole run that are equal to another: the service time of a closed loop is its
/// response time, and a single kind is all kinds.
fn drop_repeated_histograms(figures: &mut Figures) {
    if let [all, only] = figures.kinds.as_mut_slice()
        && only.response.histogram == all.response.histogram
    {
        only.clear_histograms();
    }
    for kind in &mut figures.kinds {
        if kind.service.histogram == kind.response.histogram {
            kind.service.histogram.clear();
        }
    }
}

fn phase(interval: &IntervalHistograms<'_>) -> Option<SecondPhase> {
    interval.rows.first().map(|row| row.phase)
}

/// Splits items into at most `max` groups of consecutive items with equal keys, or into one group for each key
/// if there are more keys.
fn group<T, K: PartialEq>(items: &[T], max: usize, key: impl Fn(&T) -> K) -> Vec<&[T]> {
    let parts: Vec<&[T]> = items.chunk_by(|a, b| key(a) == key(b)).collect();
    let count = |size: usize| -> usize { parts.iter().map(|part| part.len().div_ceil(size)).sum() };
    // The smallest size of a group that suffices, by bisection: a document may have a million rows, and parts.
    let mut size = items.len().div_ceil(max).max(1);
    let mut largest = items.len().max(size);
    while size < largest {
        let middle = size + (largest - size) / 2;
        if count(middle) > max {
            size = middle + 1
        } else {
            largest = middle
        }
    }
    parts.iter().flat_map(|part| part.chunks(size)).collect()
}

/// Merges the rows of some intervals into one row.
fn merge_seconds(intervals: &[IntervalHistograms<'_>]) -> Second {
    let rows: Vec<&Second> = intervals
        .iter()
        .flat_map(|interval| interval.rows)
        .collect();
    let [first, .., last] = rows.as_slice() else {
        return rows
            .first()
            .map_or_else(Second::default, |row| (*row).clone());
    };
    let response = sum(intervals);
    let committed: u64 = rows.iter().map(|row| row.committed).sum();
    let mean = |value: fn(&Second) -> Option<f64>| {
        let sum: Option<f64> = rows
            .iter()
            .filter(|row| row.committed > 0)
            .map(|row| Some(value(row)? * row.committed as f64))
            .sum();
        sum.map(|sum| sum / committed.max(1) as f64)
    };
    let p99_ns = response.quantile_ns(0.99);
    Second {
        at_s: first.at_s,
        length_s: rows.iter().map(|row| row.length_s).sum(),
        phase: first.phase,
        committed,
        rolled_back: rows.iter().map(|row| row.rolled_back).sum(),
        failed: rows.iter().map(|row| row.failed).sum(),
        mean_ns: mean(|row| Some(row.mean_ns)).unwrap_or(0.0),
        p50_ns: response.quantile_ns(0.5),
        p95_ns: response.quantile_ns(0.95),
        p99_ns,
        // There are no histograms of failed transactions.
        attempts_p99_ns: None,
        rolling: last.rolling.clone().filter(|_| p99_ns.is_none()),
        max_ns: rows.iter().map(|row| row.max_ns).max().unwrap_or(0),
        gaps: rows.iter().flat_map(|row| row.gaps.clone()).collect(),
        server_mean_ns: mean(|row| row.server_mean_ns).filter(|_| committed > 0),
        client_cpu_s: rows.iter().map(|row| row.client_cpu_s).sum(),
        loop_delay_max_ns: rows
            .iter()
            .map(|row| row.loop_delay_max_ns)
            .max()
            .unwrap_or(0),
        connections: rows.iter().map(|row| row.connections).min().unwrap_or(0),
        queries: sum_of_queries(&rows),
    }
}

/// The sum of the queries of some rows; `None` if they were not counted.
fn sum_of_queries(rows: &[&Second]) -> Option<QueryCounts> {
    let mut sum = QueryCounts::default();
    for row in rows {
        let queries = row.queries?;
        sum.reads += queries.reads;
        sum.writes += queries.writes;
        sum.others += queries.others;
        sum.ignored_errors += queries.ignored_errors;
        sum.reconnects += queries.reconnects;
    }
    Some(sum)
}

/// Merges the histograms of consecutive intervals, so that there are at most `max_intervals`.
fn merge_histograms(
    histograms: &HistogramSeries,
    series: &[Second],
    max_intervals: usize,
) -> Option<HistogramSeries> {
    let mut rows = Vec::new();
    let mut merged = Vec::new();
    for times in &histograms.times {
        let intervals = histograms.intervals(times.time, times.kind.as_deref(), series);
        let intervals = intervals.ok()?;
        let groups = group(&intervals, max_intervals, phase);
        rows = groups
            .iter()
            .map(|group| {
                group
                    .iter()
                    .map(|interval| interval.rows.len() as u32)
                    .sum()
            })
            .collect();
        let mut bytes = Vec::new();
        for group in groups {
            sum(group).append_to(&mut bytes);
        }
        merged.push(TimeHistograms {
            counts: encode_series(&bytes),
            ..times.clone()
        });
    }
    Some(HistogramSeries {
        rows,
        times: merged,
    })
}

/// The sum of the histograms of some intervals.
pub fn sum(intervals: &[IntervalHistograms<'_>]) -> CoarseHistogram {
    let mut sum = CoarseHistogram::default();
    for interval in intervals {
        sum.add(&interval.histogram);
    }
    sum
}

/// Merges readings: counts are sums, shares are means over time, and sessions and sizes are those of the last
/// reading.
fn merge_readings(rows: &[ServerSecond]) -> Option<ServerSecond> {
    let sum = |count: fn(&ServerSecond) -> Option<u64>| {
        rows.iter().filter_map(count).reduce(u64::saturating_add)
    };
    let lag_s = rows.iter().filter_map(|row| row.replication_lag_s);
    let lag_bytes = rows.iter().filter_map(|row| row.replication_lag_bytes);
    Some(ServerSecond {
        at_s: rows.first()?.at_s,
        length_s: rows.iter().map(|row| row.length_s).sum(),
        commits: sum(|row| row.commits),
        rollbacks: sum(|row| row.rollbacks),
        cache_hits: sum(|row| row.cache_hits),
        cache_reads: sum(|row| row.cache_reads),
        log_bytes: sum(|row| row.log_bytes),
        temp_bytes: sum(|row| row.temp_bytes),
        deadlocks: sum(|row| row.deadlocks),
        wait_s: merge_wait_times(rows),
        replication_lag_bytes: lag_bytes.max(),
        replication_lag_s: lag_s.reduce(f64::max),
        machine: merge_machine(rows, |row| row.machine.as_ref()),
        client: merge_machine(rows, |row| row.client.as_ref()),
        ..rows.last()?.clone()
    })
}

/// The sum of the times of waits; `None` if it is known in no reading.
fn merge_wait_times(rows: &[ServerSecond]) -> Option<BTreeMap<String, f64>> {
    let known: Vec<_> = rows.iter().filter_map(|row| row.wait_s.as_ref()).collect();
    let mut sums = BTreeMap::new();
    for (name, time_s) in known.iter().copied().flatten() {
        *sums.entry(name.clone()).or_default() += time_s;
    }
    (!known.is_empty()).then_some(sums)
}

fn merge_machine(
    rows: &[ServerSecond],
    machine: fn(&ServerSecond) -> Option<&MachineSecond>,
) -> Option<MachineSecond> {
    let known: Vec<(&MachineSecond, f64)> = rows
        .iter()
        .filter_map(|row| Some((machine(row)?, row.length_s)))
        .collect();
    let mean = |share: fn(&MachineSecond) -> Option<f64>| {
        let shares = known
            .iter()
            .filter_map(|(row, length_s)| Some((share(row)?, length_s)));
        let (sum, total_s) = shares.fold((0.0, 0.0), |(sum, total_s), (share, length_s)| {
            (sum + share * length_s, total_s + length_s)
        });
        (total_s > 0.0).then(|| sum / total_s)
    };
    let sum = |bytes: fn(&MachineSecond) -> Option<u64>| {
        let bytes = known.iter().filter_map(|(row, _)| bytes(row));
        bytes.reduce(u64::saturating_add)
    };
    let sum_s = |time_s: fn(&MachineSecond) -> Option<f64>| {
        let times_s = known.iter().filter_map(|(row, _)| time_s(row));
        times_s.reduce(|sum_s, time_s| sum_s + time_s)
    };
    let memory = known
        .iter()
        .filter_map(|(row, _)| row.memory_available_bytes);
    (!known.is_empty()).then(|| MachineSecond {
        busy_share: mean(|row| row.busy_share),
        busiest_cpu_share: mean(|row| row.busiest_cpu_share),
        io_wait_share: mean(|row| row.io_wait_share),
        steal_share: mean(|row| row.steal_share),
        server_cpu_s: sum_s(|row| row.server_cpu_s),
        memory_available_bytes: memory.min(),
        swap_bytes: sum(|row| row.swap_bytes),
        disk_read_bytes: sum(|row| row.disk_read_bytes),
        disk_write_bytes: sum(|row| row.disk_write_bytes),
        disk_busy_share: mean(|row| row.disk_busy_share),
        network_bytes: sum(|row| row.network_bytes),
        link_busy_share: mean(|row| row.link_busy_share),
        throttled_s: sum_s(|row| row.throttled_s),
    })
}

/// How the rows of a document were merged, in a sentence; `None` if they were not.
pub fn describe(run: &Run) -> Option<String> {
    const HISTOGRAMS: &str = "histograms";
    let full = run.reduced_from.as_ref()?;
    let observed = run
        .observed
        .as_ref()
        .map_or(0, |observed| observed.series.len());
    let intervals = run
        .histograms
        .as_ref()
        .map_or(0, |series| series.rows.len());
    let counts = [
        ("seconds", full.series_rows, run.series.len()),
        ("readings of the server", full.observed_rows, observed),
        (HISTOGRAMS, full.histogram_intervals, intervals),
    ];
    let merged = counts
        .into_iter()
        .filter(|(_, rows, new_rows)| *rows > *new_rows as u64);
    let merged: Vec<String> = merged
        .map(|(name, rows, new_rows)| {
            let (rows, new_rows) = (
                crate::units::count(rows),
                crate::units::count(new_rows as u64),
            );
            match intervals {
                0 if name == HISTOGRAMS => "histograms over time left out".to_owned(),
                _ => format!("{rows} {name} to {new_rows}"),
            }
        })
        .collect();
    Some(format!(
        "The page contains a reduced document, with rows merged: {}. The figures of the whole run are those of the \
         full document.",
        merged.join(", ")
    ))
}

#[cfg(test)]
mod tests;
