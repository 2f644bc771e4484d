//! Lines over time, drawn as SVG.
//!
//! In: values by the second, marks of what happened. Out: a figure with its title, its description, a
//! legend and the drawing, which needs no script. Must never: tell two lines apart by colour alone, or
//! draw a line through what is not known.

use super::escape::Text;
use super::marks::Mark;
use super::scale::Scale;
use std::fmt::{self, Write};

/// Size of a drawing, and of the space around its plot, in units of the drawing.
const WIDTH: f64 = 760.0;
pub const LEFT: f64 = 70.0;
pub const RIGHT: f64 = 748.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 206.0;
const HEIGHT: f64 = 232.0;
/// Width of the word for the warm-up.
const WORD: f64 = 58.0;

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// One value for each moment of the chart; absent where it is not known.
    pub values: Vec<Option<f64>>,
}

/// Which axis the values get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// From zero.
    Linear,
    /// From zero to one.
    Share,
    /// Linear, or by powers where the values differ by more than thirty times.
    Times,
}

/// A chart over time.
pub struct Chart<'a> {
    /// Unique in the page.
    pub id: String,
    /// What is drawn.
    pub title: &'a str,
    /// Moments of the values, seconds from the start of the load, ascending.
    pub at_s: &'a [f64],
    /// The lines.
    pub lines: Vec<Line>,
    /// How a value reads, with its unit.
    pub unit: fn(f64) -> String,
    /// The axis of the values.
    pub axis: Axis,
    /// What happened.
    pub marks: &'a [Mark],
    /// End of the warm-up, seconds.
    pub warmup_s: f64,
    /// End of the axis of time, seconds.
    pub end_s: f64,
    /// Id of the table that has these figures.
    pub table: String,
}

impl Chart<'_> {
    /// Draws it; says so where no value of any line is known.
    pub fn draw(&self, out: &mut String) -> fmt::Result {
        let mut values = self.lines.iter().flat_map(|line| &line.values);
        if values.all(Option::is_none) {
            let title = Text(self.title);
            return writeln!(out, "<p class=\"absent\">{title}: not known.</p>");
        }
        let known = || self.lines.iter().flat_map(|line| &line.values).flatten();
        let known = || known().copied().filter(|value| value.is_finite());
        let most = known().fold(0.0, f64::max);
        let least = known()
            .filter(|value| *value > 0.0)
            .fold(f64::INFINITY, f64::min);
        let log = self.axis == Axis::Times && most > 30.0 * least;
        let top = TOP + super::marks::height(self.marks);
        let y = match self.axis {
            Axis::Share => Scale::from_zero(1.0, BOTTOM, top),
            _ if log => Scale::by_powers(least, most, BOTTOM, top),
            _ => Scale::from_zero(most, BOTTOM, top),
        };
        let x = Scale::time(self.end_s, LEFT, RIGHT);
        let id = &self.id;
        let by_powers = if log { ", axis by powers of ten" } else { "" };
        writeln!(
            out,
            "<figure><figcaption id=\"{id}-t\">{}{by_powers}</figcaption>",
            Text(self.title)
        )?;
        self.legend(out)?;
        writeln!(
            out,
            "<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-labelledby=\"{id}-t\">\
             <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" \
             data-table=\"{}\" data-left=\"{LEFT}\" data-right=\"{RIGHT}\" data-end=\"{}\">\
             <title>{}</title><desc id=\"{id}-d\">{}</desc>",
            self.table,
            self.end_s,
            Text(self.title),
            Text(self.description()),
        )?;
        self.axes(out, top, &x, &y)?;
        super::marks::draw(out, self.marks, &x, top, BOTTOM)?;
        for (number, line) in self.lines.iter().enumerate() {
            let d = path(self.at_s, &line.values, &x, &y);
            writeln!(out, "<path class=\"line l{number}\" d=\"{d}\"/>")?;
        }
        self.warmup_word(out, top, &x, &y)?;
        writeln!(
            out,
            "<line class=\"cursor\" y1=\"{top}\" y2=\"{BOTTOM}\" x1=\"-9\" x2=\"-9\"/></svg></div>\
             <p class=\"readout\" aria-live=\"polite\"></p></figure>"
        )
    }

    /// A sample of each line beside its name.
    fn legend(&self, out: &mut String) -> fmt::Result {
        out.push_str("<ul class=\"legend\">");
        for (number, line) in self.lines.iter().enumerate() {
            write!(
                out,
                "<li><svg class=\"sample\" viewBox=\"0 0 36 10\" aria-hidden=\"true\"><path \
                 class=\"line l{number}\" d=\"M1 5H35\"/></svg>{}{}</li>",
                Text(&line.name),
                match line.values.iter().any(Option::is_some) {
                    true => "",
                    false => " (not known)",
                },
            )?;
        }
        out.push_str("</ul>\n");
        Ok(())
    }

    fn axes(&self, out: &mut String, top: f64, x: &Scale, y: &Scale) -> fmt::Result {
        if self.warmup_s > 0.0 {
            let end = x.at(self.warmup_s);
            write!(
                out,
                "<rect class=\"warmup\" x=\"{LEFT}\" y=\"{top}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                end - LEFT,
                BOTTOM - top,
            )?;
        }
        grid(out, y, self.unit)?;
        for moment in &x.ticks {
            tick(out, x.at(*moment), BOTTOM, &clock(*moment, self.end_s))?;
        }
        out.push('\n');
        Ok(())
    }

    /// Names the warm-up, over all lines and where none runs through the word, if there is such a place.
    fn warmup_word(&self, out: &mut String, top: f64, x: &Scale, y: &Scale) -> fmt::Result {
        let left = LEFT + 5.0;
        // The word fits only into a warm-up that is wide enough.
        if x.at(self.warmup_s) - left <= WORD {
            return Ok(());
        }
        let levels = y.ticks.iter().map(|tick| [y.at(*tick); 2]);
        let mut drawn: Vec<[f64; 2]> = levels.collect();
        for line in &self.lines {
            let points = self.at_s.iter().zip(&line.values);
            let points: Vec<(f64, f64)> = points
                .filter_map(|(at_s, value)| Some((x.at(*at_s), y.at((*value)?))))
                .collect();
            let near = points
                .windows(2)
                .filter(|ends| ends[1].0 >= left && ends[0].0 <= left + WORD);
            drawn.extend(near.map(|ends| [ends[0].1, ends[1].1]));
        }
        let base = free_line(&drawn, top);
        write!(
            out,
            "<text class=\"word-over\" x=\"{left}\" y=\"{base}\">warm-up</text>"
        )
    }

    /// The chart in a sentence for each line.
    pub fn description(&self) -> String {
        let each = self.lines.iter().map(|line| {
            let known = line.values.iter().flatten().copied();
            let known: Vec<f64> = known.filter(|value| value.is_finite()).collect();
            let Some(last) = known.last() else {
                return format!("{}: not known", line.name);
            };
            let (least, most) = known.iter().fold((*last, *last), |(least, most), value| {
                (least.min(*value), most.max(*value))
            });
            let unit = self.unit;
            format!("{}: {} to {}", line.name, unit(least), unit(most))
        });
        let each: Vec<String> = each.collect();
        format!(
            "{}. All figures are in the table of seconds.",
            each.join("; ")
        )
    }
}

/// The highest base line of a word below `top` that nothing is drawn through, each thing from one height to
/// another; the highest of all where there is none.
fn free_line(drawn: &[[f64; 2]], top: f64) -> f64 {
    let free = |base: &f64| {
        let (from, to) = (base - 12.0, base + 4.0);
        drawn
            .iter()
            .all(|[a, b]| a.max(*b) < from || a.min(*b) > to)
    };
    let first = top + 14.0;
    let steps = ((BOTTOM - 5.0 - first) / 2.0).max(0.0) as u32;
    let mut bases = (0..=steps).map(|step| first + 2.0 * f64::from(step));
    bases.find(free).unwrap_or(first)
}

/// The lines across a plot, each with its value.
pub fn grid(out: &mut String, y: &Scale, unit: fn(f64) -> String) -> fmt::Result {
    for tick in &y.ticks {
        let (at, label) = (y.at(*tick), Text(unit(*tick)));
        write!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"y\" x=\"{}\" y=\"{:.1}\">{label}</text>",
            LEFT - 6.0,
            at + 4.0,
        )?;
    }
    Ok(())
}

/// A tick below a plot, with its name.
pub fn tick(out: &mut String, at: f64, bottom: f64, name: &str) -> fmt::Result {
    write!(
        out,
        "<line class=\"tick\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{}\"/>\
         <text class=\"x\" x=\"{at:.1}\" y=\"{}\">{name}</text>",
        bottom + 4.0,
        bottom + 18.0,
    )
}

/// A moment as the axis of time names it: seconds, or minutes and hours in a long run.
pub fn clock(at_s: f64, end_s: f64) -> String {
    if end_s <= 120.0 {
        return format!("{at_s:.0} s");
    }
    let whole = at_s.round() as u64;
    let (h, min, s) = (whole / 3600, whole / 60 % 60, whole % 60);
    match end_s < 3600.0 {
        true => format!("{min}:{s:02}"),
        false => format!("{h}:{min:02}:{s:02}"),
    }
}

/// The `d` of a line's path: broken where a value is not known; a value alone is a dot.
fn path(at_s: &[f64], values: &[Option<f64>], x: &Scale, y: &Scale) -> String {
    let mut d = String::new();
    let mut pen_down = false;
    for (at_s, value) in at_s.iter().zip(values) {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            pen_down = false;
            continue;
        };
        let (x, y) = (x.at(*at_s), y.at(value));
        // A line of no length with round ends is drawn as a dot.
        let step = match pen_down {
            true => format!("L{x:.1} {y:.1}"),
            false => format!("M{x:.1} {y:.1}h0"),
        };
        d.push_str(&step);
        pen_down = true;
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: Vec<Option<f64>>, axis: Axis) -> String {
        let at_s: Vec<f64> = (0..values.len()).map(|n| n as f64).collect();
        let name = "p99 <b>".to_owned();
        let chart = Chart {
            id: "c1".into(),
            title: "Times",
            at_s: &at_s,
            lines: vec![Line { name, values }],
            unit: crate::units::time,
            axis,
            marks: &[],
            warmup_s: 1.0,
            end_s: 4.0,
            table: "t1".into(),
        };
        let mut out = String::new();
        chart.draw(&mut out).unwrap();
        out
    }

    #[test]
    fn a_line_is_broken_where_nothing_is_known() {
        let (x, y) = (
            Scale::time(4.0, 0.0, 400.0),
            Scale::from_zero(10.0, 100.0, 0.0),
        );
        let values = [Some(0.0), Some(5.0), None, Some(10.0), Some(f64::NAN)];
        let d = path(&[0.0, 1.0, 2.0, 3.0, 4.0], &values, &x, &y);
        assert_eq!(d, "M0.0 100.0h0L100.0 50.0M300.0 0.0h0");
        assert_eq!(path(&[0.0], &[None], &x, &y), "");
    }

    #[test]
    fn a_chart_has_title_description_legend_and_escaped_names() {
        let text = chart(vec![Some(1e6), Some(2e6), None, Some(3e6)], Axis::Times);
        assert!(text.contains("<title>Times</title>"), "{text}");
        assert!(text.contains("p99 &lt;b&gt;: 1.00 ms to 3.00 ms"), "{text}");
        assert!(!text.contains("<b>"), "{text}");
        assert!(text.contains("class=\"line l0\""), "{text}");
        assert!(!text.contains("powers"), "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn the_word_for_the_warm_up_is_where_no_line_is() {
        // Levels at 10 and 206, and a line from 20 to 60: it goes below that.
        assert_eq!(free_line(&[[10.0; 2], [206.0; 2]], 10.0), 24.0);
        assert_eq!(
            free_line(&[[10.0; 2], [60.0, 20.0], [206.0; 2]], 10.0),
            74.0
        );
        assert_eq!(free_line(&[[0.0, 300.0]], 10.0), 24.0, "nowhere is free");
        let text = chart(
            vec![Some(3e6), Some(2.9e6), Some(2e6), Some(1e6)],
            Axis::Linear,
        );
        let word = text.find(">warm-up<").unwrap();
        assert!(
            text.find("class=\"line l0\" d").unwrap() < word,
            "over the lines"
        );
        let (_, y) = text[..word].rsplit_once("y=\"").unwrap();
        let base: f64 = y.trim_end_matches('"').parse().unwrap();
        assert!(
            base > 24.0,
            "below the line, which begins at the top: {base}"
        );
    }

    #[test]
    fn times_far_apart_get_an_axis_by_powers_and_unknown_ones_no_plot() {
        let far = chart(vec![Some(1e5), Some(9e8)], Axis::Times);
        assert!(far.contains("axis by powers of ten"), "{far}");
        let none = chart(vec![None, None], Axis::Linear);
        assert_eq!(none, "<p class=\"absent\">Times: not known.</p>\n");
    }

    #[test]
    fn long_runs_are_told_in_minutes_and_hours() {
        assert_eq!(clock(25.0, 28.0), "25 s");
        assert_eq!(clock(125.0, 600.0), "2:05");
        assert_eq!(clock(3_725.0, 7_200.0), "1:02:05");
    }
}
