//! The kinds of transaction over the run.
//!
//! In: the histograms of each kind over time. Out: their throughput as stacked areas, their 99th percentiles as
//! lines, and a table. Must never: show a percentile with too few transactions.

use super::over_time::{HistogramPoint, RunOverTime};
use super::timeline::{Axis, ChartLine};
use super::write_absent;
use crate::html::markup::Html;
use crate::text::plain;
use crate::units;
use prony_store::TransactionTime;
use std::fmt;

/// The names of the kinds, each with its points; empty if the document has no histograms of several kinds.
fn kinds(time: &RunOverTime<'_>) -> Result<Vec<(String, Vec<HistogramPoint>)>, String> {
    let histograms = time.run.histograms.iter();
    let names = histograms
        .flat_map(|histograms| histograms.kinds())
        .flatten();
    let kinds = names.map(|name| {
        let points = time.histograms(TransactionTime::Response, Some(name))?;
        Ok((plain(name), points))
    });
    kinds.collect()
}

/// Writes the charts and their table; nothing if the run has only one kind, or no histograms over time.
pub fn write(out: &mut Html, time: &RunOverTime<'_>) -> fmt::Result {
    let kinds = match kinds(time) {
        Ok(kinds) => kinds,
        Err(reason) => {
            return write_absent(out, "No kinds over time", &reason);
        }
    };
    let Some((_, points)) = kinds.first() else {
        return Ok(());
    };
    let timeline = time.timeline("kinds", points.iter().map(|point| point.span));
    let lines = |value: fn(&HistogramPoint) -> Option<f64>| -> Vec<ChartLine> {
        let lines = kinds.iter();
        lines
            .map(|(name, points)| ChartLine::new(name, points.iter().map(value)))
            .collect()
    };
    let tps = lines(|point| point.span.rate(point.histogram.samples() as f64));
    let p99 = lines(|point| point.quantile_ns(0.99));
    let columns = tps.iter().zip(&p99).flat_map(|(tps, p99)| {
        [
            tps.column(format!("{} /s", tps.name), units::rate),
            p99.column(format!("{}, p99", p99.name), units::time),
        ]
    });
    let columns: Vec<_> = columns.collect();
    let title = "Throughput by kind: transactions committed per second, stacked";
    let axis = Axis::Stacked(units::per_second);
    timeline.draw(out, "kinds-tps", title, tps, axis)?;
    let title = "99th percentile of the response time, by kind";
    let axis = Axis::LinearOrLogarithmic(units::time);
    timeline.draw(out, "kinds-p99", title, p99, axis)?;
    let caption = "Committed transactions by kind; percentiles to two digits";
    timeline.write_table(out, "The kinds over time as a table", caption, &columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::over_time::max_points;
    use crate::sample_run::with_part_histograms;
    use prony_assertions::TextAssertions;
    use prony_store::HistogramSeries;

    #[test]
    fn each_kind_has_its_throughput_and_percentile() {
        let mut run = with_part_histograms();
        let mut out = Html::default();
        write(&mut out, &RunOverTime::new(&run, 1, max_points(1))).unwrap();
        assert_eq!(out, "", "a single kind is in the charts of all kinds");
        // The response times of the fixture become those of one kind, its server times those of another.
        let histograms: &mut HistogramSeries = run.histograms.as_mut().unwrap();
        histograms.times.truncate(3);
        let times = &mut histograms.times;
        times.remove(1);
        times[0].kind = Some("pay<b>".into());
        times[1].kind = Some("new order".into());
        times[1].time = TransactionTime::Response;
        write(&mut out, &RunOverTime::new(&run, 1, max_points(1))).unwrap();
        out.assert_contains("<th scope=\"col\">pay&lt;b&gt;, p99</th>");
        out.assert_lacks("<b>");
        let row = "<td>27,400</td><td>1.25 ms</td><td>27,400</td><td>1.00 ms</td>";
        out.assert_contains(row);
        assert_eq!(out.matches("class=\"area ").count(), 2);
    }
}
