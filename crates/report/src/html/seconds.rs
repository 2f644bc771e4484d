//! The seconds of a run: charts of what the client saw, and the table beside them.
//!
//! In: the series of a Run. Out: two charts and a table. Must never: average a percentile. In a long
//! run several seconds are put together: counts by their sum, times by the worst of them.

use super::chart::{Axis, Chart, Line, clock};
use super::escape::Text;
use super::marks::{Mark, key};
use super::one::{end, table_of};
use crate::units;
use prony_store::{Run, Second};
use std::fmt::{self, Write};

/// As many points a line has at most: more than a screen shows.
pub const POINTS_MOST: usize = 600;

/// How many rows are put together so that no more than [`POINTS_MOST`] points are left.
pub fn together(rows: usize) -> usize {
    rows.div_ceil(POINTS_MOST).max(1)
}

/// Some seconds put together.
#[derive(Clone, Debug, Default, PartialEq)]
struct Point {
    from_s: f64,
    at_s: f64,
    tps: Option<f64>,
    failed: u64,
    p50_ns: Option<f64>,
    p95_ns: Option<f64>,
    p99_ns: Option<f64>,
    max_ns: f64,
    connections: u32,
}

fn point(rows: &[Second]) -> Point {
    let seconds: f64 = rows.iter().map(|row| row.seconds).sum();
    let committed: u64 = rows.iter().map(|row| row.committed).sum();
    let worst =
        |of: fn(&Second) -> Option<u64>| rows.iter().filter_map(of).max().map(|ns| ns as f64);
    let from_s = rows.first().map_or(0.0, |row| row.at_s);
    Point {
        from_s,
        at_s: from_s + seconds / 2.0,
        // The rest at the end of a run is too short for a rate.
        tps: (seconds >= 0.1).then(|| committed as f64 / seconds),
        failed: rows.iter().map(|row| row.failed).sum(),
        p50_ns: worst(|row| row.p50_ns),
        p95_ns: worst(|row| row.p95_ns),
        p99_ns: worst(|row| row.p99_ns),
        max_ns: worst(|row| Some(row.max_ns)).unwrap_or(0.0),
        connections: rows.iter().map(|row| row.connections).min().unwrap_or(0),
    }
}

/// Throughput of each group of so many seconds: its begin, its middle, and transactions a second.
pub fn throughput(run: &Run, size: usize) -> Vec<(f64, f64, Option<f64>)> {
    let points = run.series.chunks(size.max(1)).map(point);
    points
        .map(|point| (point.from_s, point.at_s, point.tps))
        .collect()
}

/// End of the axis of time, seconds: of all series of a run.
pub fn end_s(run: &Run) -> f64 {
    let client = run.series.iter().map(|row| row.at_s + row.seconds);
    let seen = run.observed.iter().flat_map(|seen| &seen.series);
    let all = client.chain(seen.map(|row| row.at_s + row.seconds));
    let end_s = all.filter(|at_s| at_s.is_finite()).fold(0.0, f64::max);
    if end_s > 0.0 { end_s } else { 1.0 }
}

/// Writes charts and table. `number` makes their ids unique.
pub fn write(out: &mut String, run: &Run, number: usize, marks: &[Mark]) -> fmt::Result {
    if run.series.is_empty() {
        let why = match run.imported {
            Some(_) => "the output that this run was read from has no figures by the second",
            None => "the document holds no seconds",
        };
        return writeln!(out, "<p class=\"absent\">No course over time: {why}.</p>");
    }
    let size = together(run.series.len());
    let points: Vec<Point> = run.series.chunks(size).map(point).collect();
    key(out, marks)?;
    if size > 1 {
        writeln!(
            out,
            "<p>A long run: each point is of {size} seconds, with their mean throughput and the worst \
             of their percentiles.</p>"
        )?;
    }
    let at_s: Vec<f64> = points.iter().map(|point| point.at_s).collect();
    let line = |name: &str, of: fn(&Point) -> Option<f64>| Line {
        name: name.to_owned(),
        values: points.iter().map(of).collect(),
    };
    let chart = |id: &str, title, lines, unit, axis| Chart {
        id: format!("{id}-{number}"),
        title,
        at_s: &at_s,
        lines,
        unit,
        axis,
        marks,
        warmup_s: run.window.warmup_s,
        end_s: end_s(run),
        table: format!("seconds-{number}"),
    };
    let title = "Throughput: transactions committed a second";
    let tps = vec![line("committed", |point| point.tps)];
    chart(
        "tps",
        title,
        tps,
        |tps| format!("{} /s", units::rate(tps)),
        Axis::Linear,
    )
    .draw(out)?;
    let title = "Response time of committed transactions, percentiles of each second";
    let times = vec![
        line("50th percentile", |point| point.p50_ns),
        line("95th percentile", |point| point.p95_ns),
        line("99th percentile", |point| point.p99_ns),
    ];
    chart("latency", title, times, units::time, Axis::Times).draw(out)?;
    if points.iter().any(|point| point.p99_ns.is_none()) {
        let why = "too few transactions for that percentile";
        writeln!(
            out,
            "<p class=\"small\">Where a line is missing, a second had {why}.</p>"
        )?;
    }
    table(out, number, &points, end_s(run))
}

fn table(out: &mut String, number: usize, points: &[Point], end_s: f64) -> fmt::Result {
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
    let id = format!("seconds-{number}");
    table_of(out, Some(&id), "The seconds", &columns)?;
    for point in points {
        let time = |ns: Option<f64>| ns.map_or("–".into(), units::time);
        let cells = [
            point.tps.map_or("–".into(), units::rate),
            units::count(point.failed),
            time(point.p50_ns),
            time(point.p95_ns),
            time(point.p99_ns),
            units::time(point.max_ns),
            units::count(point.connections.into()),
        ];
        row(out, point.at_s, &clock(point.from_s, end_s), &cells)?;
    }
    end(out);
    out.push_str("</details>\n");
    Ok(())
}

/// A row of a table by time; the script reads its moment.
pub fn row(out: &mut String, at_s: f64, name: &str, cells: &[String]) -> fmt::Result {
    write!(out, "<tr data-at=\"{at_s}\"><th scope=\"row\">{name}</th>")?;
    for cell in cells {
        write!(out, "<td>{}</td>", Text(cell))?;
    }
    out.push_str("</tr>\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;

    #[test]
    fn seconds_put_together_keep_their_worst_percentile_and_their_sum() {
        let mut run = closed();
        run.series[1].p99_ns = Some(80_000_000);
        let all = point(&run.series);
        assert_eq!(all.p99_ns, Some(80_000_000.0));
        assert_eq!(all.tps, Some(27_400.0));
        assert_eq!(all.at_s, 2.5);
        assert_eq!(together(600), 1);
        assert_eq!(together(86_400), 144);
    }

    #[test]
    fn a_run_of_a_day_has_no_more_points_than_one_sees() {
        let mut run = closed();
        let row = run.series[1].clone();
        run.series = (0..86_400)
            .map(|n| Second {
                at_s: f64::from(n),
                ..row.clone()
            })
            .collect();
        let mut out = String::new();
        write(&mut out, &run, 1, &[]).unwrap();
        assert!(out.matches("<tr data-at").count() <= POINTS_MOST);
        assert!(out.contains("each point is of 144 seconds"));
        assert!(out.len() < 300_000, "{}", out.len());
    }
}
