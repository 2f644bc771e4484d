//! Encodes statements as messages, for a connection that is logged in.
//!
//! In: statements and values. Out: a queue of messages, sent one at a time. Must never: put a statement
//! into a message in which it would run although one before it failed (reads excepted, which change
//! nothing), begin or end a transaction inside a procedure call (error 266), or allocate once its buffers
//! have grown to the size the workload needs.
//! Source: MS-TDS 2.2.6.6 and 2.2.6.7; sp_executesql, sp_prepexec.

use super::encode::fits;
use super::error::UNKNOWN_HANDLE;
use super::packet::{HEADER, PACKET_SIZE_INITIAL, frame, kind};
use super::reply::Reply;
use super::rpc::{
    DESCRIPTOR_AT, Procedure, TransactionRequest, is_commit, put_call, put_handle, put_headers,
    put_transaction, put_value, put_wide_text,
};
use super::sql_type::SqlType;
use super::utf16::{put_utf16, put_utf16_lossy};
use crate::statement::{Effect, QueryMode, Statement};
use crate::value::Value;
use std::ops::Range;

mod queue;
mod text;

use text::{must_be_text, put_declarations, put_numbered, put_statement_text};

/// A statement on a connection.
#[derive(Clone, Debug, Default)]
struct StatementSlot {
    state: PrepareState,
    /// Types of its parameters, as last declared.
    types: Vec<SqlType>,
}

/// Whether a statement is prepared on the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PrepareState {
    #[default]
    Unprepared,
    /// A message in the queue prepares it.
    Queued,
    /// The server refused to prepare it.
    Refused,
    /// The server's handle for it.
    Prepared(i32),
}

/// One message of a request.
#[derive(Clone, Debug)]
struct Message {
    /// Range of its packets in the queue's bytes.
    bytes: Range<usize>,
    /// Its procedure calls in the queue.
    calls: Range<usize>,
    kind: u8,
    /// Whether statements can be added to it.
    open: bool,
}

/// One procedure call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// Drops a statement that is no longer used.
    Unprepare,
    /// Prepares the statement with this number; true: and executes it.
    Prepare(u16, bool),
    /// Executes a prepared statement.
    Execute(u16),
    /// Executes a text.
    Text,
}

/// The statements prepared on a connection, and its current request.
#[derive(Debug)]
pub(crate) struct Codec {
    mode: QueryMode,
    packet_size: usize,
    collation: [u8; 5],
    slots: Vec<StatementSlot>,
    bytes: Vec<u8>,
    messages: Vec<Message>,
    calls: Vec<Call>,
    /// Index of the message in flight.
    at: usize,
    /// Handles to drop on the server.
    closing: Vec<i32>,
    /// Buffer for the types of an execution, reused to avoid allocations.
    types: Vec<SqlType>,
}

impl Codec {
    /// A codec for a new connection.
    pub(crate) fn new(mode: QueryMode) -> Codec {
        Codec {
            mode,
            packet_size: PACKET_SIZE_INITIAL,
            collation: [0; 5],
            slots: Vec::new(),
            bytes: Vec::new(),
            messages: Vec::new(),
            calls: Vec::new(),
            at: 0,
            closing: Vec::new(),
            types: Vec::new(),
        }
    }

    pub(crate) fn mode(&self) -> QueryMode {
        self.mode
    }

    /// Sets what the login determined.
    pub(crate) fn set_session(&mut self, packet_size: u16, collation: [u8; 5]) {
        self.packet_size = match packet_size {
            0 => PACKET_SIZE_INITIAL,
            size => usize::from(size),
        };
        self.collation = collation;
    }

    /// The collation of texts in one-byte encodings.
    pub(crate) fn collation(&self) -> [u8; 5] {
        self.collation
    }

    /// Forgets the statements prepared on the old connection.
    pub(crate) fn reset(&mut self) {
        self.slots.clear();
        self.closing.clear();
        self.begin();
    }

    /// Begins a request: drops messages that were queued and not sent.
    pub(crate) fn begin(&mut self) {
        for slot in &mut self.slots {
            if slot.state == PrepareState::Queued {
                slot.state = PrepareState::Unprepared;
            }
        }
        self.bytes.clear();
        self.messages.clear();
        self.calls.clear();
        self.at = 0;
    }

    /// Queues one execution.
    pub(crate) fn execute(&mut self, statement: &Statement, values: &[Value<'_>]) {
        debug_assert!(statement.accepts(values), "{statement:?} {values:?}");
        if self.mode == QueryMode::Simple || statement.is_joined() || must_be_text(statement) {
            let joins = self.mode == QueryMode::Simple || statement.is_joined();
            return self.text(statement, values, joins);
        }
        let mut types = std::mem::take(&mut self.types);
        self.set_types(statement, values, &mut types);
        let (first, call) = self.begin_call(statement, &types);
        let (procedure, handle) = match call {
            Call::Execute(_) => (Procedure::Execute, self.handle(statement)),
            Call::Prepare(..) => (Procedure::PrepareAndExecute, None),
            Call::Text | Call::Unprepare => (Procedure::ExecuteSql, None),
        };
        put_call(procedure, first, &mut self.bytes);
        match call {
            Call::Execute(_) => put_handle(handle, &mut self.bytes),
            Call::Prepare(..) => {
                put_handle(None, &mut self.bytes);
                self.put_declarations(&types);
                self.put_sql(statement);
            }
            Call::Text | Call::Unprepare => {
                self.put_sql(statement);
                if !types.is_empty() {
                    self.put_declarations(&types);
                }
            }
        }
        for (kind, value) in types.iter().zip(values) {
            put_value(*kind, *value, self.collation, &mut self.bytes);
        }
        self.calls.push(call);
        self.types = types;
    }

    /// Decides how a statement is executed, in an open message; true: it is the first call there.
    fn begin_call(&mut self, statement: &Statement, types: &[SqlType]) -> (bool, Call) {
        // A call runs even if one before it in the message failed.
        if !(self.is_open(kind::RPC) && statement.effect() == Effect::Reads) {
            self.open(kind::RPC);
            put_headers(&mut self.bytes);
        }
        let id = statement.id();
        let mut call = Call::Text;
        if self.mode == QueryMode::Prepared {
            let slot = self.slot(statement);
            let declared_again = slot.types != types;
            if declared_again {
                slot.types.clear();
                slot.types.extend_from_slice(types);
            }
            call = match (slot.state, declared_again) {
                (PrepareState::Prepared(_), false) => Call::Execute(id),
                // The handle is not known yet.
                (PrepareState::Queued, _) => Call::Text,
                (state, _) => {
                    slot.state = PrepareState::Queued;
                    if let PrepareState::Prepared(handle) = state {
                        self.closing.push(handle);
                    }
                    Call::Prepare(id, true)
                }
            };
        }
        let first = self
            .messages
            .last()
            .is_none_or(|last| last.calls.start == self.calls.len());
        let first = self.put_unprepares(first);
        (first, call)
    }

    /// Adds calls that drop handles to the start of a message; returns whether it is still empty.
    fn put_unprepares(&mut self, first: bool) -> bool {
        if !first || self.closing.is_empty() {
            return first;
        }
        for (index, handle) in self.closing.drain(..).enumerate() {
            put_call(Procedure::Unprepare, index == 0, &mut self.bytes);
            put_handle(Some(handle), &mut self.bytes);
            self.calls.push(Call::Unprepare);
        }
        false
    }

    /// Queues the preparation of a statement.
    pub(crate) fn prepare(&mut self, statement: &Statement) {
        let mut types = std::mem::take(&mut self.types);
        self.set_types(statement, &[], &mut types);
        self.open(kind::RPC);
        put_headers(&mut self.bytes);
        let first = self.put_unprepares(true);
        put_call(Procedure::Prepare, first, &mut self.bytes);
        put_handle(None, &mut self.bytes);
        self.put_declarations(&types);
        self.put_sql(statement);
        // Options: none are needed, but the parameter is.
        put_handle(Some(1), &mut self.bytes);
        self.calls.push(Call::Prepare(statement.id(), false));
        let slot = self.slot(statement);
        slot.state = PrepareState::Queued;
        slot.types.clone_from(&types);
        self.types = types;
    }

    /// Sets `types` to those of a statement's parameters: the declared ones, else those of the values.
    fn set_types(&mut self, statement: &Statement, values: &[Value<'_>], types: &mut Vec<SqlType>) {
        types.clear();
        let known = self.slots.get(usize::from(statement.id()));
        for index in 0..statement.parameters() {
            let declared = statement.types().get(index).copied().flatten();
            let known = known.and_then(|slot| slot.types.get(index)).copied();
            let value = values.get(index).copied().unwrap_or(Value::Null);
            types.push(match declared {
                Some(declared) => declared.into(),
                None => match known {
                    Some(known) if fits(known, value) && is_as_wide(known, value) => known,
                    known => SqlType::of_value(value, known),
                },
            });
        }
    }

    fn put_sql(&mut self, statement: &Statement) {
        put_wide_text(self.collation, &mut self.bytes, |out| {
            put_numbered(statement, out)
        });
    }

    fn put_declarations(&mut self, types: &[SqlType]) {
        if types.is_empty() {
            // NULL: an nvarchar without a length.
            self.bytes.extend_from_slice(&[0, 0, 0xe7, 0x40, 0x1f]);
            self.bytes.extend_from_slice(&self.collation);
            return self.bytes.extend_from_slice(&[0xff; 2]);
        }
        put_wide_text(self.collation, &mut self.bytes, |out| {
            put_declarations(types, out)
        });
    }

    /// Queues a statement as text; `joins`: with the texts before and after it.
    fn text(&mut self, statement: &Statement, values: &[Value<'_>], joins: bool) {
        match joins && self.is_open(kind::BATCH) {
            // On a line of its own: the text before may end in a comment.
            true => put_utf16("\n;", &mut self.bytes),
            false => {
                self.open(kind::BATCH);
                put_headers(&mut self.bytes);
            }
        }
        put_statement_text(statement, values, &mut self.bytes);
        if !joins {
            self.close_message();
        }
    }

    /// Queues text unchanged.
    pub(crate) fn query(&mut self, sql: &[u8]) {
        self.open(kind::BATCH);
        put_headers(&mut self.bytes);
        put_utf16_lossy(sql, &mut self.bytes);
        self.close_message();
    }

    /// Queues a call of a procedure with parameters by position.
    pub(crate) fn call(&mut self, procedure: Procedure<'_>, parameters: &[(SqlType, Value<'_>)]) {
        self.open(kind::RPC);
        put_headers(&mut self.bytes);
        put_call(procedure, true, &mut self.bytes);
        for (kind, value) in parameters {
            put_value(*kind, *value, self.collation, &mut self.bytes);
        }
        self.calls.push(Call::Text);
    }

    /// Queues a request to the transaction manager.
    pub(crate) fn transaction(&mut self, request: TransactionRequest<'_>) {
        self.open(kind::TRANSACTION);
        put_transaction(request, &mut self.bytes);
        self.close_message();
    }

    /// Queues the rows of a bulk load.
    pub(crate) fn bulk(&mut self, rows: &[u8]) {
        self.open(kind::BULK);
        self.bytes.extend_from_slice(rows);
        self.close_message();
    }

    /// Marks a statement as no longer used: the server drops it, and another may reuse its number.
    pub(crate) fn close(&mut self, statement: &Statement) {
        let slot = std::mem::take(self.slot(statement));
        if let PrepareState::Prepared(handle) = slot.state {
            self.closing.push(handle);
        }
    }

    /// Whether a statement needs no (further) preparation on this connection.
    pub(crate) fn is_prepared(&self, statement: &Statement) -> bool {
        let slot = self.slots.get(usize::from(statement.id()));
        let state = slot.map_or(PrepareState::Unprepared, |slot| slot.state);
        let is_text =
            self.mode != QueryMode::Prepared || statement.is_joined() || must_be_text(statement);
        is_text || matches!(state, PrepareState::Prepared(_) | PrepareState::Refused)
    }
}

/// Whether the type of a parameter so far suits a value too: whole numbers and texts of any length do not
/// need another plan.
fn is_as_wide(known: SqlType, value: Value<'_>) -> bool {
    match (known, value) {
        (SqlType::NVarChar(None), Value::Text(_)) | (SqlType::VarChar(None), Value::Bytes(_)) => {
            true
        }
        (known, value) => known == SqlType::of_value(value, Some(known)),
    }
}
