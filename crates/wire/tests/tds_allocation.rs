//! In steady state a request, its reply and its rows allocate nothing.

use prony_allocations::allocations_of;
use prony_tds_server::{Column, Config, Connection, Datum, Outcome, Type};
use prony_wire::login::LoginProgress;
use prony_wire::login::TlsUse;
use prony_wire::tds::{Connector, Login};
use prony_wire::{
    Exchange, FeedStatus, ParameterType, QueryMode, Secret, Statement, StatementIds, Value,
};
use std::sync::Arc;

const ROWS: i64 = 200;

fn columns() -> Vec<Column> {
    vec![
        Column::new("id", Type::Int(4)),
        Column::new("name", Type::VarChar(16)),
        Column::new("note", Type::NVarChar(16)),
        Column::new("amount", Type::Decimal(12, 2)),
        Column::new("at", Type::DateTime(8)),
        Column::new("none", Type::Int(8)),
        Column::new("long", Type::NVarCharMax),
    ]
}

fn row(number: i64) -> Vec<Datum> {
    let amount = Datum::Decimal {
        negative: false,
        magnitude: 1_234,
        scale: 2,
    };
    vec![
        Datum::Int(number),
        Datum::Bytes(b"BARBARBAR".to_vec()),
        Datum::Text("naïve".to_owned()),
        amount,
        Datum::DateTime(46_347, 300),
        Datum::Null,
        Datum::Text("a longer text".to_owned()),
    ]
}

fn connect(mode: QueryMode) -> (Exchange, Connection) {
    let mut server = Connection::new(Arc::new(Config::new(|text, _| match text {
        text if text.starts_with("select") => vec![Outcome::CompressedRows(
            columns(),
            (0..ROWS).map(row).collect(),
        )],
        _ => vec![Outcome::Count(1)],
    })));
    let login = Login::new("sa", Secret::new("Sesame1"), "");
    let mut connector = Connector::new(Arc::new(login), TlsUse::No, None);
    let mut out = Vec::new();
    connector.start(&mut out).unwrap();
    loop {
        let answer = server.receive(&out);
        out.clear();
        if let LoginProgress::Done(session, _) = connector.receive(&answer, &mut out).unwrap() {
            let mut exchange = Exchange::tds(mode);
            exchange.set_session_flags(session.flags);
            return (exchange, server);
        }
    }
}

/// Runs one request. With a server, records its replies; without one, feeds the recorded replies.
fn run(exchange: &mut Exchange, server: Option<&mut Connection>, replies: &mut Vec<Vec<u8>>) {
    let mut server = server;
    for index in 0.. {
        if let Some(server) = &mut server {
            replies.push(server.receive(exchange.outgoing()));
        }
        match exchange.feed(&replies[index]).unwrap() {
            FeedStatus::Send => {}
            FeedStatus::Complete => return,
            FeedStatus::More => panic!("each reply is whole"),
        }
    }
}

fn request(exchange: &mut Exchange, statements: &[Statement; 3], n: i64) {
    let amount = Value::Decimal {
        unscaled: -n,
        scale: 2,
    };
    let values = [
        Value::Int(n),
        Value::Text("note"),
        amount,
        Value::Float(0.5),
    ];
    let batch = [
        (&statements[2], &[][..]),
        (&statements[0], &values[..]),
        (&statements[1], &values[..1]),
    ];
    exchange.request(batch.into_iter());
}

fn read(exchange: &Exchange) {
    let mut count = 0;
    for (_, row) in exchange.rows() {
        assert_eq!((row.int(0), row.int(5)), (Some(count), None));
        let texts = [1, 2, 3, 4, 6].map(|column| row.text(column).unwrap());
        let wanted = [
            "BARBARBAR",
            "naïve",
            "12.34",
            "2026-11-23 00:00:01.000",
            "a longer text",
        ];
        assert_eq!(texts, wanted);
        assert_eq!(row.values().count(), 7);
        count += 1;
    }
    assert_eq!(count, ROWS);
}

#[test]
fn no_request_and_no_row_allocates() {
    for mode in [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared] {
        let (mut exchange, mut server) = connect(mode);
        let mut set = StatementIds::new();
        let types = ["int", "varchar(16)", "decimal(12,2)"];
        let types = types.map(|name| name.parse::<ParameterType>().ok());
        let statements = [
            set.add("update t set a = $1, b = $2, c = $3, d = $4")
                .with_types(types.into_iter().chain([None])),
            set.add("select $1").with_types([ParameterType::Int]),
            set.add("set nocount off"),
        ];
        let mut replies = Vec::new();
        for n in 0..10 {
            replies.clear();
            request(&mut exchange, &statements, n);
            run(&mut exchange, Some(&mut server), &mut replies);
            assert!(exchange.error().is_none());
            read(&exchange);
        }
        let rounds = 200;
        let allocations = allocations_of(|| {
            for n in 0..rounds {
                request(&mut exchange, &statements, n);
                run(&mut exchange, None, &mut replies);
                read(&exchange);
            }
        });
        let rows = rounds * ROWS;
        assert_eq!(
            allocations, 0,
            "in {rounds} requests with {rows} rows, {mode:?}"
        );
    }
}
