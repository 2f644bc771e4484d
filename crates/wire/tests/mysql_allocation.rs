//! In steady state a request and its reply allocate nothing.

use prony_allocations::allocations_of;
use prony_wire::{Exchange, FeedStatus, QueryMode, SessionFlags, Statement, StatementIds, Value};

/// Executes each statement once, in one batch, and reads the rows.
fn transaction(exchange: &mut Exchange, statements: &[Statement; 2], n: i64, replies: &[u8]) {
    let amount = Value::Decimal {
        unscaled: -n,
        scale: 2,
    };
    let values = [
        Value::Int(n),
        Value::Text("note"),
        Value::Float(0.5),
        amount,
    ];
    let batch = [
        (&statements[0], &values[..]),
        (&statements[1], &values[..1]),
    ];
    exchange.request(batch.into_iter());
    loop {
        assert!(!exchange.outgoing().is_empty());
        match exchange.feed(replies).unwrap() {
            FeedStatus::Send => {}
            FeedStatus::Complete => break,
            FeedStatus::More => panic!("each reply is complete"),
        }
    }
    for (_, row) in exchange.rows() {
        assert_eq!(row.int(0), Some(-5));
        assert_eq!(row.text(7), Some("text"));
    }
}

#[test]
fn no_request_allocates() {
    let mut set = StatementIds::new();
    let statements = [set.add("a $1 $2 $3 $4"), set.add("b $1")];
    let execute: &[u8] = include_bytes!("recorded/mysql_execute_mysql_eof.bin");
    let mut exchange = Exchange::mysql(QueryMode::Prepared);
    exchange.set_session_flags(SessionFlags::default());
    for (statement, count) in statements.iter().zip([4, 1]) {
        exchange.prepare(statement);
        let mut answer = vec![12, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, count, 0, 0, 0, 0];
        for number in 0..count {
            answer.extend_from_slice(&[1, 0, 0, 2 + number, 3]);
        }
        answer.extend_from_slice(&[5, 0, 0, 2 + count, 0xfe, 0, 0, 2, 0]);
        assert_eq!(exchange.feed(&answer).unwrap(), FeedStatus::Complete);
    }
    for n in 0..10 {
        transaction(&mut exchange, &statements, n, execute);
    }
    let allocations = allocations_of(|| {
        for n in 0..1000 {
            transaction(&mut exchange, &statements, n, execute);
        }
    });
    assert_eq!(allocations, 0);
}
