//! The handle that a virtual user's code awaits.
//!
//! In: plain async code of a workload. Out: requests in the connection's record, samples on the
//! worker's desk. Must never: wait for anything that its worker does not complete.

mod loose;
mod request;
mod transaction;

pub use request::Rows;

use crate::conn::{Ask, Conn};
use crate::desk::Desk;
use prony_measure::Query;
use prony_wire::Block;
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

    /// When the user was last resumed: at its last reply, or the end of its sleep; nanoseconds of
    /// the run's clock.
    pub fn noticed_ns(&self) -> u64 {
        self.conn.noticed_ns()
    }

    /// Whether the connection is up.
    pub fn is_up(&self) -> bool {
        self.conn.is_up()
    }

    /// Whether a transaction block is open on the server.
    pub fn is_in_block(&self) -> bool {
        self.conn.block() != Block::Idle
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

    /// Sleeps: think time, keying time. It counts into a transaction that is under way.
    pub async fn sleep(&mut self, time: Duration) {
        let wake_ns = self
            .conn
            .noticed_ns()
            .saturating_add(time.as_nanos() as u64);
        self.conn.sleep_until(wake_ns);
        Wait { conn: &self.conn }.await;
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
