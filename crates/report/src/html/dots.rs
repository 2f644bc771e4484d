//! Dot plots: the runs of a page, and the changes of a comparison, each with its interval.
//!
//! In: runs, or the comparisons of sides. Out: a row for each with a dot and, where an interval is known, a
//! line; all figures are in the labels. Must never: draw an interval that was not computed.

use super::document::Document;
use super::drawing::Drawing;
use super::figure::{Figure, Plot};
use super::scale::Scale;
use crate::html::markup::Html;
use crate::text::comparison::{change_interval_text, ratio_as_change};
use crate::text::{cut, plain};
use crate::units;
use prony_judge::compare::sides::SidesComparison;
use prony_judge::percentile_intervals::percentile_intervals;
use prony_store::Run;
use std::fmt;

/// Edges of the plot. Names and figures are above their dots, so that a narrow window has room for large ones.
const LEFT: f64 = 14.0;
const RIGHT: f64 = 746.0;
const ROW_HEIGHT: f64 = 42.0;
/// Where the text and the dot of a row are, from its top.
const TEXT_BELOW: f64 = 19.0;
const DOT_BELOW: f64 = 31.0;
const TOP: f64 = 4.0;
/// Maximum length of a name; a longer one does not fit beside its figures.
const MAX_NAME_CHARS: usize = 26;
/// The percentile of the response time in the plot of runs.
const PERCENTILE: f64 = 99.0;

struct DotRow {
    name: String,
    /// `None` if there is no figure.
    value: Option<f64>,
    interval: Option<[f64; 2]>,
    text: String,
}

/// An axis for the values of all rows, with a margin; `reference` is included. `None` if there is no value. Values that
/// hardly differ get a margin so wide that no two ticks have the same label.
fn axis(rows: &[DotRow], reference: Option<f64>, format_value: fn(f64) -> String) -> Option<Scale> {
    let ends = rows
        .iter()
        .flat_map(|row| row.interval.into_iter().flatten());
    let values = ends
        .chain(rows.iter().filter_map(|row| row.value))
        .chain(reference);
    // Larger values are not real.
    let values: Vec<f64> = values.filter(|value| value.abs() < 1e18).collect();
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    let margin = if high > low { (high - low) * 0.06 } else { high.abs().max(1e-9) * 0.1 };
    let scales = (0..16).map(|doublings| {
        let margin = margin * f64::from(1 << doublings);
        Scale::linear(low - margin, high + margin, LEFT, RIGHT)
    });
    let mut readable = scales.clone().filter(|scale| {
        let labels = scale.ticks.iter().map(|tick| format_value(*tick));
        let labels: Vec<String> = labels.collect();
        labels.windows(2).all(|pair| pair[0] != pair[1])
    });
    readable.next().or(scales.clone().next())
}

/// Draws a plot; nothing if no row has a figure.
fn draw(
    out: &mut Html,
    id: &str,
    title: &str,
    rows: &[DotRow],
    reference: Option<f64>,
    format_value: fn(f64) -> String,
) -> fmt::Result {
    let has_value = rows.iter().any(|row| row.value.is_some());
    let Some(axis) = axis(rows, reference, format_value).filter(|_| has_value) else {
        return Ok(());
    };
    let plot = Plot {
        left: LEFT,
        right: RIGHT,
        top: TOP,
        bottom: TOP + ROW_HEIGHT * rows.len() as f64,
    };
    let mut drawing = Drawing::default();
    for tick in &axis.ticks {
        let x = axis.position(*tick);
        plot.draw_vertical_line(&mut drawing, "grid", x)?;
        plot.draw_tick(&mut drawing, x, &format_value(*tick))?;
    }
    if let Some(reference) = reference {
        plot.draw_vertical_line(&mut drawing, "percentile", axis.position(reference))?;
    }
    for (index, row) in rows.iter().enumerate() {
        draw_row(&mut drawing, row, TOP + ROW_HEIGHT * index as f64, &axis)?;
    }
    let figure = Figure {
        id,
        title,
        description: "All figures are in the labels.".to_owned(),
        height: plot.bottom + 26.0,
        ..Figure::default()
    };
    figure.write(out, &drawing)
}

/// Draws a row below `row_top`: the name and the text, and below them the dot and the interval.
fn draw_row(out: &mut Drawing, row: &DotRow, row_top: f64, axis: &Scale) -> fmt::Result {
    let name = cut(&row.name, MAX_NAME_CHARS);
    out.text("name row", LEFT, row_top + TEXT_BELOW, &name)?;
    let y = row_top + DOT_BELOW;
    if let Some(ends) = row.interval {
        let [low, high] = ends.map(|end| axis.position(end));
        let top = y - 4.0;
        let d = format!("M{low:.1} {y}H{high:.1}M{low:.1} {top}v8M{high:.1} {top}v8");
        out.path("spread", &d)?;
    }
    if let Some(value) = row.value {
        out.dot(axis.position(value), y, 5.0, None)?;
    }
    out.text("value", RIGHT, row_top + TEXT_BELOW, &row.text)
}

/// Draws the throughput of all runs, and their 99th percentiles with their intervals within each run.
pub fn write_runs(out: &mut Html, documents: &[Document], names: &[String]) -> fmt::Result {
    let runs = || documents.iter().map(|document| &document.run).zip(names);
    let throughput = runs().map(|(run, name)| {
        let tps = measured_tps(run);
        DotRow {
            name: name.clone(),
            value: tps,
            interval: None,
            text: units::or_dash(tps, units::per_second),
        }
    });
    let throughput: Vec<DotRow> = throughput.collect();
    let title = "Throughput of the runs: transactions committed per second";
    draw(out, "dots-tps", title, &throughput, None, units::rate)?;
    let response = runs().map(|(run, name)| percentile_row(run, name));
    let response: Vec<DotRow> = response.collect();
    let title =
        "99th percentile of the response time of the runs, with 95 % intervals within each run";
    draw(out, "dots-p99", title, &response, None, units::time)
}

fn measured_tps(run: &Run) -> Option<f64> {
    let is_measured = !run.measured.is_empty();
    let all = run.measured.all_kinds().filter(|_| is_measured)?;
    Some(all.tps).filter(|tps| tps.is_finite())
}

fn percentile_row(run: &Run, name: &str) -> DotRow {
    let p99_ns = run.measured.all_kinds().and_then(|all| all.response.p99_ns);
    let mut intervals = percentile_intervals(run).into_iter();
    let interval = intervals.find(|interval| interval.percentile == PERCENTILE);
    let interval = interval.map(|interval| [interval.low_ns as f64, interval.high_ns as f64]);
    let value = p99_ns.map(|ns| ns as f64);
    let interval_text = interval.map_or(String::new(), |[low, high]| {
        format!(" ({} to {})", units::time(low), units::time(high))
    });
    DotRow {
        name: name.to_owned(),
        value,
        interval,
        text: units::or_dash(value, units::time) + &interval_text,
    }
}

/// Draws the headline changes of each side against the first; `names` are those of the sides.
pub fn write_effects(
    out: &mut Html,
    comparison: &SidesComparison,
    names: &[String],
) -> fmt::Result {
    let mut rows = Vec::new();
    let is_only = comparison.side_comparisons.len() == 1;
    for (side, name) in comparison.side_comparisons.iter().zip(&names[1..]) {
        let figures = comparison.headline_figures(side);
        for figure in &figures {
            let change = figure.ratio - 1.0;
            let interval = figure
                .significance
                .map(|known| [known.low - 1.0, known.high - 1.0]);
            let interval_text = interval.map_or(String::new(), |_| {
                format!(" ({})", change_interval_text(figure))
            });
            rows.push(DotRow {
                // The answer above names the only side.
                name: if is_only {
                    plain(&figure.name)
                } else {
                    format!("{}, {}", cut(&plain(name), MAX_NAME_CHARS - 6), figure.name)
                },
                value: Some(change).filter(|change| change.is_finite()),
                interval: interval.filter(|ends| ends.iter().all(|end| end.is_finite())),
                text: ratio_as_change(figure.ratio) + &interval_text,
            });
        }
        if figures.is_empty() {
            rows.push(DotRow {
                name: plain(name),
                value: None,
                interval: None,
                text: "not comparable".to_owned(),
            });
        }
    }
    let first = plain(names.first().map_or("", String::as_str));
    let title =
        format!("Changes against {first}, with intervals of at least 95 % where there are repeats");
    draw(out, "effects", &title, &rows, Some(0.0), units::percent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;
    use prony_assertions::TextAssertions;

    fn row(value: Option<f64>, interval: Option<[f64; 2]>) -> DotRow {
        DotRow {
            name: "<b>".to_owned(),
            value,
            interval,
            text: "x".to_owned(),
        }
    }

    #[test]
    fn a_row_has_a_dot_and_a_line_only_if_they_are_known() {
        let rows = [
            row(Some(1.0), Some([0.5, 2.0])),
            row(Some(f64::MAX), None),
            row(None, None),
        ];
        let mut out = Html::default();
        draw(&mut out, "d", "Dots", &rows, Some(0.0), units::rate).unwrap();
        assert_eq!(out.matches("<circle").count(), 2);
        assert_eq!(out.matches("class=\"spread\"").count(), 1);
        out.assert_lacks("<b>").assert_lacks("NaN");
        let mut out = Html::default();
        draw(
            &mut out,
            "d",
            "Dots",
            &[row(None, None)],
            Some(0.0),
            units::rate,
        )
        .unwrap();
        assert_eq!(out, "");
    }

    #[test]
    fn values_that_hardly_differ_have_ticks_with_different_labels() {
        let rows = [row(Some(125.1), None), row(Some(125.9), None)];
        let axis = axis(&rows, None, units::rate).unwrap();
        let mut labels: Vec<String> = axis.ticks.iter().map(|tick| units::rate(*tick)).collect();
        let count = labels.len();
        labels.dedup();
        assert!(count >= 2 && labels.len() == count, "{labels:?}");
    }

    #[test]
    fn the_axis_contains_all_intervals() {
        let axis_of = |row| axis(&[row], None, units::rate).unwrap();
        let with_interval = axis_of(row(Some(10.0), Some([8.0, 13.0])));
        assert_eq!(with_interval.ticks, [8.0, 10.0, 12.0]);
        assert!(with_interval.position(8.0) > LEFT && with_interval.position(13.0) < RIGHT);
        let position = axis_of(row(Some(5.0), None)).position(5.0);
        assert!(LEFT < position && position < RIGHT);
    }

    #[test]
    fn every_run_has_a_row() {
        let document = Document::from_run(&closed()).unwrap();
        let names = ["run 1".to_owned(), "run 2".to_owned()];
        let mut out = Html::default();
        write_runs(&mut out, &[document.clone(), document], &names).unwrap();
        assert_eq!(out.matches(">run 2</text>").count(), 2, "{out}");
        out.assert_contains(">27,700 /s</text>");
    }
}
