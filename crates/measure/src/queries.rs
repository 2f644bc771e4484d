//! What users count besides transactions: queries by kind, restarted events, reconnects.
//!
//! Must never: allocate, or know the text of a query.

/// The kind of a query, by its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// Returned rows.
    Read,
    /// Changed rows.
    Write,
    /// Anything else, such as `COMMIT`, or an update that changed no row.
    Other,
}

/// Counts of queries, and of restarts and reconnects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queries {
    /// Queries that returned rows.
    pub reads: u64,
    /// Queries that changed rows.
    pub writes: u64,
    /// All other queries.
    pub others: u64,
    /// Events (sysbench's transactions) that were restarted after an ignored error.
    pub errors: u64,
    /// Connections that were reopened because of such an error.
    pub reconnects: u64,
}

impl Queries {
    /// All queries.
    pub fn all(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    /// Counts one query.
    #[inline]
    pub fn count(&mut self, query: QueryKind) {
        match query {
            QueryKind::Read => self.reads += 1,
            QueryKind::Write => self.writes += 1,
            QueryKind::Other => self.others += 1,
        }
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Queries) {
        self.reads = self.reads.saturating_add(other.reads);
        self.writes = self.writes.saturating_add(other.writes);
        self.others = self.others.saturating_add(other.others);
        self.errors = self.errors.saturating_add(other.errors);
        self.reconnects = self.reconnects.saturating_add(other.reconnects);
    }
}
