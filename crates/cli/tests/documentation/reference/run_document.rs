//! The page of the Run document, from its JSON Schema, which a test of `store` keeps current.

use super::{code, page_head, table};
use crate::documentation::repository_root;
use serde_json::Value;

pub fn page() -> String {
    let path = repository_root().join("docs/src/reference/run.schema.json");
    let schema = std::fs::read(path).expect("the schema");
    let schema: Value = serde_json::from_slice(&schema).expect("JSON");
    let mut text = page_head(
        "The Run document",
        &format!(
            "Every run is stored as one JSON document, a Run; this is version {}. `prony show RUN --json` prints it, and\n\
             [run.schema.json](run.schema.json) is its JSON Schema. Names end in their unit: `_ns`, `_s`, `_bytes`, `_tps`; a `_share` is between\n\
             0 and 1. A new minor version only adds fields; documents of version 1 are read as well. No document contains a password.\n\n\
             ```console\n$ prony show last --json | jq \".measured.kinds[0].tps\"\n```\n\n\
             ## Run",
            prony_store::SCHEMA_VERSION
        ),
    );
    text += &fields(&schema);
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        text += &format!("\n## {name}\n\n{}\n", description(definition));
        text += &body(definition);
    }
    text
}

/// Fields, values or neither, whichever the definition has.
fn body(definition: &Value) -> String {
    if definition.get("properties").is_some() {
        return fields(definition);
    }
    match definition["oneOf"].as_array() {
        Some(values) => {
            let values = values.iter();
            let rows = values.map(|value| [type_name(value), description(value)]);
            format!("\n{}", table(["value", "meaning"], rows))
        }
        None => format!("\nA {}.\n", type_name(definition)),
    }
}

fn fields(definition: &Value) -> String {
    let required = definition["required"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let properties = definition["properties"].as_object().into_iter().flatten();
    let rows = properties.map(|(name, property)| {
        let optional =
            if required.contains(&Value::from(name.as_str())) { "" } else { ", optional" };
        [
            code(name),
            type_name(property) + optional,
            description(property),
        ]
    });
    format!("\n{}", table(["field", "type", "meaning"], rows))
}

/// The description, without the links of the source's documentation.
fn description(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.replace("[`", "`").replace("`]", "`")
}

/// The type in words, with a link if it is described below.
fn type_name(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(value) = schema["const"].as_str() {
        return code(value);
    }
    if let Some(alternatives) = schema["anyOf"].as_array() {
        let alternatives = alternatives.iter();
        let names = alternatives.map(type_name).filter(|name| name != "null");
        return names.collect::<Vec<_>>().join(" or ");
    }
    let types = match &schema["type"] {
        Value::Array(types) => types
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| *name != "null")
            .collect(),
        Value::String(name) => vec![name.as_str()],
        _ => return "any value".to_owned(),
    };
    let names = types.into_iter().map(|name| match name {
        "string" => "text".to_owned(),
        "array" => format!("list of {}", type_name(&schema["items"])),
        "object" => object_type(schema),
        other => other.to_owned(),
    });
    names.collect::<Vec<_>>().join(" or ")
}

fn object_type(schema: &Value) -> String {
    match schema["properties"].as_object() {
        Some(properties) => {
            let fields = properties
                .iter()
                .map(|(name, property)| format!("{} ({})", code(name), type_name(property)));
            format!("object with {}", fields.collect::<Vec<_>>().join(", "))
        }
        None => format!(
            "map from names to {}",
            type_name(&schema["additionalProperties"])
        ),
    }
}
