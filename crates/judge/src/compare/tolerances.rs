//! How far two Runs may differ in a number before it is a difference.
//!
//! In: two Runs, and their differences. Out: the same differences without those within tolerance, or with
//! less severity. Must never: tolerate a difference that is not one of size, such as an open loop against a
//! closed loop.

use super::Difference;
use super::server::{DATA_AND_CACHE_PROPERTY, ROUND_TRIP_PROPERTY, data_per_cache, round_trip_ns};
use prony_store::{Run, Severity};

/// Name of the difference between numbers of clients.
pub(super) const CLIENTS_PROPERTY: &str = "clients";

/// Largest difference between two rates that is only a caveat, a share.
pub(super) const RATE_TOLERANCE_SHARE: f64 = 0.01;
const WHY_SIMILAR_RATE: &str =
    "the loads differ by no more than 1 %; beyond that they are not comparable";
/// Largest difference between numbers of clients that is only a caveat, a share.
pub(super) const CLIENTS_TOLERANCE_SHARE: f64 = 0.05;
const WHY_SIMILAR_CLIENTS: &str =
    "the numbers of clients differ by no more than 5 %; beyond that they are not comparable";
/// Differences of the measured time and the warm-up that do not matter: the larger of a share and of seconds.
pub(super) const TIME_TOLERANCE_SHARE: f64 = 0.02;
pub(super) const TIME_TOLERANCE_S: f64 = 1.0;
/// Difference of a machine's memory that does not matter, a share: kernels reserve different amounts.
pub(super) const MEMORY_TOLERANCE_SHARE: f64 = 0.05;
/// Difference between the sizes of data in units of the cache that does not matter, a share.
pub(super) const CACHE_TOLERANCE_SHARE: f64 = 0.10;

/// Difference between two round trips that does not matter: the larger of a share and of milliseconds.
pub(super) const ROUND_TRIP_TOLERANCE_SHARE: f64 = 0.25;
pub(super) const ROUND_TRIP_TOLERANCE_MS: f64 = 0.1;

pub(super) fn apply_tolerances(a: &Run, b: &Run, differences: &mut Vec<Difference>) {
    differences.retain(|difference| !is_ignored(a, b, difference));
    for difference in differences {
        if let Some(why) = why_only_a_caveat(a, b, difference) {
            difference.severity = difference.severity.min(Severity::Caveat);
            difference.why = why;
        }
    }
}

/// A value of both runs; `None` if either lacks it.
fn of_both(a: &Run, b: &Run, read: fn(&Run) -> Option<f64>) -> Option<[f64; 2]> {
    Some([read(a)?, read(b)?])
}

/// Why a difference in the load is small enough not to forbid a comparison; `None` if it is not, or is no such difference.
fn why_only_a_caveat(a: &Run, b: &Run, difference: &Difference) -> Option<&'static str> {
    match difference.what.as_str() {
        "pace" => {
            let rates = of_both(a, b, |run| run.drive.rate_tps)?;
            let is_small =
                a.drive.arrival == b.drive.arrival && are_similar(rates, RATE_TOLERANCE_SHARE);
            is_small.then_some(WHY_SIMILAR_RATE)
        }
        CLIENTS_PROPERTY => {
            let clients = [a, b].map(|run| f64::from(run.drive.clients));
            are_similar(clients, CLIENTS_TOLERANCE_SHARE).then_some(WHY_SIMILAR_CLIENTS)
        }
        _ => None,
    }
}

/// Whether a difference is too small to matter.
fn is_ignored(a: &Run, b: &Run, difference: &Difference) -> bool {
    let runs = [a, b];
    let both = |read| of_both(a, b, read);
    match difference.what.as_str() {
        "measured" => are_similar_times(runs.map(|run| run.window.measured_s)),
        // Each went on until the load was steady; `warm-up` reports a load that was not.
        "warm-up" if runs.iter().all(|run| run.window.warmup_end.is_some()) => true,
        "warm-up" => are_similar_times(runs.map(|run| run.window.warmup_s)),
        "server's memory" => {
            let bytes = both(|run| Some(run.observed.as_ref()?.machine.memory_bytes? as f64));
            bytes.is_some_and(|bytes| are_similar(bytes, MEMORY_TOLERANCE_SHARE))
        }
        DATA_AND_CACHE_PROPERTY => both(data_per_cache).is_some_and(|[a, b]| {
            are_similar([a, b], CACHE_TOLERANCE_SHARE) && (a <= 1.0) == (b <= 1.0)
        }),
        ROUND_TRIP_PROPERTY => {
            let trips_ms = both(|run| Some(round_trip_ns(run)? as f64 / 1e6));
            trips_ms.is_some_and(|[a, b]| {
                are_similar([a, b], ROUND_TRIP_TOLERANCE_SHARE)
                    || (a - b).abs() <= ROUND_TRIP_TOLERANCE_MS
            })
        }
        _ => false,
    }
}

fn are_similar([a, b]: [f64; 2], tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.max(b)
}

fn are_similar_times(times_s: [f64; 2]) -> bool {
    are_similar(times_s, TIME_TOLERANCE_SHARE)
        || (times_s[0] - times_s[1]).abs() <= TIME_TOLERANCE_S
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Verdict, compare};
    use crate::sample::{healthy, healthy_at_rate, observed_mut, observed_run};
    use prony_assertions::TextAssertions;
    use prony_store::{RoundTrip, ServerAddress, WarmupEnd};

    fn verdict(run: &Run, change: impl Fn(&mut Run)) -> Verdict {
        let mut other = run.clone();
        change(&mut other);
        let [comparison, reversed] = [compare(run, &other, false), compare(&other, run, false)];
        assert_eq!(comparison.verdict, reversed.verdict);
        comparison.verdict
    }

    #[test]
    fn numbers_of_clients_and_rates_have_a_tolerance() {
        let clients = |number| verdict(&healthy(), |run| run.drive.clients = number);
        for (number, expected) in [
            (64, Verdict::Comparable),
            (65, Verdict::WithCaveats),
            (67, Verdict::WithCaveats),
            (68, Verdict::NotComparable),
            (8, Verdict::NotComparable),
            (256, Verdict::NotComparable),
        ] {
            assert_eq!(clients(number), expected, "{number}");
        }
        let pace = |rate| verdict(&healthy_at_rate(), |run| run.drive.rate_tps = rate);
        for (rate, expected) in [
            (Some(16_000.0), Verdict::Comparable),
            (Some(16_001.0), Verdict::WithCaveats),
            (Some(16_200.0), Verdict::NotComparable),
            (None, Verdict::NotComparable),
        ] {
            assert_eq!(pace(rate), expected, "{rate:?}");
        }
        let mut other = healthy();
        other.drive.clients = 65;
        let differences = compare(&healthy(), &other, false).differences;
        differences[0].why.assert_contains("5 %");
    }

    #[test]
    fn round_trips_over_a_network_have_a_tolerance() {
        let mut base = observed_run();
        let far = |run: &mut Run, ns| {
            run.server.address = Some(ServerAddress::Tcp("192.0.2.1:5432".to_owned()));
            let observed = observed_mut(run);
            observed.machine.shared = Some(false);
            observed.round_trip = Some(RoundTrip {
                p50_ns: ns,
                ..RoundTrip::default()
            });
        };
        far(&mut base, 400_000);
        let round_trip = |ns| verdict(&base, |run| far(run, ns));
        assert_eq!(round_trip(490_000), Verdict::Comparable);
        assert_eq!(round_trip(1_400_000), Verdict::WithCaveats);
        let mut near = base.clone();
        near.server.address = Some(ServerAddress::Tcp("127.0.0.1:5432".to_owned()));
        let found = compare(&base, &near, false).differences;
        let found = found
            .iter()
            .find(|found| found.what == "place of the client");
        assert_eq!(found.unwrap().b, "on the server's machine");
    }

    #[test]
    fn memory_and_times_have_a_tolerance() {
        let memory = |bytes| {
            let change = |run: &mut Run| observed_mut(run).machine.memory_bytes = Some(bytes);
            let mut base = observed_run();
            observed_mut(&mut base).machine.memory_bytes = Some(16_000_000_000);
            verdict(&base, change)
        };
        assert_eq!(memory(16_300_000_000), Verdict::Comparable);
        assert_eq!(memory(32_000_000_000), Verdict::WithCaveats);
        let measured = |seconds| verdict(&healthy(), |run| run.window.measured_s = seconds);
        assert_eq!(measured(60.9), Verdict::Comparable);
        assert_eq!(measured(30.0), Verdict::WithCaveats);
        let warmup = |seconds| verdict(&healthy(), |run| run.window.warmup_s = seconds);
        assert_eq!(warmup(10.9), Verdict::Comparable);
        assert_eq!(warmup(0.0), Verdict::WithCaveats);
        let until_steady = |run: &mut Run, seconds| {
            run.window.warmup_s = seconds;
            run.window.warmup_end = Some(WarmupEnd::Steady);
        };
        let mut steady = healthy();
        until_steady(&mut steady, 5.0);
        let longer = verdict(&steady, |run| until_steady(run, 14.0));
        assert_eq!(longer, Verdict::Comparable);
    }
}
