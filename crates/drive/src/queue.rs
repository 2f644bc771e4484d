//! Starts that are due and wait for a user, and the end of a second.
//!
//! In: the schedule, the seats. Out: how many wait and how many are under way; the end of a run whose
//! queue is full. Must never: take a start, or ask the schedule where nobody wants to know.

use crate::happening::{Happening, Incident, Reports};
use crate::io::Io;
use crate::worker::{Timing, Worker};

impl<I: Io> Worker<'_, I> {
    /// Closes the current interval if it has ended by then: what users have counted so far belongs to
    /// it. Says whether one is to be handed in.
    #[inline]
    pub(crate) fn rotate(&self, now_ns: u64, timing: &mut Timing) -> bool {
        if timing.recorder.is_past(now_ns) {
            timing.recorder.count(&self.desk.take_queries());
            if let Some(schedule) = &mut timing.schedule {
                let waiting = schedule.waiting(now_ns);
                let under_way = self.seats.iter().filter(|seat| seat.conn.is_under_way());
                timing.recorder.set_queue(waiting, under_way.count() as u32);
            }
        }
        timing.recorder.rotate(now_ns)
    }

    /// Whether more starts wait than the queue holds; says so then.
    pub(crate) fn is_overfull(&self, timing: &mut Timing, reports: &mut impl Reports) -> bool {
        let (Some(schedule), Some(queue_max)) = (&mut timing.schedule, timing.queue_max) else {
            return false;
        };
        let now_ns = self.clock.now_ns();
        let waiting = schedule.waiting(now_ns);
        if waiting <= queue_max || self.desk.is_stopped() {
            return false;
        }
        reports.event(Happening {
            from_ns: now_ns,
            until_ns: None,
            what: Incident::QueueFull,
            detail: "more starts were due than the queue holds".to_owned(),
            count: waiting,
        });
        true
    }
}
