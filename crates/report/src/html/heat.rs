//! A heat map of the response time over the run, with the lines of its tail.
//!
//! In: the histograms of a Run over time. Out: for each interval the share of its transactions at each response
//! time, as shades; the extremes, the median and the 99.9th percentile as lines; and a table. Must never:
//! show a percentile with too few transactions.

use super::chart::{Axis, Chart, ChartLine, PLOT_BOTTOM, time_label};
use super::marks::EventMark;
use super::reduced::sum;
use super::scale::Scale;
use super::seconds::{end_s, group_size};
use super::table::{end_table, start_table_with_id, write_row_at_time};
use crate::html::markup::{Html, write_markup, writeln_markup};
use crate::units::{self, or_dash};
use prony_store::{CoarseHistogram, Run, TransactionTime};
use std::fmt::{self, Write};

/// Height of a cell, in units of the drawing.
const CELL_HEIGHT: f64 = 4.0;
/// Lowest share of an interval's transactions for each shade above the faintest, in ascending order.
const SHADES: [f64; 5] = [0.001, 0.01, 0.05, 0.15, 0.3];

/// The response times of one column of the map.
struct Column {
    start_s: f64,
    length_s: f64,
    histogram: CoarseHistogram,
    min_ns: Option<f64>,
    max_ns: Option<f64>,
}

impl Column {
    fn middle_s(&self) -> f64 {
        self.start_s + self.length_s / 2.0
    }

    fn quantile_ns(&self, quantile: f64) -> Option<f64> {
        self.histogram.quantile_ns(quantile).map(|ns| ns as f64)
    }
}

/// The columns of the map; empty if the document has no histograms over time.
fn columns(run: &Run) -> Result<Vec<Column>, String> {
    let Some(histograms) = &run.histograms else {
        return Ok(Vec::new());
    };
    let intervals = histograms.intervals(TransactionTime::Response, None, &run.series)?;
    let groups = intervals.chunks(group_size(intervals.len()));
    let columns = groups.map(|group| {
        let histogram = sum(group);
        let min_ns = histogram.buckets().next().map(|bucket| bucket.0 as f64);
        let rows = group.iter().flat_map(|interval| interval.rows);
        let max_ns = rows.map(|row| row.max_ns).max();
        Column {
            start_s: group.first().map_or(0.0, |interval| interval.at_s()),
            length_s: group.iter().map(|interval| interval.length_s()).sum(),
            min_ns,
            // The maximum of the seconds is exact.
            max_ns: max_ns.filter(|ns| *ns > 0).map(|ns| ns as f64),
            histogram,
        }
    });
    Ok(columns.collect())
}

/// Writes the map and its table; nothing if the document has no histograms over time.
pub fn write(out: &mut Html, run: &Run, number: usize, marks: &[EventMark]) -> fmt::Result {
    let columns = match columns(run) {
        Ok(columns) => columns,
        Err(reason) => {
            return writeln_markup!(out, "<p class=\"absent\">No heat map: {}.</p>", reason);
        }
    };
    if columns.is_empty() {
        return Ok(());
    }
    let times_s: Vec<f64> = columns.iter().map(Column::middle_s).collect();
    let line = |name: &str, value: &dyn Fn(&Column) -> Option<f64>| ChartLine {
        name: name.to_owned(),
        values: columns.iter().map(value).collect(),
    };
    let chart = Chart {
        id: format!("heat-{number}"),
        title: "Response time of committed transactions: share of the transactions of each interval",
        times_s: &times_s,
        lines: vec![
            line("50th percentile", &|column| column.quantile_ns(0.5)),
            line("99.9th percentile", &|column| column.quantile_ns(0.999)),
            line("longest", &|column| column.max_ns),
            line("shortest", &|column| column.min_ns),
        ],
        format_value: units::time,
        axis: Axis::Logarithmic,
        marks,
        warmup_s: run.window.warmup_s,
        end_s: end_s(run),
        table_id: format!("heat-table-{number}"),
    };
    chart.draw_over(out, &|out, x, y| draw_cells(out, &columns, x, y))?;
    write_legend(out)?;
    write_table(out, number, &columns, end_s(run))
}

/// The shade of a cell, from 0; `share` is above zero.
fn shade(share: f64) -> usize {
    SHADES.iter().filter(|limit| share >= **limit).count()
}

/// Draws the cells, one path for each shade.
fn draw_cells(out: &mut Html, columns: &[Column], x: &Scale, y: &Scale) -> fmt::Result {
    let mut paths = vec![String::new(); SHADES.len() + 1];
    for column in columns {
        let samples = column.histogram.samples() as f64;
        let mut cells: Vec<u64> = Vec::new();
        for (low_ns, high_ns, count) in column.histogram.buckets() {
            let middle_ns = (low_ns as f64 + high_ns as f64) / 2.0;
            let row = ((PLOT_BOTTOM - y.position(middle_ns)) / CELL_HEIGHT).max(0.0) as usize;
            if row >= cells.len() {
                cells.resize(row + 1, 0);
            }
            cells[row] = cells[row].saturating_add(count);
        }
        let left = x.position(column.start_s);
        // Columns share their rounded edges, so that no gap shows between them.
        let right = x.position(column.start_s + column.length_s).max(left + 0.5);
        let mut row = 0;
        let shade_of = |count: u64| (count > 0).then(|| shade(count as f64 / samples));
        // Cells of equal shade on top of each other are one rectangle.
        for group in cells.chunk_by(|a, b| shade_of(*a) == shade_of(*b)) {
            let bottom = PLOT_BOTTOM - row as f64 * CELL_HEIGHT;
            let height = group.len() as f64 * CELL_HEIGHT;
            row += group.len();
            if let Some(shade) = shade_of(group[0]) {
                let path = &mut paths[shade];
                write!(path, "M{left:.1} {bottom}H{right:.1}v-{height}H{left:.1}z")?;
            }
        }
    }
    for (shade, d) in paths.iter().enumerate().filter(|(_, d)| !d.is_empty()) {
        writeln_markup!(out, "<path class=\"heat h{}\" d=\"{}\"/>", shade, d)?;
    }
    Ok(())
}

/// Writes the legend of the shades.
fn write_legend(out: &mut Html) -> fmt::Result {
    out.push_str("<ul class=\"legend\">");
    for shade in 0..=SHADES.len() {
        let name = match shade.checked_sub(1) {
            None => format!("less than {} %", SHADES[0] * 100.0),
            Some(below) => format!("from {} %", SHADES[below] * 100.0),
        };
        write_markup!(
            out,
            "<li><svg class=\"sample\" viewBox=\"0 0 36 10\" aria-hidden=\"true\"><path class=\"heat h{}\" \
             d=\"M0 0h36v10h-36z\"/></svg>{}</li>",
            shade,
            name
        )?;
    }
    out.push_str("</ul>\n");
    Ok(())
}

fn write_table(out: &mut Html, number: usize, columns: &[Column], end_s: f64) -> fmt::Result {
    out.push_str("<details><summary>The response times of the intervals as a table</summary>");
    let titles = [
        "from",
        "committed",
        "shortest",
        "p50",
        "p99",
        "p99.9",
        "longest",
    ];
    let caption = "Response time of committed transactions, percentiles to two digits";
    start_table_with_id(out, &format!("heat-table-{number}"), caption, &titles)?;
    for column in columns {
        let time = |ns: Option<f64>| or_dash(ns, units::time);
        let cells = [
            units::count(column.histogram.samples()),
            time(column.min_ns),
            time(column.quantile_ns(0.5)),
            time(column.quantile_ns(0.99)),
            time(column.quantile_ns(0.999)),
            time(column.max_ns),
        ];
        let from = time_label(column.start_s, end_s);
        write_row_at_time(out, column.middle_s(), &from, &cells)?;
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
    fn every_interval_is_a_column_of_its_transactions() {
        let run = with_part_histograms();
        let mut out = Html::default();
        write(&mut out, &run, 1, &[]).unwrap();
        // In the fixture, every transaction of a second takes 1.25 ms.
        let path = out.split("<path class=\"heat h5\" d=\"M").nth(1).unwrap();
        let path = path.split('"').next().unwrap();
        assert_eq!(path.matches('z').count(), run.series.len(), "{path}");
        let others = out.matches("class=\"heat h4\"").count();
        assert_eq!(others, 1, "only the legend has another shade: {out}");
        assert!(out.contains("<td>1.25 ms</td>"), "{out}");
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
        write(&mut out, &closed(), 1, &[]).unwrap();
        assert_eq!(out, "");
        let mut run = with_part_histograms();
        run.series.pop();
        write(&mut out, &run, 1, &[]).unwrap();
        assert!(
            out.contains("No heat map: the histograms cover more seconds"),
            "{out}"
        );
    }
}
