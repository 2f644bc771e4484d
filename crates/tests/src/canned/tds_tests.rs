//! Tests of the sessions of SQL Server.

use super::*;

/// The headers of a request: one, with the transaction's descriptor.
const HEADERS: &[u8] = b"\x16\0\0\0\x12\0\0\0\x02\0\0\0\0\0\0\0\0\0\x01\0\0\0";

fn message(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = (HEADER_BYTES + payload.len()) as u16;
    let mut out = vec![kind, 1];
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&[0, 0, 1, 0]);
    out.extend_from_slice(payload);
    out
}

fn utf16(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_utf16(&mut out, text);
    out
}

/// The tokens of the reply, whose packet header is checked.
fn reply(session: &mut TdsSession, request: &[u8]) -> Vec<u8> {
    let mut out = super::super::reply(session, request);
    assert_eq!((out[0], out[1]), (packet::REPLY, 1));
    let length = usize::from(u16::from_be_bytes([out[2], out[3]]));
    assert_eq!(length, out.len());
    out.split_off(HEADER_BYTES)
}

fn batch(session: &mut TdsSession, sql: &str) -> Vec<u8> {
    let payload = [HEADERS, &utf16(sql)].concat();
    reply(session, &message(packet::BATCH, &payload))
}

/// A parameter of the type `nvarchar(4000)`.
fn text_parameter(text: &str) -> Vec<u8> {
    let text = utf16(text);
    let length = (text.len() as u16).to_le_bytes();
    [&[0, 0, 0xe7, 0x40, 0x1f][..], &COLLATION, &length, &text].concat()
}

fn call(session: &mut TdsSession, procedure: u8, parameters: &[&[u8]]) -> Vec<u8> {
    let start = [0xff, 0xff, procedure, 0, 0, 0];
    let payload = [HEADERS, &start, &parameters.concat()].concat();
    reply(session, &message(packet::RPC, &payload))
}

const ROW: &[u8] = b"\xd1\x04\x001000";

#[test]
fn a_batch_is_answered_by_its_kind() {
    let mut session = TdsSession::new(Arc::default());
    let select = batch(&mut session, "SELECT c FROM t");
    let row = select.windows(ROW.len()).position(|bytes| bytes == ROW);
    assert!(row.is_some(), "{select:?}");
    assert!(select.ends_with(&[DONE, 0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]));
    let begin = batch(&mut session, "BEGIN TRANSACTION");
    assert!(begin.starts_with(b"\xe3\x0b\0\x08\x08\x01\0\0\0\0\0\0\0\0"));
    let commit = batch(&mut session, "COMMIT");
    assert!(
        commit.starts_with(b"\xe3\x0b\0\x09\0\x08\x01"),
        "{commit:?}"
    );
    let update = batch(&mut session, "UPDATE t SET a = 1");
    assert_eq!(update, [DONE, 0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_prepared_statement_is_executed_by_its_handle() {
    let mut session = TdsSession::new(Arc::default());
    let null_handle: &[u8] = &[0, 1, 0x26, 4, 0];
    let id: &[u8] = &[0, 0, 0x26, 4, 4, 7, 0, 0, 0];
    let (declaration, text) = (text_parameter("@P1 int"), text_parameter("SELECT c"));
    let prepared = call(&mut session, 13, &[null_handle, &declaration, &text, id]);
    let handle = b"\x79\0\0\0\0\xac\0\0\0\x01\0\0\0\0\0\0\x26\x04\x04\x01\0\0\0\xfe\0\0";
    let found = prepared.windows(handle.len()).any(|bytes| bytes == handle);
    assert!(found, "{prepared:?}");
    let executed = call(&mut session, 12, &[&[0, 0, 0x26, 4, 4, 1, 0, 0, 0], id]);
    assert!(executed.windows(ROW.len()).any(|bytes| bytes == ROW));
    assert!(
        !executed.contains(&0xac),
        "only a preparation returns a handle"
    );
    let mut out = Vec::new();
    let payload = [
        HEADERS,
        b"\xff\xff\x0c\0\0\0",
        b"\0\0\x26\x04\x04\x09\0\0\0",
    ]
    .concat();
    let end = session.receive(&message(packet::RPC, &payload), &mut out);
    assert!(matches!(end, Err(SessionEnd::Unsupported(_))), "{end:?}");
}

#[test]
fn every_call_of_a_message_is_answered() {
    let mut session = TdsSession::new(Arc::default());
    let text = text_parameter("UPDATE t SET a = 1");
    let first = [HEADERS, b"\xff\xff\x0a\0\0\0", &text[..], &[0xff]].concat();
    let payload = [&first, &b"\x03\0"[..], &utf16("pay"), &[0, 0]].concat();
    let answer = reply(&mut session, &message(packet::RPC, &payload));
    let ends: Vec<u8> = answer
        .windows(13)
        .filter(|token| token[0] == DONE_PROC && token[3..] == [0; 10])
        .map(|token| token[1])
        .collect();
    assert_eq!(
        ends,
        [1, 0],
        "the first says that another follows: {answer:?}"
    );
}

#[test]
fn the_catalog_has_the_table_unless_the_database_is_empty() {
    let query = "select o.name, c.name, null from sys.objects o where o.name like 'sbtest%'";
    let mut session = TdsSession::new(Arc::default());
    assert!(
        batch(&mut session, query)
            .windows(7)
            .any(|bytes| bytes == b"sbtest1")
    );
    let other = query.replace("sbtest", "other");
    assert!(!batch(&mut session, &other).contains(&0xd1));
    let mut login = vec![0; 94];
    login[68..72].copy_from_slice(&[94, 0, 5, 0]);
    login.extend_from_slice(&utf16(EMPTY_DATABASE));
    reply(&mut session, &message(packet::LOGIN7, &login));
    assert!(!batch(&mut session, query).contains(&0xd1));
    let types = "select c.name, t.name, c.max_length from sys.columns c";
    assert!(
        batch(&mut session, types)
            .windows(3)
            .any(|bytes| bytes == b"pad")
    );
}

#[test]
fn the_rows_of_a_bulk_load_in_several_packets_are_counted() {
    let mut session = TdsSession::new(Arc::default());
    let mut payload = vec![0x81, 2, 0];
    for kind in [&[0x38][..], &[0xa7, 8, 0, 0, 0, 0, 0, 0]] {
        payload.extend_from_slice(&[0; 6]);
        payload.extend_from_slice(kind);
        payload.push(0);
    }
    for value in [&b"\x02\0ab"[..], b"\xff\xff"] {
        payload.extend_from_slice(&[0xd1, 1, 0, 0, 0]);
        payload.extend_from_slice(value);
    }
    payload.extend_from_slice(&[DONE; 13]);
    let (first, second) = payload.split_at(20);
    let mut request = message(packet::BULK, first);
    request[1] = 0;
    request.extend_from_slice(&message(packet::BULK, second));
    let answer = reply(&mut session, &request);
    assert_eq!(answer, [DONE, 0x10, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
}
