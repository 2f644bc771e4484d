//! The compact file of recorded sessions.
//!
//! A magic word, compressed chunks of transactions of one session each and of sessions, and a compressed index: what was
//! recorded, the statements, and the chunks of sessions. The last 16 bytes say where the index begins. A session that the log
//! does not end may be in several parts. A reader keeps the index, all sessions and one chunk for each that it replays.

use super::encoding::{
    Cursor, flags_of_number, number_of_flags, put_bytes, put_list, put_number, read_list,
};
use super::statements::RecordedStatement;
use flate2::read::DeflateDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};
use prony_document::SqlDialect;
use prony_plan::{ErrorParts, UserError, system_error};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The first bytes of a recording; the last is the version of the format.
pub const MAGIC: &[u8; 8] = b"PRONYRP\x04";
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
    pub chunks: Vec<Chunk>,
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
        put_number(number_of_flags(flags), out);
        part.key.into_iter().for_each(|key| put_number(key, out));
        let length_us = self.end_us - self.start_us;
        for number in [self.start_us, length_us, self.transactions] {
            put_number(number, out);
        }
        put_chunks(&self.chunks, out);
    }

    fn read(cursor: &mut Cursor<'_>) -> Option<(RecordedSession, SessionPart)> {
        let [has_key, is_later, may_continue] = flags_of_number(cursor.number()?);
        let part = SessionPart {
            key: if has_key { Some(cursor.number()?) } else { None },
            is_later,
            may_continue,
        };
        let [start_us, length_us, transactions] =
            [cursor.number()?, cursor.number()?, cursor.number()?];
        let session = RecordedSession {
            start_us,
            end_us: start_us.checked_add(length_us)?,
            transactions,
            chunks: read_chunks(cursor)?,
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

/// Where a chunk is: its offset and its compressed length.
type Chunk = (u64, u32);

/// Appends a list of chunks in the order of the file.
fn put_chunks(chunks: &[Chunk], out: &mut Vec<u8>) {
    let mut previous = 0;
    let put = |(offset, length): &Chunk, out: &mut Vec<u8>| {
        put_number(offset - previous, out);
        put_number(u64::from(*length), out);
        previous = *offset;
    };
    put_list(chunks, put, out);
}

fn read_chunks(cursor: &mut Cursor<'_>) -> Option<Vec<Chunk>> {
    let mut offset = 0_u64;
    let mut chunks = read_list(cursor, |cursor| {
        offset = offset.checked_add(cursor.number()?)?;
        Some((offset, u32::try_from(cursor.number()?).ok()?))
    })?;
    chunks.shrink_to_fit();
    Some(chunks)
}

/// Reads the sessions in these chunks, joins their parts, and sorts them by their start.
fn read_sessions(file: &File, chunks: &[Chunk]) -> Option<Vec<RecordedSession>> {
    let mut sessions: Vec<RecordedSession> = Vec::new();
    // The index of each session that another part may follow.
    let mut open: HashMap<u64, usize> = HashMap::new();
    let mut bytes = Vec::new();
    for (offset, length) in chunks {
        read_chunk(file, *offset, u64::from(*length), &mut bytes).ok()?;
        let mut cursor = Cursor::new(&bytes);
        while cursor.at < bytes.len() {
            let (session, part) = RecordedSession::read(&mut cursor)?;
            let earlier = part.key.filter(|_| part.is_later);
            let index = match earlier.and_then(|key| open.remove(&key)) {
                Some(index) => {
                    sessions[index].append(session);
                    index
                }
                None => {
                    sessions.push(session);
                    sessions.len() - 1
                }
            };
            let later = part.key.filter(|_| part.may_continue);
            open.extend(later.map(|key| (key, index)));
        }
    }
    sessions.sort_by_key(|session| session.start_us);
    Some(sessions)
}

/// What a recording has beside its sessions: read whole, when it is opened.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Index {
    pub dialect: SqlDialect,
    /// Whether literals and parameters were left out.
    pub is_masked: bool,
    pub statements: Vec<RecordedStatement>,
    /// Names of the kinds of transactions.
    pub kinds: Vec<String>,
    /// Failed statements of the original.
    pub errors: u64,
    /// Executions of statements that were prepared without a name.
    pub unnamed: u64,
    /// Executions of named prepared statements.
    pub named: u64,
}

impl Index {
    fn write(&self, out: &mut Vec<u8>) {
        // Logs of SQL Server are not read.
        let is_mysql = self.dialect == SqlDialect::MySql;
        out.extend([u8::from(is_mysql), u8::from(self.is_masked)]);
        for number in [self.errors, self.unnamed, self.named] {
            put_number(number, out);
        }
        put_list(&self.statements, RecordedStatement::write, out);
        put_list(
            &self.kinds,
            |kind, out| put_bytes(kind.as_bytes(), out),
            out,
        );
    }

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
            errors,
            unnamed,
            named,
        })
    }
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
    session_chunks: Vec<Chunk>,
}

impl<W: Write> SessionWriter<W> {
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
    pub fn write_chunk(&mut self, bytes: &[u8]) -> io::Result<Chunk> {
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
    pub fn add_session(&mut self, session: &RecordedSession, part: SessionPart) -> io::Result<()> {
        session.write(part, &mut self.sessions);
        if self.sessions.len() < SESSIONS_BYTES {
            return Ok(());
        }
        self.write_sessions()
    }

    fn write_sessions(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.sessions);
        let chunk = self.write_chunk(&bytes)?;
        self.session_chunks.push(chunk);
        Ok(())
    }

    pub fn finish(mut self, index: &Index) -> io::Result<()> {
        self.write_sessions()?;
        let mut bytes = Vec::new();
        put_chunks(&self.session_chunks, &mut bytes);
        index.write(&mut bytes);
        let (offset, _) = self.write_chunk(&bytes)?;
        self.out.write_all(&offset.to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        self.out.flush()
    }
}

/// A recording that is open for reading.
#[derive(Debug)]
pub struct SessionRecording {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) index: Index,
    pub(super) sessions: Vec<RecordedSession>,
}

impl SessionRecording {
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
        let chunks = read_chunks(&mut cursor).ok_or_else(damaged)?;
        Ok(SessionRecording {
            index: Index::read(&mut cursor).ok_or_else(damaged)?,
            sessions: read_sessions(&file, &chunks).ok_or_else(damaged)?,
            path: path.to_owned(),
            file,
        })
    }

    /// The number of clients that replay each of its copies with a connection for each session: as many as were open at
    /// once.
    pub fn concurrent_sessions(&self, copies: u32) -> u32 {
        super::timetable::concurrent_sessions(&self.sessions, copies)
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
        let ends = self.sessions.iter().map(|session| session.end_us);
        ends.max().unwrap_or(0)
    }
}

pub(super) fn read_chunk(
    file: &File,
    offset: u64,
    length: u64,
    out: &mut Vec<u8>,
) -> io::Result<()> {
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
