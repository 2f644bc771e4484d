//! The compact file of recorded sessions.
//!
//! A magic word, compressed chunks of transactions of one session each and of sessions, and a compressed index: what was
//! recorded, the statements, and the chunks of sessions. The last 16 bytes say where the index begins. A session that the log
//! does not end may be in several parts. A reader keeps the index, all sessions and one chunk for each that it replays.

use super::encoding::{Cursor, put_bytes, put_number};
use super::statements::RecordedStatement;
use flate2::read::DeflateDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};
use prony_document::SqlDialect;
use prony_plan::{ErrorParts, UserError, system_error};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The first bytes of a recording; the last is the version of the format.
pub const MAGIC: &[u8; 8] = b"PRONYRP\x03";
/// The most bytes that a chunk or the index may have when it is decompressed: a damaged file must not fill the memory.
const DECOMPRESSED_MAX: u64 = 1 << 30;

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.parts().sentence())]
pub enum SessionRecordingError {
    Read {
        path: PathBuf,
        source: io::Error,
    },
    /// Another file.
    NotARecording(PathBuf),
    /// Written by a build of Prony with another format.
    OtherVersion(PathBuf),
    /// Cut off, or changed.
    Damaged(PathBuf),
}

impl UserError for SessionRecordingError {
    fn parts(&self) -> ErrorParts {
        let make = "`prony capture --log` writes a recording";
        match self {
            SessionRecordingError::Read { path, source } => {
                let cause = system_error(source);
                ErrorParts::new(format!("cannot read {}: {cause}", path.display())).with_hint(make)
            }
            SessionRecordingError::NotARecording(path) => {
                ErrorParts::new(format!("{} is not a recording of sessions", path.display()))
                    .with_hint(make)
            }
            SessionRecordingError::OtherVersion(path) => {
                ErrorParts::new(format!("{} is of another version of Prony", path.display()))
                    .with_hint("capture it again")
            }
            SessionRecordingError::Damaged(path) => {
                ErrorParts::new(format!("{} is incomplete or damaged", path.display()))
                    .with_hint("capture it again")
            }
        }
    }
}

/// A session of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordedSession {
    /// When its first statement began, in microseconds since that of the first session.
    pub start_us: u64,
    /// When its last statement ended.
    pub end_us: u64,
    pub transactions: u64,
    /// Offset and compressed length of each chunk.
    pub chunks: Vec<(u64, u32)>,
}

/// Which other parts a session has in the file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SessionPart {
    /// The number of its session, if there are or may be other parts.
    pub key: Option<u64>,
    /// Whether there is a part before it.
    pub is_later: bool,
    /// Whether there may be one after it.
    pub may_continue: bool,
}

impl RecordedSession {
    fn write(&self, part: SessionPart, out: &mut Vec<u8>) {
        let flags = [part.key.is_some(), part.is_later, part.may_continue];
        let flags = flags.iter().enumerate();
        put_number(flags.map(|(bit, flag)| u64::from(*flag) << bit).sum(), out);
        part.key.into_iter().for_each(|key| put_number(key, out));
        for number in [
            self.start_us,
            self.end_us - self.start_us,
            self.transactions,
            self.chunks.len() as u64,
        ] {
            put_number(number, out);
        }
        let mut previous = 0;
        for (offset, length) in &self.chunks {
            put_number(offset - previous, out);
            put_number(u64::from(*length), out);
            previous = *offset;
        }
    }

    fn read(cursor: &mut Cursor<'_>) -> Option<(RecordedSession, SessionPart)> {
        let flags = cursor.number()?;
        let part = SessionPart {
            key: match flags & 1 {
                0 => None,
                _ => Some(cursor.number()?),
            },
            is_later: flags & 2 != 0,
            may_continue: flags & 4 != 0,
        };
        let [start_us, length_us, transactions] =
            [cursor.number()?, cursor.number()?, cursor.number()?];
        let mut offset = 0_u64;
        let mut chunks = read_list(cursor, |cursor| {
            offset = offset.checked_add(cursor.number()?)?;
            Some((offset, u32::try_from(cursor.number()?).ok()?))
        })?;
        chunks.shrink_to_fit();
        let session = RecordedSession {
            start_us,
            end_us: start_us.checked_add(length_us)?,
            transactions,
            chunks,
        };
        Some((session, part))
    }

    /// Appends a later part of the session.
    fn append(&mut self, later: RecordedSession) {
        self.end_us = self.end_us.max(later.end_us);
        self.transactions = self.transactions.saturating_add(later.transactions);
        self.chunks.extend(later.chunks);
    }
}

/// Reads the sessions of all chunks of them, in the order in which they begin.
fn read_sessions(file: &File, chunks: &[(u64, u32)]) -> Option<Vec<RecordedSession>> {
    let mut sessions: Vec<RecordedSession> = Vec::new();
    let mut parted: HashMap<u64, usize> = HashMap::new();
    let mut bytes = Vec::new();
    for (offset, length) in chunks {
        read_chunk(file, *offset, u64::from(*length), &mut bytes).ok()?;
        let mut cursor = Cursor::new(&bytes);
        while cursor.at < bytes.len() {
            let (session, part) = RecordedSession::read(&mut cursor)?;
            let before = part.key.filter(|_| part.is_later);
            let index = before.and_then(|key| parted.remove(&key));
            let index = match index {
                Some(index) => {
                    sessions[index].append(session);
                    index
                }
                None => {
                    sessions.push(session);
                    sessions.len() - 1
                }
            };
            let after = part.key.filter(|_| part.may_continue);
            parted.extend(after.map(|key| (key, index)));
        }
    }
    sessions.sort_by_key(|session| session.start_us);
    Some(sessions)
}

/// What a recording has beside its sessions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Index {
    pub dialect: SqlDialect,
    /// Whether literals and parameters were left out.
    pub is_masked: bool,
    pub statements: Vec<RecordedStatement>,
    /// Names of the kinds of transactions.
    pub kinds: Vec<String>,
    pub sessions: Vec<RecordedSession>,
    /// Failed statements of the original.
    pub errors: u64,
    /// Executions of statements that were prepared without a name.
    pub unnamed: u64,
    /// Executions of named prepared statements.
    pub named: u64,
}

impl Index {
    /// Without its sessions.
    fn write(&self) -> Vec<u8> {
        // Logs of SQL Server are not read.
        let is_mysql = self.dialect == SqlDialect::MySql;
        let mut out = vec![u8::from(is_mysql), u8::from(self.is_masked)];
        for number in [self.errors, self.unnamed, self.named] {
            put_number(number, &mut out);
        }
        put_number(self.statements.len() as u64, &mut out);
        self.statements
            .iter()
            .for_each(|statement| statement.write(&mut out));
        put_number(self.kinds.len() as u64, &mut out);
        self.kinds
            .iter()
            .for_each(|kind| put_bytes(kind.as_bytes(), &mut out));
        out
    }

    /// Without its sessions.
    fn read(cursor: &mut Cursor<'_>) -> Option<Index> {
        let dialect = match cursor.byte()? {
            0 => SqlDialect::PostgreSql,
            1 => SqlDialect::MySql,
            _ => return None,
        };
        let is_masked = cursor.byte()? != 0;
        let [errors, unnamed, named] = [cursor.number()?, cursor.number()?, cursor.number()?];
        let statements = read_list(cursor, RecordedStatement::read)?;
        // What is added up and numbered later, in 64 and 16 bits.
        let mut calls = statements.iter().map(|statement| statement.calls);
        calls.try_fold(0, u64::checked_add)?;
        let kinds = read_list(cursor, Cursor::text)?;
        u16::try_from(kinds.len()).ok()?;
        Some(Index {
            dialect,
            is_masked,
            statements,
            kinds,
            sessions: Vec::new(),
            errors,
            unnamed,
            named,
        })
    }
}

/// A list behind its length. The length of a damaged file reserves no memory.
fn read_list<'a, T>(
    cursor: &mut Cursor<'a>,
    mut read: impl FnMut(&mut Cursor<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    let length = cursor.number()?;
    (0..length).map(|_| read(cursor)).collect()
}

/// Sessions are written when they have this many bytes.
const SESSIONS_BYTES: usize = 256 << 10;

/// Writes a recording: chunks in any order, then the index.
pub(super) struct SessionWriter<W> {
    out: W,
    offset: u64,
    /// Its 300 kB are allocated once: with small allocations between them, glibc would take new memory for each chunk.
    deflate: Compress,
    compressed: Vec<u8>,
    /// The sessions that are not written yet, and the chunks of the others.
    sessions: Vec<u8>,
    session_chunks: Vec<(u64, u32)>,
}

impl<W: Write> SessionWriter<W> {
    /// # Errors
    /// The file cannot be written.
    pub fn new(mut out: W) -> io::Result<SessionWriter<W>> {
        out.write_all(MAGIC)?;
        let offset = MAGIC.len() as u64;
        Ok(SessionWriter {
            out,
            offset,
            deflate: Compress::new(Compression::default(), false),
            compressed: Vec::new(),
            sessions: Vec::new(),
            session_chunks: Vec::new(),
        })
    }

    /// Writes a chunk; returns where it is.
    pub fn chunk(&mut self, bytes: &[u8]) -> io::Result<(u64, u32)> {
        self.deflate.reset();
        self.compressed.clear();
        loop {
            self.compressed.reserve(bytes.len() / 2 + 64);
            let rest = &bytes[self.deflate.total_in() as usize..];
            let finish = FlushCompress::Finish;
            let status = self
                .deflate
                .compress_vec(rest, &mut self.compressed, finish);
            if status.map_err(io::Error::other)? == Status::StreamEnd {
                break;
            }
        }
        let length = u32::try_from(self.compressed.len()).map_err(io::Error::other)?;
        self.out.write_all(&self.compressed)?;
        let offset = self.offset;
        self.offset += u64::from(length);
        Ok((offset, length))
    }

    /// Adds a session, or a part of one, whose chunks are written.
    pub fn session(&mut self, session: &RecordedSession, part: SessionPart) -> io::Result<()> {
        session.write(part, &mut self.sessions);
        if self.sessions.len() < SESSIONS_BYTES {
            return Ok(());
        }
        self.write_sessions()
    }

    fn write_sessions(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.sessions);
        let chunk = self.chunk(&bytes)?;
        self.session_chunks.push(chunk);
        Ok(())
    }

    pub fn finish(mut self, index: &Index) -> io::Result<()> {
        for session in &index.sessions {
            self.session(session, SessionPart::default())?;
        }
        self.write_sessions()?;
        let mut bytes = Vec::new();
        put_number(self.session_chunks.len() as u64, &mut bytes);
        for (offset, length) in &self.session_chunks {
            put_number(*offset, &mut bytes);
            put_number(u64::from(*length), &mut bytes);
        }
        bytes.extend(index.write());
        let (offset, _) = self.chunk(&bytes)?;
        self.out.write_all(&offset.to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        self.out.flush()
    }
}

/// A recording that is open for reading.
#[derive(Debug)]
pub struct SessionRecording {
    file: File,
    path: PathBuf,
    pub(super) index: Index,
}

impl SessionRecording {
    /// # Errors
    /// The file cannot be read, or is no complete recording.
    pub fn open(path: &Path) -> Result<SessionRecording, SessionRecordingError> {
        let failure = |source| SessionRecordingError::Read {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(failure)?;
        let length = file.metadata().map_err(failure)?.len();
        let mut start = [0; MAGIC.len()];
        let has_start = file.read_exact_at(&mut start, 0).is_ok();
        if !has_start || start != *MAGIC {
            let (name, _) = MAGIC.split_at(MAGIC.len() - 1);
            return Err(if has_start && start.starts_with(name) {
                SessionRecordingError::OtherVersion(path.to_owned())
            } else {
                SessionRecordingError::NotARecording(path.to_owned())
            });
        }
        let damaged = || SessionRecordingError::Damaged(path.to_owned());
        let mut end = [0; 16];
        let end_offset = length.checked_sub(16).ok_or_else(damaged)?;
        file.read_exact_at(&mut end, end_offset).map_err(failure)?;
        let (offset, magic) = end.split_at(8);
        let offset = u64::from_le_bytes(offset.try_into().unwrap_or_default());
        let index_length = end_offset.checked_sub(offset).ok_or_else(damaged)?;
        if magic != MAGIC {
            return Err(damaged());
        }
        let mut bytes = Vec::new();
        read_chunk(&file, offset, index_length, &mut bytes).map_err(|_| damaged())?;
        let mut cursor = Cursor::new(&bytes);
        let chunks = read_list(&mut cursor, |cursor| {
            Some((cursor.number()?, u32::try_from(cursor.number()?).ok()?))
        });
        let mut index = Index::read(&mut cursor).ok_or_else(damaged)?;
        let sessions = chunks.and_then(|chunks| read_sessions(&file, &chunks));
        index.sessions = sessions.ok_or_else(damaged)?;
        Ok(SessionRecording {
            index,
            path: path.to_owned(),
            file,
        })
    }

    /// The number of clients that replay each of its copies with a connection for each session: as many as were open at
    /// once.
    pub fn concurrent_sessions(&self, copies: u32) -> u32 {
        super::timetable::concurrent_sessions(&self.index.sessions, copies)
    }

    /// Whether a statement of it may write.
    pub fn may_write(&self) -> bool {
        let mut statements = self.index.statements.iter();
        statements.any(|statement| statement.writes && statement.calls > 0)
    }

    /// Whether most of its prepared statements had no name, so that the server planned each execution.
    pub fn has_unnamed_statements(&self) -> bool {
        self.index.unnamed > self.index.named
    }

    /// When the first statement began until the last one ended, in microseconds.
    pub(super) fn length_us(&self) -> u64 {
        let ends = self.index.sessions.iter().map(|session| session.end_us);
        ends.max().unwrap_or(0)
    }
}

fn read_chunk(file: &File, offset: u64, length: u64, out: &mut Vec<u8>) -> io::Result<()> {
    let file_length = file.metadata()?.len();
    if offset
        .checked_add(length)
        .is_none_or(|end| end > file_length)
    {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut compressed = vec![0; length as usize];
    file.read_exact_at(&mut compressed, offset)?;
    out.clear();
    let read = DeflateDecoder::new(&*compressed)
        .take(DECOMPRESSED_MAX)
        .read_to_end(out)?;
    if read as u64 == DECOMPRESSED_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(())
}

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

/// Appends what stands before the executions of a transaction. `is_reset`: whether its session was reset before it;
/// `continues`: whether its block is still open at its end.
pub(super) fn put_header(kind: usize, is_reset: bool, continues: bool, out: &mut Vec<u8>) {
    let flags = u64::from(is_reset) << 1 | u64::from(continues);
    put_number((kind as u64) << 2 | flags, out);
}

/// Appends an execution to those of a transaction. `since_us`: when the previous one of the session began.
pub(super) fn put_execution(
    since_us: u64,
    duration_us: Option<u64>,
    statement: usize,
    text: Option<&str>,
    values: &[Option<String>],
    has_failed: bool,
    out: &mut Vec<u8>,
) {
    put_number(since_us, out);
    put_number(
        duration_us.map_or(0, |duration| duration.saturating_add(1)),
        out,
    );
    put_number(statement as u64, out);
    put_optional(text, out);
    put_number(values.len() as u64, out);
    values
        .iter()
        .for_each(|value| put_optional(value.as_deref(), out));
    out.push(u8::from(has_failed));
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
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn next(&mut self) -> Result<bool, String> {
        if self.at >= self.chunk.len() {
            let chunks = &self.recording.index.sessions[self.session].chunks;
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
        (self.is_reset, self.continues) = (kind & 2 != 0, kind & 1 != 0);
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
