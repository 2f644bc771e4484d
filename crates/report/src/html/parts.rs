//! Where the service time was spent over the run: the parts send wait, server and client wait.
//!
//! In: the histograms of a Run over time. Out: the means as stacked areas, the medians as lines, and a table.
//! Must never: stack percentiles, which do not add up.

use super::chart::{Axis, ChartLine, Charts, time_label};
use super::marks::EventMark;
use super::reduced::sum;
use super::seconds::{end_s, group_size};
use super::table::{end_table, start_table_with_id, write_row_at_time};
use crate::html::markup::{Html, writeln_markup};
use crate::units::{self, or_dash};
use prony_store::{Run, TransactionTime};
use std::fmt;

/// The parts from the bottom of the stack to its top.
const PARTS: [TransactionTime; 3] = [
    TransactionTime::Server,
    TransactionTime::ClientWait,
    TransactionTime::SendWait,
];

/// The parts of one point of the charts, in the order of [`PARTS`].
struct PartsPoint {
    start_s: f64,
    middle_s: f64,
    means_ns: [Option<f64>; 3],
    medians_ns: [Option<f64>; 3],
}

/// The points of the charts; empty if the run has no parts over time.
fn points(run: &Run) -> Result<Vec<PartsPoint>, String> {
    let Some(histograms) = &run.histograms else {
        return Ok(Vec::new());
    };
    let mut points: Vec<PartsPoint> = Vec::new();
    for (part, time) in PARTS.into_iter().enumerate() {
        let intervals = histograms.intervals(time, None, &run.series)?;
        let groups = intervals.chunks(group_size(intervals.len()));
        for (index, group) in groups.enumerate() {
            let histogram = sum(group);
            if index == points.len() {
                let start_s = group.first().map_or(0.0, |interval| interval.at_s());
                let length_s: f64 = group.iter().map(|interval| interval.length_s()).sum();
                points.push(PartsPoint {
                    start_s,
                    middle_s: start_s + length_s / 2.0,
                    means_ns: [None; 3],
                    medians_ns: [None; 3],
                });
            }
            points[index].means_ns[part] = histogram.mean_ns();
            points[index].medians_ns[part] = histogram.quantile_ns(0.5).map(|ns| ns as f64);
        }
    }
    Ok(points)
}

/// Writes the charts and their table; nothing if the document has no parts over time.
pub fn write(out: &mut Html, run: &Run, number: usize, marks: &[EventMark]) -> fmt::Result {
    let points = match points(run) {
        Ok(points) => points,
        Err(reason) => {
            return writeln_markup!(
                out,
                "<p class=\"absent\">No parts of the service time over time: {}.</p>",
                reason
            );
        }
    };
    if points.is_empty() {
        return Ok(());
    }
    let charts = Charts {
        run,
        number,
        times_s: points.iter().map(|point| point.middle_s).collect(),
        marks,
        table_id_prefix: "parts",
    };
    let lines = |values_of: fn(&PartsPoint) -> &[Option<f64>; 3]| {
        let lines = PARTS.into_iter().enumerate().map(|(part, time)| ChartLine {
            name: time.name().to_owned(),
            values: points.iter().map(|point| values_of(point)[part]).collect(),
        });
        lines.collect()
    };
    let means = lines(|point| &point.means_ns);
    let title = "Where the service time was spent: the means of its parts, stacked";
    charts.draw(out, "parts-mean", title, means, units::time, Axis::Stacked)?;
    let medians = lines(|point| &point.medians_ns);
    let title = "Medians of the parts of the service time (medians do not add up)";
    let axis = Axis::LinearOrLogarithmic;
    charts.draw(out, "parts-median", title, medians, units::time, axis)?;
    write_table(out, number, &points, end_s(run))
}

fn write_table(out: &mut Html, number: usize, points: &[PartsPoint], end_s: f64) -> fmt::Result {
    out.push_str("<details><summary>The parts of the service time as a table</summary>");
    let columns = [
        "from",
        "server, mean",
        "client wait, mean",
        "send wait, mean",
        "server, p50",
        "client wait, p50",
        "send wait, p50",
    ];
    start_table_with_id(
        out,
        &format!("parts-{number}"),
        "The parts of the service time of committed transactions, to two digits",
        &columns,
    )?;
    for point in points {
        let values = point.means_ns.iter().chain(&point.medians_ns);
        let cells: Vec<String> = values.map(|ns| or_dash(*ns, units::time)).collect();
        write_row_at_time(
            out,
            point.middle_s,
            &time_label(point.start_s, end_s),
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
    use crate::sample_run::{closed, with_part_histograms};

    #[test]
    fn means_are_stacked_and_medians_are_not() {
        let run = with_part_histograms();
        let points = points(&run).unwrap();
        assert_eq!(points.len(), run.series.len());
        let first = &points[0];
        let sum_ns: f64 = first.means_ns.iter().flatten().sum();
        assert!((sum_ns / 1_250_000.0 - 1.0).abs() < 0.01, "{sum_ns}");
        // The server takes 1,000 µs and the client wait 200 µs in every transaction of the fixture.
        let medians_ns = first.medians_ns.map(Option::unwrap);
        assert!(
            (medians_ns[0] / 1_000_000.0 - 1.0).abs() < 0.01,
            "{medians_ns:?}"
        );
        assert!(
            (medians_ns[1] / 200_000.0 - 1.0).abs() < 0.01,
            "{medians_ns:?}"
        );
        let mut out = Html::default();
        write(&mut out, &run, 1, &[]).unwrap();
        assert_eq!(out.matches("class=\"area ").count(), 3, "{out}");
        assert_eq!(out.matches("<tr data-at").count(), run.series.len());
    }

    #[test]
    fn a_run_without_parts_has_no_charts_and_broken_histograms_are_reported() {
        let mut out = Html::default();
        write(&mut out, &closed(), 1, &[]).unwrap();
        assert_eq!(out, "");
        let mut run = with_part_histograms();
        run.series.pop();
        write(&mut out, &run, 1, &[]).unwrap();
        assert!(
            out.contains("cover more seconds than the document"),
            "{out}"
        );
    }
}
