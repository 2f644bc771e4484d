//! Completions and man pages cover the command line, and the programs that read them accept them.
//!
//! bash is required. zsh, fish and mandoc are used if they are installed; a test without its program says so.

use prony_assertions::{TestFolder, TextAssertions};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

const PRONY: &str = env!("CARGO_BIN_EXE_prony");

fn run(program: &str, arguments: &[&str]) -> Output {
    let output = Command::new(program).args(arguments).output();
    output.unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// The standard output of a program that succeeds and reports nothing.
fn stdout_of(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && stderr.is_empty(),
        "{program} {arguments:?}: {}: {stderr}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn is_installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

fn write_completions(folder: &TestFolder, shell: &str) -> String {
    let path = folder.write(shell, stdout_of(PRONY, &["completions", shell]));
    path.to_str().expect("UTF-8").to_owned()
}

/// The commands that `prony --help` lists.
fn listed_commands() -> BTreeSet<String> {
    let help = stdout_of(PRONY, &["--help"]);
    let (_, commands) = help.split_once("Commands:\n").expect("a list of commands");
    let (commands, _) = commands.split_once("\n\n").expect("its end");
    let names = commands.lines().filter_map(|line| {
        let line = line.strip_prefix("  ")?;
        let is_command = line.starts_with(|first: char| first.is_ascii_lowercase());
        is_command.then(|| line.split(' ').next().unwrap_or_default().to_owned())
    });
    names.filter(|name| name != "help").collect()
}

/// What bash completes after `words`, of which the last is incomplete.
fn bash_completions(script: &str, words: &[&str]) -> Vec<String> {
    let program = r#"
        source "$1"
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        previous=$((COMP_CWORD - 1))
        "$(complete -p prony | sed 's/.*-F \([^ ]*\).*/\1/')" prony "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[previous]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let arguments = [&["-c", program, "bash", script], words].concat();
    let output = stdout_of("bash", &arguments);
    output.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    let folder = TestFolder::create();
    let script = write_completions(&folder, "bash");
    let commands = listed_commands();
    assert!(
        commands.contains("run") && commands.contains("completions"),
        "{commands:?}"
    );
    let completed: BTreeSet<String> = bash_completions(&script, &["prony", ""])
        .into_iter()
        .collect();
    for name in &commands {
        assert!(
            completed.contains(name),
            "{name} is not among {completed:?}"
        );
    }
    let flags = bash_completions(&script, &["prony", "run", "--clie"]);
    assert_eq!(flags, ["--clients"]);
    let shells = bash_completions(&script, &["prony", "completions", "z"]);
    assert_eq!(shells, ["zsh"]);
}

#[test]
fn bash_completes_names_of_workloads_and_scenarios_and_values_of_options() {
    let folder = TestFolder::create();
    let script = write_completions(&folder, "bash");
    let complete = |words: &[&str]| bash_completions(&script, &[&["prony"], words].concat());
    for command in ["run", "load", "check", "clean", "workloads", "trend"] {
        assert_eq!(complete(&[command, "tpc"]), ["tpcb", "tpcc"], "{command}");
    }
    assert_eq!(complete(&["runs", "--workload", "yc"]), ["ycsb"]);
    assert_eq!(
        complete(&["reproduce", "index-insert"]),
        ["index-insert-only", "index-insert-only-web"]
    );
    assert_eq!(
        complete(&["load", "tpcc", "--profile", "hammer"]),
        ["hammerdb", "hammerdb-4.6"]
    );
    // Names are not the only valid values: a plan file is one too.
    let output = run(PRONY, &["run", "no-such-plan.toml"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    stderr.assert_contains("no-such-plan.toml");
}

#[test]
fn zsh_accepts_its_completions() {
    if is_installed("zsh") {
        let folder = TestFolder::create();
        let script = write_completions(&folder, "zsh");
        // `compdef` is a function of the completion system, and `-u` does not ask about the folders' owners.
        let program =
            "autoload -Uz compinit && compinit -u -D && source $1 && print -r -- $_comps[prony]";
        let function = stdout_of("zsh", &["-f", "-c", program, "zsh", &script]);
        assert_eq!(function.trim(), "_prony");
        let text = std::fs::read_to_string(&script).expect("the script");
        let run_argument = text
            .lines()
            .find(|line| line.starts_with("':workload_or_plan "))
            .expect("the argument of `prony run`");
        run_argument.assert_contains("workloads:workload:(tpcb ");
        run_argument.assert_ends_with(r#"_files -g \"*.toml\""}' \"#);
    }
}

#[test]
fn fish_completes_commands_flags_and_names() {
    if is_installed("fish") {
        let folder = TestFolder::create();
        let script = write_completions(&folder, "fish");
        let program = format!(
            "source {script}; complete -C 'prony dem'; complete -C 'prony run --clie'; \
             complete -C 'prony run tpc'"
        );
        let completed = stdout_of("fish", &["--no-config", "-c", &program]);
        let lines = completed.lines();
        let words: Vec<&str> = lines.filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(words, ["demo", "--clients", "tpcb", "tpcc"]);
    }
}

fn flags_in_help(help: &str) -> BTreeSet<&str> {
    let definitions = help
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with('-'));
    let flags = definitions.filter_map(|line| {
        line.split([' ', ',', '=', '['])
            .find(|word| word.starts_with("--"))
    });
    flags.collect()
}

fn read_page(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn each_command_has_a_man_page_with_its_flags() {
    let folder = TestFolder::create();
    let pages = folder.join("man1");
    stdout_of(PRONY, &["man-pages", pages.to_str().expect("UTF-8")]);
    let overview = read_page(&pages, "prony.1");
    for name in listed_commands() {
        let reference = format!("prony\\-{}(1)", name.replace('-', "\\-"));
        assert!(
            overview.contains(&reference),
            "prony.1 does not mention {reference}"
        );
        let page = read_page(&pages, &format!("prony-{name}.1"));
        if ["pgbench", "sysbench", "hammerdbcli", "plan"].contains(&name.as_str()) {
            // The help of these is that of another tool, or lists commands instead of flags.
            continue;
        }
        let help = stdout_of(PRONY, &[&name, "--help"]);
        for flag in flags_in_help(&help) {
            let escaped = flag.replace('-', "\\-");
            assert!(
                page.contains(&escaped),
                "prony-{name}.1 does not mention {flag}"
            );
        }
    }
    let compare = read_page(&pages, "prony-compare.1");
    let (_, examples) = compare
        .split_once(".SH EXAMPLES\n.nf\n")
        .expect("a section");
    let (examples, _) = examples.split_once(".fi\n").expect("its end");
    assert!(
        examples
            .lines()
            .all(|line| line.starts_with("  prony compare ")),
        "{examples}"
    );
    overview.assert_contains(".SH EXIT STATUS\n.nf\n  0    success\n");
    overview.assert_lacks(".SH EXTRA");
    assert!(
        pages.join("prony-plan-check.1").exists(),
        "a page for a nested command"
    );
    assert!(
        !pages.join("prony-man-pages.1").exists(),
        "a hidden command has a page"
    );
}

#[test]
fn man_pages_are_the_same_each_time_and_well_formed() {
    let folder = TestFolder::create();
    let [first, second] = ["first", "second"].map(|name| {
        let pages = folder.join(name);
        stdout_of(PRONY, &["man-pages", pages.to_str().expect("UTF-8")]);
        pages
    });
    let names: Vec<_> = std::fs::read_dir(&first)
        .expect("pages")
        .map(|entry| entry.expect("a page").file_name())
        .collect();
    assert!(names.len() > 20, "{names:?}");
    for name in &names {
        let name = name.to_str().expect("UTF-8");
        assert_eq!(read_page(&first, name), read_page(&second, name), "{name}");
    }
    // mandoc has no --version.
    if Command::new("mandoc")
        .stdin(std::process::Stdio::null())
        .output()
        .is_err()
    {
        eprintln!("skipped: mandoc is not installed");
        return;
    }
    for name in &names {
        let path = first.join(name);
        let output = run(
            "mandoc",
            &["-T", "lint", "-W", "error", path.to_str().expect("UTF-8")],
        );
        let findings = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}: {findings}", path.display());
    }
}
