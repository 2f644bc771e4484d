//! What a caller asks of a reply.
//!
//! In: a reply that is complete. Out: its rows, names, counts and error. Must never: copy a row.

use super::super::error;
use super::super::packet::HEADER;
use super::super::row::{Row, Texts, column_name};
use super::Reply;
use crate::exchange::Block;

/// What a caller asks of it.
impl Reply {
    /// Payload of the reply's error, if there was one.
    pub(crate) fn error(&self) -> Option<&[u8]> {
        self.error.clone().map(|range| &self.bytes[range])
    }

    /// Payload of the error with which the server ended the session, if it did.
    pub(crate) fn last_words(&self) -> Option<&[u8]> {
        let ends = |payload: &&[u8]| error::parse(payload).is_fatal();
        self.farewell.as_deref().or(self.error().filter(ends))
    }

    /// State of the session's transaction.
    pub(crate) fn block(&self) -> Block {
        self.block
    }

    /// More had arrived than this reply.
    pub(crate) fn has_surplus(&self) -> bool {
        self.end.is_some_and(|end| end < self.bytes.len())
    }

    /// Rows that the last command changed or returned.
    pub(crate) fn affected(&self) -> u64 {
        let last = self.parts.len().saturating_sub(1);
        self.affected_by(last)
    }

    /// Rows that the command of result `result` (from 0) changed or returned.
    pub(crate) fn affected_by(&self, result: usize) -> u64 {
        self.parts.get(result).map_or(0, |part| match part.columns {
            0 => part.affected,
            _ => part.rows,
        })
    }

    /// How many results there are, those without rows included.
    pub(crate) fn results(&self) -> usize {
        self.parts.len()
    }

    /// The descriptions of the columns of result `result` (from 0).
    pub(crate) fn described_columns(&self, result: usize) -> impl Iterator<Item = &[u8]> {
        let part = self.parts.get(result).copied().unwrap_or_default();
        let mut at = part.columns_at;
        (0..part.columns).map_while(move |_| {
            let packet = self.packet(at)?;
            at += HEADER + packet.len();
            Some(packet)
        })
    }

    /// How many columns result `result` has.
    pub(crate) fn width(&self, result: usize) -> usize {
        self.parts
            .get(result)
            .map_or(0, |part| part.columns as usize)
    }

    /// The names of the columns of result `result`.
    pub(crate) fn columns(&self, result: usize) -> impl Iterator<Item = &[u8]> {
        self.described_columns(result).filter_map(column_name)
    }

    /// The rows of all results, in order, each with the number of its result from 0.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (usize, Row<'_>)> {
        let mut ordinal = 0;
        self.parts
            .iter()
            .enumerate()
            .flat_map(move |(number, part)| {
                let first = ordinal;
                ordinal += part.rows;
                let mut at = part.rows_at;
                (0..part.rows).map_while(move |place| {
                    let body = self.packet(at)?;
                    at += HEADER + body.len();
                    let row = match part.binary {
                        true => Row::binary(body, self, number, first + place),
                        false => Row::text(body),
                    };
                    Some((number, row))
                })
            })
    }

    /// Binary rows as text.
    pub(crate) fn texts(&self) -> &Texts {
        self.texts
            .get_or_init(|| Texts::of(self.rows().map(|(_, row)| row)))
    }
}
