//! What a worker records: samples and the loop's own state, in intervals of a second that go to the collecting thread.
//!
//! Must never: omit a transaction that was started or due from the counts, or query the schedule of starts without need.

use super::Users;
use crate::connection_counts::ConnectionCounts;
use crate::hosts::HostConnections;
use crate::io::{Slot, WaitStrategy};
use crate::messages::WorkerMessage;
use crate::run_event::{RunEvent, RunEventKind};
use prony_measure::ExcludedTransactions;
use prony_measure::interval::TimestampCounts;

const SECOND_NS: u64 = 1_000_000_000;

impl Users<'_> {
    pub fn first_wait_strategy(&mut self, can_coalesce: bool) -> WaitStrategy {
        let now_ns = self.clock.now_ns();
        self.timing.wait_policy.start(now_ns, can_coalesce)
    }

    /// Records an iteration of the loop, and its number of replies. Returns how to wait from now on if that changes.
    #[inline]
    pub fn record_iteration(
        &mut self,
        now_ns: u64,
        iteration_ns: u64,
        replies: usize,
    ) -> Option<WaitStrategy> {
        let (policy, recorder) = (&mut self.timing.wait_policy, &mut self.timing.recorder);
        recorder.record_iteration(iteration_ns, replies as u64);
        let strategy = policy.after_iteration(now_ns, replies)?;
        recorder.set_coalescing(policy.is_coalescing());
        Some(strategy)
    }

    /// Records the samples and errors of a user that has just run.
    #[inline]
    pub(super) fn record_samples(&mut self, slot: Slot) {
        let client = self.ids[slot as usize].client;
        let window = self.timing.count_from_ns..self.timing.end_ns.unwrap_or(u64::MAX);
        let start_ns = self.timing.start_ns;
        let host = self.slots[slot as usize].conn.sample_host();
        let mut host_totals = self.host_totals.get_mut(usize::from(host));
        let (recorder, listener) = (&mut self.timing.recorder, &mut self.sample_listener);
        self.context.drain_samples(|sample| {
            recorder.record(sample);
            if let Some(totals) = &mut host_totals {
                let second = sample.ended_ns.saturating_sub(start_ns) / SECOND_NS;
                totals.record(sample, second as usize, window.contains(&sample.ended_ns));
            }
            if let Some(listener) = listener {
                listener.sample(client, sample);
            }
        });
        self.context.drain_errors(|kind, error| {
            recorder.record_error_example(kind, error.class, error.counted_as, &error.message);
        });
    }

    /// Returns to the default scheduling policy, because a user has to wake on time.
    pub(super) fn leave_batch_policy(&mut self) {
        self.timing.batch_policy.leave();
        let counts = self.timing.batch_policy.counts();
        self.timing.recorder.set_batch(counts);
    }

    #[inline]
    pub fn timestamps(&mut self) -> &mut TimestampCounts {
        self.timing.recorder.timestamps()
    }

    /// Tells the recorder how many connections are up, and how many were lost and are not back yet.
    pub fn record_connections(&mut self, connections: &ConnectionCounts) {
        let (up, lost) = (connections.up(), connections.lost_count());
        self.timing.recorder.set_connections(up, lost);
    }

    /// Closes the current interval if it has ended by `now_ns`. Returns whether a finished interval is available.
    #[inline]
    pub fn rotate_interval(&mut self, now_ns: u64) -> bool {
        if self.timing.recorder.is_outside_current(now_ns) {
            self.end_interval(now_ns);
        }
        self.timing.recorder.has_finished()
    }

    /// Adds the queries and the waiting starts to the current interval, and closes it.
    #[cold]
    fn end_interval(&mut self, now_ns: u64) {
        self.follow_window_start();
        let recorder = &mut self.timing.recorder;
        recorder.count_queries(&self.context.take_queries());
        if let Some(schedule) = &mut self.timing.schedule {
            let waiting = schedule.count_waiting(now_ns);
            let slots = self.slots.iter();
            let in_progress = slots.filter(|slot| slot.conn.is_in_transaction());
            recorder.set_waiting_and_in_progress(waiting, in_progress.count() as u32);
        }
        self.timing.recorder.rotate(now_ns);
    }

    /// Takes over when the window begins, once that is decided: at least a part of a second before, so that each
    /// worker knows it when it opens the interval that begins there.
    fn follow_window_start(&mut self) {
        if let Some(window_start_ns) = self.channel.window_start_ns()
            && window_start_ns != self.timing.count_from_ns
        {
            self.timing.set_window_start(window_start_ns);
            self.set_window();
        }
    }

    /// Delivers finished intervals, and takes cleared ones back for reuse.
    pub fn deliver_intervals(&mut self, connections: &ConnectionCounts) {
        self.record_connections(connections);
        self.send_finished_intervals();
        while let Some(spare) = self.channel.take_spare_interval() {
            self.timing.recorder.give_back(spare);
        }
    }

    fn send_finished_intervals(&mut self) {
        while let Some(mut interval) = self.timing.recorder.take_finished() {
            interval.health.pinned_workers = self.timing.is_pinned.into();
            self.channel.send_interval(interval);
        }
    }

    /// Reports it if more due starts wait for a user than the queue holds, which ends the run. Returns whether they do.
    #[inline]
    pub fn report_full_queue(&mut self) -> bool {
        self.timing
            .queue_max
            .is_some_and(|queue_max| self.report_more_waiting_than(queue_max))
    }

    #[inline(never)]
    fn report_more_waiting_than(&mut self, queue_max: u64) -> bool {
        let Some(schedule) = &mut self.timing.schedule else {
            return false;
        };
        let now_ns = self.clock.now_ns();
        let waiting = schedule.count_waiting(now_ns);
        if waiting <= queue_max || self.context.is_stopped() {
            return false;
        }
        self.channel.send(WorkerMessage::Event(RunEvent {
            from_ns: now_ns,
            until_ns: None,
            kind: RunEventKind::QueueFull,
            cause: None,
            detail: "more starts were due than the queue holds".to_owned(),
            count: waiting,
        }));
        true
    }

    /// Delivers the last interval, with the counts of transactions that no figure includes.
    pub fn finish(&mut self, connections: &ConnectionCounts) {
        let now_ns = self.clock.now_ns();
        let end_ns = self.timing.end_ns.unwrap_or(now_ns).min(now_ns);
        let mut excluded = ExcludedTransactions::default();
        for user in &self.slots {
            if !user.conn.is_in_transaction() {
                continue;
            }
            // A user may have sent its commit on an additional connection.
            let mut extra_conns = user.extra_conns.iter();
            let may_have_committed =
                user.conn.may_have_committed() || extra_conns.any(|(_, conn)| conn.may_commit());
            let schedule = self.timing.recorder.schedule();
            let started_ns = user.conn.transaction_started_ns();
            let in_window_ns = schedule.time_in_window_ns(started_ns, end_ns);
            excluded.count_cut_off(may_have_committed, in_window_ns);
        }
        // Once every user has completed its number of transactions, no further start is due.
        let ends_by_count = self.timing.end_ns.is_none() || self.context.is_budget_spent();
        let is_complete = ends_by_count && self.live_count == 0;
        if let Some(schedule) = &mut self.timing.schedule
            && !is_complete
            && let Some(before_end_ns) = end_ns.checked_sub(1)
        {
            excluded.never_started += schedule.take_until(before_end_ns);
        }
        self.record_connections(connections);
        let recorder = &mut self.timing.recorder;
        recorder.count_queries(&self.context.take_queries());
        recorder.finish(now_ns, excluded);
        if let Some(listener) = &mut self.sample_listener {
            listener.ended(now_ns);
        }
        self.send_finished_intervals();
    }

    /// Records how many connections are up at each host in the second that has just ended.
    pub fn record_host_connections(&mut self, connections: &[HostConnections], now_ns: u64) {
        let current_second = now_ns.saturating_sub(self.timing.start_ns) / SECOND_NS;
        let Some(ended_second) = current_second.checked_sub(1) else {
            return;
        };
        for (host, connections) in self.host_totals.iter_mut().zip(connections) {
            host.second(ended_second as usize).connections = connections.up;
        }
    }

    /// Sends what happened at each host, if there are several.
    pub fn send_host_totals(&mut self, connections: &[HostConnections]) {
        if self.host_totals.is_empty() {
            return;
        }
        for (host, connections) in self.host_totals.iter_mut().zip(connections) {
            host.connections = *connections;
        }
        let totals = std::mem::take(&mut self.host_totals);
        self.channel.send(WorkerMessage::Hosts(totals));
    }

    /// Sends the times of the window's round trips, if the run measures them.
    pub fn send_round_trip_times(&self) {
        if let Some(times) = self.context.take_round_trip_times() {
            self.channel.send(WorkerMessage::RoundTrips(times));
        }
    }
}
