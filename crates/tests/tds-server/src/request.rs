//! Reads requests. Panics if they are malformed.
//! Source: MS-TDS 2.2.6.6 (RPC), 2.2.6.7 (SQLBatch).

use crate::datum::Datum;
use crate::packet::{Fields, decode_utf16};
use crate::types::Type;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Procedure {
    Name(String),
    /// By the number of a system procedure.
    Id(u16),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Name of the parameter; empty: it is given by position.
    pub name: String,
    pub is_output: bool,
    pub kind: Type,
    pub value: Datum,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rpc {
    pub procedure: Procedure,
    pub parameters: Vec<Parameter>,
}

/// A request of a client. `descriptor` is the transaction descriptor that the client sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// SQL text.
    Batch { descriptor: u64, text: String },
    /// Calls in one message.
    Rpcs { descriptor: u64, calls: Vec<Rpc> },
    /// A bulk load; the value is the number of its rows.
    Bulk(usize),
    /// Cancel the current request.
    Attention,
}

/// Reads ALL_HEADERS; returns the transaction descriptor.
fn read_headers(fields: &mut Fields<'_>) -> u64 {
    assert_eq!(fields.u32(), 22, "the length of all headers");
    assert_eq!(fields.u32(), 18, "the length of the header");
    assert_eq!(
        fields.u16(),
        2,
        "the type of the header: transaction descriptor"
    );
    let descriptor = fields.number::<8>();
    assert_eq!(fields.u32(), 1, "requests in flight");
    descriptor
}

pub(crate) fn read_request(kind: u8, message: &[u8]) -> Request {
    let mut fields = Fields(message);
    match kind {
        0x01 => Request::Batch {
            descriptor: read_headers(&mut fields),
            text: decode_utf16(fields.0),
        },
        0x03 => {
            let descriptor = read_headers(&mut fields);
            let mut calls = Vec::new();
            loop {
                calls.push(read_rpc(&mut fields));
                if fields.is_empty() {
                    return Request::Rpcs { descriptor, calls };
                }
                assert_eq!(fields.byte(), 0xff, "the mark between calls");
            }
        }
        0x06 => {
            assert!(message.is_empty());
            Request::Attention
        }
        kind => panic!("a message of type {kind:#x}"),
    }
}

fn read_rpc(fields: &mut Fields<'_>) -> Rpc {
    let procedure = match fields.u16() {
        0xffff => Procedure::Id(fields.u16()),
        length => Procedure::Name(decode_utf16(fields.take(usize::from(length) * 2))),
    };
    fields.u16();
    let mut parameters = Vec::new();
    while !fields.is_empty() && fields.0[0] != 0xff {
        let name = fields.short_text();
        let is_output = fields.byte() & 1 != 0;
        let kind = Type::read(fields);
        let value = Datum::read(kind, fields);
        parameters.push(Parameter {
            name,
            is_output,
            kind,
            value,
        });
    }
    Rpc {
        procedure,
        parameters,
    }
}
