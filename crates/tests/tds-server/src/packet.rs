//! Splits messages into packets, joins packets to messages, and reads fields. Never returns a message before
//! its last packet has arrived.

// Types of messages (MS-TDS 2.2.3.1.1).
pub(crate) const REPLY: u8 = 0x04;
pub(crate) const BULK_LOAD: u8 = 0x07;
pub(crate) const LOGIN7: u8 = 0x10;
pub(crate) const PRELOGIN: u8 = 0x12;

/// Length of a packet's header in bytes.
pub(crate) const HEADER_BYTES: usize = 8;

/// One message, split into packets of `packet_size` bytes. `kind` is the type of the packets.
pub fn encode_message(kind: u8, payload: &[u8], packet_size: usize) -> Vec<u8> {
    let chunks: Vec<&[u8]> = match payload {
        [] => vec![&[]],
        payload => payload.chunks(packet_size - HEADER_BYTES).collect(),
    };
    let mut out = Vec::new();
    for (index, chunk) in chunks.iter().enumerate() {
        let is_last = index + 1 == chunks.len();
        let [high, low] = ((chunk.len() + HEADER_BYTES) as u16).to_be_bytes();
        // The session's id (SPID) is 51.
        out.extend_from_slice(&[
            kind,
            u8::from(is_last),
            high,
            low,
            0,
            51,
            index as u8 + 1,
            0,
        ]);
        out.extend_from_slice(chunk);
    }
    out
}

/// Takes all complete messages from the front of `bytes`; returns their types and payloads.
///
/// # Panics
/// If packets are not numbered consecutively, or a packet other than the last one of its message does not
/// have `packet_size` bytes.
pub fn take_messages(bytes: &mut Vec<u8>, packet_size: usize) -> Vec<(u8, Vec<u8>)> {
    let (mut complete, mut payload) = (Vec::new(), Vec::new());
    let (mut offset, mut complete_bytes, mut index, mut first_number) = (0, 0, 0_u8, None);
    while let Some(header) = bytes.get(offset..offset + HEADER_BYTES) {
        let (kind, status) = (header[0], header[1]);
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        assert!(
            length >= HEADER_BYTES && length <= packet_size,
            "a packet of {length} bytes"
        );
        // Servers ignore the packet's number. Most clients begin at 1, FreeTDS at 0.
        let first = *first_number.get_or_insert(header[6]);
        assert!(
            first <= 1 && header[6] == first.wrapping_add(index),
            "the number of a packet"
        );
        let is_last = status & 1 != 0;
        assert!(
            is_last || length == packet_size,
            "a packet that is not full"
        );
        let Some(content) = bytes.get(offset + HEADER_BYTES..offset + length) else {
            break;
        };
        payload.extend_from_slice(content);
        (offset, index) = (offset + length, index.wrapping_add(1));
        if is_last {
            complete.push((kind, std::mem::take(&mut payload)));
            (complete_bytes, index, first_number) = (offset, 0, None);
        }
        // The bytes after a login or PRELOGIN may be TLS, which this function cannot split.
        if matches!(kind, LOGIN7 | PRELOGIN) {
            break;
        }
    }
    bytes.drain(..complete_bytes);
    complete
}

/// Reads fields from the front of a payload; panics if the payload is too short.
pub(crate) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (field, remaining) = self.0.split_at(count);
        self.0 = remaining;
        field
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// An unsigned number of `N` bytes, the lowest byte first.
    pub fn number<const N: usize>(&mut self) -> u64 {
        let mut number = [0; 8];
        number[..N].copy_from_slice(self.take(N));
        u64::from_le_bytes(number)
    }

    pub fn byte(&mut self) -> u8 {
        self.number::<1>() as u8
    }

    pub fn u16(&mut self) -> u16 {
        self.number::<2>() as u16
    }

    pub fn u32(&mut self) -> u32 {
        self.number::<4>() as u32
    }

    /// Text with its number of characters in one byte.
    pub fn short_text(&mut self) -> String {
        let length = self.byte();
        decode_utf16(self.take(usize::from(length) * 2))
    }
}

pub(crate) fn decode_utf16(bytes: &[u8]) -> String {
    let (units, odd_byte) = bytes.as_chunks::<2>();
    assert!(odd_byte.is_empty(), "half a character");
    let units: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    String::from_utf16(&units).expect("UTF-16")
}

pub(crate) fn encode_utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}
