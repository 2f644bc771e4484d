//! What the users of one worker share with it.
//!
//! In: samples, errors and counts from users; whether to stop, from the worker. Out: each to the other.
//! Must never: cross a thread. Where a run has one [`Budget`] for all, it points to that.

use crate::budget::Budget;
use crate::conn::Conn;
use crate::error::DbError;
use prony_measure::{Kind, Queries, Query, Sample};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// How the users of a worker start.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Starts are granted by the worker, one by one; else a user starts when it is ready.
    pub paced: bool,
    /// A new connection for each transaction.
    pub connect_per_transaction: bool,
    /// How many transactions each user does before it is finished; 0: no limit.
    pub transactions: u64,
    /// Paced starts that are later than this are skipped, nanoseconds.
    pub latency_limit_ns: Option<u64>,
    /// With a connection for each transaction, connecting is part of its time.
    pub connect_counts: bool,
    /// A lost connection comes back; else its user cannot go on.
    pub reconnect: bool,
}

impl Default for Rules {
    /// A closed loop without an end.
    fn default() -> Self {
        Rules {
            paced: false,
            connect_per_transaction: false,
            transactions: 0,
            latency_limit_ns: None,
            connect_counts: true,
            reconnect: true,
        }
    }
}

impl Rules {
    /// Whether a start that was due then is skipped for a user who was ready at `ready_ns`.
    pub(crate) fn skips(&self, scheduled_ns: u64, ready_ns: u64) -> bool {
        let late_ns = ready_ns.saturating_sub(scheduled_ns);
        self.paced && self.latency_limit_ns.is_some_and(|limit| late_ns > limit)
    }
}

/// Shared by a worker and its users.
#[derive(Debug)]
pub struct Desk {
    rules: Rules,
    budget: Option<Arc<Budget>>,
    count_from_ns: Cell<u64>,
    end_ns: Cell<u64>,
    stop: Cell<bool>,
    samples: RefCell<Vec<Sample>>,
    errors: RefCell<Vec<(Kind, DbError)>>,
    queries: Cell<Queries>,
    /// The record of a further connection, for the user who asked for one.
    given: RefCell<Option<Rc<Conn>>>,
}

impl Desk {
    /// A desk for users who start by these rules.
    pub fn new(rules: Rules) -> Self {
        Desk {
            rules,
            budget: None,
            count_from_ns: Cell::new(0),
            end_ns: Cell::new(u64::MAX),
            stop: Cell::new(false),
            samples: RefCell::default(),
            errors: RefCell::default(),
            queries: Cell::default(),
            given: RefCell::default(),
        }
    }

    /// The same, whose users share their starts with those of other workers.
    pub fn sharing(self, budget: Option<Arc<Budget>>) -> Self {
        Desk { budget, ..self }
    }

    /// Takes a start from what is shared; in the warm-up, and where nothing is shared, there always is
    /// one.
    pub(crate) fn may_start(&self, at_ns: u64) -> bool {
        match &self.budget {
            Some(budget) if self.counts(at_ns) => budget.take(),
            _ => true,
        }
    }

    /// Whether what is shared is used up.
    pub fn is_spent(&self) -> bool {
        self.budget.as_ref().is_some_and(|budget| budget.is_spent())
    }

    /// How the users start.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Transactions that end from `count_from_ns` on count towards a user's number of them; from
    /// `end_ns` on none starts, nanoseconds of the run's clock.
    pub fn open(&self, count_from_ns: u64, end_ns: u64) {
        self.count_from_ns.set(count_from_ns);
        self.end_ns.set(end_ns);
    }

    /// Whether no transaction starts at this time.
    pub(crate) fn is_over(&self, at_ns: u64) -> bool {
        self.stop.get() || at_ns >= self.end_ns.get()
    }

    pub(crate) fn counts(&self, at_ns: u64) -> bool {
        at_ns >= self.count_from_ns.get()
    }

    /// From now on no transaction starts.
    pub fn stop(&self) {
        self.stop.set(true);
    }

    /// Leaves the record of a further connection for the user who asked for one.
    pub fn give(&self, conn: Rc<Conn>) {
        self.given.replace(Some(conn));
    }

    /// Takes it.
    pub(crate) fn take_given(&self) -> Option<Rc<Conn>> {
        self.given.take()
    }

    /// Whether no transaction starts any more.
    pub fn is_stopped(&self) -> bool {
        self.stop.get()
    }

    /// Hands the samples left since the last call to `take`, oldest first.
    pub fn drain_samples(&self, take: impl FnMut(Sample)) {
        self.samples.borrow_mut().drain(..).for_each(take);
    }

    /// Hands the errors left since the last call to `take`, oldest first.
    pub fn drain_errors(&self, mut take: impl FnMut(Kind, DbError)) {
        let mut errors = self.errors.borrow_mut();
        errors.drain(..).for_each(|(kind, error)| take(kind, error));
    }

    /// What was counted since the last call.
    pub fn take_queries(&self) -> Queries {
        self.queries.take()
    }

    #[inline]
    pub(crate) fn count(&self, query: Query) {
        let mut queries = self.queries.get();
        queries.count(query);
        self.queries.set(queries);
    }

    pub(crate) fn count_ignored(&self) {
        let mut queries = self.queries.get();
        queries.errors += 1;
        self.queries.set(queries);
    }

    pub(crate) fn count_reconnect(&self) {
        let mut queries = self.queries.get();
        queries.reconnects += 1;
        self.queries.set(queries);
    }

    pub(crate) fn leave(&self, sample: Sample, error: Option<DbError>) {
        self.samples.borrow_mut().push(sample);
        if let Some(error) = error {
            self.errors.borrow_mut().push((sample.kind, error));
        }
    }
}
