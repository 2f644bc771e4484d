//! `prony workloads`.
//!
//! Lists the registered workloads, one line each, or describes one; connects to no server.

use super::{output, server};
use crate::args::WorkloadsArgs;
use crate::exit::{Exit, Failure};
use prony_report::Style;
use prony_report::text::wrap;
use prony_workload::Workload;
use prony_workload::describe::{OptionKind, OptionSpec, TableGrowth, TableRows, TableSpec};
use prony_workload::remedy::{Commands, LoadSpec, PronyCommands};
use std::io::{self, Write};

pub fn workloads(args: &WorkloadsArgs) -> Result<Exit, Failure> {
    match &args.name {
        Some(name) => {
            let workload = server::find_workload(name)?;
            output::show(|out, style| write_description(out, style, workload))?;
        }
        None => output::show(write_list)?,
    }
    Ok(Exit::Success)
}

fn write_list(out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let workloads = prony_workload::list();
    let width = workloads
        .iter()
        .map(|workload| workload.name().len())
        .max()
        .unwrap_or(0);
    for workload in workloads {
        let mut text = workload.title().to_owned();
        if workload.dataset() != workload.name() {
            text += &format!(" (on the tables of {})", workload.dataset());
        }
        write_name_and_text(out, style, 0, width, workload.name(), &text)?;
    }
    writeln!(out)?;
    writeln!(
        out,
        "`prony workloads NAME` shows the options and tables of a workload."
    )
}

/// Prints a name with a text next to it, wrapped to the terminal.
fn write_name_and_text(
    out: &mut dyn Write,
    style: &Style,
    indent: usize,
    width: usize,
    name: &str,
    text: &str,
) -> io::Result<()> {
    let lines = wrap(text, style.width.saturating_sub(indent + width + 2));
    for (row, part) in lines.iter().enumerate() {
        let name = if row == 0 { name } else { "" };
        writeln!(out, "{:indent$}{name:width$}  {part}", "")?;
    }
    Ok(())
}

fn write_description(
    out: &mut dyn Write,
    style: &Style,
    workload: &dyn Workload,
) -> io::Result<()> {
    for line in wrap(
        &format!("{}: {}", workload.name(), workload.title()),
        style.width,
    ) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)?;
    let mut facts = vec![("engines", engine_names(workload))];
    if workload.dataset() != workload.name() {
        let load = LoadSpec::of(workload.dataset(), Vec::new());
        facts.push(("loaded by", PronyCommands::default().load_command(&load)));
    }
    if let Some(unit) = workload.scale_unit() {
        facts.push(("scale", format!("the number of {}", unit.plural)));
    }
    for rate in workload.rate_metrics() {
        facts.push((rate.name, rate.title.to_owned()));
    }
    write_section(out, style, "", &facts)?;
    let tables = workload.tables().iter();
    let tables: Vec<_> = tables.map(|table| (table.name, rows_text(table))).collect();
    write_section(out, style, "Tables", &tables)?;
    let options = workload.options().iter();
    let options: Vec<_> = options.map(|spec| (spec.name, option_text(spec))).collect();
    write_section(
        out,
        style,
        "Options (-o NAME=VALUE; in a plan, under [workload])",
        &options,
    )
}

fn write_section(
    out: &mut dyn Write,
    style: &Style,
    title: &str,
    lines: &[(&str, String)],
) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    if !title.is_empty() {
        writeln!(out, "\n{title}")?;
    }
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, text) in lines {
        write_name_and_text(out, style, 2, width, name, text)?;
    }
    Ok(())
}

pub fn engine_names(workload: &dyn Workload) -> String {
    let dialects = workload.dialects().iter();
    let names = dialects.flat_map(|dialect| dialect.products().map(|product| product.name));
    names.collect::<Vec<_>>().join(", ")
}

/// The number of a table's rows after a load, and how transactions change it.
pub fn rows_text(table: &TableSpec) -> String {
    let rows = match table.rows {
        TableRows::PerScale(0) | TableRows::Fixed(0) => "empty after a load".to_owned(),
        TableRows::PerScale(1) => "1 row for each unit of scale".to_owned(),
        TableRows::PerScale(rows) => format!("{rows} rows for each unit of scale"),
        TableRows::Fixed(rows) => format!("{rows} rows"),
        TableRows::ValueOfOption(name) => {
            format!("the option {name} sets the number of rows; one table for each unit of scale")
        }
    };
    match table.growth {
        TableGrowth::Constant => rows,
        TableGrowth::Grows(_) => format!("{rows}; transactions add rows"),
        TableGrowth::Varies => format!("{rows}; transactions add and remove rows"),
    }
}

fn option_text(spec: &OptionSpec) -> String {
    let range = spec.kind.values();
    let values = match spec.kind {
        OptionKind::Integer(..) => format!("integer, {range}"),
        OptionKind::Float(..) => format!("number, {range}"),
        OptionKind::Switch
        | OptionKind::Choice(_)
        | OptionKind::Text
        | OptionKind::Texts
        | OptionKind::Tables => range,
    };
    let default = match spec.default {
        None => String::new(),
        Some("") => "; default: none".to_owned(),
        Some(default) => format!("; default: {default}"),
    };
    format!("{} ({values}{default})", spec.help)
}
