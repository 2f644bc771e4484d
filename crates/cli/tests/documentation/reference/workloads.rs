//! The page of workloads with their tables and options, from their descriptions.

use super::{code, page_head, table};
use crate::command::workloads::{engine_names, rows_text};
use prony_workload::Workload;

pub fn page() -> String {
    let workloads = prony_workload::list();
    let mut text = page_head(
        "Workloads",
        "`prony workloads` lists them, and `prony workloads NAME` prints what this page says about one. An option is given as\n\
         `-o NAME=VALUE`, or as a key under `[workload]` in a [plan file](plan-files.md). Which workload answers which question is in\n\
         [Choose a workload](../how-to/choose-a-workload.md).\n",
    );
    let link = |workload: &dyn Workload| format!("[`{0}`](#{0})", workload.name());
    text += &table(
        ["workload", "what a transaction is", "engines"],
        workloads.iter().map(|workload| {
            [
                link(*workload),
                workload.title().to_owned(),
                engine_names(*workload),
            ]
        }),
    );
    for (index, workload) in workloads.iter().enumerate() {
        text += &section(*workload, &workloads[..index]);
    }
    text
}

fn section(workload: &dyn Workload, earlier: &[&dyn Workload]) -> String {
    let mut text = format!("\n## {}\n\n{}.\n\n", workload.name(), workload.title());
    text += &format!("- Engines: {}\n", engine_names(workload));
    if workload.dataset() != workload.name() {
        let dataset = workload.dataset();
        text += &format!("- Loaded by: `prony load {dataset}`\n");
    }
    if let Some(unit) = workload.scale_unit() {
        text += &format!("- Scale: the number of {}\n", unit.plural);
    }
    for rate in workload.rate_metrics() {
        text += &format!("- {}: {}\n", rate.name, rate.title);
    }
    let tables = workload.tables();
    match earlier
        .iter()
        .find(|other| !tables.is_empty() && other.tables() == tables)
    {
        Some(other) => text += &format!("- Tables: those of [`{0}`](#{0})\n", other.name()),
        None if tables.is_empty() => {}
        None => {
            let tables = tables.iter();
            let rows = tables.map(|table| [code(table.name), rows_text(table)]);
            text += &format!("\n{}", table(["table", "rows"], rows));
        }
    }
    text + &options(workload, earlier)
}

fn options(workload: &dyn Workload, earlier: &[&dyn Workload]) -> String {
    let options = workload.options();
    if options.is_empty() {
        return String::new();
    }
    if let Some(other) = earlier.iter().find(|other| other.options() == options) {
        return format!("\nOptions: those of [`{0}`](#{0}).\n", other.name());
    }
    let rows = options.iter().map(|option| {
        let default = option.default.map_or("", |default| match default {
            "" => "none",
            default => default,
        });
        [
            code(option.name),
            code(default),
            option.kind.values(),
            option.help.to_owned(),
        ]
    });
    format!(
        "\n{}",
        table(["option", "default", "values", "meaning"], rows)
    )
}
