//! Attempts to connect: how many run at once, their deadlines, and the pauses between them.
//!
//! In: attempts that begin and end, connections that come up or are lost, the time. Out: the next connection
//! to open; attempts past their deadline. Must never: search all connections in every iteration.

use crate::io::Slot;
use std::collections::VecDeque;

/// Maximum number of connections that a worker opens at once; more would only queue in the server.
const OPENING_MAX: usize = 32;
/// First pause between attempts to connect, nanoseconds.
const RETRY_PAUSE_MIN_NS: u64 = 50_000_000;
/// Longest pause between attempts to connect, nanoseconds.
const RETRY_PAUSE_MAX_NS: u64 = 1_000_000_000;
/// A connection that lasted less than this, in nanoseconds, does not reset the pause, so that a server that
/// accepts clients and drops them is not flooded.
const SHORT_LIVED_MAX_NS: u64 = 100_000_000;

/// The attempts to connect of a worker's slots.
#[derive(Debug)]
pub(crate) struct ConnectAttempts {
    /// Slots whose connection is opened once fewer than `OPENING_MAX` are being opened.
    queued_slots: VecDeque<Slot>,
    slots: Vec<SlotAttempts>,
    /// Number of slots with a deadline: their attempt has begun and not ended.
    in_progress: usize,
    /// No deadline is earlier than this. It may be too early, because the earliest deadline may have been
    /// cleared.
    earliest_deadline_ns: u64,
}

impl ConnectAttempts {
    /// Creates the state of this number of slots, without attempts.
    pub fn new(slots: usize) -> ConnectAttempts {
        ConnectAttempts {
            queued_slots: VecDeque::new(),
            slots: vec![SlotAttempts::default(); slots],
            in_progress: 0,
            earliest_deadline_ns: u64::MAX,
        }
    }

    /// Adds a slot, without attempts.
    pub fn add_slot(&mut self) {
        self.slots.push(SlotAttempts::default());
    }

    /// Queues a connection to be opened as soon as fewer than `OPENING_MAX` others are being opened.
    pub fn enqueue(&mut self, slot: Slot) {
        self.queued_slots.push_back(slot);
    }

    /// Takes the next queued connection if it can be opened now.
    pub fn take_queued(&mut self) -> Option<Slot> {
        if self.in_progress >= OPENING_MAX {
            return None;
        }
        self.queued_slots.pop_front()
    }

    pub fn has_deadline(&self, slot: Slot) -> bool {
        self.slots[slot as usize].deadline_ns != u64::MAX
    }

    /// Sets the deadline of the attempt of a slot. An attempt without a time limit has one that never comes.
    pub fn set_deadline(&mut self, slot: Slot, deadline_ns: u64) {
        let deadline_ns = deadline_ns.min(u64::MAX - 1);
        self.in_progress += usize::from(!self.has_deadline(slot));
        self.slots[slot as usize].deadline_ns = deadline_ns;
        self.earliest_deadline_ns = self.earliest_deadline_ns.min(deadline_ns);
    }

    /// Clears the deadline of a slot: its attempt has ended, or its next attempt gets a new deadline.
    pub fn clear_deadline(&mut self, slot: Slot) {
        self.in_progress -= usize::from(self.has_deadline(slot));
        self.slots[slot as usize].deadline_ns = u64::MAX;
    }

    pub fn record_success(&mut self, slot: Slot, now_ns: u64) {
        self.clear_deadline(slot);
        self.slots[slot as usize].connected_ns = now_ns;
    }

    pub fn record_loss(&mut self, slot: Slot, now_ns: u64) {
        let attempts = &mut self.slots[slot as usize];
        attempts.was_short_lived = now_ns - attempts.connected_ns < SHORT_LIVED_MAX_NS;
        if !attempts.was_short_lived {
            attempts.next_pause_ns = RETRY_PAUSE_MIN_NS;
        }
    }

    /// Whether the last connection of a slot was lost soon after it came up, so that the next attempt must
    /// wait as after a refusal. Returns true once per loss.
    pub fn take_short_lived_loss(&mut self, slot: Slot) -> bool {
        std::mem::take(&mut self.slots[slot as usize].was_short_lived)
    }

    /// Returns the pause before the next attempt of a slot, and doubles the pause after that, up to a second.
    pub fn take_pause_ns(&mut self, slot: Slot) -> u64 {
        let attempts = &mut self.slots[slot as usize];
        // Spread the attempts: not all clients may reconnect at once when a server comes back.
        let spread_ns = u64::from(slot % 16) * 1_000_000;
        let pause_ns = attempts.next_pause_ns + spread_ns;
        attempts.next_pause_ns = (attempts.next_pause_ns * 2).min(RETRY_PAUSE_MAX_NS);
        pause_ns
    }

    /// Whether there may be something to do: a connection to open, or an attempt that is past its deadline.
    #[inline]
    pub fn may_be_due(&self, now_ns: u64) -> bool {
        now_ns >= self.earliest_deadline_ns || !self.queued_slots.is_empty()
    }

    /// Returns the slots whose attempt is past its deadline. Searches the slots only if there may be one.
    pub fn overdue_slots(&mut self, now_ns: u64) -> Vec<Slot> {
        if now_ns < self.earliest_deadline_ns {
            return Vec::new();
        }
        let mut overdue = Vec::new();
        self.earliest_deadline_ns = u64::MAX;
        for (slot, attempts) in (0..).zip(&self.slots) {
            if attempts.deadline_ns <= now_ns {
                overdue.push(slot);
            } else {
                self.earliest_deadline_ns = self.earliest_deadline_ns.min(attempts.deadline_ns);
            }
        }
        overdue
    }
}

#[derive(Clone, Debug)]
struct SlotAttempts {
    /// Deadline of the attempt; `u64::MAX` without one.
    deadline_ns: u64,
    /// When the last connection of the slot came up.
    connected_ns: u64,
    /// Whether that connection was lost within `SHORT_LIVED_MAX_NS`.
    was_short_lived: bool,
    /// Pause before the next attempt, without the spread.
    next_pause_ns: u64,
}

impl Default for SlotAttempts {
    fn default() -> Self {
        SlotAttempts {
            deadline_ns: u64::MAX,
            connected_ns: 0,
            was_short_lived: false,
            next_pause_ns: RETRY_PAUSE_MIN_NS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_overdue_once_their_deadline_has_passed() {
        let mut attempts = ConnectAttempts::new(2);
        attempts.add_slot();
        attempts.set_deadline(0, 100);
        attempts.set_deadline(2, 50);
        attempts.set_deadline(1, 70);
        attempts.clear_deadline(1);
        assert!(!attempts.may_be_due(49));
        assert!(attempts.overdue_slots(49).is_empty());
        assert_eq!(attempts.overdue_slots(80), [2]);
        attempts.clear_deadline(2);
        assert!(!attempts.may_be_due(99));
        assert!(attempts.has_deadline(0) && !attempts.has_deadline(2));
        assert_eq!(attempts.overdue_slots(100), [0]);
    }

    #[test]
    fn queued_connections_are_opened_in_order_below_the_maximum() {
        let mut attempts = ConnectAttempts::new(OPENING_MAX + 8);
        assert_eq!(attempts.take_queued(), None);
        (0..OPENING_MAX as Slot).for_each(|slot| attempts.set_deadline(slot, u64::MAX));
        let last = OPENING_MAX as Slot;
        attempts.enqueue(last + 7);
        attempts.enqueue(last + 3);
        assert_eq!(attempts.take_queued(), None);
        // A second deadline of the same attempt, and the end of an attempt that has none, change no count.
        attempts.set_deadline(0, 200);
        attempts.clear_deadline(last);
        assert_eq!(attempts.take_queued(), None);
        attempts.record_success(0, 50);
        assert_eq!(attempts.take_queued(), Some(last + 7));
        assert_eq!(attempts.take_queued(), Some(last + 3));
    }

    #[test]
    fn pauses_double_up_to_a_second_until_a_connection_lasts() {
        let mut attempts = ConnectAttempts::new(18);
        let pauses_ms: Vec<u64> = (0..7)
            .map(|_| attempts.take_pause_ns(17) / 1_000_000)
            .collect();
        assert_eq!(pauses_ms, [51, 101, 201, 401, 801, 1001, 1001]);
        attempts.record_success(17, 1_000);
        attempts.record_loss(17, 1_000 + SHORT_LIVED_MAX_NS - 1);
        assert!(attempts.take_short_lived_loss(17) && !attempts.take_short_lived_loss(17));
        assert_eq!(attempts.take_pause_ns(17) / 1_000_000, 1001);
        attempts.record_success(17, 1_000);
        attempts.record_loss(17, 1_000 + SHORT_LIVED_MAX_NS);
        assert!(!attempts.take_short_lived_loss(17));
        assert_eq!(attempts.take_pause_ns(17) / 1_000_000, 51);
    }
}
