//! Percentile curves: the response time at every percentile up to the 99.99th.
//!
//! In: latencies with their histograms. Out: one line for each over a logarithmic axis of the percentiles, and
//! a table. Must never: draw a percentile with too few samples, or recompute a stored one for the table.

use super::chart::{
    PLOT_BOTTOM, PLOT_LEFT, PLOT_RIGHT, SCROLL_HINT, draw_grid, draw_tick, stroke_attributes,
};
use super::escape::EscapedName;
use super::scale::Scale;
use super::table::{end_table, start_table, write_row};
use crate::html::markup::{Html, write_markup, writeln_markup};
use crate::units::{self, time_or_dash};
use prony_store::{Latency, Run, decode_histogram};
use std::fmt::{self, Write};

const PLOT_TOP: f64 = 10.0;
/// The end of the axis: the 99.99th percentile.
const LAST_DECADE: f64 = 4.0;
/// A percentile needs this many samples above it, as everywhere in a Run.
const SAMPLES_ABOVE: f64 = 10.0;

pub struct NamedLatency<'a> {
    /// The name in the legend.
    pub name: String,
    pub latency: &'a Latency,
}

/// A curve: decades (1 for the 90th percentile, 2 for the 99th) and times in nanoseconds, ascending.
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
    p9999_ns: Option<u64>,
}

/// Computes a curve; `None` if there is no histogram, or too few samples for any percentile above the median.
fn curve(named: &NamedLatency<'_>) -> Option<Curve> {
    let histogram = decode_histogram::<u64>(&named.latency.histogram).ok()?;
    let samples = histogram.len() as f64;
    let last_decade = (samples / SAMPLES_ABOVE).log10().min(LAST_DECADE);
    if !last_decade.is_finite() || last_decade <= 0.3 {
        return None;
    }
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut below = 0_u64;
    for step in histogram.iter_recorded() {
        let time_ns = step.value_iterated_to().max(1) as f64;
        let decade = -(1.0 - below as f64 / samples).log10();
        if decade > last_decade {
            break;
        }
        below += step.count_at_value();
        let end = -(1.0 - below as f64 / samples).max(1e-12).log10();
        points.push((decade, time_ns));
        points.push((end.min(last_decade), time_ns));
    }
    let end = points.last().copied();
    // A line shows no more than a point for every two units of its width.
    let mut drawn: Vec<(f64, f64)> = Vec::new();
    for point in points {
        match drawn.last() {
            Some(last) if point.0 - last.0 < LAST_DECADE / 340.0 && point.1 < last.1 * 1.02 => {}
            _ => drawn.push(point),
        }
    }
    drawn.extend(end.filter(|point| drawn.last() != Some(point)));
    let has_p9999 = last_decade >= LAST_DECADE;
    Some(Curve {
        name: named.name.clone(),
        points: drawn,
        p9999_ns: has_p9999.then(|| histogram.value_at_quantile(0.9999)),
    })
}

/// The response times of all kinds together and, if there are several, of each kind.
pub fn of_run(run: &Run) -> Vec<NamedLatency<'_>> {
    let kinds = &run.measured.kinds;
    // With a single kind, its figures equal the total.
    let kinds = if kinds.len() == 2 {
        &kinds[..1]
    } else {
        &kinds[..]
    };
    let named = kinds.iter().map(|kind| NamedLatency {
        name: crate::text::plain(kind.name()),
        latency: &kind.response,
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
    let y = Scale::logarithmic(min_ns, max_ns, PLOT_BOTTOM, PLOT_TOP);
    let position = |decade: f64| PLOT_LEFT + decade / LAST_DECADE * (PLOT_RIGHT - PLOT_LEFT);
    writeln_markup!(
        out,
        "<figure><figcaption id=\"{}-t\">{}, logarithmic axes</figcaption>",
        id,
        title
    )?;
    out.push_str("<ul class=\"legend\">");
    for (number, curve) in drawn.iter().enumerate() {
        write_markup!(
            out,
            "<li><svg class=\"sample\" viewBox=\"0 0 36 10\" aria-hidden=\"true\"><path {} d=\"M1 5H35\"/></svg>{}</li>",
            stroke_attributes(number),
            &curve.name
        )?;
    }
    writeln_markup!(
        out,
        "</ul>\n{0}<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-labelledby=\"{1}-t\">\
         <svg viewBox=\"0 0 760 232\" role=\"img\" aria-labelledby=\"{1}-t {1}-d\"><title>{2}</title>\
         <desc id=\"{1}-d\">From {3} to {4}; the percentiles are in the table.</desc>",
        SCROLL_HINT,
        id,
        title,
        units::time(min_ns),
        units::time(max_ns)
    )?;
    draw_grid(out, &y, units::time)?;
    let ticks = [
        (0.0, "0"),
        (0.5_f64.log10().abs(), "p50"),
        (1.0, "p90"),
        (2.0, "p99"),
        (3.0, "p99.9"),
        (4.0, "p99.99"),
    ];
    for (decade, label) in ticks {
        draw_tick(out, position(decade), PLOT_BOTTOM, label)?;
    }
    for (number, curve) in drawn.iter().enumerate() {
        let mut d = String::new();
        for (index, (decade, time_ns)) in curve.points.iter().enumerate() {
            let step = if index == 0 { 'M' } else { 'L' };
            write!(
                d,
                "{step}{:.1} {:.1}",
                position(*decade),
                y.position(*time_ns)
            )?;
        }
        writeln_markup!(out, "<path {} d=\"{}\"/>", stroke_attributes(number), d)?;
    }
    out.push_str("</svg></div></figure>\n");
    write_table(out, named, &curves)
}

fn write_table(
    out: &mut Html,
    named: &[NamedLatency<'_>],
    curves: &[Option<Curve>],
) -> fmt::Result {
    out.push_str("<details><summary>The percentiles of the curves as a table</summary>");
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
    start_table(out, "Percentiles", &columns)?;
    for (NamedLatency { name, latency }, curve) in named.iter().zip(curves) {
        let cells = [
            units::count(latency.samples),
            time_or_dash(latency.p50_ns),
            time_or_dash(latency.p90_ns),
            time_or_dash(latency.p95_ns),
            time_or_dash(latency.p99_ns),
            time_or_dash(latency.p999_ns),
            time_or_dash(curve.as_ref().and_then(|curve| curve.p9999_ns)),
            time_or_dash((latency.samples > 0).then_some(latency.max_ns)),
        ];
        write_row(out, EscapedName(name), &cells)?;
    }
    end_table(out)?;
    out.push_str("</details>\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_store::encode_histogram;

    /// A latency of the times from 1 µs to `samples` µs.
    fn uniform(samples: u64) -> Latency {
        let histogram = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3);
        let mut histogram = histogram.unwrap();
        (1..=samples).for_each(|us| histogram.record(us * 1_000).unwrap());
        Latency {
            samples,
            histogram: encode_histogram(&histogram),
            ..Latency::default()
        }
    }

    fn curve_of(latency: &Latency) -> Option<Curve> {
        let name = "a".to_owned();
        curve(&NamedLatency { name, latency })
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
            let point = curve
                .points
                .iter()
                .take_while(|point| point.0 <= decade + 1e-9)
                .last();
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
        let mut out = Html::default();
        let latency = uniform(5);
        let name = "<b>".to_owned();
        let named = NamedLatency {
            name,
            latency: &latency,
        };
        write(&mut out, "c", "Percentiles", &[named]).unwrap();
        assert_eq!(out, "");
        let latency = uniform(5_000);
        let name = "<b>".to_owned();
        let named = NamedLatency {
            name,
            latency: &latency,
        };
        write(&mut out, "c", "Percentiles", &[named]).unwrap();
        assert!(out.contains("&lt;b&gt;") && !out.contains("<b>"), "{out}");
    }
}
