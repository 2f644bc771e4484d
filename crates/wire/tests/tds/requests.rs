//! Statements as the server reads them, in each mode.

use crate::support::*;
use prony_tds_server::{Datum, Outcome, Procedure, Request, Rpc, Type};
use prony_wire::{Block, ParameterType, QueryMode, Statement, Statements, Value, tds};

fn call(rpcs: &Request) -> &[Rpc] {
    match rpcs {
        Request::Rpcs { calls, .. } => calls,
        other => panic!("{other:?}"),
    }
}

fn text(batch: &Request) -> &str {
    match batch {
        Request::Batch { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

/// The procedures of a message, by number.
fn ids(request: &Request) -> Vec<u16> {
    let id = |call: &Rpc| match call.procedure {
        Procedure::Id(id) => id,
        Procedure::Name(_) => 0,
    };
    call(request).iter().map(id).collect()
}

fn echo(mode: QueryMode) -> Talk {
    Talk::with(mode, |_, values| {
        let numbers = values.iter().filter_map(|value| match value.value {
            Datum::Int(number) => Some(number),
            _ => None,
        });
        vec![ints(&numbers.collect::<Vec<_>>())]
    })
}

#[test]
fn texts_hold_their_values() {
    let mut talk = Talk::with(QueryMode::Simple, |_, _| vec![Outcome::Count(1)]);
    let mut set = Statements::new();
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
    assert_eq!((talk.round_trips, talk.exchange.results()), (1, 2));
    assert_eq!(talk.exchange.affected_by(0), 1);
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
fn parameters_have_their_declared_types() {
    let mut talk = Talk::with(QueryMode::Extended, |_, _| vec![Outcome::Count(1)]);
    let types = [
        "smallint",
        "int",
        "bigint",
        "decimal(12,2)",
        "char(4)",
        "varchar(16)",
        "text",
    ];
    let types = types.map(|name| name.parse::<ParameterType>().unwrap());
    let mut set = Statements::new();
    let statement = set
        .add("insert t values ($1, $2, $3, $4, $5, $6, $7)")
        .with_types(types);
    let decimal = Value::Decimal {
        unscaled: -1_25,
        scale: 1,
    };
    let long = "ü".repeat(5_000);
    let values = [
        Value::Int(-2),
        Value::Int(3),
        Value::Int(i64::MIN),
        decimal,
        Value::Text("ab"),
        Value::Text("€"),
        Value::Text(&long),
    ];
    talk.exec(&statement, &values);
    let requests = talk.requests();
    let parameters = &call(&requests[0])[0].parameters;
    let wide = |text: &str| Datum::Text(text.to_owned());
    assert_eq!(
        parameters[0].value,
        wide("insert t values (@P1, @P2, @P3, @P4, @P5, @P6, @P7)")
    );
    let declared = "@P1 smallint,@P2 int,@P3 bigint,@P4 decimal(12,2),@P5 char(4),@P6 varchar(16),\
                    @P7 nvarchar(max)";
    assert_eq!(parameters[1].value, wide(declared));
    let found: Vec<_> = parameters[2..]
        .iter()
        .map(|p| (p.kind, p.value.clone()))
        .collect();
    let digits = Datum::Decimal {
        negative: true,
        magnitude: 1250,
        scale: 2,
    };
    let wanted = [
        (Type::Int(2), Datum::Int(-2)),
        (Type::Int(4), Datum::Int(3)),
        (Type::Int(8), Datum::Int(i64::MIN)),
        (Type::Decimal(12, 2), digits),
        (Type::Char(4), Datum::Bytes(b"ab".to_vec())),
        (Type::VarChar(16), Datum::Bytes(vec![0x80])),
        (Type::NVarCharMax, wide(&long)),
    ];
    assert_eq!(found, wanted);
    // The declaration does not depend on the values.
    talk.exec(&statement, &[Value::Null; 7]);
    let requests = talk.requests();
    let parameters = &call(&requests[0])[0].parameters;
    assert_eq!(parameters[1].value, wide(declared));
    assert!(
        parameters[2..]
            .iter()
            .all(|parameter| parameter.value == Datum::Null)
    );
}

#[test]
fn parameters_without_declared_types_take_few() {
    let mut talk = Talk::with(QueryMode::Prepared, |_, _| vec![Outcome::Done]);
    let statement = Statements::new().add("select $1");
    let decimal = Value::Decimal {
        unscaled: 5,
        scale: 40,
    };
    let long = "x".repeat(9_000);
    for (value, declared, prepares) in [
        (Value::Null, "@P1 nvarchar(4000)", true),
        (Value::Text("a"), "@P1 nvarchar(4000)", false),
        (Value::Int(5), "@P1 bigint", true),
        (Value::Null, "@P1 bigint", false),
        (Value::Int(-5), "@P1 bigint", false),
        (Value::Text(&long), "@P1 nvarchar(max)", true),
        (Value::Text("short"), "", false),
        (Value::Bytes(b"b"), "@P1 varchar(8000)", true),
        (Value::Float(0.5), "@P1 float", true),
        (decimal, "", false),
    ] {
        talk.exec(&statement, &[value]);
        assert_eq!(talk.error(), None);
        let requests = talk.requests();
        let calls = call(&requests[0]);
        let last = calls.last().unwrap();
        if !prepares {
            assert_eq!(ids(&requests[0]), [12], "{value:?}");
            continue;
        }
        assert_eq!(last.procedure, Procedure::Id(13), "{value:?}");
        assert_eq!(last.parameters[1].value, Datum::Text(declared.to_owned()));
    }
}

#[test]
fn a_prepared_statement_is_prepared_once_with_its_first_execution() {
    let mut talk = echo(QueryMode::Prepared);
    let mut set = Statements::new();
    let statement = set.add("select $1").with_types([ParameterType::Int]);
    for step in [1, 5, 100_000] {
        talk.step = step;
        let was_prepared = talk.exchange.is_prepared(&statement);
        talk.exec(&statement, &[Value::Int(step as i64)]);
        assert!(talk.exchange.is_prepared(&statement));
        assert_eq!(talk.rows(), [(0, vec![step.to_string()])]);
        assert_eq!((talk.round_trips, talk.exchange.results()), (1, 1));
        let wanted = if was_prepared { 12 } else { 13 };
        assert_eq!(ids(&talk.requests()[0]), [wanted]);
    }
    // In a round trip of its own.
    let other = set.add("select $1, 2").with_types([ParameterType::Int]);
    assert!(!talk.exchange.is_prepared(&other));
    talk.exchange.prepare(&other);
    talk.run().unwrap();
    assert!(talk.exchange.is_prepared(&other));
    talk.exec(&other, &[Value::Int(9)]);
    let requests = talk.requests();
    assert_eq!((ids(&requests[0]), ids(&requests[1])), (vec![11], vec![12]));
    // Dropped with the next call, whose result is the only one.
    talk.exchange.close(&statement);
    talk.exec(&other, &[Value::Int(10)]);
    assert_eq!(ids(&talk.requests()[0]), [15, 12]);
    assert_eq!(talk.rows(), [(0, vec!["10".to_owned()])]);
    assert_eq!(talk.exchange.results(), 1);
    // A new connection knows nothing.
    talk.exchange.reset();
    assert!(!talk.exchange.is_prepared(&other));
}

#[test]
fn a_handle_that_the_server_forgot_is_prepared_again() {
    let mut talk = echo(QueryMode::Prepared);
    let statement = Statements::new()
        .add("select $1")
        .with_types([ParameterType::Int]);
    talk.exec(&statement, &[Value::Int(1)]);
    let other = Talk::with(QueryMode::Prepared, |_, _| vec![Outcome::Count(1)]);
    talk.server = other.server;
    talk.exec(&statement, &[Value::Int(1)]);
    assert_eq!(talk.error(), Some(8179));
    talk.exec(&statement, &[Value::Int(1)]);
    assert_eq!((talk.error(), talk.exchange.affected()), (None, 1));
}

/// Statements that read, write, write and read.
fn mixed(set: &mut Statements) -> [Statement; 4] {
    [
        "select $1",
        "update a set b = $1",
        "delete c where d = $1",
        "select $1, 1",
    ]
    .map(|sql| set.add(sql).with_types([ParameterType::Int]))
}

#[test]
fn only_reads_share_a_message_with_what_precedes_them() {
    for mode in [QueryMode::Extended, QueryMode::Prepared] {
        let mut talk = echo(mode);
        let [read, write, other, last] = mixed(&mut Statements::new());
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
            let found: Vec<_> = talk.requests().iter().map(ids).collect();
            let wanted = [vec![id; 2], vec![id], vec![id; 1]];
            assert_eq!(found[..2], wanted[..2]);
            assert_eq!(found[2][0], id);
            assert_eq!((found.len(), found[2].len()), (3, 3));
            assert_eq!(talk.exchange.results(), 6);
            assert!(talk.exchange.shares_round_trip(6));
            let results: Vec<_> = talk.rows().iter().map(|(result, _)| *result).collect();
            assert_eq!(results, [0, 1, 2, 3, 4, 5]);
        }
    }
}

#[test]
fn nothing_follows_a_statement_that_failed() {
    let mut talk = Talk::with(QueryMode::Prepared, |text, _| {
        match text.contains("update") {
            true => vec![Outcome::Error(
                2627,
                1,
                14,
                "Violation of PRIMARY KEY".to_owned(),
            )],
            false => vec![Outcome::Count(1)],
        }
    });
    let [read, write, other, _] = mixed(&mut Statements::new());
    let value = [Value::Int(1)];
    talk.batch(&[(&read, &value), (&write, &value), (&other, &value)]);
    assert_eq!(talk.error(), Some(2627));
    assert_eq!(talk.requests().len(), 2);
    let error = talk.exchange.error().unwrap();
    assert_eq!((error.code(), error.level), ("23000", 14));
    // What was queued and not sent is not taken for prepared.
    assert!(!talk.exchange.is_prepared(&other));
    talk.exec(&other, &value);
    assert_eq!(ids(&talk.requests()[0]), [13]);
}

#[test]
fn transactions_begin_and_end_in_texts_in_every_mode() {
    for mode in [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared] {
        let mut talk = echo(mode);
        let mut set = Statements::new();
        let (begin, end) = (set.add("BEGIN TRAN"), set.add(" commit"));
        let write = set
            .add("update a set b = $1")
            .with_types([ParameterType::Int]);
        assert!(mode == QueryMode::Simple || talk.exchange.is_prepared(&begin));
        talk.exec(&begin, &[]);
        assert_eq!(talk.exchange.block(), Block::Open);
        talk.exec(&write, &[Value::Int(1)]);
        assert_eq!((talk.error(), talk.exchange.block()), (None, Block::Open));
        talk.exec(&end, &[]);
        assert!(talk.exchange.is_commit_text());
        assert_eq!((talk.error(), talk.exchange.block()), (None, Block::Idle));
        // In one request the descriptor is that of the message before.
        let value = [Value::Int(1)];
        talk.batch(&[(&begin, &[]), (&write, &value), (&end, &[])]);
        assert_eq!((talk.error(), talk.exchange.block()), (None, Block::Idle));
        assert_eq!(
            talk.round_trips,
            if mode == QueryMode::Simple { 1 } else { 3 }
        );
        assert_eq!(talk.exchange.results(), 3);
    }
}

#[test]
fn joined_statements_share_a_text_in_every_mode() {
    let mut talk = Talk::with(QueryMode::Prepared, |_, _| vec![Outcome::Count(2)]);
    let mut set = Statements::new();
    let one = set.add("update a set b = $1").joined();
    let two = set.add("delete c").joined();
    talk.batch(&[(&one, &[Value::Int(4)]), (&two, &[])]);
    assert_eq!(text(&talk.requests()[0]), "update a set b = 4\n;delete c");
    assert_eq!((talk.round_trips, talk.exchange.results()), (1, 2));
}

#[test]
fn pushed_executions_are_one_request() {
    let mut talk = echo(QueryMode::Extended);
    let [read, write, ..] = mixed(&mut Statements::new());
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

#[test]
fn procedures_are_called_by_name() {
    let mut talk = echo(QueryMode::Extended);
    let parameters = [
        (tds::SqlType::Int, Value::Int(5)),
        (
            tds::SqlType::DateTime2(0),
            Value::Text("2026-11-23 18:30:15.9"),
        ),
        (tds::SqlType::VarBinary(Some(4)), Value::Bytes(b"\0\xff")),
        (tds::SqlType::NVarChar(Some(3)), Value::Text("中")),
        (
            tds::SqlType::Money,
            Value::Decimal {
                unscaled: -15,
                scale: 1,
            },
        ),
        (tds::SqlType::TinyInt, Value::Int(255)),
        (tds::SqlType::Bit, Value::Int(1)),
        (
            tds::SqlType::DateTime,
            Value::Text("2026-11-23 00:00:00.005"),
        ),
        (tds::SqlType::Date, Value::Text("0001-01-02")),
        // It does not fit: the server decides.
        (tds::SqlType::TinyInt, Value::Int(256)),
    ];
    assert!(
        talk.exchange
            .call(tds::Procedure::Name("dbo.neword"), &parameters)
    );
    talk.run().unwrap();
    let requests = talk.requests();
    let call = &call(&requests[0])[0];
    assert_eq!(call.procedure, Procedure::Name("dbo.neword".to_owned()));
    let found: Vec<_> = call
        .parameters
        .iter()
        .map(|p| (p.kind, p.value.clone()))
        .collect();
    let seconds = (18 * 60 + 30) * 60 + 15;
    let wanted = [
        (Type::Int(4), Datum::Int(5)),
        (Type::DateTime2(0), Datum::DateTime2(739_942, seconds)),
        (Type::VarBinary(4), Datum::Bytes(vec![0, 0xff])),
        (Type::NVarChar(3), Datum::Text("中".to_owned())),
        (Type::Money(8), Datum::Money(-15_000)),
        (Type::Int(1), Datum::Int(255)),
        (Type::Bit, Datum::Bit(true)),
        (Type::DateTime(8), Datum::DateTime(739_942 - 693_595, 2)),
        (Type::Date, Datum::Date(1)),
        (Type::Int(8), Datum::Int(256)),
    ];
    assert_eq!(found, wanted);
    let mut postgres = prony_wire::Exchange::postgres(QueryMode::Simple, false);
    assert!(!postgres.call(tds::Procedure::ExecuteSql, &[]));
    assert!(!postgres.transaction(tds::TransactionRequest::Commit(None)));
    assert_eq!(postgres.attention(), None);
}
