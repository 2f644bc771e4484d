//! The records of a log, of which only the current one is in memory.

use super::is_csv;
use std::io::{self, BufRead, Read};

/// The most bytes of a record that is kept. The servers truncate none, but a text of 1 GB is no statement of a load.
const RECORD_BYTES_MAX: usize = if cfg!(test) { 4 << 20 } else { 64 << 20 };
/// The most bytes that are read at once: a line without an end must not fill the memory.
const PIECE_BYTES_MAX: u64 = 1 << 20;

/// A reader of a log's records that keeps only the current one.
pub(super) struct Records<R> {
    input: R,
    /// The bytes of the current record.
    pub record: Vec<u8>,
    /// Whether a line was read that belongs to the next record.
    has_next: bool,
    next: Vec<u8>,
    /// Whether the last piece ended its line.
    at_line_start: bool,
    /// Number of records that were too long, and were skipped.
    pub too_long: u64,
    /// Number of records that were skipped because they were cut off, or are none of the log's format.
    pub unreadable: u64,
}

/// Where the fields of a record of CSV stand after some of its bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum CsvState {
    /// Before or in a field without quotes.
    #[default]
    Plain,
    Quoted,
    /// After a quote in a quoted field: it ends the field, or is the first of two.
    AfterQuote,
    /// Something other than a comma follows a closing quote: the record is not one.
    Malformed,
}

impl CsvState {
    fn after(mut self, bytes: &[u8]) -> CsvState {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            self = match (self, byte) {
                (CsvState::Quoted, b'"') => CsvState::AfterQuote,
                (CsvState::Quoted, _) => {
                    // Most of a log is the text of quoted fields.
                    let rest = &bytes[at..];
                    at += rest
                        .iter()
                        .position(|byte| *byte == b'"')
                        .unwrap_or(rest.len());
                    continue;
                }
                (CsvState::AfterQuote | CsvState::Plain, b'"') => CsvState::Quoted,
                (CsvState::AfterQuote, b',' | b'\r' | b'\n') => CsvState::Plain,
                (CsvState::Plain, _) => CsvState::Plain,
                (CsvState::AfterQuote | CsvState::Malformed, _) => return CsvState::Malformed,
            };
            at += 1;
        }
        self
    }
}

impl<R: BufRead> Records<R> {
    pub fn new(input: R) -> Records<R> {
        Records {
            input,
            record: Vec::new(),
            has_next: false,
            next: Vec::new(),
            at_line_start: true,
            too_long: 0,
            unreadable: 0,
        }
    }

    /// Appends the next line to the record, or a part of a very long one; returns whether there was one.
    fn append_line(&mut self) -> io::Result<bool> {
        let mut input = self.input.by_ref().take(PIECE_BYTES_MAX);
        let has_line = input.read_until(b'\n', &mut self.record)? > 0;
        self.at_line_start = self.record.ends_with(b"\n");
        Ok(has_line)
    }

    /// Whether the record is the last of a log and its line is cut off; counts it.
    pub fn is_cut_off(&mut self) -> bool {
        let is_cut_off = !self.record.ends_with(b"\n");
        self.unreadable += u64::from(is_cut_off);
        is_cut_off
    }

    fn clear(&mut self) {
        self.record.clear();
        self.record.shrink_to(PIECE_BYTES_MAX as usize);
    }

    /// Drops what was read since `end` if the record is too long; returns whether it is.
    fn is_too_long(&mut self, end: usize) -> bool {
        let is_too_long = self.record.len() > RECORD_BYTES_MAX;
        if is_too_long {
            self.record.truncate(end);
        }
        is_too_long
    }

    /// Reads a record that ends with the line in which its last quoted field ends, as in CSV. One that was cut off in a
    /// quoted field ends before the line of the next one, in which a comma does not follow what seems to end the field.
    pub fn next_quoted(&mut self) -> io::Result<bool> {
        self.clear();
        let (mut state, mut is_too_long) = (CsvState::default(), false);
        loop {
            let (end, is_new_line) = (self.record.len(), self.at_line_start);
            if !self.append_line()? {
                let is_cut_off = state != CsvState::Plain;
                self.too_long += u64::from(is_too_long);
                self.unreadable += u64::from(is_cut_off && !is_too_long);
                return Ok(!is_cut_off && !is_too_long && !self.record.is_empty());
            }
            state = state.after(&self.record[end..]);
            if state == CsvState::Malformed {
                (state, is_too_long) = (self.skip_cut_off(end, is_new_line)?, false);
            }
            is_too_long |= self.is_too_long(end);
            if state == CsvState::Plain && self.at_line_start {
                if !is_too_long {
                    return Ok(true);
                }
                self.too_long += 1;
                is_too_long = false;
                self.clear();
            }
        }
    }

    /// Goes on with the next line that begins a record: the one at `end` of the current record, or one after it. Returns the
    /// state after this line.
    fn skip_cut_off(&mut self, end: usize, is_new_line: bool) -> io::Result<CsvState> {
        self.unreadable += 1;
        self.record.drain(..end);
        let mut may_begin = is_new_line && end > 0;
        loop {
            if may_begin && is_csv(&String::from_utf8_lossy(&self.record)) {
                let state = CsvState::default().after(&self.record);
                if state != CsvState::Malformed {
                    return Ok(state);
                }
            }
            self.record.clear();
            may_begin = self.at_line_start;
            if !self.append_line()? {
                return Ok(CsvState::Plain);
            }
        }
    }

    /// Reads a record that ends before the next line that begins one.
    pub fn next_until(&mut self, begins: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
        loop {
            self.clear();
            if self.has_next {
                self.record.append(&mut self.next);
                self.has_next = false;
            } else if !self.append_line()? {
                return Ok(false);
            }
            let mut is_too_long = false;
            loop {
                let (end, is_new_line) = (self.record.len(), self.at_line_start);
                if !self.append_line()? {
                    break;
                }
                if is_new_line && begins(&self.record[end..]) {
                    self.next.extend_from_slice(&self.record[end..]);
                    self.record.truncate(end);
                    self.has_next = true;
                    break;
                }
                is_too_long |= self.is_too_long(end);
            }
            if !is_too_long {
                return Ok(true);
            }
            self.too_long += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records of a log, and the numbers of those that are cut off and too long.
    fn records(
        log: &[u8],
        next: impl Fn(&mut Records<&[u8]>) -> io::Result<bool>,
    ) -> (Vec<String>, u64, u64) {
        let mut records = Records::new(log);
        let mut texts = Vec::new();
        while next(&mut records).expect("readable") {
            texts.push(String::from_utf8_lossy(&records.record).into_owned());
        }
        (texts, records.unreadable, records.too_long)
    }

    #[test]
    fn a_record_that_was_cut_off_does_not_take_the_next_ones_with_it() {
        let record = |text: &str| {
            format!(
                "2026-11-29 22:57:41.123 UTC,\"u\",\"d\",7,,a.1,1,,,,0,LOG,00000,\"{text}\",,,\n"
            )
        };
        let [first, second, third] =
            ["a\n\"\"b\"\",\n", "2026-11-29 22:57:41 UTC,", "c"].map(record);
        let cut = &first[..first.len() - 9];
        // Another program's line, a record that begins a line, and one within the line of another.
        for (log, expected, cut_off) in [
            (format!("{first}{second}{third}"), 3, 0),
            (format!("killed \"9\n{first}{second}{third}"), 3, 1),
            (format!("{first}{cut}\n{second}{third}"), 3, 1),
            // The record in the same line is lost too.
            (format!("{first}{cut}{second}{third}"), 2, 1),
            (format!("{first}{second}{third}{cut}"), 3, 1),
            // Its last quote may be the first of two.
            (
                format!("{first}{second}{third}{}\"", &cut[..cut.len() - 4]),
                3,
                1,
            ),
        ] {
            let (texts, cut, _) = records(log.as_bytes(), |records| records.next_quoted());
            assert_eq!((texts.len(), cut), (expected, cut_off), "{log}\n{texts:?}");
            assert_eq!(texts.last(), Some(&third));
        }
    }

    #[test]
    fn a_record_that_is_too_long_is_skipped() {
        let long = "x".repeat(RECORD_BYTES_MAX + 1);
        let lines = format!("\"{}\n", "y\n".repeat(RECORD_BYTES_MAX / 2));
        let log = format!("1,\"a\"\n2,\"{long}\"\n3,{lines}\"\n4,\"b\"\n");
        let (texts, cut_off, too_long) = records(log.as_bytes(), |records| records.next_quoted());
        assert_eq!(texts, ["1,\"a\"\n", "4,\"b\"\n"]);
        assert_eq!((cut_off, too_long), (0, 2));
        let begins = |line: &[u8]| line.starts_with(b"#");
        let log = format!("# 1\na\n# 2 {long}\n{lines}# 3\n# 4{long}");
        let (texts, _, too_long) = records(log.as_bytes(), |records| records.next_until(begins));
        assert_eq!(texts, ["# 1\na\n", "# 3\n"]);
        assert_eq!(too_long, 2);
    }
}
