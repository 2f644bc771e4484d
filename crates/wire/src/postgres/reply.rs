//! The reply to one request: its bytes, and how far they were understood.
//!
//! In: bytes as they arrive, cut anywhere. Out: whether the reply is complete; its rows, row count
//! and error on demand. Must never: copy a row, or allocate once its buffer has grown to what the
//! workload's replies need.

use crate::exchange::Block;
use crate::violation::Violation;
use std::ops::Range;

/// Largest message that is believed; a longer one is a broken or hostile server.
const MESSAGE_MAX: usize = 1 << 30;

/// A buffer that grew beyond this is given back when the reply is done with.
const KEEP_MAX: usize = 64 * 1024;

/// The reply to one request.
#[derive(Debug, Default)]
pub struct Reply {
    bytes: Vec<u8>,
    /// So many of the bytes were understood: whole messages.
    scanned: usize,
    /// Where the reply ends; what stands behind came with it.
    end: Option<usize>,
    /// ReadyForQuery messages that are still to come.
    ready_missing: u32,
    /// Parse messages that the server accepted.
    parsed: u32,
    /// Body of the first error.
    error: Option<Range<usize>>,
    /// Body of the last CommandComplete.
    complete: Option<Range<usize>>,
    block: Block,
    /// A COPY was met; true: the server waits for its data.
    copy: Option<bool>,
    /// Notices that came with it.
    notices: u32,
    /// Body of an error that came when nothing was asked: the end of the session is near.
    farewell: Option<Box<[u8]>>,
}

impl Reply {
    /// Forgets everything, for a fresh connection.
    pub fn reset(&mut self) {
        *self = Reply {
            bytes: std::mem::take(&mut self.bytes),
            ..Reply::default()
        };
        self.bytes.clear();
    }

    /// Expects the answer to a request that brings `ready` messages ReadyForQuery.
    pub fn expect(&mut self, ready: u32) {
        let rest = self.scanned < self.bytes.len();
        if !rest {
            self.bytes.clear();
            if self.bytes.capacity() > KEEP_MAX {
                self.bytes = Vec::new();
            }
        } else {
            self.bytes.drain(..self.scanned);
        }
        self.scanned = 0;
        self.end = None;
        self.ready_missing = ready;
        self.parsed = 0;
        self.notices = 0;
        self.error = None;
        self.complete = None;
        if rest {
            // The server's farewell, if it is one, is the answer to this request. A violation stays
            // where it is, and the next bytes find it.
            let _ = self.scan();
        }
    }

    /// Takes bytes that arrived. Returns true when the reply is complete by them.
    ///
    /// # Errors
    /// When the server breaks the protocol; the connection is of no further use then.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<bool, Violation> {
        self.bytes.extend_from_slice(bytes);
        let waited = self.ready_missing > 0;
        self.scan()?;
        Ok(waited && self.ready_missing == 0)
    }

    fn scan(&mut self) -> Result<(), Violation> {
        let waited = self.ready_missing > 0;
        while let Some((kind, body)) = next_message(&self.bytes, self.scanned)? {
            // The farewell of a server that ends the session can come with the reply before it.
            // That reply stands: its commit was done.
            if kind == b'E' && waited && self.ready_missing == 0 {
                break;
            }
            let end = body.end;
            self.take(kind, body)?;
            self.scanned = end;
            if kind == b'Z' && self.ready_missing == 0 {
                self.end = Some(end);
            }
        }
        Ok(())
    }

    fn take(&mut self, kind: u8, body: Range<usize>) -> Result<(), Violation> {
        match kind {
            // Rows and their descriptions are read later, from the bytes.
            b'D' | b'T' | b'2' | b'n' | b't' | b'I' | b's' | b'3' => {}
            b'1' => self.parsed += 1,
            b'C' => self.complete = Some(body),
            b'Z' => {
                self.block = match self.bytes[body].first() {
                    Some(b'T') => Block::Open,
                    Some(b'E') => Block::Failed,
                    _ => Block::Idle,
                };
                self.ready_missing = match self.ready_missing.checked_sub(1) {
                    Some(left) => left,
                    None => return Err(Violation::Unexpected(kind)),
                };
                return Ok(());
            }
            // The session's end may be announced right behind a good reply.
            b'E' if self.ready_missing == 0 => self.farewell = Some(self.bytes[body].into()),
            // The first error of a request is the one that matters.
            b'E' if self.error.is_none() => self.error = Some(body),
            b'E' => {}
            // A notice, a changed setting or a notification may come at any time.
            b'N' => {
                self.notices += 1;
                return Ok(());
            }
            b'S' | b'A' => return Ok(()),
            b'G' | b'H' | b'W' => {
                self.copy = Some(kind != b'H');
                return Err(Violation::Copy);
            }
            _ => return Err(Violation::Unexpected(kind)),
        }
        if self.ready_missing == 0 && kind != b'E' {
            return Err(Violation::Unexpected(kind));
        }
        Ok(())
    }

    /// Whether a COPY was met, and if so whether the server waits for data, of which there is none.
    pub fn copy(&self) -> Option<bool> {
        self.copy
    }

    /// How many Parse messages the server accepted.
    pub fn parsed(&self) -> u32 {
        self.parsed
    }

    /// Bodies of the NoticeResponses that came with it.
    pub fn notices(&self) -> impl Iterator<Item = &[u8]> {
        let messages = (self.notices > 0).then(|| self.messages());
        let notices = messages.into_iter().flatten();
        notices.filter_map(|(kind, body)| (kind == b'N').then(|| &self.bytes[body]))
    }

    /// State of the session's transaction block.
    pub fn block(&self) -> Block {
        self.block
    }

    /// Body of the reply's first ErrorResponse, if there was one.
    pub fn error(&self) -> Option<&[u8]> {
        self.error.clone().map(|r| &self.bytes[r])
    }

    /// Body of the ErrorResponse with which the server ended the session, if it did: one that came
    /// when nothing was asked, or to which no ReadyForQuery followed.
    pub fn last_words(&self) -> Option<&[u8]> {
        let unfinished = self.error().filter(|_| self.end.is_none());
        self.farewell.as_deref().or(unfinished)
    }

    /// More had arrived than this reply: its arrival may have been earlier than the last byte's.
    pub fn has_surplus(&self) -> bool {
        self.end.is_some_and(|end| end < self.bytes.len())
    }

    /// Rows that the last command changed or returned, as its tag tells: `INSERT 0 5` is 5.
    pub fn affected(&self) -> u64 {
        let tag = self.complete.clone().map_or(&[][..], |r| &self.bytes[r]);
        let text = std::str::from_utf8(tag).unwrap_or("");
        let word = text.trim_end_matches('\0').rsplit(' ').next();
        word.and_then(|w| w.parse().ok()).unwrap_or(0)
    }

    /// The rows of all results, in order, each with the number of its result from 0.
    pub fn rows(&self) -> impl Iterator<Item = (usize, Row<'_>)> {
        let mut result = 0;
        self.messages().filter_map(move |(kind, body)| {
            if kind == b'D' {
                let body = &self.bytes[body];
                return Some((result, Row { body }));
            }
            result += usize::from(ends_result(kind));
            None
        })
    }

    /// How many results there are, those without rows included.
    pub fn results(&self) -> usize {
        self.messages()
            .filter(|(kind, _)| ends_result(*kind))
            .count()
    }

    /// The names of the columns of result `result` (from 0), as far as they are well-formed; none
    /// where the server described none.
    pub fn columns(&self, result: usize) -> impl Iterator<Item = &[u8]> {
        let mut number = 0;
        let mut rest: &[u8] = &[];
        for (kind, body) in self.messages() {
            match kind {
                kind if ends_result(kind) => number += 1,
                b'T' if number == result => {
                    // Behind the count of the columns.
                    rest = self.bytes[body].get(2..).unwrap_or_default();
                    break;
                }
                _ => {}
            }
        }
        std::iter::from_fn(move || {
            let end = rest.iter().position(|byte| *byte == 0)?;
            let name = &rest[..end];
            // Table, number in it, type, its length and modifier, format.
            rest = rest.get(end + 1 + 18..)?;
            Some(name)
        })
    }

    /// The messages that were taken, each as its type and the place of its body.
    fn messages(&self) -> impl Iterator<Item = (u8, Range<usize>)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (kind, body) = next_message(&self.bytes[..self.scanned], at).ok()??;
            at = body.end;
            Some((kind, body))
        })
    }
}

/// Whether this is CommandComplete or EmptyQueryResponse.
fn ends_result(kind: u8) -> bool {
    matches!(kind, b'C' | b'I')
}

/// The next whole message at `at`: its type and where its body stands.
fn next_message(bytes: &[u8], at: usize) -> Result<Option<(u8, Range<usize>)>, Violation> {
    let Some(&[kind, a, b, c, d]) = bytes[at..].first_chunk::<5>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([a, b, c, d]);
    if length < 4 || length as usize > MESSAGE_MAX {
        return Err(Violation::Length(kind, length));
    }
    let body = at + 5..at + 1 + length as usize;
    Ok((body.end <= bytes.len()).then_some((kind, body)))
}

/// One row of a result, its values as text.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    body: &'a [u8],
}

impl<'a> Row<'a> {
    /// The values in order; `None` is NULL. Ends early if the row is malformed.
    pub fn values(self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let mut rest = self.body.get(2..).unwrap_or(&[]);
        std::iter::from_fn(move || {
            let (length, tail) = rest.split_first_chunk::<4>()?;
            match usize::try_from(i32::from_be_bytes(*length)) {
                Err(_) => {
                    rest = tail;
                    Some(None)
                }
                Ok(length) => {
                    let value = tail.get(..length)?;
                    rest = &tail[length..];
                    Some(Some(value))
                }
            }
        })
    }

    /// A value as text; `None` if it is NULL, not there, or not UTF-8.
    pub fn text(self, column: usize) -> Option<&'a str> {
        std::str::from_utf8(self.values().nth(column)??).ok()
    }

    /// A value as a whole number.
    pub fn int(self, column: usize) -> Option<i64> {
        self.text(column)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut out = vec![kind];
        out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        out.extend_from_slice(body);
        out
    }

    /// A select of one row with a notice in the middle, as a server sends it.
    fn select() -> Vec<u8> {
        [
            message(b'1', b""),
            message(b'2', b""),
            message(
                b'T',
                b"\0\x01abalance\0\0\0\x40\x01\0\x03\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0",
            ),
            message(b'N', b"SNOTICE\0\0"),
            message(b'D', b"\0\x02\0\0\0\x04-123\xff\xff\xff\xff"),
            message(b'C', b"SELECT 1\0"),
            message(b'Z', b"T"),
        ]
        .concat()
    }

    #[test]
    fn split_at_every_byte() {
        let bytes = select();
        for cut in 0..=bytes.len() {
            let mut reply = Reply::default();
            reply.expect(1);
            let first = reply.feed(&bytes[..cut]).unwrap();
            assert_eq!(first, cut == bytes.len());
            if !first {
                assert!(reply.feed(&bytes[cut..]).unwrap());
            }
            assert_eq!(reply.parsed(), 1);
            assert_eq!(reply.block(), Block::Open);
            assert_eq!(reply.affected(), 1);
            let (result, row) = reply.rows().next().unwrap();
            assert_eq!((result, row.int(0), row.text(1)), (0, Some(-123), None));
            assert_eq!(reply.rows().count(), 1);
            assert_eq!(reply.results(), 1);
            let names: Vec<_> = reply.columns(0).collect();
            assert_eq!(names, [&b"abalance"[..]]);
            assert_eq!(reply.columns(1).count(), 0);
        }
    }

    #[test]
    fn bytes_behind_the_reply_are_kept_for_the_next() {
        let mut reply = Reply::default();
        reply.expect(1);
        let mut bytes = select();
        bytes.extend_from_slice(&message(b'N', b"S\0\0")[..3]);
        assert!(reply.feed(&bytes).unwrap());
        assert!(reply.has_surplus());
        reply.expect(1);
        assert!(!reply.feed(&message(b'N', b"S\0\0")[3..]).unwrap());
        assert!(reply.feed(&message(b'Z', b"I")).unwrap());
        assert!(!reply.has_surplus());
    }

    #[test]
    fn a_farewell_behind_a_reply_belongs_to_the_next_request() {
        let farewell = message(b'E', b"SFATAL\0C57P01\0Mbye\0\0");
        let reply_and_farewell = [select(), farewell.clone()].concat();
        // However the bytes are cut, the first reply has no error and the second request has one.
        for cut in 0..=reply_and_farewell.len() {
            let mut reply = Reply::default();
            reply.expect(1);
            let mut complete = reply.feed(&reply_and_farewell[..cut]).unwrap();
            let behind = if complete {
                cut
            } else {
                reply_and_farewell.len()
            };
            if !complete {
                complete = reply.feed(&reply_and_farewell[cut..]).unwrap();
            }
            assert!(complete, "{cut}");
            assert_eq!(reply.error(), None, "{cut}");
            assert_eq!(reply.affected(), 1);
            reply.expect(1);
            assert!(!reply.feed(&reply_and_farewell[behind..]).unwrap());
            assert!(reply.error().unwrap().starts_with(b"SFATAL"), "{cut}");
        }
    }

    #[test]
    fn the_first_error_counts_and_results_are_numbered() {
        let mut reply = Reply::default();
        reply.expect(1);
        let bytes = [
            message(b'D', b"\0\x01\0\0\0\x011"),
            message(b'C', b"SELECT 1\0"),
            message(b'D', b"\0\x01\0\0\0\x012"),
            message(b'E', b"C40001\0Mfirst\0\0"),
            message(b'E', b"C25P02\0Msecond\0\0"),
            message(b'Z', b"E"),
        ]
        .concat();
        assert!(reply.feed(&bytes).unwrap());
        assert_eq!(reply.error().unwrap(), b"C40001\0Mfirst\0\0");
        assert_eq!(reply.block(), Block::Failed);
        let rows: Vec<_> = reply.rows().map(|(n, row)| (n, row.int(0))).collect();
        assert_eq!(rows, [(0, Some(1)), (1, Some(2))]);
    }

    #[test]
    fn a_misbehaving_server_is_noticed() {
        let fails = |bytes: &[u8], ready| {
            let mut reply = Reply::default();
            reply.expect(ready);
            reply.feed(bytes).unwrap_err()
        };
        assert_eq!(fails(&message(b'Z', b"I"), 0), Violation::Unexpected(b'Z'));
        assert_eq!(
            fails(&message(b'R', b"\0\0\0\0"), 1),
            Violation::Unexpected(b'R')
        );
        assert_eq!(fails(b"D\0\0\0\x03", 1), Violation::Length(b'D', 3));
        assert_eq!(
            fails(b"D\xff\0\0\0", 1),
            Violation::Length(b'D', 0xff00_0000)
        );
        assert_eq!(fails(&message(b'D', b""), 0), Violation::Unexpected(b'D'));
        // The end of a server is announced between requests too: an error is no violation.
        let mut reply = Reply::default();
        reply.expect(0);
        assert!(!reply.feed(&message(b'E', b"C57P01\0\0")).unwrap());
    }

    #[test]
    fn the_end_of_a_session_behind_a_good_reply_does_not_spoil_it() {
        let mut reply = Reply::default();
        reply.expect(1);
        let bytes = [
            message(b'C', b"COMMIT\0"),
            message(b'Z', b"I"),
            message(b'E', b"C57P01\0\0"),
        ];
        assert!(reply.feed(&bytes.concat()).unwrap());
        assert_eq!(reply.error(), None);
        reply.expect(1);
        assert_eq!(reply.last_words(), Some(&b"C57P01\0\0"[..]));
        reply.reset();
        assert_eq!(reply.last_words(), None);
    }

    #[test]
    fn a_malformed_row_ends_early() {
        let row = Row {
            body: b"\0\x02\0\0\0\x09abc",
        };
        assert_eq!(row.values().count(), 0);
        assert_eq!(Row { body: b"" }.int(0), None);
    }
}
