//! The replies to the messages of one request: their bytes, and how far they are parsed.
//!
//! In: bytes as they arrive, split anywhere. Out: whether the reply to a message is complete; rows, row
//! count and error on demand. Must never: copy a row except once, out of its packets, or allocate once the
//! buffers have grown to the size the workload needs.
//! Source: MS-TDS 2.2.7, 3.2.5.

use super::error;
use super::packet::{Unframer, packet_type};
use super::row::TextRows;
use super::type_info::Column;
use crate::reply_buffer::{self, MAX_RETAINED_CAPACITY, RowBudget};
use crate::violation::Violation;
use std::cell::{OnceCell, RefCell};
use std::ops::Range;

mod results;
mod scan;

/// Maximum number of bytes that a server may send without a request.
const UNSOLICITED_BYTES_MAX: usize = 64 * 1024;

#[derive(Clone, Debug, Default)]
struct ResultPosition {
    /// The result's columns in `Reply::columns`; empty if the result cannot have rows.
    columns: Range<usize>,
    /// The result's rows in `Reply::row_offsets`.
    rows: Range<usize>,
    dropped_rows: u64,
    /// Number of rows that the statement changed or returned, as the server reports it.
    affected_rows: u64,
}

/// How far an incomplete row has been read.
#[derive(Clone, Copy, Debug)]
struct RowCursor {
    start: usize,
    /// Index of the column to read next.
    column: usize,
    /// Offset of that column's value, or of its next chunk.
    offset: usize,
    /// Length of what comes before the values.
    head_bytes: usize,
    /// Whether the first chunks of that column's value have been read.
    is_in_chunks: bool,
}

/// An integer that a procedure call returned, such as a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReturnedInt {
    /// Index of the procedure call in the message.
    pub call: usize,
    pub value: i32,
}

#[derive(Debug, Default)]
pub(crate) struct Reply {
    unframer: Unframer,
    /// Payloads, without packet headers.
    bytes: Vec<u8>,
    /// Length of the part of `bytes` that is parsed.
    scanned_length: usize,
    /// Whether a message was sent and the reply to it is not complete.
    is_waiting: bool,
    /// Whether an attention was sent and is not acknowledged.
    attention_pending: bool,
    /// Whether the request was canceled: an attention was acknowledged before the reply was complete.
    is_canceled: bool,
    /// Whether a statement failed without an ERROR token.
    failed_without_message: bool,
    columns: Vec<Column>,
    /// Columns of the result whose rows arrive now, as a range of `columns`.
    current_columns: Option<Range<usize>>,
    cursor: Option<RowCursor>,
    /// Offset of each row in `bytes`.
    row_offsets: Vec<usize>,
    /// Index of the first row of the result whose rows arrive now.
    first_row: usize,
    /// How many rows of that result were dropped.
    dropped_rows: u64,
    pub(crate) rows_kept: RowBudget,
    results: Vec<ResultPosition>,
    /// How many procedure calls of the message have ended.
    calls_ended: usize,
    /// How many calls at the start of the message have results and errors to ignore.
    ignored_calls: usize,
    /// How many results the reply had when the current call began.
    results_before_call: usize,
    returned_ints: Vec<ReturnedInt>,
    /// Where the content of the reply's error lies in `bytes`.
    error_range: Option<Range<usize>>,
    /// Where the contents of notices lie in `bytes`.
    notice_ranges: Vec<Range<usize>>,
    /// Whether bytes arrived after the reply.
    has_surplus: bool,
    /// Descriptor of the open transaction; 0: none.
    transaction_descriptor: u64,
    /// Payload of a message that arrives without a request.
    unsolicited: Vec<u8>,
    /// Content of an error that arrived without a request: the server is ending the session.
    unsolicited_error: Option<Box<[u8]>>,
    /// A violation in bytes after a complete reply, which is valid: the next call of `feed` returns the
    /// violation.
    violation: Option<Violation>,
    /// Whether the last DONE token said that more results follow.
    more_results_follow: bool,
    /// Whether the reply is complete, apart from the acknowledgement of an attention.
    is_reply_ended: bool,
    /// Names of the columns of each result, created on demand.
    column_names: OnceCell<TextRows>,
    /// All rows as text, created on demand.
    row_texts: OnceCell<TextRows>,
    /// The buffer of `row_texts` while it is not in use.
    spare_texts: RefCell<TextRows>,
}

impl Reply {
    /// Drops all state except the buffer, for a new connection.
    pub(crate) fn reset(&mut self) {
        *self = Reply {
            bytes: std::mem::take(&mut self.bytes),
            rows_kept: self.rows_kept,
            ..Reply::default()
        };
        self.bytes.clear();
    }

    /// Drops the reply to the previous request, before a new one is sent.
    pub(crate) fn begin(&mut self) {
        reply_buffer::clear(&mut self.bytes);
        reply_buffer::clear(&mut self.row_offsets);
        if let Some(mut texts) = self.row_texts.take() {
            texts.free_if_larger(MAX_RETAINED_CAPACITY);
            self.spare_texts.replace(texts);
        }
        self.column_names.take();
        self.scanned_length = 0;
        self.rows_kept.begin();
        self.columns.clear();
        self.first_row = 0;
        self.results.clear();
        self.notice_ranges.clear();
        self.error_range = None;
        self.is_canceled = false;
        self.failed_without_message = false;
        self.has_surplus = false;
    }

    /// Expects the reply to a message. The results of its first `ignored_calls` procedure calls are ignored.
    pub(crate) fn expect(&mut self, ignored_calls: usize) {
        self.is_waiting = true;
        self.attention_pending = false;
        self.more_results_follow = true;
        self.is_reply_ended = false;
        self.current_columns = None;
        self.cursor = None;
        self.calls_ended = 0;
        self.ignored_calls = ignored_calls;
        self.results_before_call = self.results.len();
        self.returned_ints.clear();
    }

    /// Expects the acknowledgement of an attention, which may follow the rest of the reply. Returns
    /// whether to send the attention: false if no request is in flight, or an attention was already sent.
    pub(crate) fn expect_attention(&mut self) -> bool {
        let should_send = self.is_waiting && !self.attention_pending;
        self.attention_pending |= self.is_waiting;
        should_send
    }

    /// Feeds bytes that arrived. Returns whether the reply to the message is now complete.
    pub(crate) fn feed(&mut self, mut input: &[u8]) -> Result<bool, Violation> {
        if let Some(violation) = self.violation.take() {
            return Err(violation);
        }
        let mut is_complete = false;
        while let Some(piece) = self.unframer.next(&mut input, &[packet_type::REPLY])? {
            if !self.is_waiting {
                // The reply before these bytes is complete and remains valid.
                self.has_surplus = true;
                match self.handle_unsolicited(piece.payload, piece.ends_message) {
                    Err(violation) if is_complete => self.violation = Some(violation),
                    result => result?,
                }
                continue;
            }
            self.bytes.extend_from_slice(piece.payload);
            if !piece.ends_message {
                continue;
            }
            self.scan()?;
            if self.scanned_length < self.bytes.len() {
                return Err(self.truncated_token());
            }
            self.is_reply_ended |= !self.more_results_follow;
            if !self.attention_pending {
                self.is_waiting = false;
                is_complete = true;
            }
        }
        if self.is_waiting {
            self.scan()?;
        }
        self.rows_kept.check(self.bytes.len())?;
        Ok(is_complete)
    }

    /// Descriptor of the open transaction; 0: none.
    pub(crate) fn transaction(&self) -> u64 {
        self.transaction_descriptor
    }

    /// The integer that the procedure call with this index in the message returned.
    pub(super) fn int_returned_by(&self, call: usize) -> Option<i32> {
        let returned = self.returned_ints.iter().find(|int| int.call == call);
        returned.map(|int| int.value)
    }

    /// Number of the reply's error; 0: none.
    pub(crate) fn error_number(&self) -> u32 {
        match self.error() {
            Some(body) => error::read_fields(body).number,
            None => 0,
        }
    }

    /// Whether the request failed or was canceled: no further message of the request may be sent.
    pub(crate) fn is_failed(&self) -> bool {
        self.error_range.is_some() || self.is_canceled || self.failed_without_message
    }
}
