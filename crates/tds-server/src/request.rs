//! Requests as the server reads them. Panics on malformed ones.
//! Source: MS-TDS 2.2.6.6 (RPC), 2.2.6.7 (SQLBatch), 2.2.6.9 (transaction manager).

use crate::datum::Datum;
use crate::packet::{Fields, utf16};
use crate::types::Type;

/// What an RPC calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Procedure {
    /// By name.
    Name(String),
    /// By the number of a system procedure.
    Id(u16),
}

/// A parameter of an RPC.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name; empty: by position.
    pub name: String,
    /// Whether the procedure returns it.
    pub output: bool,
    /// Its type.
    pub kind: Type,
    /// Its value.
    pub value: Datum,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub struct Rpc {
    /// What it calls.
    pub procedure: Procedure,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// A request of a client. `descriptor`: of the transaction, as the client states it.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Request {
    /// A text.
    Batch { descriptor: u64, text: String },
    /// Calls in one message.
    Rpcs { descriptor: u64, calls: Vec<Rpc> },
    /// A request to the transaction manager: its number, isolation level or flags, the name of a savepoint,
    /// and whether the next transaction begins at once.
    Transaction {
        descriptor: u64,
        kind: u16,
        isolation: u8,
        name: String,
        begins: bool,
    },
    /// Rows of a bulk load: their number.
    Bulk(usize),
    /// Stop.
    Attention,
}

/// Reads ALL_HEADERS; returns the transaction's descriptor.
fn headers(fields: &mut Fields<'_>) -> u64 {
    assert_eq!(fields.u32(), 22, "the length of all headers");
    assert_eq!(fields.u32(), 18, "the length of the header");
    assert_eq!(fields.u16(), 2, "the transaction's header");
    let descriptor = fields.number::<8>();
    assert_eq!(fields.u32(), 1, "requests in flight");
    descriptor
}

/// Reads a batch, RPCs or a request to the transaction manager.
pub(crate) fn read(kind: u8, message: &[u8]) -> Request {
    let mut fields = Fields(message);
    match kind {
        0x01 => Request::Batch {
            descriptor: headers(&mut fields),
            text: utf16(fields.0),
        },
        0x03 => {
            let descriptor = headers(&mut fields);
            let mut calls = Vec::new();
            loop {
                calls.push(rpc(&mut fields));
                if fields.is_empty() {
                    return Request::Rpcs { descriptor, calls };
                }
                assert_eq!(fields.byte(), 0xff, "the mark between calls");
            }
        }
        0x0e => transaction(&mut fields),
        0x06 => {
            assert!(message.is_empty());
            Request::Attention
        }
        kind => panic!("a message of type {kind:#x}"),
    }
}

fn transaction(fields: &mut Fields<'_>) -> Request {
    let descriptor = headers(fields);
    let kind = fields.u16();
    let name = |fields: &mut Fields<'_>| {
        let length = fields.byte();
        utf16(fields.take(length.into()))
    };
    let (mut isolation, mut begins, mut savepoint) = (0, false, String::new());
    match kind {
        5 => {
            isolation = fields.byte();
            name(fields);
        }
        7 | 8 => {
            savepoint = name(fields);
            begins = fields.byte() & 1 != 0;
            if begins {
                isolation = fields.byte();
                name(fields);
            }
        }
        9 => savepoint = name(fields),
        kind => panic!("request {kind} to the transaction manager"),
    }
    assert!(fields.is_empty(), "bytes after the request");
    Request::Transaction {
        descriptor,
        kind,
        isolation,
        name: savepoint,
        begins,
    }
}

fn rpc(fields: &mut Fields<'_>) -> Rpc {
    let procedure = match fields.u16() {
        0xffff => Procedure::Id(fields.u16()),
        length => Procedure::Name(utf16(fields.take(usize::from(length) * 2))),
    };
    fields.u16();
    let mut parameters = Vec::new();
    while !fields.is_empty() && fields.0[0] != 0xff {
        let name = fields.short_text();
        let output = fields.byte() & 1 != 0;
        let kind = Type::read(fields);
        let value = Datum::read(kind, fields);
        parameters.push(Parameter {
            name,
            output,
            kind,
            value,
        });
    }
    Rpc {
        procedure,
        parameters,
    }
}
