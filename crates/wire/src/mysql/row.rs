//! One row of a result.
//!
//! In: the payload of a row, and for a binary one the descriptions of its columns. Out: its values.
//! Must never: allocate for a value requested in the form in which it arrived.
//! Source: MySQL documentation, "Text Resultset Row" and "Binary Protocol Resultset Row".

use super::packet::{Reader, put_bytes};
use super::reply::Reply;
use super::value::{BinaryValue, Column};

/// Stands for NULL in place of the length of a text.
const NULL_MARK: u8 = 0xfb;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    body: &'a [u8],
    /// `None` for a text row.
    binary: Option<BinaryRow<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct BinaryRow<'a> {
    reply: &'a Reply,
    /// Number of the row's result, from 0.
    result: usize,
    /// Index of the row among all rows of the reply.
    ordinal: u64,
}

impl<'a> Row<'a> {
    pub(super) fn text(body: &'a [u8]) -> Row<'a> {
        Row { body, binary: None }
    }

    pub(super) fn binary(body: &'a [u8], reply: &'a Reply, result: usize, ordinal: u64) -> Row<'a> {
        let binary = Some(BinaryRow {
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
            Some(binary) => binary.reply.text_rows().row_bytes(binary.ordinal),
        }))
    }

    /// A value as text; `None` if it is NULL.
    pub(crate) fn bytes(self, column: usize) -> Option<&'a [u8]> {
        match self.binary_value(column) {
            Some(BinaryValue::Bytes(bytes)) => Some(bytes),
            Some(BinaryValue::Null) => None,
            None | Some(_) => self.values().nth(column)?,
        }
    }

    pub(crate) fn int(self, column: usize) -> Option<i64> {
        match self.binary_value(column) {
            Some(BinaryValue::Int(number)) => Some(number),
            Some(BinaryValue::Unsigned(number)) => i64::try_from(number).ok(),
            _ => std::str::from_utf8(self.bytes(column)?).ok()?.parse().ok(),
        }
    }

    fn binary_value(self, column: usize) -> Option<BinaryValue<'a>> {
        self.binary?;
        self.binary_values()
            .map(|(_, binary_value)| binary_value)
            .nth(column)
    }

    /// The values of a binary row, each with its column; none for a text row.
    fn binary_values(self) -> impl Iterator<Item = (Column, BinaryValue<'a>)> {
        let columns = self.binary.map(|binary| {
            let described = binary.reply.described_columns(binary.result);
            described.map_while(Column::read)
        });
        let column_count = |binary: BinaryRow<'_>| binary.reply.column_count(binary.result);
        let count = self.binary.map_or(0, column_count);
        let mut reader = Reader(self.body);
        // A zero, then a bit for each column that is NULL, after two unused bits.
        let null_bitmap = reader
            .take(1)
            .and_then(|_| reader.take((count + 2).div_ceil(8)));
        let columns = columns.into_iter().flatten().enumerate();
        columns.map_while(move |(index, column)| {
            let bit = index + 2;
            let is_null = null_bitmap?.get(bit / 8)? & (1 << (bit % 8)) != 0;
            let binary_value =
                if is_null { BinaryValue::Null } else { column.read_value(&mut reader)? };
            Some((column, binary_value))
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Values<'a>(Reader<'a>);

impl<'a> Iterator for Values<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.text_value()
    }
}

impl<'a> Reader<'a> {
    /// A value of a text row; `Some(None)` is NULL.
    pub(super) fn text_value(&mut self) -> Option<Option<&'a [u8]>> {
        if self.0.first() == Some(&NULL_MARK) {
            self.byte();
            return Some(None);
        }
        self.length_encoded_bytes().map(Some)
    }
}

/// The binary rows of a reply, converted to text rows.
#[derive(Debug, Default)]
pub(crate) struct TextRows {
    bytes: Vec<u8>,
    /// Where each row ends in `bytes`.
    ends: Vec<usize>,
}

impl TextRows {
    /// Converts all rows; text rows take no space.
    pub(super) fn from_rows<'a>(rows: impl Iterator<Item = Row<'a>>) -> TextRows {
        let mut text_rows = TextRows::default();
        let mut text = Vec::new();
        for row in rows {
            for (column, binary_value) in row.binary_values() {
                if let BinaryValue::Null = binary_value {
                    text_rows.bytes.push(NULL_MARK);
                    continue;
                }
                text.clear();
                binary_value.write(column, &mut text);
                put_bytes(&mut text_rows.bytes, &text);
            }
            text_rows.ends.push(text_rows.bytes.len());
        }
        text_rows
    }

    fn row_bytes(&self, ordinal: u64) -> &[u8] {
        let index = ordinal as usize;
        let start = match index {
            0 => 0,
            index => self.ends.get(index - 1).copied().unwrap_or(0),
        };
        let end = self.ends.get(index).copied().unwrap_or(start);
        &self.bytes[start..end]
    }
}

/// The name of a column, from its description.
pub(super) fn column_name(described: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader(described);
    // Catalog, schema, table, original table.
    for _ in 0..4 {
        reader.length_encoded_bytes()?;
    }
    reader.length_encoded_bytes()
}
