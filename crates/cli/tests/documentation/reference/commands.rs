//! The page of all commands with their flags, from the definition of the command line.

use super::{code, page_head, table, without_brackets};
use crate::args::Cli;
use clap::{Arg, ArgAction, Command, CommandFactory};
use std::fmt::Write;

/// Pages about the commands that run as another tool.
const REPLACED_TOOLS: [(&str, &str); 3] = [
    ("pgbench", "../how-to/pgbench.md"),
    ("hammerdbcli", "../how-to/hammerdb.md"),
    ("sysbench", "../how-to/sysbench.md"),
];

pub fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut text = page_head(
        "Commands",
        "`prony COMMAND --help` prints the same. Results go to stdout, everything else to stderr; the\n\
         [exit codes](exit-codes.md) are the same for all commands. Times are written as `500ms`, `30s`, `5m` or `1h30m`,\n\
         shares as `30%` or `0.3`. The settings of a run can also be written in a [plan file](plan-files.md), and each workload\n\
         has [options](workloads.md) of its own for `-o NAME=VALUE`.\n",
    );
    let listed = visible_subcommands(&root);
    text += &table(
        ["command", "what it does"],
        listed.iter().map(|command| {
            let name = command_name(command);
            let anchor = name.replace(' ', "-");
            [format!("[`{name}`](#{anchor})"), about(command)]
        }),
    );
    for command in listed {
        write_command(&mut text, command, 2);
    }
    text
}

fn visible_subcommands(command: &Command) -> Vec<&Command> {
    let subcommands = command.get_subcommands();
    let is_visible = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    subcommands.filter(is_visible).collect()
}

/// The name with those of its parents, such as `prony plan check`.
fn command_name(command: &Command) -> String {
    command
        .get_bin_name()
        .unwrap_or(command.get_name())
        .to_owned()
}

fn about(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string);
    about.unwrap_or_default()
}

fn write_command(text: &mut String, command: &Command, level: usize) {
    let name = command_name(command);
    let long_about = command.get_long_about().map(ToString::to_string);
    let about = long_about
        .unwrap_or_else(|| about(command))
        .replacen("\n\n", ".\n\n", 1);
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let usage = usage.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    write!(
        text,
        "\n{} {name}\n\n{}.\n\n```text\n{usage}\n```\n",
        "#".repeat(level),
        about.trim_end_matches('.')
    )
    .expect("a text");
    if let Some((_, page)) = REPLACED_TOOLS
        .iter()
        .find(|(tool, _)| *tool == command.get_name())
    {
        writeln!(
            text,
            "\nIts arguments are those of that tool: [differences]({page})."
        )
        .expect("a text");
        return;
    }
    write_arguments(text, command);
    if let Some(help) = command.get_after_long_help().or(command.get_after_help()) {
        write_after_help(text, &help.to_string());
    }
    for subcommand in visible_subcommands(command) {
        write_command(text, subcommand, level + 1);
    }
}

/// Tables of arguments and flags, one for each heading of the help.
fn write_arguments(text: &mut String, command: &Command) {
    let is_listed = |argument: &&Arg| {
        !argument.is_hide_set() && !["help", "version"].contains(&argument.get_id().as_str())
    };
    let arguments: Vec<&Arg> = command.get_arguments().filter(is_listed).collect();
    let (positionals, flags): (Vec<&Arg>, Vec<&Arg>) = arguments
        .into_iter()
        .partition(|argument| argument.is_positional());
    if !positionals.is_empty() {
        let rows = positionals
            .iter()
            .map(|argument| [code(&value_name(argument)), meaning(argument)]);
        *text += &format!("\n{}", table(["argument", "meaning"], rows));
    }
    let mut headings: Vec<Option<&str>> = Vec::new();
    for flag in &flags {
        if !headings.contains(&flag.get_help_heading()) {
            headings.push(flag.get_help_heading());
        }
    }
    write_option_flags(text, command);
    for heading in headings {
        let of_heading = flags
            .iter()
            .filter(|flag| flag.get_help_heading() == heading);
        let rows = of_heading.map(|flag| {
            [
                code(&flag_names(flag)),
                code(&defaults(flag)),
                meaning(flag),
            ]
        });
        let title = heading
            .map(|heading| format!("{heading}:\n\n"))
            .unwrap_or_default();
        *text += &format!("\n{title}{}", table(["flag", "default", "meaning"], rows));
    }
}

/// Flags that set an option of one workload: they are hidden in the help, which has no text for them.
fn write_option_flags(text: &mut String, command: &Command) {
    let is_option_flag =
        |flag: &&Arg| flag.is_hide_set() && !flag.is_positional() && help(flag).is_empty();
    let flags = command.get_arguments().filter(is_option_flag);
    let names: Vec<String> = flags.map(|flag| code(&flag_names(flag))).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        *text += &format!("\nFlags for options of one workload, as `-o` sets them: {names}.\n");
    }
}

fn value_name(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    names.join(" ")
}

/// Short and long name with the name of the value: `-c, --clients N`.
fn flag_names(flag: &Arg) -> String {
    let short = flag
        .get_short()
        .map(|short| format!("-{short}, "))
        .unwrap_or_default();
    let long = flag.get_long().unwrap_or_default();
    let takes_value = matches!(flag.get_action(), ArgAction::Set | ArgAction::Append);
    let value = if takes_value { format!(" {}", value_name(flag)) } else { String::new() };
    format!("{short}--{long}{value}")
}

/// The default of clap, or the one that the help names.
fn defaults(flag: &Arg) -> String {
    let values = flag
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy());
    let values = values.collect::<Vec<_>>().join(" ");
    match (flag.get_action(), split_default(&help(flag)).1) {
        (ArgAction::SetTrue, _) => String::new(),
        // A default in words stays in the meaning.
        (_, Some(default)) if !default.contains([' ', ',']) => default,
        _ => values,
    }
}

fn help(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help());
    help.map(ToString::to_string).unwrap_or_default()
}

/// Splits `[default: VALUE]` from the end of a help text.
fn split_default(help: &str) -> (&str, Option<String>) {
    match help.split_once(" [default: ") {
        Some((text, default)) => (text, default.strip_suffix(']').map(str::to_owned)),
        None => (help, None),
    }
}

fn meaning(argument: &Arg) -> String {
    let help = help(argument);
    let is_column = split_default(&help)
        .1
        .is_some_and(|default| default == defaults(argument));
    let text = if is_column { split_default(&help).0 } else { &help };
    let mut meaning = without_brackets(text.trim_end_matches('.'));
    let values = argument.get_possible_values();
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let values: Vec<String> = values
        .iter()
        .filter(|value| takes_value && !value.is_hide_set())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({help})", value.get_name()),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if !values.is_empty() {
        meaning += &format!(". One of {}", values.join(", "));
    }
    meaning + "."
}

/// The examples in the text after a command's help.
pub fn examples(after_help: &str) -> Vec<String> {
    let examples = after_help
        .split_once("Examples:\n")
        .map_or("", |(_, examples)| examples);
    let lines = examples.lines().take_while(|line| line.starts_with("  "));
    lines.map(|line| commented(line.trim())).collect()
}

/// An example with its comment, which is two or more spaces away, as a comment of the shell.
fn commented(example: &str) -> String {
    match example.split_once("  ") {
        Some((command, comment)) => format!("{command}   # {}", comment.trim()),
        None => example.to_owned(),
    }
}

/// The text after a command's help: paragraphs, then examples.
fn write_after_help(text: &mut String, help: &str) {
    let prose = help.split("Examples:\n").next().unwrap_or_default();
    for paragraph in prose
        .split("\n\n")
        .map(str::trim_end)
        .filter(|text| !text.is_empty())
    {
        *text += &if paragraph.lines().any(|line| line.starts_with(' ')) {
            format!("\n```text\n{paragraph}\n```\n")
        } else {
            format!("\n{}\n", paragraph.replace('<', "&lt;").replace('*', "\\*"))
        };
    }
    let examples = examples(help);
    if !examples.is_empty() {
        let lines: Vec<String> = examples.iter().map(|line| format!("$ {line}\n")).collect();
        *text += &format!("\n```console\n{}```\n", lines.concat());
    }
}
