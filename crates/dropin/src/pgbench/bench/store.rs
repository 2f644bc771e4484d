//! The options of a pgbench run as Prony stores them.

use prony_dialect::pgbench::{RunOptions, ScriptSource};
use prony_plan::WorkloadPlan;
use std::collections::BTreeMap;

/// The scripts and their variables as options of the workload.
pub fn workload_plan(options: &RunOptions, scale: u32) -> WorkloadPlan {
    let mut lists: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for choice in &options.scripts {
        let (key, name) = match &choice.source {
            ScriptSource::Builtin(builtin) => ("builtin", builtin.name.to_owned()),
            ScriptSource::File(path) => ("files", path.to_string_lossy().into_owned()),
        };
        let list = lists.entry(key).or_default();
        list.push(format!("{name}@{}", choice.weight));
    }
    for (name, value) in &options.defines {
        let list = lists.entry("define").or_default();
        list.push(format!("{name}={value}"));
    }
    let options = lists
        .into_iter()
        .map(|(key, list)| (key.to_owned(), toml_list(list)));
    WorkloadPlan {
        name: "script".to_owned(),
        scale: Some(scale),
        options: options.collect(),
    }
}

fn toml_list(texts: Vec<String>) -> toml::Value {
    toml::Value::Array(texts.into_iter().map(toml::Value::String).collect())
}
