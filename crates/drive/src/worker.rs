//! The event loop of a worker: one thread, its connections and its users.
//!
//! In: events of the sockets, the schedule, the end of the run. Out: recorded samples. Must never: take a
//! lock, log, use memory of other threads or allocate for a transaction, except for the error of a failed
//! one; depend on a workload; or skip a scheduled start.
//!
//! An iteration sends the requests that users made in the previous one, waits for events, and resumes each
//! user whose reply is complete or whose timer has expired. The clock is read again for each user.
//!
//! These structs keep the counts and queues of a worker in private fields. The modules in the last column
//! change them:
//!
//! | struct | contents | changed in |
//! | --- | --- | --- |
//! | [`Clients`] | connections and users by slot; how many users are live | `users`, `requests`, `ending` |
//! | [`ConnectionCounts`] | connections that are up or lost; the outage | `connections`, `requests`, `ending` |
//! | [`ConnectAttempts`] | connections that wait to be opened; deadlines | `connections`, `requests`, `attempts` |
//! | [`WaitingUsers`] | users that wait for a scheduled start | `requests`, `users`, `ending` |
//! | [`StartGate`] | whether the load has begun | `prologue`, `users` |
//! | [`ConnectionWaitCheck`] | when to drop users that wait for a connection | `ending` |

use crate::assignment::{Assignment, Timing};
use crate::attempts::ConnectAttempts;
use crate::clients::Clients;
use crate::clock::Clock;
use crate::connection_counts::ConnectionCounts;
use crate::connections::describe_close;
use crate::ending::ConnectionWaitCheck;
use crate::io::{Io, IoEvent, IoEventKind, Slot};
use crate::link::ScratchBuffers;
use crate::prologue::StartGate;
use crate::queue::WaitingUsers;
use crate::run_event::{NoReports, Reports};
use crate::stamps::{ServiceTimeSplitter, TRANSMIT_TIMESTAMP_CONNECTIONS};
use crate::timers::Timers;
use prony_session::{DbError, UserPhase, WorkerContext};
use prony_wire::FeedStatus;
use std::io;
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// While a reply is handled, the state of the user whose reply is this many later is prefetched into the
/// CPU's cache.
const PREFETCH_DISTANCE: usize = 6;
/// Longest wait of an iteration, so that an interrupt is noticed soon.
pub(crate) const LOOP_WAIT_MAX_NS: u64 = 50_000_000;

/// The connections and users of one thread, and the event loop that drives them.
pub struct Worker<'a, I: Io> {
    pub(crate) io: I,
    pub(crate) clock: Clock,
    pub(crate) assignment: Assignment<'a>,
    pub(crate) clients: Clients,
    pub(crate) connections: ConnectionCounts,
    pub(crate) attempts: ConnectAttempts,
    pub(crate) context: Rc<WorkerContext>,
    pub(crate) splitter: ServiceTimeSplitter,
    pub(crate) timers: Timers,
    pub(crate) scratch: ScratchBuffers,
    pub(crate) waiting: WaitingUsers,
    pub(crate) start_gate: StartGate,
    /// The times of the load, its scheduled starts, and the recorder.
    pub(crate) timing: Timing,
    /// Receives the intervals and events of the run.
    pub(crate) reports: Box<dyn Reports + 'a>,
    pub(crate) wait_check: ConnectionWaitCheck,
}

impl<'a, I: Io> Worker<'a, I> {
    /// Creates a worker with all connections down.
    pub fn new(io: I, assignment: Assignment<'a>, context: WorkerContext) -> Self {
        let clock = io.clock();
        let timing = Timing::before_load(assignment.program.kinds().len(), clock.now_ns());
        let users = assignment.users.len();
        Worker {
            clients: Clients::new(users, assignment.new_conn),
            connections: ConnectionCounts::default(),
            attempts: ConnectAttempts::new(users),
            splitter: ServiceTimeSplitter::new(clock.clone()),
            io,
            clock,
            assignment,
            context: Rc::new(context),
            timers: Timers::default(),
            scratch: ScratchBuffers::default(),
            waiting: WaitingUsers::default(),
            start_gate: StartGate::default(),
            timing,
            reports: Box::new(NoReports),
            wait_check: ConnectionWaitCheck::default(),
        }
    }

    /// The clock of the I/O engine.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// TLS version and cipher of the first connection that is up and uses TLS.
    pub fn tls(&self) -> Option<String> {
        self.clients.iter().find_map(|client| client.link.tls())
    }

    /// Drives the users until they are done, the time is up, or the run is interrupted.
    ///
    /// # Errors
    /// If the I/O engine itself fails.
    pub fn drive(&mut self, timing: Timing, reports: Box<dyn Reports + 'a>) -> io::Result<()> {
        (self.timing, self.reports) = (timing, reports);
        let mut events = Vec::with_capacity(self.clients.connection_count().min(4096));
        self.await_start(&mut events)?;
        if let Some(listener) = &mut self.assignment.sample_listener {
            listener.started(self.timing.start_ns);
        }
        let batch = self.timing.batch_policy.counts();
        self.timing.recorder.set_batch(batch);
        self.start_users();
        let can_coalesce = self.io.can_coalesce();
        let start_ns = self.clock.now_ns();
        let strategy = self.timing.wait_policy.start(start_ns, can_coalesce);
        self.io.set_wait_strategy(strategy);
        let mut hard_end_ns = u64::MAX;
        let mut resumed_ns = self.clock.now_ns();
        while self.clients.live_users() > 0 {
            let now_ns = self.clock.now_ns();
            if self.is_interrupted() || now_ns >= hard_end_ns {
                break;
            }
            if self.timing.end_ns.is_some_and(|end_ns| now_ns >= end_ns)
                && !self.context.is_stopped()
            {
                hard_end_ns = now_ns.saturating_add(self.timing.grace_ns);
                self.end_window();
                self.resume_disconnected_users();
                continue;
            }
            // This also delivers an interval that ended, and was closed, when a user was resumed.
            if self.rotate_interval(now_ns) {
                self.deliver_intervals();
            }
            if self.attempts.may_be_overdue(now_ns) {
                self.time_out_overdue(now_ns);
            }
            if self.context.is_stopped() {
                self.drop_unconnected_users(now_ns);
            }
            self.timing
                .recorder
                .record_iteration(now_ns - resumed_ns, events.len() as u64);
            self.update_wait_strategy(now_ns, events.len());
            events.clear();
            let deadline_ns = self.next_deadline_ns(now_ns).min(hard_end_ns);
            self.io.submit_and_wait(deadline_ns, &mut events)?;
            resumed_ns = self.clock.now_ns();
            self.splitter
                .refresh(resumed_ns, self.timing.recorder.timestamps());
            for (index, event) in events.iter().enumerate() {
                if let Some(later_event) = events.get(index + PREFETCH_DISTANCE) {
                    self.clients[later_event.slot].prefetch();
                }
                self.handle_event(*event);
            }
            self.wake_users();
            if self.queue_overflowed() {
                break;
            }
        }
        self.finish();
        Ok(())
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.assignment.interrupt.load(Ordering::Relaxed)
    }

    /// Closes all connections.
    pub fn close(mut self) {
        for slot in self.clients.slots() {
            // Drop a user before its connection, because the user may hold an abandoned request.
            self.clients.end_user(slot);
            self.clients[slot].close(&mut self.io, slot);
        }
    }

    /// Handles one event.
    pub(crate) fn handle_event(&mut self, event: IoEvent) {
        let slot = event.slot;
        let is_up = self.clients[slot].link.is_up();
        if is_up && matches!(event.kind, IoEventKind::Readable { .. }) {
            // `Io::receive` discards it if it is stale.
            return self.on_reply(event);
        }
        if self.discard_if_stale(event) {
            return;
        }
        if !is_up {
            let step = self.handle_link_event(event);
            return self.apply_reconnect_step(slot, step);
        }
        if let IoEventKind::Closed(errno) = event.kind {
            self.on_connection_lost(slot, &describe_close(errno));
        }
    }

    /// Handles bytes for a connection that is up; this is the hot path of the loop. Feeds the bytes to the
    /// connection. If they complete a round trip, splits its time, and then sends the next part of the
    /// request or resumes the user.
    fn on_reply(&mut self, event: IoEvent) {
        let slot = event.slot;
        let (status, timestamp_ns) = match self.receive_and_feed(event) {
            Ok(received) => received,
            Err(reason) => return self.on_connection_lost(slot, &reason),
        };
        if status == FeedStatus::More || !self.clients[slot].conn.is_busy_with(UserPhase::Send) {
            return;
        }
        let noticed_ns = self.clock.now_ns();
        self.split_round_trip(slot, timestamp_ns, noticed_ns);
        if status == FeedStatus::Send {
            // The next round trip of the same request begins here.
            self.clients[slot].conn.set_noticed_ns(noticed_ns);
            self.send(slot);
            return;
        }
        self.clients[slot].conn.mark_ready(noticed_ns);
        self.resume(slot)
    }

    /// Sends the part of a connection's request that belongs to the next round trip.
    pub(crate) fn send(&mut self, slot: Slot) {
        let client = &mut self.clients[slot];
        let can_request_timestamp = slot < TRANSMIT_TIMESTAMP_CONNECTIONS && client.has_timestamps;
        client.timestamp_requested = can_request_timestamp
            && self
                .splitter
                .should_request_timestamp(client.conn.noticed_ns());
        let request = client.conn.outgoing();
        let (io, scratch) = (&mut self.io, &mut self.scratch);
        client
            .link
            .send(&request, client.timestamp_requested, io, slot, scratch);
    }

    /// Splits the time of the round trip that ends now, and adds its parts to those of the transaction. A
    /// request may have several round trips, each with its own departure and arrival.
    fn split_round_trip(&mut self, slot: Slot, timestamp_ns: Option<u64>, noticed_ns: u64) {
        let client = &mut self.clients[slot];
        let counts = self.timing.recorder.timestamps();
        let sent = self.io.sent(slot);
        if client.timestamp_requested {
            client.timestamp_requested = false;
            if let Some(transmit_ns) = self.io.transmit_timestamp_ns(slot) {
                self.splitter.update_send_cost(sent, transmit_ns, counts);
            }
        }
        let queued_ns = client.conn.noticed_ns();
        let mut parts = self
            .splitter
            .split(queued_ns, sent, timestamp_ns, noticed_ns, counts);
        if let Some(parts) = &mut parts {
            // The timestamp is that of the last byte of a read. If other data followed the reply in the same
            // read, the reply arrived earlier, and the server time is an upper bound.
            parts.server_is_upper_bound = client.conn.may_predate_timestamp();
        }
        client.conn.add_parts(parts);
    }

    /// Feeds the bytes that arrived to a connection that is up. Returns how far the reply is, and the
    /// timestamp of the bytes' arrival.
    ///
    /// # Errors
    /// Why the connection can no longer be used.
    pub(crate) fn receive_and_feed(
        &mut self,
        event: IoEvent,
    ) -> Result<(FeedStatus, Option<u64>), String> {
        let slot = event.slot;
        let client = &mut self.clients[slot];
        let Some(received) = self.io.receive(event) else {
            return Ok((FeedStatus::More, None));
        };
        if let Some(errno) = received.closed {
            return Err(describe_close(errno));
        }
        let timestamp_ns = received.timestamp_ns;
        client.has_timestamps = timestamp_ns.is_some();
        let status = if client.link.is_plain() {
            client.conn.feed(received.bytes)
        } else {
            // Copy the bytes: they cannot stay borrowed from the I/O engine, which may have to send TLS
            // messages.
            let mut bytes = std::mem::take(&mut self.scratch.from_socket);
            bytes.clear();
            bytes.extend_from_slice(received.bytes);
            let (conn, scratch) = (&client.conn, &mut self.scratch);
            let result = client
                .link
                .receive(&bytes, &mut self.io, slot, scratch, |plain| {
                    conn.feed(plain)
                });
            self.scratch.from_socket = bytes;
            result.unwrap_or_else(|reason| Err(DbError::protocol(reason)))
        };
        let status = status.map_err(DbError::into_message)?;
        Ok((status, timestamp_ns))
    }

    /// Tells the recorder how many connections are up, and how many were lost and are not back yet.
    pub(crate) fn record_connections(&mut self) {
        let (up, lost) = (self.connections.up(), self.connections.lost_count());
        self.timing.recorder.set_connections(up, lost);
    }

    /// Delivers finished intervals, and takes cleared ones back for reuse.
    fn deliver_intervals(&mut self) {
        self.record_connections();
        while let Some(interval) = self.timing.recorder.take_finished() {
            self.reports.deliver_interval(interval);
        }
        while let Some(spare) = self.reports.take_spare() {
            self.timing.recorder.give_back(spare);
        }
    }

    /// Passes the number of replies of an iteration to the wait policy. If the policy changes its strategy,
    /// passes the new one to the I/O engine.
    #[inline]
    fn update_wait_strategy(&mut self, now_ns: u64, replies: usize) {
        let (policy, recorder) = (&mut self.timing.wait_policy, &mut self.timing.recorder);
        if let Some(strategy) = policy.after_iteration(now_ns, replies) {
            self.io.set_wait_strategy(strategy);
            recorder.set_coalescing(policy.is_coalescing());
        }
    }

    /// Returns to the default scheduling policy, because a user has to wake on time.
    pub(crate) fn leave_batch_policy(&mut self) {
        self.timing.batch_policy.leave();
        let counts = self.timing.batch_policy.counts();
        self.timing.recorder.set_batch(counts);
    }

    /// When the next wait must end, even if no event arrives.
    fn next_deadline_ns(&self, now_ns: u64) -> u64 {
        let start_ns = match (&self.timing.schedule, self.waiting.is_empty()) {
            (Some(schedule), false) => schedule.next_ns(),
            _ => u64::MAX,
        };
        let end_ns = if self.context.is_stopped() {
            u64::MAX
        } else {
            self.timing.end_ns.unwrap_or(u64::MAX)
        };
        (now_ns + LOOP_WAIT_MAX_NS)
            .min(self.timing.recorder.rotation_due_ns())
            .min(self.timers.next_ns())
            .min(start_ns)
            .min(end_ns)
    }
}
