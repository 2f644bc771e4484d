//! Where the service time was spent over the run: the parts send wait, server and client wait.
//!
//! In: the histograms of a Run over time. Out: the means as stacked areas, the medians as lines, and a table.
//! Must never: stack percentiles, which do not add up.

use super::over_time::{HistogramPoint, RunOverTime};
use super::timeline::{Axis, ChartLine};
use super::write_absent;
use crate::html::markup::Html;
use crate::units;
use TransactionTime::{ClientWait, SendWait, Server};
use prony_store::TransactionTime;
use std::fmt;

/// The parts from the bottom of the stack to its top.
const PARTS: [TransactionTime; 3] = [Server, ClientWait, SendWait];

/// The points of each of [`PARTS`]; none if the run has no parts over time.
fn parts(time: &RunOverTime<'_>) -> Result<Vec<Vec<HistogramPoint>>, String> {
    PARTS
        .iter()
        .map(|part| time.histograms(*part, None))
        .collect()
}

/// Writes the charts and their table; nothing if the document has no parts over time.
pub fn write(out: &mut Html, time: &RunOverTime<'_>) -> fmt::Result {
    let parts = match parts(time) {
        Ok(parts) => parts,
        Err(reason) => {
            return write_absent(out, "No parts of the service time over time", &reason);
        }
    };
    if parts.iter().all(Vec::is_empty) {
        return Ok(());
    }
    let timeline = time.timeline("parts", parts[0].iter().map(|point| point.span));
    let lines = |value: fn(&HistogramPoint) -> Option<f64>| -> Vec<ChartLine> {
        let lines = PARTS.iter().zip(&parts);
        lines
            .map(|(part, points)| ChartLine::new(part.name(), points.iter().map(value)))
            .collect()
    };
    let means = lines(|point| point.histogram.mean_ns());
    let medians = lines(|point| point.quantile_ns(0.5));
    let columns = [(&means, "mean"), (&medians, "p50")].into_iter();
    let columns = columns.flat_map(|(lines, figure)| {
        let columns = lines.iter();
        columns.map(move |line| line.column(format!("{}, {figure}", line.name), units::time))
    });
    let columns: Vec<_> = columns.collect();
    let title = "Where the service time was spent: the means of its parts, stacked";
    let axis = Axis::Stacked(units::time);
    timeline.draw(out, "parts-mean", title, means, axis)?;
    let title = "Medians of the parts of the service time (medians do not add up)";
    let axis = Axis::LinearOrLogarithmic(units::time);
    timeline.draw(out, "parts-median", title, medians, axis)?;
    let summary = "The parts of the service time as a table";
    let caption = "The parts of the service time of committed transactions, to two digits";
    timeline.write_table(out, summary, caption, &columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::over_time::max_points;
    use crate::sample_run::{closed, with_part_histograms};
    use prony_assertions::TextAssertions;

    #[test]
    fn means_are_stacked_and_medians_are_not() {
        let run = with_part_histograms();
        let parts = parts(&RunOverTime::new(&run, 1, max_points(1))).unwrap();
        assert_eq!(parts[0].len(), run.series.len());
        let means_ns = parts
            .iter()
            .map(|points| points[0].histogram.mean_ns().unwrap());
        let sum_ns: f64 = means_ns.sum();
        assert!((sum_ns / 1_250_000.0 - 1.0).abs() < 0.01, "{sum_ns}");
        // The server takes 1,000 µs and the client wait 200 µs in every transaction of the fixture.
        for (part, expected_ns) in [(0, 1_000_000.0), (1, 200_000.0)] {
            let median_ns = parts[part][0].quantile_ns(0.5).unwrap();
            assert!((median_ns / expected_ns - 1.0).abs() < 0.01, "{median_ns}");
        }
        let mut out = Html::default();
        write(&mut out, &RunOverTime::new(&run, 1, max_points(1))).unwrap();
        assert_eq!(out.matches("class=\"area ").count(), 3, "{out}");
        assert_eq!(out.matches("<tr data-at").count(), run.series.len());
    }

    #[test]
    fn a_run_without_parts_has_no_charts_and_broken_histograms_are_reported() {
        let mut out = Html::default();
        write(&mut out, &RunOverTime::new(&closed(), 1, max_points(1))).unwrap();
        assert_eq!(out, "");
        let mut run = with_part_histograms();
        run.series.pop();
        write(&mut out, &RunOverTime::new(&run, 1, max_points(1))).unwrap();
        out.assert_contains("cover more seconds than the document");
    }
}
