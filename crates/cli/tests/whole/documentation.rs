//! The documentation matches the program: the marked commands of README and docs/, and those in plans, are run.

#[path = "../documentation/blocks.rs"]
mod blocks;

use crate::common::*;
use blocks::code_blocks;
use prony_plan::scenario::find_suite;

/// Exit code of `prony doctor` if something is bad, as may be on the machine of the test.
const UNFIT_MACHINE: i32 = 7;
/// Exit codes of `prony find` if the machine of the test is too busy for its rates.
const ANSWERS_OF_FIND: [i32; 3] = [7, 8, 9];

pub fn repository_root() -> PathBuf {
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
    if arguments[0] == "doctor" {
        set_option(&mut arguments, "--watch", "0s");
    }
    if arguments[0] == "reproduce" {
        let share = if find_suite(&arguments[1]).is_some() { "1/50000" } else { "1/4000" };
        set_option(&mut arguments, "--shrink", share);
        set_option(&mut arguments, "--duration", "1s");
        set_option(&mut arguments, "--clients", "2");
    }
    // A plan that an earlier command wrote has the URL without its password.
    let is_written = |argument: &String| argument.starts_with('/') && argument.ends_with(".toml");
    if arguments[0] == "find" && arguments.iter().any(is_written) {
        set_option(&mut arguments, "--url", url);
    }
    if arguments[0] == "find" {
        // A limit that a busy machine meets; the rate doubles once.
        let options = [
            ("--p99", "10s"),
            ("--step", "1s"),
            ("--warmup", "200ms"),
            ("--clients", "8"),
            ("--from", "50"),
            ("--max-steps", "2"),
        ];
        for (option, value) in options {
            set_option(&mut arguments, option, value);
        }
    }
    if arguments[0] == "run" {
        set_option(&mut arguments, "--duration", "1s");
        set_option(&mut arguments, "--warmup", "200ms");
        // The full rate may be too high for the test, the port may be in use, and the server has connections for few
        // clients of each of the pages that are run side by side.
        let options = [
            ("--rate", "200"),
            ("--metrics-listen", "127.0.0.1:0"),
            ("--clients", "8"),
        ];
        for (option, value) in options {
            if arguments.iter().any(|argument| argument == option) {
                set_option(&mut arguments, option, value);
            }
        }
        if arguments.iter().any(|argument| argument == "--sweep") {
            set_option(&mut arguments, "--repeats", "1");
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

/// Runs a documented command, shortened, in the root of the sources; returns its stdout, or the file that it wrote.
fn run_documented(bench: &TestBench, line: &str) -> String {
    let root = repository_root();
    let mut arguments = parse_arguments(line);
    // Files that are not those of the sources, such as pages and plans that the commands write.
    let files = arguments.iter_mut().filter(|argument| {
        argument.ends_with(".html")
            || argument.ends_with(".rec")
            || argument.ends_with(".toml") && !root.join(argument).exists()
    });
    files.for_each(|file| *file = bench.home.join(&*file).display().to_string());
    if arguments[0] == "serve" {
        return crate::serve::first_page(bench);
    }
    let arguments = shorten_command(arguments, &bench.url);
    let mut command = bench.command("");
    let output = command.args(&arguments).current_dir(root).output();
    let mut output = bench.assert_no_password(output.expect("it starts"));
    let code = output.status.code();
    let is_of_machine = match arguments[0].as_str() {
        "doctor" => code == Some(UNFIT_MACHINE),
        "find" => code.is_some_and(|code| ANSWERS_OF_FIND.contains(&code)),
        _ => false,
    };
    if is_of_machine {
        output.status = std::process::ExitStatus::default();
    }
    let printed = ok_stdout(&output);
    let is_file = |argument: &String| argument == "--output" || argument == "--out";
    match arguments.iter().position(is_file) {
        // A recording is no text.
        Some(index) => {
            let bytes = std::fs::read(&arguments[index + 1]).expect("the file");
            String::from_utf8_lossy(&bytes).into_owned()
        }
        None => printed,
    }
}

fn marked_commands(page: &Path) -> Vec<String> {
    let blocks = code_blocks(&read_text(page));
    let marked = blocks.iter().filter(|block| block.is_run);
    let commands = marked.flat_map(|block| {
        let place = format!("{}:{}", page.display(), block.line);
        assert_eq!(block.language, "console", "{place}");
        block.commands()
    });
    commands.collect()
}

/// All pages with marked blocks: in the root, and in the book.
fn marked_pages(folder: &Path, is_recursive: bool, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() && is_recursive {
            marked_pages(&path, true, pages);
        } else if path.extension().is_some_and(|extension| extension == "md")
            && !marked_commands(&path).is_empty()
        {
            pages.push(path);
        }
    }
}

/// The number of runs that a command stores; each point of a sweep is one.
fn run_count(line: &str) -> usize {
    let arguments = parse_arguments(line);
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let suite = arguments.get(1).and_then(|id| find_suite(id));
    match (arguments[0].as_str(), suite) {
        ("reproduce", Some(_)) if has("--estimate") => 0,
        ("reproduce", Some(suite)) => {
            let arguments = arguments.iter();
            let mut only = arguments.skip_while(|argument| *argument != "--only");
            let text = only.nth(1).map_or("", String::as_str);
            suite.rows.iter().filter(|id| id.contains(text)).count()
        }
        ("run" | "reproduce", _) => {
            let sweeps = arguments.windows(2).filter(|pair| pair[0] == "--sweep");
            sweeps.map(|pair| pair[1].split(',').count()).product()
        }
        ("replay", _) => 1,
        // Its steps, as they are shortened.
        ("find", _) => 2,
        _ => 0,
    }
}

/// Runs the commands of a page in their order, on one database.
fn run_page(page: &Path) {
    let name = page.file_stem().expect("a name").to_string_lossy();
    let database = format!("page_{}", name.to_lowercase().replace('-', "_"));
    let bench = TestBench::new(&database);
    let commands = marked_commands(page);
    let mut prepared_runs = 0;
    if !commands.iter().any(|line| line.starts_with("prony load ")) {
        // The page is about a database that is loaded, and about a run that is stored.
        run_documented(&bench, "prony load tpcb --url URL");
        run_documented(&bench, "prony run tpcb --url URL");
        prepared_runs = 1;
    }
    for line in &commands {
        let printed = run_documented(&bench, line);
        // It tells on stderr what it wrote.
        let is_told = !printed.trim().is_empty() || line.starts_with("prony capture ");
        assert!(is_told, "{}: {line}", page.display());
    }
    let runs: usize = commands.iter().map(|line| run_count(line)).sum();
    let listed = bench.ok_without_server("runs");
    // Each line of a run begins with its id, which begins with the year.
    let stored = listed.lines().filter(|line| line.starts_with("20"));
    assert_eq!(
        stored.count(),
        runs + prepared_runs,
        "{}: {listed}",
        page.display()
    );
}

#[test]
fn the_marked_commands_of_the_documentation_work() {
    let mut pages = Vec::new();
    marked_pages(&repository_root(), false, &mut pages);
    marked_pages(&repository_root().join("docs/src"), true, &mut pages);
    assert!(pages.len() >= 8, "{pages:?}");
    // Commands mostly wait, so the pages are run side by side.
    std::thread::scope(|scope| {
        for page in &pages {
            scope.spawn(|| run_page(page));
        }
    });
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
        let run = last_run(&bench);
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
