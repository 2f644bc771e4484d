//! Names that shells complete: workloads, scenarios, and the values of options of workloads.
//!
//! In: the definition of the command line. Out: the same, with the values that a shell offers; the completion
//! script, with what the generator lacks. Must never: be used to parse arguments, because other values, such as
//! plan files, are valid too.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use clap_complete::aot::Shell;
use prony_judge::distinct;
use prony_plan::scenario::{all_scenarios, suites};
use prony_workload::describe::OptionKind;
use prony_workload::registry;

const WORKLOAD_OR_FILE: &str = "WORKLOAD|PLAN.toml";

/// The command with the values of its arguments, and of those of its subcommands.
pub fn with_values(command: Command) -> Command {
    command
        .mut_subcommands(with_values)
        .mut_args(|argument| match values_of(&argument) {
            names if names.is_empty() => argument,
            names => argument.value_parser(PossibleValuesParser::new(names)),
        })
}

/// The names that are valid for an argument; empty if the generator knows them, or if there are none.
fn values_of(argument: &Arg) -> Vec<&'static str> {
    let value_names = argument.get_value_names().unwrap_or_default();
    let value_name = value_names.first().map_or("", |name| name.as_str());
    let workloads = registry::list().iter();
    match (value_name, argument.get_id().as_str()) {
        ("WORKLOAD" | WORKLOAD_OR_FILE, _) | ("NAME", "name" | "workload") => {
            workloads.map(|workload| workload.name()).collect()
        }
        ("ID" | "ID|FILTER", _) => {
            let suites = suites().iter().map(|suite| suite.id.as_str());
            let scenarios = all_scenarios().map(|scenario| scenario.id.as_str());
            scenarios.chain(suites).collect()
        }
        (_, id) => choices(id),
    }
}

/// The values of the option of workloads that a flag sets.
fn choices(name: &str) -> Vec<&'static str> {
    let workloads = registry::list().iter();
    let options = workloads.flat_map(|workload| workload.options());
    let choices = options.filter_map(|option| match option.kind {
        OptionKind::Choice(choices) if option.name == name => Some(choices),
        _ => None,
    });
    distinct(choices.flatten().copied())
}

/// Adds to a script what the generator leaves out: in zsh, files beside names; in fish, the names of arguments
/// without a flag.
pub fn adapt(shell: Shell, command: &Command, mut script: String) -> String {
    match shell {
        Shell::Zsh => {
            let names = values_of(&Arg::new("workload").value_name(WORKLOAD_OR_FILE)).join(" ");
            let alternatives = format!(
                ":{{_alternative \"workloads:workload:({names})\" \"plans:plan:_files -g \\\"*.toml\\\"\"}}'"
            );
            let lines = script.lines().map(|line| match line.split_once(":(") {
                Some((start, _)) if line.starts_with("':workload_or_plan ") => {
                    format!("{start}{alternatives} \\\n")
                }
                _ => format!("{line}\n"),
            });
            script = lines.collect();
        }
        Shell::Fish => {
            for subcommand in command.get_subcommands() {
                let names: Vec<_> = subcommand.get_positionals().flat_map(values_of).collect();
                if !names.is_empty() {
                    let (name, names) = (subcommand.get_name(), names.join(" "));
                    script += &format!(
                        "complete -c prony -n \"__fish_prony_using_subcommand {name}\" -a \"{names}\"\n"
                    );
                }
            }
        }
        _ => {}
    }
    script
}
