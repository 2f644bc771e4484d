//! The queue of a request's commands, and the changes to them when the server assigns a statement number.

use super::*;

impl Codec {
    /// Handles the server's request for a file: only a request with data can answer it.
    pub(super) fn send_data(&mut self, reply: &mut Reply) -> Result<AfterReply, Violation> {
        match self.commands.get(self.in_flight_index + 1) {
            Some(data) if data.kind == CommandKind::Data => {
                reply.data_sent(data.packets.next_sequence);
                self.in_flight_index += 1;
                Ok(AfterReply::Data)
            }
            _ => Err(Violation::LocalInfile),
        }
    }

    /// Gives the number of the statement that was just prepared to its queued executions.
    pub(super) fn record_prepared(&mut self, reply: &Reply) -> Result<(), Violation> {
        let command = &self.commands[self.in_flight_index];
        let (statement, prepared) = (command.statement, reply.prepared_id());
        let (parsed, reported) = (command.placeholders, usize::from(prepared.parameters));
        if parsed != reported {
            return Err(Violation::Placeholders { parsed, reported });
        }
        if self.mode == QueryMode::Prepared {
            self.slots[statement as usize].state = PrepareState::Prepared(prepared.id);
        }
        for later in &mut self.commands[self.in_flight_index + 1..] {
            if later.statement != statement {
                continue;
            }
            if later.kind == CommandKind::Prepare {
                break;
            }
            if later.kind == CommandKind::ExecuteUnnumbered {
                let at = later.packets.bytes.start + STATEMENT_NUMBER_OFFSET;
                self.bytes[at..at + 4].copy_from_slice(&prepared.id.to_le_bytes());
                later.kind = CommandKind::Execute;
            }
        }
        Ok(())
    }

    /// Switches a statement that cannot be prepared, and its queued executions, to text.
    pub(super) fn fall_back_to_text(&mut self, statement: u32) {
        self.slots[statement as usize].state = PrepareState::SentAsText;
        for later in &mut self.commands[self.in_flight_index + 1..] {
            if later.statement == statement
                && let Some(packets) = later.text.take()
            {
                later.kind = CommandKind::Query;
                later.packets = packets;
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
        packets: Packets,
        may_open_transaction: bool,
    ) -> &mut Command {
        self.commands.push(Command {
            kind,
            packets,
            statement: 0,
            placeholders: 0,
            may_open_transaction,
            text: None,
        });
        self.commands.last_mut().expect("it was just pushed")
    }

    /// Appends the packets of a command, whose payload `body` appends.
    pub(super) fn frame(&mut self, body: impl FnOnce(&mut Vec<u8>)) -> Packets {
        let start = self.bytes.len();
        let next_sequence = frame(&mut self.bytes, 0, body);
        Packets {
            bytes: start..self.bytes.len(),
            next_sequence,
        }
    }

    pub(super) fn frame_text(&mut self, statement: &Statement, values: &[Value<'_>]) -> Packets {
        let no_backslash_escapes = self.no_backslash_escapes;
        self.frame(|out| {
            out.push(COM_QUERY);
            bind::put_statement_text(statement, values, no_backslash_escapes, out);
        })
    }

    /// Queues an execution; `number`: the server's number of the statement, if it is known.
    pub(super) fn queue_execute(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        number: Option<u32>,
    ) {
        let types = &mut self.slots[statement.id() as usize].types;
        // A statement that was not executed yet always needs its types.
        let sends_types = update_types(statement, values, types) || number.is_none();
        let start = self.bytes.len();
        let next_sequence = frame(&mut self.bytes, 0, |out| {
            let [a, b, c, d] = number.unwrap_or(0).to_le_bytes();
            // Cursor type none, iteration count 1.
            out.extend_from_slice(&[COM_STMT_EXECUTE, a, b, c, d, 0, 1, 0, 0, 0]);
            put_values(statement, values, sends_types.then_some(types), out);
        });
        let packets = Packets {
            bytes: start..self.bytes.len(),
            next_sequence,
        };
        let kind = match number {
            Some(_) => CommandKind::Execute,
            None => CommandKind::ExecuteUnnumbered,
        };
        let command = self.queue(kind, packets, may_leave_transaction_open(statement));
        command.statement = statement.id();
    }
}

/// Whether a statement may leave a transaction open even if it fails: a procedure can begin one.
pub(super) fn may_leave_transaction_open(statement: &Statement) -> bool {
    statement.first_word() == FirstWord::Call
}
