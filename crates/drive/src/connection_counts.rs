//! Counts the connections of a worker that are up or lost, and tracks the outage.
//!
//! In: connections that are opened, closed, lost and restored. Out: the counts of an interval; one event
//! per outage, from the first loss until all lost connections are back. Must never: count a lost connection
//! twice.

use crate::io::Slot;
use crate::run_event::{RunEvent, RunEventKind};
use std::collections::{BTreeMap, HashSet};

/// The connections of a worker that are up or lost.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounts {
    up: u32,
    /// Slots whose connection was lost in the outage and is not back yet; empty if there is no outage.
    lost_slots: HashSet<Slot>,
    outage: Option<RunEvent>,
    /// Failed attempts by cause, since they were last taken.
    failed_attempts: BTreeMap<&'static str, RunEvent>,
}

impl ConnectionCounts {
    pub fn up(&self) -> u32 {
        self.up
    }

    /// Number of connections that were lost and are not back yet.
    pub fn lost_count(&self) -> u32 {
        self.lost_slots.len() as u32
    }

    /// Counts a connection that came up. If it had been lost, call [`ConnectionCounts::record_restored`]
    /// next.
    pub fn record_opened(&mut self) {
        self.up += 1;
    }

    /// Counts a connection that is no longer up, outside an outage: this side closed it, or it was lost
    /// before all connections were open.
    pub fn record_closed(&mut self) {
        self.up -= 1;
    }

    /// Counts a connection that was up and is lost. It begins an outage or joins the current one; `reason`
    /// describes a new outage.
    pub fn record_loss(&mut self, slot: Slot, now_ns: u64, reason: impl FnOnce() -> String) {
        self.up -= 1;
        self.lost_slots.insert(slot);
        let outage = self.outage.get_or_insert_with(|| RunEvent {
            from_ns: now_ns,
            until_ns: None,
            kind: RunEventKind::Outage,
            cause: None,
            detail: reason(),
            count: 0,
        });
        outage.count += 1;
    }

    /// Records that a lost connection is back, or that its user no longer needs it. Returns the outage if no
    /// lost connection remains; only then is `now_ns` called.
    pub fn record_restored(
        &mut self,
        slot: Slot,
        now_ns: impl FnOnce() -> u64,
    ) -> Option<RunEvent> {
        if !self.lost_slots.remove(&slot) || !self.lost_slots.is_empty() {
            return None;
        }
        let mut outage = self.outage.take()?;
        outage.until_ns = Some(now_ns());
        Some(outage)
    }

    /// Counts a failed attempt to connect; `example` describes the first one of its cause.
    pub fn record_failed_attempt(
        &mut self,
        cause: &'static str,
        now_ns: u64,
        example: impl FnOnce() -> String,
    ) {
        let of_cause = self.failed_attempts.entry(cause);
        let attempts = of_cause.or_insert_with(|| RunEvent {
            from_ns: now_ns,
            until_ns: None,
            kind: RunEventKind::FailedAttempts,
            cause: Some(cause.to_owned()),
            detail: example(),
            count: 0,
        });
        attempts.until_ns = Some(now_ns);
        attempts.count += 1;
    }

    /// Takes the failed attempts since the last call: one event for each cause.
    pub fn take_failed_attempts(&mut self) -> impl Iterator<Item = RunEvent> + use<> {
        std::mem::take(&mut self.failed_attempts).into_values()
    }

    /// Takes the outage that is not over at the end of the run, if there is one.
    pub fn end_outage(&mut self) -> Option<RunEvent> {
        self.outage.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts_with_opened(connections: u32) -> ConnectionCounts {
        let mut counts = ConnectionCounts::default();
        (0..connections).for_each(|_| counts.record_opened());
        counts
    }

    #[test]
    fn an_outage_lasts_from_the_first_loss_until_all_connections_are_back() {
        let mut counts = counts_with_opened(3);
        counts.record_loss(2, 10, || "reset".to_owned());
        counts.record_loss(0, 20, || "another reason".to_owned());
        assert_eq!((counts.up(), counts.lost_count()), (1, 2));
        counts.record_opened();
        assert_eq!(counts.record_restored(2, || 30), None);
        counts.record_opened();
        let outage = counts
            .record_restored(0, || 40)
            .expect("the last one is back");
        assert_eq!((outage.from_ns, outage.until_ns), (10, Some(40)));
        assert_eq!((outage.count, outage.detail.as_str()), (2, "reset"));
        assert_eq!((counts.up(), counts.lost_count()), (3, 0));
        assert_eq!(counts.end_outage(), None);
    }

    #[test]
    fn failed_attempts_are_counted_by_cause() {
        let mut counts = ConnectionCounts::default();
        for (cause, now_ns) in [("refused", 10), ("role", 20), ("refused", 30)] {
            counts.record_failed_attempt(cause, now_ns, || format!("at {now_ns}"));
        }
        let events: Vec<RunEvent> = counts.take_failed_attempts().collect();
        let [refused, role] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(
            (
                refused.count,
                refused.cause.as_deref(),
                refused.detail.as_str()
            ),
            (2, Some("refused"), "at 10")
        );
        assert_eq!((refused.from_ns, refused.until_ns), (10, Some(30)));
        assert_eq!((role.count, role.from_ns), (1, 20));
        assert_eq!(counts.take_failed_attempts().count(), 0);
    }

    #[test]
    fn restoring_a_connection_that_was_not_lost_ends_no_outage() {
        let mut counts = counts_with_opened(2);
        assert_eq!(counts.record_restored(1, || 5), None);
        counts.record_loss(0, 10, String::new);
        assert_eq!(counts.record_restored(1, || 20), None);
        assert_eq!(counts.lost_count(), 1);
        let outage = counts.end_outage().expect("it lasts at the end of the run");
        assert_eq!((outage.from_ns, outage.until_ns), (10, None));
    }

    #[test]
    fn a_connection_lost_twice_in_an_outage_must_come_back_once() {
        let mut counts = counts_with_opened(2);
        counts.record_loss(0, 10, String::new);
        counts.record_loss(1, 11, String::new);
        counts.record_opened();
        assert_eq!(counts.record_restored(0, || 12), None);
        counts.record_loss(0, 13, String::new);
        assert_eq!((counts.up(), counts.lost_count()), (0, 2));
        counts.record_opened();
        assert_eq!(counts.record_restored(1, || 14), None);
        counts.record_opened();
        let outage = counts.record_restored(0, || 15).expect("both are back");
        assert_eq!((outage.count, outage.until_ns), (3, Some(15)));
    }
}
