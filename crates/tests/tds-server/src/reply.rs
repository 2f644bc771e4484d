//! Writes the tokens of a reply.

use crate::datum::Datum;
use crate::packet::encode_utf16;
use crate::types::Type;

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    pub kind: Type,
}

impl Column {
    pub fn new(name: &str, kind: Type) -> Column {
        Column {
            name: name.to_owned(),
            kind,
        }
    }
}

pub struct ReplyWriter {
    out: Vec<u8>,
    collation: [u8; 5],
}

impl ReplyWriter {
    pub fn new(collation: [u8; 5]) -> ReplyWriter {
        ReplyWriter {
            out: Vec::new(),
            collation,
        }
    }

    /// Returns the payload, and begins a new one.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Appends tokens that are already encoded.
    pub fn raw_tokens(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Appends a token with its length in two bytes.
    pub fn token(&mut self, kind: u8, body: &[u8]) {
        self.out.push(kind);
        self.out
            .extend_from_slice(&(body.len() as u16).to_le_bytes());
        self.out.extend_from_slice(body);
    }

    pub fn env_change_text(&mut self, kind: u8, new: &str, old: &str) {
        let mut body = vec![kind];
        for text in [new, old] {
            let text = encode_utf16(text);
            body.push((text.len() / 2) as u8);
            body.extend_from_slice(&text);
        }
        self.token(0xe3, &body);
    }

    /// Appends ENVCHANGE with bytes.
    pub fn env_change_bytes(&mut self, kind: u8, new: &[u8], old: &[u8]) {
        let mut body = vec![kind];
        for bytes in [new, old] {
            body.push(bytes.len() as u8);
            body.extend_from_slice(bytes);
        }
        self.token(0xe3, &body);
    }

    fn error_or_info(&mut self, token: u8, (number, state, level): (i32, u8, u8), text: &str) {
        let mut body = number.to_le_bytes().to_vec();
        body.extend_from_slice(&[state, level]);
        let text = encode_utf16(text);
        body.extend_from_slice(&(text.len() as u16 / 2).to_le_bytes());
        body.extend_from_slice(&text);
        body.push(4);
        body.extend_from_slice(&encode_utf16("mock"));
        body.push(0);
        body.extend_from_slice(&1_u32.to_le_bytes());
        self.token(token, &body);
    }

    /// Appends INFO, with state 1.
    pub fn info(&mut self, number: i32, level: u8, text: &str) {
        self.error_or_info(0xab, (number, 1, level), text);
    }

    /// Appends ERROR. `fields`: number, state and severity.
    pub fn error(&mut self, fields: (i32, u8, u8), text: &str) {
        self.error_or_info(0xaa, fields, text);
    }

    /// Appends DONE (0xfd), DONEPROC (0xfe) or DONEINPROC (0xff).
    pub fn done(&mut self, kind: u8, status: u16, command: u16, rows: u64) {
        self.out.push(kind);
        self.out.extend_from_slice(&status.to_le_bytes());
        self.out.extend_from_slice(&command.to_le_bytes());
        self.out.extend_from_slice(&rows.to_le_bytes());
    }

    pub fn columns(&mut self, columns: &[Column]) {
        self.out.push(0x81);
        self.out
            .extend_from_slice(&(columns.len() as u16).to_le_bytes());
        for column in columns {
            self.out.extend_from_slice(&[0, 0, 0, 0, 9, 0]);
            column.kind.put(self.collation, &mut self.out);
            if matches!(column.kind, Type::Text | Type::NText | Type::Image) {
                self.out.push(1);
                let table = encode_utf16("t");
                self.out
                    .extend_from_slice(&(table.len() as u16 / 2).to_le_bytes());
                self.out.extend_from_slice(&table);
            }
            let name = encode_utf16(&column.name);
            self.out.push((name.len() / 2) as u8);
            self.out.extend_from_slice(&name);
        }
    }

    pub fn row(&mut self, columns: &[Column], row: &[Datum]) {
        assert_eq!(columns.len(), row.len());
        self.out.push(0xd1);
        for (column, datum) in columns.iter().zip(row) {
            datum.put(column.kind, &mut self.out);
        }
    }

    pub fn compressed_row(&mut self, columns: &[Column], row: &[Datum]) {
        self.out.push(0xd2);
        let bitmap_offset = self.out.len();
        self.out.resize(bitmap_offset + row.len().div_ceil(8), 0);
        for (index, (column, datum)) in columns.iter().zip(row).enumerate() {
            match datum {
                Datum::Null => self.out[bitmap_offset + index / 8] |= 1 << (index % 8),
                datum => datum.put(column.kind, &mut self.out),
            }
        }
    }

    /// Appends RETURNVALUE with an INTN of four bytes.
    pub fn return_value_int(&mut self, name: &str, value: i32) {
        self.out
            .extend_from_slice(&[0xac, 0, 0, (name.len()) as u8]);
        self.out.extend_from_slice(&encode_utf16(name));
        self.out
            .extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0x26, 4, 4]);
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    pub fn return_status(&mut self, value: i32) {
        self.out.push(0x79);
        self.out.extend_from_slice(&value.to_le_bytes());
    }
}
