//! The reply to one request: its bytes, and how far they are parsed.
//!
//! In: bytes as they arrive, split anywhere. Out: whether the reply to a message is complete; rows, row
//! count and error on demand. Must never: copy a row more than once, out of its packets, or allocate once
//! its buffers have grown to what the workload's replies need.
//! Source: MS-TDS 2.2.7, 3.2.5.

use super::error;
use super::packet::{Unframer, kind as packet_kind};
use super::row::Texts;
use super::type_info::Column;
use crate::violation::Violation;
use std::cell::{OnceCell, RefCell};
use std::ops::Range;

mod results;
mod scan;

/// A buffer that grew beyond this is freed after the reply.
const MAX_KEPT_CAPACITY: usize = 64 * 1024;
/// Most bytes that a server may send without a request.
const UNSOLICITED_MAX: usize = 64 * 1024;

/// The position of one result.
#[derive(Clone, Debug, Default)]
struct ResultPosition {
    /// Its columns among those of the reply; none: it has no rows.
    columns: Range<usize>,
    /// Its rows among those of the reply.
    rows: Range<usize>,
    affected: u64,
}

/// How far a row has been read.
#[derive(Clone, Copy, Debug)]
struct RowCursor {
    /// Offset of the row.
    start: usize,
    column: usize,
    /// Where that column, or its next chunk, begins.
    at: usize,
    in_chunks: bool,
}

/// An integer that a procedure returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReturnedInt {
    /// Number of the procedure call in the message, from 0.
    pub call: usize,
    pub number: i32,
}

/// The replies to the messages of one request.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    unframer: Unframer,
    /// Payloads, without packet headers.
    bytes: Vec<u8>,
    scanned: usize,
    /// A message is sent, and its reply is not complete.
    waiting: bool,
    /// An attention is sent and not acknowledged.
    attention: bool,
    /// An attention was acknowledged, so the request is incomplete.
    canceled: bool,
    columns: Vec<Column>,
    /// Columns of the result whose rows come.
    current: Option<Range<usize>>,
    cursor: Option<RowCursor>,
    /// Offset of each row.
    rows: Vec<usize>,
    /// First row of the result that has begun.
    first_row: usize,
    results: Vec<ResultPosition>,
    /// Procedure calls of the message that have ended.
    calls: usize,
    /// Calls at the start of the message whose results are ignored.
    ignored_calls: usize,
    /// Results before the current call.
    results_before: usize,
    returned: Vec<ReturnedInt>,
    error: Option<Range<usize>>,
    notices: Vec<Range<usize>>,
    /// Bytes arrived after the reply.
    surplus: bool,
    /// Descriptor of the open transaction; 0: none.
    transaction: u64,
    /// Payload that arrives without a request, and the error in it: the session is ending.
    unsolicited: Vec<u8>,
    unsolicited_error: Option<Box<[u8]>>,
    /// A violation in bytes after a complete reply: the next bytes reveal it.
    violation: Option<Violation>,
    /// The last DONE announced more results.
    more: bool,
    /// The whole reply arrived before the attention was acknowledged.
    ended: bool,
    /// Names of the columns of each result, created on demand.
    names: OnceCell<Texts>,
    /// All rows as text, created on demand.
    texts: OnceCell<Texts>,
    /// Its buffer between two replies.
    spare: RefCell<Texts>,
}

/// Methods for the codec.
impl Reply {
    /// Drops all state, for a new connection.
    pub(crate) fn reset(&mut self) {
        *self = Reply {
            bytes: std::mem::take(&mut self.bytes),
            ..Reply::default()
        };
        self.bytes.clear();
    }

    /// Expects the replies to a new request, beginning with its first message.
    pub(crate) fn begin(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > MAX_KEPT_CAPACITY {
            self.bytes = Vec::new();
        }
        if self.rows.capacity() > MAX_KEPT_CAPACITY {
            self.rows = Vec::new();
        }
        if let Some(mut texts) = self.texts.take() {
            texts.shrink(MAX_KEPT_CAPACITY);
            self.spare.replace(texts);
        }
        self.names.take();
        self.scanned = 0;
        self.columns.clear();
        self.rows.clear();
        self.first_row = 0;
        self.results.clear();
        self.notices.clear();
        self.error = None;
        self.canceled = false;
        self.surplus = false;
    }

    /// Expects the reply to a message, in which the results of the first `ignored_calls` procedure calls
    /// do not count.
    pub(crate) fn expect(&mut self, ignored_calls: usize) {
        self.waiting = true;
        self.attention = false;
        (self.more, self.ended) = (true, false);
        self.current = None;
        self.cursor = None;
        self.calls = 0;
        self.ignored_calls = ignored_calls;
        self.results_before = self.results.len();
        self.returned.clear();
    }

    /// Expects the acknowledgement of an attention, which may follow the rest of the reply. False: no
    /// request is in flight.
    pub(crate) fn expect_attention(&mut self) -> bool {
        let is_first = self.waiting && !self.attention;
        self.attention |= self.waiting;
        is_first
    }

    /// Feeds bytes that arrived. True: the reply to the message is now complete.
    ///
    /// # Errors
    /// If the server violates the protocol; the connection can no longer be used then.
    pub(crate) fn feed(&mut self, mut input: &[u8]) -> Result<bool, Violation> {
        if let Some(violation) = self.violation.take() {
            return Err(violation);
        }
        let mut complete = false;
        while let Some(piece) = self.unframer.next(&mut input, &[packet_kind::REPLY])? {
            if !self.waiting {
                // After a complete reply, which remains valid.
                self.surplus = true;
                match self.take_unsolicited(piece.payload, piece.ends_message) {
                    Err(violation) if complete => self.violation = Some(violation),
                    taken => taken?,
                }
                continue;
            }
            self.bytes.extend_from_slice(piece.payload);
            if !piece.ends_message {
                continue;
            }
            self.scan()?;
            if self.scanned < self.bytes.len() {
                return Err(Violation::Malformed("a message ends inside of a token"));
            }
            self.ended |= !self.more;
            if !self.attention {
                self.waiting = false;
                complete = true;
            }
        }
        if self.waiting {
            self.scan()?;
        }
        Ok(complete)
    }

    /// Descriptor of the open transaction; 0: none.
    pub(crate) fn transaction(&self) -> u64 {
        self.transaction
    }

    /// The integer that a procedure call of the message returned.
    pub(super) fn returned_by(&self, call: usize) -> Option<i32> {
        let found = self.returned.iter().find(|returned| returned.call == call);
        found.map(|returned| returned.number)
    }

    /// Number of the reply's error; 0: none.
    pub(crate) fn error_number(&self) -> u32 {
        match self.error() {
            Some(body) => error::message(body).number,
            None => 0,
        }
    }

    /// Whether the request failed or was canceled: nothing of it may follow.
    pub(crate) fn is_failed(&self) -> bool {
        self.error.is_some() || self.canceled
    }
}
