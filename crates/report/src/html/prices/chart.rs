//! Throughput against cost, drawn as SVG.
//!
//! In: prices of configurations that compare. Out: a figure with its title, description and legend.
//! Must never: tell what is on the frontier by colour alone, or rank where there is no ranking.

use crate::html::chart::{LEFT, grid, tick};
use crate::html::escape::Text;
use crate::html::scale::Scale;
use crate::price::{by_runs, money, short_name};
use crate::text::plain;
use crate::units;
use prony_judge::price::{Point, Prices};
use std::fmt::{self, Write};

/// Size of the drawing and of its plot, in units of the drawing. Names stand to the right of points.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 330.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 280.0;
const RIGHT: f64 = 730.0;
/// Height of a name, and the width of one of its letters at most.
const LINE: f64 = 14.0;
const LETTER: f64 = 7.0;
/// The longest name beside a point, characters.
const NAME: usize = 24;

/// A name and where it stands.
struct Label {
    text: String,
    x: f64,
    y: f64,
    /// It ends at `x` rather than beginning there.
    left: bool,
}

/// Draws the figure; there is at least one point.
pub fn draw(out: &mut String, prices: &Prices) -> fmt::Result {
    let points = &prices.points;
    let currency = plain(&prices.currency);
    let title =
        format!("Throughput against cost: transactions committed a second, by {currency} a month");
    writeln!(
        out,
        "<figure><figcaption id=\"prices-t\">{}</figcaption>",
        Text(&title)
    )?;
    legend(out, prices)?;
    let most = |of: fn(&Point) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let fastest = |point: &Point| {
        point
            .tps_interval
            .map_or(point.tps, |of| of.high.max(point.tps))
    };
    let x = Scale::from_zero(most(|point| point.cost), LEFT, RIGHT);
    let y = Scale::from_zero(most(fastest), BOTTOM, TOP);
    writeln!(
        out,
        "<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-labelledby=\"prices-t\"><svg \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"prices-t prices-d\">\
         <title>{}</title><desc id=\"prices-d\">{}</desc>",
        Text(&title),
        Text(description(prices)),
    )?;
    grid(out, &y, units::rate)?;
    for cost in &x.ticks {
        tick(out, x.at(*cost), BOTTOM, &units::rate(*cost))?;
    }
    write!(
        out,
        "<text class=\"small\" x=\"{}\" y=\"12\">transactions/s</text>\
         <text class=\"small y\" x=\"{RIGHT}\" y=\"{}\">{} a month</text>",
        LEFT - 56.0,
        BOTTOM + 38.0,
        Text(&currency),
    )?;
    if let Some(ranking) = &prices.ranking {
        let steps: Vec<&Point> = ranking
            .frontier
            .iter()
            .filter_map(|at| points.get(*at))
            .collect();
        frontier(out, &steps, &x, &y)?;
    }
    for point in points {
        mark(out, point, x.at(point.cost), &y)?;
    }
    for label in labels(points, &x, &y) {
        let Label { text, x, y, left } = label;
        let class = if left { "name y" } else { "name" };
        write!(
            out,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            Text(text)
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
            "<li>{on}on the frontier: no other is both faster and no dearer</li>\
             <li>{off}not on it</li>"
        )?;
    }
    if prices
        .points
        .iter()
        .any(|point| point.tps_interval.is_some())
    {
        let bar = sample("<path class=\"spread\" d=\"M4 5H32M4 2V8M32 2V8\"/>");
        write!(out, "<li>{bar}lowest to highest of several runs</li>")?;
    }
    out.push_str("</ul>\n");
    Ok(())
}

/// The most that can be had for a cost: level from one to the next, then up.
fn frontier(out: &mut String, steps: &[&Point], x: &Scale, y: &Scale) -> fmt::Result {
    let Some(first) = steps.first() else {
        return Ok(());
    };
    let mut d = format!("M{:.1} {:.1}", x.at(first.cost), y.at(first.tps));
    for next in &steps[1..] {
        write!(d, "H{:.1}V{:.1}", x.at(next.cost), y.at(next.tps))?;
    }
    writeln!(out, "<path class=\"line l1\" d=\"{d}H{RIGHT}\"/>")
}

fn mark(out: &mut String, point: &Point, x: f64, y: &Scale) -> fmt::Result {
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

/// The names, each beside its point and not over another name.
fn labels(points: &[Point], x: &Scale, y: &Scale) -> Vec<Label> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|a, b| points[*b].tps.total_cmp(&points[*a].tps));
    let mut placed: Vec<Label> = Vec::new();
    for number in order {
        let point = &points[number];
        let runs = match point.runs.len() {
            1 => String::new(),
            _ => format!(", {} runs", plain(&point.runs_in_words())),
        };
        let text = format!("{} {}{runs}", number + 1, short_name(point, NAME));
        let at = x.at(point.cost);
        let left = at + 9.0 + width(&text) > WIDTH;
        let mut label = Label {
            text,
            x: if left { at - 8.0 } else { at + 8.0 },
            // Off the line of the frontier, which lies over what is not on it.
            y: y.at(point.tps)
                + if point.on_frontier == Some(false) {
                    17.0
                } else {
                    -8.0
                },
            left,
        };
        // Each that is there moves it down at most once.
        for _ in 0..placed.len() {
            let Some(other) = placed.iter().find(|other| overlap(other, &label)) else {
                break;
            };
            label.y = other.y + LINE;
        }
        label.y = label.y.min(HEIGHT - 4.0);
        placed.push(label);
    }
    placed
}

fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

fn overlap(a: &Label, b: &Label) -> bool {
    let span = |of: &Label| match of.left {
        true => (of.x - width(&of.text), of.x),
        false => (of.x, of.x + width(&of.text)),
    };
    let ((a_from, a_to), (b_from, b_to)) = (span(a), span(b));
    (a.y - b.y).abs() < LINE - 0.5 && a_from < b_to && b_from < a_to
}

/// The chart in a sentence for each point.
fn description(prices: &Prices) -> String {
    let each = prices.points.iter().enumerate().map(|(place, point)| {
        let frontier = match point.on_frontier {
            Some(true) => ", on the frontier",
            Some(false) => ", not on the frontier",
            None => "",
        };
        format!(
            "{}: {}: {} {} a month, {} transactions a second {}{frontier}",
            place + 1,
            plain(&point.name()),
            money(point.cost),
            plain(&prices.currency),
            units::rate(point.tps),
            by_runs(point),
        )
    });
    let each: Vec<String> = each.collect();
    format!("{}. All figures are in the table below.", each.join("; "))
}
