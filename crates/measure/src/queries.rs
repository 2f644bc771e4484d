//! What users counted beside their transactions: queries by sort, events begun again, reconnects.
//!
//! In: counts. Out: their sums. Must never: allocate, or know what a query was.

/// The sort of a query, by what it came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// It gave rows.
    Read,
    /// It changed rows.
    Write,
    /// Anything else: the ends of a transaction, a change that met no row.
    Other,
}

/// Counts of queries and of what befell their events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queries {
    /// Queries that gave rows.
    pub reads: u64,
    /// Queries that changed rows.
    pub writes: u64,
    /// All other queries.
    pub others: u64,
    /// Events begun again after an error that is ignored.
    pub errors: u64,
    /// Connections opened anew because of such an error.
    pub reconnects: u64,
}

impl Queries {
    /// All queries.
    pub fn all(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    /// Counts one query.
    #[inline]
    pub fn count(&mut self, query: Query) {
        match query {
            Query::Read => self.reads += 1,
            Query::Write => self.writes += 1,
            Query::Other => self.others += 1,
        }
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Queries) {
        self.reads = self.reads.saturating_add(other.reads);
        self.writes = self.writes.saturating_add(other.writes);
        self.others = self.others.saturating_add(other.others);
        self.errors = self.errors.saturating_add(other.errors);
        self.reconnects = self.reconnects.saturating_add(other.reconnects);
    }
}
