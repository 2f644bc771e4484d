//! The marks of a drawing: lines, paths, dots and texts, as SVG.
//!
//! In: positions in units of the drawing. Out: SVG. Must never: distinguish lines only by colour.

use crate::html::markup::{Html, markup, write_markup, writeln_markup};
use crate::text::joined;
use std::fmt::{self, Write};

/// Number of line colours; the style sheet defines the dashes of this many lines.
pub const COLOR_COUNT: usize = 5;

#[derive(Default)]
pub struct Drawing {
    pub html: Html,
    /// Where the last label of the horizontal axis ends that a narrow window shows.
    pub(super) narrow_labels_end: f64,
}

impl Drawing {
    /// Draws a text; its class says on which side of `x` it is.
    pub fn text(&mut self, class: &str, x: f64, y: f64, text: &str) -> fmt::Result {
        write_markup!(
            self.html,
            "<text class=\"{}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            class,
            x,
            y,
            text
        )
    }

    /// Draws a straight line from the point `from` to the point `to`, each x and y.
    pub fn line(&mut self, class: &str, from: [f64; 2], to: [f64; 2]) -> fmt::Result {
        write_markup!(
            self.html,
            "<line class=\"{}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            class,
            from[0],
            from[1],
            to[0],
            to[1]
        )
    }

    pub fn rectangle(&mut self, class: &str, [left, top, width, height]: [f64; 4]) -> fmt::Result {
        write_markup!(
            self.html,
            "<rect class=\"{}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            class,
            left,
            top,
            width,
            height
        )
    }

    /// Draws a filled circle; a browser shows its title under the pointer.
    pub fn dot(&mut self, x: f64, y: f64, radius: f64, title: Option<&str>) -> fmt::Result {
        let title = title.map_or_else(Html::default, |title| markup!("<title>{}</title>", title));
        writeln_markup!(
            self.html,
            "<circle class=\"point on\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{:.1}\">{}</circle>",
            x,
            y,
            radius,
            title
        )
    }

    /// Draws a path, given by its `d` attribute.
    pub fn path(&mut self, class: &str, d: &str) -> fmt::Result {
        writeln_markup!(self.html, "<path class=\"{}\" d=\"{}\"/>", class, d)
    }

    /// Draws the path of line `number` of a chart.
    pub fn numbered_line(&mut self, number: usize, d: &str) -> fmt::Result {
        writeln_markup!(
            self.html,
            "<path {} d=\"{}\"/>",
            stroke_attributes(number),
            d
        )
    }
}

/// Lines that look alike, such as the runs of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct LineGroup {
    /// The number of their look.
    pub number: usize,
    pub name: String,
}

/// The number of the look of a line: its group's, otherwise its own.
pub fn look(number: usize, group: Option<&LineGroup>) -> usize {
    group.map_or(number, |group| group.number)
}

/// The legend of lines, each with its name and group: an entry for each look.
pub fn legend<'a>(
    lines: impl Iterator<Item = (String, Option<&'a LineGroup>)>,
) -> Vec<(Html, String)> {
    let mut entries: Vec<(usize, String)> = Vec::new();
    for (number, (name, group)) in lines.enumerate() {
        let number = look(number, group);
        if !entries.iter().any(|entry| entry.0 == number) {
            entries.push((number, group.map_or(name, |group| group.name.clone())));
        }
    }
    let entries = entries.into_iter();
    entries
        .map(|(number, name)| (line_sample(number), name))
        .collect()
}

/// A sample of line `number` for a legend.
pub fn line_sample(number: usize) -> Html {
    markup!("<path {} d=\"M1 5H35\"/>", stroke_attributes(number))
}

/// The attributes for colour and dashes of line `number`. The dashes are unique: lines from number 5 on have long and
/// short dashes for the binary digits of the number.
fn stroke_attributes(number: usize) -> Html {
    if number < COLOR_COUNT {
        return markup!("class=\"line l{}\"", number);
    }
    let digits = format!("{number:b}");
    let digits = digits.chars();
    let dashes = digits.map(|digit| if digit == '1' { "9 3" } else { "2 3" });
    markup!(
        "class=\"line c{}\" stroke-dasharray=\"{} 0 5\"",
        number % COLOR_COUNT,
        joined(dashes, " ")
    )
}

/// The `d` attribute of a path through these points.
pub fn path_through(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut d = String::new();
    for (x, y) in points {
        let step = if d.is_empty() { 'M' } else { 'L' };
        // Writing to a String never fails.
        let _ = write!(d, "{step}{x:.1} {y:.1}");
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_lines_have_the_same_dashes() {
        let dashes: std::collections::BTreeSet<String> = (5..200)
            .map(|number| {
                let attributes = stroke_attributes(number);
                attributes.split_once(" stroke").unwrap().1.to_owned()
            })
            .collect();
        assert_eq!(dashes.len(), 195);
        assert_eq!(stroke_attributes(4), "class=\"line l4\"");
    }
}
