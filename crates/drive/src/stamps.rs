//! Splits a response time into its three parts: send wait, server time, client wait.
//!
//! In: when a request was queued and sent, the kernel's stamps, the clock. Out: [`ServiceTimeParts`], and counts
//! of stamps that could not be used. Must never: pass on an impossible stamp.
//!
//! The split needs two corrections. The stamps come from another clock, whose offset is read repeatedly.
//! And the sends of a batch leave one by one, each some microseconds after the last, while the clock was
//! read once before the first: the time of one send is learned from transmit stamps on a few connections,
//! and each request is assumed to have left in the middle of its own send.

use crate::clock::Clock;
use crate::io::Sent;
use prony_measure::ServiceTimeParts;
use prony_measure::interval::StampCounts;

/// The offset of the stamps' clock is read again after this time.
const OFFSET_AGE_NS: u64 = 10_000_000;
/// A larger change of the offset is a clock step, not the drift of a slewed clock.
const OFFSET_STEP_NS: u64 = 1_000;
/// A transmit stamp is requested at this interval.
const CALIBRATE_EVERY_NS: u64 = 1_000_000;
/// Number of connections that request transmit stamps: the first ones of the worker.
pub const CALIBRATED_CONNECTIONS: u32 = 4;
/// Factor by which each later transmit stamp reduces the weight of earlier ones: about the last 200 count.
const DECAY: f64 = 0.995;

/// Turns stamps into parts.
#[derive(Debug)]
pub struct Stamps {
    clock: Clock,
    offset_ns: i64,
    read_ns: u64,
    used_since_reading: u64,
    calibrated_ns: u64,
    delay_sum_ns: f64,
    position_sum: f64,
}

impl Stamps {
    /// Starts with a first reading of the offset.
    pub fn new(clock: Clock) -> Self {
        Stamps {
            offset_ns: clock.stamp_offset_ns(),
            read_ns: clock.now_ns(),
            clock,
            used_since_reading: 0,
            calibrated_ns: 0,
            delay_sum_ns: 0.0,
            position_sum: 0.0,
        }
    }

    /// Reads the offset again if it is old; call it once a turn.
    pub fn refresh(&mut self, now_ns: u64, counts: &mut StampCounts) {
        if now_ns.saturating_sub(self.read_ns) < OFFSET_AGE_NS {
            return;
        }
        let offset_ns = self.clock.stamp_offset_ns();
        if offset_ns.abs_diff(self.offset_ns) > OFFSET_STEP_NS {
            counts.clock_steps += 1;
            counts.doubtful += self.used_since_reading;
        }
        self.offset_ns = offset_ns;
        self.read_ns = now_ns;
        self.used_since_reading = 0;
    }

    /// Whether the request that goes out now should be stamped.
    pub fn should_request_stamp(&mut self, now_ns: u64) -> bool {
        let due = now_ns.saturating_sub(self.calibrated_ns) >= CALIBRATE_EVERY_NS;
        if due {
            self.calibrated_ns = now_ns;
        }
        due
    }

    /// Learns from a transmit stamp how long one send of a batch takes.
    pub fn transmitted(&mut self, sent: Sent, stamp_ns: u64, counts: &mut StampCounts) {
        let delay_ns = self.local_ns(stamp_ns).checked_sub_unsigned(sent.before_ns);
        let Some(delay_ns) = delay_ns.filter(|ns| (0..1_000_000_000).contains(ns)) else {
            counts.impossible += 1;
            return;
        };
        self.delay_sum_ns = self.delay_sum_ns * DECAY + delay_ns as f64;
        self.position_sum = self.position_sum * DECAY + f64::from(sent.position) + 0.5;
        counts.transmit_stamps += 1;
        counts.send_cost_sum_ns += self.send_cost_ns() as u64;
    }

    /// Time that one send of a batch takes, nanoseconds; 0 until it is learned.
    pub fn send_cost_ns(&self) -> f64 {
        if self.position_sum == 0.0 {
            return 0.0;
        }
        self.delay_sum_ns / self.position_sum
    }

    /// Splits the time from `queued_ns` to `noticed_ns`. `None` without a usable stamp.
    pub fn split(
        &mut self,
        queued_ns: u64,
        sent: Sent,
        stamp_ns: Option<u64>,
        noticed_ns: u64,
        counts: &mut StampCounts,
    ) -> Option<ServiceTimeParts> {
        let Some(stamp_ns) = stamp_ns else {
            counts.unstamped += 1;
            return None;
        };
        let arrived_ns = u64::try_from(self.local_ns(stamp_ns)).unwrap_or(0);
        if arrived_ns < sent.before_ns || arrived_ns > noticed_ns {
            counts.impossible += 1;
            return None;
        }
        counts.stamped += 1;
        self.used_since_reading += 1;
        let position = f64::from(sent.position) + 0.5;
        let left_ns = sent.before_ns + (self.send_cost_ns() * position) as u64;
        let left_ns = left_ns.clamp(queued_ns, arrived_ns.max(queued_ns));
        Some(ServiceTimeParts {
            send_wait_ns: left_ns - queued_ns,
            server_ns: arrived_ns.saturating_sub(left_ns),
            client_wait_ns: noticed_ns - arrived_ns.max(left_ns),
            upper_bound: false,
        })
    }

    fn local_ns(&self, stamp_ns: u64) -> i64 {
        stamp_ns as i64 - self.offset_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SimTime;
    use std::rc::Rc;

    fn simulated(offset_ns: i64) -> (Rc<SimTime>, Stamps) {
        let time = Rc::new(SimTime::default());
        time.stamp_offset_ns.set(offset_ns);
        let stamps = Stamps::new(Clock::Simulated(time.clone()));
        (time, stamps)
    }

    fn sent(before_ns: u64, position: u32) -> Sent {
        Sent {
            before_ns,
            position,
        }
    }

    #[test]
    fn the_parts_add_up_to_the_response_time() {
        let (_, mut stamps) = simulated(5_000_000);
        let mut counts = StampCounts::default();
        let parts = stamps
            .split(100, sent(400, 0), Some(5_000_900), 1_500, &mut counts)
            .unwrap();
        assert_eq!(
            (parts.send_wait_ns, parts.server_ns, parts.client_wait_ns),
            (300, 500, 600)
        );
        assert_eq!(counts.stamped, 1);
    }

    #[test]
    fn the_position_in_the_batch_is_corrected() {
        let (_, mut stamps) = simulated(0);
        let mut counts = StampCounts::default();
        for position in [0, 9, 19, 29] {
            let left = 1_000 + u64::from(position) * 5_000 + 2_500;
            stamps.transmitted(sent(1_000, position), left, &mut counts);
        }
        assert!((stamps.send_cost_ns() - 5_000.0).abs() < 1.0);
        let parts = stamps
            .split(1_000, sent(1_000, 10), Some(100_000), 100_000, &mut counts)
            .unwrap();
        assert_eq!(parts.send_wait_ns, 52_500);
        assert_eq!(parts.server_ns, 46_500);
    }

    #[test]
    fn impossible_stamps_are_discarded_and_counted() {
        let (_, mut stamps) = simulated(0);
        let mut counts = StampCounts::default();
        assert!(
            stamps
                .split(0, sent(10, 0), Some(9), 20, &mut counts)
                .is_none()
        );
        assert!(
            stamps
                .split(0, sent(10, 0), Some(21), 20, &mut counts)
                .is_none()
        );
        assert!(
            stamps
                .split(0, sent(10, 0), None, 20, &mut counts)
                .is_none()
        );
        assert_eq!(
            (counts.impossible, counts.unstamped, counts.stamped),
            (2, 1, 0)
        );
    }

    #[test]
    fn a_clock_step_is_counted_and_drift_is_not() {
        let (time, mut stamps) = simulated(0);
        let mut counts = StampCounts::default();
        stamps.split(0, sent(10, 0), Some(15), 20, &mut counts);
        time.stamp_offset_ns.set(45);
        stamps.refresh(OFFSET_AGE_NS, &mut counts);
        assert_eq!(counts.clock_steps, 0, "drift is no step");
        stamps.split(0, sent(10, 0), Some(60), 20, &mut counts);
        time.stamp_offset_ns.set(3_600_000_000_000);
        stamps.refresh(2 * OFFSET_AGE_NS, &mut counts);
        assert_eq!((counts.clock_steps, counts.doubtful), (1, 1));
    }
}
