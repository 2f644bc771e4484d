//! The settings in which two runs differ, side by side.
//!
//! In: two Runs. Out: a table by group, and JSON. Must never: judge a difference, which `prony compare` does, or leave
//! one out.

use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::text::plain;
use crate::units::{self, count_with_noun};
use prony_store::{Choice, Durability, Run};
use serde::Serialize;
use std::io::{self, Write};

/// Maximum width of a value, in characters; a longer one continues on the next line.
const MAX_VALUE_WIDTH: usize = 30;

/// A setting of a run, with the group to which it belongs.
type NamedValue = (&'static str, String, String);

/// A setting in which two runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingDifference {
    /// Its group: `load`, `workload`, `server`, `client` or `server settings`.
    pub group: &'static str,
    pub name: String,
    /// The first run's value; absent if the document has none.
    pub a: Option<String>,
    /// The second run's value; absent if the document has none.
    pub b: Option<String>,
}

/// The settings of two runs that differ, in the order of the groups, and the number of those that are the same.
pub fn setting_differences(a: &Run, b: &Run) -> (Vec<SettingDifference>, usize) {
    let [values_a, values_b] = [a, b].map(values);
    let find = |values: &[NamedValue], group: &str, name: &str| {
        let mut values = values.iter();
        let found = values.find(|value| value.0 == group && value.1 == name);
        found.map(|value| value.2.clone())
    };
    let only_b = values_b
        .iter()
        .filter(|value| find(&values_a, value.0, &value.1).is_none());
    let mut names: Vec<(&'static str, &String)> = values_a
        .iter()
        .chain(only_b)
        .map(|value| (value.0, &value.1))
        .collect();
    names.sort_by_key(|(group, _)| GROUPS.iter().position(|known| known == group));
    let all = names.len();
    let differences: Vec<SettingDifference> = names
        .into_iter()
        .map(|(group, name)| SettingDifference {
            group,
            name: name.clone(),
            a: find(&values_a, group, name),
            b: find(&values_b, group, name),
        })
        .filter(|difference| difference.a != difference.b)
        .collect();
    let same = all - differences.len();
    (differences, same)
}

/// Writes the differences as one table per group.
pub fn write(out: &mut dyn Write, style: &Style, a: &Run, b: &Run) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    let (differences, same) = setting_differences(a, b);
    for (letter, run) in [("A", a), ("B", b)] {
        let id = plain(&run.id);
        out.line(format!("{letter}  {}", out.style.bold(&id)))?;
    }
    for group in GROUPS {
        let mut table = Table::new(&[""]).with_texts(&["A", "B"]);
        let in_group = differences
            .iter()
            .filter(|difference| difference.group == group);
        for difference in in_group {
            let values = [&difference.a, &difference.b]
                .map(|value| value.as_ref().map_or("–".to_owned(), |text| plain(text)));
            table.wrapped_row(&plain(&difference.name), &values, MAX_VALUE_WIDTH);
        }
        if !table.is_empty() {
            out.heading(group)?;
            out.table(&table)?;
        }
    }
    out.line("")?;
    let same = count_with_noun(same as u64, "setting is", "settings are");
    match differences.len() as u64 {
        0 => out.line(format!("No setting differs; {same} the same.")),
        number => {
            let differ = count_with_noun(number, "setting differs", "settings differ");
            out.line(format!("{differ}, {same} the same."))
        }
    }
}

/// The groups, in the order in which they are written.
const GROUPS: [&str; 5] = [LOAD, WORKLOAD, SERVER, CLIENT, SERVER_SETTINGS];
const LOAD: &str = "load";
const WORKLOAD: &str = "workload";
const SERVER: &str = "server";
const CLIENT: &str = "client";
const SERVER_SETTINGS: &str = "server settings";

fn values(run: &Run) -> Vec<NamedValue> {
    let mut values = load_values(run);
    let workload = &run.workload;
    values.push((WORKLOAD, "name".to_owned(), workload.name.clone()));
    values.push((WORKLOAD, "scale".to_owned(), workload.scale.to_string()));
    let options = workload.settings.iter();
    values.extend(options.map(|option| (WORKLOAD, option.name.clone(), option.value.clone())));
    values.extend(server_values(run));
    let settings = run.server.settings.iter();
    values.extend(settings.map(|(name, value)| {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        (SERVER_SETTINGS, name.clone(), text)
    }));
    values
}

fn load_values(run: &Run) -> Vec<NamedValue> {
    let (drive, window, host) = (&run.drive, &run.window, &run.machine().host);
    let pace = match drive.rate_tps {
        Some(rate) => {
            let arrival = drive.arrival.map_or("scheduled", Choice::name);
            format!("{rate} transactions/s, {arrival}")
        }
        None if drive.open_loop => "open loop".to_owned(),
        None => "closed loop".to_owned(),
    };
    let connections = if drive.connect_per_transaction { "one per transaction" } else { "kept" };
    let text = |group, name: &str, value: String| (group, name.to_owned(), value);
    vec![
        text(LOAD, "clients", drive.clients.to_string()),
        text(LOAD, "threads", drive.threads.to_string()),
        text(LOAD, "pace", pace),
        text(
            LOAD,
            "protocol",
            drive.protocol.map_or("unknown", Choice::name).to_owned(),
        ),
        text(LOAD, "connections", connections.to_owned()),
        text(LOAD, "warm-up", units::span(window.warmup_s.round())),
        text(LOAD, "measured", units::span(window.measured_s.round())),
        text(LOAD, "seed", drive.seed.to_string()),
        text(LOAD, "I/O engine", drive.io.clone()),
        text(CLIENT, "host", host.name.clone()),
        text(CLIENT, "CPU", host.cpu.clone()),
        text(CLIENT, "CPUs", host.cpus.to_string()),
        text(CLIENT, "memory", units::bytes(host.memory_bytes)),
        text(CLIENT, "kernel", host.kernel.clone()),
        text(CLIENT, "Prony", run.build.version.clone()),
    ]
}

/// The server and its machine; values that were not observed are left out.
fn server_values(run: &Run) -> Vec<NamedValue> {
    let server = &run.server;
    let observed = run.observed.as_ref();
    let machine = observed.map(|observed| &observed.machine);
    let before = observed.and_then(|observed| observed.before.as_ref());
    let durability = before.and_then(|state| state.durability.as_ref());
    let values = [
        ("engine", Some(server.product_name())),
        ("version", Some(server.version.clone())),
        ("address", server.address.as_ref().map(ToString::to_string)),
        ("database", Some(server.database.clone())),
        ("role", Some(server.user.clone())),
        (
            "TLS",
            Some(server.tls.clone().unwrap_or_else(|| "none".to_owned())),
        ),
        ("durability class", durability.map(Durability::description)),
        (
            "replication",
            before.and_then(|state| Some(state.replication?.name().to_owned())),
        ),
        (
            "size of the database",
            before.and_then(|state| state.database_bytes.map(units::bytes)),
        ),
        ("CPU", machine.and_then(|machine| machine.cpu.clone())),
        (
            "CPUs",
            machine.and_then(|machine| Some(machine.cpus?.to_string())),
        ),
        (
            "memory",
            machine.and_then(|machine| machine.memory_bytes.map(units::bytes)),
        ),
        (
            "storage",
            machine.and_then(|machine| machine.storage.clone()),
        ),
        ("kernel", machine.and_then(|machine| machine.kernel.clone())),
    ];
    let known = values.into_iter();
    let known = known.filter_map(|(name, value)| Some((SERVER, name.to_owned(), value?)));
    let declared = server.declared.iter();
    let declared = declared.map(|(fact, value)| {
        (
            SERVER,
            format!("declared {}", fact.name()),
            value.to_owned(),
        )
    });
    known.chain(declared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{closed, written};
    use prony_assertions::TextAssertions;
    use serde_json::json;

    #[test]
    fn differing_settings_are_listed_by_group_and_equal_ones_counted() {
        let (a, mut b) = (closed(), closed());
        let text = |a: &Run, b: &Run| written(|out| write(out, &Style::plain(), a, b));
        text(&a, &b).assert_contains("\nNo setting differs; ");
        b.drive.clients = 128;
        b.server
            .settings
            .insert("work_mem".to_owned(), json!("4MB\x1b[2J"));
        b.server
            .settings
            .insert("shared_buffers".to_owned(), json!("8 GB ".repeat(20)));
        let text = text(&a, &b);
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "load A B clients 64 128 ",
            "server settings A B ",
            "shared_buffers 128MB 8 GB 8 GB",
            "work_mem – 4MB\\x1b[2J",
            "3 settings differ, ",
        ] {
            assert!(flat.contains(expected), "no `{expected}` in\n{text}");
        }
        assert!(!flat.contains("fsync"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }

    #[test]
    fn differences_are_symmetric() {
        let (a, mut b) = (closed(), closed());
        b.server.settings.remove("fsync");
        b.workload.settings.clear();
        let swapped: Vec<SettingDifference> = setting_differences(&b, &a)
            .0
            .into_iter()
            .map(|difference| SettingDifference {
                a: difference.b,
                b: difference.a,
                ..difference
            })
            .collect();
        let (differences, same) = setting_differences(&a, &b);
        assert_eq!(differences, swapped);
        assert_eq!(differences.len(), 2);
        assert!(same > 20);
    }
}
