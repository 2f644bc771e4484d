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

/// A setting of a run.
struct NamedValue {
    /// One of [`GROUPS`].
    group: &'static str,
    name: String,
    value: String,
}

impl NamedValue {
    fn new(group: &'static str, name: impl Into<String>, value: impl Into<String>) -> NamedValue {
        NamedValue {
            group,
            name: name.into(),
            value: value.into(),
        }
    }
}

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
    let find = |values: &[NamedValue], setting: &NamedValue| {
        let is_setting =
            |value: &&NamedValue| (value.group, &value.name) == (setting.group, &setting.name);
        let found = values.iter().find(is_setting);
        found.map(|value| value.value.clone())
    };
    let is_only_in_b = |value: &&NamedValue| find(&values_a, value).is_none();
    let only_in_b = values_b.iter().filter(is_only_in_b);
    let mut settings: Vec<&NamedValue> = values_a.iter().chain(only_in_b).collect();
    settings.sort_by_key(|setting| GROUPS.iter().position(|known| *known == setting.group));
    let mut differences = Vec::new();
    for setting in &settings {
        let (a, b) = (find(&values_a, setting), find(&values_b, setting));
        if a != b {
            differences.push(SettingDifference {
                group: setting.group,
                name: setting.name.clone(),
                a,
                b,
            });
        }
    }
    let same = settings.len() - differences.len();
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
    values.push(NamedValue::new(WORKLOAD, "name", &workload.name));
    let scale = workload.scale.to_string();
    values.push(NamedValue::new(WORKLOAD, "scale", scale));
    for option in &workload.settings {
        values.push(NamedValue::new(WORKLOAD, &option.name, &option.value));
    }
    values.extend(server_values(run));
    for (name, value) in &run.server.settings {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        values.push(NamedValue::new(SERVER_SETTINGS, name, text));
    }
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
    let protocol = drive.protocol.map_or("unknown", Choice::name);
    let [warmup, measured] = [window.warmup_s, window.measured_s].map(|s| units::span(s.round()));
    vec![
        NamedValue::new(LOAD, "clients", drive.clients.to_string()),
        NamedValue::new(LOAD, "threads", drive.threads.to_string()),
        NamedValue::new(LOAD, "pace", pace),
        NamedValue::new(LOAD, "protocol", protocol),
        NamedValue::new(LOAD, "connections", connections),
        NamedValue::new(LOAD, "warm-up", warmup),
        NamedValue::new(LOAD, "measured", measured),
        NamedValue::new(LOAD, "seed", drive.seed.to_string()),
        NamedValue::new(LOAD, "I/O engine", &drive.io),
        NamedValue::new(CLIENT, "host", &host.name),
        NamedValue::new(CLIENT, "CPU", &host.cpu),
        NamedValue::new(CLIENT, "CPUs", host.cpus.to_string()),
        NamedValue::new(CLIENT, "memory", units::bytes(host.memory_bytes)),
        NamedValue::new(CLIENT, "kernel", &host.kernel),
        NamedValue::new(CLIENT, "Prony", &run.build.version),
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
    let values = values.into_iter();
    let observed = values.filter_map(|(name, value)| Some(NamedValue::new(SERVER, name, value?)));
    let declared = server.declared.iter().map(|(fact, value)| {
        let name = format!("declared {}", fact.name());
        NamedValue::new(SERVER, name, value)
    });
    observed.chain(declared).collect()
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
