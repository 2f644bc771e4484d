//! The results of a reply.
//!
//! In: a complete reply. Out: its rows, names, counts and error. Must never: copy a row.

use super::super::error;
use super::super::packet::HEADER;
use super::super::row::{Row, TextRows, column_name};
use super::Reply;
use crate::exchange::BlockState;

impl Reply {
    /// Payload of the reply's error, if there was one.
    pub(crate) fn error(&self) -> Option<&[u8]> {
        self.error.clone().map(|range| &self.bytes[range])
    }

    /// Payload of the error with which the server ended the session, if any.
    pub(crate) fn final_error(&self) -> Option<&[u8]> {
        let ends_session = |payload: &&[u8]| error::parse(payload).is_fatal();
        self.unsolicited_error
            .as_deref()
            .or(self.error().filter(ends_session))
    }

    pub(crate) fn block_state(&self) -> BlockState {
        self.block
    }

    pub(crate) fn has_surplus_bytes(&self) -> bool {
        self.end.is_some_and(|end| end < self.bytes.len())
    }

    /// Rows that the last command changed or returned.
    pub(crate) fn affected_rows(&self) -> u64 {
        let last = self.results.len().saturating_sub(1);
        self.affected_rows_of(last)
    }

    /// Rows that the command of result `result` (from 0) changed or returned.
    pub(crate) fn affected_rows_of(&self, result: usize) -> u64 {
        self.results
            .get(result)
            .map_or(0, |position| match position.columns {
                0 => position.affected,
                _ => position.rows,
            })
    }

    /// Number of results, including those without rows.
    pub(crate) fn result_count(&self) -> usize {
        self.results.len()
    }

    /// The descriptions of the columns of result `result` (from 0).
    pub(crate) fn described_columns(&self, result: usize) -> impl Iterator<Item = &[u8]> {
        let position = self.results.get(result).copied().unwrap_or_default();
        let mut at = position.columns_offset;
        (0..position.columns).map_while(move |_| {
            let packet = self.packet(at)?;
            at += HEADER + packet.len();
            Some(packet)
        })
    }

    /// Number of columns of result `result`.
    pub(crate) fn column_count(&self, result: usize) -> usize {
        self.results
            .get(result)
            .map_or(0, |position| position.columns as usize)
    }

    /// The names of the columns of result `result`.
    pub(crate) fn column_names(&self, result: usize) -> impl Iterator<Item = &[u8]> {
        self.described_columns(result).filter_map(column_name)
    }

    /// The rows of all results, in order, each with the number of its result from 0.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (usize, Row<'_>)> {
        let mut rows_before = 0;
        self.results
            .iter()
            .enumerate()
            .flat_map(move |(number, position)| {
                let first_ordinal = rows_before;
                rows_before += position.kept_rows;
                let mut at = position.rows_offset;
                (0..position.kept_rows).map_while(move |index| {
                    let body = self.packet(at)?;
                    at += HEADER + body.len();
                    let row = if position.binary {
                        Row::binary(body, self, number, first_ordinal + index)
                    } else {
                        Row::text(body)
                    };
                    Some((number, row))
                })
            })
    }

    pub(crate) fn text_rows(&self) -> &TextRows {
        self.text_rows
            .get_or_init(|| TextRows::from_rows(self.rows().map(|(_, row)| row)))
    }
}
