//! `prony scenarios`.
//!
//! In: the tables of scenarios. Out: a list, one whole, or JSON. Must never: ask a server.

use super::output;
use super::reproduce::words::{self, Settings};
use crate::args::ScenariosArgs;
use crate::exit::{Exit, Failure};
use prony_plan::Choice;
use prony_plan::format_duration;
use prony_plan::scenario::{Engine, Scenario, UnknownScenario, all, each, find};
use prony_report::scenarios::{self, Group, Row, Whole};
use prony_report::units;
use serde_json::Value;

/// Lists them, or shows one.
pub fn scenarios(args: &ScenariosArgs) -> Result<Exit, Failure> {
    if let [id] = args.filter.as_slice()
        && let Ok(one) = find(id)
        && !args.json
    {
        return match args.script {
            true => script(one),
            false => output::show(|out, style| scenarios::whole(out, style, &whole(one)))
                .map(|()| Exit::Fine),
        };
    }
    let wanted = |one: &Scenario| args.filter.iter().all(|word| holds(one, word));
    if !each().any(wanted) || args.script {
        let asked = args.filter.join(" ");
        let error = find(&asked).err();
        return Err(error.map_or_else(|| no_script(&asked), |error| unknown(&error)));
    }
    if args.json {
        let tables: Vec<Value> = all()
            .iter()
            .map(|table| {
                let mut table = table.clone();
                table.scenarios.retain(|one| wanted(one));
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
        return Ok(Exit::Fine);
    }
    let groups: Vec<Group> = all()
        .iter()
        .map(|table| Group {
            title: table.title.clone(),
            rows: table
                .scenarios
                .iter()
                .filter(|one| wanted(one))
                .map(row)
                .collect(),
        })
        .filter(|group| !group.rows.is_empty())
        .collect();
    output::show(|out, style| scenarios::list(out, style, &groups))?;
    Ok(Exit::Fine)
}

/// That there is none, with what may have been meant.
pub fn unknown(error: &UnknownScenario) -> Failure {
    let what = format!("there is no scenario \"{}\"", error.id);
    Failure::new(Exit::Usage, what, error.hint.clone())
}

fn no_script(id: &str) -> Failure {
    let hint = "those of the workload script have one: `prony scenarios script`";
    Failure::new(
        Exit::Usage,
        format!("the scenario {id} has no script"),
        hint,
    )
}

fn script(one: &Scenario) -> Result<Exit, Failure> {
    let script = one.script.ok_or_else(|| no_script(&one.id))?;
    output::show(|out, _| write!(out, "{}", script.text()))?;
    Ok(Exit::Fine)
}

/// Whether a word is in what is known of a scenario.
fn holds(one: &Scenario, word: &str) -> bool {
    let word = word.to_lowercase();
    let texts = [
        Some(one.id.as_str()),
        Some(&one.title),
        Some(&one.product),
        one.version.as_deref(),
        one.machine.as_deref(),
        Some(&one.workload),
        Some(one.source.name()),
        Some(one.engine.name()),
    ];
    texts
        .into_iter()
        .flatten()
        .any(|text| text.to_lowercase().contains(&word))
}

fn machine(one: &Scenario) -> String {
    let cpus = one
        .cpus
        .map(|cpus| units::counted(cpus.into(), "CPU", "CPUs"));
    let memory = one.memory_gb.map(|memory| format!("{memory} GB"));
    let known: Vec<String> = cpus.into_iter().chain(memory).collect();
    match known.is_empty() {
        true => "not said".to_owned(),
        false => known.join(", "),
    }
}

/// How much data, in words.
pub fn data(one: &Scenario) -> Option<String> {
    let (unit, units) = one.unit();
    let scale = units::counted(one.scale?, unit, units);
    let size = one.size(1.0);
    Some(match (size.table_size, size.range) {
        (Some(rows), _) => format!("{scale} of {} rows", units::count(rows)),
        (_, Some(range)) => format!("{scale}, {} hot accounts", units::count(range)),
        _ => scale,
    })
}

/// The same for a column.
fn short_data(one: &Scenario) -> String {
    let Some(scale) = one.scale else {
        return "not said".to_owned();
    };
    let size = one.size(1.0);
    match (size.table_size, size.range) {
        (Some(rows), _) => format!("{} × {} rows", units::count(scale), units::count(rows)),
        (_, Some(range)) => format!("scale {}, hot {} M", units::count(scale), range / 1_000_000),
        _ => data(one).unwrap_or_default(),
    }
}

fn row(one: &Scenario) -> Row {
    let figure = one.figures.first();
    Row {
        id: one.id.clone(),
        machine: machine(one),
        data: short_data(one),
        clients: one.clients,
        figure: figure.map(|figure| (figure.measure.name().to_owned(), figure.value)),
        source: one.source.name().to_owned(),
    }
}

fn whole(one: &Scenario) -> Whole {
    let settings = Settings::published(one);
    let runs = one.engine != Engine::SqlServer;
    Whole {
        id: one.id.clone(),
        title: one.title.clone(),
        facts: facts(one),
        figures: one
            .figures
            .iter()
            .map(|figure| {
                (
                    figure.measure.name().to_owned(),
                    figure.value,
                    figure.unit.to_owned(),
                )
            })
            .collect(),
        source: format!(
            "{} ({}): {}",
            one.source.name(),
            one.source.title(),
            one.place
        ),
        notes: one.notes.clone(),
        steps: steps(one),
        commands: match runs {
            true => words::commands(one, &settings),
            false => Vec::new(),
        },
        script: one
            .script
            .map(|script| (script.file().to_owned(), script.text().to_owned())),
    }
}

fn facts(one: &Scenario) -> Vec<(&'static str, String)> {
    let unsaid = || "not said".to_owned();
    let version = one
        .version
        .as_ref()
        .map_or(String::new(), |version| format!(" {version}"));
    let mut facts = vec![
        (
            "server",
            format!("{}{version}, {}", one.engine.name(), one.product),
        ),
        ("machine", one.machine.clone().unwrap_or_else(unsaid)),
        ("workload", one.workload.clone()),
    ];
    let size = one
        .data_gb
        .map_or(String::new(), |size| format!(", about {size} GB"));
    facts.push(("data", data(one).map_or_else(unsaid, |data| data + &size)));
    let cached = one
        .cached
        .map_or_else(unsaid, |cached| cached.words().to_owned());
    facts.push(("cached", cached));
    facts.push(("clients", one.clients.map_or_else(unsaid, units::count)));
    let protocol = one.protocol.map(|protocol| protocol.name().to_owned());
    facts.push(("protocol", protocol.unwrap_or_else(unsaid)));
    let time = |time| format_duration(time);
    let warmup = one.warmup.map_or(String::new(), |warmup| {
        format!(" after {} of warm-up", time(warmup))
    });
    facts.push((
        "time",
        one.duration
            .map_or_else(unsaid, |duration| time(duration) + &warmup),
    ));
    for (name, value) in [
        ("durability", &one.durability),
        ("replication", &one.replication),
    ] {
        facts.extend(value.clone().map(|value| (name, value)));
    }
    facts
}

/// What is done to run it, in order.
fn steps(one: &Scenario) -> Vec<String> {
    if one.engine == Engine::SqlServer {
        return vec!["Nothing yet: Prony does not speak SQL Server's protocol.".to_owned()];
    }
    let mut steps = Vec::new();
    if one.cold {
        let step = "Drop the tables of former runs and restart the server (--restart-command), so that its \
                    caches are cold.";
        steps.push(step.to_owned());
    }
    steps.push("Load, in place of tables of the same workload.".to_owned());
    steps.push("Check what was loaded: counts, sizes, relations.".to_owned());
    if !one.indexes.is_empty() {
        let columns = one.indexes.join(", ");
        steps.push(format!(
            "Create an index of its own on each of {columns} of pgbench_history."
        ));
    }
    if one.vacuum {
        steps.push("Vacuum and analyse the tables.".to_owned());
    }
    if words::is_prewarmed(one) {
        steps.push("Read all tables, so that they are cached.".to_owned());
    }
    steps.push("Run, watch the server, judge and store the result.".to_owned());
    steps.push("Set the figures beside the published ones, with what differs here.".to_owned());
    steps.push("With --cleanup: drop the tables.".to_owned());
    steps
}
