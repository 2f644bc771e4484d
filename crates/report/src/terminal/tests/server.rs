//! Tests of the server section of a printed result.

use super::flat_text;
use crate::sample_run;
use prony_assertions::TextAssertions;
use prony_store::{ObservedTopic, Run};

/// A run with one second of warm-up, four measured seconds and observations of the server.
fn observed_run() -> Run {
    use prony_store::{
        MachineSecond, MissingObservation, Observed, ObserverCost, ServerSecond, ServerState,
    };
    let mut run = sample_run::closed();
    let row = |second: u32| ServerSecond {
        at_s: f64::from(second),
        length_s: 1.0,
        cache_hits: Some(990),
        cache_reads: Some(10),
        log_bytes: Some(3_000_000),
        active: Some(second),
        waits: [("CPU".to_owned(), 3), ("IO/WalSync\x1b[31m".to_owned(), 1)].into(),
        machine: Some(MachineSecond {
            busy_share: Some(0.87),
            server_cpu_s: Some(1.5),
            disk_write_bytes: Some(40_000_000),
            ..MachineSecond::default()
        }),
        ..ServerSecond::default()
    };
    run.observed = Some(Observed {
        before: Some(ServerState {
            database_bytes: Some(1_500_000_000),
            replication: Some(prony_store::Replication::NotVisible),
            ..ServerState::default()
        }),
        machine: prony_store::ServerMachine {
            source: Some("/proc".to_owned()),
            cpus: Some(16),
            ..Default::default()
        },
        series: (0..5).map(row).collect(),
        events: vec![prony_store::Event {
            at_s: 2.0,
            until_s: Some(3.0),
            kind: prony_store::EventKind::Checkpoint,
            ..Default::default()
        }],
        missing: vec![MissingObservation::new(
            ObservedTopic::ReplicationLag,
            "permission denied",
        )],
        cost: Some(ObserverCost {
            queries: 24,
            client_cpu_s: Some(0.004),
            ..ObserverCost::default()
        }),
        ..Observed::default()
    });
    run
}

#[test]
fn observations_of_the_server_are_summarised() {
    assert!(
        !flat_text(&sample_run::closed()).contains("The server, in"),
        "a run without observations has no server section"
    );
    let run = observed_run();
    let text = flat_text(&run);
    for expected in [
        "87 % of 16 CPUs busy, its processes 1.50 CPUs; I/O wait unknown",
        "disk unknown busy, unknown read, 40 MB/s written",
        "99.0 % of the pages found, for a database of 1.5 GB; 12 MB of log; 1 checkpoint; at most 4 sessions \
         active",
        "active sessions: CPU 75 %, IO/WalSync",
        "durability class unknown, replication not visible; observing it: 24 queries, 4.00 ms of CPU",
        "not observed: replication lag (permission denied)",
    ] {
        assert!(text.contains(expected), "no `{expected}` in {text}");
    }
    let text = super::text(&run, None);
    assert!(!text.contains('\x1b') && text.lines().all(|line| line.chars().count() <= 80));
    let mut unobserved = run;
    unobserved.observed.as_mut().unwrap().off = Some("--no-observe was given".to_owned());
    flat_text(&unobserved).assert_contains("not observed: --no-observe was given");
}

#[test]
fn what_sql_server_counts_itself_is_summarised_and_never_zero_if_unknown() {
    let mut run = observed_run();
    let text = flat_text(&run);
    for absent in ["wait statistics", "limits of its service"] {
        text.assert_lacks(absent);
    }
    let observed = run.observed.as_mut().unwrap();
    observed.machine.source = None;
    for row in &mut observed.series {
        row.wait_s = Some([("LCK_M".to_owned(), 0.5), ("WRITELOG".to_owned(), 2.0)].into());
        row.limit_use = Some(prony_store::LimitUse {
            cpu_share: Some(0.75),
            ..prony_store::LimitUse::default()
        });
    }
    let text = flat_text(&run);
    for expected in [
        "its machine: unknown, its processes 1.50 CPUs",
        "waiting on average, by the server's wait statistics: WRITELOG 2.00, LCK_M 0.50",
        "in any 15 s at most: CPU 75 %, data I/O unknown, log writes unknown",
    ] {
        assert!(text.contains(expected), "no `{expected}` in {text}");
    }
    for row in &mut run.observed.as_mut().unwrap().series {
        row.wait_s = Some(std::collections::BTreeMap::new());
    }
    flat_text(&run).assert_contains("no session waited, by the server's wait statistics");
}

#[test]
fn unobserved_events_are_not_reported_as_absent() {
    let mut run = observed_run();
    let observed = run.observed.as_mut().unwrap();
    (observed.before, observed.events, observed.missing) = (None, Vec::new(), Vec::new());
    for row in &mut observed.series {
        (row.cache_hits, row.log_bytes, row.active) = (None, None, None);
    }
    let activity = |run: &Run| {
        crate::text::server::describe_server(run, run.observed.as_ref().unwrap())[1].clone()
    };
    assert_eq!(activity(&run), "no checkpoint, vacuum or backup observed");
    let mut vacuumed = run.clone();
    let observed = vacuumed.observed.as_mut().unwrap();
    let state = |vacuums| {
        let tables = vec![prony_store::TableState {
            vacuums: Some(vacuums),
            ..Default::default()
        }];
        Some(prony_store::ServerState {
            tables,
            ..Default::default()
        })
    };
    (observed.before, observed.after) = (state(1), state(8));
    assert_eq!(
        activity(&vacuumed),
        "no checkpoint or backup observed, 7 vacuums or analyzes too short to be observed"
    );
    let activity_without = |run: &mut Run, topic: ObservedTopic| {
        let missing = &mut run.observed.as_mut().unwrap().missing;
        missing.push(prony_store::MissingObservation::new(
            topic,
            "permission denied",
        ));
        activity(run)
    };
    assert_eq!(
        activity_without(&mut run, ObservedTopic::Tables),
        "no checkpoint or backup observed, vacuum not observed"
    );
    assert_eq!(
        activity_without(&mut run, ObservedTopic::Checkpoints),
        "no backup observed, checkpoint and vacuum not observed"
    );
    assert_eq!(
        activity_without(&mut run, ObservedTopic::Vacuums),
        "checkpoint, vacuum and backup not observed"
    );
    run.server.product = Some(prony_store::Product::SQL_SERVER);
    assert_eq!(activity(&run), "checkpoint and backup not observed");
    run.observed.as_mut().unwrap().series[2].lock_waits = Some(3);
    activity(&run).assert_ends_with("; at most 3 sessions waiting for a lock");
}

#[test]
fn a_durability_class_that_no_check_explains_has_its_meaning() {
    let durability = |class, tables_unknown| {
        crate::text::server::durability_text(&prony_store::Durability {
            class,
            tables_unknown,
            because: Vec::new(),
        })
    };
    use prony_store::DurabilityClass::{D2, D3, D4};
    assert_eq!(durability(D2, false), "D2");
    assert_eq!(durability(D3, false), "D3 (a crash loses no commit)");
    assert_eq!(
        durability(D4, false),
        "D4 (the loss of the machine loses no commit)"
    );
    assert_eq!(durability(D3, true), "D3, unlogged tables not known");
}
