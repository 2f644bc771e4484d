//! Reads `[sweep]` of a plan file: values of settings, machines, prices.

use super::{SWEEP, TableLevel, find_table};
use crate::experiment::{SWEEP_VALUES_HELP, SweepAxis, SweepInput, SweepMachine, parse_values};
use crate::input::{Located, PlanInput};
use crate::problem::{InputLocation, Problem};
use crate::section::{Section, Source};
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
    for (key, offset, value) in section.unread_keys() {
        let path = format!("{}.{key}", section.path);
        let location = source.location(offset, path);
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
                    let values = read_values(value.get_ref(), &location, &mut section);
                    sweep
                        .axes
                        .extend(values.map(|values| axis(&key, location, values)));
                }
            }
            (_, found) => {
                let values = read_values(found, &location, &mut section);
                sweep
                    .axes
                    .extend(values.map(|values| axis(key, location, values)));
            }
        }
    }
    input.file.problems.extend(section.problems);
    input.sweep = Some(sweep);
}

fn axis(key: &str, location: InputLocation, values: Vec<toml::Value>) -> SweepAxis {
    let key = Located {
        value: key.to_owned(),
        location,
    };
    SweepAxis { key, values }
}

fn read_values(
    value: &DeValue<'_>,
    location: &InputLocation,
    section: &mut Section<'_, '_>,
) -> Option<Vec<toml::Value>> {
    let result = match value {
        DeValue::Array(_) => {
            let value = toml::Spanned::new(0..0, value.clone());
            let values = Vec::<toml::Value>::deserialize(ValueDeserializer::from(value));
            let values = values.map_err(|error| error.message().to_owned());
            values.and_then(|values| {
                let nested = |value: &toml::Value| value.is_array() || value.is_table();
                if values.iter().any(nested) {
                    Err(format!("is not a list of values: {SWEEP_VALUES_HELP}"))
                } else {
                    Ok(values)
                }
            })
        }
        DeValue::String(text) => parse_values(text),
        _ => Err(format!("must be a list or a range: {SWEEP_VALUES_HELP}")),
    };
    match result {
        Ok(values) => Some(values),
        Err(message) => {
            section
                .problems
                .push(Problem::new(location.clone(), message));
            None
        }
    }
}

/// `[sweep.machine.NAME]`, in the order of the file.
fn read_machines<'a>(
    source: Source<'a>,
    machines: &'a DeTable<'_>,
    sweep: &mut Section<'_, '_>,
) -> Vec<SweepMachine> {
    let mut entries: Vec<_> = machines.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    let machines = entries.into_iter().filter_map(|(name, value)| {
        let path = format!("{}.machine.{}", sweep.path, name.get_ref());
        let location = source.location(name.span().start, path.clone());
        let Some(table) = value.get_ref().as_table() else {
            let problem = Problem::new(location, "must be a table");
            sweep.problems.push(problem.with_hint(format!(
                "write [{path}] on a line of its own, and its url below"
            )));
            return None;
        };
        let mut section = Section::new(source, "machine", path.clone(), Some(table));
        let url = section.read_text("url");
        let configuration = section.read_text("configuration");
        let server_metrics = section.read_text("server_metrics");
        let own_keys = ["url", "configuration", "server_metrics"];
        let facts = section.read_fact_table("machine", &path, table, &own_keys);
        if url.is_none() && !section.rejected_keys.contains(&"machine.url".to_owned()) {
            let problem = Problem::new(location.clone(), "has no url");
            section
                .problems
                .push(problem.with_hint("name its server: url = \"postgres://host/database\""));
        }
        sweep.problems.append(&mut section.problems);
        Some(SweepMachine {
            input: PlanInput {
                url,
                server_metrics,
                declared: Some(Located {
                    value: facts,
                    location: location.clone(),
                })
                .filter(|facts| !facts.value.is_empty()),
                ..PlanInput::default()
            },
            name: Located {
                value: name.get_ref().as_ref().to_owned(),
                location,
            },
            configuration,
        })
    });
    machines.collect()
}
