//! Comparisons on a machine whose CPUs others use.

use crate::common::*;
use prony_test_servers::KillOnDrop;

/// The plan of an experiment with runs that are long enough to count the CPU time of others: the simple protocol costs
/// more of it.
const PLAN: &str = "[workload]\nname = \"select-only\"\n[run]\nclients = 2\nthreads = 1\nduration = \"6s\"\n\
    [experiment]\nrepeats = 3\n\
    [variants.simple.run]\nprotocol = \"simple\"\n[variants.prepared]\n";

/// Processes that use the CPUs until they are dropped.
fn start_neighbours() -> Vec<KillOnDrop> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let start = |_| {
        let mut busy = Command::new("sh");
        busy.args(["-c", "while :; do :; done"]);
        KillOnDrop(busy.spawn().expect("a shell"))
    };
    (0..2 * cpus).map(start).collect()
}

#[test]
fn an_experiment_beside_busy_neighbours_still_says_something() {
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "noise", 1);
    let plan = bench.home.write("noise.toml", PLAN);
    let neighbours = start_neighbours();
    let printed = bench.ok(&format!("run {}", plan.display()));
    drop(neighbours);
    let runs = stored_runs(&bench.home);
    assert_eq!(runs.len(), 6, "it goes on: {printed}");
    printed.assert_contains(", noise ");
    printed.assert_contains("  noise\n");
    printed.assert_contains("All figures and differences: prony compare ");
    let is_disturbed = |run: &&Run| {
        let mut checks = run.checks.iter();
        checks.any(|check| check.id == "neighbours" && check.severity == Severity::Invalid)
    };
    assert!(runs.iter().filter(is_disturbed).count() >= 4, "{printed}");
    let compared = bench.ok_without_server("compare last --primary cpu");
    let words = compared.unwrapped();
    let json = bench.ok_without_server("compare last --json");
    let json: serde_json::Value = serde_json::from_str(&json).expect("a document");
    assert_eq!(json["disturbed"]["pairs"], true, "{json}");
    assert_eq!(json["primary"], "TPS");
    let gate = bench.prony_without_server("compare last --require throughput>1/s");
    // How far the runs scatter depends on what else the machine does.
    if words.starts_with("NOT COMPARABLE") {
        assert!(words.contains("too much or not alike"), "{compared}");
        assert_eq!(gate.status.code(), Some(7));
        return;
    }
    words.assert_contains("RUNS INVALID (neighbours");
    words.assert_contains("by pairs that took turns");
    // The first if the interval has 1 in it, else the second.
    let answers = ["(server CPU: ", " lower server CPU than simple ("];
    assert!(
        answers.iter().any(|part| words.contains(part)),
        "{compared}"
    );
    for part in [
        "3 pairs of runs",
        "Others used, or the hypervisor withheld, ",
    ] {
        assert!(words.contains(part), "{part}: {compared}");
    }
    assert_eq!(gate.status.code(), Some(9), "no requirement passes");
}
