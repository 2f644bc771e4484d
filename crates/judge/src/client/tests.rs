//! Tests of the checks of the client.

use super::*;
use crate::sample::{healthy, observed_mut, observed_run, with_series};
use Severity::{Caveat, Invalid, Note};
use prony_assertions::TextAssertions;

#[test]
fn a_busy_thread_limits_the_client() {
    let finding = |busy: Option<f64>| {
        let mut run = healthy();
        run.machine_mut().health.busiest_thread_share = busy;
        check_client_limit(&run).map(|check| check.finding)
    };
    assert_eq!(finding(None), None, "an unknown value is not reported");
    let finding = |busy| finding(Some(busy));
    assert_eq!(finding(0.89), None);
    finding(0.95).unwrap().assert_contains("close to its limit");
    finding(0.98).unwrap().assert_contains("used 98 % of a CPU");
    finding(0.98)
        .unwrap()
        .assert_starts_with("The client was the limit");
    let severity = |busy| {
        let mut run = healthy();
        run.machine_mut().health.busiest_thread_share = Some(busy);
        check_client_limit(&run).map(|check| check.severity)
    };
    assert_eq!(severity(0.95), Some(Caveat));
    assert_eq!(severity(0.98), Some(Invalid));
}

#[test]
fn waiting_for_a_cpu_counts_as_cpu_use() {
    let mut run = healthy();
    run.machine_mut().health.busiest_thread_share = Some(0.16);
    // 67 % of the 120 seconds that two threads have.
    run.machine_mut().health.run_queue_s = Some(80.4);
    assert_eq!(check_client_limit(&run), None);
    let check = check_client_headroom(&run).expect("83 % of a CPU");
    check.finding.assert_contains(
        "used 16 % of a CPU and waited for one for 67 % of the time, 83 % together, which leaves \
             room for about 1.2 times",
    );
    run.machine_mut().health.busiest_thread_share = Some(0.40);
    assert_eq!(check_client_limit(&run).unwrap().severity, Invalid);
    assert_eq!(check_client_headroom(&run), None, "client-limit reports it");
    run.server.embedded = true;
    assert_eq!(check_client_limit(&run), None, "one-host reports the waits");
    assert!(check_client_headroom(&run).is_some());
}

#[test]
fn the_advice_fits_the_machine() {
    let mut run = healthy();
    more_threads_advice(&run).assert_contains("--threads 4 instead of 2");
    run.machine_mut().host.cpus = 2;
    more_threads_advice(&run).assert_contains("more than its 2 CPUs");
    run.drive.threads = 64;
    more_threads_advice(&run).assert_contains("more clients and threads");
    run.drive.threads = 48;
    run.machine_mut().host.cpus = 96;
    more_threads_advice(&run).assert_contains("--threads 64 instead of 48");
}

#[test]
fn threads_waiting_for_a_cpu_are_reported() {
    let mut run = healthy();
    // 2 threads for 60 s.
    run.machine_mut().health.run_queue_s = Some(6.0);
    assert_eq!(check_run_queue(&run), None);
    run.machine_mut().health.run_queue_s = Some(12.0);
    let check = check_run_queue(&run).unwrap();
    check.finding.assert_contains("10 % of the time");
    run.machine_mut().health.run_queue_s = None;
    assert_eq!(
        check_run_queue(&run),
        None,
        "an unknown value is not reported"
    );
}

#[test]
fn replies_that_wait_in_the_client_are_reported() {
    let check_with = |wait_ns, samples| {
        let mut run = healthy();
        let split = run.measured.kinds[0].parts.as_mut().unwrap();
        split.client_wait.mean_ns = wait_ns;
        split.client_wait.samples = samples;
        check_client_wait(&run)
    };
    // The other parts are 3.8 ms.
    assert_eq!(check_with(4.2e5, 1000), None);
    assert_eq!(check_with(4.3e5, 99), None);
    let check = check_with(3.8e6, 1000).unwrap();
    assert_eq!(check.severity, Caveat);
    check.finding.assert_contains("7.60 ms, 3.80 ms (50 %)");
    check.advice.assert_contains("--threads 4");
    assert!(check_with(4.3e5, 100).is_some());
    let mut unsplit = healthy();
    unsplit.measured.kinds[0].parts = None;
    assert_eq!(check_client_wait(&unsplit), None);
}

#[test]
fn a_debug_build_is_reported() {
    let mut run = healthy();
    assert_eq!(check_debug_build(&run), None);
    run.build.profile = BuildProfile::Debug;
    assert!(check_debug_build(&run).is_some());
}

#[test]
fn headroom_is_reported_below_the_limit() {
    let check_at = |busy| {
        let mut run = healthy();
        run.machine_mut().health.busiest_thread_share = Some(busy);
        check_client_headroom(&run)
    };
    assert_eq!(check_at(0.49), None);
    let check = check_at(0.75).unwrap();
    assert_eq!(check.severity, Note);
    check.finding.assert_contains("about 1.3 times");
    assert_eq!(check_at(0.95), None, "client-limit reports it");
}

#[test]
fn a_busy_client_machine_and_throttling_are_reported() {
    let mut run = observed_run();
    assert_eq!(
        (check_client_machine(&run), check_throttled(&run)),
        (None, None)
    );
    for row in &mut observed_mut(&mut run).series {
        let client = row.client.get_or_insert_default();
        (client.busy_share, client.throttled_s) = (Some(0.8), Some(0.05));
    }
    let finding = check_client_machine(&run).unwrap().finding;
    finding.assert_contains("80 % busy");
    let finding = check_throttled(&run).unwrap().finding;
    finding.assert_contains("5.0 % of the time");
    for row in &mut observed_mut(&mut run).series {
        row.client.get_or_insert_default().throttled_s = Some(0.2);
    }
    let severity = |run: &Run| check_throttled(run).unwrap().severity;
    assert_eq!(severity(&run), Invalid);
    let mut short = run.clone();
    observed_mut(&mut short).series.truncate(14);
    assert_eq!(severity(&short), Caveat, "few periods of the limit");
    run.observed = None;
    assert_eq!(
        (check_client_machine(&run), check_throttled(&run)),
        (None, None)
    );
}

#[test]
fn long_loop_iterations_are_reported() {
    let with_iterations = |iteration_ns, p99_ns| {
        let mut run = with_series(&[1000; 20]);
        let series = run.series.iter_mut();
        series.for_each(|second| second.loop_delay_max_ns = iteration_ns);
        run.measured.kinds[0].parts = None;
        run.measured.kinds[0].response.p99_ns = p99_ns;
        run
    };
    assert_eq!(
        check_loop_delay(&with_iterations(4_000_000, Some(9_000_000))),
        None
    );
    let check = check_loop_delay(&with_iterations(6_000_000, Some(9_000_000))).unwrap();
    check.finding.assert_contains("6.00 ms or more");
    assert_eq!(check_loop_delay(&with_iterations(6_000_000, None)), None);
    let mut split = with_iterations(6_000_000, Some(9_000_000));
    split.measured.kinds[0].parts = healthy().measured.kinds[0].parts.clone();
    assert_eq!(check_loop_delay(&split), None, "client-wait covers it");
}
