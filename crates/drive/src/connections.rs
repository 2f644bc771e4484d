//! The connections of a worker: opens, feeds, loses and restores them, and splits the times of their round trips.
//! `connecting` has the attempts to connect, `returning` what becomes of connections that had to move away.
//!
//! In: events of the sockets, requests of users, the time. Out: [`ConnectionEvent`]s, one for each user that can
//! continue; outages. Must never: run a user, block during a run, or leave a user waiting once its connection is
//! back.

mod connecting;
mod overdue;
mod returning;

use crate::attempts::ConnectAttempts;
use crate::clock::Clock;
use crate::connection_counts::ConnectionCounts;
use crate::hosts::{ConnectionUse, HostConnections, RouteTable};
use crate::io::{Io, IoEvent, IoEventKind, Slot, WaitStrategy};
use crate::job::DriveJob;
use crate::kept::{KeptConnection, KeptConnections};
use crate::link::{FirstEndpoint, Link, ScratchBuffers};
use crate::messages::{CollectorChannel, WorkerMessage};
use crate::prefetch::prefetch;
use crate::stamps::{ServiceTimeSplitter, TRANSMIT_TIMESTAMP_CONNECTIONS};
use crate::timers::Timers;
use prony_document::CONNECTION_WAS_LOST;
use prony_measure::interval::TimestampCounts;
use prony_plan::SplitMix;
use prony_session::{Conn, DbError, UserPhase};
use prony_wire::FeedStatus;
use returning::HostProbe;
use std::io;
use std::rc::Rc;

/// Longest wait for events, so that an interrupt is noticed soon.
const WAIT_MAX_NS: u64 = 50_000_000;

/// What became of a connection. The user that waited for it is ready to be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionEvent {
    /// The reply to a request is complete.
    Reply(Slot),
    /// The connection that a user requested, or had lost, is up.
    Up(Slot),
    /// The connection was lost while a request was in flight.
    Lost(Slot),
    /// The connection that a user requested was refused; or any connection, before there are users.
    Refused(Slot),
}

impl ConnectionEvent {
    #[inline]
    pub fn slot(self) -> Slot {
        let (ConnectionEvent::Reply(slot)
        | ConnectionEvent::Up(slot)
        | ConnectionEvent::Lost(slot)
        | ConnectionEvent::Refused(slot)) = self;
        slot
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// There are no users yet, and all connections are being opened.
    Connecting,
    /// Users get ready. Only some connections are opened at a time.
    Prologue,
    Load,
}

/// Something that a link does later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LinkTimer {
    /// Tries to connect again.
    Retry(Slot),
    /// Continues a computation of a login.
    ContinueLogin(Slot),
    /// Checks whether a host answers again.
    Probe(u16),
}

/// A user's own connection, or an additional one.
struct ConnectionSlot {
    conn: Rc<Conn>,
    link: Link,
    /// The slot of the user that owns the connection: this slot, unless the connection is additional.
    user_slot: Slot,
    /// Its number in the run, by which its host is chosen: that of its client, and higher ones for additional connections.
    number: u64,
    /// Where the current or the next attempt to connect begins.
    first_endpoint: FirstEndpoint,
    connection_use: ConnectionUse,
    /// The host to which it returns when that answers again; `None` if it does not return, or was never up.
    home: Option<u16>,
    /// Whether it is up at another host.
    is_away: bool,
    /// The host whose server refused to work: the next attempt begins at another one.
    refused_by: Option<u16>,
    /// Whether the user of this slot has ended, so that none of its connections is opened again.
    user_has_ended: bool,
    /// Whether the connection is not reopened automatically: its user closed it, requested a new one in vain, or has
    /// to notice its loss.
    stays_closed: bool,
    /// Since when the server has sent nothing of a reply that is overdue, nanoseconds; `u64::MAX` if none is.
    overdue_ns: u64,
    /// When a part of a reply arrived last, nanoseconds, if the wait for a reply has a limit.
    heard_ns: u64,
    /// Whether the last bytes that arrived on the connection had a timestamp.
    has_timestamps: bool,
    /// Whether a transmit timestamp was requested for the request in flight.
    timestamp_requested: bool,
}

impl ConnectionSlot {
    fn new(conn: Conn, user_slot: Slot, number: u64) -> Self {
        ConnectionSlot {
            conn: Rc::new(conn),
            link: Link::down(),
            user_slot,
            number,
            first_endpoint: FirstEndpoint::default(),
            connection_use: ConnectionUse::Main,
            home: None,
            is_away: false,
            refused_by: None,
            user_has_ended: false,
            stays_closed: false,
            overdue_ns: u64::MAX,
            heard_ns: 0,
            has_timestamps: false,
            timestamp_requested: false,
        }
    }

    /// Closes the connection, with the protocol's closing message if it is up.
    fn close(&mut self, io: &mut impl Io, slot: Slot) {
        self.link.close(io, slot, self.conn.closing_message());
    }
}

/// The connections of a worker by their slots: the users' own ones, then additional ones.
pub(crate) struct Connections<'a, I> {
    io: I,
    clock: Clock,
    job: &'a DriveJob<'a>,
    routes: &'a RouteTable,
    /// The connections at each host; empty if there is only one.
    hosts: Vec<HostConnections>,
    /// The checks whether a host answers again, for each host.
    probes: Vec<HostProbe>,
    random: SplitMix,
    slots: Vec<ConnectionSlot>,
    /// Number of clients, whose own connections are the first slots.
    clients: Slot,
    attempts: ConnectAttempts,
    counts: ConnectionCounts,
    splitter: ServiceTimeSplitter,
    scratch: ScratchBuffers,
    timers: Timers<LinkTimer>,
    /// Slots whose connection was refused at once when its user requested it.
    refused_at_once: Vec<Slot>,
    /// When to look next for requests whose reply is overdue, nanoseconds.
    reply_check_ns: u64,
    stage: Stage,
    channel: &'a CollectorChannel<'a>,
}

impl<'a, I: Io> Connections<'a, I> {
    /// A connection for each of these clients, and one to the server for reads if there is one; all of them down. The I/O
    /// engine has a slot for each.
    pub fn new(
        mut io: I,
        job: &'a DriveJob<'a>,
        routes: &'a RouteTable,
        clients: std::ops::Range<u32>,
        channel: &'a CollectorChannel<'a>,
    ) -> Self {
        let clock = io.clock();
        // Each worker draws other numbers.
        let random = SplitMix::new(job.seed ^ u64::from(clients.start) << 32);
        let mut slots: Vec<ConnectionSlot> = (0..)
            .zip(clients)
            .map(|(slot, client)| {
                let mut connection = ConnectionSlot::new(job.new_conn(), slot, client.into());
                if job.is_in_tcp_sample(client) {
                    connection.connection_use = ConnectionUse::TcpSample;
                }
                connection
            })
            .collect();
        let client_count = slots.len() as Slot;
        if job.target.read_target.is_some() {
            for user_slot in 0..client_count {
                let number = slots[user_slot as usize].number;
                let connection = ConnectionSlot::new(job.new_conn(), user_slot, number);
                slots.push(ConnectionSlot {
                    connection_use: ConnectionUse::Reads,
                    ..connection
                });
            }
        }
        let mut counts = ConnectionCounts::default();
        if let Some(kept) = job.kept() {
            for (slot, connection) in (0..).zip(&mut slots) {
                if let Some(open) = kept.take(connection.number, io.name())
                    && io.adopt(slot, open.socket).is_ok()
                {
                    connection.conn = Rc::new(Conn::reopened(open.exchange));
                    connection.link = Link::over(open.channel);
                    counts.record_opened();
                }
            }
        }
        Connections {
            attempts: ConnectAttempts::new(slots.len()),
            counts,
            splitter: ServiceTimeSplitter::new(clock.clone()),
            io,
            clock,
            job,
            hosts: vec![HostConnections::default(); routes.totals_len()],
            probes: vec![HostProbe::default(); routes.totals_len()],
            routes,
            random,
            slots,
            clients: client_count,
            scratch: ScratchBuffers::default(),
            timers: Timers::default(),
            refused_at_once: Vec::new(),
            reply_check_ns: overdue::first_check_ns(job.target),
            stage: Stage::Prologue,
            channel,
        }
    }

    /// The records of the clients' own connections, in the order of the clients.
    pub fn conns(&self) -> impl Iterator<Item = &Rc<Conn>> {
        let own = self.slots.iter().take(self.clients as usize);
        own.map(|connection| &connection.conn)
    }

    /// The records and slots of the clients' connections to the server for reads, in the order of the clients.
    pub fn conns_for_reads(&self) -> impl Iterator<Item = (Slot, &Rc<Conn>)> {
        let slots = (0..).zip(&self.slots).skip(self.clients as usize);
        slots.map(|(slot, connection)| (slot, &connection.conn))
    }

    /// How many connections are up, and how many were lost and are not back yet.
    pub fn counts(&self) -> &ConnectionCounts {
        &self.counts
    }

    /// The connections at each host; empty if there is only one.
    pub fn hosts(&self) -> &[HostConnections] {
        &self.hosts
    }

    /// Counts that a connection is no longer up at its host.
    fn leave_host(&mut self, slot: Slot, is_lost: bool) {
        let host = self.slots[slot as usize].conn.host();
        if let Some(host) = self.hosts.get_mut(usize::from(host)) {
            host.up -= 1;
            host.lost += u64::from(is_lost);
        }
    }

    /// TLS version and cipher of the first connection that is up and uses TLS.
    pub fn tls(&self) -> Option<String> {
        let mut slots = self.slots.iter();
        slots.find_map(|connection| connection.link.tls())
    }

    /// The load begins: users open as many connections at a time as they want.
    pub fn begin_load(&mut self) {
        self.stage = Stage::Load;
        for host in &mut self.hosts {
            *host = HostConnections {
                up: host.up,
                up_at_start: host.up,
                arrived: host.arrived,
                ..HostConnections::default()
            };
        }
        self.schedule_probes();
    }

    /// Whether the I/O engine can wait for several replies.
    pub fn can_coalesce(&self) -> bool {
        self.io.can_coalesce()
    }

    /// Sets how the I/O engine waits for replies.
    pub fn set_wait_strategy(&mut self, strategy: WaitStrategy) {
        self.io.set_wait_strategy(strategy);
    }

    /// Sends all requests, then waits for events, but not longer than until `deadline_ns`.
    pub fn wait(
        &mut self,
        now_ns: u64,
        deadline_ns: u64,
        events: &mut Vec<IoEvent>,
    ) -> io::Result<()> {
        let own_deadline_ns = if self.refused_at_once.is_empty() {
            self.timers.next_ns().min(now_ns + WAIT_MAX_NS)
        } else {
            now_ns + 1
        };
        let deadline_ns = deadline_ns.min(own_deadline_ns);
        self.io.submit_and_wait(deadline_ns, events)
    }

    /// Reads the offset of the timestamps' clock again if it is old; call it once per iteration.
    pub fn refresh_clock_offset(&mut self, now_ns: u64, timestamps: &mut TimestampCounts) {
        self.splitter.refresh(now_ns, timestamps);
    }

    /// Prefetches the state that the slot's next reply needs into the CPU's cache.
    #[inline]
    pub fn prefetch(&self, slot: Slot) {
        prefetch(&*self.slots[slot as usize].conn);
    }

    /// Handles an event of a socket. Returns what became of the connection, if its user can continue.
    #[inline]
    pub fn on_event(
        &mut self,
        event: IoEvent,
        timestamps: &mut TimestampCounts,
    ) -> Option<ConnectionEvent> {
        let slot = event.slot;
        let is_up = self.slots[slot as usize].link.is_up();
        if is_up && matches!(event.kind, IoEventKind::Readable { .. }) {
            // `Io::receive` discards it if it is stale.
            return self.on_bytes(event, timestamps);
        }
        if !self.io.is_current(event) {
            // It belongs to an earlier connection of the slot. Receive its bytes only to return their buffer.
            self.io.receive(event);
            return None;
        }
        if !is_up {
            return self.on_link_event(event);
        }
        match event.kind {
            IoEventKind::Closed(errno) => self.on_loss(slot, &describe_close(errno)),
            IoEventKind::Opened | IoEventKind::Readable { .. } => None,
        }
    }

    /// Handles bytes for a connection that is up; this is the hot path of the loop. Feeds the bytes to the
    /// connection. If they complete a round trip, splits its time, and then sends the next part of the
    /// request, or makes the user ready.
    fn on_bytes(
        &mut self,
        event: IoEvent,
        timestamps: &mut TimestampCounts,
    ) -> Option<ConnectionEvent> {
        let slot = event.slot;
        let (status, timestamp_ns) = match self.receive_and_feed(event) {
            Ok(received) => received,
            Err(reason) => return self.on_loss(slot, &reason),
        };
        let conn = &self.slots[slot as usize].conn;
        if status == FeedStatus::More || !conn.is_busy_with(UserPhase::Send) {
            if self.reply_check_ns < u64::MAX {
                self.slots[slot as usize].heard_ns = self.clock.now_ns();
            }
            if status == FeedStatus::Complete
                && let ConnectionUse::Probe(host) = self.slots[slot as usize].connection_use
            {
                self.on_probe_answer(slot, host);
            }
            return None;
        }
        let noticed_ns = self.clock.now_ns();
        self.split_round_trip(slot, timestamp_ns, noticed_ns, timestamps);
        let conn = &self.slots[slot as usize].conn;
        if status == FeedStatus::Send {
            // The next round trip of the same request begins here.
            conn.set_noticed_ns(noticed_ns);
            self.send(slot);
            return None;
        }
        conn.mark_ready(noticed_ns);
        Some(ConnectionEvent::Reply(slot))
    }

    /// Sends the part of a connection's request that belongs to the next round trip.
    pub fn send(&mut self, slot: Slot) {
        let connection = &mut self.slots[slot as usize];
        let can_request_timestamp =
            slot < TRANSMIT_TIMESTAMP_CONNECTIONS && connection.has_timestamps;
        connection.timestamp_requested = can_request_timestamp
            && self
                .splitter
                .should_request_timestamp(connection.conn.noticed_ns());
        let request = connection.conn.outgoing();
        let (io, scratch) = (&mut self.io, &mut self.scratch);
        connection
            .link
            .send(&request, connection.timestamp_requested, io, slot, scratch);
    }

    /// Splits the time of the round trip that ends now, and adds its parts to those of the transaction. A
    /// request may have several round trips, each with its own departure and arrival.
    fn split_round_trip(
        &mut self,
        slot: Slot,
        timestamp_ns: Option<u64>,
        noticed_ns: u64,
        timestamps: &mut TimestampCounts,
    ) {
        let connection = &mut self.slots[slot as usize];
        let sent = self.io.sent(slot);
        if connection.timestamp_requested {
            connection.timestamp_requested = false;
            if let Some(transmit_ns) = self.io.transmit_timestamp_ns(slot) {
                self.splitter
                    .update_send_cost(sent, transmit_ns, timestamps);
            }
        }
        let queued_ns = connection.conn.noticed_ns();
        let mut parts = self
            .splitter
            .split(queued_ns, sent, timestamp_ns, noticed_ns, timestamps);
        if let Some(parts) = &mut parts {
            // The timestamp is that of the last byte of a read. If other data followed the reply in the same
            // read, the reply arrived earlier, and the server time is an upper bound.
            parts.server_is_upper_bound = connection.conn.may_predate_timestamp();
        }
        connection.conn.add_parts(parts);
    }

    /// Feeds the bytes that arrived to a connection that is up. Returns how far the reply is, and the
    /// timestamp of the bytes' arrival.
    fn receive_and_feed(&mut self, event: IoEvent) -> Result<(FeedStatus, Option<u64>), String> {
        let slot = event.slot;
        let connection = &mut self.slots[slot as usize];
        let Some(received) = self.io.receive(event) else {
            return Ok((FeedStatus::More, None));
        };
        if let Some(errno) = received.closed {
            return Err(describe_close(errno));
        }
        let timestamp_ns = received.timestamp_ns;
        connection.has_timestamps = timestamp_ns.is_some();
        let fed = if connection.link.is_plain() {
            connection.conn.feed(received.bytes)
        } else {
            // Copy the bytes: they cannot stay borrowed from the I/O engine, which may have to send TLS
            // messages.
            let mut bytes = std::mem::take(&mut self.scratch.from_socket);
            bytes.clear();
            bytes.extend_from_slice(received.bytes);
            let (conn, scratch) = (&connection.conn, &mut self.scratch);
            let result = connection
                .link
                .receive(&bytes, &mut self.io, slot, scratch, |plain| {
                    conn.feed(plain)
                });
            self.scratch.from_socket = bytes;
            result.unwrap_or_else(|reason| Err(DbError::protocol(reason)))
        };
        let status = fed.map_err(DbError::into_message)?;
        Ok((status, timestamp_ns))
    }

    fn on_loss(&mut self, slot: Slot, reason: &str) -> Option<ConnectionEvent> {
        if let ConnectionUse::Probe(host) = self.slots[slot as usize].connection_use {
            self.end_probe(slot, host);
            return None;
        }
        let now_ns = self.clock.now_ns();
        self.lose(slot, reason, now_ns);
        let connection = &self.slots[slot as usize];
        if connection.conn.is_busy_with(UserPhase::Send) {
            connection.conn.mark_ready(now_ns);
            return Some(ConnectionEvent::Lost(slot));
        }
        // Between its transactions the connection is reopened in the background, as in a pool. A user in a
        // transaction on it, or in a run without reconnects, notices the loss at its next request.
        let is_for_reads = connection.connection_use == ConnectionUse::Reads;
        let user_slot = connection.user_slot as usize;
        let user = &self.slots[user_slot].conn;
        if self.job.plan.reconnect && !user.is_in_transaction_on(is_for_reads) {
            self.retry_with_new_deadline(slot);
        } else {
            self.slots[slot as usize].stays_closed = true;
        }
        None
    }

    /// Closes a connection that was up, and counts its loss.
    fn lose(&mut self, slot: Slot, reason: &str, now_ns: u64) {
        self.leave_host(slot, true);
        let connection = &mut self.slots[slot as usize];
        connection.close(&mut self.io, slot);
        connection.conn.mark_lost(reason);
        self.attempts.record_loss(slot, now_ns);
        if self.stage == Stage::Connecting {
            self.counts.record_closed();
        } else {
            let outage_reason = || connection.conn.failure_message();
            self.counts.record_loss(slot, now_ns, outage_reason);
        }
    }

    /// Closes a connection whose server refuses to work; the next attempt begins at another host.
    fn give_up(&mut self, slot: Slot, reason: &str) {
        self.lose(slot, reason, self.clock.now_ns());
        let connection = &mut self.slots[slot as usize];
        let host = connection.conn.host();
        connection.refused_by = Some(host);
        if let Some(probe) = self.probes.get_mut(usize::from(host)) {
            probe.note_refusal();
        }
    }

    /// Records that a lost connection is back, or that its user no longer needs it. When no connection is
    /// lost any more, the outage ends.
    fn on_restored(&mut self, slot: Slot) {
        let now_ns = || self.clock.now_ns();
        if let Some(outage) = self.counts.record_restored(slot, now_ns) {
            self.channel.send(WorkerMessage::Event(outage));
            self.send_failed_attempts();
        }
    }

    /// Closes a connection at its user's request; the user can continue.
    pub fn close(&mut self, slot: Slot) {
        self.close_slot(slot);
        let connection = &mut self.slots[slot as usize];
        connection.stays_closed = true;
        connection.conn.mark_ready(connection.conn.noticed_ns());
        // If the connection had been lost, the outage no longer waits for it.
        self.on_restored(slot);
    }

    fn close_slot(&mut self, slot: Slot) {
        if self.slots[slot as usize].link.is_up() {
            self.counts.record_closed();
            self.leave_host(slot, false);
        }
        let connection = &mut self.slots[slot as usize];
        connection.close(&mut self.io, slot);
        connection.conn.mark_closed();
        self.attempts.clear_deadline(slot);
    }

    /// Creates the `number`th additional connection of a user, from 1. It is down.
    pub fn add(&mut self, user_slot: Slot, number: usize) -> (Slot, Rc<Conn>) {
        let slot = self.io.add_slot();
        debug_assert_eq!(slot as usize, self.slots.len());
        let number_in_run = self.slots[user_slot as usize].number + number as u64;
        let connection = ConnectionSlot::new(self.job.new_conn(), user_slot, number_in_run);
        let conn = Rc::clone(&connection.conn);
        self.slots.push(connection);
        self.attempts.add_slot();
        (slot, conn)
    }

    /// Hands the results of a request on an additional connection over to the user's own connection. Returns the
    /// slot of the user.
    #[cold]
    pub fn transfer_to_owner(&self, slot: Slot) -> Slot {
        let connection = &self.slots[slot as usize];
        let owner = &self.slots[connection.user_slot as usize].conn;
        owner.set_noticed_ns(connection.conn.noticed_ns());
        connection.conn.transfer_results_to(owner);
        connection.user_slot
    }

    /// The window is over: the users that wait within a transaction for a lost connection notice that, and end.
    pub fn stop_waiting_for_lost(&self) -> Vec<ConnectionEvent> {
        let mut events = Vec::new();
        for (slot, connection) in (0..).zip(&self.slots) {
            if connection.conn.is_busy_with(UserPhase::AwaitReconnect) {
                connection.conn.mark_ready(self.clock.now_ns());
                events.push(ConnectionEvent::Lost(slot));
            }
        }
        events
    }

    /// A user has ended: its connections are no longer opened again.
    pub fn on_user_ended(&mut self, user_slot: Slot) {
        self.slots[user_slot as usize].user_has_ended = true;
    }

    /// The load is over: reports an outage that is not.
    pub fn end_outage(&mut self) {
        if let Some(outage) = self.counts.end_outage() {
            self.channel.send(WorkerMessage::Event(outage));
        }
        self.send_failed_attempts();
    }

    fn send_failed_attempts(&mut self) {
        for attempts in self.counts.take_failed_attempts() {
            self.channel.send(WorkerMessage::Event(attempts));
        }
    }

    /// Closes the connections, except those that the next load can use.
    pub fn keep_idle(mut self, kept: &KeptConnections) {
        let engine = self.io.name();
        for (slot, connection) in (0..).zip(&mut self.slots) {
            if slot >= self.clients || !connection.conn.is_idle() {
                connection.close(&mut self.io, slot);
            }
        }
        let sockets = self.io.release();
        for (connection, socket) in self.slots.into_iter().zip(sockets) {
            let conn = Rc::into_inner(connection.conn);
            if let (Some(socket), Some(conn)) = (socket, conn) {
                let kept_connection = KeptConnection {
                    exchange: conn.into_exchange(),
                    channel: connection.link.into_channel(),
                    socket,
                    engine,
                };
                kept.put(connection.number, kept_connection);
            }
        }
    }

    /// Closes the connections.
    pub fn close_all(mut self) {
        for (slot, connection) in (0..).zip(&mut self.slots) {
            connection.close(&mut self.io, slot);
        }
    }
}

fn describe_close(errno: i32) -> String {
    match errno {
        0 => "the server closed the connection".to_owned(),
        errno => format!(
            "{CONNECTION_WAS_LOST}{}",
            io::Error::from_raw_os_error(errno)
        ),
    }
}
