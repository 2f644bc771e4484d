//! Packets of TDS, and the numbers and texts inside messages.
//!
//! In: payloads to frame, bytes to read. Out: packets, payloads, values. Must never: panic on hostile
//! bytes, or trust a length before its bytes have arrived.
//! Source: MS-TDS 2.2.3 (packets) and 2.2.5 (grammar).

use crate::violation::Violation;

/// Length of a packet's header in bytes.
pub(crate) const HEADER: usize = 8;
/// The longest packet that the protocol allows, in bytes.
pub(crate) const PACKET_MAX: usize = 32_768;
/// The shortest packet size that a server may choose, in bytes.
pub(crate) const PACKET_SIZE_MIN: usize = 512;
/// The packet size before the server has chosen one, in bytes.
pub(crate) const PACKET_SIZE_INITIAL: usize = 4096;

/// Types of packets.
pub(crate) mod kind {
    pub(crate) const BATCH: u8 = 0x01;
    pub(crate) const RPC: u8 = 0x03;
    pub(crate) const REPLY: u8 = 0x04;
    pub(crate) const BULK: u8 = 0x07;
    pub(crate) const TRANSACTION: u8 = 0x0e;
    pub(crate) const LOGIN7: u8 = 0x10;
    pub(crate) const PRELOGIN: u8 = 0x12;
}

/// The packet is the last one of its message.
const END_OF_MESSAGE: u8 = 1;

/// A whole attention message: it asks the server to stop the current request.
pub(crate) const ATTENTION: &[u8] = &[0x06, END_OF_MESSAGE, 0, 8, 0, 0, 1, 0];

/// Splits the bytes from `start` on into packets of one message. They must begin with [`HEADER`] bytes
/// of room; `packet_size` includes the header.
pub(crate) fn frame(out: &mut Vec<u8>, start: usize, kind: u8, packet_size: usize) {
    let room = packet_size - HEADER;
    let payload = out.len() - start - HEADER;
    let packets = payload.div_ceil(room).max(1);
    out.resize(out.len() + (packets - 1) * HEADER, 0);
    // From the last one on, because each moves over the place of its successor.
    for index in (0..packets).rev() {
        let length = room.min(payload - index * room);
        let from = start + HEADER + index * room;
        let at = start + index * packet_size;
        if index > 0 {
            out.copy_within(from..from + length, at + HEADER);
        }
        let status = match index + 1 == packets {
            true => END_OF_MESSAGE,
            false => 0,
        };
        let [high, low] = ((length + HEADER) as u16).to_be_bytes();
        // The number of a packet wraps; servers ignore it.
        let number = (index as u8).wrapping_add(1);
        out[at..at + HEADER].copy_from_slice(&[kind, status, high, low, 0, 0, number, 0]);
    }
}

/// Appends one message with the payload that `body` appends.
pub(crate) fn put_message(
    out: &mut Vec<u8>,
    kind: u8,
    packet_size: usize,
    body: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    body(out);
    frame(out, start, kind, packet_size);
}

/// Takes packets apart as their bytes arrive.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unframer {
    header: [u8; HEADER],
    /// How many bytes of the header have arrived.
    header_bytes: usize,
    /// Payload of the current packet that is still to come, in bytes.
    left: usize,
}

/// A part of a message's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub payload: &'a [u8],
    /// Whether the message ends after it.
    pub ends_message: bool,
}

impl Unframer {
    /// Takes the next piece from the front of `input`; `None`: all of it is taken. `kinds` are the
    /// allowed types of packets.
    ///
    /// # Errors
    /// The packet has another type or an impossible length.
    pub(crate) fn next<'a>(
        &mut self,
        input: &mut &'a [u8],
        kinds: &[u8],
    ) -> Result<Option<Piece<'a>>, Violation> {
        if self.left == 0 {
            let taken = (HEADER - self.header_bytes).min(input.len());
            let (head, rest) = input.split_at(taken);
            self.header[self.header_bytes..][..taken].copy_from_slice(head);
            self.header_bytes += taken;
            *input = rest;
            // At once: a peer with another protocol may never send eight bytes.
            if self.header_bytes > 0 && !kinds.contains(&self.header[0]) {
                return Err(Violation::Unexpected(self.header[0]));
            }
            if self.header_bytes < HEADER {
                return Ok(None);
            }
            let length = u16::from_be_bytes([self.header[2], self.header[3]]);
            self.left = (usize::from(length).checked_sub(HEADER))
                .filter(|_| usize::from(length) <= PACKET_MAX)
                .ok_or(Violation::Length(self.header[0], length.into()))?;
        } else if input.is_empty() {
            return Ok(None);
        }
        let (payload, rest) = input.split_at(self.left.min(input.len()));
        *input = rest;
        self.left -= payload.len();
        let mut ends_message = false;
        if self.left == 0 {
            self.header_bytes = 0;
            ends_message = self.header[1] & END_OF_MESSAGE != 0;
        }
        Ok(Some(Piece {
            payload,
            ends_message,
        }))
    }

    /// The number of the server's process that serves the session, from the last header.
    pub(crate) fn spid(&self) -> u16 {
        u16::from_be_bytes([self.header[4], self.header[5]])
    }
}

/// Reads a payload from its front. Numbers are little-endian. Every method returns `None` if too few
/// bytes are left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// UTF-16 text with its length in characters, one byte, in front (B_VARCHAR).
    pub(crate) fn short_text(&mut self) -> Option<&'a [u8]> {
        let length = self.byte()?;
        self.take(usize::from(length) * 2)
    }

    /// UTF-16 text with its length in characters, two bytes, in front (US_VARCHAR).
    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.take(usize::from(length) * 2)
    }

    /// Bytes with their number, one byte, in front (B_VARBYTE).
    pub(crate) fn short_bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.byte()?;
        self.take(usize::from(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(length: usize, packet_size: usize) -> Vec<u8> {
        let mut out = vec![9; 3];
        put_message(&mut out, kind::BATCH, packet_size, |out| {
            out.extend((0..length).map(|index| (index % 251) as u8));
        });
        out.split_off(3)
    }

    #[test]
    fn messages_are_split_into_full_packets_and_joined_again() {
        for (length, packets) in [
            (0, 1),
            (504, 1),
            (505, 2),
            (1008, 2),
            (1009, 3),
            (50_000, 100),
        ] {
            let bytes = message(length, 512);
            assert_eq!(bytes.len(), length + packets * HEADER);
            for step in [1, 7, 511, 512, 513, 100_000] {
                let (mut unframer, mut payload, mut ends) = (Unframer::default(), Vec::new(), 0);
                for mut part in bytes.chunks(step) {
                    while let Some(piece) = unframer.next(&mut part, &[kind::BATCH]).unwrap() {
                        assert_eq!(ends, 0, "bytes after the end");
                        payload.extend_from_slice(piece.payload);
                        ends += usize::from(piece.ends_message);
                    }
                }
                assert_eq!(ends, 1);
                let wanted: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
                assert_eq!(payload, wanted);
            }
            for (index, packet) in bytes.chunks(512).enumerate() {
                let is_last = index + 1 == packets;
                assert_eq!(packet[..2], [1, u8::from(is_last)]);
                assert_eq!(packet[6], index as u8 + 1);
                let length = u16::from_be_bytes([packet[2], packet[3]]);
                assert_eq!(usize::from(length), packet.len());
            }
        }
    }

    #[test]
    fn impossible_headers_are_refused() {
        let mut unframer = Unframer::default();
        let next = unframer.next(&mut &b"H"[..], &[kind::REPLY]);
        assert_eq!(next, Err(Violation::Unexpected(b'H')));
        for length in [0_u16, 7, 32_769, u16::MAX] {
            let [high, low] = length.to_be_bytes();
            let mut input = &[4, 1, high, low, 0, 0, 1, 0][..];
            let next = Unframer::default().next(&mut input, &[kind::REPLY]);
            assert_eq!(next, Err(Violation::Length(4, length.into())));
        }
    }
}
