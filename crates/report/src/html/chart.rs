//! Line charts over time, drawn as SVG.
//!
//! In: one value per second, and marks of events. Out: a figure with title, description, legend and drawing,
//! which needs no script. Must never: distinguish lines only by colour, or draw a line through unknown values.

mod areas;
mod axes;

pub use axes::{draw_grid, draw_tick, time_label};

use super::marks::EventMark;
use super::scale::Scale;
use super::seconds::end_s;
use crate::html::markup::{Html, Raw, markup, write_markup, writeln_markup};
use prony_store::Run;
use std::fmt;

/// Size of a drawing, and the positions of its plot's edges, in units of the drawing.
const DRAWING_WIDTH: f64 = 760.0;
pub const PLOT_LEFT: f64 = 70.0;
pub const PLOT_RIGHT: f64 = 748.0;
const PLOT_TOP: f64 = 10.0;
pub const PLOT_BOTTOM: f64 = 206.0;
const DRAWING_HEIGHT: f64 = 232.0;
/// Width of the warm-up label.
const WARMUP_LABEL_WIDTH: f64 = 58.0;

/// A note above a drawing; shown if the drawing is wider than the window.
pub const SCROLL_HINT: Raw = Raw("<p class=\"more\">Wider than the window: scroll sideways.</p>");

#[derive(Clone, Debug, PartialEq)]
pub struct ChartLine {
    /// The name in the legend.
    pub name: String,
    /// One value per time of the chart; `None` if unknown.
    pub values: Vec<Option<f64>>,
}

/// The scale of the value axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// From zero.
    Linear,
    /// From zero; each line is drawn on top of the previous ones, with a filled area below it.
    Stacked,
    /// From zero to one.
    Share,
    /// From zero, or logarithmic if the values differ by more than a factor of 30.
    LinearOrLogarithmic,
    Logarithmic,
}

/// Draws what is behind the lines of a chart, on its time axis and its value axis.
pub type Background<'a> = &'a dyn Fn(&mut Html, &Scale, &Scale) -> fmt::Result;

/// A chart over time.
pub struct Chart<'a> {
    /// Unique in the page.
    pub id: String,
    pub title: &'a str,
    /// Times of the values, in seconds from the start of the load, ascending.
    pub times_s: &'a [f64],
    pub lines: Vec<ChartLine>,
    /// Formats a value with its unit.
    pub format_value: fn(f64) -> String,
    pub axis: Axis,
    /// Marks of events.
    pub marks: &'a [EventMark],
    /// End of the warm-up, in seconds.
    pub warmup_s: f64,
    /// End of the time axis, in seconds.
    pub end_s: f64,
    /// Id of the table with the same figures.
    pub table_id: String,
}

/// Charts of one run that share their time axis, marks and table.
pub struct Charts<'a> {
    pub run: &'a Run,
    /// Number of the run in the page; makes the ids unique.
    pub number: usize,
    /// Times of the values, in seconds from the start of the load.
    pub times_s: Vec<f64>,
    /// Marks of events.
    pub marks: &'a [EventMark],
    /// Prefix of the id of the table with the same figures.
    pub table_id_prefix: &'static str,
}

impl Charts<'_> {
    /// Draws one chart.
    pub fn draw(
        &self,
        out: &mut Html,
        id: &str,
        title: &str,
        lines: Vec<ChartLine>,
        format_value: fn(f64) -> String,
        axis: Axis,
    ) -> fmt::Result {
        let chart = Chart {
            id: format!("{id}-{}", self.number),
            title,
            times_s: &self.times_s,
            lines,
            format_value,
            axis,
            marks: self.marks,
            warmup_s: self.run.window.warmup_s,
            end_s: end_s(self.run),
            table_id: format!("{}-{}", self.table_id_prefix, self.number),
        };
        chart.draw(out)
    }
}

impl Chart<'_> {
    /// Draws the chart; writes a sentence instead if no value is known.
    pub fn draw(&self, out: &mut Html) -> fmt::Result {
        self.draw_over(out, &|_, _, _| Ok(()))
    }

    /// Draws the chart over a background.
    pub fn draw_over(&self, out: &mut Html, background: Background<'_>) -> fmt::Result {
        let mut values = self.lines.iter().flat_map(|line| &line.values);
        if values.all(Option::is_none) {
            let title = self.title;
            return writeln_markup!(out, "<p class=\"absent\">{}: not known.</p>", title);
        }
        let drawn = areas::drawn_values(&self.lines, self.axis);
        let all_values = || drawn.iter().flatten().flatten();
        let known = || all_values().copied().filter(|value| value.is_finite());
        let max = known().fold(0.0, f64::max);
        let min = known()
            .filter(|value| *value > 0.0)
            .fold(f64::INFINITY, f64::min);
        let is_logarithmic = match self.axis {
            Axis::Logarithmic => max > 0.0,
            axis => axis == Axis::LinearOrLogarithmic && max > 30.0 * min,
        };
        let top = PLOT_TOP + super::marks::letters_height(self.marks);
        let y = match self.axis {
            Axis::Share => Scale::from_zero(1.0, PLOT_BOTTOM, top),
            _ if is_logarithmic => Scale::logarithmic(min, max, PLOT_BOTTOM, top),
            _ => Scale::from_zero(max, PLOT_BOTTOM, top),
        };
        let x = Scale::time(self.end_s, PLOT_LEFT, PLOT_RIGHT);
        let id = &self.id;
        let axis_note = if is_logarithmic {
            ", logarithmic axis"
        } else {
            ""
        };
        writeln_markup!(
            out,
            "<figure><figcaption id=\"{}-t\">{}{}</figcaption>",
            id,
            self.title,
            axis_note
        )?;
        self.write_legend(out)?;
        writeln_markup!(
            out,
            "{0}<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-labelledby=\"{1}-t\">\
             <svg viewBox=\"0 0 {2} {3}\" role=\"img\" aria-labelledby=\"{1}-t {1}-d\" \
             data-table=\"{4}\" data-left=\"{5}\" data-right=\"{6}\" data-end=\"{7}\">\
             <title>{8}</title><desc id=\"{1}-d\">{9}</desc>",
            SCROLL_HINT,
            id,
            DRAWING_WIDTH,
            DRAWING_HEIGHT,
            self.table_id,
            PLOT_LEFT,
            PLOT_RIGHT,
            self.end_s,
            self.title,
            self.description()
        )?;
        self.draw_axes(out, top, &x, &y)?;
        background(out, &x, &y)?;
        super::marks::draw(out, self.marks, &x, top, PLOT_BOTTOM)?;
        if self.axis == Axis::Stacked {
            areas::draw(out, self.times_s, &drawn, &x, &y)?;
        }
        for (number, values) in drawn.iter().enumerate() {
            let d = path_data(self.times_s, values, &x, &y);
            writeln_markup!(out, "<path {} d=\"{}\"/>", stroke_attributes(number), d)?;
        }
        self.draw_warmup_label(out, &drawn, top, &x, &y)?;
        writeln_markup!(
            out,
            "<line class=\"cursor\" y1=\"{}\" y2=\"{}\" x1=\"-9\" x2=\"-9\"/></svg></div>\
             <p class=\"readout\" aria-live=\"polite\"></p></figure>",
            top,
            PLOT_BOTTOM
        )
    }

    /// Writes the legend: a sample and the name of each line.
    fn write_legend(&self, out: &mut Html) -> fmt::Result {
        out.push_str("<ul class=\"legend\">");
        for (number, line) in self.lines.iter().enumerate() {
            write_markup!(
                out,
                "<li><svg class=\"sample\" viewBox=\"0 0 36 10\" aria-hidden=\"true\"><path \
                 {} d=\"M1 5H35\"/></svg>{}{}</li>",
                stroke_attributes(number),
                &line.name,
                if line.values.iter().any(Option::is_some) {
                    ""
                } else {
                    " (not known)"
                }
            )?;
        }
        out.push_str("</ul>\n");
        Ok(())
    }

    /// Draws the shaded warm-up, the grid and the time axis.
    fn draw_axes(&self, out: &mut Html, top: f64, x: &Scale, y: &Scale) -> fmt::Result {
        if self.warmup_s > 0.0 {
            let warmup_end = x.position(self.warmup_s);
            write_markup!(
                out,
                "<rect class=\"warmup\" x=\"{}\" y=\"{}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                PLOT_LEFT,
                top,
                warmup_end - PLOT_LEFT,
                PLOT_BOTTOM - top
            )?;
        }
        draw_grid(out, y, self.format_value)?;
        for tick_s in &x.ticks {
            draw_tick(
                out,
                x.position(*tick_s),
                PLOT_BOTTOM,
                &time_label(*tick_s, self.end_s),
            )?;
        }
        out.push_str("\n");
        Ok(())
    }

    /// Draws the label of the warm-up over all lines, if possible at a height where no line crosses it.
    fn draw_warmup_label(
        &self,
        out: &mut Html,
        drawn: &[Vec<Option<f64>>],
        top: f64,
        x: &Scale,
        y: &Scale,
    ) -> fmt::Result {
        let left = PLOT_LEFT + 5.0;
        // The label fits only if the warm-up is wide enough.
        if x.position(self.warmup_s) - left <= WARMUP_LABEL_WIDTH {
            return Ok(());
        }
        let levels = y.ticks.iter().map(|tick| [y.position(*tick); 2]);
        let mut occupied: Vec<[f64; 2]> = levels.collect();
        for values in drawn {
            let points = self.times_s.iter().zip(values);
            let points: Vec<(f64, f64)> = points
                .filter_map(|(at_s, value)| Some((x.position(*at_s), y.position((*value)?))))
                .collect();
            let near_segments = points.windows(2).filter(|segment| {
                segment[1].0 >= left && segment[0].0 <= left + WARMUP_LABEL_WIDTH
            });
            occupied.extend(near_segments.map(|segment| [segment[0].1, segment[1].1]));
        }
        let baseline = free_baseline(&occupied, top);
        write_markup!(
            out,
            "<text class=\"word-over\" x=\"{}\" y=\"{}\">warm-up</text>",
            left,
            baseline
        )
    }

    /// Returns a description of the chart with the range of each line.
    pub fn description(&self) -> String {
        let ranges = self.lines.iter().map(|line| {
            let known = line.values.iter().flatten().copied();
            let known: Vec<f64> = known.filter(|value| value.is_finite()).collect();
            let Some(last) = known.last() else {
                return format!("{}: not known", line.name);
            };
            let (min, max) = known.iter().fold((*last, *last), |(min, max), value| {
                (min.min(*value), max.max(*value))
            });
            let format_value = self.format_value;
            format!(
                "{}: {} to {}",
                line.name,
                format_value(min),
                format_value(max)
            )
        });
        let ranges: Vec<String> = ranges.collect();
        format!(
            "{}. All figures are in the table of seconds.",
            ranges.join("; ")
        )
    }
}

/// Number of line colours; the style sheet defines the dashes of this many lines.
const COLOR_COUNT: usize = 5;

/// Returns the attributes for colour and dashes of line `number`. The dashes are unique: lines from number 5
/// on have long and short dashes for the binary digits of the number.
pub fn stroke_attributes(number: usize) -> Html {
    if number < COLOR_COUNT {
        return markup!("class=\"line l{}\"", number);
    }
    let digits = format!("{number:b}");
    let dashes = digits
        .chars()
        .map(|digit| if digit == '1' { "9 3" } else { "2 3" });
    let dashes: Vec<&str> = dashes.collect();
    markup!(
        "class=\"line c{}\" stroke-dasharray=\"{} 0 5\"",
        number % COLOR_COUNT,
        dashes.join(" ")
    )
}

/// Returns the highest baseline below `top` at which a label overlaps none of the `occupied` vertical ranges;
/// if there is no such baseline, the highest one.
fn free_baseline(occupied: &[[f64; 2]], top: f64) -> f64 {
    let is_free = |baseline: &f64| {
        let (from, to) = (baseline - 12.0, baseline + 4.0);
        occupied
            .iter()
            .all(|[a, b]| a.max(*b) < from || a.min(*b) > to)
    };
    let first = top + 14.0;
    let steps = ((PLOT_BOTTOM - 5.0 - first) / 2.0).max(0.0) as u32;
    let mut baselines = (0..=steps).map(|step| first + 2.0 * f64::from(step));
    baselines.find(is_free).unwrap_or(first)
}

/// Returns the `d` attribute of a line's path, which is interrupted at unknown values; an isolated value is a
/// dot.
fn path_data(times_s: &[f64], values: &[Option<f64>], x: &Scale, y: &Scale) -> String {
    let mut d = String::new();
    let mut pen_down = false;
    for (at_s, value) in times_s.iter().zip(values) {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            pen_down = false;
            continue;
        };
        let (x, y) = (x.position(*at_s), y.position(value));
        // A zero-length line with round ends is drawn as a dot.
        let step = if pen_down {
            format!("L{x:.1} {y:.1}")
        } else {
            format!("M{x:.1} {y:.1}h0")
        };
        d.push_str(&step);
        pen_down = true;
    }
    d
}

#[cfg(test)]
mod tests;
