//! Sending the rows of a table by COPY, and rows of its text format, written with as little work a
//! row as there can be.
//!
//! In: rows, as bytes appended to a reused buffer. Out: the same on their way to the server. Must
//! never: allocate for a row. Format: PostgreSQL manual, COPY, "Text Format".
//!
//! For the account tables text, not binary, because it is the smaller one for rows of small numbers: an account takes 14
//! bytes instead of 30, which the server has to receive. Reading either costs its COPY the same
//! (1.8 s of CPU for 5 million rows, PostgreSQL 15), and counting up in decimal costs a client
//! less than sending the difference.

use prony_server::{CopyIn, control};

/// Bytes of rows written at a time; `CopyIn` sends several such pieces in one message.
const PIECE_BYTES: usize = 16 * 1024;

/// The rows of one COPY.
pub trait RowSource {
    /// Whether all rows were written.
    fn is_done(&self) -> bool;

    /// Appends rows until `out` has reached `full` bytes or none is left; returns how many.
    fn fill(&mut self, out: &mut Vec<u8>, full: usize) -> u64;

    /// What stands before the rows.
    fn begin(&self, _out: &mut Vec<u8>) {}

    /// What stands after the rows.
    fn end(&self, _out: &mut Vec<u8>) {}
}

/// Sends the rows. `go_on` is told of rows and bytes with each piece, and may end it early: then
/// the answer is `None`, and the copy is to be dropped; else it is the number of rows.
///
/// # Errors
/// As for [`CopyIn::write`].
pub fn send(
    rows: &mut impl RowSource,
    copy: &mut CopyIn<'_>,
    mut go_on: impl FnMut(u64, u64) -> bool,
) -> Result<Option<u64>, control::Error> {
    let mut sent = 0;
    rows.begin(copy.buffer());
    while !rows.is_done() {
        let buffer = copy.buffer();
        let before = buffer.len();
        let count = rows.fill(buffer, before + PIECE_BYTES);
        let bytes = (buffer.len() - before) as u64;
        copy.flush_if_full()?;
        sent += count;
        if !go_on(count, bytes) {
            return Ok(None);
        }
    }
    rows.end(copy.buffer());
    Ok(Some(sent))
}

/// Digits of the largest key, u64::MAX.
const DIGITS: usize = 20;

/// The bytes of a row whose first column is a number that counts up, one a row.
///
/// The number is kept as decimal digits and incremented in place.
#[derive(Clone, Debug)]
pub struct CountingRow {
    /// The digits end at `DIGITS`; what follows the key begins there.
    bytes: Vec<u8>,
    first_digit: usize,
}

impl CountingRow {
    /// A row with this key, which must not be 0, and nothing after it.
    pub fn new(key: u64) -> Self {
        let mut bytes = vec![b'0'; DIGITS];
        let mut first_digit = DIGITS;
        let mut left = key;
        while left > 0 {
            first_digit -= 1;
            bytes[first_digit] = b'0' + (left % 10) as u8;
            left /= 10;
        }
        CountingRow { bytes, first_digit }
    }

    /// What follows the key, in COPY's text format: from the tab to the newline.
    pub fn set_rest(&mut self, rest: &str) {
        self.bytes.truncate(DIGITS);
        self.bytes.extend_from_slice(rest.as_bytes());
    }

    /// Adds one to the key.
    #[inline]
    pub fn count_up(&mut self) {
        let mut at = DIGITS - 1;
        while self.bytes[at] == b'9' {
            self.bytes[at] = b'0';
            at -= 1;
        }
        self.bytes[at] += 1;
        self.first_digit = self.first_digit.min(at);
    }

    /// The row as it now stands.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.first_digit..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_like_a_number() {
        let mut row = CountingRow::new(1);
        row.set_rest("\t0\n");
        for key in 1..=100_001_u64 {
            assert_eq!(row.bytes(), format!("{key}\t0\n").as_bytes());
            row.count_up();
        }
        for start in [9, 99, 999_999, 1_999_999_999, u64::MAX - 1] {
            let mut row = CountingRow::new(start);
            row.count_up();
            assert_eq!(row.bytes(), (start + 1).to_string().as_bytes());
        }
    }
}
