//! The offset of an agent's clock to this machine's, by request and reply.
//!
//! In: the times of round trips. Out: the offset by the shortest one, with its bound.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The number of round trips of a measurement; the shortest one counts.
pub(crate) const ROUND_TRIPS: u32 = 60;
/// The number that is enough if a measurement has taken [`TIME_MAX`].
pub(crate) const ROUND_TRIPS_MIN: u32 = 10;
pub(crate) const TIME_MAX: Duration = Duration::from_secs(1);

/// The offset of two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// How far the agent's clock is ahead of this machine's, nanoseconds (`CLOCK_MONOTONIC`).
    pub offset_ns: i64,
    /// The shortest round trip, nanoseconds. The offset is wrong by at most half of it.
    pub round_trip_ns: u64,
}

impl ClockReading {
    /// The reading of one round trip: sent and received on this machine's clock, and the agent's time in between.
    pub(crate) fn new(sent_ns: u64, agent_ns: u64, received_ns: u64) -> ClockReading {
        let middle = i128::from(sent_ns.midpoint(received_ns));
        let offset = i128::from(agent_ns) - middle;
        ClockReading {
            // An impossible one lets the agent wait for ever, which the coordinator notices.
            offset_ns: i64::try_from(offset).unwrap_or(i64::MAX),
            round_trip_ns: received_ns.saturating_sub(sent_ns),
        }
    }

    /// A time of this machine's clock on the agent's, nanoseconds.
    pub(crate) fn on_agent(&self, ns: u64) -> u64 {
        ns.saturating_add_signed(self.offset_ns)
    }

    /// How wrong the offset may be, nanoseconds.
    pub fn bound_ns(&self) -> u64 {
        self.round_trip_ns.div_ceil(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_true_offset_lies_within_the_bound_whatever_the_way_costs() {
        for true_offset in [-3_000_000_000_i64, 0, 100_000_000] {
            for (there, back) in [(50_u64, 50), (10, 190), (190, 10)] {
                let sent = 10_000_000_000_u64;
                let agent = (sent + there).saturating_add_signed(true_offset);
                let reading = ClockReading::new(sent, agent, sent + there + back);
                let error = reading.offset_ns.abs_diff(true_offset);
                assert!(error <= reading.bound_ns(), "{error} {reading:?}");
                let on_agent = reading.on_agent(sent);
                assert!(on_agent.abs_diff(sent.saturating_add_signed(true_offset)) <= 100);
            }
        }
    }
}
