//! The values and the filled areas of a stacked chart.
//!
//! Must never: fill an area where a value is unknown.

use super::super::scale::Scale;
use super::{Axis, COLOR_COUNT, ChartLine};
use crate::html::markup::{Html, writeln_markup};
use std::fmt::{self, Write};

/// The values to draw, one list for each line. In a stacked chart each is the sum of the line and the previous
/// ones, unknown if one of them is.
pub(super) fn drawn_values(lines: &[ChartLine], axis: Axis) -> Vec<Vec<Option<f64>>> {
    let mut drawn: Vec<Vec<Option<f64>>> = Vec::with_capacity(lines.len());
    for line in lines {
        let values = match drawn.last().filter(|_| axis == Axis::Stacked) {
            Some(below) => {
                let pairs = below.iter().zip(&line.values);
                pairs
                    .map(|(below, value)| Some((*below)? + (*value)?))
                    .collect()
            }
            None => line.values.clone(),
        };
        drawn.push(values);
    }
    drawn
}

/// Fills the area of each line down to the previous one, or to zero.
pub(super) fn draw(
    out: &mut Html,
    times_s: &[f64],
    drawn: &[Vec<Option<f64>>],
    x: &Scale,
    y: &Scale,
) -> fmt::Result {
    for (number, values) in drawn.iter().enumerate() {
        let below = number.checked_sub(1).map(|below| &drawn[below]);
        let bottom = |index: usize| below.map_or(Some(0.0), |values| values[index]);
        let known: Vec<Option<[f64; 3]>> = (0..times_s.len())
            .map(|index| Some([times_s[index], values[index]?, bottom(index)?]))
            .collect();
        let mut d = String::new();
        for points in known
            .split(Option::is_none)
            .filter(|points| points.len() > 1)
        {
            let points = || points.iter().flatten();
            let upper = points().map(|[at_s, top, _]| (at_s, top));
            let lower = points().rev().map(|[at_s, _, bottom]| (at_s, bottom));
            for (index, (at_s, value)) in upper.chain(lower).enumerate() {
                let step = if index == 0 { 'M' } else { 'L' };
                let (x, y) = (x.position(*at_s), y.position(*value));
                write!(d, "{step}{x:.1} {y:.1}")?;
            }
            d.push('Z');
        }
        let color = number % COLOR_COUNT;
        writeln_markup!(out, "<path class=\"area a{}\" d=\"{}\"/>", color, d)?;
    }
    Ok(())
}
