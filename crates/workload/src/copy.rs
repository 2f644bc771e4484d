//! Tuples of PostgreSQL's binary COPY format, written with as little work a row as there can be.
//!
//! In: values of a row. Out: bytes appended to a reused buffer. Must never: allocate a row, or send
//! anything. Format: PostgreSQL manual, COPY, "Binary Format"; all numbers are big-endian.

/// What a binary COPY stream begins with: signature, no flags, no header extension.
pub const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// What a binary COPY stream ends with.
pub const TRAILER: &[u8] = &(-1_i16).to_be_bytes();

/// The bytes of one row with holes for the values that change from row to row.
///
/// A row of a benchmark's table is mostly constant; writing it is then one copy of some thirty
/// bytes and a patch of two numbers.
#[derive(Clone, Debug)]
pub struct Template {
    bytes: Vec<u8>,
}

/// Where in a [`Template`] a four-byte number stands.
#[derive(Clone, Copy, Debug)]
pub struct IntHole(usize);

/// Where in a [`Template`] an eight-byte number stands.
#[derive(Clone, Copy, Debug)]
pub struct BigintHole(usize);

impl Template {
    /// A row of `columns` columns; exactly as many are to be added.
    pub fn new(columns: i16) -> Self {
        Template {
            bytes: columns.to_be_bytes().to_vec(),
        }
    }

    /// Adds an `int` column with this value.
    pub fn int(&mut self, value: i32) -> IntHole {
        self.bytes.extend_from_slice(&4_i32.to_be_bytes());
        self.bytes.extend_from_slice(&value.to_be_bytes());
        IntHole(self.bytes.len() - 4)
    }

    /// Adds a `bigint` column with this value.
    pub fn bigint(&mut self, value: i64) -> BigintHole {
        self.bytes.extend_from_slice(&8_i32.to_be_bytes());
        self.bytes.extend_from_slice(&value.to_be_bytes());
        BigintHole(self.bytes.len() - 8)
    }

    /// Adds an empty text; in a `char(n)` column the server fills it up with blanks.
    pub fn empty_text(&mut self) {
        self.bytes.extend_from_slice(&0_i32.to_be_bytes());
    }

    /// Adds a NULL.
    pub fn null(&mut self) {
        self.bytes.extend_from_slice(&(-1_i32).to_be_bytes());
    }

    /// Changes an `int`.
    pub fn set_int(&mut self, hole: IntHole, value: i32) {
        self.bytes[hole.0..hole.0 + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// Changes a `bigint`.
    pub fn set_bigint(&mut self, hole: BigintHole, value: i64) {
        self.bytes[hole.0..hole.0 + 8].copy_from_slice(&value.to_be_bytes());
    }

    /// The row as it now stands.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
