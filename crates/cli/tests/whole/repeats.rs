//! Plans with repeats and variants: one run after another, each stored separately.

use crate::common::*;
use prony_store::Choice;

const PLAN: &str = "\
[workload]
name = \"select-only\"
[run]
clients = 2
transactions = 40
[experiment]
repeats = 2
keep_going = true
[variants.simple.run]
protocol = \"simple\"
[variants.prepared]
";

/// A loaded database, and the path of a file with this plan.
fn bench_with_plan(name: &str, plan: &str) -> (TestBench, String) {
    with_plan(TestBench::new(name), plan)
}

fn with_plan(bench: TestBench, plan: &str) -> (TestBench, String) {
    bench.ok("load select-only --scale 1");
    let path = bench.home.write("plan.toml", plan);
    (bench, path.display().to_string())
}

#[test]
fn variants_are_run_interleaved_as_one_experiment() {
    let (bench, plan) = bench_with_plan("variants", PLAN);
    let output = bench.prony(&format!("run {plan} --order interleaved"));
    let (printed, messages) = (ok_stdout(&output), stderr_text(&output));
    messages.assert_contains_all([
        "run 1 of 4: variant simple, repeat 1",
        "run 2 of 4: variant prepared, repeat 1",
        "run 3 of 4: variant prepared, repeat 2",
        "run 4 of 4: variant simple, repeat 2",
    ]);
    let runs = stored_runs(&bench.home);
    assert_eq!(runs.len(), 4);
    for (run, protocol) in runs
        .iter()
        .zip(["simple", "prepared", "prepared", "simple"])
    {
        let experiment = run.experiment.as_ref().expect("an experiment");
        assert_eq!(
            (&experiment.id, experiment.runs, experiment.order),
            (&runs[0].id, 4, prony_store::RunOrder::Interleaved)
        );
        assert_eq!(
            experiment.variants,
            ["simple", "prepared"],
            "the plan's order"
        );
        assert_eq!(
            (experiment.variant.as_str(), run.drive.protocol),
            (protocol, Choice::from_name(protocol))
        );
        assert_eq!(run.state, RunState::Complete);
        assert_eq!(total_figures(&run.measured).committed, 80);
        assert!(printed.contains(&run.id), "a line per run:\n{printed}");
        let settings = &run.request["given"];
        assert_eq!(settings["experiment.order"]["place"], "--order");
        let source = settings["run.protocol"]["place"].as_str();
        assert_eq!(source.is_some(), protocol == "simple", "{settings}");
    }
    let compare_command = format!("prony compare {}", runs[0].id);
    printed.assert_contains("4 runs, interleaved order");
    printed.assert_contains(&compare_command);
    // The printed command succeeds: differences between the variants are intended.
    let comparison = bench.ok_without_server(&format!("compare {}", runs[0].id));
    comparison.assert_contains("\nCOMPARABLE, WITH ");
    comparison.assert_contains("this is what the experiment varied");
    comparison.assert_contains_all(["  simple    ", "  prepared  ", "prepared, median"]);
    comparison.assert_lacks("Why they do not");
    let listed = bench.ok_without_server("runs");
    listed.assert_contains("1/4 simple");
    listed.assert_contains("3/4 prepared");
}

#[test]
fn json_output_of_repeats_has_one_document_per_line() {
    let (bench, _) = bench_with_plan("repeated", PLAN);
    let arguments = "run select-only --clients 1 --transactions 20 --repeats 3 --keep-going --json";
    let printed = bench.ok(arguments);
    let runs: Vec<Run> = printed
        .lines()
        .map(|line| serde_json::from_str(line).expect("a document in a line"))
        .collect();
    assert_eq!(runs, stored_runs(&bench.home));
    let repeats: Vec<u32> = runs
        .iter()
        .map(|run| run.experiment.as_ref().expect("an experiment").repeat)
        .collect();
    assert_eq!(repeats, [1, 2, 3]);
    let seeds: std::collections::BTreeSet<u64> = runs.iter().map(|run| run.drive.seed).collect();
    assert_eq!(seeds.len(), 3, "each run has its own seed");
    let single_run = bench.ok("run select-only --transactions 20 --repeats 1 --full");
    assert!(
        single_run.contains("Stored in"),
        "like a run without repeats:\n{single_run}"
    );
    let unstored =
        bench.ok("run select-only --transactions 20 --repeats 2 --keep-going --no-store");
    unstored.assert_contains("2 runs");
    unstored.assert_lacks("prony compare");
    assert_eq!(stored_runs(&bench.home).len(), 4);
}

#[test]
fn a_random_order_is_stored_with_its_seed_and_reproducible() {
    let plan = PLAN.replace("repeats = 2", "repeats = 3\norder = \"random\"");
    let (bench, plan) = bench_with_plan("shuffled", &plan);
    let order = |runs: &[Run]| {
        let experiments = runs
            .iter()
            .map(|run| run.experiment.clone().expect("an experiment"));
        experiments
            .map(|experiment| (experiment.variant, experiment.repeat, experiment.order_seed))
            .collect::<Vec<_>>()
    };
    let run = format!("run {plan} --seed 11 --json --primary p50");
    let printed = bench.ok(&run);
    // The comparison of the variants is the last line.
    let parse = |text: &str| -> Vec<Run> {
        let lines: Vec<&str> = text.lines().collect();
        let (last, runs) = lines.split_last().expect("lines");
        let last: serde_json::Value = serde_json::from_str(last).expect("a document");
        let comparison = &last["comparison"];
        assert_eq!(comparison["primary"], "p50", "{comparison}");
        let answers = comparison["answer"].as_array().expect("answers");
        assert_eq!(answers.len(), 1);
        let answer = answers[0].as_str().expect("a sentence");
        answer.assert_contains("p50");
        let runs = runs
            .iter()
            .map(|line| serde_json::from_str(line).expect("a document"));
        runs.collect()
    };
    let first_order = order(&parse(&printed));
    assert!(
        first_order.iter().all(|(_, _, seed)| *seed == Some(11)),
        "{first_order:?}"
    );
    let repeated = bench.ok(&run);
    assert_eq!(first_order, order(&parse(&repeated)));
    assert_code(
        &bench.prony("run select-only --transactions 20 --primary cpu"),
        2,
    )
    .assert_contains("there is nothing to compare");
}

#[test]
fn a_failing_command_between_runs_ends_the_experiment() {
    // The command is executed before each run, and fails before the third. Its password
    // must not be printed or stored.
    let log = std::env::temp_dir().join(format!("prony-log-between-{}", std::process::id()));
    let between = format!(
        "between = \"echo $PRONY_VARIANT/$PRONY_REPEAT >> {0}; test $(wc -l < {0}) -lt 3 # hunter2\"",
        log.display()
    );
    let plan = PLAN.replace("repeats = 2", &format!("repeats = 2\n{between}"));
    let (bench, plan) = bench_with_plan("between", &plan);
    let output = bench.prony(&format!("run {plan} --require errors=0"));
    let messages = assert_code(&output, 1);
    messages.assert_contains("experiment.between");
    messages.assert_contains("exit status: 1");
    messages.assert_lacks("hunter2");
    let printed = stdout_text(&output);
    printed.assert_contains("2 of 4 runs");
    for variant in ["simple", "prepared"] {
        let unfinished =
            format!("{variant}: UNDECIDED: errors 0, required 0; 1 of 2 runs were completed");
        printed.assert_contains(&unfinished);
    }
    let calls = std::fs::read_to_string(&log).expect("it ran");
    assert_eq!(calls, "simple/1\nprepared/1\nprepared/2\n");
    let _ = std::fs::remove_file(&log);
    let runs = stored_runs(&bench.home);
    assert_eq!(runs.len(), 2);
    serde_json::to_string(&runs[1])
        .expect("JSON")
        .assert_lacks("hunter2");
}

/// The first repeat finds the data inconsistent, which the pause before the second repairs.
#[test]
fn an_experiment_continues_after_an_invalid_repeat() {
    let folder = TestFolder::create();
    let (waiting, repaired) = (folder.join("waiting"), folder.join("repaired"));
    let between = format!(
        "between = \"test $PRONY_REPEAT = 1 || touch {}; test $PRONY_REPEAT = 1 || until test -e {}; do sleep 0.1; done\"",
        waiting.display(),
        repaired.display()
    );
    let plan = format!(
        "[workload]\nname = \"tpcb\"\n[run]\nclients = 1\ntransactions = 20\n\
         [experiment]\nrepeats = 2\n{between}\n"
    );
    // On a server of its own: the load of other tests would make a run invalid.
    let server = own_postgres();
    let (bench, plan) = with_plan(TestBench::on(&server, "repaired"), &plan);
    let mut control = bench.control();
    control.run("update pgbench_branches set bbalance = bbalance + 1");
    let (child, _) = start_run(run_command(&bench, &plan, "--check-after"));
    wait_for("the first run ends", || waiting.exists());
    control.run("update pgbench_branches set bbalance = bbalance - 1");
    std::fs::write(&repaired, "").expect("a file");
    let (code, printed) = wait_for_end(child, &bench);
    assert_eq!(code, Some(7), "{printed}");
    let runs = stored_runs(&bench.home);
    let invalid: Vec<bool> = runs
        .iter()
        .map(|run| run.check("consistency").is_some())
        .collect();
    assert_eq!(invalid, [true, false], "{printed}");
    let states = runs[1].consistency.as_ref().expect("it was checked");
    assert!(
        states.error.is_none() && states.findings.len() > 3,
        "{states:?}"
    );
    for part in ["invalid (consistency)", "must not be used: run 1"] {
        assert!(printed.unwrapped().contains(part), "{part}:\n{printed}");
    }
}

/// The data are inconsistent in every run: those that remain would be invalid too.
#[test]
fn an_experiment_ends_if_every_run_is_invalid_by_the_same_check() {
    let plan = PLAN
        .replace("select-only", "tpcb")
        .replace("keep_going = true\n", "");
    let (bench, plan) = bench_with_plan("always_invalid", &plan.replace("= 2", "= 3"));
    let mut control = bench.control();
    control.run("update pgbench_branches set bbalance = bbalance + 1");
    let output = bench.prony(&format!("run {plan} --check-after"));
    let (printed, messages) = (stdout_text(&output), stderr_text(&output));
    assert_eq!(output.status.code(), Some(7), "{messages}");
    let expected = "prony: the experiment ends after 2 of 6 runs: each is invalid by ";
    messages.assert_contains(expected);
    printed.assert_contains("2 of 6 runs");
    printed.assert_lacks("prony compare");
    assert_eq!(stored_runs(&bench.home).len(), 2);
}

/// The command that runs a plan with additional `options`.
fn run_command(bench: &TestBench, plan: &str, options: &str) -> Command {
    bench.command_with_url(&format!("run {plan} {options}"))
}

/// Waits for the end of a command; returns its exit code and stdout.
fn wait_for_end(child: Child, bench: &TestBench) -> (Option<i32>, String) {
    let output = bench.finish(child);
    let printed = stdout_text(&output);
    (output.status.code(), printed)
}

#[test]
fn an_interrupt_ends_the_run_and_the_experiment() {
    let (bench, plan) = bench_with_plan(
        "interrupted",
        &PLAN.replace("transactions = 40", "duration = \"5m\"\nwarmup = \"0s\""),
    );
    let (child, messages) = start_run(run_command(&bench, &plan, ""));
    messages.assert_contains("run 1 of 4");
    send_signal(&child, "-INT");
    let (code, printed) = wait_for_end(child, &bench);
    assert_eq!(code, Some(130), "{printed}");
    printed.assert_contains("ended early");
    printed.assert_contains("1 of 4 runs");
    printed.assert_lacks("prony compare");
    let runs = stored_runs(&bench.home);
    assert_eq!((runs.len(), runs[0].state), (1, RunState::Partial));
}

#[test]
fn signals_and_kills_in_the_pause_keep_earlier_runs() {
    let plan_with_pause = PLAN.replace("repeats = 2", "repeats = 2\npause = \"10m\"");
    let (bench, plan) = bench_with_plan("paused", &plan_with_pause);
    for (name, expected) in [("-TERM", Some(143)), ("-KILL", None)] {
        let before = stored_runs(&bench.home).len();
        let mut command = run_command(&bench, &plan, "--progress 0s");
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().expect("it starts");
        // The pause begins when the document of the first run is stored.
        wait_for("the first run ends", || {
            let runs = stored_runs(&bench.home).into_iter();
            let complete = runs.filter(|run| run.state == RunState::Complete);
            complete.count() > before
        });
        send_signal(&child, name);
        let (code, printed) = wait_for_end(child, &bench);
        assert_eq!(code, expected, "{printed}");
        let runs = stored_runs(&bench.home);
        assert_eq!(runs.len(), before + 1);
        assert_eq!(
            runs[before]
                .experiment
                .as_ref()
                .expect("an experiment")
                .runs,
            4
        );
    }
}

#[test]
fn errors_of_all_variants_are_reported_before_the_first_run() {
    let invalid_plan = PLAN.replace("protocol = \"simple\"", "protocol = \"simpel\"")
        + "[variants.third.workload]\nname = \"select-olny\"\n[variants.forth.workload]\nbogus = 3\n";
    let (bench, plan) = bench_with_plan("mistakes", &invalid_plan);
    for arguments in [format!("plan check {plan}"), format!("run {plan}")] {
        let messages = assert_code(&bench.prony_without_server(&arguments), 2);
        messages.assert_contains_all([
            "did you mean \"simple\"?",
            "did you mean \"select-only\"?",
            "bogus",
            "(variant forth)",
        ]);
    }
    assert_eq!(stored_runs(&bench.home).len(), 0);
}

#[test]
fn two_servers_take_turns_and_are_compared_at_the_end() {
    let server = own_postgres();
    let [a, b] = ["versus_a", "versus_b"].map(|name| TestBench::on(&server, name));
    for bench in [&a, &b] {
        bench.ok("load tpcb --scale 1");
    }
    let run = "run tpcb --clients 2 --duration 1s --repeats 2 --keep-going --versus";
    let output = a.command(run).args([&b.url, "--url", &a.url]).output();
    let output = a.assert_no_password(output.expect("it starts"));
    let (printed, messages) = (ok_stdout(&output), stderr_text(&output));
    messages.assert_contains_all([
        "run 1 of 4: variant A",
        "run 2 of 4: variant B",
        "run 4 of 4: variant A",
    ]);
    let (answer, table) = printed.split_once("medians of the runs").expect("a table");
    // Others on the machine may make runs invalid.
    if !printed.contains("Not counted") {
        answer.assert_contains("\nCOMPARABLE");
        answer.assert_contains(" (TPS: ");
    }
    assert!(table.contains("prony compare 2"), "{printed}");
}
