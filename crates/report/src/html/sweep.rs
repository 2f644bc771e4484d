//! The curve of a sweep, on a page with its runs.
//!
//! In: `judge`'s curves. Out: the sentences of the knee, a drawing of throughput with intervals, the table of all
//! points. Must never: draw an interval that was not computed.

use super::drawing::{Drawing, line_sample, path_through};
use super::figure::{Figure, Plot};
use super::scale::Scale;
use super::table::write_table;
use super::write_paragraphs;
use crate::html::markup::{Html, markup, writeln_markup};
use crate::text::plain;
use crate::text::sweep::{
    curve_name, curves_legend, knee_sentences, law_sentences, sweep_legend, sweep_table,
};
use crate::units;
use prony_judge::statistics::UslFit;
use prony_judge::sweep::{CPUS_AXIS, Curve, Sweep, SweepPoint};
use std::fmt;

/// The plot has room for the word above the knee.
const PLOT: Plot = Plot {
    top: 20.0,
    ..Plot::STANDARD
};
/// Ratio of the largest to the smallest value from which the axis is logarithmic.
const LOGARITHMIC_FROM: f64 = 16.0;
/// Most labels below the axis.
const MAX_LABELS: usize = 12;
/// Points of the law's line.
const LAW_STEPS: u32 = 60;

pub fn write(out: &mut Html, sweep: &Sweep) -> fmt::Result {
    for sentence in knee_sentences(sweep) {
        writeln_markup!(out, "<p><strong>{}</strong></p>", sentence)?;
    }
    draw(out, sweep)?;
    write_table(out, &curves_legend(sweep), &sweep_table(sweep))?;
    write_paragraphs(out, law_sentences(sweep))
}

pub fn write_points(out: &mut Html, sweep: &Sweep) -> fmt::Result {
    draw(out, sweep)?;
    write_table(out, &sweep_legend(sweep), &sweep_table(sweep))
}

/// A point of a sweep that has a place in the drawing.
struct DrawnPoint<'a> {
    /// Its value on the axis.
    x: f64,
    rate: f64,
    point: &'a SweepPoint,
}

/// The points with a number on the axis and a figure.
fn drawn_points(curve: &Curve) -> impl Iterator<Item = DrawnPoint<'_>> {
    curve.points.iter().filter_map(|point| {
        Some(DrawnPoint {
            x: point.x?,
            rate: point.rate?,
            point,
        })
    })
}

fn draw(out: &mut Html, sweep: &Sweep) -> fmt::Result {
    let all = || sweep.curves.iter().flat_map(drawn_points);
    let (Some(low), Some(high)) = (
        all().map(|drawn| drawn.x).reduce(f64::min),
        all().map(|drawn| drawn.x).reduce(f64::max),
    ) else {
        return Ok(());
    };
    if low >= high {
        return Ok(());
    }
    let is_logarithmic = low > 0.0 && high / low >= LOGARITHMIC_FROM;
    let x = if is_logarithmic {
        Scale::between(low, high, PLOT.left + 12.0, PLOT.right - 12.0)
    } else {
        Scale::from_zero(high, PLOT.left, PLOT.right - 12.0)
    };
    let tops = all().map(|drawn| {
        let interval = drawn.point.rate_interval;
        interval.map_or(drawn.rate, |ends| ends[1].max(drawn.rate))
    });
    // The line in proportion to the smallest machine fits into the drawing.
    let first_curve = sweep.curves.first().filter(|_| sweep.axis == CPUS_AXIS);
    let smallest = first_curve.and_then(|curve| drawn_points(curve).next());
    let proportional = smallest.map_or(0.0, |drawn| drawn.rate / drawn.x * high);
    let y = Scale::from_zero(tops.fold(proportional, f64::max), PLOT.bottom, PLOT.top);
    let mut drawing = Drawing::default();
    PLOT.draw_grid(&mut drawing, &y, units::rate)?;
    draw_labels(&mut drawing, sweep, &x)?;
    let mut legend = Vec::new();
    for (number, curve) in sweep.curves.iter().enumerate() {
        draw_curve(&mut drawing, number, curve, &x, &y)?;
        if sweep.curves.len() > 1 {
            legend.push((line_sample(number), curve_name(curve)));
        }
    }
    legend.extend(draw_laws(&mut drawing, sweep, [low, high], &x, &y)?);
    if all().any(|drawn| drawn.point.rate_interval.is_some()) {
        let sample = markup!("<path class=\"spread\" d=\"M4 5H32M4 2V8M32 2V8\"/>");
        legend.push((sample, "interval of the median at 95 %".to_owned()));
    }
    let unit = if sweep.by_nopm { "NOPM" } else { "transactions committed per second" };
    let figure = Figure {
        id: "sweep",
        title: &format!("Throughput by {}: {unit}", plain(&sweep.axis)),
        axis_note: if is_logarithmic { ", logarithmic axis" } else { "" },
        legend,
        description: "All figures are in the table of points.".to_owned(),
        height: Plot::STANDARD_HEIGHT,
        ..Figure::default()
    };
    figure.write(out, &drawing)
}

/// Draws what a single curve is compared with: the universal scalability law, or throughput in proportion to that of the
/// smallest machine. Returns their entries in the legend.
fn draw_laws(
    out: &mut Drawing,
    sweep: &Sweep,
    [low, high]: [f64; 2],
    x: &Scale,
    y: &Scale,
) -> Result<Vec<(Html, String)>, fmt::Error> {
    let [curve] = &sweep.curves[..] else {
        return Ok(Vec::new());
    };
    let at = |step: u32| low + (high - low) * f64::from(step) / f64::from(LAW_STEPS);
    let path = |throughput: &dyn Fn(f64) -> f64| {
        let points = (0..=LAW_STEPS).map(at);
        path_through(points.map(|n| (x.position(n), y.position(throughput(n)))))
    };
    let mut legend = vec![(line_sample(0), "measured".to_owned())];
    if let Some(UslFit::Fits(usl)) = &curve.usl {
        out.numbered_line(1, &path(&|n| usl.throughput(n)))?;
        legend.push((line_sample(1), "universal scalability law".to_owned()));
    }
    let smallest = drawn_points(curve).next();
    if let Some(smallest) = smallest.filter(|_| sweep.axis == CPUS_AXIS) {
        out.numbered_line(2, &path(&|cpus| smallest.rate / smallest.x * cpus))?;
        let name = "in proportion to the smallest machine";
        legend.push((line_sample(2), name.to_owned()));
    }
    if legend.len() == 1 {
        legend.clear();
    }
    Ok(legend)
}

/// Draws the values of the points below the axis.
fn draw_labels(out: &mut Drawing, sweep: &Sweep, x: &Scale) -> fmt::Result {
    let mut values: Vec<(f64, &str)> = Vec::new();
    for DrawnPoint { x, point, .. } in sweep.curves.iter().flat_map(drawn_points) {
        if !values.iter().any(|(known, _)| *known == x) {
            values.push((x, &point.value));
        }
    }
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let every = values.len().div_ceil(MAX_LABELS).max(1);
    for (at, value) in values.into_iter().step_by(every) {
        PLOT.draw_tick(out, x.position(at), &plain(value))?;
    }
    Ok(())
}

/// Draws a line through the points, with dots, intervals and the knee.
fn draw_curve(
    out: &mut Drawing,
    number: usize,
    curve: &Curve,
    x: &Scale,
    y: &Scale,
) -> fmt::Result {
    let position = |drawn: &DrawnPoint<'_>| (x.position(drawn.x), y.position(drawn.rate));
    let line = drawn_points(curve).map(|drawn| position(&drawn));
    out.numbered_line(number, &path_through(line))?;
    for drawn in drawn_points(curve) {
        let (at, height) = position(&drawn);
        if let Some(ends) = drawn.point.rate_interval {
            let [low, high] = ends.map(|end| y.position(end));
            let left = at - 4.0;
            let d =
                format!("M{at:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}h8M{left:.1} {high:.1}h8");
            out.path("spread", &d)?;
        }
        let (name, rate) = (plain(&drawn.point.name), units::rate(drawn.rate));
        out.dot(at, height, 4.0, Some(&format!("{name}: {rate}")))?;
    }
    let knee = curve.knee.and_then(|knee| curve.points[knee].x);
    if let Some(knee) = knee.map(|knee| x.position(knee)) {
        PLOT.draw_vertical_line(out, "cursor", knee)?;
        out.text("letter", knee, PLOT.top - 6.0, "knee")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;
    use prony_assertions::TextAssertions;
    use prony_store::{Experiment, ExperimentKind, Run, Setting};

    /// Two runs of each of these points: clients and throughput.
    fn runs(points: &[(u32, f64)], value: impl Fn(u32) -> String) -> Vec<Run> {
        let mut runs = Vec::new();
        for (clients, tps) in points {
            for (repeat, share) in [(1, 0.99), (2, 1.01)] {
                let mut run = closed();
                run.id = format!("run-{clients}-{repeat}");
                run.drive.clients = *clients;
                run.checks.clear();
                run.measured.kinds[0].tps = tps * share;
                run.experiment = Some(Experiment {
                    id: "run-1-1".to_owned(),
                    variant: format!("clients-{clients}"),
                    repeat,
                    kind: ExperimentKind::Sweep,
                    point: vec![Setting::new("clients", value(*clients))],
                    ..Experiment::default()
                });
                runs.push(run);
            }
        }
        runs
    }

    const POINTS: [(u32, f64); 5] = [(1, 100.0), (2, 200.0), (4, 390.0), (8, 400.0), (16, 395.0)];

    fn shown(runs: &[Run]) -> Html {
        let mut out = Html::default();
        write(&mut out, &Sweep::of(runs).unwrap()).unwrap();
        out
    }

    #[test]
    fn a_section_has_the_knee_the_curve_and_the_table() {
        let page = shown(&runs(&POINTS, |clients| clients.to_string()));
        page.assert_contains("The knee is at 4 clients, with 390 transactions/s");
        assert_eq!(page.matches("<circle ").count(), 5);
        page.assert_contains(">knee</text>");
        page.assert_contains("<td class=\"text\">knee</td>");
        assert!(page.contains("logarithmic axis"), "from 1 to 16");
    }

    #[test]
    fn values_of_documents_cannot_become_markup() {
        let bad = "<script>alert(1)</script>";
        let page = shown(&runs(&POINTS, |clients| format!("{bad}{clients}")));
        page.assert_lacks("<script");
        assert!(!page.contains("<svg"), "no numbers, no drawing");
    }
}
