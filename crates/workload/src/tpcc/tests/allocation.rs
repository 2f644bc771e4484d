//! Once it is warm, a user allocates nothing for a transaction that succeeds, in any mode.

use crate::oltp::engine::Engine;
use crate::played::{Memory, message, play};
use crate::played_mysql;
use crate::tpcc::OrderEntryProgram;
use crate::tpcc::input::Kind;
use crate::tpcc::options::Asked;
use crate::tpcc::profile::{PROFILES, Profile};
use crate::tpcc::way::Mode;
use prony_allocations::allocations;
use prony_session::Outcome;
use prony_wire::{Exchange, QueryMode};

const WARM: u64 = 2_000;
const COUNTED: u64 = 2_000;

/// A server that gives one row of sevens to everything but `BEGIN` and its like.
fn sevens(memory: &mut Memory, sql: &[u8]) -> Vec<u8> {
    let begins = |word: &[u8]| sql.starts_with(word);
    if begins(b"BEGIN") || begins(b"COMMIT") || begins(b"ROLLBACK") {
        memory.in_block = begins(b"BEGIN");
        return message(b'C', b"DONE\0");
    }
    let mut row = 3_u16.to_be_bytes().to_vec();
    for _ in 0..3 {
        row.extend_from_slice(&[0, 0, 0, 1, b'7']);
    }
    [message(b'D', &row), message(b'C', b"SELECT 1\0")].concat()
}

#[test]
fn no_transaction_allocates() {
    for (profile, mode) in all() {
        let exchange = Exchange::postgres(QueryMode::Prepared, false);
        let mut memory = Memory::default();
        let answer = |request: &[u8]| memory.answer(request, |memory, sql, _| sevens(memory, sql));
        none(Engine::Postgres, profile, mode, exchange, answer);
    }
}

#[test]
fn no_transaction_allocates_on_mysql() {
    for (profile, mode) in all() {
        let exchange = Exchange::mysql(QueryMode::Prepared);
        let mut memory = played_mysql::Memory::default();
        let answer = |request: &[u8]| memory.answer(request);
        none(Engine::MySql, profile, mode, exchange, answer);
    }
}

fn all() -> impl Iterator<Item = (&'static Profile, Mode)> {
    let modes = |profile| Mode::ALL.map(|mode| (profile, mode));
    PROFILES.iter().flat_map(modes)
}

fn none(
    engine: Engine,
    profile: &'static Profile,
    mode: Mode,
    exchange: Exchange,
    answer: impl FnMut(&[u8]) -> Vec<u8>,
) {
    let asked = Asked {
        profile,
        mode,
        ..Asked::default()
    };
    let program = OrderEntryProgram::new(engine, asked, 3);
    let (mut done, mut allocated) = ([0; 5], 0);
    play(&program, exchange, WARM + COUNTED, answer, |poll, desk| {
        let before = allocations();
        let ended = poll();
        if done.iter().sum::<u64>() > WARM {
            allocated += allocations() - before;
        }
        desk.drain_samples(|sample| {
            assert!(matches!(sample.outcome, Outcome::Committed), "{sample:?}");
            done[usize::from(sample.kind)] += 1;
        });
        ended
    });
    assert_eq!(done.iter().sum::<u64>(), WARM + COUNTED);
    assert!(done.iter().all(|count| *count > 100), "{done:?}");
    assert_eq!(
        allocated,
        0,
        "allocations in {COUNTED} transactions: {engine:?} {} {mode:?}, {:?}",
        profile.name,
        Kind::NAMES
    );
}
