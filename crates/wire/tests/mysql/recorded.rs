//! Recorded replies, split in two at every byte.

use crate::common::cuts;
use crate::support::*;
use prony_wire::{BlockState, FeedStatus, QueryMode, SessionFlags, StatementIds, Value};

#[test]
fn recorded_text_results_are_parsed_at_every_split() {
    for (recording, flags) in [
        (&recorded!("text_mariadb")[..], without_eof()),
        (recorded!("text_mysql"), without_eof()),
        (recorded!("text_mariadb_eof"), SessionFlags::default()),
        (recorded!("text_mysql_eof"), SessionFlags::default()),
    ] {
        for pieces in cuts(recording) {
            let mut exchange = exchange(QueryMode::Simple, flags);
            exchange.query("three statements");
            assert_eq!(feed(&mut exchange, &pieces), FeedStatus::Complete);
            assert_eq!(exchange.result_count(), 3);
            let long = "y".repeat(300);
            let expected = [["1", "NULL", "x"], ["-2", "3", &long]];
            let expected = expected.map(|row| (0, row.map(str::to_owned).to_vec()));
            assert_eq!(rows(&exchange), expected);
            let first = exchange.rows().next().unwrap().1;
            assert_eq!(
                (first.int(0), first.int(1), first.text(2)),
                (Some(1), None, Some("x"))
            );
            let names: Vec<_> = exchange.column_names(2).collect();
            assert_eq!(names, [b"d"]);
            assert_eq!(
                (exchange.affected_rows(), exchange.block_state()),
                (0, BlockState::Idle)
            );
            assert!(!exchange.has_surplus_bytes() && exchange.error().is_none());
        }
    }
}

#[test]
fn recorded_prepared_statements_are_parsed_at_every_split() {
    let statement = StatementIds::new().add("select ... where 1 = $1");
    for (prepare, execute, flags) in [
        (
            &recorded!("prepare_mariadb")[..],
            &recorded!("execute_mariadb")[..],
            without_eof(),
        ),
        (
            recorded!("prepare_mysql"),
            recorded!("execute_mysql"),
            without_eof(),
        ),
        (
            recorded!("prepare_mariadb_eof"),
            recorded!("execute_mariadb_eof"),
            SessionFlags::default(),
        ),
        (
            recorded!("prepare_mysql_eof"),
            recorded!("execute_mysql_eof"),
            SessionFlags::default(),
        ),
    ] {
        for (first, second) in cuts(prepare).iter().zip(cuts(execute)) {
            let mut exchange = exchange(QueryMode::Prepared, flags);
            let value = [Value::Int(1)];
            exchange.request(std::iter::once((&statement, &value[..])));
            assert_eq!(
                packets(exchange.outgoing())[0].1,
                b"\x16select ... where 1 = ?"
            );
            assert!(!exchange.is_prepared(&statement));
            assert_eq!(feed(&mut exchange, first), FeedStatus::Send);
            assert!(exchange.is_prepared(&statement));
            let number = &prepare[5..9];
            let sent = packets(exchange.outgoing())[0].1.to_vec();
            assert_eq!((sent[0], &sent[1..5]), (0x17, number));
            assert_eq!(feed(&mut exchange, &second), FeedStatus::Complete);
            let row = [
                "-5",
                "5",
                "1.25",
                "0.5",
                "2026-11-21 01:02:03.5",
                "-26:00:01",
                "NULL",
                "text",
            ];
            let expected = [(0, row.map(str::to_owned).to_vec())];
            assert_eq!(rows(&exchange), expected);
            let row = exchange.rows().next().unwrap().1;
            assert_eq!(
                (row.int(0), row.int(1), row.int(6)),
                (Some(-5), Some(5), None)
            );
            assert_eq!((row.text(2), row.text(7)), (Some("1.25"), Some("text")));
        }
    }
}

#[test]
fn recorded_procedures_blocks_and_errors_are_parsed_at_every_split() {
    let call = recorded!("call_mariadb");
    for pieces in cuts(call) {
        let mut exchange = exchange(QueryMode::Simple, without_eof());
        exchange.query("call p()");
        assert_eq!(feed(&mut exchange, &pieces), FeedStatus::Complete);
        // The reply has two results with rows, and a third one for the end of the procedure.
        assert_eq!(exchange.result_count(), 3);
        let counts: Vec<_> = rows(&exchange)
            .iter()
            .map(|(n, row)| (*n, row.len()))
            .collect();
        assert_eq!(counts, [(0, 1), (1, 2)]);
    }
    for pieces in cuts(recorded!("missing_mariadb")) {
        let mut exchange = exchange(QueryMode::Simple, without_eof());
        let statement = StatementIds::new().add("begin");
        exchange.request(std::iter::once((&statement, &[][..])));
        assert_eq!(
            exchange.feed(recorded!("begin_mariadb")).unwrap(),
            FeedStatus::Complete
        );
        assert_eq!(exchange.block_state(), BlockState::Open);
        exchange.request(std::iter::once((&statement, &[][..])));
        assert_eq!(feed(&mut exchange, &pieces), FeedStatus::Complete);
        let error = exchange.error().unwrap();
        assert_eq!((error.number, error.code()), (1146, "42S02"));
        // The transaction is still open.
        assert_eq!(exchange.block_state(), BlockState::Open);
    }
}
