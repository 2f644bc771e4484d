//! The event loop of a worker: one thread, its connections and its users.
//!
//! In: events of the sockets, the schedule, the end of the run. Out: recorded samples. Must never: take a
//! lock, log, use memory of other threads or allocate for a transaction, except for the error of a failed
//! one; depend on a workload; or skip a scheduled start.
//!
//! An iteration sends the requests that users made in the previous one, waits for events, and resumes each
//! user whose reply is complete or whose timer has expired. The clock is read again for each user.
//!
//! [`Connections`] turns events of sockets into [`ConnectionEvent`]s, and [`Users`] turns those into
//! [`Request`]s. Neither calls the other: only the loop does, with what the other one returned.

use crate::clock::Clock;
use crate::connections::{ConnectionEvent, Connections};
use crate::error::ConnectError;
use crate::hosts::RouteTable;
use crate::io::{Io, IoEvent, Slot};
use crate::job::DriveJob;
use crate::messages::{CollectorChannel, Readiness, WorkerMessage};
use crate::slice::WorkerShare;
use crate::timing::Timing;
use crate::users::{Request, Users};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// While a reply is handled, the state of the user whose reply is this many later is prefetched into the
/// CPU's cache.
const PREFETCH_DISTANCE: usize = 6;

/// The connections and users of one thread, and the event loop that drives them.
pub(crate) struct Worker<'a, I> {
    clock: Clock,
    job: &'a DriveJob<'a>,
    connections: Connections<'a, I>,
    users: Users<'a>,
    /// When set, the run ends at once.
    interrupt: &'a AtomicBool,
    channel: &'a CollectorChannel<'a>,
}

impl<'a, I: Io> Worker<'a, I> {
    pub fn new(
        io: I,
        job: &'a DriveJob<'a>,
        routes: &'a RouteTable,
        share: &WorkerShare,
        interrupt: &'a AtomicBool,
        channel: &'a CollectorChannel<'a>,
    ) -> Self {
        let clock = io.clock();
        let connections = Connections::new(io, job, routes, share.clients.clone(), channel);
        Worker {
            users: Users::new(job, share, connections.conns(), clock.clone(), channel)
                .with_hosts(routes.totals_len())
                .with_reads(connections.conns_for_reads(), job.plan.read_share),
            clock,
            job,
            connections,
            interrupt,
            channel,
        }
    }

    /// Opens the connections and runs the prologue; reports when both are done.
    pub fn get_ready(&mut self) -> Result<(), ConnectError> {
        self.connect()?;
        self.run_prologue()?;
        self.channel.send(WorkerMessage::Ready(Readiness {
            tls: self.connections.tls(),
            ready_ns: self.clock.now_ns(),
        }));
        Ok(())
    }

    /// Opens all connections. Opens none if users open them themselves, or if each transaction opens its own: the
    /// server may allow fewer connections than there are users.
    fn connect(&mut self) -> Result<(), ConnectError> {
        let program = self.job.program;
        // A prologue needs a connection, even if each transaction opens its own.
        let per_transaction = self.job.plan.connect_per_transaction && !program.has_prologue();
        if program.opens_connections() || per_transaction {
            return Ok(());
        }
        self.connections.connect(self.interrupt)
    }

    /// If the program has a prologue, runs all users until they wait for the common start. No figure includes their
    /// work.
    fn run_prologue(&mut self) -> Result<(), ConnectError> {
        if !self.job.program.has_prologue() {
            return Ok(());
        }
        self.users.create();
        self.run_all_users();
        let mut events = Vec::new();
        while !self.users.all_await_common_start() {
            if self.is_interrupted() {
                return Err(ConnectError::Interrupted);
            }
            if let Some(reason) = self.users.take_not_ready_reason() {
                return Err(ConnectError::UserNotReady(reason));
            }
            self.iterate_before_load(u64::MAX, &mut events)?;
        }
        // The queries of the prologue stay in the context: the first interval of the load counts them.
        Ok(())
    }

    /// Waits for the common start. Handles events of connections meanwhile: while a socket is readable or
    /// closed, the I/O engine would not wait.
    fn await_start(&mut self, events: &mut Vec<IoEvent>) -> io::Result<()> {
        let start_ns = self.users.start_ns();
        while self.clock.now_ns() < start_ns && !self.is_interrupted() {
            self.iterate_before_load(start_ns, events)?;
        }
        Ok(())
    }

    /// Waits for events, but not longer than until `deadline_ns`, and handles them.
    fn iterate_before_load(
        &mut self,
        deadline_ns: u64,
        events: &mut Vec<IoEvent>,
    ) -> io::Result<()> {
        let now_ns = self.clock.now_ns();
        self.handle_due(now_ns);
        let deadline_ns = deadline_ns.min(self.users.next_wake_ns());
        self.connections.wait(now_ns, deadline_ns, events)?;
        for event in events.drain(..) {
            self.handle_event(event);
        }
        self.wake_users();
        Ok(())
    }

    /// Drives the users until they are done, the time is up, or the run is interrupted.
    pub fn drive(&mut self, timing: Timing) -> io::Result<()> {
        self.users.set_timing(timing);
        let mut events = Vec::with_capacity(self.users.slots().len().min(4096));
        let result = self.await_start(&mut events).and_then(|()| {
            self.begin_load();
            self.run_loop(&mut events)
        });
        self.users.send_round_trip_times();
        self.users.send_host_totals(self.connections.hosts());
        result
    }

    fn run_loop(&mut self, events: &mut Vec<IoEvent>) -> io::Result<()> {
        let mut hard_end_ns = u64::MAX;
        let mut resumed_ns = self.clock.now_ns();
        while self.users.live_count() > 0 {
            let now_ns = self.clock.now_ns();
            if self.is_interrupted() || now_ns >= hard_end_ns {
                break;
            }
            if let Some(end_ns) = self.users.end_window(now_ns) {
                hard_end_ns = end_ns;
                self.end_users_without_transaction();
                continue;
            }
            // This also delivers an interval that ended, and was closed, when a user was resumed.
            if self.users.rotate_interval(now_ns) {
                self.users
                    .record_host_connections(self.connections.hosts(), now_ns);
                self.users.deliver_intervals(self.connections.counts());
            }
            self.handle_due(now_ns);
            if now_ns >= self.users.connect_check_ns() {
                for slot in self.users.unconnected_users(now_ns) {
                    self.end_user(slot);
                }
            }
            let iteration_ns = now_ns - resumed_ns;
            let strategy = self
                .users
                .record_iteration(now_ns, iteration_ns, events.len());
            if let Some(strategy) = strategy {
                self.connections.set_wait_strategy(strategy);
            }
            events.clear();
            let deadline_ns = self.users.next_deadline_ns().min(hard_end_ns);
            self.connections.wait(now_ns, deadline_ns, events)?;
            resumed_ns = self.clock.now_ns();
            self.connections
                .refresh_clock_offset(resumed_ns, self.users.timestamps());
            for (index, event) in events.iter().enumerate() {
                if let Some(later_event) = events.get(index + PREFETCH_DISTANCE) {
                    self.connections.prefetch(later_event.slot);
                    self.users.prefetch(later_event.slot);
                }
                self.handle_event(*event);
            }
            self.wake_users();
            if self.users.report_full_queue() {
                break;
            }
        }
        self.connections.end_outage();
        self.users.finish(self.connections.counts());
        Ok(())
    }

    fn begin_load(&mut self) {
        let started = WorkerMessage::Started(self.clock.now_ns());
        self.channel.send(started);
        self.users.record_connections(self.connections.counts());
        self.connections.begin_load();
        self.users.begin_load();
        self.run_all_users();
        let can_coalesce = self.connections.can_coalesce();
        let strategy = self.users.first_wait_strategy(can_coalesce);
        self.connections.set_wait_strategy(strategy);
    }

    /// Lets each user run until its next request.
    fn run_all_users(&mut self) {
        for slot in self.users.slots() {
            self.users.begin(slot);
            self.resume(slot);
        }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    #[inline]
    fn handle_event(&mut self, event: IoEvent) {
        let timestamps = self.users.timestamps();
        if let Some(event) = self.connections.on_event(event, timestamps) {
            self.on_connection_event(event);
        }
    }

    /// Handles what is due: connections to open, and attempts to connect to continue or to end. Mostly nothing is.
    #[inline]
    fn handle_due(&mut self, now_ns: u64) {
        if self.connections.may_be_due(now_ns) {
            self.open_and_end_connections(now_ns);
        }
    }

    #[cold]
    fn open_and_end_connections(&mut self, now_ns: u64) {
        for event in self.connections.handle_due(now_ns) {
            self.on_connection_event(event);
        }
    }

    /// Resumes the user that waited for this event.
    #[inline]
    fn on_connection_event(&mut self, event: ConnectionEvent) {
        let slot = event.slot();
        let user_slot =
            if self.users.is_user(slot) { slot } else { self.connections.transfer_to_owner(slot) };
        if matches!(event, ConnectionEvent::Refused(_)) {
            self.users.on_refused(user_slot);
        }
        self.resume(user_slot);
    }

    /// Runs a user until it waits for something, and begins to carry out what it requests.
    #[inline]
    fn resume(&mut self, user_slot: Slot) {
        loop {
            match self.users.run(user_slot) {
                Request::Send(slot) => return self.connections.send(slot),
                Request::Open(slot) => return self.connections.open(slot),
                Request::Close(slot) => self.connections.close(slot),
                Request::AddConnection => {
                    let number = self.users.extra_count(user_slot) + 1;
                    let (slot, conn) = self.connections.add(user_slot, number);
                    self.users.add_connection(user_slot, slot, conn);
                }
                Request::Wait => return,
                Request::End => return self.connections.on_user_ended(user_slot),
            }
        }
    }

    /// Resumes the users whose sleep is over, and those that get a scheduled start that is due.
    fn wake_users(&mut self) {
        if self.users.has_sleeping() {
            let now_ns = self.clock.now_ns();
            while let Some(slot) = self.users.wake_next(now_ns) {
                self.resume(slot);
            }
        }
        while let Some(slot) = self.users.grant_next_start() {
            self.resume(slot);
        }
    }

    /// The window is over: drops the users that are not in a transaction, and lets those notice it that wait for a
    /// lost connection.
    fn end_users_without_transaction(&mut self) {
        for slot in self.users.slots() {
            if !self.users.is_in_transaction(slot) {
                self.end_user(slot);
            }
        }
        for event in self.connections.stop_waiting_for_lost() {
            self.on_connection_event(event);
        }
    }

    fn end_user(&mut self, slot: Slot) {
        self.users.end(slot);
        self.connections.on_user_ended(slot);
    }

    /// Ends a load: closes the connections, or keeps those that the next load can use.
    pub fn end(self) {
        match self.job.kept().filter(|_| !self.is_interrupted()) {
            Some(kept) => {
                drop(self.users);
                self.connections.keep_idle(kept);
            }
            None => self.close(),
        }
    }

    /// Drops the users and closes the connections.
    pub fn close(self) {
        // Drop the users before their connections, because a user may hold an abandoned request.
        drop(self.users);
        self.connections.close_all();
    }
}
