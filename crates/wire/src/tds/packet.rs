//! Packets of TDS, and the numbers and texts inside messages.
//!
//! In: payloads to frame, bytes to read. Out: packets, payloads, values. Must never: panic on hostile
//! bytes, or trust a length before its bytes have arrived.
//! Source: MS-TDS 2.2.3 (packets) and 2.2.5 (grammar).

pub(crate) use crate::reader::Reader;
use crate::violation::Violation;

/// Length of a packet's header in bytes.
pub(crate) const HEADER_BYTES: usize = 8;
/// The longest packet that the protocol allows, in bytes.
pub(crate) const PACKET_SIZE_MAX: usize = 32_768;
/// The shortest packet size that a server may choose, in bytes.
pub(crate) const PACKET_SIZE_MIN: usize = 512;
/// The packet size before the server has chosen one, in bytes.
pub(crate) const PACKET_SIZE_INITIAL: usize = 4096;

pub(crate) mod packet_type {
    pub(crate) const BATCH: u8 = 0x01;
    pub(crate) const RPC: u8 = 0x03;
    pub(crate) const REPLY: u8 = 0x04;
    pub(crate) const BULK: u8 = 0x07;
    pub(crate) const LOGIN7: u8 = 0x10;
    pub(crate) const PRELOGIN: u8 = 0x12;
}

/// Flag of a packet: it is the last one of its message.
pub(super) const END_OF_MESSAGE: u8 = 1;

/// A complete attention message, which asks the server to cancel the current request.
pub(crate) const ATTENTION: &[u8] = &[0x06, END_OF_MESSAGE, 0, 8, 0, 0, 1, 0];

/// Splits the bytes from `start` on into the packets of one message. The first [`HEADER_BYTES`] of them are
/// reserved for the first header. `packet_size` is in bytes and includes the header.
pub(crate) fn frame(out: &mut Vec<u8>, start: usize, packet_type: u8, packet_size: usize) {
    let payload_max = packet_size - HEADER_BYTES;
    let payload = out.len() - start - HEADER_BYTES;
    // Almost every request is a single packet.
    if payload <= payload_max {
        let header = header(packet_type, END_OF_MESSAGE, payload, 1);
        return out[start..start + HEADER_BYTES].copy_from_slice(&header);
    }
    let packet_count = payload.div_ceil(payload_max).max(1);
    out.resize(out.len() + (packet_count - 1) * HEADER_BYTES, 0);
    // Move the last payload first: each moves back, into the space of its successor.
    for index in (0..packet_count).rev() {
        let length = payload_max.min(payload - index * payload_max);
        let payload_start = start + HEADER_BYTES + index * payload_max;
        let at = start + index * packet_size;
        if index > 0 {
            out.copy_within(payload_start..payload_start + length, at + HEADER_BYTES);
        }
        let status = if index + 1 == packet_count { END_OF_MESSAGE } else { 0 };
        // The number of a packet wraps; servers ignore it.
        let number = (index as u8).wrapping_add(1);
        let header = header(packet_type, status, length, number);
        out[at..at + HEADER_BYTES].copy_from_slice(&header);
    }
}

/// The header of a packet with `payload` bytes of payload.
pub(super) fn header(
    packet_type: u8,
    status: u8,
    payload: usize,
    number: u8,
) -> [u8; HEADER_BYTES] {
    let [high, low] = ((payload + HEADER_BYTES) as u16).to_be_bytes();
    [packet_type, status, high, low, 0, 0, number, 0]
}

/// Appends one message with the payload that `body` appends.
pub(crate) fn put_message(
    out: &mut Vec<u8>,
    packet_type: u8,
    packet_size: usize,
    body: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    body(out);
    frame(out, start, packet_type, packet_size);
}

/// Extracts payloads from packets, while their bytes arrive.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unframer {
    header: [u8; HEADER_BYTES],
    /// How many bytes of the header have arrived.
    header_bytes: usize,
    /// How many bytes of the current packet's payload have not arrived.
    payload_missing: usize,
}

/// A part of a message's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub payload: &'a [u8],
    pub ends_message: bool,
}

impl Unframer {
    /// Takes the next piece of payload from the front of `input`; `None`: `input` is used up. `packet_types`
    /// are the allowed types of packets.
    pub(crate) fn next<'a>(
        &mut self,
        input: &mut &'a [u8],
        packet_types: &[u8],
    ) -> Result<Option<Piece<'a>>, Violation> {
        if self.payload_missing == 0 {
            match input.split_first_chunk::<HEADER_BYTES>() {
                // The usual case: the whole header has arrived at once.
                Some((head, rest)) if self.header_bytes == 0 => {
                    self.header = *head;
                    self.header_bytes = HEADER_BYTES;
                    *input = rest;
                }
                _ => {
                    let taken = (HEADER_BYTES - self.header_bytes).min(input.len());
                    let (head, rest) = input.split_at(taken);
                    self.header[self.header_bytes..][..taken].copy_from_slice(head);
                    self.header_bytes += taken;
                    *input = rest;
                }
            }
            // Check the first byte at once: a peer with another protocol may never send a whole header.
            if self.header_bytes > 0 && !packet_types.contains(&self.header[0]) {
                return Err(Violation::Unexpected(self.header[0]));
            }
            if self.header_bytes < HEADER_BYTES {
                return Ok(None);
            }
            let length = u16::from_be_bytes([self.header[2], self.header[3]]);
            self.payload_missing = (usize::from(length).checked_sub(HEADER_BYTES))
                .filter(|_| usize::from(length) <= PACKET_SIZE_MAX)
                .ok_or(Violation::InvalidLength {
                    message_type: self.header[0],
                    length: length.into(),
                })?;
        } else if input.is_empty() {
            return Ok(None);
        }
        let (payload, rest) = input.split_at(self.payload_missing.min(input.len()));
        *input = rest;
        self.payload_missing -= payload.len();
        let mut ends_message = false;
        if self.payload_missing == 0 {
            self.header_bytes = 0;
            ends_message = self.header[1] & END_OF_MESSAGE != 0;
        }
        Ok(Some(Piece {
            payload,
            ends_message,
        }))
    }

    /// The session's id on the server (SPID), from the last header.
    pub(crate) fn spid(&self) -> u16 {
        u16::from_be_bytes([self.header[4], self.header[5]])
    }
}

/// The forms of texts and bytes that only TDS has.
impl<'a> Reader<'a> {
    /// UTF-16 text, after its length in UTF-16 units in one byte (B_VARCHAR).
    pub(super) fn short_text(&mut self) -> Option<&'a [u8]> {
        let length = self.byte()?;
        self.take(usize::from(length) * 2)
    }

    /// UTF-16 text, after its length in UTF-16 units in two bytes (US_VARCHAR).
    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.take(usize::from(length) * 2)
    }

    /// Bytes, after their number in one byte (B_VARBYTE).
    pub(super) fn short_bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.byte()?;
        self.take(usize::from(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(length: usize, packet_size: usize) -> Vec<u8> {
        let mut out = vec![9; 3];
        put_message(&mut out, packet_type::BATCH, packet_size, |out| {
            out.extend((0..length).map(|index| (index % 251) as u8));
        });
        out.split_off(3)
    }

    #[test]
    fn messages_are_split_into_full_packets_and_rejoined() {
        for (length, packets) in [
            (0, 1),
            (504, 1),
            (505, 2),
            (1008, 2),
            (1009, 3),
            (50_000, 100),
        ] {
            let bytes = message(length, 512);
            assert_eq!(bytes.len(), length + packets * HEADER_BYTES);
            for step in [1, 7, 511, 512, 513, 100_000] {
                let (mut unframer, mut payload, mut ends) = (Unframer::default(), Vec::new(), 0);
                for mut part in bytes.chunks(step) {
                    while let Some(piece) = unframer.next(&mut part, &[packet_type::BATCH]).unwrap()
                    {
                        assert_eq!(ends, 0, "bytes after the end");
                        payload.extend_from_slice(piece.payload);
                        ends += usize::from(piece.ends_message);
                    }
                }
                assert_eq!(ends, 1);
                let expected: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
                assert_eq!(payload, expected);
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
    fn invalid_headers_are_refused() {
        let mut unframer = Unframer::default();
        let next = unframer.next(&mut &b"H"[..], &[packet_type::REPLY]);
        assert_eq!(next, Err(Violation::Unexpected(b'H')));
        for length in [0_u16, 7, 32_769, u16::MAX] {
            let [high, low] = length.to_be_bytes();
            let mut input = &[4, 1, high, low, 0, 0, 1, 0][..];
            let next = Unframer::default().next(&mut input, &[packet_type::REPLY]);
            assert_eq!(
                next,
                Err(Violation::InvalidLength {
                    message_type: 4,
                    length: length.into()
                })
            );
        }
    }
}
