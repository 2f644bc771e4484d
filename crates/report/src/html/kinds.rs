//! The kinds of transaction over the run.
//!
//! In: the histograms of each kind over time. Out: their throughput as stacked areas, their 99th percentiles as
//! lines, and a table. Must never: show a percentile with too few transactions.

use super::chart::{Axis, ChartLine, Charts, time_label};
use super::marks::EventMark;
use super::reduced::sum;
use super::seconds::{end_s, group_size};
use super::table::{end_table, start_table_with_id, write_row_at_time};
use crate::html::markup::{Html, writeln_markup};
use crate::text::plain;
use crate::units::{self, or_dash};
use prony_store::{Run, TransactionTime};
use std::fmt;

struct KindOverTime {
    name: String,
    points: Vec<KindPoint>,
}

/// One kind in one interval.
struct KindPoint {
    start_s: f64,
    middle_s: f64,
    tps: Option<f64>,
    p99_ns: Option<f64>,
}

/// The kinds over time; empty if the document has no histograms of several kinds.
fn kinds(run: &Run) -> Result<Vec<KindOverTime>, String> {
    let Some(histograms) = &run.histograms else {
        return Ok(Vec::new());
    };
    let mut kinds = Vec::new();
    for name in histograms.kinds().flatten() {
        let response = TransactionTime::Response;
        let intervals = histograms.intervals(response, Some(name), &run.series)?;
        let groups = intervals.chunks(group_size(intervals.len()));
        let points = groups.map(|group| {
            let start_s = group.first().map_or(0.0, |interval| interval.at_s());
            let length_s: f64 = group.iter().map(|interval| interval.length_s()).sum();
            let histogram = sum(group);
            KindPoint {
                start_s,
                middle_s: start_s + length_s / 2.0,
                // The last interval of a run may be too short for a meaningful rate.
                tps: (length_s >= 0.1).then(|| histogram.samples() as f64 / length_s),
                p99_ns: histogram.quantile_ns(0.99).map(|ns| ns as f64),
            }
        });
        kinds.push(KindOverTime {
            name: plain(name),
            points: points.collect(),
        });
    }
    Ok(kinds)
}

/// Writes the charts and their table; nothing if the run has only one kind, or no histograms over time.
pub fn write(out: &mut Html, run: &Run, number: usize, marks: &[EventMark]) -> fmt::Result {
    let kinds = match kinds(run) {
        Ok(kinds) => kinds,
        Err(reason) => {
            return writeln_markup!(
                out,
                "<p class=\"absent\">No kinds over time: {}.</p>",
                reason
            );
        }
    };
    let Some(first) = kinds.first() else {
        return Ok(());
    };
    let charts = Charts {
        run,
        number,
        times_s: first.points.iter().map(|point| point.middle_s).collect(),
        marks,
        table_id_prefix: "kinds",
    };
    let lines = |value: fn(&KindPoint) -> Option<f64>| {
        let lines = kinds.iter().map(|kind| ChartLine {
            name: kind.name.clone(),
            values: kind.points.iter().map(value).collect(),
        });
        lines.collect()
    };
    let title = "Throughput by kind: transactions committed per second, stacked";
    let per_second = |tps| format!("{} /s", units::rate(tps));
    let tps = lines(|point| point.tps);
    charts.draw(out, "kinds-tps", title, tps, per_second, Axis::Stacked)?;
    let title = "99th percentile of the response time, by kind";
    let p99 = lines(|point| point.p99_ns);
    let axis = Axis::LinearOrLogarithmic;
    charts.draw(out, "kinds-p99", title, p99, units::time, axis)?;
    write_table(out, number, &kinds, end_s(run))
}

fn write_table(out: &mut Html, number: usize, kinds: &[KindOverTime], end_s: f64) -> fmt::Result {
    out.push_str("<details><summary>The kinds over time as a table</summary>");
    let titles = kinds.iter().flat_map(|kind| {
        let name = &kind.name;
        [format!("{name} /s"), format!("{name}, p99")]
    });
    let columns: Vec<String> = std::iter::once("from".to_owned()).chain(titles).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let caption = "Committed transactions by kind; percentiles to two digits";
    start_table_with_id(out, &format!("kinds-{number}"), caption, &columns)?;
    let intervals = kinds.first().map_or(0, |kind| kind.points.len());
    for index in 0..intervals {
        let cells = kinds.iter().flat_map(|kind| {
            let point = &kind.points[index];
            [
                or_dash(point.tps, units::rate),
                or_dash(point.p99_ns, units::time),
            ]
        });
        let point = &kinds[0].points[index];
        let from = time_label(point.start_s, end_s);
        write_row_at_time(out, point.middle_s, &from, &cells.collect::<Vec<_>>())?;
    }
    end_table(out)?;
    out.push_str("</details>\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::with_part_histograms;
    use prony_store::HistogramSeries;

    #[test]
    fn each_kind_has_its_throughput_and_percentile() {
        let mut run = with_part_histograms();
        let mut out = Html::default();
        write(&mut out, &run, 1, &[]).unwrap();
        assert_eq!(out, "", "a single kind is in the charts of all kinds");
        // The response times of the fixture become those of one kind, its server times those of another.
        let histograms: &mut HistogramSeries = run.histograms.as_mut().unwrap();
        histograms.times.truncate(3);
        let times = &mut histograms.times;
        times.remove(1);
        times[0].kind = Some("pay<b>".into());
        times[1].kind = Some("new order".into());
        times[1].time = TransactionTime::Response;
        write(&mut out, &run, 1, &[]).unwrap();
        assert!(
            out.contains("<th scope=\"col\">pay&lt;b&gt;, p99</th>"),
            "{out}"
        );
        assert!(!out.contains("<b>"), "{out}");
        let row = "<td>27,400</td><td>1.25 ms</td><td>27,400</td><td>1.00 ms</td>";
        assert!(out.contains(row), "{out}");
        assert_eq!(out.matches("class=\"area ").count(), 2);
    }
}
