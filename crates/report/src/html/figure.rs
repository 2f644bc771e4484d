//! The frame of every figure of a page: caption, legend, and the
//! drawing with its text alternative.
//!
//! In: a drawing. Out: a figure, which needs no script. Must never: draw a label outside of the drawing.

use super::drawing::Drawing;
use super::scale::Scale;
use crate::html::markup::{Html, markup, write_markup, writeln_markup};
use std::fmt;

/// Width of every drawing, in units of the drawing.
pub const DRAWING_WIDTH: f64 = 760.0;
/// Maximum width of a letter of a tick's label.
const TICK_LETTER_WIDTH: f64 = 7.0;
/// The same in a narrow window, where the style sheet enlarges the texts of a drawing that is scaled down.
const NARROW_LETTER_WIDTH: f64 = 13.5;

/// The edges of a plot, in units of the drawing.
#[derive(Clone, Copy, Debug)]
pub struct Plot {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Plot {
    /// The plot of most figures, with labels of values at its left.
    pub const STANDARD: Plot = Plot {
        left: 70.0,
        right: 748.0,
        top: 10.0,
        bottom: 206.0,
    };
    /// The height of a drawing with [`Plot::STANDARD`].
    pub const STANDARD_HEIGHT: f64 = 232.0;

    /// Draws the horizontal grid lines, labelled with their values.
    pub fn draw_grid(
        &self,
        out: &mut Drawing,
        y: &Scale,
        format_value: fn(f64) -> String,
    ) -> fmt::Result {
        for tick in &y.ticks {
            let position = y.position(*tick);
            out.line("grid", [self.left, position], [self.right, position])?;
            out.text("y", self.left - 6.0, position + 4.0, &format_value(*tick))?;
        }
        Ok(())
    }

    /// Draws a tick below the plot, with its label; the label of a tick at the right edge stays inside the drawing.
    pub fn draw_tick(&self, out: &mut Drawing, x: f64, label: &str) -> fmt::Result {
        let half_width = label.chars().count() as f64 * TICK_LETTER_WIDTH / 2.0;
        out.line("tick", [x, self.bottom], [x, self.bottom + 4.0])?;
        let label_x = x.min(DRAWING_WIDTH - half_width);
        let narrow_half_width = half_width / TICK_LETTER_WIDTH * NARROW_LETTER_WIDTH;
        // In a narrow window there is no room for every label.
        let class = if x - narrow_half_width < out.narrow_labels_end {
            "x wide-only"
        } else {
            out.narrow_labels_end = x + narrow_half_width;
            "x"
        };
        out.text(class, label_x, self.bottom + 18.0, label)
    }

    pub fn draw_vertical_line(&self, out: &mut Drawing, class: &str, x: f64) -> fmt::Result {
        out.line(class, [x, self.top], [x, self.bottom])
    }
}

/// The table that the cursor of a figure reads, and the time axis on which it moves.
pub struct Cursor<'a> {
    pub table_id: &'a str,
    pub plot: Plot,
    /// End of the time axis, in seconds.
    pub end_s: f64,
}

impl Cursor<'_> {
    /// What the script needs: attributes of the drawing, a line in it, and a place for the figures below it.
    fn parts(&self) -> Result<[Html; 3], fmt::Error> {
        let attributes = markup!(
            " data-table=\"{}\" data-left=\"{}\" data-right=\"{}\" data-end=\"{}\"",
            self.table_id,
            self.plot.left,
            self.plot.right,
            self.end_s
        );
        let mut line = Drawing::default();
        // Outside of the window, until it is used.
        self.plot
            .draw_vertical_line(&mut line, "cursor", -9_999.0)?;
        let readout = markup!("<p class=\"readout\" aria-live=\"polite\"></p>");
        Ok([attributes, line.html, readout])
    }
}

/// A figure without its drawing.
#[derive(Default)]
pub struct Figure<'a> {
    pub id: &'a str,
    pub title: &'a str,
    /// A note on the axes behind the title, such as `, logarithmic axis`.
    pub axis_note: &'static str,
    /// Samples of what is drawn, each with its name.
    pub legend: Vec<(Html, String)>,
    /// A description of the drawing, for those who cannot see it.
    pub description: String,
    /// Height of the drawing, in units of the drawing.
    pub height: f64,
    pub cursor: Option<Cursor<'a>>,
}

impl Figure<'_> {
    pub fn write(&self, out: &mut Html, drawing: &Drawing) -> fmt::Result {
        writeln_markup!(
            out,
            "<figure><figcaption id=\"{}-t\">{}{}</figcaption>",
            self.id,
            self.title,
            self.axis_note
        )?;
        write_legend(out, &self.legend)?;
        let cursor = self.cursor.as_ref();
        let [attributes, cursor_line, readout] =
            cursor.map_or_else(|| Ok(Default::default()), Cursor::parts)?;
        writeln_markup!(
            out,
            "<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-labelledby=\"{0}-t\">\
             <svg viewBox=\"0 0 {1} {2}\" role=\"img\" aria-labelledby=\"{0}-t {0}-d\"{3}>\
             <title>{4}</title><desc id=\"{0}-d\">{5}</desc>{6}{7}</svg></div>{8}</figure>",
            self.id,
            DRAWING_WIDTH,
            self.height,
            attributes,
            self.title,
            self.description,
            drawing.html,
            cursor_line,
            readout
        )
    }
}

/// Writes samples with their names; nothing if there are none.
pub fn write_legend(out: &mut Html, entries: &[(Html, String)]) -> fmt::Result {
    if entries.is_empty() {
        return Ok(());
    }
    out.push_str("<ul class=\"legend\">");
    for (sample, name) in entries {
        write_markup!(
            out,
            "<li><svg class=\"sample\" viewBox=\"0 0 36 10\" aria-hidden=\"true\">{}</svg>{}</li>",
            sample,
            name
        )?;
    }
    out.push_str("</ul>\n");
    Ok(())
}
