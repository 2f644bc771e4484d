//! What each of several machines did that drove a load together: a table, and a chart of their seconds.
//!
//! In: the machines of a Run. Out: a table, and a figure with its values. Must never: draw a machine that drove no clients.

use super::over_time::RunOverTime;
use super::timeline::{Axis, ChartLine};
use super::{chart_fold, statements, write_fold};
use crate::html::markup::Html;
use crate::text::machines::{machines, numbered_name};
use crate::units;
use std::fmt;

/// Writes the machines, if agents drove the load.
pub fn write(out: &mut Html, time: &RunOverTime<'_>) -> fmt::Result {
    statements::write(out, machines(time.run))?;
    let mut seconds_of: Vec<(String, &[u64])> = Vec::new();
    for (number, machine) in (1..).zip(&time.run.machines) {
        if let Some(part) = &machine.part {
            seconds_of.push((numbered_name(number, machine), &part.committed_by_second));
        }
    }
    let seconds = seconds_of.iter().map(|(_, seconds)| seconds.len()).max();
    let Some(seconds @ 1..) = seconds else {
        return Ok(());
    };
    let points = time.points_of(seconds);
    let span = |start| points.span(start);
    let timeline = time.timeline("machines", points.starts().map(span));
    let line = |(name, seconds): (String, &[u64])| {
        let values = points.starts().map(|start| {
            let rows = seconds.iter().skip(start).take(points.per_point);
            let committed = rows.fold(0_u64, |sum, second| sum.saturating_add(*second));
            span(start).rate(committed as f64)
        });
        ChartLine::new(name, values)
    };
    let lines: Vec<ChartLine> = seconds_of.into_iter().map(line).collect();
    let columns: Vec<_> = (1..)
        .zip(&lines)
        .map(|(number, line)| line.column(format!("committed /s, {number}"), units::rate))
        .collect();
    let mut chart = Html::default();
    let title = "Throughput of each machine, committed transactions per second";
    let axis = Axis::Linear(units::rate);
    timeline.draw(&mut chart, "machines-tps", title, lines, axis)?;
    let caption = "Each machine over time, numbered as in the table above";
    timeline.write_table(&mut chart, "The figures of this chart", caption, &columns)?;
    write_fold(out, chart_fold(false), "The machines over time", chart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_store::{ClientMachine, Host, MachinePart, Run};

    #[test]
    fn a_page_has_the_machines_that_drove_the_load() {
        let mut out = Html::default();
        write(&mut out, &RunOverTime::new(&Run::default(), 1, 600)).unwrap();
        assert_eq!(out, "");
        let machine = |name: &str, seconds: &[u64]| ClientMachine {
            host: Host {
                name: name.to_owned(),
                ..Host::default()
            },
            part: Some(MachinePart {
                committed_by_second: seconds.to_vec(),
                ..MachinePart::default()
            }),
            ..ClientMachine::default()
        };
        // The second one was lost after two seconds.
        let run = Run {
            machines: vec![
                machine("<vm1>", &[300, 320, 400, 300]),
                machine("vm2", &[100, 120]),
            ],
            ..Run::default()
        };
        write(&mut out, &RunOverTime::new(&run, 1, 2)).unwrap();
        for part in [
            "1 &lt;vm1&gt;",
            "Throughput of each machine",
            "<td>310</td><td>110</td>",
            "<td>350</td><td>0</td>",
        ] {
            out.assert_contains(part);
        }
    }
}
