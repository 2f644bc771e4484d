//! Opens, loses and restores the connections of a worker.
//!
//! In: results of connection attempts ([`LinkStep`]). Out: users resumed once their connection is up;
//! outages. Must never: block during a run, or leave a user waiting once its connection is back.

use crate::attempts::ConnectAttempts;
use crate::error::ConnectError;
use crate::io::{Io, IoEvent, IoEventKind, Slot};
use crate::link::LinkStep;
use crate::timers::TimerEvent;
use crate::worker::{LOOP_WAIT_MAX_NS, Worker};
use prony_server::control::{ConnectFailure, FailureCause};
use prony_session::UserPhase;
use prony_wire::{ServerError, SessionFlags};
use std::io;
use std::sync::atomic::Ordering;

impl<I: Io> Worker<'_, I> {
    /// Opens all connections, a limited number at a time. Opens none if users open them
    /// themselves, or if each transaction opens its own: the server may allow fewer connections than
    /// there are users.
    ///
    /// # Errors
    /// The first connection that fails on every route; a failure of the I/O engine; or an interrupt of the
    /// run.
    pub fn connect(&mut self) -> Result<(), ConnectError> {
        let program = self.assignment.program;
        // A prologue needs a connection, even if each transaction opens its own.
        let per_transaction =
            self.context.rules().connect_per_transaction && !program.has_prologue();
        if program.opens_connections() || per_transaction {
            return Ok(());
        }
        let mut events = Vec::new();
        // How many connections have been attempted, and how many were lost and are not reopened. The other
        // attempted ones are up or being opened.
        let (mut begun_count, mut lost_count) = (0, 0);
        while self.connections.up() as usize + lost_count < self.clients.connection_count() {
            if self.assignment.interrupt.load(Ordering::Relaxed) {
                return Err(ConnectError::Interrupted);
            }
            while begun_count < self.clients.connection_count() {
                let opening = begun_count - self.connections.up() as usize - lost_count;
                if !ConnectAttempts::may_begin(opening) {
                    break;
                }
                let step = self.begin_connect(begun_count as Slot);
                self.apply_connect_step(begun_count as Slot, step)?;
                begun_count += 1;
            }
            let deadline_ns = self.clock.now_ns() + LOOP_WAIT_MAX_NS;
            self.io
                .submit_and_wait(deadline_ns.min(self.timers.next_ns()), &mut events)?;
            for event in events.drain(..) {
                if self.discard_if_stale(event) {
                    continue;
                }
                if self.clients[event.slot].link.is_up() {
                    lost_count += usize::from(self.handle_event_before_start(event));
                    continue;
                }
                let step = self.handle_link_event(event);
                self.apply_connect_step(event.slot, step)?;
            }
            let now_ns = self.clock.now_ns();
            while let Some(due) = self.timers.pop(now_ns) {
                let (slot, step) = match due {
                    TimerEvent::Retry(slot) => (slot, self.begin_connect(slot)),
                    TimerEvent::ContinueLogin(slot) => (slot, self.continue_login(slot)),
                    TimerEvent::Wake(_) | TimerEvent::Refused(_) => continue,
                };
                self.apply_connect_step(slot, step)?;
            }
            for slot in self.attempts.overdue_slots(now_ns) {
                let step = self.time_out_attempt(slot);
                self.apply_connect_step(slot, step)?;
            }
        }
        Ok(())
    }

    /// Handles an event of a connection that is up while others are still being opened: the server sends a
    /// notice, or the connection is lost. A lost connection is reopened if the plan reconnects, and the run
    /// ends if the server refuses it. If the plan does not reconnect, returns true: the user of the lost
    /// connection fails at its first statement.
    fn handle_event_before_start(&mut self, event: IoEvent) -> bool {
        let reason = match event.kind {
            IoEventKind::Readable { .. } => self.receive_and_feed(event).err(),
            IoEventKind::Closed(errno) => Some(describe_close(errno)),
            IoEventKind::Opened => None,
        };
        let Some(reason) = reason else {
            return false;
        };
        let client = &mut self.clients[event.slot];
        client.close(&mut self.io, event.slot);
        client.conn.mark_lost(&reason);
        self.connections.record_closed();
        let reconnects = self.context.rules().reopens_lost_connections;
        if reconnects {
            self.retry_with_new_deadline(event.slot);
        }
        !reconnects
    }

    /// Applies the result of a connection attempt before the load. A failure ends the run: the server does
    /// not accept the number of connections that the run needs.
    fn apply_connect_step(&mut self, slot: Slot, step: LinkStep) -> Result<(), ConnectError> {
        match step {
            LinkStep::Waiting => {}
            LinkStep::Computing => self.schedule_login(slot),
            LinkStep::Up(flags, trailing_bytes) => {
                self.on_connection_up(slot, flags, &trailing_bytes)
            }
            LinkStep::TryLater => self.retry_with_same_deadline(slot),
            LinkStep::Failed(failures) => {
                return Err(ConnectError::Refused {
                    connected: self.connections.up(),
                    failures,
                });
            }
        }
        Ok(())
    }

    /// Starts connecting over the first route. A retry after [`LinkStep::TryLater`] keeps the deadline of the
    /// postponed attempt.
    pub(crate) fn begin_connect(&mut self, slot: Slot) -> LinkStep {
        if !self.attempts.has_deadline(slot) {
            self.set_attempt_deadline(slot);
        }
        let routes = self.assignment.routes_of(slot);
        let client = &mut self.clients[slot];
        client.link.begin(&mut self.io, slot, routes)
    }

    /// Discards an event that belongs to an earlier connection of its slot; returns whether it did.
    pub(crate) fn discard_if_stale(&mut self, event: IoEvent) -> bool {
        let is_stale = !self.io.is_current(event);
        if is_stale {
            // Receive the bytes only to return their buffer to the I/O engine.
            self.io.receive(event);
        }
        is_stale
    }

    /// Handles an event of a link that is still connecting.
    pub(crate) fn handle_link_event(&mut self, event: IoEvent) -> LinkStep {
        let step = self.advance_link(event);
        self.set_deadline_of_next_route(event.slot);
        step
    }

    /// Continues a computation of a login.
    pub(crate) fn continue_login(&mut self, slot: Slot) -> LinkStep {
        let routes = self.assignment.routes_of(slot);
        let link = &mut self.clients[slot].link;
        let step = link.feed_login(&[], &mut self.io, slot, routes, &mut self.scratch);
        self.set_deadline_of_next_route(slot);
        step
    }

    /// If the link has begun an attempt over the next route, that attempt gets its own deadline.
    fn set_deadline_of_next_route(&mut self, slot: Slot) {
        if self.clients[slot].link.is_opening() {
            self.set_attempt_deadline(slot);
        }
    }

    /// Continues a computation of a login after the events that have arrived.
    fn schedule_login(&mut self, slot: Slot) {
        let now_ns = self.clock.now_ns();
        self.timers.add(now_ns, TimerEvent::ContinueLogin(slot));
    }

    fn advance_link(&mut self, event: IoEvent) -> LinkStep {
        let slot = event.slot;
        let routes = self.assignment.routes_of(slot);
        let link = &mut self.clients[slot].link;
        match event.kind {
            IoEventKind::Opened => {
                let step = link.on_socket_connected(&mut self.io, slot, routes, &mut self.scratch);
                if routes.has_race() {
                    self.set_deadline_of_step(slot, false);
                }
                step
            }
            IoEventKind::Closed(errno) => link.on_socket_closed(&mut self.io, slot, routes, errno),
            IoEventKind::Readable { .. } => {
                let Some(received) = self.io.receive(event) else {
                    return LinkStep::Waiting;
                };
                if let Some(errno) = received.closed {
                    return link.on_socket_closed(&mut self.io, slot, routes, errno);
                }
                // Logins are rare: copying their bytes is fine.
                let bytes = received.bytes.to_vec();
                link.feed_login(&bytes, &mut self.io, slot, routes, &mut self.scratch)
            }
        }
    }

    fn on_connection_up(&mut self, slot: Slot, flags: SessionFlags, trailing_bytes: &[u8]) {
        self.attempts.record_success(slot, self.clock.now_ns());
        let client = &mut self.clients[slot];
        client.conn.mark_opened_with_flags(flags);
        // Only notices can follow the login; a protocol violation is detected again with the first reply.
        let _ = client.conn.feed(trailing_bytes);
        self.connections.record_opened();
    }

    /// Schedules another attempt after a pause. It gets a new deadline.
    fn retry_with_new_deadline(&mut self, slot: Slot) {
        self.attempts.clear_deadline(slot);
        self.retry_with_same_deadline(slot);
    }

    /// Schedules another attempt after a pause. It keeps the deadline of an attempt that the server has not
    /// accepted yet.
    fn retry_with_same_deadline(&mut self, slot: Slot) {
        let now_ns = self.clock.now_ns();
        let pause_ns = self.attempts.take_pause_ns(slot);
        self.timers.add(now_ns + pause_ns, TimerEvent::Retry(slot));
    }

    /// Applies the result of an attempt to reconnect, or to open a connection that a user requested.
    pub(crate) fn apply_reconnect_step(&mut self, slot: Slot, step: LinkStep) {
        match step {
            LinkStep::Waiting => return,
            LinkStep::Computing => return self.schedule_login(slot),
            LinkStep::Up(flags, trailing_bytes) => {
                self.on_connection_up(slot, flags, &trailing_bytes);
                self.on_connection_restored(slot);
            }
            LinkStep::TryLater => {
                self.retry_with_same_deadline(slot);
                return;
            }
            LinkStep::Failed(failures) => {
                if !self.clients[slot]
                    .conn
                    .is_busy_with(UserPhase::OpenConnection)
                {
                    self.retry_with_new_deadline(slot);
                    return;
                }
                self.report_refusal(slot, &failures);
            }
        }
        let noticed_ns = self.clock.now_ns();
        let conn = &self.clients[slot].conn;
        // If no user waits for the connection, it was reopened in the background, or its user has ended.
        if !conn.is_busy_with(UserPhase::OpenConnection)
            && !conn.is_busy_with(UserPhase::AwaitReconnect)
        {
            return;
        }
        conn.mark_ready(noticed_ns);
        self.resume(slot)
    }

    /// Opens a new connection in place of the current one.
    pub(crate) fn open_new_connection(&mut self, slot: Slot) {
        let client = &mut self.clients[slot];
        if client.link.is_up() {
            self.connections.record_closed();
        }
        client.close(&mut self.io, slot);
        client.conn.mark_closed();
        client.stays_closed = false;
        self.attempts.clear_deadline(slot);
        // If a connection was lost right after it came up, wait before the next attempt, as after a refusal.
        if self.attempts.take_short_lived_loss(slot)
            && client.conn.is_busy_with(UserPhase::AwaitReconnect)
        {
            return self.retry_with_new_deadline(slot);
        }
        if !self.start_gate.is_open() && !ConnectAttempts::may_begin(self.clients.opening_count()) {
            return self.attempts.enqueue(slot);
        }
        match self.begin_connect(slot) {
            LinkStep::Waiting | LinkStep::Computing | LinkStep::Up(..) => {}
            LinkStep::TryLater => self.retry_with_same_deadline(slot),
            LinkStep::Failed(failures) => {
                if self.clients[slot]
                    .conn
                    .is_busy_with(UserPhase::OpenConnection)
                {
                    // Resume the user in the next iteration: a user that retries all the time must not starve
                    // the others.
                    let at_ns = self.clock.now_ns() + 1;
                    self.timers.add(at_ns, TimerEvent::Refused(slot));
                    self.report_refusal(slot, &failures);
                } else {
                    self.retry_with_new_deadline(slot);
                }
            }
        }
    }

    /// Reports to a user that the connection it requested could not be opened. The worker does not try again:
    /// the user decides whether to.
    fn report_refusal(&mut self, slot: Slot, failures: &[ConnectFailure]) {
        self.attempts.clear_deadline(slot);
        let client = &mut self.clients[slot];
        client.stays_closed = true;
        client.refused_after_end = self.context.is_stopped();
        let (server_error, reason) = refusal_reason(failures);
        client.conn.mark_refused(server_error, reason);
        if let Some(on_refused) = self.assignment.on_connect_refused {
            on_refused(failures);
        }
    }

    /// Handles the loss of a connection that was up.
    pub(crate) fn on_connection_lost(&mut self, slot: Slot, reason: &str) {
        let now_ns = self.clock.now_ns();
        let client = &mut self.clients[slot];
        client.close(&mut self.io, slot);
        client.conn.mark_lost(reason);
        self.attempts.record_loss(slot, now_ns);
        self.connections
            .record_loss(slot, now_ns, || client.conn.failure_message());
        if !client.conn.is_busy_with(UserPhase::Send) {
            // Between transactions the connection is reopened in the background, as in a pool. A user in a
            // transaction, or in a run without reconnects, notices the loss at its next request.
            let user_slot = client.user_slot;
            let owner = &self.clients[user_slot].conn;
            if self.context.rules().reopens_lost_connections && !owner.is_in_transaction() {
                self.retry_with_new_deadline(slot);
            }
            return;
        }
        client.conn.mark_ready(now_ns);
        self.resume(slot)
    }

    /// Records that a lost connection is back, or that its user no longer needs it. When no connection is
    /// lost any more, the outage ends.
    pub(crate) fn on_connection_restored(&mut self, slot: Slot) {
        let outage = self
            .connections
            .record_restored(slot, || self.clock.now_ns());
        if let Some(outage) = outage {
            self.reports.deliver_event(outage);
        }
    }
}

/// Why a connection was refused: the server's error, if there is one, and a text. Both are of the last route.
fn refusal_reason(failures: &[ConnectFailure]) -> (Option<&ServerError>, String) {
    let last_failure = failures.last();
    let server_error = last_failure.and_then(|failure| match &failure.cause {
        FailureCause::Login(error) => error.server_error(),
        _ => None,
    });
    (
        server_error,
        last_failure.map_or_else(String::new, ToString::to_string),
    )
}

pub(crate) fn describe_close(errno: i32) -> String {
    match errno {
        0 => "the server closed the connection".to_owned(),
        errno => format!(
            "the connection was lost: {}",
            io::Error::from_raw_os_error(errno)
        ),
    }
}
