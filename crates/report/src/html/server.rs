//! What was seen of the server, under the same axis of time as what the client saw.
//!
//! In: a Run. Out: charts of CPU, sessions and bytes, a table, and sentences. Must never: show what was
//! not seen as a zero.

use super::chart::{Axis, Chart, Line, clock};
use super::escape::Text;
use super::marks::Mark;
use super::one::{end, table_of};
use super::seconds::{end_s, row, together};
use crate::terminal::server::lines;
use crate::text::plain;
use crate::units;
use prony_store::{MachineSecond, Run, ServerSecond};
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// As many sorts of waits have a line of their own.
const WAITS: usize = 4;

/// Some readings put together.
type Rows<'a> = &'a [ServerSecond];

/// A mean by time; absent where no reading knows it.
fn mean(rows: Rows<'_>, of: impl Fn(&ServerSecond) -> Option<f64>) -> Option<f64> {
    let known = rows.iter().filter_map(|row| Some((of(row)?, row.seconds)));
    let (sum, seconds) = known.fold((0.0, 0.0), |(sum, all), (value, s)| {
        (sum + value * s, all + s)
    });
    (seconds > 0.0).then(|| sum / seconds)
}

/// How much it was a second.
fn rate(rows: Rows<'_>, of: impl Fn(&ServerSecond) -> Option<u64>) -> Option<f64> {
    mean(rows, |row| {
        (row.seconds > 0.0).then_some(of(row)? as f64 / row.seconds)
    })
}

fn machine(rows: Rows<'_>, of: fn(&MachineSecond) -> Option<f64>) -> Option<f64> {
    mean(rows, |row| of(row.machine.as_ref()?))
}

/// CPUs that the server's processes used.
fn own_cpus(rows: Rows<'_>) -> Option<f64> {
    mean(rows, |row| {
        let cpu_s = row.machine.as_ref()?.server_cpu_s?;
        (row.seconds > 0.0).then(|| cpu_s / row.seconds)
    })
}

/// Writes it.
pub fn write(out: &mut String, run: &Run, number: usize, marks: &[Mark]) -> fmt::Result {
    let Some(seen) = &run.observed else {
        let why = match run.imported {
            Some(_) => "the output that this run was read from says no more of the server",
            None => "nobody looked at the server in this run",
        };
        return writeln!(out, "<p class=\"absent\">Not observed: {why}.</p>");
    };
    if let Some(why) = &seen.off {
        return writeln!(
            out,
            "<p class=\"absent\">Not observed: {}</p>",
            Text(plain(why))
        );
    }
    for line in lines(run, seen) {
        writeln!(out, "<p>{}</p>", Text(line))?;
    }
    if seen.series.is_empty() {
        return writeln!(
            out,
            "<p class=\"absent\">No reading of the server in the load.</p>"
        );
    }
    let groups: Vec<Rows<'_>> = seen.series.chunks(together(seen.series.len())).collect();
    charts(out, run, number, marks, &groups)?;
    table(out, number, &groups, end_s(run))
}

fn middle_s(rows: Rows<'_>) -> f64 {
    let seconds: f64 = rows.iter().map(|row| row.seconds).sum();
    rows.first().map_or(0.0, |row| row.at_s) + seconds / 2.0
}

fn charts(
    out: &mut String,
    run: &Run,
    number: usize,
    marks: &[Mark],
    groups: &[Rows<'_>],
) -> fmt::Result {
    let at_s: Vec<f64> = groups.iter().map(|rows| middle_s(rows)).collect();
    let mut draw = |id, title, mut lines: Vec<Line>, unit, axis| {
        lines.retain(|line| line.values.iter().any(Option::is_some));
        if lines.is_empty() {
            return writeln!(out, "<p class=\"absent\">{title}: not seen.</p>");
        }
        let chart = Chart {
            id: format!("{id}-{number}"),
            title,
            at_s: &at_s,
            lines,
            unit,
            axis,
            marks,
            warmup_s: run.window.warmup_s,
            end_s: end_s(run),
            table: format!("readings-{number}"),
        };
        chart.draw(out)
    };
    let title = "CPU of the server's machine, share of all its CPUs";
    draw("cpu", title, cpu(groups), units::percent, Axis::Share)?;
    let title = "What sessions at work did: sessions seen at each reading";
    draw("waits", title, waits(groups), sessions, Axis::Linear)?;
    let title = "Log and disks, bytes a second";
    let size = |bytes| format!("{}/s", units::bytes(bytes as u64));
    draw("bytes", title, bytes(groups), size, Axis::Linear)
}

fn line(name: &str, groups: &[Rows<'_>], of: impl Fn(Rows<'_>) -> Option<f64>) -> Line {
    Line {
        name: name.to_owned(),
        values: groups.iter().map(|rows| of(rows)).collect(),
    }
}

fn cpu(groups: &[Rows<'_>]) -> Vec<Line> {
    vec![
        line("at work", groups, |rows| machine(rows, |of| of.busy)),
        line("idle, waiting for I/O", groups, |rows| {
            machine(rows, |of| of.io_wait)
        }),
        line("stolen by the hypervisor", groups, |rows| {
            machine(rows, |of| of.steal)
        }),
        line("the client's machine at work", groups, |rows| {
            mean(rows, |row| row.client.as_ref()?.busy)
        }),
    ]
}

fn bytes(groups: &[Rows<'_>]) -> Vec<Line> {
    vec![
        line("log", groups, |rows| rate(rows, |row| row.log_bytes)),
        line("written to disks", groups, |rows| {
            rate(rows, |row| row.machine.as_ref()?.disk_write_bytes)
        }),
        line("read from disks", groups, |rows| {
            rate(rows, |row| row.machine.as_ref()?.disk_read_bytes)
        }),
    ]
}

/// A number of sessions: a mean of several readings need not be whole.
fn sessions(mean: f64) -> String {
    match mean.fract() == 0.0 && mean >= 0.0 {
        true => units::count(mean as u64),
        false => format!("{mean:.1}"),
    }
}

/// Whether a reading says what sessions did: one without any at work knows it too.
fn knows(row: &ServerSecond) -> bool {
    !row.waits.is_empty() || row.active == Some(0)
}

/// The most frequent waits, a line each, and all others together.
fn waits(groups: &[Rows<'_>]) -> Vec<Line> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for row in groups.iter().copied().flatten() {
        for (event, sessions) in &row.waits {
            *sums.entry(event).or_default() += u64::from(*sessions);
        }
    }
    let mut sums: Vec<(&str, u64)> = sums.into_iter().filter(|(_, sum)| *sum > 0).collect();
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
    let named: Vec<&str> = sums.iter().take(WAITS).map(|(event, _)| *event).collect();
    let known = |rows: Rows<'_>, counted: &dyn Fn(&str) -> bool| {
        mean(rows, |row| {
            let sessions = row.waits.iter().filter(|(event, _)| counted(event));
            knows(row).then(|| sessions.map(|(_, count)| f64::from(*count)).sum())
        })
    };
    let mut lines: Vec<Line> = named
        .iter()
        .map(|name| {
            line(&plain(name), groups, |rows| {
                known(rows, &|event| event == *name)
            })
        })
        .collect();
    if sums.len() > WAITS {
        let others = |rows: Rows<'_>| known(rows, &|event| !named.contains(&event));
        lines.push(line("all others", groups, others));
    }
    lines
}

const COLUMNS: [&str; 10] = [
    "from",
    "commits /s",
    "CPU at work",
    "I/O wait",
    "server's processes, CPUs",
    "sessions at work",
    "waiting for a lock",
    "log /s",
    "disk writes /s",
    "waits",
];

fn table(out: &mut String, number: usize, groups: &[Rows<'_>], end_s: f64) -> fmt::Result {
    out.push_str("<details><summary>The readings as a table</summary>");
    let id = format!("readings-{number}");
    table_of(out, Some(&id), "The readings", &COLUMNS)?;
    for rows in groups {
        let told = |value: Option<f64>, show: fn(f64) -> String| value.map_or("–".into(), show);
        let size = |bytes: f64| units::bytes(bytes as u64);
        let cells = [
            told(rate(rows, |row| row.commits), units::rate),
            told(machine(rows, |of| of.busy), units::percent),
            told(machine(rows, |of| of.io_wait), units::percent),
            told(own_cpus(rows), units::rate),
            told(mean(rows, |row| row.active.map(f64::from)), sessions),
            told(mean(rows, |row| row.lock_waits.map(f64::from)), sessions),
            told(rate(rows, |row| row.log_bytes), size),
            told(
                rate(rows, |row| row.machine.as_ref()?.disk_write_bytes),
                size,
            ),
            of_a_reading(rows),
        ];
        let from_s = rows.first().map_or(0.0, |row| row.at_s);
        row(out, middle_s(rows), &clock(from_s, end_s), &cells)?;
    }
    end(out);
    out.push_str("</details>\n");
    Ok(())
}

/// What sessions did, by the first of the readings that are put together.
fn of_a_reading(rows: Rows<'_>) -> String {
    let Some(row) = rows.first().filter(|row| knows(row)) else {
        return "–".to_owned();
    };
    let each = row.waits.iter();
    let each: Vec<String> = each
        .map(|(event, count)| format!("{} {count}", plain(event)))
        .collect();
    each.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;
    use prony_store::{Missing, Observed};

    fn reading(at_s: u32, waits: &[(&str, u32)]) -> ServerSecond {
        ServerSecond {
            at_s: at_s.into(),
            seconds: 1.0,
            active: Some(waits.len() as u32),
            waits: waits
                .iter()
                .map(|(name, n)| ((*name).to_owned(), *n))
                .collect(),
            ..ServerSecond::default()
        }
    }

    fn shown(observed: Option<Observed>) -> String {
        let mut run = closed();
        run.observed = observed;
        let mut out = String::new();
        write(&mut out, &run, 1, &[]).unwrap();
        out
    }

    #[test]
    fn what_was_not_seen_is_absent_and_named() {
        assert!(shown(None).contains("nobody looked"));
        let off = Observed {
            off: Some("asked <b>not</b> to".into()),
            ..Observed::default()
        };
        assert!(shown(Some(off)).contains("asked &lt;b&gt;not"));
        let text = shown(Some(Observed {
            series: vec![reading(0, &[("IO/WalSync", 3)]), reading(1, &[])],
            missing: vec![Missing {
                what: "server machine".into(),
                why: "another host".into(),
            }],
            ..Observed::default()
        }));
        assert!(
            text.contains("CPU of the server's machine, share of all its CPUs: not seen"),
            "{text}"
        );
        assert!(text.contains("server machine (another host)"), "{text}");
        assert!(text.contains("IO/WalSync: 0 to 3"), "{text}");
        assert!(text.contains("<td>–</td>"), "{text}");
    }

    #[test]
    fn the_most_frequent_waits_have_lines_and_the_rest_one() {
        let all = [("a", 9), ("b", 8), ("c", 7), ("d", 6), ("e", 5), ("f", 4)];
        let rows = [
            reading(0, &all),
            reading(1, &[("a", 1)]),
            ServerSecond::default(),
        ];
        let groups: Vec<Rows<'_>> = rows.chunks(1).collect();
        let lines = waits(&groups);
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d", "all others"]);
        assert_eq!(lines[4].values, [Some(9.0), Some(0.0), None]);
    }
}
