//! Statements to commands, for a connection that is logged in.
//!
//! In: statements and values. Out: a queue of commands, of which one is sent at a time: the server
//! numbers a statement when it prepares it, and skips nothing after an error. Must never: wait for
//! anything, or allocate once its buffers have grown to what the workload asks.
//! Source: MySQL documentation, "Text Protocol" and "Prepared Statements".

use super::bind::{self, may_open, put_values, renew_types, trim_end};
use super::error::{UNKNOWN_STATEMENT, UNSUPPORTED_PS};
use super::packet::{HEADER, MAX_PAYLOAD, frame, lengthen};
use super::reply::{Reply, Shape};
use crate::statement::{QueryMode, Statement, Value};
use crate::violation::Violation;
use std::ops::Range;

const COM_QUERY: u8 = 3;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;

/// Ends the session.
pub(crate) const QUIT: &[u8] = b"\x01\0\0\0\x01";

/// Where a statement's number stands in COM_STMT_EXECUTE: behind header and command.
const NUMBER_AT: usize = HEADER + 1;

/// What a connection knows of a statement.
#[derive(Clone, Debug, Default)]
struct Slot {
    state: State,
    /// Types of the values that were sent with it last.
    types: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// It was not prepared.
    #[default]
    Unknown,
    /// The server refused to prepare it.
    Refused,
    /// It cannot be prepared, and is sent as text.
    Text,
    /// The server's number for it.
    Numbered(u32),
}

/// One command of a request.
#[derive(Clone, Debug)]
struct Command {
    what: What,
    /// Its packets, of the queue's bytes.
    bytes: Range<usize>,
    /// Number that the server's next packet bears.
    sequence: u8,
    /// Statement's number in its program.
    statement: u16,
    /// Placeholders of the statement.
    placeholders: usize,
    /// It may open a transaction though it fails.
    risky: bool,
    /// The same as text, for a server that cannot prepare it.
    text: Option<(Range<usize>, u8)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Query,
    /// Text that more statements can be added to.
    Joined,
    Prepare,
    /// True: its number is not known yet.
    Execute(bool),
    /// What the server asks for in the command before it.
    Data,
}

/// What comes after a command's reply.
pub(crate) enum Next {
    /// The request is done.
    Done,
    /// The next command is to be sent.
    Send,
    /// The data that the server asked for are to be sent.
    Data,
}

/// What a connection remembers between requests, and the request it is at.
#[derive(Debug)]
pub struct Codec {
    mode: QueryMode,
    slots: Vec<Slot>,
    bytes: Vec<u8>,
    commands: Vec<Command>,
    /// The command that is under way.
    at: usize,
    /// Statements that the server may forget, before the next request.
    closing: Vec<u32>,
    /// Room for the types of an execution, kept so that none is allocated.
    types: Vec<u8>,
    no_backslash_escapes: bool,
}

impl Codec {
    /// A codec for a fresh connection.
    pub fn new(mode: QueryMode) -> Self {
        Codec {
            mode,
            slots: Vec::new(),
            bytes: Vec::new(),
            commands: Vec::new(),
            at: 0,
            closing: Vec::new(),
            types: Vec::new(),
            no_backslash_escapes: false,
        }
    }

    /// How statements are sent.
    pub fn mode(&self) -> QueryMode {
        self.mode
    }

    /// Forgets what the old connection had prepared.
    pub(crate) fn reset(&mut self) {
        self.slots.clear();
        self.closing.clear();
        self.clear();
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.commands.clear();
        self.at = 0;
    }

    /// Begins a request: what was queued and not sent is forgotten.
    pub(crate) fn begin(&mut self, reply: &Reply) {
        self.clear();
        self.no_backslash_escapes = reply.no_backslash_escapes();
        for number in self.closing.drain(..) {
            // It has no reply, so it goes along with the next command.
            frame(&mut self.bytes, 0, |out| {
                out.push(COM_STMT_CLOSE);
                out.extend_from_slice(&number.to_le_bytes());
            });
        }
    }

    /// Queues one execution.
    pub(crate) fn execute(&mut self, statement: &Statement, values: &[Value<'_>]) {
        debug_assert_eq!(values.len(), statement.parameters(), "{}", statement.sql());
        if statement.is_joined() {
            return self.join(statement, values);
        }
        let state = self.slot(statement).state;
        match (self.mode, state) {
            (QueryMode::Simple, _) | (_, State::Text) => {
                self.text(std::iter::once((statement, values)));
            }
            (QueryMode::Prepared, State::Numbered(number)) => {
                self.bound(statement, values, Some(number));
            }
            _ => {
                if self.mode == QueryMode::Extended || !self.is_queued(statement) {
                    self.prepare(statement);
                }
                self.bound(statement, values, None);
                let text = self.frame_text(std::iter::once((statement, values)));
                if let Some(command) = self.commands.last_mut() {
                    command.text = Some(text);
                }
            }
        }
    }

    /// Adds an execution to the text that is the request's last command, or begins one.
    fn join(&mut self, statement: &Statement, values: &[Value<'_>]) {
        let last = self.commands.last();
        let begun = last.filter(|last| last.what == What::Joined);
        if let Some(range) = begun.map(|last| last.bytes.clone()) {
            self.bytes.extend_from_slice(b"\n;");
            bind::filled(
                statement,
                values,
                self.no_backslash_escapes,
                &mut self.bytes,
            );
            if lengthen(&mut self.bytes, range.start) {
                let end = self.bytes.len();
                if let Some(last) = self.commands.last_mut() {
                    last.bytes.end = end;
                }
                return;
            }
            self.bytes.truncate(range.end);
        }
        let (bytes, sequence) = self.frame_text(std::iter::once((statement, values)));
        self.queue(What::Joined, bytes, sequence, true);
    }

    /// Queues several executions as one text; the server does not go on after an error.
    pub(crate) fn text<'a>(
        &mut self,
        batch: impl Iterator<Item = (&'a Statement, &'a [Value<'a>])>,
    ) {
        let mut risky = false;
        let batch = batch.inspect(|(statement, _)| risky |= may_open(statement.bytes()));
        let (bytes, sequence) = self.frame_text(batch);
        self.queue(What::Query, bytes, sequence, risky);
    }

    /// Queues text as it stands.
    pub(crate) fn query(&mut self, sql: &[u8]) {
        let (bytes, sequence) = self.frame(|_, out| {
            out.push(COM_QUERY);
            out.extend_from_slice(sql);
        });
        self.queue(What::Query, bytes, sequence, true);
    }

    /// Queues the content of the file that the command before it asks for.
    pub(crate) fn data(&mut self, data: &[u8]) {
        let start = self.bytes.len();
        // Behind the command and the server's question.
        let mut sequence = 2;
        for chunk in data.chunks(MAX_PAYLOAD - 1) {
            sequence = frame(&mut self.bytes, sequence, |out| {
                out.extend_from_slice(chunk);
            });
        }
        sequence = frame(&mut self.bytes, sequence, |_| {});
        self.queue(What::Data, start..self.bytes.len(), sequence, false);
    }

    /// Queues the preparing of a statement.
    pub(crate) fn prepare(&mut self, statement: &Statement) {
        self.slot(statement);
        let (bytes, sequence) = self.frame(|_, out| {
            out.push(COM_STMT_PREPARE);
            let start = out.len();
            for (text, value) in statement.parts() {
                out.extend_from_slice(text);
                if value.is_some() {
                    out.push(b'?');
                }
            }
            trim_end(out, start);
        });
        let command = self.queue(What::Prepare, bytes, sequence, false);
        command.statement = statement.id();
        command.placeholders = statement.slots().count();
    }

    /// A statement is not used any more: the server may forget it. Its number may be another's then.
    pub(crate) fn close(&mut self, statement: &Statement) {
        let slot = std::mem::take(self.slot(statement));
        if let State::Numbered(number) = slot.state {
            self.closing.push(number);
        }
    }

    /// Whether a statement needs no preparing on this connection: it was tried, or the mode has
    /// none.
    pub(crate) fn knows(&self, statement: &Statement) -> bool {
        self.mode != QueryMode::Prepared
            || self
                .slots
                .get(usize::from(statement.id()))
                .is_some_and(|slot| slot.state != State::Unknown)
    }

    /// The bytes of the command that is under way.
    pub(crate) fn outgoing(&self) -> &[u8] {
        match (self.at, self.commands.get(self.at)) {
            // With what was to go in front of it.
            (0, Some(command)) => &self.bytes[..command.bytes.end],
            (_, Some(command)) => &self.bytes[command.bytes.clone()],
            (_, None) => &self.bytes,
        }
    }

    /// The same without what goes in front of it; after the last reply, of the last one.
    pub(crate) fn command(&self) -> &[u8] {
        let command = self.commands.get(self.at).or(self.commands.last());
        command.map_or(&[], |command| &self.bytes[command.bytes.clone()])
    }

    /// Tells the reply what is expected. True: the reply is there already.
    pub(crate) fn expect(&self, reply: &mut Reply) -> bool {
        let Some(command) = self.commands.get(self.at) else {
            return true;
        };
        let shape = match command.what {
            What::Prepare => Shape::Prepared,
            What::Execute(_) => Shape::Binary,
            What::Query | What::Joined | What::Data => Shape::Text,
        };
        reply.expect(shape, command.sequence, command.risky)
    }

    /// Takes the reply to the command under way.
    ///
    /// # Errors
    /// The reply does not go with the command.
    pub(crate) fn answered(&mut self, reply: &mut Reply) -> Result<Next, Violation> {
        let Some(command) = self.commands.get(self.at).cloned() else {
            return Ok(Next::Done);
        };
        if reply.data_wanted().is_some() {
            return self.send_data(reply);
        }
        let number = reply.error_number();
        match (command.what, number) {
            (What::Prepare, 0) => self.numbered(&command, reply)?,
            (What::Prepare, UNSUPPORTED_PS) => {
                reply.forgive();
                self.fall_back(&command);
            }
            (What::Prepare, _) => self.slots[usize::from(command.statement)].state = State::Refused,
            (What::Execute(_), UNKNOWN_STATEMENT) => {
                self.slots[usize::from(command.statement)] = Slot::default();
            }
            _ => {}
        }
        if self.mode == QueryMode::Extended && command.what == What::Execute(false) {
            let number = &self.bytes[command.bytes.start + NUMBER_AT..];
            self.closing
                .extend(number.first_chunk().copied().map(u32::from_le_bytes));
        }
        self.at += 1;
        let skipped = |command: &&Command| command.what == What::Data;
        if self.commands.get(self.at).filter(skipped).is_some() {
            // The server did not ask for it.
            self.at += 1;
        }
        Ok(
            match reply.error_number() == 0 && self.at < self.commands.len() {
                true => Next::Send,
                false => Next::Done,
            },
        )
    }
}

impl Codec {
    /// The server asked for a file: only a request that brings its content has one.
    fn send_data(&mut self, reply: &mut Reply) -> Result<Next, Violation> {
        match self.commands.get(self.at + 1) {
            Some(data) if data.what == What::Data => {
                reply.data_sent(data.sequence);
                self.at += 1;
                Ok(Next::Data)
            }
            _ => Err(Violation::LocalInfile),
        }
    }

    /// The server prepared a statement.
    fn numbered(&mut self, command: &Command, reply: &Reply) -> Result<(), Violation> {
        let numbered = reply.numbered();
        let (found, counted) = (command.placeholders, usize::from(numbered.parameters));
        if found != counted {
            return Err(Violation::Placeholders { found, counted });
        }
        if self.mode == QueryMode::Prepared {
            let slot = &mut self.slots[usize::from(command.statement)];
            slot.state = State::Numbered(numbered.id);
        }
        for later in &mut self.commands[self.at + 1..] {
            if later.statement != command.statement {
                continue;
            }
            if later.what == What::Prepare {
                break;
            }
            if later.what == What::Execute(true) {
                let at = later.bytes.start + NUMBER_AT;
                self.bytes[at..at + 4].copy_from_slice(&numbered.id.to_le_bytes());
                later.what = What::Execute(false);
            }
        }
        Ok(())
    }

    /// A statement cannot be prepared: its executions go as text.
    fn fall_back(&mut self, command: &Command) {
        self.slots[usize::from(command.statement)].state = State::Text;
        for later in &mut self.commands[self.at + 1..] {
            if later.statement == command.statement
                && let Some((bytes, sequence)) = later.text.take()
            {
                later.what = What::Query;
                (later.bytes, later.sequence) = (bytes, sequence);
            }
        }
    }

    fn slot(&mut self, statement: &Statement) -> &mut Slot {
        let id = usize::from(statement.id());
        if self.slots.len() <= id {
            self.slots.resize_with(id + 1, Slot::default);
        }
        &mut self.slots[id]
    }

    /// Whether the request prepares this statement already.
    fn is_queued(&self, statement: &Statement) -> bool {
        self.commands
            .iter()
            .any(|command| command.what == What::Prepare && command.statement == statement.id())
    }

    /// Queues a command whose bytes are there; gives it, to say of which statement it is.
    fn queue(
        &mut self,
        what: What,
        bytes: Range<usize>,
        sequence: u8,
        risky: bool,
    ) -> &mut Command {
        self.commands.push(Command {
            what,
            bytes,
            sequence,
            statement: 0,
            placeholders: 0,
            risky,
            text: None,
        });
        self.commands.last_mut().expect("it was just pushed")
    }

    fn frame(&mut self, body: impl FnOnce(&Codec, &mut Vec<u8>)) -> (Range<usize>, u8) {
        let mut bytes = std::mem::take(&mut self.bytes);
        let start = bytes.len();
        let sequence = frame(&mut bytes, 0, |out| body(self, out));
        self.bytes = bytes;
        (start..self.bytes.len(), sequence)
    }

    fn frame_text<'a>(
        &mut self,
        batch: impl Iterator<Item = (&'a Statement, &'a [Value<'a>])>,
    ) -> (Range<usize>, u8) {
        self.frame(|codec, out| {
            out.push(COM_QUERY);
            for (place, (statement, values)) in batch.enumerate() {
                if place > 0 {
                    // On a line of its own: the text before may end in a comment.
                    out.extend_from_slice(b"\n;");
                }
                bind::filled(statement, values, codec.no_backslash_escapes, out);
            }
        })
    }

    /// Queues an execution of a prepared statement.
    fn bound(&mut self, statement: &Statement, values: &[Value<'_>], number: Option<u32>) {
        let mut types = std::mem::take(&mut self.types);
        let known = &mut self.slot(statement).types;
        let fresh = renew_types(statement, values, known, &mut types);
        if fresh {
            known.clear();
            known.extend_from_slice(&types);
        }
        let (bytes, sequence) = self.frame(|_, out| {
            out.push(COM_STMT_EXECUTE);
            out.extend_from_slice(&number.unwrap_or(0).to_le_bytes());
            // No cursor, one iteration.
            out.extend_from_slice(&[0, 1, 0, 0, 0]);
            // In a connection that does not know it yet the types are always told.
            put_values(
                statement,
                values,
                (fresh || number.is_none()).then_some(&types),
                out,
            );
        });
        self.types = types;
        let risky = may_open(statement.bytes());
        let command = self.queue(What::Execute(number.is_none()), bytes, sequence, risky);
        command.statement = statement.id();
    }
}
