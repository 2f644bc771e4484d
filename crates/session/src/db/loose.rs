//! What programs need that are not written as one transaction after the other, such as a script of
//! another tool.
//!
//! In: a handle. Out: the same handle, in states that [`Db::end`] does not allow. Must never: lose a
//! sample.

use super::{Db, Rows};
use crate::conn::Ask;
use crate::error::DbError;
use prony_measure::Outcome;
use std::rc::Rc;

impl Db {
    /// Ends the transaction as [`Db::end`] does a good one, but for a block that it leaves open: that
    /// is the next one's.
    pub fn end_open(&mut self, outcome: Outcome) {
        self.done += u64::from(self.desk.counts(self.conn.noticed_ns()));
        self.desk.leave(self.conn.end(outcome), None);
    }

    /// Forgets that the transaction was started: it leaves no sample.
    pub fn forget(&mut self) {
        if self.conn.is_under_way() {
            // Its sample is dropped here.
            let _ = self.conn.end(Outcome::Committed);
        }
    }

    /// The user has something to do after its last transaction, and is not let go meanwhile; until
    /// [`Db::forget`], or the end of the run's grace.
    pub fn linger(&mut self) {
        self.conn.start(self.conn.now.get());
    }

    /// Waits for the common start of all users, where the program has a prologue; else it is there.
    pub async fn gate(&mut self) {
        self.wait(Ask::Gate).await;
    }

    /// Opens a new connection in place of this one; one try.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn renew(&mut self) -> Result<(), DbError> {
        self.wait(Ask::Renew).await;
        match self.conn.is_up() {
            true => Ok(()),
            false => Err(self.conn.failure()),
        }
    }

    /// A handle of another connection of this user, which is down: [`Db::renew`] opens it. It is for
    /// statements alone. Transactions, sleeps and the pace are this handle's, and what is asked there
    /// counts into the transaction that is under way here. A user waits for one of them at a time.
    ///
    /// # Errors
    /// The loop has none to give.
    pub async fn another(&mut self) -> Result<Db, DbError> {
        self.wait(Ask::Another).await;
        let given = self.desk.take_given();
        let conn = given.ok_or_else(|| DbError::protocol("there is no other".to_owned()))?;
        Ok(Db::new(conn, Rc::clone(&self.desk)))
    }

    /// Closes the connection, until [`Db::renew`] opens another one.
    pub async fn hang_up(&mut self) {
        self.wait(Ask::Close).await;
    }

    /// Executes text as [`Db::query`] does, in whatever encoding it is.
    ///
    /// # Errors
    /// [`DbError`], as [`Db::query`].
    pub async fn query_bytes(&mut self, sql: &[u8]) -> Result<Rows<'_>, DbError> {
        self.check()?;
        self.conn.query(sql);
        self.reply().await
    }

    /// The transaction begins another try, after what [`Db::put_right`] has put right.
    pub fn tries_again(&mut self) {
        let mut now = self.conn.now.get();
        now.retries += 1;
        self.conn.now.set(now);
    }

    /// Whether the user is in a transaction: it started one and has not ended it.
    pub fn is_under_way(&self) -> bool {
        self.conn.is_under_way()
    }

    /// Rolls back an open block and awaits a lost connection, outside of any try.
    ///
    /// # Errors
    /// [`crate::Ended`] when the run stops meanwhile, or no connection is to come back.
    pub async fn put_right(&mut self) -> Result<(), crate::Ended> {
        self.recover().await
    }
}
