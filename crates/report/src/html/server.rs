//! The section with the observations of the server; its charts have the time axis of the client's charts.
//!
//! In: a Run. Out: charts of CPU, sessions and bytes, a table, and sentences. Must never: show an
//! unobserved value as zero.

use super::chart::{Axis, ChartLine, Charts, time_label};
use super::escape::Escaped;
use super::marks::EventMark;
use super::seconds::{end_s, group_size};
use super::table::{end_table, start_table_with_id, write_row_at_time};
use crate::terminal::server::{by_wait_event, describe_server};
use crate::text::plain;
use crate::units::{self, or_dash};
use prony_store::{MachineSecond, Run, ServerSecond};
use std::fmt::{self, Write};

/// Maximum number of wait events with separate lines.
const MAX_WAIT_EVENTS: usize = 4;

/// Consecutive readings that are merged into one point.
type ReadingGroup<'a> = &'a [ServerSecond];

/// The mean of a value weighted by time; `None` if no reading has the value.
fn weighted_mean(
    rows: ReadingGroup<'_>,
    value_of: impl Fn(&ServerSecond) -> Option<f64>,
) -> Option<f64> {
    let known = rows
        .iter()
        .filter_map(|row| Some((value_of(row)?, row.length_s)));
    let (sum, seconds) = known.fold((0.0, 0.0), |(sum, seconds), (value, s)| {
        (sum + value * s, seconds + s)
    });
    (seconds > 0.0).then(|| sum / seconds)
}

/// A count per second; `None` if no reading has the count.
fn per_second(
    rows: ReadingGroup<'_>,
    count_of: impl Fn(&ServerSecond) -> Option<u64>,
) -> Option<f64> {
    weighted_mean(rows, |row| {
        (row.length_s > 0.0).then_some(count_of(row)? as f64 / row.length_s)
    })
}

/// The mean of a value of the server's machine.
fn machine_mean(
    rows: ReadingGroup<'_>,
    value_of: fn(&MachineSecond) -> Option<f64>,
) -> Option<f64> {
    weighted_mean(rows, |row| value_of(row.machine.as_ref()?))
}

/// The number of CPUs used by the server's processes.
fn server_cpus(rows: ReadingGroup<'_>) -> Option<f64> {
    weighted_mean(rows, |row| {
        let cpu_s = row.machine.as_ref()?.server_cpu_s?;
        (row.length_s > 0.0).then(|| cpu_s / row.length_s)
    })
}

/// Writes the section.
pub fn write(out: &mut String, run: &Run, number: usize, marks: &[EventMark]) -> fmt::Result {
    let Some(observed) = &run.observed else {
        let reason = match run.imported {
            Some(_) => "the imported output has no observations of the server",
            None => "the server was not observed in this run",
        };
        return writeln!(out, "<p class=\"absent\">Not observed: {reason}.</p>");
    };
    if let Some(reason) = &observed.off {
        let reason = Escaped(plain(reason));
        return writeln!(out, "<p class=\"absent\">Not observed: {reason}</p>");
    }
    for line in describe_server(run, observed) {
        writeln!(out, "<p>{}</p>", Escaped(line))?;
    }
    if observed.series.is_empty() {
        let notice = "No readings of the server during the load.";
        return writeln!(out, "<p class=\"absent\">{notice}</p>");
    }
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
    let mut draw = |id, title, mut lines: Vec<ChartLine>, unit, axis| {
        lines.retain(|line| line.values.iter().any(Option::is_some));
        match lines.is_empty() {
            true => writeln!(out, "<p class=\"absent\">{title}: not observed.</p>"),
            false => charts.draw(out, id, title, lines, unit, axis),
        }
    };
    let title = "CPU of the server's machine, share of all its CPUs";
    draw(
        "cpu",
        title,
        cpu_lines(&groups),
        units::percent,
        Axis::Share,
    )?;
    let title = "Active sessions by wait event, at each reading";
    draw(
        "waits",
        title,
        wait_lines(&groups),
        format_sessions,
        Axis::Linear,
    )?;
    let title = "Log and disks, bytes per second";
    let bytes_per_second = |bytes| format!("{}/s", units::bytes(bytes as u64));
    draw(
        "bytes",
        title,
        bytes_lines(&groups),
        bytes_per_second,
        Axis::Linear,
    )?;
    write_table(out, number, &groups, end_s(run))
}

/// The middle of a group, in seconds since the start of the load.
fn middle_s(rows: ReadingGroup<'_>) -> f64 {
    let seconds: f64 = rows.iter().map(|row| row.length_s).sum();
    rows.first().map_or(0.0, |row| row.at_s) + seconds / 2.0
}

fn chart_line(
    name: &str,
    groups: &[ReadingGroup<'_>],
    value_of: impl Fn(ReadingGroup<'_>) -> Option<f64>,
) -> ChartLine {
    ChartLine {
        name: name.to_owned(),
        values: groups.iter().map(|rows| value_of(rows)).collect(),
    }
}

fn cpu_lines(groups: &[ReadingGroup<'_>]) -> Vec<ChartLine> {
    vec![
        chart_line("busy", groups, |rows| {
            machine_mean(rows, |second| second.busy_share)
        }),
        chart_line("idle, waiting for I/O", groups, |rows| {
            machine_mean(rows, |second| second.io_wait_share)
        }),
        chart_line("stolen by the hypervisor", groups, |rows| {
            machine_mean(rows, |second| second.steal_share)
        }),
        chart_line("the client's machine, busy", groups, |rows| {
            weighted_mean(rows, |row| row.client.as_ref()?.busy_share)
        }),
    ]
}

fn bytes_lines(groups: &[ReadingGroup<'_>]) -> Vec<ChartLine> {
    vec![
        chart_line("log", groups, |rows| per_second(rows, |row| row.log_bytes)),
        chart_line("written to disks", groups, |rows| {
            per_second(rows, |row| row.machine.as_ref()?.disk_write_bytes)
        }),
        chart_line("read from disks", groups, |rows| {
            per_second(rows, |row| row.machine.as_ref()?.disk_read_bytes)
        }),
    ]
}

/// Formats a number of sessions; the mean of several readings may be fractional.
fn format_sessions(mean: f64) -> String {
    match mean.fract() == 0.0 && mean >= 0.0 {
        true => units::count(mean as u64),
        false => format!("{mean:.1}"),
    }
}

/// Whether a reading includes sessions, possibly none that is active.
fn has_sessions(row: &ServerSecond) -> bool {
    !row.waits.is_empty() || row.active == Some(0)
}

/// One line for each of the most frequent wait events, and a line for all others.
fn wait_lines(groups: &[ReadingGroup<'_>]) -> Vec<ChartLine> {
    let sums = by_wait_event(groups.iter().copied().flatten());
    let named_events: Vec<&str> = sums
        .iter()
        .take(MAX_WAIT_EVENTS)
        .map(|(event, _)| *event)
        .collect();
    let mean_sessions = |rows: ReadingGroup<'_>, is_counted: &dyn Fn(&str) -> bool| {
        weighted_mean(rows, |row| {
            let sessions = row.waits.iter().filter(|(event, _)| is_counted(event));
            has_sessions(row).then(|| sessions.map(|(_, count)| f64::from(*count)).sum())
        })
    };
    let mut lines: Vec<ChartLine> = named_events
        .iter()
        .map(|name| {
            chart_line(&plain(name), groups, |rows| {
                mean_sessions(rows, &|event| event == *name)
            })
        })
        .collect();
    if sums.len() > MAX_WAIT_EVENTS {
        let other_sessions =
            |rows: ReadingGroup<'_>| mean_sessions(rows, &|event| !named_events.contains(&event));
        lines.push(chart_line("all others", groups, other_sessions));
    }
    lines
}

const TABLE_COLUMNS: [&str; 10] = [
    "from",
    "commits /s",
    "CPU busy",
    "I/O wait",
    "server's processes, CPUs",
    "active sessions",
    "waiting for a lock",
    "log /s",
    "disk writes /s",
    "waits",
];

fn write_table(
    out: &mut String,
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
                weighted_mean(rows, |row| row.active.map(f64::from)),
                format_sessions,
            ),
            or_dash(
                weighted_mean(rows, |row| row.lock_waits.map(f64::from)),
                format_sessions,
            ),
            or_dash(per_second(rows, |row| row.log_bytes), format_bytes),
            or_dash(disk_writes, format_bytes),
            wait_events_cell(rows),
        ];
        let from_s = rows.first().map_or(0.0, |row| row.at_s);
        write_row_at_time(out, middle_s(rows), &time_label(from_s, end_s), &cells)?;
    }
    end_table(out)?;
    out.write_str("</details>\n")
}

/// The wait events of the sessions in the first of the merged readings.
fn wait_events_cell(rows: ReadingGroup<'_>) -> String {
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
    use prony_store::{MissingObservation, Observed};

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
        let mut out = String::new();
        write(&mut out, &run, 1, &[]).unwrap();
        out
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
            text.contains("CPU of the server's machine, share of all its CPUs: not observed"),
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
}
