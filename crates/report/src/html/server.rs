//! The section with the observations of the server; its charts have the time axis of the client's charts.
//!
//! In: a Run. Out: charts of CPU, sessions, the cache, bytes and replication, a table, and sentences. Must never: show an
//! unobserved value as zero.

mod readings;

use super::one::is_doubted_by;
use super::over_time::{RunOverTime, Span, groups};
use super::timeline::{Axis, ChartLine, Column, Timeline};
use super::{chart_fold, write_fold, write_paragraphs};
use crate::html::markup::{Html, writeln_markup};
use crate::text::plain;
use crate::text::server::describe_server;
use crate::units;
use prony_store::{Observed, Run};
use readings::Readings;
pub use readings::mean_cpus;
use std::fmt;

/// The checks whose reason the charts of the server show.
const SERVER_CHECKS: [&str; 9] = [
    "burst",
    "drift",
    "foreign-load",
    "neighbours",
    "server-steal",
    "stall",
    "swap",
    "unsteady",
    "limiter",
];

pub fn write(out: &mut Html, time: &RunOverTime<'_>) -> fmt::Result {
    let Some(observed) = write_text(out, time.run)? else {
        return Ok(());
    };
    let groups = groups(&observed.series, time.max_points);
    let timeline = time.timeline(
        "readings",
        groups.iter().map(|rows| Span::of_readings(rows)),
    );
    let mut charts = Html::default();
    write_readings(&mut charts, &timeline, &Readings(groups))?;
    let is_open = is_doubted_by(time.run, &SERVER_CHECKS);
    write_fold(out, chart_fold(is_open), "The server over time", charts)
}

/// Writes the sentences about the server, and returns the observations if there are readings to draw.
pub fn write_text<'a>(out: &mut Html, run: &'a Run) -> Result<Option<&'a Observed>, fmt::Error> {
    let Some(observed) = &run.observed else {
        out.push_str(
            "<p class=\"absent\">Not observed: the server was not observed in this run.</p>\n",
        );
        return Ok(None);
    };
    if let Some(reason) = &observed.off {
        let reason = plain(reason);
        writeln_markup!(out, "<p class=\"absent\">Not observed: {}</p>", reason)?;
        return Ok(None);
    }
    write_paragraphs(out, describe_server(run, observed))?;
    if observed.series.is_empty() {
        out.push_str("<p class=\"absent\">No readings of the server during the load.</p>\n");
        return Ok(None);
    }
    Ok(Some(observed))
}

/// Draws the charts, and writes the table of their figures.
fn write_readings(out: &mut Html, timeline: &Timeline<'_>, readings: &Readings<'_>) -> fmt::Result {
    let commits = readings.per_second("commits", |row| row.commits);
    let busy = readings.machine("busy", |machine| machine.busy_share);
    let io_wait = readings.machine("idle, waiting for I/O", |machine| machine.io_wait_share);
    let server_cpus = readings.server_cpus();
    let connections = readings.sessions("connections", |row| row.connections);
    let active = readings.sessions("active", |row| row.active);
    let lock_waits = readings.sessions("waiting for a lock", |row| row.lock_waits);
    let pages_found = readings.pages_found();
    let log = readings.per_second("log", |row| row.log_bytes);
    let disk_writes = readings.per_second("written to disks", |row| {
        row.machine.as_ref()?.disk_write_bytes
    });
    let flow_control = readings.flow_control();
    let node_conflicts = readings.per_second("lost", |row| row.node_conflicts);
    let [lag_s, lag_bytes] = readings.replication_lag();
    let lag = lag_s.values.iter().zip(&lag_bytes.values);
    let lag = lag.map(|(lag_s, lag_bytes)| match lag_s {
        Some(lag_s) => units::seconds(*lag_s),
        None => units::or_dash(*lag_bytes, format_bytes),
    });
    let columns = [
        commits.column("commits /s", units::rate),
        busy.column("CPU busy", units::percent),
        io_wait.column("I/O wait", units::percent),
        server_cpus.column("server's processes, CPUs", units::rate),
        connections.column("connections", format_sessions),
        active.column("active sessions", format_sessions),
        lock_waits.column("waiting for a lock", format_sessions),
        pages_found.column("pages in cache", units::percent),
        log.column("log /s", format_bytes),
        disk_writes.column("disk writes /s", format_bytes),
        Column::new("replication lag", lag),
        Column::new("waits", readings.wait_cells()),
    ];
    let stolen = readings.machine("stolen by the hypervisor", |machine| machine.steal_share);
    let cpu = vec![busy, io_wait, stolen, readings.client_busy()];
    let title = "CPU of the server's machine, share of all its CPUs";
    let axis = Axis::Share;
    draw(out, timeline, "cpu", title, cpu, axis)?;
    draw_waits(out, timeline, readings)?;
    let title = "Connections at the server";
    let sessions = vec![connections, active, lock_waits];
    let axis = Axis::Linear(format_sessions);
    draw(out, timeline, "connections", title, sessions, axis)?;
    let title = "Pages found in the server's cache, share of all pages";
    let axis = Axis::Share;
    draw(out, timeline, "cache", title, vec![pages_found], axis)?;
    let title = "Log and disks, bytes per second";
    let disk_reads = readings.per_second("read from disks", |row| {
        row.machine.as_ref()?.disk_read_bytes
    });
    let bytes = vec![log, disk_writes, disk_reads];
    let axis = Axis::Linear(units::bytes_per_second);
    draw(out, timeline, "bytes", title, bytes, axis)?;
    if lag_s.is_known() {
        let axis = Axis::Linear(units::seconds);
        timeline.draw(out, "lag", "Replication lag", vec![lag_s], axis)?;
    }
    if lag_bytes.is_known() {
        let title = "Replication lag, bytes of log";
        let axis = Axis::Linear(format_bytes);
        timeline.draw(out, "lag-bytes", title, vec![lag_bytes], axis)?;
    }
    if flow_control.is_known() {
        let title = "Flow control of the cluster, share of the time";
        timeline.draw(out, "flow-control", title, vec![flow_control], Axis::Share)?;
        let title = "Transactions that lost to another node's, per second";
        let axis = Axis::Linear(units::rate);
        timeline.draw(out, "node-conflicts", title, vec![node_conflicts], axis)?;
    }
    timeline.write_table(out, "The readings as a table", "The readings", &columns)
}

/// Draws the lines that were observed; writes a sentence if none was.
fn draw(
    out: &mut Html,
    timeline: &Timeline<'_>,
    id: &str,
    title: &str,
    mut lines: Vec<ChartLine>,
    axis: Axis,
) -> fmt::Result {
    lines.retain(ChartLine::is_known);
    if lines.is_empty() {
        writeln_markup!(out, "<p class=\"absent\">{}: not observed.</p>", title)
    } else {
        timeline.draw(out, id, title, lines, axis)
    }
}

/// Draws what sessions waited for. SQL Server counts the time of each wait; the other servers show the wait event of each
/// active session.
fn draw_waits(out: &mut Html, timeline: &Timeline<'_>, readings: &Readings<'_>) -> fmt::Result {
    let mut waits = readings.wait_times();
    let mut title = "Sessions waiting on average, by wait type, stacked";
    if waits.is_empty() {
        waits = readings.waits();
        title = "Active sessions by wait event, at each reading, stacked";
    }
    let axis = Axis::Stacked(format_sessions);
    draw(out, timeline, "waits", title, waits, axis)
}

/// Formats a number of sessions; the mean of several readings may be fractional.
fn format_sessions(mean: f64) -> String {
    if mean.fract() == 0.0 && mean >= 0.0 { units::whole(mean) } else { format!("{mean:.1}") }
}

fn format_bytes(bytes: f64) -> String {
    units::bytes(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::over_time::max_points;
    use crate::sample_run::closed;
    use prony_assertions::TextAssertions;
    use prony_store::{MissingObservation, ServerSecond};

    fn reading(at_s: u32, waits: &[(&str, u32)]) -> ServerSecond {
        ServerSecond {
            at_s: at_s.into(),
            length_s: 1.0,
            active: Some(waits.len() as u32),
            waits: waits
                .iter()
                .map(|(name, n)| ((*name).to_owned(), *n))
                .collect(),
            ..ServerSecond::default()
        }
    }

    fn section_text(observed: Option<Observed>) -> String {
        let mut run = closed();
        run.observed = observed;
        let mut out = Html::default();
        write(&mut out, &RunOverTime::new(&run, 1, max_points(1))).unwrap();
        out.into_string()
    }

    #[test]
    fn missing_observations_are_listed_with_reasons() {
        section_text(None).assert_contains("was not observed");
        let unobserved = Observed {
            off: Some("requested <b>not</b> to".into()),
            ..Observed::default()
        };
        section_text(Some(unobserved)).assert_contains("requested &lt;b&gt;not");
        let text = section_text(Some(Observed {
            series: vec![reading(0, &[("IO/WalSync", 3)]), reading(1, &[])],
            missing: vec![MissingObservation::new(
                prony_store::ObservedTopic::ServerMachine,
                "another host",
            )],
            ..Observed::default()
        }));
        let expected = "CPU of the server&#39;s machine, share of all its CPUs: not observed";
        text.assert_contains(expected);
        text.assert_contains("machine (another host)");
        text.assert_contains("IO/WalSync: 0 to 3");
        text.assert_contains("<td>–</td>");
    }

    #[test]
    fn the_most_frequent_waits_have_separate_lines() {
        let waits = [("a", 9), ("b", 8), ("c", 7), ("d", 6), ("e", 5), ("f", 4)];
        let rows = [
            reading(0, &waits),
            reading(1, &[("a", 1)]),
            ServerSecond::default(),
        ];
        let lines = Readings(rows.chunks(1).collect()).waits();
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d", "all others"]);
        assert_eq!(lines[4].values, [Some(9.0), Some(0.0), None]);
    }

    /// SQL Server counts the time of each wait instead of showing the wait event of each session.
    #[test]
    fn times_of_waits_are_stacked_as_sessions() {
        let reading = |at_s: u32, length_s, waits: &[(&str, f64)]| ServerSecond {
            at_s: at_s.into(),
            length_s,
            wait_s: Some(
                waits
                    .iter()
                    .map(|(name, time_s)| ((*name).to_owned(), *time_s))
                    .collect(),
            ),
            ..ServerSecond::default()
        };
        let all = [
            ("A", 6.0),
            ("B", 5.0),
            ("C", 4.0),
            ("D", 3.0),
            ("E", 2.0),
            ("F<b>", 1.0),
        ];
        let rows = vec![
            reading(0, 1.0, &all),
            reading(1, 2.0, &[("A", 3.0)]),
            ServerSecond::default(),
        ];
        let lines = Readings(rows.chunks(1).collect()).wait_times();
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["A", "B", "C", "D", "all others"]);
        assert_eq!(lines[0].values, [Some(6.0), Some(1.5), None]);
        assert_eq!(lines[4].values, [Some(3.0), Some(0.0), None]);
        // Several readings of one point are weighted by their lengths.
        let merged = Readings(vec![&rows[..2]]).wait_times();
        assert_eq!(merged[0].values, [Some(3.0)]);

        let text = section_text(Some(Observed {
            series: rows,
            ..Observed::default()
        }));
        text.assert_contains("Sessions waiting on average, by wait type, stacked");
        text.assert_contains("class=\"area a4\"");
        text.assert_contains("A 6.00, B 5.00, C 4.00, D 3.00, all others 3.00");
        text.assert_lacks("by wait event");
    }

    #[test]
    fn cache_connections_and_replication_are_charts_where_they_are_known() {
        let mut rows = vec![reading(0, &[("CPU", 1)]), reading(1, &[])];
        rows[0].cache_hits = Some(990);
        rows[0].cache_reads = Some(10);
        rows[1].connections = Some(7);
        let charts = |rows: &[ServerSecond]| {
            section_text(Some(Observed {
                series: rows.to_vec(),
                ..Observed::default()
            }))
        };
        let text = charts(&rows);
        text.assert_contains("pages found: 99 % to 99 %");
        text.assert_contains("connections: 7 to 7");
        text.assert_lacks("Replication lag");
        rows[1].replication_lag_s = Some(2.5);
        let text = charts(&rows);
        text.assert_contains("<figcaption id=\"lag-1-t\">Replication lag<");
        assert!(
            text.contains("class=\"area a0\""),
            "waits are stacked: {text}"
        );
    }
}
