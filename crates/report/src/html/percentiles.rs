//! Percentile curves: the response time at every percentile up to the 99.99th.
//!
//! In: latencies with their histograms. Out: one line for each over a logarithmic axis of the percentiles, and
//! a table. Must never: draw a percentile with too few samples, or recompute a stored one for the table.

use super::distribution::kinds;
use super::drawing::{Drawing, LineGroup, legend, look, path_through};
use super::figure::{Figure, Plot};
use super::scale::Scale;
use super::table::write_figure_table;
use super::write_fold;
use crate::html::markup::Html;
use crate::units::{self, time_or_dash};
use prony_store::{Latency, Run};
use std::fmt;

/// The end of the axis: the 99.99th percentile.
const LAST_DECADE: f64 = 4.0;
/// The shortest curve that is drawn; the median is at log10(2), about 0.301.
const MIN_LAST_DECADE: f64 = 0.3;
/// Two units of a curve's width, and the share by which its time must grow for a point within them.
const MIN_POINT_DECADES: f64 = LAST_DECADE / 340.0;
const MIN_POINT_GROWTH: f64 = 1.02;
/// A percentile needs this many samples above it, as everywhere in a Run.
const SAMPLES_ABOVE: f64 = 10.0;

pub struct NamedLatency<'a> {
    pub name: String,
    pub latency: &'a Latency,
    /// The curves that look like this one.
    pub group: Option<LineGroup>,
}

struct Curve {
    name: String,
    group: Option<LineGroup>,
    /// Decades (1 for the 90th percentile, 2 for the 99th) and times in nanoseconds, ascending.
    points: Vec<(f64, f64)>,
    /// `None` with too few samples.
    p9999_ns: Option<u64>,
}

/// Computes a curve; `None` if there is no histogram, or too few samples for any percentile above the median.
fn curve(named: &NamedLatency<'_>) -> Option<Curve> {
    let times = named.latency.recorded_times().ok()?;
    let samples = times.samples() as f64;
    let last_decade = (samples / SAMPLES_ABOVE).log10().min(LAST_DECADE);
    if !last_decade.is_finite() || last_decade <= MIN_LAST_DECADE {
        return None;
    }
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut below = 0_u64;
    for (time_ns, count) in times.counts() {
        let time_ns = time_ns.max(1) as f64;
        let decade = -(1.0 - below as f64 / samples).log10();
        if decade > last_decade {
            break;
        }
        below += count;
        let end = -(1.0 - below as f64 / samples).max(1e-12).log10();
        points.push((decade, time_ns));
        points.push((end.min(last_decade), time_ns));
    }
    let end = points.last().copied();
    // Points that a reader could not tell from the one before them are left out.
    let mut drawn: Vec<(f64, f64)> = Vec::new();
    for (decade, time_ns) in points {
        let is_visible = drawn.last().is_none_or(|(last_decade, last_ns)| {
            decade - last_decade >= MIN_POINT_DECADES || time_ns >= last_ns * MIN_POINT_GROWTH
        });
        if is_visible {
            drawn.push((decade, time_ns));
        }
    }
    drawn.extend(end.filter(|point| drawn.last() != Some(point)));
    let has_p9999 = last_decade >= LAST_DECADE;
    Some(Curve {
        name: named.name.clone(),
        group: named.group.clone(),
        points: drawn,
        p9999_ns: has_p9999.then(|| times.quantile_ns(0.9999)),
    })
}

/// The response times of all kinds together and, if there are several, of each kind.
pub fn of_run(run: &Run) -> Vec<NamedLatency<'_>> {
    let named = kinds(run).iter().map(|kind| NamedLatency {
        name: crate::text::plain(kind.name()),
        latency: &kind.response,
        group: None,
    });
    named.collect()
}

/// Writes the curves and their table; nothing if no latency has enough samples.
pub fn write(out: &mut Html, id: &str, title: &str, named: &[NamedLatency<'_>]) -> fmt::Result {
    let curves: Vec<Option<Curve>> = named.iter().map(curve).collect();
    let drawn: Vec<&Curve> = curves.iter().flatten().collect();
    let times_ns = || {
        drawn
            .iter()
            .flat_map(|curve| &curve.points)
            .map(|point| point.1)
    };
    let min_ns = times_ns().fold(f64::INFINITY, f64::min);
    let max_ns = times_ns().fold(0.0, f64::max);
    if drawn.is_empty() {
        return Ok(());
    }
    let plot = Plot::STANDARD;
    let x = Scale::linear(0.0, LAST_DECADE, plot.left, plot.right);
    let y = Scale::logarithmic(min_ns, max_ns, plot.bottom, plot.top);
    let mut drawing = Drawing::default();
    plot.draw_grid(&mut drawing, &y, units::time)?;
    let ticks = [
        (0.0, "0"),
        (std::f64::consts::LOG10_2, "p50"),
        (1.0, "p90"),
        (2.0, "p99"),
        (3.0, "p99.9"),
        (4.0, "p99.99"),
    ];
    for (decade, label) in ticks {
        plot.draw_tick(&mut drawing, x.position(decade), label)?;
    }
    for (number, curve) in drawn.iter().enumerate() {
        let points = curve.points.iter();
        let d = path_through(points.map(|point| (x.position(point.0), y.position(point.1))));
        drawing.numbered_line(look(number, curve.group.as_ref()), &d)?;
    }
    let drawn = drawn.iter();
    let curves_in_legend = drawn.map(|curve| (curve.name.clone(), curve.group.as_ref()));
    let legend = legend(curves_in_legend);
    let [min, max] = [min_ns, max_ns].map(units::time);
    let figure = Figure {
        id,
        title,
        axis_note: ", logarithmic axes",
        legend,
        description: format!("From {min} to {max}; the percentiles are in the table."),
        height: Plot::STANDARD_HEIGHT,
        ..Figure::default()
    };
    figure.write(out, &drawing)?;
    write_table(out, named, &curves)
}

fn write_table(
    out: &mut Html,
    named: &[NamedLatency<'_>],
    curves: &[Option<Curve>],
) -> fmt::Result {
    let columns = [
        "response time",
        "samples",
        "p50",
        "p90",
        "p95",
        "p99",
        "p99.9",
        "p99.99",
        "longest",
    ];
    let rows = named.iter().zip(curves);
    let rows = rows.map(|(NamedLatency { name, latency, .. }, curve)| {
        [
            name.clone(),
            units::count(latency.samples),
            time_or_dash(latency.p50_ns),
            time_or_dash(latency.p90_ns),
            time_or_dash(latency.p95_ns),
            time_or_dash(latency.p99_ns),
            time_or_dash(latency.p999_ns),
            time_or_dash(curve.as_ref().and_then(|curve| curve.p9999_ns)),
            time_or_dash((latency.samples > 0).then_some(latency.max_ns)),
        ]
    });
    let mut table = Html::default();
    write_figure_table(&mut table, "Percentiles", &columns, rows)?;
    let summary = "The percentiles of the curves as a table";
    write_fold(out, "", summary, table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::latency_of;
    use prony_assertions::TextAssertions;

    /// A latency of the times from 1 µs to `samples` µs.
    fn uniform(samples: u64) -> Latency {
        latency_of((1..=samples).map(|us| (us * 1_000, 1)))
    }

    fn curve_of(latency: &Latency) -> Option<Curve> {
        let name = "a".to_owned();
        curve(&NamedLatency {
            name,
            latency,
            group: None,
        })
    }

    #[test]
    fn a_curve_has_the_time_of_each_percentile() {
        let curve = curve_of(&uniform(200_000)).unwrap();
        assert!(curve.points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
        for (decade, time_ns) in [
            (std::f64::consts::LOG10_2, 100e6),
            (1.0, 180e6),
            (2.0, 198e6),
            (4.0, 199.98e6),
        ] {
            let points = curve.points.iter();
            let point = points.take_while(|point| point.0 <= decade + 1e-9).last();
            let (_, drawn_ns) = *point.unwrap();
            assert!(
                (drawn_ns / time_ns - 1.0).abs() < 0.02,
                "{decade}: {drawn_ns}"
            );
        }
        let p9999_ns = curve.p9999_ns.unwrap() as f64;
        assert!((p9999_ns / 199.98e6 - 1.0).abs() < 0.002, "{p9999_ns}");
        assert!(curve.points.len() < 2_000, "{}", curve.points.len());
    }

    #[test]
    fn a_curve_ends_where_the_samples_are_too_few() {
        let curve = curve_of(&uniform(1_000)).unwrap();
        assert_eq!(
            (curve.points.last().unwrap().0, curve.p9999_ns),
            (2.0, None)
        );
        assert!(curve_of(&uniform(15)).is_none());
        assert!(curve_of(&Latency::default()).is_none());
        let page_of = |latency: &Latency| {
            let (mut out, name) = (Html::default(), "<b>".to_owned());
            write(
                &mut out,
                "c",
                "Percentiles",
                &[NamedLatency {
                    name,
                    latency,
                    group: None,
                }],
            )
            .unwrap();
            out
        };
        assert_eq!(page_of(&uniform(5)), "");
        let out = page_of(&uniform(5_000));
        out.assert_contains("&lt;b&gt;").assert_lacks("<b>");
    }
}
