//! Plans with repeats and variants: one run after another, each stored separately.

use crate::common::{Bench, WAIT_TIMEOUT, ok, signal, start_run, stderr_text};
use prony_store::{Choice, Run, RunFilter, RunState, RunStore};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const PLAN: &str = "\
[workload]
name = \"select-only\"
[run]
clients = 2
transactions = 40
[experiment]
repeats = 2
[variants.simple.run]
protocol = \"simple\"
[variants.prepared]
";

/// A loaded database, and a file with a plan for it.
fn loaded(name: &str, plan: &str) -> (Bench, String) {
    let bench = Bench::new(name);
    ok(&bench.prony("load select-only --scale 1"));
    let path = bench.home.join("plan.toml");
    std::fs::write(&path, plan).expect("a file");
    (bench, path.display().to_string())
}

/// All stored runs, in the order of execution.
fn stored(bench: &Bench) -> Vec<Run> {
    let store = RunStore::open(Some(&bench.home)).expect("a store");
    let listed = store.list(&RunFilter::default()).expect("a listing").runs;
    let mut runs: Vec<Run> = listed
        .iter()
        .map(|run| store.load(&run.id).expect("a document"))
        .collect();
    runs.sort_by_key(|run| run.experiment.as_ref().map(|of| of.position));
    runs
}

#[test]
fn variants_are_run_in_turn_as_one_experiment() {
    let (bench, plan) = loaded("variants", PLAN);
    let output = bench.prony(&format!("run {plan} --order interleaved"));
    let (printed, messages) = (ok(&output), stderr_text(&output));
    for line in [
        "run 1 of 4: variant simple, repeat 1",
        "run 2 of 4: variant prepared, repeat 1",
        "run 3 of 4: variant prepared, repeat 2",
        "run 4 of 4: variant simple, repeat 2",
    ] {
        assert!(messages.contains(line), "{line}:\n{messages}");
    }
    let runs = stored(&bench);
    assert_eq!(runs.len(), 4);
    for (run, protocol) in runs
        .iter()
        .zip(["simple", "prepared", "prepared", "simple"])
    {
        let of = run.experiment.as_ref().expect("it belongs to one");
        assert_eq!(
            (&of.id, of.runs, of.order),
            (&runs[0].id, 4, prony_store::Order::Interleaved)
        );
        assert_eq!(of.variants, ["simple", "prepared"], "the plan's order");
        assert_eq!(
            (of.variant.as_str(), run.drive.protocol),
            (protocol, Choice::from_name(protocol))
        );
        assert_eq!(run.state, RunState::Complete);
        assert_eq!(run.measured.kinds[0].committed, 80);
        assert!(printed.contains(&run.id), "a line each:\n{printed}");
        let given = &run.request["given"];
        assert_eq!(given["experiment.order"]["place"], "--order");
        let place = given["run.protocol"]["place"].as_str();
        assert_eq!(place.is_some(), protocol == "simple", "{given}");
    }
    let compare = format!("prony compare {}", runs[0].id);
    assert!(
        printed.contains("4 runs, interleaved order") && printed.contains(&compare),
        "{printed}"
    );
    // The printed command works: the variants differ on purpose.
    let beside = ok(&bench.local(&format!("compare {}", runs[0].id)));
    assert!(
        beside.starts_with("COMPARABLE, WITH ")
            && beside.contains("this is what the experiment varied"),
        "{beside}"
    );
    for part in ["A  simple, 2 runs", "B  prepared, 2 runs", "B against A"] {
        assert!(beside.contains(part), "{part}:\n{beside}");
    }
    assert!(!beside.contains("Why they do not"), "{beside}");
    let listed = ok(&bench.local("runs"));
    assert!(
        listed.contains("1/4 simple") && listed.contains("3/4 prepared"),
        "{listed}"
    );
}

#[test]
fn repeats_of_a_workload_print_one_document_a_line() {
    let (bench, _) = loaded("repeated", PLAN);
    let words = "run select-only --clients 1 --transactions 20 --repeats 3 --json";
    let printed = ok(&bench.prony(words));
    let runs: Vec<Run> = printed
        .lines()
        .map(|line| serde_json::from_str(line).expect("a document in a line"))
        .collect();
    assert_eq!(runs, stored(&bench));
    let repeats: Vec<u32> = runs
        .iter()
        .map(|run| run.experiment.as_ref().expect("one").repeat)
        .collect();
    assert_eq!(repeats, [1, 2, 3]);
    let seeds: std::collections::BTreeSet<u64> = runs.iter().map(|run| run.drive.seed).collect();
    assert_eq!(seeds.len(), 3, "each run has its own");
    let once = ok(&bench.prony("run select-only --transactions 20 --repeats 1"));
    assert!(once.contains("Stored in"), "a run as any other:\n{once}");
    let unstored = ok(&bench.prony("run select-only --transactions 20 --repeats 2 --no-store"));
    assert!(
        unstored.contains("2 runs") && !unstored.contains("prony compare"),
        "{unstored}"
    );
    assert_eq!(stored(&bench).len(), 4);
}

#[test]
fn a_random_order_is_stored_with_its_seed_and_reproducible() {
    let plan = PLAN.replace("repeats = 2", "repeats = 3\norder = \"random\"");
    let (bench, plan) = loaded("shuffled", &plan);
    let order = |runs: &[Run]| {
        let each = runs.iter().map(|run| run.experiment.clone().expect("one"));
        each.map(|of| (of.variant, of.repeat, of.order_seed))
            .collect::<Vec<_>>()
    };
    let printed = ok(&bench.prony(&format!("run {plan} --seed 11 --json")));
    let parse = |text: &str| -> Vec<Run> {
        let lines = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("a document"));
        lines.collect()
    };
    let first = order(&parse(&printed));
    assert!(
        first.iter().all(|(_, _, seed)| *seed == Some(11)),
        "{first:?}"
    );
    let again = ok(&bench.prony(&format!("run {plan} --seed 11 --json")));
    assert_eq!(first, order(&parse(&again)));
}

#[test]
fn a_failing_command_between_runs_ends_the_experiment() {
    // It is executed before the second and the third run, and fails before the third; its password
    // appears nowhere.
    let log = std::env::temp_dir().join(format!("prony-log-between-{}", std::process::id()));
    let between = format!(
        "between = \"echo $PRONY_VARIANT/$PRONY_REPEAT >> {0}; test $(wc -l < {0}) -lt 2 # hunter2\"",
        log.display()
    );
    let plan = PLAN.replace("repeats = 2", &format!("repeats = 2\n{between}"));
    let (bench, plan) = loaded("between", &plan);
    let output = bench.prony(&format!("run {plan}"));
    assert_eq!(output.status.code(), Some(1), "{}", stderr_text(&output));
    let messages = stderr_text(&output);
    assert!(
        messages.contains("experiment.between") && messages.contains("exit status: 1"),
        "{messages}"
    );
    assert!(!messages.contains("hunter2"), "{messages}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("2 of 4 runs"), "{printed}");
    let asked = std::fs::read_to_string(&log).expect("it ran");
    assert_eq!(asked, "prepared/1\nprepared/2\n");
    let _ = std::fs::remove_file(&log);
    let runs = stored(&bench);
    assert_eq!(runs.len(), 2);
    assert!(
        !serde_json::to_string(&runs[1])
            .expect("JSON")
            .contains("hunter2")
    );
}

fn start(bench: &Bench, plan: &str, more: &str) -> Command {
    let mut command = bench.command(&format!("run {plan} {more}"));
    command.args(["--url", &bench.url]);
    command
}

fn end(child: Child, bench: &Bench) -> (Option<i32>, String) {
    let output = bench.assert_no_password(child.wait_with_output().expect("it ends"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), printed)
}

#[test]
fn an_interrupt_ends_the_run_and_the_experiment() {
    let (bench, plan) = loaded(
        "interrupted",
        &PLAN.replace("transactions = 40", "duration = \"5m\""),
    );
    let (child, messages) = start_run(start(&bench, &plan, ""));
    assert!(messages.contains("run 1 of 4"), "{messages}");
    signal(&child, "-INT");
    let (code, printed) = end(child, &bench);
    assert_eq!(code, Some(130), "{printed}");
    assert!(
        printed.contains("ended early") && printed.contains("1 of 4 runs"),
        "{printed}"
    );
    assert!(!printed.contains("prony compare"), "{printed}");
    let runs = stored(&bench);
    assert_eq!((runs.len(), runs[0].state), (1, RunState::Partial));
}

#[test]
fn signals_and_kills_in_the_pause_keep_earlier_runs() {
    let paused = PLAN.replace("repeats = 2", "repeats = 2\npause = \"10m\"");
    let (bench, plan) = loaded("paused", &paused);
    for (name, codes) in [("-TERM", Some(143)), ("-KILL", None)] {
        let before = stored(&bench).len();
        let mut command = start(&bench, &plan, "--progress 0s");
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().expect("it starts");
        let began = Instant::now();
        // The first run's document is stored: what follows is the pause.
        while stored(&bench)
            .iter()
            .filter(|run| run.state == RunState::Complete)
            .count()
            == before
        {
            assert!(began.elapsed() < WAIT_TIMEOUT, "it takes too long");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        signal(&child, name);
        let (code, printed) = end(child, &bench);
        assert_eq!(code, codes, "{printed}");
        let runs = stored(&bench);
        assert_eq!(runs.len(), before + 1);
        assert_eq!(runs[before].experiment.as_ref().expect("one").runs, 4);
    }
}

#[test]
fn mistakes_of_all_variants_are_reported_before_anything_runs() {
    let wrong = PLAN.replace("protocol = \"simple\"", "protocol = \"simpel\"")
        + "[variants.third.workload]\nname = \"select-olny\"\n[variants.forth.workload]\nbogus = 3\n";
    let (bench, plan) = loaded("mistakes", &wrong);
    for words in [format!("plan check {plan}"), format!("run {plan}")] {
        let output = bench.local(&words);
        assert_eq!(output.status.code(), Some(2));
        let messages = stderr_text(&output);
        for what in [
            "did you mean \"simple\"?",
            "did you mean \"select-only\"?",
            "bogus",
            "(variant forth)",
        ] {
            assert!(messages.contains(what), "{what}:\n{messages}");
        }
    }
    assert_eq!(stored(&bench).len(), 0);
}
