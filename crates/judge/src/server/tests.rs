//! Tests of the server's counters and waits, in synthetic runs.

use super::*;
use crate::limiter::check_limits;
use crate::sample::{healthy, observed_mut, observed_run, set};
use Severity::{Caveat, Invalid, Note};
use prony_assertions::TextAssertions;
use prony_store::{
    Event, Experiment, ExperimentKind, FoundPooler, MissingObservation, Product, RateSearch,
};

fn with_commits(server_commits: u64) -> Run {
    let mut run = observed_run();
    let observed = observed_mut(&mut run);
    observed.after.as_mut().unwrap().commits = Some(1_000 + server_commits);
    run
}

#[test]
fn commit_counts_of_client_and_server_agree() {
    let severity = |run: &Run| check_server_commits(run).map(|check| check.severity);
    // The client commits 9,760,000 transactions at 16,000 per second.
    assert_eq!(severity(&with_commits(9_760_000)), None);
    assert_eq!(
        severity(&with_commits(9_650_000)),
        None,
        "within 1 % plus the lag of the counters"
    );
    let check = check_server_commits(&with_commits(9_600_000)).unwrap();
    assert_eq!(check.severity, Invalid);
    check.finding.assert_contains("counted 9,600,000");
    assert_eq!(severity(&with_commits(9_860_000)), None);
    assert_eq!(severity(&with_commits(9_900_000)), Some(Caveat));
    let mut sleeping = with_commits(5_000);
    sleeping.workload.description = Some(prony_store::Description::default());
    assert_eq!(severity(&sleeping), None, "a script may have no statement");
    let mut step = with_commits(5_000);
    let kind = ExperimentKind::Search(RateSearch::default());
    step.experiment = Some(Experiment {
        kind,
        ..Experiment::default()
    });
    assert_eq!(severity(&step), Some(Invalid), "its tables are known");
    let description = step.workload.description.as_mut().unwrap();
    description.table_names.clear();
    assert_eq!(
        severity(&step),
        None,
        "sessions that stay open may report late"
    );
    // Under the name of another tool only these two readings are made.
    let mut tool = with_commits(19_000_000);
    observed_mut(&mut tool).off = Some("as another tool".to_owned());
    assert_eq!(severity(&tool), Some(Invalid));
    let mut script = with_commits(99_000_000);
    script.workload.description = None;
    assert_eq!(
        severity(&script),
        None,
        "a script may commit more than once"
    );
    assert_eq!(
        severity(&with_commits(100)),
        None,
        "the server's counters do not work"
    );
    let mut pooled = with_commits(9_600_000);
    pooled.server.pooler = Some(FoundPooler::default());
    assert_eq!(severity(&pooled), None, "a pooler's sessions report late");
    let shared = with_commits(11_900_000);
    assert_eq!(
        severity(&shared),
        Some(Invalid),
        "whether or not a session was seen"
    );
    let mut cached = with_commits(9_600_000);
    cached.server.product = Some(Product::MARIADB);
    assert_eq!(severity(&cached), Some(Invalid));
    set(&mut cached, "query_cache_type", "ON");
    assert_eq!(
        severity(&cached),
        None,
        "queries answered by the query cache are not counted as commits"
    );
    let mut unlogged = with_commits(9_600_000);
    unlogged.server.product = Some(Product::MYSQL);
    observed_mut(&mut unlogged).before.as_mut().unwrap().tables[0].unlogged = true;
    assert_eq!(
        severity(&unlogged),
        None,
        "MyISAM tables are observed as unlogged, and their commits are not counted"
    );
    let mut partial = with_commits(9_600_000);
    partial.state = RunState::Partial;
    assert_eq!(severity(&partial), None);
    assert_eq!(severity(&healthy()), None, "not observed");
}

#[test]
fn a_restart_or_failover_is_reported() {
    let severity = |run: &Run| check_restart(run).map(|check| check.severity);
    assert_eq!(severity(&observed_run()), None);
    let mut run = observed_run();
    observed_mut(&mut run).events.push(Event {
        at_s: 42.0,
        kind: EventKind::Failover,
        detail: "the server was the primary and is a replica".to_owned(),
        ..Event::default()
    });
    let check = check_restart(&run).unwrap();
    assert_eq!(check.severity, Invalid);
    let finding = &check.finding;
    finding.assert_contains("at 42 s the server was the primary");
    let mut run = observed_run();
    let after = observed_mut(&mut run).after.as_mut().unwrap();
    after.started_unix_s = Some(1_795_000_500.0);
    assert_eq!(
        severity(&run),
        None,
        "its counters went on, and no connection was lost"
    );
    let after = observed_mut(&mut run).after.as_mut().unwrap();
    after.commits = Some(0);
    assert_eq!(severity(&run), Some(Invalid));
    assert_eq!(check_server_commits(&run), None, "its counters were reset");
    run.server.service = Some(prony_store::Service::Dolt);
    assert_eq!(severity(&run), None, "its uptime means nothing");
    let mut run = observed_run();
    observed_mut(&mut run).after.as_mut().unwrap().is_replica = Some(true);
    assert_eq!(severity(&run), Some(Invalid));
}

#[test]
fn an_expected_restart_is_a_note() {
    let mut run = observed_run();
    let after = observed_mut(&mut run).after.as_mut().unwrap();
    after.is_replica = Some(true);
    assert_eq!(check_restart(&run).unwrap().severity, Invalid);
    run.plan = serde_json::json!({ "run": { "expect_outage": true } });
    assert_eq!(check_restart(&run).unwrap().severity, Note);
}

#[test]
fn the_limits_of_the_throughput_are_reported() {
    assert_eq!(check_limits(&observed_run()), None);
    let mut run = observed_run();
    for row in &mut observed_mut(&mut run).series {
        row.waits = [("CPU".to_owned(), 10), ("Lock/tuple".to_owned(), 30)].into();
        row.machine.get_or_insert_default().busy_share = Some(0.95);
        row.machine.get_or_insert_default().disk_busy_share = Some(0.99);
    }
    let check = check_limits(&run).unwrap();
    assert_eq!(check.severity, Note);
    check.finding.assert_contains("95 % busy; 75 %");
    check.finding.assert_contains("; the busiest disk");
    let waited = "75 % of the 24,000 active sessions in all samples waited for Lock/tuple";
    check.finding.assert_contains(waited);
    for row in &mut observed_mut(&mut run).series {
        row.waits = [("CPU".to_owned(), 1), ("Client/ClientRead".to_owned(), 30)].into();
        row.machine = None;
    }
    assert_eq!(
        check_limits(&run),
        None,
        "waiting for the client does not limit the server"
    );
}

#[test]
fn too_few_sessions_are_not_judged() {
    let bottleneck_finding = |sessions: u32| {
        let mut run = observed_run();
        let series = &mut observed_mut(&mut run).series;
        series.iter_mut().for_each(|row| row.waits.clear());
        series[20].waits = [("IO/WalSync".to_owned(), sessions)].into();
        check_limits(&run).map(|check| check.finding)
    };
    assert_eq!(bottleneck_finding(3), None);
    assert_eq!(bottleneck_finding(19), None);
    let finding = bottleneck_finding(20).expect("enough sessions");
    finding.assert_contains("100 % of the 20 active sessions");
}

#[test]
fn the_cost_of_observing_is_reported() {
    let mut run = observed_run();
    assert_eq!(check_observer(&run), None);
    // The machine has 16 CPUs × 610 s = 9,760 s of CPU time.
    observed_mut(&mut run).cost.as_mut().unwrap().server_cpu_s = Some(150.0);
    let check = check_observer(&run).unwrap();
    assert_eq!(check.severity, Note);
    assert!(
        check
            .finding
            .contains("1.5 % of its machine, for 3,660 queries"),
        "{check:?}"
    );
    observed_mut(&mut run).cost.as_mut().unwrap().server_cpu_s = Some(400.0);
    assert_eq!(check_observer(&run).unwrap().severity, Caveat);
    // The check is at most a caveat, even if observing takes all CPU time, as in a run of a few milliseconds.
    observed_mut(&mut run).cost.as_mut().unwrap().server_cpu_s = Some(9_760.0);
    assert_eq!(check_observer(&run).unwrap().severity, Caveat);
}

#[test]
fn missing_observations_are_reported() {
    assert_eq!(check_unobserved(&healthy()), None);
    let mut run = observed_run();
    assert_eq!(check_unobserved(&run), None);
    observed_mut(&mut run).missing.push(MissingObservation::new(
        prony_store::ObservedTopic::Checkpoints,
        "permission denied",
    ));
    let check = check_unobserved(&run).unwrap();
    assert_eq!(check.severity, Note);
    check.finding.assert_ends_with("Not observed: checkpoints.");
    observed_mut(&mut run).off = Some("--no-observe was given".to_owned());
    let finding = check_unobserved(&run).unwrap().finding;
    finding.assert_contains("--no-observe");
    assert_eq!(check_limits(&run), None);
}

#[test]
fn a_setting_of_the_plan_must_last_and_others_that_matter_are_named() {
    let mut run = observed_run();
    run.plan = serde_json::json!({"settings": {"Max_Wal_Size": "5GB"}});
    let changed = |name: &str| {
        let mut run = run.clone();
        observed_mut(&mut run)
            .settings_changed
            .insert(name.to_owned(), "6GB".into());
        set(&mut run, name, "5GB");
        check_settings_changed(&run)
    };
    let planned = changed("max_wal_size").expect("a finding");
    assert_eq!(planned.severity, Invalid);
    let text = "during the run: max_wal_size from 5GB to 6GB.";
    planned.finding.assert_ends_with(text);
    let other = changed("shared_buffers").map(|found| found.severity);
    assert_eq!(other, Some(Caveat));
    assert_eq!(changed("log_min_messages"), None);
    assert_eq!(check_settings_changed(&run), None);
}
