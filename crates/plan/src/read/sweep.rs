//! Reads `[sweep]` of a plan file: values of settings, machines, prices.

use super::{SWEEP, TableLevel, find_table};
use crate::experiment::{SWEEP_VALUES_HELP, SweepAxis, SweepInput, SweepMachine, parse_values};
use crate::input::{Located, PlanInput};
use crate::problem::{InputLocation, Problem};
use crate::section::{Entry, Section, Source};
use crate::settings::VARIANT_SETTINGS;
use serde::Deserialize;
use toml::de::{DeTable, DeValue, ValueDeserializer};

pub(super) fn read_sweep(
    source: Source<'_>,
    root: &DeTable<'_>,
    level: TableLevel<'_>,
    input: &mut PlanInput,
) {
    let mut section = find_table(source, root, SWEEP, level);
    if section.table.is_none() {
        input.file.problems.extend(section.problems);
        return;
    }
    let mut sweep = SweepInput {
        prices: section.read_text("prices"),
        configuration: section.read_text("configuration"),
        ..SweepInput::default()
    };
    // The order of the file decides which setting varies fastest.
    for Entry { key, offset, value } in section.unread_entries() {
        let location = source.location(offset, format!("{}.{key}", section.path));
        match (key, value.get_ref()) {
            ("machine", DeValue::Table(machines)) => {
                sweep.machines = read_machines(source, machines, &mut section);
            }
            // `run.clients = [1, 2]` without quotes is a table in a table.
            ("run" | "workload" | VARIANT_SETTINGS, DeValue::Table(settings)) => {
                for (name, value) in settings {
                    let key = format!("{key}.{}", name.get_ref());
                    let path = format!("{}.{key}", section.path);
                    let location = source.location(name.span().start, path);
                    let axis = read_axis(key, value.get_ref(), location, &mut section);
                    sweep.axes.extend(axis);
                }
            }
            (_, values) => {
                let axis = read_axis(key.to_owned(), values, location, &mut section);
                sweep.axes.extend(axis);
            }
        }
    }
    input.file.problems.extend(section.problems);
    input.sweep = Some(sweep);
}

/// Reads the values of a key; `None` if they have a problem, which is added to those of `section`.
fn read_axis(
    key: String,
    values: &DeValue<'_>,
    location: InputLocation,
    section: &mut Section<'_, '_>,
) -> Option<SweepAxis> {
    let values = match values {
        DeValue::Array(_) => read_list(values),
        DeValue::String(text) => parse_values(text),
        _ => Err(format!("must be a list or a range: {SWEEP_VALUES_HELP}")),
    };
    match values {
        Ok(values) => {
            let key = Located {
                value: key,
                location,
            };
            Some(SweepAxis { key, values })
        }
        Err(message) => {
            section.problems.push(Problem::new(location, message));
            None
        }
    }
}

fn read_list(list: &DeValue<'_>) -> Result<Vec<toml::Value>, String> {
    // The deserializer wants a place in the text, which only its errors would show.
    let list = toml::Spanned::new(0..0, list.clone());
    let values = Vec::<toml::Value>::deserialize(ValueDeserializer::from(list));
    let values = values.map_err(|error| error.message().to_owned())?;
    if values
        .iter()
        .any(|value| value.is_array() || value.is_table())
    {
        return Err(format!("is not a list of values: {SWEEP_VALUES_HELP}"));
    }
    Ok(values)
}

/// `[sweep.machine.NAME]`, in the order of the file.
fn read_machines(
    source: Source<'_>,
    machines: &DeTable<'_>,
    sweep: &mut Section<'_, '_>,
) -> Vec<SweepMachine> {
    let mut entries: Vec<_> = machines.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    let mut read = Vec::new();
    for (name, value) in entries {
        let path = format!("{}.machine.{}", sweep.path, name.get_ref());
        let location = source.location(name.span().start, path.clone());
        let Some(table) = value.get_ref().as_table() else {
            let hint = format!("write [{path}] on a line of its own, and its url below");
            let problem = Problem::new(location, "must be a table");
            sweep.problems.push(problem.with_hint(hint));
            continue;
        };
        let name = Located {
            value: name.get_ref().as_ref().to_owned(),
            location,
        };
        let mut section = Section::new(source, "machine", path, Some(table));
        read.push(read_machine(name, table, &mut section));
        sweep.problems.append(&mut section.problems);
    }
    read
}

/// Reads the machine `name` from `table`, which is that of `section`.
fn read_machine(
    name: Located<String>,
    table: &DeTable<'_>,
    section: &mut Section<'_, '_>,
) -> SweepMachine {
    let url = section.read_text("url");
    let configuration = section.read_text("configuration");
    let server_metrics = section.read_text("server_metrics");
    // All other keys are facts.
    let own_keys = ["url", "configuration", "server_metrics"];
    let path = section.path.clone();
    let facts = section.read_fact_table("machine", &path, table, &own_keys);
    if url.is_none() && !section.rejected_keys.contains(&"machine.url".to_owned()) {
        let hint = "name its server: url = \"postgres://host/database\"";
        section.problems.push(name.problem("has no url", hint));
    }
    let declared = Located {
        value: facts,
        location: name.location.clone(),
    };
    SweepMachine {
        name,
        input: PlanInput {
            url,
            server_metrics,
            declared: Some(declared).filter(|declared| !declared.value.is_empty()),
            ..PlanInput::default()
        },
        configuration,
    }
}
