//! Counts queries for sysbench's report. Queries of threads are counted by the worker, and queries made outside
//! of threads separately. Never counts events.

use super::answer::Answer;
use prony_session::{Db, QueryKind};
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns the kind of a query by sysbench's rule, from the number of rows and columns of its reply.
fn classify((rows, fields): (u64, usize)) -> QueryKind {
    match (fields, rows) {
        (0, 0) => QueryKind::Other,
        (0, _) => QueryKind::Write,
        _ => QueryKind::Read,
    }
}

/// Counts a reply as sysbench does, and returns the answer for the script.
pub fn count_reply(db: &Db, (rows, fields): (u64, usize)) -> Answer {
    db.count(classify((rows, fields)));
    Answer::Reply(rows, fields)
}

/// Increments one of sysbench's counters, given its number.
pub fn increment(db: &Db, counter: i64) {
    match counter {
        0 => db.count(QueryKind::Other),
        1 => db.count(QueryKind::Read),
        2 => db.count(QueryKind::Write),
        4 => db.count_ignored(),
        5 => db.count_reconnect(),
        // Transactions are counted where events end.
        _ => {}
    }
}

/// Queries made outside of threads: by `init()`, by a script's top level and by its reports. sysbench
/// attributes them to its first thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutsideQueries {
    /// Queries that returned rows.
    pub reads: u64,
    /// Queries that changed rows.
    pub writes: u64,
    /// All other queries.
    pub others: u64,
    /// Errors.
    pub errors: u64,
    /// Reopened connections.
    pub reconnects: u64,
}

/// Counters shared by the states outside of threads, indexed by sysbench's numbers: other, read, write,
/// event, error, reconnect.
#[derive(Default)]
pub struct OutsideCounters([AtomicU64; 6]);

impl OutsideCounters {
    /// Counts a reply, and returns the answer for the script.
    pub fn count_reply(&self, (rows, fields): (u64, usize)) -> Answer {
        self.increment(match classify((rows, fields)) {
            QueryKind::Other => 0,
            QueryKind::Read => 1,
            QueryKind::Write => 2,
        });
        Answer::Reply(rows, fields)
    }

    /// Increments one of sysbench's counters; ignores an unknown number.
    pub fn increment(&self, counter: i64) {
        let index = usize::try_from(counter).ok();
        if let Some(counter) = index.and_then(|index| self.0.get(index)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the counts since the last call.
    pub fn take(&self) -> OutsideQueries {
        let take = |index: usize| self.0[index].swap(0, Ordering::Relaxed);
        OutsideQueries {
            others: take(0),
            reads: take(1),
            writes: take(2),
            errors: take(4),
            reconnects: take(5),
        }
    }
}
