//! What is sent in each mode, and in which order.

use crate::support::*;
use prony_wire::{Exchange, Fed, QueryMode, Statement, Statements, Value, Violation};

#[test]
fn types_are_told_when_they_change() {
    let statement = Statements::new().add("insert into t values ($1, $2, $1)");
    let mut exchange = exchange(QueryMode::Prepared, without_eof());
    exchange.request(one(&statement, &[Value::Int(-2), Value::Null]));
    assert_eq!(exchange.outgoing()[5..], *b"insert into t values (?, ?, ?)");
    assert_eq!(exchange.feed(&prepared(9, 3)).unwrap(), Fed::Send);
    let minus_two = (-2_i64).to_le_bytes();
    let head: &[u8] = b"\x17\x09\0\0\0\0\x01\0\0\0";
    let types: &[u8] = &[1, 8, 0, 6, 0, 8, 0];
    let sent = |exchange: &Exchange| packets(exchange.outgoing())[0].1.to_vec();
    assert_eq!(
        sent(&exchange),
        [head, &[2], types, &minus_two, &minus_two].concat()
    );
    assert_eq!(exchange.feed(OK).unwrap(), Fed::Complete);
    // The same types: they are not told again.
    exchange.request(one(&statement, &[Value::Int(-2), Value::Null]));
    assert_eq!(
        sent(&exchange),
        [head, &[2, 0], &minus_two[..], &minus_two].concat()
    );
    assert_eq!(exchange.feed(OK).unwrap(), Fed::Complete);
    // NULL is of any type, a text is not.
    exchange.request(one(&statement, &[Value::Null, Value::Text("ab")]));
    let types: &[u8] = &[1, 8, 0, 253, 0, 8, 0];
    assert_eq!(sent(&exchange), [head, &[5], types, b"\x02ab"].concat());
    assert_eq!(exchange.feed(OK).unwrap(), Fed::Complete);
    exchange.request(one(&statement, &[Value::Float(0.5), Value::Null]));
    let half = 0.5_f64.to_le_bytes();
    let types: &[u8] = &[1, 5, 0, 253, 0, 5, 0];
    assert_eq!(sent(&exchange), [head, &[2], types, &half, &half].concat());
}

#[test]
fn what_cannot_be_prepared_goes_as_text_from_then_on() {
    let mut set = Statements::new();
    let (begin, add) = (set.add("begin;"), set.add("update t set n = n + $1"));
    let mut exchange = exchange(QueryMode::Prepared, without_eof());
    let value = [Value::Int(-1)];
    let batch: [(&Statement, &[Value]); 3] = [(&begin, &[]), (&add, &value), (&begin, &[])];
    exchange.request(batch.into_iter());
    let sent = |exchange: &Exchange| packets(exchange.outgoing())[0].1.to_vec();
    assert_eq!(sent(&exchange), b"\x16begin");
    assert_eq!(exchange.feed(&refusal(1295, "HY000")).unwrap(), Fed::Send);
    assert_eq!(sent(&exchange), b"\x03begin");
    assert_eq!(exchange.feed(OK).unwrap(), Fed::Send);
    assert_eq!(sent(&exchange), b"\x16update t set n = n + ?");
    assert_eq!(exchange.feed(&prepared(3, 1)).unwrap(), Fed::Send);
    assert_eq!(exchange.feed(OK).unwrap(), Fed::Send);
    assert_eq!(sent(&exchange), b"\x03begin");
    assert_eq!(exchange.feed(OK).unwrap(), Fed::Complete);
    assert_eq!((exchange.results(), exchange.error()), (3, None));
    assert!(exchange.is_prepared(&begin) && exchange.is_prepared(&add));
    exchange.request(one(&begin, &[]));
    assert_eq!(sent(&exchange), b"\x03begin");
    exchange.reset();
    assert!(!exchange.is_prepared(&begin) && !exchange.is_prepared(&add));
}

#[test]
fn a_batch_prepares_each_statement_once() {
    let mut set = Statements::new();
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
        let again = mode == QueryMode::Extended;
        assert_eq!(sent(&exchange), b"\x16one ");
        assert_eq!(exchange.feed(&prepared(4, 1)).unwrap(), Fed::Send);
        assert_eq!(sent(&exchange), [0x17, 4, 0, 0, 0]);
        assert_eq!(exchange.feed(OK).unwrap(), Fed::Send);
        assert_eq!(sent(&exchange), b"\x16two");
        assert_eq!(exchange.feed(&prepared(5, 0)).unwrap(), Fed::Send);
        assert_eq!(sent(&exchange), [0x17, 5, 0, 0, 0]);
        assert_eq!(exchange.feed(OK).unwrap(), Fed::Send);
        if again {
            assert_eq!(sent(&exchange), b"\x16one ");
            assert_eq!(exchange.feed(&prepared(6, 1)).unwrap(), Fed::Send);
        }
        assert_eq!(sent(&exchange), [0x17, if again { 6 } else { 4 }, 0, 0, 0]);
        assert_eq!(exchange.feed(OK).unwrap(), Fed::Complete);
        assert_eq!(exchange.results(), 3);
    }
}

#[test]
fn nothing_runs_behind_an_error() {
    let mut set = Statements::new();
    let (bad, good) = (set.add("bad"), set.add("good"));
    let mut exchange = exchange(QueryMode::Prepared, without_eof());
    let batch: [(&Statement, &[Value]); 2] = [(&bad, &[]), (&good, &[])];
    exchange.request(batch.into_iter());
    assert_eq!(
        exchange.feed(&refusal(1064, "42000")).unwrap(),
        Fed::Complete
    );
    assert_eq!(exchange.error().unwrap().number, 1064);
    // It is tried again when it is executed again; that its preparing failed is known.
    assert!(exchange.is_prepared(&bad) && !exchange.is_prepared(&good));
    exchange.request(one(&bad, &[]));
    assert_eq!(packets(exchange.outgoing())[0].1, b"\x16bad");
    // A statement that the server has forgotten is prepared anew.
    assert_eq!(exchange.feed(&prepared(1, 0)).unwrap(), Fed::Send);
    assert_eq!(
        exchange.feed(&refusal(1243, "HY000")).unwrap(),
        Fed::Complete
    );
    exchange.request(one(&bad, &[]));
    assert_eq!(packets(exchange.outgoing())[0].1, b"\x16bad");
    // The server counts other placeholders.
    let fed = exchange.feed(&prepared(1, 2));
    assert_eq!(
        fed,
        Err(Violation::Placeholders {
            found: 0,
            counted: 2
        })
    );
}

#[test]
fn simple_mode_writes_literals_and_one_text() {
    let mut set = Statements::new();
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
    // The session says that a backslash is an ordinary character.
    assert_eq!(
        exchange.feed(b"\x07\0\0\x01\0\0\0\x02\x02\0\0").unwrap(),
        Fed::Complete
    );
    exchange.request([(&one, &first[..])].into_iter());
    assert!(contains(exchange.outgoing(), br"'o''\n'"));
}

#[test]
fn joined_statements_share_a_text_with_their_neighbours_in_every_mode() {
    for mode in [QueryMode::Prepared, QueryMode::Extended] {
        let mut set = Statements::new();
        let (begin, add) = (set.add("begin").joined(), set.add("do $1").joined());
        let other = set.add("select 1");
        let mut exchange = exchange(mode, without_eof());
        let (seven, long) = ([Value::Int(7)], "x".repeat(9_000_000));
        exchange.push(true, &begin, &[]);
        exchange.push(false, &add, &seven);
        exchange.push(false, &other, &[]);
        exchange.push(false, &add, &[Value::Text("o'k")]);
        exchange.push(false, &add, &[Value::Text(&long)]);
        // No longer one packet: it goes apart.
        exchange.push(false, &add, &[Value::Text(&long)]);
        exchange.sync(false);
        assert_eq!(
            packets(exchange.outgoing()),
            [(0, &b"\x03begin\n;do 7"[..])]
        );
        // Two results of one text; the second says that nothing follows.
        let both = [
            &b"\x07\0\0\x01\0\0\0\x09\0\0\0"[..],
            b"\x07\0\0\x02\0\0\0\x01\0\0\0",
        ];
        assert_eq!(exchange.feed(&both.concat()).unwrap(), Fed::Send);
        assert_eq!(packets(exchange.outgoing())[0].1, b"\x16select 1");
        assert_eq!(exchange.feed(&prepared(3, 0)).unwrap(), Fed::Send);
        assert_eq!(exchange.feed(OK).unwrap(), Fed::Send);
        let text = packets(exchange.outgoing())[0].1;
        assert!(
            text.starts_with(b"\x03do 'o''k'\n;do 'xxx"),
            "{}",
            text.len()
        );
        assert_eq!(exchange.feed(&both.concat()).unwrap(), Fed::Send);
        assert!(
            packets(exchange.outgoing())[0]
                .1
                .starts_with(b"\x03do 'xxx")
        );
        // What fails ends the request, and may have left the transaction open.
        assert_eq!(
            exchange.feed(&refusal(1213, "40001")).unwrap(),
            Fed::Complete
        );
        assert_eq!(exchange.results(), 5);
    }
}

#[test]
fn extended_mode_prepares_anew_and_has_the_server_forget() {
    let statement = Statements::new().add("do $1");
    let mut exchange = exchange(QueryMode::Extended, without_eof());
    let value = [Value::Int(1)];
    for number in [5, 6] {
        exchange.request(one(&statement, &value));
        let sent = packets(exchange.outgoing());
        assert_eq!(sent.last().unwrap().1, b"\x16do ?");
        // The one before is closed on the way.
        if number == 6 {
            assert_eq!((sent.len(), sent[0].1), (2, &b"\x19\x05\0\0\0"[..]));
        }
        assert_eq!(exchange.feed(&prepared(number, 1)).unwrap(), Fed::Send);
        assert_eq!(
            packets(exchange.outgoing())[0].1[..5],
            [0x17, number, 0, 0, 0]
        );
        assert_eq!(exchange.feed(OK).unwrap(), Fed::Complete);
    }
}

#[test]
fn what_is_closed_is_told_with_the_next_request_and_its_number_is_free() {
    let mut set = Statements::new();
    let mut exchange = exchange(QueryMode::Prepared, without_eof());
    let sent = |exchange: &Exchange| -> Vec<Vec<u8>> {
        let sent = packets(exchange.outgoing());
        sent.iter().map(|(_, payload)| payload.to_vec()).collect()
    };
    let old = set.add("old $1");
    exchange.request(one(&old, &[Value::Int(1)]));
    assert_eq!(exchange.feed(&prepared(5, 1)).unwrap(), Fed::Send);
    assert_eq!(exchange.feed(OK).unwrap(), Fed::Complete);
    exchange.close(&old);
    // Twice is once.
    exchange.close(&old);
    set.remove(&old);
    let new = set.add("new $1");
    assert!(new.id() == old.id() && !exchange.is_prepared(&new));
    exchange.prepare(&new);
    assert_eq!(sent(&exchange), [&b"\x19\x05\0\0\0"[..], b"\x16new ?"]);
    // A refused one is nothing that the server has to forget.
    let refused = refusal(1146, "42S02");
    assert_eq!(exchange.feed(&refused).unwrap(), Fed::Complete);
    assert!(exchange.is_prepared(&new));
    exchange.close(&new);
    assert!(!exchange.is_prepared(&new));
    exchange.request(one(&new, &[Value::Int(1)]));
    assert_eq!(sent(&exchange), [b"\x16new ?"]);
    assert_eq!(exchange.feed(&prepared(6, 1)).unwrap(), Fed::Send);
    // Its types are told: the server has not heard them for this one.
    assert_eq!(sent(&exchange)[0][11..14], [1, 8, 0]);
    assert_eq!(exchange.feed(OK).unwrap(), Fed::Complete);
    // Text is as good a bearer; a new connection has nothing to forget.
    exchange.close(&new);
    exchange.query("x");
    assert_eq!(sent(&exchange), [&b"\x19\x06\0\0\0"[..], b"\x03x"]);
    assert_eq!(exchange.text(), Some("x"));
    assert_eq!(exchange.feed(OK).unwrap(), Fed::Complete);
    // Messages name it once its reply is there.
    assert_eq!(exchange.text(), Some("x"));
    exchange.request(one(&new, &[Value::Int(1)]));
    assert_eq!(exchange.feed(&prepared(7, 1)).unwrap(), Fed::Send);
    assert_eq!(exchange.feed(OK).unwrap(), Fed::Complete);
    exchange.close(&new);
    exchange.reset();
    exchange.query("x");
    assert_eq!(sent(&exchange), [b"\x03x"]);
}
