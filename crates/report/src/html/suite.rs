//! The rows of a suite of scenarios, on a page with its runs.
//!
//! In: documents, and `judge`'s summary of them. Out: a table of published and measured figures, and the curve over
//! machines as a drawing and a table. Must never: show a deviation of a row that was smaller or shorter than published.

use super::document::Document;
use super::drawing::{Drawing, line_sample, path_through};
use super::figure::{Figure, Plot};
use super::scale::Scale;
use super::table::write_table;
use crate::html::markup::{Html, writeln_markup};
use crate::suite::{SCALING_CAPTION, scaling_table, summary_sentences, summary_table};
use crate::text::plain;
use crate::units;
use prony_judge::reproduced::{ScalingPoint, suite_summary};
use prony_store::Run;
use std::fmt;

const PLOT: Plot = Plot::STANDARD;

/// Writes the rows, if the first run is one of a suite.
pub fn write(out: &mut Html, documents: &[Document]) -> fmt::Result {
    let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
    let Some(summary) = suite_summary(&runs) else {
        return Ok(());
    };
    let caption = format!("The suite {}: {}", plain(&summary.id), summary.title);
    write_table(out, &caption, &summary_table(&summary))?;
    for sentence in summary_sentences(&summary) {
        writeln_markup!(out, "<p>{}</p>", sentence)?;
    }
    match scaling_table(&summary) {
        Some(table) => {
            draw_curve(out, &summary.scaling)?;
            write_table(out, SCALING_CAPTION, &table)
        }
        None => Ok(()),
    }
}

/// Draws throughput by CPUs, beside a line in proportion to the smallest machine; nothing for one machine.
fn draw_curve(out: &mut Html, points: &[ScalingPoint]) -> fmt::Result {
    let [first, .., last] = points else {
        return Ok(());
    };
    let proportional = |cpus: u32| first.tps / f64::from(first.cpus) * f64::from(cpus);
    let highest = points
        .iter()
        .map(|point| point.tps)
        .fold(proportional(last.cpus), f64::max);
    let y = Scale::from_zero(highest, PLOT.bottom, PLOT.top);
    let x = Scale::from_zero(last.cpus.into(), PLOT.left, PLOT.right);
    let mut drawing = Drawing::default();
    PLOT.draw_grid(&mut drawing, &y, units::per_second)?;
    for point in points {
        let label = point.cpus.to_string();
        PLOT.draw_tick(&mut drawing, x.position(point.cpus.into()), &label)?;
    }
    let line = |tps: fn(&ScalingPoint, f64) -> f64| {
        path_through(points.iter().map(|point| {
            let tps = tps(point, proportional(point.cpus));
            (x.position(point.cpus.into()), y.position(tps))
        }))
    };
    drawing.numbered_line(1, &line(|point, _| point.tps))?;
    drawing.numbered_line(2, &line(|_, proportional| proportional))?;
    for point in points {
        let title = format!(
            "{} CPUs: {}",
            point.cpus,
            units::transactions_per_second(point.tps)
        );
        let position = (x.position(point.cpus.into()), y.position(point.tps));
        drawing.dot(position.0, position.1, 4.0, Some(&title))?;
    }
    let figure = Figure {
        id: "scaling",
        title: "Throughput by CPUs of the server's machine: transactions committed per second",
        legend: vec![
            (line_sample(1), "measured".to_owned()),
            (
                line_sample(2),
                "in proportion to the smallest machine".to_owned(),
            ),
        ],
        description: format!(
            "From {} CPUs to {}, throughput for a CPU changes to {} of that of the smallest machine. All figures are in \
             the table below.",
            first.cpus,
            last.cpus,
            units::whole_percent(last.efficiency)
        ),
        height: Plot::STANDARD_HEIGHT,
        ..Figure::default()
    };
    figure.write(out, &drawing)
}

#[cfg(test)]
mod tests {
    use super::draw_curve;
    use crate::html::markup::Html;
    use crate::html::verify;
    use crate::sample_run::{test_build, written};
    use crate::suite::tests::run_in_suite;
    use prony_assertions::TextAssertions;
    use prony_judge::reproduced::ScalingPoint;

    #[test]
    fn a_page_of_a_suite_has_its_rows_and_does_not_compare_them_with_each_other() {
        let mut second = run_in_suite(0.5);
        second.id += "-2";
        let other = "other".to_owned();
        second.scenario.as_mut().unwrap().id.clone_from(&other);
        second.experiment.as_mut().unwrap().variant = other;
        let runs = [run_in_suite(1.0), second];
        let page = written(|out| crate::html::write(out, &runs, None, &test_build()));
        for part in [
            "The suite alloydb-16: order entry",
            "<td>+36.1 %</td>",
            "<td>not comparable</td>",
            "as &lt;published&gt;",
        ] {
            page.assert_contains(part);
        }
        assert!(
            !page.contains("against tpcb-cached"),
            "no comparison of rows"
        );
        assert!(verify(&page, &test_build()).is_ok());
    }

    #[test]
    fn a_suite_over_machines_has_a_curve() {
        let point = |cpus, tps, efficiency| ScalingPoint {
            cpus,
            is_assumed: false,
            tps,
            efficiency,
        };
        let drawn = |points: &[ScalingPoint]| {
            let mut out = Html::default();
            draw_curve(&mut out, points).expect("text");
            out.into_string()
        };
        let points = [point(2, 10_000.0, 1.0), point(8, 30_000.0, 0.75)];
        let curve = drawn(&points);
        for part in [
            "<figcaption id=\"scaling-t\">",
            "From 2 CPUs to 8, throughput for a CPU changes to 75 % of",
            "<title>8 CPUs: 30,000 transactions/s</title>",
            // The plot ends at 8 CPUs, and at four times the smallest machine.
            "M239.5 157.0L748.0 59.0",
            "M239.5 157.0L748.0 10.0",
        ] {
            curve.assert_contains(part);
        }
        assert_eq!(drawn(&points[..1]), "", "one machine is no curve");
    }
}
