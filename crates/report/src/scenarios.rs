//! Views of scenarios: the list, and one in detail.
//!
//! In: scenarios. Out: one table per group, or all details of one scenario. Must never: show a figure
//! without its source.

use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::text::scenario::NO_FIGURE_NOTE;
use crate::text::{cut, joined};
use crate::units::{self, or_dash};
use prony_plan::scenario::{Scenario, ScenarioSource, ScenarioTable, Suite};
use prony_plan::{Choice, format_duration};
use prony_store::HighAvailability;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The amount of a scenario's data with the unit of its workload; `None` if it is not published.
pub type DataSize = fn(&Scenario) -> Option<String>;

/// Writes a table for each group, and one of the suites.
pub fn write_list(
    out: &mut dyn Write,
    style: &Style,
    tables: &[ScenarioTable],
    suites: &[&Suite],
    data_size: DataSize,
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    for (number, table) in tables.iter().enumerate() {
        if number > 0 {
            out.line("")?;
        }
        write_table(out, &table.title, table.scenarios.iter(), data_size)?;
    }
    if !suites.is_empty() {
        out.heading("Suites: the rows of a document, run one after another")?;
        let mut table = Table::new(&["id", "rows"]).with_texts(&["what", "source"]);
        for suite in suites {
            table.row([
                suite.id.clone(),
                units::count(suite.rows.len() as u64),
                suite.title.clone(),
                suite.source.name().to_owned(),
            ]);
        }
        out.table(&table)?;
    }
    write_availability(out, tables)?;
    out.line("")?;
    out.wrapped(
        Style::dim,
        "prony scenarios ID shows one in full; prony reproduce ID --url URL runs it. The figures are from \
         the named documents.",
    )
}

/// Writes what takes over if a machine fails, for the scenarios whose documents say it. None says how long that takes.
fn write_availability(out: &mut Printer<'_>, tables: &[ScenarioTable]) -> io::Result<()> {
    let mut settings: BTreeMap<(String, &str), Vec<&str>> = BTreeMap::new();
    for scenario in tables.iter().flat_map(|table| &table.scenarios) {
        if let Some(kind) = scenario.setup.high_availability {
            let setting = availability_text(kind, scenario.setup.zones);
            let ids = settings.entry((setting, scenario.source.name()));
            ids.or_default().push(&scenario.id);
        }
    }
    if settings.is_empty() {
        return Ok(());
    }
    out.heading("High availability")?;
    let mut table =
        Table::new(&["setting", "rows"]).with_texts(&["first row", "failover", "source"]);
    for ((setting, source), ids) in settings {
        table.row([
            setting,
            units::count(ids.len() as u64),
            ids[0].to_owned(),
            "no published figure".to_owned(),
            source.to_owned(),
        ]);
    }
    out.table(&table)?;
    out.paragraph(
        "No document says how long a failover takes, or what it loses: prony drill measures both, such as with \
         plans/kits/failover.toml.",
    )
}

fn write_table<'a>(
    out: &mut Printer<'_>,
    title: &str,
    scenarios: impl Iterator<Item = &'a Scenario>,
    data_size: DataSize,
) -> io::Result<()> {
    out.line(out.style.bold(title))?;
    let mut table = Table::new(&["id"])
        .with_texts(&["machine", "data"])
        .with_numbers(&["clients", "published", ""])
        .with_texts(&["source"]);
    for scenario in scenarios {
        let figure = scenario.figures.first();
        table.row([
            scenario.id.clone(),
            machine_size_text(scenario),
            short_data_size(scenario, data_size),
            or_dash(scenario.clients, units::count),
            or_dash(figure, |figure| {
                units::value_or_range(figure.value, figure.high)
            }),
            figure.map_or(String::new(), |figure| figure.name.name().to_owned()),
            scenario.source.name().to_owned(),
        ]);
    }
    out.table(&table)
}

fn machine_size_text(scenario: &Scenario) -> String {
    let cpus = scenario
        .setup
        .cpus
        .map(|cpus| units::count_of(cpus.into(), "CPU"));
    let memory = scenario.memory_gb.map(|memory| format!("{memory} GB"));
    let parts: Vec<String> = cpus.into_iter().chain(memory).collect();
    match (parts.as_slice(), &scenario.setup.machine) {
        ([], Some(machine)) => machine.clone(),
        ([], None) => "not stated".to_owned(),
        _ => parts.join(", "),
    }
}

/// The amount of data, short enough for a table column.
fn short_data_size(scenario: &Scenario, data_size: DataSize) -> String {
    let Some(scale) = scenario.scale else {
        return "not stated".to_owned();
    };
    let size = scenario.size(1.0);
    match (size.table_size, size.hot_set_accounts) {
        (Some(rows), _) => format!("{} × {} rows", units::count(scale), units::count(rows)),
        (_, Some(range)) => format!("scale {}, hot {} M", units::count(scale), range / 1_000_000),
        _ => data_size(scenario).unwrap_or_default(),
    }
}

/// Writes the rows of a suite in their order, with its source and its notes.
pub fn write_suite(
    out: &mut dyn Write,
    style: &Style,
    suite: &Suite,
    notes: &[String],
    data_size: DataSize,
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    let title = format!("{}: {}", suite.id, suite.title);
    write_table(out, &title, suite.scenarios(), data_size)?;
    out.paragraph(&source_line(suite.source, &suite.source_location))?;
    out.paragraphs(notes.iter().cloned())?;
    out.line("")?;
    out.wrapped(
        Style::dim,
        &format!(
            "prony reproduce {} --url URL runs all of them; with --estimate, it only says how long that takes.",
            suite.id
        ),
    )
}

/// The document, and the page or section in it.
fn source_line(source: ScenarioSource, location: &str) -> String {
    format!(
        "Source: {} ({}): {location}.",
        source.name(),
        source.title()
    )
}

pub struct ScenarioDetails<'a> {
    pub scenario: &'a Scenario,
    /// The amount of its data; absent if it is not published.
    pub data: Option<String>,
    pub steps: Vec<String>,
    pub commands: Vec<String>,
}

pub fn write_details(
    out: &mut dyn Write,
    style: &Style,
    details: &ScenarioDetails<'_>,
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    let scenario = details.scenario;
    out.line(style.bold(&scenario.id))?;
    out.wrapped(Style::dim, &scenario.title)?;
    out.line("")?;
    let facts = scenario_facts(scenario, details.data.clone());
    let widest = facts.iter().map(|(name, _)| name.len()).max();
    let columns = widest.unwrap_or(0) + 2;
    for (name, value) in &facts {
        out.item(&format!("{name:columns$}"), columns, value)?;
    }
    out.heading("Published")?;
    if scenario.figures.is_empty() {
        out.paragraph(NO_FIGURE_NOTE)?;
    } else {
        let mut table = Table::new(&["", ""]).with_texts(&[""]);
        for figure in &scenario.figures {
            table.row([
                figure.name.name().to_owned(),
                units::value_or_range(figure.value, figure.high),
                figure.unit.to_owned(),
            ]);
        }
        out.table(&table)?;
    }
    out.paragraph(&source_line(scenario.source, &scenario.source_location))?;
    out.paragraphs(scenario.notes.iter().cloned())?;
    out.heading("What prony reproduce does")?;
    for (number, step) in details.steps.iter().enumerate() {
        let number = format!("{}.", number + 1);
        out.item(&format!("{number:<3}"), 3, step)?;
    }
    out.heading("The same commands by hand")?;
    for command in &details.commands {
        out.line(format!("  {command}"))?;
    }
    if let Some(script) = scenario.script {
        out.heading(script.file_name())?;
        for line in script.text().lines() {
            out.line(format!("  {}", cut(line, 200)))?;
        }
    }
    Ok(())
}

fn scenario_facts(scenario: &Scenario, data: Option<String>) -> Vec<(&'static str, String)> {
    let setup = &scenario.setup;
    let or_not_stated = |text: Option<String>| text.unwrap_or_else(|| "not stated".to_owned());
    let mut server = scenario.dialect.name().to_owned();
    if let Some(version) = &setup.version {
        server += &format!(" {version}");
    }
    if setup.product != scenario.dialect.name() {
        server += &format!(", {}", setup.product);
    }
    let size = setup.data_gb.map(|size| format!(", about {size} GB"));
    let data = data.map(|data| data + &size.unwrap_or_default());
    let cached = scenario
        .cached
        .map(|cached| cached.description().to_owned());
    let protocol = setup.protocol.map(|protocol| protocol.name().to_owned());
    let warmup = scenario.warmup.map_or(String::new(), |warmup| {
        format!(" after {} of warm-up", format_duration(warmup))
    });
    let time = scenario
        .duration
        .map(|duration| format_duration(duration) + &warmup);
    let settings = setup.settings.iter();
    let settings = joined(
        settings.map(|(name, value)| format!("{name} {value}")),
        ", ",
    );
    let kind = setup.high_availability;
    let availability = kind.map(|kind| availability_text(kind, setup.zones));
    // A fact without a value is left out; that the most important ones are not stated is said.
    let facts = [
        ("server", Some(server)),
        ("machine", Some(or_not_stated(setup.machine.clone()))),
        ("disks", setup.disk.clone()),
        ("limits", instance_limits(scenario)),
        ("workload", Some(scenario.workload.clone())),
        ("data", Some(or_not_stated(data))),
        ("cached", Some(or_not_stated(cached))),
        (
            "clients",
            Some(or_not_stated(scenario.clients.map(units::count))),
        ),
        ("protocol", Some(or_not_stated(protocol))),
        ("time", Some(or_not_stated(time))),
        (
            "settings",
            Some(settings).filter(|settings| !settings.is_empty()),
        ),
        ("durability", setup.durability.clone()),
        ("replication", scenario.replication.clone()),
        ("availability", availability),
        ("region", setup.region.clone()),
        ("client", setup.client_machine.clone()),
    ];
    let facts = facts.into_iter();
    facts
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// The limits of the instance type, as text.
fn instance_limits(scenario: &Scenario) -> Option<String> {
    let counted = |limit: Option<u64>, noun: &str| {
        limit.map(|limit| format!("{} {noun}", units::count(limit)))
    };
    let storage = scenario.setup.storage_size.as_ref();
    let limits = [
        counted(scenario.setup.max_connections, "connections"),
        counted(scenario.setup.iops, "IOPS"),
        storage.map(|size| format!("{size} of storage")),
        counted(scenario.setup.max_rows, "rows"),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    (!limits.is_empty()).then(|| limits.join(", "))
}

/// What took over if the machine failed, with the number of zones.
fn availability_text(kind: HighAvailability, zones: Option<u32>) -> String {
    let zones = zones.map(|zones| units::count_of(zones.into(), "zone"));
    match zones {
        Some(zones) => format!("{}, {zones}", kind.name()),
        None => kind.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::written;
    use prony_assertions::TextAssertions;
    use prony_plan::scenario::{find_scenario, find_suite};

    fn much(_: &Scenario) -> Option<String> {
        Some("much".to_owned())
    }

    #[test]
    fn each_row_of_the_list_has_figure_and_source() {
        let mut other = find_scenario("tpcb-cached").expect("listed").clone();
        other.figures.clear();
        let tables = [ScenarioTable {
            section: 1,
            title: "pgbench".to_owned(),
            scenarios: vec![find_scenario("tpcb-cached").expect("listed").clone(), other],
        }];
        let suites = [find_suite("alloydb-select-only").expect("listed")];
        let shown = written(|out| write_list(out, &Style::plain(), &tables, &suites, much));
        let lines: Vec<&str> = shown.lines().collect();
        assert!(
            lines[2].contains("20,359  TPS") && lines[2].contains("AlloyDB-"),
            "{shown}"
        );
        assert!(lines[3].contains('–'), "{shown}");
        shown.assert_contains("multi-zone, 2 zones     2  tpcb-cached");
        shown.assert_contains("no published figure");
        shown.assert_contains("\n  alloydb-select-only  ");
        let shown = written(|out| write_suite(out, &Style::plain(), suites[0], &[], much));
        shown.assert_contains("\n  Source: AlloyDB-");
    }

    #[test]
    fn details_show_steps_commands_and_script() {
        let scenario = find_scenario("hotset-2c16g-0.1b-ro").expect("listed");
        let details = ScenarioDetails {
            scenario,
            data: much(scenario),
            steps: vec!["load".to_owned(), "run".to_owned()],
            commands: vec!["prony load tpcb".to_owned()],
        };
        let shown = written(|out| write_details(out, &Style::plain(), &details));
        for part in [
            "  data      much",
            "  Source: ApsaraDB-2022 (",
            "  1. load\n  2. run\n",
            "  prony load tpcb\n",
            "hot-set-ro.sql\n  ",
        ] {
            shown.assert_contains(part);
        }
    }
}
