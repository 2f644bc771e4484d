//! Creates, starts, resumes and wakes the users of a worker.
//!
//! In: complete replies, expired timers. Out: samples, and the users' next requests. Must never: resume a
//! user whose request is in flight.

use crate::io::{Io, Slot};
use crate::run_event::{RunEvent, RunEventKind, panic_text};
use crate::timers::TimerEvent;
use crate::worker::Worker;
use prony_session::{Db, UserExit, UserPhase};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};

impl<I: Io> Worker<'_, I> {
    /// Starts the load: creates the users if they do not exist yet, and runs each until its next request.
    pub(crate) fn start_users(&mut self) {
        self.record_connections();
        self.context.set_window(
            self.timing.count_from_ns,
            self.timing.end_ns.unwrap_or(u64::MAX),
        );
        self.start_gate.open();
        // If there is a prologue, the users exist already and wait for the common start.
        let users_are_new = !self.assignment.program.has_prologue();
        if users_are_new {
            self.create_users();
        }
        for slot in self.clients.user_slots() {
            let (conn, now_ns) = (&self.clients[slot].conn, self.clock.now_ns());
            if users_are_new {
                conn.set_noticed_ns(now_ns)
            } else {
                conn.mark_ready(now_ns)
            }
            self.resume(slot);
        }
    }

    /// Creates the users without running them.
    pub(crate) fn create_users(&mut self) {
        for (slot, id) in (0..).zip(&self.assignment.users) {
            let db = Db::new(self.clients[slot].conn.clone(), self.context.clone());
            let user = self.assignment.program.create_user(*id, db);
            self.clients.set_user(slot, user);
        }
    }

    /// Runs a user until it has to wait for a request, and begins to carry out that request.
    pub(crate) fn resume(&mut self, slot: Slot) {
        let noticed_ns = self.clients[slot].conn.noticed_ns();
        self.rotate_interval(noticed_ns);
        loop {
            let client = &mut self.clients[slot];
            let Some(user) = client.user_mut() else {
                return self.resume_user(slot);
            };
            let mut context = Context::from_waker(Waker::noop());
            let polled = catch_unwind(AssertUnwindSafe(|| user.as_mut().poll(&mut context)));
            let assignment = &mut self.assignment;
            let client = assignment.users[slot as usize].client;
            self.context.drain_samples(|sample| {
                self.timing.recorder.record(sample);
                if let Some(listener) = &mut assignment.sample_listener {
                    listener.sample(client, sample);
                }
            });
            self.context.drain_errors(|kind, error| {
                self.timing.recorder.record_error_example(
                    kind,
                    error.class,
                    error.counted_as,
                    &error.message,
                );
            });
            let exit = match polled {
                Ok(Poll::Pending) => match self.handle_request(slot) {
                    Ok(true) => continue,
                    Ok(false) => return,
                    Err(exit) => exit,
                },
                Ok(Poll::Ready(exit)) => exit,
                Err(panic) => {
                    UserExit::Failed(format!("its program panicked: {}", panic_text(&*panic)))
                }
            };
            self.clients.end_user(slot);
            if let UserExit::Failed(detail) = exit {
                if !self.start_gate.is_open() {
                    return self.start_gate.record_user_failure(detail);
                }
                let at_ns = self.clock.now_ns();
                self.reports.deliver_event(RunEvent {
                    from_ns: at_ns,
                    until_ns: None,
                    kind: RunEventKind::UserFailed,
                    detail,
                    count: 1,
                });
            }
            return;
        }
    }

    /// Handles expired timers, and grants scheduled starts that are due.
    pub(crate) fn wake_users(&mut self) {
        if !self.timers.is_empty() {
            self.handle_timers();
        }
        while let Some((slot, start)) = self.waiting.next_due(&mut self.timing, &self.clock) {
            let conn = &self.clients[slot].conn;
            conn.grant_start(start.scheduled_ns, start.granted_ns);
            self.resume(slot);
        }
    }

    /// Handles the timers that have expired.
    fn handle_timers(&mut self) {
        let now_ns = self.clock.now_ns();
        while let Some(due) = self.timers.pop(now_ns) {
            let (TimerEvent::Wake(slot)
            | TimerEvent::Retry(slot)
            | TimerEvent::ContinueLogin(slot)
            | TimerEvent::Refused(slot)) = due;
            let client = &self.clients[slot];
            // Before the load there may be no users yet.
            if self.start_gate.is_open() && !self.clients[client.user_slot].has_user() {
                continue;
            }
            match due {
                TimerEvent::Wake(_) => {
                    // If the user no longer sleeps, it has abandoned its sleep.
                    if client.conn.is_busy_with(UserPhase::Sleep) {
                        client.conn.mark_ready(self.clock.now_ns());
                        self.resume(slot);
                    }
                }
                // If the guard fails, the user has opened or closed the connection in the meantime.
                TimerEvent::Retry(_) if client.link.is_down() && !client.stays_closed => {
                    let step = self.begin_connect(slot);
                    self.apply_reconnect_step(slot, step);
                }
                // If the link has ended its login in the meantime, this changes nothing.
                TimerEvent::ContinueLogin(_) => {
                    let step = self.continue_login(slot);
                    self.apply_reconnect_step(slot, step);
                }
                TimerEvent::Refused(_)
                    if client.link.is_down()
                        && client.conn.is_busy_with(UserPhase::OpenConnection) =>
                {
                    client.conn.mark_ready(self.clock.now_ns());
                    self.resume(slot);
                }
                TimerEvent::Retry(_) | TimerEvent::Refused(_) => {}
            }
        }
    }
}
