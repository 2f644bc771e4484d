use super::*;

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
    out
}

/// A select of one row with a notice in the middle, as a server sends it.
fn select() -> Vec<u8> {
    [
        message(b'1', b""),
        message(b'2', b""),
        message(
            b'T',
            b"\0\x01abalance\0\0\0\x40\x01\0\x03\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0",
        ),
        message(b'N', b"SNOTICE\0\0"),
        message(b'D', b"\0\x02\0\0\0\x04-123\xff\xff\xff\xff"),
        message(b'C', b"SELECT 1\0"),
        message(b'Z', b"T"),
    ]
    .concat()
}

#[test]
fn a_reply_may_be_split_at_any_byte() {
    let bytes = select();
    for cut in 0..=bytes.len() {
        let mut reply = Reply::default();
        reply.expect(0);
        let first = reply.feed(&bytes[..cut]).unwrap();
        assert_eq!(first, cut == bytes.len());
        if !first {
            assert!(reply.feed(&bytes[cut..]).unwrap());
        }
        assert_eq!(reply.parses_accepted(), 1);
        assert_eq!(reply.block_state(), BlockState::Open);
        assert_eq!(reply.affected_rows(), 1);
        let (result, row) = reply.rows().next().unwrap();
        assert_eq!((result, row.int(0), row.text(1)), (0, Some(-123), None));
        assert_eq!(reply.rows().count(), 1);
        assert_eq!(reply.result_count(), 1);
        let names: Vec<_> = reply.column_names(0).collect();
        assert_eq!(names, [&b"abalance"[..]]);
        assert_eq!(reply.column_names(1).count(), 0);
    }
}

#[test]
fn bytes_after_the_reply_belong_to_the_next_one() {
    let mut reply = Reply::default();
    reply.expect(0);
    let mut bytes = select();
    bytes.extend_from_slice(&message(b'N', b"S\0\0")[..3]);
    assert!(reply.feed(&bytes).unwrap());
    assert!(reply.has_surplus_bytes());
    reply.expect(0);
    assert!(!reply.feed(&message(b'N', b"S\0\0")[3..]).unwrap());
    assert!(reply.feed(&message(b'Z', b"I")).unwrap());
    assert!(!reply.has_surplus_bytes());
}

#[test]
fn a_fatal_error_after_a_reply_belongs_to_the_next_request() {
    let fatal_error = message(b'E', b"SFATAL\0C57P01\0Mbye\0\0");
    let reply_and_error = [select(), fatal_error.clone()].concat();
    // However the bytes are split, the first reply has no error and the second request has one.
    for cut in 0..=reply_and_error.len() {
        let mut reply = Reply::default();
        reply.expect(0);
        let mut complete = reply.feed(&reply_and_error[..cut]).unwrap();
        let after_reply = if complete { cut } else { reply_and_error.len() };
        if !complete {
            complete = reply.feed(&reply_and_error[cut..]).unwrap();
        }
        assert!(complete, "{cut}");
        assert_eq!(reply.error(), None, "{cut}");
        assert_eq!(reply.affected_rows(), 1);
        reply.expect(0);
        assert!(!reply.feed(&reply_and_error[after_reply..]).unwrap());
        assert!(reply.error().unwrap().starts_with(b"SFATAL"), "{cut}");
    }
}

#[test]
fn the_first_error_counts_and_results_are_numbered() {
    let mut reply = Reply::default();
    reply.expect(0);
    let bytes = [
        message(b'D', b"\0\x01\0\0\0\x011"),
        message(b'C', b"SELECT 1\0"),
        message(b'D', b"\0\x01\0\0\0\x012"),
        message(b'E', b"C40001\0Mfirst\0\0"),
        message(b'E', b"C25P02\0Msecond\0\0"),
        message(b'Z', b"E"),
    ]
    .concat();
    assert!(reply.feed(&bytes).unwrap());
    assert_eq!(reply.error().unwrap(), b"C40001\0Mfirst\0\0");
    assert_eq!(reply.block_state(), BlockState::Failed);
    let rows: Vec<_> = reply.rows().map(|(n, row)| (n, row.int(0))).collect();
    assert_eq!(rows, [(0, Some(1)), (1, Some(2))]);
}

/// A server that answers without having executed would count as the fastest of all.
#[test]
fn a_statement_without_a_result_or_an_error_is_a_violation() {
    let ready = message(b'Z', b"I");
    let result = message(b'C', b"SELECT 1\0");
    let error = message(b'E', b"C40001\0Mx\0\0");
    let fed = |min_results, parts: &[&[u8]]| {
        let mut reply = Reply::default();
        reply.expect(min_results);
        reply.feed(&parts.concat())
    };
    let violation = Err(Violation::Malformed(
        "a statement ends with neither a result nor an error",
    ));
    assert_eq!(fed(1, &[&ready]), violation);
    assert_eq!(fed(1, &[&message(b's', b""), &ready]), violation);
    assert_eq!(fed(2, &[&result, &ready]), violation);
    assert_eq!(fed(2, &[&result, &result, &ready]), Ok(true));
    assert_eq!(fed(2, &[&result, &error, &ready]), Ok(true));
    assert_eq!(fed(1, &[&message(b'I', b""), &ready]), Ok(true));
    // Only preparing, or nothing, has no result.
    assert_eq!(fed(0, &[&message(b'1', b""), &ready]), Ok(true));
    let violation = Err(Violation::Malformed("the session is in an unknown state"));
    for body in [&b""[..], b"X", b"II"] {
        assert_eq!(fed(0, &[&message(b'Z', body)]), violation);
    }
}

#[test]
fn protocol_violations_are_errors() {
    let fails = |bytes: &[u8], is_waiting| {
        let mut reply = Reply::default();
        if is_waiting {
            reply.expect(0);
        }
        reply.feed(bytes).unwrap_err()
    };
    assert_eq!(
        fails(&message(b'Z', b"I"), false),
        Violation::Unexpected(b'Z')
    );
    assert_eq!(
        fails(&message(b'R', b"\0\0\0\0"), true),
        Violation::Unexpected(b'R')
    );
    assert_eq!(
        fails(b"D\0\0\0\x03", true),
        Violation::InvalidLength {
            message_type: b'D',
            length: 3
        }
    );
    assert_eq!(
        fails(b"D\xff\0\0\0", true),
        Violation::InvalidLength {
            message_type: b'D',
            length: 0xff00_0000
        }
    );
    assert_eq!(
        fails(&message(b'D', b""), false),
        Violation::Unexpected(b'D')
    );
    // A server announces its shutdown between requests too: such an error is no violation.
    let mut reply = Reply::default();
    assert!(!reply.feed(&message(b'E', b"C57P01\0\0")).unwrap());
}

#[test]
fn a_fatal_error_after_a_successful_reply_leaves_it_valid() {
    let mut reply = Reply::default();
    reply.expect(0);
    let bytes = [
        message(b'C', b"COMMIT\0"),
        message(b'Z', b"I"),
        message(b'E', b"C57P01\0\0"),
    ];
    assert!(reply.feed(&bytes.concat()).unwrap());
    assert_eq!(reply.error(), None);
    reply.expect(0);
    assert_eq!(reply.final_error(), Some(&b"C57P01\0\0"[..]));
    reply.reset();
    assert_eq!(reply.final_error(), None);
}

#[test]
fn a_malformed_row_ends_early() {
    let row = Row {
        body: b"\0\x02\0\0\0\x09abc",
    };
    assert_eq!(row.values().count(), 0);
    assert_eq!(Row { body: b"" }.int(0), None);
}

#[test]
fn affected_rows_are_the_number_at_the_end_of_the_tag() {
    for (tag, rows) in [
        ("SELECT 1", 1),
        ("INSERT 0 1024", 1024),
        ("UPDATE 0", 0),
        ("BEGIN", 0),
        ("CREATE TABLE AS", 0),
        ("SELECT 18446744073709551615", u64::MAX),
        ("7", 7),
        ("", 0),
    ] {
        let mut reply = Reply::default();
        reply.expect(0);
        let tag_message = message(b'C', format!("{tag}\0").as_bytes());
        let bytes = [tag_message, message(b'Z', b"I")].concat();
        assert!(reply.feed(&bytes).unwrap());
        assert_eq!(
            (reply.affected_rows(), reply.result_count()),
            (rows, 1),
            "{tag}"
        );
    }
}

#[test]
fn each_result_has_its_own_number_of_columns() {
    let description = |names: &[&str]| {
        let mut body = (names.len() as u16).to_be_bytes().to_vec();
        for name in names {
            body.extend_from_slice(name.as_bytes());
            body.extend_from_slice(&[0; 19]);
        }
        message(b'T', &body)
    };
    let done = || message(b'C', b"SELECT 0\0");
    let mut reply = Reply::default();
    reply.expect(0);
    let bytes = [
        description(&["a", "b"]),
        done(),
        done(),
        description(&["c"]),
        done(),
        message(b'I', b""),
        message(b'Z', b"I"),
    ];
    assert!(reply.feed(&bytes.concat()).unwrap());
    assert_eq!(reply.result_count(), 4);
    let widths = [0, 1, 2, 3, 4].map(|result| reply.column_count(result));
    assert_eq!(widths, [2, 0, 1, 0, 0]);
    // The next reply begins without results.
    reply.expect(0);
    assert_eq!((reply.result_count(), reply.column_count(2)), (0, 0));
}

#[test]
fn rows_beyond_the_limit_are_counted_and_dropped_at_any_split() {
    let row = message(b'D', b"\0\x01\0\0\0\x0812345678");
    let notice = message(b'N', b"SNOTICE\0\0");
    let description = message(
        b'T',
        b"\0\x01a\0\0\0\x40\x01\0\x03\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0",
    );
    let fitting = description.len() + 2 * row.len();
    let bytes = [
        description,
        [row.clone(), row.clone(), row.clone(), notice, row.clone()].concat(),
        message(b'C', b"SELECT 4\0"),
        row.repeat(2),
        message(b'C', b"SELECT 2\0"),
        message(b'Z', b"I"),
    ]
    .concat();
    for cut in 0..bytes.len() {
        let mut reply = Reply::default();
        reply.rows_kept.limit(fitting);
        // The limit applies to each reply.
        for _ in 0..2 {
            reply.expect(0);
            assert!(!reply.feed(&bytes[..cut]).unwrap());
            assert!(reply.feed(&bytes[cut..]).unwrap());
            assert!(reply.rows_kept.has_dropped());
            let results: Vec<_> = reply.rows().map(|(result, _)| result).collect();
            assert_eq!((results, reply.result_count()), (vec![0, 0], 2));
            assert_eq!(reply.affected_rows(), 2);
        }
    }
}

#[test]
fn endless_rows_and_notices_and_an_endless_row_need_little_memory() {
    let row = message(b'D', &[&b"\0\x01\0\0\x03\xe8"[..], &[b'x'; 1000]].concat());
    let notices = message(b'N', b"SNOTICE\0\0").repeat(100);
    for (begin, piece) in [
        (vec![], row),
        (vec![], notices),
        (b"D\x3f\0\0\0".to_vec(), vec![0; 1000]),
    ] {
        let mut reply = Reply::default();
        reply.rows_kept.limit(10_000);
        reply.expect(0);
        assert!(!reply.feed(&begin).unwrap());
        for _ in 0..1000 {
            assert!(!reply.feed(&piece).unwrap());
        }
        let capacity = reply.bytes.capacity();
        assert!(capacity < 50_000, "{capacity}");
    }
    // What is neither is limited too, even if all rows are kept.
    for (max_bytes, other) in [
        (10_000, message(b'C', b"SELECT 1\0")),
        (usize::MAX, message(b'S', b"a\0b\0")),
    ] {
        let mut reply = Reply::default();
        reply.rows_kept.limit(max_bytes);
        reply.expect(0);
        let others = other.repeat(100_000);
        let fed = (0..100).try_for_each(|_| reply.feed(&others).map(drop));
        assert!(matches!(fed, Err(Violation::TooLong { .. })), "{fed:?}");
    }
}

#[test]
fn a_row_with_wrong_lengths_is_a_violation() {
    for body in [
        &b"\0"[..],
        b"\0\x01",
        b"\0\x01\xff\xff\xff\xfe",
        b"\0\x01\x80\0\0\0",
        b"\0\x01\0\0\0\x05abc",
        b"\0\x01\0\0\0\x01ab",
        b"\0\x02\0\0\0\x01a",
    ] {
        let mut reply = Reply::default();
        reply.expect(0);
        let fed = reply.feed(&message(b'D', body));
        assert!(matches!(fed, Err(Violation::Malformed(_))), "{body:?}");
    }
}
