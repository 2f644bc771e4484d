//! The recordings, a login and an exchange over them, and the bytes of short replies.

pub use crate::exchanges::{changed, changes, read_results, rows};
use prony_wire::login::{LoginProgress, TlsUse};
use prony_wire::mysql::{Connector, Login};
use prony_wire::{
    ConnectError, Exchange, FeedStatus, PendingLogin, QueryMode, Secret, Session, SessionFlags,
    Statement, Value,
};
use std::sync::Arc;

macro_rules! recorded {
    ($name:literal) => {
        include_bytes!(concat!("../recorded/mysql_", $name, ".bin"))
    };
}

pub const NATIVE: &[u8] = recorded!("native");

pub const SHA2_FAST: &[u8] = recorded!("sha2_fast");

pub const SHA2_RSA: &[u8] = recorded!("sha2_rsa");

pub const ED25519: &[u8] = recorded!("ed25519");

pub fn login(user: &str) -> Login {
    let mut login = Login::new(user, "");
    login.password = Some(Secret::new("sesame"));
    login.options.get_server_public_key = true;
    login
}

/// Feeds `pieces`; returns what was sent, and the outcome.
pub fn replay(
    login: Login,
    pieces: &[&[u8]],
) -> (Vec<u8>, Result<Option<Box<Session>>, ConnectError>) {
    let connector = Connector::new(Arc::new(login), TlsUse::No, None);
    let mut pending = PendingLogin::Mysql(Box::new(connector));
    let mut out = Vec::new();
    assert!(matches!(pending.start(&mut out), Ok(LoginProgress::More)));
    assert!(out.is_empty(), "the server sends first");
    for (index, piece) in pieces.iter().enumerate() {
        match pending.receive(piece, &mut out) {
            Ok(LoginProgress::More | LoginProgress::Computing) => {}
            Ok(LoginProgress::Done(session, _)) => {
                assert_eq!(index, pieces.len() - 1, "done before the end");
                return (out, Ok(Some(session)));
            }
            Err(error) => return (out, Err(error)),
        }
    }
    (out, Ok(None))
}

/// The payloads of packets, each with its number.
pub fn packets(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut packets = Vec::new();
    while let Some((&[a, b, c, number], rest)) = bytes.split_first_chunk::<4>() {
        let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        packets.push((number, &rest[..length]));
        bytes = &rest[length..];
    }
    packets
}

pub fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The outcome of a login to a server that omits EOF packets.
pub fn without_eof() -> SessionFlags {
    replay(login("native"), &[NATIVE]).1.unwrap().unwrap().flags
}

pub fn exchange(mode: QueryMode, flags: SessionFlags) -> Exchange {
    let mut exchange = Exchange::mysql(mode);
    exchange.set_session_flags(flags);
    exchange
}

/// Feeds `pieces`, the last of which completes the exchange.
pub fn feed(exchange: &mut Exchange, pieces: &[&[u8]]) -> FeedStatus {
    let (last, before) = pieces.split_last().unwrap();
    for piece in before {
        assert_eq!(exchange.feed(piece).unwrap(), FeedStatus::More);
    }
    exchange.feed(last).unwrap()
}

pub const OK: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";

pub fn refusal(number: u16, code: &str) -> Vec<u8> {
    let mut body = vec![0xff];
    body.extend_from_slice(&number.to_le_bytes());
    body.extend_from_slice(format!("#{code}why").as_bytes());
    let mut packet = vec![body.len() as u8, 0, 0, 1];
    packet.extend_from_slice(&body);
    packet
}

/// The reply to a COM_STMT_PREPARE: a statement with this id and number of placeholders.
pub fn prepared(id: u8, parameters: u8) -> Vec<u8> {
    let mut bytes = vec![12, 0, 0, 1, 0, id, 0, 0, 0, 0, 0, parameters, 0, 0, 0, 0];
    for number in 0..parameters {
        bytes.extend_from_slice(&[1, 0, 0, 2 + number, 3]);
    }
    bytes
}

pub fn execution<'a>(
    statement: &'a Statement,
    values: &'a [Value<'a>],
) -> impl Iterator<Item = (&'a Statement, &'a [Value<'a>])> {
    std::iter::once((statement, values))
}
