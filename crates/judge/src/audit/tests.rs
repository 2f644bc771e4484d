//! Published figures, and outputs that cannot be right.

use super::*;
use prony_assertions::TextAssertions;
use prony_store::{QueryCounts, Relation, RelationKind};

fn ids(audit: &Audit) -> Vec<&str> {
    audit.checks.iter().map(|check| check.id.as_str()).collect()
}

fn audit_of(reported: ReportedRun) -> Audit {
    let run = reported.to_run();
    audit(&reported, &run)
}

fn pgbench(clients: u32, tps: f64, mean_ms: f64) -> ReportedRun {
    ReportedRun {
        tool: "pgbench",
        clients: Some(clients),
        tps: Some(tps),
        mean_ms: Some(mean_ms),
        mean_tolerance_ms: 0.0005,
        transactions: Some((tps * 3900.0) as u64),
        requested_s: Some(3900.0),
        actual_s: Some(3900.0),
        ..ReportedRun::default()
    }
}

/// Clients, transactions per second, mean latency in ms: AlloyDB for PostgreSQL, OLTP benchmarking guide, May
/// 2023, and its newer web page.
const PUBLISHED: [(u32, f64, f64); 6] = [
    (256, 20_359.0, 12.573),
    (256, 14_060.0, 18.210),
    (256, 51_742.0, 4.947),
    (256, 467_583.0, 0.547),
    (384, 21_750.0, 17.654),
    (384, 17_460.0, 21.992),
];

#[test]
fn littles_law_holds_for_every_published_pair() {
    for (clients, tps, mean_ms) in PUBLISHED {
        let gap = tps * mean_ms / 1e3 / f64::from(clients) - 1.0;
        assert!(gap.abs() < 0.001, "{tps}: {gap}");
        let audit = audit_of(pgbench(clients, tps, mean_ms));
        assert_eq!(ids(&audit), [""; 0], "{tps}");
        audit.examined[0].assert_starts_with("Little's law: ");
    }
}

#[test]
fn a_wrong_number_of_clients_violates_littles_law() {
    // The web page's table has 256 clients for the run whose output has 384.
    let audit = audit_of(pgbench(256, 17_460.0, 21.992));
    assert_eq!(ids(&audit), ["littles-law"]);
    assert_eq!(audit.checks[0].severity, Severity::Invalid);
    let finding = &audit.checks[0].finding;
    finding.assert_contains("383.98 of 256 clients");
    let audit = audit_of(pgbench(384, 17_460.0, 10.996));
    audit.checks[0].finding.assert_contains("50 % too few");
}

#[test]
fn missing_time_is_a_caveat_and_excess_time_is_invalid() {
    let audit_of = |factor: f64| audit_of(pgbench(256, 20_359.0, 12.573 * factor));
    let severity = |audit: &Audit| audit.checks.first().map(|check| check.severity);
    assert_eq!(severity(&audit_of(0.985)), None);
    assert_eq!(severity(&audit_of(0.95)), Some(Severity::Caveat));
    assert_eq!(severity(&audit_of(0.85)), Some(Severity::Invalid));
    assert_eq!(severity(&audit_of(1.05)), Some(Severity::Invalid));
}

/// 64 clients and 120,000 transactions in 60 s take 32 ms each; any other printed mean is wrong.
#[test]
fn a_derived_mean_must_follow_from_clients_time_and_transactions() {
    let printed = |mean_ms: f64| ReportedRun {
        mean_derived: true,
        transactions: Some(120_000),
        requested_s: Some(60.0),
        actual_s: Some(60.0),
        ..pgbench(64, 2_000.0, mean_ms)
    };
    let healthy = audit_of(printed(32.0));
    assert_eq!(ids(&healthy), [""; 0], "{healthy:?}");
    healthy.examined[0].assert_contains("derived");
    // If the line with tps is missing, the throughput is computed from count and time.
    let without_tps = |mean_ms: f64| ReportedRun {
        tps: None,
        ..printed(mean_ms)
    };
    assert_eq!(ids(&audit_of(without_tps(32.01))), [""; 0]);
    for mean_ms in [1.2, 12.0, 31.9, 32.1, 64.0] {
        let audit = audit_of(printed(mean_ms));
        assert_eq!(ids(&audit), ["littles-law"], "{mean_ms}");
        assert_eq!(audit.checks[0].severity, Severity::Invalid);
        audit.checks[0].finding.assert_contains("32.000 ms");
        assert!(ids(&audit_of(without_tps(2.0 * mean_ms))).contains(&"littles-law"));
    }
    // The derived mean includes failed transactions and the time for connecting.
    let failed = ReportedRun {
        failed: 40_000,
        ..printed(24.0)
    };
    assert!(!ids(&audit_of(failed)).contains(&"littles-law"));
    let connecting = ReportedRun {
        connecting_in_throughput: true,
        ..printed(1.2)
    };
    assert!(ids(&audit_of(connecting)).contains(&"littles-law"));
    // pgbench 9.5 used the requested 60 s, but ran for 60.2 s.
    let pgbench_9_5 = ReportedRun {
        actual_s: Some(60.2),
        ..pgbench(64, 120_000.0 / 60.2, 32.0)
    };
    let pgbench_9_5 = ReportedRun {
        mean_derived: true,
        requested_s: Some(60.0),
        ..pgbench_9_5
    };
    assert!(!ids(&audit_of(pgbench_9_5)).contains(&"littles-law"));
}

/// A measured mean is then checked against the computed throughput.
#[test]
fn a_throughput_that_is_not_printed_is_computed_from_count_and_time() {
    let printed = |mean_ms: f64| ReportedRun {
        tps: None,
        actual_s: None,
        ..pgbench(256, 20_359.0, mean_ms)
    };
    assert!(!ids(&audit_of(printed(12.573))).contains(&"littles-law"));
    assert!(ids(&audit_of(printed(1.2573))).contains(&"littles-law"));
}

#[test]
fn littles_law_is_not_checked_with_a_schedule_connecting_or_failures() {
    let change: [fn(&mut ReportedRun); 3] = [
        |run| run.scheduled = true,
        |run| run.connecting_in_throughput = true,
        |run| run.failed = 10_000_000,
    ];
    for change in change {
        let mut run = pgbench(256, 17_460.0, 21.992);
        change(&mut run);
        let audit = audit_of(run);
        assert!(!ids(&audit).contains(&"littles-law"), "{audit:?}");
        audit.examined[0].assert_contains("not checked");
    }
}

/// Threads, and reads and writes in 60 s of oltp_read_write on MySQL 8.0, 5.7 and 5.6: ApsaraDB for RDS
/// Performance White Paper, 2022; cached and on disk, from 1 core to 16.
const PUBLISHED_MIXES: &str = "\
     8  432922  123692   539252  154072   450394  128684
     8  599606  171316  1145200  327200  1045100  298598
    16 1567132  447752  2224362  635532  1063846  303956
    32 2923130  835180  3747898 1070828  2177504  622144
    64 5661264 1617504  6779248 1936928  4686654 1339044
     8  374584  107024   412356  117816   406238  116068
     8  439418  125548  1074525  307036  1013614  289604
    16  851326  243236  1645154  470044  1040154  295768
    32 2384256  681216  3283966  938276  2119922  605692
    64 4584090 1309740  6233850 1781100  4434220 1266920";

fn sysbench(threads: u32, reads: u64, writes: u64) -> ReportedRun {
    ReportedRun {
        tool: "sysbench",
        workload: Some("oltp_read_write"),
        clients: Some(threads),
        reads_and_writes_per_txn: Some([14, 4]),
        queries: Some(QueryCounts {
            reads,
            writes,
            ..QueryCounts::default()
        }),
        ..ReportedRun::default()
    }
}

#[test]
fn two_of_the_published_mixes_are_inconsistent() {
    let mut caught = Vec::new();
    for (row, line) in PUBLISHED_MIXES.lines().enumerate() {
        let line = line.split_whitespace();
        let numbers = line.map(|number| number.parse().unwrap());
        let numbers: Vec<u64> = numbers.collect();
        for (counts, version) in numbers[1..].chunks(2).zip(["8.0", "5.7", "5.6"]) {
            let audit = audit_of(sysbench(numbers[0] as u32, counts[0], counts[1]));
            if ids(&audit).contains(&"mix") {
                caught.push((row, version));
            }
        }
    }
    // On disk: 2 cores and 4 GB on 5.7, 4 cores and 16 GB on 5.6.
    assert_eq!(caught, [(6, "5.7"), (7, "5.6")]);
    let audit = audit_of(sysbench(8, 1_074_525, 307_036));
    let finding = &audit.checks[0].finding;
    finding.assert_contains("the writes imply 7.21 more transactions");
    let audit = audit_of(sysbench(16, 1_040_154, 295_768));
    let finding = &audit.checks[0].finding;
    finding.assert_contains("the reads imply 354.71 more transactions");
}

#[test]
fn errors_and_unfinished_transactions_explain_excess_reads_but_not_writes() {
    // sysbench 1.0.20 on PostgreSQL: 4,694 transactions, 16 restarted after an error.
    let mut run = sysbench(2, 65_940, 18_780);
    (run.transactions, run.ignored_errors) = (Some(4_694), 16);
    assert!(!ids(&audit_of(run.clone())).contains(&"mix"));
    run.ignored_errors = 0;
    assert!(
        ids(&audit_of(run.clone())).contains(&"mix"),
        "two transactions in progress do not explain sixteen missing ones"
    );
    run.transactions = Some(4_600);
    assert!(ids(&audit_of(run.clone())).contains(&"mix"));
    run.transactions = Some(4_711);
    assert!(ids(&audit_of(run)).contains(&"mix"), "each made 14 reads");
    let mut without_mix = sysbench(2, 1, 1);
    without_mix.reads_and_writes_per_txn = None;
    let audit = audit_of(without_mix);
    audit.examined[0].assert_contains("not checked");
}

#[test]
fn published_nopm_shares_pass() {
    for (nopm, tpm, tps) in [
        (428_316.0, 974_264.0, 16_238.0),
        (252_970.0, 582_385.0, 9_706.0),
        (716_138.0, 1_665_438.0, 27_757.0),
        (589_598.0, 1_371_160.0, 22_853.0),
        (12_103.0, 27_747.0, 462.0),
        (30_895.0, 71_213.0, 1_187.0),
    ] {
        let tpm: f64 = tpm;
        assert_eq!((tpm / 60.0).round(), tps, "the published TPS");
        let run = ReportedRun {
            tool: "HammerDB",
            nopm: Some(nopm),
            tpm: Some(tpm),
            tps: Some(tpm / 60.0),
            scale: Some(576),
            ..ReportedRun::default()
        };
        let audit = audit_of(run.clone());
        assert!(!ids(&audit).contains(&"nopm-share"), "{audit:?}");
        assert_eq!(ids(&audit).contains(&"unpaced"), nopm / 576.0 > 12.86);
        let lower = ReportedRun {
            nopm: Some(nopm * 0.9),
            ..run
        };
        assert!(ids(&audit_of(lower)).contains(&"nopm-share"));
    }
}

#[test]
fn a_low_nopm_share_is_a_caveat_and_a_high_one_is_invalid() {
    let share = |nopm, tpm| {
        let run = ReportedRun {
            tool: "HammerDB",
            nopm: Some(nopm),
            tpm: Some(tpm),
            ..ReportedRun::default()
        };
        let mut checks = audit_of(run).checks.into_iter();
        checks.find(|check| check.id == "nopm-share")
    };
    let large = share(42_337.0, 49_444.0).unwrap();
    assert_eq!(large.severity, Severity::Invalid);
    large.finding.assert_contains("85.63 % of TPM");
    large.advice.assert_lacks("committed");
    let small = share(42_337.0, 149_444.0).unwrap();
    assert_eq!(small.severity, Severity::Caveat);
    small.advice.assert_contains("else committed");
    // The lag of the server's statistics in a short run.
    assert_eq!(
        share(46_500.0, 100_000.0).unwrap().severity,
        Severity::Caveat
    );
    assert_eq!(share(44_500.0, 100_000.0), None);
}

fn relation_check(
    kind: RelationKind,
    printed: f64,
    computed: f64,
    tolerance: f64,
) -> Option<(String, Severity)> {
    let run = ReportedRun {
        relations: vec![Relation {
            kind,
            figure: "this".into(),
            computed_from: "that".into(),
            printed,
            computed,
            tolerance,
        }],
        ..ReportedRun::default()
    };
    let first = audit_of(run).checks.into_iter().next()?;
    Some((first.id, first.severity))
}

#[test]
fn disagreeing_figures_are_reported() {
    use RelationKind::{AtMost, RequestedTime, Share, Sum, Time};
    let caveat = |id: &str| Some((id.to_owned(), Severity::Caveat));
    let invalid = |id: &str| Some((id.to_owned(), Severity::Invalid));
    assert_eq!(relation_check(Sum, 94_165.0, 94_165.0, 0.0), None);
    assert_eq!(relation_check(Sum, 94_165.0, 94_164.0, 0.0), caveat("sums"));
    assert_eq!(
        relation_check(Sum, 94_165.0, 90_000.0, 0.0),
        invalid("sums")
    );
    assert_eq!(relation_check(Share, 0.118, 0.1184, 0.0005), None);
    assert_eq!(
        relation_check(Share, 0.118, 0.1186, 0.0005),
        caveat("shares-printed")
    );
    assert_eq!(
        relation_check(Time, 0.0783, 0.0791, 0.0),
        None,
        "threads start and end one after another"
    );
    assert_eq!(relation_check(Time, 60.0, 60.2, 0.0), None);
    assert_eq!(relation_check(Time, 60.0, 60.5, 0.0), caveat("rates"));
    assert_eq!(relation_check(Time, 60.0, 64.0, 0.0), invalid("rates"));
    assert_eq!(relation_check(RequestedTime, 3900.0, 3901.0, 0.5), None);
    assert_eq!(
        relation_check(RequestedTime, 3900.0, 2000.0, 0.5),
        caveat("rates")
    );
    assert_eq!(relation_check(AtMost, 1.0, 1.1, 0.0), None);
    assert_eq!(relation_check(AtMost, 1.2, 1.1, 0.0), invalid("order"));
    assert_eq!(
        relation_check(Share, 5.0, 0.0, 0.0),
        invalid("shares-printed")
    );
}

#[test]
fn truncated_output_and_reported_problems_are_findings() {
    let truncated = ReportedRun {
        missing_parts: vec!["tps"],
        ..ReportedRun::default()
    };
    let audit = audit_of(truncated.clone());
    assert_eq!(
        (ids(&audit)[0], audit.checks[0].severity),
        ("truncated", Severity::Invalid)
    );
    let audit = audit_of(ReportedRun {
        tps: Some(1.0),
        ..truncated
    });
    assert_eq!(audit.checks[0].severity, Severity::Caveat);
    let audit = audit_of(ReportedRun {
        messages: vec!["Payment Procedure Error".into()],
        ..ReportedRun::default()
    });
    assert_eq!(ids(&audit), ["trouble"]);
}
