//! Counts the connections of a worker that are up or lost, and tracks the outage.
//!
//! In: connections that are opened, closed, lost and restored. Out: the counts of an interval; one event
//! per outage, from the first loss until all lost connections are back. Must never: count a lost connection
//! twice.

use crate::io::Slot;
use crate::run_event::{RunEvent, RunEventKind};
use std::collections::HashSet;

/// The connections of a worker that are up or lost.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounts {
    up: u32,
    /// Connections lost in the outage and not back yet; empty if there is no outage.
    missing: HashSet<Slot>,
    outage: Option<RunEvent>,
}

impl ConnectionCounts {
    /// Number of connections that are up.
    pub(crate) fn up(&self) -> u32 {
        self.up
    }

    /// Number of connections that were lost and are not back yet.
    pub(crate) fn missing(&self) -> u32 {
        self.missing.len() as u32
    }

    /// Counts a connection that came up. If it had been lost, call [`ConnectionCounts::restored`] next.
    pub(crate) fn opened(&mut self) {
        self.up += 1;
    }

    /// Counts a connection that this side closed, or that was lost before there were users.
    pub(crate) fn closed(&mut self) {
        self.up -= 1;
    }

    /// Counts a connection that was up and is lost. It begins an outage or joins the current one; `reason`
    /// describes a new outage.
    pub(crate) fn lost(&mut self, slot: Slot, now_ns: u64, reason: impl FnOnce() -> String) {
        self.up -= 1;
        self.missing.insert(slot);
        let outage = self.outage.get_or_insert_with(|| RunEvent {
            from_ns: now_ns,
            until_ns: None,
            kind: RunEventKind::Outage,
            detail: reason(),
            count: 0,
        });
        outage.count += 1;
    }

    /// Records that a lost connection is back, or that its user no longer needs it. Returns the outage if no
    /// connection is missing any more; only then is `now_ns` called.
    pub(crate) fn restored(
        &mut self,
        slot: Slot,
        now_ns: impl FnOnce() -> u64,
    ) -> Option<RunEvent> {
        if !self.missing.remove(&slot) || !self.missing.is_empty() {
            return None;
        }
        let mut outage = self.outage.take()?;
        outage.until_ns = Some(now_ns());
        Some(outage)
    }

    /// Takes the outage that lasts at the end of the run, if there is one.
    pub(crate) fn end_outage(&mut self) -> Option<RunEvent> {
        self.outage.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(connections: u32) -> ConnectionCounts {
        let mut counts = ConnectionCounts::default();
        (0..connections).for_each(|_| counts.opened());
        counts
    }

    #[test]
    fn an_outage_lasts_from_the_first_loss_until_all_connections_are_back() {
        let mut counts = opened(3);
        counts.lost(2, 10, || "reset".to_owned());
        counts.lost(0, 20, || "another reason".to_owned());
        assert_eq!((counts.up(), counts.missing()), (1, 2));
        counts.opened();
        assert_eq!(counts.restored(2, || 30), None);
        counts.opened();
        let outage = counts.restored(0, || 40).expect("the last one is back");
        assert_eq!((outage.from_ns, outage.until_ns), (10, Some(40)));
        assert_eq!((outage.count, outage.detail.as_str()), (2, "reset"));
        assert_eq!((counts.up(), counts.missing()), (3, 0));
        assert_eq!(counts.end_outage(), None);
    }

    #[test]
    fn restoring_a_connection_that_was_not_lost_ends_no_outage() {
        let mut counts = opened(2);
        assert_eq!(counts.restored(1, || 5), None);
        counts.lost(0, 10, String::new);
        assert_eq!(counts.restored(1, || 20), None);
        assert_eq!(counts.missing(), 1);
        let outage = counts.end_outage().expect("it lasts at the end of the run");
        assert_eq!((outage.from_ns, outage.until_ns), (10, None));
    }

    #[test]
    fn a_connection_lost_again_in_an_outage_is_missing_once() {
        let mut counts = opened(2);
        counts.lost(0, 10, String::new);
        counts.lost(1, 11, String::new);
        counts.opened();
        assert_eq!(counts.restored(0, || 12), None);
        counts.lost(0, 13, String::new);
        assert_eq!((counts.up(), counts.missing()), (0, 2));
        counts.opened();
        assert_eq!(counts.restored(1, || 14), None);
        counts.opened();
        let outage = counts.restored(0, || 15).expect("both are back");
        assert_eq!((outage.count, outage.until_ns), (3, Some(15)));
    }
}
