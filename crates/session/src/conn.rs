//! The record of one connection: the user's requests, made through [`crate::Db`], and the worker's results.
//! Never does I/O, reads a clock, or is shared between threads.

mod user;

use crate::error::DbError;
use prony_measure::{Outcome, Sample, ServiceTimeParts, TxnKind};
use prony_wire::{
    BlockState, Effect, Exchange, FeedStatus, ServerError, SessionFlags, Statement, Value,
};
use std::cell::{Cell, Ref, RefCell};

/// How many bytes of a reply's rows are kept unless a user asks for more ([`crate::Db::limit_rows`]). Prony's own
/// workloads read less than a tenth of that.
pub const UNREAD_ROW_BYTES_MAX: usize = 64 * 1024;
/// How many bytes of a reply's rows a script can read.
pub const READ_ROW_BYTES_MAX: usize = 64 << 20;

/// A user's request to its worker, and its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserPhase {
    /// The user is running.
    Idle,
    /// The user has made a request: send it.
    Send,
    /// The user waits for its next start, according to the pace.
    Start,
    /// The user is ready, and waits for the common start of all users.
    CommonStart,
    /// The user sleeps until [`Conn::wake_ns`].
    Sleep,
    /// The user waits for its lost connection: try until it is open again.
    AwaitReconnect,
    /// The user waits for a new connection in place of this one: try to open it once.
    OpenConnection,
    /// The user wants the connection closed.
    Close,
    /// The user wants an additional connection.
    AddConnection,
    /// The worker is carrying out the request.
    Busy,
    /// The worker is done: the user can continue.
    Ready,
    /// The user dropped a request that the worker was carrying out: the connection is unusable.
    Unusable,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CurrentTransaction {
    pub kind: TxnKind,
    pub scheduled_ns: u64,
    pub started_ns: u64,
    pub connect_ns: u64,
    pub retries: u32,
    pub parts: ServiceTimeParts,
    /// Whether at least one reply had no usable timestamp.
    pub lacks_timestamp: bool,
    /// Whether the server for reads takes it.
    pub is_at_reads: bool,
}

/// A request whose time is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedRequest {
    /// Number ([`Statement::id`]) of its first statement.
    pub first_id: u32,
    /// When the user made it, nanoseconds of the run's clock.
    pub requested_ns: u64,
}

/// The record of one connection: the user's request, its reply, and the current transaction.
#[derive(Debug)]
pub struct Conn {
    phase: Cell<UserPhase>,
    is_up: Cell<bool>,
    /// How often it was opened.
    opened: Cell<u32>,
    /// Index of the host at which it is or was up.
    host: Cell<u16>,
    /// Index of the host to which the requests of the last transaction went.
    sample_host: Cell<u16>,
    /// Whether the server from which the connection had to move away answers again.
    must_return: Cell<bool>,
    /// Whether its user gives it up, because the server refuses to work.
    is_given_up: Cell<bool>,
    wake_ns: Cell<u64>,
    noticed_ns: Cell<u64>,
    scheduled_ns: Cell<u64>,
    effect: Cell<Effect>,
    /// Whether the last execution of the request is a commit.
    ends_with_commit: Cell<bool>,
    /// The phase that the worker is carrying out or carried out last, or that the user abandoned.
    accepted_phase: Cell<UserPhase>,
    in_transaction: Cell<bool>,
    /// Whether part of the current transaction is committed: a write succeeded while no block was open.
    has_committed: Cell<bool>,
    /// Number of executions in the current request.
    executions: Cell<u32>,
    /// Number of executions pushed with [`Conn::push`] and not yet sent.
    pushed: Cell<u32>,
    /// Number ([`Statement::id`]) of the first statement that was pushed.
    first_pushed_id: Cell<u32>,
    /// The request in flight; set only if the run measures statements.
    timed_request: Cell<Option<TimedRequest>>,
    failure: RefCell<Option<DbError>>,
    exchange: RefCell<Exchange>,
    pub(crate) transaction: Cell<CurrentTransaction>,
}

/// Methods for the worker.
impl Conn {
    /// Creates a record for a connection that is not up yet.
    pub fn new(mut exchange: Exchange) -> Self {
        exchange.limit_rows(UNREAD_ROW_BYTES_MAX);
        Conn {
            phase: Cell::new(UserPhase::Idle),
            is_up: Cell::new(false),
            opened: Cell::new(0),
            host: Cell::new(0),
            sample_host: Cell::new(0),
            must_return: Cell::new(false),
            is_given_up: Cell::new(false),
            wake_ns: Cell::new(0),
            noticed_ns: Cell::new(0),
            scheduled_ns: Cell::new(0),
            effect: Cell::new(Effect::Reads),
            ends_with_commit: Cell::new(false),
            accepted_phase: Cell::new(UserPhase::Idle),
            in_transaction: Cell::new(false),
            has_committed: Cell::new(false),
            executions: Cell::new(0),
            pushed: Cell::new(0),
            first_pushed_id: Cell::new(0),
            timed_request: Cell::new(None),
            failure: RefCell::new(None),
            exchange: RefCell::new(exchange),
            transaction: Cell::default(),
        }
    }

    /// A record for a connection that is up, and whose exchange served another one.
    pub fn reopened(exchange: Exchange) -> Self {
        let conn = Conn::new(exchange);
        conn.is_up.set(true);
        conn
    }

    /// Whether the connection is up and could serve another user, once its own has been dropped: it waits for no reply,
    /// and no transaction is open.
    pub fn is_idle(&self) -> bool {
        let waits_for_reply = match self.phase.get() {
            UserPhase::Idle => false,
            // A user that waited for a start, or slept, has no request in flight.
            UserPhase::Unusable => !matches!(
                self.accepted_phase.get(),
                UserPhase::Start | UserPhase::CommonStart | UserPhase::Sleep
            ),
            _ => true,
        };
        let has_unsent = self.pushed.get() > 0 || self.in_transaction.get();
        self.is_up() && !waits_for_reply && !has_unsent && self.block_state() == BlockState::Idle
    }

    /// What the connection has prepared and negotiated.
    pub fn into_exchange(self) -> Exchange {
        self.exchange.into_inner()
    }

    /// Index of the host at which the connection is, or was last.
    #[inline]
    pub fn host(&self) -> u16 {
        self.host.get()
    }

    pub fn set_host(&self, host: u16) {
        self.host.set(host);
    }

    /// Index of the host to which the requests of the last transaction went.
    #[inline]
    pub fn sample_host(&self) -> u16 {
        self.sample_host.get()
    }

    pub(crate) fn set_sample_host(&self, host: u16) {
        self.sample_host.set(host);
    }

    /// Whether the user has to open the connection again between two transactions: the server from which it had to move
    /// away answers again.
    #[inline]
    pub fn must_return(&self) -> bool {
        self.must_return.get()
    }

    pub fn set_must_return(&self, must_return: bool) {
        self.must_return.set(must_return);
    }

    /// Whether its user gives it up, because the server refuses to work: another one may not.
    pub(crate) fn is_given_up(&self) -> bool {
        self.is_given_up.get()
    }

    /// With which message the server refused to work, so that its user gives the connection up.
    pub fn refusal(&self) -> Option<String> {
        if !self.is_given_up() {
            return None;
        }
        let error = self.exchange.borrow().error();
        error.map(|error| error.message)
    }

    pub(crate) fn give_up(&self) {
        self.is_given_up.set(true);
    }

    pub fn phase(&self) -> UserPhase {
        self.phase.get()
    }

    /// The time at which a sleeping user wakes, in nanoseconds of the run's clock.
    pub fn wake_ns(&self) -> u64 {
        self.wake_ns.get()
    }

    /// When the user was last resumed, which is the earliest time at which it could make a request.
    pub fn noticed_ns(&self) -> u64 {
        self.noticed_ns.get()
    }

    /// Marks the request as being carried out.
    pub fn mark_busy(&self) {
        self.accepted_phase.set(self.phase.replace(UserPhase::Busy));
    }

    /// Whether the worker is carrying out this phase for the user.
    pub fn is_busy_with(&self, phase: UserPhase) -> bool {
        self.phase.get() == UserPhase::Busy && self.accepted_phase.get() == phase
    }

    /// Whether the user is in a transaction: it started one and has not ended it.
    pub fn is_in_transaction(&self) -> bool {
        self.in_transaction.get()
    }

    /// Whether the user is in a transaction on its connection to the server for reads (`reads`), or on its others.
    pub fn is_in_transaction_on(&self, reads: bool) -> bool {
        self.in_transaction.get() && self.transaction.get().is_at_reads == reads
    }

    /// When the current transaction actually started, nanoseconds of the run's clock.
    pub fn transaction_started_ns(&self) -> u64 {
        self.transaction.get().started_ns
    }

    /// Sets the earliest time of a request, in nanoseconds of the run's clock: when the user first runs, or
    /// when the next round trip of its request begins.
    pub fn set_noticed_ns(&self, noticed_ns: u64) {
        self.noticed_ns.set(noticed_ns);
    }

    /// Makes a request of the worker's own: a text, whose reply nobody else reads.
    pub fn ask(&self, sql: &str) {
        self.query(sql.as_bytes());
    }

    /// Whether the server refused what the worker asked, or the second column of its reply's first row says that it refuses.
    pub fn is_refused_by_answer(&self, is_refusal: fn(&str) -> bool) -> bool {
        let exchange = self.exchange.borrow();
        let is_refused = exchange
            .error_summary()
            .is_some_and(|error| DbError::from(error).refuses_connection());
        let first = exchange.rows().next();
        is_refused || first.is_some_and(|(_, row)| row.text(1).is_some_and(is_refusal))
    }

    /// The message that the protocol requires before a connection is closed.
    pub fn closing_message(&self) -> &'static [u8] {
        self.exchange.borrow().closing_message()
    }

    /// The bytes of the request.
    pub fn outgoing(&self) -> Ref<'_, [u8]> {
        Ref::map(self.exchange.borrow(), Exchange::outgoing)
    }

    /// Feeds bytes from the server to the exchange.
    ///
    /// # Errors
    /// The server violates its protocol; the caller must close the connection.
    pub fn feed(&self, bytes: &[u8]) -> Result<FeedStatus, DbError> {
        let result = self.exchange.borrow_mut().feed(bytes);
        result.map_err(|violation| {
            let error = DbError::protocol(violation.to_string());
            if violation.is_unsupported_statement() {
                let unsupported = error.clone().with_unsupported_code();
                self.failure.replace(Some(unsupported));
            }
            error
        })
    }

    /// Whether the reply may have arrived earlier than its timestamp: more bytes arrived with it, or it holds
    /// the replies to several statements, which share one timestamp.
    pub fn may_predate_timestamp(&self) -> bool {
        let exchange = self.exchange.borrow();
        exchange.shares_round_trip(self.executions.get()) || exchange.has_surplus_bytes()
    }

    /// Lets the user continue: the reply is complete, the time has come, or the connection is up.
    /// `noticed_ns` is a fresh reading of the clock.
    pub fn mark_ready(&self, noticed_ns: u64) {
        self.noticed_ns.set(noticed_ns);
        self.phase.set(UserPhase::Ready);
    }

    /// Grants a start that was due at `scheduled_ns`.
    pub fn grant_start(&self, scheduled_ns: u64, noticed_ns: u64) {
        self.scheduled_ns.set(scheduled_ns);
        self.mark_ready(noticed_ns);
    }

    /// Adds the parts of one round trip's time to those of the transaction; `None` if there is no usable
    /// timestamp.
    pub fn add_parts(&self, parts: Option<ServiceTimeParts>) {
        let mut transaction = self.transaction.get();
        match parts {
            Some(parts) => {
                transaction.parts.send_wait_ns += parts.send_wait_ns;
                transaction.parts.server_ns += parts.server_ns;
                transaction.parts.client_wait_ns += parts.client_wait_ns;
                transaction.parts.server_is_upper_bound |= parts.server_is_upper_bound;
            }
            None => transaction.lacks_timestamp = true,
        }
        self.transaction.set(transaction);
    }

    /// Moves the results of a request to the transaction on another connection of the same user: the parts of
    /// the service time, and whether the reply committed something.
    pub fn transfer_results_to(&self, target: &Conn) {
        if self.accepted_phase.get() == UserPhase::Send && self.is_up() {
            let exchange = self.exchange.borrow();
            if exchange.error_summary().is_none() {
                target.has_committed.set(
                    target.has_committed.get() | self.has_request_committed(exchange.block_state()),
                );
            }
        }
        let mut transaction = self.transaction.get();
        let parts = std::mem::take(&mut transaction.parts);
        let lacks_timestamp = std::mem::take(&mut transaction.lacks_timestamp);
        self.transaction.set(transaction);
        target.add_parts((!lacks_timestamp).then_some(parts));
    }

    /// Marks the connection as newly opened, with the flags that its login determined.
    pub fn mark_opened_with_flags(&self, flags: SessionFlags) {
        self.mark_opened();
        self.exchange.borrow_mut().set_session_flags(flags);
    }

    /// Marks the connection as newly opened.
    pub fn mark_opened(&self) {
        self.exchange.borrow_mut().reset();
        self.pushed.set(0);
        // An abandoned request may have left its time.
        self.timed_request.set(None);
        self.failure.replace(None);
        self.must_return.set(false);
        self.is_given_up.set(false);
        self.opened.set(self.opened.get().wrapping_add(1));
        self.is_up.set(true);
    }

    /// Whether a request that may commit is in flight, so that the outcome is unknown if no reply arrives.
    pub fn may_commit(&self) -> bool {
        self.is_busy_with(UserPhase::Send)
            && match self.effect.get() {
                Effect::Reads => false,
                Effect::Commits => true,
                // The text may contain a commit; it is searched only here, where that matters.
                Effect::Writes => {
                    self.block_state() == BlockState::Idle
                        || self.exchange.borrow().is_commit_request()
                }
            }
    }

    /// Whether the transaction may have committed, in whole or in part, if it stops now: a request in
    /// flight may commit, or an earlier one did.
    pub fn may_have_committed(&self) -> bool {
        self.has_committed() || self.may_commit()
    }

    /// Marks the connection as lost, for this reason.
    pub fn mark_lost(&self, reason: &str) {
        let final_error = self.exchange.borrow().final_error();
        let mut error = DbError::lost(reason.to_owned(), self.may_commit());
        // Only `feed` stores an error while the connection is up.
        if self.failure.take().is_some() {
            error = error.with_unsupported_code();
        }
        if let Some(final_error) = &final_error {
            error = error.with_server_code(final_error);
            error.message.clone_from(&final_error.message);
        }
        self.failure.replace(Some(error));
        self.is_up.set(false);
    }

    /// Records that the worker closed the connection at the user's request.
    pub fn mark_closed(&self) {
        self.is_up.set(false);
    }

    /// Records that a new connection was refused; `server_error` is the server's error, if it sent one.
    pub fn mark_refused(&self, server_error: Option<&ServerError>, reason: String) {
        let mut error = DbError::lost(reason, false);
        if let Some(server_error) = server_error {
            error = error.with_server_code(server_error);
        }
        self.failure.replace(Some(error));
    }

    /// Why the connection is not up, as a message.
    pub fn failure_message(&self) -> String {
        self.failure().into_message()
    }

    /// How often the connection was opened: what the server knew of the session is lost when this changes.
    pub fn opened(&self) -> u32 {
        self.opened.get()
    }

    /// Whether the connection is up.
    pub fn is_up(&self) -> bool {
        self.is_up.get()
    }
}
