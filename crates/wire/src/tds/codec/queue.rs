//! The queue of a request's messages: opens them, sends them one at a time, and processes their replies.

use super::*;

impl Codec {
    /// Begins a message; the caller appends its body.
    pub(super) fn open_message(&mut self, packet_type: u8) {
        self.close_message();
        let start = self.bytes.len();
        self.bytes.resize(start + HEADER_BYTES, 0);
        self.messages.push(Message {
            bytes: start..start,
            calls: self.calls.len()..self.calls.len(),
            packet_type,
            is_open: true,
        });
    }

    /// Completes the last message, if it is open: splits it into packets.
    pub(super) fn close_message(&mut self) {
        if let Some(last) = self.messages.last_mut().filter(|last| last.is_open) {
            last.is_open = false;
            frame(
                &mut self.bytes,
                last.bytes.start,
                last.packet_type,
                self.packet_size,
            );
            last.bytes.end = self.bytes.len();
            last.calls.end = self.calls.len();
        }
    }

    /// Whether the last message has this type and more can be added to it.
    pub(super) fn has_open_message(&self, packet_type: u8) -> bool {
        let last = self.messages.last();
        last.is_some_and(|last| last.is_open && last.packet_type == packet_type)
    }

    pub(super) fn slot_mut(&mut self, statement: &Statement) -> &mut StatementSlot {
        let id = statement.id() as usize;
        if self.slots.len() <= id {
            self.slots.resize_with(id + 1, StatementSlot::default);
        }
        &mut self.slots[id]
    }

    /// Makes the next message ready to be sent, with the descriptor of the transaction that `reply` knows,
    /// and makes `reply` expect the server's reply to the message.
    pub(crate) fn ready_next_message(&mut self, reply: &mut Reply) {
        self.close_message();
        let Some(message) = self.messages.get(self.in_flight_index) else {
            return;
        };
        if message.packet_type != packet_type::BULK {
            // ALL_HEADERS lies in the first packet.
            let offset = message.bytes.start + HEADER_BYTES + DESCRIPTOR_OFFSET;
            let descriptor = reply.transaction().to_le_bytes();
            self.bytes[offset..offset + 8].copy_from_slice(&descriptor);
        }
        let calls = &self.calls[message.calls.clone()];
        let unprepares = calls.iter().take_while(|call| **call == Call::Unprepare);
        reply.expect(unprepares.count());
    }

    /// Processes the reply to the message in flight. Returns whether another message must be sent.
    pub(crate) fn record_reply(&mut self, reply: &Reply) -> bool {
        let Some(message) = self.messages.get(self.in_flight_index) else {
            return false;
        };
        for (index, call) in self.calls[message.calls.clone()].iter().enumerate() {
            match *call {
                Call::Prepare { id } => {
                    self.slots[id as usize].state = match reply.int_returned_by(index) {
                        Some(handle) => PrepareState::Prepared(handle),
                        None => PrepareState::Refused,
                    };
                }
                Call::Execute { id, .. } if reply.error_number() == UNKNOWN_HANDLE_ERROR => {
                    self.slots[id as usize] = StatementSlot::default();
                }
                _ => {}
            }
        }
        self.in_flight_index += 1;
        !reply.is_failed() && self.in_flight_index < self.messages.len()
    }

    /// The bytes of the message in flight; after the last reply, those of the last message.
    pub(crate) fn outgoing(&self) -> &[u8] {
        let message = self.message_in_flight();
        message.map_or(&[], |message| &self.bytes[message.bytes.clone()])
    }

    fn message_in_flight(&self) -> Option<&Message> {
        let message = self.messages.get(self.in_flight_index);
        message.or(self.messages.last())
    }

    pub(crate) fn is_commit(&self) -> bool {
        self.message_in_flight().is_some_and(|message| {
            message.packet_type == packet_type::BATCH
                && text::batch_commits(&self.bytes[message.bytes.clone()], self.packet_size)
        })
    }

    /// Number of messages of the request, each of which takes a round trip.
    pub(crate) fn message_count(&self) -> usize {
        self.messages.len()
    }
}
