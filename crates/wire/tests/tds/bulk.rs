//! Bulk loads, checked row by row by the server.

use crate::support::*;
use prony_tds_server::{Datum, Outcome, Type};
use prony_wire::tds::{BulkColumn, BulkError, BulkLoad, BulkOptions, SqlType};
use prony_wire::{QueryMode, Value};

fn column(name: &str, sql_type: SqlType, nullable: bool) -> BulkColumn {
    BulkColumn {
        name: name.to_owned(),
        sql_type,
        nullable,
    }
}

fn columns() -> Vec<BulkColumn> {
    vec![
        column("id", SqlType::Int, false),
        column("a]b", SqlType::VarChar(Some(20)), true),
        column(
            "amount",
            SqlType::Decimal {
                precision: 12,
                scale: 2,
            },
            true,
        ),
        column("at", SqlType::DateTime, true),
        column("cash", SqlType::SmallMoney, true),
        column("note", SqlType::NVarChar(None), true),
    ]
}

fn row(number: i64, text: &str) -> [Value<'_>; 6] {
    let amount = Value::Decimal {
        unscaled: number * 100 + 25,
        scale: 2,
    };
    let null = |value| if number % 3 == 0 { Value::Null } else { value };
    [
        Value::Int(number),
        null(Value::Text(text)),
        null(amount),
        null(Value::Text("2026-11-23 12:00:00")),
        null(Value::Int(number)),
        null(Value::Text("naïve 中")),
    ]
}

#[test]
fn every_loaded_row_arrives() {
    let mut talk = Talk::with(QueryMode::Simple, |_, _| vec![Outcome::Done]);
    let options = BulkOptions {
        table_lock: true,
        keep_nulls: true,
        check_constraints: false,
        expected_rows: 5_000,
        sort_columns: vec!["id".to_owned()],
    };
    let collation = talk.exchange.collation();
    assert_eq!(collation, [0x09, 0x04, 0xd0, 0x00, 0x34]);
    let mut load = BulkLoad::new("[dbo].[t]", columns(), &options, collation);
    let statement = "INSERT BULK [dbo].[t] ([id] int, [a]]b] varchar(20), [amount] decimal(12,2), \
                     [at] datetime, [cash] smallmoney, [note] nvarchar(max)) WITH (TABLOCK, \
                     KEEP_NULLS, ROWS_PER_BATCH = 5000, ORDER ([id] ASC))";
    assert_eq!(load.statement(), statement);
    // The test server parses only names without brackets, so rename the column for the load.
    let mut plain = columns();
    plain[1].name = "ab".to_owned();
    load = BulkLoad::new("t", plain, &options, collation);
    // Parts of one row, of several, and of all rows.
    for (message, rows_per_part) in [(0, 1), (1, 300), (2, 1_000)] {
        load.clear();
        talk.query(load.statement());
        assert!(talk.exchange.begin_bulk_rows());
        for number in 0..1_000 {
            let number = message * 1_000 + number;
            load.push(&row(number, &format!("text {number}"))).unwrap();
            if load.rows().is_multiple_of(rows_per_part) {
                let packets = take_packets(&talk, &mut load, false);
                assert!(
                    load.pending_bytes() <= 512 - 8,
                    "only part of a packet remains"
                );
                assert_eq!(
                    talk.server.receive(&packets),
                    b"",
                    "the message has not ended"
                );
            }
        }
        finish(&mut talk, &mut load);
        assert_eq!(talk.exchange.affected_rows(), 1_000);
    }
    let received = talk.received.lock().unwrap();
    let kinds: Vec<_> = received.bulk[0]
        .columns
        .iter()
        .map(|(_, kind)| *kind)
        .collect();
    let wanted = [
        Type::Int(4),
        Type::VarChar(20),
        Type::Decimal(12, 2),
        Type::DateTime(8),
        Type::Money(4),
        Type::NVarCharMax,
    ];
    assert_eq!(kinds, wanted);
    let rows = received.bulk.iter().flat_map(|bulk| &bulk.rows);
    let mut count = 0;
    for (number, found) in (0..).zip(rows) {
        let null = |datum| if number % 3 == 0 { Datum::Null } else { datum };
        let amount = Datum::Decimal {
            negative: false,
            magnitude: number as u128 * 100 + 25,
            scale: 2,
        };
        let wanted = [
            Datum::Int(number),
            null(Datum::Bytes(format!("text {number}").into_bytes())),
            null(amount),
            null(Datum::DateTime(46_347, 12 * 3600 * 300)),
            null(Datum::Money(number * 10_000)),
            null(Datum::Text("naïve 中".to_owned())),
        ];
        assert_eq!(*found, wanted);
        count += 1;
    }
    assert_eq!(count, 3_000);
}

#[test]
fn values_of_fixed_length_are_padded() {
    let mut talk = Talk::with(QueryMode::Simple, |_, _| vec![Outcome::Done]);
    let columns = vec![
        column("c", SqlType::Char(4), true),
        column("v", SqlType::VarChar(Some(4)), true),
    ];
    let collation = talk.exchange.collation();
    let mut load = BulkLoad::new("t", columns, &BulkOptions::default(), collation);
    for text in ["ab", "", "abc"] {
        load.push(&[Value::Text(text); 2]).unwrap();
    }
    load.push(&[Value::Null; 2]).unwrap();
    talk.query(load.statement());
    assert!(talk.exchange.begin_bulk_rows());
    finish(&mut talk, &mut load);
    let received = talk.received.lock().unwrap();
    let row = |c: &str, v: &str| {
        [c, v]
            .map(|text| Datum::Bytes(text.as_bytes().to_vec()))
            .to_vec()
    };
    let expected = [
        row("ab  ", "ab"),
        row("    ", ""),
        row("abc ", "abc"),
        vec![Datum::Null; 2],
    ];
    assert_eq!(received.bulk[0].rows, expected);
}

#[test]
fn rows_that_do_not_fit_are_refused_and_leave_the_load_unchanged() {
    let talk = Talk::with(QueryMode::Simple, |_, _| vec![Outcome::Done]);
    let mut load = BulkLoad::new(
        "t",
        columns(),
        &BulkOptions::default(),
        talk.exchange.collation(),
    );
    load.push(&row(1, "fits")).unwrap();
    let before = load.pending_bytes();
    let refused = |load: &mut BulkLoad, index: usize, value| {
        let mut values = row(1, "fits");
        values[index] = value;
        let error = load.push(&values).unwrap_err();
        assert_eq!((load.pending_bytes(), load.rows()), (before, 1));
        error
    };
    assert_eq!(
        refused(&mut load, 0, Value::Null),
        BulkError::Null("id".to_owned())
    );
    for (index, value) in [
        (0, Value::Int(1 << 40)),
        (1, Value::Text("a text of 21 letters!")),
        (
            2,
            Value::Decimal {
                unscaled: 1,
                scale: 3,
            },
        ),
        (2, Value::Int(10_000_000_000)),
        (3, Value::Text("1752-12-31")),
        (4, Value::Int(214_749)),
    ] {
        let error = refused(&mut load, index, value);
        assert!(
            matches!(error, BulkError::Value { .. }),
            "{index} {value:?} {error}"
        );
    }
    let error = load.push(&[Value::Null]).unwrap_err();
    assert_eq!(error.to_string(), "a row of 1 values for 6 columns");
}

#[test]
fn an_error_in_the_middle_of_the_rows_is_the_reply() {
    let mut talk = Talk::with(QueryMode::Simple, |_, _| vec![Outcome::Done]);
    let mut load = BulkLoad::new("t", columns(), &BulkOptions::default(), [0; 5]);
    talk.query(load.statement());
    assert!(talk.exchange.begin_bulk_rows());
    load.push(&row(1, "a text")).unwrap();
    take_packets(&talk, &mut load, false);
    let mut tokens = prony_tds_server::ReplyWriter::new([0; 5]);
    tokens.error((1105, 2, 17), "Could not allocate space for object 't'.");
    tokens.done(0xfd, 2, 0, 0);
    let answer = prony_tds_server::encode_message(4, &tokens.finish(), 512);
    assert_eq!(talk.take(&answer), Ok(prony_wire::FeedStatus::Complete));
    assert_eq!(talk.error(), Some(1105));
}

fn take_packets(talk: &Talk, load: &mut BulkLoad, is_finished: bool) -> Vec<u8> {
    let mut packets = Vec::new();
    talk.exchange.bulk_packets(load, is_finished, &mut packets);
    packets
}

/// Sends the rest of the rows, and takes the reply.
fn finish(talk: &mut Talk, load: &mut BulkLoad) {
    load.finish();
    let packets = take_packets(talk, load, true);
    assert_eq!(load.pending_bytes(), 0);
    let answer = talk.server.receive(&packets);
    assert_eq!(talk.take(&answer), Ok(prony_wire::FeedStatus::Complete));
    assert_eq!(talk.error(), None);
}
