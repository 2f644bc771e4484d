//! One row of a result.
//!
//! In: the offset of a row in a reply, and the columns of its result. Out: its values. Must never: allocate
//! for a value requested in the form in which it arrived, or more than once for all texts of a reply.
//! Source: MS-TDS 2.2.7.19 (ROW), 2.2.7.14 (NBCROW).

use super::packet::Reader;
use super::reply::Reply;
use super::token::kind;
use super::type_info::{Column, Raw};
use super::utf16::put_utf8;
use super::value::decode;

/// In place of a length: the value is NULL.
const NULL: u32 = u32::MAX;

/// One row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    reply: &'a Reply,
    columns: &'a [Column],
    /// From its type on.
    bytes: &'a [u8],
    /// Its index among all rows of the reply.
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
    fn raw_values(self) -> impl Iterator<Item = (Column, Raw<'a>)> {
        let mut reader = Reader(self.bytes);
        let nulls = match reader.byte() {
            Some(kind::NBC_ROW) => reader.take(self.columns.len().div_ceil(8)),
            _ => None,
        };
        let columns = self.columns.iter().enumerate();
        columns.map_while(move |(index, column)| {
            let is_null = nulls.is_some_and(|nulls| nulls[index / 8] & (1 << (index % 8)) != 0);
            let raw = match is_null {
                true => Raw::Null,
                false => column.kind.value(&mut reader).ok()?,
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
        if raw == Raw::Null {
            return None;
        }
        match decode(column.kind, raw)?.in_place() {
            Some(bytes) => Some(bytes),
            None => self.values().nth(index)?,
        }
    }

    /// A value as an integer, if it is one.
    pub(crate) fn int(self, index: usize) -> Option<i64> {
        let (column, raw) = self.raw_values().nth(index)?;
        if raw == Raw::Null {
            return None;
        }
        decode(column.kind, raw)?.int()
    }
}

/// Values as text.
#[derive(Clone, Debug)]
pub(crate) struct Values<'a>(Reader<'a>);

impl<'a> Iterator for Values<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.0.u32()? {
            NULL => Some(None),
            length => self.0.take(length as usize).map(Some),
        }
    }
}

/// All rows of a reply as text: of each value its length in four bytes, and the text.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    bytes: Vec<u8>,
    /// End offset of each row.
    ends: Vec<usize>,
}

impl Texts {
    /// Replaces the content by these rows.
    pub(super) fn fill<'a>(&mut self, rows: impl Iterator<Item = Row<'a>>) {
        self.bytes.clear();
        self.ends.clear();
        for row in rows {
            for (column, raw) in row.raw_values() {
                let at = self.bytes.len();
                self.bytes.extend_from_slice(&NULL.to_le_bytes());
                // Bytes that do not fit their type are no value.
                let decoded = match raw {
                    Raw::Null => None,
                    raw => decode(column.kind, raw),
                };
                if let Some(decoded) = decoded {
                    decoded.put(&mut self.bytes);
                    let length = (self.bytes.len() - at - 4) as u32;
                    self.bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
                }
            }
            self.ends.push(self.bytes.len());
        }
    }

    /// Appends the names of columns as a row; `bytes`: of the reply.
    pub(super) fn push_names(&mut self, columns: &[Column], bytes: &[u8]) {
        for column in columns {
            let (at, length) = column.name;
            let start = self.bytes.len();
            self.bytes.extend_from_slice(&[0; 4]);
            put_utf8(std::iter::once(&bytes[at..at + length]), &mut self.bytes);
            let length = (self.bytes.len() - start - 4) as u32;
            self.bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
        }
        self.ends.push(self.bytes.len());
    }

    /// The values of a row.
    pub(super) fn values(&self, ordinal: usize) -> Values<'_> {
        Values(Reader(self.get(ordinal)))
    }

    fn get(&self, ordinal: usize) -> &[u8] {
        let end = |ordinal: usize| self.ends.get(ordinal).copied();
        let start = ordinal.checked_sub(1).and_then(end).unwrap_or(0);
        &self.bytes[start..end(ordinal).unwrap_or(start)]
    }

    /// Frees a buffer that grew beyond this many bytes.
    pub(super) fn shrink(&mut self, bytes: usize) {
        if self.bytes.capacity() > bytes {
            *self = Texts::default();
        }
    }
}
