//! What happened at each of several servers: a table, and charts over time.
//!
//! In: the endpoints of a Run. Out: a table, and figures with their values. Must never: show a server that was not observed
//! as idle.

use super::over_time::RunOverTime;
use super::server::mean_cpus;
use super::timeline::{Axis, ChartLine};
use super::{chart_fold, statements, write_fold};
use crate::html::markup::Html;
use crate::text::endpoints::endpoints;
use crate::text::plain;
use crate::units;
use prony_store::{EndpointFigures, EndpointSecond, ServerSecond};
use std::fmt;
use std::ops::Range;

pub fn write(out: &mut Html, time: &RunOverTime<'_>) -> fmt::Result {
    let run = time.run;
    statements::write(out, endpoints(run))?;
    let seconds = run.endpoints.iter().map(|endpoint| endpoint.seconds.len());
    match seconds.max() {
        Some(seconds) if seconds > 0 => write_over_time(out, time, seconds),
        _ => Ok(()),
    }
}

/// Draws this many seconds of the servers.
fn write_over_time(out: &mut Html, time: &RunOverTime<'_>, seconds: usize) -> fmt::Result {
    let run = time.run;
    let points = time.points_of(seconds);
    let span = |start| points.span(start);
    let timeline = time.timeline("endpoints", points.starts().map(span));
    let lines = |value: &dyn Fn(usize, &EndpointFigures, usize) -> Option<f64>| {
        let endpoints = run.endpoints.iter().enumerate();
        let line = |(index, endpoint): (usize, &EndpointFigures)| {
            let values = points.starts().map(|start| value(index, endpoint, start));
            ChartLine::new(plain(&endpoint.address), values)
        };
        endpoints.map(line).collect::<Vec<_>>()
    };
    let committed = lines(&|_, endpoint, start| {
        let rows = seconds_of(endpoint, points.seconds(start));
        let committed: u64 = rows.iter().map(|row| row.committed).sum();
        span(start).rate(committed as f64)
    });
    let cpus = lines(&|index, endpoint, start| {
        // The first server has the readings of the run's own observer.
        let own = run.observed.as_ref().filter(|_| index == 0);
        let series = own.map_or(&endpoint.series, |observed| &observed.series);
        let span = span(start);
        let is_inside = |row: &&ServerSecond| span.contains(row.at_s + row.length_s / 2.0);
        mean_cpus(series.iter().filter(is_inside))
    });
    let connections = lines(&|_, endpoint, start| {
        let rows = seconds_of(endpoint, points.seconds(start));
        rows.iter().map(|row| row.connections).min().map(f64::from)
    });
    let mut columns = Vec::new();
    let mut add = |lines: &[ChartLine], title: &str, format: fn(f64) -> String| {
        let numbered = (1..).zip(lines);
        columns.extend(
            numbered.map(|(number, line)| line.column(format!("{title}, {number}"), format)),
        );
    };
    add(&committed, "committed /s", units::rate);
    add(&cpus, "CPUs", units::rate);
    add(&connections, "connections", units::whole);
    let mut charts = Html::default();
    let title = "Throughput of each server, committed transactions per second";
    timeline.draw(
        &mut charts,
        "endpoints-tps",
        title,
        committed,
        Axis::Linear(units::rate),
    )?;
    let title = "CPUs that the processes of each server used";
    timeline.draw(
        &mut charts,
        "endpoints-cpu",
        title,
        cpus,
        Axis::Linear(units::rate),
    )?;
    let title = "Connections of the run at each server";
    let axis = Axis::Linear(units::whole);
    timeline.draw(
        &mut charts,
        "endpoints-connections",
        title,
        connections,
        axis,
    )?;
    let caption = "Each server over time, numbered as in the table above";
    timeline.write_table(
        &mut charts,
        "The figures of these charts",
        caption,
        &columns,
    )?;
    write_fold(out, chart_fold(false), "The servers over time", charts)
}

/// These seconds of a server; those that it lacks had neither transactions nor connections.
fn seconds_of(endpoint: &EndpointFigures, seconds: Range<usize>) -> Vec<EndpointSecond> {
    let second = |index| endpoint.seconds.get(index).copied().unwrap_or_default();
    seconds.map(second).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_store::{MachineSecond, Run, Spread};

    #[test]
    fn a_page_has_the_servers_if_there_were_several() {
        let mut out = Html::default();
        write(&mut out, &RunOverTime::new(&Run::default(), 1, 600)).unwrap();
        assert_eq!(out, "");
        let endpoint = |address: &str, tps, lost| EndpointFigures {
            address: address.to_owned(),
            tps,
            lost,
            ..EndpointFigures::default()
        };
        let reading = |at_s, server_cpu_s| ServerSecond {
            at_s,
            length_s: 1.0,
            machine: Some(MachineSecond {
                server_cpu_s: Some(server_cpu_s),
                ..MachineSecond::default()
            }),
            ..ServerSecond::default()
        };
        let mut run = Run {
            endpoints: vec![endpoint("tcp:<a>:1", 300.0, 0), endpoint("b", 100.0, 4)],
            ..Run::default()
        };
        run.drive.spread = Some(Spread::RoundRobin);
        run.endpoints[1].not_observed = Some("after the load: refused".to_owned());
        // Four seconds, of which the second server missed one, in points of two.
        let second = |committed, connections| EndpointSecond {
            committed,
            connections,
            ..EndpointSecond::default()
        };
        run.endpoints[0].seconds = vec![
            second(300, 4),
            second(320, 4),
            second(400, 8),
            second(300, 4),
        ];
        run.endpoints[1].seconds = vec![second(100, 4), second(100, 4), second(0, 0)];
        run.endpoints[1].series = vec![reading(0.0, 0.5), reading(1.0, 0.7), reading(3.0, 0.5)];
        run.observed.get_or_insert_default().series = vec![reading(0.0, 1.5)];
        write(&mut out, &RunOverTime::new(&run, 1, 2)).unwrap();
        for part in [
            "tcp:&lt;a&gt;:1",
            "75 %",
            "round-robin",
            "b was not observed after the load: refused.",
            "Throughput of each server",
            "<td>310</td><td>100</td><td>1.50</td><td>0.60</td><td>4</td><td>4</td>",
            "<td>350</td><td>0</td><td>–</td><td>0.50</td><td>4</td><td>0</td>",
        ] {
            out.assert_contains(part);
        }
        // The last point of a run of three seconds has one.
        run.endpoints[0].seconds.pop();
        let mut out = Html::default();
        write(&mut out, &RunOverTime::new(&run, 1, 2)).unwrap();
        out.assert_contains("<td>400</td><td>0</td><td>–</td><td>–</td><td>8</td><td>0</td>");
    }
}
