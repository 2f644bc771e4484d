//! The handle that a virtual user's code awaits.
//!
//! In: plain async code of a workload. Out: requests in the connection's record, samples on the
//! worker's desk. Must never: wait for anything that its worker does not complete.

mod loose;

use crate::conn::{Ask, Conn, Now};
use crate::desk::Desk;
use crate::error::DbError;
use crate::program::Ended;
use prony_measure::{Kind, Outcome, Query};
use prony_wire::{Block, Exchange, QueryMode, Row, ServerError, Statement, Value};
use std::cell::Ref;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A virtual user's handle of a connection: of its own one, or of a further one that [`Db::another`] gave.
///
/// A transaction is what stands between [`Db::start`] and [`Db::end`]:
///
/// ```
/// # use prony_session::{Db, DbError, Ended, Outcome};
/// # use prony_wire::Statement;
/// async fn user(mut db: Db, select: Statement) -> Result<(), Ended> {
///     loop {
///         db.start(0).await?;
///         let result = db.exec(&select, &[]).await.map(|_| Outcome::Committed);
///         db.end(result).await?;
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Db {
    conn: Rc<Conn>,
    desk: Rc<Desk>,
    done: u64,
    last_start_ns: Option<u64>,
    /// Starts in a row without asking anything: allowed, and left.
    in_a_row: (u32, u32),
}

impl Db {
    /// A handle of `conn`, for a worker that gives it to a user.
    pub fn new(conn: Rc<Conn>, desk: Rc<Desk>) -> Self {
        Db {
            conn,
            desk,
            done: 0,
            last_start_ns: None,
            in_a_row: (0, 0),
        }
    }

    /// Waits for the next start, as the pace says, and begins a transaction of this kind there.
    ///
    /// # Errors
    /// [`Ended`] when no transaction is to start any more.
    pub async fn start(&mut self, kind: Kind) -> Result<(), Ended> {
        self.begin(kind, None).await
    }

    /// Lets this user start so many transactions in a row that ask nothing, before it gives the others
    /// their turn: for transactions that are but a few instructions. They take no time then.
    pub fn start_in_a_row(&mut self, transactions: u32) {
        self.in_a_row = (transactions, transactions);
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

    /// Time since the scheduled start of the transaction, up to its last reply, nanoseconds.
    pub fn response_ns(&self) -> u64 {
        let scheduled_ns = self.conn.now.get().scheduled_ns;
        self.noticed_ns().saturating_sub(scheduled_ns)
    }

    /// When the user was last resumed: at its last reply, or the end of its sleep; nanoseconds of
    /// the run's clock.
    pub fn noticed_ns(&self) -> u64 {
        self.conn.noticed_ns()
    }

    /// Whether the connection is up.
    pub fn is_up(&self) -> bool {
        self.conn.is_up()
    }

    /// All that the server said in the error of the last reply; nothing after a good one.
    pub fn server_error(&self) -> Option<ServerError> {
        self.conn.exchange().error()
    }

    /// The text of the request last made, where it was sent as text.
    pub fn sent_text(&self) -> Option<String> {
        self.conn.exchange().text().map(str::to_owned)
    }

    /// Whether the connection was given up because of a COPY.
    pub fn met_copy(&self) -> bool {
        self.conn.exchange().met_copy()
    }

    /// Hands the notices and warnings of the last reply to `take`.
    pub fn notices(&self, take: impl FnMut(ServerError)) {
        self.conn.exchange().notices().for_each(take);
    }

    /// Results of the last reply, before the error if it ended with one.
    pub fn results(&self) -> usize {
        self.conn.exchange().results()
    }

    /// Whether a transaction block is open on the server.
    pub fn is_in_block(&self) -> bool {
        self.conn.block() != Block::Idle
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

    /// Counts a query, in the second of the reply that the user has just got.
    #[inline]
    pub fn count(&self, query: Query) {
        self.desk.count(query);
    }

    /// Counts an event that is begun again after an error that is ignored.
    pub fn count_ignored(&self) {
        self.desk.count_ignored();
    }

    /// Counts a connection that was opened anew because of such an error.
    pub fn count_reconnect(&self) {
        self.desk.count_reconnect();
    }

    /// Rolls back an open block and awaits a lost connection.
    async fn recover(&mut self) -> Result<(), Ended> {
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

    /// Executes one statement.
    ///
    /// # Errors
    /// [`DbError`], as the server said, or because the connection was lost.
    pub async fn exec(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Rows<'_>, DbError> {
        self.batch(&[(statement, values)]).await
    }

    /// Executes several statements in one round trip. The server runs them in turn and, unless they
    /// are in a block, as one transaction; after an error it skips the rest. MySQL takes prepared
    /// statements one by one, and each outside a block is a transaction of its own.
    ///
    /// # Errors
    /// [`DbError`]: the first one of the batch.
    pub async fn batch(
        &mut self,
        batch: &[(&Statement, &[Value<'_>])],
    ) -> Result<Rows<'_>, DbError> {
        self.check()?;
        self.conn.request(batch.iter().copied());
        self.reply().await
    }

    /// Adds an execution to the next request, which [`Db::sync`] sends: a batch whose values need
    /// not live until then. In the extended protocol only, simple mode has no such requests.
    ///
    /// # Errors
    /// [`DbError`] when the connection is not up; what was pushed before is gone with it.
    pub fn push(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<(), DbError> {
        self.check()?;
        if self.mode() == QueryMode::Simple {
            return Err(DbError::protocol(
                "simple mode has no requests of several parts".to_owned(),
            ));
        }
        self.conn.push(statement, values);
        Ok(())
    }

    /// Sends what was pushed in one round trip, as [`Db::batch`] does, and awaits its reply. What
    /// was pushed is forgotten when another request is made before it.
    ///
    /// # Errors
    /// [`DbError`]: the first one of the batch.
    pub async fn sync(&mut self) -> Result<Rows<'_>, DbError> {
        self.check()?;
        self.conn.sync();
        self.reply().await
    }

    /// Prepares a statement that [`Db::is_prepared`] says is not, in a round trip of its own.
    /// Without it, its first execution prepares it.
    ///
    /// # Errors
    /// [`DbError`], as the server said. The statement counts as prepared all the same.
    pub async fn prepare(&mut self, statement: &Statement) -> Result<(), DbError> {
        self.check()?;
        self.conn.prepare(statement);
        self.reply().await.map(drop)
    }

    /// Whether a statement needs no preparing on this connection.
    pub fn is_prepared(&self, statement: &Statement) -> bool {
        self.conn.exchange().is_prepared(statement)
    }

    /// A statement is not used any more: the server is told with a later request, so that this takes no
    /// time. Its number may go to another statement.
    pub fn close(&mut self, statement: &Statement) {
        self.conn.close(statement);
    }

    /// How this connection's statements are sent.
    pub fn mode(&self) -> QueryMode {
        self.conn.exchange().mode()
    }

    /// Executes text as it stands, as a simple query.
    ///
    /// # Errors
    /// [`DbError`], as [`Db::exec`].
    pub async fn query(&mut self, sql: &str) -> Result<Rows<'_>, DbError> {
        self.check()?;
        self.conn.query(sql.as_bytes());
        self.reply().await
    }

    /// Sleeps: think time, keying time. It counts into a transaction that is under way.
    pub async fn sleep(&mut self, time: Duration) {
        let wake_ns = self
            .conn
            .noticed_ns()
            .saturating_add(time.as_nanos() as u64);
        self.conn.sleep_until(wake_ns);
        Wait { conn: &self.conn }.await;
    }

    fn check(&self) -> Result<(), DbError> {
        match self.conn.ask() {
            Ask::Idle if self.conn.is_up() => Ok(()),
            Ask::Idle => Err(self.conn.failure()),
            _ => Err(DbError::protocol(
                "an earlier statement of this user was abandoned before its reply".to_owned(),
            )),
        }
    }

    async fn reply(&mut self) -> Result<Rows<'_>, DbError> {
        Wait { conn: &self.conn }.await;
        if !self.conn.is_up() {
            return Err(self.conn.failure());
        }
        let exchange = self.conn.exchange();
        match exchange.error() {
            Some(error) => Err(error.into()),
            None => Ok(Rows { exchange }),
        }
    }

    async fn wait(&mut self, ask: Ask) {
        self.conn.set_ask(ask);
        Wait { conn: &self.conn }.await;
    }
}

/// Waits until the worker is done with what was asked.
#[must_use]
struct Wait<'a> {
    conn: &'a Conn,
}

impl Future for Wait<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.conn.ask() == Ask::Ready {
            self.conn.set_ask(Ask::Idle);
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Wait<'_> {
    /// A request that is given up leaves a reply nobody waits for: the connection is of no use
    /// then, and is not put right by guessing.
    fn drop(&mut self) {
        if self.conn.ask() != Ask::Idle {
            self.conn.set_ask(Ask::Dead);
        }
    }
}

/// The reply to a request. Borrows the handle, so it is gone before the next request.
#[derive(Debug)]
pub struct Rows<'a> {
    exchange: Ref<'a, Exchange>,
}

impl Rows<'_> {
    /// The rows of all results, each with the number of its result from 0.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Row<'_>)> {
        self.exchange.rows()
    }

    /// The first row.
    pub fn first(&self) -> Option<Row<'_>> {
        self.iter().next().map(|(_, row)| row)
    }

    /// A value of the first row as a whole number.
    pub fn int(&self, column: usize) -> Option<i64> {
        self.first()?.int(column)
    }

    /// Hands the notices and warnings that came with it to `take`.
    pub fn notices(&self, take: impl FnMut(ServerError)) {
        self.exchange.notices().for_each(take);
    }

    /// The names of the columns of result `result` (from 0). In the extended protocol they come
    /// where a statement asks for them ([`Statement::with_columns`]) or the connection always does.
    pub fn columns(&self, result: usize) -> impl Iterator<Item = &[u8]> {
        self.exchange.columns(result)
    }

    /// How many results the reply has, those without rows included.
    pub fn results(&self) -> usize {
        self.exchange.results()
    }

    /// Rows that the last command changed or returned.
    pub fn affected(&self) -> u64 {
        self.exchange.affected()
    }
}
