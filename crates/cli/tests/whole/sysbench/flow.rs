//! Successful sysbench commands.

use super::{DRIVERS, Sysbench, TESTS_ON_OLTP_TABLES, count_tables, figure, query_counts};
use crate::common::*;

/// Replaces each number by `N` and repeated spaces by one.
fn mask_numbers(text: &str) -> String {
    let mut masked_text = String::new();
    let mut previous = ' ';
    for letter in text.chars() {
        let letter = if letter.is_ascii_digit() { 'N' } else { letter };
        let in_number = (letter == 'N' || letter == '.') && previous == 'N';
        let repeated_space = letter == ' ' && previous == ' ';
        if in_number || repeated_space {
            continue;
        }
        masked_text.push(letter);
        previous = letter;
    }
    masked_text
}

const PREPARE_OUTPUT: &str = "\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Initializing worker threads...

Creating table 'sbtest1'...
Inserting 1000 records into 'sbtest1'
Creating a secondary index on 'sbtest1'...
Creating table 'sbtest2'...
Inserting 1000 records into 'sbtest2'
Creating a secondary index on 'sbtest2'...
";

const MASKED_RUN_OUTPUT: &str = "\
sysbench N (using system LuaJIT N-betaN)

Running the test with following options:
Number of threads: N
Initializing random number generator from seed (N).


Initializing worker threads...

Threads started!

SQL statistics:
 queries performed:
 read: N
 write: N
 other: N
 total: N
 transactions: N (N per sec.)
 queries: N (N per sec.)
 ignored errors: N (N per sec.)
 reconnects: N (N per sec.)

General statistics:
 total time: Ns
 total number of events: N

Latency (ms):
 min: N
 avg: N
 max: N
 Nth percentile: N
 sum: N

Threads fairness:
 events (avg/stddev): N/N
 execution time (avg/stddev): N/N

";

#[test]
fn every_bundled_test_executes_exactly_its_events() {
    for driver in DRIVERS {
        let bench = Sysbench::new(driver, "sb_flow");
        let size_options = "--tables=2 --table-size=1000";
        let prepared = bench.sysbench(&format!(
            "{size_options} --threads=2 oltp_read_write prepare"
        ));
        assert_eq!(prepared.ok_stdout(), PREPARE_OUTPUT);
        assert_eq!(count_tables(&bench), 2);
        let mut control = bench.control();
        for table in ["sbtest1", "sbtest2"] {
            let count = format!("select count(*) from {table}");
            assert_eq!(query_number(&mut control, &count), 1000);
        }
        for test in TESTS_ON_OLTP_TABLES {
            let arguments =
                format!("{size_options} --threads=3 --events=50 --time=0 --rand-seed=7 {test} run");
            let out = bench.ok(&arguments);
            assert_eq!(mask_numbers(&out), MASKED_RUN_OUTPUT, "{driver:?} {test}");
            assert_eq!(figure(&out, "total number of events:"), 50.0, "{test}");
            assert_eq!(figure(&out, "transactions:"), 50.0, "{test}");
            let (reads, writes, others) = query_counts(&out);
            let errors = figure(&out, "ignored errors:");
            let all = reads + writes + others;
            match test {
                // If another user has deleted a row and not inserted it again, sysbench counts the write that
                // does not find it under other.
                "oltp_read_write" | "oltp_write_only" if errors == 0.0 => {
                    let expected = if test == "oltp_read_write" { 700.0 } else { 0.0 };
                    assert_eq!((reads, writes + others), (expected, 300.0), "{test}");
                }
                "oltp_read_write" | "oltp_write_only" => assert!(all > 300.0, "{out}"),
                "oltp_read_only" => assert_eq!((reads, writes, others), (700.0, 0.0, 100.0)),
                "oltp_delete" => assert_eq!((reads, writes + others), (0.0, 50.0)),
                "oltp_insert" | "oltp_update_index" | "oltp_update_non_index" => {
                    assert_eq!((reads, all - errors), (0.0, 50.0), "{test}");
                }
                _ => assert_eq!((reads, all), (50.0, 50.0), "{test}"),
            }
        }
        let dropped = bench.ok("--tables=2 oltp_read_write cleanup");
        let expected = "Dropping table 'sbtest1'...\nDropping table 'sbtest2'...\n";
        dropped.assert_ends_with(expected);
        assert_eq!(count_tables(&bench), 0);
    }
}

#[test]
fn a_run_is_stored_with_its_queries() {
    let bench = Sysbench::maria("sb_stored");
    bench.ok("--table-size=500 oltp_read_only prepare");
    let arguments =
        "--table-size=500 --threads=2 --events=40 --time=0 --skip-trx oltp_read_only run";
    let out = bench.ok(arguments);
    assert_eq!(query_counts(&out), (560.0, 0.0, 0.0));
    let run = bench.last_run();
    assert_eq!(run.workload.name, "oltp_read_only");
    assert_eq!(total_figures(&run.measured).committed, 40);
    let queries = run.measured.queries.expect("query counts");
    assert_eq!((queries.reads, queries.writes), (560, 0));
    let series_reads: u64 = run
        .series
        .iter()
        .filter_map(|second| second.queries)
        .map(|queries| queries.reads)
        .sum();
    assert_eq!(series_reads, 560);
    assert_eq!(run.request["arguments"][4], "--mysql-password=***");
    assert_eq!(run.request["arguments"][11], "oltp_read_only");
    let stdout = ok_stdout(&bench.prony("show last --full"));
    stdout.assert_contains("oltp_read_only");
}

#[test]
fn progress_lines_and_checkpoints_are_printed_in_order() {
    let bench = Sysbench::postgres("sb_lines");
    bench.ok("--table-size=500 oltp_point_select prepare");
    let arguments = "--table-size=500 --threads=2 --time=3 --rate=200 --report-interval=1 \
                 --report-checkpoints=2 --percentile=99 --histogram oltp_point_select run";
    let out = bench.ok(arguments);
    let position = |text: &str| {
        out.find(text)
            .unwrap_or_else(|| panic!("no {text} in {out}"))
    };
    assert!(
        position("Target transaction rate: 200/sec")
            < position("Report checkpoint(s) at 2 seconds")
    );
    assert!(position("Threads started!") < position("[ 1s ] thds: 2 tps: "));
    assert!(position("[ 1s ] queue length: ") < position("[ 2s ] Checkpoint report:"));
    assert!(position("[ 2s ] Checkpoint report:") < position("[ 2s ] thds: 2 tps: "));
    // The checkpoint report has reset the latencies of that second.
    let second = &out[position("[ 2s ] thds: 2")..];
    assert!(
        second
            .lines()
            .next()
            .unwrap()
            .contains("lat (ms,99%): 0.00 "),
        "{out}"
    );
    assert_eq!(out.matches("Latency histogram").count(), 1);
    assert!(position("[ 3s ] thds: 2") < position("Latency histogram"));
    let (before_histogram, last_report) = out.split_at(position("Latency histogram"));
    let checkpoint = before_histogram
        .find("Checkpoint report")
        .expect("a first report");
    let first_report = &before_histogram[checkpoint..];
    let events = |text: &str| figure(text, "total number of events:");
    let progress: f64 = out
        .lines()
        .filter_map(|line| {
            line.split_once(" tps: ")?
                .1
                .split(' ')
                .next()?
                .parse::<f64>()
                .ok()
        })
        .sum();
    // Events that ended after the third second are in the last report only.
    let events_of_reports = events(first_report) + events(last_report);
    assert!(
        (events_of_reports - progress).abs() <= 4.0,
        "{events_of_reports} {progress} {out}"
    );
    assert!(figure(last_report, "total time:") >= 3.0, "{out}");
    // The last report does not repeat events of the first one.
    let run = bench.last_run();
    assert_eq!(
        events_of_reports,
        total_figures(&run.measured).committed as f64,
        "{out}"
    );
    assert!(events(first_report) > 0.0, "{out}");
}

#[test]
fn each_row_of_bulk_insert_is_an_event() {
    for driver in DRIVERS {
        let bench = Sysbench::new(driver, "sb_bulk");
        let prepared = bench.ok("--threads=2 bulk_insert prepare");
        prepared.assert_ends_with("Creating table 'sbtest2'...\n");
        for run in 1..=2 {
            let out = bench.ok("--threads=2 --events=3000 --time=0 bulk_insert run");
            assert_eq!(figure(&out, "transactions:"), 3000.0);
            let (reads, writes, others) = query_counts(&out);
            assert_eq!((reads, others), (0.0, 0.0), "{out}");
            assert!((1.0..=2.0).contains(&writes), "{out}");
            let sql = "select (select count(*) from sbtest1) + (select count(*) from sbtest2)";
            assert_eq!(query_number(&mut bench.control(), sql), 3000 * run);
        }
        // The third table is missing, which its thread notices with its first statement.
        let out = bench.failed("--threads=3 --time=60 bulk_insert run");
        out.assert_contains("Threads started!");
        out.assert_contains("INSERT INTO sbtest3 VALUES");
        out.assert_contains("db_bulk_insert_next() failed");
        bench.ok("--threads=2 bulk_insert cleanup");
        assert_eq!(count_tables(&bench), 0);
    }
}

#[test]
fn one_large_table_is_loaded_by_all_threads_and_prewarmed() {
    let bench = Sysbench::maria("sb_large");
    bench.ok("--table-size=30000 --threads=3 oltp_read_only prepare");
    let sql = "select count(*) + count(distinct id) + min(id) + max(id) from sbtest1";
    assert_eq!(query_number(&mut bench.control(), sql), 90_001);
    let prewarmed = bench.ok("--threads=2 oltp_read_only prewarm");
    prewarmed.assert_ends_with("Prewarming table sbtest1\n");
}

#[test]
fn version_1_1_has_its_own_report_and_warm_up() {
    let bench = Sysbench::maria("sb_newer");
    bench.ok("--table-size=500 oltp_read_only prepare");
    let mut command = bench.command(
        "--table-size=500 --threads=2 --warmup-time=1 --time=1 --report-interval=1 oltp_read_only run",
    );
    command.env("PRONY_SYSBENCH_COMPAT", "1.1");
    let out = bench
        .assert_no_password(command.output().expect("it starts"))
        .ok_stdout();
    out.assert_starts_with("sysbench 1.1.0");
    out.assert_contains("Warmup time: 1s");
    out.assert_contains("events/s (eps):");
    let (reads, _, others) = query_counts(&out);
    let events = figure(&out, "total number of events:");
    // An event that spans the end of the warm-up is counted in part.
    assert!((reads / 14.0 - events).abs() <= 3.0, "{out}");
    assert!((others / 2.0 - events).abs() <= 3.0, "{out}");
    let seconds = figure(&out, "time elapsed:");
    assert!((1.0..20.0).contains(&seconds), "{out}");
}

#[test]
fn text_protocol_statements_have_the_same_counts() {
    for driver in DRIVERS {
        let bench = Sysbench::new(driver, "sb_text");
        bench.ok("--table-size=500 oltp_read_write prepare");
        // A single user finds all its rows: 14 reads, 4 writes, 2 others.
        for arguments in ["--db-ps-mode=disable", "--db-ps-mode=auto"] {
            let arguments =
                format!("--table-size=500 {arguments} --events=20 --time=0 oltp_read_write run");
            let out = bench.ok(&arguments);
            assert_eq!(query_counts(&out), (280.0, 80.0, 40.0), "{driver:?}");
        }
    }
}

#[test]
fn verbosity_selects_the_messages() {
    let bench = Sysbench::postgres("sb_words");
    bench.ok("--table-size=100 oltp_read_only prepare");
    let run = |arguments: &str| {
        bench.sysbench(&format!(
            "{arguments} --table-size=100 --threads=2 --events=4 --time=0 oltp_read_only run"
        ))
    };
    assert_eq!(run("--verbosity=2").ok_stdout(), "");
    let info = run("--verbosity=4").ok_stdout();
    let expected =
        "Event limit exceeded, exiting...\n(last message repeated 1 times)\nDone.\n\nSQL";
    info.assert_contains(expected);
    let debug = run("--debug").ok_stdout();
    debug.assert_contains("DEBUG: Worker thread (#1) initialized\nThreads started!");
}

/// Standard output and standard error may be the same file.
#[test]
fn warnings_come_before_the_banner_and_init_before_a_missing_event() {
    let bench = Sysbench::maria("sb_merged");
    let path = bench.home.join("merged");
    let file = std::fs::File::create(&path).expect("a file");
    let mut command = bench.command("--test=oltp_read_write help");
    command
        .stdout(file.try_clone().expect("a handle"))
        .stderr(file);
    assert!(command.status().expect("it starts").success());
    let text = std::fs::read_to_string(&path).expect("text");
    let expected = "WARNING: the --test option is deprecated.";
    text.assert_starts_with(expected);
    text.assert_contains("\nsysbench 1.0.20");
    std::fs::write(
        bench.home.join("init.lua"),
        "function init() print('init') end",
    )
    .expect("a file");
    let text = bench.failed("init.lua run");
    let expected = "init\nFATAL: cannot find the event() function in init.lua\n";
    text.assert_ends_with(expected);
}

/// sysbench 1.1: each thread reconnects after every N events.
#[test]
fn bundled_tests_reconnect() {
    for driver in DRIVERS {
        let bench = Sysbench::new(driver, "sb_reconnect");
        let run = |arguments: &str| {
            let mut command = bench.command(&format!("--table-size=100 {arguments}"));
            command.env("PRONY_SYSBENCH_COMPAT", "1.1");
            let output = command.output().expect("it starts");
            bench.assert_no_password(output).ok_stdout()
        };
        run("oltp_read_write prepare");
        for test in ["oltp_read_write", "oltp_insert", "select_random_points"] {
            let out = run(&format!("--events=10 --time=0 --reconnect=3 {test} run"));
            assert_eq!(figure(&out, "reconnects:"), 3.0, "{test}: {out}");
            assert_eq!(figure(&out, "transactions:"), 10.0, "{test}: {out}");
        }
        let out = run("--events=10 --time=0 --reconnect=0 oltp_point_select run");
        assert_eq!(figure(&out, "reconnects:"), 0.0, "{out}");
    }
}
