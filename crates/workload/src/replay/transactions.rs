//! The transactions of a session in a recording: how each is written and read.
//!
//! In: executions, or chunks of the file. Out: bytes, or one transaction at a time. Must never: panic on a damaged file.

use super::encoding::{Cursor, flags_of_number, number_of_flags, put_list, put_number};
use super::file::{SessionRecording, read_chunk};
use prony_plan::system_error;
use std::ops::Range;
use std::sync::Arc;

/// An execution of a statement, in a transaction that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Execution {
    /// When it began, in microseconds since the first session's first statement.
    pub at_us: u64,
    /// How long it took, if the log says it.
    pub duration_us: Option<u64>,
    /// Index of the statement.
    pub statement: usize,
    /// The text to send, if it is not the statement's own.
    pub text: Option<Range<usize>>,
    /// The parameters; `None` for NULL.
    pub values: Range<usize>,
    /// Whether it failed.
    pub has_failed: bool,
}

/// Appends what stands before the executions of a transaction. `continues`: whether its block is still open at its end;
/// `is_reset`: whether its session was reset before it.
pub(super) fn put_header(kind: usize, continues: bool, is_reset: bool, out: &mut Vec<u8>) {
    let flags = number_of_flags([continues, is_reset]);
    put_number((kind as u64) << 2 | flags, out);
}

/// An execution of a statement that is written; read, it is an [`Execution`].
pub(super) struct NewExecution<'a> {
    /// Microseconds since the previous execution of the session began.
    pub since_us: u64,
    pub duration_us: Option<u64>,
    pub statement: usize,
    pub text: Option<&'a str>,
    pub values: &'a [Option<String>],
    pub has_failed: bool,
}

/// Appends an execution to those of a transaction.
pub(super) fn put_execution(execution: &NewExecution<'_>, out: &mut Vec<u8>) {
    put_number(execution.since_us, out);
    let duration_us = execution.duration_us;
    put_number(
        duration_us.map_or(0, |duration| duration.saturating_add(1)),
        out,
    );
    put_number(execution.statement as u64, out);
    put_optional(execution.text, out);
    put_list(
        execution.values,
        |value, out| put_optional(value.as_deref(), out),
        out,
    );
    out.push(u8::from(execution.has_failed));
}

/// A text behind its length and one, or 0.
fn put_optional(text: Option<&str>, out: &mut Vec<u8>) {
    match text {
        None => put_number(0, out),
        Some(text) => {
            put_number(text.len() as u64 + 1, out);
            out.extend_from_slice(text.as_bytes());
        }
    }
}

/// Reads the transactions of a session, in order.
pub(super) struct SessionReader {
    recording: Arc<SessionRecording>,
    session: usize,
    next_chunk: usize,
    chunk: Vec<u8>,
    at: usize,
    at_us: u64,
    /// The kind of the transaction that was read last.
    pub kind: usize,
    /// Whether its block is still open at its end: it is a part, and the next one belongs to it.
    pub continues: bool,
    /// Whether the session was reset before it.
    pub is_reset: bool,
    /// Its executions.
    pub executions: Vec<Execution>,
    values: Vec<Option<Range<usize>>>,
}

impl SessionReader {
    pub fn new(recording: Arc<SessionRecording>, session: usize) -> SessionReader {
        SessionReader {
            at_us: 0,
            recording,
            session,
            next_chunk: 0,
            chunk: Vec::new(),
            at: 0,
            kind: 0,
            continues: false,
            is_reset: false,
            executions: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Reads the next transaction; returns whether there is one.
    pub fn next(&mut self) -> Result<bool, String> {
        if self.at >= self.chunk.len() {
            let chunks = &self.recording.sessions[self.session].chunks;
            let Some((offset, length)) = chunks.get(self.next_chunk) else {
                return Ok(false);
            };
            let (file, length) = (&self.recording.file, u64::from(*length));
            read_chunk(file, *offset, length, &mut self.chunk)
                .map_err(|error| self.problem(&system_error(&error)))?;
            self.next_chunk += 1;
            let mut cursor = Cursor::new(&self.chunk);
            let before_us = cursor.number();
            (self.at, self.at_us) = (cursor.at, before_us.unwrap_or_default());
        }
        match self.read_transaction() {
            Some(()) => Ok(true),
            None => Err(self.problem("it is damaged")),
        }
    }

    fn problem(&self, cause: &str) -> String {
        format!("cannot read {}: {cause}", self.recording.path.display())
    }

    fn read_transaction(&mut self) -> Option<()> {
        let index = &self.recording.index;
        let mut cursor = Cursor {
            bytes: &self.chunk,
            at: self.at,
        };
        self.executions.clear();
        self.values.clear();
        let kind = cursor.number()?;
        self.kind = usize::try_from(kind >> 2).ok()?;
        [self.continues, self.is_reset] = flags_of_number(kind);
        let count = cursor.number()?;
        for _ in 0..count {
            self.at_us = self.at_us.checked_add(cursor.number()?)?;
            let duration_us = cursor.number()?.checked_sub(1);
            let statement = usize::try_from(cursor.number()?).ok()?;
            let text = read_optional(&mut cursor, &self.chunk)?;
            let first_value = self.values.len();
            for _ in 0..cursor.number()? {
                self.values.push(read_optional(&mut cursor, &self.chunk)?);
            }
            index.statements.get(statement)?;
            self.executions.push(Execution {
                at_us: self.at_us,
                duration_us,
                statement,
                text,
                values: first_value..self.values.len(),
                has_failed: cursor.byte()? != 0,
            });
        }
        self.at = cursor.at;
        (count > 0 && self.kind < index.kinds.len()).then_some(())
    }

    /// A part of the chunk as text. It was checked when it was read.
    pub fn text(&self, range: &Range<usize>) -> &str {
        std::str::from_utf8(&self.chunk[range.clone()]).unwrap_or_default()
    }

    /// The parameters of an execution.
    pub fn values(&self, execution: &Execution) -> impl Iterator<Item = Option<&str>> {
        let values = self.values[execution.values.clone()].iter();
        values.map(|value| value.as_ref().map(|range| self.text(range)))
    }
}

/// A text behind its length and one: `Some(None)` for 0, `None` if the bytes are damaged.
fn read_optional(cursor: &mut Cursor<'_>, chunk: &[u8]) -> Option<Option<Range<usize>>> {
    let Some(length) = cursor.number()?.checked_sub(1) else {
        return Some(None);
    };
    let range = cursor.range(length)?;
    std::str::from_utf8(&chunk[range.clone()]).ok()?;
    Some(Some(range))
}
