//! MySQL's protocol on conversations recorded from MariaDB 10.11 and MySQL 8.0, cut in two at every
//! byte, and on servers that misbehave.

mod common;

use common::cuts;
use prony_wire::log_in::{Progress, TlsUse};
use prony_wire::mysql::{Connector, Login};
use prony_wire::{
    Agreed, Block, ConnectError, Exchange, Fed, LogIn, LoggedIn, QueryMode, Secret, Statement,
    Statements, Value, Violation,
};
use proptest::prelude::*;
use std::sync::Arc;

macro_rules! recorded {
    ($name:literal) => {
        include_bytes!(concat!("recorded/mysql_", $name, ".bin"))
    };
}

const NATIVE: &[u8] = recorded!("native");
const REFUSED: &[u8] = recorded!("refused");
const SHA2_FAST: &[u8] = recorded!("sha2_fast");
const SHA2_RSA: &[u8] = recorded!("sha2_rsa");
const ED25519: &[u8] = recorded!("ed25519");

fn login(user: &str) -> Login {
    Login {
        password: Some(Secret::new("sesame")),
        get_server_public_key: true,
        ..Login::new(user, "")
    }
}

/// Feeds `pieces`; gives what was sent, and how it ended.
fn replay(login: Login, pieces: &[&[u8]]) -> (Vec<u8>, Result<Option<LoggedIn>, ConnectError>) {
    let connector = Connector::new(Arc::new(login), TlsUse::No, None);
    let mut log_in = LogIn::Mysql(Box::new(connector));
    let mut out = Vec::new();
    assert!(matches!(log_in.start(&mut out), Ok(Progress::More)));
    assert!(out.is_empty(), "the server speaks first");
    for (index, piece) in pieces.iter().enumerate() {
        match log_in.receive(piece, &mut out) {
            Ok(Progress::More) => {}
            Ok(Progress::Done(session)) => {
                assert_eq!(index, pieces.len() - 1, "done before the end");
                return (out, Ok(Some(session)));
            }
            Err(error) => return (out, Err(error)),
        }
    }
    (out, Ok(None))
}

/// The payloads of packets, each with its number.
fn packets(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut packets = Vec::new();
    while let Some((&[a, b, c, number], rest)) = bytes.split_first_chunk::<4>() {
        let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        packets.push((number, &rest[..length]));
        bytes = &rest[length..];
    }
    packets
}

fn hex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn recorded_log_ins_at_every_cut() {
    // The answers were computed beside the recordings, by Python or by MariaDB's own client.
    let native = "896ca77962e1887bb28a6d1553582ff46049dd65";
    let sha2 = "d476a8a259d9650373219241468560f11fb5ac16f5477141fbdf7c1e5b6bb4f7";
    let ed25519 = "7380bbafea0ee43579b9aff3540b99083216dc418ea81d6c4b4f81cd4f1923a8\
                   1e555a7e76b6102cb3af560571a4f1df376b783fb85fd2f0676a79bd18118000";
    for (user, recording, answer, version, sent_packets) in [
        ("native", NATIVE, native, "10.11.19-MariaDB", 1),
        ("rec", SHA2_FAST, sha2, "8.0.31", 1),
        ("edward", ED25519, ed25519, "10.11.19-MariaDB", 2),
    ] {
        for pieces in cuts(recording) {
            let (sent, ended) = replay(login(user), &pieces);
            let session = ended.unwrap().expect("a session");
            assert!(session.version.unwrap().starts_with(version));
            assert!(session.connection_id > 0 && session.leftover.is_empty());
            let sent = packets(&sent);
            assert_eq!(sent.len(), sent_packets);
            assert_eq!(sent[0].0, 1);
            let last = sent.last().unwrap();
            assert!(contains(last.1, &hex(answer)), "{user}");
            assert!(contains(sent[0].1, format!("{user}\0").as_bytes()));
        }
    }
}

#[test]
fn a_recorded_log_in_by_rsa_at_every_cut() {
    for pieces in cuts(SHA2_RSA) {
        let (sent, ended) = replay(login("rec"), &pieces);
        assert!(ended.unwrap().is_some());
        let sent = packets(&sent);
        // Who logs in; the question for the key; the password under it, different each time.
        assert_eq!(sent.len(), 3);
        assert_eq!((sent[1].0, sent[1].1), (3, &[2][..]));
        assert_eq!((sent[2].0, sent[2].1.len()), (5, 256));
    }
    let mut careful = login("rec");
    careful.get_server_public_key = false;
    let (sent, ended) = replay(careful, &[SHA2_RSA]);
    let error = ended.unwrap_err();
    assert!(
        matches!(error, ConnectError::SecureTransportNeeded(_)),
        "{error}"
    );
    assert!(sent.is_empty() || packets(&sent).len() == 1);
    assert!(!contains(&sent, b"sesame"));
}

#[test]
fn a_recorded_refusal_at_every_cut() {
    for pieces in cuts(REFUSED) {
        let error = replay(login("native"), &pieces).1.unwrap_err();
        let error = error.server().expect("the server's");
        assert_eq!((error.number, error.code()), (1045, "28000"));
        assert!(error.message.starts_with("Access denied"));
    }
    // Before the log-in an error bears no SQLSTATE.
    let full = b"\x17\0\0\0\xff\x10\x04Too many connections";
    let error = replay(login("native"), &[full]).1.unwrap_err();
    assert_eq!(
        error.to_string(),
        "ERROR 1040 (HY000): Too many connections"
    );
}

#[test]
fn tls_is_asked_for_before_anything_is_said() {
    let greeting = &NATIVE[..4 + usize::from(NATIVE[0])];
    let demand = |tls_use, bytes: &[u8]| {
        let mut connector = Connector::new(Arc::new(login("native")), tls_use, None);
        let mut out = Vec::new();
        let ended = connector.receive(bytes, &mut out);
        (out, ended.map(drop).unwrap_err())
    };
    // This server has no TLS.
    let (out, error) = demand(TlsUse::Must, greeting);
    assert!(matches!(error, ConnectError::TlsUnsupported) && out.is_empty());
    // This one has, and the name of the user is not sent in the clear.
    let greeting = &SHA2_FAST[..4 + usize::from(SHA2_FAST[0])];
    let (out, error) = demand(TlsUse::IfOffered, greeting);
    assert!(matches!(error, ConnectError::TlsNotConfigured));
    assert_eq!(packets(&out)[0].1.len(), 32);
    let (out, error) = demand(TlsUse::IfOffered, SHA2_FAST);
    assert!(matches!(error, ConnectError::BytesBeforeTls) && out.is_empty());
}

/// What a log-in settles with a server that spares the EOF packets.
fn without_eof() -> Agreed {
    replay(login("native"), &[NATIVE])
        .1
        .unwrap()
        .unwrap()
        .agreed
}

fn exchange(mode: QueryMode, agreed: Agreed) -> Exchange {
    let mut exchange = Exchange::mysql(mode);
    exchange.agree(agreed);
    exchange
}

/// Feeds `pieces`, the last of which ends it.
fn feed(exchange: &mut Exchange, pieces: &[&[u8]]) -> Fed {
    let (last, before) = pieces.split_last().unwrap();
    for piece in before {
        assert_eq!(exchange.feed(piece).unwrap(), Fed::More);
    }
    exchange.feed(last).unwrap()
}

fn rows(exchange: &Exchange) -> Vec<(usize, Vec<String>)> {
    let text = |value: Option<&[u8]>| match value {
        None => "NULL".to_owned(),
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    };
    let rows = exchange.rows();
    rows.map(|(result, row)| (result, row.values().map(text).collect()))
        .collect()
}

#[test]
fn recorded_texts_at_every_cut() {
    for (recording, agreed) in [
        (&recorded!("text_mariadb")[..], without_eof()),
        (recorded!("text_mysql"), without_eof()),
        (recorded!("text_mariadb_eof"), Agreed::default()),
        (recorded!("text_mysql_eof"), Agreed::default()),
    ] {
        for pieces in cuts(recording) {
            let mut exchange = exchange(QueryMode::Simple, agreed);
            exchange.query("three statements");
            assert_eq!(feed(&mut exchange, &pieces), Fed::Complete);
            assert_eq!(exchange.results(), 3);
            let long = "y".repeat(300);
            let wanted = [["1", "NULL", "x"], ["-2", "3", &long]];
            let wanted = wanted.map(|row| (0, row.map(str::to_owned).to_vec()));
            assert_eq!(rows(&exchange), wanted);
            let first = exchange.rows().next().unwrap().1;
            assert_eq!(
                (first.int(0), first.int(1), first.text(2)),
                (Some(1), None, Some("x"))
            );
            let names: Vec<_> = exchange.columns(2).collect();
            assert_eq!(names, [b"d"]);
            assert_eq!((exchange.affected(), exchange.block()), (0, Block::Idle));
            assert!(!exchange.has_surplus() && exchange.error().is_none());
        }
    }
}

#[test]
fn recorded_prepared_statements_at_every_cut() {
    let statement = Statements::new().add("select ... where 1 = $1");
    for (prepare, execute, agreed) in [
        (
            &recorded!("prepare_mariadb")[..],
            &recorded!("execute_mariadb")[..],
            without_eof(),
        ),
        (
            recorded!("prepare_mysql"),
            recorded!("execute_mysql"),
            without_eof(),
        ),
        (
            recorded!("prepare_mariadb_eof"),
            recorded!("execute_mariadb_eof"),
            Agreed::default(),
        ),
        (
            recorded!("prepare_mysql_eof"),
            recorded!("execute_mysql_eof"),
            Agreed::default(),
        ),
    ] {
        for (first, second) in cuts(prepare).iter().zip(cuts(execute)) {
            let mut exchange = exchange(QueryMode::Prepared, agreed);
            let value = [Value::Int(1)];
            exchange.request(std::iter::once((&statement, &value[..])));
            assert_eq!(
                packets(exchange.outgoing())[0].1,
                b"\x16select ... where 1 = ?"
            );
            assert!(!exchange.is_prepared(&statement));
            assert_eq!(feed(&mut exchange, first), Fed::Send);
            assert!(exchange.is_prepared(&statement));
            let number = &prepare[5..9];
            let sent = packets(exchange.outgoing())[0].1.to_vec();
            assert_eq!((sent[0], &sent[1..5]), (0x17, number));
            assert_eq!(feed(&mut exchange, &second), Fed::Complete);
            let row = [
                "-5",
                "5",
                "1.25",
                "0.5",
                "2026-11-21 01:02:03.5",
                "-26:00:01",
                "NULL",
                "text",
            ];
            let wanted = [(0, row.map(str::to_owned).to_vec())];
            assert_eq!(rows(&exchange), wanted);
            let row = exchange.rows().next().unwrap().1;
            assert_eq!(
                (row.int(0), row.int(1), row.int(6)),
                (Some(-5), Some(5), None)
            );
            assert_eq!((row.text(2), row.text(7)), (Some("1.25"), Some("text")));
        }
    }
}

#[test]
fn recorded_procedures_blocks_and_errors_at_every_cut() {
    let call = recorded!("call_mariadb");
    for pieces in cuts(call) {
        let mut exchange = exchange(QueryMode::Simple, without_eof());
        exchange.query("call p()");
        assert_eq!(feed(&mut exchange, &pieces), Fed::Complete);
        // Two results with rows, and the end of the procedure.
        assert_eq!(exchange.results(), 3);
        let counts: Vec<_> = rows(&exchange)
            .iter()
            .map(|(n, row)| (*n, row.len()))
            .collect();
        assert_eq!(counts, [(0, 1), (1, 2)]);
    }
    for pieces in cuts(recorded!("missing_mariadb")) {
        let mut exchange = exchange(QueryMode::Simple, without_eof());
        let statement = Statements::new().add("begin");
        exchange.request(std::iter::once((&statement, &[][..])));
        assert_eq!(
            exchange.feed(recorded!("begin_mariadb")).unwrap(),
            Fed::Complete
        );
        assert_eq!(exchange.block(), Block::Open);
        exchange.request(std::iter::once((&statement, &[][..])));
        assert_eq!(feed(&mut exchange, &pieces), Fed::Complete);
        let error = exchange.error().unwrap();
        assert_eq!((error.number, error.code()), (1146, "42S02"));
        // The transaction is as open as before.
        assert_eq!(exchange.block(), Block::Open);
    }
}

const OK: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";

fn refusal(number: u16, code: &str) -> Vec<u8> {
    let mut body = vec![0xff];
    body.extend_from_slice(&number.to_le_bytes());
    body.extend_from_slice(format!("#{code}why").as_bytes());
    let mut packet = vec![body.len() as u8, 0, 0, 1];
    packet.extend_from_slice(&body);
    packet
}

/// The answer to a COM_STMT_PREPARE of a statement with this number and so many placeholders.
fn prepared(id: u8, parameters: u8) -> Vec<u8> {
    let mut bytes = vec![12, 0, 0, 1, 0, id, 0, 0, 0, 0, 0, parameters, 0, 0, 0, 0];
    for number in 0..parameters {
        bytes.extend_from_slice(&[1, 0, 0, 2 + number, 3]);
    }
    bytes
}

fn one<'a>(
    statement: &'a Statement,
    values: &'a [Value<'a>],
) -> impl Iterator<Item = (&'a Statement, &'a [Value<'a>])> {
    std::iter::once((statement, values))
}

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

#[test]
fn files_are_given_only_to_a_request_that_brings_them() {
    let asks = b"\x0c\0\0\x01\xfb/etc/passwd";
    let mut exchange = exchange(QueryMode::Simple, without_eof());
    exchange.query("select 1");
    assert_eq!(exchange.feed(asks), Err(Violation::LocalInfile));
    exchange.reset();
    assert!(exchange.load("load data ...", b"1\n"));
    assert_eq!(exchange.feed(asks).unwrap(), Fed::Send);
    assert_eq!(packets(exchange.outgoing()), [(2, &b"1\n"[..]), (3, b"")]);
    let mut done = OK.to_vec();
    done[3] = 4;
    assert_eq!(exchange.feed(&done).unwrap(), Fed::Complete);
    // A server that does not ask gets nothing.
    exchange.load("do 0", b"1\n");
    assert_eq!(exchange.feed(OK).unwrap(), Fed::Complete);
}

#[test]
fn the_end_of_a_session_is_understood() {
    let killed = refusal(1927, "70100");
    // It comes while nothing is asked.
    let mut idle = exchange(QueryMode::Simple, without_eof());
    assert_eq!(idle.feed(&killed).unwrap(), Fed::More);
    assert_eq!(idle.last_words().unwrap().number, 1927);
    // It comes behind a good reply, which stands.
    let mut busy = exchange(QueryMode::Simple, without_eof());
    busy.query("commit");
    assert_eq!(busy.feed(&[OK, &killed].concat()).unwrap(), Fed::Complete);
    assert!(busy.error().is_none() && busy.has_surplus());
    busy.query("next");
    assert_eq!(busy.last_words().unwrap().number, 1927);
    busy.reset();
    assert!(busy.last_words().is_none());
}

#[test]
fn packets_out_of_order_and_unasked_are_noticed() {
    let mut exchange = exchange(QueryMode::Simple, without_eof());
    exchange.query("select 1");
    let mut bytes = OK.to_vec();
    bytes[3] = 2;
    assert_eq!(exchange.feed(&bytes), Err(Violation::OutOfOrder));
    exchange.reset();
    assert_eq!(exchange.feed(&[OK].concat()), Err(Violation::OutOfOrder));
}

#[test]
fn a_row_of_several_packets_is_put_together_however_it_arrives() {
    // One column; a row whose one value makes a payload of 16 MiB - 1 and 5 bytes more.
    const PACKET: usize = 0xff_ffff;
    let long = vec![b'v'; PACKET + 5 - 9];
    let mut payload = vec![0xfe];
    payload.extend_from_slice(&(long.len() as u64).to_le_bytes());
    payload.extend_from_slice(&long);
    assert_eq!(payload.len(), PACKET + 5);
    let text = recorded!("text_mariadb");
    let described = packets(text)[1].1;
    let framed = |number: u8, payload: &[u8]| {
        let mut packet = (payload.len() as u32).to_le_bytes()[..3].to_vec();
        packet.push(number);
        packet.extend_from_slice(payload);
        packet
    };
    let head = [framed(1, &[1]), framed(2, described)].concat();
    let row = [framed(3, &payload[..PACKET]), framed(4, &payload[PACKET..])].concat();
    let tail = [framed(5, b"\x011"), framed(6, b"\xfe\0\0\x02\0\0\0")].concat();
    let bytes = [head.clone(), row, tail].concat();
    let second = head.len() + 4 + PACKET;
    let places = [
        head.len() + 2,
        head.len() + 9,
        second - 1,
        second,
        second + 2,
        second + 4,
    ];
    for at in places
        .into_iter()
        .chain([second + 7, second + 9, second + 12, bytes.len() - 3])
    {
        let mut exchange = exchange(QueryMode::Simple, without_eof());
        exchange.query("select long");
        let fed = feed(&mut exchange, &[&bytes[..at], &bytes[at..]]);
        assert_eq!(fed, Fed::Complete, "{at}");
        let rows: Vec<_> = exchange.rows().map(|(_, row)| row).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].text(0).map(str::len), Some(long.len()), "{at}");
        assert_eq!(rows[1].int(0), Some(1));
    }
}

/// Asks a reply for all that there is to ask.
fn look(exchange: &Exchange) {
    let _ = (exchange.error(), exchange.last_words(), exchange.affected());
    for result in 0..exchange.results().min(50) {
        exchange.columns(result).take(50).for_each(drop);
    }
    for (_, row) in exchange.rows().take(50) {
        row.values().take(50).for_each(drop);
        for column in [0, 1, 2, 3, 7, 30] {
            let _ = (row.int(column), row.text(column));
        }
    }
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
    fn any_bytes_leave_a_log_in_standing(
        which in 0..5_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        tail in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let recording = [NATIVE, SHA2_FAST, SHA2_RSA, ED25519, b"\x04\0\0\0"][which];
        let mut bytes = recording.to_vec();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.extend_from_slice(&tail);
        let mut connector = Connector::new(Arc::new(login("any")), TlsUse::No, None);
        for piece in bytes.chunks(7) {
            let mut out = Vec::new();
            match connector.receive(piece, &mut out) {
                Ok(prony_wire::mysql::Progress::More) => {}
                _ => break,
            }
        }
    }

    #[test]
    fn any_bytes_leave_an_exchange_standing(
        prepared_mode in any::<bool>(),
        eof in any::<bool>(),
        which in 0..6_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        tail in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mode = if prepared_mode { QueryMode::Prepared } else { QueryMode::Simple };
        let agreed = if eof { Agreed::default() } else { without_eof() };
        let mut exchange = exchange(mode, agreed);
        let statement = Statements::new().add("select $1");
        exchange.request(one(&statement, &[Value::Int(1)]));
        if prepared_mode {
            let answer = if eof { recorded!("prepare_mysql_eof") as &[u8] } else { recorded!("prepare_mysql") };
            let fed = exchange.feed(answer);
            prop_assert_eq!(fed, Ok(Fed::Send));
        }
        let mut bytes = REPLIES[which].to_vec();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.extend_from_slice(&tail);
        for piece in bytes.chunks(11) {
            if !matches!(exchange.feed(piece), Ok(Fed::More)) {
                break;
            }
            look(&exchange);
        }
        look(&exchange);
        exchange.query("next");
        let _ = exchange.feed(&bytes);
        look(&exchange);
    }
}
