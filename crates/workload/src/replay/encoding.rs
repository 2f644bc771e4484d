//! Numbers and texts in a recording: variable-length integers, and bytes behind their length. Reading never panics: a
//! file may be damaged.

/// Appends a number of 1 to 10 bytes.
pub(super) fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// A position in encoded bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    pub fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// The range of the next `length` bytes.
    pub fn range(&mut self, length: u64) -> Option<std::ops::Range<usize>> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        let range = self.at..end;
        self.bytes.get(range.clone())?;
        self.at = end;
        Some(range)
    }

    pub fn byte_string(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        let range = self.range(length)?;
        Some(&self.bytes[range])
    }

    pub fn text(&mut self) -> Option<String> {
        String::from_utf8(self.byte_string()?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_are_read_as_they_were_written() {
        let numbers = [0, 1, 127, 128, 300, 1 << 32, u64::MAX];
        let mut bytes = Vec::new();
        for number in numbers {
            put_number(number, &mut bytes);
        }
        put_bytes("größe".as_bytes(), &mut bytes);
        let mut cursor = Cursor::new(&bytes);
        for number in numbers {
            assert_eq!(cursor.number(), Some(number));
        }
        assert_eq!(cursor.text().as_deref(), Some("größe"));
        assert_eq!(cursor.number(), None);
    }

    #[test]
    fn damaged_bytes_give_nothing() {
        assert_eq!(Cursor::new(&[0xff; 12]).number(), None);
        assert_eq!(Cursor::new(&[5, b'a']).byte_string(), None);
        assert_eq!(
            Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).byte_string(),
            None
        );
    }
}
