//! Real outputs of the tools, and corrupted versions of them.

use super::*;
use crate::args::{Command, parse};
use prony_assertions::{TestFolder, TextAssertions};
use prony_judge::audit::Audit;
use prony_store::Run;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

const RECORDED_REPORTS: [&str; 4] = [
    include_str!("../../../../dialect/tests/recorded/reports-13.txt"),
    include_str!("../../../../dialect/tests/recorded/reports-15.txt"),
    include_str!("../../../../dialect/tests/recorded/reports-17.txt"),
    include_str!("../../../../dialect/tests/recorded/reports-18.txt"),
];

fn ids(audit: &Audit) -> Vec<&str> {
    audit.checks.iter().map(|check| check.id.as_str()).collect()
}

fn audit_one(text: &str) -> (Run, Audit) {
    let mut runs = audited_runs(text, None).unwrap();
    assert_eq!(runs.len(), 1, "{text}");
    let AuditedRun { run, audit, .. } = runs.remove(0);
    (run, audit)
}

/// Findings that consistent figures never cause.
const INCONSISTENCIES: &str = "littles-law sums rates shares-printed order mix";

#[test]
fn the_file_may_have_any_name() {
    let folder = TestFolder::create();
    let file = folder.write(OsStr::from_bytes(b"output-\xff.txt"), "tps");
    let line = ["prony".as_ref(), "audit".as_ref(), file.as_os_str()];
    let command = parse(&line.map(OsStr::to_owned)).expect("a file");
    let Command::Audit(args) = command else {
        panic!("{command:?}");
    };
    assert_eq!(read_text(&args.file).expect("it is there"), "tps");
}

#[test]
fn recorded_pgbench_reports_are_consistent() {
    let mut count = 0;
    for recorded in RECORDED_REPORTS {
        let mut text = String::new();
        let mut command = "";
        for line in recorded.lines().chain(["$ end"]) {
            if let Some(next_command) = line.strip_prefix("$ ") {
                if text.contains("tps = ") {
                    let (run, audit) = audit_one(&text);
                    count += 1;
                    let committed = !text.contains("tps = 0.000000");
                    assert_eq!(run.measured.kinds[0].tps > 0.0, committed, "{command}");
                    assert_eq!(run.measured.length_s > 0.0, committed, "{command}");
                    assert_eq!(!ids(&audit).contains(&"nothing-committed"), committed);
                    assert!(run.drive.clients > 0, "{command}");
                    for id in INCONSISTENCIES.split(' ') {
                        assert!(!ids(&audit).contains(&id), "{command}: {audit:?}\n{text}");
                    }
                }
                command = next_command;
                text.clear();
            } else if let Some(line) = line.strip_prefix("| ") {
                text += line;
                text.push('\n');
            }
        }
    }
    assert!(count > 20, "only {count} reports");
}

const PGBENCH: &str = "\
pgbench (15.18 (Debian 15.18-0+deb12u1))
progress: 1.0 s, 2000.0 tps, lat 4.000 ms stddev 1.848, 0 failed
progress: 2.0 s, 2100.0 tps, lat 3.900 ms stddev 1.848, 0 failed
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 10
query mode: prepared
number of clients: 8
number of threads: 2
maximum number of tries: 1
duration: 60 s
number of transactions actually processed: 120000
number of failed transactions: 12 (0.010%)
latency average = 4.000 ms
latency stddev = 1.800 ms
initial connection time = 10.000 ms
tps = 2000.000000 (without initial connection time)
";

#[test]
fn a_report_of_pgbench_becomes_a_run() {
    let (run, audit) = audit_one(PGBENCH);
    assert_eq!(ids(&audit), ["errors"], "{audit:?}");
    let all = &run.measured.kinds[0];
    assert_eq!((all.committed, all.failed, all.tps), (120_000, 12, 2000.0));
    assert_eq!((all.response.mean_ns, run.drive.clients), (4e6, 8));
    assert_eq!(
        (run.workload.name.as_str(), run.workload.scale),
        ("tpcb", 10)
    );
    assert_eq!(run.server.version, "15.18 (Debian 15.18-0+deb12u1)");
    assert_eq!((run.series.len(), run.series[1].committed), (2, 2100));
}

#[test]
fn corrupted_pgbench_reports_are_detected() {
    for (from, to, id) in [
        ("clients: 8", "clients: 16", "littles-law"),
        ("average = 4.000", "average = 2.000", "littles-law"),
        ("processed: 120000", "processed: 90000", "rates"),
        ("(0.010%)", "(0.100%)", "shares-printed"),
        ("tps = 2000.000000", "tps = none", "truncated"),
        ("clients: 8", "clients: 99999999999", "trouble"),
        ("transactions: 12 (", "transactions: 99912 (", "errors"),
        ("scaling factor: 10", "scaling factor: 4", "contention"),
        ("duration: 60 s", "duration: 600 s", "rates"),
    ] {
        let (_, audit) = audit_one(&PGBENCH.replacen(from, to, 1));
        assert!(ids(&audit).contains(&id), "{to}: {audit:?}");
    }
    // Without the standard deviation, pgbench derives the mean, which then includes failed transactions.
    let no_stddev = PGBENCH.replacen("latency stddev = 1.800 ms\n", "", 1);
    let including = "4.000 ms (including failures)";
    let (_, audit) = audit_one(&no_stddev.replacen("4.000 ms\n", &format!("{including}\n"), 1));
    audit.examined[0].assert_contains("derived");
    for mean in ["0.400", "3.990", "40.000"] {
        let (_, audit) =
            audit_one(&no_stddev.replacen("average = 4.000", &format!("average = {mean}"), 1));
        assert!(ids(&audit).contains(&"littles-law"), "{mean}: {audit:?}");
    }
}

#[test]
fn a_mix_of_scripts_is_checked() {
    let scripts = |second: u64, percent: &str| {
        format!(
            "{}SQL script 1: a.sql\n - weight: 3 (targets 75.0% of total)\n \
             - 90000 transactions (75.0% of total, tps = 1500.0)\nSQL script 2: b.sql\n \
             - weight: 1 (targets 25.0% of total)\n - {second} transactions ({percent}% of total, tps = 500.0)\n",
            PGBENCH.replacen("<builtin: TPC-B (sort of)>", "multiple scripts", 1)
        )
    };
    let (run, audit) = audit_one(&scripts(30_000, "25.0"));
    assert_eq!(ids(&audit), ["errors"], "{audit:?}");
    assert_eq!(run.measured.kinds.len(), 3);
    let (_, audit) = audit_one(&scripts(29_000, "25.0"));
    assert!(ids(&audit).contains(&"sums") && ids(&audit).contains(&"shares-printed"));
    let (_, audit) = audit_one(&scripts(30_000, "35.0"));
    assert!(ids(&audit).contains(&"shares-printed"), "{audit:?}");
}

/// The output of sysbench 1.0.20 on PostgreSQL for 3 s.
const SYSBENCH: &str = "\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 2
Report intermediate results every 1 second(s)

Threads started!

[ 1s ] thds: 2 tps: 2941.05 qps: 59034.73 (r/w/o: 41342.49/11773.18/5919.06) lat (ms,95%): 0.58 err/s: 9.99 reconn/s: 0.00
[ 2s ] thds: 2 tps: 876.18 qps: 17571.51 (r/w/o: 12307.46/3500.70/1763.35) lat (ms,95%): 0.68 err/s: 3.00 reconn/s: 0.00
SQL statistics:
    queries performed:
        read:                            65940
        write:                           18780
        other:                           9445
        total:                           94165
    transactions:                        4694   (1444.52 per sec.)
    queries:                             94165  (28978.13 per sec.)
    ignored errors:                      16     (4.92 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          3.2489s
    total number of events:              4694

Latency (ms):
         min:                                    0.45
         avg:                                    1.38
         max:                                 1001.88
         95th percentile:                        0.61
         sum:                                 6490.36

Threads fairness:
    events (avg/stddev):           2347.0000/35.00
    execution time (avg/stddev):   3.2452/0.00
";

#[test]
fn a_report_of_sysbench_becomes_a_run() {
    let (run, audit) = audit_one(SYSBENCH);
    assert_eq!(ids(&audit), ["short-run"], "{audit:?}");
    assert_eq!(
        (run.workload.name.as_str(), run.drive.clients),
        ("oltp_read_write", 2)
    );
    let all = &run.measured.kinds[0];
    assert_eq!((all.committed, all.response.p95_ns), (4694, Some(610_000)));
    let queries = run.measured.queries.unwrap();
    assert_eq!(
        (queries.reads, queries.writes, queries.ignored_errors),
        (65_940, 18_780, 16)
    );
    assert_eq!((run.series.len(), run.series[0].committed), (2, 2941));
}

#[test]
fn corrupted_sysbench_reports_are_detected() {
    for (from, to, id) in [
        // Of several places of a number, the first: the total of the queries, and the end of a line.
        ("94165", "94166", "sums"),
        ("4694\n", "4690\n", "sums"),
        ("(1444.52 per", "(1844.52 per", "rates"),
        ("3.2489s", "4.2489s", "rates"),
        ("1.38", "2.38", "shares-printed"),
        ("1001.88", "0.50", "order"),
        ("threads: 2", "threads: 4", "littles-law"),
        ("65940", "66940", "mix"),
        ("18780", "18910", "mix"),
        ("execution time (avg", "exec (avg", "truncated"),
    ] {
        let corrupted = SYSBENCH.replacen(from, to, 1);
        assert_ne!(corrupted, SYSBENCH, "{from}");
        let (_, audit) = audit_one(&corrupted);
        assert!(ids(&audit).contains(&id), "{to}: {audit:?}");
    }
}

#[test]
fn figures_after_a_checkpoint_cover_the_rest_of_the_run() {
    let text = "\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)
Number of threads: 2
Target transaction rate: 50/sec
[ 2s ] Checkpoint report:
SQL statistics:
    transactions:                        115    (57.48 per sec.)
General statistics:
    total time:                          2.0001s
    total number of events:              115
Threads fairness:
    execution time (avg/stddev):   0.0451/0.00
SQL statistics:
    transactions:                        161    (53.51 per sec.)
General statistics:
    total time:                          5.0088s
    total number of events:              161
Latency (ms):
         avg:                                    0.68
         sum:                                  109.64
Threads fairness:
    execution time (avg/stddev):   0.0548/0.00
";
    let (run, audit) = audit_one(text);
    assert_eq!(ids(&audit), ["short-run"], "{audit:?}");
    assert_eq!(run.measured.kinds[0].committed, 161);
    assert!((run.measured.length_s - 3.0088).abs() < 1e-9);
    audit.examined[0].assert_contains("waited for a schedule");
}

/// The relevant lines of the output of HammerDB 4.6 on PostgreSQL.
const HAMMERDB: &str = "\
HammerDB CLI v4.6\n\r pg_count_ware       = 1\n\r pg_keyandthink      = false\n\r\
Vuser 1:Beginning rampup time of 0 minutes\n\rVuser 1:Timing test period of 1 in minutes\n\r\
Vuser 1:1 Active Virtual Users configured\n\r\
Vuser 1:TEST RESULT : System achieved 12103 NOPM from 27747 PostgreSQL TPM\n\r";

#[test]
fn a_result_of_hammerdb_becomes_a_run() {
    let (run, audit) = audit_one(HAMMERDB);
    assert_eq!(ids(&audit), ["server-count", "unpaced"], "{audit:?}");
    assert_eq!(
        (run.rates[0].value, run.rates[1].value),
        (12_103.0, 27_747.0)
    );
    assert_eq!(
        (run.workload.name.as_str(), run.workload.scale),
        ("tpcc", 1)
    );
    assert_eq!(
        (run.server.product, run.measured.length_s),
        (Some(prony_store::Product::POSTGRESQL), 60.0)
    );
    let (_, audit) = audit_one(&HAMMERDB.replacen("12103", "22103", 1));
    assert!(ids(&audit).contains(&"nopm-share"), "{audit:?}");
    let older_format = "Vuser 1:TEST RESULT : System achieved 27747 PostgreSQL TPM at 12103 NOPM";
    let (run, audit) = audit_one(older_format);
    assert_eq!(run.rates[0].value, 12_103.0);
    assert!(ids(&audit).contains(&"truncated"), "{audit:?}");
    let (_, audit) =
        audit_one("Vuser 1:Timing test period of 1 in minutes\nVuser 2:FINISHED FAILED\n");
    assert_eq!(ids(&audit)[0], "truncated");
    let two_results = format!("{HAMMERDB}{HAMMERDB}");
    assert_eq!(audited_runs(&two_results, None).unwrap().len(), 2);
}

#[test]
fn a_time_profile_that_counts_calls_twice_is_reported() {
    let profile = |calls: u64, total: &str, ratio: &str| {
        format!(
            "PostgreSQL Hammerdb Time Profile Report @ Fri Nov 20 22:12:37 UTC 2026\n\
             >>>>> VIRTUAL USER 2 : ELAPSED TIME : 60068ms\n>>>>> PROC: NEWORD\n\
             CALLS: 12515\tMIN: 0.199ms\tAVG: 2.427ms\tMAX: 835.064ms\tTOTAL: 30375.810ms\n\
             P99: 28.632ms\tP95: 5.572ms\tP50: 0.527ms\tSD: 16252.666\tRATIO: 50.569%\n\
             >>>>> SUMMARY OF 1 ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : 60068ms\n\
             >>>>> PROC: NEWORD\n\
             CALLS: {calls}\tMIN: 0.199ms\tAVG: 2.427ms\tMAX: 835.064ms\tTOTAL: {total}ms\n\
             P99: 28.632ms\tP95: 5.577ms\tP50: 0.527ms\tSD: 16252.341\tRATIO: {ratio}%\n"
        )
    };
    let (run, audit) = audit_one(&profile(25_030, "60751.621", "101.138"));
    assert_eq!(ids(&audit), ["trouble"], "{audit:?}");
    audit.checks[0].finding.assert_contains("each call twice");
    assert_eq!(run.measured.kinds[1].committed, 12_515);
    assert_eq!(run.measured.kinds[1].response.p99_ns, Some(28_632_000));
    let (_, audit) = audit_one(&profile(12_515, "30375.810", "50.569"));
    assert_eq!(ids(&audit), [""; 0], "{audit:?}");
    let log = profile(12_515, "30375.810", "50.569").repeat(2);
    let runs = audited_runs(&log, None).unwrap();
    assert_eq!(runs.len(), 2, "a log holds the profiles of many runs");
    assert!(runs.iter().all(|r| r.audit.checks.is_empty()), "{runs:?}");
    let (run, audit) = audit_one(&(HAMMERDB.to_owned() + &profile(25_030, "60751.621", "101.138")));
    assert_eq!((run.rates.len(), run.measured.kinds.len()), (2, 2));
    assert_eq!(ids(&audit)[0], "trouble");
    let (_, audit) = audit_one(&profile(12_600, "30375.810", "70.569"));
    assert!(ids(&audit).contains(&"sums") && ids(&audit).contains(&"shares-printed"));
}

#[test]
fn truncated_and_corrupted_outputs_never_panic() {
    let two_reports = format!("{PGBENCH}{PGBENCH}");
    for output in [PGBENCH, SYSBENCH, HAMMERDB, &two_reports] {
        for end in (0..output.len()).filter(|end| output.is_char_boundary(*end)) {
            for text in [&output[..end], &output[end..]] {
                check_documents(text);
            }
            let mut bytes = output.as_bytes().to_vec();
            bytes[end] = b"9\x1b-.(:"[end % 6];
            check_documents(&String::from_utf8_lossy(&bytes));
        }
    }
    let long = "9".repeat(400);
    for line in [PGBENCH, SYSBENCH, HAMMERDB].concat().lines() {
        let digits = line.replace(|c: char| c.is_ascii_digit(), &long);
        check_documents(&format!("{PGBENCH}{digits}"));
        check_documents(&format!("{SYSBENCH}{digits}"));
        check_documents(&format!("{HAMMERDB}{digits}"));
    }
}

/// Asserts that the documents of an output can be serialized and parsed, and that its checks contain no NaN.
fn check_documents(text: &str) {
    for AuditedRun { run, audit, .. } in audited_runs(text, None).unwrap_or_default() {
        let json = serde_json::to_string(&run).unwrap();
        let parsed: Run = serde_json::from_str(&json).expect("no figure is NaN");
        assert_eq!(parsed.workload, run.workload);
        for check in audit.checks {
            let text = check.finding + &check.advice;
            text.assert_lacks("NaN").assert_lacks("inf ");
        }
    }
}
