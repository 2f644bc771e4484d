//! One row of a result.
//!
//! In: the payload of a row, and for a binary one the descriptions of its columns. Out: its values.
//! Must never: allocate for a value that is asked for in the form in which it came.
//! Source: MySQL documentation, "Text Resultset Row" and "Binary Protocol Resultset Row".

use super::packet::{Reader, put_bytes};
use super::reply::Reply;
use super::value::{Column, Plain};

/// Stands for NULL in front of a value as text.
const NULL: u8 = 0xfb;

/// One row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    body: &'a [u8],
    binary: Option<Binary<'a>>,
}

/// What makes sense of a binary row.
#[derive(Clone, Copy, Debug)]
struct Binary<'a> {
    reply: &'a Reply,
    /// Number of its result.
    result: usize,
    /// Its place among all rows of the reply.
    ordinal: u64,
}

impl<'a> Row<'a> {
    pub(super) fn text(body: &'a [u8]) -> Row<'a> {
        Row { body, binary: None }
    }

    pub(super) fn binary(body: &'a [u8], reply: &'a Reply, result: usize, ordinal: u64) -> Row<'a> {
        let binary = Some(Binary {
            reply,
            result,
            ordinal,
        });
        Row { body, binary }
    }

    /// The values as text, in order; `None` is NULL. Ends early if the row is malformed.
    pub(crate) fn values(self) -> Values<'a> {
        Values(Reader(match self.binary {
            None => self.body,
            Some(binary) => binary.reply.texts().get(binary.ordinal),
        }))
    }

    /// A value as text, where it is not NULL.
    pub(crate) fn bytes(self, column: usize) -> Option<&'a [u8]> {
        match self.plain(column) {
            None => self.values().nth(column)?,
            Some(Plain::Bytes(bytes)) => Some(bytes),
            Some(Plain::Null) => None,
            Some(_) => self.values().nth(column)?,
        }
    }

    /// A value as a whole number, if it is one.
    pub(crate) fn int(self, column: usize) -> Option<i64> {
        match self.plain(column) {
            Some(Plain::Int(number)) => Some(number),
            Some(Plain::Unsigned(number)) => i64::try_from(number).ok(),
            _ => std::str::from_utf8(self.bytes(column)?).ok()?.parse().ok(),
        }
    }

    /// A value of a binary row.
    fn plain(self, column: usize) -> Option<Plain<'a>> {
        self.binary?;
        self.plains().map(|(_, plain)| plain).nth(column)
    }

    /// The values of a binary row with their columns.
    fn plains(self) -> impl Iterator<Item = (Column, Plain<'a>)> {
        let columns = self.binary.map(|binary| {
            let described = binary.reply.described_columns(binary.result);
            described.map_while(Column::read)
        });
        let width = |binary: Binary<'_>| binary.reply.width(binary.result);
        let count = self.binary.map_or(0, width);
        let mut reader = Reader(self.body);
        // A zero, then a bit for each column that is NULL, behind two that mean nothing.
        let nulls = reader
            .take(1)
            .and_then(|_| reader.take((count + 2).div_ceil(8)));
        let columns = columns.into_iter().flatten().enumerate();
        columns.map_while(move |(place, column)| {
            let bit = place + 2;
            let is_null = nulls?.get(bit / 8)? & (1 << (bit % 8)) != 0;
            let plain = match is_null {
                true => Plain::Null,
                false => column.value(&mut reader)?,
            };
            Some((column, plain))
        })
    }
}

/// Values as text.
#[derive(Clone, Debug)]
pub(crate) struct Values<'a>(Reader<'a>);

impl<'a> Iterator for Values<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.0.first() == Some(&NULL) {
            self.0.byte();
            return Some(None);
        }
        self.0.bytes().map(Some)
    }
}

/// Binary rows written anew as text.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    bytes: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
}

impl Texts {
    /// Writes all rows; those that are text already take no room.
    pub(super) fn of<'a>(rows: impl Iterator<Item = Row<'a>>) -> Texts {
        let mut texts = Texts::default();
        let mut word = Vec::new();
        for row in rows {
            for (column, plain) in row.plains() {
                if let Plain::Null = plain {
                    texts.bytes.push(NULL);
                    continue;
                }
                word.clear();
                plain.write(column, &mut word);
                put_bytes(&mut texts.bytes, &word);
            }
            texts.ends.push(texts.bytes.len());
        }
        texts
    }

    fn get(&self, ordinal: u64) -> &[u8] {
        let place = ordinal as usize;
        let start = match place {
            0 => 0,
            place => self.ends.get(place - 1).copied().unwrap_or(0),
        };
        let end = self.ends.get(place).copied().unwrap_or(start);
        &self.bytes[start..end]
    }
}

/// The name in a column's description.
pub(super) fn column_name(described: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader(described);
    // Catalog, schema, table, original table.
    for _ in 0..4 {
        reader.bytes()?;
    }
    reader.bytes()
}
