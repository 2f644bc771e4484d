//! Encodes procedure calls (RPC) and the headers of requests.
//!
//! In: a procedure and parameters. Out: bytes, appended. Must never: let the length of a value
//! change the type that is declared for it, because the server makes a plan for each declaration.
//! Source: MS-TDS 2.2.5.3 (ALL_HEADERS), 2.2.6.6 (RPC).

use super::encode::put_parameter_body;
use super::sql_type::{NVARCHAR_UNITS_MAX, SqlType};
use super::type_info::data_type::{CHAR, INT_N, NVARCHAR};
use super::utf16::put_utf16;
use crate::value::Value;

/// A procedure to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Procedure<'a> {
    /// A procedure by its name, such as `dbo.neword`.
    Name(&'a str),
    /// `sp_executesql`.
    ExecuteSql,
    /// `sp_prepare`.
    Prepare,
    /// `sp_prepexec`.
    PrepareAndExecute,
    /// `sp_unprepare`.
    Unprepare,
}

// The numbers by which a call names a system procedure (ProcID).
const EXECUTE_SQL_ID: u8 = 10;
const PREPARE_ID: u8 = 11;
const EXECUTE_ID: u8 = 12;
const PREPARE_AND_EXECUTE_ID: u8 = 13;
const UNPREPARE_ID: u8 = 15;
/// Flag of an output parameter: the server returns its value.
const BY_REFERENCE: u8 = 1;
/// Separates two calls in a message.
const CALL_SEPARATOR: u8 = 0xff;
/// Length of the headers of a request (ALL_HEADERS), in bytes.
pub(super) const ALL_HEADERS_BYTES: usize = 22;
/// Offset of the transaction's descriptor in the headers of a request.
pub(super) const DESCRIPTOR_OFFSET: usize = 10;

/// Appends the headers of a request: their length, and one with the transaction's descriptor (filled in
/// when the request is sent) and the number of requests in flight.
pub(super) fn put_headers(out: &mut Vec<u8>) {
    const HEADERS: [u8; ALL_HEADERS_BYTES] = {
        let mut headers = [0; ALL_HEADERS_BYTES];
        // The lengths of all headers and of the only one, its type, and the number of requests in flight.
        headers[0] = ALL_HEADERS_BYTES as u8;
        headers[4] = ALL_HEADERS_BYTES as u8 - 4;
        headers[8] = 2;
        headers[DESCRIPTOR_OFFSET + 8] = 1;
        headers
    };
    out.extend_from_slice(&HEADERS);
}

/// Appends a call without its parameters. `is_first`: whether this is the first call of its message.
pub(super) fn put_call(procedure: Procedure<'_>, is_first: bool, out: &mut Vec<u8>) {
    if !is_first {
        out.push(CALL_SEPARATOR);
    }
    match procedure {
        Procedure::Name(name) => {
            let at = out.len();
            out.extend_from_slice(&[0; 2]);
            put_utf16(name, out);
            let units = ((out.len() - at - 2) / 2) as u16;
            out[at..at + 2].copy_from_slice(&units.to_le_bytes());
        }
        Procedure::ExecuteSql => put_procedure_id(EXECUTE_SQL_ID, out),
        Procedure::Prepare => put_procedure_id(PREPARE_ID, out),
        Procedure::PrepareAndExecute => put_procedure_id(PREPARE_AND_EXECUTE_ID, out),
        Procedure::Unprepare => put_procedure_id(UNPREPARE_ID, out),
    }
    // Option flags: none.
    out.extend_from_slice(&[0; 2]);
}

fn put_procedure_id(id: u8, out: &mut Vec<u8>) {
    // 0xffff in place of the length of a name.
    out.extend_from_slice(&[0xff, 0xff, id, 0]);
}

/// Appends the start of a call that executes a prepared statement: all except the statement's parameters. Like
/// [`put_call`] and [`put_int_parameter`], which it replaces because no other call is as frequent.
pub(super) fn put_execute(handle: i32, is_first: bool, out: &mut Vec<u8>) {
    if !is_first {
        out.push(CALL_SEPARATOR);
    }
    let [a, b, c, d] = handle.to_le_bytes();
    // The procedure's number, option flags, and the handle.
    out.extend_from_slice(&[
        0xff, 0xff, EXECUTE_ID, 0, 0, 0, 0, 0, INT_N, 4, 4, a, b, c, d,
    ]);
}

/// Appends a parameter without a name.
pub(super) fn put_positional_parameter(
    sql_type: SqlType,
    value: Value<'_>,
    collation: [u8; 5],
    out: &mut Vec<u8>,
) {
    match (sql_type, value) {
        // The most frequent parameters, without the checks that others need.
        (SqlType::Int, Value::Int(number)) if i32::try_from(number).is_ok() => {
            put_int_parameter(Some(number as i32), out);
        }
        (SqlType::Char(size), Value::Text(text))
            if text.len() <= usize::from(size) && text.is_ascii() =>
        {
            let [size_low, size_high] = size.to_le_bytes();
            let length = text.len() as u16;
            out.extend_from_slice(&[0, 0, CHAR, size_low, size_high]);
            out.extend_from_slice(&collation);
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        _ => {
            out.push(0);
            put_parameter_body(sql_type, value, 0, collation, out);
        }
    }
}

/// Appends an `int` parameter, such as the handle of a prepared statement. With `None`, it is an output
/// parameter, whose value the server returns.
pub(super) fn put_int_parameter(value: Option<i32>, out: &mut Vec<u8>) {
    match value {
        Some(value) => {
            let [a, b, c, d] = value.to_le_bytes();
            out.extend_from_slice(&[0, 0, INT_N, 4, 4, a, b, c, d]);
        }
        None => out.extend_from_slice(&[0, BY_REFERENCE, INT_N, 4, 0]),
    }
}

/// Appends a text parameter, whose UTF-16 `put` appends. Its type is `nvarchar(4000)`, or `nvarchar(max)` if
/// the text is longer.
pub(super) fn put_nvarchar_parameter(
    collation: [u8; 5],
    out: &mut Vec<u8>,
    put: impl FnOnce(&mut Vec<u8>),
) {
    // No name, no flags; then type, maximum length and collation.
    out.extend_from_slice(&[0, 0, NVARCHAR, 0, 0]);
    out.extend_from_slice(&collation);
    let at = out.len();
    out.extend_from_slice(&[0; 2]);
    put(out);
    let bytes = out.len() - at - 2;
    if bytes <= 2 * NVARCHAR_UNITS_MAX {
        let size = (2 * NVARCHAR_UNITS_MAX) as u16;
        out[at - 7..at - 5].copy_from_slice(&size.to_le_bytes());
        out[at..at + 2].copy_from_slice(&(bytes as u16).to_le_bytes());
        return;
    }
    // A longer text becomes one chunk (PLP): the two bytes of the length become twelve, and four follow the
    // text.
    out.resize(out.len() + 14, 0);
    out.copy_within(at + 2..at + 2 + bytes, at + 12);
    let end = out.len();
    out[end - 4..].fill(0);
    out[at - 7..at - 5].fill(0xff);
    out[at..at + 8].copy_from_slice(&(bytes as u64).to_le_bytes());
    out[at + 8..at + 12].copy_from_slice(&(bytes as u32).to_le_bytes());
}
