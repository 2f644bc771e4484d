//! Arms the multishot receives of the ring, and translates completions into events. A receive that ended for lack of
//! a buffer is armed again.

use super::*;

impl Ring {
    /// Starts a multishot receive on a connection: a recvmsg over TCP, for the timestamps, and otherwise a
    /// plain receive, which takes the kernel less work for each reply.
    pub(super) fn arm_receive(&mut self, slot: Slot) -> io::Result<()> {
        let Some(fd) = self.fd(slot) else {
            return Ok(());
        };
        let is_registered = slot < self.registered_slots;
        let header = &raw const **self.receive_header;
        let receive = if self.slots[slot as usize].is_tcp {
            if is_registered {
                opcode::RecvMsgMulti::new(Fixed(slot), header, BUFFER_GROUP).build()
            } else {
                opcode::RecvMsgMulti::new(Fd(fd), header, BUFFER_GROUP).build()
            }
        } else if is_registered {
            opcode::RecvMulti::new(Fixed(slot), BUFFER_GROUP).build()
        } else {
            opcode::RecvMulti::new(Fd(fd), BUFFER_GROUP).build()
        };
        let entry = receive.user_data(self.tag(Op::Receive, slot));
        self.push(&entry)
    }

    /// Arms the receives again that ended for lack of a buffer. Call this once per iteration, after
    /// [`Buffers::publish`]: before that, no buffer can be free again. Do not call it while completions are
    /// processed, which might then never end: a receive that is armed when replies already wait fails at
    /// once, and with more such connections than submission queue entries, each full queue would add one
    /// failure for each that was processed.
    pub(super) fn arm_starved(&mut self) -> io::Result<()> {
        let mut starved = std::mem::take(&mut self.starved);
        let armed = starved.drain(..).try_for_each(|(slot, generation)| {
            // If the generations differ, the connection was closed in the meantime, and perhaps reopened.
            if self.slots[slot as usize].generation & GENERATION_MASK == generation {
                self.arm_receive(slot)
            } else {
                Ok(())
            }
        });
        self.starved = starved;
        armed
    }

    /// Handles a completion. Returns the event of its connection, if there is one.
    pub(super) fn on_completion(&mut self, entry: &cqueue::Entry) -> io::Result<Option<IoEvent>> {
        let tag = entry.user_data();
        let slot = tag as u32;
        let generation = (tag >> 32) as u32 & GENERATION_MASK;
        let result = entry.result();
        let buffer = cqueue::buffer_select(entry.flags());
        let current = &self.slots[slot as usize];
        if generation != current.generation & GENERATION_MASK || current.socket.is_none() {
            if let Some(buffer) = buffer {
                self.buffers.give_back(buffer);
            }
            return Ok(None);
        }
        let event = |kind| {
            Some(IoEvent {
                slot,
                generation,
                kind,
            })
        };
        if tag >> 56 == Op::Receive as u64 {
            return self.on_receive(slot, generation, entry, buffer);
        }
        if tag >> 56 == Op::Connect as u64 {
            self.slots[slot as usize].connecting = None;
            if result < 0 {
                return Ok(event(IoEventKind::Closed(-result)));
            }
            self.arm_receive(slot)?;
            return Ok(event(IoEventKind::Opened));
        }
        Ok(self.on_send(slot, result).and_then(event))
    }

    /// Handles the completion of a receive, and arms the receive again if the kernel has ended it.
    pub(super) fn on_receive(
        &mut self,
        slot: Slot,
        generation: u32,
        entry: &cqueue::Entry,
        buffer: Option<u16>,
    ) -> io::Result<Option<IoEvent>> {
        let result = entry.result();
        if !cqueue::more(entry.flags()) {
            if result == -libc::ENOBUFS {
                self.starved.push((slot, generation));
            } else if result > 0 {
                // The kernel ended the multishot for another reason. Each such end uses a buffer, which
                // limits their number per iteration.
                self.arm_receive(slot)?;
            }
        }
        let kind = match buffer {
            Some(buffer) if result >= 0 => IoEventKind::Readable {
                buffer,
                length: result as u32,
            },
            _ if result == -libc::ENOBUFS => return Ok(None),
            Some(buffer) => {
                self.buffers.give_back(buffer);
                IoEventKind::Closed(-result)
            }
            None => IoEventKind::Closed(-result.min(0)),
        };
        Ok(Some(IoEvent {
            slot,
            generation,
            kind,
        }))
    }
}
