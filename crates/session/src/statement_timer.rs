//! The latencies of a worker's statements, which its users record.

use crate::statement_table::StatementTable;
use prony_measure::RoundTripTimes;
use std::cell::RefCell;

/// Records the times of round trips by name of their first statement.
#[derive(Debug)]
pub(crate) struct StatementTimer {
    table: StatementTable,
    times: RefCell<RoundTripTimes<u32>>,
}

impl StatementTimer {
    pub fn new(table: StatementTable) -> Self {
        StatementTimer {
            table,
            times: RefCell::default(),
        }
    }

    /// Counts a round trip of this many statements; ignores one whose first statement has no name.
    pub fn record(&self, first_id: u32, statements: u32, time_ns: u64) {
        if let Some(index) = self.table.index_of(first_id) {
            self.times.borrow_mut().record(index, statements, time_ns);
        }
    }

    /// Adds the service time of a transaction that ended.
    pub fn record_transaction(&self, service_ns: u64) {
        self.times.borrow_mut().service_ns += u128::from(service_ns);
    }

    /// Takes the times recorded so far.
    pub fn take(&self) -> RoundTripTimes<u32> {
        self.times.take()
    }
}
