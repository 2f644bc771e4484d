//! Packets, and the numbers and texts inside them.
//!
//! In: payloads to frame, bytes to read. Out: packets of at most 16 MiB, values. Must never: panic on
//! hostile bytes, or trust a length before its bytes have arrived.
//! Source: MySQL documentation, "MySQL Packets" and "Basic Data Types".

pub(crate) use crate::reader::Reader;

/// The longest payload of one packet, in bytes; a longer one continues in the next packet.
pub(crate) const MAX_PAYLOAD: usize = 0xff_ffff;

/// Length of a packet's header: payload length and sequence number.
pub(crate) const HEADER: usize = 4;

/// Payload length and sequence number of the packet at `at`, if its header has arrived.
pub(crate) fn header(bytes: &[u8], at: usize) -> Option<(usize, u8)> {
    let &[a, b, c, sequence] = bytes.get(at..)?.first_chunk::<HEADER>()?;
    Some((u32::from_le_bytes([a, b, c, 0]) as usize, sequence))
}

/// Appends the output of `body` as one payload, in as many packets as needed, numbered from
/// `sequence`. Returns the number of the next packet.
pub(crate) fn frame(out: &mut Vec<u8>, sequence: u8, body: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let at = out.len();
    out.extend_from_slice(&[0; HEADER]);
    body(out);
    let length = out.len() - at - HEADER;
    if length < MAX_PAYLOAD {
        put_header(&mut out[at..], length, sequence);
        return sequence.wrapping_add(1);
    }
    let payload = out.split_off(at + HEADER);
    out.truncate(at);
    let mut sequence = sequence;
    // If a payload fills its last packet, an empty packet ends it.
    let end: &[u8] = &[];
    let terminator = payload.len().is_multiple_of(MAX_PAYLOAD).then_some(end);
    for chunk in payload.chunks(MAX_PAYLOAD).chain(terminator) {
        let at = out.len();
        out.extend_from_slice(&[0; HEADER]);
        put_header(&mut out[at..], chunk.len(), sequence);
        out.extend_from_slice(chunk);
        sequence = sequence.wrapping_add(1);
    }
    sequence
}

/// Extends the last packet, which begins at `at`, over the bytes appended after it. Returns false if it
/// would not fit into one packet.
pub(crate) fn lengthen(out: &mut [u8], at: usize) -> bool {
    let length = out.len() - at - HEADER;
    let fits = length < MAX_PAYLOAD && header(out, at).is_some_and(|(old, _)| old <= length);
    if fits {
        let sequence = out[at + 3];
        put_header(&mut out[at..], length, sequence);
    }
    fits
}

fn put_header(packet: &mut [u8], length: usize, sequence: u8) {
    packet[..3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
    packet[3] = sequence;
}

/// Appends a length-encoded number: 1, 3, 4 or 9 bytes.
pub(crate) fn put_number(out: &mut Vec<u8>, number: u64) {
    match number {
        0..=250 => out.push(number as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(number as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(number as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// Appends bytes with their length in front.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The forms of numbers and texts that only MySQL's protocol has.
impl<'a> Reader<'a> {
    /// A length-encoded number: 1, 3, 4 or 9 bytes.
    pub(super) fn length_encoded_number(&mut self) -> Option<u64> {
        match self.byte()? {
            small @ 0..=250 => Some(u64::from(small)),
            0xfc => self.u16().map(u64::from),
            0xfd => {
                let [a, b, c] = self.array()?;
                Some(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            0xfe => self.u64(),
            _ => None,
        }
    }

    pub(super) fn length_encoded_bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.length_encoded_number()?).ok()?;
        self.take(length)
    }

    /// Bytes up to a zero, which is skipped; all remaining bytes if there is none.
    pub(super) fn zero_terminated_text(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        let text = &self.0[..end.unwrap_or(self.0.len())];
        self.0 = end.map_or(&[], |end| &self.0[end + 1..]);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_encoded_numbers_round_trip() {
        for (number, bytes) in [
            (0, 1),
            (250, 1),
            (251, 3),
            (65_535, 3),
            (65_536, 4),
            (16_777_215, 4),
            (16_777_216, 9),
            (u64::MAX, 9),
        ] {
            let mut out = Vec::new();
            put_number(&mut out, number);
            assert_eq!(out.len(), bytes, "{number}");
            assert_eq!(Reader(&out).length_encoded_number(), Some(number));
            assert_eq!(Reader(&out[..out.len() - 1]).length_encoded_number(), None);
        }
        assert_eq!(Reader(&[0xfb]).length_encoded_number(), None);
        assert_eq!(Reader(&[0xff; 9]).length_encoded_number(), None);
    }

    #[test]
    fn long_payloads_are_split_into_packets() {
        let packets = |length: usize| {
            let mut out = vec![7; 3];
            let next = frame(&mut out, 254, |out| out.resize(out.len() + length, 1));
            let (mut at, mut headers) = (3, Vec::new());
            while let Some((length, sequence)) = header(&out, at) {
                headers.push((length, sequence));
                at += HEADER + length;
            }
            assert_eq!(at, out.len());
            (headers, next)
        };
        assert_eq!(packets(0), (vec![(0, 254)], 255));
        assert_eq!(packets(5), (vec![(5, 254)], 255));
        assert_eq!(
            packets(MAX_PAYLOAD),
            (vec![(MAX_PAYLOAD, 254), (0, 255)], 0)
        );
        assert_eq!(
            packets(2 * MAX_PAYLOAD + 1),
            (vec![(MAX_PAYLOAD, 254), (MAX_PAYLOAD, 255), (1, 0)], 1)
        );
    }

    #[test]
    fn texts_end_at_a_zero_or_with_the_payload() {
        let mut reader = Reader(b"ab\0c");
        assert_eq!(
            (reader.zero_terminated_text(), reader.zero_terminated_text()),
            (&b"ab"[..], &b"c"[..])
        );
        assert_eq!(reader.zero_terminated_text(), b"");
        assert_eq!(Reader(b"\x05ab").length_encoded_bytes(), None);
    }
}
