//! Measures the round-trip time of a statement that does nothing.
//!
//! In: a control connection without load on the server. Out: a [`RoundTrip`]. Must never: take longer
//! than about a second; over a slow network there are fewer samples.

use crate::control::{Control, Error};
use prony_document::{RoundTrip, nearest_rank};
use std::time::{Duration, Instant};

const SAMPLES_MAX: u32 = 200;
const DURATION_MAX: Duration = Duration::from_secs(1);

/// Measures round trips. `Ok(None)`: none finished within [`DURATION_MAX`].
pub fn measure_round_trip(control: &mut Control) -> Result<Option<RoundTrip>, Error> {
    Ok(summary(&measure_round_trips(control)?))
}

/// The times of up to [`SAMPLES_MAX`] round trips, nanoseconds, ascending; empty if none finished within
/// [`DURATION_MAX`].
pub fn measure_round_trips(control: &mut Control) -> Result<Vec<u64>, Error> {
    let start = Instant::now();
    let mut times_ns = Vec::with_capacity(SAMPLES_MAX as usize);
    // The first statement is not timed, because the server may have to load something for it.
    control.query("SELECT 1")?;
    while times_ns.len() < SAMPLES_MAX as usize && start.elapsed() < DURATION_MAX {
        let sent = Instant::now();
        control.query("SELECT 1")?;
        times_ns.push(u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX));
    }
    times_ns.sort_unstable();
    Ok(times_ns)
}

/// Statistics of times in ascending order; `None` without times.
fn summary(times_ns: &[u64]) -> Option<RoundTrip> {
    let count = times_ns.len();
    Some(RoundTrip {
        samples: count as u32,
        min_ns: *times_ns.first()?,
        p50_ns: nearest_rank(times_ns, 50)?,
        p99_ns: nearest_rank(times_ns, 99).filter(|_| count >= 100),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_sorted_times() {
        let times: Vec<u64> = (1..=200).collect();
        let round_trip = summary(&times).unwrap();
        assert_eq!(
            (round_trip.samples, round_trip.min_ns, round_trip.p50_ns),
            (200, 1, 100)
        );
        assert_eq!(round_trip.p99_ns, Some(198));
        assert_eq!(summary(&times[..99]).unwrap().p99_ns, None);
        assert_eq!(summary(&[]), None);
    }
}
