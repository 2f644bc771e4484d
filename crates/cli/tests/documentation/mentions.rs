//! Flags and commands that the prose mentions exist: `--clients 64`, `prony show last --full`.

use super::{Page, assert_empty, pages};
use crate::args::Cli;
use clap::{Command, CommandFactory};
use std::collections::BTreeSet;

/// Pages about tools with flags of their own.
const PAGES_OF_OTHER_TOOLS: [&str; 3] = ["pgbench.md", "sysbench.md", "hammerdb.md"];

/// The names of all commands, and of all flags with their dashes.
fn names(command: &Command, names: &mut BTreeSet<String>) {
    names.insert(command.get_name().to_owned());
    for flag in command.get_arguments() {
        let aliases = flag.get_visible_aliases().unwrap_or_default();
        let flags = flag.get_long().into_iter().chain(aliases);
        names.extend(flags.map(|flag| format!("--{flag}")));
    }
    for subcommand in command.get_subcommands() {
        self::names(subcommand, names);
    }
}

/// The code in lines of a text, not that in blocks.
fn inline_code(text: &str) -> Vec<&str> {
    let mut in_block = false;
    let mut code = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            code.extend(line.split('`').skip(1).step_by(2));
        }
    }
    code
}

/// The commands and flags in a code that do not exist.
fn unknown_names(code: &str, known: &BTreeSet<String>) -> Vec<String> {
    let mut words = code.split([' ', '=']).peekable();
    let is_of_prony = words.next_if_eq(&"prony").is_some() || code.starts_with("--");
    if !is_of_prony {
        return Vec::new();
    }
    let command = words.next_if(|word| word.starts_with(|first: char| first.is_ascii_lowercase()));
    let flags = words.filter(|word| word.starts_with("--"));
    let mentioned = command.into_iter().chain(flags);
    let unknown = mentioned.filter(|name| !known.contains(*name));
    unknown.map(str::to_owned).collect()
}

fn known_names() -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    let mut root = Cli::command();
    root.build();
    names(&root, &mut known);
    known
}

#[test]
fn mentioned_flags_and_commands_exist() {
    let known = known_names();
    let is_checked = |page: &Page| {
        let is_of_users = page.path.starts_with("docs") || page.path.ends_with("README.md");
        is_of_users
            && !PAGES_OF_OTHER_TOOLS
                .iter()
                .any(|name| page.path.ends_with(name))
    };
    let mut problems = Vec::new();
    for page in pages().iter().filter(|page| is_checked(page)) {
        for code in inline_code(&page.text) {
            for name in unknown_names(code, &known) {
                problems.push(format!(
                    "{}: `{code}`: Prony has no {name}",
                    page.path.display()
                ));
            }
        }
    }
    assert_empty(&problems);
}

#[test]
fn unknown_flags_and_commands_are_found() {
    let known = known_names();
    for (code, unknown) in [
        ("--clients 64", None),
        ("prony show last --full", None),
        ("--cleints=64", Some("--cleints")),
        ("prony ruin tpcb", Some("ruin")),
        ("prony run tpcb --cleints 4", Some("--cleints")),
        ("pgbench --cleints", None),
        ("prony COMMAND --help", None),
    ] {
        let found = unknown_names(code, &known);
        assert_eq!(found.first().map(String::as_str), unknown, "{code}");
    }
}
