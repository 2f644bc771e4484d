//! Throughput against cost, drawn as SVG.
//!
//! In: prices of comparable configurations. Out: a figure with title, description and legend. Must never: mark
//! the frontier only by colour, or draw it without a ranking.

use crate::html::drawing::Drawing;
use crate::html::figure::{DRAWING_WIDTH, Figure, Plot};
use crate::html::markup::{Html, markup};
use crate::html::scale::Scale;
use crate::text::prices::{basis_phrase, format_money, short_name};
use crate::text::{joined, plain};
use crate::units;
use prony_judge::price::{PricePoint, Prices};
use std::fmt;

const PLOT: Plot = Plot {
    left: 70.0,
    right: 730.0,
    top: 34.0,
    bottom: 280.0,
};
/// Height of the drawing, in units of the drawing.
const DRAWING_HEIGHT: f64 = 330.0;
/// Height of a label, and maximum width of a letter, in units of the drawing.
const LINE_HEIGHT: f64 = 14.0;
const MAX_LETTER_WIDTH: f64 = 7.0;
/// The maximum length of a name in a label, in characters.
const MAX_NAME_CHARS: usize = 24;

/// The label of a point, and its position.
struct Label {
    /// The number of the configuration, as in the table.
    number: usize,
    text: String,
    x: f64,
    y: f64,
    /// Whether the text ends at `x`; otherwise it starts there.
    ends_at_x: bool,
}

/// Draws the chart of these prices. There must be at least one point.
pub fn draw(out: &mut Html, prices: &Prices) -> fmt::Result {
    let points = &prices.points;
    let currency = plain(&prices.currency);
    let max_of = |value: fn(&PricePoint) -> f64| points.iter().map(value).fold(0.0, f64::max);
    let highest_tps = max_of(|point| {
        let interval = point.tps_interval;
        interval.map_or(point.tps, |interval| interval.high.max(point.tps))
    });
    let highest_cost = max_of(|point| point.total_monthly_cost);
    let x = Scale::from_zero(highest_cost, PLOT.left, PLOT.right);
    let y = Scale::from_zero(highest_tps, PLOT.bottom, PLOT.top);
    let mut drawing = Drawing::default();
    PLOT.draw_grid(&mut drawing, &y, units::rate)?;
    for cost in &x.ticks {
        PLOT.draw_tick(&mut drawing, x.position(*cost), &units::rate(*cost))?;
    }
    drawing.text("small wide-only", PLOT.left - 56.0, 16.0, "transactions/s")?;
    let cost_label = format!("{currency} per month");
    drawing.text(
        "small y wide-only",
        PLOT.right,
        PLOT.bottom + 38.0,
        &cost_label,
    )?;
    if let Some(ranking) = &prices.ranking {
        let frontier = ranking.frontier.iter();
        let frontier = frontier.filter_map(|index| points.get(*index));
        draw_frontier(&mut drawing, &frontier.collect::<Vec<_>>(), &x, &y)?;
    }
    for point in points {
        draw_point(
            &mut drawing,
            point,
            x.position(point.total_monthly_cost),
            &y,
        )?;
    }
    for label in place_labels(points, &x, &y) {
        let end = if label.ends_at_x { " y" } else { "" };
        drawing.text(
            &format!("name wide-only{end}"),
            label.x,
            label.y,
            &label.text,
        )?;
        // A phone has no room for names; the table below has them with their numbers.
        let number = label.number.to_string();
        drawing.text(&format!("name narrow-only{end}"), label.x, label.y, &number)?;
    }
    let figure = Figure {
        id: "prices",
        title: &format!(
            "Throughput against cost: transactions committed per second, by {currency} per month"
        ),
        legend: legend(prices),
        description: description(prices),
        height: DRAWING_HEIGHT,
        ..Figure::default()
    };
    figure.write(out, &drawing)
}

fn legend(prices: &Prices) -> Vec<(Html, String)> {
    let mut legend = Vec::new();
    if prices.ranking.is_some() {
        let on_frontier = markup!(
            "<path class=\"line l1\" d=\"M1 5H35\"/><circle class=\"point on\" cx=\"18\" cy=\"5\" r=\"4.5\"/>"
        );
        let off_frontier = markup!("<path class=\"point\" d=\"M18 .5L22.5 5L18 9.5L13.5 5Z\"/>");
        let on_text = "on the frontier: no other is faster at this price or less";
        legend.push((on_frontier, on_text.to_owned()));
        legend.push((off_frontier, "not on it".to_owned()));
    }
    let mut points = prices.points.iter();
    if points.any(|point| point.tps_interval.is_some()) {
        let interval = markup!("<path class=\"spread\" d=\"M4 5H32M4 2V8M32 2V8\"/>");
        legend.push((interval, "lowest to highest of several runs".to_owned()));
    }
    legend
}

/// Draws the highest throughput available at each cost: horizontal from one point to the next, then up.
fn draw_frontier(out: &mut Drawing, frontier: &[&PricePoint], x: &Scale, y: &Scale) -> fmt::Result {
    let [first, others @ ..] = frontier else {
        return Ok(());
    };
    let position =
        |point: &PricePoint| (x.position(point.total_monthly_cost), y.position(point.tps));
    let (first_x, first_y) = position(first);
    let mut d = format!("M{first_x:.1} {first_y:.1}");
    for next in others {
        let (next_x, next_y) = position(next);
        d += &format!("H{next_x:.1}V{next_y:.1}");
    }
    out.path("line l1", &format!("{d}H{}", PLOT.right))
}

fn draw_point(out: &mut Drawing, point: &PricePoint, x: f64, y: &Scale) -> fmt::Result {
    if let Some(interval) = point.tps_interval {
        let (low, high) = (y.position(interval.low), y.position(interval.high));
        let left = x - 5.0;
        let d = format!("M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}h10M{left:.1} {high:.1}h10");
        out.path("spread", &d)?;
    }
    let center = y.position(point.tps);
    if point.on_frontier == Some(false) {
        let top = center - 7.0;
        out.path("point", &format!("M{x:.1} {top:.1}l7 7l-7 7l-7 -7Z"))
    } else {
        out.dot(x, center, 6.0, None)
    }
}

/// Places the labels beside their points without overlaps.
fn place_labels(points: &[PricePoint], x: &Scale, y: &Scale) -> Vec<Label> {
    let mut fastest_first: Vec<usize> = (0..points.len()).collect();
    fastest_first.sort_by(|a, b| points[*b].tps.total_cmp(&points[*a].tps));
    let mut placed: Vec<Label> = Vec::new();
    for index in fastest_first {
        let point = &points[index];
        let runs = match point.runs.len() {
            1 => String::new(),
            _ => format!(", {} runs", plain(&point.runs_text())),
        };
        let text = format!("{} {}{runs}", index + 1, short_name(point, MAX_NAME_CHARS));
        let point_x = x.position(point.total_monthly_cost);
        let ends_at_x = point_x + 9.0 + text_width(&text) > DRAWING_WIDTH;
        // Avoid the frontier's line, which is above the points that are not on it.
        let distance_below = if point.on_frontier == Some(false) { 17.0 } else { -8.0 };
        let mut label = Label {
            number: index + 1,
            text,
            x: if ends_at_x { point_x - 8.0 } else { point_x + 8.0 },
            y: y.position(point.tps) + distance_below,
            ends_at_x,
        };
        // Each placed label moves this one down at most once.
        for _ in 0..placed.len() {
            let Some(other) = placed.iter().find(|other| overlap(other, &label)) else {
                break;
            };
            label.y = other.y + LINE_HEIGHT;
        }
        label.y = label.y.min(DRAWING_HEIGHT - 4.0);
        placed.push(label);
    }
    placed
}

fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * MAX_LETTER_WIDTH
}

fn overlap(a: &Label, b: &Label) -> bool {
    let x_range = |label: &Label| {
        let width = text_width(&label.text);
        if label.ends_at_x { (label.x - width, label.x) } else { (label.x, label.x + width) }
    };
    let ((a_start, a_end), (b_start, b_end)) = (x_range(a), x_range(b));
    (a.y - b.y).abs() < LINE_HEIGHT - 0.5 && a_start < b_end && b_start < a_end
}

/// Describes the chart, one sentence per point.
fn description(prices: &Prices) -> String {
    let sentences = prices.points.iter().enumerate().map(|(index, point)| {
        let frontier = match point.on_frontier {
            Some(true) => ", on the frontier",
            Some(false) => ", not on the frontier",
            None => "",
        };
        format!(
            "{}: {}: {} {} per month, {} transactions per second {}{frontier}",
            index + 1,
            plain(&point.name()),
            format_money(point.total_monthly_cost),
            plain(&prices.currency),
            units::rate(point.tps),
            basis_phrase(point),
        )
    });
    format!(
        "{}. All figures are in the table below.",
        joined(sentences, "; ")
    )
}
