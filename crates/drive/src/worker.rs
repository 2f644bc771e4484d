//! The loop: one thread, its connections, its users.
//!
//! In: events of the sockets, the pace, the end of the run. Out: samples, recorded as they come.
//! Must never: lock, log, share or allocate for a transaction; look into a workload; skip a start.
//!
//! A turn sends what the users of the last one asked, waits, and resumes each user whose reply is
//! complete or whose time has come. The clock is read afresh for each.

use crate::clock::Clock;
use crate::connections::describe;
use crate::happening::{Happening, Incident, Reports, panic_text};
use crate::io::{Event, Io, Slot, What};
use crate::link::{Routes, Scratch};
use crate::pace;
use crate::run::{Hear, Tap};
use crate::seat::Seat;
use crate::stamps::Stamps;
use crate::timers::{Due, Timers};
use prony_measure::Recorder;
use prony_session::{Ask, Conn, Db, DbError, Desk, Ended, Program, UserId};
use prony_wire::Fed;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

/// So many replies ahead what belongs to a user is fetched into the CPU's cache.
const AHEAD: usize = 6;
/// The longest wait of a turn, so that a request to end the run is seen soon.
pub(crate) const WAIT_MAX_NS: u64 = 50_000_000;

/// What a worker is to do.
pub struct Assignment<'a> {
    /// The workload.
    pub program: &'a dyn Program,
    /// The users. Each has a connection of its own, and may ask for further ones.
    pub users: Vec<UserId>,
    /// The ways to the server, for each user an index into these.
    pub routes: &'a [Routes],
    /// So many of `routes`, from the first on, are of one server each. What is behind them is for the users
    /// alone that `route_of` sends there.
    pub servers: usize,
    /// Which of `routes` each user takes.
    pub route_of: Vec<usize>,
    /// Makes the record of a connection.
    pub conn: &'a dyn Fn() -> Conn,
    /// Set: the run is to end at once.
    pub interrupt: &'a AtomicBool,
    /// Sees the samples.
    pub tap: Option<Box<dyn Tap>>,
    /// Hears why a connection is refused that a user asked for.
    pub refused: Option<Hear<'a>>,
}

/// When what is to happen, once all connections are up.
pub struct Timing {
    /// Start of the load.
    pub start_ns: u64,
    /// From when on no transaction starts, if the run ends by time.
    pub end_ns: Option<u64>,
    /// From when on transactions count towards a user's number of them.
    pub count_from_ns: u64,
    /// How long transactions in flight then may take.
    pub grace_ns: u64,
    /// Starts, if they are scheduled.
    pub schedule: Option<pace::Schedule>,
    /// When more of them wait, the run ends.
    pub queue_max: Option<u64>,
    /// The recorder.
    pub recorder: Recorder,
}

impl Timing {
    /// Takes a scheduled start that is due. None is granted after the end of the window: those are
    /// counted as never started.
    pub(crate) fn due_start(&mut self, now_ns: u64) -> Option<u64> {
        let schedule = self.schedule.as_mut()?;
        let over = self.end_ns.is_some_and(|end_ns| now_ns >= end_ns);
        (!over && schedule.next_ns() <= now_ns).then(|| schedule.take())
    }
}

/// The connections of one thread, and the loop over them.
pub struct Worker<'a, I: Io> {
    pub(crate) io: I,
    pub(crate) clock: Clock,
    pub(crate) assignment: Assignment<'a>,
    /// Those of the users, then those of their further connections.
    pub(crate) seats: Vec<Seat>,
    /// Users whose connection is not begun yet, because enough others are on their way.
    pub(crate) queued: VecDeque<Slot>,
    pub(crate) desk: Rc<Desk>,
    pub(crate) stamps: Stamps,
    pub(crate) timers: Timers,
    pub(crate) scratch: Scratch,
    /// Users that wait for a scheduled start, first come first served.
    pub(crate) waiting: VecDeque<Slot>,
    /// Connections that are up.
    pub(crate) up: u32,
    pub(crate) outage: Option<Happening>,
    /// Connections lost in the outage and not back.
    pub(crate) missing: u64,
    /// The load has begun.
    pub(crate) is_open: bool,
}

impl<'a, I: Io> Worker<'a, I> {
    /// A worker with all its connections down.
    pub fn new(io: I, assignment: Assignment<'a>, desk: Desk) -> Self {
        let clock = io.clock();
        let slots = 0..assignment.users.len() as Slot;
        let seat = |slot| Seat::new((assignment.conn)(), slot);
        Worker {
            seats: slots.map(seat).collect(),
            queued: VecDeque::new(),
            stamps: Stamps::new(clock.clone()),
            io,
            clock,
            assignment,
            desk: Rc::new(desk),
            timers: Timers::default(),
            scratch: Scratch::default(),
            waiting: VecDeque::new(),
            up: 0,
            outage: None,
            missing: 0,
            is_open: false,
        }
    }

    /// The engine's clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Version and cipher of the first connection's TLS, of those that are up.
    pub fn tls(&self) -> Option<String> {
        self.seats.iter().find_map(|seat| seat.link.tls())
    }

    /// Drives the users until they are done, the time is up, or the run is interrupted.
    ///
    /// # Errors
    /// When the engine itself fails.
    pub fn drive(&mut self, mut timing: Timing, reports: &mut impl Reports) -> io::Result<()> {
        let mut events = Vec::with_capacity(self.seats.len().min(4096));
        while self.clock.now_ns() < timing.start_ns {
            self.io.turn(timing.start_ns, &mut events)?;
        }
        if let Some(tap) = &mut self.assignment.tap {
            tap.started(timing.start_ns);
        }
        let mut live = self.seat_users(&mut timing, reports);
        for event in events.drain(..) {
            live -= self.handle(event, &mut timing, reports);
        }
        let mut hard_end_ns = u64::MAX;
        let mut resumed_ns = self.clock.now_ns();
        while live > 0 {
            let now_ns = self.clock.now_ns();
            if self.assignment.interrupt.load(Ordering::Relaxed) || now_ns >= hard_end_ns {
                break;
            }
            if timing.end_ns.is_some_and(|end_ns| now_ns >= end_ns) && !self.desk.is_stopped() {
                hard_end_ns = now_ns.saturating_add(timing.grace_ns);
                live -= self.stop();
                continue;
            }
            // A sample may have closed an interval before its time was seen here.
            if self.rotate(now_ns, &mut timing) {
                live -= self.hand_in(now_ns, &mut timing, reports);
            }
            timing
                .recorder
                .turn(now_ns - resumed_ns, events.len() as u64);
            events.clear();
            let until_ns = self.next_deadline_ns(&timing, now_ns).min(hard_end_ns);
            self.io.turn(until_ns, &mut events)?;
            resumed_ns = self.clock.now_ns();
            self.stamps.refresh(resumed_ns, timing.recorder.stamps());
            for (place, event) in events.iter().enumerate() {
                if let Some(next) = events.get(place + AHEAD) {
                    self.seats[next.slot as usize].prefetch();
                }
                live -= self.handle(*event, &mut timing, reports);
            }
            live -= self.wake(&mut timing, reports);
            if self.is_overfull(&mut timing, reports) {
                break;
            }
        }
        self.finish(&mut timing, reports);
        Ok(())
    }

    /// Closes all connections.
    pub fn close(mut self) {
        for slot in 0..self.seats.len() {
            // A user goes before its connection: it may hold a request that is given up.
            self.seats[slot].user = None;
            self.seats[slot].close(&mut self.io, slot as Slot);
        }
    }

    /// Makes the users and lets each run until it first asks for something. Returns how many are
    /// at work then.
    fn seat_users(&mut self, timing: &mut Timing, reports: &mut impl Reports) -> usize {
        timing.recorder.set_connections(self.up);
        self.desk
            .open(timing.count_from_ns, timing.end_ns.unwrap_or(u64::MAX));
        self.is_open = true;
        // Else they wait at the gate.
        let is_new = !self.assignment.program.has_prologue();
        if is_new {
            self.make_users();
        }
        let users = self.assignment.users.len();
        let mut live = users;
        for slot in 0..users {
            let (conn, now_ns) = (&self.seats[slot].conn, self.clock.now_ns());
            match is_new {
                true => conn.begin(now_ns),
                false => conn.ready(now_ns),
            }
            live -= self.resume(slot as Slot, timing, reports);
        }
        live
    }

    /// Makes the users, each before its first step.
    pub(crate) fn make_users(&mut self) {
        for (slot, id) in self.assignment.users.iter().enumerate() {
            let db = Db::new(self.seats[slot].conn.clone(), self.desk.clone());
            self.seats[slot].user = Some(self.assignment.program.user(*id, db));
        }
    }

    /// Handles one event. Returns how many users ended by it: none or one.
    pub(crate) fn handle(
        &mut self,
        event: Event,
        timing: &mut Timing,
        reports: &mut impl Reports,
    ) -> usize {
        let slot = event.slot;
        if self.is_stale(event) {
            return 0;
        }
        if !self.seats[slot as usize].link.is_up() {
            let step = self.link_event(event);
            return self.later_step(slot, step, timing, reports);
        }
        match event.what {
            What::Readable { .. } => self.readable(event, timing, reports),
            What::Closed(errno) => self.lose(slot, &describe(errno), timing, reports),
            What::Opened => 0,
        }
    }

    /// Bytes for a connection that is up: the heart of the loop.
    fn readable(&mut self, event: Event, timing: &mut Timing, reports: &mut impl Reports) -> usize {
        let slot = event.slot;
        let (complete, stamp_ns) = match self.take_in(event) {
            Ok(taken) => taken,
            Err(reason) => return self.lose(slot, &reason, timing, reports),
        };
        let seat = &mut self.seats[slot as usize];
        if !complete || !seat.conn.awaits(Ask::Send) {
            return 0;
        }
        let noticed_ns = self.clock.now_ns();
        let counts = timing.recorder.stamps();
        let sent = self.io.sent(slot);
        if seat.stamped {
            seat.stamped = false;
            if let Some(transmit_ns) = self.io.transmit_stamp_ns(slot) {
                self.stamps.transmitted(sent, transmit_ns, counts);
            }
        }
        let queued_ns = seat.conn.noticed_ns();
        let mut parts = self
            .stamps
            .split(queued_ns, sent, stamp_ns, noticed_ns, counts);
        if let Some(parts) = &mut parts {
            // What came behind the reply in the same read bears one stamp with it: the later.
            parts.upper_bound = seat.conn.shares_arrival();
        }
        seat.conn.add_parts(parts);
        seat.conn.ready(noticed_ns);
        self.resume(slot, timing, reports)
    }

    /// Takes what arrived for a connection that is up. Gives whether it completes the reply, and the
    /// stamp of its arrival.
    ///
    /// # Errors
    /// Why the connection is of no further use.
    pub(crate) fn take_in(&mut self, event: Event) -> Result<(bool, Option<u64>), String> {
        let slot = event.slot;
        let seat = &mut self.seats[slot as usize];
        let Some(received) = self.io.receive(event) else {
            return Ok((false, None));
        };
        if let Some(errno) = received.closed {
            return Err(describe(errno));
        }
        let stamp_ns = received.stamp_ns;
        seat.stamps = stamp_ns.is_some();
        let fed = if seat.link.is_plain() {
            seat.conn.feed(received.bytes)
        } else {
            // The engine's bytes are out of reach once it is asked to send what TLS answers.
            let mut bytes = std::mem::take(&mut self.scratch.from_socket);
            bytes.clear();
            bytes.extend_from_slice(received.bytes);
            let (conn, scratch) = (&seat.conn, &mut self.scratch);
            let fed = seat
                .link
                .receive(&bytes, &mut self.io, slot, scratch, |plain| {
                    conn.feed(plain)
                });
            self.scratch.from_socket = bytes;
            fed.unwrap_or_else(|reason| Err(DbError::protocol(reason)))
        };
        match fed.map_err(|error| error.message)? {
            Fed::More => Ok((false, stamp_ns)),
            Fed::Send => {
                let request = seat.conn.outgoing();
                seat.link
                    .send(&request, false, &mut self.io, slot, &mut self.scratch);
                Ok((false, stamp_ns))
            }
            Fed::Complete => Ok((true, stamp_ns)),
        }
    }

    /// Lets a user run until it asks for something, and takes that up. Returns 1 if it ended.
    pub(crate) fn resume(
        &mut self,
        slot: Slot,
        timing: &mut Timing,
        reports: &mut impl Reports,
    ) -> usize {
        let noticed_ns = self.seats[slot as usize].conn.noticed_ns();
        self.rotate(noticed_ns, timing);
        loop {
            let seat = &mut self.seats[slot as usize];
            let Some(user) = &mut seat.user else {
                return self.resume_home(slot, timing, reports);
            };
            let mut context = Context::from_waker(Waker::noop());
            let polled = catch_unwind(AssertUnwindSafe(|| user.as_mut().poll(&mut context)));
            let assignment = &mut self.assignment;
            let client = assignment.users[slot as usize].client;
            self.desk.drain_samples(|sample| {
                timing.recorder.record(&sample);
                if let Some(tap) = &mut assignment.tap {
                    tap.sample(client, &sample);
                }
            });
            self.desk.drain_errors(|kind, error| {
                timing.recorder.record_error_example(
                    kind,
                    error.class,
                    error.counted_as(),
                    &error.message,
                );
            });
            let ended = match polled {
                Ok(Poll::Pending) => match self.take_up(slot, timing, reports) {
                    Ok(true) => continue,
                    Ok(false) => return 0,
                    Err(ended) => ended,
                },
                Ok(Poll::Ready(ended)) => ended,
                Err(panic) => {
                    Ended::Failed(format!("its program panicked: {}", panic_text(&*panic)))
                }
            };
            self.seats[slot as usize].user = None;
            if let Ended::Failed(detail) = ended {
                let at_ns = self.clock.now_ns();
                reports.event(Happening {
                    from_ns: at_ns,
                    until_ns: None,
                    what: Incident::UserFailed,
                    detail,
                    count: 1,
                });
            }
            return 1;
        }
    }

    /// Wakes users whose time has come, and links that try again.
    pub(crate) fn wake(&mut self, timing: &mut Timing, reports: &mut impl Reports) -> usize {
        let mut ended = 0;
        let now_ns = self.clock.now_ns();
        while let Some(due) = self.timers.pop(now_ns) {
            let (Due::Wake(slot) | Due::Retry(slot) | Due::Refused(slot)) = due;
            let seat = &self.seats[slot as usize];
            if self.seats[seat.home as usize].user.is_none() {
                continue;
            }
            match due {
                Due::Wake(_) => {
                    // Else it gave up its sleep.
                    if seat.conn.awaits(Ask::Sleep) {
                        seat.conn.ready(self.clock.now_ns());
                        ended += self.resume(slot, timing, reports);
                    }
                }
                // Else its user asked for it in the meantime.
                Due::Retry(_) if seat.link.is_down() && !seat.hung_up => {
                    let step = self.begin(slot);
                    ended += self.later_step(slot, step, timing, reports);
                }
                Due::Refused(_) if seat.link.is_down() && seat.conn.awaits(Ask::Renew) => {
                    seat.conn.ready(self.clock.now_ns());
                    ended += self.resume(slot, timing, reports);
                }
                Due::Retry(_) | Due::Refused(_) => {}
            }
        }
        while let Some(slot) = self.waiting.front().copied() {
            let now_ns = self.clock.now_ns();
            let Some(scheduled_ns) = timing.due_start(now_ns) else {
                break;
            };
            self.waiting.pop_front();
            self.seats[slot as usize].conn.grant(scheduled_ns, now_ns);
            ended += self.resume(slot, timing, reports);
        }
        ended
    }

    /// Hands in finished intervals, and looks after what need not be seen to at every turn.
    /// Returns how many users ended by it.
    fn hand_in(&mut self, now_ns: u64, timing: &mut Timing, reports: &mut impl Reports) -> usize {
        timing.recorder.set_connections(self.up);
        while let Some(interval) = timing.recorder.take() {
            reports.interval(interval);
        }
        let mut ended = 0;
        for slot in self.overdue(now_ns) {
            let step = self.time_out(slot);
            ended += self.later_step(slot, step, timing, reports);
        }
        ended
    }

    fn next_deadline_ns(&self, timing: &Timing, now_ns: u64) -> u64 {
        let start_ns = match (&timing.schedule, self.waiting.is_empty()) {
            (Some(schedule), false) => schedule.next_ns(),
            _ => u64::MAX,
        };
        let end_ns = match self.desk.is_stopped() {
            false => timing.end_ns.unwrap_or(u64::MAX),
            true => u64::MAX,
        };
        (now_ns + WAIT_MAX_NS)
            .min(timing.recorder.due_ns())
            .min(self.timers.next_ns())
            .min(start_ns)
            .min(end_ns)
    }
}
