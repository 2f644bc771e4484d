//! The end of a run: who is let go, and what is left over.
//!
//! In: a worker whose window is over, or whose run is. Out: how many users ended; the last interval.
//! Must never: leave a transaction out of the count that was started or due.

use crate::happening::Reports;
use crate::io::Io;
use crate::worker::{Timing, Worker};
use prony_measure::Leftover;

impl<I: Io> Worker<'_, I> {
    /// The end of the window: no transaction starts from now on. Users that are in none, because
    /// they wait for a start or a connection, or think, are let go. Returns how many ended.
    pub(crate) fn stop(&mut self) -> usize {
        self.desk.stop();
        self.waiting.clear();
        let seats = self.seats.iter_mut();
        seats
            .filter(|seat| !seat.conn.is_under_way())
            .filter_map(|seat| seat.user.take())
            .count()
    }

    /// Hands in all that is left, with what is in no figure.
    pub(crate) fn finish(&mut self, timing: &mut Timing, reports: &mut impl Reports) {
        let now_ns = self.clock.now_ns();
        let end_ns = timing.end_ns.unwrap_or(now_ns).min(now_ns);
        let under_way = self.seats.iter().filter(|seat| seat.conn.is_under_way());
        let mut leftover = Leftover {
            unfinished: under_way.count() as u64,
            ..Leftover::default()
        };
        // Once every user has done its count, nothing more is due.
        let by_count = timing.end_ns.is_none() || self.desk.is_spent();
        let all_done = by_count && self.seats.iter().all(|seat| seat.user.is_none());
        while let Some(schedule) = &mut timing.schedule {
            if all_done || schedule.next_ns() >= end_ns {
                break;
            }
            schedule.take();
            leftover.never_started += 1;
        }
        if let Some(outage) = self.outage.take() {
            reports.event(outage);
        }
        timing.recorder.set_connections(self.up);
        timing.recorder.count(&self.desk.take_queries());
        timing.recorder.finish(now_ns, leftover);
        if let Some(tap) = &mut self.assignment.tap {
            tap.ended(now_ns);
        }
        while let Some(interval) = timing.recorder.take() {
            reports.interval(interval);
        }
    }
}
