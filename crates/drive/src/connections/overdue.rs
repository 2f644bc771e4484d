//! Replies that do not arrive within the time that the URL allows.
//!
//! In: when each request left, and when its reply was heard of last. Out: lost connections. Must never: cost a look at each
//! connection with each reply, or anything if the URL has no limit.

use super::{ConnectionEvent, Connections, WAIT_MAX_NS};
use crate::hosts::ConnectionUse;
use crate::io::{Io, Slot};
use prony_server::Target;
use prony_session::UserPhase;
use std::time::Duration;

/// The longest waits for a reply of the server, and of that for reads.
fn reply_limits(target: &Target) -> [Duration; 2] {
    let reads = target.read_target.as_deref().unwrap_or(target);
    [target, reads].map(|target| target.tcp.reply_timeout.unwrap_or(Duration::MAX))
}

/// When to look first, nanoseconds: never without a limit.
pub(super) fn first_check_ns(target: &Target) -> u64 {
    match reply_limits(target) {
        [Duration::MAX, Duration::MAX] => u64::MAX,
        _ => 0,
    }
}

impl<I: Io> Connections<'_, I> {
    /// Gives up the connections whose server has been silent for longer than the URL allows. As in other clients, the limit
    /// is that of each read: a long reply may arrive in parts. A request that is queued has the departure of the one before
    /// it, so that only what was overdue at the last look already is given up.
    #[cold]
    pub(super) fn lose_silent(&mut self, now_ns: u64) -> Vec<ConnectionEvent> {
        let limits = reply_limits(self.job.target);
        let limits_ns = limits.map(|limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        let shortest_ns = limits_ns[0].min(limits_ns[1]);
        // Often enough that a wait exceeds its limit by a tenth at most, since it takes two looks.
        self.reply_check_ns = now_ns + (shortest_ns / 20).max(WAIT_MAX_NS);
        let mut events = Vec::new();
        for slot in 0..self.slots.len() as Slot {
            let sent_ns = self.io.sent(slot).before_ns;
            let connection = &mut self.slots[slot as usize];
            let waits = connection.link.is_up() && connection.conn.is_busy_with(UserPhase::Send);
            let limit_index = usize::from(connection.connection_use == ConnectionUse::Reads);
            let since_ns = sent_ns.max(connection.heard_ns);
            let is_overdue = waits && now_ns.saturating_sub(since_ns) > limits_ns[limit_index];
            let was_overdue = connection.overdue_ns == since_ns;
            connection.overdue_ns = if is_overdue { since_ns } else { u64::MAX };
            if is_overdue && was_overdue {
                let limit = limits[limit_index];
                let reason = format!("no reply within {limit:?}, the time-out of the URL");
                events.extend(self.on_loss(slot, &reason));
            }
        }
        events
    }
}
