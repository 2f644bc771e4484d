//! The queue of a request's messages: how they are opened, sent and answered.

use super::*;

impl Codec {
    /// Begins a message of this type; the caller appends its body.
    pub(super) fn open(&mut self, kind: u8) {
        self.close_message();
        let start = self.bytes.len();
        self.bytes.resize(start + HEADER, 0);
        self.messages.push(Message {
            bytes: start..start,
            calls: self.calls.len()..self.calls.len(),
            kind,
            open: true,
        });
    }

    /// Splits the last message into packets.
    pub(super) fn close_message(&mut self) {
        if let Some(last) = self.messages.last_mut().filter(|last| last.open) {
            last.open = false;
            frame(
                &mut self.bytes,
                last.bytes.start,
                last.kind,
                self.packet_size,
            );
            last.bytes.end = self.bytes.len();
            last.calls.end = self.calls.len();
        }
    }

    /// Whether the last message is of this type and can take more.
    pub(super) fn is_open(&self, kind: u8) -> bool {
        let last = self.messages.last();
        last.is_some_and(|last| last.open && last.kind == kind)
    }

    pub(super) fn handle(&self, statement: &Statement) -> Option<i32> {
        match self.slots.get(usize::from(statement.id()))?.state {
            PrepareState::Prepared(handle) => Some(handle),
            _ => None,
        }
    }

    pub(super) fn slot(&mut self, statement: &Statement) -> &mut StatementSlot {
        let id = usize::from(statement.id());
        if self.slots.len() <= id {
            self.slots.resize_with(id + 1, StatementSlot::default);
        }
        &mut self.slots[id]
    }

    /// Makes the message in flight ready to be sent, in this transaction, and expects its reply.
    pub(crate) fn send(&mut self, reply: &mut Reply) {
        self.close_message();
        let Some(message) = self.messages.get(self.at) else {
            return;
        };
        if message.kind != kind::BULK {
            // The first packet holds all headers.
            let at = message.bytes.start + HEADER + DESCRIPTOR_AT;
            let descriptor = reply.transaction().to_le_bytes();
            self.bytes[at..at + 8].copy_from_slice(&descriptor);
        }
        let calls = &self.calls[message.calls.clone()];
        let ignored = calls.iter().take_while(|call| **call == Call::Unprepare);
        reply.expect(ignored.count());
    }

    /// Processes the reply to the message in flight. True: another one must be sent.
    pub(crate) fn record_reply(&mut self, reply: &Reply) -> bool {
        let Some(message) = self.messages.get(self.at) else {
            return false;
        };
        for (index, call) in self.calls[message.calls.clone()].iter().enumerate() {
            match *call {
                Call::Prepare(id, _) => {
                    self.slots[usize::from(id)].state = match reply.returned_by(index) {
                        Some(handle) => PrepareState::Prepared(handle),
                        None => PrepareState::Refused,
                    };
                }
                Call::Execute(id) if reply.error_number() == UNKNOWN_HANDLE => {
                    self.slots[usize::from(id)] = StatementSlot::default();
                }
                _ => {}
            }
        }
        self.at += 1;
        !reply.is_failed() && self.at < self.messages.len()
    }

    /// The bytes of the message in flight; after the last reply, of the last message.
    pub(crate) fn outgoing(&self) -> &[u8] {
        let message = self.messages.get(self.at).or(self.messages.last());
        message.map_or(&[], |message| &self.bytes[message.bytes.clone()])
    }

    /// Whether the message in flight is a text or a transaction request that commits.
    pub(crate) fn is_commit(&self) -> bool {
        let message = self.messages.get(self.at).or(self.messages.last());
        message.is_some_and(|message| {
            let bytes = &self.bytes[message.bytes.clone()];
            match message.kind {
                kind::BATCH => text::commits(bytes, self.packet_size),
                kind::TRANSACTION => is_commit(bytes),
                _ => false,
            }
        })
    }

    /// Messages of the request, each a round trip.
    pub(crate) fn messages(&self) -> usize {
        self.messages.len()
    }
}
