//! Every command and every plan of the documentation is one that Prony accepts.

use super::blocks::{CodeBlock, RUN_MARK, code_blocks};
use super::{Page, assert_empty, pages, replaced_tools, repository_root};
use crate::args::{self, Cli};
use clap::{Command, CommandFactory};
use prony_plan::{PlanInput, PriceSheet};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Other programs that documented commands start, whose arguments are not checked.
const OTHER_PROGRAMS: &[&str] = &[
    "./hammerdbcli",
    "apt",
    "cp",
    "createdb",
    "createuser",
    "dnf",
    "docker",
    "grep",
    "install",
    "jq",
    "ln",
    "podman",
    "psql",
    "sha256sum",
    "ssh",
    "tar",
    "tee",
    "zcat",
];

/// Splits a command into words as a shell does, up to a comment. Pipes and redirections are words of their own.
fn shell_words(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in command.chars() {
        match (quote, character) {
            (Some(end), _) if character == end => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | '>' | '<' | ';' | '&') => {
                // `2>` redirects, and is no argument.
                words.extend(word.take().filter(|word| character != '>' || word != "2"));
                words.push(character.to_string());
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".to_owned());
    }
    words.extend(word);
    Ok(words)
}

/// The simple commands of a line: their words, without redirections and their files.
fn simple_commands(line: &str) -> Result<Vec<Vec<String>>, String> {
    let mut commands = vec![Vec::new()];
    let mut words = shell_words(line)?.into_iter().peekable();
    while let Some(word) = words.next() {
        match word.as_str() {
            "|" | ";" => commands.push(Vec::new()),
            // `>&1` and `>> FILE` redirect; `&&` separates commands; `&` ends one.
            ">" | "<" => {
                while words
                    .next_if(|next| [">", "&"].contains(&next.as_str()))
                    .is_some()
                {}
                words.next();
            }
            "&" => {
                words.next_if(|next| next == "&");
                commands.push(Vec::new());
            }
            _ => commands.last_mut().expect("one").push(word),
        }
    }
    commands.retain(|words| !words.is_empty());
    Ok(commands)
}

/// The problem with a line of commands, if any.
fn command_problem(line: &str) -> Option<String> {
    let commands = match simple_commands(line) {
        Ok(commands) => commands,
        Err(problem) => return Some(problem),
    };
    commands.iter().find_map(|words| {
        // Assignments to environment variables precede the program.
        let is_assignment =
            |word: &&String| word.split('=').next().is_some_and(is_variable) && word.contains('=');
        let words: Vec<String> = words.iter().skip_while(is_assignment).cloned().collect();
        simple_command_problem(&words)
    })
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

fn simple_command_problem(words: &[String]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    match program.as_str() {
        "prony" => {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            match args::parse(&words) {
                Ok(_) => arguments
                    .split_first()
                    .and_then(|(tool, arguments)| replaced_tools::problem(tool, arguments)),
                // Help and version are no problem.
                Err(failure) => Some(failure.problems.first()?.problem.clone()),
            }
        }
        "pgbench" | "sysbench" => replaced_tools::problem(program, arguments),
        "make" => make_problem(arguments),
        "cargo" => cargo_problem(arguments),
        "nohup" | "sudo" => simple_command_problem(arguments),
        other if OTHER_PROGRAMS.contains(&other) => None,
        other => Some(format!("unknown program {other}")),
    }
}

/// Every target of a `make` command is in the Makefile.
fn make_problem(arguments: &[String]) -> Option<String> {
    let makefile = std::fs::read_to_string(repository_root().join("Makefile")).expect("a Makefile");
    let mut targets = arguments.iter().filter(|argument| !argument.contains('='));
    let unknown = targets.find(|target| {
        let rule = format!("{target}:");
        !makefile.lines().any(|line| line.starts_with(&rule))
    });
    unknown.map(|target| format!("the Makefile has no target {target}"))
}

/// The folder after `--path` exists.
fn cargo_problem(arguments: &[String]) -> Option<String> {
    let arguments = arguments.iter();
    let mut after = arguments.skip_while(|argument| *argument != "--path");
    let path = after.nth(1)?;
    let manifest = repository_root().join(path).join("Cargo.toml");
    (!manifest.exists()).then(|| format!("there is no package in {path}"))
}

const COMMAND_LANGUAGES: [&str; 3] = ["console", "sh", "yaml"];

/// The commands of a block: after a prompt, all lines of a script, or the steps of a CI server's file.
fn block_commands(block: &CodeBlock) -> Vec<String> {
    let lines = block.lines.iter().map(|line| line.trim());
    match block.language.as_str() {
        "sh" => lines.map(str::to_owned).collect(),
        "yaml" => lines
            .map(|line| line.trim_start_matches("- ").trim_start_matches("run: "))
            .filter(|line| line.starts_with("prony "))
            .map(str::to_owned)
            .collect(),
        _ => block.commands(),
    }
}

fn page_problems(page: &Page, check: impl Fn(&CodeBlock) -> Vec<String>) -> Vec<String> {
    let blocks = code_blocks(&page.text);
    let located = |block: &CodeBlock| {
        let place = format!("{}:{}", page.path.display(), block.line);
        let problems = check(block).into_iter();
        problems
            .map(|problem| format!("{place}: {problem}"))
            .collect::<Vec<_>>()
    };
    blocks.iter().flat_map(located).collect()
}

#[test]
fn every_documented_command_is_valid() {
    let pages = pages();
    let is_checked = |block: &CodeBlock| COMMAND_LANGUAGES.contains(&block.language.as_str());
    let blocks = pages.iter().flat_map(|page| code_blocks(&page.text));
    let commands: usize = blocks
        .filter(is_checked)
        .map(|block| block_commands(&block).len())
        .sum();
    assert!(commands > 150, "only {commands} commands found");
    let check = |block: &CodeBlock| {
        if is_checked(block) {
            let lines = block_commands(block).into_iter();
            lines
                .filter_map(|line| Some(format!("{line}: {}", command_problem(&line)?)))
                .collect()
        } else {
            // A command in a block of another language would not be checked.
            let mark = block.is_run.then(|| RUN_MARK.to_owned()).into_iter();
            let prompts = block.lines.iter().filter(|line| line.starts_with("$ "));
            mark.chain(prompts.cloned())
                .map(|line| format!("{line}: the block is not marked console"))
                .collect()
        }
    };
    assert_empty(
        &pages
            .iter()
            .flat_map(|page| page_problems(page, check))
            .collect::<Vec<_>>(),
    );
}

/// Every `toml` block is a complete plan, or a price sheet.
#[test]
fn every_documented_plan_is_valid() {
    let check = |block: &CodeBlock| {
        if block.language != "toml" {
            return Vec::new();
        }
        let text = block.lines.join("\n");
        let is_sheet = text.lines().any(|line| line == "[sheet]");
        let problems = if is_sheet {
            PriceSheet::from_toml("sheet", &text).err()
        } else {
            match PlanInput::from_toml("plan", &text) {
                Ok(input) => input.check_experiment().err(),
                Err(problems) => Some(problems),
            }
        };
        problems
            .map(|problems| format!("{problems}"))
            .into_iter()
            .collect()
    };
    let pages = pages();
    let blocks = pages.iter().flat_map(|page| code_blocks(&page.text));
    assert!(blocks.filter(|block| block.language == "toml").count() >= 4);
    assert_empty(
        &pages
            .iter()
            .flat_map(|page| page_problems(page, check))
            .collect::<Vec<_>>(),
    );
}

fn help_examples(command: &Command, examples: &mut Vec<String>) {
    let help = command.get_after_long_help().or(command.get_after_help());
    let lines = help.map(|help| help.to_string()).unwrap_or_default();
    examples.extend(super::reference::commands::examples(&lines));
    for subcommand in command.get_subcommands() {
        help_examples(subcommand, examples);
    }
}

#[test]
fn the_examples_of_the_help_are_valid() {
    let mut examples = Vec::new();
    help_examples(&Cli::command(), &mut examples);
    assert!(examples.len() > 50, "{examples:?}");
    let problems = examples
        .iter()
        .filter_map(|line| Some(format!("{line}: {}", command_problem(line)?)));
    assert_empty(&problems.collect::<Vec<_>>());
}

/// `deploy/compose.yaml`: each service that it waits for exists, its commands are valid, and it starts the agents that its
/// coordinator calls.
/// A file of Docker Compose: the parts of its published schema that ours uses, and nothing else.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ComposeFile {
    #[serde(rename = "x-prony")]
    _prony: ComposeService,
    services: BTreeMap<String, ComposeService>,
    volumes: BTreeMap<String, Option<()>>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ComposeService {
    build: Option<ComposeBuild>,
    image: Option<String>,
    command: Vec<String>,
    environment: BTreeMap<String, String>,
    depends_on: Vec<String>,
    profiles: Vec<String>,
    restart: Option<String>,
    volumes: Vec<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ComposeBuild {
    context: String,
    dockerfile: String,
}

#[test]
fn the_compose_file_has_the_agents_that_its_coordinator_calls() {
    let folder = repository_root().join("deploy");
    let text = std::fs::read_to_string(folder.join("compose.yaml")).expect("a file");
    let mut merged: serde_yaml_ng::Value = serde_yaml_ng::from_str(&text).expect("YAML");
    merged.apply_merge().expect("maps");
    let file: ComposeFile = serde_yaml_ng::from_value(merged).expect("a compose file");
    let (mut started, mut called) = (Vec::new(), Vec::new());
    for (name, service) in &file.services {
        assert!(service.build.is_some() != service.image.is_some(), "{name}");
        if let Some(build) = &service.build {
            let containerfile = folder.join(&build.context).join(&build.dockerfile);
            assert!(containerfile.exists(), "{}", containerfile.display());
        }
        for other in &service.depends_on {
            let other = file.services.get(other).expect("a service");
            // What a service waits for is started with it.
            assert!(other.profiles.is_empty(), "{name}");
        }
        for volume in &service.volumes {
            let (volume, _) = volume.split_once(':').expect("a place");
            assert!(file.volumes.contains_key(volume), "{volume}");
        }
        let restart = service.restart.as_deref();
        assert!(matches!(restart, None | Some("on-failure")), "{restart:?}");
        if service.command.first().is_some_and(|word| word == "agent") {
            let words = [vec!["prony".to_owned()], service.command.clone()].concat();
            assert_eq!(simple_command_problem(&words), None, "{name}");
            started.extend(words.last().cloned());
        }
        if let Some(agents) = service.environment.get("PRONY_AGENTS") {
            called.extend(agents.split(';').map(str::to_owned));
        }
        if let Some(host) = service.environment.get("PGHOST") {
            assert!(file.services.contains_key(host), "{host}");
        }
    }
    for line in text.lines() {
        if let Some((_, command)) = line.split_once("compose.yaml run --rm ") {
            assert_eq!(command_problem(command), None, "{line}");
        }
    }
    assert!(started.len() > 1);
    assert_eq!(started, called);
}

#[test]
fn wrong_commands_are_found() {
    for line in [
        "prony run tpcb --clients 64 # a comment's text",
        "prony compare last --json | jq -r .verdict > verdict.txt",
        "prony doctor --fix-script > fix.sh",
        "PGPASSWORD=x prony runs --label \"before vacuum\" && prony show last 2>&1",
        "make demo",
        "sudo apt install ./prony.deb && prony runs >~/runs.txt",
        "cargo install --path crates/cli",
        "pgbench -c 64 -f mine.sql@3 bench | tee out",
        "prony sysbench ./my.lua --threads=16 run",
    ] {
        assert_eq!(command_problem(line), None, "{line}");
    }
    for line in [
        "prony run tpcb --cleints 64",
        "prony ruin tpcb",
        "pronny run tpcb",
        "prony runs --label \"before vacuum",
        "prony runs && prony show",
        "make nothing",
        "pgbench --cleints 64",
        "prony pgbench -c none",
        "sysbench oltp_read_wride run",
        "prony sysbench oltp_read_write ruin",
        "cargo install --path crates/nothing",
    ] {
        assert!(command_problem(line).is_some(), "{line}");
    }
}
