//! Transactions from one start to the next: their attempts, and the recovery after an error. Starts follow
//! the pace and the worker's rules; samples go to the worker's context. Starts no transaction after the end
//! of the run.

use super::Db;
use crate::conn::{CurrentTransaction, UserPhase};
use crate::error::DbError;
use crate::ledger::Settlement;
use crate::program::UserExit;
use prony_measure::{ErrorClass, Outcome, Sample, TxnKind};
use prony_wire::BlockState;
use std::rc::Rc;
use std::time::Duration;

impl Db {
    /// Waits for the next start, according to the pace, and then begins a transaction of this kind.
    pub async fn start(&mut self, kind: TxnKind) -> Result<(), UserExit> {
        self.begin(kind, None).await
    }

    /// Like [`Db::start`], for a transaction that was due at `due_ns` of the run's clock while the
    /// connection was busy with another one of this user: its response time counts from `due_ns`. With a
    /// rate, the pace alone decides when a transaction is due.
    pub async fn start_due_at(&mut self, kind: TxnKind, due_ns: u64) -> Result<(), UserExit> {
        self.begin(kind, Some(due_ns)).await
    }

    /// Like [`Db::start`], for a user with times of its own of starts: waits until `due_ns` of the run's
    /// clock. Response time counts from `due_ns`, however late the start is.
    pub async fn start_at(&mut self, kind: TxnKind, due_ns: u64) -> Result<(), UserExit> {
        self.sleep_until(due_ns).await;
        self.begin(kind, Some(due_ns)).await
    }

    /// Lets this user start this many transactions in a row without a request before other users run. Use it
    /// for transactions of only a few instructions: switching users takes longer than they do.
    pub fn allow_consecutive_starts(&mut self, max_starts: u32) {
        self.max_consecutive_starts = max_starts;
        self.remaining_consecutive_starts = max_starts;
    }

    async fn begin(&mut self, kind: TxnKind, due_ns: Option<u64>) -> Result<(), UserExit> {
        loop {
            if self.is_done() {
                return Err(UserExit::Finished);
            }
            let ready_ns = self.owner.noticed_ns();
            if !self.context.take_start(ready_ns) {
                return Err(UserExit::Finished);
            }
            if self.context.rules().is_paced && !self.context.is_too_late_to_start(ready_ns) {
                self.wait(UserPhase::Start).await;
            } else if self.last_start_ns == Some(ready_ns) {
                // The user has made no request since its last start. A program that never makes one, such as
                // a script without SQL, would block the loop forever.
                if self.remaining_consecutive_starts == 0 {
                    self.remaining_consecutive_starts = self.max_consecutive_starts;
                    self.sleep(Duration::from_nanos(1)).await;
                } else {
                    self.remaining_consecutive_starts -= 1;
                }
            }
            let started_ns = self.owner.noticed_ns();
            if self.context.is_too_late_to_start(started_ns) {
                return Err(UserExit::Stopped);
            }
            let scheduled_ns = if self.context.rules().is_paced {
                self.owner.scheduled_ns()
            } else {
                due_ns.map_or(started_ns, |due_ns| due_ns.min(started_ns))
            };
            self.last_start_ns = Some(started_ns);
            // Lateness is judged by when the user became ready, not by when the loop got to it.
            if self.context.rules().must_skip(scheduled_ns, ready_ns) {
                self.skip(kind, scheduled_ns, started_ns);
                continue;
            }
            let read_conn = self.reads.as_mut().and_then(|reads| reads.take(kind));
            self.owner.start(CurrentTransaction {
                kind,
                scheduled_ns,
                started_ns,
                is_at_reads: read_conn.is_some(),
                ..CurrentTransaction::default()
            });
            if let Some(conn) = read_conn {
                self.conn = conn;
            }
            if !self.context.rules().connect_per_transaction {
                return Ok(());
            }
            self.wait(UserPhase::OpenConnection).await;
            if self.conn.is_up() {
                self.record_connect_time();
                return Ok(());
            }
            let failure = self.conn.failure();
            if !self.context.rules().reopens_lost_connections {
                return Err(UserExit::Failed(failure.into_message()));
            }
            self.end(Err(failure)).await?;
        }
    }

    /// Records that the transaction's own connection is open.
    fn record_connect_time(&mut self) {
        let (mut transaction, at_ns) = (self.owner.transaction.get(), self.owner.noticed_ns());
        transaction.connect_ns = at_ns - transaction.started_ns;
        if !self.context.rules().includes_connect_time {
            transaction.started_ns = at_ns;
            if !self.context.rules().is_paced {
                transaction.scheduled_ns = at_ns;
            }
        }
        self.owner.transaction.set(transaction);
    }

    /// Skips a start that exceeds the latency limit; it counts as one of the user's transactions.
    fn skip(&mut self, kind: TxnKind, scheduled_ns: u64, now_ns: u64) {
        self.owner.start(CurrentTransaction {
            kind,
            scheduled_ns,
            started_ns: now_ns,
            ..CurrentTransaction::default()
        });
        self.done_transactions += u64::from(self.context.is_counted(now_ns));
        self.context
            .record(self.end_on_owner(Outcome::Skipped), None);
    }

    /// Ends the transaction and records its sample. After an error, rolls back an open block and waits for a
    /// lost connection, outside the transaction's time.
    ///
    /// # Errors
    /// [`UserExit`] when the run stops meanwhile, or the program left its transaction block open.
    pub async fn end(&mut self, result: Result<Outcome, DbError>) -> Result<(), UserExit> {
        // A transaction is counted by its end, as in the figures: one in progress at the end of the warm-up
        // is measured.
        self.done_transactions += u64::from(self.context.is_counted(self.owner.noticed_ns()));
        match result {
            Ok(outcome) => {
                let settlement = match outcome {
                    Outcome::Committed => Settlement::Committed,
                    _ => Settlement::RolledBack,
                };
                self.settle(settlement);
                self.context.record(self.end_on_owner(outcome), None);
                if self.conn.block_state() != BlockState::Idle {
                    let text = "the transaction ended with its block still open";
                    return Err(UserExit::Failed(text.to_owned()));
                }
            }
            Err(mut error) => {
                // What was committed before the connection was lost stays committed, whichever request
                // committed it.
                if error.class == ErrorClass::LostConnection && self.owner.has_committed() {
                    error.class = ErrorClass::AmbiguousCommit;
                }
                self.settle(if error.class == ErrorClass::AmbiguousCommit {
                    Settlement::Ambiguous
                } else {
                    self.settlement_of_failure()
                });
                let outcome = Outcome::Failed(error.class, error.counted_as);
                let rules = self.context.rules();
                let is_refused =
                    error.refuses_connection() || rules.has_other_hosts && error.refuses_writes();
                if is_refused && rules.reopens_lost_connections && !rules.connect_per_transaction {
                    self.conn.give_up();
                }
                self.context.record(self.end_on_owner(outcome), Some(error));
                self.recover().await?;
            }
        }
        // Close the transaction's connection now, so that the server can serve other clients until the next
        // start.
        if self.context.rules().connect_per_transaction && self.conn.is_up() {
            self.wait(UserPhase::Close).await;
        }
        // Waiting for a reconnection also opens the connection to the first server again.
        if self.conn.must_return() && !self.context.is_stopped() {
            self.wait(UserPhase::AwaitReconnect).await;
        }
        if self.reads.is_some() {
            self.conn = Rc::clone(&self.owner);
        }
        Ok(())
    }

    /// Ends the transaction on the user's own connection, which says where its requests went.
    pub(super) fn end_on_owner(&self, outcome: Outcome) -> Sample {
        self.owner.set_sample_host(self.conn.host());
        self.owner.end(outcome)
    }

    /// Ends the transaction in the ledger, if there is one.
    pub(super) fn settle(&mut self, settlement: Settlement) {
        if let Some(ledger) = &mut self.ledger {
            ledger.settle(settlement);
        }
    }

    /// What became of the entry of a transaction that failed: a request before the error may have committed it.
    fn settlement_of_failure(&self) -> Settlement {
        if self.owner.has_committed() { Settlement::Ambiguous } else { Settlement::RolledBack }
    }

    /// Begins another attempt at the transaction, from its first statement.
    ///
    /// # Errors
    /// [`UserExit`] when the run stops meanwhile.
    pub async fn retry(&mut self) -> Result<(), UserExit> {
        self.settle(self.settlement_of_failure());
        self.recover().await?;
        let mut transaction = self.owner.transaction.get();
        transaction.retries += 1;
        self.owner.transaction.set(transaction);
        Ok(())
    }

    /// Rolls back an open block and waits for a lost connection.
    pub(super) async fn recover(&mut self) -> Result<(), UserExit> {
        loop {
            if self.context.is_stopped() {
                return Err(UserExit::Stopped);
            }
            if !self.conn.is_up()
                || self.conn.phase() == UserPhase::Unusable
                || self.conn.is_given_up()
            {
                if !self.context.rules().reopens_lost_connections {
                    return Err(UserExit::Failed(self.conn.failure_message()));
                }
                // With a connection per transaction, the next start opens one anyway; this only waits until
                // the server accepts connections again.
                self.wait(UserPhase::AwaitReconnect).await;
            } else if self.conn.block_state() == BlockState::Idle || self.roll_back().await {
                return Ok(());
            } else if self.conn.is_up() {
                // A session that cannot be rolled back is unusable.
                self.wait(UserPhase::OpenConnection).await;
            }
        }
    }

    /// Rolls back an open block and returns whether the rollback succeeded. Keeps the record of what was
    /// committed: the reply leaves no block open, like that of a commit.
    async fn roll_back(&mut self) -> bool {
        let committed = self.owner.has_committed();
        let succeeded = self.query("ROLLBACK").await.is_ok();
        self.owner.set_committed(committed);
        succeeded
    }

    /// Time from the scheduled start of the transaction to its last reply, in nanoseconds.
    pub fn response_ns(&self) -> u64 {
        let scheduled_ns = self.owner.transaction.get().scheduled_ns;
        self.noticed_ns().saturating_sub(scheduled_ns)
    }

    /// Whether this user has done all its transactions.
    pub fn is_done(&self) -> bool {
        let count = self.context.rules().max_transactions;
        count > 0 && self.done_transactions >= count
    }

    /// Whether the load is over: no further transaction starts.
    pub fn is_load_over(&self) -> bool {
        self.context.is_too_late_to_start(self.noticed_ns())
    }
}
