//! The tables of scenarios, read.
//!
//! In: the TOML files in `data`. Out: scenarios, what a group says of all its rows filled in. Must
//! never: take over a key that it does not know.

use super::{Cached, Engine, Figure, Measure, Scenario, Script, Source, Table};
use crate::duration::parse_duration;
use crate::plan::QueryMode;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

const FILES: [(&str, &str); 5] = [
    ("tpcc.toml", include_str!("data/tpcc.toml")),
    ("pgbench.toml", include_str!("data/pgbench.toml")),
    ("sysbench.toml", include_str!("data/sysbench.toml")),
    ("sqlserver.toml", include_str!("data/sqlserver.toml")),
    ("hotset.toml", include_str!("data/hotset.toml")),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    section: u32,
    title: String,
    group: Vec<Group>,
}

/// Rows that have something in common.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    all: Fields,
    rows: Vec<Fields>,
}

/// What a row says, or a group of all its rows.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Fields {
    id: Option<String>,
    title: Option<String>,
    engine: Option<Engine>,
    product: Option<String>,
    version: Option<String>,
    machine: Option<String>,
    cpus: Option<u32>,
    memory_gb: Option<u64>,
    workload: Option<String>,
    options: BTreeMap<String, toml::Value>,
    script: Option<Script>,
    define: Vec<String>,
    range: Option<u64>,
    statements: Option<u32>,
    indexes: Vec<String>,
    scale: Option<u64>,
    clients: Option<u64>,
    protocol: Option<QueryMode>,
    warmup: Option<String>,
    duration: Option<String>,
    cached: Option<Cached>,
    data_gb: Option<u64>,
    cold: Option<bool>,
    vacuum: Option<bool>,
    durability: Option<String>,
    replication: Option<String>,
    figures: Vec<(Measure, f64)>,
    source: Option<Source>,
    place: Option<String>,
    notes: Vec<String>,
}

/// Reads them all.
///
/// # Errors
/// In words, with the file; the files are part of the program, and a test reads them.
pub(super) fn tables() -> Result<Vec<Table>, String> {
    FILES
        .iter()
        .map(|(name, text)| table(text).map_err(|error| format!("{name}: {error}")))
        .collect()
}

fn table(text: &str) -> Result<Table, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut scenarios = Vec::new();
    for group in &file.group {
        for row in &group.rows {
            scenarios.push(scenario(row.clone(), group.all.clone())?);
        }
    }
    Ok(Table {
        section: file.section,
        title: file.title,
        scenarios,
    })
}

/// A row with what its group says.
fn scenario(row: Fields, group: Fields) -> Result<Scenario, String> {
    let id = row.id.ok_or("a row has no id")?;
    let needed = |what: Option<String>, key: &str| what.ok_or(format!("{id} has no {key}"));
    let mut options = group.options;
    options.extend(row.options);
    let mut notes = row.notes;
    notes.extend(group.notes);
    let either = |own: Vec<String>, common: Vec<String>| match own.is_empty() {
        true => common,
        false => own,
    };
    let figures = row.figures.iter().chain(&group.figures);
    Ok(Scenario {
        title: needed(row.title.or(group.title), "title")?,
        engine: row
            .engine
            .or(group.engine)
            .ok_or(format!("{id} has no engine"))?,
        product: needed(row.product.or(group.product), "product")?,
        version: row.version.or(group.version),
        machine: row.machine.or(group.machine),
        cpus: row.cpus.or(group.cpus),
        memory_gb: row.memory_gb.or(group.memory_gb),
        workload: needed(row.workload.or(group.workload), "workload")?,
        options,
        script: row.script.or(group.script),
        define: either(row.define, group.define),
        range: row.range.or(group.range),
        statements: row.statements.or(group.statements),
        indexes: either(row.indexes, group.indexes),
        scale: row.scale.or(group.scale),
        clients: row.clients.or(group.clients),
        protocol: row.protocol.or(group.protocol),
        warmup: time(row.warmup.or(group.warmup))?,
        duration: time(row.duration.or(group.duration))?,
        cached: row.cached.or(group.cached),
        data_gb: row.data_gb.or(group.data_gb),
        cold: row.cold.or(group.cold).unwrap_or(false),
        vacuum: row.vacuum.or(group.vacuum).unwrap_or(false),
        durability: row.durability.or(group.durability),
        replication: row.replication.or(group.replication),
        figures: figures
            .map(|(measure, value)| Figure::new(*measure, *value))
            .collect(),
        source: row
            .source
            .or(group.source)
            .ok_or(format!("{id} has no source"))?,
        place: needed(row.place.or(group.place), "place")?,
        notes,
        id,
    })
}

fn time(text: Option<String>) -> Result<Option<Duration>, String> {
    text.map(|text| parse_duration(&text).map_err(|error| error.to_string()))
        .transpose()
}
