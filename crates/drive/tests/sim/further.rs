//! Users that open their connections themselves, and more than one.

use super::*;
use prony_drive::{Error, Job, run_simulated};
use std::sync::atomic::AtomicUsize;

/// Runs them against a server that takes 2 ms for a statement. Gives how often the loop told of a refusal,
/// too.
fn run(users: u32, refuse: fn(u64) -> bool) -> (Result<Driven, Error>, usize) {
    let told = AtomicUsize::new(0);
    let hear = |failures: &[prony_server::control::Failure]| {
        assert_eq!(failures.len(), 1);
        told.fetch_add(1, Ordering::Relaxed);
    };
    let interrupt = AtomicBool::new(false);
    let job = Job {
        program: &Several,
        target: &target(),
        tcp_target: None,
        plan: &plan(users, 1.0),
        seed: 1,
        interrupt: &interrupt,
        tap: None,
        refused: Some(&hear),
    };
    let server = Server {
        refuse,
        statement: |_, _: &[u8], _, answers: &mut Vec<Answer>| answers.push(send(2 * MS, DONE)),
    };
    let driven = run_simulated(&job, stamped(), server, &mut Watch::default());
    (driven, told.load(Ordering::Relaxed))
}

#[test]
fn a_user_speaks_on_several_connections_in_one_transaction() {
    let (driven, told) = run(40, |_| false);
    let driven = driven.expect("it starts");
    assert_eq!((driven.events.len(), told), (0, 0), "{:?}", driven.events);
    let all = driven.collected.measured.all();
    // Two statements of 2 ms, for one second; one of a user's has a new connection in it.
    assert!(all.committed.abs_diff(40 * 250) <= 80, "{}", all.committed);
    assert_eq!(all.response.min_ns, 4 * MS);
    // Both are in the split.
    let parts = all.parts.as_ref().expect("stamps").server.mean_ns();
    assert!((parts - 4e6).abs() < 1e4, "{parts}");
}

#[test]
fn a_refusal_is_heard_before_the_user_gives_up() {
    let (driven, told) = run(3, |_| true);
    let error = driven.expect_err("nobody is let in");
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(told >= 1);
}
