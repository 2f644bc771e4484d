//! Throughput against cost, drawn as SVG.
//!
//! In: prices of comparable configurations. Out: a figure with title, description and legend. Must never: mark
//! the frontier only by colour, or draw it without a ranking.

use crate::html::chart::{PLOT_LEFT, SCROLL_HINT, draw_grid, draw_tick};
use crate::html::markup::{Html, Raw, markup, write_markup, writeln_markup};
use crate::html::scale::Scale;
use crate::price::{basis_phrase, format_money, short_name};
use crate::text::plain;
use crate::units;
use prony_judge::price::{PricePoint, Prices};
use std::fmt::{self, Write};

/// Size of the drawing, and the positions of its plot's edges, in units of the drawing.
const DRAWING_WIDTH: f64 = 760.0;
const DRAWING_HEIGHT: f64 = 330.0;
const PLOT_TOP: f64 = 24.0;
const PLOT_BOTTOM: f64 = 280.0;
const PLOT_RIGHT: f64 = 730.0;
/// Height of a label, and maximum width of a letter, in units of the drawing.
const LINE_HEIGHT: f64 = 14.0;
const MAX_LETTER_WIDTH: f64 = 7.0;
/// The maximum length of a name in a label, in characters.
const MAX_NAME_CHARS: usize = 24;

/// The label of a point, and its position.
struct Label {
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
    let title = format!(
        "Throughput against cost: transactions committed per second, by {currency} per month"
    );
    writeln_markup!(
        out,
        "<figure><figcaption id=\"prices-t\">{}</figcaption>",
        &title
    )?;
    write_legend(out, prices)?;
    let max_of = |value: fn(&PricePoint) -> f64| points.iter().map(value).fold(0.0, f64::max);
    let highest_tps = |point: &PricePoint| point.tps_interval.map_or(0.0, |interval| interval.high);
    let max_tps = max_of(|point| point.tps).max(points.iter().map(highest_tps).fold(0.0, f64::max));
    let x = Scale::from_zero(
        max_of(|point| point.total_monthly_cost),
        PLOT_LEFT,
        PLOT_RIGHT,
    );
    let y = Scale::from_zero(max_tps, PLOT_BOTTOM, PLOT_TOP);
    writeln_markup!(
        out,
        "{}<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-labelledby=\"prices-t\"><svg \
         viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"prices-t prices-d\">\
         <title>{}</title><desc id=\"prices-d\">{}</desc>",
        SCROLL_HINT,
        DRAWING_WIDTH,
        DRAWING_HEIGHT,
        &title,
        description(prices)
    )?;
    draw_grid(out, &y, units::rate)?;
    for cost in &x.ticks {
        draw_tick(out, x.position(*cost), PLOT_BOTTOM, &units::rate(*cost))?;
    }
    write_markup!(
        out,
        "<text class=\"small\" x=\"{}\" y=\"12\">transactions/s</text>\
         <text class=\"small y\" x=\"{}\" y=\"{}\">{} per month</text>",
        PLOT_LEFT - 56.0,
        PLOT_RIGHT,
        PLOT_BOTTOM + 38.0,
        &currency
    )?;
    if let Some(ranking) = &prices.ranking {
        let frontier = ranking
            .frontier
            .iter()
            .filter_map(|index| points.get(*index));
        draw_frontier(out, &frontier.collect::<Vec<_>>(), &x, &y)?;
    }
    for point in points {
        draw_point(out, point, x.position(point.total_monthly_cost), &y)?;
    }
    for label in place_labels(points, &x, &y) {
        let Label {
            text,
            x,
            y,
            ends_at_x,
        } = label;
        let class = if ends_at_x { "name y" } else { "name" };
        write_markup!(
            out,
            "<text class=\"{}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            class,
            x,
            y,
            text
        )?;
    }
    out.push_str("</svg></div></figure>\n");
    Ok(())
}

fn write_legend(out: &mut Html, prices: &Prices) -> fmt::Result {
    let legend_sample = |drawing: &'static str| {
        markup!(
            "<svg class=\"sample\" viewBox=\"0 0 36 10\" aria-hidden=\"true\">{}</svg>",
            Raw(drawing)
        )
    };
    out.push_str("<ul class=\"legend\">");
    if prices.ranking.is_some() {
        let frontier_sample = legend_sample(
            "<path class=\"line l1\" d=\"M1 5H35\"/><circle class=\"point on\" cx=\"18\" cy=\"5\" r=\"4.5\"/>",
        );
        let off_frontier_sample =
            legend_sample("<path class=\"point\" d=\"M18 .5L22.5 5L18 9.5L13.5 5Z\"/>");
        write_markup!(
            out,
            "<li>{}on the frontier: no other is faster at this price or less</li>\
             <li>{}not on it</li>",
            frontier_sample,
            off_frontier_sample
        )?;
    }
    let mut intervals = prices.points.iter().map(|point| point.tps_interval);
    if intervals.any(|interval| interval.is_some()) {
        let interval_sample = legend_sample("<path class=\"spread\" d=\"M4 5H32M4 2V8M32 2V8\"/>");
        write_markup!(
            out,
            "<li>{}lowest to highest of several runs</li>",
            interval_sample
        )?;
    }
    out.push_str("</ul>\n");
    Ok(())
}

/// Draws the highest throughput available at each cost: horizontal from one point to the next, then up.
fn draw_frontier(out: &mut Html, frontier: &[&PricePoint], x: &Scale, y: &Scale) -> fmt::Result {
    let Some(first) = frontier.first() else {
        return Ok(());
    };
    let mut d = format!(
        "M{:.1} {:.1}",
        x.position(first.total_monthly_cost),
        y.position(first.tps)
    );
    for next in &frontier[1..] {
        write!(
            d,
            "H{:.1}V{:.1}",
            x.position(next.total_monthly_cost),
            y.position(next.tps)
        )?;
    }
    writeln_markup!(out, "<path class=\"line l1\" d=\"{}H{}\"/>", d, PLOT_RIGHT)
}

/// Draws a point with its range of throughput.
fn draw_point(out: &mut Html, point: &PricePoint, x: f64, y: &Scale) -> fmt::Result {
    if let Some(interval) = point.tps_interval {
        let (low, high) = (y.position(interval.low), y.position(interval.high));
        let (left, right) = (x - 5.0, x + 5.0);
        write_markup!(
            out,
            "<path class=\"spread\" d=\"M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}H{right:.1}\
             M{left:.1} {high:.1}H{right:.1}\"/>",
            x = x,
            low = low,
            high = high,
            left = left,
            right = right
        )?;
    }
    let center = y.position(point.tps);
    match point.on_frontier {
        Some(false) => {
            let (left, right, up, down) = (x - 7.0, x + 7.0, center - 7.0, center + 7.0);
            writeln_markup!(
                out,
                "<path class=\"point\" d=\"M{x:.1} {up:.1}L{right:.1} {center:.1}L{x:.1} {down:.1}L{left:.1} \
                 {center:.1}Z\"/>",
                x = x,
                up = up,
                right = right,
                center = center,
                down = down,
                left = left
            )
        }
        _ => writeln_markup!(
            out,
            "<circle class=\"point on\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"6\"/>",
            x,
            center
        ),
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
        let mut label = Label {
            text,
            x: if ends_at_x {
                point_x - 8.0
            } else {
                point_x + 8.0
            },
            // Avoid the frontier's line, which is above the points that are not on it.
            y: y.position(point.tps)
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
        if label.ends_at_x {
            (label.x - text_width(&label.text), label.x)
        } else {
            (label.x, label.x + text_width(&label.text))
        }
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
    let sentences: Vec<String> = sentences.collect();
    format!(
        "{}. All figures are in the table below.",
        sentences.join("; ")
    )
}
