//! Reads the tables of scenarios.
//!
//! A row of a table is one scenario; values that the rows of a group have in common are stated once, and so are
//! those of an instance type, whose name begins a row's `machine`.

use super::ScenarioTable;
use serde::Deserialize;
use toml::Value;

const FILES: [(&str, &str); 6] = [
    ("tpcc.toml", include_str!("data/tpcc.toml")),
    ("pgbench.toml", include_str!("data/pgbench.toml")),
    ("sysbench.toml", include_str!("data/sysbench.toml")),
    ("sqlserver.toml", include_str!("data/sqlserver.toml")),
    ("hotset.toml", include_str!("data/hotset.toml")),
    ("aiven.toml", include_str!("data/aiven.toml")),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    section: u32,
    title: String,
    #[serde(default)]
    instances: toml::Table,
    group: Vec<ScenarioGroup>,
}

/// Rows with common values, which are in `all`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioGroup {
    all: toml::Table,
    rows: Vec<toml::Table>,
}

/// Reads all tables.
///
/// # Errors
/// If a file is invalid, with its name; the files are part of the program, and a test reads them.
pub(super) fn read_tables() -> Result<Vec<ScenarioTable>, String> {
    FILES
        .iter()
        .map(|(name, text)| read_table(text).map_err(|error| format!("{name}: {error}")))
        .collect()
}

fn read_table(text: &str) -> Result<ScenarioTable, String> {
    let file: ScenarioFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut scenarios = Vec::new();
    for group in &file.group {
        for row in &group.rows {
            let with_group = merge_common(row.clone(), &group.all);
            let complete = merge_instance(with_group, &file.instances);
            let scenario = complete.try_into();
            scenarios.push(scenario.map_err(|error| format!("{:?}: {error}", row.get("id")))?);
        }
    }
    Ok(ScenarioTable {
        section: file.section,
        title: file.title,
        scenarios,
    })
}

/// Adds the values of a row's instance type.
fn merge_instance(row: toml::Table, instances: &toml::Table) -> toml::Table {
    let machine = row.get("machine").and_then(Value::as_str);
    let name = machine.and_then(|machine| machine.split(',').next());
    match name.and_then(|name| instances.get(name)) {
        Some(Value::Table(instance)) => merge_common(row, instance),
        _ => row,
    }
}

/// Merges the values that a row has in common with others into it: options, notes and figures of both are combined;
/// other values of the row take precedence.
fn merge_common(mut row: toml::Table, common_values: &toml::Table) -> toml::Table {
    for (key, common) in common_values {
        match (row.get_mut(key), common) {
            (None, _) => {
                row.insert(key.clone(), common.clone());
            }
            (Some(Value::Table(row_table)), Value::Table(common)) => {
                for (name, value) in common {
                    row_table
                        .entry(name.as_str())
                        .or_insert_with(|| value.clone());
                }
            }
            (Some(Value::Array(row_list)), Value::Array(common))
                if key == "notes" || key == "figures" =>
            {
                row_list.extend(common.iter().cloned());
            }
            (Some(_), _) => {}
        }
    }
    row
}
