//! Line charts that share their time axis, and a table with the same figures, which the script of the page reads for its
//! cursor.
//!
//! In: one value for each span of time, and marks of events. Out: figures and a table. Must never: draw a line through
//! unknown values, or show an unknown value as zero.

use super::drawing::{COLOR_COUNT, Drawing, LineGroup, legend, look, path_through};
use super::figure::{Cursor, Figure, Plot};
use super::marks::{self, EventMark};
use super::over_time::Span;
use super::scale::Scale;
use super::{table, write_fold};
use crate::html::markup::{Html, writeln_markup};
use crate::text::joined;
use crate::units::{self, or_dash};
use std::fmt;

const WARMUP_LABEL_WIDTH: f64 = 58.0;

#[derive(Clone, Debug, PartialEq)]
pub struct ChartLine {
    pub name: String,
    /// One value for each span; `None` if unknown.
    pub values: Vec<Option<f64>>,
    /// The lines that look like this one.
    pub group: Option<LineGroup>,
}

impl ChartLine {
    pub fn new(
        name: impl Into<String>,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> ChartLine {
        ChartLine {
            name: name.into(),
            values: values.into_iter().collect(),
            group: None,
        }
    }

    /// The same figures in a column of the table.
    pub fn column(&self, title: impl Into<String>, format_value: impl Fn(f64) -> String) -> Column {
        let values = self.values.iter();
        let cells = values.map(|value| or_dash(*value, &format_value));
        Column::new(title, cells)
    }

    pub fn is_known(&self) -> bool {
        self.values.iter().any(Option::is_some)
    }
}

/// A column of a table over time.
pub struct Column {
    title: String,
    cells: Vec<String>,
}

impl Column {
    pub fn new(title: impl Into<String>, cells: impl IntoIterator<Item = String>) -> Column {
        Column {
            title: title.into(),
            cells: cells.into_iter().collect(),
        }
    }
}

/// The scale of the value axis, and the format of its values with their unit.
#[derive(Clone, Copy, Debug)]
pub enum Axis {
    /// From zero.
    Linear(fn(f64) -> String),
    /// From zero; each line is drawn on top of the previous ones, with a filled area below it.
    Stacked(fn(f64) -> String),
    /// From zero to one.
    Share,
    /// From zero, or logarithmic if the values differ by more than a factor of 30.
    LinearOrLogarithmic(fn(f64) -> String),
    Logarithmic(fn(f64) -> String),
}

impl Axis {
    fn format_value(self) -> fn(f64) -> String {
        match self {
            Axis::Share => units::percent,
            Axis::Linear(format)
            | Axis::Stacked(format)
            | Axis::LinearOrLogarithmic(format)
            | Axis::Logarithmic(format) => format,
        }
    }

    fn is_stacked(self) -> bool {
        matches!(self, Axis::Stacked(_))
    }
}

/// Draws what is behind the lines of a chart, on its time axis and its value axis.
pub type Background<'a> = &'a dyn Fn(&mut Drawing, &Scale, &Scale) -> fmt::Result;

pub struct Chart<'a> {
    pub id: &'a str,
    pub title: &'a str,
    pub lines: Vec<ChartLine>,
    pub axis: Axis,
}

/// Charts with the same points, and the table of their figures.
pub struct Timeline<'a> {
    /// Makes the ids of the charts unique in the page.
    pub id_suffix: String,
    pub table_id: String,
    /// The times of the points, ascending.
    pub spans: Vec<Span>,
    pub marks: &'a [EventMark],
    /// End of the warm-up, in seconds.
    pub warmup_s: f64,
    /// End of the time axis, in seconds.
    pub end_s: f64,
}

impl Timeline<'_> {
    /// Draws a chart; writes a sentence instead if no value is known.
    pub fn draw(
        &self,
        out: &mut Html,
        id: &str,
        title: &str,
        lines: Vec<ChartLine>,
        axis: Axis,
    ) -> fmt::Result {
        let chart = Chart {
            id,
            title,
            lines,
            axis,
        };
        self.draw_over(out, &chart, &|_, _, _| Ok(()))
    }

    pub fn draw_over(
        &self,
        out: &mut Html,
        chart: &Chart<'_>,
        background: Background<'_>,
    ) -> fmt::Result {
        if !chart.lines.iter().any(ChartLine::is_known) {
            return writeln_markup!(out, "<p class=\"absent\">{}: not known.</p>", chart.title);
        }
        let drawn = self.drawn_values(chart);
        let plot = Plot {
            top: Plot::STANDARD.top + marks::letters_height(self.marks),
            ..Plot::STANDARD
        };
        let (y, is_logarithmic) = value_scale(chart.axis, &drawn, &plot);
        let x = Scale::time(self.end_s, plot.left, plot.right);
        let mut drawing = Drawing::default();
        self.draw_warmup(&mut drawing, &plot, &x)?;
        plot.draw_grid(&mut drawing, &y, chart.axis.format_value())?;
        for tick_s in &x.ticks {
            plot.draw_tick(&mut drawing, x.position(*tick_s), &self.time_label(*tick_s))?;
        }
        background(&mut drawing, &x, &y)?;
        marks::draw(&mut drawing, self.marks, &x, &plot)?;
        if chart.axis.is_stacked() {
            self.draw_areas(&mut drawing, &drawn, &x, &y)?;
        }
        for (number, values) in drawn.iter().enumerate() {
            let d = self.interrupted_path(values, &x, &y);
            let number = look(number, chart.lines[number].group.as_ref());
            drawing.numbered_line(number, &d)?;
        }
        self.draw_warmup_label(&mut drawing, &drawn, &plot, &x, &y)?;
        let name = |line: &ChartLine| {
            let note = if line.is_known() { "" } else { " (not known)" };
            format!("{}{note}", line.name)
        };
        let figure = Figure {
            id: &format!("{}-{}", chart.id, self.id_suffix),
            title: chart.title,
            axis_note: if is_logarithmic { ", logarithmic axis" } else { "" },
            legend: legend((chart.lines.iter()).map(|line| (name(line), line.group.as_ref()))),
            description: description(chart),
            height: Plot::STANDARD_HEIGHT,
            cursor: Some(Cursor {
                table_id: &self.table_id,
                plot,
                end_s: self.end_s,
            }),
        };
        figure.write(out, &drawing)
    }

    /// Writes the table, which is closed at first.
    pub fn write_table(
        &self,
        out: &mut Html,
        summary: &str,
        caption: &str,
        columns: &[Column],
    ) -> fmt::Result {
        let mut content = Html::default();
        let titles = columns.iter().map(|column| column.title.as_str());
        let titles: Vec<&str> = std::iter::once("from").chain(titles).collect();
        table::start_table_with_id(&mut content, &self.table_id, caption, &titles)?;
        for (index, span) in self.spans.iter().enumerate() {
            let columns = columns.iter();
            let cells = columns.map(|column| column.cells.get(index).cloned());
            let cells: Vec<String> = cells.map(|cell| or_dash(cell, |cell| cell)).collect();
            let from = self.time_label(span.start_s);
            table::write_row_at_time(&mut content, span.middle_s(), &from, &cells)?;
        }
        table::end_table(&mut content)?;
        write_fold(out, "", summary, content)
    }

    /// The label of a time: seconds, or minutes and hours in long runs.
    fn time_label(&self, at_s: f64) -> String {
        if self.end_s <= 120.0 {
            return format!("{at_s:.0} s");
        }
        let total_s = at_s.round() as u64;
        let (hours, minutes, seconds) = (total_s / 3600, total_s / 60 % 60, total_s % 60);
        if self.end_s < 3600.0 {
            format!("{minutes}:{seconds:02}")
        } else {
            format!("{hours}:{minutes:02}:{seconds:02}")
        }
    }

    /// The values to draw, one list for each line and one value for each span. In a stacked chart each is the sum of
    /// the line and the previous ones, unknown if one of them is.
    fn drawn_values(&self, chart: &Chart<'_>) -> Vec<Vec<Option<f64>>> {
        let mut drawn: Vec<Vec<Option<f64>>> = Vec::with_capacity(chart.lines.len());
        for line in &chart.lines {
            let mut values = line.values.clone();
            values.resize(self.spans.len(), None);
            if let Some(below) = drawn.last().filter(|_| chart.axis.is_stacked()) {
                for (value, below) in values.iter_mut().zip(below) {
                    *value = value.zip(*below).map(|(value, below)| value + below);
                }
            }
            drawn.push(values);
        }
        drawn
    }

    /// The `d` attribute of a line's path, which is interrupted at unknown values; an isolated value is a dot.
    fn interrupted_path(&self, values: &[Option<f64>], x: &Scale, y: &Scale) -> String {
        let mut d = String::new();
        let mut pen_down = false;
        for (span, value) in self.spans.iter().zip(values) {
            let Some(value) = value.filter(|value| value.is_finite()) else {
                pen_down = false;
                continue;
            };
            let (x, y) = (x.position(span.middle_s()), y.position(value));
            // A zero-length line with round ends is drawn as a dot.
            d += &if pen_down { format!("L{x:.1} {y:.1}") } else { format!("M{x:.1} {y:.1}h0") };
            pen_down = true;
        }
        d
    }

    /// Fills the area of each line down to the previous one, or to zero.
    fn draw_areas(
        &self,
        out: &mut Drawing,
        drawn: &[Vec<Option<f64>>],
        x: &Scale,
        y: &Scale,
    ) -> fmt::Result {
        for (number, values) in drawn.iter().enumerate() {
            let below = number.checked_sub(1).map(|below| &drawn[below]);
            let edges = self.spans.iter().zip(values).enumerate();
            let edges: Vec<Option<[f64; 3]>> = edges
                .map(|(index, (span, value))| {
                    let bottom = below.map_or(Some(0.0), |below| below[index])?;
                    let x = x.position(span.middle_s());
                    Some([x, y.position((*value)?), y.position(bottom)])
                })
                .collect();
            let mut d = String::new();
            for known in edges.split(Option::is_none).filter(|part| part.len() > 1) {
                let upper = known.iter().flatten().map(|[x, top, _]| (*x, *top));
                let lower = known.iter().rev().flatten();
                let lower = lower.map(|[x, _, bottom]| (*x, *bottom));
                d += &path_through(upper.chain(lower));
                d.push('Z');
            }
            let color = number % COLOR_COUNT;
            out.path(&format!("area a{color}"), &d)?;
        }
        Ok(())
    }

    fn draw_warmup(&self, out: &mut Drawing, plot: &Plot, x: &Scale) -> fmt::Result {
        if self.warmup_s <= 0.0 {
            return Ok(());
        }
        let width = x.position(self.warmup_s) - plot.left;
        let height = plot.bottom - plot.top;
        out.rectangle("warmup", [plot.left, plot.top, width, height])
    }

    /// Draws the label of the warm-up over all lines, if possible at a height where no line crosses it.
    fn draw_warmup_label(
        &self,
        out: &mut Drawing,
        drawn: &[Vec<Option<f64>>],
        plot: &Plot,
        x: &Scale,
        y: &Scale,
    ) -> fmt::Result {
        let left = plot.left + 5.0;
        // The label fits only if the warm-up is wide enough.
        if x.position(self.warmup_s) - left <= WARMUP_LABEL_WIDTH {
            return Ok(());
        }
        let levels = y.ticks.iter().map(|tick| [y.position(*tick); 2]);
        let mut occupied: Vec<[f64; 2]> = levels.collect();
        for values in drawn {
            let points = self.spans.iter().zip(values);
            let points: Vec<(f64, f64)> = points
                .filter_map(|(span, value)| {
                    Some((x.position(span.middle_s()), y.position((*value)?)))
                })
                .collect();
            let near_segments = points.windows(2).filter(|segment| {
                segment[1].0 >= left && segment[0].0 <= left + WARMUP_LABEL_WIDTH
            });
            occupied.extend(near_segments.map(|segment| [segment[0].1, segment[1].1]));
        }
        let baseline = free_baseline(&occupied, plot);
        out.text("word-over", left, baseline, "warm-up")
    }
}

/// The scale of the values, and whether it is logarithmic.
fn value_scale(axis: Axis, drawn: &[Vec<Option<f64>>], plot: &Plot) -> (Scale, bool) {
    let values = || drawn.iter().flatten().flatten().copied();
    let known = || values().filter(|value| value.is_finite());
    let max = known().fold(0.0, f64::max);
    let min = known()
        .filter(|value| *value > 0.0)
        .fold(f64::INFINITY, f64::min);
    let is_logarithmic = match axis {
        Axis::Logarithmic(_) => max > 0.0,
        Axis::LinearOrLogarithmic(_) => max > 30.0 * min,
        Axis::Linear(_) | Axis::Stacked(_) | Axis::Share => false,
    };
    let scale = match axis {
        Axis::Share => Scale::from_zero(1.0, plot.bottom, plot.top),
        _ if is_logarithmic => Scale::logarithmic(min, max, plot.bottom, plot.top),
        _ => Scale::from_zero(max, plot.bottom, plot.top),
    };
    (scale, is_logarithmic)
}

fn description(chart: &Chart<'_>) -> String {
    let ranges = chart.lines.iter().map(|line| {
        let known = line.values.iter().flatten().copied();
        let known: Vec<f64> = known.filter(|value| value.is_finite()).collect();
        let (Some(min), Some(max)) = (
            known.iter().copied().reduce(f64::min),
            known.iter().copied().reduce(f64::max),
        ) else {
            return format!("{}: not known", line.name);
        };
        let [min, max] = [min, max].map(chart.axis.format_value());
        format!("{}: {min} to {max}", line.name)
    });
    format!(
        "{}. All figures are in the table of seconds.",
        joined(ranges, "; ")
    )
}

/// The highest baseline below the top of the plot at which a label overlaps none of the `occupied` vertical ranges;
/// if there is no such baseline, the highest one.
fn free_baseline(occupied: &[[f64; 2]], plot: &Plot) -> f64 {
    let is_free = |baseline: &f64| {
        let (from, to) = (baseline - 12.0, baseline + 4.0);
        let mut occupied = occupied.iter();
        occupied.all(|[a, b]| a.max(*b) < from || a.min(*b) > to)
    };
    let first = plot.top + 14.0;
    let steps = ((plot.bottom - 5.0 - first) / 2.0).max(0.0) as u32;
    let mut baselines = (0..=steps).map(|step| first + 2.0 * f64::from(step));
    baselines.find(is_free).unwrap_or(first)
}

#[cfg(test)]
mod tests;
