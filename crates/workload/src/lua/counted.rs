//! What counts as what in sysbench's report.
//!
//! In: replies, numbers of counters. Out: counts on the worker's desk. Must never: count an event.

use super::answer::Answer;
use prony_session::{Db, Query};

/// Counts what a reply was, as sysbench does.
pub fn counted(db: &Db, (rows, fields): (u64, usize)) -> Answer {
    db.count(match (fields, rows) {
        (0, 0) => Query::Other,
        (0, _) => Query::Write,
        _ => Query::Read,
    });
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
