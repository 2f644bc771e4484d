//! Counts queries for sysbench's report: those of threads in their worker's counters, those made outside of threads in
//! [`OutsideCounters`]. Never counts events.

use super::answer::Answer;
use prony_session::{Db, QueryCounts, QueryKind};
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns the kind of a query by sysbench's rule, from the number of rows and columns of its reply.
fn query_kind((rows, columns): (u64, usize)) -> QueryKind {
    match (columns, rows) {
        (0, 0) => QueryKind::Other,
        (0, _) => QueryKind::Write,
        _ => QueryKind::Read,
    }
}

/// Counts the query of a reply as sysbench does, and returns the answer for the script.
pub fn count_reply(db: &Db, (rows, columns): (u64, usize)) -> Answer {
    db.count_query(query_kind((rows, columns)));
    Answer::Reply(rows, columns)
}

/// Increments one of sysbench's counters, given its number.
pub fn increment_counter(db: &Db, counter: i64) {
    match counter {
        0 => db.count_query(QueryKind::Other),
        1 => db.count_query(QueryKind::Read),
        2 => db.count_query(QueryKind::Write),
        4 => db.count_ignored_error(),
        5 => db.count_reconnect(),
        // Counter 3 counts transactions, which are counted where events end.
        _ => {}
    }
}

/// Counters shared by the states outside of threads (`init()`, a script's top level, its reports), which sysbench
/// attributes to its first thread; indexed by sysbench's numbers: other, read, write,
/// event, error, reconnect.
#[derive(Default)]
pub struct OutsideCounters([AtomicU64; 6]);

impl OutsideCounters {
    pub fn count_reply(&self, (rows, columns): (u64, usize)) -> Answer {
        self.increment(match query_kind((rows, columns)) {
            QueryKind::Other => 0,
            QueryKind::Read => 1,
            QueryKind::Write => 2,
        });
        Answer::Reply(rows, columns)
    }

    /// Increments one of sysbench's counters; ignores an unknown number.
    pub fn increment(&self, counter: i64) {
        let index = usize::try_from(counter).ok();
        if let Some(counter) = index.and_then(|index| self.0.get(index)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the counts since the last call, and resets them.
    pub fn take(&self) -> QueryCounts {
        let take_count = |index: usize| self.0[index].swap(0, Ordering::Relaxed);
        QueryCounts {
            others: take_count(0),
            reads: take_count(1),
            writes: take_count(2),
            ignored_errors: take_count(4),
            reconnects: take_count(5),
        }
    }
}
