//! `prony init` on real servers: each goal's plan, and the commands that it names.

use crate::common::*;

const GOALS: [&str; 6] = ["compare", "capacity", "gate", "price", "failover", "own"];

/// Options that shorten a command of a plan, and the exit codes of an answer on a busy machine.
fn shortened(command: &str) -> (&'static str, &'static [i32]) {
    match command.split(' ').next() {
        Some("run") => (" --duration 1s --warmup 200ms --clients 2", &[0, 7, 8, 9]),
        Some("find") => (
            " --warmup 200ms --clients 4 --from 50 --step 1s --max-steps 2",
            &[0, 7, 8, 9],
        ),
        Some("drill") => (
            " --duration 2s --warmup 200ms --clients 2 --at 500ms true",
            &[0, 7, 8, 9],
        ),
        // One repeat of equal sides decides nothing.
        _ => ("", &[0, 7]),
    }
}

/// Writes the plan of each goal, checks it and runs its commands. `prony` runs the program on a loaded server, with its URL
/// if that is asked for.
fn try_goals(home: &Path, product: &str, prony: impl Fn(&str, bool) -> Output) {
    for goal in GOALS {
        let path = home.join(format!("{goal}.toml"));
        let shown = path.display().to_string();
        let init = format!("init --goal {goal} --out {shown}");
        let output = prony(&init, true);
        assert!(output.status.success(), "{goal}: {}", stderr_text(&output));
        let plan = std::fs::read_to_string(&path).expect("the plan");
        plan.assert_contains(&format!("#   server   {product}"));
        plan.assert_contains("connections are free for clients of this user");
        plan.assert_contains("cache (");
        let check = prony(&format!("plan check {shown}"), false);
        assert!(check.status.success(), "{goal}: {}", stderr_text(&check));
        let lines = plan.lines();
        let commands = lines.filter_map(|line| line.strip_prefix("#   prony "));
        let commands: Vec<&str> = commands.collect();
        assert!(!commands.is_empty(), "{plan}");
        for command in commands {
            let (options, expected) = shortened(command);
            let is_experiment = command.starts_with("run") && plan.contains("\n[experiment]");
            let repeats = if is_experiment { " --repeats 1" } else { "" };
            let needs_server = !["compare", "price"]
                .iter()
                .any(|it| command.starts_with(it));
            let output = prony(&format!("{command}{options}{repeats}"), needs_server);
            let code = output.status.code().unwrap_or(-1);
            assert!(
                expected.contains(&code),
                "{goal}: {command}: {code}: {}",
                stderr_text(&output)
            );
            assert!(!output.stdout.is_empty(), "{goal}: {command}");
        }
        // What is there is never replaced.
        assert_code(&prony(&init, true), 2).assert_contains("the file exists, and is not replaced");
        assert_eq!(std::fs::read_to_string(&path).expect("the plan"), plan);
    }
    let sheet = std::fs::read_to_string(home.join("prices.toml")).expect("a price sheet");
    sheet.assert_contains("example = true");
}

#[test]
fn each_goal_has_a_plan_that_runs_on_postgres() {
    let bench = TestBench::new("init_goals");
    // Nothing to begin with: a load is proposed, and there are no own tables.
    let path = bench.home.join("empty.toml");
    let own = bench.prony(&format!("init --goal own --out {}", path.display()));
    assert_code(&own, 4);
    assert!(!path.exists());
    let gate = bench.prony(&format!("init --goal gate --out {}", path.display()));
    assert!(gate.status.success(), "{}", stderr_text(&gate));
    let plan = std::fs::read_to_string(&path).expect("the plan");
    plan.assert_contains("#   prony load tpcb --scale ");
    plan.assert_contains("@127.0.0.1:");
    assert!(!plan.contains(&bench.password), "{plan}");
    let load = bench.prony("load tpcb --scale 2");
    assert!(load.status.success(), "{}", stderr_text(&load));
    try_goals(&bench.home, "PostgreSQL", |arguments, needs_server| {
        if needs_server { bench.prony(arguments) } else { bench.prony_without_server(arguments) }
    });
}

#[test]
fn tables_that_cannot_be_read_are_no_missing_tables() {
    let bench = TestBench::new("init_rights");
    let path = bench.home.join("gate.toml");
    let init = format!("init --goal gate --out {}", path.display());
    let mut owner = bench.control();
    owner.run("create role init_rights_reader login password 'reader'");
    let account = format!("postgres:{}@", bench.password);
    let reader = bench.url.replace(&account, "init_rights_reader:reader@");
    assert_ne!(reader, bench.url);
    let by_reader = || bench.prony_with(&init, &["--url", &reader]);
    ok_stdout(&bench.prony("load tpcb --scale 1"));
    let refused = assert_code(&by_reader(), 4);
    refused.assert_contains("permission denied for table pgbench_branches");
    assert!(!path.exists());
    ok_stdout(&bench.prony("clean tpcb"));
    ok_stdout(&bench.prony("load tpcc --scale 1"));
    assert_code(&by_reader(), 4).assert_contains("permission denied for table");
    owner.run("grant select on all tables in schema public to init_rights_reader");
    let output = by_reader();
    assert!(output.status.success(), "{}", stderr_text(&output));
    let plan = std::fs::read_to_string(&path).expect("the plan");
    plan.assert_contains("those of tpcc are loaded, at scale 1");
    std::fs::remove_file(&path).expect("the plan");
    assert!(bench.prony(&init).status.success());
    // A run would have installed them.
    let installed = "select count(*) from pg_proc where proname like 'prony_tpcc%'";
    assert_eq!(query_number(&mut owner, installed), 0);
}

#[test]
fn each_goal_has_a_plan_that_runs_on_mariadb() {
    let bench = TestBench::maria("init_goals");
    let path = bench.home.join("empty.toml");
    let gate = bench.prony(&format!("init --goal gate --out {}", path.display()));
    assert!(gate.status.success(), "{}", stderr_text(&gate));
    let plan = std::fs::read_to_string(&path).expect("the plan");
    plan.assert_contains("#   prony load tpcc --scale ");
    assert!(!plan.contains("mysql://prony:"), "{plan}");
    let load = bench.prony("load ycsb --scale 1");
    assert!(load.status.success(), "{}", stderr_text(&load));
    try_goals(&bench.home, "MariaDB", |arguments, needs_server| {
        let url = ["--url", &bench.url];
        bench.prony_with(arguments, if needs_server { &url } else { &[] })
    });
}
