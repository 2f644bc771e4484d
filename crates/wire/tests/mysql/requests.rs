//! The commands that are sent in each protocol mode, and their order.

use crate::support::*;
use prony_wire::{
    Exchange, FeedStatus, ParameterType, QueryMode, Statement, StatementIds, Value, Violation,
};

#[test]
fn parameter_types_are_sent_only_when_they_change() {
    let statement = StatementIds::new().add("insert into t values ($1, $2, $1)");
    let mut exchange = exchange(QueryMode::Prepared, without_eof());
    exchange.request(execution(&statement, &[Value::Int(-2), Value::Null]));
    assert_eq!(exchange.outgoing()[5..], *b"insert into t values (?, ?, ?)");
    assert_eq!(exchange.feed(&prepared(9, 3)).unwrap(), FeedStatus::Send);
    let minus_two = (-2_i64).to_le_bytes();
    let head: &[u8] = b"\x17\x09\0\0\0\0\x01\0\0\0";
    let types: &[u8] = &[1, 8, 0, 6, 0, 8, 0];
    let sent = |exchange: &Exchange| packets(exchange.outgoing())[0].1.to_vec();
    assert_eq!(
        sent(&exchange),
        [head, &[2], types, &minus_two, &minus_two].concat()
    );
    assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Complete);
    // The types are the same, so they are not sent again.
    exchange.request(execution(&statement, &[Value::Int(-2), Value::Null]));
    assert_eq!(
        sent(&exchange),
        [head, &[2, 0], &minus_two[..], &minus_two].concat()
    );
    assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Complete);
    // NULL fits any type; text needs a different one.
    exchange.request(execution(&statement, &[Value::Null, Value::Text("ab")]));
    let types: &[u8] = &[1, 8, 0, 253, 0, 8, 0];
    assert_eq!(sent(&exchange), [head, &[5], types, b"\x02ab"].concat());
    assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Complete);
    exchange.request(execution(&statement, &[Value::Float(0.5), Value::Null]));
    let half = 0.5_f64.to_le_bytes();
    let types: &[u8] = &[1, 5, 0, 253, 0, 5, 0];
    assert_eq!(sent(&exchange), [head, &[2], types, &half, &half].concat());
}

#[test]
fn types_of_values_that_were_never_sent_are_sent_later() {
    let mut set = StatementIds::new();
    let (first, second) = (set.add("do $1"), set.add("set @a = $1"));
    let mut exchange = exchange(QueryMode::Prepared, without_eof());
    for (number, statement) in [(7, &first), (8, &second)] {
        exchange.request(execution(statement, &[Value::Int(1)]));
        assert_eq!(
            exchange.feed(&prepared(number, 1)).unwrap(),
            FeedStatus::Send
        );
        assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Complete);
    }
    let (one, half) = ([Value::Int(1)], [Value::Float(0.5)]);
    exchange.request([(&first, &one[..]), (&second, &half[..])].into_iter());
    let fed = exchange.feed(&refusal(1205, "HY000")).unwrap();
    assert_eq!(fed, FeedStatus::Complete, "the second one is not sent");
    exchange.request(execution(&second, &half));
    let half = 0.5_f64.to_le_bytes();
    let expected = [&b"\x17\x08\0\0\0\0\x01\0\0\0\0\x01\x05\0"[..], &half].concat();
    assert_eq!(packets(exchange.outgoing())[0].1, expected);
}

#[test]
fn decimals_are_sent_as_text_with_the_decimal_type() {
    let decimal = |unscaled, scale| Value::Decimal { unscaled, scale };
    let statement = StatementIds::new().add("do $1, $2");
    let mut prepared_mode = exchange(QueryMode::Prepared, without_eof());
    let values = [decimal(-1_230, 2), decimal(1, 252)];
    prepared_mode.request(execution(&statement, &values));
    assert_eq!(
        prepared_mode.feed(&prepared(9, 2)).unwrap(),
        FeedStatus::Send
    );
    let zeros = "0".repeat(251);
    // The longest one needs a length of three bytes: 254.
    let expected = [
        &b"\x17\x09\0\0\0\0\x01\0\0\0\0\x01\xf6\0\xf6\0\x06-12.30\xfc\xfe\0"[..],
        b"0.",
        zeros.as_bytes(),
        b"1",
    ];
    assert_eq!(packets(prepared_mode.outgoing())[0].1, expected.concat());
    let mut simple_mode = exchange(QueryMode::Simple, without_eof());
    for (values, expected) in [
        (
            [decimal(5, 2), decimal(-1_230, 2)],
            &b"\x03do 0.05, (-12.30)"[..],
        ),
        ([decimal(7, 0), decimal(-7, 0)], b"\x03do 7., (-7.)"),
    ] {
        simple_mode.request(execution(&statement, &values));
        assert_eq!(packets(simple_mode.outgoing())[0].1, expected);
        assert_eq!(simple_mode.feed(OK).unwrap(), FeedStatus::Complete);
    }
}

#[test]
fn a_null_has_the_type_of_its_parameter() {
    let money = ParameterType::Decimal {
        precision: 6,
        scale: 2,
    };
    let types = [
        Some(ParameterType::SmallInt),
        Some(money),
        Some(ParameterType::VarChar(4)),
        None,
    ];
    let statement = StatementIds::new()
        .add("do $1, $2, $3, $4")
        .with_types(types);
    let mut exchange = exchange(QueryMode::Prepared, without_eof());
    exchange.request(execution(&statement, &[Value::Null; 4]));
    assert_eq!(exchange.feed(&prepared(9, 4)).unwrap(), FeedStatus::Send);
    let head: &[u8] = b"\x17\x09\0\0\0\0\x01\0\0\0";
    let sent = |exchange: &Exchange| packets(exchange.outgoing())[0].1.to_vec();
    let types: &[u8] = &[1, 8, 0, 246, 0, 253, 0, 6, 0];
    assert_eq!(sent(&exchange), [head, &[0b1111], types].concat());
    assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Complete);
    // The values have the declared types, so the types are not sent again.
    let amount = Value::Decimal {
        unscaled: 5,
        scale: 1,
    };
    let values = [Value::Int(3), amount, Value::Text("ab"), Value::Null];
    exchange.request(execution(&statement, &values));
    let three = 3_i64.to_le_bytes();
    assert_eq!(
        sent(&exchange),
        [head, &[0b1000, 0], &three[..], b"\x030.5\x02ab"].concat()
    );
}

#[test]
fn statements_that_cannot_be_prepared_are_sent_as_text() {
    let mut set = StatementIds::new();
    let (begin, add) = (set.add("begin;"), set.add("update t set n = n + $1"));
    let mut exchange = exchange(QueryMode::Prepared, without_eof());
    let value = [Value::Int(-1)];
    let batch: [(&Statement, &[Value]); 3] = [(&begin, &[]), (&add, &value), (&begin, &[])];
    exchange.request(batch.into_iter());
    let sent = |exchange: &Exchange| packets(exchange.outgoing())[0].1.to_vec();
    assert_eq!(sent(&exchange), b"\x16begin");
    assert_eq!(
        exchange.feed(&refusal(1295, "HY000")).unwrap(),
        FeedStatus::Send
    );
    assert_eq!(sent(&exchange), b"\x03begin");
    assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Send);
    assert_eq!(sent(&exchange), b"\x16update t set n = n + ?");
    assert_eq!(exchange.feed(&prepared(3, 1)).unwrap(), FeedStatus::Send);
    assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Send);
    assert_eq!(sent(&exchange), b"\x03begin");
    assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Complete);
    assert_eq!((exchange.result_count(), exchange.error()), (3, None));
    assert!(exchange.is_prepared(&begin) && exchange.is_prepared(&add));
    exchange.request(execution(&begin, &[]));
    assert_eq!(sent(&exchange), b"\x03begin");
    exchange.reset();
    assert!(!exchange.is_prepared(&begin) && !exchange.is_prepared(&add));
}

#[test]
fn a_batch_prepares_each_statement_once() {
    let mut set = StatementIds::new();
    let (one, two) = (set.add("one $1"), set.add("two"));
    let value = [Value::Int(1)];
    let batch: [(&Statement, &[Value]); 3] = [(&one, &value), (&two, &[]), (&one, &value)];
    for mode in [QueryMode::Prepared, QueryMode::Extended] {
        let mut exchange = exchange(mode, without_eof());
        let sent = |exchange: &Exchange| {
            let payload = packets(exchange.outgoing()).last().unwrap().1.to_vec();
            payload[..payload.len().min(5)].to_vec()
        };
        exchange.request(batch.into_iter());
        let prepares_again = mode == QueryMode::Extended;
        assert_eq!(sent(&exchange), b"\x16one ");
        assert_eq!(exchange.feed(&prepared(4, 1)).unwrap(), FeedStatus::Send);
        assert_eq!(sent(&exchange), [0x17, 4, 0, 0, 0]);
        assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Send);
        assert_eq!(sent(&exchange), b"\x16two");
        assert_eq!(exchange.feed(&prepared(5, 0)).unwrap(), FeedStatus::Send);
        assert_eq!(sent(&exchange), [0x17, 5, 0, 0, 0]);
        assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Send);
        if prepares_again {
            assert_eq!(sent(&exchange), b"\x16one ");
            assert_eq!(exchange.feed(&prepared(6, 1)).unwrap(), FeedStatus::Send);
        }
        assert_eq!(
            sent(&exchange),
            [0x17, if prepares_again { 6 } else { 4 }, 0, 0, 0]
        );
        assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Complete);
        assert_eq!(exchange.result_count(), 3);
    }
}

#[test]
fn an_error_ends_the_request() {
    let mut set = StatementIds::new();
    let (bad, good) = (set.add("bad"), set.add("good"));
    let mut exchange = exchange(QueryMode::Prepared, without_eof());
    let batch: [(&Statement, &[Value]); 2] = [(&bad, &[]), (&good, &[])];
    exchange.request(batch.into_iter());
    assert_eq!(
        exchange.feed(&refusal(1064, "42000")).unwrap(),
        FeedStatus::Complete
    );
    assert_eq!(exchange.error().unwrap().number, 1064);
    // The codec remembers that preparing the statement failed, and prepares it again only at its next
    // execution.
    assert!(exchange.is_prepared(&bad) && !exchange.is_prepared(&good));
    exchange.request(execution(&bad, &[]));
    assert_eq!(packets(exchange.outgoing())[0].1, b"\x16bad");
    // A statement that the server has forgotten is prepared again.
    assert_eq!(exchange.feed(&prepared(1, 0)).unwrap(), FeedStatus::Send);
    assert_eq!(
        exchange.feed(&refusal(1243, "HY000")).unwrap(),
        FeedStatus::Complete
    );
    exchange.request(execution(&bad, &[]));
    assert_eq!(packets(exchange.outgoing())[0].1, b"\x16bad");
    // The server counts a different number of placeholders.
    let fed = exchange.feed(&prepared(1, 2));
    assert_eq!(
        fed,
        Err(Violation::Placeholders {
            parsed: 0,
            reported: 2
        })
    );
}

#[test]
fn simple_mode_sends_one_text_with_literals() {
    let mut set = StatementIds::new();
    let (one, two) = (set.add("select $1, $2, $3 ;\n"), set.add("do $1 -- $2"));
    let mut exchange = exchange(QueryMode::Simple, without_eof());
    let first = [Value::Int(-7), Value::Text(r"o'\n"), Value::Null];
    let second = [Value::Float(0.5)];
    let batch: [(&Statement, &[Value]); 2] = [(&one, &first), (&two, &second)];
    exchange.request(batch.into_iter());
    assert_eq!(
        packets(exchange.outgoing())[0].1,
        b"\x03select (-7), 'o''\\\\n', NULL\n;do (5e-1) -- $2"
    );
    // The status flags report NO_BACKSLASH_ESCAPES.
    assert_eq!(
        exchange.feed(b"\x07\0\0\x01\0\0\0\x02\x02\0\0").unwrap(),
        FeedStatus::Complete
    );
    exchange.request([(&one, &first[..])].into_iter());
    assert!(contains(exchange.outgoing(), br"'o''\n'"));
}

#[test]
fn adjacent_joined_statements_are_sent_as_one_text() {
    for mode in [QueryMode::Prepared, QueryMode::Extended] {
        let mut set = StatementIds::new();
        let (begin, add) = (
            set.add("begin").with_joining(),
            set.add("do $1").with_joining(),
        );
        let other = set.add("select 1");
        let mut exchange = exchange(mode, without_eof());
        let (seven, long) = ([Value::Int(7)], "x".repeat(9_000_000));
        exchange.push(true, &begin, &[]);
        exchange.push(false, &add, &seven);
        exchange.push(false, &other, &[]);
        exchange.push(false, &add, &[Value::Text("o'k")]);
        exchange.push(false, &add, &[Value::Text(&long)]);
        // A statement that is longer than one packet is sent separately.
        exchange.push(false, &add, &[Value::Text(&long)]);
        exchange.sync(false);
        assert_eq!(
            packets(exchange.outgoing()),
            [(0, &b"\x03begin\n;do 7"[..])]
        );
        // The text has two results, the second one without the flag "more results".
        let two_results = [
            &b"\x07\0\0\x01\0\0\0\x09\0\0\0"[..],
            b"\x07\0\0\x02\0\0\0\x01\0\0\0",
        ];
        assert_eq!(
            exchange.feed(&two_results.concat()).unwrap(),
            FeedStatus::Send
        );
        assert_eq!(packets(exchange.outgoing())[0].1, b"\x16select 1");
        assert_eq!(exchange.feed(&prepared(3, 0)).unwrap(), FeedStatus::Send);
        assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Send);
        let text = packets(exchange.outgoing())[0].1;
        assert!(
            text.starts_with(b"\x03do 'o''k'\n;do 'xxx"),
            "{}",
            text.len()
        );
        assert_eq!(
            exchange.feed(&two_results.concat()).unwrap(),
            FeedStatus::Send
        );
        assert!(
            packets(exchange.outgoing())[0]
                .1
                .starts_with(b"\x03do 'xxx")
        );
        // An error ends the request, and may leave the transaction open.
        assert_eq!(
            exchange.feed(&refusal(1213, "40001")).unwrap(),
            FeedStatus::Complete
        );
        assert_eq!(exchange.result_count(), 5);
    }
}

#[test]
fn statements_with_a_text_of_their_own_have_a_round_trip_each() {
    for mode in [QueryMode::Simple, QueryMode::Prepared, QueryMode::Extended] {
        let mut set = StatementIds::new();
        let [update, other] = ["do 1", "do 2"].map(|sql| set.add(sql).with_joining());
        // Also one that shares a text otherwise.
        let [insert, commit] = ["do $1", "commit"].map(|sql| set.add(sql).with_joining());
        let [insert, commit] = [insert, commit].map(Statement::with_own_text);
        let seven = [Value::Int(7)];
        let mut exchange = exchange(mode, without_eof());
        let batch: [(&Statement, &[Value<'_>]); 5] = [
            (&update, &[]),
            (&other, &[]),
            (&insert, &seven),
            (&commit, &[]),
            (&update, &[]),
        ];
        exchange.request(batch.into_iter());
        let texts = ["do 1\n;do 2", "do 7", "commit"];
        for text in texts {
            let sent = packets(exchange.outgoing())[0].1;
            assert_eq!(sent.strip_prefix(b"\x03"), Some(text.as_bytes()));
            assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Send, "{text}");
        }
        assert_eq!(packets(exchange.outgoing())[0].1, b"\x03do 1");
        let refused = exchange.feed(&refusal(1213, "40001"));
        assert_eq!(refused.unwrap(), FeedStatus::Complete);
        assert!(exchange.error().is_some());
    }
}

#[test]
fn extended_mode_prepares_each_time_and_closes_the_previous_statement() {
    let statement = StatementIds::new().add("do $1");
    let mut exchange = exchange(QueryMode::Extended, without_eof());
    let value = [Value::Int(1)];
    for number in [5, 6] {
        exchange.request(execution(&statement, &value));
        let sent = packets(exchange.outgoing());
        assert_eq!(sent.last().unwrap().1, b"\x16do ?");
        // The previous prepared statement is closed in the same request.
        if number == 6 {
            assert_eq!((sent.len(), sent[0].1), (2, &b"\x19\x05\0\0\0"[..]));
        }
        assert_eq!(
            exchange.feed(&prepared(number, 1)).unwrap(),
            FeedStatus::Send
        );
        assert_eq!(
            packets(exchange.outgoing())[0].1[..5],
            [0x17, number, 0, 0, 0]
        );
        assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Complete);
    }
}

#[test]
fn the_next_request_closes_statements_and_their_ids_are_reused() {
    let mut set = StatementIds::new();
    let mut exchange = exchange(QueryMode::Prepared, without_eof());
    let sent = |exchange: &Exchange| -> Vec<Vec<u8>> {
        let sent = packets(exchange.outgoing());
        sent.iter().map(|(_, payload)| payload.to_vec()).collect()
    };
    let old = set.add("old $1");
    exchange.request(execution(&old, &[Value::Int(1)]));
    assert_eq!(exchange.feed(&prepared(5, 1)).unwrap(), FeedStatus::Send);
    assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Complete);
    exchange.close(&old);
    // Closing a statement twice has no further effect.
    exchange.close(&old);
    set.remove(&old);
    let new = set.add("new $1");
    assert!(new.id() == old.id() && !exchange.is_prepared(&new));
    exchange.prepare(&new);
    assert_eq!(sent(&exchange), [&b"\x19\x05\0\0\0"[..], b"\x16new ?"]);
    // The server did not prepare the refused statement, so there is nothing to close.
    let refused = refusal(1146, "42S02");
    assert_eq!(exchange.feed(&refused).unwrap(), FeedStatus::Complete);
    assert!(exchange.is_prepared(&new));
    exchange.close(&new);
    assert!(!exchange.is_prepared(&new));
    exchange.request(execution(&new, &[Value::Int(1)]));
    assert_eq!(sent(&exchange), [b"\x16new ?"]);
    assert_eq!(exchange.feed(&prepared(6, 1)).unwrap(), FeedStatus::Send);
    // The types are sent, because the server has not received them for this statement.
    assert_eq!(sent(&exchange)[0][11..14], [1, 8, 0]);
    assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Complete);
    // A query closes the statement too; a new connection has nothing to close.
    exchange.close(&new);
    exchange.query("x");
    assert_eq!(sent(&exchange), [&b"\x19\x06\0\0\0"[..], b"\x03x"]);
    assert_eq!(exchange.text(), Some("x"));
    assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Complete);
    // Error messages name the statement once its reply has arrived.
    assert_eq!(exchange.text(), Some("x"));
    exchange.request(execution(&new, &[Value::Int(1)]));
    assert_eq!(exchange.feed(&prepared(7, 1)).unwrap(), FeedStatus::Send);
    assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Complete);
    exchange.close(&new);
    exchange.reset();
    exchange.query("x");
    assert_eq!(sent(&exchange), [b"\x03x"]);
}
