//! Encodes statements as messages, for a connection that is logged in.
//!
//! In: statements and values. Out: a queue of messages, sent one at a time. Must never: add a
//! procedure call that writes to a message with an earlier call, because the server would run it even if the
//! earlier one failed; begin or end a transaction inside a procedure call (error 266); allocate once its
//! buffers have grown to the size the workload needs.
//! Source: MS-TDS 2.2.6.6 and 2.2.6.7; sp_executesql, sp_prepexec.

use super::encode::fits;
use super::error::UNKNOWN_HANDLE_ERROR;
use super::packet::{HEADER_BYTES, PACKET_SIZE_INITIAL, frame, packet_type};
use super::reply::Reply;
use super::rpc::{
    DESCRIPTOR_OFFSET, Procedure, put_call, put_execute, put_headers, put_int_parameter,
    put_nvarchar_parameter, put_positional_parameter,
};
use super::sql_type::SqlType;
use super::type_info::data_type::NVARCHAR;
use super::utf16::{put_utf16, put_utf16_lossy};
use crate::statement::{Effect, QueryMode, Statement};
use crate::value::Value;
use std::ops::Range;

mod queue;
mod text;

pub(crate) use text::StatementForm;
use text::{put_declarations, put_numbered_text, put_statement_text};

#[derive(Clone, Debug, Default)]
struct StatementSlot {
    state: PrepareState,
    /// Types of the statement's parameters, as last declared to the server.
    types: Vec<SqlType>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PrepareState {
    #[default]
    Unprepared,
    /// A message in the queue prepares the statement.
    Queued,
    /// The server did not return a handle.
    Refused,
    /// Prepared, with the server's handle.
    Prepared(i32),
}

#[derive(Clone, Debug)]
struct Message {
    /// Range of the message's packets in `Codec::bytes`.
    bytes: Range<usize>,
    /// Range of the message's procedure calls in `Codec::calls`.
    calls: Range<usize>,
    packet_type: u8,
    /// Whether statements can still be added to the message.
    is_open: bool,
}

/// One procedure call of a message; `id` is the number of its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// Drops a statement that is no longer used.
    Unprepare,
    /// Prepares a statement, or prepares and executes it.
    Prepare { id: u32 },
    /// Executes a prepared statement by the server's handle.
    Execute { id: u32, handle: i32 },
    /// Executes the text of a statement, or calls another procedure.
    Other,
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
    in_flight_index: usize,
    /// Handles of statements that are no longer used; the next message with calls drops them.
    handles_to_drop: Vec<i32>,
    /// Buffer for the parameter types of one execution, reused to avoid allocations.
    type_buffer: Vec<SqlType>,
}

impl Codec {
    pub(crate) fn new(mode: QueryMode) -> Codec {
        Codec {
            mode,
            packet_size: PACKET_SIZE_INITIAL,
            collation: [0; 5],
            slots: Vec::new(),
            bytes: Vec::new(),
            messages: Vec::new(),
            calls: Vec::new(),
            in_flight_index: 0,
            handles_to_drop: Vec::new(),
            type_buffer: Vec::new(),
        }
    }

    pub(crate) fn mode(&self) -> QueryMode {
        self.mode
    }

    /// Sets the packet size (0: unknown) and the collation that the server chose at login.
    pub(crate) fn set_session(&mut self, packet_size: u16, collation: [u8; 5]) {
        self.packet_size = match packet_size {
            0 => PACKET_SIZE_INITIAL,
            size => usize::from(size),
        };
        self.collation = collation;
    }

    pub(crate) fn packet_size(&self) -> usize {
        self.packet_size
    }

    /// The session's collation, which determines the encoding of `varchar`.
    pub(crate) fn collation(&self) -> [u8; 5] {
        self.collation
    }

    /// Forgets the statements prepared on the old connection.
    pub(crate) fn reset(&mut self) {
        self.slots.clear();
        self.handles_to_drop.clear();
        self.begin();
    }

    /// Begins a request: discards messages of the previous one, also those that were never sent.
    pub(crate) fn begin(&mut self) {
        for slot in &mut self.slots {
            if slot.state == PrepareState::Queued {
                slot.state = PrepareState::Unprepared;
            }
        }
        self.bytes.clear();
        self.messages.clear();
        self.calls.clear();
        self.in_flight_index = 0;
    }

    pub(crate) fn execute(&mut self, statement: &Statement, values: &[Value<'_>]) {
        debug_assert!(statement.accepts(values), "{statement:?} {values:?}");
        let form = statement.tds_form();
        let may_join = self.mode == QueryMode::Simple || statement.is_joined();
        if may_join || form.is_text_only {
            return self.queue_text(statement, values, may_join);
        }
        match &form.types {
            Some(types) => self.queue_call(statement, types, values),
            None => {
                let mut types = std::mem::take(&mut self.type_buffer);
                self.set_types(statement, values, &mut types);
                self.queue_call(statement, &types, values);
                self.type_buffer = types;
            }
        }
    }

    /// Queues one execution as a procedure call, with parameters of these types.
    fn queue_call(&mut self, statement: &Statement, types: &[SqlType], values: &[Value<'_>]) {
        if let Some(name) = &statement.tds_form().procedure {
            let parameters = types.iter().copied().zip(values.iter().copied());
            return self.call(Procedure::Name(name), parameters);
        }
        let call = self.begin_call(statement, types);
        let is_first = self.put_unprepares();
        match call {
            Call::Execute { handle, .. } => put_execute(handle, is_first, &mut self.bytes),
            Call::Prepare { .. } => {
                put_call(Procedure::PrepareAndExecute, is_first, &mut self.bytes);
                put_int_parameter(None, &mut self.bytes);
                self.put_declarations(types);
                self.put_sql(statement);
            }
            Call::Other | Call::Unprepare => {
                put_call(Procedure::ExecuteSql, is_first, &mut self.bytes);
                self.put_sql(statement);
                if !types.is_empty() {
                    self.put_declarations(types);
                }
            }
        }
        for (sql_type, value) in types.iter().zip(values) {
            put_positional_parameter(*sql_type, *value, self.collation, &mut self.bytes);
        }
        self.calls.push(call);
    }

    /// Decides how a statement is executed, and opens a message if necessary.
    fn begin_call(&mut self, statement: &Statement, types: &[SqlType]) -> Call {
        // The server runs a call even if an earlier one in its message failed, so only reads are added.
        if !(self.has_open_message(packet_type::RPC) && statement.effect() == Effect::Reads) {
            self.open_message(packet_type::RPC);
            put_headers(&mut self.bytes);
        }
        let id = statement.id();
        if self.mode != QueryMode::Prepared {
            return Call::Other;
        }
        let slot = self.slot_mut(statement);
        let types_changed = slot.types != types;
        if types_changed {
            slot.types.clear();
            slot.types.extend_from_slice(types);
        }
        match (slot.state, types_changed) {
            (PrepareState::Prepared(handle), false) => Call::Execute { id, handle },
            // The reply with the handle has not arrived yet, so send the text.
            (PrepareState::Queued, _) => Call::Other,
            (state, _) => {
                slot.state = PrepareState::Queued;
                if let PrepareState::Prepared(handle) = state {
                    self.handles_to_drop.push(handle);
                }
                Call::Prepare { id }
            }
        }
    }

    /// Adds calls that drop handles, if the message has no call yet; returns whether it still has none.
    fn put_unprepares(&mut self) -> bool {
        let last = self.messages.last();
        if last.is_some_and(|last| last.calls.start < self.calls.len()) {
            return false;
        }
        for (index, handle) in self.handles_to_drop.drain(..).enumerate() {
            put_call(Procedure::Unprepare, index == 0, &mut self.bytes);
            put_int_parameter(Some(handle), &mut self.bytes);
            self.calls.push(Call::Unprepare);
        }
        last.is_none_or(|last| last.calls.start == self.calls.len())
    }

    /// Queues a request that prepares a statement without executing it.
    pub(crate) fn prepare(&mut self, statement: &Statement) {
        let mut types = std::mem::take(&mut self.type_buffer);
        self.set_types(statement, &[], &mut types);
        self.open_message(packet_type::RPC);
        put_headers(&mut self.bytes);
        let is_first = self.put_unprepares();
        put_call(Procedure::Prepare, is_first, &mut self.bytes);
        put_int_parameter(None, &mut self.bytes);
        self.put_declarations(&types);
        self.put_sql(statement);
        // `options` of sp_prepare, which is mandatory: 1 returns the columns.
        put_int_parameter(Some(1), &mut self.bytes);
        self.calls.push(Call::Prepare { id: statement.id() });
        let slot = self.slot_mut(statement);
        slot.state = PrepareState::Queued;
        slot.types.clone_from(&types);
        self.type_buffer = types;
    }

    /// Sets `types` to the types of a statement's parameters. The type is the declared one if there is one;
    /// else the last one, if it suits the value; else one that is chosen for the value.
    fn set_types(&mut self, statement: &Statement, values: &[Value<'_>], types: &mut Vec<SqlType>) {
        types.clear();
        let slot = self.slots.get(statement.id() as usize);
        for index in 0..statement.parameter_count() {
            let declared = statement.types().get(index).copied().flatten();
            let last_type = slot.and_then(|slot| slot.types.get(index)).copied();
            let value = values.get(index).copied().unwrap_or(Value::Null);
            types.push(match declared {
                Some(declared) => declared.into(),
                None => match last_type {
                    Some(last) if fits(last, value) && can_reuse_type(last, value) => last,
                    _ => SqlType::of_value(value, last_type),
                },
            });
        }
    }

    fn put_sql(&mut self, statement: &Statement) {
        put_nvarchar_parameter(self.collation, &mut self.bytes, |out| {
            put_numbered_text(statement, out)
        });
    }

    fn put_declarations(&mut self, types: &[SqlType]) {
        if types.is_empty() {
            // Without parameters, the declarations are NULL, as nvarchar(4000).
            self.bytes.extend_from_slice(&[0, 0, NVARCHAR, 0x40, 0x1f]);
            self.bytes.extend_from_slice(&self.collation);
            return self.bytes.extend_from_slice(&[0xff; 2]);
        }
        put_nvarchar_parameter(self.collation, &mut self.bytes, |out| {
            put_declarations(types, out)
        });
    }

    /// Queues a statement as text. `may_join`: whether adjacent texts may be in the same message.
    fn queue_text(&mut self, statement: &Statement, values: &[Value<'_>], may_join: bool) {
        if may_join && self.has_open_message(packet_type::BATCH) {
            // The previous text may end in a comment, so begin a new line.
            put_utf16("\n;", &mut self.bytes)
        } else {
            self.open_message(packet_type::BATCH);
            put_headers(&mut self.bytes);
        }
        put_statement_text(statement, values, &mut self.bytes);
        if !may_join {
            self.close_message();
        }
    }

    /// Queues a message of SQL text, unchanged.
    pub(crate) fn query(&mut self, sql: &[u8]) {
        self.open_message(packet_type::BATCH);
        put_headers(&mut self.bytes);
        put_utf16_lossy(sql, &mut self.bytes);
        self.close_message();
    }

    /// Queues a call of a procedure with parameters by position.
    fn call<'a>(
        &mut self,
        procedure: Procedure<'_>,
        parameters: impl Iterator<Item = (SqlType, Value<'a>)>,
    ) {
        self.open_message(packet_type::RPC);
        put_headers(&mut self.bytes);
        put_call(procedure, true, &mut self.bytes);
        for (sql_type, value) in parameters {
            put_positional_parameter(sql_type, value, self.collation, &mut self.bytes);
        }
        self.calls.push(Call::Other);
    }

    /// Marks a statement as no longer used: the next message with calls drops its handle, and another
    /// statement may reuse its number.
    pub(crate) fn close(&mut self, statement: &Statement) {
        let slot = std::mem::take(self.slot_mut(statement));
        if let PrepareState::Prepared(handle) = slot.state {
            self.handles_to_drop.push(handle);
        }
    }

    /// Whether a statement needs no preparation, or no further attempt at one, on this connection.
    pub(crate) fn is_prepared(&self, statement: &Statement) -> bool {
        let slot = self.slots.get(statement.id() as usize);
        let state = slot.map_or(PrepareState::Unprepared, |slot| slot.state);
        let form = statement.tds_form();
        let is_text =
            self.mode != QueryMode::Prepared || statement.is_joined() || form.is_text_only;
        is_text
            || form.procedure.is_some()
            || matches!(state, PrepareState::Prepared(_) | PrepareState::Refused)
    }
}

/// Whether a parameter can keep the last type, so that the server needs no new plan. A `max` type suits texts
/// of any length, other types only values for which the same type would be chosen.
fn can_reuse_type(last: SqlType, value: Value<'_>) -> bool {
    match (last, value) {
        (SqlType::NVarChar(None), Value::Text(_)) | (SqlType::VarChar(None), Value::Bytes(_)) => {
            true
        }
        (last, value) => last == SqlType::of_value(value, Some(last)),
    }
}
