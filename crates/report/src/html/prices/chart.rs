//! Throughput against cost, drawn as SVG.
//!
//! In: prices of configurations that compare. Out: a figure with its title, description and legend.
//! Must never: mark the frontier by colour alone, or draw one if there is no ranking.

use crate::html::chart::{LEFT, SCROLL_HINT, grid, tick};
use crate::html::escape::Escaped;
use crate::html::scale::Scale;
use crate::price::{basis, money, short_name};
use crate::text::plain;
use crate::units;
use prony_judge::price::{PricePoint, Prices};
use std::fmt::{self, Write};

/// Size of the drawing and of its plot, in units of the drawing. Names are to the right of their
/// points.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 330.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 280.0;
const RIGHT: f64 = 730.0;
/// Height of a name, and maximum width of one of its letters.
const LINE_HEIGHT: f64 = 14.0;
const LETTER_WIDTH: f64 = 7.0;
/// The longest name beside a point, in characters.
const MAX_NAME: usize = 24;

/// A name and its position.
struct Label {
    text: String,
    x: f64,
    y: f64,
    /// The text ends at `x` instead of starting there.
    left: bool,
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
    let most = |of: fn(&PricePoint) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let high = |point: &PricePoint| point.tps_interval.map_or(0.0, |of| of.high);
    let fastest = most(|point| point.tps).max(points.iter().map(high).fold(0.0, f64::max));
    let x = Scale::from_zero(most(|point| point.cost), LEFT, RIGHT);
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
        let steps = ranking.frontier.iter().filter_map(|at| points.get(*at));
        draw_frontier(out, &steps.collect::<Vec<_>>(), &x, &y)?;
    }
    for point in points {
        draw_point(out, point, x.at(point.cost), &y)?;
    }
    for label in labels(points, &x, &y) {
        let Label { text, x, y, left } = label;
        let (text, class) = (Escaped(text), if left { "name y" } else { "name" });
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

/// The highest throughput available at each cost: level from one point to the next, then up.
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

fn draw_point(out: &mut String, point: &PricePoint, x: f64, y: &Scale) -> fmt::Result {
    if let Some(of) = point.tps_interval {
        let (low, high) = (y.at(of.low), y.at(of.high));
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

/// The names, each beside its point and clear of other names.
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
        let left = at + 9.0 + width(&text) > WIDTH;
        let mut label = Label {
            text,
            x: if left { at - 8.0 } else { at + 8.0 },
            // Clear of the frontier's line, which lies above the points that are not on it.
            y: y.at(point.tps)
                + if point.on_frontier == Some(false) {
                    17.0
                } else {
                    -8.0
                },
            left,
        };
        // Each label already placed moves this one down at most once.
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
    let span = |of: &Label| match of.left {
        true => (of.x - width(&of.text), of.x),
        false => (of.x, of.x + width(&of.text)),
    };
    let ((a_from, a_to), (b_from, b_to)) = (span(a), span(b));
    (a.y - b.y).abs() < LINE_HEIGHT - 0.5 && a_from < b_to && b_from < a_to
}

/// Describes the chart, one sentence per point.
fn description(prices: &Prices) -> String {
    let each = prices.points.iter().enumerate().map(|(place, point)| {
        let frontier = match point.on_frontier {
            Some(true) => ", on the frontier",
            Some(false) => ", not on the frontier",
            None => "",
        };
        format!(
            "{}: {}: {} {} per month, {} transactions per second {}{frontier}",
            place + 1,
            plain(&point.name()),
            money(point.cost),
            plain(&prices.currency),
            units::rate(point.tps),
            basis(point),
        )
    });
    let each: Vec<String> = each.collect();
    format!("{}. All figures are in the table below.", each.join("; "))
}
