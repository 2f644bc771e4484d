//! The record of one connection: what its user asks, and what the worker found.
//!
//! In: a user's requests, through [`crate::Db`]; a worker's answers. Out: to each what the other
//! left. Must never: do I/O, read a clock, or be shared between threads.

use crate::error::DbError;
use prony_measure::{Kind, Outcome, Parts, Sample};
use prony_wire::{Agreed, Block, Effect, Exchange, Fed, ServerError, Statement, Value};
use std::cell::{Cell, Ref, RefCell};

/// What stands between a user and its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Nothing: the user is running.
    Idle,
    /// The user made a request: transmit it.
    Send,
    /// The user waits for its next start, as the pace says.
    Start,
    /// The user is ready, and waits for the common start of all.
    Gate,
    /// The user sleeps until [`Conn::wake_ns`].
    Sleep,
    /// The user wants its connection back, however long it takes.
    Reconnect,
    /// The user wants a new connection in place of this one; one try.
    Renew,
    /// The user wants the connection closed.
    Close,
    /// The user wants the record of another connection beside this one.
    Another,
    /// The worker is busy with what was asked.
    Busy,
    /// The worker is done with it: the user can go on.
    Ready,
    /// The user dropped a request that the worker is busy with: the connection is of no use.
    Dead,
}

/// Times and circumstances of the transaction that a user is in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Now {
    pub kind: Kind,
    pub scheduled_ns: u64,
    pub started_ns: u64,
    pub connect_ns: u64,
    pub retries: u32,
    pub parts: Parts,
    /// A reply without a usable stamp was among them.
    pub unstamped: bool,
}

/// The record of one connection.
#[derive(Debug)]
pub struct Conn {
    ask: Cell<Ask>,
    up: Cell<bool>,
    wake_ns: Cell<u64>,
    noticed_ns: Cell<u64>,
    scheduled_ns: Cell<u64>,
    effect: Cell<Effect>,
    /// What the worker is busy with, or was last.
    taken: Cell<Ask>,
    under_way: Cell<bool>,
    batched: Cell<bool>,
    /// Executions that were pushed and not yet sent.
    pushed: Cell<u32>,
    failure: RefCell<Option<DbError>>,
    exchange: RefCell<Exchange>,
    pub(crate) now: Cell<Now>,
}

/// What the worker reads and does.
impl Conn {
    /// A record for a connection that is not up yet.
    pub fn new(exchange: Exchange) -> Self {
        Conn {
            ask: Cell::new(Ask::Idle),
            up: Cell::new(false),
            wake_ns: Cell::new(0),
            noticed_ns: Cell::new(0),
            scheduled_ns: Cell::new(0),
            effect: Cell::new(Effect::Reads),
            taken: Cell::new(Ask::Idle),
            under_way: Cell::new(false),
            batched: Cell::new(false),
            pushed: Cell::new(0),
            failure: RefCell::new(None),
            exchange: RefCell::new(exchange),
            now: Cell::default(),
        }
    }

    /// What the user asks.
    pub fn ask(&self) -> Ask {
        self.ask.get()
    }

    /// When a sleeping user wants to wake, nanoseconds of the run's clock.
    pub fn wake_ns(&self) -> u64 {
        self.wake_ns.get()
    }

    /// When the user was last resumed: since then it could ask.
    pub fn noticed_ns(&self) -> u64 {
        self.noticed_ns.get()
    }

    /// The worker takes up what was asked.
    pub fn take_up(&self) {
        self.taken.set(self.ask.replace(Ask::Busy));
    }

    /// Whether the user waits for just this.
    pub fn awaits(&self, ask: Ask) -> bool {
        self.ask.get() == Ask::Busy && self.taken.get() == ask
    }

    /// Whether the user is in a transaction: it started one and has not ended it.
    pub fn is_under_way(&self) -> bool {
        self.under_way.get()
    }

    /// The time at which the user first runs, nanoseconds of the run's clock.
    pub fn begin(&self, noticed_ns: u64) {
        self.noticed_ns.set(noticed_ns);
    }

    /// What to say to the server before the connection is closed.
    pub fn farewell(&self) -> &'static [u8] {
        self.exchange.borrow().farewell()
    }

    /// The bytes of the request.
    pub fn outgoing(&self) -> Ref<'_, [u8]> {
        Ref::map(self.exchange.borrow(), Exchange::outgoing)
    }

    /// Takes bytes from the server. A broken protocol becomes
    /// the failure of the connection.
    ///
    /// # Errors
    /// The error that the caller is to bring down the connection with.
    pub fn feed(&self, bytes: &[u8]) -> Result<Fed, DbError> {
        let fed = self.exchange.borrow_mut().feed(bytes);
        fed.map_err(|violation| DbError::protocol(violation.to_string()))
    }

    /// The arrival of the reply may have been earlier than its stamp says: more had arrived with
    /// it, or it holds the replies to several statements, whose own arrivals bear one stamp.
    pub fn shares_arrival(&self) -> bool {
        self.batched.get() || self.exchange.borrow().has_surplus()
    }

    /// The reply is complete, or the time has come, or the connection is up: the user can go on.
    /// `noticed_ns` is a fresh reading of the clock.
    pub fn ready(&self, noticed_ns: u64) {
        self.noticed_ns.set(noticed_ns);
        self.ask.set(Ask::Ready);
    }

    /// Grants a start that was due at `scheduled_ns`.
    pub fn grant(&self, scheduled_ns: u64, noticed_ns: u64) {
        self.scheduled_ns.set(scheduled_ns);
        self.ready(noticed_ns);
    }

    /// Adds the split of one request's time to its transaction; `None`: no usable stamp.
    pub fn add_parts(&self, parts: Option<Parts>) {
        let mut now = self.now.get();
        match parts {
            Some(parts) => {
                now.parts.send_wait_ns += parts.send_wait_ns;
                now.parts.server_ns += parts.server_ns;
                now.parts.client_wait_ns += parts.client_wait_ns;
                now.parts.upper_bound |= parts.upper_bound;
            }
            None => now.unstamped = true,
        }
        self.now.set(now);
    }

    /// Hands the split that was added here to the transaction of another connection of its user.
    pub fn hand_parts(&self, to: &Conn) {
        let mut now = self.now.get();
        let parts = std::mem::take(&mut now.parts);
        let unstamped = std::mem::take(&mut now.unstamped);
        self.now.set(now);
        to.add_parts((!unstamped).then_some(parts));
    }

    /// The connection is up and fresh, and its log-in has settled this.
    pub fn opened_as(&self, agreed: Agreed) {
        self.opened();
        self.exchange.borrow_mut().agree(agreed);
    }

    /// The connection is up and fresh.
    pub fn opened(&self) {
        self.exchange.borrow_mut().reset();
        self.pushed.set(0);
        self.failure.replace(None);
        self.up.set(true);
    }

    /// The connection is gone, for this reason.
    pub fn lost(&self, reason: &str) {
        let exchange = self.exchange.borrow();
        let said = exchange.last_words();
        let ambiguous = self.awaits(Ask::Send)
            && match self.effect.get() {
                Effect::Reads => false,
                Effect::Commits => true,
                Effect::Writes => exchange.block() == Block::Idle,
            };
        let mut error = DbError::lost(reason.to_owned(), ambiguous);
        if let Some(said) = said {
            error = error.said(said);
        }
        self.failure.replace(Some(error));
        self.up.set(false);
    }

    /// The worker closed the connection, because the user wants another.
    pub fn closed(&self) {
        self.up.set(false);
    }

    /// A new connection was refused, if the server said so with this error.
    pub fn refused(&self, said: Option<&ServerError>, reason: String) {
        let mut error = DbError::lost(reason, false);
        if let Some(said) = said {
            (error.code, error.number) = (said.code, said.number);
        }
        self.failure.replace(Some(error));
    }

    /// Why the connection is not up, in words.
    pub fn last_failure(&self) -> String {
        self.failure().message
    }

    /// Whether the connection is up.
    pub fn is_up(&self) -> bool {
        self.up.get()
    }
}

/// What a user's handle does.
impl Conn {
    pub(crate) fn set_ask(&self, ask: Ask) {
        self.ask.set(ask);
    }

    pub(crate) fn sleep_until(&self, wake_ns: u64) {
        self.wake_ns.set(wake_ns);
        self.ask.set(Ask::Sleep);
    }

    pub(crate) fn scheduled_ns(&self) -> u64 {
        self.scheduled_ns.get()
    }

    pub(crate) fn request<'a>(
        &self,
        batch: impl Iterator<Item = (&'a Statement, &'a [Value<'a>])>,
    ) {
        let mut effect = Effect::Reads;
        let mut count = 0u32;
        let batch = batch.inspect(|(statement, _)| {
            count += 1;
            if statement.effect() != Effect::Reads && effect != Effect::Commits {
                effect = statement.effect();
            }
        });
        self.exchange.borrow_mut().request(batch);
        self.ask_to_send(effect, count);
    }

    pub(crate) fn query(&self, sql: &[u8]) {
        self.exchange.borrow_mut().query(sql);
        self.ask_to_send(Effect::Writes, 1);
    }

    /// The exchange holds a request of so many executions with this effect.
    fn ask_to_send(&self, effect: Effect, executions: u32) {
        self.pushed.set(0);
        self.effect.set(effect);
        self.batched.set(executions > 1);
        self.ask.set(Ask::Send);
    }

    /// Adds an execution to the request that [`Conn::sync`] makes.
    pub(crate) fn push(&self, statement: &Statement, values: &[Value<'_>]) {
        let before = self.pushed.get();
        let mut exchange = self.exchange.borrow_mut();
        exchange.push(before == 0, statement, values);
        if before == 0 {
            self.effect.set(Effect::Reads);
        }
        if statement.effect() != Effect::Reads && self.effect.get() != Effect::Commits {
            self.effect.set(statement.effect());
        }
        self.pushed.set(before + 1);
    }

    pub(crate) fn prepare(&self, statement: &Statement) {
        self.exchange.borrow_mut().prepare(statement);
        self.ask_to_send(Effect::Reads, 0);
    }

    pub(crate) fn close(&self, statement: &Statement) {
        self.exchange.borrow_mut().close(statement);
    }

    pub(crate) fn sync(&self) {
        let count = self.pushed.get();
        self.exchange.borrow_mut().sync(count == 0);
        let effect = match count {
            0 => Effect::Reads,
            _ => self.effect.get(),
        };
        self.ask_to_send(effect, count);
    }

    pub(crate) fn block(&self) -> Block {
        self.exchange.borrow().block()
    }

    pub(crate) fn exchange(&self) -> Ref<'_, Exchange> {
        self.exchange.borrow()
    }

    pub(crate) fn failure(&self) -> DbError {
        let failure = self.failure.borrow().clone();
        failure.unwrap_or_else(|| DbError::lost("the connection is not up".to_owned(), false))
    }

    /// The user is in a transaction from now on.
    pub(crate) fn start(&self, now: Now) {
        self.now.set(now);
        self.under_way.set(true);
    }

    /// The user is in it no longer: what became of it.
    pub(crate) fn end(&self, outcome: Outcome) -> Sample {
        self.under_way.set(false);
        let now = self.now.get();
        Sample {
            kind: now.kind,
            outcome,
            scheduled_ns: now.scheduled_ns,
            started_ns: now.started_ns,
            ended_ns: self.noticed_ns.get(),
            connect_ns: now.connect_ns,
            retries: now.retries,
            parts: (!now.unstamped).then_some(now.parts),
        }
    }
}
