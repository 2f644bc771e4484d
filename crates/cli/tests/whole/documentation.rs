//! The documentation matches the program: commands in the README, in docs/ and in plans, and exit codes.

use crate::common::{TestBench, ok_stdout, total_figures};
use std::path::{Path, PathBuf};

/// Returns the root of the repository.
fn repository_root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository")
}

fn read_text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the arguments of a documented command, without `prony` and a comment.
fn parse_arguments(line: &str) -> Vec<String> {
    let command = line.split(" # ").next().unwrap_or_default();
    assert!(
        !command.contains(['\'', '"', '|', '>']),
        "a shell is needed: {command}"
    );
    let mut arguments = command.split_whitespace().map(str::to_owned);
    assert_eq!(arguments.next().as_deref(), Some("prony"), "{line}");
    arguments.collect()
}

/// Sets the value of an option, replacing an existing one.
fn set_option(arguments: &mut Vec<String>, option: &str, value: &str) {
    match arguments.iter().position(|argument| argument == option) {
        Some(index) => arguments[index + 1] = value.to_owned(),
        None => arguments.extend([option.to_owned(), value.to_owned()]),
    }
}

/// Shortens a command: a small temporary database and a short duration.
fn shorten_command(mut arguments: Vec<String>, url: &str) -> Vec<String> {
    if arguments.iter().any(|argument| argument == "--url") {
        set_option(&mut arguments, "--url", url);
    }
    if arguments[0] == "load" {
        match arguments.iter().position(|argument| argument == "--cached") {
            // Size the data to the small buffer cache; loading a third of the memory would take hours.
            Some(index) => {
                arguments[index + 1] = "100%".to_owned();
                set_option(&mut arguments, "--cached-of", "cache");
            }
            None => set_option(&mut arguments, "--scale", "1"),
        }
    }
    if arguments[0] == "reproduce" {
        set_option(&mut arguments, "--shrink", "1/4000");
        set_option(&mut arguments, "--duration", "1s");
        set_option(&mut arguments, "--clients", "2");
    }
    if arguments[0] == "run" {
        set_option(&mut arguments, "--duration", "1s");
        set_option(&mut arguments, "--warmup", "200ms");
        if arguments.iter().any(|argument| argument == "--rate") {
            set_option(&mut arguments, "--rate", "200");
        }
        let plan = arguments
            .iter()
            .find(|argument| argument.ends_with(".toml"));
        if let Some(plan) = plan.cloned() {
            shorten_plan(
                &mut arguments,
                &read_text(&repository_root().join(plan)),
                url,
            );
        }
    }
    arguments
}

/// Overrides parts of a plan for the test.
fn shorten_plan(arguments: &mut Vec<String>, plan: &str, url: &str) {
    if plan.contains("\nembedded = true") {
        set_option(arguments, "--scale", "1");
    } else {
        set_option(arguments, "--url", url);
    }
    if plan.contains("\nrate = ") {
        set_option(arguments, "--rate", "200");
    }
    if plan.contains("\n[experiment]") {
        set_option(arguments, "--repeats", "1");
    }
}

/// Runs a documented command, shortened, in the root of the sources; returns its stdout.
fn run_documented(bench: &TestBench, line: &str) -> String {
    let arguments = shorten_command(parse_arguments(line), &bench.url);
    let mut command = bench.command("");
    let output = command
        .args(&arguments)
        .current_dir(repository_root())
        .output();
    let output = bench.assert_no_password(output.expect("it starts"));
    ok_stdout(&output)
}

/// Returns the commands in a page's code blocks below a heading.
fn commands_below(page: &str, heading: &str) -> Vec<String> {
    let text = read_text(&repository_root().join(page));
    let below = text.split(&format!("{heading}\n")).nth(1);
    let blocks = below.expect("the heading").split("```console\n");
    blocks
        .skip(1)
        .filter_map(|block| block.split("```").next())
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("$ "))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_commands_of_readme_and_using_work() {
    let bench = TestBench::new("readme");
    let mut commands = commands_below("README.md", "## Use it");
    commands.extend(commands_below("docs/using.md", "# Using Prony"));
    for verb in ["load", "run", "check", "runs", "show", "clean"] {
        let prefix = format!("prony {verb} ");
        let count = commands.iter().filter(|line| line.starts_with(&prefix));
        assert!(count.count() >= 2, "`prony {verb}` in {commands:?}");
    }
    for line in &commands {
        let printed = run_documented(&bench, line);
        assert!(!printed.trim().is_empty(), "{line}");
    }
    let runs = commands
        .iter()
        .filter(|line| line.starts_with("prony run "));
    let listed = ok_stdout(&bench.prony_without_server("runs"));
    assert_eq!(
        listed.lines().count(),
        1 + runs.count(),
        "a header and the runs"
    );
}

#[test]
fn the_commands_about_published_figures_work() {
    let bench = TestBench::new("readme_figures");
    let commands = commands_below(
        "docs/published-figures.md",
        "# Reproducing published figures",
    );
    for verb in ["scenarios", "reproduce", "load"] {
        let prefix = format!("prony {verb}");
        assert!(
            commands.iter().any(|line| line.starts_with(&prefix)),
            "{verb}"
        );
    }
    for line in &commands {
        let printed = run_documented(&bench, line);
        assert!(!printed.trim().is_empty(), "{line}");
    }
}

/// Checks the documented exit codes, and that mentioned help pages exist.
#[test]
fn the_documentation_matches_the_help() {
    let bench = TestBench::new("readme_text");
    let readme = read_text(&repository_root().join("docs/using.md"));
    let help = ok_stdout(&bench.prony_without_server("--help"));
    let codes: Vec<&str> = help
        .split("Exit codes:\n")
        .nth(1)
        .expect("a list of exit codes")
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    assert!(codes.len() >= 9, "{codes:?}");
    let rows: Vec<String> = readme
        .lines()
        .skip_while(|line| !line.starts_with("| exit code |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').replace('|', " "))
        .collect();
    let table = rows.join("\n");
    for line in &codes {
        let (code, meaning) = line.trim().split_once(' ').expect("a code and its meaning");
        assert!(table.contains(&format!(" {code}")), "no {code} in\n{table}");
        let meaning = meaning.trim();
        let is_signal = meaning.starts_with("ended by");
        assert!(
            is_signal || table.contains(meaning),
            "`{meaning}` is not in\n{table}"
        );
    }
    // Two codes share a row of the table.
    assert_eq!(rows.len() + 1, codes.len(), "{table}");
    ok_stdout(&bench.prony_without_server("run --help"));
    ok_stdout(&bench.prony_without_server("plan schema"));
}

#[test]
fn the_plans_and_their_commands_work() {
    let bench = TestBench::new("plans");
    let mut plans: Vec<PathBuf> = std::fs::read_dir(repository_root().join("plans"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    plans.sort();
    assert!(plans.len() >= 4, "{plans:?}");
    for plan in plans {
        let name = format!("plans/{}", plan.file_name().expect("a name").display());
        ok_stdout(
            &bench
                .command(&format!("plan check {name}"))
                .current_dir(repository_root())
                .output()
                .expect("starts"),
        );
        let text = read_text(&plan);
        let commands: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("#   "))
            .filter(|line| line.starts_with("prony "))
            .collect();
        let run_command = format!("prony run {name}");
        assert!(
            commands.contains(&run_command.as_str()),
            "{name} does not say how it is run"
        );
        for line in commands {
            let printed = run_documented(&bench, line);
            assert!(!printed.trim().is_empty(), "{line}");
        }
        // The stored run has the settings of the plan, except for overrides.
        let run = crate::common::last_run(&bench);
        let workload = format!("name = \"{}\"", run.workload.name);
        assert!(text.contains(&workload), "{name}: {workload}");
        assert!(
            text.contains(&format!("clients = {}", run.drive.clients)),
            "{name}"
        );
        assert_eq!(
            text.contains("connect_per_transaction = true"),
            run.drive.connect_per_transaction
        );
        assert_eq!(text.contains("\nrate = "), run.drive.open_loop, "{name}");
        assert!(total_figures(&run.measured).committed > 0, "{name}");
        assert_eq!(run.measured.errors, [], "{name}");
    }
}
