//! Procedure calls (RPC) and the other bodies of requests.
//!
//! In: a procedure, parameters. Out: bytes, appended. Must never: put a declared length at the mercy of a
//! value's.
//! Source: MS-TDS 2.2.5.3 (ALL_HEADERS), 2.2.6.6 (RPC), 2.2.6.9 (transaction manager).

use super::encode::put_parameter;
use super::packet::HEADER;
use super::sql_type::{SqlType, UNITS_MAX};
use super::utf16::put_utf16;
use crate::value::Value;

/// A procedure of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Procedure<'a> {
    /// By its name, such as `dbo.neword`.
    Name(&'a str),
    /// `sp_executesql`.
    ExecuteSql,
    /// `sp_prepare`.
    Prepare,
    /// `sp_execute`.
    Execute,
    /// `sp_prepexec`.
    PrepareAndExecute,
    /// `sp_unprepare`.
    Unprepare,
}

impl Procedure<'_> {
    fn id(self) -> Option<u16> {
        match self {
            Procedure::Name(_) => None,
            Procedure::ExecuteSql => Some(10),
            Procedure::Prepare => Some(11),
            Procedure::Execute => Some(12),
            Procedure::PrepareAndExecute => Some(13),
            Procedure::Unprepare => Some(15),
        }
    }
}

/// The server returns the parameter's value.
const BY_REFERENCE: u8 = 1;
/// Between two calls of a message.
const NEXT_CALL: u8 = 0xff;
/// Length of the headers of a request in bytes.
pub(super) const HEADERS: usize = 22;
/// Offset of the transaction's descriptor in the headers of a request.
pub(super) const DESCRIPTOR_AT: usize = 10;

/// Appends the headers of a request: their length, and one with the transaction's descriptor (filled in
/// when the request is sent) and the number of requests in flight.
pub(super) fn put_headers(out: &mut Vec<u8>) {
    out.extend_from_slice(&(HEADERS as u32).to_le_bytes());
    out.extend_from_slice(&18_u32.to_le_bytes());
    out.extend_from_slice(&2_u16.to_le_bytes());
    out.extend_from_slice(&0_u64.to_le_bytes());
    out.extend_from_slice(&1_u32.to_le_bytes());
}

/// Appends a call without its parameters; `first`: of the message.
pub(super) fn put_call(procedure: Procedure<'_>, first: bool, out: &mut Vec<u8>) {
    if !first {
        out.push(NEXT_CALL);
    }
    match (procedure, procedure.id()) {
        (_, Some(id)) => {
            out.extend_from_slice(&[0xff; 2]);
            out.extend_from_slice(&id.to_le_bytes());
        }
        (Procedure::Name(name), _) => {
            let at = out.len();
            out.extend_from_slice(&[0; 2]);
            put_utf16(name, out);
            let units = ((out.len() - at - 2) / 2) as u16;
            out[at..at + 2].copy_from_slice(&units.to_le_bytes());
        }
        _ => {}
    }
    // No options.
    out.extend_from_slice(&[0; 2]);
}

/// Appends a parameter by position.
pub(super) fn put_value(kind: SqlType, value: Value<'_>, collation: [u8; 5], out: &mut Vec<u8>) {
    out.push(0);
    put_parameter(kind, value, 0, collation, out);
}

/// Appends a number that the server needs or returns, such as the handle of a prepared statement.
pub(super) fn put_handle(handle: Option<i32>, out: &mut Vec<u8>) {
    match handle {
        Some(handle) => {
            out.extend_from_slice(&[0, 0, 0x26, 4, 4]);
            out.extend_from_slice(&handle.to_le_bytes());
        }
        None => out.extend_from_slice(&[0, BY_REFERENCE, 0x26, 4, 0]),
    }
}

/// Appends a text parameter whose UTF-16 is appended by `put`; `nvarchar(4000)`, or `max` if it is longer.
pub(super) fn put_wide_text(collation: [u8; 5], out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    // Without name and flags: type, length of the longest text, collation.
    out.extend_from_slice(&[0, 0, 0xe7, 0, 0]);
    out.extend_from_slice(&collation);
    let at = out.len();
    out.extend_from_slice(&[0; 2]);
    put(out);
    let bytes = out.len() - at - 2;
    if bytes <= 2 * UNITS_MAX {
        let size = (2 * UNITS_MAX) as u16;
        out[at - 7..at - 5].copy_from_slice(&size.to_le_bytes());
        out[at..at + 2].copy_from_slice(&(bytes as u16).to_le_bytes());
        return;
    }
    // In one chunk: in place of two bytes for the length, twelve, and four at the end.
    out.resize(out.len() + 14, 0);
    out.copy_within(at + 2..at + 2 + bytes, at + 12);
    let end = out.len();
    out[end - 4..].fill(0);
    out[at - 7..at - 5].fill(0xff);
    out[at..at + 8].copy_from_slice(&(bytes as u64).to_le_bytes());
    out[at + 8..at + 12].copy_from_slice(&(bytes as u32).to_le_bytes());
}

/// Isolation of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// As the session has it.
    #[default]
    Unchanged,
    /// READ UNCOMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
    /// SNAPSHOT.
    Snapshot,
}

/// A request to the server's transaction manager, which needs no SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionRequest<'a> {
    /// Begin a transaction.
    Begin(Isolation),
    /// Commit it, and begin the next one at once if an isolation is given: that saves a round trip.
    Commit(Option<Isolation>),
    /// Roll it back, and begin the next one at once if an isolation is given.
    Rollback(Option<Isolation>),
    /// Set a savepoint of this name.
    Save(&'a str),
}

/// Request to the transaction manager: commit.
const COMMIT: u16 = 7;

/// Whether a message with a request to the transaction manager commits.
pub(super) fn is_commit(message: &[u8]) -> bool {
    message
        .get(HEADER + HEADERS..)
        .is_some_and(|body| body.starts_with(&COMMIT.to_le_bytes()))
}

/// Appends a request to the transaction manager.
pub(super) fn put_transaction(request: TransactionRequest<'_>, out: &mut Vec<u8>) {
    put_headers(out);
    let (kind, next) = match request {
        TransactionRequest::Begin(isolation) => {
            out.extend_from_slice(&5_u16.to_le_bytes());
            // No name.
            return out.extend_from_slice(&[isolation as u8, 0]);
        }
        TransactionRequest::Save(name) => {
            out.extend_from_slice(&9_u16.to_le_bytes());
            let at = out.len();
            out.push(0);
            put_utf16(name, out);
            // The server has names of 32 characters at most; a cut one is still even.
            out.truncate(at + 1 + 64);
            out[at] = (out.len() - at - 1) as u8;
            return;
        }
        TransactionRequest::Commit(next) => (COMMIT, next),
        TransactionRequest::Rollback(next) => (8_u16, next),
    };
    out.extend_from_slice(&kind.to_le_bytes());
    out.push(0);
    match next {
        None => out.push(0),
        Some(isolation) => out.extend_from_slice(&[1, isolation as u8, 0]),
    }
}
