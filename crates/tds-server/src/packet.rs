//! Packets and fields. Never returns a message before its last packet.

/// Length of a packet's header in bytes.
pub(crate) const HEADER: usize = 8;

/// One message in packets of `size` bytes.
pub fn message(kind: u8, payload: &[u8], size: usize) -> Vec<u8> {
    let chunks: Vec<&[u8]> = match payload {
        [] => vec![&[]],
        payload => payload.chunks(size - HEADER).collect(),
    };
    let mut out = Vec::new();
    for (index, chunk) in chunks.iter().enumerate() {
        let is_last = index + 1 == chunks.len();
        let [high, low] = ((chunk.len() + HEADER) as u16).to_be_bytes();
        // The server's process 51 serves the session.
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

/// Takes all complete messages from the front of `bytes`: their types and payloads. Checks what the
/// protocol requires of a client: full packets of `size` bytes but the last, numbered one after the other.
pub fn messages(bytes: &mut Vec<u8>, size: usize) -> Vec<(u8, Vec<u8>)> {
    let (mut found, mut payload) = (Vec::new(), Vec::new());
    let (mut at, mut taken, mut number, mut base) = (0, 0, 0_u8, None);
    while let Some(header) = bytes.get(at..at + HEADER) {
        let (kind, status) = (header[0], header[1]);
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        assert!(
            length >= HEADER && length <= size,
            "a packet of {length} bytes"
        );
        // Servers ignore it; FreeTDS begins at 0.
        let from = *base.get_or_insert(header[6]);
        assert!(
            from <= 1 && header[6] == from.wrapping_add(number),
            "the number of a packet"
        );
        let is_last = status & 1 != 0;
        assert!(is_last || length == size, "a packet that is not full");
        let Some(content) = bytes.get(at + HEADER..at + length) else {
            break;
        };
        payload.extend_from_slice(content);
        (at, number) = (at + length, number.wrapping_add(1));
        if is_last {
            found.push((kind, std::mem::take(&mut payload)));
            (taken, number, base) = (at, 0, None);
        }
        if matches!(kind, 0x10 | 0x12) {
            break;
        }
    }
    bytes.drain(..taken);
    found
}

/// Reads fields from the front of a payload; panics if they are missing.
pub(crate) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

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

    pub fn short_text(&mut self) -> String {
        let length = self.byte();
        utf16(self.take(usize::from(length) * 2))
    }
}

/// UTF-16 as text.
pub(crate) fn utf16(bytes: &[u8]) -> String {
    let (units, rest) = bytes.as_chunks::<2>();
    assert!(rest.is_empty(), "half a character");
    let units: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    String::from_utf16(&units).expect("UTF-16")
}

/// Text as UTF-16.
pub(crate) fn to_utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}
