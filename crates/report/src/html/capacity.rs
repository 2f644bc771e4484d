//! The answer of a search for the highest rate, on a page with its steps.
//!
//! In: `judge`'s answer. Out: the answer and what it rests on, response times and the use of the CPUs by rate, the table of
//! the steps. Must never: hide a step that must not be used; its line in the table says so.

use super::drawing::{Drawing, line_sample, path_through};
use super::figure::{Figure, Plot};
use super::scale::Scale;
use super::table::write_table;
use super::write_paragraphs;
use crate::capacity::{answer_sentence, remarks, step_line, steps_by_rate, steps_table};
use crate::html::markup::{Html, writeln_markup};
use crate::units;
use prony_judge::capacity::{CapacityResult, CapacityStep};
use std::fmt;

/// The plot has room for the answer above it.
const PLOT: Plot = Plot {
    top: 20.0,
    ..Plot::STANDARD
};
/// Ratio of the highest to the lowest rate from which the axis is logarithmic.
const LOGARITHMIC_FROM: f64 = 16.0;

/// A line of a figure: its name, and its value of a step.
type Line = (&'static str, fn(&CapacityStep) -> Option<f64>);

const TIMES: [Line; 3] = [
    ("p99", |step| step.p99_ns.map(|ns| ns as f64)),
    ("p50", |step| step.p50_ns.map(|ns| ns as f64)),
    ("client wait, mean", |step| step.client_wait_ns),
];
const CPUS: [Line; 1] = [("CPUs of the server's machine", |step| step.server_cpu_share)];

pub fn write(out: &mut Html, found: &CapacityResult) -> fmt::Result {
    writeln_markup!(out, "<p><strong>{}</strong></p>", answer_sentence(found))?;
    let steps = steps_by_rate(found);
    let times = || values_of(&TIMES, &steps).map(|(_, value)| value);
    let shortest = times().fold(f64::MAX, f64::min);
    let longest = times().fold(0.0, f64::max);
    if longest > 0.0 {
        let y = Scale::logarithmic(shortest, longest, PLOT.bottom, PLOT.top);
        let figure = Figure {
            id: "capacity-times",
            title: "Response time by rate: transactions per second",
            axis_note: ", logarithmic times",
            ..Figure::default()
        };
        draw(out, found, &TIMES, &y, units::time, figure)?;
    }
    write_paragraphs(out, remarks(found))?;
    if values_of(&CPUS, &steps).next().is_some() {
        let y = Scale::linear(0.0, 1.0, PLOT.bottom, PLOT.top);
        let figure = Figure {
            id: "capacity-cpus",
            title: "Busy CPUs of the server's machine by rate: transactions per second",
            ..Figure::default()
        };
        draw(out, found, &CPUS, &y, units::percent, figure)?;
    }
    let caption = "The steps by their rate; times are of committed transactions";
    write_table(out, caption, &steps_table(found))
}

/// Each step with its value, for all lines; steps without one are left out.
fn values_of<'a>(
    lines: &'a [Line],
    steps: &'a [&CapacityStep],
) -> impl Iterator<Item = (&'a CapacityStep, f64)> {
    let of_line =
        |(_, value): &'a Line| steps.iter().filter_map(|step| Some((*step, value(step)?)));
    let lines = lines.iter();
    lines.flat_map(of_line).filter(|(_, value)| *value > 0.0)
}

fn draw(
    out: &mut Html,
    found: &CapacityResult,
    lines: &[Line],
    y: &Scale,
    format_value: fn(f64) -> String,
    figure: Figure<'_>,
) -> fmt::Result {
    let steps = steps_by_rate(found);
    let [Some(lowest), Some(highest)] =
        [steps.first(), steps.last()].map(|step| step.map(|step| step.rate))
    else {
        return Ok(());
    };
    let is_logarithmic = lowest > 0.0 && highest / lowest >= LOGARITHMIC_FROM;
    let x = if is_logarithmic {
        Scale::between(lowest / 1.1, highest * 1.1, PLOT.left, PLOT.right)
    } else {
        Scale::around(lowest, highest, PLOT.left, PLOT.right)
    };
    let mut drawing = Drawing::default();
    PLOT.draw_grid(&mut drawing, y, format_value)?;
    for tick in &x.ticks {
        PLOT.draw_tick(&mut drawing, x.position(*tick), &units::rate(*tick))?;
    }
    let mut legend = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let points: Vec<_> = values_of(std::slice::from_ref(line), &steps).collect();
        let at = |step: &CapacityStep, value| (x.position(step.rate), y.position(value));
        let path = points.iter().map(|(step, value)| at(step, *value));
        drawing.numbered_line(number, &path_through(path))?;
        for (step, value) in &points {
            let (left, top) = at(step, *value);
            drawing.dot(left, top, 3.0, Some(&step_line(step)))?;
        }
        if !points.is_empty() {
            let (name, _) = line;
            legend.push((line_sample(number), (*name).to_owned()));
        }
    }
    if let Some(rate) = found.capacity.rate.or(found.capacity.low) {
        let answer = x.position(rate);
        PLOT.draw_vertical_line(&mut drawing, "cursor", answer)?;
        drawing.text("letter", answer, PLOT.top - 6.0, "answer")?;
    }
    let note = match figure.axis_note {
        "" if is_logarithmic => ", logarithmic axis",
        _ if is_logarithmic => ", logarithmic axes",
        note => note,
    };
    let figure = Figure {
        axis_note: note,
        // The title of a single line says what it is.
        legend: if lines.len() > 1 { legend } else { Vec::new() },
        description: "All figures are in the table of the steps.".to_owned(),
        height: Plot::STANDARD_HEIGHT,
        ..figure
    };
    figure.write(out, &drawing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::sample;
    use prony_assertions::TextAssertions;
    use prony_store::AnswerVerdict;

    #[test]
    fn a_search_shows_its_answer_times_by_rate_and_all_steps() {
        let mut found = sample::found();
        found.steps[1].client_wait_ns = Some(40_000.0);
        // All runs must not be used: their figures stand there, with the reason.
        for step in &mut found.steps {
            step.invalid_by = vec!["neighbours".to_owned()];
        }
        let mut page = Html::default();
        write(&mut page, &found).unwrap();
        let answer = page.find("<strong>").unwrap();
        let chart = page.find("<figure>").unwrap();
        assert!(answer < chart && chart < page.find("<table").unwrap());
        page.assert_contains("Response time by rate");
        page.assert_contains("Busy CPUs of the server&#39;s machine by rate");
        page.assert_contains("client wait, mean");
        page.assert_contains(">answer</text>");
        page.assert_contains("invalid (neighbours)");
        let steps = found.steps.len();
        assert_eq!(page.matches("<circle ").count(), 3 * steps + 1);
        found
            .steps
            .retain(|step| step.verdict == AnswerVerdict::Pass);
        for step in &mut found.steps {
            (step.p50_ns, step.p99_ns, step.server_cpu_share) = (None, None, None);
            step.client_wait_ns = None;
        }
        let mut page = Html::default();
        write(&mut page, &found).unwrap();
        page.assert_lacks("<figure");
    }
}
