//! Numbers and texts in a recording: variable-length integers, and bytes behind their length. Reading never panics: a
//! file may be damaged.

pub(super) use prony_document::append_leb128 as put_number;
use prony_document::take_leb128;

pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Flags as the bits of a number, the first one as the lowest.
pub(super) fn number_of_flags<const N: usize>(flags: [bool; N]) -> u64 {
    let bits = (0..).zip(flags).map(|(bit, flag)| u64::from(flag) << bit);
    bits.sum()
}

pub(super) fn flags_of_number<const N: usize>(number: u64) -> [bool; N] {
    std::array::from_fn(|bit| number >> bit & 1 != 0)
}

/// A list behind its length.
pub(super) fn put_list<T>(list: &[T], mut put: impl FnMut(&T, &mut Vec<u8>), out: &mut Vec<u8>) {
    put_number(list.len() as u64, out);
    list.iter().for_each(|item| put(item, out));
}

/// Reads what [`put_list`] wrote. The length of a damaged file reserves no memory.
pub(super) fn read_list<'a, T>(
    cursor: &mut Cursor<'a>,
    mut read: impl FnMut(&mut Cursor<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    let length = cursor.number()?;
    (0..length).map(|_| read(cursor)).collect()
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
        let mut rest = self.bytes.get(self.at..)?;
        let number = take_leb128(&mut rest)?;
        self.at = self.bytes.len() - rest.len();
        Some(number)
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
    fn texts_are_read_as_they_were_written() {
        let mut bytes = Vec::new();
        put_bytes("größe".as_bytes(), &mut bytes);
        put_number(300, &mut bytes);
        let mut cursor = Cursor::new(&bytes);
        assert_eq!(cursor.text().as_deref(), Some("größe"));
        assert_eq!((cursor.number(), cursor.number()), (Some(300), None));
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
