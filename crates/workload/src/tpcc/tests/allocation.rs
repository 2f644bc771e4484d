//! Tests that a user does not allocate for a transaction that succeeds, in any mode, after a warm-up.

use crate::tests::mock_mysql;
use crate::tests::mock_postgres::{MockSession, message, run_user};
use crate::tpcc::OrderEntryProgram;
use crate::tpcc::execution::Mode;
use crate::tpcc::input::TpccTransaction;
use crate::tpcc::options::TpccOptions;
use crate::tpcc::profile::{PROFILES, Profile};
use prony_allocations::allocations;
use prony_document::SqlDialect;
use prony_session::Outcome;
use prony_wire::{Exchange, QueryMode};

/// Transactions before allocations are counted.
const WARM_UP: u64 = 2_000;
const MEASURED: u64 = 2_000;

/// The reply of a server to a statement: one row of sevens, except for `BEGIN`, `COMMIT` and `ROLLBACK`.
fn answer_with_sevens(session: &mut MockSession, sql: &[u8]) -> Vec<u8> {
    let starts_with = |word: &[u8]| sql.starts_with(word);
    if starts_with(b"BEGIN") || starts_with(b"COMMIT") || starts_with(b"ROLLBACK") {
        session.in_block = starts_with(b"BEGIN");
        return message(b'C', b"DONE\0");
    }
    let mut row = 3_u16.to_be_bytes().to_vec();
    for _ in 0..3 {
        row.extend_from_slice(&[0, 0, 0, 1, b'7']);
    }
    [message(b'D', &row), message(b'C', b"SELECT 1\0")].concat()
}

#[test]
fn transactions_do_not_allocate() {
    for (profile, mode) in profiles_and_modes() {
        let exchange = Exchange::postgres(QueryMode::Prepared, false);
        let mut session = MockSession::default();
        let answer = |request: &[u8]| {
            session.answer(request, |session, sql, _| answer_with_sevens(session, sql))
        };
        assert_no_allocation(SqlDialect::PostgreSql, profile, mode, exchange, answer);
    }
}

#[test]
fn transactions_do_not_allocate_on_mysql() {
    for (profile, mode) in profiles_and_modes() {
        let exchange = Exchange::mysql(QueryMode::Prepared);
        let mut session = mock_mysql::MockSession::default();
        let answer = |request: &[u8]| session.answer(request);
        assert_no_allocation(SqlDialect::MySql, profile, mode, exchange, answer);
    }
}

fn profiles_and_modes() -> impl Iterator<Item = (&'static Profile, Mode)> {
    let modes = |profile| Mode::ALL.map(|mode| (profile, mode));
    PROFILES.iter().flat_map(modes)
}

fn assert_no_allocation(
    dialect: SqlDialect,
    profile: &'static Profile,
    mode: Mode,
    exchange: Exchange,
    answer: impl FnMut(&[u8]) -> Vec<u8>,
) {
    let options = TpccOptions {
        profile,
        mode,
        ..TpccOptions::default()
    };
    let program = OrderEntryProgram::new(dialect, options, 3);
    let (mut done, mut allocated) = ([0; 5], 0);
    run_user(
        &program,
        exchange,
        WARM_UP + MEASURED,
        answer,
        |poll, worker| {
            let before = allocations();
            let has_ended = poll();
            if done.iter().sum::<u64>() > WARM_UP {
                allocated += allocations() - before;
            }
            worker.drain_samples(|sample| {
                assert!(matches!(sample.outcome, Outcome::Committed), "{sample:?}");
                done[usize::from(sample.kind)] += 1;
            });
            has_ended
        },
    );
    assert_eq!(done.iter().sum::<u64>(), WARM_UP + MEASURED);
    assert!(done.iter().all(|count| *count > 100), "{done:?}");
    assert_eq!(
        allocated,
        0,
        "allocations in {MEASURED} transactions: {dialect:?} {} {mode:?}, {:?}",
        profile.name,
        TpccTransaction::NAMES
    );
}
