//! From one start to the next: transactions, their tries, and what follows an error.
//!
//! In: the pace and the rules on the desk. Out: samples on the desk. Must never: start what the run
//! has no time for.

use super::Db;
use crate::conn::{Ask, Now};
use crate::error::DbError;
use crate::program::Ended;
use prony_measure::{Kind, Outcome};
use prony_wire::Block;
use std::time::Duration;

impl Db {
    /// Waits for the next start, as the pace says, and begins a transaction of this kind there.
    ///
    /// # Errors
    /// [`Ended`] when no transaction is to start any more.
    pub async fn start(&mut self, kind: Kind) -> Result<(), Ended> {
        self.begin(kind, None).await
    }

    /// The same for a transaction that was due at `due_ns` of the run's clock, when the connection
    /// was still busy with another one of this user: its response counts from then. With a rate the
    /// pace alone says what is due.
    ///
    /// # Errors
    /// As [`Db::start`].
    pub async fn start_late(&mut self, kind: Kind, due_ns: u64) -> Result<(), Ended> {
        self.begin(kind, Some(due_ns)).await
    }

    /// Lets this user start so many transactions in a row that ask nothing, before it gives the others
    /// their turn: for transactions that are but a few instructions. They take no time then.
    pub fn start_in_a_row(&mut self, transactions: u32) {
        self.in_a_row = (transactions, transactions);
    }

    async fn begin(&mut self, kind: Kind, due_ns: Option<u64>) -> Result<(), Ended> {
        loop {
            if self.is_done() {
                return Err(Ended::Finished);
            }
            let ready_ns = self.conn.noticed_ns();
            if !self.desk.may_start(ready_ns) {
                return Err(Ended::Finished);
            }
            if self.desk.rules().paced && !self.desk.is_over(ready_ns) {
                self.wait(Ask::Start).await;
            } else if self.last_start_ns == Some(ready_ns) {
                // It has asked nothing since its last start. A program that never does, such as a
                // script without SQL, would hold the loop for good.
                let (allowed, left) = self.in_a_row;
                self.in_a_row.1 = left.checked_sub(1).unwrap_or(allowed);
                if left == 0 {
                    self.sleep(Duration::from_nanos(1)).await;
                }
            }
            let started_ns = self.conn.noticed_ns();
            if self.desk.is_over(started_ns) {
                return Err(Ended::Stopped);
            }
            let scheduled_ns = if self.desk.rules().paced {
                self.conn.scheduled_ns()
            } else {
                due_ns.map_or(started_ns, |due_ns| due_ns.min(started_ns))
            };
            self.last_start_ns = Some(started_ns);
            // Who was ready in time is served, however late the loop was.
            if self.desk.rules().skips(scheduled_ns, ready_ns) {
                self.skip(kind, scheduled_ns, started_ns);
                continue;
            }
            self.conn.start(Now {
                kind,
                scheduled_ns,
                started_ns,
                ..Now::default()
            });
            if !self.desk.rules().connect_per_transaction {
                return Ok(());
            }
            self.wait(Ask::Renew).await;
            if self.conn.is_up() {
                self.connected();
                return Ok(());
            }
            let failure = self.conn.failure();
            if !self.desk.rules().reconnect {
                return Err(Ended::Failed(failure.message));
            }
            self.end(Err(failure)).await?;
        }
    }

    /// The transaction has its own connection now.
    fn connected(&mut self) {
        let (mut now, at_ns) = (self.conn.now.get(), self.conn.noticed_ns());
        now.connect_ns = at_ns - now.started_ns;
        if !self.desk.rules().connect_counts {
            now.started_ns = at_ns;
            if !self.desk.rules().paced {
                now.scheduled_ns = at_ns;
            }
        }
        self.conn.now.set(now);
    }

    /// Passes over a start that is hopelessly late; it counts as one of the user's transactions.
    fn skip(&mut self, kind: Kind, scheduled_ns: u64, now_ns: u64) {
        self.conn.start(Now {
            kind,
            scheduled_ns,
            started_ns: now_ns,
            ..Now::default()
        });
        self.done += u64::from(self.desk.counts(now_ns));
        self.desk.leave(self.conn.end(Outcome::Skipped), None);
    }

    /// Ends the transaction and leaves its sample. After an error an open block is rolled back and
    /// a lost connection awaited, outside the transaction's time.
    ///
    /// # Errors
    /// [`Ended`] when the run stops meanwhile, or the program left its block open.
    pub async fn end(&mut self, result: Result<Outcome, DbError>) -> Result<(), Ended> {
        // By its end, as the figures go: the one under way as the warm-up ends is measured too.
        self.done += u64::from(self.desk.counts(self.conn.noticed_ns()));
        match result {
            Ok(outcome) => {
                self.desk.leave(self.conn.end(outcome), None);
                match self.conn.block() {
                    Block::Idle => Ok(()),
                    _ => Err(Ended::Failed(
                        "the transaction ended with its block still open".to_owned(),
                    )),
                }
            }
            Err(error) => {
                let outcome = Outcome::Failed(error.class, error.counted_as());
                self.desk.leave(self.conn.end(outcome), Some(error));
                self.recover().await
            }
        }
    }

    /// Begins another try of the transaction, from its first statement.
    ///
    /// # Errors
    /// [`Ended`] when the run stops meanwhile.
    pub async fn retry(&mut self) -> Result<(), Ended> {
        self.recover().await?;
        let mut now = self.conn.now.get();
        now.retries += 1;
        self.conn.now.set(now);
        Ok(())
    }

    /// Rolls back an open block and awaits a lost connection.
    pub(super) async fn recover(&mut self) -> Result<(), Ended> {
        loop {
            if self.desk.is_stopped() {
                return Err(Ended::Stopped);
            }
            if !self.conn.is_up() || self.conn.ask() == Ask::Dead {
                if !self.desk.rules().reconnect {
                    return Err(Ended::Failed(self.conn.last_failure()));
                }
                // With a connection a transaction the next start makes one anyway; what is
                // awaited here is that the server accepts any.
                self.wait(Ask::Reconnect).await;
            } else if self.conn.block() == Block::Idle || self.query("ROLLBACK").await.is_ok() {
                return Ok(());
            } else if self.conn.is_up() {
                // A session that cannot be rolled back is of no use.
                self.wait(Ask::Renew).await;
            }
        }
    }

    /// Time since the scheduled start of the transaction, up to its last reply, nanoseconds.
    pub fn response_ns(&self) -> u64 {
        let scheduled_ns = self.conn.now.get().scheduled_ns;
        self.noticed_ns().saturating_sub(scheduled_ns)
    }

    /// Whether this user has done its count of transactions.
    pub fn is_done(&self) -> bool {
        let count = self.desk.rules().transactions;
        count > 0 && self.done >= count
    }

    /// Whether no transaction starts any more.
    pub fn is_over(&self) -> bool {
        self.desk.is_over(self.noticed_ns())
    }
}
