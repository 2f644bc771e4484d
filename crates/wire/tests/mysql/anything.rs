//! No bytes from a server cause a panic or an out-of-bounds read.

use crate::support::*;
use prony_wire::login::TlsUse;
use prony_wire::mysql::Connector;
use prony_wire::{Exchange, FeedStatus, QueryMode, SessionFlags, StatementIds, Value};
use proptest::prelude::*;
use std::sync::Arc;

fn call_all_accessors(exchange: &Exchange) {
    let _ = (
        exchange.error(),
        exchange.final_error(),
        exchange.affected_rows(),
    );
    read_results(exchange);
}

const REPLIES: [&[u8]; 6] = [
    recorded!("text_mariadb"),
    recorded!("text_mysql_eof"),
    recorded!("execute_mysql"),
    recorded!("execute_mariadb_eof"),
    recorded!("call_mariadb"),
    recorded!("missing_mariadb"),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_bytes_make_a_login_panic(
        which in 0..5_usize,
        changes in changes(6),
        tail in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let recording = [NATIVE, SHA2_FAST, SHA2_RSA, ED25519, b"\x04\0\0\0"][which];
        let bytes = [changed(recording, changes), tail].concat();
        let mut connector = Connector::new(Arc::new(login("any")), TlsUse::No, None);
        for piece in bytes.chunks(7) {
            let mut out = Vec::new();
            match connector.receive(piece, &mut out) {
                Ok(prony_wire::login::LoginProgress::More) => {}
                _ => break,
            }
        }
    }

    #[test]
    fn no_bytes_make_an_exchange_panic(
        prepared_mode in any::<bool>(),
        eof in any::<bool>(),
        which in 0..6_usize,
        changes in changes(8),
        tail in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mode = if prepared_mode { QueryMode::Prepared } else { QueryMode::Simple };
        let flags = if eof { SessionFlags::default() } else { without_eof() };
        let mut exchange = exchange(mode, flags);
        let statement = StatementIds::new().add("select $1");
        exchange.request(execution(&statement, &[Value::Int(1)]));
        if prepared_mode {
            let answer = if eof { recorded!("prepare_mysql_eof") as &[u8] } else { recorded!("prepare_mysql") };
            let fed = exchange.feed(answer);
            prop_assert_eq!(fed, Ok(FeedStatus::Send));
        }
        let bytes = [changed(REPLIES[which], changes), tail].concat();
        for piece in bytes.chunks(11) {
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
}
