//! The account that clients keep of their commits: each transaction writes its number into a table of the server, in
//! itself, and the client keeps which numbers were acknowledged.
//!
//! In: the ends of transactions. Out: for each client the numbers that must be in the table, and those that may be.
//! Must never: allocate for a transaction that commits, or call a commit acknowledged whose reply did not arrive.
//!
//! A client numbers its transactions from 1. A number is used again after a transaction that is known to have been rolled
//! back, so that each client's numbers have no gaps but those of commits whose outcome is not known.

use crate::statement_table::StatementTable;
use prony_wire::{Effect, ParameterType, Statement, StatementIds, Value};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The least number of the statement that writes an entry, above those of statements that a program does not name.
const STATEMENT_ID_MIN: u32 = 4095;

/// An entry: a client of the run, and the number of its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerEntry {
    /// The client, from 0.
    pub client: u32,
    /// The number of its transaction, from 1.
    pub sequence: u64,
}

/// The account of a run, shared by its clients: each has a counter of its own.
#[derive(Debug)]
pub struct Ledger {
    insert: String,
    /// The number of that statement.
    insert_id: u32,
    /// Whether the statements of one request are one transaction, so that a single statement can have an entry too.
    requests_are_transactions: bool,
    /// The last number of each client whose transaction has ended, or whose outcome is not known.
    last: Box<[AtomicU64]>,
    /// Entries that may be in the table: their commit was sent, and no reply came.
    ambiguous: Mutex<Vec<LedgerEntry>>,
    /// Transactions that committed without an entry.
    unrecorded: AtomicU64,
}

impl Ledger {
    /// An empty account of this many clients. `insert` writes an entry; its parameters are client and number.
    /// `requests_are_transactions`: whether the server executes the statements of a request outside a block as one
    /// transaction, as PostgreSQL does. `statements`: those of the program, which have numbers of their own.
    pub fn new(
        insert: String,
        requests_are_transactions: bool,
        clients: u32,
        statements: &StatementTable,
    ) -> Ledger {
        Ledger {
            insert,
            insert_id: statements.free_id().max(STATEMENT_ID_MIN),
            requests_are_transactions,
            last: (0..clients).map(|_| AtomicU64::new(0)).collect(),
            ambiguous: Mutex::default(),
            unrecorded: AtomicU64::new(0),
        }
    }

    /// The last number of each client.
    pub fn last_numbers(&self) -> Vec<u64> {
        self.last
            .iter()
            .map(|last| last.load(Ordering::Relaxed))
            .collect()
    }

    /// The entries whose outcome is not known, in order.
    pub fn ambiguous(&self) -> Vec<LedgerEntry> {
        let entries = self
            .ambiguous
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut entries = entries.clone();
        entries.sort_unstable();
        entries
    }

    /// Transactions that committed a change without an entry, such as single statements outside a block.
    pub fn unrecorded(&self) -> u64 {
        self.unrecorded.load(Ordering::Relaxed)
    }
}

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settlement {
    Committed,
    RolledBack,
    Ambiguous,
}

/// One client's part of the account.
#[derive(Debug)]
pub(crate) struct ClientLedger {
    ledger: Arc<Ledger>,
    insert: Statement,
    next: LedgerEntry,
    /// Whether the transaction in progress has sent its entry.
    is_written: bool,
    /// Whether it has sent a statement that may have changed something.
    has_changed: bool,
}

impl ClientLedger {
    pub(crate) fn new(ledger: Arc<Ledger>, client: u32) -> ClientLedger {
        let insert = StatementIds::new().add(&ledger.insert);
        let types = [ParameterType::Int, ParameterType::BigInt];
        ClientLedger {
            insert: insert.with_types(types).with_id(ledger.insert_id),
            ledger,
            next: LedgerEntry {
                client,
                sequence: 1,
            },
            is_written: false,
            has_changed: false,
        }
    }

    /// Notes a statement of the transaction.
    pub(crate) fn note(&mut self, statement: &Statement) {
        self.has_changed |= statement.effect() == Effect::Writes;
    }

    /// The statement and the values of the entry to send before `statement`, if that ends a transaction block
    /// which has changed something: one that only reads may be read-only.
    pub(crate) fn entry_before(
        &mut self,
        statement: &Statement,
    ) -> Option<(&Statement, [Value<'static>; 2])> {
        if statement.effect() != Effect::Commits || self.is_written || !self.has_changed {
            return None;
        }
        Some(self.next_entry())
    }

    /// The statement and the values of the entry to send first in this request, if its statements are a transaction of
    /// their own that writes.
    pub(crate) fn entry_of_request<'a>(
        &mut self,
        mut batch: impl Iterator<Item = &'a Statement> + Clone,
    ) -> Option<(&Statement, [Value<'static>; 2])> {
        if !self.ledger.requests_are_transactions
            || self.is_written
            || batch.clone().any(Statement::begins_block)
            || !batch.any(|statement| statement.effect() == Effect::Writes)
        {
            return None;
        }
        Some(self.next_entry())
    }

    fn next_entry(&mut self) -> (&Statement, [Value<'static>; 2]) {
        self.is_written = true;
        let LedgerEntry { client, sequence } = self.next;
        let values = [Value::Int(client.into()), Value::Int(sequence as i64)];
        (&self.insert, values)
    }

    /// Ends the transaction in the account.
    pub(crate) fn settle(&mut self, settlement: Settlement) {
        let is_written = std::mem::take(&mut self.is_written);
        let has_changed = std::mem::take(&mut self.has_changed);
        match settlement {
            Settlement::RolledBack => return,
            Settlement::Committed if !is_written => {
                self.ledger
                    .unrecorded
                    .fetch_add(has_changed.into(), Ordering::Relaxed);
                return;
            }
            Settlement::Committed => {}
            Settlement::Ambiguous if !is_written => return,
            Settlement::Ambiguous => {
                let ambiguous = self.ledger.ambiguous.lock();
                ambiguous
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(self.next);
            }
        }
        let last = &self.ledger.last[self.next.client as usize];
        last.store(self.next.sequence, Ordering::Relaxed);
        self.next.sequence += 1;
    }
}

impl Drop for ClientLedger {
    /// A transaction that the end of the run interrupts may have committed.
    fn drop(&mut self) {
        self.settle(Settlement::Ambiguous);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_statement_of_the_program_has_the_number_of_the_insert() {
        let mut ids = StatementIds::new();
        let mut table = StatementTable::new();
        for _ in 0..=STATEMENT_ID_MIN {
            let select = ids.add("SELECT 1");
            table.add("select", select.sql(), &select);
        }
        let insert = || "insert into l values ($1, $2)".to_owned();
        let ledger = Arc::new(Ledger::new(insert(), true, 1, &table));
        assert_eq!(table.index_of(STATEMENT_ID_MIN), Some(0));
        let client = ClientLedger::new(ledger, 0);
        assert_eq!(table.index_of(client.insert.id()), None);
    }

    #[test]
    fn numbers_have_gaps_only_where_the_outcome_is_unknown() {
        let ledger = Arc::new(Ledger::new(
            "insert into l values ($1, $2)".to_owned(),
            true,
            2,
            &StatementTable::new(),
        ));
        let mut client = ClientLedger::new(Arc::clone(&ledger), 1);
        let mut ids = StatementIds::new();
        let (update, end) = (ids.add("UPDATE t SET a = 1"), ids.add("END"));
        let mut transaction = |settlement| {
            assert!(client.entry_before(&end).is_none(), "nothing has changed");
            client.note(&update);
            assert!(client.entry_before(&update).is_none());
            let (insert, values) = client.entry_before(&end).expect("it ends a block");
            assert!(insert.accepts(&values));
            assert!(
                client.entry_before(&end).is_none(),
                "one entry for each transaction"
            );
            client.settle(settlement);
            values[1]
        };
        let written = [
            transaction(Settlement::Committed),
            transaction(Settlement::RolledBack),
            transaction(Settlement::Ambiguous),
            transaction(Settlement::Committed),
        ];
        assert_eq!(written, [1, 2, 2, 3].map(Value::Int));
        // Nothing was changed, and then something.
        client.settle(Settlement::Committed);
        client.note(&update);
        client.settle(Settlement::Committed);
        let (begin, select) = (ids.add("/* tag */ BEGIN"), ids.add("SELECT 1"));
        assert!(
            client
                .entry_of_request([&begin, &update].into_iter())
                .is_none()
        );
        assert!(client.entry_of_request([&select].into_iter()).is_none());
        client.note(&update);
        assert!(client.entry_of_request([&update].into_iter()).is_some());
        drop(client);
        assert_eq!(ledger.last_numbers(), [0, 4]);
        let ambiguous = [2, 4].map(|sequence| LedgerEntry {
            client: 1,
            sequence,
        });
        assert_eq!(ledger.ambiguous(), ambiguous);
        assert_eq!(ledger.unrecorded(), 1);
    }
}
