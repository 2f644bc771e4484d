//! Parses the tokens of a reply.
//!
//! In: payload, as it arrives. Out: the positions of columns, rows and errors in the reply. Must never:
//! decode a value before it is requested, or read a long row from its start each time that more of it
//! arrives.

use super::super::packet::Reader;
use super::super::token::{self, BodyError, EnvChange, done_status, parse_env_change, token_type};
use super::super::type_info::{RawValue, ReadError, TypeInfo, malformed, read_columns, skip_chunk};
use super::*;

/// Maximum number of a reply's notices that are stored.
const STORED_NOTICES_MAX: usize = 64;

impl Reply {
    /// Parses as many tokens as have arrived.
    pub(super) fn scan(&mut self) -> Result<(), Violation> {
        while self.scanned_length < self.bytes.len() {
            match self.parse_token() {
                Ok(()) => {}
                Err(ReadError::Incomplete) => break,
                Err(ReadError::Malformed(violation)) => return Err(violation),
            }
        }
        Ok(())
    }

    /// Parses the token at `scanned_length`, and advances past it.
    fn parse_token(&mut self) -> Result<(), ReadError> {
        let at = self.scanned_length;
        match self.bytes[at] {
            token_type::COLUMNS => {
                let first = self.columns.len();
                let mut reader = Reader(&self.bytes[at + 1..]);
                match read_columns(&mut reader, at + 1, &mut self.columns) {
                    Ok(true) => self.current_columns = Some(first..self.columns.len()),
                    Ok(false) => {}
                    Err(error) => {
                        self.columns.truncate(first);
                        return Err(error);
                    }
                }
                self.scanned_length = self.bytes.len() - reader.0.len();
                self.first_row = self.row_offsets.len();
                self.dropped_rows = 0;
            }
            token_type::ROW | token_type::NBC_ROW => {
                let end = self.find_row_end(at);
                let arrived = end.as_ref().copied().unwrap_or(self.bytes.len());
                if !self.rows_kept.admit(arrived) {
                    return self.drop_rows(end);
                }
                self.scanned_length = end?;
                self.row_offsets.push(at);
            }
            token_type::RETURN_VALUE => self.scanned_length = self.parse_return_value(at)?,
            token_type => {
                let mut reader = Reader(&self.bytes[at + 1..]);
                let body = token::take_body(token_type, &mut reader);
                let body_length = match body {
                    Ok(body) => body.len(),
                    Err(BodyError::Incomplete) => return Err(ReadError::Incomplete),
                    Err(BodyError::UnknownType) => {
                        return Err(ReadError::Malformed(Violation::Unexpected(token_type)));
                    }
                };
                let end = self.bytes.len() - reader.0.len();
                self.scanned_length = end;
                self.handle_token(token_type, end - body_length..end)?;
            }
        }
        Ok(())
    }

    /// Returns the offset of a row's end; continues where the previous call for an incomplete row stopped.
    fn find_row_end(&mut self, start: usize) -> Result<usize, ReadError> {
        let columns = self.current_columns.clone().unwrap_or_default();
        if columns.is_empty() {
            return Err(malformed("a row without columns"));
        }
        let columns = &self.columns[columns];
        let bitmap_bytes = match self.bytes[start] {
            token_type::NBC_ROW => columns.len().div_ceil(8),
            _ => 0,
        };
        let saved = self.cursor.filter(|cursor| cursor.start == start);
        let mut cursor = saved.unwrap_or(RowCursor {
            start,
            column: 0,
            offset: start + 1 + bitmap_bytes,
            head_bytes: 1 + bitmap_bytes,
            is_in_chunks: false,
        });
        let null_bitmap = (self.bytes)
            .get(start + 1..start + 1 + bitmap_bytes)
            .ok_or(ReadError::Incomplete)?;
        while let Some(column) = columns.get(cursor.column) {
            let (byte, bit) = (cursor.column / 8, cursor.column % 8);
            if null_bitmap
                .get(byte)
                .is_some_and(|bits| bits & (1 << bit) != 0)
            {
                cursor.column += 1;
                continue;
            }
            let mut reader = Reader(self.bytes.get(cursor.offset..).unwrap_or_default());
            let skipped = skip_value(column.type_info, &mut reader, &mut cursor, self.bytes.len());
            if let Err(error) = skipped {
                self.cursor = Some(cursor);
                return Err(error);
            }
            cursor.column += 1;
            cursor.is_in_chunks = false;
        }
        self.cursor = None;
        Ok(cursor.offset)
    }

    /// Drops the rows at `scanned_length`, as far as they have arrived. `row_end`: the end of the first, which may have
    /// lost its values already, so that it cannot be found again.
    fn drop_rows(&mut self, mut row_end: Result<usize, ReadError>) -> Result<(), ReadError> {
        let mut end = self.scanned_length;
        let result = loop {
            match row_end {
                Ok(offset) => end = offset,
                Err(error) => break Err(error),
            }
            self.dropped_rows += 1;
            match self.bytes.get(end) {
                Some(&(token_type::ROW | token_type::NBC_ROW)) => row_end = self.find_row_end(end),
                _ => break Ok(()),
            }
        };
        let dropped = end - self.scanned_length;
        self.bytes.drain(self.scanned_length..end);
        if let Some(cursor) = &mut self.cursor {
            // Keep what comes before the values of an incomplete row: its type and bitmap.
            cursor.start -= dropped;
            cursor.offset -= dropped;
            let values = cursor.start + cursor.head_bytes;
            self.bytes.drain(values..cursor.offset);
            cursor.offset = values;
        }
        result
    }

    /// Parses RETURNVALUE, an output parameter of a procedure: ordinal, name, status, user type, flags,
    /// type and value. Returns the offset of the token's end.
    fn parse_return_value(&mut self, at: usize) -> Result<usize, ReadError> {
        let mut reader = Reader(&self.bytes[at + 1..]);
        let ordinal_and_name = reader.u16().and_then(|_| reader.short_text());
        ordinal_and_name
            .and_then(|_| reader.take(1 + 4 + 2))
            .ok_or(ReadError::Incomplete)?;
        let type_info = TypeInfo::read(&mut reader)?;
        let raw = type_info.read_value(&mut reader)?;
        if let RawValue::Bytes(bytes) = raw
            && let Some(value) = bytes.first_chunk()
        {
            let value = i32::from_le_bytes(*value);
            let call = self.calls_ended;
            self.returned_ints.push(ReturnedInt { call, value });
        }
        Ok(self.bytes.len() - reader.0.len())
    }

    /// Handles a token whose content is the range `body` of the reply.
    fn handle_token(&mut self, token_type: u8, body: Range<usize>) -> Result<(), ReadError> {
        match token_type {
            token_type::DONE | token_type::DONE_PROC | token_type::DONE_IN_PROC => {
                self.handle_done(token_type, body)?
            }
            token_type::ERROR => self.record_error(body),
            token_type::INFO if self.notice_ranges.len() < STORED_NOTICES_MAX => {
                self.notice_ranges.push(body)
            }
            token_type::ENV_CHANGE => {
                let change = parse_env_change(&self.bytes[body]);
                let change = change.ok_or_else(|| malformed("invalid ENVCHANGE"))?;
                self.transaction_descriptor =
                    transaction_after(change, self.transaction_descriptor);
            }
            token_type::SSPI | token_type::FEDERATED_INFO | token_type::LOGIN_ACK => {
                return Err(ReadError::Malformed(Violation::Unexpected(token_type)));
            }
            _ => {}
        }
        Ok(())
    }

    /// Records an error. The first error of a reply is kept, unless a later one can be retried (a deadlock
    /// or a conflict): that error has ended the transaction.
    fn record_error(&mut self, body: Range<usize>) {
        if self.calls_ended < self.ignored_calls {
            return;
        }
        let is_retryable = |body: &Range<usize>| {
            let message = error::read_fields(&self.bytes[body.clone()]);
            error::classify(message.number, message.level, "").retryable
        };
        let replaces = match &self.error_range {
            None => true,
            Some(first) => is_retryable(&body) && !is_retryable(first),
        };
        if replaces {
            self.error_range = Some(body);
        }
    }

    /// Handles the end of a statement or of a procedure call. `body` holds status, command and number of
    /// rows.
    ///
    /// # Errors
    /// The server closes the connection without saying why.
    fn handle_done(&mut self, token_type: u8, body: Range<usize>) -> Result<(), ReadError> {
        let mut reader = Reader(&self.bytes[body]);
        let status = reader.u16().unwrap_or_default();
        reader.u16();
        let count = reader.u64().unwrap_or_default();
        if status & done_status::ATTENTION != 0 {
            // A server may acknowledge an attention that was not sent, or that came too late to cancel.
            self.is_canceled |= self.attention_pending && !self.is_reply_ended;
            self.attention_pending = false;
            return Ok(());
        }
        if self.error_range.is_none() && self.calls_ended >= self.ignored_calls {
            if status & done_status::SEVERE_ERROR != 0 {
                return Err(malformed("a severe error without a message"));
            }
            self.failed_without_message |= status & done_status::ERROR != 0;
        }
        self.more_results_follow = status & done_status::MORE != 0;
        let has_count = status & done_status::COUNT != 0;
        let affected_rows = if has_count { count } else { 0 };
        let columns = self.current_columns.take();
        // Every statement of a batch has a DONE, and so a result. In a procedure only some statements have
        // one; a call without any gets one result at its end.
        let is_result = columns.is_some()
            || match token_type {
                token_type::DONE => true,
                token_type::DONE_IN_PROC => has_count || status & done_status::ERROR != 0,
                _ => self.results.len() == self.results_before_call,
            };
        if is_result && self.calls_ended >= self.ignored_calls {
            let rows = match columns {
                Some(_) => self.first_row..self.row_offsets.len(),
                None => 0..0,
            };
            self.results.push(ResultPosition {
                columns: columns.unwrap_or(0..0),
                rows,
                dropped_rows: std::mem::take(&mut self.dropped_rows),
                affected_rows,
            });
        }
        self.calls_ended += usize::from(token_type == token_type::DONE_PROC);
        if token_type != token_type::DONE_IN_PROC {
            self.results_before_call = self.results.len();
        }
        Ok(())
    }

    /// The violation of a message that ends inside of the token at `scanned_length`. Babelfish breaks off a
    /// row that it cannot encode, and reports the error; that error is kept.
    pub(super) fn truncated_token(&mut self) -> Violation {
        let token = &self.bytes[self.scanned_length..];
        let is_row = matches!(token[0], token_type::ROW | token_type::NBC_ROW);
        let first = token.len().saturating_sub(UNSOLICITED_BYTES_MAX).max(1);
        let error = (first..token.len()).find_map(|at| error_at_end(&token[at..]));
        match error.filter(|_| is_row) {
            Some(error) => {
                self.unsolicited_error = Some(error.into());
                Violation::Malformed("an error interrupts a row")
            }
            None => Violation::Malformed("a message ends inside of a token"),
        }
    }

    /// Handles payload that arrives without a request: only errors, notices and changes of the session are
    /// allowed.
    pub(super) fn handle_unsolicited(
        &mut self,
        payload: &[u8],
        ends_message: bool,
    ) -> Result<(), Violation> {
        if self.unsolicited.len() + payload.len() > UNSOLICITED_BYTES_MAX {
            return Err(Violation::Unsolicited);
        }
        self.unsolicited.extend_from_slice(payload);
        if !ends_message {
            return Ok(());
        }
        let message = std::mem::take(&mut self.unsolicited);
        let mut reader = Reader(&message);
        while let Some(token_type) = reader.byte() {
            let body = token::take_body(token_type, &mut reader).ok();
            match (token_type, body) {
                (token_type::ERROR, Some(body)) => {
                    self.unsolicited_error.get_or_insert_with(|| body.into());
                }
                // Tokens after the error belong to the end of the session.
                _ if self.unsolicited_error.is_some() => break,
                (token_type::INFO, Some(_)) => {}
                (token_type::ENV_CHANGE, Some(body)) => match parse_env_change(body) {
                    Some(change) => {
                        self.transaction_descriptor =
                            transaction_after(change, self.transaction_descriptor)
                    }
                    None => return Err(Violation::Malformed("invalid ENVCHANGE")),
                },
                _ => return Err(Violation::Unsolicited),
            }
        }
        Ok(())
    }
}

/// The content of an ERROR at the start of `bytes`, if only whole tokens follow and the last one says that
/// the statement failed.
fn error_at_end(bytes: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader(bytes);
    if reader.byte()? != token_type::ERROR {
        return None;
    }
    let error = token::take_body(token_type::ERROR, &mut reader).ok()?;
    let mut has_failed = false;
    while let Some(token_type) = reader.byte() {
        let body = token::take_body(token_type, &mut reader).ok()?;
        has_failed = matches!(
            token_type,
            token_type::DONE | token_type::DONE_PROC | token_type::DONE_IN_PROC
        ) && u16::from_le_bytes([body[0], body[1]]) & done_status::ERROR != 0;
    }
    has_failed.then_some(error)
}

/// Descriptor of the open transaction after a change of the session. Other changes are ignored: after the
/// login the packet size stays as it is.
fn transaction_after(change: EnvChange<'_>, descriptor_before: u64) -> u64 {
    match change {
        EnvChange::TransactionBegun(descriptor) => descriptor,
        EnvChange::TransactionEnded => 0,
        _ => descriptor_before,
    }
}

/// Moves the cursor past a value; for an incomplete value in chunks, past the chunks that have arrived.
/// `end` is the offset at which `reader` ends.
fn skip_value(
    type_info: TypeInfo,
    reader: &mut Reader<'_>,
    cursor: &mut RowCursor,
    end: usize,
) -> Result<(), ReadError> {
    if !type_info.is_chunked() {
        type_info.read_value(reader)?;
        cursor.offset = end - reader.0.len();
        return Ok(());
    }
    if !cursor.is_in_chunks {
        let total = reader.u64().ok_or(ReadError::Incomplete)?;
        cursor.offset += 8;
        if total == u64::MAX {
            return Ok(());
        }
        cursor.is_in_chunks = true;
    }
    while skip_chunk(reader).ok_or(ReadError::Incomplete)? {
        cursor.offset = end - reader.0.len();
    }
    cursor.offset = end - reader.0.len();
    Ok(())
}
