//! Rows of the server's series: what changed between two samples.
//!
//! Must never: turn an unknown value into zero, or compute the difference of a counter that was reset.

use super::sample::ServerSample;
use prony_server::observe::counters::Checkpoint;
use prony_server::observe::machine::MachineReading;
use prony_server::observe::{ActivityKind, Counters};
use prony_store::{MachineSecond, ServerSecond};
use std::collections::BTreeMap;

/// The row between two samples; `start_ns` is the start of the load on the run's clock.
pub(super) fn server_second(
    before: &ServerSample,
    after: &ServerSample,
    start_ns: u64,
) -> ServerSecond {
    let earlier = &before.counters;
    let later = &after.counters;
    let growth_of = |counter: fn(&Counters) -> Option<u64>| {
        growth(counter(earlier.as_ref()?), counter(later.as_ref()?))
    };
    let length_s = after.at_ns.saturating_sub(before.at_ns) as f64 / 1e9;
    let mut second = ServerSecond {
        at_s: (before.at_ns as f64 - start_ns as f64) / 1e9,
        length_s,
        commits: growth_of(|counters| counters.commits),
        rollbacks: growth_of(|counters| counters.rollbacks),
        other_commits: growth_of(|counters| counters.other_commits),
        other_rollbacks: growth_of(|counters| counters.other_rollbacks),
        cache_hits: growth_of(|counters| counters.cache_hits),
        cache_reads: growth_of(|counters| counters.cache_reads),
        log_bytes: growth_of(|counters| counters.log_bytes),
        temp_bytes: growth_of(|counters| counters.temp_bytes),
        deadlocks: growth_of(|counters| counters.deadlocks),
        node_conflicts: growth_of(|counters| counters.node_conflicts),
        flow_control_share: growth_of(|counters| counters.flow_control_ns)
            .map(|stopped_ns| (stopped_ns as f64 / 1e9 / length_s).min(1.0))
            .filter(|share| share.is_finite()),
        wait_s: waits_between(before, after),
        machine: server_machine(before, after, length_s),
        client: client_machine(before, after, length_s),
        ..ServerSecond::default()
    };
    if let Some(later) = later {
        second.sessions.clone_from(&later.sessions);
        second.is_replica = later.is_replica;
        second.connections = later.connections;
        second.active = later.active;
        second.lock_waits = later.lock_waits;
        second.waits.clone_from(&later.waits);
        second.vacuums = later.activities.as_ref().map(|activities| {
            let vacuums = activities
                .iter()
                .filter(|activity| activity.kind == ActivityKind::Vacuum);
            vacuums.count() as u32
        });
        second.checkpoint_age_bytes = match later.checkpoint {
            Some(Checkpoint::Fuzzy {
                checkpoint_lsn,
                end_lsn,
            }) => end_lsn.checked_sub(checkpoint_lsn),
            _ => None,
        };
        second.history_length = later.history_length;
        second.limit_use = later.limit_use;
        second.replication_lag_bytes = later.replication_lag_bytes;
        second.replication_lag_s = later.replication_lag_s;
    }
    second
}

/// The growth of a counter between two samples; `None` if it was reset between them or is unknown in one of
/// them.
fn growth(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}

/// The time that sessions waited between two samples, by wait type; without the types for which none waited.
/// `None` if a counter was reset between them, or they are unknown in one of them.
fn waits_between(before: &ServerSample, after: &ServerSample) -> Option<BTreeMap<String, f64>> {
    let earlier = before.counters.as_ref()?.wait_ms.as_ref()?;
    let later = after.counters.as_ref()?.wait_ms.as_ref()?;
    let mut waits = BTreeMap::new();
    for (name, later_ms) in later {
        let grown_ms = growth(earlier.get(name).copied(), Some(*later_ms))?;
        if grown_ms > 0 {
            waits.insert((*name).to_owned(), grown_ms as f64 / 1e3);
        }
    }
    Some(waits)
}

/// The CPU time of the server's processes so far: as this machine counts it, if they are on this machine, else as
/// the server does.
fn server_cpu_s(sample: &ServerSample) -> Option<f64> {
    let counted_by_server = || sample.counters.as_ref()?.server_cpu_s;
    sample.server_cpu_s.or_else(counted_by_server)
}

/// What a machine did between two readings.
fn usage(
    before: &Option<MachineReading>,
    after: &Option<MachineReading>,
    length_s: f64,
) -> Option<MachineSecond> {
    Some(after.as_ref()?.usage_since(before.as_ref()?, length_s))
}

/// The server's machine, and CPU time of its processes.
fn server_machine(
    before: &ServerSample,
    after: &ServerSample,
    length_s: f64,
) -> Option<MachineSecond> {
    let mut machine_second = usage(&before.server_machine, &after.server_machine, length_s);
    let cpu_s = server_cpu_s(before).zip(server_cpu_s(after));
    if let Some((earlier, later)) = cpu_s.filter(|(earlier, later)| later >= earlier) {
        machine_second.get_or_insert_default().server_cpu_s = Some(later - earlier);
    }
    machine_second
}

/// The client's machine, if the server is on a different one, and the time for which the CPU limit throttled
/// this process's control group.
fn client_machine(
    before: &ServerSample,
    after: &ServerSample,
    length_s: f64,
) -> Option<MachineSecond> {
    let mut machine_second = usage(&before.client_machine, &after.client_machine, length_s);
    if let Some((earlier, later)) = before.throttled_s.zip(after.throttled_s) {
        machine_second.get_or_insert_default().throttled_s = Some((later - earlier).max(0.0));
    }
    machine_second
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ns: u64, commits: Option<u64>) -> ServerSample {
        ServerSample {
            at_ns,
            counters: Some(Counters {
                commits,
                connections: Some(8),
                ..Counters::default()
            }),
            ..ServerSample::default()
        }
    }

    #[test]
    fn a_row_has_differences_of_counters_and_the_later_state() {
        let row = server_second(
            &sample(1_500_000_000, Some(10)),
            &sample(2_500_000_000, Some(910)),
            500_000_000,
        );
        assert_eq!((row.at_s, row.length_s), (1.0, 1.0));
        assert_eq!((row.commits, row.connections), (Some(900), Some(8)));
        assert_eq!((row.rollbacks, row.machine, row.client), (None, None, None));
    }

    #[test]
    fn waits_and_cpu_time_of_sql_server_are_differences() {
        let counted = |at_ns, wait_ms: Option<[u64; 2]>, server_cpu_s| {
            let mut sample = sample(at_ns, None);
            sample.counters = Some(Counters {
                wait_ms: wait_ms.map(|[log, lock]| [("WRITELOG", log), ("LCK_M", lock)].into()),
                server_cpu_s,
                ..Counters::default()
            });
            sample
        };
        let first = counted(0, Some([1_000, 70]), Some(5.0));
        let row = server_second(&first, &counted(1, Some([3_500, 70]), Some(6.5)), 0);
        assert_eq!(row.wait_s, Some([("WRITELOG".to_owned(), 2.5)].into()));
        assert_eq!(
            row.machine.and_then(|machine| machine.server_cpu_s),
            Some(1.5)
        );
        // Nothing is zero that was not read, or was reset (DBCC SQLPERF).
        for later in [None, Some([0, 70])] {
            let row = server_second(&first, &counted(1, later, None), 0);
            assert_eq!((row.wait_s, row.machine), (None, None), "{later:?}");
        }
        // This machine's count of the processes comes first.
        let mut local = counted(1, None, Some(9.0));
        local.server_cpu_s = Some(2.0);
        let mut local_before = counted(0, None, Some(5.0));
        local_before.server_cpu_s = Some(1.75);
        let row = server_second(&local_before, &local, 0);
        assert_eq!(
            row.machine.and_then(|machine| machine.server_cpu_s),
            Some(0.25)
        );
    }

    #[test]
    fn no_difference_is_reported_after_a_reset_or_a_lost_connection() {
        let (first, second_sample) = (sample(0, Some(10)), sample(1, Some(9)));
        assert_eq!(server_second(&first, &second_sample, 0).commits, None);
        let mut disconnected = sample(1, Some(11));
        disconnected.counters = None;
        let row = server_second(&first, &disconnected, 0);
        assert_eq!((row.commits, row.connections), (None, None));
    }
}
