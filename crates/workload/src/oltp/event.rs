//! What each workload does: one table.
//!
//! In: options. Out: the parts of an event in their order, how many queries of which sort they
//! are. Must never: know a connection.

use super::options::Asked;
use super::queries::Queries;

/// The statements, one of each table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sql {
    /// One row by its key.
    PointSelect,
    /// Rows of a range of keys.
    SimpleRange,
    /// A sum over a range.
    SumRange,
    /// The same rows, sorted.
    OrderRange,
    /// The distinct values among them, sorted.
    DistinctRange,
    /// Adds to the column that has an index.
    IndexUpdate,
    /// Replaces a column without an index.
    NonIndexUpdate,
    /// Deletes a row.
    Delete,
    /// Puts it back.
    Insert,
    /// Rows of several values of the indexed column.
    RandomPoints,
    /// How many rows several ranges of it have.
    RandomRanges,
    /// Adds to one row, the same for all users.
    HotUpdate,
}

impl Sql {
    /// All of them, in the order of their numbers.
    pub const ALL: [Sql; 12] = [
        Sql::PointSelect,
        Sql::SimpleRange,
        Sql::SumRange,
        Sql::OrderRange,
        Sql::DistinctRange,
        Sql::IndexUpdate,
        Sql::NonIndexUpdate,
        Sql::Delete,
        Sql::Insert,
        Sql::RandomPoints,
        Sql::RandomRanges,
        Sql::HotUpdate,
    ];

    /// Whether its result is rows: it counts as a read. Any other counts as a write where it
    /// changed a row.
    pub fn reads(self) -> bool {
        (self as usize) < Sql::IndexUpdate as usize
            || matches!(self, Sql::RandomPoints | Sql::RandomRanges)
    }
}

/// A part of an event: statements of one sort on one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// This statement, as often as its option says.
    Each(Sql),
    /// A row is deleted and put back, as often as `delete_inserts` says.
    DeleteInserts,
    /// An `INSERT` of a new row, sent as text whatever the protocol.
    TextInsert,
}

/// What a workload does.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// Statements on the tables that all share.
    Parts {
        /// In order.
        parts: &'static [Part],
        /// In a block, unless `skip_trx` says otherwise.
        in_block: bool,
        /// Each part is one statement, whatever the options say.
        once: bool,
    },
    /// Rows appended by `INSERT`s as large as a packet, on tables of their own.
    Bulk,
}

const RANGES: [Part; 4] = [
    Part::Each(Sql::SimpleRange),
    Part::Each(Sql::SumRange),
    Part::Each(Sql::OrderRange),
    Part::Each(Sql::DistinctRange),
];

/// A transaction of reads.
pub const READ_ONLY: Event = block(&[
    Part::Each(Sql::PointSelect),
    RANGES[0],
    RANGES[1],
    RANGES[2],
    RANGES[3],
]);

/// A transaction of reads and writes.
pub const READ_WRITE: Event = block(&[
    Part::Each(Sql::PointSelect),
    RANGES[0],
    RANGES[1],
    RANGES[2],
    RANGES[3],
    Part::Each(Sql::IndexUpdate),
    Part::Each(Sql::NonIndexUpdate),
    Part::DeleteInserts,
]);

/// A transaction of writes.
pub const WRITE_ONLY: Event = block(&[
    Part::Each(Sql::IndexUpdate),
    Part::Each(Sql::NonIndexUpdate),
    Part::DeleteInserts,
]);

/// The same row for all, in a transaction.
pub const HOT_ROW: Event = block(&[Part::Each(Sql::HotUpdate)]);

const fn block(parts: &'static [Part]) -> Event {
    Event::Parts {
        parts,
        in_block: true,
        once: false,
    }
}

/// Statements outside a block, as often as their options say.
pub const fn bare(parts: &'static [Part]) -> Event {
    Event::Parts {
        parts,
        in_block: false,
        once: false,
    }
}

/// One statement outside a block.
pub const fn single(parts: &'static [Part]) -> Event {
    Event::Parts {
        parts,
        in_block: false,
        once: true,
    }
}

impl Event {
    /// Its parts with how often each is done; none for [`Event::Bulk`].
    pub fn parts(&self, asked: &Asked) -> Vec<(Part, u32)> {
        let Event::Parts { parts, once, .. } = self else {
            return Vec::new();
        };
        let count = |part: &Part| if *once { 1 } else { asked.count(*part) };
        let all = parts.iter().map(|part| (*part, count(part)));
        all.filter(|(_, count)| *count > 0).collect()
    }

    /// Whether it is done in a block.
    pub fn in_block(&self, asked: &Asked) -> bool {
        matches!(self, Event::Parts { in_block: true, .. }) && !asked.skip_trx
    }

    /// The queries of one event that finds all its rows.
    pub fn queries(&self, asked: &Asked) -> Queries {
        let mut queries = Queries::default();
        if matches!(self, Event::Bulk) {
            queries.writes = 1;
        }
        for (part, count) in self.parts(asked) {
            let count = u64::from(count);
            match part {
                Part::Each(sql) if sql.reads() => queries.reads += count,
                Part::Each(_) | Part::TextInsert => queries.writes += count,
                Part::DeleteInserts => queries.writes += 2 * count,
            }
        }
        if self.in_block(asked) {
            queries.others = 2;
        }
        queries
    }

    /// Whether its rows run out as it goes on: how many of its statements still find one is then
    /// no matter of what was asked.
    pub fn consumes(&self) -> bool {
        let Event::Parts { parts, .. } = self else {
            return false;
        };
        parts.contains(&Part::Each(Sql::Delete))
    }

    /// The sorts of statements that it needs.
    pub fn needs(&self, asked: &Asked) -> Vec<Sql> {
        let parts = self.parts(asked).into_iter();
        parts
            .flat_map(|(part, _)| match part {
                Part::Each(sql) => vec![sql],
                Part::DeleteInserts => vec![Sql::Delete, Sql::Insert],
                Part::TextInsert => Vec::new(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_write_transaction_is_14_reads_4_writes_and_2_others() {
        let asked = Asked::default();
        let of = |event: Event, asked: &Asked| {
            let Queries {
                reads,
                writes,
                others,
                ..
            } = event.queries(asked);
            (reads, writes, others)
        };
        assert_eq!(of(READ_WRITE, &asked), (14, 4, 2));
        assert_eq!(of(READ_ONLY, &asked), (14, 0, 2));
        assert_eq!(of(WRITE_ONLY, &asked), (0, 4, 2));
        assert_eq!(of(HOT_ROW, &asked), (0, 1, 2));
        assert_eq!(of(Event::Bulk, &asked), (0, 1, 0));
        let asked = Asked {
            skip_trx: true,
            range_selects: false,
            point_selects: 3,
            ..asked
        };
        assert_eq!(of(READ_WRITE, &asked), (3, 4, 0));
        let point = single(&[Part::Each(Sql::PointSelect)]);
        assert_eq!(of(point, &asked), (1, 0, 0));
    }

    #[test]
    fn sorts_have_the_numbers_of_their_places() {
        for (place, sql) in Sql::ALL.iter().enumerate() {
            assert_eq!(*sql as usize, place);
        }
        let reads = Sql::ALL.iter().filter(|sql| sql.reads()).count();
        assert_eq!(reads, 7);
    }
}
