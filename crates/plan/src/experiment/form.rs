//! The form of `[experiment]` and `[variants.NAME]` in a plan file: the source of their schema.
//!
//! In: the schema of a plan. Out: the same with that of a variant. Must never: ask of a variant what
//! only the whole needs.

use super::{DEFAULT_REPEATS, MAX_NAME, MAX_REPEATS, Order};
use crate::file::{RunTable, ServerTable, TimeText, WorkloadTable};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// Several runs of the plan, or of each of its variants.
#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentTable {
    /// How often each variant is run; without variants, the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = MAX_REPEATS), extend("default" = DEFAULT_REPEATS))]
    pub repeats: Option<u32>,
    /// The order of the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Order", extend("default" = "interleaved"))]
    pub order: Option<Order>,
    /// How long nothing is done before each run but the first, after the command of `between`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TimeText", extend("default" = "0s"))]
    pub pause: Option<String>,
    /// A command that sh runs before each run but the first, such as a restart of the server; it finds
    /// the run that follows in PRONY_VARIANT and PRONY_REPEAT. Where it fails the experiment ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1))]
    pub between: Option<String>,
}

/// What a variant changes: tables of a plan, laid over those of the plan.
#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariantTable {
    /// What it changes of `[server]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ServerTable")]
    pub server: Option<ServerTable>,
    /// What it changes of `[workload]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WorkloadTable")]
    pub workload: Option<WorkloadTable>,
    /// What it changes of `[run]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RunTable")]
    pub run: Option<RunTable>,
}

/// Finishes a plan's schema: the tables of a variant are those of a plan without what a plan needs and
/// without its defaults, since the plan's own values are those; names of variants have a form; and
/// the workload may be named by the variants.
pub fn finish(schema: &mut Value) {
    for name in ["ServerTable", "WorkloadTable", "RunTable"] {
        let mut table = schema["$defs"][name].clone();
        if let Some(table) = table.as_object_mut() {
            table.remove("required");
            table.remove("dependentRequired");
        }
        if let Some(properties) = table["properties"].as_object_mut() {
            for property in properties.values_mut().filter_map(Value::as_object_mut) {
                property.remove("default");
            }
        }
        schema["$defs"][format!("Variant{name}")] = table;
    }
    let tables = &mut schema["$defs"]["VariantTable"]["properties"];
    for (key, name) in [
        ("server", "ServerTable"),
        ("workload", "WorkloadTable"),
        ("run", "RunTable"),
    ] {
        tables[key]["$ref"] = json!(format!("#/$defs/Variant{name}"));
    }
    let variants = &mut schema["properties"]["variants"];
    variants["propertyNames"] = json!({
        "pattern": format!("^[A-Za-z0-9][A-Za-z0-9._-]{{0,{}}}$", MAX_NAME - 1)
    });
    variants["minProperties"] = json!(2);
    if let Some(plan) = schema.as_object_mut() {
        plan.remove("required");
    }
    schema["anyOf"] = json!([{"required": ["workload"]}, {"required": ["variants"]}]);
}
