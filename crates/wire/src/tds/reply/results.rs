//! The results of a reply.
//!
//! In: a complete reply. Out: its rows, names, counts and error. Must never: copy a row.

use super::super::error;
use super::super::row::{Row, TextRows};
use super::Reply;
use crate::exchange::BlockState;
use crate::{ErrorSummary, ServerError};

impl Reply {
    /// Content of the reply's ERROR token, if there is one.
    pub(crate) fn error(&self) -> Option<&[u8]> {
        self.error_range.clone().map(|range| &self.bytes[range])
    }

    /// The fields that identify the reply's error; for a canceled request, those of [`error::canceled`].
    pub(crate) fn error_summary(&self) -> Option<ErrorSummary<'_>> {
        match self.error() {
            Some(body) => Some(error::summary(body)),
            None => self.error_without_token(),
        }
    }

    fn error_without_token(&self) -> Option<ErrorSummary<'static>> {
        if self.is_canceled {
            Some(error::canceled())
        } else if self.failed_without_message {
            Some(error::without_message())
        } else {
            None
        }
    }

    /// The reply's error; for a canceled request, that of [`error::canceled`].
    pub(crate) fn server_error(&self) -> Option<ServerError> {
        if let Some(body) = self.error() {
            return Some(error::parse(body));
        }
        let summary = self.error_without_token()?;
        Some(ServerError {
            classification: summary.classification,
            ..ServerError::new(
                summary.protocol,
                summary.number,
                summary.code,
                summary.message.into_owned(),
            )
        })
    }

    /// The error with which the server ended the session, if any.
    pub(crate) fn final_error(&self) -> Option<ServerError> {
        match &self.unsolicited_error {
            Some(body) => Some(error::parse(body)),
            None => self.error().map(error::parse).filter(ServerError::is_fatal),
        }
    }

    /// The reply's messages that are not errors, such as those of PRINT.
    pub(crate) fn notices(&self) -> impl Iterator<Item = ServerError> {
        let bodies = self
            .notice_ranges
            .iter()
            .map(|range| &self.bytes[range.clone()]);
        bodies.map(error::parse)
    }

    /// State of the session's transaction after the reply.
    pub(crate) fn block_state(&self) -> BlockState {
        match self.transaction_descriptor {
            0 => BlockState::Idle,
            _ => BlockState::Open,
        }
    }

    pub(crate) fn has_surplus_bytes(&self) -> bool {
        self.has_surplus
    }

    /// Rows that the last command changed or returned.
    pub(crate) fn affected_rows(&self) -> u64 {
        let last = self.results.len().saturating_sub(1);
        self.affected_rows_of(last)
    }

    /// Rows that the command of result `result` (from 0) changed or returned.
    pub(crate) fn affected_rows_of(&self, result: usize) -> u64 {
        self.results.get(result).map_or(0, |position| {
            if position.columns.is_empty() {
                position.affected_rows
            } else {
                position.rows.len() as u64 + position.dropped_rows
            }
        })
    }

    /// Number of results, including those without rows.
    pub(crate) fn result_count(&self) -> usize {
        self.results.len()
    }

    /// The names of the columns of result `result`, in UTF-8.
    pub(crate) fn column_names(&self, result: usize) -> impl Iterator<Item = &[u8]> {
        let names = self.column_names.get_or_init(|| {
            let mut names = TextRows::default();
            for position in &self.results {
                let columns = &self.columns[position.columns.clone()];
                names.push_names(columns, &self.bytes);
            }
            names
        });
        names.values(result).flatten()
    }

    /// Number of columns of result `result` (from 0); 0 if it has no rows.
    pub(crate) fn column_count(&self, result: usize) -> usize {
        self.results
            .get(result)
            .map_or(0, |position| position.columns.len())
    }

    /// The rows of all results, in order, each with the number of its result from 0.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (usize, Row<'_>)> {
        let results = self.results.iter().enumerate();
        let mut rows_before = 0;
        results.flat_map(move |(number, position)| {
            let columns = &self.columns[position.columns.clone()];
            let first_ordinal = rows_before;
            rows_before += position.rows.len();
            let offsets = self.row_offsets[position.rows.clone()].iter().enumerate();
            offsets.map(move |(index, offset)| {
                let row = Row::new(self, columns, &self.bytes[*offset..], first_ordinal + index);
                (number, row)
            })
        })
    }

    /// All rows as text.
    pub(crate) fn texts(&self) -> &TextRows {
        self.row_texts.get_or_init(|| {
            let mut texts = self.spare_texts.take();
            texts.fill(self.rows().map(|(_, row)| row));
            texts
        })
    }
}
