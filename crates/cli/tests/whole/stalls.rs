//! Stalls of less than a second, and of one client, are named.

use crate::common::*;
use prony_store::Check;

/// Starts a run of eight clients and waits until it has commits.
fn start(bench: &TestBench, duration: &str) -> Child {
    let child = bench.start(&format!(
        "run select-only --clients 8 --duration {duration} --json --no-observe"
    ));
    let has_commits = |run: &Run| run.series.last().is_some_and(|second| second.committed > 0);
    wait_until(&bench.home, |run| {
        run.ended_because.is_none() && has_commits(run)
    });
    child
}

fn finding<'a>(run: &'a Run, id: &str) -> Option<&'a Check> {
    let check = run.check(id);
    check.filter(|check| check.severity >= Severity::Caveat)
}

#[test]
fn short_stalls_and_a_stopped_session_are_named() {
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "short_stalls", 1);
    let mut control = bench.control();

    let child = start(&bench, "20s");
    for _ in 0..4 {
        control.run("begin; lock table pgbench_accounts; select pg_sleep(0.5); commit");
        std::thread::sleep(Duration::from_secs(3));
    }
    let run = parse_run(&child.wait_with_output().expect("it ends"));
    let check = finding(&run, "short-stall").unwrap_or_else(|| panic!("{:?}", run.checks));
    check.finding.assert_starts_with("All clients waited");

    std::fs::remove_dir_all(&bench.home).expect("a store");
    let child = start(&bench, "14s");
    let pid = query_number(
        &mut control,
        "select min(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    let signal = |signal| {
        // SAFETY: no memory is involved; the process is a session of this test's own server.
        assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0);
    };
    signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_secs(4));
    signal(libc::SIGCONT);
    let run = parse_run(&child.wait_with_output().expect("it ends"));
    let check = finding(&run, "client-stall").unwrap_or_else(|| panic!("{:?}", run.checks));
    check.finding.assert_contains(" of 8 waited ");
}
