//! Connections of a worker that come and go: the first connect, losses, reconnects.
//!
//! In: steps of links. Out: users resumed when their connection is there; outages. Must never: wait
//! in a run; a user that wants its connection back is resumed when it is.

use crate::happening::{Happening, Incident, Reports};
use crate::io::{Event, Io, Slot, What, ring};
use crate::link::Step;
use crate::seat::Seat;
use crate::timers::Due;
use crate::worker::{Timing, WAIT_MAX_NS, Worker};
use prony_server::control::{Cause, Failure};
use prony_session::Ask;
use prony_wire::{Agreed, ServerError};
use std::io;
use std::sync::atomic::Ordering;

/// Connections of a worker that are being opened at a time: more would only queue in the server.
const OPENING_MAX: usize = 32;
/// Waits between tries to get a connection back.
pub(crate) const RETRY_FIRST_NS: u64 = 50_000_000;
const RETRY_MAX_NS: u64 = 1_000_000_000;
/// A connection that was lost sooner than this was no success: a server that takes clients and drops
/// them is not to be stormed.
const BRIEF_NS: u64 = 100_000_000;

/// Connections that come and go.
impl<I: Io> Worker<'_, I> {
    /// Opens all connections, some at a time; none where users open them themselves.
    ///
    /// # Errors
    /// The first connection that no way leads to; or the engine's own failure; or nothing, when the
    /// run was interrupted.
    pub fn connect(&mut self) -> Result<(), ConnectError> {
        if self.assignment.program.opens_connections() {
            return Ok(());
        }
        let mut events = Vec::new();
        // Connections that were begun: those of them that are not up are on their way.
        let mut begun = 0;
        while (self.up as usize) < self.seats.len() {
            if self.assignment.interrupt.load(Ordering::Relaxed) {
                return Err(ConnectError::Interrupted);
            }
            while begun < self.seats.len() && begun - (self.up as usize) < OPENING_MAX {
                let step = self.begin(begun as Slot);
                self.first_step(begun as Slot, step)?;
                begun += 1;
            }
            let until_ns = self.clock.now_ns() + WAIT_MAX_NS;
            self.io
                .turn(until_ns.min(self.timers.next_ns()), &mut events)?;
            for event in events.drain(..) {
                if self.is_stale(event) {
                    continue;
                }
                if self.seats[event.slot as usize].link.is_up() {
                    self.early_event(event);
                    continue;
                }
                let step = self.link_event(event);
                self.first_step(event.slot, step)?;
            }
            let now_ns = self.clock.now_ns();
            while let Some(due) = self.timers.pop(now_ns) {
                if let Due::Retry(slot) = due {
                    let step = self.begin(slot);
                    self.first_step(slot, step)?;
                }
            }
            for slot in self.overdue(now_ns) {
                let step = self.time_out(slot);
                self.first_step(slot, step)?;
            }
        }
        Ok(())
    }

    /// An event of a connection that is up before the others are: a notice, or its loss. A lost one
    /// is opened again; if the server takes none any more, that ends the run.
    fn early_event(&mut self, event: Event) {
        let lost = match event.what {
            What::Readable { .. } => self.take_in(event).is_err(),
            What::Closed(_) => true,
            What::Opened => false,
        };
        if lost {
            self.up -= 1;
            self.seats[event.slot as usize].close(&mut self.io, event.slot);
            self.retry_later(event.slot);
        }
    }

    /// What a step of the first connect means. Here a failure ends the run: it was asked for more
    /// than the server gives.
    fn first_step(&mut self, slot: Slot, step: Step) -> Result<(), ConnectError> {
        match step {
            Step::Waiting => {}
            Step::Up(agreed, leftover) => self.seat_up(slot, agreed, &leftover),
            Step::TryLater => self.retry_later(slot),
            Step::Failed(failures) => {
                return Err(ConnectError::Refused {
                    connected: self.up,
                    failures,
                });
            }
        }
        Ok(())
    }

    fn routes(&self, slot: Slot) -> usize {
        self.assignment.route_of[slot as usize]
    }

    /// Begins to connect from the first way on.
    pub(crate) fn begin(&mut self, slot: Slot) -> Step {
        let routes = &self.assignment.routes[self.routes(slot)];
        let seat = &mut self.seats[slot as usize];
        seat.deadline_ns = routes.deadline_ns(&self.clock);
        seat.link.begin(&mut self.io, slot, routes)
    }

    /// Whether an event is of a connection that its slot no longer has, and so means nothing.
    pub(crate) fn is_stale(&mut self, event: Event) -> bool {
        let stale = !self.io.is_current(event);
        if stale {
            // Its buffer is given back.
            self.io.receive(event);
        }
        stale
    }

    /// An event of a link on its way.
    pub(crate) fn link_event(&mut self, event: Event) -> Step {
        let step = self.step(event);
        let routes = &self.assignment.routes[self.routes(event.slot)];
        let seat = &mut self.seats[event.slot as usize];
        // It has gone on to its next attempt, which has its own time.
        if seat.link.is_opening() {
            seat.deadline_ns = routes.deadline_ns(&self.clock);
        }
        step
    }

    fn step(&mut self, event: Event) -> Step {
        let slot = event.slot;
        let routes = &self.assignment.routes[self.routes(slot)];
        let link = &mut self.seats[slot as usize].link;
        match event.what {
            What::Opened => link.opened(&mut self.io, slot, routes, &mut self.scratch),
            What::Closed(errno) => link.failed(&mut self.io, slot, routes, errno),
            What::Readable { .. } => {
                let Some(received) = self.io.receive(event) else {
                    return Step::Waiting;
                };
                if let Some(errno) = received.closed {
                    return link.failed(&mut self.io, slot, routes, errno);
                }
                // Log-ins are rare: their bytes may be copied.
                let bytes = received.bytes.to_vec();
                link.log_in(&bytes, &mut self.io, slot, routes, &mut self.scratch)
            }
        }
    }

    pub(crate) fn time_out(&mut self, slot: Slot) -> Step {
        let routes = &self.assignment.routes[self.routes(slot)];
        let seat = &mut self.seats[slot as usize];
        seat.deadline_ns = routes.deadline_ns(&self.clock);
        seat.link.timed_out(&mut self.io, slot, routes)
    }

    /// Links whose attempt has taken too long.
    pub(crate) fn overdue(&self, now_ns: u64) -> Vec<Slot> {
        let late =
            |(slot, seat): (usize, &Seat)| (seat.deadline_ns <= now_ns).then_some(slot as Slot);
        self.seats.iter().enumerate().filter_map(late).collect()
    }

    fn seat_up(&mut self, slot: Slot, agreed: Agreed, leftover: &[u8]) {
        let seat = &mut self.seats[slot as usize];
        seat.deadline_ns = u64::MAX;
        seat.up_ns = self.clock.now_ns();
        seat.conn.opened_as(agreed);
        // Nothing but notices can be here; what breaks the protocol shows with the first reply.
        let _ = seat.conn.feed(leftover);
        self.up += 1;
    }

    fn retry_later(&mut self, slot: Slot) {
        let now_ns = self.clock.now_ns();
        let seat = &mut self.seats[slot as usize];
        seat.deadline_ns = u64::MAX;
        // Spread, so that all clients of a server that comes back do not come at once.
        let spread_ns = u64::from(slot % 16) * 1_000_000;
        self.timers
            .add(now_ns + seat.backoff_ns + spread_ns, Due::Retry(slot));
        seat.backoff_ns = (seat.backoff_ns * 2).min(RETRY_MAX_NS);
    }

    /// What a step of a reconnect means.
    pub(crate) fn later_step(
        &mut self,
        slot: Slot,
        step: Step,
        timing: &mut Timing,
        reports: &mut impl Reports,
    ) -> usize {
        match step {
            Step::Waiting => return 0,
            Step::Up(agreed, leftover) => {
                self.seat_up(slot, agreed, &leftover);
                self.restored(slot, reports);
            }
            Step::TryLater => {
                self.retry_later(slot);
                return 0;
            }
            Step::Failed(failures) => {
                let seat = &mut self.seats[slot as usize];
                if !seat.conn.awaits(Ask::Renew) {
                    self.retry_later(slot);
                    return 0;
                }
                seat.deadline_ns = u64::MAX;
                let (said, reason) = reason(&failures);
                seat.conn.refused(said, reason);
                self.tell_refused(&failures);
            }
        }
        let noticed_ns = self.clock.now_ns();
        let conn = &self.seats[slot as usize].conn;
        // Else its user ended on the way.
        if !conn.awaits(Ask::Renew) && !conn.awaits(Ask::Reconnect) {
            return 0;
        }
        conn.ready(noticed_ns);
        self.resume(slot, timing, reports)
    }

    /// Opens a new connection in place of what is there.
    pub(crate) fn renew(&mut self, slot: Slot) {
        let seat = &mut self.seats[slot as usize];
        if seat.link.is_up() {
            self.up -= 1;
        }
        seat.close(&mut self.io, slot);
        seat.conn.closed();
        seat.hung_up = false;
        if std::mem::take(&mut seat.brief) && seat.conn.awaits(Ask::Reconnect) {
            return self.retry_later(slot);
        }
        if !self.is_open && self.opening() >= OPENING_MAX {
            return self.queued.push_back(slot);
        }
        match self.begin(slot) {
            Step::Waiting | Step::Up(..) => {}
            Step::TryLater => self.retry_later(slot),
            Step::Failed(failures) => {
                let seat = &mut self.seats[slot as usize];
                if seat.conn.awaits(Ask::Renew) {
                    seat.deadline_ns = u64::MAX;
                    let (said, reason) = reason(&failures);
                    seat.conn.refused(said, reason);
                    // In the next turn: who tries again and again must not keep the others from theirs.
                    let at_ns = self.clock.now_ns() + 1;
                    self.timers.add(at_ns, Due::Refused(slot));
                    self.tell_refused(&failures);
                } else {
                    self.retry_later(slot);
                }
            }
        }
    }

    /// Connections on their way.
    fn opening(&self) -> usize {
        let on_its_way = |seat: &&Seat| !seat.link.is_up() && !seat.link.is_down();
        self.seats.iter().filter(on_its_way).count()
    }

    /// Begins connections that wait for others to be there.
    pub(crate) fn begin_queued(&mut self, timing: &mut Timing, reports: &mut impl Reports) {
        while !self.queued.is_empty() && self.opening() < OPENING_MAX {
            if let Some(slot) = self.queued.pop_front() {
                let step = self.begin(slot);
                self.later_step(slot, step, timing, reports);
            }
        }
    }

    fn tell_refused(&self, failures: &[Failure]) {
        if let Some(hear) = self.assignment.refused {
            hear(failures);
        }
    }

    /// A connection that was up is gone.
    pub(crate) fn lose(
        &mut self,
        slot: Slot,
        reason: &str,
        timing: &mut Timing,
        reports: &mut impl Reports,
    ) -> usize {
        let now_ns = self.clock.now_ns();
        let seat = &mut self.seats[slot as usize];
        seat.close(&mut self.io, slot);
        seat.conn.lost(reason);
        seat.missing = true;
        seat.brief = now_ns - seat.up_ns < BRIEF_NS;
        if !seat.brief {
            seat.backoff_ns = RETRY_FIRST_NS;
        }
        self.up -= 1;
        self.missing += 1;
        let outage = self.outage.get_or_insert_with(|| Happening {
            from_ns: now_ns,
            until_ns: None,
            what: Incident::Outage,
            detail: seat.conn.last_failure(),
            count: 0,
        });
        outage.count += 1;
        if !seat.conn.awaits(Ask::Send) {
            // A user between transactions gets its connection back meanwhile, as from a pool;
            // one in a transaction finds out when it next asks for something.
            let home = seat.home as usize;
            if !self.seats[home].conn.is_under_way() {
                self.retry_later(slot);
            }
            return 0;
        }
        seat.conn.ready(now_ns);
        self.resume(slot, timing, reports)
    }

    /// What was lost is back, or nobody wants it back: that of the last one is the end of the outage.
    pub(crate) fn restored(&mut self, slot: Slot, reports: &mut impl Reports) {
        if !std::mem::take(&mut self.seats[slot as usize].missing) {
            return;
        }
        self.missing -= 1;
        if self.missing == 0
            && let Some(mut outage) = self.outage.take()
        {
            outage.until_ns = Some(self.clock.now_ns());
            reports.event(outage);
        }
    }
}

/// Why the connections of a run could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No way leads to the server.
    #[error("{}", .failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Refused {
        /// Connections of this worker that were up by then.
        connected: u32,
        /// Why, for each way.
        failures: Vec<Failure>,
    },
    /// The engine failed.
    #[error("the sockets cannot be driven: {error}{hint}", error = .0, hint = room(.0))]
    Engine(#[from] io::Error),
    /// A user could not get ready for the common start.
    #[error("{0}")]
    Unready(String),
    /// The run was interrupted.
    #[error("interrupted while connecting")]
    Interrupted,
}

/// What to do where an engine finds no memory.
fn room(error: &io::Error) -> String {
    match ring::has_no_room(error) {
        true => format!("\n  hint: {}, or use --io epoll", ring::NO_ROOM),
        false => String::new(),
    }
}

/// A failed reconnect in words, with the server's error if it gave one.
fn reason(failures: &[Failure]) -> (Option<&ServerError>, String) {
    let last = failures.last();
    let said = last.and_then(|failure| match &failure.cause {
        Cause::Login(error) => error.server(),
        _ => None,
    });
    (said, last.map_or_else(String::new, ToString::to_string))
}

pub(crate) fn describe(errno: i32) -> String {
    match errno {
        0 => "the server closed the connection".to_owned(),
        errno => format!(
            "the connection was lost: {}",
            io::Error::from_raw_os_error(errno)
        ),
    }
}
