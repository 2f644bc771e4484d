//! The lines of the charts of the server.
//!
//! In: readings of the server. Out: means over the readings of each point, and counts per second. Must never:
//! turn an unobserved value into zero.

use super::super::chart::ChartLine;
use crate::terminal::server::by_wait_event;
use crate::text::plain;
use prony_store::{MachineSecond, ServerSecond};
use std::collections::BTreeMap;

/// Maximum number of wait events with separate lines.
pub const MAX_WAIT_EVENTS: usize = 4;

/// Consecutive readings that are merged into one point.
pub type ReadingGroup<'a> = &'a [ServerSecond];

/// The mean of a value weighted by time; `None` if no reading has the value.
pub fn weighted_mean(
    rows: ReadingGroup<'_>,
    value_of: impl Fn(&ServerSecond) -> Option<f64>,
) -> Option<f64> {
    let known = rows
        .iter()
        .filter_map(|row| Some((value_of(row)?, row.length_s)));
    let (sum, seconds) = known.fold((0.0, 0.0), |(sum, seconds), (value, s)| {
        (sum + value * s, seconds + s)
    });
    (seconds > 0.0).then(|| sum / seconds)
}

/// A count per second; `None` if no reading has the count.
pub fn per_second(
    rows: ReadingGroup<'_>,
    count_of: impl Fn(&ServerSecond) -> Option<u64>,
) -> Option<f64> {
    weighted_mean(rows, |row| {
        (row.length_s > 0.0).then_some(count_of(row)? as f64 / row.length_s)
    })
}

/// The mean of a value of the server's machine.
pub fn machine_mean(
    rows: ReadingGroup<'_>,
    value_of: fn(&MachineSecond) -> Option<f64>,
) -> Option<f64> {
    weighted_mean(rows, |row| value_of(row.machine.as_ref()?))
}

/// The number of CPUs used by the server's processes.
pub fn server_cpus(rows: ReadingGroup<'_>) -> Option<f64> {
    weighted_mean(rows, |row| {
        let cpu_s = row.machine.as_ref()?.server_cpu_s?;
        (row.length_s > 0.0).then(|| cpu_s / row.length_s)
    })
}

/// The middle of a group, in seconds since the start of the load.
pub fn middle_s(rows: ReadingGroup<'_>) -> f64 {
    let seconds: f64 = rows.iter().map(|row| row.length_s).sum();
    rows.first().map_or(0.0, |row| row.at_s) + seconds / 2.0
}

pub fn chart_line(
    name: &str,
    groups: &[ReadingGroup<'_>],
    value_of: impl Fn(ReadingGroup<'_>) -> Option<f64>,
) -> ChartLine {
    ChartLine {
        name: name.to_owned(),
        values: groups.iter().map(|rows| value_of(rows)).collect(),
    }
}

pub fn cpu_lines(groups: &[ReadingGroup<'_>]) -> Vec<ChartLine> {
    vec![
        chart_line("busy", groups, |rows| {
            machine_mean(rows, |second| second.busy_share)
        }),
        chart_line("idle, waiting for I/O", groups, |rows| {
            machine_mean(rows, |second| second.io_wait_share)
        }),
        chart_line("stolen by the hypervisor", groups, |rows| {
            machine_mean(rows, |second| second.steal_share)
        }),
        chart_line("the client's machine, busy", groups, |rows| {
            weighted_mean(rows, |row| row.client.as_ref()?.busy_share)
        }),
    ]
}

pub fn bytes_lines(groups: &[ReadingGroup<'_>]) -> Vec<ChartLine> {
    vec![
        chart_line("log", groups, |rows| per_second(rows, |row| row.log_bytes)),
        chart_line("written to disks", groups, |rows| {
            per_second(rows, |row| row.machine.as_ref()?.disk_write_bytes)
        }),
        chart_line("read from disks", groups, |rows| {
            per_second(rows, |row| row.machine.as_ref()?.disk_read_bytes)
        }),
    ]
}

/// The share of pages that were in the server's cache.
pub fn cache_hit_share(rows: ReadingGroup<'_>) -> Option<f64> {
    let sum = |pages: fn(&ServerSecond) -> Option<u64>| {
        rows.iter().filter_map(pages).reduce(u64::saturating_add)
    };
    let (hits, reads) = (sum(|row| row.cache_hits)?, sum(|row| row.cache_reads)?);
    let pages = hits.saturating_add(reads);
    (pages > 0).then(|| hits as f64 / pages as f64)
}

pub fn cache_lines(groups: &[ReadingGroup<'_>]) -> Vec<ChartLine> {
    vec![chart_line("pages found", groups, cache_hit_share)]
}

pub fn connection_lines(groups: &[ReadingGroup<'_>]) -> Vec<ChartLine> {
    let mean = |name, count: fn(&ServerSecond) -> Option<u32>| {
        chart_line(name, groups, |rows| {
            weighted_mean(rows, |row| count(row).map(f64::from))
        })
    };
    vec![
        mean("connections", |row| row.connections),
        mean("active", |row| row.active),
        mean("waiting for a lock", |row| row.lock_waits),
    ]
}

/// The lag of the slowest replica, seconds: the longest of each point.
pub fn replication_lag_s(rows: ReadingGroup<'_>) -> Option<f64> {
    rows.iter()
        .filter_map(|row| row.replication_lag_s)
        .reduce(f64::max)
}

/// The lag of the slowest replica, bytes of log: the largest of each point.
pub fn replication_lag_bytes(rows: ReadingGroup<'_>) -> Option<f64> {
    let bytes = rows.iter().filter_map(|row| row.replication_lag_bytes);
    bytes.max().map(|bytes| bytes as f64)
}

pub fn replication_lines(groups: &[ReadingGroup<'_>]) -> [Vec<ChartLine>; 2] {
    [
        vec![chart_line("slowest replica", groups, replication_lag_s)],
        vec![chart_line("slowest replica", groups, replication_lag_bytes)],
    ]
}

/// Whether a reading includes sessions, possibly none that is active.
pub fn has_sessions(row: &ServerSecond) -> bool {
    !row.waits.is_empty() || row.active == Some(0)
}

/// One line for each of the most frequent wait events, and a line for all others.
pub fn wait_lines(groups: &[ReadingGroup<'_>]) -> Vec<ChartLine> {
    let sums = by_wait_event(groups.iter().copied().flatten());
    let events: Vec<&str> = sums.iter().map(|(event, _)| *event).collect();
    lines_of_largest(&events, groups, |rows, is_counted| {
        weighted_mean(rows, |row| {
            let sessions = row.waits.iter().filter(|(event, _)| is_counted(event));
            has_sessions(row).then(|| sessions.map(|(_, count)| f64::from(*count)).sum())
        })
    })
}

/// The sessions that waited on average, by wait type, as the server counts their time: one line for each of the
/// longest, and a line for all others. No lines if no reading has these times.
pub fn wait_time_lines(groups: &[ReadingGroup<'_>]) -> Vec<ChartLine> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    let waits = groups.iter().copied().flatten();
    for (name, time_s) in waits.filter_map(|row| row.wait_s.as_ref()).flatten() {
        *sums.entry(name).or_default() += time_s;
    }
    let mut sums: Vec<(&str, f64)> = sums.into_iter().collect();
    sums.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let types: Vec<&str> = sums.iter().map(|(name, _)| *name).collect();
    lines_of_largest(&types, groups, |rows, is_counted| {
        weighted_mean(rows, |row| {
            let waits = row.wait_s.as_ref().filter(|_| row.length_s > 0.0)?;
            let waits = waits.iter().filter(|(name, _)| is_counted(name));
            // An empty sum of floating-point numbers is -0.
            let time_s: f64 = waits.map(|(_, time_s)| *time_s).sum::<f64>() + 0.0;
            Some(time_s / row.length_s)
        })
    })
}

/// One line for each of the first [`MAX_WAIT_EVENTS`] names, and a line for all others. `mean_sessions`: the mean
/// number of sessions in readings whose names are counted.
fn lines_of_largest(
    names: &[&str],
    groups: &[ReadingGroup<'_>],
    mean_sessions: impl Fn(ReadingGroup<'_>, &dyn Fn(&str) -> bool) -> Option<f64>,
) -> Vec<ChartLine> {
    let (largest, others) = names.split_at(names.len().min(MAX_WAIT_EVENTS));
    let mut lines: Vec<ChartLine> = largest
        .iter()
        .map(|name| {
            chart_line(&plain(name), groups, |rows| {
                mean_sessions(rows, &|counted| counted == *name)
            })
        })
        .collect();
    if !others.is_empty() {
        let other_sessions =
            |rows: ReadingGroup<'_>| mean_sessions(rows, &|counted| !largest.contains(&counted));
        lines.push(chart_line("all others", groups, other_sessions));
    }
    lines
}
