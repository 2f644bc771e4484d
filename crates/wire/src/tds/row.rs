//! One row of a result.
//!
//! In: the bytes of a row in a reply, and the columns of its result. Out: the row's values. Must never:
//! allocate for a value that is its own text, or more than once for the texts of all other values of a reply.
//! Source: MS-TDS 2.2.7.19 (ROW), 2.2.7.14 (NBCROW).

use super::packet::Reader;
use super::reply::Reply;
use super::token::token_type;
use super::type_info::{Column, RawValue};
use super::utf16::put_utf8_from_utf16;
use super::value::decode;

/// Stands for NULL in place of a length.
const NULL_LENGTH: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    reply: &'a Reply,
    columns: &'a [Column],
    /// The reply's bytes, from the type of the row's token on.
    bytes: &'a [u8],
    /// Index of the row among all rows of the reply.
    ordinal: usize,
}

impl<'a> Row<'a> {
    pub(super) fn new(
        reply: &'a Reply,
        columns: &'a [Column],
        bytes: &'a [u8],
        ordinal: usize,
    ) -> Row<'a> {
        Row {
            reply,
            columns,
            bytes,
            ordinal,
        }
    }

    /// The values as they arrived, with their columns. Ends early if the row is malformed.
    fn raw_values(self) -> impl Iterator<Item = (Column, RawValue<'a>)> {
        let mut reader = Reader(self.bytes);
        let null_bitmap = match reader.byte() {
            Some(token_type::NBC_ROW) => reader.take(self.columns.len().div_ceil(8)),
            _ => None,
        };
        let columns = self.columns.iter().enumerate();
        columns.map_while(move |(index, column)| {
            let is_null = null_bitmap.is_some_and(|bits| bits[index / 8] & (1 << (index % 8)) != 0);
            let raw = if is_null {
                RawValue::Null
            } else {
                column.type_info.read_value(&mut reader).ok()?
            };
            Some((*column, raw))
        })
    }

    /// The values as text, in order; `None` is NULL.
    pub(crate) fn values(self) -> Values<'a> {
        self.reply.texts().values(self.ordinal)
    }

    /// A value as text; `None` if it is NULL.
    pub(crate) fn bytes(self, index: usize) -> Option<&'a [u8]> {
        let (column, raw) = self.raw_values().nth(index)?;
        if raw == RawValue::Null {
            return None;
        }
        match decode(column.type_info, raw)?.text_in_place() {
            Some(bytes) => Some(bytes),
            None => self.values().nth(index)?,
        }
    }

    pub(crate) fn int(self, index: usize) -> Option<i64> {
        let (column, raw) = self.raw_values().nth(index)?;
        if raw == RawValue::Null {
            return None;
        }
        decode(column.type_info, raw)?.as_int()
    }
}

/// The values of a row of [`TextRows`].
#[derive(Clone, Debug)]
pub(crate) struct Values<'a>(Reader<'a>);

impl<'a> Iterator for Values<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.0.u32()? {
            NULL_LENGTH => Some(None),
            length => self.0.take(length as usize).map(Some),
        }
    }
}

/// Rows as text: each value is its length in four bytes, then its text in UTF-8.
#[derive(Debug, Default)]
pub(crate) struct TextRows {
    bytes: Vec<u8>,
    /// Where each row ends in `bytes`.
    ends: Vec<usize>,
}

impl TextRows {
    /// Replaces the rows by these.
    pub(super) fn fill<'a>(&mut self, rows: impl Iterator<Item = Row<'a>>) {
        self.bytes.clear();
        self.ends.clear();
        for row in rows {
            for (column, raw) in row.raw_values() {
                let at = self.bytes.len();
                self.bytes.extend_from_slice(&NULL_LENGTH.to_le_bytes());
                // A value whose bytes do not fit its type becomes NULL.
                let decoded = match raw {
                    RawValue::Null => None,
                    raw => decode(column.type_info, raw),
                };
                if let Some(decoded) = decoded {
                    decoded.put_text(&mut self.bytes);
                    let length = (self.bytes.len() - at - 4) as u32;
                    self.bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
                }
            }
            self.ends.push(self.bytes.len());
        }
    }

    /// Adds a row with the names of columns.
    pub(super) fn push_names(&mut self, columns: &[Column], reply_bytes: &[u8]) {
        for column in columns {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(&[0; 4]);
            let name = &reply_bytes[column.name_offset..][..column.name_length];
            put_utf8_from_utf16(std::iter::once(name), &mut self.bytes);
            let length = (self.bytes.len() - start - 4) as u32;
            self.bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
        }
        self.ends.push(self.bytes.len());
    }

    pub(super) fn values(&self, ordinal: usize) -> Values<'_> {
        Values(Reader(self.row_bytes(ordinal)))
    }

    fn row_bytes(&self, ordinal: usize) -> &[u8] {
        let end = |ordinal: usize| self.ends.get(ordinal).copied();
        let start = ordinal.checked_sub(1).and_then(end).unwrap_or(0);
        &self.bytes[start..end(ordinal).unwrap_or(start)]
    }

    /// Frees the memory if it is more than this many bytes.
    pub(super) fn free_if_larger(&mut self, max_bytes: usize) {
        if self.bytes.capacity() > max_bytes {
            *self = TextRows::default();
        }
    }
}
