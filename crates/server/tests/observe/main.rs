//! Tests of observing real servers.

mod maria;
mod postgres;
mod settings;

use prony_server::observe::Counters;
use prony_server::observe::machine::{ServingTask, find_colocation};
use prony_server::{Control, Environment, Target, resolve};

/// Resolves a URL without the test's environment.
fn target(url: &str) -> Target {
    let environment = Environment::without_home("tester");
    resolve(url, &environment).expect("a valid URL")
}

fn connect(url: &str) -> Control {
    Control::connect(&target(url)).expect("a connection")
}

/// Waits until a condition holds, because statistics lag.
fn eventually(condition: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("not within 60 s: {condition}");
}

/// The process and thread that serve a connection. Asserts that the server was found, with this root
/// process.
fn serving_process(control: &mut Control, root_pid: Option<u32>) -> ServingTask {
    let colocation = find_colocation(control);
    assert_eq!(colocation.same_machine, Some(true), "{colocation:?}");
    let processes = colocation.processes.expect("the server's processes");
    assert_eq!(Some(processes.root_pid), root_pid);
    assert!(processes.cpu_s().unwrap() > 0.0);
    colocation.serving.expect("the serving process and thread")
}

/// Checks the counters that all engines must report.
fn check_common_counters(counters: &Counters) {
    let clock = counters.clock_unix_s.expect("a clock");
    let started = counters.started_unix_s.expect("a start time");
    assert!(started <= clock && clock - started < 1e6, "{counters:?}");
    assert!(counters.commits.is_some() && counters.rollbacks.is_some());
    assert!(counters.cache_hits.is_some() && counters.cache_reads.is_some());
    assert!(counters.log_bytes.is_some_and(|bytes| bytes > 0));
    assert!(counters.checkpoint.is_some(), "{counters:?}");
    assert_eq!(counters.is_replica, Some(false));
    assert!(counters.connections.is_some() && counters.active.is_some());
    assert!(counters.activities.is_some());
}
