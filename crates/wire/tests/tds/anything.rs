//! No bytes from a server cause a panic, an out-of-bounds read, or more memory than a small multiple of the
//! bytes.

use crate::support::*;
use crate::types::reply_of_all_types;
use prony_tds_server::{Config, Connection, Encryption, ReplyWriter, encode_message};
use prony_wire::login::{LoginProgress, TlsUse};
use prony_wire::tds::Connector;
use prony_wire::{Exchange, FeedStatus, QueryMode, StatementIds, Value};
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};

/// A server's replies during a login without TLS: to PRELOGIN and to LOGIN7.
static LOGIN: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let mut server = Connection::new(Arc::new(Config {
        route: Some(("elsewhere".to_owned(), 1)),
        ..config(Encryption::NotSupported)
    }));
    let mut connector = Connector::new(Arc::new(account()), TlsUse::No, None);
    let mut out = Vec::new();
    connector.start(&mut out).unwrap();
    let prelogin = server.receive(&out);
    out.clear();
    connector.receive(&prelogin, &mut out).unwrap();
    [prelogin, server.receive(&out)]
});

static REPLIES: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| {
    let mut calls = ReplyWriter::new([0; 5]);
    calls.return_status(0);
    calls.env_change_bytes(8, &7_u64.to_le_bytes(), &[]);
    calls.done(0xff, 0x11, 0xc1, 1);
    calls.return_value_int("handle", 3);
    calls.done(0xfe, 0, 0, 0);
    let mut failed = ReplyWriter::new([0; 5]);
    failed.info(3621, 0, "The statement has been terminated.");
    failed.error((1205, 51, 13), "deadlock victim");
    failed.env_change_bytes(10, &[], &7_u64.to_le_bytes());
    failed.done(0xfd, 2, 0, 0);
    [
        reply_of_all_types(),
        encode_message(4, &calls.finish(), 512),
        encode_message(4, &failed.finish(), 512),
    ]
});

fn call_all_accessors(exchange: &Exchange) {
    let _ = (
        exchange.error(),
        exchange.error_summary().map(|error| error.counted_as()),
        exchange.final_error().map(|error| error.to_string()),
        exchange.affected_rows(),
        exchange.block_state(),
        exchange.is_commit_request(),
    );
    exchange.notices().for_each(drop);
    read_results(exchange);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn no_bytes_make_a_login_panic(
        first in changes(8),
        second in changes(8),
        intact in any::<bool>(),
        tail in prop::collection::vec(any::<u8>(), 0..40),
        step in 1..300_usize,
    ) {
        let prelogin = if intact { LOGIN[0].clone() } else { changed(&LOGIN[0], first) };
        let mut connector = Connector::new(Arc::new(account()), TlsUse::No, None);
        let mut out = Vec::new();
        connector.start(&mut out).unwrap();
        let reply = [changed(&LOGIN[1], second), tail].concat();
        let pieces = prelogin.chunks(step).chain(reply.chunks(step));
        for piece in pieces {
            if !matches!(connector.receive(piece, &mut out), Ok(LoginProgress::More)) {
                break;
            }
        }
    }

    #[test]
    fn no_bytes_make_an_exchange_panic(
        prepared in any::<bool>(),
        which in 0..3_usize,
        changes in changes(8),
        tail in prop::collection::vec(any::<u8>(), 0..60),
        attention in any::<bool>(),
        step in 1..600_usize,
    ) {
        let mode = if prepared { QueryMode::Prepared } else { QueryMode::Simple };
        let mut exchange = Exchange::tds(mode);
        let statement = StatementIds::new().add("select $1");
        let values = [Value::Int(1)];
        exchange.request([(&statement, &values[..]), (&statement, &values[..])].into_iter());
        let bytes = [changed(&REPLIES[which], changes), tail].concat();
        for (index, piece) in bytes.chunks(step).enumerate() {
            if attention && index == 1 {
                exchange.attention();
            }
            if !matches!(exchange.feed(piece), Ok(FeedStatus::More)) {
                break;
            }
            call_all_accessors(&exchange);
        }
        call_all_accessors(&exchange);
        exchange.query("next");
        let _ = exchange.feed(&bytes);
        call_all_accessors(&exchange);
    }

    #[test]
    fn any_text_and_value_become_a_request(
        sql in ".{0,40}",
        text in ".{0,40}",
        bytes in prop::collection::vec(any::<u8>(), 0..40),
        number in any::<i64>(),
        float in any::<f64>(),
        scale in any::<u8>(),
        mode in 0..3_usize,
    ) {
        let mode = [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared][mode];
        let mut talk = Talk::with(mode, |_, _| vec![prony_tds_server::Outcome::Done]);
        let statement = StatementIds::new().add_unparsed(format!("do {sql}"), 5);
        let values = [
            Value::Text(&text),
            Value::Bytes(&bytes),
            Value::Int(number),
            Value::Float(float),
            Value::Decimal { unscaled: number, scale },
        ];
        // The server checks each message.
        talk.exchange.request(std::iter::once((&statement, &values[..])));
        talk.server.receive(talk.exchange.outgoing());
        prop_assert_eq!(talk.requests().len(), 1);
    }
}
