//! Runs the work of users between connecting and the common start.
//!
//! In: a program whose users have something to prepare. Out: users that wait for the common start. Must
//! never: include this work in a figure.

use crate::error::ConnectError;
use crate::io::{Io, IoEvent};
use crate::worker::{LOOP_WAIT_MAX_NS, Worker};
use prony_session::UserPhase;
use std::io;
use std::sync::atomic::Ordering;

/// Where users wait for the common start.
#[derive(Debug, Default)]
pub(crate) struct StartGate {
    is_open: bool,
    /// Why the first user that could not get ready failed.
    not_ready_reason: Option<String>,
}

impl StartGate {
    /// Whether the load has begun.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Opens the gate: the load begins.
    pub(crate) fn open(&mut self) {
        self.is_open = true;
    }

    /// Records that a user ended before the load.
    pub(crate) fn record_user_failure(&mut self, reason: String) {
        self.not_ready_reason.get_or_insert(reason);
    }

    /// Takes the reason why a user did not get ready. If no failure was recorded, its program ended.
    fn take_not_ready_reason(&mut self) -> String {
        let reason = self.not_ready_reason.take();
        reason.unwrap_or_else(|| "it had nothing to do".to_owned())
    }
}

impl<I: Io> Worker<'_, I> {
    /// If the program has a prologue, runs all users until they wait for the common start.
    ///
    /// # Errors
    /// A user ended before the common start, the run was interrupted, or the I/O engine failed.
    pub fn run_prologue(&mut self) -> Result<(), ConnectError> {
        if !self.assignment.program.has_prologue() {
            return Ok(());
        }
        self.create_users();
        for slot in self.clients.user_slots() {
            self.clients[slot].conn.set_noticed_ns(self.clock.now_ns());
            self.resume(slot);
        }
        let mut events = Vec::new();
        while !self.clients.all_users_await(UserPhase::CommonStart) {
            if self.assignment.interrupt.load(Ordering::Relaxed) {
                return Err(ConnectError::Interrupted);
            }
            if self.clients.live_users() < self.clients.user_slots().len() {
                return Err(ConnectError::UserNotReady(
                    self.start_gate.take_not_ready_reason(),
                ));
            }
            let deadline_ns = self.clock.now_ns() + LOOP_WAIT_MAX_NS;
            self.io
                .submit_and_wait(deadline_ns.min(self.timers.next_ns()), &mut events)?;
            for event in events.drain(..) {
                self.handle_event(event);
            }
            self.wake_users();
            self.open_queued();
            self.time_out_overdue(self.clock.now_ns());
        }
        // The queries of the prologue stay in the context: the first interval of the load counts them.
        Ok(())
    }

    /// Waits for the common start. Handles events of connections meanwhile: while a socket is readable or
    /// closed, the I/O engine would not wait.
    pub(crate) fn await_start(&mut self, events: &mut Vec<IoEvent>) -> io::Result<()> {
        loop {
            let now_ns = self.clock.now_ns();
            if now_ns >= self.timing.start_ns || self.is_interrupted() {
                return Ok(());
            }
            self.time_out_overdue(now_ns);
            let deadline_ns = (now_ns + LOOP_WAIT_MAX_NS).min(self.timing.start_ns);
            self.io
                .submit_and_wait(deadline_ns.min(self.timers.next_ns()), events)?;
            for event in events.drain(..) {
                self.handle_event(event);
            }
            self.wake_users();
        }
    }
}
