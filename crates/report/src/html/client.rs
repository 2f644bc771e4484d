//! The health of the client over the run, on the time axis of its measurements.
//!
//! In: the series of a Run. Out: charts of its CPU time, of the longest iteration of its event loops and of its
//! connections, and a table. Must never: show an unknown value as zero.

use super::chart::{Axis, ChartLine, Charts, time_label};
use super::marks::EventMark;
use super::seconds::{end_s, group_size};
use super::table::{end_table, start_table_with_id, write_row_at_time};
use crate::html::markup::Html;
use crate::units::{self, or_dash};
use prony_store::{Run, Second};
use std::fmt;

/// Consecutive seconds that are merged into one point.
struct ClientPoint {
    start_s: f64,
    middle_s: f64,
    /// CPUs in use by the client's threads, mean.
    cpus: Option<f64>,
    /// The longest iteration of any event loop; absent if no document has it.
    longest_iteration_ns: Option<f64>,
    /// The lowest number of connections.
    connections: f64,
}

impl ClientPoint {
    fn of(rows: &[Second]) -> ClientPoint {
        let start_s = rows.first().map_or(0.0, |row| row.at_s);
        let length_s: f64 = rows.iter().map(|row| row.length_s).sum();
        let cpu_s: Option<f64> = rows.iter().map(|row| row.client_cpu_s).sum();
        let longest_ns = rows.iter().map(|row| row.loop_delay_max_ns).max();
        let connections = rows.iter().map(|row| row.connections).min();
        ClientPoint {
            start_s,
            middle_s: start_s + length_s / 2.0,
            cpus: cpu_s
                .filter(|_| length_s >= 0.1)
                .map(|cpu_s| cpu_s / length_s),
            longest_iteration_ns: longest_ns.filter(|ns| *ns > 0).map(|ns| ns as f64),
            connections: f64::from(connections.unwrap_or(0)),
        }
    }
}

/// Writes the charts and their table; nothing if the document has no seconds.
pub fn write(out: &mut Html, run: &Run, number: usize, marks: &[EventMark]) -> fmt::Result {
    if run.series.is_empty() {
        return Ok(());
    }
    let groups = run.series.chunks(group_size(run.series.len()));
    let points: Vec<ClientPoint> = groups.map(ClientPoint::of).collect();
    let charts = Charts {
        run,
        number,
        times_s: points.iter().map(|point| point.middle_s).collect(),
        marks,
        table_id_prefix: "client",
    };
    let line = |name: &str, value: fn(&ClientPoint) -> Option<f64>| {
        vec![ChartLine {
            name: name.to_owned(),
            values: points.iter().map(value).collect(),
        }]
    };
    let title = "The client: CPUs in use by its threads";
    let cpus = line("CPUs in use", |point| point.cpus);
    charts.draw(out, "client-cpu", title, cpus, units::rate, Axis::Linear)?;
    let title = "The client: longest iteration of an event loop; a reply may wait that long";
    let iterations = line("longest iteration", |point| point.longest_iteration_ns);
    let axis = Axis::LinearOrLogarithmic;
    charts.draw(out, "client-loop", title, iterations, units::time, axis)?;
    let title = "The client: connections that are up";
    let connections = line("connections", |point| Some(point.connections));
    let format_count = |count: f64| units::count(count as u64);
    charts.draw(
        out,
        "client-connections",
        title,
        connections,
        format_count,
        Axis::Linear,
    )?;
    write_table(out, number, &points, end_s(run))
}

fn write_table(out: &mut Html, number: usize, points: &[ClientPoint], end_s: f64) -> fmt::Result {
    out.push_str("<details><summary>The client's health as a table</summary>");
    let columns = [
        "from",
        "CPUs in use",
        "longest iteration",
        "connections, lowest",
    ];
    start_table_with_id(
        out,
        &format!("client-{number}"),
        "The client's health",
        &columns,
    )?;
    for point in points {
        let cells = [
            or_dash(point.cpus, units::rate),
            or_dash(point.longest_iteration_ns, units::time),
            units::count(point.connections as u64),
        ];
        let from = time_label(point.start_s, end_s);
        write_row_at_time(out, point.middle_s, &from, &cells)?;
    }
    end_table(out)?;
    out.push_str("</details>\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;

    #[test]
    fn points_have_the_worst_of_their_seconds() {
        let mut run = closed();
        run.series[1].loop_delay_max_ns = 7_000_000;
        run.series[2].connections = 60;
        let point = ClientPoint::of(&run.series[..4]);
        assert_eq!(point.longest_iteration_ns, Some(7_000_000.0));
        assert_eq!((point.connections, point.middle_s), (60.0, 2.0));
        assert_eq!(point.cpus.map(|cpus| (cpus * 1_000.0).round()), Some(800.0));
        run.series[3].client_cpu_s = None;
        assert_eq!(
            ClientPoint::of(&run.series[..4]).cpus,
            None,
            "unknown is not zero"
        );
    }

    #[test]
    fn the_charts_share_a_table() {
        let mut out = Html::default();
        write(&mut out, &closed(), 1, &[]).unwrap();
        assert_eq!(out.matches("data-table=\"client-1\"").count(), 3);
        assert!(out.contains("<td>900 µs</td>"), "{out}");
    }
}
