//! Runs are invalid if the server stalled, was unreachable, or its tables were replaced.

use crate::common::*;
use crate::relay::Relay;
use prony_test_servers::FrozenServer;

/// The number of consecutive seconds without a transaction that make a stall.
const STALL_SECONDS: usize = 3;

fn expects_outage(run: &Run) -> bool {
    run.plan.pointer("/run/expect_outage") == Some(&true.into())
}

/// Whether the latest seconds of a run have no transaction, but some second before has one.
fn is_stalled(run: &Run) -> bool {
    let counts: Vec<u64> = run.series.iter().map(|second| second.committed).collect();
    let (earlier, latest) = counts.split_at(counts.len().saturating_sub(STALL_SECONDS));
    latest.len() == STALL_SECONDS
        && latest.iter().all(|count| *count == 0)
        && earlier.iter().any(|count| *count > 0)
}

/// Waits for the end of a run; asserts its exit code and returns the run.
fn wait_for_run(bench: &TestBench, child: Child, code: i32) -> Run {
    let output = bench.finish(child);
    assert_code(&output, code);
    parse_run(&output)
}

#[test]
fn a_locked_table_is_a_stall_unless_an_outage_is_expected() {
    let bench = TestBench::loaded("locked", 2);
    let start = |options: &str| {
        let arguments = format!(
            "run tpcb --clients 4 --duration 20s --warmup 0s --json --no-observe {options}"
        );
        bench.start(&arguments)
    };
    let (plain_run, outage_run) = (start(""), start("--expect-outage"));
    for is_outage_expected in [false, true] {
        let has_started =
            |run: &Run| expects_outage(run) == is_outage_expected && run.series.len() > 1;
        wait_until(&bench.home, has_started);
    }
    let mut control = bench.control();
    control.run("begin; lock table pgbench_accounts");
    for is_outage_expected in [false, true] {
        wait_until(&bench.home, |run| {
            expects_outage(run) == is_outage_expected && is_stalled(run)
        });
    }
    control.run("commit");

    let run = wait_for_run(&bench, plain_run, 7);
    assert_severity(&run, "stall", Some(Severity::Invalid));
    let output = outage_run.wait_with_output().expect("it ends");
    let run = parse_run(&bench.assert_no_password(output));
    assert_severity(&run, "stall", Some(Severity::Note));
}

#[test]
fn a_temporarily_frozen_server_makes_a_run_invalid() {
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "frozen", 2);
    let child = bench.start("run tpcb --clients 4 --duration 20s --warmup 0s --json");
    wait_until(&bench.home, any_committed);
    let frozen = FrozenServer::new(server.pid().expect("it runs"));
    wait_until(&bench.home, is_stalled);
    drop(frozen);
    let run = wait_for_run(&bench, child, 7);
    assert_severity(&run, "stall", Some(Severity::Invalid));
}

#[test]
fn a_temporary_network_outage_makes_a_run_invalid() {
    let bench = TestBench::loaded("cut", 2);
    let relay = Relay::to_port(shared_postgres().port());
    let port = format!(":{}/", shared_postgres().port());
    let url = bench.url.replace(&port, &format!(":{}/", relay.port));
    // Starts a run and interrupts its network for three seconds.
    let start_and_cut = |options: &str| {
        let arguments = format!("run tpcb --clients 4 --duration 12s --json {options}");
        let mut command = bench.command(&arguments);
        command.args(["--url", &url]);
        let (child, _) = start_run(command);
        wait_until(&bench.home, any_committed);
        relay.take_down();
        std::thread::sleep(Duration::from_secs(3));
        relay.restore();
        child
    };
    let run = wait_for_run(&bench, start_and_cut(""), 7);
    assert_severity(&run, "outage", Some(Severity::Invalid));
    let output = start_and_cut("--expect-outage")
        .wait_with_output()
        .expect("it ends");
    let run = parse_run(&bench.assert_no_password(output));
    assert_severity(&run, "outage", Some(Severity::Note));
}

#[test]
fn tables_that_are_reloaded_during_a_run_make_it_invalid() {
    let small = "load oltp_point_select --scale 1 -o table_size=2000";
    for (bench, load, workload, parts) in [
        (
            TestBench::new("replaced"),
            "load tpcb --scale 2",
            "select-only",
            &["pgbench_accounts, ", "(replaced by others"][..],
        ),
        (
            TestBench::maria("replaced"),
            small,
            "oltp_point_select",
            &["run: sbtest1 (replaced, emptied or rewritten)"],
        ),
    ] {
        bench.ok(load);
        let valid_run = bench.run(&format!("run {workload} --clients 2 --duration 1s"));
        assert_severity(&valid_run, "tables-replaced", None);
        let arguments =
            format!("run {workload} --clients 2 --rate 20 --duration 20s --warmup 0s --json");
        let child = bench.start_long_run(&arguments, any_committed);
        bench.ok(load);
        let run = wait_for_run(&bench, child, 7);
        assert_severity(&run, "tables-replaced", Some(Severity::Invalid));
        let text = bench.ok_without_server("show last --full");
        let line = text.unwrapped();
        for part in parts {
            line.assert_contains(part);
        }
    }
}
