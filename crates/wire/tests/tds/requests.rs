//! Statements as the server reads them, in each mode.

use crate::support::*;
use prony_tds_server::{Datum, Outcome, Procedure, Request, Rpc, Type};
use prony_wire::{BlockState, ParameterType, QueryMode, Statement, StatementIds, Value};

pub fn call(rpcs: &Request) -> &[Rpc] {
    match rpcs {
        Request::Rpcs { calls, .. } => calls,
        other => panic!("{other:?}"),
    }
}

pub fn text(batch: &Request) -> &str {
    match batch {
        Request::Batch { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

/// The procedures of a message, by number.
pub fn ids(request: &Request) -> Vec<u16> {
    let id = |call: &Rpc| match call.procedure {
        Procedure::Id(id) => id,
        Procedure::Name(_) => 0,
    };
    call(request).iter().map(id).collect()
}

pub fn echo(mode: QueryMode) -> Talk {
    Talk::with(mode, |_, values| {
        let numbers = values.iter().filter_map(|value| match value.value {
            Datum::Int(number) => Some(number),
            _ => None,
        });
        vec![ints(&numbers.collect::<Vec<_>>())]
    })
}

#[test]
fn texts_contain_their_values_as_literals() {
    let mut talk = Talk::with(QueryMode::Simple, |_, _| vec![Outcome::Count(1)]);
    let mut set = StatementIds::new();
    let statement = set.add("insert t values ($1, $2, $3, $4, $5, $6, $7, $8); ");
    let decimal = Value::Decimal {
        unscaled: -5,
        scale: 3,
    };
    let values = [
        Value::Int(-7),
        Value::Int(3_000_000_000),
        Value::Float(0.5),
        decimal,
        Value::Text("it's"),
        Value::Text("é中'"),
        Value::Bytes(b"\xff\0"),
        Value::Null,
    ];
    let other = set.add("update u set a = 1 -- why");
    talk.batch(&[(&statement, &values), (&other, &[])]);
    let wanted = "insert t values ((-7), CAST(3000000000 AS bigint), (5e-1), (-0.005), 'it''s', \
                  N'é中''', 0xff00, NULL)\n;update u set a = 1 -- why";
    assert_eq!(text(&talk.requests()[0]), wanted);
    assert_eq!((talk.round_trips, talk.exchange.result_count()), (1, 2));
    assert_eq!(talk.exchange.affected_rows_of(0), 1);
    let declared = (set.add("select $1")).with_types([ParameterType::VarChar(9)]);
    talk.exec(&declared, &[Value::Text("é")]);
    assert_eq!(text(&talk.requests()[0]), "select 'é'");
}

#[test]
fn long_texts_are_split_into_packets() {
    let mut talk = echo(QueryMode::Simple);
    let long = format!("select '{}'", "é".repeat(5_000));
    for step in [1, 3, 511, 100_000] {
        talk.step = step;
        talk.query(&long);
        assert_eq!(text(&talk.requests()[0]), long);
    }
}

#[test]
fn a_prepared_statement_is_prepared_once_with_its_first_execution() {
    let mut talk = echo(QueryMode::Prepared);
    let mut set = StatementIds::new();
    let statement = set.add("select $1").with_types([ParameterType::Int]);
    for step in [1, 5, 100_000] {
        talk.step = step;
        let was_prepared = talk.exchange.is_prepared(&statement);
        talk.exec(&statement, &[Value::Int(step as i64)]);
        assert!(talk.exchange.is_prepared(&statement));
        assert_eq!(talk.rows(), [(0, vec![step.to_string()])]);
        assert_eq!((talk.round_trips, talk.exchange.result_count()), (1, 1));
        let wanted = if was_prepared { 12 } else { 13 };
        assert_eq!(ids(&talk.requests()[0]), [wanted]);
    }
    // Prepare a statement in a separate round trip.
    let other = set.add("select $1, 2").with_types([ParameterType::Int]);
    assert!(!talk.exchange.is_prepared(&other));
    talk.exchange.prepare(&other);
    talk.run().unwrap();
    assert!(talk.exchange.is_prepared(&other));
    talk.exec(&other, &[Value::Int(9)]);
    let requests = talk.requests();
    assert_eq!((ids(&requests[0]), ids(&requests[1])), (vec![11], vec![12]));
    // The next call drops the handle; only the result of the call itself is reported.
    talk.exchange.close(&statement);
    talk.exec(&other, &[Value::Int(10)]);
    assert_eq!(ids(&talk.requests()[0]), [15, 12]);
    assert_eq!(talk.rows(), [(0, vec!["10".to_owned()])]);
    assert_eq!(talk.exchange.result_count(), 1);
    // No statement is prepared on a new connection.
    talk.exchange.reset();
    assert!(!talk.exchange.is_prepared(&other));
}

#[test]
fn a_call_of_a_procedure_is_sent_by_name_with_the_declared_types() {
    let mut set = StatementIds::new();
    let types = [ParameterType::Int, ParameterType::VarChar(16)];
    let statement = set.add("EXEC dbo.ostat $1, $2").with_types(types);
    let values = [Value::Int(7), Value::Text("BARBARBAR")];
    for mode in [QueryMode::Extended, QueryMode::Prepared] {
        let mut talk = echo(mode);
        for values in [values, [Value::Int(7), Value::Null]] {
            assert!(talk.exchange.is_prepared(&statement), "nothing to prepare");
            talk.exec(&statement, &values);
            assert_eq!(talk.rows(), [(0, vec!["7".to_owned()])]);
            let requests = talk.requests();
            let [rpc] = call(&requests[0]) else {
                panic!("{requests:?}");
            };
            assert_eq!(rpc.procedure, Procedure::Name("dbo.ostat".to_owned()));
            let types = rpc.parameters.iter().map(|parameter| parameter.kind);
            // The type is the declared one, whatever the length of the text.
            assert_eq!(types.collect::<Vec<_>>(), [Type::Int(4), Type::VarChar(16)]);
            assert_eq!(requests.len(), 1);
        }
    }
    let mut talk = echo(QueryMode::Simple);
    talk.exec(&statement, &values);
    assert_eq!(text(&talk.requests()[0]), "EXEC dbo.ostat 7, 'BARBARBAR'");
}

#[test]
fn a_statement_whose_handle_the_server_forgot_is_prepared_again() {
    let mut talk = echo(QueryMode::Prepared);
    let statement = StatementIds::new()
        .add("select $1")
        .with_types([ParameterType::Int]);
    talk.exec(&statement, &[Value::Int(1)]);
    let other = Talk::with(QueryMode::Prepared, |_, _| vec![Outcome::Count(1)]);
    talk.server = other.server;
    talk.exec(&statement, &[Value::Int(1)]);
    assert_eq!(talk.error(), Some(8179));
    talk.exec(&statement, &[Value::Int(1)]);
    assert_eq!((talk.error(), talk.exchange.affected_rows()), (None, 1));
}

/// Statements that read, write, write and read.
fn mixed(set: &mut StatementIds) -> [Statement; 4] {
    [
        "select $1",
        "update a set b = $1",
        "delete c where d = $1",
        "select $1, 1",
    ]
    .map(|sql| set.add(sql).with_types([ParameterType::Int]))
}

#[test]
fn only_reads_share_a_message_with_the_statement_before_them() {
    for mode in [QueryMode::Extended, QueryMode::Prepared] {
        let mut talk = echo(mode);
        let [read, write, other, last] = mixed(&mut StatementIds::new());
        let value = [Value::Int(1)];
        for round in 0..2 {
            let batch: [(&Statement, &[Value<'_>]); 6] = [
                (&read, &value),
                (&last, &value),
                (&write, &value),
                (&other, &value),
                (&last, &value),
                (&read, &value),
            ];
            talk.batch(&batch);
            let id = match (mode, round) {
                (QueryMode::Extended, _) => 10,
                (_, 0) => 13,
                _ => 12,
            };
            let actual: Vec<_> = talk.requests().iter().map(ids).collect();
            let wanted = [vec![id; 2], vec![id], vec![id; 1]];
            assert_eq!(actual[..2], wanted[..2]);
            assert_eq!(actual[2][0], id);
            assert_eq!((actual.len(), actual[2].len()), (3, 3));
            assert_eq!(talk.exchange.result_count(), 6);
            assert!(talk.exchange.shares_round_trip(6));
            let results: Vec<_> = talk.rows().iter().map(|(result, _)| *result).collect();
            assert_eq!(results, [0, 1, 2, 3, 4, 5]);
        }
    }
}

#[test]
fn nothing_is_sent_after_a_statement_that_failed() {
    let mut talk = Talk::with(QueryMode::Prepared, |text, _| {
        if text.contains("update") {
            vec![Outcome::Error(
                2627,
                1,
                14,
                "Violation of PRIMARY KEY".to_owned(),
            )]
        } else {
            vec![Outcome::Count(1)]
        }
    });
    let [read, write, other, _] = mixed(&mut StatementIds::new());
    let value = [Value::Int(1)];
    talk.batch(&[(&read, &value), (&write, &value), (&other, &value)]);
    assert_eq!(talk.error(), Some(2627));
    assert_eq!(talk.requests().len(), 2);
    let error = talk.exchange.error().unwrap();
    assert_eq!((error.code(), error.level), ("23000", 14));
    // A statement whose preparation was queued and not sent is not prepared.
    assert!(!talk.exchange.is_prepared(&other));
    talk.exec(&other, &value);
    assert_eq!(ids(&talk.requests()[0]), [13]);
}

#[test]
fn statements_that_begin_or_end_a_transaction_are_sent_as_text_in_every_mode() {
    for mode in [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared] {
        let mut talk = echo(mode);
        let mut set = StatementIds::new();
        let (begin, end) = (set.add("/* t */ BEGIN TRAN"), set.add(" commit"));
        let write = set
            .add("update a set b = $1")
            .with_types([ParameterType::Int]);
        assert!(mode == QueryMode::Simple || talk.exchange.is_prepared(&begin));
        talk.exec(&begin, &[]);
        assert_eq!(talk.exchange.block_state(), BlockState::Open);
        talk.exec(&write, &[Value::Int(1)]);
        assert_eq!(
            (talk.error(), talk.exchange.block_state()),
            (None, BlockState::Open)
        );
        talk.exec(&end, &[]);
        assert!(talk.exchange.is_commit_request());
        assert_eq!(
            (talk.error(), talk.exchange.block_state()),
            (None, BlockState::Idle)
        );
        // Within a request, each message has the descriptor that the reply to the previous one contained.
        let value = [Value::Int(1)];
        talk.batch(&[(&begin, &[]), (&write, &value), (&end, &[])]);
        assert_eq!(
            (talk.error(), talk.exchange.block_state()),
            (None, BlockState::Idle)
        );
        assert_eq!(
            talk.round_trips,
            if mode == QueryMode::Simple { 1 } else { 3 }
        );
        assert_eq!(talk.exchange.result_count(), 3);
    }
}

#[test]
fn joined_statements_share_a_text_in_every_mode() {
    let mut talk = Talk::with(QueryMode::Prepared, |_, _| vec![Outcome::Count(2)]);
    let mut set = StatementIds::new();
    let one = set.add("update a set b = $1").with_joining();
    let two = set.add("delete c").with_joining();
    talk.batch(&[(&one, &[Value::Int(4)]), (&two, &[])]);
    assert_eq!(text(&talk.requests()[0]), "update a set b = 4\n;delete c");
    assert_eq!((talk.round_trips, talk.exchange.result_count()), (1, 2));
}

#[test]
fn pushed_executions_are_one_request() {
    let mut talk = echo(QueryMode::Extended);
    let [read, write, ..] = mixed(&mut StatementIds::new());
    talk.exchange.push(true, &write, &[Value::Int(7)]);
    talk.exchange.push(false, &read, &[Value::Int(8)]);
    talk.exchange.sync(false);
    talk.run().unwrap();
    assert_eq!(
        talk.rows(),
        [(0, vec!["7".to_owned()]), (1, vec!["8".to_owned()])]
    );
    assert_eq!(talk.round_trips, 1);
    talk.exchange.sync(true);
    talk.run().unwrap();
    assert_eq!(talk.error(), None);
}
