//! Tests of replies: several results, errors between results, procedures, and servers that violate the
//! protocol.

use crate::support::*;
use prony_assertions::TextAssertions;
use prony_tds_server::{Column, Datum, Outcome, ReplyWriter, Type, encode_message};
use prony_wire::{Exchange, FeedStatus, QueryMode, StatementIds, Value, Violation};

#[test]
fn each_statement_of_a_text_has_a_result() {
    for step in [1, 6, 100_000] {
        let mut talk = Talk::with(QueryMode::Simple, |text, _| match text.trim() {
            "select" => vec![ints(&[1, 2, 3])],
            "none" => vec![ints(&[])],
            "update" => vec![Outcome::Count(7)],
            "print" => vec![Outcome::Info(0, "hello".to_owned()), Outcome::Done],
            _ => vec![Outcome::Done],
        });
        talk.step = step;
        talk.query("select;update;set;none;print;select");
        assert_eq!(talk.exchange.result_count(), 6);
        let affected: Vec<_> = (0..7).map(|n| talk.exchange.affected_rows_of(n)).collect();
        assert_eq!(affected, [3, 7, 0, 0, 0, 3, 0]);
        let results: Vec<_> = talk.rows().iter().map(|(result, _)| *result).collect();
        assert_eq!(results, [0, 0, 0, 5, 5, 5]);
        assert_eq!(talk.exchange.column_names(3).next(), Some(&b"n"[..]));
        assert_eq!(talk.exchange.column_names(1).next(), None);
        assert_eq!(talk.exchange.notices().count(), 1);
        assert!(!talk.exchange.has_surplus_bytes());
    }
}

#[test]
fn rows_beyond_the_limit_are_counted_and_dropped_at_any_split() {
    let long_rows = |count: usize| {
        let row = vec![Datum::Text("x".repeat(20_000))];
        Outcome::Rows(vec![Column::new("t", Type::VarCharMax)], vec![row; count])
    };
    for step in [1, 6, 511, 100_000] {
        let mut talk = Talk::with(QueryMode::Simple, move |text, _| match text.trim() {
            "numbers" => vec![ints(&(0..500).collect::<Vec<_>>())],
            "long" => vec![long_rows(3)],
            _ => vec![Outcome::Count(7)],
        });
        talk.step = step;
        talk.exchange.limit_rows(60);
        // The limit applies to each reply.
        for _ in 0..2 {
            talk.query("numbers;update;long;numbers");
            assert!(talk.exchange.has_dropped_rows());
            let affected: Vec<_> = (0..4).map(|n| talk.exchange.affected_rows_of(n)).collect();
            assert_eq!(affected, [500, 7, 3, 500], "{step}");
            let rows = talk.rows();
            assert!(!rows.is_empty() && rows.len() < 20, "{}", rows.len());
            assert!(
                rows.iter()
                    .enumerate()
                    .all(|(index, (result, row))| { *result == 0 && *row == [index.to_string()] })
            );
        }
        talk.query("long");
        assert_eq!(talk.exchange.affected_rows(), 3);
        assert!(talk.rows().is_empty() && talk.exchange.has_dropped_rows());
    }
}

#[test]
fn each_call_has_a_result_even_if_the_server_counts_nothing() {
    // The server counts no rows after SET NOCOUNT ON.
    let mut talk = Talk::with(QueryMode::Extended, |text, _| {
        if text.contains("rows") {
            vec![Outcome::Done, ints(&[5]), Outcome::Done]
        } else {
            vec![Outcome::Done]
        }
    });
    let mut set = StatementIds::new();
    let (quiet, rows) = (set.add("select quiet"), set.add("select rows"));
    talk.batch(&[(&quiet, &[]), (&rows, &[]), (&quiet, &[])]);
    assert_eq!((talk.round_trips, talk.exchange.result_count()), (1, 3));
    assert_eq!(talk.rows(), [(1, vec!["5".to_owned()])]);
}

#[test]
fn a_text_continues_after_an_error_and_its_first_error_is_reported() {
    let mut talk = Talk::with(QueryMode::Simple, |text, _| match text {
        "bad" => vec![Outcome::Error(8134, 1, 16, "Divide by zero".to_owned())],
        "worse" => vec![Outcome::Error(547, 0, 16, "conflicted".to_owned())],
        _ => vec![ints(&[1])],
    });
    talk.query("bad;select;worse");
    let error = talk.exchange.error().unwrap();
    assert_eq!(
        (error.number, error.code(), error.state),
        (8134, "22012", 1)
    );
    assert_eq!(
        error.to_string(),
        "Msg 8134, Level 16, State 1, Line 1\nDivide by zero"
    );
    assert_eq!(talk.rows().len(), 1);
    assert_eq!(talk.exchange.result_count(), 3);
    talk.query("select");
    assert_eq!(talk.error(), None);
}

fn reply(write: impl FnOnce(&mut ReplyWriter)) -> Vec<u8> {
    let mut reply = ReplyWriter::new([9, 4, 0xd0, 0, 0x34]);
    write(&mut reply);
    encode_message(4, &reply.finish(), 4096)
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn the_error_that_interrupts_a_row_is_reported() {
    // Babelfish 4.3, for a `char(120)` of 119 bytes: the type of a row, then the end of the transaction and
    // the error.
    let mut payload = b"\x81\x01\0\0\0\0\0\x09\0\xaf\x78\0\x09\x04\xd0\0\x34\x01c\0\xd1".to_vec();
    payload.extend(b"\xe3\x0b\0\x0a\0\x08\x26\x05\0\0\0\0\0\0");
    payload.extend(b"\xaa\xec\0\x69\x0a\0\x02\x01\x10\x66\0");
    let text = "Number of bytes required for the field of char(n) does not match with max bytes \
                specified of the field";
    payload.extend(utf16(text));
    payload.push(9);
    payload.extend(utf16("BABELFISH"));
    payload.extend(b"\0\x01\0\0\0\xfe\x02\0\x02\0\0\0\0\0\0\0\0\0");
    assert_eq!(payload.len(), 287);
    let mut exchange = waiting();
    assert_eq!(
        exchange.feed(&encode_message(4, &payload, 4096)),
        Err(Violation::Malformed("an error interrupts a row"))
    );
    let error = exchange.final_error().unwrap();
    assert_eq!((error.number, error.message.as_str()), (33_557_097, text));
    // Without a DONE that says that the statement failed, no error is assumed.
    let mut exchange = waiting();
    assert_eq!(
        exchange.feed(&encode_message(4, &payload[..274], 4096)),
        Err(Violation::Malformed("a message ends inside of a token"))
    );
    assert!(exchange.final_error().is_none());
}

/// As Microsoft's client does it, in any of the three DONE tokens.
#[test]
fn a_statement_that_fails_without_a_message_is_an_error() {
    for token in [0xfd, 0xfe, 0xff] {
        let bytes = reply(|reply| {
            reply.done(token, 0x02, 0xc1, 0);
            if token == 0xff {
                reply.done(0xfe, 0, 0, 0);
            }
        });
        let mut exchange = waiting();
        assert_eq!(exchange.feed(&bytes), Ok(FeedStatus::Complete), "{token:x}");
        let error = exchange.error().expect("an error");
        error.message.assert_contains("without a message");
        assert!(exchange.error_summary().is_some());
        // The next statement succeeds.
        exchange.query("select 1");
        let done = reply(|reply| reply.done(0xfd, 0x10, 0xc1, 1));
        assert_eq!(exchange.feed(&done), Ok(FeedStatus::Complete));
        assert!(exchange.error().is_none());
    }
    let severe = reply(|reply| reply.done(0xfd, 0x100, 0, 0));
    assert_eq!(
        waiting().feed(&severe),
        Err(Violation::Malformed("a severe error without a message"))
    );
    // With a message, that is the error.
    let explained = reply(|reply| {
        reply.error((8134, 1, 16), "Divide by zero");
        reply.done(0xfd, 0x102, 0, 0);
    });
    let mut exchange = waiting();
    assert_eq!(exchange.feed(&explained), Ok(FeedStatus::Complete));
    assert_eq!(exchange.error().unwrap().number, 8134);
}

fn waiting() -> Exchange {
    let mut exchange = Exchange::tds(QueryMode::Simple);
    exchange.query("select 1");
    exchange
}

#[test]
fn the_error_that_ends_a_session_is_available() {
    let killed = reply(|reply| {
        reply.error((596, 1, 21), "Cannot continue the execution");
        reply.done(0xfd, 2, 0, 0);
    });
    let done = reply(|reply| reply.done(0xfd, 0, 0, 0));
    // The error arrives while no request is open.
    let mut idle = Exchange::tds(QueryMode::Simple);
    assert_eq!(idle.feed(&killed), Ok(FeedStatus::More));
    assert_eq!(idle.final_error().unwrap().number, 596);
    // The error arrives after a successful reply, which remains valid.
    let mut busy = waiting();
    assert_eq!(
        busy.feed(&[&done[..], &killed].concat()),
        Ok(FeedStatus::Complete)
    );
    assert!(busy.error().is_none() && busy.has_surplus_bytes());
    assert_eq!(busy.final_error().unwrap().number, 596);
    busy.reset();
    assert!(busy.final_error().is_none());
    // The error is the reply to the next request.
    let mut busy = waiting();
    assert_eq!(busy.feed(&killed), Ok(FeedStatus::Complete));
    assert!(busy.final_error().unwrap().is_fatal());
}

#[test]
fn protocol_violations_are_errors() {
    let row = |reply: &mut ReplyWriter| {
        reply.row(&[Column::new("n", Type::Int(4))], &[Datum::Int(1)]);
    };
    for (bytes, wanted) in [
        (reply(row), Violation::Malformed("a row without columns")),
        (
            reply(|r| r.raw_tokens(&[0x99, 0])),
            Violation::Unexpected(0x99),
        ),
        (
            reply(|r| r.raw_tokens(&[0xfd, 0, 0])),
            Violation::Malformed("a message ends inside of a token"),
        ),
        (
            reply(|r| r.raw_tokens(&[0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0x99])),
            Violation::Malformed("a column of an unknown type"),
        ),
        (
            reply(|r| r.raw_tokens(&[0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0x2a, 8])),
            Violation::Malformed("a type with an impossible scale"),
        ),
        (
            reply(|r| r.raw_tokens(&[0xe3, 1, 0, 8])),
            Violation::Malformed("invalid ENVCHANGE"),
        ),
        (
            reply(|r| r.raw_tokens(&[0xed, 0, 0])),
            Violation::Unexpected(0xed),
        ),
        (
            b"\x01\x01\0\x08\0\0\x01\0".to_vec(),
            Violation::Unexpected(1),
        ),
        (
            b"\x04\x01\0\x07\0\0\x01\0".to_vec(),
            Violation::InvalidLength {
                message_type: 4,
                length: 7,
            },
        ),
    ] {
        assert_eq!(waiting().feed(&bytes), Err(wanted));
    }
    // A reply arrives without a request.
    let done = reply(|reply| reply.done(0xfd, 0, 0, 0));
    let mut idle = Exchange::tds(QueryMode::Simple);
    assert_eq!(idle.feed(&done), Err(Violation::Unsolicited));
    let mut busy = waiting();
    assert_eq!(
        busy.feed(&[&done[..], &done].concat()),
        Ok(FeedStatus::Complete)
    );
    assert_eq!(busy.feed(b""), Err(Violation::Unsolicited));
    // A notice may arrive without a request; an endless message may not.
    let notice = reply(|reply| reply.info(1, 0, "soon"));
    let mut idle = Exchange::tds(QueryMode::Simple);
    assert_eq!(idle.feed(&notice), Ok(FeedStatus::More));
    let mut endless = encode_message(4, &[0; 4000], 4096);
    endless[1] = 0;
    let fed = (0..20).try_for_each(|_| idle.feed(&endless).map(drop));
    assert_eq!(fed, Err(Violation::Unsolicited));
    // The server acknowledges an attention that was not sent.
    let mut busy = waiting();
    let acknowledged = reply(|reply| reply.done(0xfd, 0x20, 0, 0));
    assert_eq!(busy.feed(&acknowledged), Ok(FeedStatus::Complete));
    assert!(busy.error().is_none());
}

#[test]
fn a_long_value_is_not_read_again_from_its_start() {
    // Reading the value from its start for each piece would take too many steps for this test to end in time.
    let mut value = u64::to_le_bytes(u64::MAX - 1).to_vec();
    for _ in 0..100_000 {
        value.extend_from_slice(&[2, 0, 0, 0, b'x', 0]);
    }
    value.extend_from_slice(&[0; 4]);
    let columns = [Column::new("n", Type::NVarCharMax)];
    let bytes = reply(|reply| {
        reply.columns(&columns);
        reply.row(&columns, &[Datum::Raw(value)]);
        reply.done(0xfd, 0x10, 0xc1, 1);
    });
    let mut exchange = waiting();
    let mut status = FeedStatus::More;
    for piece in bytes.chunks(3) {
        status = exchange.feed(piece).unwrap();
    }
    assert_eq!(status, FeedStatus::Complete);
    assert_eq!(
        exchange.rows().next().unwrap().1.text(0).unwrap().len(),
        100_000
    );
}

#[test]
fn a_prepared_statement_without_a_handle_is_not_prepared() {
    let mut exchange = Exchange::tds(QueryMode::Prepared);
    let statement = StatementIds::new().add("select $1");
    exchange.request(std::iter::once((&statement, &[Value::Int(1)][..])));
    let done = reply(|reply| reply.done(0xfe, 0, 0, 0));
    assert_eq!(exchange.feed(&done), Ok(FeedStatus::Complete));
    // The statement is not prepared in advance again; its next execution prepares it.
    assert!(exchange.is_prepared(&statement));
    exchange.request(std::iter::once((&statement, &[Value::Int(1)][..])));
    let outgoing = exchange.outgoing();
    assert_eq!(outgoing[8 + 22..8 + 26], [0xff, 0xff, 13, 0]);
}
