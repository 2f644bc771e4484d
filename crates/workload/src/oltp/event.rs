//! The events of all workloads.
//!
//! Defines the parts of an event in order, and its number of queries by type. Must not use
//! connections.

use super::options::OltpOptions;
use super::queries::QueryCounts;
use crate::names::named_enum;

named_enum! {
    /// The kinds of statements in events, each on one table.
    pub enum StatementKind {
        /// Reads one row by its key.
        PointSelect = "point-select",
        /// Reads the rows of a range of keys.
        SimpleRange = "simple-range",
        /// Sums over a range of keys.
        SumRange = "sum-range",
        /// Reads the rows of a range, sorted.
        OrderRange = "order-range",
        /// Reads the distinct values of a range, sorted.
        DistinctRange = "distinct-range",
        /// Increments the indexed column.
        IndexUpdate = "index-update",
        /// Replaces a column that has no index.
        NonIndexUpdate = "non-index-update",
        Delete = "delete",
        /// Inserts a row that was deleted.
        Insert = "insert",
        /// Reads the rows with any of several values of the indexed column.
        RandomPoints = "random-points",
        /// Counts the rows in several ranges of the indexed column.
        RandomRanges = "random-ranges",
        /// Increments one row, the same for all users.
        HotUpdate = "hot-update",
    }
}

impl StatementKind {
    /// Whether it returns rows, and therefore counts as a read. Any other statement counts as a write
    /// if it changed a row.
    pub fn is_read(self) -> bool {
        matches!(
            self,
            StatementKind::PointSelect
                | StatementKind::SimpleRange
                | StatementKind::SumRange
                | StatementKind::OrderRange
                | StatementKind::DistinctRange
                | StatementKind::RandomPoints
                | StatementKind::RandomRanges
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventPart {
    /// A statement, repeated as often as its option specifies.
    Statement(StatementKind),
    /// Deletes a row and inserts it again, repeated as often as `delete_inserts` specifies.
    DeleteInserts,
    /// An `INSERT` of a new row, sent as text in every protocol mode.
    TextInsert,
}

#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// Statements on the shared tables.
    Parts {
        parts: &'static [EventPart],
        /// Whether they run in a transaction block, unless `skip_trx` is set.
        in_block: bool,
        /// Whether each part is executed once, regardless of the options.
        once: bool,
    },
    /// Appends rows by `INSERT`s of packet size, to a separate set of tables.
    Bulk,
}

const RANGES: [EventPart; 4] = [
    EventPart::Statement(StatementKind::SimpleRange),
    EventPart::Statement(StatementKind::SumRange),
    EventPart::Statement(StatementKind::OrderRange),
    EventPart::Statement(StatementKind::DistinctRange),
];

pub const READ_ONLY: Event = in_block(&[
    EventPart::Statement(StatementKind::PointSelect),
    RANGES[0],
    RANGES[1],
    RANGES[2],
    RANGES[3],
]);

pub const READ_WRITE: Event = in_block(&[
    EventPart::Statement(StatementKind::PointSelect),
    RANGES[0],
    RANGES[1],
    RANGES[2],
    RANGES[3],
    EventPart::Statement(StatementKind::IndexUpdate),
    EventPart::Statement(StatementKind::NonIndexUpdate),
    EventPart::DeleteInserts,
]);

pub const WRITE_ONLY: Event = in_block(&[
    EventPart::Statement(StatementKind::IndexUpdate),
    EventPart::Statement(StatementKind::NonIndexUpdate),
    EventPart::DeleteInserts,
]);

/// A transaction block that updates the same row for all users.
pub const HOT_ROW: Event = in_block(&[EventPart::Statement(StatementKind::HotUpdate)]);

const fn in_block(parts: &'static [EventPart]) -> Event {
    Event::Parts {
        parts,
        in_block: true,
        once: false,
    }
}

/// Statements outside a transaction block, repeated as often as their options specify.
pub const fn without_block(parts: &'static [EventPart]) -> Event {
    Event::Parts {
        parts,
        in_block: false,
        once: false,
    }
}

/// One statement outside a transaction block.
pub const fn single_statement(parts: &'static [EventPart]) -> Event {
    Event::Parts {
        parts,
        in_block: false,
        once: true,
    }
}

impl Event {
    /// The parts, with the number of repetitions of each; empty for [`Event::Bulk`].
    pub fn parts(&self, options: &OltpOptions) -> Vec<(EventPart, u32)> {
        let Event::Parts { parts, once, .. } = self else {
            return Vec::new();
        };
        let repetitions = |part: &EventPart| if *once { 1 } else { options.repetitions(*part) };
        let repeated = parts.iter().map(|part| (*part, repetitions(part)));
        repeated.filter(|(_, count)| *count > 0).collect()
    }

    /// Whether the parts run in a transaction block with these options.
    pub fn in_block(&self, options: &OltpOptions) -> bool {
        matches!(self, Event::Parts { in_block: true, .. }) && !options.skip_trx
    }

    /// The queries of one event, if each statement finds its row.
    pub fn queries(&self, options: &OltpOptions) -> QueryCounts {
        let mut queries = QueryCounts::default();
        if matches!(self, Event::Bulk) {
            queries.writes = 1;
        }
        for (part, count) in self.parts(options) {
            let count = u64::from(count);
            match part {
                EventPart::Statement(kind) if kind.is_read() => queries.reads += count,
                EventPart::Statement(_) | EventPart::TextInsert => queries.writes += count,
                EventPart::DeleteInserts => queries.writes += 2 * count,
            }
        }
        if self.in_block(options) {
            queries.others = 2;
        }
        queries
    }

    /// Whether it deletes rows without inserting them again. Later statements may then find no row, so the
    /// share that finds one cannot be predicted.
    pub fn consumes_rows(&self) -> bool {
        let Event::Parts { parts, .. } = self else {
            return false;
        };
        parts.contains(&EventPart::Statement(StatementKind::Delete))
    }

    /// The kinds of the statements to prepare; [`EventPart::TextInsert`] needs none.
    pub fn statement_kinds(&self, options: &OltpOptions) -> Vec<StatementKind> {
        let parts = self.parts(options).into_iter();
        parts
            .flat_map(|(part, _)| match part {
                EventPart::Statement(kind) => vec![kind],
                EventPart::DeleteInserts => vec![StatementKind::Delete, StatementKind::Insert],
                EventPart::TextInsert => Vec::new(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_write_transaction_is_14_reads_4_writes_and_2_others() {
        let options = OltpOptions::default();
        let counts = |event: Event, options: &OltpOptions| {
            let QueryCounts {
                reads,
                writes,
                others,
                ..
            } = event.queries(options);
            (reads, writes, others)
        };
        assert_eq!(counts(READ_WRITE, &options), (14, 4, 2));
        assert_eq!(counts(READ_ONLY, &options), (14, 0, 2));
        assert_eq!(counts(WRITE_ONLY, &options), (0, 4, 2));
        assert_eq!(counts(HOT_ROW, &options), (0, 1, 2));
        assert_eq!(counts(Event::Bulk, &options), (0, 1, 0));
        let options = OltpOptions {
            skip_trx: true,
            range_selects: false,
            point_selects: 3,
            ..options
        };
        assert_eq!(counts(READ_WRITE, &options), (3, 4, 0));
        let point = single_statement(&[EventPart::Statement(StatementKind::PointSelect)]);
        assert_eq!(counts(point, &options), (1, 0, 0));
    }

    #[test]
    fn seven_kinds_return_rows() {
        let reads = StatementKind::ALL
            .iter()
            .filter(|kind| kind.is_read())
            .count();
        assert_eq!(reads, 7);
    }
}
