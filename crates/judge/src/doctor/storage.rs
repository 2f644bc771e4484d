//! The storage of the server, as a probe over SQL measured it.
//!
//! In: the times of the probe. Out: findings. Must never: take times that a memory explains for those of storage.

use super::{DatabaseFacts, Examined, ReadProbe, StorageProbe, caution, named, ok, unknown};
use crate::formatting::{bytes, count, time};
use prony_store::{DoctorFinding, nearest_rank};

/// Longest median of a commit without a caution, nanoseconds: SSDs and disks of clouds need less, hard disks more.
const COMMIT_P50_MAX_NS: u64 = 5_000_000;
/// Longest 99th percentile of a commit without a caution, nanoseconds.
const COMMIT_P99_MAX_NS: u64 = 50_000_000;
/// Longest median of a random read without a caution, nanoseconds: a hard disk needs as much.
const RANDOM_P50_MAX_NS: u64 = 5_000_000;
/// A median of a random read below this comes from a memory, nanoseconds: no storage is as fast.
const MEMORY_P50_MAX_NS: u64 = 15_000;
/// Slowest sequential read without a caution, bytes per second.
const SEQUENTIAL_MIN_BYTES_PER_S: f64 = 100e6;
/// A sequential read above this comes from a memory, bytes per second.
const MEMORY_MIN_BYTES_PER_S: f64 = 8e9;

/// Said of each read, because no probe over SQL can know it.
const UPPER_BOUND: &str = "The operating system of the server may have had pages in its memory: storage is no faster than this.";

/// Findings; empty without a probe.
pub(super) fn findings(server: &DatabaseFacts) -> Vec<DoctorFinding> {
    let Some(probe) = &server.storage else {
        return Vec::new();
    };
    let mut findings = named([
        ("commit-latency", commits(probe)),
        ("sequential-read", sequential(probe)),
        ("random-read", random(probe)),
    ]);
    if let Some(left) = &probe.left_behind {
        let reason = format!("The table of the probe could not be dropped: {left}.");
        findings.extend(named([("probe-table", caution("left behind", reason))]));
    }
    findings
}

/// The percentile of ascending values; 0 without values.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    nearest_rank(sorted, percent).unwrap_or_default()
}

/// `p50 1.2 ms, p99 3.4 ms`; the 99th percentile from 100 values on, otherwise the longest.
fn percentiles(sorted: &[u64]) -> String {
    let p50 = time(percentile(sorted, 50) as f64);
    let (name, upper) = match sorted.len() {
        0..100 => ("longest", percentile(sorted, 100)),
        _ => ("p99", percentile(sorted, 99)),
    };
    format!("p50 {p50}, {name} {}", time(upper as f64))
}

fn commits(probe: &StorageProbe) -> Examined {
    let times = probe.commits_ns.as_ref();
    let times = times.map_err(|why| format!("Commits could not be probed: {why}."))?;
    if times.is_empty() {
        return unknown("No commit ended in time.");
    }
    let (p50, p99) = (percentile(times, 50), percentile(times, 99));
    let value = format!(
        "{} ({})",
        percentiles(times),
        count(times.len() as u64, "commit")
    );
    if let Some(why) = &probe.not_durable {
        let reason = format!(
            "The commits were not durable ({why}): this is not the latency of the storage."
        );
        return caution(value, reason);
    }
    let rate = 1e9 / p50.max(1) as f64;
    let reason = format!(
        "Durable commits of single rows, one after the other, including the round trip: a client commits at most \
         {rate:.0} times per second."
    );
    if p50 > COMMIT_P50_MAX_NS || p99 > COMMIT_P99_MAX_NS {
        return caution(value, format!("{reason} That is slow, or uneven."));
    }
    ok(value, reason)
}

fn sequential(probe: &StorageProbe) -> Examined {
    let read = measured(&probe.sequential)?;
    let seconds = read.times_ns.iter().sum::<u64>() as f64 / 1e9;
    let rate = read.bytes as f64 / seconds.max(1e-9);
    let value = format!("{}/s ({})", bytes(rate as u64), describe(read));
    if rate > MEMORY_MIN_BYTES_PER_S {
        return unknown(format!(
            "{value}: this comes from a memory, not from storage."
        ));
    }
    if rate < SEQUENTIAL_MIN_BYTES_PER_S {
        caution(
            value,
            format!("Scans and backups will be slow. {UPPER_BOUND}"),
        )
    } else {
        ok(value, UPPER_BOUND)
    }
}

fn random(probe: &StorageProbe) -> Examined {
    let read = measured(&probe.random)?;
    let p50 = percentile(&read.times_ns, 50);
    let value = format!("{} ({})", percentiles(&read.times_ns), describe(read));
    if p50 < MEMORY_P50_MAX_NS {
        return unknown(format!(
            "{value}: this comes from a memory, not from storage."
        ));
    }
    if p50 > RANDOM_P50_MAX_NS {
        caution(value, format!("As slow as a hard disk. {UPPER_BOUND}"))
    } else {
        ok(value, UPPER_BOUND)
    }
}

fn measured(read: &Result<ReadProbe, String>) -> Result<&ReadProbe, String> {
    read.as_ref().map_err(|why| format!("Not measured: {why}."))
}

/// `64.0 MB of pgbench_accounts, timed by the server`.
fn describe(read: &ReadProbe) -> String {
    let clock =
        if read.is_timed_by_server { "timed by the server" } else { "including the round trip" };
    format!("{} of {}, {clock}", bytes(read.bytes), read.table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_store::DoctorState;

    fn read(bytes: u64, times_ns: Vec<u64>) -> Result<ReadProbe, String> {
        Ok(ReadProbe {
            table: "t".to_owned(),
            bytes,
            times_ns,
            is_timed_by_server: true,
        })
    }

    fn states(probe: StorageProbe) -> Vec<(DoctorState, String)> {
        let server = DatabaseFacts {
            storage: Some(probe),
            ..DatabaseFacts::default()
        };
        let found = findings(&server).into_iter();
        found
            .map(|found| (found.state, format!("{}. {}", found.value, found.reason)))
            .collect()
    }

    #[test]
    fn good_slow_and_cached_storage_are_distinguished() {
        let good = states(StorageProbe {
            commits_ns: Ok((1..=200).map(|n| 1_000_000 + n * 1_000).collect()),
            sequential: read(64 << 20, vec![200_000_000]),
            random: read(8192 * 100, vec![300_000; 100]),
            ..StorageProbe::default()
        });
        assert!(
            good.iter().all(|(state, _)| *state == DoctorState::Ok),
            "{good:?}"
        );
        let text = &good[0].1;
        text.assert_contains("p50 1.10 ms, p99 1.20 ms (200 commits)");
        good[1].1.assert_contains("336 MB/s");
        let slow = states(StorageProbe {
            commits_ns: Ok(vec![12_000_000; 50]),
            sequential: read(64 << 20, vec![2_000_000_000]),
            random: read(8192 * 50, vec![9_000_000; 50]),
            ..StorageProbe::default()
        });
        assert!(
            slow.iter().all(|(state, _)| *state == DoctorState::Caution),
            "{slow:?}"
        );
        let cached = states(StorageProbe {
            commits_ns: Ok(vec![40_000; 200]),
            not_durable: Some("fsync is off".to_owned()),
            sequential: read(64 << 20, vec![1_000_000]),
            random: read(8192 * 50, vec![4_000; 50]),
            left_behind: Some("x".to_owned()),
        });
        let expected = [
            DoctorState::Caution,
            DoctorState::Unknown,
            DoctorState::Unknown,
            DoctorState::Caution,
        ];
        let found: Vec<DoctorState> = cached.iter().map(|(state, _)| *state).collect();
        assert_eq!(found, expected, "{cached:?}");
        cached[0].1.assert_contains("fsync is off");
    }

    #[test]
    fn what_could_not_be_done_is_told_with_its_reason() {
        let refused = states(StorageProbe::default());
        assert!(
            refused
                .iter()
                .all(|(state, _)| *state == DoctorState::Unknown),
            "{refused:?}"
        );
        let text = &refused[1].1;
        text.assert_contains("Not measured: it was not tried");
        assert_eq!(findings(&DatabaseFacts::default()), []);
    }
}
