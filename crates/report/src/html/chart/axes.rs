//! Grid lines, ticks and their labels.
//!
//! Must never: draw a label outside of the drawing.

use super::super::scale::Scale;
use super::{DRAWING_WIDTH, PLOT_LEFT, PLOT_RIGHT};
use crate::html::markup::{Html, write_markup};
use std::fmt;

/// Width of a letter of a tick's label, at most.
const TICK_LETTER_WIDTH: f64 = 7.0;

/// Draws the horizontal grid lines of a plot, labelled with their values.
pub fn draw_grid(out: &mut Html, y: &Scale, format_value: fn(f64) -> String) -> fmt::Result {
    for tick in &y.ticks {
        let (position, label) = (y.position(*tick), format_value(*tick));
        write_markup!(
            out,
            "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1}\" y2=\"{2:.1}\"/>\
             <text class=\"y\" x=\"{3}\" y=\"{4:.1}\">{5}</text>",
            PLOT_LEFT,
            PLOT_RIGHT,
            position,
            PLOT_LEFT - 6.0,
            position + 4.0,
            label
        )?;
    }
    Ok(())
}

/// Draws a tick below a plot, with its label; the label of a tick at the right edge stays inside the drawing.
pub fn draw_tick(out: &mut Html, position: f64, bottom: f64, label: &str) -> fmt::Result {
    let width = label.chars().count() as f64 * TICK_LETTER_WIDTH;
    write_markup!(
        out,
        "<line class=\"tick\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{1}\" y2=\"{2}\"/>\
         <text class=\"x\" x=\"{3:.1}\" y=\"{4}\">{5}</text>",
        position,
        bottom,
        bottom + 4.0,
        position.min(DRAWING_WIDTH - width / 2.0),
        bottom + 18.0,
        label
    )
}

/// Returns the label of a time on the axis: seconds, or minutes and hours in long runs.
pub fn time_label(at_s: f64, end_s: f64) -> String {
    if end_s <= 120.0 {
        return format!("{at_s:.0} s");
    }
    let total_s = at_s.round() as u64;
    let (hours, minutes, seconds) = (total_s / 3600, total_s / 60 % 60, total_s % 60);
    if end_s < 3600.0 {
        format!("{minutes}:{seconds:02}")
    } else {
        format!("{hours}:{minutes:02}:{seconds:02}")
    }
}
