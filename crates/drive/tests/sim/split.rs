//! The parts of a response time: send wait, server time, client wait.

use crate::support::*;
use prony_drive::io::sim::Machine;
use prony_session::Outcome;
use prony_wire::StatementIds;

#[test]
fn server_time_excludes_the_time_that_the_client_adds() {
    let machine = Machine {
        stall_ns: 5 * MS,
        ..with_timestamps()
    };
    let (driven, _) = simulate(&selects(), &plan(4, 1.0), machine, replies_after(2 * MS)).unwrap();
    let tally = driven.collected.measured.all_kinds();
    let parts = tally.parts.as_ref().unwrap();
    assert_eq!(parts.server.mean_ns(), 2.0 * MS as f64);
    assert_eq!(parts.client_wait.mean_ns(), 3.0 * MS as f64);
    assert_eq!(tally.response.mean_ns(), 5.0 * MS as f64);
}

#[test]
fn server_time_is_corrected_for_the_position_in_the_batch() {
    let machine = Machine {
        send_cost_ns: 5_000,
        stall_ns: MS,
        ..with_timestamps()
    };
    let (driven, _) = simulate(&selects(), &plan(32, 1.0), machine, replies_after(MS / 5)).unwrap();
    let measured = &driven.collected.measured;
    let tally = measured.all_kinds();
    let parts = tally.parts.as_ref().unwrap();
    let server_ns = parts.server.mean_ns();
    assert!((server_ns / 200_000.0 - 1.0).abs() < 0.01, "{server_ns}");
    // Without the correction, the waits in the batch would count as server time.
    assert!(
        parts.send_wait.mean_ns() > 40_000.0,
        "{}",
        parts.send_wait.mean_ns()
    );
    let sum = parts.send_wait.mean_ns() + server_ns + parts.client_wait.mean_ns();
    assert!((sum / tally.response.mean_ns() - 1.0).abs() < 1e-6, "{sum}");
    assert_eq!(measured.timestamps.impossible, 0);
}

#[test]
fn server_times_are_upper_bounds_if_other_data_follows_the_reply_or_a_batch_shares_a_round_trip() {
    // The reply, and a notice that reaches the client before it reads.
    const NOTICE: &[u8] = b"N\0\0\0\x0eSNOTICE\0\0\0";
    let server = admit_all(|_, _, _, answers| {
        answers.push(send(MS, DONE));
        answers.push(send(2 * MS, NOTICE));
    });
    let machine = Machine {
        stall_ns: 5 * MS,
        ..with_timestamps()
    };
    let (driven, _) = simulate(&selects(), &plan(1, 0.1), machine, server).unwrap();
    let tally = driven.collected.measured.all_kinds();
    let parts = tally.parts.as_ref().unwrap();
    assert!(tally.committed >= 10, "{}", tally.committed);
    assert_eq!(tally.committed, parts.server_times_upper_bound);
    assert_eq!(parts.server.max_ns, 2 * MS);

    let program = repeat(|db| {
        Box::pin(async move {
            let mut set = StatementIds::new();
            let (one, two) = (set.add("SELECT 1"), set.add("SELECT 2"));
            db.batch(&[(&one, &[]), (&two, &[])]).await?;
            Ok(Outcome::Committed)
        })
    });
    let driven = drive(&program, &plan(1, 0.1), replies_after(MS));
    let tally = driven.collected.measured.all_kinds();
    assert_eq!(
        tally.parts.as_ref().unwrap().server_times_upper_bound,
        tally.committed
    );
}
