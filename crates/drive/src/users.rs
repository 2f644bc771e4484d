//! The users of a worker: runs them, grants their starts, records their samples, and ends them. `recording` has what
//! becomes of the samples.
//!
//! In: users that can continue, scheduled starts, the time. Out: samples in intervals; the users' [`Request`]s on their
//! connections. Must never: resume a user whose request is in flight, touch a connection beyond its record, skip a
//! scheduled start, or omit a transaction that was started or due from the counts.

mod recording;

use crate::clock::Clock;
use crate::hosts::HostTotals;
use crate::io::Slot;
use crate::job::{DriveJob, SampleListener};
use crate::messages::{CollectorChannel, WorkerMessage};
use crate::prefetch::prefetch;
use crate::run_event::{RunEvent, RunEventKind, panic_text};
use crate::slice::WorkerShare;
use crate::timers::Timers;
use crate::timing::Timing;
use prony_session::{Conn, Db, Program, Reads, User, UserExit, UserId, UserPhase, WorkerContext};
use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Shorter waits only let the worker read its clock.
const SLEEP_MIN_NS: u64 = 1_000;
/// How long users wait after the end of the run for a connection that they requested.
const CONNECT_GRACE_NS: u64 = 1_000_000_000;
/// How often users that have waited longer are dropped.
const CONNECT_CHECK_INTERVAL_NS: u64 = 50_000_000;

/// What a user wants, or why it waits. A user has a request on one of its connections at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Send what its connection holds.
    Send(Slot),
    /// Open a new connection in place of this one.
    Open(Slot),
    Close(Slot),
    /// Create an additional connection: see [`Users::add_connection`].
    AddConnection,
    /// Nothing now: the user sleeps, or waits for a start.
    Wait,
    /// Nothing more: the user has ended.
    End,
}

/// A user, until it ends, and its connections.
struct UserSlot {
    user: Option<User>,
    conn: Rc<Conn>,
    extra_conns: Vec<(Slot, Rc<Conn>)>,
    /// Whether a connection that the user requested was refused after the end of the run. If so, the user
    /// gets no further attempt.
    refused_after_end: bool,
}

impl UserSlot {
    /// The connection with the user's request: its own one, unless another one has a request.
    #[inline]
    fn connection_with_request(&self, slot: Slot) -> (Slot, &Conn) {
        if self.conn.phase() == UserPhase::Idle {
            self.find_request().unwrap_or((slot, &self.conn))
        } else {
            (slot, &self.conn)
        }
    }

    #[cold]
    fn find_request(&self) -> Option<(Slot, &Conn)> {
        let (slot, conn) = self.extra_conns.iter().find(|(_, conn)| {
            matches!(
                conn.phase(),
                UserPhase::Send
                    | UserPhase::OpenConnection
                    | UserPhase::AwaitReconnect
                    | UserPhase::Close
            )
        })?;
        // The send wait begins when the user was resumed, whichever connection it had waited for.
        conn.set_noticed_ns(self.conn.noticed_ns());
        Some((*slot, conn))
    }

    fn conns(&self) -> impl Iterator<Item = &Rc<Conn>> {
        let extra = self.extra_conns.iter().map(|(_, conn)| conn);
        std::iter::once(&self.conn).chain(extra)
    }
}

/// The users of a worker. The slot of a user is that of its own connection.
pub(crate) struct Users<'a> {
    program: &'a dyn Program,
    ids: Vec<UserId>,
    slots: Vec<UserSlot>,
    /// Number of users that have not ended.
    live_count: usize,
    context: Rc<WorkerContext>,
    clock: Clock,
    /// Users that wait for a scheduled start, first come first served.
    waiting: VecDeque<Slot>,
    sleeping: Timers<Slot>,
    timing: Timing,
    has_load_begun: bool,
    /// Why the first user failed before the load.
    not_ready_reason: Option<String>,
    /// When to drop users next that wait for a connection; `u64::MAX`: never.
    connect_check_ns: u64,
    sample_listener: Option<Box<dyn SampleListener>>,
    /// What happens at each host; empty if there is only one.
    host_totals: Vec<HostTotals<u32>>,
    /// The share of the read-only transactions that a server for reads takes, in per cent.
    read_percent: u32,
    channel: &'a CollectorChannel<'a>,
}

impl<'a> Users<'a> {
    /// Places for the users of a worker, who do not exist yet. `conns` are the records of their own connections.
    pub fn new<'c>(
        job: &DriveJob<'a>,
        share: &WorkerShare,
        conns: impl Iterator<Item = &'c Rc<Conn>>,
        clock: Clock,
        channel: &'a CollectorChannel<'a>,
    ) -> Users<'a> {
        let ids = share.clients.clone().map(|client| UserId {
            client,
            clients: job.plan.clients,
            worker: share.worker,
            workers: share.workers,
            seed: job.seed,
        });
        let slots = conns.map(|conn| UserSlot {
            user: None,
            conn: Rc::clone(conn),
            extra_conns: Vec::new(),
            refused_after_end: false,
        });
        let measures_statements = job.plan.statement_latency;
        let statement_table = measures_statements.then(|| job.program.statement_table());
        let context = WorkerContext::new(job.start_rules())
            .with_budget(share.budget.clone())
            .with_service(job.service)
            .with_statement_latency(statement_table);
        Users {
            program: job.program,
            ids: ids.collect(),
            slots: slots.collect(),
            live_count: 0,
            context: Rc::new(context),
            waiting: VecDeque::new(),
            sleeping: Timers::default(),
            timing: Timing::before_load(job.program.kinds().len(), clock.now_ns()),
            clock,
            has_load_begun: false,
            not_ready_reason: None,
            connect_check_ns: u64::MAX,
            sample_listener: job
                .new_sample_listener
                .map(|new_listener| new_listener(share.index)),
            host_totals: Vec::new(),
            read_percent: 0,
            channel,
        }
    }

    /// Keeps totals for this number of hosts.
    pub fn with_hosts(mut self, count: usize) -> Users<'a> {
        self.host_totals.resize_with(count, HostTotals::default);
        self
    }

    /// Lets the server of these connections, one for each user, take this share of their read-only transactions, in per cent.
    pub fn with_reads<'c>(
        mut self,
        conns: impl Iterator<Item = (Slot, &'c Rc<Conn>)>,
        percent: u32,
    ) -> Users<'a> {
        self.read_percent = percent;
        for (user, (slot, conn)) in self.slots.iter_mut().zip(conns) {
            user.extra_conns.push((slot, Rc::clone(conn)));
        }
        self
    }

    pub fn slots(&self) -> Range<Slot> {
        0..self.slots.len() as Slot
    }

    /// Whether the slot is that of a user, not of an additional connection.
    #[inline]
    pub fn is_user(&self, slot: Slot) -> bool {
        (slot as usize) < self.slots.len()
    }

    /// Number of users that have not ended.
    #[inline]
    pub fn live_count(&self) -> usize {
        self.live_count
    }

    /// Prefetches the user's state into the CPU's cache.
    #[inline]
    pub fn prefetch(&self, slot: Slot) {
        if let Some(UserSlot {
            user: Some(user), ..
        }) = self.slots.get(slot as usize)
        {
            prefetch(&**user);
        }
    }

    /// Creates the users without running them.
    pub fn create(&mut self) {
        for (slot, id) in self.slots.iter_mut().zip(&self.ids) {
            let mut db = Db::new(Rc::clone(&slot.conn), Rc::clone(&self.context));
            if let Some((_, conn)) = slot.extra_conns.first() {
                let conn = Rc::clone(conn);
                db = db.with_reads(Reads::new(conn, self.read_percent, self.program, id.client));
            }
            slot.user = Some(self.program.create_user(*id, db));
        }
        self.live_count = self.slots.len();
    }

    pub fn all_await_common_start(&self) -> bool {
        let mut slots = self.slots.iter();
        slots.all(|slot| slot.conn.is_busy_with(UserPhase::CommonStart))
    }

    /// Why a user ended before the load; `None` if none has.
    pub fn take_not_ready_reason(&mut self) -> Option<String> {
        if self.live_count == self.slots.len() {
            return None;
        }
        let reason = self.not_ready_reason.take();
        // If no failure was recorded, its program ended.
        Some(reason.unwrap_or_else(|| "it had nothing to do".to_owned()))
    }

    /// Sets the times of the load, which begins at [`Users::start_ns`].
    pub fn set_timing(&mut self, timing: Timing) {
        self.timing = timing;
    }

    pub fn start_ns(&self) -> u64 {
        self.timing.start_ns
    }

    /// Begins the load: creates the users, unless they have had a prologue.
    pub fn begin_load(&mut self) {
        if let Some(listener) = &mut self.sample_listener {
            listener.started(self.timing.start_ns);
        }
        let batch = self.timing.batch_policy.counts();
        self.timing.recorder.set_batch(batch);
        self.set_window();
        self.has_load_begun = true;
        if !self.program.has_prologue() {
            self.create();
        }
    }

    fn set_window(&self) {
        self.context.set_window(
            self.timing.start_ns,
            self.timing.count_from_ns,
            self.timing.end_ns.unwrap_or(u64::MAX),
        );
    }

    /// Lets a user run now, for the first time or after the common start.
    pub fn begin(&mut self, slot: Slot) {
        let (conn, now_ns) = (&self.slots[slot as usize].conn, self.clock.now_ns());
        if conn.is_busy_with(UserPhase::CommonStart) {
            conn.mark_ready(now_ns);
        } else {
            conn.set_noticed_ns(now_ns);
        }
    }

    /// Runs a user until it has to wait for something, and returns what it wants.
    pub fn run(&mut self, slot: Slot) -> Request {
        let noticed_ns = self.slots[slot as usize].conn.noticed_ns();
        self.rotate_interval(noticed_ns);
        loop {
            let Some(user) = &mut self.slots[slot as usize].user else {
                return Request::End;
            };
            let mut context = Context::from_waker(Waker::noop());
            let polled = catch_unwind(AssertUnwindSafe(|| user.as_mut().poll(&mut context)));
            self.record_samples(slot);
            let exit = match polled {
                Ok(Poll::Pending) => match self.handle_request(slot) {
                    Ok(Some(request)) => return request,
                    Ok(None) => continue,
                    Err(exit) => exit,
                },
                Ok(Poll::Ready(exit)) => exit,
                Err(panic) => {
                    UserExit::Failed(format!("its program panicked: {}", panic_text(&*panic)))
                }
            };
            self.end(slot);
            if let UserExit::Failed(reason) = exit {
                self.report_failure(reason);
            }
            return Request::End;
        }
    }

    /// Handles a user's request. Returns `None` if the user can continue at once.
    fn handle_request(&mut self, user_slot: Slot) -> Result<Option<Request>, UserExit> {
        let user = &self.slots[user_slot as usize];
        if self.context.is_stopped() && !user.conn.is_in_transaction() {
            return Err(UserExit::Stopped);
        }
        let (slot, conn) = user.connection_with_request(user_slot);
        let phase = conn.phase();
        if phase == UserPhase::OpenConnection && user.refused_after_end {
            return Err(UserExit::Stopped);
        }
        conn.mark_busy();
        Ok(match phase {
            UserPhase::Send => Some(Request::Send(slot)),
            UserPhase::Start => self.request_start(slot),
            // The load has begun already. Users that wait before that begin with it.
            UserPhase::CommonStart if self.has_load_begun => {
                conn.mark_ready(conn.noticed_ns());
                None
            }
            UserPhase::CommonStart => Some(Request::Wait),
            UserPhase::Sleep => {
                let wake_ns = conn.wake_ns();
                if wake_ns.saturating_sub(conn.noticed_ns()) >= SLEEP_MIN_NS {
                    self.leave_batch_policy();
                }
                self.sleeping.add(wake_ns, slot);
                Some(Request::Wait)
            }
            UserPhase::AwaitReconnect | UserPhase::OpenConnection => Some(Request::Open(slot)),
            UserPhase::Close => Some(Request::Close(slot)),
            UserPhase::AddConnection => Some(Request::AddConnection),
            UserPhase::Busy | UserPhase::Idle | UserPhase::Ready | UserPhase::Unusable => {
                return Err(UserExit::Failed(
                    "its program awaits something that the loop cannot complete".to_owned(),
                ));
            }
        })
    }

    /// Grants a start that is due, unless other users wait: the user then queues behind them.
    #[inline]
    fn request_start(&mut self, slot: Slot) -> Option<Request> {
        if self.waiting.is_empty() && self.grant_start(slot) {
            return None;
        }
        self.waiting.push_back(slot);
        Some(Request::Wait)
    }

    /// Grants a start to a user if one is due; returns whether it is.
    #[inline]
    fn grant_start(&mut self, slot: Slot) -> bool {
        let now_ns = self.clock.now_ns();
        let Some(scheduled_ns) = self.timing.take_due_start(now_ns) else {
            return false;
        };
        let conn = &self.slots[slot as usize].conn;
        conn.grant_start(scheduled_ns, now_ns);
        true
    }

    /// Grants a due start to the user that has waited longest, and returns that user.
    #[inline]
    pub fn grant_next_start(&mut self) -> Option<Slot> {
        let slot = *self.waiting.front()?;
        if !self.grant_start(slot) {
            return None;
        }
        self.waiting.pop_front()
    }

    #[inline]
    pub fn has_sleeping(&self) -> bool {
        !self.sleeping.is_empty()
    }

    /// Wakes the next user whose sleep is over at `now_ns`, and returns it.
    pub fn wake_next(&mut self, now_ns: u64) -> Option<Slot> {
        loop {
            let slot = self.sleeping.pop(now_ns)?;
            let conn = &self.slots[slot as usize].conn;
            // If the user no longer sleeps, it has abandoned its sleep, or has ended.
            if conn.is_busy_with(UserPhase::Sleep) {
                conn.mark_ready(self.clock.now_ns());
                return Some(slot);
            }
        }
    }

    /// When the next user wakes; `u64::MAX` if none sleeps.
    pub fn next_wake_ns(&self) -> u64 {
        self.sleeping.next_ns()
    }

    /// Number of connections that a user has besides its own.
    pub fn extra_count(&self, slot: Slot) -> usize {
        self.slots[slot as usize].extra_conns.len()
    }

    /// Hands an additional connection to the user that requested it, which can continue.
    pub fn add_connection(&mut self, user_slot: Slot, slot: Slot, conn: Rc<Conn>) {
        self.context.provide_connection(Rc::clone(&conn));
        let user = &mut self.slots[user_slot as usize];
        user.extra_conns.push((slot, conn));
        user.conn.mark_ready(user.conn.noticed_ns());
    }

    /// A connection that a user requested was refused. After the end of the run, the user gets no further attempt.
    pub fn on_refused(&mut self, user_slot: Slot) {
        self.slots[user_slot as usize].refused_after_end |= self.context.is_stopped();
    }

    /// Drops a user, if it has not ended.
    pub fn end(&mut self, slot: Slot) {
        let user = self.slots[slot as usize].user.take();
        self.live_count -= usize::from(user.is_some());
    }

    /// Reports that a user could not continue.
    fn report_failure(&mut self, reason: String) {
        if !self.has_load_begun {
            self.not_ready_reason.get_or_insert(reason);
            return;
        }
        self.channel.send(WorkerMessage::Event(RunEvent {
            from_ns: self.clock.now_ns(),
            until_ns: None,
            kind: RunEventKind::UserFailed,
            cause: None,
            detail: reason,
            count: 1,
        }));
    }

    /// When a wait for replies must end, even if no event arrives.
    pub fn next_deadline_ns(&self) -> u64 {
        let start_ns = match (&self.timing.schedule, self.waiting.is_empty()) {
            (Some(schedule), false) => schedule.next_ns(),
            _ => u64::MAX,
        };
        let end_ns =
            if self.is_stopped() { u64::MAX } else { self.timing.end_ns.unwrap_or(u64::MAX) };
        self.timing
            .recorder
            .rotation_due_ns()
            .min(self.sleeping.next_ns())
            .min(start_ns)
            .min(end_ns)
    }

    #[inline]
    fn is_stopped(&self) -> bool {
        self.context.is_stopped()
    }

    /// Ends the window if its time is over: no transaction starts from now on. Returns when the transactions in
    /// flight must have ended; `None` if the window is not over, or had ended before.
    #[inline]
    pub fn end_window(&mut self, now_ns: u64) -> Option<u64> {
        let is_over = self.timing.end_ns.is_some_and(|end_ns| now_ns >= end_ns);
        if !is_over || self.is_stopped() {
            return None;
        }
        self.context.stop();
        self.waiting.clear();
        self.connect_check_ns = now_ns.saturating_add(CONNECT_GRACE_NS);
        Some(now_ns.saturating_add(self.timing.grace_ns))
    }

    /// Whether a user has started a transaction that has not ended. After the window, others have nothing to wait
    /// for: neither a start nor a connection nor the end of their sleep.
    pub fn is_in_transaction(&self, slot: Slot) -> bool {
        self.slots[slot as usize].conn.is_in_transaction()
    }

    /// When to look for [`Users::unconnected_users`].
    #[inline]
    pub fn connect_check_ns(&self) -> u64 {
        self.connect_check_ns
    }

    /// After the end of the run, the users that have waited too long for a connection that they requested:
    /// the server does not accept it. Their transactions are cut off. If each transaction opens its own
    /// connection, connecting is part of the transaction, and the grace applies as it does to replies.
    pub fn unconnected_users(&mut self, now_ns: u64) -> Vec<Slot> {
        if self.context.rules().connect_per_transaction {
            self.connect_check_ns = u64::MAX;
            return Vec::new();
        }
        self.connect_check_ns = now_ns.saturating_add(CONNECT_CHECK_INTERVAL_NS);
        let has_waited_too_long = |conn: &Rc<Conn>| {
            conn.is_busy_with(UserPhase::OpenConnection)
                && now_ns.saturating_sub(conn.noticed_ns()) >= CONNECT_GRACE_NS
        };
        let slots = self.slots().zip(&self.slots);
        let unconnected = slots.filter(|(_, user)| user.conns().any(has_waited_too_long));
        unconnected.map(|(slot, _)| slot).collect()
    }
}
