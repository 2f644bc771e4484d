//! The account that clients keep of their commits: each transaction writes its number into a table of the server, in
//! itself, and the client keeps which numbers were acknowledged.
//!
//! In: the ends of transactions. Out: for each client the numbers that must be in the table, and those that may be.
//! Must never: allocate for a transaction that commits, or call a commit acknowledged whose reply did not arrive.
//!
//! A client numbers its transactions from 1. A number is used again after a transaction that is known to have been rolled
//! back, so that each client's numbers have no gaps but those of commits whose outcome is not known.

mod texts;

use crate::statement_table::StatementTable;
use prony_wire::{Effect, FirstWord, ParameterType, QueryMode, Statement, StatementIds, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use texts::{can_be_in_block, combine, has_word, takes_expression, with_expression};

/// The least number of the statement that writes an entry, above those of statements that a program does not name.
const STATEMENT_ID_MIN: u32 = 4095;
/// The number in `ClientLedger::joined` of a statement that is sent as text.
const TEXT_ID: u32 = u32::MAX;

/// An entry: a client of the run, and the number of its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerEntry {
    /// The client, from 0.
    pub client: u32,
    /// The number of its transaction, from 1.
    pub sequence: u64,
}

/// How an entry gets into its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryPlacement {
    /// In one text with the statement that ends the block, as on MySQL, whose other requests have a round trip for each
    /// statement. A single statement is made a block in one text.
    InText,
    /// As `InText`, but each statement is a text of its own, for Galera: a node that aborts a block between two statements
    /// of one text, for a transaction of another node, acknowledges a COMMIT that is the second.
    InTexts,
    /// A part of the first statement that writes, by a common table expression as on PostgreSQL: that costs the server a
    /// third of a statement of its own. Of text and of statements that cannot have one: before the statement that ends the
    /// block, and first in a request outside a block, whose statements the server executes as one transaction.
    InRequest,
    /// In one text with the first statement that writes, as on SQL Server, where a COMMIT is a message of its own. A single
    /// statement is made a block. Statements that are sent as text have it before the end of their block.
    WithWrite,
}

impl EntryPlacement {
    fn is_of_mysql(self) -> bool {
        matches!(self, EntryPlacement::InText | EntryPlacement::InTexts)
    }

    /// A statement in the form in which it is sent with the entry, or as the entry.
    fn form(self, statement: Statement) -> Statement {
        match self {
            // Sent with the text that ends the block.
            EntryPlacement::WithWrite | EntryPlacement::InText => statement.with_joining(),
            EntryPlacement::InTexts => statement.with_own_text(),
            EntryPlacement::InRequest => statement,
        }
    }
}

/// The account of a run, shared by its clients: each has a counter of its own.
#[derive(Debug)]
pub struct Ledger {
    insert: String,
    /// The number of that statement.
    insert_id: u32,
    placement: EntryPlacement,
    /// Whether an entry that is a part of another statement returns a row.
    expressions_return: bool,
    /// The last number of each client whose transaction has ended, or whose outcome is not known.
    last: Box<[AtomicU64]>,
    /// Entries that may be in the table: their commit was sent, and no reply came.
    ambiguous: Mutex<BTreeSet<LedgerEntry>>,
    /// Transactions that committed without an entry.
    unrecorded: AtomicU64,
}

impl Ledger {
    /// An empty account of this many clients. `insert` writes an entry; its parameters are client and number.
    /// `statements`: those of the program, which have numbers of their own.
    pub fn new(
        insert: String,
        placement: EntryPlacement,
        clients: u32,
        statements: &StatementTable,
    ) -> Ledger {
        Ledger {
            insert,
            insert_id: statements.free_id().max(STATEMENT_ID_MIN),
            placement,
            expressions_return: false,
            last: (0..clients).map(|_| AtomicU64::new(0)).collect(),
            ambiguous: Mutex::default(),
            unrecorded: AtomicU64::new(0),
        }
    }

    /// Lets an entry that is a part of another statement return a row, for engines that require that of every common table
    /// expression. PostgreSQL does not, and then has less to do.
    #[must_use]
    pub fn with_returning_expressions(mut self) -> Ledger {
        self.expressions_return = true;
        self
    }

    /// The last number of each client.
    pub fn last_numbers(&self) -> Vec<u64> {
        self.last
            .iter()
            .map(|last| last.load(Ordering::Acquire))
            .collect()
    }

    /// The entries whose outcome is not known, in order.
    pub fn ambiguous(&self) -> Vec<LedgerEntry> {
        let entries = self
            .ambiguous
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        entries.iter().copied().collect()
    }

    /// Notes what another machine knows of clients that it drives, from this one on: their last numbers, and entries whose
    /// outcome is not known.
    pub fn note(&self, first_client: u32, last: &[u64], ambiguous: &[LedgerEntry]) {
        let mut known = self
            .ambiguous
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known.extend(ambiguous);
        drop(known);
        // After the entries, as in `settle`.
        let clients = self.last.iter().skip(first_client as usize);
        for (known, last) in clients.zip(last) {
            known.fetch_max(*last, Ordering::Release);
        }
    }

    /// Adds the transactions of another machine that committed without an entry.
    pub fn add_unrecorded(&self, count: u64) {
        self.unrecorded.fetch_add(count, Ordering::Relaxed);
    }

    /// Transactions that committed a change without an entry, such as single statements outside a block.
    pub fn unrecorded(&self) -> u64 {
        self.unrecorded.load(Ordering::Relaxed)
    }
}

/// An entry to send before the statement that ends its block.
pub(crate) struct EntryBeforeEnd<'a> {
    pub insert: &'a Statement,
    pub values: [Value<'static>; 2],
    /// The end in the form in which it is sent with the entry, on MySQL.
    pub joined_end: Option<&'a Statement>,
}

/// The statements that make a single one a block with an entry.
pub(crate) struct JoinedBlock<'a> {
    pub begin: &'a Statement,
    pub insert: &'a Statement,
    pub values: [Value<'static>; 2],
    pub statement: &'a Statement,
    pub commit: &'a Statement,
}

/// How many results of a reply are those of the ledger's statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LedgerResults {
    /// Before those of the user's statements.
    pub before: usize,
    /// After them.
    pub after: usize,
}

impl LedgerResults {
    pub const NONE: LedgerResults = LedgerResults {
        before: 0,
        after: 0,
    };
}

impl JoinedBlock<'_> {
    pub const RESULTS: LedgerResults = LedgerResults {
        before: 2,
        after: 1,
    };
}

/// A statement of a request in one text with the insert of the entry.
pub(crate) struct WriteWithEntry<'a> {
    /// Its position in the request.
    pub position: usize,
    pub combined: &'a Statement,
    /// The values of the entry, which follow the statement's own.
    pub entry: [Value<'static>; 2],
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
    /// The program's statements with the insert, by number, for those that begin their own block and those that do not.
    combined: [BTreeMap<u32, Statement>; 2],
    /// The program's statements in the form in which they are sent with the insert, by number.
    joined: BTreeMap<u32, Statement>,
    /// What begins and ends a block in that form.
    block: [Statement; 2],
    next: LedgerEntry,
    /// Whether the transaction in progress has sent its entry.
    is_written: bool,
    /// Whether the entry was sent with the end of its block, or outside one: a later rollback does not take it back.
    is_settled: bool,
    /// Whether it has sent a statement that may have changed something.
    has_changed: bool,
    /// Whether it has a savepoint: what follows may be rolled back alone.
    has_savepoint: bool,
    /// Whether its block has failed, of a script whose statements the ledger does not see.
    has_failed: bool,
    /// Whether it has begun a block. SQL Server's protocol says so too, but Babelfish does not.
    is_in_block: bool,
    /// Whether the session commits by itself only what is a block, as with MySQL's autocommit off.
    is_manual: bool,
    /// The text of the last entry that was written as text.
    text: String,
}

impl ClientLedger {
    pub(crate) fn new(ledger: Arc<Ledger>, client: u32) -> ClientLedger {
        let insert = StatementIds::new().add(&ledger.insert);
        let types = [ParameterType::Int, ParameterType::BigInt];
        let insert = insert.with_types(types).with_id(ledger.insert_id);
        let placement = ledger.placement;
        ClientLedger {
            insert: placement.form(insert),
            ledger,
            combined: Default::default(),
            joined: BTreeMap::new(),
            block: ["BEGIN", "COMMIT"].map(|sql| placement.form(StatementIds::new().add(sql))),
            next: LedgerEntry {
                client,
                sequence: 1,
            },
            is_written: false,
            is_settled: false,
            has_changed: false,
            has_savepoint: false,
            has_failed: false,
            is_in_block: false,
            is_manual: false,
            text: String::new(),
        }
    }

    /// Notes a statement of the transaction.
    #[inline]
    pub(crate) fn note(&mut self, statement: &Statement) {
        self.has_changed |= statement.effect() == Effect::Writes;
        self.is_in_block |= statement.begins_block();
        self.is_settled |= self.is_written && statement.effect() == Effect::Commits;
        match statement.first_word() {
            FirstWord::Savepoint => self.has_savepoint = true,
            FirstWord::Rollback if !self.rolls_back_a_part(statement) => self.note_rollback(),
            FirstWord::Set => self.is_manual |= has_word(statement, "autocommit"),
            _ => {}
        }
    }

    /// Whether a rollback may be one to a savepoint, which SQL Server's names alone.
    fn rolls_back_a_part(&self, statement: &Statement) -> bool {
        has_word(statement, "to")
            || (self.has_savepoint && self.ledger.placement == EntryPlacement::WithWrite)
    }

    /// Notes that the block was rolled back, with the entry if that was in it: what the transaction does next is another
    /// block.
    fn note_rollback(&mut self) {
        if !self.is_settled {
            (self.is_written, self.has_changed) = (false, false);
        }
        (self.is_in_block, self.has_savepoint) = (false, false);
    }

    /// The statement and the values of the entry to send before `statement`, if that ends a transaction block
    /// which has changed something: one that only reads may be read-only.
    pub(crate) fn entry_before(&mut self, statement: &Statement) -> Option<EntryBeforeEnd<'_>> {
        if statement.effect() != Effect::Commits || self.is_written || !self.has_changed {
            return None;
        }
        let has_form = self.ledger.placement.is_of_mysql();
        if has_form {
            self.join(statement);
        }
        self.is_settled = true;
        let values = self.next_entry();
        Some(EntryBeforeEnd {
            insert: &self.insert,
            values,
            joined_end: has_form.then(|| &self.joined[&statement.id()]),
        })
    }

    /// What executes this request outside a block as a transaction with an entry, if it is a single statement that writes.
    pub(crate) fn joined_block<'a>(
        &mut self,
        mut batch: impl ExactSizeIterator<Item = &'a Statement>,
    ) -> Option<JoinedBlock<'_>> {
        let is_single = batch.len() == 1;
        let statement = batch.next()?;
        if !self.ledger.placement.is_of_mysql()
            || self.is_written
            || self.is_in_block
            || self.is_manual
            || !is_single
            || statement.effect() != Effect::Writes
            || !matches!(
                statement.first_word(),
                FirstWord::Insert
                    | FirstWord::Update
                    | FirstWord::Delete
                    | FirstWord::Replace
                    | FirstWord::With
            )
        {
            return None;
        }
        self.join(statement);
        Some(self.block_of(statement.id()))
    }

    /// As [`ClientLedger::joined_block`], for a statement that is sent as text, if its block has a text for each statement.
    pub(crate) fn block_of_texts(&mut self, sql: &str) -> Option<JoinedBlock<'_>> {
        if self.ledger.placement != EntryPlacement::InTexts || self.is_written {
            return None;
        }
        self.has_changed = true;
        let statement = StatementIds::new().add_unparsed(sql, 0).with_own_text();
        self.joined.insert(TEXT_ID, statement);
        Some(self.block_of(TEXT_ID))
    }

    fn block_of(&mut self, joined_id: u32) -> JoinedBlock<'_> {
        self.is_settled = true;
        let values = self.next_entry();
        let [begin, commit] = &self.block;
        JoinedBlock {
            begin,
            insert: &self.insert,
            values,
            statement: &self.joined[&joined_id],
            commit,
        }
    }

    fn join(&mut self, statement: &Statement) {
        let placement = self.ledger.placement;
        let joined = self.joined.entry(statement.id());
        joined.or_insert_with(|| placement.form(statement.clone()));
    }

    /// The statement and the values of the entry to send first in this request, if its statements are a transaction of
    /// their own that writes.
    pub(crate) fn entry_of_request<'a>(
        &mut self,
        mut batch: impl Iterator<Item = &'a Statement> + Clone,
    ) -> Option<(&Statement, [Value<'static>; 2])> {
        if self.ledger.placement != EntryPlacement::InRequest
            || self.is_written
            || batch.clone().any(Statement::begins_block)
            || !batch.any(|statement| statement.effect() == Effect::Writes)
        {
            return None;
        }
        self.is_settled = true;
        let values = self.next_entry();
        Some((&self.insert, values))
    }

    /// The statement of this request that has the entry: the first that writes, unless it is sent as text.
    pub(crate) fn entry_with_write<'a>(
        &mut self,
        mut batch: impl ExactSizeIterator<Item = &'a Statement> + Clone,
        mode: QueryMode,
    ) -> Option<WriteWithEntry<'_>> {
        let is_expression = self.ledger.placement == EntryPlacement::InRequest;
        if self.ledger.placement.is_of_mysql()
            || self.is_written
            || self.has_savepoint
            || mode == QueryMode::Simple
            // Elsewhere, what several statements outside a block do is several transactions.
            || !(self.is_in_block || batch.len() == 1 || is_expression)
        {
            return None;
        }
        let position = batch
            .clone()
            .position(|statement| statement.effect() == Effect::Writes)?;
        let statement = batch.nth(position)?;
        let can_have_it = if is_expression {
            takes_expression(statement)
        } else {
            !statement.is_joined() && (self.is_in_block || can_be_in_block(statement))
        };
        if !can_have_it {
            return None;
        }
        // A block that ends in this request was noted before.
        self.is_settled =
            !self.is_in_block || batch.any(|statement| statement.effect() == Effect::Commits);
        let entry = self.next_entry();
        let combined = self.combined[usize::from(self.is_in_block)]
            .entry(statement.id())
            .or_insert_with(|| {
                if is_expression {
                    with_expression(statement, &self.insert, self.ledger.expressions_return)
                } else {
                    combine(statement, &self.insert, self.is_in_block)
                }
            });
        Some(WriteWithEntry {
            position,
            combined,
            entry,
        })
    }

    /// The text that writes the entry of a transaction whose statements the ledger does not see; `None` if it is written.
    pub(crate) fn entry_text(&mut self) -> Option<&str> {
        if self.is_written {
            return None;
        }
        self.is_written = true;
        let numbers = [self.next.client.into(), self.next.sequence];
        self.text.clear();
        for (part, index) in self.insert.parts() {
            self.text.push_str(&String::from_utf8_lossy(part));
            if let Some(index) = index {
                // A String takes any text.
                let _ = write!(self.text, "{}", numbers[index]);
            }
        }
        Some(&self.text)
    }

    /// The text that executes a statement, which is sent as text outside a block, as a transaction with an entry, and the
    /// results that the reply has before and after its own; `None` if the transaction has an entry.
    pub(crate) fn text_with_entry(&mut self, sql: &str) -> Option<(&str, LedgerResults)> {
        self.has_changed = true;
        let (before, between, after, results) = match self.ledger.placement {
            EntryPlacement::InRequest => (
                "",
                ";",
                "",
                LedgerResults {
                    before: 1,
                    after: 0,
                },
            ),
            EntryPlacement::InText => ("BEGIN;", ";", "\n;COMMIT", JoinedBlock::RESULTS),
            // Its blocks are those of `block_of_texts`.
            EntryPlacement::InTexts => return None,
            EntryPlacement::WithWrite => (
                "BEGIN TRANSACTION;SET NOCOUNT ON;",
                ";SET NOCOUNT OFF;",
                "\n;SET NOCOUNT ON;COMMIT TRANSACTION;SET NOCOUNT OFF",
                LedgerResults::NONE,
            ),
        };
        self.entry_text()?;
        self.text.insert_str(0, before);
        for part in [between, sql, after] {
            self.text.push_str(part);
        }
        Some((&self.text, results))
    }

    /// Whether the transaction in progress has sent its entry.
    pub(crate) fn has_entry(&self) -> bool {
        self.is_written
    }

    /// Notes that the block of the transaction has failed.
    pub(crate) fn note_failed_block(&mut self) {
        self.has_failed = true;
    }

    /// Whether the block of the transaction has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    fn next_entry(&mut self) -> [Value<'static>; 2] {
        self.is_written = true;
        let LedgerEntry { client, sequence } = self.next;
        [Value::Int(client.into()), Value::Int(sequence as i64)]
    }

    /// Ends the transaction in the account.
    pub(crate) fn settle(&mut self, settlement: Settlement) {
        let is_written = std::mem::take(&mut self.is_written);
        self.is_settled = false;
        let has_changed = std::mem::take(&mut self.has_changed);
        (self.is_in_block, self.has_failed, self.has_savepoint) = (false, false, false);
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
                    .insert(self.next);
            }
        }
        let last = &self.ledger.last[self.next.client as usize];
        // After the entry above, so that who reads the last number first finds what is not known of it.
        last.store(self.next.sequence, Ordering::Release);
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
mod tests;
