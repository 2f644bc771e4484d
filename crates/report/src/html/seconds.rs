//! The seconds of a run: charts of the client's measurements, and a table with the same figures.
//!
//! In: the series of a Run. Out: two charts and a table. Must never: average a percentile. In a long run
//! several seconds are merged into one point: counts by their sum, times by their maximum.

use super::chart::{Axis, ChartLine, Charts, time_label};
use super::marks::{EventMark, write_legend};
use super::reduced;
use super::table::{end_table, start_table_with_id, write_row_at_time};
use crate::html::markup::{Html, writeln_markup};
use crate::units::{self, or_dash};
use prony_store::{Run, Second};
use std::fmt;

/// Maximum number of points in a line; a screen shows fewer.
pub const MAX_POINTS: usize = 600;

/// The number of rows to merge into one point, so that there are at most [`MAX_POINTS`] points.
pub fn group_size(rows: usize) -> usize {
    rows.div_ceil(MAX_POINTS).max(1)
}

/// Several seconds merged into one point.
#[derive(Clone, Debug, Default, PartialEq)]
struct MergedSeconds {
    start_s: f64,
    middle_s: f64,
    tps: Option<f64>,
    failed: u64,
    p50_ns: Option<f64>,
    p95_ns: Option<f64>,
    p99_ns: Option<f64>,
    max_ns: f64,
    connections: u32,
    /// The longest period that a percentile covers, in seconds; absent if none covers more than its second.
    window_s: Option<f64>,
}

fn merge_seconds(rows: &[Second]) -> MergedSeconds {
    let length_s: f64 = rows.iter().map(|row| row.length_s).sum();
    let committed: u64 = rows.iter().map(|row| row.committed).sum();
    let longest = |field: fn(&Second) -> Option<u64>| {
        let times_ns = rows.iter().filter_map(field);
        times_ns.max().map(|ns| ns as f64)
    };
    let start_s = rows.first().map_or(0.0, |row| row.at_s);
    MergedSeconds {
        start_s,
        middle_s: start_s + length_s / 2.0,
        // The last group of a run may be too short for a meaningful rate.
        tps: (length_s >= 0.1).then(|| committed as f64 / length_s),
        failed: rows.iter().map(|row| row.failed).sum(),
        p50_ns: longest(|row| row.p50_ns),
        p95_ns: longest(|row| {
            row.p95_ns
                .or(row.rolling.as_ref().map(|rolling| rolling.p95_ns))
        }),
        p99_ns: longest(|row| {
            row.p99_ns
                .or(row.rolling.as_ref().map(|rolling| rolling.p99_ns))
        }),
        max_ns: longest(|row| Some(row.max_ns)).unwrap_or(0.0),
        connections: rows.iter().map(|row| row.connections).min().unwrap_or(0),
        window_s: longest_window_s(
            rows.iter()
                .filter_map(|row| Some(row.rolling.as_ref()?.length_s)),
        ),
    }
}

fn longest_window_s(windows: impl Iterator<Item = f64>) -> Option<f64> {
    windows.max_by(f64::total_cmp)
}

/// The throughput of consecutive seconds, with their time since the start of the load.
pub struct ThroughputPoint {
    /// Start of the seconds.
    pub start_s: f64,
    /// Middle of the seconds.
    pub middle_s: f64,
    /// Committed transactions per second; absent if the seconds are too short for a rate.
    pub tps: Option<f64>,
}

/// Returns one point for each group of `group_size` seconds.
pub fn throughput_points(run: &Run, group_size: usize) -> Vec<ThroughputPoint> {
    let groups = run.series.chunks(group_size.max(1)).map(merge_seconds);
    let points = groups.map(|merged| ThroughputPoint {
        start_s: merged.start_s,
        middle_s: merged.middle_s,
        tps: merged.tps,
    });
    points.collect()
}

/// The end of the time axis, in seconds: the end of the longest series of the run.
pub fn end_s(run: &Run) -> f64 {
    let client_ends_s = run.series.iter().map(|row| row.at_s + row.length_s);
    let observed = run.observed.iter().flat_map(|observed| &observed.series);
    let ends_s = client_ends_s.chain(observed.map(|row| row.at_s + row.length_s));
    let end_s = ends_s.filter(|end_s| end_s.is_finite()).fold(0.0, f64::max);
    if end_s > 0.0 { end_s } else { 1.0 }
}

/// Writes the charts and the table. `number` makes their ids unique.
pub fn write(out: &mut Html, run: &Run, number: usize, marks: &[EventMark]) -> fmt::Result {
    if run.series.is_empty() {
        out.push_str(
            "<p class=\"absent\">No figures over time: the document contains no seconds.</p>\n",
        );
        return Ok(());
    }
    let group_size = group_size(run.series.len());
    let groups: Vec<MergedSeconds> = run.series.chunks(group_size).map(merge_seconds).collect();
    write_legend(out, marks)?;
    if let Some(text) = reduced::describe(run) {
        writeln_markup!(out, "<p>{}</p>", text)?;
    }
    write_length_of_points(out, run, group_size)?;
    let times_s = groups.iter().map(|merged| merged.middle_s).collect();
    let line = |name: &str, field: fn(&MergedSeconds) -> Option<f64>| ChartLine {
        name: name.to_owned(),
        values: groups.iter().map(field).collect(),
    };
    let charts = Charts {
        run,
        number,
        times_s,
        marks,
        table_id_prefix: "seconds",
    };
    let title = "Throughput: transactions committed per second";
    let tps = vec![line("committed", |merged| merged.tps)];
    let per_second = |tps| format!("{} /s", units::rate(tps));
    charts.draw(out, "tps", title, tps, per_second, Axis::Linear)?;
    let row_s = longest_row_s(run);
    let period = if row_s > 1.0 {
        format!("each {row_s:.0} seconds")
    } else {
        "each second".to_owned()
    };
    let title = format!("Response time of committed transactions, percentiles of {period}");
    let window_s = longest_window_s(groups.iter().filter_map(|merged| merged.window_s));
    let p99_name = match window_s {
        None => "99th percentile".to_owned(),
        Some(window_s) => format!("99th percentile, of up to {window_s:.0} s"),
    };
    let times = vec![
        line("50th percentile", |merged| merged.p50_ns),
        line("95th percentile", |merged| merged.p95_ns),
        line(&p99_name, |merged| merged.p99_ns),
    ];
    charts.draw(
        out,
        "latency",
        &title,
        times,
        units::time,
        Axis::LinearOrLogarithmic,
    )?;
    if let Some(window_s) = window_s {
        writeln_markup!(
            out,
            "<p class=\"small\">If a second has fewer than 1,000 transactions (fewer than 200 for the 95th percentile), \
             its percentile covers as many of the preceding seconds as have 1,000 transactions, here up to \
             {:.0} s.</p>",
            window_s
        )?;
    }
    if groups.iter().any(|merged| merged.p99_ns.is_none()) {
        writeln_markup!(
            out,
            "<p class=\"small\">A gap in a line is a second with too few transactions for that \
             percentile.</p>"
        )?;
    }
    write_table(out, number, &groups, end_s(run))
}

/// The longest row of the series, in whole seconds.
fn longest_row_s(run: &Run) -> f64 {
    let lengths_s = run.series.iter().map(|row| row.length_s);
    lengths_s.fold(0.0, f64::max).round()
}

/// Writes how many seconds a point covers, if it covers more than one.
fn write_length_of_points(out: &mut Html, run: &Run, group_size: usize) -> fmt::Result {
    let row_s = longest_row_s(run);
    let point_s = row_s * group_size as f64;
    if point_s < 2.0 {
        return Ok(());
    }
    let percentiles = match (group_size, row_s > 1.0) {
        (1, _) => "its percentiles".to_owned(),
        (_, false) => "the highest percentiles of them".to_owned(),
        (_, true) => format!("the highest percentiles of each {row_s:.0} of them"),
    };
    writeln_markup!(
        out,
        "<p>Each point of the first two charts covers {:.0} seconds, with their mean throughput and \
         {}.</p>",
        point_s,
        percentiles
    )
}

fn write_table(out: &mut Html, number: usize, groups: &[MergedSeconds], end_s: f64) -> fmt::Result {
    out.push_str("<details><summary>The seconds as a table</summary>");
    let columns = [
        "from",
        "committed /s",
        "failed",
        "p50",
        "p95",
        "p99",
        "max",
        "connections",
    ];
    start_table_with_id(
        out,
        &format!("seconds-{number}"),
        "The seconds; percentiles are of committed transactions",
        &columns,
    )?;
    for merged in groups {
        let time = |ns: Option<f64>| or_dash(ns, units::time);
        let window = merged.window_s.map(|s| format!(" of {s:.0} s"));
        let cells = [
            or_dash(merged.tps, units::rate),
            units::count(merged.failed),
            time(merged.p50_ns),
            time(merged.p95_ns),
            time(merged.p99_ns) + &window.unwrap_or_default(),
            units::time(merged.max_ns),
            units::count(merged.connections.into()),
        ];
        write_row_at_time(
            out,
            merged.middle_s,
            &time_label(merged.start_s, end_s),
            &cells,
        )?;
    }
    end_table(out)?;
    out.push_str("</details>\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;

    #[test]
    fn merged_seconds_have_the_highest_percentile_and_the_total_rate() {
        let mut run = closed();
        run.series[1].p99_ns = Some(80_000_000);
        let merged = merge_seconds(&run.series);
        assert_eq!(merged.p99_ns, Some(80_000_000.0));
        assert_eq!(merged.tps, Some(27_560.0));
        assert_eq!(merged.middle_s, 2.5);
        assert_eq!(group_size(600), 1);
        assert_eq!(group_size(86_400), 144);
    }

    #[test]
    fn seconds_with_few_transactions_show_the_percentile_of_a_window() {
        let mut run = closed();
        for (index, row) in run.series.iter_mut().enumerate().skip(1) {
            row.p99_ns = None;
            row.rolling = Some(prony_store::RollingPercentiles {
                length_s: 10.0 + index as f64,
                p95_ns: 5_000_000,
                p99_ns: 70_000_000,
            });
        }
        let mut out = Html::default();
        write(&mut out, &run, 1, &[]).unwrap();
        assert!(out.contains("99th percentile, of up to 14 s"), "{out}");
        assert!(out.contains("<td>70.0 ms of 12 s</td>"), "{out}");
        assert!(
            out.contains("<td>4.00 ms</td>"),
            "the 95th percentile of the second: {out}"
        );
        assert!(!out.contains("A gap in a line"), "{out}");
    }

    #[test]
    fn a_long_run_has_a_limited_number_of_points() {
        let mut run = closed();
        let row = run.series[1].clone();
        run.series = (0..86_400)
            .map(|n| Second {
                at_s: f64::from(n),
                ..row.clone()
            })
            .collect();
        let mut out = Html::default();
        write(&mut out, &run, 1, &[]).unwrap();
        assert!(out.matches("<tr data-at").count() <= MAX_POINTS);
        assert!(out.contains("Each point of the first two charts covers 144 seconds"));
        assert!(out.len() < 300_000, "{}", out.len());
    }
}
