//! The state that a worker shares with its users: they record samples, errors and counts; the worker
//! decides when to stop. The state stays on its thread, and refers to the run's [`StartBudget`], if there is
//! one.

use crate::budget::StartBudget;
use crate::conn::Conn;
use crate::error::DbError;
use crate::statement_table::StatementTable;
use crate::statement_timer::StatementTimer;
use prony_document::Service;
use prony_measure::{QueryCounts, QueryKind, RoundTripTimes, Sample, TxnKind};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// The rules by which a worker's users start transactions.
#[derive(Clone, Copy, Debug)]
pub struct StartRules {
    /// Whether the worker grants starts one by one, as with a rate; otherwise a user starts when it is ready.
    pub is_paced: bool,
    /// Whether each transaction opens a new connection.
    pub connect_per_transaction: bool,
    /// Number of transactions after which each user finishes; 0 means no limit.
    pub max_transactions: u64,
    /// Paced starts that are later than this, in nanoseconds, are skipped.
    pub latency_limit_ns: Option<u64>,
    /// Whether a transaction's time includes connecting, if each transaction opens a connection.
    pub includes_connect_time: bool,
    /// Whether lost connections are reopened; otherwise their users cannot continue.
    pub reopens_lost_connections: bool,
    /// Whether another host may take writes that one refuses.
    pub has_other_hosts: bool,
}

impl Default for StartRules {
    /// A closed loop without a limit.
    fn default() -> Self {
        StartRules {
            is_paced: false,
            connect_per_transaction: false,
            max_transactions: 0,
            latency_limit_ns: None,
            includes_connect_time: true,
            reopens_lost_connections: true,
            has_other_hosts: false,
        }
    }
}

impl StartRules {
    /// Whether to skip a start that was due at `scheduled_ns`, for a user that was ready at `ready_ns`.
    pub(crate) fn must_skip(&self, scheduled_ns: u64, ready_ns: u64) -> bool {
        let late_ns = ready_ns.saturating_sub(scheduled_ns);
        self.is_paced && self.latency_limit_ns.is_some_and(|limit| late_ns > limit)
    }
}

/// The state shared by a worker and its users.
#[derive(Debug)]
pub struct WorkerContext {
    rules: StartRules,
    budget: Option<Arc<StartBudget>>,
    service: Option<Service>,
    start_ns: Cell<u64>,
    count_from_ns: Cell<u64>,
    end_ns: Cell<u64>,
    is_stopped: Cell<bool>,
    samples: RefCell<Vec<Sample>>,
    errors: RefCell<Vec<(TxnKind, DbError)>>,
    queries: Cell<QueryCounts>,
    /// Present if the run measures the latency of each statement.
    statement_timer: Option<StatementTimer>,
    /// The record of an additional connection, for the user that requested it.
    added_connection: RefCell<Option<Rc<Conn>>>,
}

impl WorkerContext {
    /// Creates a context with these rules.
    pub fn new(rules: StartRules) -> Self {
        WorkerContext {
            rules,
            budget: None,
            service: None,
            start_ns: Cell::new(0),
            count_from_ns: Cell::new(0),
            end_ns: Cell::new(u64::MAX),
            is_stopped: Cell::new(false),
            samples: RefCell::default(),
            errors: RefCell::default(),
            queries: Cell::default(),
            statement_timer: None,
            added_connection: RefCell::default(),
        }
    }

    /// Adds a budget of starts that is shared with other workers.
    pub fn with_budget(self, budget: Option<Arc<StartBudget>>) -> Self {
        WorkerContext { budget, ..self }
    }

    /// The service of the server, which has errors of its own.
    pub fn with_service(self, service: Option<Service>) -> Self {
        WorkerContext { service, ..self }
    }

    /// The service of the server.
    pub(crate) fn service(&self) -> Option<Service> {
        self.service
    }

    /// Measures the latency of the statements in the table; of none without a table.
    pub fn with_statement_latency(self, table: Option<StatementTable>) -> Self {
        WorkerContext {
            statement_timer: table.map(StatementTimer::new),
            ..self
        }
    }

    /// Takes a start from the budget. Always succeeds during the warm-up, and without a budget.
    pub(crate) fn take_start(&self, at_ns: u64) -> bool {
        match &self.budget {
            Some(budget) if self.is_counted(at_ns) => budget.take(),
            _ => true,
        }
    }

    /// Whether the budget is used up.
    pub fn is_budget_spent(&self) -> bool {
        self.budget.as_ref().is_some_and(|budget| budget.is_spent())
    }

    /// The rules by which users start.
    #[inline]
    pub fn rules(&self) -> &StartRules {
        &self.rules
    }

    /// Sets the times of the load, in nanoseconds of the run's clock: it begins at `start_ns`, transactions that end from
    /// `count_from_ns` on count towards a user's limit, and no transaction starts from `end_ns` on.
    pub fn set_window(&self, start_ns: u64, count_from_ns: u64, end_ns: u64) {
        self.start_ns.set(start_ns);
        self.count_from_ns.set(count_from_ns);
        self.end_ns.set(end_ns);
    }

    /// When the load began.
    pub(crate) fn load_start_ns(&self) -> u64 {
        self.start_ns.get()
    }

    /// Whether it is too late for a transaction to start at this time.
    pub(crate) fn is_too_late_to_start(&self, at_ns: u64) -> bool {
        self.is_stopped.get() || at_ns >= self.end_ns.get()
    }

    /// Whether a transaction that ends at this time counts towards a user's limit.
    pub(crate) fn is_counted(&self, at_ns: u64) -> bool {
        at_ns >= self.count_from_ns.get()
    }

    /// Whether this time is in the measured window.
    fn is_in_window(&self, at_ns: u64) -> bool {
        self.is_counted(at_ns) && at_ns < self.end_ns.get()
    }

    /// Prevents further starts of transactions.
    pub fn stop(&self) {
        self.is_stopped.set(true);
    }

    /// Stores the record of an additional connection for the user that requested it.
    pub fn provide_connection(&self, conn: Rc<Conn>) {
        self.added_connection.replace(Some(conn));
    }

    /// Takes the record of an additional connection.
    pub(crate) fn take_connection(&self) -> Option<Rc<Conn>> {
        self.added_connection.take()
    }

    /// Whether [`WorkerContext::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.get()
    }

    /// Passes `receive` the samples that were recorded since the last call, oldest first.
    #[inline]
    pub fn drain_samples(&self, receive: impl FnMut(&Sample)) {
        let mut samples = self.samples.borrow_mut();
        samples.iter().for_each(receive);
        samples.clear();
    }

    /// Passes `receive` the errors that were recorded since the last call, oldest first.
    #[inline]
    pub fn drain_errors(&self, mut receive: impl FnMut(TxnKind, DbError)) {
        let mut errors = self.errors.borrow_mut();
        if errors.is_empty() {
            return;
        }
        errors
            .drain(..)
            .for_each(|(kind, error)| receive(kind, error));
    }

    /// Takes the times of the round trips in the window; `None` if the run does not measure statements.
    pub fn take_round_trip_times(&self) -> Option<RoundTripTimes<u32>> {
        self.statement_timer.as_ref().map(StatementTimer::take)
    }

    /// Whether the run measures the latency of each statement.
    #[inline]
    pub(crate) fn measures_statements(&self) -> bool {
        self.statement_timer.is_some()
    }

    /// Records a round trip that succeeded, if its reply was noticed within the window.
    pub(crate) fn record_round_trip(
        &self,
        first_id: u32,
        statements: u32,
        requested_ns: u64,
        noticed_ns: u64,
    ) {
        if let Some(timer) = &self.statement_timer
            && self.is_in_window(noticed_ns)
        {
            timer.record(
                first_id,
                statements,
                noticed_ns.saturating_sub(requested_ns),
            );
        }
    }

    /// The queries counted since the last call.
    pub fn take_queries(&self) -> QueryCounts {
        self.queries.take()
    }

    #[inline]
    pub(crate) fn count_query(&self, query: QueryKind) {
        let mut queries = self.queries.get();
        queries.count(query);
        self.queries.set(queries);
    }

    pub(crate) fn count_ignored_error(&self) {
        let mut queries = self.queries.get();
        queries.ignored_errors += 1;
        self.queries.set(queries);
    }

    pub(crate) fn count_reconnect(&self) {
        let mut queries = self.queries.get();
        queries.reconnects += 1;
        self.queries.set(queries);
    }

    pub(crate) fn record(&self, sample: Sample, error: Option<DbError>) {
        if let Some(timer) = &self.statement_timer
            && self.is_in_window(sample.ended_ns)
        {
            timer.record_transaction(sample.service_ns());
        }
        self.samples.borrow_mut().push(sample);
        if let Some(error) = error {
            self.errors.borrow_mut().push((sample.kind, error));
        }
    }
}
