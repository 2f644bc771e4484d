//! Ends a run: drops the users that are not in a transaction, and counts the unfinished transactions.
//!
//! In: a worker at the end of its window or of its run. Out: the last interval. Must never: omit a
//! transaction that was started or due from the counts.

use crate::io::Io;
use crate::worker::{LOOP_WAIT_MAX_NS, Worker};
use prony_measure::ExcludedTransactions;
use prony_session::UserPhase;

/// How long users wait after the end of the run for a connection that they requested.
const CONNECT_GRACE_NS: u64 = 1_000_000_000;

/// When to check next, after the end of the run, for users that still wait for a connection that they
/// requested.
#[derive(Debug)]
pub(crate) struct ConnectionWaitCheck {
    next_ns: u64,
}

impl Default for ConnectionWaitCheck {
    /// While the run has not ended, no check is due.
    fn default() -> Self {
        ConnectionWaitCheck { next_ns: u64::MAX }
    }
}

impl ConnectionWaitCheck {
    /// Starts the checks at the end of the run, after [`CONNECT_GRACE_NS`].
    fn begin(&mut self, now_ns: u64) {
        self.next_ns = now_ns.saturating_add(CONNECT_GRACE_NS);
    }

    /// Whether to check now; if so, the next check is due after the longest wait of an iteration.
    fn take_due(&mut self, now_ns: u64) -> bool {
        let due = now_ns >= self.next_ns;
        if due {
            self.next_ns = now_ns.saturating_add(LOOP_WAIT_MAX_NS);
        }
        due
    }
}

impl<I: Io> Worker<'_, I> {
    /// Ends the window: no transaction starts from now on. Drops the users that are not in a transaction, but
    /// wait for a start or a connection, or sleep.
    pub(crate) fn end_window(&mut self) {
        self.context.stop();
        self.wait_check.begin(self.clock.now_ns());
        self.waiting.clear();
        for slot in self.clients.user_slots() {
            if !self.clients[slot].conn.is_in_transaction() {
                self.clients.end_user(slot);
            }
        }
    }

    /// Resumes the users that wait for a lost connection within a transaction: they notice that the run is
    /// over, and end.
    pub(crate) fn resume_disconnected_users(&mut self) {
        for slot in self.clients.slots() {
            if self.clients[slot]
                .conn
                .is_busy_with(UserPhase::AwaitReconnect)
            {
                self.clients[slot].conn.mark_ready(self.clock.now_ns());
                self.resume(slot);
            }
        }
    }

    /// After the end of the run, drops users that have waited too long for a connection that they requested:
    /// the server does not accept it. Their transactions are cut off. If each transaction opens its own
    /// connection, connecting is part of the transaction, and the grace applies as it does to replies.
    pub(crate) fn drop_unconnected_users(&mut self, now_ns: u64) {
        if !self.wait_check.take_due(now_ns) || self.context.rules().connect_per_transaction {
            return;
        }
        for slot in self.clients.slots() {
            let client = &self.clients[slot];
            let waited_ns = now_ns.saturating_sub(client.conn.noticed_ns());
            if client.conn.is_busy_with(UserPhase::OpenConnection) && waited_ns >= CONNECT_GRACE_NS
            {
                self.clients.end_user(client.user_slot);
            }
        }
    }

    /// Delivers the last interval, with the counts of transactions that no figure includes.
    pub(crate) fn finish(&mut self) {
        let now_ns = self.clock.now_ns();
        let end_ns = self.timing.end_ns.unwrap_or(now_ns).min(now_ns);
        let mut excluded = ExcludedTransactions::default();
        for client in self
            .clients
            .iter()
            .filter(|client| client.conn.is_in_transaction())
        {
            // A user may have sent its commit on an additional connection.
            let mut extra_clients = client.extra_slots.iter().map(|slot| &self.clients[*slot]);
            let may_have_committed = client.conn.may_have_committed()
                || extra_clients.any(|extra| extra.conn.may_commit());
            let schedule = self.timing.recorder.schedule();
            let started_ns = client.conn.transaction_started_ns();
            let in_window_ns = schedule.time_in_window_ns(started_ns, end_ns);
            excluded.count_cut_off(may_have_committed, in_window_ns);
        }
        // Once every user has completed its number of transactions, no further start is due.
        let ends_by_count = self.timing.end_ns.is_none() || self.context.is_budget_spent();
        let is_complete = ends_by_count && self.clients.live_users() == 0;
        if let Some(schedule) = &mut self.timing.schedule
            && !is_complete
            && let Some(before_end_ns) = end_ns.checked_sub(1)
        {
            excluded.never_started += schedule.take_until(before_end_ns);
        }
        if let Some(outage) = self.connections.end_outage() {
            self.reports.deliver_event(outage);
        }
        self.record_connections();
        self.timing
            .recorder
            .count_queries(&self.context.take_queries());
        self.timing.recorder.finish(now_ns, excluded);
        if let Some(listener) = &mut self.assignment.sample_listener {
            listener.ended(now_ns);
        }
        while let Some(interval) = self.timing.recorder.take_finished() {
            self.reports.deliver_interval(interval);
        }
    }
}
