//! Parses the bytes of a reply.
//!
//! In: packets, as they become complete. Out: the content of the reply. Must never: read a row before
//! it is requested.

use super::*;

const RESULT_HAS_BEGUN: &str = "a result has begun";

/// An EOF packet is shorter than this, in bytes; a longer packet with its first byte is a row.
const EOF_LENGTH_LIMIT: usize = 9;

impl ExpectedPacket {
    /// Whether the server sends nothing until the client has sent a command or data.
    fn awaits_client(self) -> bool {
        matches!(self, ExpectedPacket::Nothing | ExpectedPacket::Data)
    }
}

impl ResultPosition {
    /// Counts a row, whose values, one for each column, must fill it exactly.
    #[inline]
    fn count_row(&mut self, row: Reader<'_>, lengths: &[ValueLength]) -> Result<(), Violation> {
        let is_row =
            if self.binary { is_binary_row(row, lengths) } else { is_text_row(row, self.columns) };
        if !is_row {
            return Err(Violation::Malformed(
                "the lengths of a row's values are wrong",
            ));
        }
        self.rows += 1;
        self.kept_rows += 1;
        Ok(())
    }
}

impl Reply {
    /// Parses as many packets as have arrived. Returns true if the reply is now complete, or waits for data.
    pub(super) fn scan(&mut self) -> Result<bool, Violation> {
        if self.expected == ExpectedPacket::Nothing {
            return self.scan_unrequested().map(|()| false);
        }
        let mut has_too_much = self.rows_kept.is_exceeded(self.bytes.len());
        loop {
            if self.expected.awaits_client() {
                self.end = Some(self.scanned);
                return Ok(true);
            }
            if self.expected == ExpectedPacket::Rows {
                if !has_too_much {
                    self.scan_rows()?;
                } else if self.drop_rows()? {
                    has_too_much = self.rows_kept.is_exceeded(self.bytes.len());
                    continue;
                }
            }
            let Some((end, sequence)) = self.next_packet()? else {
                return Ok(false);
            };
            self.handle_packet(end, sequence)?;
            self.scanned = end;
        }
    }

    /// Parses packets that arrive before a command is sent: only an error may, with any sequence number.
    #[cold]
    fn scan_unrequested(&mut self) -> Result<(), Violation> {
        while let Some((end, sequence)) = self.next_packet()? {
            let payload = &self.bytes[self.scanned + HEADER..end];
            if payload.first() != Some(&ERR) {
                return Err(if sequence == self.sequence {
                    Violation::Unsolicited
                } else {
                    Violation::OutOfOrder
                });
            }
            self.unsolicited_error = Some(payload.into());
            self.scanned = end;
        }
        Ok(())
    }

    /// Counts the rows that have arrived, up to a packet that is not surely a row of one packet.
    fn scan_rows(&mut self) -> Result<(), Violation> {
        let result = self.results.last_mut().expect(RESULT_HAS_BEGUN);
        while let Some((length, sequence)) = header(&self.bytes, self.scanned) {
            let start = self.scanned + HEADER;
            let Some(row @ [0..=0xfd, ..]) = self.bytes.get(start..start + length) else {
                break;
            };
            if sequence != self.sequence || length == MAX_PAYLOAD {
                break;
            }
            result.count_row(Reader(row), &self.value_lengths)?;
            self.sequence = sequence.wrapping_add(1);
            self.scanned = start + length;
        }
        Ok(())
    }

    /// Drops the rows at `scanned` that do not fit, as far as they have arrived. Returns whether there were any.
    #[cold]
    fn drop_rows(&mut self) -> Result<bool, Violation> {
        let mut end = self.scanned;
        while let Some((length, sequence)) = header(&self.bytes, end) {
            if !self.drops_continuation {
                let is_row = match self.bytes.get(end + HEADER) {
                    None | Some(&ERR) => false,
                    Some(0xfe) => !self.ends_rows(length),
                    Some(_) => length > 0,
                };
                if !is_row || self.rows_kept.admit(end + HEADER + length) {
                    break;
                }
                self.last_result().rows += 1;
            }
            if sequence != self.sequence {
                return Err(Violation::OutOfOrder);
            }
            self.sequence = sequence.wrapping_add(1);
            self.drops_continuation = length == MAX_PAYLOAD;
            end += HEADER + length;
        }
        if end == self.scanned {
            return Ok(false);
        }
        let arrived = end.min(self.bytes.len());
        self.dropped_missing = end - arrived;
        self.bytes.drain(self.scanned..arrived);
        Ok(true)
    }

    /// Where the next packet ends and its sequence number, once it is complete; a payload of several packets is joined.
    #[inline]
    fn next_packet(&mut self) -> Result<Option<(usize, u8)>, Violation> {
        let Some((length, sequence)) = header(&self.bytes, self.scanned) else {
            return Ok(None);
        };
        if length == MAX_PAYLOAD {
            return self.join_packets();
        }
        let end = self.scanned + HEADER + length;
        Ok((end <= self.bytes.len()).then_some((end, sequence)))
    }

    #[cold]
    fn join_packets(&mut self) -> Result<Option<(usize, u8)>, Violation> {
        let at = self.scanned;
        let start = at + HEADER;
        // The length that was joined before the last bytes arrived.
        let joined = self.joined.last().filter(|joined| joined.offset == at);
        let mut payload = joined.map_or(0, |joined| joined.length);
        if joined.is_none() {
            if self.bytes.len() < start + MAX_PAYLOAD {
                return Ok(None);
            }
            payload = MAX_PAYLOAD;
            self.joined.push(JoinedPayload {
                offset: at,
                length: payload,
            });
        }
        loop {
            let next = start + payload;
            let Some((length, sequence)) = header(&self.bytes, next) else {
                return Ok(None);
            };
            if payload + length > PAYLOAD_MAX {
                return Err(Violation::TooLong {
                    min_bytes: payload + length,
                });
            }
            if self.bytes.len() < next + HEADER + length {
                return Ok(None);
            }
            self.bytes.drain(next..next + HEADER);
            payload += length;
            if let Some(last) = self.joined.last_mut() {
                last.length = payload;
            }
            if length < MAX_PAYLOAD {
                // The sequence numbers in between are not checked; the last one must fit.
                self.sequence = sequence;
                return Ok(Some((start + payload, sequence)));
            }
        }
    }

    /// The packet at `at`, which [`Reply::scan`] has passed.
    pub(super) fn packet(&self, at: usize) -> Option<&[u8]> {
        let (length, _) = header(&self.bytes, at)?;
        let length = match length {
            MAX_PAYLOAD => {
                let mut joined = self.joined.iter();
                joined.find(|joined| joined.offset == at)?.length
            }
            length => length,
        };
        self.bytes.get(at + HEADER..at + HEADER + length)
    }

    /// Handles the packet from `scanned` to `end`, which is expected.
    #[inline]
    fn handle_packet(&mut self, end: usize, sequence: u8) -> Result<(), Violation> {
        let body = self.scanned + HEADER..end;
        let length = body.len();
        let first = self.bytes[body.clone()].first().copied();
        if first == Some(ERR) {
            self.record_error(body);
            return Ok(());
        }
        // Only an error may have any sequence number.
        if sequence != self.sequence {
            return Err(Violation::OutOfOrder);
        }
        self.sequence = sequence.wrapping_add(1);
        let Some(first) = first else {
            return Err(Violation::Malformed("empty packet"));
        };
        match self.expected {
            ExpectedPacket::ResultHeader => self.handle_result_header(first, body)?,
            ExpectedPacket::Columns(remaining) => {
                if self.format == ReplyFormat::Binary {
                    let column = Column::read(&self.bytes[body])
                        .ok_or(Violation::Malformed("invalid description of a column"))?;
                    self.value_lengths.push(column.value_length());
                }
                self.expected = match remaining - 1 {
                    0 if self.deprecate_eof => self.expect_rows(end),
                    0 => ExpectedPacket::ColumnsEnd,
                    after_this => ExpectedPacket::Columns(after_this),
                };
            }
            ExpectedPacket::ColumnsEnd if first == 0xfe && length < EOF_LENGTH_LIMIT => {
                self.expected = self.expect_rows(end);
            }
            ExpectedPacket::ColumnsEnd => {
                return Err(Violation::Malformed("no EOF packet after the columns"));
            }
            ExpectedPacket::Rows if first == 0xfe && self.ends_rows(length) => {
                let status = self.status_of_end(&self.bytes[body])?;
                self.finish_result(status);
            }
            ExpectedPacket::Rows => {
                let row = Reader(&self.bytes[body]);
                let result = self.results.last_mut().expect(RESULT_HAS_BEGUN);
                result.count_row(row, &self.value_lengths)?;
            }
            ExpectedPacket::Descriptions(remaining) => self.expect_descriptions(remaining - 1),
            ExpectedPacket::Nothing | ExpectedPacket::Data => return Err(Violation::Unsolicited),
        }
        Ok(())
    }

    /// Notes that rows follow at `rows_offset`.
    fn expect_rows(&mut self, rows_offset: usize) -> ExpectedPacket {
        self.last_result().rows_offset = rows_offset;
        ExpectedPacket::Rows
    }

    pub(super) fn last_result(&mut self) -> &mut ResultPosition {
        self.results.last_mut().expect(RESULT_HAS_BEGUN)
    }

    pub(super) fn handle_result_header(
        &mut self,
        first: u8,
        body: Range<usize>,
    ) -> Result<(), Violation> {
        let malformed = |problem| Err(Violation::Malformed(problem));
        if self.format == ReplyFormat::Prepared {
            let Some((prepared_id, packets)) = self.parse_prepare_response(&self.bytes[body])
            else {
                return malformed("invalid response to COM_STMT_PREPARE");
            };
            self.prepared_id = prepared_id;
            self.expect_descriptions(packets);
            return Ok(());
        }
        match first {
            0 => {
                let Some((affected, status)) = parse_ok(&self.bytes[body]) else {
                    return malformed("invalid OK packet");
                };
                self.results.push(ResultPosition {
                    affected,
                    ..ResultPosition::default()
                });
                self.finish_result(status);
            }
            // The server requests a file of the client.
            0xfb => self.expected = ExpectedPacket::Data,
            _ => {
                let mut reader = Reader(&self.bytes[body.clone()]);
                match reader.length_encoded_number() {
                    Some(columns @ 1..=0xffff) if reader.0.is_empty() => {
                        self.results.push(ResultPosition {
                            columns,
                            columns_offset: body.end,
                            binary: self.format == ReplyFormat::Binary,
                            ..ResultPosition::default()
                        });
                        self.value_lengths.clear();
                        self.expected = ExpectedPacket::Columns(columns);
                    }
                    _ => return malformed("invalid column count"),
                }
            }
        }
        Ok(())
    }

    /// Parses the response to COM_STMT_PREPARE: the statement's id, and how many packets describe it.
    pub(super) fn parse_prepare_response(&self, body: &[u8]) -> Option<(PreparedId, u32)> {
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
        let prepared_id = PreparedId { id, parameters };
        Some((prepared_id, packets(columns) + packets(parameters)))
    }

    pub(super) fn expect_descriptions(&mut self, remaining: u32) {
        self.expected = match remaining {
            0 => ExpectedPacket::Nothing,
            remaining => ExpectedPacket::Descriptions(remaining),
        };
    }

    /// Whether a packet of this length, with the first byte of an end packet, ends the rows. A row may
    /// have that first byte too, if its first value is longer than 16 MiB.
    pub(super) fn ends_rows(&self, length: usize) -> bool {
        if self.deprecate_eof { length < MAX_PAYLOAD } else { length < EOF_LENGTH_LIMIT }
    }

    pub(super) fn status_of_end(&self, body: &[u8]) -> Result<u16, Violation> {
        let status = if self.deprecate_eof {
            parse_ok(body).map(|(_, status)| status)
        } else {
            // After the first byte and the number of warnings.
            body.get(3..).and_then(|rest| Reader(rest).u16())
        };
        status.ok_or(Violation::Malformed(
            "invalid packet at the end of the rows",
        ))
    }

    pub(super) fn finish_result(&mut self, status: u16) {
        self.set_status(status);
        self.expected = match status & flags::STATUS_MORE_RESULTS {
            0 => ExpectedPacket::Nothing,
            _ => ExpectedPacket::ResultHeader,
        };
    }

    pub(super) fn set_status(&mut self, status: u16) {
        self.block = match status & flags::STATUS_IN_TRANSACTION {
            0 => BlockState::Idle,
            _ => BlockState::Open,
        };
        self.no_backslash_escapes = status & flags::STATUS_NO_BACKSLASH_ESCAPES != 0;
    }

    /// Records an error packet. The packet has no transaction status: a transaction that was open stays open,
    /// unless a deadlock has rolled it back. If the command may have opened one, the block counts as failed, so that it is
    /// rolled back.
    pub(super) fn record_error(&mut self, body: Range<usize>) {
        self.block = match (number(&self.bytes[body.clone()]), self.block) {
            (DEADLOCK, _) => BlockState::Idle,
            (_, BlockState::Idle) if self.may_open_transaction => BlockState::Failed,
            (_, block) => block,
        };
        self.error = Some(body);
        self.expected = ExpectedPacket::Nothing;
    }
}

fn is_text_row(mut row: Reader<'_>, columns: u64) -> bool {
    (0..columns).all(|_| row.text_value().is_some()) && row.0.is_empty()
}

/// As `is_text_row`, without values that the row's bits declare NULL.
fn is_binary_row(mut row: Reader<'_>, lengths: &[ValueLength]) -> bool {
    let (Some(0), Some(nulls)) = (row.byte(), row.take((lengths.len() + 2).div_ceil(8))) else {
        return false;
    };
    let is_null = |bit: usize| nulls[bit / 8] & (1 << (bit % 8)) != 0;
    let mut columns = (2..).zip(lengths);
    columns.all(|(bit, length)| is_null(bit) || row.skip_value(*length).is_some())
        && row.0.is_empty()
}

/// The affected rows and status flags of an OK packet.
pub(in crate::mysql) fn parse_ok(body: &[u8]) -> Option<(u64, u16)> {
    let mut reader = Reader(body);
    reader.byte()?;
    let affected = reader.length_encoded_number()?;
    // The last inserted id.
    reader.length_encoded_number()?;
    Some((affected, reader.u16()?))
}
