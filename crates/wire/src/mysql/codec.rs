//! Encodes statements as commands, for a connection that is logged in.
//!
//! In: statements and values. Out: a queue of commands. They are sent one at a time, because the server
//! numbers a statement only when it prepares it, and does not skip the commands after an error. Must never:
//! wait for anything, or allocate once its buffers have grown to the size that the workload needs.
//! Source: MySQL documentation, "Text Protocol" and "Prepared Statements".

mod queue;

use super::bind::{self, put_values, trim_end, update_types};
use super::error::{UNKNOWN_STATEMENT, UNSUPPORTED_PS};
use super::packet::{HEADER, MAX_PAYLOAD, frame, lengthen};
use super::reply::{Reply, ReplyFormat};
use crate::statement::{FirstWord, QueryMode, Statement};
use crate::value::Value;
use crate::violation::Violation;
use queue::may_leave_transaction_open;
use std::ops::Range;

pub(crate) const COM_QUERY: u8 = 3;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;

pub(crate) const QUIT: &[u8] = b"\x01\0\0\0\x01";

/// Offset of a statement's number in a COM_STMT_EXECUTE packet: after header and command.
const STATEMENT_NUMBER_OFFSET: usize = HEADER + 1;

#[derive(Clone, Debug, Default)]
struct StatementSlot {
    state: PrepareState,
    /// Types of the values last sent with the statement.
    types: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PrepareState {
    #[default]
    Unprepared,
    /// The server refused to prepare the statement.
    Refused,
    /// The server cannot prepare the statement, so it is sent as text.
    SentAsText,
    /// Prepared, with the server's number.
    Prepared(u32),
}

/// The packets of a command.
#[derive(Clone, Debug)]
struct Packets {
    /// Their range in `Codec::bytes`.
    bytes: Range<usize>,
    /// Sequence number of the server's first packet after them.
    next_sequence: u8,
}

#[derive(Clone, Debug)]
struct Command {
    kind: CommandKind,
    packets: Packets,
    /// Id of the statement that the command prepares or executes by number; otherwise 0.
    statement: u32,
    /// How many placeholders the statement to prepare has.
    placeholders: usize,
    /// Whether the command may open a transaction even if it fails.
    may_open_transaction: bool,
    /// The same execution as COM_QUERY, for a server that cannot prepare the statement.
    text: Option<Packets>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandKind {
    Query,
    /// Text to which more statements can be added.
    Joined,
    Prepare,
    /// Executes a prepared statement.
    Execute,
    /// Executes a statement that an earlier command of the request prepares: its number is not known yet.
    ExecuteUnnumbered,
    /// The file content that the previous command requests.
    Data,
}

pub(crate) enum AfterReply {
    Done,
    /// Send the next command.
    Send,
    /// Send the data that the server requested.
    Data,
}

/// The statements prepared on a connection, and its current request.
#[derive(Debug)]
pub struct Codec {
    mode: QueryMode,
    slots: Vec<StatementSlot>,
    bytes: Vec<u8>,
    commands: Vec<Command>,
    in_flight_index: usize,
    /// Numbers of statements to close on the server with the next request.
    numbers_to_close: Vec<u32>,
    no_backslash_escapes: bool,
}

impl Codec {
    pub fn new(mode: QueryMode) -> Self {
        Codec {
            mode,
            slots: Vec::new(),
            bytes: Vec::new(),
            commands: Vec::new(),
            in_flight_index: 0,
            numbers_to_close: Vec::new(),
            no_backslash_escapes: false,
        }
    }

    pub fn mode(&self) -> QueryMode {
        self.mode
    }

    /// Forgets the statements prepared on the old connection.
    pub(crate) fn reset(&mut self) {
        self.slots.clear();
        self.numbers_to_close.clear();
        self.clear();
    }

    /// Discards the commands. The server has not seen the types of values that were never sent.
    fn clear(&mut self) {
        for unsent in self.commands.iter().skip(self.in_flight_index) {
            if let (CommandKind::Execute | CommandKind::ExecuteUnnumbered, Some(slot)) =
                (unsent.kind, self.slots.get_mut(unsent.statement as usize))
            {
                slot.types.clear();
            }
        }
        self.bytes.clear();
        self.commands.clear();
        self.in_flight_index = 0;
    }

    /// Begins a request: discards the commands of the previous one, also those that were never sent.
    pub(crate) fn begin(&mut self, reply: &Reply) {
        self.clear();
        self.no_backslash_escapes = reply.no_backslash_escapes();
        for number in self.numbers_to_close.drain(..) {
            // COM_STMT_CLOSE has no reply, so it is sent together with the next command.
            frame(&mut self.bytes, 0, |out| {
                out.push(COM_STMT_CLOSE);
                out.extend_from_slice(&number.to_le_bytes());
            });
        }
    }

    pub(crate) fn execute(&mut self, statement: &Statement, values: &[Value<'_>]) {
        debug_assert!(statement.accepts(values), "{statement:?} {values:?}");
        if statement.has_own_text() {
            return self.queue_text(statement, values);
        }
        if statement.is_joined() {
            return self.join(statement, values, true);
        }
        let state = self.slot_mut(statement).state;
        match (self.mode, state) {
            (QueryMode::Simple, _) | (_, PrepareState::SentAsText) => {
                self.queue_text(statement, values);
            }
            (QueryMode::Prepared, PrepareState::Prepared(number)) => {
                self.queue_execute(statement, values, Some(number));
            }
            _ => {
                if self.mode == QueryMode::Extended || !self.is_prepare_queued(statement) {
                    self.prepare(statement);
                }
                self.queue_execute(statement, values, None);
                let text = self.frame_text(statement, values);
                if let Some(command) = self.commands.last_mut() {
                    command.text = Some(text);
                }
            }
        }
    }

    /// Adds an execution in simple mode. Executions share a text, and so a round trip; the server stops at an error.
    pub(crate) fn execute_as_text(&mut self, statement: &Statement, values: &[Value<'_>]) {
        if statement.has_own_text() {
            self.queue_text(statement, values);
        } else {
            self.join(statement, values, may_leave_transaction_open(statement));
        }
    }

    /// Adds an execution to the text that is the request's last command, or begins such a text.
    fn join(&mut self, statement: &Statement, values: &[Value<'_>], may_open_transaction: bool) {
        let joined = |last: &&mut Command| last.kind == CommandKind::Joined;
        if let Some(last) = self.commands.last_mut().filter(joined) {
            // The text before may end in a comment, so begin a new line.
            self.bytes.extend_from_slice(b"\n;");
            bind::put_statement_text(
                statement,
                values,
                self.no_backslash_escapes,
                &mut self.bytes,
            );
            if lengthen(&mut self.bytes, last.packets.bytes.start) {
                last.packets.bytes.end = self.bytes.len();
                last.may_open_transaction |= may_open_transaction;
                return;
            }
            self.bytes.truncate(last.packets.bytes.end);
        }
        let packets = self.frame_text(statement, values);
        self.queue(CommandKind::Joined, packets, may_open_transaction);
    }

    fn queue_text(&mut self, statement: &Statement, values: &[Value<'_>]) {
        let packets = self.frame_text(statement, values);
        let may_open_transaction = may_leave_transaction_open(statement);
        self.queue(CommandKind::Query, packets, may_open_transaction);
    }

    pub(crate) fn query(&mut self, sql: &[u8]) {
        let packets = self.frame(|out| {
            out.push(COM_QUERY);
            out.extend_from_slice(sql);
        });
        self.queue(CommandKind::Query, packets, true);
    }

    /// Queues the content of the file that the previous command requests.
    pub(crate) fn data(&mut self, data: &[u8]) {
        let start = self.bytes.len();
        // The data follows the command (packet 0) and the server's request (packet 1).
        let mut sequence = 2;
        for chunk in data.chunks(MAX_PAYLOAD - 1) {
            sequence = frame(&mut self.bytes, sequence, |out| {
                out.extend_from_slice(chunk);
            });
        }
        // An empty packet ends the data.
        let packets = Packets {
            next_sequence: frame(&mut self.bytes, sequence, |_| {}),
            bytes: start..self.bytes.len(),
        };
        self.queue(CommandKind::Data, packets, false);
    }

    pub(crate) fn prepare(&mut self, statement: &Statement) {
        self.slot_mut(statement);
        let packets = self.frame(|out| {
            out.push(COM_STMT_PREPARE);
            let start = out.len();
            statement.put_text(out, |_, out| out.push(b'?'));
            trim_end(out, start);
        });
        let command = self.queue(CommandKind::Prepare, packets, false);
        command.statement = statement.id();
        command.placeholders = statement.value_indexes().count();
    }

    /// Marks a statement as no longer used: the next request closes it on the server, and another
    /// statement may reuse its number.
    pub(crate) fn close(&mut self, statement: &Statement) {
        let slot = std::mem::take(self.slot_mut(statement));
        if let PrepareState::Prepared(number) = slot.state {
            self.numbers_to_close.push(number);
        }
    }

    /// Whether a statement needs no preparation, or no further attempt at one: the server prepared or
    /// refused it, or the mode does not prepare.
    pub(crate) fn is_prepared(&self, statement: &Statement) -> bool {
        self.mode != QueryMode::Prepared
            || self
                .slots
                .get(statement.id() as usize)
                .is_some_and(|slot| slot.state != PrepareState::Unprepared)
    }

    /// The bytes of the command in flight; if there is none, those of the whole request.
    pub(crate) fn outgoing(&self) -> &[u8] {
        match (
            self.in_flight_index,
            self.commands.get(self.in_flight_index),
        ) {
            // Include the COM_STMT_CLOSE commands before it.
            (0, Some(command)) => &self.bytes[..command.packets.bytes.end],
            (_, Some(command)) => &self.bytes[command.packets.bytes.clone()],
            (_, None) => &self.bytes,
        }
    }

    /// Like [`Codec::outgoing`], without the preceding bytes; after the last reply, the bytes of the
    /// last command.
    pub(crate) fn command(&self) -> &[u8] {
        let command = self
            .commands
            .get(self.in_flight_index)
            .or(self.commands.last());
        command.map_or(&[], |command| &self.bytes[command.packets.bytes.clone()])
    }

    /// Number of the request's round trips in which a statement is executed.
    pub(crate) fn execution_round_trips(&self) -> usize {
        let is_execution =
            |command: &&Command| !matches!(command.kind, CommandKind::Prepare | CommandKind::Data);
        self.commands.iter().filter(is_execution).count()
    }

    /// Expects the reply to the command in flight. Returns true if it has arrived already.
    pub(crate) fn expect(&self, reply: &mut Reply) -> bool {
        let Some(command) = self.commands.get(self.in_flight_index) else {
            return true;
        };
        let format = match command.kind {
            CommandKind::Prepare => ReplyFormat::Prepared,
            CommandKind::Execute | CommandKind::ExecuteUnnumbered => ReplyFormat::Binary,
            CommandKind::Query | CommandKind::Joined | CommandKind::Data => ReplyFormat::Text,
        };
        reply.expect(
            format,
            command.packets.next_sequence,
            command.may_open_transaction,
        )
    }

    /// Processes the reply to the command in flight.
    pub(crate) fn record_reply(&mut self, reply: &mut Reply) -> Result<AfterReply, Violation> {
        let Some(command) = self.commands.get(self.in_flight_index) else {
            return Ok(AfterReply::Done);
        };
        if reply.requested_data_sequence().is_some() {
            return self.send_data(reply);
        }
        if self.mode == QueryMode::Extended && command.kind == CommandKind::Execute {
            // In extended mode each execution prepares its statement anew, so this one is not needed again.
            let number = &self.bytes[command.packets.bytes.start + STATEMENT_NUMBER_OFFSET..];
            self.numbers_to_close
                .extend(number.first_chunk().copied().map(u32::from_le_bytes));
        }
        let statement = command.statement;
        match (command.kind, reply.error_number()) {
            (CommandKind::Prepare, 0) => self.record_prepared(reply)?,
            (CommandKind::Prepare, UNSUPPORTED_PS) => {
                reply.clear_error();
                self.fall_back_to_text(statement);
            }
            (CommandKind::Prepare, _) => {
                self.slots[statement as usize].state = PrepareState::Refused
            }
            (CommandKind::Execute | CommandKind::ExecuteUnnumbered, UNKNOWN_STATEMENT) => {
                self.slots[statement as usize] = StatementSlot::default();
            }
            _ => {}
        }
        self.in_flight_index += 1;
        let is_data = |command: &Command| command.kind == CommandKind::Data;
        if self.commands.get(self.in_flight_index).is_some_and(is_data) {
            // The server did not request the data: skip it.
            self.in_flight_index += 1;
        }
        let has_more = self.in_flight_index < self.commands.len();
        Ok(if has_more && reply.error_number() == 0 { AfterReply::Send } else { AfterReply::Done })
    }
}
