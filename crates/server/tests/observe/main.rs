//! What servers say of themselves, asked of real ones.

mod maria;
mod postgres;

use prony_server::observe::Counters;
use prony_server::observe::machine::neighbour;
use prony_server::{Control, Environment, Target, resolve};
use std::path::Path;

/// What a URL means, whatever the environment of the test.
fn target(url: &str) -> Target {
    let environment = Environment::new("tester", Path::new("/nonexistent"));
    resolve(url, &environment).expect("a good URL")
}

fn connect(url: &str) -> Control {
    Control::connect(&target(url)).expect("a connection")
}

/// Asks until it is so: statistics lag.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("never: {what}");
}

/// The process and thread that serve a connection to the server with this process on this machine.
fn serving(control: &mut Control, root: Option<u32>) -> (u32, Option<u32>) {
    let near = neighbour(control);
    assert_eq!(near.shared, Some(true), "{near:?}");
    let processes = near.processes.expect("its process");
    assert_eq!(Some(processes.root), root);
    assert!(processes.cpu_s().unwrap() > 0.0);
    near.serving.expect("its process and thread")
}

/// What both products must show.
fn usual(counters: &Counters) {
    let now = counters.clock_unix_s.expect("a clock");
    let started = counters.started_unix_s.expect("a start");
    assert!(started <= now && now - started < 1e6, "{counters:?}");
    assert!(counters.commits.is_some() && counters.rollbacks.is_some());
    assert!(counters.cache_hits.is_some() && counters.cache_reads.is_some());
    assert!(counters.log_bytes.is_some_and(|bytes| bytes > 0));
    assert!(counters.checkpoint.is_some(), "{counters:?}");
    assert_eq!(counters.is_replica, Some(false));
    assert!(counters.connections.is_some() && counters.active.is_some());
    assert!(counters.activities.is_some());
}
