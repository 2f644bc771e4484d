//! `prony scenarios`.
//!
//! Prints a list, one scenario in full, or JSON; connects to no server.

use super::output;
use super::reproduce::commands::{self, ScenarioSettings};
use crate::args::ScenariosArgs;
use crate::exit::{Exit, Failure};
use prony_plan::Choice;
use prony_plan::format_duration;
use prony_plan::scenario::{
    Scenario, Suite, UnknownScenario, all_scenarios, find_scenario, find_suite, scenario_tables,
    suites,
};
use prony_report::scenarios::{self, ScenarioDetails, ScenarioGroup, ScenarioRow, SuiteRow};
use prony_report::units;
use prony_store::HighAvailability;
use serde_json::Value;

/// Lists the scenarios, or shows one.
pub fn scenarios(args: &ScenariosArgs) -> Result<Exit, Failure> {
    if let [id] = args.filter.as_slice()
        && let Ok(scenario) = find_scenario(id)
        && !args.json
    {
        return if args.script {
            print_script(scenario)
        } else {
            output::show(|out, style| {
                scenarios::write_details(out, style, &scenario_details(scenario))
            })
            .map(|()| Exit::Success)
        };
    }
    if let [id] = args.filter.as_slice()
        && let Some(suite) = find_suite(id)
        && !args.script
    {
        return print_suite(suite, args.json);
    }
    let is_selected =
        |scenario: &Scenario| args.filter.iter().all(|word| matches_word(scenario, word));
    let is_suite_selected = |suite: &&Suite| {
        let texts = [suite.id.as_str(), &suite.title, suite.source.name()];
        args.filter.iter().all(|word| any_contains(&texts, word))
    };
    if !all_scenarios().any(is_selected) || args.script {
        let filter = args.filter.join(" ");
        let error = find_scenario(&filter).err();
        return Err(match error {
            Some(error) => unknown_scenario_failure(&error),
            None => no_script_failure(&filter),
        });
    }
    if args.json {
        let tables: Vec<Value> = scenario_tables()
            .iter()
            .map(|table| {
                let mut table = table.clone();
                table.scenarios.retain(|scenario| is_selected(scenario));
                table
            })
            .filter(|table| !table.scenarios.is_empty())
            .map(serde_json::to_value)
            .collect::<Result<_, _>>()
            .map_err(anyhow::Error::from)?;
        output::show(|out, _| {
            serde_json::to_writer_pretty(&mut *out, &tables)?;
            writeln!(out)
        })?;
        return Ok(Exit::Success);
    }
    let groups: Vec<ScenarioGroup> = scenario_tables()
        .iter()
        .map(|table| ScenarioGroup {
            title: table.title.clone(),
            rows: table
                .scenarios
                .iter()
                .filter(|scenario| is_selected(scenario))
                .map(scenario_row)
                .collect(),
        })
        .filter(|group| !group.rows.is_empty())
        .collect();
    let suites: Vec<SuiteRow> = suites()
        .iter()
        .filter(is_suite_selected)
        .map(suite_row)
        .collect();
    output::show(|out, style| scenarios::write_list(out, style, &groups, &suites))?;
    Ok(Exit::Success)
}

fn suite_row(suite: &Suite) -> SuiteRow {
    SuiteRow {
        id: suite.id.clone(),
        rows: suite.rows.len() as u64,
        title: suite.title.clone(),
        source: suite.source.name().to_owned(),
    }
}

/// Shows a suite: its rows in the document's order.
fn print_suite(suite: &Suite, as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        let suite = serde_json::to_value(suite).map_err(anyhow::Error::from)?;
        output::show(|out, _| {
            serde_json::to_writer_pretty(&mut *out, &suite)?;
            writeln!(out)
        })?;
        return Ok(Exit::Success);
    }
    let group = ScenarioGroup {
        title: format!("{}: {}", suite.id, suite.title),
        rows: suite.scenarios().map(scenario_row).collect(),
    };
    let mut notes = suite.notes.clone();
    if suite.keep_data {
        let note = "A row uses the data that the row before it has loaded, if the size is the same, as in the document.";
        notes.push(note.to_owned());
    }
    if suite.derived {
        let note = "The document has no table of these rows: it describes or suggests them.";
        notes.push(note.to_owned());
    }
    let source = format!(
        "{} ({}): {}",
        suite.source.name(),
        suite.source.title(),
        suite.source_location
    );
    output::show(|out, style| {
        scenarios::write_suite(out, style, &group, &suite.id, &source, &notes)
    })?;
    Ok(Exit::Success)
}

/// The failure for an unknown scenario, with suggestions.
pub fn unknown_scenario_failure(error: &UnknownScenario) -> Failure {
    Failure::of(Exit::Usage, error)
}

fn no_script_failure(id: &str) -> Failure {
    let hint = "scenarios of the workload script have one: `prony scenarios script`";
    Failure::new(
        Exit::Usage,
        format!("the scenario {id} has no script"),
        hint,
    )
}

fn print_script(scenario: &Scenario) -> Result<Exit, Failure> {
    let script = scenario
        .script
        .ok_or_else(|| no_script_failure(&scenario.id))?;
    output::show_raw(|out| write!(out, "{}", script.text()))?;
    Ok(Exit::Success)
}

/// Whether a scenario's description contains a word.
fn matches_word(scenario: &Scenario, word: &str) -> bool {
    let texts = [
        Some(scenario.id.as_str()),
        Some(&scenario.title),
        Some(&scenario.product),
        scenario.version.as_deref(),
        scenario.machine.as_deref(),
        Some(&scenario.workload),
        Some(scenario.source.name()),
        Some(scenario.dialect.name()),
    ];
    any_contains(&texts.into_iter().flatten().collect::<Vec<_>>(), word)
}

/// Whether one of the texts contains a word, ignoring case.
fn any_contains(texts: &[&str], word: &str) -> bool {
    let word = word.to_lowercase();
    texts.iter().any(|text| text.to_lowercase().contains(&word))
}

fn machine_size_text(scenario: &Scenario) -> String {
    let cpus = scenario
        .cpus
        .map(|cpus| units::count_with_noun(cpus.into(), "CPU", "CPUs"));
    let memory = scenario.memory_gb.map(|memory| format!("{memory} GB"));
    let parts: Vec<String> = cpus.into_iter().chain(memory).collect();
    match (parts.as_slice(), &scenario.machine) {
        ([], Some(machine)) => machine.clone(),
        ([], None) => "not stated".to_owned(),
        _ => parts.join(", "),
    }
}

/// The amount of data, as text.
pub fn data_size(scenario: &Scenario) -> Option<String> {
    let unit = prony_workload::find(scenario.data_workload())
        .ok()?
        .scale_unit()?;
    let scale = units::count_with_noun(scenario.scale?, &unit.singular, &unit.plural);
    let size = scenario.size(1.0);
    Some(match (size.table_size, size.hot_set_accounts) {
        (Some(rows), _) => format!("{scale} of {} rows", units::count(rows)),
        (_, Some(range)) => format!("{scale}, {} hot accounts", units::count(range)),
        _ => scale,
    })
}

/// The amount of data, short enough for a table column.
fn short_data_size(scenario: &Scenario) -> String {
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

fn scenario_row(scenario: &Scenario) -> ScenarioRow {
    let figure = scenario.figures.first();
    ScenarioRow {
        id: scenario.id.clone(),
        machine: machine_size_text(scenario),
        data: short_data_size(scenario),
        clients: scenario.clients,
        figure: figure.map(|figure| {
            let value = units::value_or_range(figure.value, figure.high);
            (figure.metric.name().to_owned(), value)
        }),
        source: scenario.source.name().to_owned(),
    }
}

fn scenario_details(scenario: &Scenario) -> ScenarioDetails {
    let settings = ScenarioSettings::published(scenario);
    ScenarioDetails {
        id: scenario.id.clone(),
        title: scenario.title.clone(),
        facts: scenario_facts(scenario),
        figures: scenario
            .figures
            .iter()
            .map(|figure| {
                (
                    figure.metric.name().to_owned(),
                    units::value_or_range(figure.value, figure.high),
                    figure.unit.to_owned(),
                )
            })
            .collect(),
        source: format!(
            "{} ({}): {}",
            scenario.source.name(),
            scenario.source.title(),
            scenario.source_location
        ),
        notes: scenario.notes.clone(),
        steps: scenario_steps(scenario),
        commands: commands::all_commands(scenario, &settings),
        script: scenario
            .script
            .map(|script| (script.file_name().to_owned(), script.text().to_owned())),
    }
}

fn scenario_facts(scenario: &Scenario) -> Vec<(&'static str, String)> {
    let not_stated = || "not stated".to_owned();
    let version = scenario
        .version
        .as_ref()
        .map_or(String::new(), |version| format!(" {version}"));
    let mut facts = vec![
        (
            "server",
            match scenario.dialect.name() {
                name if name == scenario.product => format!("{name}{version}"),
                name => format!("{name}{version}, {}", scenario.product),
            },
        ),
        (
            "machine",
            scenario.machine.clone().unwrap_or_else(not_stated),
        ),
    ];
    facts.extend(scenario.disk.clone().map(|disk| ("disks", disk)));
    facts.extend(instance_limits(scenario).map(|limits| ("limits", limits)));
    facts.push(("workload", scenario.workload.clone()));
    let size = scenario
        .data_gb
        .map_or(String::new(), |size| format!(", about {size} GB"));
    facts.push((
        "data",
        data_size(scenario).map_or_else(not_stated, |data| data + &size),
    ));
    let cached = scenario
        .cached
        .map_or_else(not_stated, |cached| cached.description().to_owned());
    facts.push(("cached", cached));
    facts.push((
        "clients",
        scenario.clients.map_or_else(not_stated, units::count),
    ));
    let protocol = scenario.protocol.map(|protocol| protocol.name().to_owned());
    facts.push(("protocol", protocol.unwrap_or_else(not_stated)));
    let warmup = scenario.warmup.map_or(String::new(), |warmup| {
        format!(" after {} of warm-up", format_duration(warmup))
    });
    facts.push((
        "time",
        scenario
            .duration
            .map_or_else(not_stated, |duration| format_duration(duration) + &warmup),
    ));
    let settings = scenario.settings.iter();
    let settings: Vec<String> = settings
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    for (name, value) in [
        (
            "settings",
            &(!settings.is_empty()).then(|| settings.join(", ")),
        ),
        ("durability", &scenario.durability),
        ("replication", &scenario.replication),
        (
            "availability",
            &scenario
                .high_availability
                .map(|kind| availability(kind, scenario.zones)),
        ),
        ("region", &scenario.region),
        ("client", &scenario.client_machine),
    ] {
        facts.extend(value.clone().map(|value| (name, value)));
    }
    facts
}

/// The limits of the instance type, as text.
fn instance_limits(scenario: &Scenario) -> Option<String> {
    let counted = |limit: Option<u64>, noun: &str| {
        limit.map(|limit| format!("{} {noun}", units::count(limit)))
    };
    let storage = scenario.storage_size.as_ref();
    let limits = [
        counted(scenario.max_connections, "connections"),
        counted(scenario.iops, "IOPS"),
        storage.map(|size| format!("{size} of storage")),
        counted(scenario.max_rows, "rows"),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    (!limits.is_empty()).then(|| limits.join(", "))
}

/// What took over if the machine failed, with the number of zones.
fn availability(kind: HighAvailability, zones: Option<u32>) -> String {
    let zones = zones.map(|zones| units::count_with_noun(zones.into(), "zone", "zones"));
    match zones {
        Some(zones) => format!("{}, {zones}", kind.name()),
        None => kind.name().to_owned(),
    }
}

/// The steps that run the scenario, in order.
fn scenario_steps(scenario: &Scenario) -> Vec<String> {
    let mut steps = Vec::new();
    if scenario.cold {
        let step = "Drop the tables of earlier runs and restart the server (--restart-command), so that its \
                    caches are cold.";
        steps.push(step.to_owned());
    }
    if scenario.scale.is_none() {
        let step = "Choose the amount of data, which was not published: --scale, or --cached for a share of it \
                    that fits into memory.";
        steps.push(step.to_owned());
    }
    steps.push("Load the data; tables of the same workload are replaced.".to_owned());
    steps.push("Check the loaded data: counts, sizes, relations.".to_owned());
    if !scenario.indexes.is_empty() {
        let columns = scenario.indexes.join(", ");
        steps.push(format!(
            "Create a separate index on each of {columns} of pgbench_history."
        ));
    }
    if scenario.vacuum {
        steps.push("Vacuum and analyse the tables.".to_owned());
    }
    if commands::requires_prewarm(scenario) {
        steps.push("Read all tables, so that they are cached.".to_owned());
    }
    steps.push("Run the load, observe the server, and judge and store the result.".to_owned());
    steps.push(
        "Compare the figures with the published ones, and list differences in the setup."
            .to_owned(),
    );
    steps.push("With --cleanup: drop the tables.".to_owned());
    steps
}
