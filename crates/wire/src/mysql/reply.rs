//! The reply to one request: its bytes, and how far they were understood.
//!
//! In: bytes as they arrive, cut anywhere. Out: whether the reply to a command is complete; rows,
//! row count and error on demand. Must never: copy a row that is not longer than a packet, or
//! allocate once its buffer has grown to what the workload's replies need.
//! Source: MySQL documentation, "Text Protocol" and "Prepared Statements".

use super::error::{DEADLOCK, ERR, number};
use super::flags;
use super::packet::{HEADER, MAX_PAYLOAD, Reader, header};
use super::row::Texts;
use crate::exchange::Block;
use crate::violation::Violation;
use std::cell::OnceCell;
use std::ops::Range;

mod results;

/// Longest payload that is believed, in bytes: the server's own limit of `max_allowed_packet`.
const PAYLOAD_MAX: usize = 1 << 30;

/// A buffer that grew beyond this is given back when the reply is done with.
const KEEP_MAX: usize = 64 * 1024;

/// What a command's reply looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Results whose rows are text.
    Text,
    /// Results whose rows are binary.
    Binary,
    /// A statement's number, and descriptions of its parameters and columns.
    Prepared,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// Nothing: no command is under way.
    Nothing,
    /// The first packet of a result.
    Head,
    /// Descriptions of columns, so many.
    Columns(u64),
    /// The EOF packet behind them.
    ColumnsEnd,
    /// Rows, or their end.
    Rows,
    /// So many descriptions, with EOF packets among them, of a prepared statement.
    Described(u32),
    /// The server asked for a file, and the request goes on with it.
    Data,
}

/// One result: where it stands.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// Columns; 0: no rows, an OK packet instead.
    columns: u64,
    /// Where the first description of a column begins.
    columns_at: usize,
    rows_at: usize,
    rows: u64,
    affected: u64,
    binary: bool,
}

/// A prepared statement, as the server numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(super) id: u32,
    pub(super) parameters: u16,
}

/// The replies to the commands of one request.
#[derive(Debug)]
pub(crate) struct Reply {
    bytes: Vec<u8>,
    scanned: usize,
    due: Due,
    shape: Shape,
    /// Number that the next packet must bear.
    sequence: u8,
    /// Packets longer than 16 MiB: where they begin and how long their payload is, put together.
    joined: Vec<(usize, usize)>,
    parts: Vec<Part>,
    error: Option<Range<usize>>,
    numbered: Numbered,
    /// Where the reply ends; what stands behind came with it.
    end: Option<usize>,
    block: Block,
    /// The command may have opened a transaction though it failed.
    risky: bool,
    no_backslash_escapes: bool,
    deprecate_eof: bool,
    /// Payload of an error that came when nothing was asked: the session is at its end.
    farewell: Option<Box<[u8]>>,
    /// Binary rows as text, made when asked for.
    texts: OnceCell<Texts>,
}

impl Default for Reply {
    fn default() -> Self {
        Reply {
            bytes: Vec::new(),
            scanned: 0,
            due: Due::Nothing,
            shape: Shape::Text,
            sequence: 0,
            joined: Vec::new(),
            parts: Vec::new(),
            error: None,
            numbered: Numbered::default(),
            end: None,
            block: Block::Idle,
            risky: false,
            no_backslash_escapes: false,
            deprecate_eof: false,
            farewell: None,
            texts: OnceCell::new(),
        }
    }
}

/// What the codec does with it.
impl Reply {
    /// Forgets everything, for a fresh connection.
    pub(crate) fn reset(&mut self) {
        *self = Reply {
            bytes: std::mem::take(&mut self.bytes),
            deprecate_eof: self.deprecate_eof,
            ..Reply::default()
        };
        self.bytes.clear();
    }

    /// What log-in and status flags have settled.
    pub(crate) fn agree(&mut self, deprecate_eof: bool, status: u16) {
        self.deprecate_eof = deprecate_eof;
        self.settle(status);
    }

    /// Expects the replies to a new request, from its first command on.
    pub(crate) fn begin(&mut self) {
        if self.scanned == self.bytes.len() {
            self.bytes.clear();
            if self.bytes.capacity() > KEEP_MAX {
                self.bytes = Vec::new();
            }
        } else {
            self.bytes.drain(..self.scanned);
        }
        self.scanned = 0;
        self.joined.clear();
        self.parts.clear();
        self.error = None;
        self.end = None;
        self.texts.take();
    }

    /// Expects the reply to a command whose own last packet has the number before `sequence`.
    /// `risky`: it may open a transaction though it fails. True: the reply is there already.
    pub(crate) fn expect(&mut self, shape: Shape, sequence: u8, risky: bool) -> bool {
        (self.shape, self.sequence, self.risky) = (shape, sequence, risky);
        self.due = Due::Head;
        // The server's farewell, if it is one, is the answer. A violation stays where it is, and
        // the next bytes find it.
        matches!(self.scan(), Ok(true))
    }

    /// Goes on after data that the server asked for.
    pub(crate) fn data_sent(&mut self, sequence: u8) {
        self.sequence = sequence;
        self.due = Due::Head;
    }

    /// Takes bytes that arrived. True: the reply to the command is complete by them, or waits for
    /// data.
    ///
    /// # Errors
    /// When the server breaks the protocol; the connection is of no further use then.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<bool, Violation> {
        self.bytes.extend_from_slice(bytes);
        self.scan()
    }

    /// The server waits for the data of a `LOAD DATA LOCAL`; number of the packet to begin with.
    pub(crate) fn data_wanted(&self) -> Option<u8> {
        (self.due == Due::Data).then_some(self.sequence)
    }

    /// The server's number for the statement last prepared.
    pub(crate) fn numbered(&self) -> Numbered {
        self.numbered
    }

    /// Number of the reply's error; 0: none.
    pub(crate) fn error_number(&self) -> u16 {
        self.error().map_or(0, number)
    }

    /// Drops the error of a command, because the request goes on another way.
    pub(crate) fn forgive(&mut self) {
        self.error = None;
    }

    /// Whether a backslash is an ordinary character in literals.
    pub(crate) fn no_backslash_escapes(&self) -> bool {
        self.no_backslash_escapes
    }
}

/// How bytes are understood.
impl Reply {
    fn scan(&mut self) -> Result<bool, Violation> {
        let waited = self.due != Due::Nothing;
        while !(waited && matches!(self.due, Due::Nothing | Due::Data)) {
            let Some((body, sequence)) = self.next_whole()? else {
                break;
            };
            let end = body.end;
            self.take(body, sequence)?;
            self.scanned = end;
        }
        let complete = waited && matches!(self.due, Due::Nothing | Due::Data);
        if complete {
            self.end = Some(self.scanned);
        }
        Ok(complete)
    }

    /// The next packet, if it is all there; one in several parts is put together.
    fn next_whole(&mut self) -> Result<Option<(Range<usize>, u8)>, Violation> {
        let at = self.scanned;
        let Some((length, mut sequence)) = header(&self.bytes, at) else {
            return Ok(None);
        };
        let start = at + HEADER;
        if length < MAX_PAYLOAD {
            let body = start..start + length;
            return Ok((body.end <= self.bytes.len()).then_some((body, sequence)));
        }
        // How far it was put together when the last bytes came.
        let known = self.joined.last().filter(|(place, _)| *place == at);
        let mut payload = known.map_or(0, |(_, payload)| *payload);
        if known.is_none() {
            if self.bytes.len() < start + length {
                return Ok(None);
            }
            payload = length;
            self.joined.push((at, payload));
        }
        loop {
            let next = start + payload;
            let Some((length, number)) = header(&self.bytes, next) else {
                return Ok(None);
            };
            if payload + length > PAYLOAD_MAX {
                return Err(Violation::Size(payload + length));
            }
            if self.bytes.len() < next + HEADER + length {
                return Ok(None);
            }
            self.bytes.drain(next..next + HEADER);
            payload += length;
            sequence = number;
            if let Some(last) = self.joined.last_mut() {
                last.1 = payload;
            }
            if length < MAX_PAYLOAD {
                // The numbers in between are taken on trust; the last one must fit.
                self.sequence = number;
                return Ok(Some((start..start + payload, sequence)));
            }
        }
    }

    /// The packet at `at`, one that [`Reply::scan`] has been over.
    fn packet(&self, at: usize) -> Option<&[u8]> {
        let (length, _) = header(&self.bytes, at)?;
        let length = match length {
            MAX_PAYLOAD => self.joined.iter().find(|(place, _)| *place == at)?.1,
            length => length,
        };
        self.bytes.get(at + HEADER..at + HEADER + length)
    }

    fn take(&mut self, body: Range<usize>, sequence: u8) -> Result<(), Violation> {
        let (at, end) = (body.start - HEADER, body.end);
        let first = self.bytes[body.clone()].first().copied();
        if first == Some(ERR) {
            self.fail(body);
            return Ok(());
        }
        // An error may come of its own accord, with any number; anything else may not.
        if sequence != self.sequence {
            return Err(Violation::OutOfOrder);
        }
        self.sequence = sequence.wrapping_add(1);
        let length = body.len();
        match (self.due, first) {
            (Due::Nothing | Due::Data, _) => return Err(Violation::Unasked),
            (_, None) => return Err(Violation::Malformed("an empty packet")),
            (Due::Head, Some(first)) => self.head(first, body)?,
            (Due::Columns(left), _) => {
                self.due = match left - 1 {
                    0 if self.deprecate_eof => Due::Rows,
                    0 => Due::ColumnsEnd,
                    left => Due::Columns(left),
                };
                self.last().rows_at = end;
            }
            (Due::ColumnsEnd, Some(0xfe)) if length < 9 => {
                self.last().rows_at = end;
                self.due = Due::Rows;
            }
            (Due::ColumnsEnd, _) => {
                return Err(Violation::Malformed("no end of the columns"));
            }
            (Due::Rows, Some(0xfe)) if self.ends_rows(length) => {
                let status = self.status_of_end(&self.bytes[body])?;
                self.finish(status);
            }
            (Due::Rows, _) => self.last().rows += 1,
            (Due::Described(left), _) => self.described(left - 1),
        }
        debug_assert!(at < end);
        Ok(())
    }

    fn last(&mut self) -> &mut Part {
        self.parts.last_mut().expect("a result was begun")
    }

    /// The first packet of a result.
    fn head(&mut self, first: u8, body: Range<usize>) -> Result<(), Violation> {
        let malformed = |what| Err(Violation::Malformed(what));
        if self.shape == Shape::Prepared {
            let Some((numbered, packets)) = self.prepared(&self.bytes[body]) else {
                return malformed("the number of a prepared statement");
            };
            self.numbered = numbered;
            self.described(packets);
            return Ok(());
        }
        match first {
            0 => {
                let Some((affected, status)) = ok(&self.bytes[body]) else {
                    return malformed("an OK packet");
                };
                self.parts.push(Part {
                    affected,
                    ..Part::default()
                });
                self.finish(status);
            }
            // It names a file of ours.
            0xfb => self.due = Due::Data,
            _ => {
                let mut reader = Reader(&self.bytes[body.clone()]);
                match reader.number() {
                    Some(columns @ 1..=0xffff) if reader.0.is_empty() => {
                        self.parts.push(Part {
                            columns,
                            columns_at: body.end,
                            binary: self.shape == Shape::Binary,
                            ..Part::default()
                        });
                        self.due = Due::Columns(columns);
                    }
                    _ => return malformed("the count of columns"),
                }
            }
        }
        Ok(())
    }

    /// A statement's number, and how many packets describe it.
    fn prepared(&self, body: &[u8]) -> Option<(Numbered, u32)> {
        let mut reader = Reader(body);
        if reader.byte()? != 0 {
            return None;
        }
        let id = reader.u32()?;
        let (columns, parameters) = (reader.u16()?, reader.u16()?);
        let packets = |count: u16| match count {
            0 => 0,
            count => u32::from(count) + u32::from(!self.deprecate_eof),
        };
        let numbered = Numbered { id, parameters };
        Some((numbered, packets(columns) + packets(parameters)))
    }

    fn described(&mut self, left: u32) {
        self.due = match left {
            0 => Due::Nothing,
            left => Due::Described(left),
        };
    }

    /// Whether a packet of this length that begins like one ends the rows. A row may begin so too,
    /// if its first value is longer than 16 MiB.
    fn ends_rows(&self, length: usize) -> bool {
        match self.deprecate_eof {
            true => length < MAX_PAYLOAD,
            false => length < 9,
        }
    }

    fn status_of_end(&self, body: &[u8]) -> Result<u16, Violation> {
        let status = match self.deprecate_eof {
            true => ok(body).map(|(_, status)| status),
            false => Reader(body).take(3).and_then(|_| Reader(&body[3..]).u16()),
        };
        status.ok_or(Violation::Malformed("the end of the rows"))
    }

    /// A result is complete.
    fn finish(&mut self, status: u16) {
        self.settle(status);
        self.due = match status & flags::STATUS_MORE_RESULTS {
            0 => Due::Nothing,
            _ => Due::Head,
        };
    }

    fn settle(&mut self, status: u16) {
        self.block = match status & flags::STATUS_IN_TRANSACTION {
            0 => Block::Idle,
            _ => Block::Open,
        };
        self.no_backslash_escapes = status & flags::STATUS_NO_BACKSLASH_ESCAPES != 0;
    }

    /// An error tells nothing of the transaction: it is as open as before, except that a deadlock
    /// has rolled it back.
    fn fail(&mut self, body: Range<usize>) {
        if self.due == Due::Nothing {
            self.farewell = Some(self.bytes[body].into());
            return;
        }
        self.block = match (number(&self.bytes[body.clone()]), self.block) {
            (DEADLOCK, _) => Block::Idle,
            (_, Block::Idle) if self.risky => Block::Failed,
            (_, block) => block,
        };
        self.error = Some(body);
        self.due = Due::Nothing;
    }
}

/// Affected rows and status flags of an OK packet.
fn ok(body: &[u8]) -> Option<(u64, u16)> {
    let mut reader = Reader(body);
    reader.byte()?;
    let affected = reader.number()?;
    reader.number()?;
    Some((affected, reader.u16()?))
}
