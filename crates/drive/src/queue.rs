//! Assigns scheduled starts to waiting users, and counts the starts that wait for a user.
//!
//! In: the schedule, the clients. Out: the user that gets a start; at the end of each interval, the numbers
//! of waiting starts and of transactions in progress; the report that the queue is full. Must never: skip a
//! start, or query the schedule without need.

use crate::assignment::Timing;
use crate::clock::Clock;
use crate::io::{Io, Slot};
use crate::run_event::{RunEvent, RunEventKind};
use crate::worker::Worker;
use std::collections::VecDeque;

/// A scheduled start that was granted to a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GrantedStart {
    /// When the start was due.
    pub(crate) scheduled_ns: u64,
    /// When the start was granted.
    pub(crate) granted_ns: u64,
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

    /// Requests a start for a user. Grants one that is due, unless other users wait: the user then queues
    /// behind them, and [`WaitingUsers::next_due`] serves it.
    #[inline]
    pub(crate) fn request(
        &mut self,
        slot: Slot,
        timing: &mut Timing,
        clock: &Clock,
    ) -> Option<GrantedStart> {
        let granted = if self.queue.is_empty() {
            take_due(timing, clock)
        } else {
            None
        };
        if granted.is_none() {
            self.queue.push_back(slot);
        }
        granted
    }

    /// Grants a due start to the user that has waited longest.
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

    /// Removes all users: the window is over.
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
        granted_ns: now_ns,
    })
}

impl<I: Io> Worker<'_, I> {
    /// If the current interval has ended by `now_ns`, adds the queries and the waiting starts to it, and
    /// closes it. Returns whether a finished interval is available.
    #[inline]
    pub(crate) fn rotate_interval(&mut self, now_ns: u64) -> bool {
        if self.timing.recorder.is_outside_current(now_ns) {
            self.timing
                .recorder
                .count_queries(&self.context.take_queries());
            if let Some(schedule) = &mut self.timing.schedule {
                let waiting = schedule.count_waiting(now_ns);
                let in_progress = self
                    .clients
                    .iter()
                    .filter(|client| client.conn.is_in_transaction());
                self.timing
                    .recorder
                    .set_waiting_and_in_progress(waiting, in_progress.count() as u32);
            }
        }
        self.timing.recorder.rotate(now_ns)
    }

    /// Whether more due starts wait for a user than the queue holds. Reports the full queue, which ends the
    /// run.
    pub(crate) fn queue_overflowed(&mut self) -> bool {
        let (Some(schedule), Some(queue_max)) = (&mut self.timing.schedule, self.timing.queue_max)
        else {
            return false;
        };
        let now_ns = self.clock.now_ns();
        let waiting = schedule.count_waiting(now_ns);
        if waiting <= queue_max || self.context.is_stopped() {
            return false;
        }
        self.reports.deliver_event(RunEvent {
            from_ns: now_ns,
            until_ns: None,
            kind: RunEventKind::QueueFull,
            detail: "more starts were due than the queue holds".to_owned(),
            count: waiting,
        });
        true
    }
}
