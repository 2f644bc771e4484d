//! User documentation is correct: the commands in the README, in docs/ and in the plans, the plans
//! themselves, the exit codes.

use crate::common::{Bench, ok};
use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the sources are there")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The words of a documented command, without `prony` and its comment.
fn words(line: &str) -> Vec<String> {
    let command = line.split(" # ").next().unwrap_or_default();
    assert!(
        !command.contains(['\'', '"', '|', '>']),
        "a shell is needed: {command}"
    );
    let mut words = command.split_whitespace().map(str::to_owned);
    assert_eq!(words.next().as_deref(), Some("prony"), "{line}");
    words.collect()
}

/// Sets the value of an option, replacing the one that is there.
fn set(words: &mut Vec<String>, option: &str, value: &str) {
    match words.iter().position(|word| word == option) {
        Some(at) => words[at + 1] = value.to_owned(),
        None => words.extend([option.to_owned(), value.to_owned()]),
    }
}

/// The same command on a small temporary database for a short time.
fn shortened(mut words: Vec<String>, url: &str) -> Vec<String> {
    if words.iter().any(|word| word == "--url") {
        set(&mut words, "--url", url);
    }
    if words[0] == "load" {
        match words.iter().position(|word| word == "--cached") {
            // All of a small cache: a third of this machine's memory would take hours.
            Some(at) => {
                words[at + 1] = "100%".to_owned();
                set(&mut words, "--cached-of", "cache");
            }
            None => set(&mut words, "--scale", "1"),
        }
    }
    if words[0] == "reproduce" {
        set(&mut words, "--shrink", "1/4000");
        set(&mut words, "--minutes", "0.02");
        set(&mut words, "--clients", "2");
    }
    if words[0] == "run" {
        set(&mut words, "--duration", "1s");
        set(&mut words, "--warmup", "200ms");
        if words.iter().any(|word| word == "--rate") {
            set(&mut words, "--rate", "200");
        }
        let plan = words.iter().find(|word| word.ends_with(".toml"));
        if let Some(plan) = plan.cloned() {
            shorten_plan(&mut words, &read(&root().join(plan)), url);
        }
    }
    words
}

/// Overrides parts of a plan for the test.
fn shorten_plan(words: &mut Vec<String>, plan: &str, url: &str) {
    if plan.contains("\nembedded = true") {
        set(words, "--scale", "1");
    } else {
        set(words, "--url", url);
    }
    if plan.contains("\nrate = ") {
        set(words, "--rate", "200");
    }
    if plan.contains("\n[experiment]") {
        set(words, "--repeats", "1");
    }
}

/// Runs a documented command, shortened, in the root of the sources; returns its stdout.
fn run_documented(bench: &Bench, line: &str) -> String {
    let words = shortened(words(line), &bench.url);
    let mut command = bench.command("");
    let output = command.args(&words).current_dir(root()).output();
    let output = bench.assert_no_password(output.expect("it starts"));
    ok(&output)
}

/// The commands in a page's code blocks, from a heading on.
fn commands_below(page: &str, heading: &str) -> Vec<String> {
    let text = read(&root().join(page));
    let below = text.split(&format!("{heading}\n")).nth(1);
    let blocks = below.expect("the heading is there").split("```console\n");
    blocks
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("$ "))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_commands_of_readme_and_using_work() {
    let bench = Bench::new("readme");
    let mut commands = commands_below("README.md", "## Use it");
    commands.extend(commands_below("docs/using.md", "# Using Prony"));
    for verb in ["load", "run", "check", "runs", "show", "clean"] {
        let named = format!("prony {verb} ");
        let count = commands.iter().filter(|line| line.starts_with(&named));
        assert!(count.count() >= 2, "`prony {verb}` in {commands:?}");
    }
    for line in &commands {
        let printed = run_documented(&bench, line);
        assert!(!printed.trim().is_empty(), "{line}");
    }
    let runs = commands
        .iter()
        .filter(|line| line.starts_with("prony run "));
    let listed = ok(&bench.local("runs"));
    assert_eq!(
        listed.lines().count(),
        1 + runs.count(),
        "a header and the runs"
    );
}

#[test]
fn the_commands_about_published_figures_work() {
    let bench = Bench::new("readme_figures");
    let commands = commands_below(
        "docs/published-figures.md",
        "# Reproducing published figures",
    );
    for verb in ["scenarios", "reproduce", "load"] {
        let named = format!("prony {verb}");
        assert!(
            commands.iter().any(|line| line.starts_with(&named)),
            "{verb}"
        );
    }
    for line in &commands {
        let printed = run_documented(&bench, line);
        assert!(!printed.trim().is_empty(), "{line}");
    }
}

/// Checks the exit codes, and the other help pages that the text mentions.
#[test]
fn the_documentation_matches_the_help() {
    let bench = Bench::new("readme_text");
    let readme = read(&root().join("docs/using.md"));
    let help = ok(&bench.local("--help"));
    let codes: Vec<&str> = help
        .split("Exit codes:\n")
        .nth(1)
        .expect("they are in the help")
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
    // In the table the two signals share a row.
    let (table, listed) = (rows.join("\n"), codes.len());
    for line in &codes {
        let (code, meaning) = line.trim().split_once(' ').expect("a code and its meaning");
        assert!(table.contains(&format!(" {code}")), "no {code} in\n{table}");
        let meaning = meaning.trim();
        let signal = meaning.starts_with("ended by");
        assert!(
            signal || table.contains(meaning),
            "`{meaning}` is not in\n{table}"
        );
    }
    assert_eq!(rows.len() + 1, listed, "{table}");
    ok(&bench.local("run --help"));
    ok(&bench.local("plan schema"));
}

#[test]
fn the_plans_and_their_commands_work() {
    let bench = Bench::new("plans");
    let mut plans: Vec<PathBuf> = std::fs::read_dir(root().join("plans"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    plans.sort();
    assert!(plans.len() >= 4, "{plans:?}");
    for plan in plans {
        let name = format!("plans/{}", plan.file_name().expect("a name").display());
        ok(&bench
            .command(&format!("plan check {name}"))
            .current_dir(root())
            .output()
            .expect("starts"));
        let text = read(&plan);
        let commands: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("#   "))
            .filter(|line| line.starts_with("prony "))
            .collect();
        let runs = format!("prony run {name}");
        assert!(
            commands.contains(&runs.as_str()),
            "{name} does not say how it is run"
        );
        for line in commands {
            let printed = run_documented(&bench, line);
            assert!(!printed.trim().is_empty(), "{line}");
        }
        // What ran is what the plan says, except for the overrides.
        let stored = crate::common::last(&bench);
        let workload = format!("name = \"{}\"", stored.workload.name);
        assert!(text.contains(&workload), "{name}: {workload}");
        assert!(
            text.contains(&format!("clients = {}", stored.drive.clients)),
            "{name}"
        );
        assert_eq!(
            text.contains("connect_per_transaction = true"),
            stored.drive.connect_per_transaction
        );
        assert_eq!(text.contains("\nrate = "), stored.drive.open_loop, "{name}");
        assert!(stored.measured.kinds[0].committed > 0, "{name}");
        assert_eq!(stored.measured.errors, [], "{name}");
    }
}
