//! What users do before the common start: connect is done, the load has not begun.
//!
//! In: a program whose users have something to prepare. Out: users that wait at the gate. Must never: let
//! what they do now into any figure.

use crate::connections::ConnectError;
use crate::happening::{Happening, Incident, Reports};
use crate::io::Io;
use crate::worker::{Timing, WAIT_MAX_NS, Worker};
use prony_measure::{Interval, Recorder, Schedule, Shape};
use prony_session::Ask;
use std::sync::atomic::Ordering;

/// Keeps why a user could not get ready; there are no figures yet.
#[derive(Default)]
struct Failures {
    first: Option<String>,
}

impl Reports for Failures {
    fn interval(&mut self, _: Box<Interval>) {}

    fn event(&mut self, event: Happening) {
        if event.what == Incident::UserFailed {
            self.first.get_or_insert(event.detail);
        }
    }
}

impl<I: Io> Worker<'_, I> {
    /// Lets all users get to the gate, where the program has one.
    ///
    /// # Errors
    /// A user ended before it, the run was interrupted, or the engine failed.
    pub fn prologue(&mut self) -> Result<(), ConnectError> {
        if !self.assignment.program.has_prologue() {
            return Ok(());
        }
        let start_ns = self.clock.now_ns();
        // One interval without an end: at the end of a second, what users have counted would go with it.
        let schedule = Schedule {
            start_ns: 0,
            warmup_ns: 0,
            window_ns: None,
            interval_ns: u64::MAX,
        };
        let shape = Shape::closed(self.assignment.program.kinds().len());
        let mut timing = Timing {
            start_ns,
            end_ns: None,
            count_from_ns: u64::MAX,
            grace_ns: u64::MAX,
            schedule: None,
            queue_max: None,
            recorder: Recorder::new(schedule, shape),
        };
        let mut failures = Failures::default();
        self.make_users();
        let users = self.assignment.users.len();
        for slot in 0..users {
            self.seats[slot].conn.begin(self.clock.now_ns());
            self.resume(slot as u32, &mut timing, &mut failures);
        }
        let mut events = Vec::new();
        let mut look_ns = 0;
        while !self.seats[..users]
            .iter()
            .all(|seat| seat.conn.awaits(Ask::Gate))
        {
            if self.assignment.interrupt.load(Ordering::Relaxed) {
                return Err(ConnectError::Interrupted);
            }
            if self.seats[..users].iter().any(|seat| seat.user.is_none()) {
                let reason = failures
                    .first
                    .unwrap_or_else(|| "it had nothing to do".to_owned());
                return Err(ConnectError::Unready(reason));
            }
            let until_ns = self.clock.now_ns() + WAIT_MAX_NS;
            self.io
                .turn(until_ns.min(self.timers.next_ns()), &mut events)?;
            for event in events.drain(..) {
                self.handle(event, &mut timing, &mut failures);
            }
            self.wake(&mut timing, &mut failures);
            self.begin_queued(&mut timing, &mut failures);
            let now_ns = self.clock.now_ns();
            if now_ns >= look_ns {
                look_ns = now_ns + WAIT_MAX_NS;
                for slot in self.overdue(now_ns) {
                    let step = self.time_out(slot);
                    self.later_step(slot, step, &mut timing, &mut failures);
                }
            }
        }
        // What they have counted goes into the first interval.
        Ok(())
    }
}
