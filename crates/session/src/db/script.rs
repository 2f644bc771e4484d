//! Methods for programs that are not a sequence of transactions, such as scripts of other tools. They
//! allow states that [`Db::end`] rejects, and never lose a sample.

use super::{Db, DbReply};
use crate::conn::{CurrentTransaction, UserPhase};
use crate::error::DbError;
use crate::ledger::Settlement;
use prony_measure::{ErrorClass, Outcome, TxnKind};
use prony_wire::{BlockState, Effect, Statement, Value};
use std::rc::Rc;

/// What became of a transaction with an entry when a reply has left this block; `None`: nothing yet.
fn settlement(
    block: BlockState,
    error: Option<ErrorClass>,
    effect: Effect,
    begins_block: bool,
    has_failed: bool,
) -> Option<Settlement> {
    Some(match (block, error, effect) {
        (BlockState::Failed, ..) => return None,
        (BlockState::Idle, Some(ErrorClass::AmbiguousCommit), _) => Settlement::Ambiguous,
        (BlockState::Idle, Some(_), _) => Settlement::RolledBack,
        // PostgreSQL rolls a failed one back without an error, unless a savepoint was restored.
        (_, None, Effect::Commits) if has_failed => Settlement::Ambiguous,
        // With AND CHAIN it leaves another block.
        (_, None, Effect::Commits) => Settlement::Committed,
        // MySQL commits the block before it, and PostgreSQL only warns.
        (BlockState::Open, ..) if begins_block => Settlement::Ambiguous,
        (BlockState::Open, ..) => return None,
        (BlockState::Idle, None, Effect::Reads) => Settlement::RolledBack,
        // A statement that commits what was before it, such as MySQL's DDL, or a call.
        (BlockState::Idle, None, Effect::Writes) => Settlement::Ambiguous,
    })
}

impl Db {
    /// Ends a successful transaction as [`Db::end`] does, but allows an open transaction block, which then
    /// belongs to the next transaction.
    pub fn end_with_open_block(&mut self, outcome: Outcome) {
        self.done_transactions += u64::from(self.context.is_counted(self.owner.noticed_ns()));
        self.context.record(self.end_on_owner(outcome), None);
    }

    /// Whether the user has waited for anything since its last start. Otherwise [`Db::noticed_ns`] is still
    /// the time of that start.
    pub fn has_waited_since_start(&self) -> bool {
        self.last_start_ns != Some(self.owner.noticed_ns())
    }

    /// Starts the next transaction if that is possible without waiting, and returns whether it did. Otherwise
    /// the caller awaits [`Db::start`].
    pub fn try_start(&mut self, kind: TxnKind) -> bool {
        let (rules, now_ns) = (self.context.rules(), self.owner.noticed_ns());
        let must_wait =
            rules.is_paced || rules.connect_per_transaction || !self.has_waited_since_start();
        if must_wait
            || self.is_done()
            || self.context.is_too_late_to_start(now_ns)
            || !self.context.take_start(now_ns)
        {
            return false;
        }
        self.last_start_ns = Some(now_ns);
        self.owner.start(CurrentTransaction {
            kind,
            scheduled_ns: now_ns,
            started_ns: now_ns,
            ..CurrentTransaction::default()
        });
        true
    }

    /// Discards the transaction that was started, without a sample.
    pub fn discard_transaction(&mut self) {
        if self.owner.is_in_transaction() {
            // Drop the sample.
            let _ = self.end_on_owner(Outcome::Committed);
        }
    }

    /// Lets the user do work after its last transaction, until [`Db::discard_transaction`] or the
    /// end of the grace period.
    pub fn keep_running_after_last_transaction(&mut self) {
        self.owner.start(self.owner.transaction.get());
    }

    /// Waits for the common start of all users, if the program has a prologue; otherwise returns at once.
    pub async fn wait_for_common_start(&mut self) {
        self.wait(UserPhase::CommonStart).await;
    }

    /// Opens a new connection in place of this one; tries once.
    pub async fn open_connection(&mut self) -> Result<(), DbError> {
        self.settle(Settlement::RolledBack);
        self.wait(UserPhase::OpenConnection).await;
        if self.conn.is_up() { Ok(()) } else { Err(self.conn.failure()) }
    }

    /// Returns a handle of another connection of this user, which is closed until [`Db::open_connection`]
    /// opens it. Use it only for statements: transactions, sleeps and the pace belong to this handle, and
    /// requests made on the new handle are part of the transaction of this one. A user waits for one
    /// connection at a time.
    pub async fn add_connection(&mut self) -> Result<Db, DbError> {
        self.wait(UserPhase::AddConnection).await;
        let conn = self.context.take_connection();
        let conn =
            conn.ok_or_else(|| DbError::protocol("there is no additional connection".to_owned()))?;
        Ok(Db::new(conn, Rc::clone(&self.context)))
    }

    /// Closes the connection; [`Db::open_connection`] opens a new one.
    pub async fn close_connection(&mut self) {
        self.settle(Settlement::RolledBack);
        self.wait(UserPhase::Close).await;
    }

    /// Encodes a request of text in any encoding, as [`Db::query`] does. [`Db::finish_request`], which must
    /// follow, sends the request.
    pub fn begin_query(&mut self, sql: &[u8]) -> Result<(), DbError> {
        self.check_usable()?;
        self.conn.query(sql);
        Ok(())
    }

    /// Executes text unchanged, as [`Db::query`] does, and measures its latency as that of `statement`.
    pub async fn query_as(
        &mut self,
        statement: &Statement,
        sql: &str,
    ) -> Result<DbReply<'_>, DbError> {
        self.check_usable()?;
        self.conn.query(sql.as_bytes());
        if self.context.measures_statements() {
            self.begin_timing(Some(statement.id()));
        }
        self.wait_for_reply().await
    }

    /// As [`Db::begin_exec`], for a script that writes its entries itself ([`Db::begin_entry`]): the ledger does not note
    /// the statement, and adds no entry to the request. [`Db::finish_request`] must follow.
    pub fn begin_exec_without_ledger(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<(), DbError> {
        self.check_usable()?;
        self.conn.request(std::iter::once((statement, values)));
        if self.context.measures_statements() {
            self.begin_timing(Some(statement.id()));
        }
        Ok(())
    }

    /// Sends the request that has been encoded, and waits for its reply.
    pub fn finish_request(&mut self) -> impl Future<Output = Result<DbReply<'_>, DbError>> {
        self.wait_for_reply()
    }

    /// Encodes the request that writes the entry of the open transaction block into the ledger; [`Db::finish_request`] must
    /// follow. Returns false if the block has one, or the run keeps no ledger.
    ///
    /// # Errors
    /// [`DbError`] if no block is open, or the connection is not up.
    pub fn begin_entry(&mut self) -> Result<bool, DbError> {
        self.check_usable()?;
        let is_in_block = self.is_in_block();
        let Some(ledger) = &mut self.ledger else {
            return Ok(false);
        };
        if !is_in_block {
            let text = "a transaction block must be open before its number is written";
            return Err(DbError::protocol(text.to_owned()));
        }
        let Some(text) = ledger.entry_text() else {
            return Ok(false);
        };
        self.conn.query(text.as_bytes());
        Ok(true)
    }

    /// Whether the run keeps a ledger of this connection's commits.
    pub fn has_ledger(&self) -> bool {
        self.ledger.is_some()
    }

    /// Ends the transaction in the ledger if the reply that has arrived ended a block with an entry, whose statements the
    /// ledger does not see. `error`: that of the reply.
    ///
    /// A block that stays open has only one entry, which a part of it that is rolled back may take along.
    pub fn settle_by_reply(&mut self, error: Option<&DbError>) {
        if !self
            .ledger
            .as_ref()
            .is_some_and(|ledger| ledger.has_entry())
        {
            return;
        }
        let block = if self.conn.is_up() { self.conn.block_state() } else { BlockState::Idle };
        let Some(ledger) = &mut self.ledger else {
            return;
        };
        if block == BlockState::Failed || self.conn.text_has(&["rollback", "abort"]) {
            ledger.note_failed_block();
        }
        let settlement = settlement(
            block,
            error.map(|error| error.class),
            self.conn.request_effect(),
            self.conn.text_has(&["begin", "start"]),
            ledger.has_failed(),
        );
        if let Some(settlement) = settlement {
            self.settle(settlement);
        }
    }

    /// [`Db::settle_by_reply`] for the reply to [`Db::begin_entry`].
    pub fn settle_entry(&mut self, error: Option<&DbError>) {
        self.settle_by_reply(error);
        if let (Some(_), Some(ledger)) = (error, &mut self.ledger)
            && ledger.has_entry()
        {
            // MySQL's block goes on without the entry.
            ledger.note_failed_block();
        }
    }

    /// Counts another attempt at the transaction, after [`Db::recover_connection`].
    pub fn count_retry(&mut self) {
        let mut transaction = self.owner.transaction.get();
        transaction.retries += 1;
        self.owner.transaction.set(transaction);
    }

    /// Whether the user is in a transaction: it started one and has not ended it.
    pub fn is_in_transaction(&self) -> bool {
        self.owner.is_in_transaction()
    }

    /// Rolls back an open block and waits for a lost connection, outside of any attempt.
    ///
    /// # Errors
    /// [`crate::UserExit`] when the run stops meanwhile, or lost connections are not reopened.
    pub async fn recover_connection(&mut self) -> Result<(), crate::UserExit> {
        self.settle(Settlement::RolledBack);
        self.recover().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_counts_only_if_its_entry_must_be_there() {
        use BlockState::{Failed, Idle, Open};
        use Effect::{Commits, Reads, Writes};
        use Settlement::{Ambiguous, Committed, RolledBack};
        let refused = Some(ErrorClass::Other);
        for (block, error, effect, begins_block, has_failed, expected) in [
            (Open, None, Writes, false, false, None),
            (Open, refused, Writes, false, true, None),
            (Failed, refused, Writes, false, true, None),
            (Idle, None, Commits, false, false, Some(Committed)),
            (Idle, None, Commits, false, true, Some(Ambiguous)),
            (Idle, refused, Commits, false, false, Some(RolledBack)),
            (Idle, None, Reads, false, true, Some(RolledBack)),
            (Idle, None, Writes, false, false, Some(Ambiguous)),
            (Open, None, Commits, false, false, Some(Committed)),
            (Open, None, Commits, false, true, Some(Ambiguous)),
            (Open, None, Reads, true, false, Some(Ambiguous)),
        ] {
            let found = settlement(block, error, effect, begins_block, has_failed);
            assert_eq!(
                found, expected,
                "{block:?} {error:?} {effect:?} {begins_block}"
            );
        }
        let ambiguous = Some(ErrorClass::AmbiguousCommit);
        let unknown = settlement(Idle, ambiguous, Commits, false, false);
        assert_eq!(unknown, Some(Ambiguous));
    }
}
