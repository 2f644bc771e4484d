//! The reply to one request: its bytes, and how far they are parsed.
//!
//! In: bytes as they arrive, split anywhere. Out: whether the reply is complete; its rows, row count
//! and error on demand. Must never: copy a row, or allocate once its buffer has grown to what the
//! workload's replies need.

use super::row::{Row, is_row};
use crate::exchange::BlockState;
use crate::reply_buffer::{self, OTHER_BYTES_MAX, RowBudget};
use crate::violation::Violation;
use std::ops::Range;

/// Longest message that is accepted, in bytes; a longer one means a broken or hostile server.
const MESSAGE_MAX: usize = 1 << 30;

/// The direction of a COPY, seen from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyDirection {
    /// The server sends the data.
    Out,
    /// The server waits for the data.
    In,
}

#[derive(Debug, Default)]
pub struct Reply {
    bytes: Vec<u8>,
    /// Number of bytes parsed: whole messages.
    scanned: usize,
    /// Offset of the reply's end; bytes after this offset do not belong to the reply.
    end: Option<usize>,
    /// Whether a request was made whose ReadyForQuery has not arrived.
    is_waiting: bool,
    /// Parse messages that the server accepted.
    parses_accepted: u32,
    /// Number of results so far, including those without rows.
    result_count: u32,
    /// The fewest results of a valid reply without an error.
    min_results: u32,
    /// The last RowDescription: the number of its result, and its number of columns.
    described: Option<(u32, u16)>,
    /// Body of the first error.
    error: Option<Range<usize>>,
    /// Body of the last CommandComplete, which is the command's tag.
    command_tag: Option<Range<usize>>,
    block: BlockState,
    /// Set while a COPY is in progress.
    copy: Option<CopyDirection>,
    /// Whether a COPY is allowed; otherwise it is a protocol violation.
    allows_copy: bool,
    has_notices: bool,
    /// Body of an error that arrived without a request: the session is ending.
    unsolicited_error: Option<Box<[u8]>>,
    /// The limit of the rows, notices and data of a COPY that are kept.
    pub(crate) rows_kept: RowBudget,
    /// How many bytes the ParameterStatus messages of the reply have.
    setting_bytes: usize,
    /// How many bytes of a dropped message have not arrived.
    dropped_missing: usize,
}

impl Reply {
    /// Drops all state, for a new connection.
    pub fn reset(&mut self) {
        *self = Reply {
            bytes: std::mem::take(&mut self.bytes),
            allows_copy: self.allows_copy,
            rows_kept: self.rows_kept,
            ..Reply::default()
        };
        self.bytes.clear();
    }

    /// Allows COPY from now on: the data of a COPY TO is skipped, and the caller sends the data of a
    /// COPY FROM.
    pub fn allow_copy(&mut self) {
        self.allows_copy = true;
    }

    /// Expects the reply to a request: an error or at least `min_results` results, then ReadyForQuery.
    pub fn expect(&mut self, min_results: u32) {
        let has_unread = reply_buffer::remove_parsed(&mut self.bytes, self.scanned);
        self.rows_kept.begin();
        self.setting_bytes = 0;
        self.scanned = 0;
        self.end = None;
        self.is_waiting = true;
        self.parses_accepted = 0;
        self.result_count = 0;
        self.min_results = min_results;
        self.described = None;
        self.has_notices = false;
        self.error = None;
        self.command_tag = None;
        if has_unread {
            // If the server has sent a final error, that is the reply to this request. A violation is ignored
            // here; the next call of `feed` reports it.
            let _ = self.scan();
        }
    }

    /// Feeds bytes that arrived. Returns true when the reply is now complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<bool, Violation> {
        let dropped = self.dropped_missing.min(bytes.len());
        self.dropped_missing -= dropped;
        self.bytes.extend_from_slice(&bytes[dropped..]);
        let was_waiting = self.is_waiting;
        self.scan()?;
        self.rows_kept.check(self.bytes.len())?;
        Ok(was_waiting && !self.is_waiting)
    }

    fn scan(&mut self) -> Result<(), Violation> {
        let was_waiting = self.is_waiting;
        // Up to here a message has arrived and is kept: one comparison for each message.
        let mut kept_end = self.rows_kept.end_of_kept(self.bytes.len());
        while let Some((kind, body)) = message_header(&self.bytes, self.scanned)? {
            let end = body.end;
            if end > kept_end {
                let has_too_much = self.rows_kept.is_exceeded(self.bytes.len());
                if has_too_much && is_droppable(kind) && !self.rows_kept.admit(end) {
                    self.drop_messages(kind)?;
                    kept_end = self.rows_kept.end_of_kept(self.bytes.len());
                    continue;
                }
                if end > self.bytes.len() {
                    break;
                }
            }
            if self.is_waiting {
                self.handle_message(kind, body)?;
            } else if !self.handle_unrequested(kind, body, was_waiting)? {
                break;
            }
            self.scanned = end;
        }
        Ok(())
    }

    /// Removes the droppable messages at `scanned`, as far as they have arrived; `kind` is the type of the first.
    #[cold]
    fn drop_messages(&mut self, kind: u8) -> Result<(), Violation> {
        if !self.is_waiting && !matches!(kind, b'N' | b'A') {
            return Err(Violation::Unexpected(kind));
        }
        let mut end = self.scanned;
        while let Some((next_kind, body)) = message_header(&self.bytes, end)?
            && is_droppable(next_kind)
        {
            end = body.end;
        }
        let arrived = end.min(self.bytes.len());
        self.dropped_missing = end - arrived;
        self.bytes.drain(self.scanned..arrived);
        Ok(())
    }

    /// Handles a message of the reply.
    #[inline]
    fn handle_message(&mut self, kind: u8, body: Range<usize>) -> Result<(), Violation> {
        // No guard where it can be avoided: without guards this is a jump.
        match kind {
            b'D' => {
                if !is_row(&self.bytes[body]) {
                    return Err(Violation::Malformed(
                        "the lengths of a row's values are wrong",
                    ));
                }
            }
            // BindComplete, NoData, ParameterDescription, PortalSuspended, CloseComplete.
            b'2' | b'n' | b't' | b's' | b'3' => {}
            // The names of the columns are read later, from the bytes.
            b'T' => {
                let count = self.bytes[body].first_chunk::<2>();
                let columns = count.map_or(0, |count| u16::from_be_bytes(*count));
                self.described = Some((self.result_count, columns));
            }
            b'1' => self.parses_accepted += 1,
            b'C' => {
                self.result_count += 1;
                self.command_tag = Some(body);
            }
            b'I' => self.result_count += 1,
            b'Z' => self.end_request(body)?,
            // The first error of a request is the one that matters.
            b'E' => {
                self.error.get_or_insert(body);
            }
            b'N' | b'S' | b'A' => self.handle_asynchronous(kind, body)?,
            b'd' | b'c' if self.copy == Some(CopyDirection::Out) => {}
            b'G' | b'H' | b'W' => {
                self.copy = Some(match kind {
                    b'H' => CopyDirection::Out,
                    _ => CopyDirection::In,
                });
                if !self.allows_copy || kind == b'W' {
                    return Err(Violation::Copy);
                }
            }
            _ => return Err(Violation::Unexpected(kind)),
        }
        Ok(())
    }

    /// Handles a message that arrives without a request. Returns false if it belongs to the next reply: the final error of
    /// a server that ends the session can arrive with the previous reply (`was_waiting`), which is valid, because its
    /// commit was done.
    #[cold]
    fn handle_unrequested(
        &mut self,
        kind: u8,
        body: Range<usize>,
        was_waiting: bool,
    ) -> Result<bool, Violation> {
        match kind {
            b'E' if was_waiting => return Ok(false),
            b'E' => self.unsolicited_error = Some(self.bytes[body].into()),
            b'N' | b'S' | b'A' => self.handle_asynchronous(kind, body)?,
            _ => return Err(Violation::Unexpected(kind)),
        }
        Ok(true)
    }

    /// Handles a notice, a changed setting or a notification, which may come at any time.
    #[cold]
    fn handle_asynchronous(&mut self, kind: u8, body: Range<usize>) -> Result<(), Violation> {
        self.has_notices |= kind == b'N';
        if kind == b'S' {
            self.setting_bytes += 5 + body.len();
            if self.setting_bytes > OTHER_BYTES_MAX {
                let min_bytes = self.setting_bytes;
                return Err(Violation::TooLong { min_bytes });
            }
        }
        Ok(())
    }

    /// Handles a ReadyForQuery message.
    #[inline]
    fn end_request(&mut self, body: Range<usize>) -> Result<(), Violation> {
        self.is_waiting = false;
        self.end = Some(body.end);
        self.block = match &self.bytes[body] {
            b"I" => BlockState::Idle,
            b"T" => BlockState::Open,
            b"E" => BlockState::Failed,
            _ => return Err(Violation::Malformed("the session is in an unknown state")),
        };
        self.copy = None;
        if self.error.is_none() && self.result_count < self.min_results {
            return Err(Violation::Malformed(
                "a statement ends with neither a result nor an error",
            ));
        }
        Ok(())
    }

    /// The direction of the COPY that is in progress, if one is.
    pub fn copy(&self) -> Option<CopyDirection> {
        self.copy
    }

    /// Whether the server waits for the data of a COPY; true only once for each COPY.
    pub fn take_copy_request(&mut self) -> bool {
        let awaits_data = self.copy == Some(CopyDirection::In) && self.error.is_none();
        if awaits_data {
            self.copy = None;
        }
        awaits_data
    }

    /// Bodies of the ParameterStatus messages that came with the reply.
    pub fn parameter_reports(&self) -> impl Iterator<Item = &[u8]> {
        let settings = self.messages().filter(|(kind, _)| *kind == b'S');
        settings.map(|(_, body)| &self.bytes[body])
    }

    /// How many Parse messages the server accepted.
    pub fn parses_accepted(&self) -> u32 {
        self.parses_accepted
    }

    pub fn has_notices(&self) -> bool {
        self.has_notices
    }

    /// Bodies of the NoticeResponses that came with the reply.
    pub fn notices(&self) -> impl Iterator<Item = &[u8]> {
        let notices = self.messages().filter(|(kind, _)| *kind == b'N');
        notices.map(|(_, body)| &self.bytes[body])
    }

    pub fn block_state(&self) -> BlockState {
        self.block
    }

    /// Body of the reply's first ErrorResponse, if there was one.
    pub fn error(&self) -> Option<&[u8]> {
        self.error.clone().map(|r| &self.bytes[r])
    }

    /// Body of the ErrorResponse with which the server ended the session, if any: one that arrived
    /// without a request, or without a ReadyForQuery after it.
    pub fn final_error(&self) -> Option<&[u8]> {
        let error_of_unfinished_reply = self.error().filter(|_| self.end.is_none());
        self.unsolicited_error
            .as_deref()
            .or(error_of_unfinished_reply)
    }

    /// Whether bytes arrived after this reply; if so, the reply may have arrived earlier than the last byte.
    pub fn has_surplus_bytes(&self) -> bool {
        self.end.is_some_and(|end| end < self.bytes.len())
    }

    /// Whether the last command's tag is that of a ROLLBACK, which is also the reply to the COMMIT of a failed block.
    pub fn has_rolled_back(&self) -> bool {
        let tag = self.command_tag.clone();
        tag.is_some_and(|tag| self.bytes[tag] == *b"ROLLBACK\0")
    }

    /// Rows that the last command changed or returned, from its tag: `INSERT 0 5` is 5.
    pub fn affected_rows(&self) -> u64 {
        let tag = self.command_tag.clone().map_or(&[][..], |r| &self.bytes[r]);
        // From the end, because this is read for each statement of a script: a search for the last word
        // and `parse` take ten times as many instructions.
        let (mut rows, mut unit) = (0u64, 1u64);
        for byte in tag.iter().rev().skip_while(|byte| **byte == 0) {
            match byte {
                b'0'..=b'9' => {
                    let digit = u64::from(byte - b'0');
                    rows = rows.wrapping_add(digit.wrapping_mul(unit));
                    unit = unit.wrapping_mul(10);
                }
                b' ' => return rows,
                _ => return 0,
            }
        }
        rows
    }

    /// Rows that result `result` has; of the last, also those that its command changed. The tags of SHOW, EXPLAIN and
    /// CALL have no number.
    pub fn affected_rows_of(&self, result: usize) -> u64 {
        match self.affected_rows() {
            0 if self.column_count(result) > 0 => {
                self.rows().filter(|(of, _)| *of == result).count() as u64
            }
            rows => rows,
        }
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

    /// Number of results, including those without rows.
    pub fn result_count(&self) -> usize {
        self.result_count as usize
    }

    /// Number of columns of result `result` (from 0); 0 if the server described none.
    pub fn column_count(&self, result: usize) -> usize {
        match self.described {
            Some((last, columns)) if last as usize == result => usize::from(columns),
            // A result before the last one that has columns.
            Some((last, _)) if last as usize > result => self.column_names(result).count(),
            _ => 0,
        }
    }

    /// The names of the columns of result `result` (from 0), as far as they are well-formed; none if
    /// the server described none.
    pub fn column_names(&self, result: usize) -> impl Iterator<Item = &[u8]> {
        let mut number = 0;
        let mut unread: &[u8] = &[];
        for (kind, body) in self.messages() {
            match kind {
                kind if ends_result(kind) => number += 1,
                b'T' if number == result => {
                    // After the number of columns.
                    unread = self.bytes[body].get(2..).unwrap_or_default();
                    break;
                }
                _ => {}
            }
        }
        std::iter::from_fn(move || {
            let end = unread.iter().position(|byte| *byte == 0)?;
            let name = &unread[..end];
            // Table, column number, type, its length and modifier, format.
            unread = unread.get(end + 1 + 18..)?;
            Some(name)
        })
    }

    /// The parsed messages, each with its type and the range of its body.
    fn messages(&self) -> impl Iterator<Item = (u8, Range<usize>)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (kind, body) = message_header(&self.bytes[..self.scanned], at).ok()??;
            at = body.end;
            Some((kind, body))
        })
    }
}

/// Whether a message of this type is dropped if the reply is too long: rows, data of a COPY, notices, notifications.
fn is_droppable(kind: u8) -> bool {
    matches!(kind, b'D' | b'd' | b'N' | b'A')
}

/// Whether a message of this type ends a result: CommandComplete or EmptyQueryResponse.
fn ends_result(kind: u8) -> bool {
    matches!(kind, b'C' | b'I')
}

/// The next message at `at`, whose header is complete: its type and the range of its body.
fn message_header(bytes: &[u8], at: usize) -> Result<Option<(u8, Range<usize>)>, Violation> {
    let header = bytes.get(at..).and_then(|unread| unread.first_chunk::<5>());
    let Some(&[kind, a, b, c, d]) = header else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([a, b, c, d]);
    if length < 4 || length as usize > MESSAGE_MAX {
        return Err(Violation::InvalidLength {
            message_type: kind,
            length,
        });
    }
    let body = at + 5..at + 1 + length as usize;
    Ok(Some((kind, body)))
}

#[cfg(test)]
mod tests;
