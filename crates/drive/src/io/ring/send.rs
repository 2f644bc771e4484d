//! Submits the sends of the ring, and handles their completions.
//!
//! In: bytes queued in a connection. Out: entries in the submission queue; closures that failed sends report.
//! Must never: touch bytes that the kernel may still read.

use super::{Op, Ring, SendState};
use crate::io::{IoEventKind, Slot};
use io_uring::types::{Fd, Fixed};
use io_uring::{opcode, squeue};
use std::io;

/// A request up to this size fits into an empty socket buffer, so that its completion need not be awaited.
const SMALL_REQUEST_MAX_BYTES: usize = 16 * 1024;

impl Ring {
    /// Puts a send for each slot in `queued` into the submission queue.
    pub(super) fn push_sends(&mut self) -> io::Result<()> {
        let mut queued = std::mem::take(&mut self.queued);
        let pushed = queued
            .drain(..)
            .try_for_each(|(slot, request_timestamp)| self.push_send(slot, request_timestamp));
        self.queued = queued;
        pushed
    }

    /// Puts the send of a slot's bytes into the submission queue.
    pub(super) fn push_send(&mut self, slot: Slot, request_timestamp: bool) -> io::Result<()> {
        let tag = self.tag(Op::Send, slot);
        // `None` if the slot has a registered file.
        let unregistered = if slot < self.registered_slots { None } else { self.fd(slot) };
        let connection = &mut self.slots[slot as usize];
        let (start, length) = (connection.out.as_mut_ptr(), connection.out.len());
        let is_awaited =
            length > SMALL_REQUEST_MAX_BYTES || std::mem::take(&mut connection.is_stalled);
        let mut send_flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        let mut entry_flags = squeue::Flags::empty();
        if is_awaited {
            connection.state = SendState::Sending;
        } else {
            // With MSG_DONTWAIT, the send ends at once, even if the socket does not accept all bytes, and the
            // kernel keeps no pointer to them.
            send_flags |= libc::MSG_DONTWAIT;
            entry_flags = squeue::Flags::SKIP_SUCCESS;
            connection.state = SendState::Free;
        }
        // Sockets other than TCP refuse a timestamp request, and the timestamp of a large send is useless.
        let has_timestamp_request = request_timestamp && connection.is_tcp && !is_awaited;
        let entry = if has_timestamp_request {
            let header = self.timestamped_message.header_for(start, length);
            let send = match unregistered {
                None => opcode::SendMsg::new(Fixed(slot), header),
                Some(fd) => opcode::SendMsg::new(Fd(fd), header),
            };
            send.flags(send_flags as u32).build()
        } else {
            let send = match unregistered {
                None => opcode::Send::new(Fixed(slot), start, length as u32),
                Some(fd) => opcode::Send::new(Fd(fd), start, length as u32),
            };
            send.flags(send_flags).build()
        };
        self.push(&entry.flags(entry_flags).user_data(tag))?;
        self.batch.push(slot);
        if has_timestamp_request {
            // All sends with a timestamp request share one header: submit this one before the header is used
            // again.
            self.note_submission();
            self.ring.submit()?;
        }
        Ok(())
    }

    /// Handles the completion of a send, which arrives only if the send was awaited or not fully accepted.
    /// The bytes are still in `out`: an awaited send keeps them, and any other completes in the iteration
    /// that submitted it.
    pub(super) fn on_send(&mut self, slot: Slot, result: i32) -> Option<IoEventKind> {
        if result < 0 && result != -libc::EAGAIN {
            return Some(IoEventKind::Closed(-result));
        }
        let connection = &mut self.slots[slot as usize];
        let sent = (result.max(0) as usize).min(connection.out.len());
        connection.out.drain(..sent);
        connection.is_stalled = !connection.out.is_empty();
        connection.out.append(&mut connection.next_out);
        if connection.out.is_empty() {
            connection.state = SendState::Free;
        } else {
            connection.state = SendState::Queued;
            self.queued.push((slot, false));
        }
        None
    }
}
