//! The reply to one request: its bytes, and how far they are parsed.
//!
//! In: bytes as they arrive, split anywhere. Out: whether the reply to a command is complete; rows,
//! row count and error on demand. Must never: copy a row that fits into one packet, or allocate once
//! its buffer has grown to what the workload's replies need.
//! Source: MySQL documentation, "Text Protocol" and "Prepared Statements".

use super::error::{DEADLOCK, ERR, number};
use super::flags;
use super::packet::{HEADER, MAX_PAYLOAD, Reader, header};
use super::row::TextRows;
use super::value::{Column, ValueLength};
use crate::exchange::BlockState;
use crate::reply_buffer::{self, RowBudget};
use crate::violation::Violation;
use std::cell::OnceCell;
use std::ops::Range;

mod results;
mod scan;

pub(super) use scan::parse_ok;

/// Longest payload that is accepted, in bytes: the server's own limit of `max_allowed_packet`.
const PAYLOAD_MAX: usize = 1 << 30;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReplyFormat {
    /// Results whose rows are text.
    #[default]
    Text,
    /// Results whose rows are binary.
    Binary,
    /// A statement's number, and descriptions of its parameters and columns.
    Prepared,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ExpectedPacket {
    /// None: no command is in flight.
    #[default]
    Nothing,
    /// The first packet of a result.
    ResultHeader,
    /// A column description, the first of this many.
    Columns(u64),
    /// The EOF packet after the column descriptions.
    ColumnsEnd,
    /// A row, or the end of the rows.
    Rows,
    /// A description of a prepared statement's parameters or columns, or an EOF packet; this many remain.
    Descriptions(u32),
    /// The server requested a file, and the request continues with it.
    Data,
}

#[derive(Clone, Copy, Debug, Default)]
struct ResultPosition {
    /// Number of columns; 0 for an OK packet instead of rows.
    columns: u64,
    columns_offset: usize,
    rows_offset: usize,
    rows: u64,
    /// How many of `rows` are kept.
    kept_rows: u64,
    affected: u64,
    binary: bool,
}

/// The server's id of a prepared statement, and its number of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PreparedId {
    pub(super) id: u32,
    pub(super) parameters: u16,
}

/// A payload that was reassembled from several packets.
#[derive(Clone, Copy, Debug)]
struct JoinedPayload {
    offset: usize,
    length: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Reply {
    bytes: Vec<u8>,
    /// Length of the part of `bytes` that is parsed.
    scanned: usize,
    expected: ExpectedPacket,
    format: ReplyFormat,
    /// Sequence number that the next packet must have.
    sequence: u8,
    /// Payloads of 16 MiB and more, which arrived in several packets, in order of their offsets.
    joined: Vec<JoinedPayload>,
    results: Vec<ResultPosition>,
    /// How long the values of each column of the last result are, if its rows are binary.
    value_lengths: Vec<ValueLength>,
    error: Option<Range<usize>>,
    prepared_id: PreparedId,
    /// Offset of the reply's end; bytes after this offset do not belong to the reply.
    end: Option<usize>,
    block: BlockState,
    /// Whether the command may have opened a transaction even if it failed.
    may_open_transaction: bool,
    no_backslash_escapes: bool,
    deprecate_eof: bool,
    /// Payload of an error that arrived without a request: the session is ending.
    unsolicited_error: Option<Box<[u8]>>,
    /// Binary rows as text, created on demand.
    text_rows: OnceCell<TextRows>,
    pub(crate) rows_kept: RowBudget,
    /// How many bytes of a dropped packet have not arrived.
    dropped_missing: usize,
    /// Whether the next packet continues a row that is dropped.
    drops_continuation: bool,
}

impl Reply {
    /// Drops all state, for a new connection.
    pub(crate) fn reset(&mut self) {
        *self = Reply {
            bytes: std::mem::take(&mut self.bytes),
            value_lengths: std::mem::take(&mut self.value_lengths),
            deprecate_eof: self.deprecate_eof,
            rows_kept: self.rows_kept,
            ..Reply::default()
        };
        self.bytes.clear();
    }

    pub(crate) fn set_session_flags(&mut self, deprecate_eof: bool, status: u16) {
        self.deprecate_eof = deprecate_eof;
        self.set_status(status);
    }

    /// Clears what the last request left, before the first command of a new one ([`Reply::expect`]).
    pub(crate) fn begin(&mut self) {
        reply_buffer::remove_parsed(&mut self.bytes, self.scanned);
        self.scanned = 0;
        self.rows_kept.begin();
        self.joined.clear();
        self.results.clear();
        self.error = None;
        self.end = None;
        self.text_rows.take();
    }

    /// Expects the reply to a command. `sequence`: the sequence number after that of the command's last
    /// packet. `may_open_transaction`: whether the command may open a transaction even if it fails. Returns
    /// true if the reply has arrived already.
    pub(crate) fn expect(
        &mut self,
        format: ReplyFormat,
        sequence: u8,
        may_open_transaction: bool,
    ) -> bool {
        (self.format, self.sequence, self.may_open_transaction) =
            (format, sequence, may_open_transaction);
        self.expected = ExpectedPacket::ResultHeader;
        // Bytes may have arrived since the last reply. The server sends nothing without a command except the error with
        // which it ends the session, for example at a shutdown: that error is then the reply to this command. Anything
        // else violates the protocol: `scan` does not pass it, and the next call of `feed` reports it.
        self.scanned < self.bytes.len() && matches!(self.scan(), Ok(true))
    }

    /// Continues after data that the server requested.
    pub(crate) fn data_sent(&mut self, sequence: u8) {
        self.sequence = sequence;
        self.expected = ExpectedPacket::ResultHeader;
    }

    /// Feeds bytes that arrived. Returns true if the reply to the command is now complete, or waits for data.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<bool, Violation> {
        let dropped = self.dropped_missing.min(bytes.len());
        self.dropped_missing -= dropped;
        self.bytes.extend_from_slice(&bytes[dropped..]);
        let result = self.scan();
        self.rows_kept.check(self.bytes.len())?;
        result
    }

    /// The sequence number of the first data packet, if the server waits for the data of a `LOAD DATA
    /// LOCAL`.
    pub(crate) fn requested_data_sequence(&self) -> Option<u8> {
        (self.expected == ExpectedPacket::Data).then_some(self.sequence)
    }

    /// The server's number for the statement last prepared.
    pub(crate) fn prepared_id(&self) -> PreparedId {
        self.prepared_id
    }

    /// Number of the reply's error; 0 if there is none.
    pub(crate) fn error_number(&self) -> u32 {
        self.error().map_or(0, number)
    }

    /// Drops the error of a command, because the request continues without it.
    pub(crate) fn clear_error(&mut self) {
        self.error = None;
    }

    /// Whether a backslash is an ordinary character in literals.
    pub(crate) fn no_backslash_escapes(&self) -> bool {
        self.no_backslash_escapes
    }
}
