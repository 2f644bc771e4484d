//! Users that wait for a start, starts that are due and wait for a user, and the end of a second.
//!
//! In: the schedule, the clients. Out: which user gets a start; how many starts wait and how many are in flight; the
//! end of a run whose queue is full. Must never: skip a start, or query the schedule when its answer is not needed.

use crate::assignment::Timing;
use crate::clock::Clock;
use crate::io::{Io, Slot};
use crate::run_event::{RunEvent, RunEventKind};
use crate::worker::Worker;
use std::collections::VecDeque;

/// A scheduled start that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GrantedStart {
    /// When it was due.
    pub(crate) scheduled_ns: u64,
    /// When it was taken.
    pub(crate) now_ns: u64,
}

/// Users that wait for a scheduled start, first come first served.
#[derive(Debug, Default)]
pub(crate) struct WaitingUsers {
    queue: VecDeque<Slot>,
}

impl WaitingUsers {
    /// Whether no user waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// A user asks for a start. It gets one that is due, unless other users wait: [`WaitingUsers::next_due`] serves
    /// these first, and the user queues behind them.
    #[inline]
    pub(crate) fn request(
        &mut self,
        slot: Slot,
        timing: &mut Timing,
        clock: &Clock,
    ) -> Option<GrantedStart> {
        let granted = match self.queue.is_empty() {
            true => take_due(timing, clock),
            false => None,
        };
        if granted.is_none() {
            self.queue.push_back(slot);
        }
        granted
    }

    /// The user that has waited longest, once a start is due.
    #[inline]
    pub(crate) fn next_due(
        &mut self,
        timing: &mut Timing,
        clock: &Clock,
    ) -> Option<(Slot, GrantedStart)> {
        let slot = *self.queue.front()?;
        let granted = take_due(timing, clock)?;
        self.queue.pop_front();
        Some((slot, granted))
    }

    /// The window is over: nobody waits any more.
    pub(crate) fn clear(&mut self) {
        self.queue.clear();
    }
}

#[inline]
fn take_due(timing: &mut Timing, clock: &Clock) -> Option<GrantedStart> {
    let now_ns = clock.now_ns();
    let scheduled_ns = timing.take_due_start(now_ns)?;
    Some(GrantedStart {
        scheduled_ns,
        now_ns,
    })
}

impl<I: Io> Worker<'_, I> {
    /// Closes the current interval if it has ended by `now_ns`; the users' counts so far belong to it.
    /// Returns whether an interval is ready to hand in.
    #[inline]
    pub(crate) fn rotate(&mut self, now_ns: u64) -> bool {
        if self.timing.recorder.is_past(now_ns) {
            self.timing.recorder.count(&self.context.take_queries());
            if let Some(schedule) = &mut self.timing.schedule {
                let waiting = schedule.waiting(now_ns);
                let under_way = self
                    .clients
                    .iter()
                    .filter(|client| client.conn.is_in_transaction());
                self.timing
                    .recorder
                    .set_queue(waiting, under_way.count() as u32);
            }
        }
        self.timing.recorder.rotate(now_ns)
    }

    /// Whether more starts wait than the queue holds; reports it if so.
    pub(crate) fn queue_overflowed(&mut self) -> bool {
        let (Some(schedule), Some(queue_max)) = (&mut self.timing.schedule, self.timing.queue_max)
        else {
            return false;
        };
        let now_ns = self.clock.now_ns();
        let waiting = schedule.waiting(now_ns);
        if waiting <= queue_max || self.context.is_stopped() {
            return false;
        }
        self.reports.event(RunEvent {
            from_ns: now_ns,
            until_ns: None,
            kind: RunEventKind::QueueFull,
            detail: "more starts were due than the queue holds".to_owned(),
            count: waiting,
        });
        true
    }
}
