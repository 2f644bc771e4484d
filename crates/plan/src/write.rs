//! Writes plans as TOML and JSON, and the JSON Schema of plan files.
//!
//! The caller redacts the server's URL, which is written only where the caller passes it.

use crate::experiment::{MAX_NAME_CHARS, MAX_VARIANTS};
use crate::input::{PlanInput, stored_value};
use crate::plan::Plan;
use crate::settings::{
    SETTINGS, Setting, SettingType, TABLES, VARIANT_SETTINGS, VARIANT_TABLES, settings_of_table,
};
use crate::transaction_files::TRANSACTIONS;
use prony_document::DeclaredFact;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The JSON Schema of a plan file, for editors and other programs.
pub fn json_schema() -> Value {
    let mut definitions = Map::new();
    definitions.insert("duration".to_owned(), duration_schema());
    let mut tables = Map::new();
    for (name, help) in TABLES {
        let table = table_schema(name, help, TableOwner::Plan);
        definitions.insert(name.to_owned(), table);
        tables.insert(name.to_owned(), json!({"$ref": format!("#/$defs/{name}")}));
    }
    let mut changes = Map::new();
    for (name, help) in TABLES
        .iter()
        .filter(|(name, _)| VARIANT_TABLES.contains(name))
    {
        let definition = format!("variant_{name}");
        changes.insert(
            (*name).to_owned(),
            json!({"$ref": format!("#/$defs/{definition}")}),
        );
        let table = table_schema(name, help, TableOwner::Variant);
        definitions.insert(definition, table);
    }
    let mut settings = server_settings_schema();
    settings["description"] =
        json!("Settings of the server, as in [server.settings]: `synchronous_commit = \"off\"`.");
    changes.insert(VARIANT_SETTINGS.to_owned(), settings);
    definitions.insert(
        "variant".to_owned(),
        json!({
            "type": "object",
            "description": "What a variant changes: tables that override those of the plan.",
            "properties": changes,
            "additionalProperties": false,
        }),
    );
    tables.insert(
        "variants".to_owned(),
        json!({
            "type": "object",
            "description": "What to compare, by name: `[variants.NAME.run]` and similar tables override those \
                            of the plan, and an empty `[variants.NAME]` changes nothing.",
            "propertyNames": {"pattern": name_pattern()},
            "minProperties": 2,
            "maxProperties": MAX_VARIANTS,
            "additionalProperties": {"$ref": "#/$defs/variant"},
        }),
    );
    tables.insert("sweep".to_owned(), sweep_schema());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Prony plan",
        "description": "A benchmark: which server, which workload, and how it is driven.",
        "type": "object",
        "properties": tables,
        "additionalProperties": false,
        // The workload may be named in the variants instead.
        "anyOf": [{"required": ["workload"]}, {"required": ["variants"]}],
        "$defs": definitions,
    })
}

fn sweep_schema() -> Value {
    let mut machine = fact_properties();
    let configuration = json!({
        "type": "string",
        "description": "The configuration of the price sheet; for a machine, the one of its name by default.",
    });
    machine.insert(
        "url".to_owned(),
        json!({"type": "string", "description": "Its server."}),
    );
    let metrics =
        json!({"type": "string", "description": "URL of the node_exporter on the machine."});
    machine.insert("server_metrics".to_owned(), metrics);
    machine.insert("configuration".to_owned(), configuration.clone());
    json!({
        "type": "object",
        "description": "Points of an experiment: every combination of the values below. A key is a setting of \
                        [workload] or [run], or an option of the workload; its values are a list, or a range such \
                        as \"1..64 step 8\" or \"1..64 times 2\". The last key varies fastest.",
        "properties": {
            "machine": {
                "type": "object",
                "description": "Machines, by name: `[sweep.machine.NAME]` has a server's url, and what is declared \
                                of it.",
                "propertyNames": {"pattern": name_pattern()},
                "additionalProperties": {
                    "type": "object",
                    "properties": machine,
                    "required": ["url"],
                    "additionalProperties": false,
                },
            },
            "prices": {
                "type": "string",
                "description": "A price sheet; the curve then has throughput for the money.",
            },
            "configuration": configuration,
        },
        "additionalProperties": {
            "anyOf": [{"type": "array", "minItems": 1}, {"type": "string"}, {"type": "object"}],
        },
    })
}

fn name_pattern() -> String {
    format!("^[A-Za-z0-9][A-Za-z0-9._-]{{0,{}}}$", MAX_NAME_CHARS - 1)
}

/// The properties of a table of facts about a server.
fn fact_properties() -> Map<String, Value> {
    let facts = DeclaredFact::ALL.iter().map(|fact| fact.name().to_owned());
    facts
        .map(|fact| (fact, json!({"type": ["string", "integer"]})))
        .collect()
}

#[derive(Clone, Copy, PartialEq)]
enum TableOwner {
    Plan,
    /// Its tables have no required keys and no defaults, since it inherits the plan's values.
    Variant,
}

fn table_schema(name: &str, help: &str, owner: TableOwner) -> Value {
    let mut properties = Map::new();
    for setting in settings_of_table(name) {
        properties.insert(setting.key().to_owned(), setting_schema(setting, owner));
    }
    let mut table = json!({
        "type": "object",
        "description": help,
        "properties": properties,
        "additionalProperties": name == "workload",
    });
    if name == "workload" {
        table["properties"][TRANSACTIONS] = transactions_schema();
        table["properties"]["samples"] = samples_schema();
    }
    if name == "run" {
        table["not"] = json!({"required": ["duration", "transactions"]});
    }
    match name {
        "workload" if owner == TableOwner::Plan => table["required"] = json!(["name"]),
        "run" if owner == TableOwner::Plan => {
            table["dependentRequired"] = json!({"arrival": ["rate"]});
        }
        _ => {}
    }
    table
}

fn text_schema(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "description": description})
}

/// The schema of `[[workload.samples]]`.
fn samples_schema() -> Value {
    json!({
        "type": "array",
        "minItems": 1,
        "description": "Queries of the workload sql, whose rows \\sample draws from.",
        "items": {
            "type": "object",
            "properties": {
                "name": text_schema("The name by which \\sample refers to it."),
                "sql": text_schema("The query, which is executed once before the load."),
            },
            "required": ["name", "sql"],
            "additionalProperties": false,
        },
    })
}

/// The schema of `[[workload.transactions]]`.
fn transactions_schema() -> Value {
    json!({
        "type": "array",
        "minItems": 1,
        "description": "The transactions of the workload sql, in pgbench's script language.",
        "items": {
            "type": "object",
            "properties": {
                "name": text_schema("The name under which results show it."),
                "weight": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": i32::MAX,
                    "default": 1,
                    "description": "How often it is chosen, in relation to the others.",
                },
                "reads": {
                    "type": "boolean",
                    "default": false,
                    "description": "Whether it only reads, so that the server of read_from can take it.",
                },
                "captured": {
                    "type": "object",
                    "properties": {
                        "time": {"type": "number", "minimum": 0, "maximum": 1, "description": "Its share of the time of all transactions of the plan."},
                        "rows": {"type": "number", "minimum": 0, "description": "Rows a call."},
                        "statements": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "time": {"type": "number", "minimum": 0, "maximum": 1},
                                    "rows": {"type": "number", "minimum": 0},
                                },
                                "required": ["time", "rows"],
                                "additionalProperties": false,
                            },
                            "description": "The same of each statement, if it has several.",
                        },
                    },
                    "required": ["time", "rows"],
                    "additionalProperties": false,
                    "description": "What prony capture observed of it, which results compare with.",
                },
                "sql": text_schema("Its text."),
                "file": text_schema("The file with its text, relative to the plan."),
            },
            "required": ["name"],
            "oneOf": [{"required": ["sql"]}, {"required": ["file"]}],
            "additionalProperties": false,
        },
    })
}

fn setting_schema(setting: &Setting, owner: TableOwner) -> Value {
    let mut schema = match &setting.value_type {
        SettingType::Bool => json!({"type": "boolean"}),
        SettingType::Text => json!({"type": "string"}),
        SettingType::WholeNumber { min, max } => {
            json!({"type": "integer", "minimum": min, "maximum": max})
        }
        SettingType::Rate => {
            json!({"type": "number", "exclusiveMinimum": 0, "maximum": crate::MAX_RATE_TPS})
        }
        SettingType::Duration => json!({"$ref": "#/$defs/duration"}),
        SettingType::Choice(names) => json!({"enum": names()}),
        SettingType::Requirements => {
            json!({"type": "array", "items": {"type": "string", "minLength": 1}})
        }
        SettingType::Commands => {
            json!({"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}})
        }
        SettingType::Marks => {
            json!({"type": "array", "items": {"type": "string", "pattern": r"^\s*[0-9]\S*\s+\S"}})
        }
        SettingType::ServerSettings => server_settings_schema(),
        SettingType::Facts => json!({
            "type": "object",
            "properties": fact_properties(),
            "additionalProperties": false,
        }),
    };
    match setting.path {
        "workload.name" => schema["pattern"] = json!(r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"),
        "experiment.between" | "experiment.restart" => schema["minLength"] = json!(1),
        _ => {}
    }
    schema["description"] = json!(setting.help());
    if owner == TableOwner::Plan
        && let Some(default) = setting.default()
    {
        schema["default"] = default;
    }
    schema
}

fn server_settings_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": {"type": ["string", "number", "boolean", "object"]},
    })
}

fn duration_schema() -> Value {
    let pattern = r"^\s*([0-9]+|(?=[0-9])([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?([0-9]+us)?([0-9]+ns)?)\s*$";
    json!({
        "description": "A duration: a string such as \"500ms\", \"60s\", \"5m\", \"1h\" or \"1m30s\", or a whole \
                        number of seconds.",
        "anyOf": [{"type": "string", "pattern": pattern}, {"type": "integer", "minimum": 0}],
    })
}

/// A value of a plan file: that of a setting, or of an option of the workload.
#[derive(Serialize)]
#[serde(untagged)]
enum PlanValue {
    Setting(Value),
    Option(toml::Value),
}

/// The plan as a TOML file, with every default written out. Reading the file gives the same plan.
///
/// `server` is the URL to write: redacted by the caller, or `None` to take the server from the environment
/// when the file is run. An embedded server is written as such.
///
/// # Errors
/// If TOML cannot express an option of the workload.
pub fn to_toml(plan: &Plan, server: Option<&str>) -> Result<String, toml::ser::Error> {
    let input = PlanInput::from_plan(plan, server);
    let mut tables: BTreeMap<&str, BTreeMap<&str, PlanValue>> = BTreeMap::new();
    for (setting, value, _) in input.given_settings() {
        let table = tables.entry(setting.table()).or_default();
        table.insert(setting.key(), PlanValue::Setting(value.to_json()));
    }
    let workload = tables.entry("workload").or_default();
    let options = plan.workload.options.iter();
    workload.extend(options.map(|(key, value)| (key.as_str(), PlanValue::Option(value.clone()))));
    toml::to_string(&tables)
}

/// The plan as executed, for the Run document: `{"server": text, "workload": {...}, "run": {...}, "observe":
/// {...}}` with the keys of a plan file, durations as in a plan file, every default filled in, and `null` for
/// a value that does not apply (a rate in a closed loop) or is not decided (scale, seed).
///
/// `server` is stored unchanged; the caller must redact it.
pub fn to_json(plan: &Plan, server: &str) -> Value {
    let mut document = json!({ "server": server });
    let is_stored = |setting: &Setting| ["workload", "run", "observe"].contains(&setting.table());
    for setting in SETTINGS.iter().filter(|setting| is_stored(setting)) {
        document[setting.table()][setting.key()] = Value::Null;
    }
    let input = PlanInput::from_plan(plan, None);
    for (setting, value, _) in input.given_settings() {
        if is_stored(setting) {
            document[setting.table()][setting.key()] = stored_value(setting, value);
        }
    }
    for (key, value) in &plan.workload.options {
        document["workload"][key] = toml_to_json(value);
    }
    if !plan.settings.is_empty() {
        document[VARIANT_SETTINGS] = json!(plan.settings);
    }
    document
}

/// A TOML value as JSON. Dates become text, since serde would wrap them in a private table.
pub(crate) fn toml_to_json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => json!(text),
        toml::Value::Integer(number) => json!(number),
        toml::Value::Float(number) => json!(number),
        toml::Value::Boolean(boolean) => json!(boolean),
        toml::Value::Datetime(date) => json!(date.to_string()),
        toml::Value::Array(list) => list.iter().map(toml_to_json).collect(),
        toml::Value::Table(table) => table
            .iter()
            .map(|(key, value)| (key.clone(), toml_to_json(value)))
            .collect(),
    }
}

#[cfg(test)]
mod tests;
