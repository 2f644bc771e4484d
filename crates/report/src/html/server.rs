//! The section with the observations of the server; its charts have the time axis of the client's charts.
//!
//! In: a Run. Out: charts of CPU, sessions, the cache, bytes and replication, a table, and sentences. Must never: show an
//! unobserved value as zero.

mod lines;

use super::chart::{Axis, ChartLine, Charts, time_label};
use super::marks::EventMark;
use super::seconds::{end_s, group_size};
use super::table::{end_table, start_table_with_id, write_row_at_time};
use crate::html::markup::{Html, writeln_markup};
use crate::terminal::server::describe_server;
use crate::text::plain;
use crate::units::{self, or_dash};
use lines::*;
use prony_store::{Observed, Run};
use std::fmt;

/// Writes the section.
pub fn write(out: &mut Html, run: &Run, number: usize, marks: &[EventMark]) -> fmt::Result {
    let Some(observed) = write_text(out, run)? else {
        return Ok(());
    };
    let groups: Vec<ReadingGroup<'_>> = observed
        .series
        .chunks(group_size(observed.series.len()))
        .collect();
    let charts = Charts {
        run,
        number,
        times_s: groups.iter().map(|rows| middle_s(rows)).collect(),
        marks,
        table_id_prefix: "readings",
    };
    draw_charts(out, &charts, &groups)?;
    write_table(out, number, &groups, end_s(run))
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
    for line in describe_server(run, observed) {
        writeln_markup!(out, "<p>{}</p>", line)?;
    }
    if observed.series.is_empty() {
        let notice = "No readings of the server during the load.";
        writeln_markup!(out, "<p class=\"absent\">{}</p>", notice)?;
        return Ok(None);
    }
    Ok(Some(observed))
}

fn draw_charts(out: &mut Html, charts: &Charts<'_>, groups: &[ReadingGroup<'_>]) -> fmt::Result {
    let mut draw = |id, title, mut lines: Vec<ChartLine>, unit, axis| {
        lines.retain(|line| line.values.iter().any(Option::is_some));
        if lines.is_empty() {
            writeln_markup!(out, "<p class=\"absent\">{}: not observed.</p>", title)
        } else {
            charts.draw(out, id, title, lines, unit, axis)
        }
    };
    let bytes_per_second = |bytes| format!("{}/s", units::bytes(bytes as u64));
    let title = "CPU of the server's machine, share of all its CPUs";
    draw("cpu", title, cpu_lines(groups), units::percent, Axis::Share)?;
    // SQL Server counts the time of each wait; the other servers show the wait event of each active session.
    let mut waits = wait_time_lines(groups);
    let mut title = "Sessions waiting on average, by wait type, stacked";
    if waits.is_empty() {
        waits = wait_lines(groups);
        title = "Active sessions by wait event, at each reading, stacked";
    }
    draw("waits", title, waits, format_sessions, Axis::Stacked)?;
    let title = "Connections at the server";
    draw(
        "connections",
        title,
        connection_lines(groups),
        format_sessions,
        Axis::Linear,
    )?;
    let title = "Pages found in the server's cache, share of all pages";
    draw(
        "cache",
        title,
        cache_lines(groups),
        units::percent,
        Axis::Share,
    )?;
    let title = "Log and disks, bytes per second";
    draw(
        "bytes",
        title,
        bytes_lines(groups),
        bytes_per_second,
        Axis::Linear,
    )?;
    let [lag_s, lag_bytes] = replication_lines(groups);
    let is_known = |lines: &[ChartLine]| lines[0].values.iter().any(Option::is_some);
    if is_known(&lag_s) {
        draw(
            "lag",
            "Replication lag",
            lag_s,
            units::seconds,
            Axis::Linear,
        )?;
    }
    if is_known(&lag_bytes) {
        let format_bytes = |bytes: f64| units::bytes(bytes as u64);
        let title = "Replication lag, bytes of log";
        draw("lag-bytes", title, lag_bytes, format_bytes, Axis::Linear)?;
    }
    Ok(())
}

/// Formats a number of sessions; the mean of several readings may be fractional.
fn format_sessions(mean: f64) -> String {
    if mean.fract() == 0.0 && mean >= 0.0 {
        units::count(mean as u64)
    } else {
        format!("{mean:.1}")
    }
}

const TABLE_COLUMNS: [&str; 13] = [
    "from",
    "commits /s",
    "CPU busy",
    "I/O wait",
    "server's processes, CPUs",
    "connections",
    "active sessions",
    "waiting for a lock",
    "pages in cache",
    "log /s",
    "disk writes /s",
    "replication lag",
    "waits",
];

fn write_table(
    out: &mut Html,
    number: usize,
    groups: &[ReadingGroup<'_>],
    end_s: f64,
) -> fmt::Result {
    out.push_str("<details><summary>The readings as a table</summary>");
    start_table_with_id(
        out,
        &format!("readings-{number}"),
        "The readings",
        &TABLE_COLUMNS,
    )?;
    for rows in groups {
        let disk_writes = per_second(rows, |row| row.machine.as_ref()?.disk_write_bytes);
        let format_bytes = |bytes: f64| units::bytes(bytes as u64);
        let cells = [
            or_dash(per_second(rows, |row| row.commits), units::rate),
            or_dash(
                machine_mean(rows, |second| second.busy_share),
                units::percent,
            ),
            or_dash(
                machine_mean(rows, |second| second.io_wait_share),
                units::percent,
            ),
            or_dash(server_cpus(rows), units::rate),
            or_dash(
                weighted_mean(rows, |row| row.connections.map(f64::from)),
                format_sessions,
            ),
            or_dash(
                weighted_mean(rows, |row| row.active.map(f64::from)),
                format_sessions,
            ),
            or_dash(
                weighted_mean(rows, |row| row.lock_waits.map(f64::from)),
                format_sessions,
            ),
            or_dash(cache_hit_share(rows), units::percent),
            or_dash(per_second(rows, |row| row.log_bytes), format_bytes),
            or_dash(disk_writes, format_bytes),
            match replication_lag_s(rows) {
                Some(lag_s) => units::seconds(lag_s),
                None => or_dash(replication_lag_bytes(rows), format_bytes),
            },
            wait_events_cell(rows),
        ];
        let from_s = rows.first().map_or(0.0, |row| row.at_s);
        write_row_at_time(out, middle_s(rows), &time_label(from_s, end_s), &cells)?;
    }
    end_table(out)?;
    out.push_str("</details>\n");
    Ok(())
}

/// The sessions that waited on average, by wait type, or the wait events of the sessions in the first of the merged
/// readings.
fn wait_events_cell(rows: ReadingGroup<'_>) -> String {
    let wait_times = wait_time_lines(&[rows]);
    if !wait_times.is_empty() {
        let texts = wait_times.iter().filter_map(|line| {
            let sessions = line.values[0].filter(|sessions| *sessions > 0.0)?;
            Some(format!("{} {}", line.name, units::rate(sessions)))
        });
        return texts.collect::<Vec<_>>().join(", ");
    }
    let Some(row) = rows.first().filter(|row| has_sessions(row)) else {
        return "–".to_owned();
    };
    let waits = row.waits.iter();
    let texts: Vec<String> = waits
        .map(|(event, count)| format!("{} {count}", plain(event)))
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;
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
        write(&mut out, &run, 1, &[]).unwrap();
        out.into_string()
    }

    #[test]
    fn missing_observations_are_listed_with_reasons() {
        assert!(section_text(None).contains("was not observed"));
        let unobserved = Observed {
            off: Some("requested <b>not</b> to".into()),
            ..Observed::default()
        };
        assert!(section_text(Some(unobserved)).contains("requested &lt;b&gt;not"));
        let text = section_text(Some(Observed {
            series: vec![reading(0, &[("IO/WalSync", 3)]), reading(1, &[])],
            missing: vec![MissingObservation {
                what: prony_store::ObservedTopic::ServerMachine,
                why: "another host".into(),
            }],
            ..Observed::default()
        }));
        assert!(
            text.contains("CPU of the server&#39;s machine, share of all its CPUs: not observed"),
            "{text}"
        );
        assert!(text.contains("machine (another host)"), "{text}");
        assert!(text.contains("IO/WalSync: 0 to 3"), "{text}");
        assert!(text.contains("<td>–</td>"), "{text}");
    }

    #[test]
    fn the_most_frequent_waits_have_separate_lines() {
        let waits = [("a", 9), ("b", 8), ("c", 7), ("d", 6), ("e", 5), ("f", 4)];
        let rows = [
            reading(0, &waits),
            reading(1, &[("a", 1)]),
            ServerSecond::default(),
        ];
        let groups: Vec<ReadingGroup<'_>> = rows.chunks(1).collect();
        let lines = wait_lines(&groups);
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
        let groups: Vec<ReadingGroup<'_>> = rows.chunks(1).collect();
        let lines = wait_time_lines(&groups);
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["A", "B", "C", "D", "all others"]);
        assert_eq!(lines[0].values, [Some(6.0), Some(1.5), None]);
        assert_eq!(lines[4].values, [Some(3.0), Some(0.0), None]);
        // Several readings of one point are weighted by their lengths.
        let merged = wait_time_lines(&[&rows[..2]]);
        assert_eq!(merged[0].values, [Some(3.0)]);

        let text = section_text(Some(Observed {
            series: rows,
            ..Observed::default()
        }));
        assert!(
            text.contains("Sessions waiting on average, by wait type, stacked"),
            "{text}"
        );
        assert!(text.contains("class=\"area a4\""), "{text}");
        assert!(
            text.contains("A 6.00, B 5.00, C 4.00, D 3.00, all others 3.00"),
            "{text}"
        );
        assert!(!text.contains("by wait event"), "{text}");
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
        assert!(text.contains("pages found: 99 % to 99 %"), "{text}");
        assert!(text.contains("connections: 7 to 7"), "{text}");
        assert!(!text.contains("Replication lag"), "{text}");
        rows[1].replication_lag_s = Some(2.5);
        let text = charts(&rows);
        assert!(
            text.contains("<figcaption id=\"lag-1-t\">Replication lag<"),
            "{text}"
        );
        assert!(
            text.contains("class=\"area a0\""),
            "waits are stacked: {text}"
        );
    }
}
