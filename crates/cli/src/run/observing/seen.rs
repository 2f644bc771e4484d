//! What was seen, in the words of the Run document.
//!
//! In: readings of the server and its machine. Out: parts of an `Observed`. Must never: turn what is not
//! known into a zero, or a counter that was reset into a difference.

use super::sample::Sample;
use prony_server::observe::{self, Counters, State};
use prony_store::{
    Durability, MachineSecond, Missing, Replica, ServerSecond, ServerState, TableState,
};

pub(super) fn missing(of: Vec<observe::Missing>) -> Vec<Missing> {
    let each = of.into_iter().map(|one| Missing {
        what: one.what,
        why: one.why,
    });
    each.collect()
}

pub(super) fn state(of: State, counters: &Counters) -> ServerState {
    ServerState {
        started_unix_s: of.started_unix_s,
        is_replica: of.is_replica.or(counters.is_replica),
        replication: of.replication.map(str::to_owned),
        replicas: of.replicas.into_iter().map(replica).collect(),
        extensions: of.extensions,
        database_bytes: of.database_bytes,
        cache_bytes: of.cache_bytes,
        durability: of.durability.map(|of| Durability {
            class: of.class.to_owned(),
            because: of.because,
            tables_unknown: of.tables_unknown,
        }),
        tables: of.tables.into_iter().map(table).collect(),
        commits: counters.commits,
        rollbacks: counters.rollbacks,
    }
}

fn replica(of: observe::Replica) -> Replica {
    Replica {
        name: of.name,
        state: of.state,
        mode: of.mode,
    }
}

fn table(of: observe::TableState) -> TableState {
    TableState {
        name: of.name,
        bytes: of.bytes,
        rows: of.rows,
        dead_rows: of.dead_rows,
        statistics_age_s: of.statistics_age_s,
        unlogged: of.unlogged,
        vacuums: of.vacuums,
        analyses: of.analyses,
    }
}

/// What happened between two samples; `start_ns` is the start of the load on the run's clock.
pub(super) fn second(before: &Sample, now: &Sample, start_ns: u64) -> ServerSecond {
    let (was, is) = (&before.counters, &now.counters);
    let since = |of: fn(&Counters) -> Option<u64>| grown(of(was.as_ref()?), of(is.as_ref()?));
    let seconds = now.at_ns.saturating_sub(before.at_ns) as f64 / 1e9;
    let mut second = ServerSecond {
        at_s: (before.at_ns as f64 - start_ns as f64) / 1e9,
        seconds,
        commits: since(|of| of.commits),
        rollbacks: since(|of| of.rollbacks),
        cache_hits: since(|of| of.cache_hits),
        cache_reads: since(|of| of.cache_reads),
        log_bytes: since(|of| of.log_bytes),
        temp_bytes: since(|of| of.temp_bytes),
        deadlocks: since(|of| of.deadlocks),
        machine: machine(before, now, seconds),
        client: client(before, now, seconds),
        ..ServerSecond::default()
    };
    if let Some(is) = is {
        second.connections = is.connections;
        second.active = is.active;
        second.lock_waits = is.lock_waits;
        second.waits.clone_from(&is.waits);
        second.vacuums = is.activities.as_ref().map(|all| {
            let vacuums = all.iter().filter(|one| one.what == "vacuum");
            vacuums.count() as u32
        });
        second.checkpoint_age_bytes = match is.checkpoint {
            Some(observe::counters::Checkpoint::Moving { at, end }) => end.checked_sub(at),
            _ => None,
        };
        second.history_length = is.history_length;
        second.replication_lag_bytes = is.replication_lag_bytes;
        second.replication_lag_s = is.replication_lag_s;
    }
    second
}

/// The growth of a counter; none where it was reset between.
fn grown(before: Option<u64>, now: Option<u64>) -> Option<u64> {
    now?.checked_sub(before?)
}

/// The server's machine, and CPU time of its processes.
fn machine(before: &Sample, now: &Sample, seconds: f64) -> Option<MachineSecond> {
    let readings = before.machine.as_ref().zip(now.machine.as_ref());
    let mut of = readings.map(|(was, is)| used(was, is, seconds));
    let cpu_s = before.server_cpu_s.zip(now.server_cpu_s);
    if let Some(cpu_s) = cpu_s.and_then(|(was, is)| (is >= was).then_some(is - was)) {
        of.get_or_insert_default().server_cpu_s = Some(cpu_s);
    }
    of
}

/// The client's machine where it is another one, and what its control group was denied.
fn client(before: &Sample, now: &Sample, seconds: f64) -> Option<MachineSecond> {
    let readings = before.client.as_ref().zip(now.client.as_ref());
    let mut of = readings.map(|(was, is)| used(was, is, seconds));
    if let Some((was, is)) = before.throttled_s.zip(now.throttled_s) {
        of.get_or_insert_default().throttled_s = Some((is - was).max(0.0));
    }
    of
}

fn used(
    was: &observe::machine::Reading,
    is: &observe::machine::Reading,
    seconds: f64,
) -> MachineSecond {
    let used = is.since(was, seconds);
    MachineSecond {
        busy: used.busy,
        busiest_cpu: used.busiest_cpu,
        io_wait: used.io_wait,
        steal: used.steal,
        server_cpu_s: None,
        memory_available_bytes: is.memory_available_bytes,
        disk_read_bytes: used.disk_read_bytes,
        disk_write_bytes: used.disk_write_bytes,
        disk_busy: used.disk_busy,
        throttled_s: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ns: u64, commits: Option<u64>) -> Sample {
        Sample {
            at_ns,
            counters: Some(Counters {
                commits,
                connections: Some(8),
                ..Counters::default()
            }),
            ..Sample::default()
        }
    }

    #[test]
    fn differences_of_counters_and_the_later_state() {
        let row = second(
            &sample(1_500_000_000, Some(10)),
            &sample(2_500_000_000, Some(910)),
            500_000_000,
        );
        assert_eq!((row.at_s, row.seconds), (1.0, 1.0));
        assert_eq!((row.commits, row.connections), (Some(900), Some(8)));
        assert_eq!((row.rollbacks, row.machine, row.client), (None, None, None));
    }

    #[test]
    fn a_reset_or_a_lost_connection_gives_no_difference() {
        let (early, late) = (sample(0, Some(10)), sample(1, Some(9)));
        assert_eq!(second(&early, &late, 0).commits, None);
        let mut lost = sample(1, Some(11));
        lost.counters = None;
        let row = second(&early, &lost, 0);
        assert_eq!((row.commits, row.connections), (None, None));
    }
}
