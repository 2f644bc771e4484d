//! Tests of the checks of the machines.

use super::*;
use crate::sample::{healthy, observed_mut, observed_run};
use crate::thresholds::COUNTED_SHARE_INVALID_MIN_S;
use Severity::{Caveat, Invalid, Note};
use prony_assertions::TextAssertions;

#[test]
fn steal_on_the_client_machine_is_reported() {
    let mut run = healthy();
    run.machine_mut().health.steal_share = Some(0.01);
    assert_eq!(check_steal(&run), None);
    run.machine_mut().health.steal_share = Some(0.034);
    let check = check_steal(&run).unwrap();
    assert_eq!(check.severity, Caveat);
    check.finding.assert_contains("3.4 %");
    run.machine_mut().health.steal_share = Some(0.02);
    assert_eq!(check_steal(&run).unwrap().severity, Note);
    run.machine_mut().health.steal_share = Some(0.11);
    assert_eq!(check_steal(&run).unwrap().severity, Invalid);
    run.measured.length_s = COUNTED_SHARE_INVALID_MIN_S - 0.1;
    assert_eq!(
        check_steal(&run).unwrap().severity,
        Caveat,
        "a short window has few ticks"
    );
    run.machine_mut().health.steal_share = None;
    assert_eq!(check_steal(&run), None, "an unknown value is not reported");
}

#[test]
fn a_shared_machine_is_a_note() {
    let severity_at = |address: &str| {
        let mut run = healthy();
        run.server.address = match address.split_once(':') {
            Some(("unix", path)) => Some(ServerAddress::Unix(path.to_owned())),
            Some((_, address)) => Some(ServerAddress::Tcp(address.to_owned())),
            None => None,
        };
        check_one_host(&run).map(|check| check.severity)
    };
    for address in [
        "unix:/run/x/.s.PGSQL.5432",
        "tcp:127.0.0.1:5432",
        "tcp:127.3.2.1:5432",
        "tcp:[::1]:5432",
        "tcp:::1:5432",
        "tcp:[::ffff:127.0.0.1]:5432",
        "tcp:localhost:5432",
    ] {
        assert_eq!(severity_at(address), Some(Note), "{address}");
    }
    for address in [
        "tcp:192.0.2.7:5432",
        "tcp:[2001:db8::1]:5432",
        "tcp:db:5432",
        "",
    ] {
        assert_eq!(severity_at(address), None, "{address}");
    }
    let mut run = healthy();
    run.server.embedded = true;
    let finding = check_one_host(&run).unwrap().finding;
    finding.assert_contains("Prony started");
}

#[test]
fn a_busy_shared_machine_is_a_caveat() {
    let mut run = observed_run();
    observed_mut(&mut run).machine.shared = Some(true);
    let severity = |run: &Run| check_one_host(run).map(|check| check.severity);
    assert_eq!(severity(&run), Some(Note), "found by its process");
    for row in &mut observed_mut(&mut run).series {
        row.machine.get_or_insert_default().busy_share = Some(0.95);
    }
    assert_eq!(severity(&run), Some(Note), "the client takes little");
    run.machine_mut().health.cpu_system_s = Some(2_000.0);
    let check = check_one_host(&run).unwrap();
    assert_eq!(check.severity, Caveat);
    check.finding.assert_contains("95 % busy");
    assert_eq!(check_one_host(&observed_run()), None);
}

#[test]
fn waits_on_a_shared_machine_are_reported_once() {
    let mut run = observed_run();
    observed_mut(&mut run).machine.shared = Some(true);
    // 67 % of the 1,200 seconds that two threads have.
    run.machine_mut().health.run_queue_s = Some(804.0);
    run.machine_mut().health.busiest_thread_share = Some(0.16);
    let split = run.measured.kinds[0].parts.as_mut().unwrap();
    split.client_wait.mean_ns = 3.8e6;
    let ids = |run: &Run| -> Vec<String> {
        let checks = crate::judge(run).into_iter();
        checks.map(|check| check.id).collect()
    };
    assert_eq!(ids(&run), ["one-host", "client-headroom"]);
    let check = check_one_host(&run).unwrap();
    assert_eq!(check.severity, Caveat);
    let finding = &check.finding;
    finding.assert_contains("waited for a CPU for 67 % of the time. Of");
    check.finding.assert_contains("7.60 ms, 3.80 ms (50 %)");
    check.advice.assert_contains("Use the server time");
    run.machine_mut().health.batch = Some(prony_store::BatchScheduling {
        active: 2,
        ..Default::default()
    });
    let check = check_one_host(&run).unwrap();
    let finding = &check.finding;
    finding.assert_contains("partly by design: 2 workers ran under SCHED_BATCH");
    assert_eq!(
        ids(&run),
        ["one-host"],
        "the client used only 16 % of a CPU"
    );
    // On a machine without the server, the same waits are reported by the checks of the client.
    observed_mut(&mut run).machine.shared = Some(false);
    assert_eq!(ids(&run), ["run-queue", "client-wait", "client-headroom"]);
}

#[test]
fn steal_on_the_server_machine_is_reported() {
    let mut run = observed_run();
    assert_eq!(check_server_steal(&run), None);
    for row in &mut observed_mut(&mut run).series {
        row.machine.get_or_insert_default().steal_share = Some(0.05);
    }
    let finding = check_server_steal(&run).unwrap().finding;
    finding.assert_contains("5.0 %");
    for row in &mut observed_mut(&mut run).series {
        row.machine.get_or_insert_default().steal_share = Some(0.2);
    }
    let severity = |run: &Run| check_server_steal(run).unwrap().severity;
    assert_eq!(severity(&run), Invalid);
    let mut short = run.clone();
    observed_mut(&mut short).series.truncate(14);
    assert!(observations::observed_s(&short) < COUNTED_SHARE_INVALID_MIN_S);
    assert_eq!(severity(&short), Caveat, "few ticks");
    run.server.embedded = true;
    assert_eq!(check_server_steal(&run), None, "`steal` reports it");
}

#[test]
fn long_and_uneven_round_trips_are_reported() {
    let with_round_trip = |p50_ns, p99_ns| {
        let mut run = observed_run();
        let round_trip = observed_mut(&mut run).round_trip.as_mut().unwrap();
        (round_trip.p50_ns, round_trip.p99_ns) = (p50_ns, Some(p99_ns));
        run
    };
    let severity = |run: &Run| check_round_trip(run).map(|check| check.severity);
    // The mean service time is 4 ms.
    assert_eq!(severity(&with_round_trip(200_000, 400_000)), None);
    assert_eq!(
        severity(&with_round_trip(2_100_000, 2_200_000)),
        Some(Caveat)
    );
    assert_eq!(severity(&with_round_trip(200_000, 2_500_000)), Some(Note));
    assert_eq!(
        severity(&with_round_trip(20_000, 250_000)),
        None,
        "too short to matter"
    );
    let mut local = with_round_trip(2_100_000, 2_200_000);
    local.server.address = Some(ServerAddress::Unix("/x".into()));
    assert_eq!(severity(&local), None);
    assert_eq!(severity(&healthy()), None, "not observed");
}

#[test]
fn cpu_use_of_other_processes_is_reported() {
    let with_server_cpu = |server_cpu_s| {
        let mut run = observed_run();
        for row in &mut observed_mut(&mut run).series {
            row.machine.get_or_insert_default().server_cpu_s = server_cpu_s;
        }
        run
    };
    // 70 % of 16 CPUs are busy.
    assert_eq!(check_neighbours(&with_server_cpu(Some(9.0))), None);
    let check = check_neighbours(&with_server_cpu(Some(4.8))).unwrap();
    assert_eq!(check.severity, Caveat);
    let finding = &check.finding;
    finding.assert_starts_with("Other processes used 40 % of");
    assert_eq!(check_neighbours(&with_server_cpu(None)), None, "not known");
    // 79 % of the CPUs are used by others, on a machine that is 95 % busy.
    let mut crowded = with_server_cpu(Some(2.56));
    for row in &mut observed_mut(&mut crowded).series {
        row.machine.get_or_insert_default().busy_share = Some(0.95);
    }
    let check = check_neighbours(&crowded).unwrap();
    assert_eq!(check.severity, Invalid);
    let finding = &check.finding;
    finding.assert_starts_with("Other processes used 79 % of");
    // Two seconds of a short run may be a burst of another process.
    let observed = observed_mut(&mut crowded);
    observed
        .series
        .retain(|row| (20.0..22.0).contains(&row.at_s));
    assert_eq!(check_neighbours(&crowded).unwrap().severity, Caveat);
    // On a shared machine the client's own CPU time is not counted as that of other processes: it used 600 s
    // in 600 s, which is one CPU of 16.
    let mut shared = with_server_cpu(Some(8.0));
    assert!(check_neighbours(&shared).is_some());
    observed_mut(&mut shared).machine.shared = Some(true);
    assert_eq!(check_neighbours(&shared), None);
}
