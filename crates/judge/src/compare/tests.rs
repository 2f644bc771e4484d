use super::*;
use crate::sample::{found, healthy, set};
use Severity::{Caveat, Invalid, Note};
use Verdict::{Comparable, NotComparable, WithCaveats};
use prony_store::{IndustryMetric, Product, QueryMode, RunState};

/// The subject of a comparison, and a change that makes it differ.
type Change = (&'static str, fn(&mut Run));

fn tpcc_run() -> Run {
    let mut run = healthy();
    run.workload.name = "tpcc".to_owned();
    run.workload.settings = vec![
        Setting::new("mode", "procedures"),
        Setting::new("profile", "hammerdb"),
    ];
    run.rates = vec![IndustryMetric {
        name: "NOPM".into(),
        value: 60_000.0,
        ..IndustryMetric::default()
    }];
    run
}

fn names(comparison: &Comparison, severity: Severity) -> Vec<&str> {
    let differences = comparison.differences.iter();
    let differences = differences.filter(|difference| difference.severity == severity);
    differences
        .map(|difference| difference.what.as_str())
        .collect()
}

#[test]
fn equal_runs_are_comparable() {
    let (a, mut b) = (tpcc_run(), tpcc_run());
    b.rates[0].value = 66_000.0;
    b.measured.kinds[0].tps = 17_600.0;
    // The seed and the date do not matter.
    b.drive.seed = 99;
    b.started_at = "2026-11-21T23:33:42+00:00".to_owned();
    let comparison = compare(&a, &b, false);
    assert_eq!(
        (comparison.verdict, &comparison.differences[..]),
        (Comparable, &[][..])
    );
    let first = &comparison.figures[0];
    assert_eq!(
        (first.name.as_str(), first.a, first.b),
        ("NOPM", 60_000.0, 66_000.0)
    );
    assert_eq!(comparison.figures[1].name, "TPS");
}

#[test]
fn different_work_is_not_comparable_and_gives_no_figures() {
    let change: [Change; 14] = [
        ("clients", |run| run.drive.clients = 8),
        ("workload", |run| run.workload.name = "tpcb".to_owned()),
        ("scale", |run| run.workload.scale += 1),
        ("statements", |run| {
            run.workload.statements = vec!["select 1".to_owned()]
        }),
        ("protocol", |run| {
            run.drive.protocol = Some(QueryMode::Simple)
        }),
        ("connections", |run| {
            run.drive.connect_per_transaction = true
        }),
        ("pace", |run| run.drive.rate_tps = Some(5000.0)),
        ("engine", |run| run.server.product = Some(Product::MYSQL)),
        ("profile", |run| {
            run.workload.settings[1].value = "hammerdb-4.6".to_owned()
        }),
        ("mode", |run| {
            run.workload.settings[0].value = "statements".to_owned()
        }),
        ("mode", |run| drop(run.workload.settings.remove(0))),
        ("fsync", |run| set(run, "fsync", "off")),
        ("innodb_flush_log_at_trx_commit", |run| {
            set(run, "innodb_flush_log_at_trx_commit", "2")
        }),
        ("sync_binlog", |run| set(run, "sync_binlog", "0")),
    ];
    for (subject, change) in change {
        let (a, mut b) = (tpcc_run(), tpcc_run());
        change(&mut b);
        for (a, b) in [(&a, &b), (&b, &a)] {
            let comparison = compare(a, b, false);
            assert_eq!(comparison.verdict, NotComparable, "{subject}");
            assert_eq!(names(&comparison, Invalid), [subject]);
            assert_eq!(comparison.figures, [], "{subject}");
        }
    }
}

#[test]
fn flushes_of_a_binary_log_matter_only_if_a_server_writes_one() {
    let with_binlog = |log_bin: &str, sync: &str| {
        let mut run = tpcc_run();
        for (name, value) in [("log_bin", log_bin), ("sync_binlog", sync)] {
            set(&mut run, name, value);
        }
        run
    };
    for (a, b, expected) in [("OFF", "OFF", Note), ("ON", "OFF", Invalid)] {
        let comparison = compare(&with_binlog(a, "0"), &with_binlog(b, "1"), false);
        assert!(
            names(&comparison, expected).contains(&"sync_binlog"),
            "{a} {b}: {comparison:?}"
        );
    }
}

#[test]
fn differences_of_the_circumstances_are_caveats_and_listed_before_notes() {
    let (mut a, mut b) = (tpcc_run(), tpcc_run());
    a.build.version = "0.2.1".to_owned();
    b.build.version = "0.2.0".to_owned();
    b.drive.clients = 65;
    b.statements = Some(Vec::new());
    set(&mut b, "shared_buffers", "1GB");
    b.state = RunState::Partial;
    let comparison = compare(&a, &b, false);
    assert_eq!(comparison.verdict, WithCaveats);
    assert_eq!(
        names(&comparison, Caveat),
        [
            "clients",
            "latency of statements",
            "shared_buffers",
            "state"
        ]
    );
    assert_eq!(
        comparison
            .differences
            .last()
            .map(|difference| difference.what.as_str()),
        Some("Prony")
    );
    assert!(!comparison.figures.is_empty());
    let missing = &comparison.differences[2];
    assert_eq!((missing.a.as_str(), missing.b.as_str()), ("not set", "1GB"));
}

#[test]
fn invalid_runs_are_never_comparable() {
    let mut run = tpcc_run();
    run.checks = vec![found("errors", Invalid)];
    let comparison = compare(&run, &run, false);
    assert_eq!(
        names(&comparison, Invalid),
        ["invalid by"],
        "although both runs have the same problem"
    );
    let mut run = tpcc_run();
    run.measured.kinds[0].committed = 0;
    assert_eq!(names(&compare(&run, &run, false), Invalid), ["committed"]);
}

#[test]
fn a_caveat_that_both_runs_have_is_no_difference() {
    let with_caveats = |ids: &[&str]| {
        let caveat = |id: &&str| found(id, Caveat);
        let mut run = tpcc_run();
        run.checks = ids.iter().map(caveat).collect();
        run
    };
    let a = with_caveats(&["checkpoint", "one-host"]);
    let b = with_caveats(&["one-host"]);
    let comparison = compare(&a, &b, false);
    let mut differences = comparison.differences.iter();
    let caveats = differences.find(|difference| difference.what == "findings");
    let caveats = caveats.expect("one has it");
    assert_eq!(
        (caveats.a.as_str(), caveats.b.as_str()),
        ("checkpoint", "none")
    );
    assert_eq!(names(&compare(&b, &b, false), Caveat), [""; 0]);
}

#[test]
fn different_isolation_levels_do_not_compare() {
    let with = |name: &str, level: &str| {
        let mut run = tpcc_run();
        set(&mut run, name, level);
        run
    };
    let committed = with("default_transaction_isolation", "read committed");
    let serializable = with("default_transaction_isolation", "serializable");
    let comparison = compare(&committed, &serializable, false);
    assert_eq!(names(&comparison, Invalid), ["isolation level"]);
    let mysql = with("transaction_isolation", "READ-COMMITTED");
    let maria = with("tx_isolation", "READ-COMMITTED");
    assert_eq!(compare(&mysql, &maria, false).verdict, Comparable);
    let [versions, locks] =
        ["1", "0"].map(|value| with("database.is_read_committed_snapshot_on", value));
    let comparison = compare(&versions, &locks, false);
    assert_eq!(names(&comparison, Invalid), ["isolation level"]);
    assert_eq!(compare(&locks, &locks.clone(), false).verdict, Comparable);
    assert_eq!(compare(&committed, &tpcc_run(), false).verdict, Comparable);
}
