//! Attempts to connect: before the load, at a user's request, and after a loss.
//!
//! In: events of links that are not up, the time. Out: connections that are up, or refused. Must never: leave an attempt
//! without a deadline, or flood a server that refuses clients.

use super::{ConnectionEvent, ConnectionSlot, Connections, LinkTimer, Stage};
use crate::error::ConnectError;
use crate::hosts::ConnectionUse;
use crate::io::{Io, IoEvent, IoEventKind, Slot};
use crate::link::{AttemptPart, FirstEndpoint, LinkStep, Routes};
use prony_measure::interval::TimestampCounts;
use prony_server::control::{ConnectFailure, FailureCause};
use prony_session::UserPhase;
use prony_wire::{ServerError, SessionFlags};
use std::sync::atomic::{AtomicBool, Ordering};

impl<'a, I: Io> Connections<'a, I> {
    /// Opens all connections, a limited number at a time.
    ///
    /// # Errors
    /// The first connection that fails on every route: the server does not accept the number of connections that the
    /// run needs; a failure of the I/O engine; or an interrupt of the run.
    pub fn connect(&mut self, interrupt: &AtomicBool) -> Result<(), ConnectError> {
        self.stage = Stage::Connecting;
        for (slot, connection) in (0..).zip(&self.slots) {
            if connection.link.is_down() {
                self.attempts.enqueue(slot);
            }
        }
        let mut events = Vec::new();
        // No request is sent meanwhile that could have timestamps.
        let mut timestamps = TimestampCounts::default();
        let is_settled = |slot: &ConnectionSlot| slot.link.is_up() || slot.stays_closed;
        while !self.slots.iter().all(is_settled) {
            if interrupt.load(Ordering::Relaxed) {
                return Err(ConnectError::Interrupted);
            }
            let now_ns = self.clock.now_ns();
            for event in self.handle_due(now_ns) {
                self.check_not_refused(event)?;
            }
            self.wait(now_ns, u64::MAX, &mut events)?;
            for event in events.drain(..) {
                if let Some(event) = self.on_event(event, &mut timestamps) {
                    self.check_not_refused(event)?;
                }
            }
        }
        self.stage = Stage::Prologue;
        Ok(())
    }

    /// Checks that a connection was not refused before there are users.
    fn check_not_refused(&mut self, event: ConnectionEvent) -> Result<(), ConnectError> {
        let ConnectionEvent::Refused(slot) = event else {
            return Ok(());
        };
        Err(ConnectError::Refused {
            connected: self.counts.up(),
            failures: self.slots[slot as usize].link.take_failures(),
        })
    }

    /// Whether [`Connections::handle_due`] may have something to do.
    #[inline]
    pub fn may_be_due(&self, now_ns: u64) -> bool {
        self.attempts.may_be_due(now_ns)
            || now_ns >= self.timers.next_ns()
            || now_ns >= self.reply_check_ns
            || !self.refused_at_once.is_empty()
    }

    /// Tries again to connect after a pause, continues log-ins, opens queued connections, and ends attempts that are
    /// past their deadline.
    pub fn handle_due(&mut self, now_ns: u64) -> Vec<ConnectionEvent> {
        let mut events = Vec::new();
        for slot in std::mem::take(&mut self.refused_at_once) {
            self.slots[slot as usize].conn.set_noticed_ns(now_ns);
            events.push(ConnectionEvent::Refused(slot));
        }
        while let Some(due) = self.timers.pop(now_ns) {
            let (slot, step) = match due {
                LinkTimer::Retry(slot) if self.may_retry(slot) => (slot, self.begin_connect(slot)),
                LinkTimer::Retry(_) => continue,
                // If the link has ended its login in the meantime, this changes nothing.
                LinkTimer::ContinueLogin(slot) => (slot, self.continue_login(slot)),
                LinkTimer::Probe(host) => match self.begin_probe(host) {
                    Some(begun) => begun,
                    None => continue,
                },
            };
            events.extend(self.apply_step(slot, step));
        }
        while let Some(slot) = self.attempts.take_queued() {
            // A retry may have been due at the same time.
            if !self.slots[slot as usize].link.is_down() {
                continue;
            }
            let step = self.begin_connect(slot);
            events.extend(self.apply_step(slot, step));
        }
        for slot in self.attempts.overdue_slots(now_ns) {
            let step = self.time_out(slot);
            events.extend(self.apply_step(slot, step));
        }
        if now_ns >= self.reply_check_ns {
            events.extend(self.lose_silent(now_ns));
        }
        events
    }

    /// Whether to try again after a pause: not if the user has opened or closed the connection in the meantime.
    fn may_retry(&self, slot: Slot) -> bool {
        let connection = &self.slots[slot as usize];
        let owner = &self.slots[connection.user_slot as usize];
        connection.link.is_down() && !connection.stays_closed && !owner.user_has_ended
    }

    /// Opens a new connection in place of the current one, at its user's request.
    pub fn open(&mut self, slot: Slot) {
        let connection = &self.slots[slot as usize];
        if connection.link.is_up()
            && let Some(reason) = connection.conn.refusal()
        {
            self.give_up(slot, &reason);
        }
        self.close_slot(slot);
        let connection = &mut self.slots[slot as usize];
        connection.stays_closed = false;
        // If a connection was lost right after it came up, wait before the next attempt, as after a refusal.
        if self.attempts.take_short_lived_loss(slot)
            && connection.conn.is_busy_with(UserPhase::AwaitReconnect)
        {
            return self.retry_with_new_deadline(slot);
        }
        if self.stage != Stage::Load {
            return self.attempts.enqueue(slot);
        }
        let step = self.begin_connect(slot);
        if let Some(ConnectionEvent::Refused(slot)) = self.apply_step(slot, step) {
            // Report it in the next iteration: a user that retries all the time must not starve the others.
            self.refused_at_once.push(slot);
        }
    }

    /// Starts connecting over the first route to the host that is chosen for this attempt. A retry after
    /// [`LinkStep::TryLater`] keeps the deadline of the postponed attempt.
    pub(super) fn begin_connect(&mut self, slot: Slot) -> LinkStep {
        let connection = &mut self.slots[slot as usize];
        let (connection_use, number) = (connection.connection_use, connection.number);
        let refused_by = connection
            .refused_by
            .take()
            .filter(|_| matches!(connection_use, ConnectionUse::Main | ConnectionUse::Reads));
        connection.first_endpoint = match (refused_by, connection.home) {
            (Some(host), _) => self.routes.after_host(host),
            (None, Some(home)) if connection.conn.must_return() => self.routes.at_host(home),
            _ => (self.routes).first_endpoint(connection_use, number, &mut self.random),
        };
        let first = connection.first_endpoint;
        if !self.attempts.has_deadline(slot) {
            self.set_deadline(slot, AttemptPart::Opening);
        }
        let routes = self.routes_of(slot);
        let link = &mut self.slots[slot as usize].link;
        link.begin(&mut self.io, slot, routes, first)
    }

    pub(super) fn on_link_event(&mut self, event: IoEvent) -> Option<ConnectionEvent> {
        let step = self.advance_link(event);
        self.set_deadline_of_next_route(event.slot);
        self.apply_step(event.slot, step)
    }

    fn advance_link(&mut self, event: IoEvent) -> LinkStep {
        let slot = event.slot;
        let routes = self.routes_of(slot);
        let link = &mut self.slots[slot as usize].link;
        match event.kind {
            IoEventKind::Opened => {
                let step = link.on_socket_connected(&mut self.io, slot, routes, &mut self.scratch);
                if routes.has_race() {
                    self.set_deadline(slot, AttemptPart::Login);
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

    fn continue_login(&mut self, slot: Slot) -> LinkStep {
        let routes = self.routes_of(slot);
        let link = &mut self.slots[slot as usize].link;
        let step = link.feed_login(&[], &mut self.io, slot, routes, &mut self.scratch);
        self.set_deadline_of_next_route(slot);
        step
    }

    /// Ends an attempt that is past its deadline, and tries the next route, if there is one.
    fn time_out(&mut self, slot: Slot) -> LinkStep {
        self.set_deadline(slot, AttemptPart::Opening);
        let routes = self.routes_of(slot);
        let link = &mut self.slots[slot as usize].link;
        link.on_timeout(&mut self.io, slot, routes)
    }

    fn routes_of(&self, slot: Slot) -> &'a Routes {
        &self.routes.routes[self.slots[slot as usize].first_endpoint.route_index]
    }

    /// Sets the deadline of a part of an attempt that begins now.
    pub(super) fn set_deadline(&mut self, slot: Slot, part: AttemptPart) {
        let routes = self.routes_of(slot);
        let deadline_ns = routes.deadline_ns(&self.clock, part);
        self.attempts.set_deadline(slot, deadline_ns);
    }

    /// If the link has begun an attempt over the next route, that attempt gets its own deadline.
    fn set_deadline_of_next_route(&mut self, slot: Slot) {
        if self.slots[slot as usize].link.is_opening() {
            self.set_deadline(slot, AttemptPart::Opening);
        }
    }

    fn apply_step(&mut self, slot: Slot, step: LinkStep) -> Option<ConnectionEvent> {
        match step {
            LinkStep::Waiting => None,
            LinkStep::Computing => {
                // After the events that have arrived.
                let now_ns = self.clock.now_ns();
                self.timers.add(now_ns, LinkTimer::ContinueLogin(slot));
                None
            }
            LinkStep::TryLater => {
                self.retry_with_same_deadline(slot);
                None
            }
            LinkStep::Up(flags, trailing_bytes) => {
                self.record_failures(slot);
                self.slots[slot as usize].link.take_failures();
                self.on_up(slot, flags, &trailing_bytes)
            }
            LinkStep::Failed if self.stage == Stage::Connecting => {
                Some(ConnectionEvent::Refused(slot))
            }
            LinkStep::Failed => {
                self.record_failures(slot);
                self.on_refusal(slot)
            }
        }
    }

    /// Counts the failures of an attempt during the load, which keep a client waiting.
    fn record_failures(&mut self, slot: Slot) {
        let connection = &self.slots[slot as usize];
        let is_probe = matches!(connection.connection_use, ConnectionUse::Probe(_));
        if self.stage != Stage::Load || is_probe {
            return;
        }
        for failure in connection.link.failures() {
            let (cause, now_ns) = (failure.cause.name(), self.clock.now_ns());
            let counts = &mut self.counts;
            counts.record_failed_attempt(cause, now_ns, || failure.to_string());
        }
    }

    fn on_up(
        &mut self,
        slot: Slot,
        flags: SessionFlags,
        trailing_bytes: &[u8],
    ) -> Option<ConnectionEvent> {
        self.attempts.record_success(slot, self.clock.now_ns());
        if let ConnectionUse::Probe(host) = self.slots[slot as usize].connection_use {
            self.on_probe_up(slot, host, flags);
            return None;
        }
        self.enter_host(slot);
        let conn = &self.slots[slot as usize].conn;
        conn.mark_opened_with_flags(flags);
        // Only notices can follow the login; a protocol violation is detected again with the first reply.
        let _ = conn.feed(trailing_bytes);
        self.counts.record_opened();
        self.on_restored(slot);
        let conn = &self.slots[slot as usize].conn;
        // If no user waits for the connection, it was reopened in the background, or its user has ended.
        let is_awaited = conn.is_busy_with(UserPhase::OpenConnection)
            || conn.is_busy_with(UserPhase::AwaitReconnect);
        if !is_awaited {
            return None;
        }
        conn.mark_ready(self.clock.now_ns());
        Some(ConnectionEvent::Up(slot))
    }

    fn enter_host(&mut self, slot: Slot) {
        let connection = &self.slots[slot as usize];
        let first = connection.first_endpoint;
        let host = self.routes.host_of(FirstEndpoint {
            endpoint: connection.link.endpoint_index(),
            ..first
        });
        let wanted = self.routes.host_of(first);
        connection.conn.set_host(host);
        if let Some(connections) = self.hosts.get_mut(usize::from(host)) {
            connections.up += 1;
            connections.arrived += u64::from(host != wanted);
        }
        self.note_host(slot, host, wanted);
    }

    /// Handles an attempt that failed on every route. If a user requested the connection, the user decides whether
    /// to try again.
    fn on_refusal(&mut self, slot: Slot) -> Option<ConnectionEvent> {
        let connection = &mut self.slots[slot as usize];
        if let ConnectionUse::Probe(host) = connection.connection_use {
            self.end_probe(slot, host);
            return None;
        }
        if !connection.conn.is_busy_with(UserPhase::OpenConnection) {
            self.retry_with_new_deadline(slot);
            return None;
        }
        self.attempts.clear_deadline(slot);
        connection.stays_closed = true;
        let failures = connection.link.failures();
        let (server_error, reason) = refusal_reason(failures);
        connection.conn.mark_refused(server_error, reason);
        if let Some(on_refused) = self.job.on_connect_refused {
            on_refused(failures);
        }
        connection.conn.mark_ready(self.clock.now_ns());
        Some(ConnectionEvent::Refused(slot))
    }

    /// Schedules another attempt after a pause. It gets a new deadline.
    pub(super) fn retry_with_new_deadline(&mut self, slot: Slot) {
        self.attempts.clear_deadline(slot);
        self.retry_with_same_deadline(slot);
    }

    /// Schedules another attempt after a pause. It keeps the deadline of an attempt that the server has not
    /// accepted yet.
    fn retry_with_same_deadline(&mut self, slot: Slot) {
        let now_ns = self.clock.now_ns();
        let pause_ns = self.attempts.take_pause_ns(slot);
        self.timers.add(now_ns + pause_ns, LinkTimer::Retry(slot));
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
