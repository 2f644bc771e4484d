//! `prony scenarios`.
//!
//! Prints a list, one scenario in full, or JSON; connects to no server.

use super::output;
use super::reproduce::commands::{self, ScenarioSettings};
use crate::args::ScenariosArgs;
use crate::exit::{Exit, Failure};
use prony_plan::Choice;
use prony_plan::scenario::{
    Scenario, Suite, UnknownScenario, all_scenarios, find_scenario, find_suite, scenario_tables,
    suites,
};
use prony_report::json;
use prony_report::scenarios::{self, ScenarioDetails};
use prony_report::units;

pub fn scenarios(args: &ScenariosArgs) -> Result<Exit, Failure> {
    if let [id] = args.filter.as_slice() {
        match find_scenario(id) {
            Ok(scenario) if args.script => return print_script(scenario),
            Ok(scenario) if !args.json => return print_details(scenario),
            _ => {}
        }
        if let Some(suite) = find_suite(id)
            && !args.script
        {
            return print_suite(suite, args.json);
        }
    }
    let is_selected =
        |scenario: &Scenario| args.filter.iter().all(|word| matches_word(scenario, word));
    let is_suite_selected = |suite: &&Suite| {
        let texts = [suite.id.as_str(), &suite.title, suite.source.name()];
        args.filter.iter().all(|word| any_contains(&texts, word))
    };
    // A script is that of one scenario, and the filter names none.
    if !all_scenarios().any(is_selected) || args.script {
        let filter = args.filter.join(" ");
        let error = find_scenario(&filter).err();
        return Err(match error {
            Some(error) => unknown_scenario_failure(&error),
            None => no_script_failure(&filter),
        });
    }
    let mut tables = scenario_tables().to_vec();
    for table in &mut tables {
        table.scenarios.retain(is_selected);
    }
    tables.retain(|table| !table.scenarios.is_empty());
    let suites: Vec<&Suite> = suites().iter().filter(is_suite_selected).collect();
    output::show_or_json(args.json, &tables, |out, style| {
        scenarios::write_list(out, style, &tables, &suites, data_size)
    })?;
    Ok(Exit::Success)
}

fn print_details(scenario: &Scenario) -> Result<Exit, Failure> {
    let settings = ScenarioSettings::published(scenario);
    let details = ScenarioDetails {
        scenario,
        data: data_size(scenario),
        steps: scenario_steps(scenario),
        commands: commands::all_commands(scenario, &settings),
    };
    output::show(|out, style| scenarios::write_details(out, style, &details))?;
    Ok(Exit::Success)
}

/// Shows a suite: its rows in the document's order.
fn print_suite(suite: &Suite, as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        output::show(|out, _| json::write_pretty(out, suite))?;
        return Ok(Exit::Success);
    }
    let mut notes = suite.notes.clone();
    if suite.keep_data {
        let note = "A row uses the data that the row before it has loaded, if the size is the same, as in the document.";
        notes.push(note.to_owned());
    }
    if suite.derived {
        let note = "The document has no table of these rows: it describes or suggests them.";
        notes.push(note.to_owned());
    }
    output::show(|out, style| scenarios::write_suite(out, style, suite, &notes, data_size))?;
    Ok(Exit::Success)
}

pub fn unknown_scenario_failure(error: &UnknownScenario) -> Failure {
    Failure::of(Exit::Usage, error)
}

fn no_script_failure(id: &str) -> Failure {
    let hint = "scenarios of the workload script have one: `prony scenarios script`";
    Failure::usage(format!("the scenario {id} has no script"), hint)
}

fn print_script(scenario: &Scenario) -> Result<Exit, Failure> {
    let script = scenario
        .script
        .ok_or_else(|| no_script_failure(&scenario.id))?;
    output::show_raw(|out| write!(out, "{}", script.text()))?;
    Ok(Exit::Success)
}

fn matches_word(scenario: &Scenario, word: &str) -> bool {
    let texts = [
        Some(scenario.id.as_str()),
        Some(&scenario.title),
        Some(&scenario.setup.product),
        scenario.setup.version.as_deref(),
        scenario.setup.machine.as_deref(),
        Some(&scenario.workload),
        Some(scenario.source.name()),
        Some(scenario.dialect.name()),
    ];
    any_contains(&texts.into_iter().flatten().collect::<Vec<_>>(), word)
}

fn any_contains(texts: &[&str], word: &str) -> bool {
    let word = word.to_lowercase();
    texts.iter().any(|text| text.to_lowercase().contains(&word))
}

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
