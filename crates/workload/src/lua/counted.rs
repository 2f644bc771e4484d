//! What counts as what in sysbench's report.
//!
//! In: replies, numbers of counters. Out: counts on the worker's desk; of what is asked outside of
//! threads, a tally of its own. Must never: count an event.

use super::answer::Answer;
use prony_session::{Db, Query};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a reply of so many rows and columns counts as.
fn query((rows, fields): (u64, usize)) -> Query {
    match (fields, rows) {
        (0, 0) => Query::Other,
        (0, _) => Query::Write,
        _ => Query::Read,
    }
}

/// Counts what a reply was, as sysbench does.
pub fn counted(db: &Db, (rows, fields): (u64, usize)) -> Answer {
    db.count(query((rows, fields)));
    Answer::Reply(rows, fields)
}

/// One of sysbench's counters, by its number.
pub fn count(db: &Db, counter: i64) {
    match counter {
        0 => db.count(Query::Other),
        1 => db.count(Query::Read),
        2 => db.count(Query::Write),
        4 => db.count_ignored(),
        5 => db.count_reconnect(),
        // Transactions are counted where events end.
        _ => {}
    }
}

/// What was asked outside of threads: by `init()`, by the first lines of a script, by its reports.
/// sysbench counts that for its first thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// Queries that gave rows.
    pub reads: u64,
    /// Queries that changed rows.
    pub writes: u64,
    /// All other queries.
    pub others: u64,
    /// Errors.
    pub errors: u64,
    /// Connections opened anew.
    pub reconnects: u64,
}

/// Counts that states outside of threads share, by sysbench's numbers: other, read, write, event, error,
/// reconnect.
#[derive(Default)]
pub struct Tally([AtomicU64; 6]);

impl Tally {
    /// Counts what a reply was.
    pub fn counted(&self, (rows, fields): (u64, usize)) -> Answer {
        self.count(match query((rows, fields)) {
            Query::Other => 0,
            Query::Read => 1,
            Query::Write => 2,
        });
        Answer::Reply(rows, fields)
    }

    /// One of sysbench's counters goes up; there is none of another number.
    pub fn count(&self, counter: i64) {
        let place = usize::try_from(counter).ok();
        if let Some(one) = place.and_then(|place| self.0.get(place)) {
            one.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What there was since this was last asked.
    pub fn take(&self) -> Outside {
        let take = |place: usize| self.0[place].swap(0, Ordering::Relaxed);
        Outside {
            others: take(0),
            reads: take(1),
            writes: take(2),
            errors: take(4),
            reconnects: take(5),
        }
    }
}
