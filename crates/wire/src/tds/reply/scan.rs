//! Parses the tokens of a reply.
//!
//! In: payload, as it arrives. Out: the content of the reply. Must never: decode a value before it is
//! requested, or read a long row again from its start.

use super::super::packet::Reader;
use super::super::token::{self, EnvChange, done, env_change, kind};
use super::super::type_info::{Raw, Stop, TypeInfo, broken, read_columns, skip_chunk};
use super::*;

/// Most notices of a reply that are kept.
const NOTICES_MAX: usize = 64;

impl Reply {
    /// Parses as many tokens as have arrived.
    pub(super) fn scan(&mut self) -> Result<(), Violation> {
        while self.scanned < self.bytes.len() {
            match self.token() {
                Ok(()) => {}
                Err(Stop::Incomplete) => break,
                Err(Stop::Broken(violation)) => return Err(violation),
            }
        }
        Ok(())
    }

    /// Parses the token at `scanned`, and moves behind it.
    fn token(&mut self) -> Result<(), Stop> {
        let at = self.scanned;
        match self.bytes[at] {
            kind::COLUMNS => {
                let first = self.columns.len();
                let mut reader = Reader(&self.bytes[at + 1..]);
                match read_columns(&mut reader, at + 1, &mut self.columns) {
                    Ok(true) => self.current = Some(first..self.columns.len()),
                    Ok(false) => {}
                    Err(stop) => {
                        self.columns.truncate(first);
                        return Err(stop);
                    }
                }
                self.scanned = self.bytes.len() - reader.0.len();
                self.first_row = self.rows.len();
            }
            kind::ROW | kind::NBC_ROW => {
                self.scanned = self.row(at)?;
                self.rows.push(at);
            }
            kind::RETURN_VALUE => self.scanned = self.return_value(at)?,
            kind => {
                let mut reader = Reader(&self.bytes[at + 1..]);
                let body = token::body(kind, &mut reader)
                    .ok_or(Stop::Broken(Violation::Unexpected(kind)))?
                    .ok_or(Stop::Incomplete)?
                    .len();
                let end = self.bytes.len() - reader.0.len();
                self.scanned = end;
                self.take(kind, end - body..end)?;
            }
        }
        Ok(())
    }

    /// Finds the end of a row; continues where the last call had to stop.
    fn row(&mut self, start: usize) -> Result<usize, Stop> {
        let columns = self.current.clone().unwrap_or_default();
        if columns.is_empty() {
            return Err(broken("a row without columns"));
        }
        let columns = &self.columns[columns];
        let bitmap = match self.bytes[start] {
            kind::NBC_ROW => columns.len().div_ceil(8),
            _ => 0,
        };
        let known = self.cursor.filter(|cursor| cursor.start == start);
        let mut cursor = known.unwrap_or(RowCursor {
            start,
            column: 0,
            at: start + 1 + bitmap,
            in_chunks: false,
        });
        let nulls = (self.bytes)
            .get(start + 1..start + 1 + bitmap)
            .ok_or(Stop::Incomplete)?;
        while let Some(column) = columns.get(cursor.column) {
            let (byte, bit) = (cursor.column / 8, cursor.column % 8);
            if nulls.get(byte).is_some_and(|nulls| nulls & (1 << bit) != 0) {
                cursor.column += 1;
                continue;
            }
            let mut reader = Reader(self.bytes.get(cursor.at..).unwrap_or_default());
            match skip_value(column.kind, &mut reader, &mut cursor, self.bytes.len()) {
                Ok(()) => {}
                Err(stop) => {
                    self.cursor = Some(cursor);
                    return Err(stop);
                }
            }
            cursor.column += 1;
            cursor.in_chunks = false;
        }
        self.cursor = None;
        Ok(cursor.at)
    }

    /// A parameter that a procedure returns: ordinal, name, status, user type, flags, type, value.
    fn return_value(&mut self, at: usize) -> Result<usize, Stop> {
        let mut reader = Reader(&self.bytes[at + 1..]);
        let head = reader.u16().and_then(|_| reader.short_text());
        head.and_then(|_| reader.take(1 + 4 + 2))
            .ok_or(Stop::Incomplete)?;
        let info = TypeInfo::read(&mut reader)?;
        let raw = info.value(&mut reader)?;
        if let Raw::Bytes(bytes) = raw
            && let Some(number) = bytes.first_chunk()
        {
            let number = i32::from_le_bytes(*number);
            let call = self.calls;
            self.returned.push(ReturnedInt { call, number });
        }
        Ok(self.bytes.len() - reader.0.len())
    }

    /// Takes a token with this content.
    fn take(&mut self, kind: u8, body: Range<usize>) -> Result<(), Stop> {
        match kind {
            kind::DONE | kind::DONE_PROC | kind::DONE_IN_PROC => self.done(kind, body),
            kind::ERROR => self.fail(body),
            kind::INFO if self.notices.len() < NOTICES_MAX => self.notices.push(body),
            kind::ENV_CHANGE => {
                let change = env_change(&self.bytes[body]);
                let change = change.ok_or_else(|| broken("invalid ENVCHANGE"))?;
                self.transaction = transaction_after(change, self.transaction);
            }
            kind::SSPI | kind::FEDERATED_INFO | kind::LOGIN_ACK => {
                return Err(Stop::Broken(Violation::Unexpected(kind)));
            }
            _ => {}
        }
        Ok(())
    }

    /// The first error of a reply counts, unless a later one ends the transaction for a conflict.
    fn fail(&mut self, body: Range<usize>) {
        if self.calls < self.ignored_calls {
            return;
        }
        let retryable = |body: &Range<usize>| {
            let message = error::message(&self.bytes[body.clone()]);
            error::classify(message.number, message.level, "").retryable
        };
        let replaces = match &self.error {
            None => true,
            Some(first) => retryable(&body) && !retryable(first),
        };
        if replaces {
            self.error = Some(body);
        }
    }

    /// A statement or a procedure call ended: status, command, number of rows.
    fn done(&mut self, kind: u8, body: Range<usize>) {
        let mut reader = Reader(&self.bytes[body]);
        let status = reader.u16().unwrap_or_default();
        reader.u16();
        let count = reader.u64().unwrap_or_default();
        if status & done::ATTENTION != 0 {
            // Without an attention there is nothing to acknowledge.
            self.canceled |= self.attention && !self.ended;
            self.attention = false;
            return;
        }
        self.more = status & done::MORE != 0;
        let has_count = status & done::COUNT != 0;
        let affected = if has_count { count } else { 0 };
        let columns = self.current.take();
        // Every statement of a batch has a DONE. In a procedure only some have one, but each call has a
        // result.
        let is_result = columns.is_some()
            || match kind {
                kind::DONE => true,
                kind::DONE_IN_PROC => has_count || status & done::ERROR != 0,
                _ => self.results.len() == self.results_before,
            };
        if is_result && self.calls >= self.ignored_calls {
            let rows = match columns {
                Some(_) => self.first_row..self.rows.len(),
                None => 0..0,
            };
            self.results.push(ResultPosition {
                columns: columns.unwrap_or(0..0),
                rows,
                affected,
            });
        }
        self.calls += usize::from(kind == kind::DONE_PROC);
        if kind != kind::DONE_IN_PROC {
            self.results_before = self.results.len();
        }
    }

    /// Takes payload that arrives without a request. Only an error makes sense then, and notices.
    pub(super) fn take_unsolicited(&mut self, payload: &[u8], ends: bool) -> Result<(), Violation> {
        if self.unsolicited.len() + payload.len() > UNSOLICITED_MAX {
            return Err(Violation::Unsolicited);
        }
        self.unsolicited.extend_from_slice(payload);
        if !ends {
            return Ok(());
        }
        let message = std::mem::take(&mut self.unsolicited);
        let mut reader = Reader(&message);
        while let Some(kind) = reader.byte() {
            let body = token::body(kind, &mut reader).flatten();
            match (kind, body) {
                (kind::ERROR, Some(body)) => {
                    self.unsolicited_error.get_or_insert_with(|| body.into());
                }
                // Whatever follows the error belongs to it.
                _ if self.unsolicited_error.is_some() => break,
                (kind::INFO, Some(_)) => {}
                (kind::ENV_CHANGE, Some(body)) => match env_change(body) {
                    Some(change) => self.transaction = transaction_after(change, self.transaction),
                    None => return Err(Violation::Malformed("invalid ENVCHANGE")),
                },
                _ => return Err(Violation::Unsolicited),
            }
        }
        Ok(())
    }
}

/// Descriptor of the open transaction after a change of the session. Only transactions matter after the
/// login: the packet size cannot change any more.
fn transaction_after(change: EnvChange<'_>, transaction: u64) -> u64 {
    match change {
        EnvChange::Begun(descriptor) => descriptor,
        EnvChange::Ended => 0,
        _ => transaction,
    }
}

/// Moves the cursor behind a value; a value in chunks is read chunk by chunk. `end`: of the bytes.
fn skip_value(
    info: TypeInfo,
    reader: &mut Reader<'_>,
    cursor: &mut RowCursor,
    end: usize,
) -> Result<(), Stop> {
    if !info.is_chunked() {
        info.value(reader)?;
        cursor.at = end - reader.0.len();
        return Ok(());
    }
    if !cursor.in_chunks {
        let total = reader.u64().ok_or(Stop::Incomplete)?;
        cursor.at += 8;
        if total == u64::MAX {
            return Ok(());
        }
        cursor.in_chunks = true;
    }
    while skip_chunk(reader).ok_or(Stop::Incomplete)? {
        cursor.at = end - reader.0.len();
    }
    cursor.at = end - reader.0.len();
    Ok(())
}
