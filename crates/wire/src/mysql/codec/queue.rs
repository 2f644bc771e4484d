//! The queue of a request's commands, and the changes to them when the server assigns a statement number.

use super::*;

impl Codec {
    /// Handles the server's request for a file: only a request with data can answer it.
    pub(super) fn send_data(&mut self, reply: &mut Reply) -> Result<AfterReply, Violation> {
        match self.commands.get(self.in_flight_index + 1) {
            Some(data) if data.kind == CommandKind::Data => {
                reply.data_sent(data.sequence);
                self.in_flight_index += 1;
                Ok(AfterReply::Data)
            }
            _ => Err(Violation::LocalInfile),
        }
    }

    pub(super) fn record_prepared(
        &mut self,
        command: &Command,
        reply: &Reply,
    ) -> Result<(), Violation> {
        let prepared = reply.prepared_id();
        let (parsed, reported) = (command.placeholders, usize::from(prepared.parameters));
        if parsed != reported {
            return Err(Violation::Placeholders { parsed, reported });
        }
        if self.mode == QueryMode::Prepared {
            let slot = &mut self.slots[command.statement as usize];
            slot.state = PrepareState::Prepared(prepared.id);
        }
        for later in &mut self.commands[self.in_flight_index + 1..] {
            if later.statement != command.statement {
                continue;
            }
            if later.kind == CommandKind::Prepare {
                break;
            }
            if later.kind == CommandKind::Execute(true) {
                let at = later.bytes.start + STATEMENT_NUMBER_OFFSET;
                self.bytes[at..at + 4].copy_from_slice(&prepared.id.to_le_bytes());
                later.kind = CommandKind::Execute(false);
            }
        }
        Ok(())
    }

    /// Switches a statement that cannot be prepared, and its queued executions, to text.
    pub(super) fn fall_back_to_text(&mut self, command: &Command) {
        self.slots[command.statement as usize].state = PrepareState::SentAsText;
        for later in &mut self.commands[self.in_flight_index + 1..] {
            if later.statement == command.statement
                && let Some((bytes, sequence)) = later.text.take()
            {
                later.kind = CommandKind::Query;
                (later.bytes, later.sequence) = (bytes, sequence);
            }
        }
    }

    pub(super) fn slot_mut(&mut self, statement: &Statement) -> &mut StatementSlot {
        let id = statement.id() as usize;
        if self.slots.len() <= id {
            self.slots.resize_with(id + 1, StatementSlot::default);
        }
        &mut self.slots[id]
    }

    pub(super) fn is_prepare_queued(&self, statement: &Statement) -> bool {
        self.commands.iter().any(|command| {
            command.kind == CommandKind::Prepare && command.statement == statement.id()
        })
    }

    /// Queues a command whose bytes are already appended; returns it, so that the caller can set its
    /// statement.
    pub(super) fn queue(
        &mut self,
        kind: CommandKind,
        bytes: Range<usize>,
        sequence: u8,
        may_open_transaction: bool,
    ) -> &mut Command {
        self.commands.push(Command {
            kind,
            bytes,
            sequence,
            statement: 0,
            placeholders: 0,
            may_open_transaction,
            text: None,
        });
        self.commands.last_mut().expect("it was just pushed")
    }

    pub(super) fn frame(&mut self, body: impl FnOnce(&Codec, &mut Vec<u8>)) -> (Range<usize>, u8) {
        let mut bytes = std::mem::take(&mut self.bytes);
        let start = bytes.len();
        let sequence = frame(&mut bytes, 0, |out| body(self, out));
        self.bytes = bytes;
        (start..self.bytes.len(), sequence)
    }

    pub(super) fn frame_text<'a>(
        &mut self,
        batch: impl Iterator<Item = (&'a Statement, &'a [Value<'a>])>,
    ) -> (Range<usize>, u8) {
        self.frame(|codec, out| {
            out.push(COM_QUERY);
            for (index, (statement, values)) in batch.enumerate() {
                if index > 0 {
                    // The text before may end in a comment, so begin a new line.
                    out.extend_from_slice(b"\n;");
                }
                bind::put_statement_text(statement, values, codec.no_backslash_escapes, out);
            }
        })
    }

    pub(super) fn queue_execute(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        number: Option<u32>,
    ) {
        let mut types = std::mem::take(&mut self.type_buffer);
        let last_types = &mut self.slot_mut(statement).types;
        let is_changed = update_types(statement, values, last_types, &mut types);
        if is_changed {
            last_types.clear();
            last_types.extend_from_slice(&types);
        }
        let (bytes, sequence) = self.frame(|_, out| {
            out.push(COM_STMT_EXECUTE);
            out.extend_from_slice(&number.unwrap_or(0).to_le_bytes());
            // Cursor type none, iteration count 1.
            out.extend_from_slice(&[0, 1, 0, 0, 0]);
            // A statement that was not executed yet always needs its types.
            put_values(
                statement,
                values,
                (is_changed || number.is_none()).then_some(&types),
                out,
            );
        });
        self.type_buffer = types;
        let may_open_transaction = may_leave_transaction_open(statement.bytes());
        let command = self.queue(
            CommandKind::Execute(number.is_none()),
            bytes,
            sequence,
            may_open_transaction,
        );
        command.statement = statement.id();
    }
}
