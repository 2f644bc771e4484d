//! The seconds of a run: charts of the client's measurements, and a table with the same figures.
//!
//! In: the series of a Run. Out: two charts and a table. Must never: average a percentile. In a long run
//! several seconds are merged into one point: counts by their sum, times by their maximum.

use super::marks::write_legend;
use super::over_time::{RunOverTime, Span};
use super::timeline::{Axis, ChartLine, Column};
use crate::html::markup::{Html, writeln_markup};
use crate::units;
use prony_store::{Run, Second};
use std::fmt;

/// Committed transactions per second; `None` if the seconds are too short for a rate.
pub fn tps(rows: &[Second]) -> Option<f64> {
    let committed: u64 = rows.iter().map(|row| row.committed).sum();
    Span::of_seconds(rows).rate(committed as f64)
}

/// The longest of a time in some seconds, in nanoseconds.
fn longest(rows: &[Second], time_ns: fn(&Second) -> Option<u64>) -> Option<f64> {
    let times_ns = rows.iter().filter_map(time_ns);
    times_ns.max().map(|ns| ns as f64)
}

/// The lowest number of connections in some seconds.
pub fn fewest_connections(rows: &[Second]) -> Option<f64> {
    rows.iter().map(|row| row.connections).min().map(f64::from)
}

/// The longest period that a percentile of some seconds covers, in seconds; `None` if none covers more than its second.
fn longest_window_s(rows: &[Second]) -> Option<f64> {
    let windows = rows.iter().filter_map(|row| row.rolling.as_ref());
    windows.map(|window| window.length_s).max_by(f64::total_cmp)
}

pub fn write(out: &mut Html, time: &RunOverTime<'_>) -> fmt::Result {
    let run = time.run;
    let groups = time.seconds();
    if groups.is_empty() {
        out.push_str(
            "<p class=\"absent\">No figures over time: the document contains no seconds.</p>\n",
        );
        return Ok(());
    }
    let window_s = longest_window_s(&run.series);
    write_legend(out, &time.marks)?;
    write_length_of_points(out, run, groups[0].len())?;
    let timeline = time.timeline("seconds", groups.iter().map(|rows| Span::of_seconds(rows)));
    let line = |name: &str, value: &dyn Fn(&[Second]) -> Option<f64>| {
        ChartLine::new(name, groups.iter().map(|rows| value(rows)))
    };
    let longest_line = |name: &str, time_ns: fn(&Second) -> Option<u64>| {
        line(name, &|rows| longest(rows, time_ns))
    };
    let committed = line("committed", &tps);
    let failed = line("failed", &|rows| {
        Some(rows.iter().map(|row| row.failed).sum::<u64>() as f64)
    });
    let p50 = longest_line("50th percentile", |row| row.p50_ns);
    let p95 = longest_line("95th percentile", |row| {
        row.p95_ns.or_else(|| Some(row.rolling.as_ref()?.p95_ns))
    });
    let p99_name = match window_s {
        None => "99th percentile".to_owned(),
        Some(window_s) => format!("99th percentile, of up to {window_s:.0} s"),
    };
    let p99 = longest_line(&p99_name, |row| {
        row.p99_ns.or_else(|| Some(row.rolling.as_ref()?.p99_ns))
    });
    let p99_cells = groups.iter().zip(&p99.values).map(|(rows, p99_ns)| {
        let window = longest_window_s(rows).map(|s| format!(" of {s:.0} s"));
        units::or_dash(*p99_ns, units::time) + &window.unwrap_or_default()
    });
    let connections = line("connections", &fewest_connections);
    let columns = [
        committed.column("committed /s", units::rate),
        failed.column("failed", units::whole),
        p50.column("p50", units::time),
        p95.column("p95", units::time),
        Column::new("p99", p99_cells),
        longest_line("longest", |row| Some(row.max_ns)).column("max", units::time),
        connections.column("connections", units::whole),
    ];
    let has_gap = !p99.values.iter().all(Option::is_some);
    let title = "Throughput: transactions committed per second";
    let axis = Axis::Linear(units::per_second);
    timeline.draw(out, "tps", title, vec![committed], axis)?;
    let title = format!(
        "Response time of committed transactions, percentiles of {}",
        period(run)
    );
    let axis = Axis::LinearOrLogarithmic(units::time);
    timeline.draw(out, "latency", &title, vec![p50, p95, p99], axis)?;
    write_notes(out, window_s, has_gap)?;
    let caption = "The seconds; percentiles are of committed transactions";
    timeline.write_table(out, "The seconds as a table", caption, &columns)
}

/// What a percentile covers.
fn period(run: &Run) -> String {
    match longest_row_s(run) {
        row_s if row_s > 1.0 => format!("each {row_s:.0} seconds"),
        _ => "each second".to_owned(),
    }
}

/// Writes what the lines of the percentiles mean. `window_s`: the longest period that a percentile covers, if it is more
/// than a second.
fn write_notes(out: &mut Html, window_s: Option<f64>, has_gap: bool) -> fmt::Result {
    if let Some(window_s) = window_s {
        writeln_markup!(
            out,
            "<p class=\"small\">If a second has fewer than 1,000 transactions (fewer than 200 for the 95th percentile), \
             its percentile covers as many of the preceding seconds as have 1,000 transactions, here up to \
             {:.0} s.</p>",
            window_s
        )?;
    }
    if has_gap {
        out.push_str(
            "<p class=\"small\">A gap in a line is a second with too few transactions for that \
             percentile.</p>\n",
        );
    }
    Ok(())
}

/// The longest row of the series, in whole seconds.
fn longest_row_s(run: &Run) -> f64 {
    let lengths_s = run.series.iter().map(|row| row.length_s);
    lengths_s.fold(0.0, f64::max).round()
}

/// Writes how many seconds a point covers, if it covers more than one.
fn write_length_of_points(out: &mut Html, run: &Run, rows_of_point: usize) -> fmt::Result {
    let row_s = longest_row_s(run);
    let point_s = row_s * rows_of_point as f64;
    if point_s < 2.0 {
        return Ok(());
    }
    let percentiles = if rows_of_point == 1 {
        "its percentiles".to_owned()
    } else if row_s > 1.0 {
        format!("the highest percentiles of each {row_s:.0} of them")
    } else {
        "the highest percentiles of them".to_owned()
    };
    writeln_markup!(
        out,
        "<p>Each point of the first two charts covers {:.0} seconds, with their mean throughput and \
         {}.</p>",
        point_s,
        percentiles
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::over_time::max_points;
    use crate::sample_run::closed;
    use prony_assertions::TextAssertions;

    #[test]
    fn merged_seconds_have_the_highest_percentile_and_the_total_rate() {
        let mut run = closed();
        run.series[1].p99_ns = Some(80_000_000);
        assert_eq!(longest(&run.series, |row| row.p99_ns), Some(80_000_000.0));
        assert_eq!(tps(&run.series), Some(27_560.0));
        assert_eq!(Span::of_seconds(&run.series).middle_s(), 2.5);
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
        write(&mut out, &RunOverTime::new(&run, 1, max_points(1))).unwrap();
        out.assert_contains("99th percentile, of up to 14 s");
        out.assert_contains("<td>70.0 ms of 12 s</td>");
        assert!(
            out.contains("<td>4.00 ms</td>"),
            "the 95th percentile of the second: {out}"
        );
        out.assert_lacks("A gap in a line");
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
        write(&mut out, &RunOverTime::new(&run, 1, max_points(1))).unwrap();
        assert!(out.matches("<tr data-at").count() <= max_points(1));
        out.assert_contains("Each point of the first two charts covers 144 seconds");
        assert!(out.len() < 300_000, "{}", out.len());
    }
}
