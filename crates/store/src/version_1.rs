//! Documents of version 1, read as documents of this version.
//!
//! Converts the JSON of a document, or of a journal's header, to version 2; renamed fields are aliases in
//! their structs. The conversion never fails: invalid values are detected when the result is deserialized.

use crate::observed_topic::ObservedTopic;
use crate::run::SCHEMA_VERSION;
use serde_json::{Value, json};

/// The document in this version's form.
pub(crate) fn upgrade(mut document: Value) -> Value {
    if !has_objects_where_expected(&document) {
        return document;
    }
    let Some(fields) = document.as_object_mut() else {
        return document;
    };
    fields.insert("schema_version".to_owned(), SCHEMA_VERSION.into());
    let (host, health) = (fields.remove("host"), fields.remove("client"));
    let is_imported = fields
        .get("imported")
        .is_some_and(|source| !source.is_null());
    let machines = match is_imported {
        true => json!([]),
        false => json!([{
            "host": host, "health": health,
            "clients": document["drive"]["clients"], "threads": document["drive"]["threads"],
        }]),
    };
    document["machines"] = machines;
    upgrade_server(&mut document["server"]);
    upgrade_settings(&mut document["workload"]["settings"]);
    let planned_end = planned_end(&document);
    upgrade_drive(&mut document["drive"], planned_end);
    upgrade_split(&mut document["timing"]["split"]);
    upgrade_original(&mut document["scenario"]);
    upgrade_missing(document.pointer_mut("/observed/missing"));
    for part in ["/warmup", "/measured"] {
        upgrade_total_kind(document.pointer_mut(part));
    }
    document
}

/// The sections that the conversion writes to by key, which is only possible in an object or in place of null.
const SECTIONS: [&str; 6] = [
    "/server",
    "/workload",
    "/drive",
    "/timing",
    "/scenario/original",
    "/plan",
];

/// Whether each section that exists is an object, and so is each entry of the list of missing observations.
fn has_objects_where_expected(document: &Value) -> bool {
    let is_object_or_null = |value: &Value| value.is_object() || value.is_null();
    let sections = SECTIONS.iter().filter_map(|path| document.pointer(path));
    let missing = document.pointer("/observed/missing");
    let missing = missing.and_then(Value::as_array).into_iter().flatten();
    sections.chain(missing).all(is_object_or_null)
}

fn upgrade_server(server: &mut Value) {
    null_unless(&mut server["engine"], |name| !name.is_empty());
    let address = server["address"].as_str().unwrap_or_default();
    server["address"] = match address.split_once(':') {
        Some((network @ ("unix" | "tcp"), address)) => json!({ network: address }),
        _ => Value::Null,
    };
}

/// Splits `name value`; a setting without a value gets the one that version 1 assumed in comparisons.
fn upgrade_settings(settings: &mut Value) {
    let Some(list) = settings.as_array_mut() else {
        *settings = json!([]);
        return;
    };
    for setting in list {
        let text = setting.as_str().unwrap_or_default();
        let (name, value) = text.split_once(' ').unwrap_or((text, "set"));
        *setting = json!({ "name": name, "value": value });
    }
}

fn upgrade_drive(drive: &mut Value, planned_end: Value) {
    drive["open_loop"] = (drive["pace"] == "rate").into();
    drive["stop"] = planned_end;
    let is_mode = |name: &str| ["simple", "extended", "prepared"].contains(&name);
    null_unless(&mut drive["protocol"], is_mode);
    null_unless(&mut drive["arrival"], |name| {
        ["poisson", "even"].contains(&name)
    });
    let network = drive["network"].as_str().unwrap_or_default();
    let sample = |text: &str| text.strip_suffix(" tcp")?.parse::<u32>().ok();
    drive["network"] = match network.split_once(" + ") {
        Some(("unix", tcp)) => {
            sample(tcp).map(|clients| json!({ "unix_with_tcp_sample": { "clients": clients } }))
        }
        _ => ["unix", "tcp"].contains(&network).then(|| network.into()),
    }
    .into();
}

/// The planned end of the run, from its plan; null for a replaced tool with a duration, because version 1 does
/// not record whether transactions in flight at the end were counted.
fn planned_end(document: &Value) -> Value {
    let run = &document["plan"]["run"];
    let time = run["duration"].as_str().map(prony_plan::parse_duration);
    match (time, &run["transactions"]) {
        (None, Value::Number(count)) => json!({ "transactions_per_client": count }),
        (Some(_), Value::Number(count)) => json!({ "transactions": count }),
        (Some(Ok(time)), _) if document["asked"].get("command").is_some() => {
            json!({ "duration_s": time.as_secs_f64() })
        }
        _ => Value::Null,
    }
}

fn upgrade_split(split: &mut Value) {
    let text = split.as_str().unwrap_or_default();
    let sampled = || {
        let (clients, of_clients) = text
            .strip_prefix("kernel stamps on ")?
            .strip_suffix(" clients")?
            .split_once(" of ")?;
        let (clients, of_clients): (u32, u32) = (clients.parse().ok()?, of_clients.parse().ok()?);
        Some(json!({ "sampled_stamps": { "clients": clients, "of_clients": of_clients } }))
    };
    *split = match text {
        "kernel stamps" => "kernel_stamps".into(),
        _ => sampled().unwrap_or_else(|| {
            let reason = text.trim_start_matches("unavailable");
            json!({ "unavailable": { "reason": reason.trim_matches([' ', ':', ',', '(', ')', '.']) } })
        }),
    };
}

/// A scenario's share of cached data, which version 1 had only as text.
fn upgrade_original(scenario: &mut Value) {
    let Some(original) = scenario.get_mut("original") else {
        return;
    };
    null_unless(&mut original["engine"], |name| !name.is_empty());
    let text = original["cached"].as_str().unwrap_or_default();
    original["cached_share"] = match text {
        _ if text.starts_with("all") => 1.0.into(),
        _ if text.contains("30 %") => 0.3.into(),
        _ => Value::Null,
    };
}

/// Texts of other versions for topics that are not listed under their current text.
const FORMER_TOPICS: [(&str, ObservedTopic); 5] = [
    (
        "the server's machine, from some second on",
        ObservedTopic::ServerMachinePartOfRun,
    ),
    (
        "how the server stands before it",
        ObservedTopic::StateBefore,
    ),
    ("how the server stands after it", ObservedTopic::StateAfter),
    (
        "the server during the load, from some second on",
        ObservedTopic::DuringLoad,
    ),
    ("the server for a while", ObservedTopic::WhileDisconnected),
];

/// The topic of a text in the list of missing observations.
fn topic(text: &str) -> Option<ObservedTopic> {
    let current = ObservedTopic::KNOWN.iter();
    let current = current.map(|topic| (topic.text(), *topic));
    let mut entries = current.chain(FORMER_TOPICS);
    Some(entries.find(|(name, _)| *name == text)?.1)
}

/// Converts the topics of missing observations, which version 1 had as text. An unknown text becomes part of
/// the reason.
fn upgrade_missing(list: Option<&mut Value>) {
    let list = list.and_then(Value::as_array_mut).into_iter().flatten();
    for entry in list.filter(|entry| entry["what"].is_string()) {
        let text = entry["what"].as_str().unwrap_or_default().to_owned();
        entry["what"] = match topic(&text) {
            Some(topic) => json!(topic),
            None => {
                let reason = entry["why"].as_str().unwrap_or_default();
                entry["why"] = format!("{text}: {reason}").into();
                json!(ObservedTopic::Other)
            }
        };
    }
}

/// Replaces the name `all` by null: version 1 gave it to the total of the kinds, and to errors of unknown
/// kinds.
fn upgrade_total_kind(part: Option<&mut Value>) {
    let Some(part) = part else { return };
    if let Some(total) = part.pointer_mut("/kinds/0") {
        all_to_null(total);
    }
    let errors = part.get_mut("errors").and_then(Value::as_array_mut);
    for error in errors.into_iter().flatten() {
        // A transaction may itself be named `all`; its errors have a code.
        if error["class"] == "other" && error["code"] == "" {
            all_to_null(error);
        }
    }
}

fn all_to_null(entry: &mut Value) {
    if entry["kind"] == "all" {
        entry["kind"] = Value::Null;
    }
}

/// Replaces a text that is not a value of the enumeration with null.
fn null_unless(value: &mut Value, is_valid: impl Fn(&str) -> bool) {
    if !value.as_str().is_some_and(is_valid) {
        *value = Value::Null;
    }
}
