//! Dot plots: the runs of a page, and the changes of a comparison, each with its interval.
//!
//! In: runs, or the comparisons of sides. Out: a row for each with a dot and, where an interval is known, a
//! line; all figures are in the labels. Must never: draw an interval that was not computed.

use super::chart::{SCROLL_HINT, draw_tick};
use super::document::Document;
use crate::compare::{change_interval_text, ratio_as_change};
use crate::html::markup::{Html, write_markup, writeln_markup};
use crate::text::{cut, plain};
use crate::units;
use prony_judge::compare::sides::SidesComparison;
use prony_judge::percentile_intervals::percentile_intervals;
use prony_store::Run;
use std::fmt;

/// Left edge of the plot; the names are before it.
const LEFT: f64 = 200.0;
/// Right edge of the plot; the figures are behind it.
const RIGHT: f64 = 560.0;
const ROW_HEIGHT: f64 = 22.0;
const TOP: f64 = 8.0;
/// Maximum length of a name; a longer one does not fit beside the plot.
const MAX_NAME_CHARS: usize = 23;
/// The percentile of the response time in the plot of runs.
const PERCENTILE: f64 = 99.0;

/// A row of a plot.
struct DotRow {
    name: String,
    /// `None` if there is no figure.
    value: Option<f64>,
    interval: Option<[f64; 2]>,
    /// The figure and its interval.
    text: String,
}

/// The values at the edges of a plot, and its ticks.
struct Axis {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Axis {
    /// An axis for the values of all rows, with a margin; `reference` is included.
    fn of(rows: &[DotRow], reference: Option<f64>) -> Option<Axis> {
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
        let margin = if high > low {
            (high - low) * 0.06
        } else {
            high.abs().max(1e-9) * 0.1
        };
        let (low, high) = (low - margin, high + margin);
        let power = 10_f64.powf(((high - low) / 4.0).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let step = steps.into_iter().find(|step| (high - low) / step <= 5.0)?;
        let first = (low / step).ceil();
        let ticks = (0..6).map(|n| (first + f64::from(n)) * step);
        Some(Axis {
            low,
            high,
            ticks: ticks.filter(|tick| *tick <= high).collect(),
        })
    }

    fn position(&self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        LEFT + if share.is_finite() { share } else { 0.0 } * (RIGHT - LEFT)
    }
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
    let Some(axis) =
        Axis::of(rows, reference).filter(|_| rows.iter().any(|row| row.value.is_some()))
    else {
        return Ok(());
    };
    let bottom = TOP + ROW_HEIGHT * rows.len() as f64;
    write_markup!(
        out,
        "<figure><figcaption id=\"{0}-t\">{1}</figcaption>{2}<div class=\"plot\" tabindex=\"0\" \
         role=\"group\" aria-labelledby=\"{0}-t\"><svg viewBox=\"0 0 760 {3}\" role=\"img\" \
         aria-labelledby=\"{0}-t\"><title>{1}</title>",
        id,
        title,
        SCROLL_HINT,
        bottom + 26.0
    )?;
    for tick in &axis.ticks {
        let x = axis.position(*tick);
        write_markup!(
            out,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>",
            x = x,
            top = TOP,
            bottom = bottom
        )?;
        draw_tick(out, x, bottom, &format_value(*tick))?;
    }
    if let Some(reference) = reference {
        let x = axis.position(reference);
        write_markup!(
            out,
            "<line class=\"percentile\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>",
            x = x,
            top = TOP,
            bottom = bottom
        )?;
    }
    for (index, row) in rows.iter().enumerate() {
        draw_row(out, row, TOP + ROW_HEIGHT * (index as f64 + 0.5), &axis)?;
    }
    out.push_str("</svg></div></figure>\n");
    Ok(())
}

/// Draws the name, the dot, the interval and the text of a row at height `y`.
fn draw_row(out: &mut Html, row: &DotRow, y: f64, axis: &Axis) -> fmt::Result {
    write_markup!(
        out,
        "<text class=\"y name\" x=\"{}\" y=\"{}\">{}</text>",
        LEFT - 10.0,
        y + 4.0,
        cut(&row.name, MAX_NAME_CHARS)
    )?;
    if let Some([low, high]) = row.interval {
        write_markup!(
            out,
            "<path class=\"spread\" d=\"M{0:.1} {1}H{2:.1}M{0:.1} {3}v8M{2:.1} {3}v8\"/>",
            axis.position(low),
            y,
            axis.position(high),
            y - 4.0
        )?;
    }
    if let Some(value) = row.value {
        let x = axis.position(value);
        write_markup!(
            out,
            "<circle class=\"point on\" cx=\"{:.1}\" cy=\"{}\" r=\"5\"/>",
            x,
            y
        )?;
    }
    let text = &row.text;
    writeln_markup!(
        out,
        "<text x=\"{}\" y=\"{}\">{}</text>",
        RIGHT + 12.0,
        y + 4.0,
        text
    )?;
    Ok(())
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
            text: units::or_dash(tps, |tps| format!("{} /s", units::rate(tps))),
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
    let is_measured = !crate::terminal::is_unmeasured(run);
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
                name: format!("{}, {}", cut(&plain(name), MAX_NAME_CHARS - 6), figure.name),
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
        assert!(!out.contains("<b>") && !out.contains("NaN"), "{out}");
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
    fn the_axis_contains_all_intervals() {
        let rows = [row(Some(10.0), Some([8.0, 13.0]))];
        let axis = Axis::of(&rows, None).unwrap();
        assert!(axis.low < 8.0 && axis.high > 13.0);
        assert_eq!(axis.ticks, [8.0, 10.0, 12.0]);
        assert!(axis.position(8.0) > LEFT && axis.position(13.0) < RIGHT);
        let same = Axis::of(&[row(Some(5.0), None)], None).unwrap();
        assert!(same.low < 5.0 && 5.0 < same.high);
    }

    #[test]
    fn every_run_has_a_row() {
        let document = Document::from_run(&closed(), 1).unwrap();
        let names = ["run 1".to_owned(), "run 2".to_owned()];
        let mut out = Html::default();
        write_runs(&mut out, &[document.clone(), document], &names).unwrap();
        assert_eq!(out.matches(">run 2</text>").count(), 2, "{out}");
        assert!(out.contains(">27,700 /s</text>"), "{out}");
    }
}
