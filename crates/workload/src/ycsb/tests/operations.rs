//! Tests the operations of users on a mock server that stores the keys of records.

use crate::tests::mock_postgres::{MockSession, bound_values, message, run_user};
use crate::ycsb::keys::{Key, inserted_number};
use crate::ycsb::layout::Layout;
use crate::ycsb::mix::LETTERS;
use crate::ycsb::options::YcsbOptions;
use crate::ycsb::program::YcsbProgram;
use prony_allocations::allocations;
use prony_document::SqlDialect;
use prony_session::{Outcome, Program};
use prony_wire::{Exchange, QueryMode};
use std::collections::{HashMap, HashSet};

const LAYOUT: Layout = Layout {
    records: 1_000,
    field_count: 10,
    field_length: 100,
    seed: 7,
};

/// The records of a mock server's table, and the statements that it received.
struct MockTable {
    keys: HashSet<String>,
    /// Statements with their bound values.
    received: Vec<(String, Vec<String>)>,
    /// Number of inserts that succeed although the reply reports an error.
    false_errors: u32,
    /// Series (see `ycsb::keys`) and ordinal of records that another run inserts just before the client inserts
    /// the same key.
    inserted_by_others: Vec<(u32, u64)>,
}

impl MockTable {
    fn loaded() -> MockTable {
        let keys = (0..LAYOUT.records).map(|number| Key::of(number).text().to_owned());
        MockTable {
            keys: keys.collect(),
            received: Vec::new(),
            false_errors: 0,
            inserted_by_others: Vec::new(),
        }
    }

    fn execute(&mut self, sql: &[u8], values: &[u8]) -> Vec<u8> {
        let sql = String::from_utf8(sql.to_vec()).expect("text");
        let values = bound_values(values);
        let error = |code: &str| message(b'E', format!("SERROR\0C{code}\0Mno\0\0").as_bytes());
        let reply = if sql.starts_with("SELECT") {
            if self.keys.contains(&values[0]) { one_row() } else { message(b'C', b"SELECT 0\0") }
        } else if sql.starts_with("INSERT") {
            let mut inserts_by_others = self.inserted_by_others.iter();
            let is_inserted_by_other = inserts_by_others.any(|(series, ordinal)| {
                let number = inserted_number(LAYOUT.records, *series, *ordinal);
                Key::of(number).text() == values[0]
            });
            if !self.keys.insert(values[0].clone()) || is_inserted_by_other {
                error("23505")
            } else if self.false_errors > 0 {
                self.false_errors -= 1;
                error("57014")
            } else {
                message(b'C', b"INSERT 0 1\0")
            }
        } else {
            message(b'C', b"UPDATE 1\0")
        };
        self.received.push((sql, values));
        reply
    }
}

fn one_row() -> Vec<u8> {
    let row = [0, 1, 0, 0, 0, 1, b'7'];
    [message(b'D', &row), message(b'C', b"SELECT 1\0")].concat()
}

fn program(letter: &str, change: impl FnOnce(&mut YcsbOptions)) -> YcsbProgram {
    let index = LETTERS.iter().position(|known| *known == letter);
    let mut options = YcsbOptions {
        workload: index.expect("a letter"),
        ..YcsbOptions::default()
    };
    change(&mut options);
    YcsbProgram::new(options, LAYOUT, SqlDialect::PostgreSql)
}

/// Runs one user; returns the number of committed operations by kind, and of failed ones.
fn run_operations(
    program: &YcsbProgram,
    records: &mut MockTable,
    operations: u64,
) -> (Vec<u64>, u64) {
    let mut session = MockSession::default();
    let answer =
        |request: &[u8]| session.answer(request, |_, sql, values| records.execute(sql, values));
    let exchange = Exchange::postgres(QueryMode::Prepared, false);
    let (mut committed, mut failed) = (vec![0; program.kinds().len()], 0);
    run_user(program, exchange, operations, answer, |poll, context| {
        let has_ended = poll();
        context.drain_samples(|sample| match sample.outcome {
            Outcome::Committed => committed[usize::from(sample.kind)] += 1,
            _ => failed += 1,
        });
        has_ended
    });
    (committed, failed)
}

#[test]
fn workloads_find_their_records_and_match_their_shares() {
    for letter in LETTERS {
        let program = program(letter, |_| {});
        let mut records = MockTable::loaded();
        let (committed, failed) = run_operations(&program, &mut records, 20_000);
        assert_eq!((committed.iter().sum(), failed), (20_000, 0), "{letter}");
        let shares = program.action_shares();
        // The last share is the rate of reads that found their record.
        let (hits, mix) = shares.split_last().expect("shares");
        assert_eq!(hits.count, hits.total, "{letter}: a record was not found");
        assert!(hits.total > 9_000 && hits.exact);
        for (share, count) in mix.iter().zip(committed) {
            let expected = share.expected_share.expect("expected");
            assert_eq!((share.count, share.total), (count, 20_000));
            let tolerance = 5.0 * (20_000.0 * expected * (1.0 - expected)).sqrt();
            let deviation = (share.count as f64 - 20_000.0 * expected).abs();
            assert!(deviation <= tolerance, "{letter}: {share:?}");
        }
    }
}

#[test]
fn a_later_run_continues_after_the_records_of_an_earlier_one() {
    let mut records = MockTable::loaded();
    let mut inserts = 0;
    for operations in [10, 100, 1_000, 40, 1] {
        let program = program("d", |_| {});
        let (committed, failed) = run_operations(&program, &mut records, operations);
        assert_eq!(failed, 0);
        inserts += committed[1];
    }
    assert!(inserts > 20, "{inserts}");
    assert_eq!(records.keys.len() as u64, LAYOUT.records + inserts);
    for ordinal in 0..inserts {
        let key = Key::of(inserted_number(LAYOUT.records, 0, ordinal));
        assert!(records.keys.contains(key.text()), "{ordinal} of {inserts}");
    }
}

#[test]
fn the_end_of_the_records_of_earlier_runs_is_found() {
    for existing in 0..70 {
        let mut records = MockTable::loaded();
        let keys =
            (0..existing).map(|ordinal| Key::of(inserted_number(LAYOUT.records, 0, ordinal)));
        records.keys.extend(keys.map(|key| key.text().to_owned()));
        let program = program("e", |_| {});
        run_operations(&program, &mut records, 200);
        let inserts = records
            .received
            .iter()
            .filter(|(sql, _)| sql.starts_with("INSERT"));
        let first_key = inserts.map(|(_, values)| &values[0]).next();
        let expected_key = Key::of(inserted_number(LAYOUT.records, 0, existing));
        assert_eq!(
            first_key.expect("an insert"),
            expected_key.text(),
            "{existing}"
        );
    }
}

#[test]
fn insert_with_a_false_error_leaves_no_gap() {
    let program = program("d", |_| {});
    let mut records = MockTable::loaded();
    records.false_errors = 1;
    let (committed, failed) = run_operations(&program, &mut records, 2_000);
    // Two inserts fail: the one with the false error, and the next one, because its record already exists.
    assert_eq!(failed, 2);
    assert_eq!(records.keys.len() as u64, LAYOUT.records + committed[1] + 1);
}

/// If another run has inserted the key in the client's series (its range of numbers, see `ycsb::keys`), the
/// client moves to the next free series, and the operation succeeds.
#[test]
fn client_continues_in_a_different_series_if_another_run_inserted_its_key() {
    let program = program("d", |_| {});
    let mut records = MockTable::loaded();
    for (series, ordinal) in [(1_000, 0), (1_000, 1)] {
        let key = Key::of(inserted_number(LAYOUT.records, series, ordinal));
        records.keys.insert(key.text().to_owned());
    }
    // Other runs insert the next records of both series between the client's search and its insert.
    records.inserted_by_others = vec![(0, 0), (1_000, 2)];
    let (committed, failed) = run_operations(&program, &mut records, 2_000);
    assert_eq!(failed, 0);
    assert!(committed[1] > 20, "{committed:?}");
    for ordinal in 0..committed[1] {
        let key = Key::of(inserted_number(LAYOUT.records, 2_000, ordinal));
        assert!(records.keys.contains(key.text()), "{ordinal}");
    }
    assert_eq!(records.keys.len() as u64, LAYOUT.records + 4 + committed[1]);
    let shares = program.action_shares();
    let hits = shares.last().expect("shares");
    assert_eq!(hits.count, hits.total, "a record was not found");
}

#[test]
fn options_determine_statements_and_their_values() {
    let mut records = MockTable::loaded();
    run_operations(&program("e", |_| {}), &mut records, 20_000);
    let mut lengths: HashMap<u32, u32> = HashMap::new();
    for (sql, values) in &records.received {
        if sql.contains(">=") {
            *lengths
                .entry(values[1].parse().expect("a number"))
                .or_default() += 1;
        }
        if sql.starts_with("INSERT") {
            assert_eq!(values.len(), 11);
            assert!(values[1..].iter().all(|value| value.len() == 100));
        }
    }
    // Each length from 1 to 100 occurs in about one of a hundred scans.
    assert_eq!(lengths.len(), 100);
    assert!(
        lengths
            .iter()
            .all(|(length, count)| (1..=100).contains(length) && *count > 120)
    );

    let mut records = MockTable::loaded();
    let write_all = |options: &mut YcsbOptions| options.writeallfields = true;
    run_operations(&program("a", write_all), &mut records, 500);
    let updates = records
        .received
        .iter()
        .filter(|(sql, _)| sql.starts_with("UPDATE"));
    let values: HashSet<_> = updates.map(|(_, values)| values.len()).collect();
    assert_eq!(values, HashSet::from([11]));

    let mut records = MockTable::loaded();
    let read_one = |options: &mut YcsbOptions| options.readallfields = false;
    run_operations(&program("f", read_one), &mut records, 2_000);
    let texts: HashSet<_> = records
        .received
        .iter()
        .map(|(sql, _)| sql.clone())
        .collect();
    assert_eq!(texts.len(), 20, "a read and an update of each field");
    let updates = records
        .received
        .windows(2)
        .filter(|pair| pair[1].0.starts_with("UPDATE"));
    for pair in updates {
        assert!(
            pair[0].0.starts_with("SELECT field"),
            "read before it is written"
        );
        assert_eq!(pair[0].1[0], pair[1].1[1], "the same record");
    }
}

#[test]
fn operations_do_not_allocate() {
    /// Number of operations before allocations are counted, and of those during which they are counted.
    const WARMUP: u64 = 300;
    for letter in LETTERS {
        for mode in [QueryMode::Simple, QueryMode::Prepared] {
            let program = program(letter, |_| {});
            let mut session = MockSession::default();
            let answer = |request: &[u8]| {
                session.answer(request, |_, sql, _| match sql.starts_with(b"SELECT 1") {
                    true => message(b'C', b"SELECT 0\0"),
                    false if sql.starts_with(b"SELECT") => one_row(),
                    false => message(b'C', b"UPDATE 1\0"),
                })
            };
            let (mut done, mut allocated) = (0, 0);
            let exchange = Exchange::postgres(mode, false);
            run_user(&program, exchange, 2 * WARMUP, answer, |poll, context| {
                let before = allocations();
                let has_ended = poll();
                if done > WARMUP && !has_ended {
                    allocated += allocations() - before;
                }
                context.drain_samples(|_| done += 1);
                has_ended
            });
            assert_eq!(done, 2 * WARMUP);
            assert_eq!(allocated, 0, "{letter} {mode:?}");
        }
    }
}
