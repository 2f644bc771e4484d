//! How long a statement that does nothing takes, to the server and back.
//!
//! In: a control connection without load beside it. Out: a [`RoundTrip`]. Must never: take long; over a
//! slow way it takes fewer samples.

use crate::control::{Control, Error};
use std::time::{Duration, Instant};

/// As many are timed at most.
const MOST: u32 = 200;
/// And for so long at most.
const LONGEST: Duration = Duration::from_secs(1);

/// How long a round trip takes: the way there and back, the server's handling of an empty statement, and
/// this client's waking up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// How many were timed.
    pub samples: u32,
    /// The shortest, nanoseconds.
    pub min_ns: u64,
    /// Median, nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile, nanoseconds; none below 100 samples.
    pub p99_ns: Option<u64>,
}

/// Times round trips. `None`: not even one was possible in time.
///
/// # Errors
/// If the connection is lost, or the server refuses.
pub fn round_trip(control: &mut Control) -> Result<Option<RoundTrip>, Error> {
    let began = Instant::now();
    let mut times_ns = Vec::with_capacity(MOST as usize);
    // The first one is not like the others: the server may have to load something.
    control.query("SELECT 1")?;
    while times_ns.len() < MOST as usize && began.elapsed() < LONGEST {
        let sent = Instant::now();
        control.query("SELECT 1")?;
        times_ns.push(u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX));
    }
    times_ns.sort_unstable();
    Ok(summary(&times_ns))
}

/// Of times in order.
fn summary(times_ns: &[u64]) -> Option<RoundTrip> {
    let count = times_ns.len();
    Some(RoundTrip {
        samples: count as u32,
        min_ns: *times_ns.first()?,
        p50_ns: times_ns[(count - 1) / 2],
        p99_ns: (count >= 100).then(|| times_ns[(count * 99).div_ceil(100) - 1]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_times_in_order() {
        let times: Vec<u64> = (1..=200).collect();
        let of = summary(&times).unwrap();
        assert_eq!((of.samples, of.min_ns, of.p50_ns), (200, 1, 100));
        assert_eq!(of.p99_ns, Some(198));
        assert_eq!(summary(&times[..99]).unwrap().p99_ns, None);
        assert_eq!(summary(&[]), None);
    }
}
