//! Reads the messages of SQL Server's clients, as far as a server without data needs them. Functions return
//! `None` if a message is malformed, or has a type that is not known here.

#[derive(Clone, Copy)]
enum ValueLength {
    /// The type has one length.
    Fixed(usize),
    /// A length of one byte; 0 is NULL.
    Byte,
    /// A length of two bytes; all ones is NULL.
    U16,
    /// A total of eight bytes, then chunks, the last of which is empty; a total of all ones is NULL.
    Chunks,
}

#[derive(Clone, Copy)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.take(2)?.first_chunk().copied().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.first_chunk().copied().map(u32::from_le_bytes)
    }

    /// Skips ALL_HEADERS, whose length includes itself.
    pub fn headers(&mut self) -> Option<()> {
        let length = self.u32()? as usize;
        self.take(length.checked_sub(4)?).map(|_| ())
    }

    /// The database in LOGIN7, in UTF-16.
    pub fn login_database(&self) -> Option<impl Iterator<Item = u16> + use<'a>> {
        // Offset in bytes and length in characters.
        let mut entry = Reader(self.0.get(68..)?);
        let (offset, characters) = (usize::from(entry.u16()?), usize::from(entry.u16()?));
        let text = self.0.get(offset..offset + 2 * characters)?;
        Some(
            text.chunks_exact(2)
                .map(|unit| u16::from_le_bytes([unit[0], unit[1]])),
        )
    }

    /// Reads the procedure of a call, and its options: the number; 0 for a procedure that is called by its name.
    pub fn procedure(&mut self) -> Option<u16> {
        let number = match self.u16()? {
            u16::MAX => self.u16()?,
            characters => {
                self.take(2 * usize::from(characters))?;
                0
            }
        };
        self.u16()?;
        Some(number)
    }

    /// Reads a parameter; returns its value, `None` if that is NULL or in chunks.
    pub fn parameter(&mut self) -> Option<Option<&'a [u8]>> {
        let characters = self.byte()?;
        self.take(2 * usize::from(characters))?;
        self.byte()?;
        let length = self.type_info()?;
        self.value(length)
    }

    /// Skips the remaining parameters of a call, and the byte that separates it from the next call.
    pub fn rest_of_call(&mut self) -> Option<()> {
        while let Some(first) = self.0.first() {
            if *first == 0xff {
                self.byte()?;
                break;
            }
            self.parameter()?;
        }
        Some(())
    }

    fn type_info(&mut self) -> Option<ValueLength> {
        let kind = self.byte()?;
        Some(match kind {
            0x30 | 0x32 => ValueLength::Fixed(1),
            0x34 => ValueLength::Fixed(2),
            0x38 | 0x3a | 0x3b | 0x7a => ValueLength::Fixed(4),
            0x3c | 0x3d | 0x3e | 0x7f => ValueLength::Fixed(8),
            0x28 => ValueLength::Byte,
            0x24 | 0x26 | 0x29..=0x2b | 0x68 | 0x6d..=0x6f => {
                self.byte()?;
                ValueLength::Byte
            }
            0x6a | 0x6c => {
                self.take(3)?;
                ValueLength::Byte
            }
            0xa5 | 0xad | 0xa7 | 0xaf | 0xe7 | 0xef => {
                let length = self.u16()?;
                if !matches!(kind, 0xa5 | 0xad) {
                    // The collation.
                    self.take(5)?;
                }
                match length {
                    u16::MAX => ValueLength::Chunks,
                    _ => ValueLength::U16,
                }
            }
            _ => return None,
        })
    }

    fn value(&mut self, length: ValueLength) -> Option<Option<&'a [u8]>> {
        let bytes = match length {
            ValueLength::Fixed(length) => length,
            ValueLength::Byte => match self.byte()? {
                0 => return Some(None),
                length => usize::from(length),
            },
            ValueLength::U16 => match self.u16()? {
                u16::MAX => return Some(None),
                length => usize::from(length),
            },
            ValueLength::Chunks => {
                if self.take(8)? == [0xff; 8] {
                    return Some(None);
                }
                loop {
                    match self.u32()? {
                        0 => return Some(None),
                        length => self.take(length as usize)?,
                    };
                }
            }
        };
        self.take(bytes).map(Some)
    }
}

pub fn count_rows(message: &[u8]) -> Option<u64> {
    let mut reader = Reader(message);
    if reader.byte()? != 0x81 {
        return None;
    }
    let mut columns = Vec::new();
    for _ in 0..reader.u16()? {
        // User type and flags.
        reader.take(6)?;
        columns.push(reader.type_info()?);
        let characters = reader.byte()?;
        reader.take(2 * usize::from(characters))?;
    }
    let mut rows = 0;
    while reader.byte()? == 0xd1 {
        for column in &columns {
            reader.value(*column)?;
        }
        rows += 1;
    }
    Some(rows)
}
