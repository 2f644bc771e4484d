//! The health of the client over the run, on the time axis of its measurements.
//!
//! In: the series of a Run. Out: charts of its CPU time, of the longest iteration of its event loops and of its
//! connections, and a table. Must never: show an unknown value as zero.

use super::over_time::{RunOverTime, Span};
use super::seconds::fewest_connections;
use super::timeline::{Axis, ChartLine};
use crate::html::markup::Html;
use crate::units;
use prony_store::Second;
use std::fmt;

/// CPUs in use by the client's threads, mean; `None` if one of the seconds does not have them.
fn cpus(rows: &[Second]) -> Option<f64> {
    let cpu_s: Option<f64> = rows.iter().map(|row| row.client_cpu_s).sum();
    Span::of_seconds(rows).rate(cpu_s?)
}

/// The longest iteration of any event loop, nanoseconds; zero in a document means that it was not measured.
fn longest_iteration_ns(rows: &[Second]) -> Option<f64> {
    let longest_ns = rows.iter().map(|row| row.loop_delay_max_ns).max();
    longest_ns.filter(|ns| *ns > 0).map(|ns| ns as f64)
}

/// Writes the charts and their table; nothing if the document has no seconds.
pub fn write(out: &mut Html, time: &RunOverTime<'_>) -> fmt::Result {
    let groups = time.seconds();
    if groups.is_empty() {
        return Ok(());
    }
    let timeline = time.timeline("client", groups.iter().map(|rows| Span::of_seconds(rows)));
    let line = |name: &str, value: fn(&[Second]) -> Option<f64>| {
        ChartLine::new(name, groups.iter().map(|rows| value(rows)))
    };
    let cpus = line("CPUs in use", cpus);
    let iterations = line("longest iteration", longest_iteration_ns);
    let connections = line("connections", fewest_connections);
    let columns = [
        cpus.column("CPUs in use", units::rate),
        iterations.column("longest iteration", units::time),
        connections.column("connections, lowest", units::whole),
    ];
    let title = "The client: CPUs in use by its threads";
    let axis = Axis::Linear(units::rate);
    timeline.draw(out, "client-cpu", title, vec![cpus], axis)?;
    let title = "The client: longest iteration of an event loop; a reply may wait that long";
    let axis = Axis::LinearOrLogarithmic(units::time);
    timeline.draw(out, "client-loop", title, vec![iterations], axis)?;
    let title = "The client: connections that are up";
    let axis = Axis::Linear(units::whole);
    timeline.draw(out, "client-connections", title, vec![connections], axis)?;
    let summary = "The client's health as a table";
    timeline.write_table(out, summary, "The client's health", &columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::over_time::max_points;
    use crate::sample_run::closed;
    use prony_assertions::TextAssertions;

    #[test]
    fn points_have_the_worst_of_their_seconds() {
        let mut run = closed();
        run.series[1].loop_delay_max_ns = 7_000_000;
        run.series[2].connections = 60;
        let rows = &mut run.series[..4];
        assert_eq!(longest_iteration_ns(rows), Some(7_000_000.0));
        assert_eq!(fewest_connections(rows), Some(60.0));
        assert_eq!(cpus(rows).map(|cpus| (cpus * 1_000.0).round()), Some(800.0));
        rows[3].client_cpu_s = None;
        assert_eq!(cpus(rows), None, "unknown is not zero");
    }

    #[test]
    fn the_charts_share_a_table() {
        let mut out = Html::default();
        write(&mut out, &RunOverTime::new(&closed(), 1, max_points(1))).unwrap();
        assert_eq!(out.matches("data-table=\"client-1\"").count(), 3);
        out.assert_contains("<td>900 µs</td>");
    }
}
