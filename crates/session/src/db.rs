//! The handle on which a virtual user's code awaits requests and starts. It writes requests to the
//! connection's record and samples to the worker's context. It waits only for actions of its worker.

mod request;
mod script;
mod transaction;

pub use request::DbReply;

use crate::conn::{Conn, UserPhase};
use crate::ledger::{ClientLedger, Ledger, LedgerResults};
use crate::reads::Reads;
use crate::worker_context::WorkerContext;
use prony_measure::QueryKind;
use prony_wire::BlockState;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A virtual user's handle of a connection: its own, or an additional one from [`Db::add_connection`].
///
/// A transaction is everything between [`Db::start`] and [`Db::end`]:
///
/// ```
/// # use prony_session::{Db, DbError, UserExit, Outcome};
/// # use prony_wire::Statement;
/// async fn user(mut db: Db, select: Statement) -> Result<(), UserExit> {
///     loop {
///         db.start(0).await?;
///         let result = db.exec(&select, &[]).await.map(|_| Outcome::Committed);
///         db.end(result).await?;
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Db {
    /// The connection of the requests: the user's own, or in a transaction that a server for reads takes, the one to it.
    conn: Rc<Conn>,
    /// The user's own connection, to which its transactions, its sleeps and the pace belong.
    owner: Rc<Conn>,
    /// Which transactions a server for reads takes, if there is one.
    reads: Option<Box<Reads>>,
    context: Rc<WorkerContext>,
    /// Number of transactions that count towards the user's limit.
    done_transactions: u64,
    last_start_ns: Option<u64>,
    /// Maximum number of starts in a row without a request.
    max_consecutive_starts: u32,
    /// Number of such starts that remain before other users run.
    remaining_consecutive_starts: u32,
    /// The account of its commits, if the run keeps one.
    ledger: Option<Box<ClientLedger>>,
    /// Results that the next reply has of the ledger's statements, before and after the user's.
    ledger_results: LedgerResults,
    /// Those that the last reply has.
    reply_ledger_results: LedgerResults,
}

impl Db {
    /// Creates a handle of `conn`, for a worker that passes it to a user.
    pub fn new(conn: Rc<Conn>, context: Rc<WorkerContext>) -> Self {
        Db {
            owner: Rc::clone(&conn),
            conn,
            reads: None,
            context,
            done_transactions: 0,
            last_start_ns: None,
            max_consecutive_starts: 0,
            remaining_consecutive_starts: 0,
            ledger: None,
            ledger_results: LedgerResults::NONE,
            reply_ledger_results: LedgerResults::NONE,
        }
    }

    /// Writes the number of each transaction into a table in the transaction, and keeps in `ledger` what became of it;
    /// `client` is the user's number. Transactions of text have no entry, except by [`Db::write`].
    #[must_use]
    pub fn with_ledger(self, ledger: Arc<Ledger>, client: u32) -> Self {
        Db {
            ledger: Some(Box::new(ClientLedger::new(ledger, client))),
            ..self
        }
    }

    /// Lets the server of another connection take the transactions that `reads` says.
    #[must_use]
    pub fn with_reads(self, reads: Reads) -> Self {
        Db {
            reads: Some(Box::new(reads)),
            ..self
        }
    }

    /// When the user was last resumed: at its last reply or the end of its sleep, in nanoseconds of the
    /// run's clock.
    pub fn noticed_ns(&self) -> u64 {
        self.owner.noticed_ns()
    }

    /// Whether the connection is up.
    pub fn is_up(&self) -> bool {
        self.conn.is_up()
    }

    /// How often the connection was opened: settings of the session are lost when this changes.
    pub fn times_opened(&self) -> u32 {
        self.conn.opened()
    }

    /// Whether a transaction block is open on the server.
    pub fn is_in_block(&self) -> bool {
        self.conn.block_state() != BlockState::Idle
    }

    /// Counts a query, in the second in which its reply arrived.
    #[inline]
    pub fn count_query(&self, query: QueryKind) {
        self.context.count_query(query);
    }

    /// Counts an error of a query that does not end the run, such as one that restarts the event.
    pub fn count_ignored_error(&self) {
        self.context.count_ignored_error();
    }

    /// Counts a connection that was reopened because of an ignored error.
    pub fn count_reconnect(&self) {
        self.context.count_reconnect();
    }

    /// Sleeps, for think time or keying time. A sleep in a transaction is part of the transaction's time.
    pub async fn sleep(&mut self, time: Duration) {
        let wake_ns = self
            .owner
            .noticed_ns()
            .saturating_add(time.as_nanos() as u64);
        self.owner.sleep_until(wake_ns);
        Wait { conn: &self.owner }.await;
    }

    /// Sleeps until this time of the run's clock; returns at once if it has passed.
    pub async fn sleep_until(&mut self, wake_ns: u64) {
        if wake_ns > self.owner.noticed_ns() {
            self.owner.sleep_until(wake_ns);
            Wait { conn: &self.owner }.await;
        }
    }

    /// When the load began, in nanoseconds of the run's clock.
    pub fn load_start_ns(&self) -> u64 {
        self.context.load_start_ns()
    }

    async fn wait(&mut self, phase: UserPhase) {
        self.conn.set_phase(phase);
        Wait { conn: &self.conn }.await;
    }
}

/// A future that waits until the worker has carried out the request.
#[must_use]
struct Wait<'a> {
    conn: &'a Conn,
}

impl Future for Wait<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.conn.phase() == UserPhase::Ready {
            self.conn.set_phase(UserPhase::Idle);
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Wait<'_> {
    /// An abandoned request leaves a reply that nobody reads: the connection is then unusable, and no
    /// recovery is attempted.
    fn drop(&mut self) {
        self.conn.abandon_request();
    }
}
