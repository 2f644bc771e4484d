//! The published figures, and outputs that cannot be right.

use super::*;
use prony_store::{QueryCounts, Relation, RelationKind};

fn ids(audit: &Audit) -> Vec<&str> {
    audit.checks.iter().map(|check| check.id.as_str()).collect()
}

fn of(reported: Reported) -> Audit {
    let run = reported
        .clone()
        .into_run("-", "2026-11-20T23:33:42+00:00".to_owned());
    audit(&reported, &run)
}

fn pgbench(clients: u32, tps: f64, mean_ms: f64) -> Reported {
    Reported {
        tool: "pgbench",
        clients: Some(clients),
        tps: Some(tps),
        mean_ms: Some(mean_ms),
        mean_slack_ms: 0.0005,
        transactions: Some((tps * 3900.0) as u64),
        asked_s: Some(3900.0),
        ran_s: Some(3900.0),
        ..Reported::default()
    }
}

/// Clients, transactions a second, mean latency in ms: AlloyDB for PostgreSQL, OLTP benchmarking guide,
/// May 2023, and its newer web page.
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
        let audit = of(pgbench(clients, tps, mean_ms));
        assert_eq!(ids(&audit), [""; 0], "{tps}");
        assert!(
            audit.looked_at[0].starts_with("Little's law: "),
            "{:?}",
            audit.looked_at
        );
    }
}

#[test]
fn a_wrong_number_of_clients_breaks_the_law() {
    // The web page's table has 256 clients for the run whose output has 384.
    let audit = of(pgbench(256, 17_460.0, 21.992));
    assert_eq!(ids(&audit), ["littles-law"]);
    assert_eq!(audit.checks[0].severity, Severity::Invalid);
    assert!(
        audit.checks[0].finding.contains("383.98 of 256 clients"),
        "{:?}",
        audit.checks
    );
    let audit = of(pgbench(384, 17_460.0, 10.996));
    assert!(
        audit.checks[0].finding.contains("50 % too few"),
        "{:?}",
        audit.checks
    );
}

#[test]
fn a_little_time_left_out_is_a_caveat_and_a_little_too_much_is_not() {
    let of = |factor: f64| of(pgbench(256, 20_359.0, 12.573 * factor));
    let severity = |audit: &Audit| audit.checks.first().map(|check| check.severity);
    assert_eq!(severity(&of(0.985)), None);
    assert_eq!(severity(&of(0.95)), Some(Severity::Caveat));
    assert_eq!(severity(&of(0.85)), Some(Severity::Invalid));
    assert_eq!(severity(&of(1.05)), Some(Severity::Invalid));
}

#[test]
fn a_mean_that_was_reckoned_proves_nothing() {
    let spoil: [fn(&mut Reported); 4] = [
        |run| run.mean_derived = true,
        |run| run.scheduled = true,
        |run| run.connecting_counts = true,
        |run| run.failed = 10_000_000,
    ];
    for spoil in spoil {
        let mut run = pgbench(256, 17_460.0, 21.992);
        spoil(&mut run);
        let audit = of(run);
        assert!(!ids(&audit).contains(&"littles-law"), "{audit:?}");
        assert!(audit.looked_at[0].contains("not checked"), "{audit:?}");
    }
}

/// Threads, and reads and writes in 60 s of oltp_read_write on MySQL 8.0, 5.7 and 5.6: ApsaraDB for RDS
/// Performance White Paper, 2022; cached and on disk, from 1 core to 16.
type Row = (u32, [(u64, u64); 3]);
const ROWS: [Row; 10] = [
    (
        8,
        [(432_922, 123_692), (539_252, 154_072), (450_394, 128_684)],
    ),
    (
        8,
        [
            (599_606, 171_316),
            (1_145_200, 327_200),
            (1_045_100, 298_598),
        ],
    ),
    (
        16,
        [
            (1_567_132, 447_752),
            (2_224_362, 635_532),
            (1_063_846, 303_956),
        ],
    ),
    (
        32,
        [
            (2_923_130, 835_180),
            (3_747_898, 1_070_828),
            (2_177_504, 622_144),
        ],
    ),
    (
        64,
        [
            (5_661_264, 1_617_504),
            (6_779_248, 1_936_928),
            (4_686_654, 1_339_044),
        ],
    ),
    (
        8,
        [(374_584, 107_024), (412_356, 117_816), (406_238, 116_068)],
    ),
    (
        8,
        [
            (439_418, 125_548),
            (1_074_525, 307_036),
            (1_013_614, 289_604),
        ],
    ),
    (
        16,
        [
            (851_326, 243_236),
            (1_645_154, 470_044),
            (1_040_154, 295_768),
        ],
    ),
    (
        32,
        [
            (2_384_256, 681_216),
            (3_283_966, 938_276),
            (2_119_922, 605_692),
        ],
    ),
    (
        64,
        [
            (4_584_090, 1_309_740),
            (6_233_850, 1_781_100),
            (4_434_220, 1_266_920),
        ],
    ),
];

fn sysbench(threads: u32, reads: u64, writes: u64) -> Reported {
    Reported {
        tool: "sysbench",
        workload: Some("oltp_read_write"),
        clients: Some(threads),
        mix: Some([14, 4]),
        queries: Some(QueryCounts {
            reads,
            writes,
            ..QueryCounts::default()
        }),
        ..Reported::default()
    }
}

#[test]
fn exactly_two_published_rows_are_caught() {
    let mut caught = Vec::new();
    for (place, (threads, versions)) in ROWS.into_iter().enumerate() {
        for ((reads, writes), version) in versions.into_iter().zip(["8.0", "5.7", "5.6"]) {
            let audit = of(sysbench(threads, reads, writes));
            if ids(&audit).contains(&"mix") {
                caught.push((place, version));
            }
        }
    }
    // On disk: 2 cores and 4 GB on 5.7, 4 cores and 16 GB on 5.6.
    assert_eq!(caught, [(6, "5.7"), (7, "5.6")]);
    let audit = of(sysbench(8, 1_074_525, 307_036));
    let finding = &audit.checks[0].finding;
    assert!(
        finding.contains("writes of 7.21 transactions too many"),
        "{finding}"
    );
    let audit = of(sysbench(16, 1_040_154, 295_768));
    let finding = &audit.checks[0].finding;
    assert!(
        finding.contains("reads of 354.71 transactions too many"),
        "{finding}"
    );
}

#[test]
fn errors_and_cut_off_transactions_explain_reads_and_never_writes() {
    // sysbench 1.0.20 on PostgreSQL: 4,694 transactions, 16 begun again after an error.
    let mut run = sysbench(2, 65_940, 18_780);
    (run.transactions, run.ignored_errors) = (Some(4_694), 16);
    assert!(!ids(&of(run.clone())).contains(&"mix"));
    run.ignored_errors = 0;
    assert!(
        ids(&of(run.clone())).contains(&"mix"),
        "two under way, and a little, are not sixteen"
    );
    run.transactions = Some(4_600);
    assert!(ids(&of(run.clone())).contains(&"mix"));
    run.transactions = Some(4_711);
    assert!(ids(&of(run)).contains(&"mix"), "each made 14 reads");
    let mut none = sysbench(2, 1, 1);
    none.mix = None;
    let audit = of(none);
    assert!(audit.looked_at[0].contains("not checked"), "{audit:?}");
}

#[test]
fn every_published_share_of_new_orders_is_in_order() {
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
        let run = Reported {
            tool: "HammerDB",
            nopm: Some(nopm),
            tpm: Some(tpm),
            tps: Some(tpm / 60.0),
            scale: Some(576),
            ..Reported::default()
        };
        let audit = of(run.clone());
        assert!(!ids(&audit).contains(&"nopm-share"), "{audit:?}");
        assert_eq!(ids(&audit).contains(&"unpaced"), nopm / 576.0 > 12.86);
        let other = Reported {
            nopm: Some(nopm * 0.9),
            ..run
        };
        assert!(ids(&of(other)).contains(&"nopm-share"));
    }
}

#[test]
fn other_commits_explain_a_share_of_new_orders_that_is_too_small_and_none_that_is_too_large() {
    let share = |nopm, tpm| {
        let run = Reported {
            tool: "HammerDB",
            nopm: Some(nopm),
            tpm: Some(tpm),
            ..Reported::default()
        };
        let mut checks = of(run).checks.into_iter();
        checks.find(|check| check.id == "nopm-share")
    };
    let large = share(42_337.0, 49_444.0).unwrap();
    assert_eq!(large.severity, Severity::Invalid);
    assert!(large.finding.contains("85.63 % of TPM"), "{large:?}");
    assert!(!large.advice.contains("committed"), "{large:?}");
    let small = share(42_337.0, 149_444.0).unwrap();
    assert_eq!(small.severity, Severity::Caveat);
    assert!(small.advice.contains("else committed"), "{small:?}");
    // What the server's statistics lag by in a short run.
    assert_eq!(
        share(46_500.0, 100_000.0).unwrap().severity,
        Severity::Caveat
    );
    assert_eq!(share(44_500.0, 100_000.0), None);
}

fn with(kind: RelationKind, says: f64, follows: f64, slack: f64) -> Option<(String, Severity)> {
    let run = Reported {
        relations: vec![Relation {
            kind,
            what: "this".into(),
            from: "that".into(),
            says,
            follows,
            slack,
        }],
        ..Reported::default()
    };
    let first = of(run).checks.into_iter().next()?;
    Some((first.id, first.severity))
}

#[test]
fn figures_that_do_not_agree() {
    use RelationKind::{AskedTime, AtMost, Share, Sum, Time};
    let caveat = |id: &str| Some((id.to_owned(), Severity::Caveat));
    let invalid = |id: &str| Some((id.to_owned(), Severity::Invalid));
    assert_eq!(with(Sum, 94_165.0, 94_165.0, 0.0), None);
    assert_eq!(with(Sum, 94_165.0, 94_164.0, 0.0), caveat("sums"));
    assert_eq!(with(Sum, 94_165.0, 90_000.0, 0.0), invalid("sums"));
    assert_eq!(with(Share, 0.118, 0.1184, 0.0005), None);
    assert_eq!(with(Share, 0.118, 0.1186, 0.0005), caveat("shares-printed"));
    assert_eq!(
        with(Time, 0.0783, 0.0791, 0.0),
        None,
        "threads start and end"
    );
    assert_eq!(with(Time, 60.0, 60.2, 0.0), None);
    assert_eq!(with(Time, 60.0, 60.5, 0.0), caveat("rates"));
    assert_eq!(with(Time, 60.0, 64.0, 0.0), invalid("rates"));
    assert_eq!(with(AskedTime, 3900.0, 3901.0, 0.5), None);
    assert_eq!(with(AskedTime, 3900.0, 2000.0, 0.5), caveat("rates"));
    assert_eq!(with(AtMost, 1.0, 1.1, 0.0), None);
    assert_eq!(with(AtMost, 1.2, 1.1, 0.0), invalid("order"));
    assert_eq!(with(Share, 5.0, 0.0, 0.0), invalid("shares-printed"));
}

#[test]
fn what_is_missing_and_what_went_wrong() {
    let cut = Reported {
        lacks: vec!["tps"],
        ..Reported::default()
    };
    let audit = of(cut.clone());
    assert_eq!(
        (ids(&audit)[0], audit.checks[0].severity),
        ("truncated", Severity::Invalid)
    );
    let audit = of(Reported {
        tps: Some(1.0),
        ..cut
    });
    assert_eq!(audit.checks[0].severity, Severity::Caveat);
    let audit = of(Reported {
        troubles: vec!["Payment Procedure Error".into()],
        ..Reported::default()
    });
    assert_eq!(ids(&audit), ["trouble"]);
}
