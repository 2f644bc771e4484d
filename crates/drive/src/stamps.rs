//! Splits a service time into its three parts: send wait, server time, client wait.
//!
//! In: when a request was queued and sent, the kernel's timestamps, the clock. Out: [`ServiceTimeParts`], and
//! counts of timestamps that could not be used. Must never: use an impossible timestamp.
//!
//! The split needs two corrections. First, the timestamps come from a different clock, whose offset is read
//! repeatedly. Second, the requests of a batch leave some microseconds apart, while the clock is read only
//! once, before the first of them: how long after it a request leaves is a linear function of its position in the
//! batch, which is fitted to transmit timestamps of a few connections. The first send of a batch costs more than the
//! others, so the line does not begin at zero: with 64 clients on one thread, a line through zero made server times
//! 1.3 % too short.

use crate::clock::Clock;
use crate::io::Sent;
use prony_measure::ServiceTimeParts;
use prony_measure::interval::TimestampCounts;

/// The offset of the timestamps' clock is read again when the last reading is older than this, nanoseconds.
const OFFSET_MAX_AGE_NS: u64 = 10_000_000;
/// A change of the offset by more than this, in nanoseconds, is a clock step. A slewed clock drifts less.
const CLOCK_STEP_MIN_NS: u64 = 1_000;
/// Interval at which a transmit timestamp is requested, nanoseconds.
const TRANSMIT_TIMESTAMP_INTERVAL_NS: u64 = 1_000_000;
/// Number of connections that request transmit timestamps: the first ones of the worker.
pub const TRANSMIT_TIMESTAMP_CONNECTIONS: u32 = 4;
/// Factor by which each transmit timestamp reduces the weight of the earlier ones, so that the estimate
/// depends mostly on the last 200.
const SEND_COST_DECAY: f64 = 0.995;

/// Variance of the positions below which they are too much alike to determine a line.
const FIT_MIN_VARIANCE: f64 = 0.25;

/// Splits service times into parts by the kernel's timestamps.
#[derive(Debug)]
pub struct ServiceTimeSplitter {
    clock: Clock,
    offset_ns: i64,
    offset_read_ns: u64,
    /// Number of timestamps converted with this offset. They are doubtful if the next reading finds a clock
    /// step.
    used_since_reading: u64,
    /// When the last transmit timestamp was requested.
    requested_ns: u64,
    delays: DelayFit,
    /// [`DelayFit::line`] of the timestamps so far.
    line: DelayLine,
}

/// The delays of a batch's requests after the clock reading before the batch, nanoseconds; 0 without timestamps.
#[derive(Clone, Copy, Debug, Default)]
struct DelayLine {
    /// The delay of the first request.
    first_ns: f64,
    /// How much later each further request leaves.
    send_ns: f64,
}

/// The delay between the clock reading before a batch and the departure of a request, as a linear function of the
/// request's position, fitted by least squares.
#[derive(Debug, Default)]
struct DelayFit {
    /// Weighted sums over the transmit timestamps: 1, position, delay in nanoseconds, and their products.
    weight: f64,
    positions: f64,
    delays_ns: f64,
    squares: f64,
    products_ns: f64,
}

impl DelayFit {
    fn add(&mut self, position: u32, delay_ns: f64) {
        let position = f64::from(position);
        for (sum, value) in [
            (&mut self.weight, 1.0),
            (&mut self.positions, position),
            (&mut self.delays_ns, delay_ns),
            (&mut self.squares, position * position),
            (&mut self.products_ns, position * delay_ns),
        ] {
            *sum = *sum * SEND_COST_DECAY + value;
        }
    }

    /// The fitted line. If the timestamps do not determine both of its parts, a request leaves in the middle of its send.
    fn line(&self) -> DelayLine {
        let variance = self.weight * self.squares - self.positions * self.positions;
        if variance > FIT_MIN_VARIANCE * self.weight * self.weight {
            let covariance = self.weight * self.products_ns - self.positions * self.delays_ns;
            let slope_ns = covariance / variance;
            let first_ns = (self.delays_ns - slope_ns * self.positions) / self.weight;
            if slope_ns >= 0.0 && first_ns >= 0.0 {
                return DelayLine {
                    first_ns,
                    send_ns: slope_ns,
                };
            }
        }
        let middles = self.positions + self.weight / 2.0;
        let send_ns = if middles > 0.0 { self.delays_ns / middles } else { 0.0 };
        DelayLine {
            first_ns: send_ns / 2.0,
            send_ns,
        }
    }
}

impl ServiceTimeSplitter {
    /// Creates a splitter, and reads the offset for the first time.
    pub fn new(clock: Clock) -> Self {
        ServiceTimeSplitter {
            offset_ns: clock.timestamp_offset_ns(),
            offset_read_ns: clock.now_ns(),
            clock,
            used_since_reading: 0,
            requested_ns: 0,
            delays: DelayFit::default(),
            line: DelayLine::default(),
        }
    }

    /// Reads the offset again if it is old; call it once per iteration.
    pub fn refresh(&mut self, now_ns: u64, counts: &mut TimestampCounts) {
        if now_ns.saturating_sub(self.offset_read_ns) < OFFSET_MAX_AGE_NS {
            return;
        }
        let offset_ns = self.clock.timestamp_offset_ns();
        if offset_ns.abs_diff(self.offset_ns) > CLOCK_STEP_MIN_NS {
            counts.clock_steps += 1;
            counts.doubtful += self.used_since_reading;
        }
        self.offset_ns = offset_ns;
        self.offset_read_ns = now_ns;
        self.used_since_reading = 0;
    }

    /// Whether to request a transmit timestamp for the request that is sent now: once per
    /// [`TRANSMIT_TIMESTAMP_INTERVAL_NS`].
    pub fn should_request_timestamp(&mut self, now_ns: u64) -> bool {
        let is_due = now_ns.saturating_sub(self.requested_ns) >= TRANSMIT_TIMESTAMP_INTERVAL_NS;
        if is_due {
            self.requested_ns = now_ns;
        }
        is_due
    }

    /// Updates the estimated duration of a send from a transmit timestamp.
    pub fn update_send_cost(
        &mut self,
        sent: Sent,
        timestamp_ns: u64,
        counts: &mut TimestampCounts,
    ) {
        let delay_ns = self
            .to_run_clock_ns(timestamp_ns)
            .checked_sub_unsigned(sent.before_ns);
        let Some(delay_ns) = delay_ns.filter(|ns| (0..1_000_000_000).contains(ns)) else {
            counts.impossible += 1;
            return;
        };
        self.delays.add(sent.position, delay_ns as f64);
        self.line = self.delays.line();
        counts.transmit_timestamps += 1;
        counts.send_cost_sum_ns += self.send_cost_ns() as u64;
    }

    /// Estimated duration of one send of a batch, nanoseconds; 0 before the first estimate.
    pub fn send_cost_ns(&self) -> f64 {
        self.line.send_ns
    }

    /// Splits the time from `queued_ns` to `noticed_ns`. Returns `None` if there is no usable timestamp.
    pub fn split(
        &mut self,
        queued_ns: u64,
        sent: Sent,
        timestamp_ns: Option<u64>,
        noticed_ns: u64,
        counts: &mut TimestampCounts,
    ) -> Option<ServiceTimeParts> {
        let Some(timestamp_ns) = timestamp_ns else {
            counts.missing += 1;
            return None;
        };
        let arrived_ns = u64::try_from(self.to_run_clock_ns(timestamp_ns)).unwrap_or(0);
        if arrived_ns < sent.before_ns || arrived_ns > noticed_ns {
            counts.impossible += 1;
            return None;
        }
        counts.usable += 1;
        self.used_since_reading += 1;
        let delay_ns = self.line.first_ns + self.line.send_ns * f64::from(sent.position);
        let estimated_ns = sent.before_ns + delay_ns.round() as u64;
        let departed_ns = estimated_ns.clamp(queued_ns, arrived_ns.max(queued_ns));
        Some(ServiceTimeParts {
            send_wait_ns: departed_ns - queued_ns,
            server_ns: arrived_ns.saturating_sub(departed_ns),
            client_wait_ns: noticed_ns - arrived_ns.max(departed_ns),
            server_is_upper_bound: false,
        })
    }

    /// Converts a kernel timestamp to a time of the run's clock, which is negative if the timestamp is
    /// impossible.
    fn to_run_clock_ns(&self, timestamp_ns: u64) -> i64 {
        timestamp_ns as i64 - self.offset_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SimTime;
    use std::rc::Rc;

    fn simulated_splitter(offset_ns: i64) -> (Rc<SimTime>, ServiceTimeSplitter) {
        let time = Rc::new(SimTime::default());
        time.timestamp_offset_ns.set(offset_ns);
        let splitter = ServiceTimeSplitter::new(Clock::Simulated(time.clone()));
        (time, splitter)
    }

    fn sent(before_ns: u64, position: u32) -> Sent {
        Sent {
            before_ns,
            position,
        }
    }

    #[test]
    fn the_parts_add_up_to_the_service_time() {
        let (_, mut splitter) = simulated_splitter(5_000_000);
        let mut counts = TimestampCounts::default();
        let parts = splitter
            .split(100, sent(400, 0), Some(5_000_900), 1_500, &mut counts)
            .unwrap();
        assert_eq!(
            (parts.send_wait_ns, parts.server_ns, parts.client_wait_ns),
            (300, 500, 600)
        );
        assert_eq!(counts.usable, 1);
    }

    #[test]
    fn a_later_position_in_the_batch_means_a_longer_send_wait() {
        let (_, mut splitter) = simulated_splitter(0);
        let mut counts = TimestampCounts::default();
        for position in [0, 9, 19, 29] {
            let departed_ns = 1_000 + u64::from(position) * 5_000 + 2_500;
            splitter.update_send_cost(sent(1_000, position), departed_ns, &mut counts);
        }
        assert!((splitter.send_cost_ns() - 5_000.0).abs() < 1.0);
        let parts = splitter
            .split(1_000, sent(1_000, 10), Some(100_000), 100_000, &mut counts)
            .unwrap();
        assert_eq!(parts.send_wait_ns, 52_500);
        assert_eq!(parts.server_ns, 46_500);
    }

    #[test]
    fn the_first_send_of_a_batch_may_take_longer_than_the_others() {
        let (_, mut splitter) = simulated_splitter(0);
        let mut counts = TimestampCounts::default();
        for position in [0, 0, 1, 0, 2, 3] {
            splitter.update_send_cost(
                sent(1_000, position),
                13_000 + u64::from(position) * 10_000,
                &mut counts,
            );
        }
        assert!((splitter.send_cost_ns() - 10_000.0).abs() < 1.0);
        let parts = splitter.split(1_000, sent(1_000, 40), Some(900_000), 900_000, &mut counts);
        assert_eq!(parts.unwrap().send_wait_ns.div_ceil(10), 41_200);
    }

    #[test]
    fn impossible_timestamps_are_discarded_and_counted() {
        let (_, mut splitter) = simulated_splitter(0);
        let mut counts = TimestampCounts::default();
        assert!(
            splitter
                .split(0, sent(10, 0), Some(9), 20, &mut counts)
                .is_none()
        );
        assert!(
            splitter
                .split(0, sent(10, 0), Some(21), 20, &mut counts)
                .is_none()
        );
        assert!(
            splitter
                .split(0, sent(10, 0), None, 20, &mut counts)
                .is_none()
        );
        assert_eq!(
            (counts.impossible, counts.missing, counts.usable),
            (2, 1, 0)
        );
    }

    #[test]
    fn a_clock_step_is_counted_and_drift_is_not() {
        let (time, mut splitter) = simulated_splitter(0);
        let mut counts = TimestampCounts::default();
        splitter.split(0, sent(10, 0), Some(15), 20, &mut counts);
        time.timestamp_offset_ns.set(45);
        splitter.refresh(OFFSET_MAX_AGE_NS, &mut counts);
        assert_eq!(counts.clock_steps, 0, "a drift is not a clock step");
        splitter.split(0, sent(10, 0), Some(60), 20, &mut counts);
        time.timestamp_offset_ns.set(3_600_000_000_000);
        splitter.refresh(2 * OFFSET_MAX_AGE_NS, &mut counts);
        assert_eq!((counts.clock_steps, counts.doubtful), (1, 1));
    }
}
