//! Throughput against cost, drawn as SVG.
//!
//! In: prices of comparable configurations. Out: a figure with title, description and legend. Must never: mark
//! the frontier only by colour, or draw it without a ranking.

use crate::html::chart::{LEFT, SCROLL_HINT, grid, tick};
use crate::html::escape::Escaped;
use crate::html::scale::Scale;
use crate::price::{basis_phrase, money, short_name};
use crate::text::plain;
use crate::units;
use prony_judge::price::{PricePoint, Prices};
use std::fmt::{self, Write};

/// Size of the drawing and of its plot, in units of the drawing.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 330.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 280.0;
const RIGHT: f64 = 730.0;
/// Height of a label, and maximum width of a letter.
const LINE_HEIGHT: f64 = 14.0;
const LETTER_WIDTH: f64 = 7.0;
/// The maximum length of a name in a label, in characters.
const MAX_NAME: usize = 24;

/// The label of a point, and its position.
struct Label {
    text: String,
    x: f64,
    y: f64,
    /// The text ends at `x` instead of starting there.
    ends_at_x: bool,
}

/// Draws the figure; requires at least one point.
pub fn draw(out: &mut String, prices: &Prices) -> fmt::Result {
    let points = &prices.points;
    let currency = plain(&prices.currency);
    let title = format!(
        "Throughput against cost: transactions committed per second, by {currency} per month"
    );
    writeln!(
        out,
        "<figure><figcaption id=\"prices-t\">{}</figcaption>",
        Escaped(&title)
    )?;
    legend(out, prices)?;
    let max = |value: fn(&PricePoint) -> f64| points.iter().map(value).fold(0.0, f64::max);
    let high = |point: &PricePoint| point.tps_interval.map_or(0.0, |interval| interval.high);
    let fastest = max(|point| point.tps).max(points.iter().map(high).fold(0.0, f64::max));
    let x = Scale::from_zero(max(|point| point.cost), LEFT, RIGHT);
    let y = Scale::from_zero(fastest, BOTTOM, TOP);
    writeln!(
        out,
        "{SCROLL_HINT}<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-labelledby=\"prices-t\"><svg \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"prices-t prices-d\">\
         <title>{}</title><desc id=\"prices-d\">{}</desc>",
        Escaped(&title),
        Escaped(description(prices)),
    )?;
    grid(out, &y, units::rate)?;
    for cost in &x.ticks {
        tick(out, x.at(*cost), BOTTOM, &units::rate(*cost))?;
    }
    write!(
        out,
        "<text class=\"small\" x=\"{}\" y=\"12\">transactions/s</text>\
         <text class=\"small y\" x=\"{RIGHT}\" y=\"{}\">{} per month</text>",
        LEFT - 56.0,
        BOTTOM + 38.0,
        Escaped(&currency),
    )?;
    if let Some(ranking) = &prices.ranking {
        let steps = ranking
            .frontier
            .iter()
            .filter_map(|index| points.get(*index));
        draw_frontier(out, &steps.collect::<Vec<_>>(), &x, &y)?;
    }
    for point in points {
        draw_point(out, point, x.at(point.cost), &y)?;
    }
    for label in labels(points, &x, &y) {
        let Label {
            text,
            x,
            y,
            ends_at_x,
        } = label;
        let (text, class) = (Escaped(text), if ends_at_x { "name y" } else { "name" });
        write!(
            out,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        )?;
    }
    out.push_str("</svg></div></figure>\n");
    Ok(())
}

fn legend(out: &mut String, prices: &Prices) -> fmt::Result {
    let sample = |drawing: &str| {
        format!("<svg class=\"sample\" viewBox=\"0 0 36 10\" aria-hidden=\"true\">{drawing}</svg>")
    };
    out.push_str("<ul class=\"legend\">");
    if prices.ranking.is_some() {
        let on = sample(
            "<path class=\"line l1\" d=\"M1 5H35\"/><circle class=\"point on\" cx=\"18\" cy=\"5\" r=\"4.5\"/>",
        );
        let off = sample("<path class=\"point\" d=\"M18 .5L22.5 5L18 9.5L13.5 5Z\"/>");
        write!(
            out,
            "<li>{on}on the frontier: no other is faster at this price or less</li>\
             <li>{off}not on it</li>"
        )?;
    }
    let mut intervals = prices.points.iter().map(|point| point.tps_interval);
    if intervals.any(|interval| interval.is_some()) {
        let bar = sample("<path class=\"spread\" d=\"M4 5H32M4 2V8M32 2V8\"/>");
        write!(out, "<li>{bar}lowest to highest of several runs</li>")?;
    }
    out.push_str("</ul>\n");
    Ok(())
}

/// Draws the highest throughput available at each cost: horizontal from one point to the next, then up.
fn draw_frontier(out: &mut String, steps: &[&PricePoint], x: &Scale, y: &Scale) -> fmt::Result {
    let Some(first) = steps.first() else {
        return Ok(());
    };
    let mut d = format!("M{:.1} {:.1}", x.at(first.cost), y.at(first.tps));
    for next in &steps[1..] {
        write!(d, "H{:.1}V{:.1}", x.at(next.cost), y.at(next.tps))?;
    }
    writeln!(out, "<path class=\"line l1\" d=\"{d}H{RIGHT}\"/>")
}

/// Draws a point with its range of throughput.
fn draw_point(out: &mut String, point: &PricePoint, x: f64, y: &Scale) -> fmt::Result {
    if let Some(interval) = point.tps_interval {
        let (low, high) = (y.at(interval.low), y.at(interval.high));
        let (left, right) = (x - 5.0, x + 5.0);
        write!(
            out,
            "<path class=\"spread\" d=\"M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}H{right:.1}\
             M{left:.1} {high:.1}H{right:.1}\"/>"
        )?;
    }
    let at = y.at(point.tps);
    match point.on_frontier {
        Some(false) => {
            let (left, right, up, down) = (x - 7.0, x + 7.0, at - 7.0, at + 7.0);
            writeln!(
                out,
                "<path class=\"point\" d=\"M{x:.1} {up:.1}L{right:.1} {at:.1}L{x:.1} {down:.1}L{left:.1} \
                 {at:.1}Z\"/>"
            )
        }
        _ => writeln!(
            out,
            "<circle class=\"point on\" cx=\"{x:.1}\" cy=\"{at:.1}\" r=\"6\"/>"
        ),
    }
}

/// Places the labels beside their points without overlaps.
fn labels(points: &[PricePoint], x: &Scale, y: &Scale) -> Vec<Label> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|a, b| points[*b].tps.total_cmp(&points[*a].tps));
    let mut placed: Vec<Label> = Vec::new();
    for number in order {
        let point = &points[number];
        let runs = match point.runs.len() {
            1 => String::new(),
            _ => format!(", {} runs", plain(&point.runs_text())),
        };
        let text = format!("{} {}{runs}", number + 1, short_name(point, MAX_NAME));
        let at = x.at(point.cost);
        let ends_at_x = at + 9.0 + width(&text) > WIDTH;
        let mut label = Label {
            text,
            x: if ends_at_x { at - 8.0 } else { at + 8.0 },
            // Avoid the frontier's line, which is above the points that are not on it.
            y: y.at(point.tps)
                + if point.on_frontier == Some(false) {
                    17.0
                } else {
                    -8.0
                },
            ends_at_x,
        };
        // Each placed label moves this one down at most once.
        for _ in 0..placed.len() {
            let Some(other) = placed.iter().find(|other| overlap(other, &label)) else {
                break;
            };
            label.y = other.y + LINE_HEIGHT;
        }
        label.y = label.y.min(HEIGHT - 4.0);
        placed.push(label);
    }
    placed
}

fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER_WIDTH
}

fn overlap(a: &Label, b: &Label) -> bool {
    let range = |label: &Label| match label.ends_at_x {
        true => (label.x - width(&label.text), label.x),
        false => (label.x, label.x + width(&label.text)),
    };
    let ((a_from, a_to), (b_from, b_to)) = (range(a), range(b));
    (a.y - b.y).abs() < LINE_HEIGHT - 0.5 && a_from < b_to && b_from < a_to
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
            money(point.cost),
            plain(&prices.currency),
            units::rate(point.tps),
            basis_phrase(point),
        )
    });
    let sentences: Vec<String> = sentences.collect();
    format!(
        "{}. All figures are in the table below.",
        sentences.join("; ")
    )
}
