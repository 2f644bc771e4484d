//! A heat map of the response time over the run, with the lines of its tail.
//!
//! In: the histograms of a Run over time. Out: for each interval the share of its transactions at each response
//! time, as shades; the extremes, the median and the 99.9th percentile as lines; and a table. Must never:
//! show a percentile with too few transactions.

use super::drawing::Drawing;
use super::figure::{Plot, write_legend};
use super::over_time::{HistogramPoint, RunOverTime};
use super::scale::Scale;
use super::timeline::{Axis, Chart, ChartLine, Column};
use super::write_absent;
use crate::html::markup::{Html, markup};
use crate::units;
use prony_store::TransactionTime;
use std::fmt::{self, Write};

/// Height of a cell, in units of the drawing.
const CELL_HEIGHT: f64 = 4.0;
/// Lowest share of an interval's transactions for each shade above the faintest, in ascending order.
const SHADES: [f64; 5] = [0.001, 0.01, 0.05, 0.15, 0.3];

/// Writes the map and its table; nothing if the document has no histograms over time.
pub fn write(out: &mut Html, time: &RunOverTime<'_>) -> fmt::Result {
    let points = match time.histograms(TransactionTime::Response, None) {
        Ok(points) => points,
        Err(reason) => {
            return write_absent(out, "No heat map", &reason);
        }
    };
    if points.is_empty() {
        return Ok(());
    }
    let timeline = time.timeline("heat-table", points.iter().map(|point| point.span));
    let line = |name: &str, value: fn(&HistogramPoint) -> Option<f64>| {
        ChartLine::new(name, points.iter().map(value))
    };
    let p50 = line("50th percentile", |point| point.quantile_ns(0.5));
    let p999 = line("99.9th percentile", |point| point.quantile_ns(0.999));
    let longest = line("longest", |point| point.max_ns);
    let shortest = line("shortest", |point| {
        let mut buckets = point.histogram.buckets();
        buckets.next().map(|(low_ns, ..)| low_ns as f64)
    });
    let committed = points
        .iter()
        .map(|point| units::count(point.histogram.samples()));
    let columns = [
        Column::new("committed", committed),
        shortest.column("shortest", units::time),
        p50.column("p50", units::time),
        line("", |point| point.quantile_ns(0.99)).column("p99", units::time),
        p999.column("p99.9", units::time),
        longest.column("longest", units::time),
    ];
    let chart = Chart {
        id: "heat",
        title: "Response time of committed transactions: share of the transactions of each interval",
        lines: vec![p50, p999, longest, shortest],
        axis: Axis::Logarithmic(units::time),
    };
    timeline.draw_over(out, &chart, &|out, x, y| draw_cells(out, &points, x, y))?;
    let shades = (0..=SHADES.len()).map(|shade| {
        let name = match shade.checked_sub(1) {
            None => format!("less than {} %", SHADES[0] * 100.0),
            Some(below) => format!("from {} %", SHADES[below] * 100.0),
        };
        let sample = markup!("<path class=\"heat h{}\" d=\"M0 0h36v10h-36z\"/>", shade);
        (sample, name)
    });
    write_legend(out, &shades.collect::<Vec<_>>())?;
    let summary = "The response times of the intervals as a table";
    let caption = "Response time of committed transactions, percentiles to two digits";
    timeline.write_table(out, summary, caption, &columns)
}

/// The shade of a cell, from 0; `share` is above zero.
fn shade(share: f64) -> usize {
    SHADES.iter().filter(|limit| share >= **limit).count()
}

fn draw_cells(out: &mut Drawing, points: &[HistogramPoint], x: &Scale, y: &Scale) -> fmt::Result {
    let plot_bottom = Plot::STANDARD.bottom;
    let mut paths = vec![String::new(); SHADES.len() + 1];
    for HistogramPoint {
        span, histogram, ..
    } in points
    {
        let samples = histogram.samples() as f64;
        let mut cells: Vec<u64> = Vec::new();
        for (low_ns, high_ns, count) in histogram.buckets() {
            let middle_ns = (low_ns as f64 + high_ns as f64) / 2.0;
            let row = ((plot_bottom - y.position(middle_ns)) / CELL_HEIGHT).max(0.0) as usize;
            if row >= cells.len() {
                cells.resize(row + 1, 0);
            }
            cells[row] = cells[row].saturating_add(count);
        }
        let left = x.position(span.start_s);
        // Columns share their rounded edges, so that no gap shows between them.
        let right = x.position(span.start_s + span.length_s).max(left + 0.5);
        let mut row = 0;
        let shade_of = |count: u64| (count > 0).then(|| shade(count as f64 / samples));
        // Cells of equal shade on top of each other are one rectangle.
        for group in cells.chunk_by(|a, b| shade_of(*a) == shade_of(*b)) {
            let bottom = plot_bottom - row as f64 * CELL_HEIGHT;
            let height = group.len() as f64 * CELL_HEIGHT;
            row += group.len();
            if let Some(shade) = shade_of(group[0]) {
                let path = &mut paths[shade];
                write!(path, "M{left:.1} {bottom}H{right:.1}v-{height}H{left:.1}z")?;
            }
        }
    }
    for (shade, d) in paths.iter().enumerate().filter(|(_, d)| !d.is_empty()) {
        out.path(&format!("heat h{shade}"), d)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::over_time::max_points;
    use crate::sample_run::{closed, with_part_histograms};
    use prony_assertions::TextAssertions;

    #[test]
    fn every_interval_is_a_column_of_its_transactions() {
        let run = with_part_histograms();
        let mut out = Html::default();
        write(&mut out, &RunOverTime::new(&run, 1, max_points(1))).unwrap();
        // In the fixture, every transaction of a second takes 1.25 ms.
        let path = out.split("<path class=\"heat h5\" d=\"M").nth(1).unwrap();
        let path = path.split('"').next().unwrap();
        assert_eq!(path.matches('z').count(), run.series.len(), "{path}");
        let others = out.matches("class=\"heat h4\"").count();
        assert_eq!(others, 1, "only the legend has another shade: {out}");
        out.assert_contains("<td>1.25 ms</td>");
    }

    #[test]
    fn shades_begin_at_their_limits() {
        assert_eq!(
            [0.0001, 0.001, 0.049, 0.05, 0.3, 1.0].map(shade),
            [0, 1, 2, 3, 5, 5]
        );
    }

    #[test]
    fn a_run_without_histograms_has_no_map_and_broken_ones_are_reported() {
        let mut out = Html::default();
        write(&mut out, &RunOverTime::new(&closed(), 1, max_points(1))).unwrap();
        assert_eq!(out, "");
        let mut run = with_part_histograms();
        run.series.pop();
        write(&mut out, &RunOverTime::new(&run, 1, max_points(1))).unwrap();
        out.assert_contains("No heat map: the histograms cover more seconds");
    }
}
