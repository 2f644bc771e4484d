//! Replies that are unsolicited, late, or split over many packets.

use crate::support::*;
use prony_wire::{FeedStatus, QueryMode, StatementIds, Violation};

#[test]
fn a_requested_file_is_sent_only_from_data_of_the_request() {
    let file_request = b"\x0c\0\0\x01\xfb/etc/passwd";
    let mut exchange = exchange(QueryMode::Simple, without_eof());
    exchange.query("select 1");
    assert_eq!(exchange.feed(file_request), Err(Violation::LocalInfile));
    exchange.reset();
    assert!(exchange.load("load data ...", b"1\n"));
    assert_eq!(exchange.feed(file_request).unwrap(), FeedStatus::Send);
    assert_eq!(packets(exchange.outgoing()), [(2, &b"1\n"[..]), (3, b"")]);
    let mut ok = OK.to_vec();
    ok[3] = 4;
    assert_eq!(exchange.feed(&ok).unwrap(), FeedStatus::Complete);
    // A server that does not request the file gets nothing.
    exchange.load("do 0", b"1\n");
    assert_eq!(exchange.feed(OK).unwrap(), FeedStatus::Complete);
}

#[test]
fn the_error_that_ends_a_session_is_available() {
    let killed = refusal(1927, "70100");
    // The error arrives while no request is open.
    let mut idle = exchange(QueryMode::Simple, without_eof());
    assert_eq!(idle.feed(&killed).unwrap(), FeedStatus::More);
    assert_eq!(idle.final_error().unwrap().number, 1927);
    // The error arrives after a successful reply, which remains valid.
    let mut busy = exchange(QueryMode::Simple, without_eof());
    busy.query("commit");
    assert_eq!(
        busy.feed(&[OK, &killed].concat()).unwrap(),
        FeedStatus::Complete
    );
    assert!(busy.error().is_none() && busy.has_surplus_bytes());
    busy.query("next");
    assert_eq!(busy.final_error().unwrap().number, 1927);
    busy.reset();
    assert!(busy.final_error().is_none());
}

#[test]
fn packets_out_of_order_or_unsolicited_are_errors() {
    let mut exchange = exchange(QueryMode::Simple, without_eof());
    exchange.query("select 1");
    let mut bytes = OK.to_vec();
    bytes[3] = 2;
    assert_eq!(exchange.feed(&bytes), Err(Violation::OutOfOrder));
    exchange.reset();
    assert_eq!(exchange.feed(&[OK].concat()), Err(Violation::OutOfOrder));
}

#[test]
fn a_row_of_several_packets_is_reassembled_at_any_split() {
    // One column; the value of the row makes a payload of 16 MiB + 4 bytes, which takes two packets.
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
    let split_offsets = [
        head.len() + 2,
        head.len() + 9,
        second - 1,
        second,
        second + 2,
        second + 4,
    ];
    for at in
        split_offsets
            .into_iter()
            .chain([second + 7, second + 9, second + 12, bytes.len() - 3])
    {
        let mut exchange = exchange(QueryMode::Simple, without_eof());
        exchange.query("select long");
        let fed = feed(&mut exchange, &[&bytes[..at], &bytes[at..]]);
        assert_eq!(fed, FeedStatus::Complete, "{at}");
        let rows: Vec<_> = exchange.rows().map(|(_, row)| row).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].text(0).map(str::len), Some(long.len()), "{at}");
        assert_eq!(rows[1].int(0), Some(1));
        // A row that is too long is dropped as it arrives, and so are those after it.
        exchange.limit_rows(1000);
        exchange.query("select long");
        let fed = feed(&mut exchange, &[&bytes[..at], &bytes[at..]]);
        assert_eq!(fed, FeedStatus::Complete, "{at}");
        assert!(exchange.has_dropped_rows());
        assert_eq!((exchange.rows().count(), exchange.affected_rows()), (0, 2));
    }
}

#[test]
fn rows_beyond_the_limit_are_counted_and_dropped_at_any_split() {
    let framed = |number: u8, payload: &[u8]| {
        let mut packet = vec![payload.len() as u8, 0, 0, number];
        packet.extend_from_slice(payload);
        packet
    };
    let described = packets(recorded!("text_mariadb"))[1].1;
    let text: &[u8] = b"\x08abcdefgh";
    // A binary row: a zero, the bits of NULL, and the number.
    let binary: &[u8] = b"\0\0\x2a\0\0\0";
    let statement = StatementIds::new().add("select a");
    for (mode, row, value, kept) in [
        (QueryMode::Simple, text, "abcdefgh", 2),
        (QueryMode::Prepared, binary, "42", 3),
    ] {
        let mut bytes = [framed(1, &[1]), framed(2, described)].concat();
        let preparing = match mode {
            QueryMode::Prepared => prepared(7, 0),
            _ => Vec::new(),
        };
        let fitting = preparing.len() + bytes.len() + kept * framed(3, row).len();
        (3..8).for_each(|number| bytes.extend(framed(number, row)));
        bytes.extend(framed(8, b"\xfe\0\0\x02\0\0\0"));
        for cut in 1..bytes.len() {
            let mut exchange = exchange(mode, without_eof());
            exchange.limit_rows(fitting);
            exchange.request(execution(&statement, &[]));
            if !preparing.is_empty() {
                assert_eq!(exchange.feed(&preparing), Ok(FeedStatus::Send));
            }
            feed(&mut exchange, &[&bytes[..cut], &bytes[cut..]]);
            assert!(exchange.has_dropped_rows());
            assert_eq!(exchange.affected_rows(), 5);
            let expected = vec![(0, vec![value.to_owned()]); kept];
            assert_eq!(rows(&exchange), expected);
        }
    }
    // The last bits declare that the value is NULL, and that the row begins with something else.
    let wrong_rows = [
        (QueryMode::Simple, &b"\x09abcdefgh"[..]),
        (QueryMode::Simple, b"\x07abcdefgh"),
        (QueryMode::Simple, b"\xfc\xff\xffa"),
        (QueryMode::Prepared, b"\0\0\x2a\0\0"),
        (QueryMode::Prepared, b"\0\0\x2a\0\0\0\0"),
        (QueryMode::Prepared, b"\0"),
        (QueryMode::Prepared, b"\0\x04\x2a\0\0\0"),
        (QueryMode::Prepared, b"\x01\0\x2a\0\0\0"),
    ];
    for (mode, wrong) in wrong_rows {
        let mut exchange = exchange(mode, without_eof());
        exchange.request(execution(&statement, &[]));
        if mode == QueryMode::Prepared {
            assert_eq!(exchange.feed(&prepared(7, 0)), Ok(FeedStatus::Send));
        }
        let head = [framed(1, &[1]), framed(2, described)].concat();
        exchange.feed(&head).unwrap();
        let fed = exchange.feed(&framed(3, wrong));
        assert!(
            matches!(fed, Err(Violation::Malformed(_))),
            "{wrong:?}: {fed:?}"
        );
    }
}
