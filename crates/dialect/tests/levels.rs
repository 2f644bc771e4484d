//! The complete report at each level, character by character, from the same figures; `recorded.rs` compares reports with
//! those of the real pgbench.

use prony_assertions::TextAssertions;
use std::path::PathBuf;

use prony_dialect::pgbench::{
    CommandReport, Counts, Level, Limit, Moments, PartitionMethod, RunOptions, RunReport,
    ScriptChoice, ScriptReport, ScriptSource, TableFacts, banner, report_text,
};
use prony_plan::QueryMode;

fn moments(count: u64, mean_us: f64) -> Moments {
    let count_f = count as f64;
    Moments {
        count,
        sum_us: mean_us * count_f,
        // So that the standard deviation is 1 ms.
        sum_of_squares_us2: (mean_us * mean_us + 1e6) * count_f,
        min_us: 0.0,
        max_us: 2.0 * mean_us,
    }
}

fn counts(succeeded: u64) -> Counts {
    Counts {
        succeeded,
        skipped: 20,
        serialization_failures: 10,
        deadlock_failures: 6,
        other_failures: 4,
        retried: 30,
        retries: 40,
        latency: moments(succeeded, 5940.0),
        lag: moments(succeeded, 1809.0),
        percentiles_ms: Vec::new(),
    }
}

fn choice(name: &str, weight: u32) -> ScriptChoice {
    let source = ScriptSource::File(PathBuf::from(name));
    ScriptChoice { source, weight }
}

/// A run of two scripts with all options.
fn full_run() -> RunReport {
    let command = |line: &&str| CommandReport {
        first_line: (*line).to_owned(),
        latency: moments(10, 268.0),
        failures: 1,
        retries: 2,
    };
    let script = |commands: &[&str]| ScriptReport {
        counts: counts(80),
        commands: commands.iter().map(command).collect(),
    };
    RunReport {
        options: RunOptions {
            clients: 4,
            threads: 2,
            scripts: vec![choice("/a.sql", 3), choice("<builtin: select only>", 1)],
            protocol: QueryMode::Prepared,
            max_tries: 3,
            limit: Limit::Seconds(2),
            rate_tps: Some(1.0),
            latency_limit_us: Some(5000),
            progress_s: Some(1),
            failures_detailed: true,
            report_per_command: true,
            ..RunOptions::default()
        },
        tables: TableFacts {
            scale: 2,
            partitions: Some((PartitionMethod::Hash, 3)),
        },
        counts: Counts {
            skipped: 40,
            serialization_failures: 20,
            deadlock_failures: 12,
            other_failures: 8,
            retried: 60,
            retries: 80,
            ..counts(160)
        },
        over_latency_limit: 45,
        duration_ns: 2_000_000_000,
        connecting_ns: 5_072_000,
        connections_ns: 8_000_000,
        scripts: vec![script(&["\\set x 1", "select 1;"]), script(&[])],
    }
}

/// A run of one script without options.
fn plain_run() -> RunReport {
    let mut run = full_run();
    run.tables.partitions = None;
    run.options = RunOptions {
        clients: 4,
        threads: 2,
        scripts: vec![choice("/a.sql", 1)],
        limit: Limit::Transactions(40),
        ..RunOptions::default()
    };
    run.counts = Counts {
        succeeded: 160,
        ..Counts::default()
    };
    run.scripts.pop();
    run
}

fn report_at(major: u16, run: &RunReport) -> String {
    report_text(&Level::of_major(major).unwrap(), run)
}

#[test]
fn plain_report_matches_levels_14_to_19() {
    let expected = "\
transaction type: /a.sql
scaling factor: 2
query mode: simple
number of clients: 4
number of threads: 2
number of transactions per client: 40
number of transactions actually processed: 160/160
latency average = 50.000 ms
initial connection time = 5.072 ms
tps = 80.000000 (without initial connection time)
";
    assert_eq!(report_at(14, &plain_run()), expected);
    let with_failures = expected.replace(
        "number of transactions per",
        "maximum number of tries: 1\nnumber of transactions per",
    );
    let with_failures = with_failures.replace(
        "160/160\n",
        "160/160\nnumber of failed transactions: 0 (0.000%)\n",
    );
    for major in 15..=19 {
        assert_eq!(report_at(major, &plain_run()), with_failures, "{major}");
    }
}

/// The lines of level 18 about a script of [`full_run`].
fn script_block(start: &str, statements: &str) -> String {
    format!(
        "\
{start}
 - 120 transactions (50.0% of total)
 - number of transactions actually processed: 80 (tps = 40.000000)
 - number of failed transactions: 20 (16.667%)
 - number of serialization failures: 10 (8.333%)
 - number of deadlock failures: 6 (5.000%)
 - number of transactions retried: 30 (25.000%)
 - total number of retries: 40
 - number of transactions skipped: 20 (16.667%)
 - latency average = 5.940 ms
 - latency stddev = 1.000 ms
 - statement latencies in milliseconds, failures and retries:
{statements}"
    )
}

#[test]
fn full_report_matches_level_18() {
    let head = "\
transaction type: multiple scripts
scaling factor: 2
partition method: hash
partitions: 3
query mode: prepared
number of clients: 4
number of threads: 2
maximum number of tries: 3
duration: 2 s
number of transactions actually processed: 160
number of failed transactions: 40 (16.667%)
number of serialization failures: 20 (8.333%)
number of deadlock failures: 12 (5.000%)
number of transactions retried: 60 (25.000%)
total number of retries: 80
number of transactions skipped: 40 (16.667%)
number of transactions above the 5.0 ms latency limit: 45/160 (28.125%)
latency average = 5.940 ms
latency stddev = 1.000 ms
rate limit schedule lag: avg 1.809 (max 3.618) ms
initial connection time = 5.072 ms
tps = 80.000000 (without initial connection time)
";
    let file = "SQL script 1: /a.sql\n - weight: 3 (targets 75.0% of total)";
    let builtin = "SQL script 2: <builtin: select only>\n - weight: 1 (targets 25.0% of total)";
    let statements = "         0.268           1          2 \\set x 1\n         0.268           1          2 select 1;\n";
    let scripts = script_block(file, statements) + &script_block(builtin, "");
    assert_eq!(report_at(18, &full_run()), head.to_owned() + &scripts);
}

/// The lines of levels 15 to 17, and of 19, that differ from those of 18.
#[test]
fn full_report_matches_levels_15_to_17_and_19() {
    let text = report_at(18, &full_run());
    let mut text_15_to_17 = String::new();
    for line in text.lines() {
        match line {
            " - 120 transactions (50.0% of total)" => {
                text_15_to_17 += " - 80 transactions (50.0% of total, tps = 40.000000)\n";
            }
            line if line.starts_with(" - number of transactions actually") => (),
            line if line.starts_with("         0.268") => {
                text_15_to_17 += &(line.replace("          2 ", "           2  ") + "\n");
            }
            line => text_15_to_17 += &(line.to_owned() + "\n"),
        }
    }
    for major in 15..=17 {
        assert_eq!(report_at(major, &full_run()), text_15_to_17, "{major}");
    }
    let text_19 = text
        .replace(
            "\nnumber of deadlock failures: 12 (5.000%)\n",
            "\nnumber of deadlock failures: 12 (5.000%)\nnumber of other failures: 8 (3.333%)\n",
        )
        .replace(
            "\n - number of deadlock failures: 6 (5.000%)\n",
            "\n - number of deadlock failures: 6 (5.000%)\n - number of other failures: 4 (3.333%)\n",
        );
    assert_eq!(report_at(19, &full_run()), text_19);
}

/// Levels 13 and 14 report neither failures nor retries, and include skipped transactions in totals.
#[test]
fn full_report_matches_level_14() {
    let mut run = full_run();
    let of_scripts = run.scripts.iter_mut().map(|script| &mut script.counts);
    for counts in of_scripts.chain([&mut run.counts]) {
        counts.serialization_failures = 0;
        counts.deadlock_failures = 0;
        counts.other_failures = 0;
    }
    run.options.max_tries = 1;
    run.options.scripts[1] = choice("b", 0);
    run.scripts[1] = ScriptReport::default();
    assert_eq!(
        report_at(14, &run),
        "\
transaction type: multiple scripts
scaling factor: 2
partition method: hash
partitions: 3
query mode: prepared
number of clients: 4
number of threads: 2
duration: 2 s
number of transactions actually processed: 160
number of transactions skipped: 40 (20.000 %)
number of transactions above the 5.0 ms latency limit: 45/160 (28.125 %)
latency average = 5.940 ms
latency stddev = 1.000 ms
rate limit schedule lag: avg 1.447 (max 3.618) ms
initial connection time = 5.072 ms
tps = 80.000000 (without initial connection time)
SQL script 1: /a.sql
 - weight: 3 (targets 100.0% of total)
 - 100 transactions (50.0% of total, tps = 40.000000)
 - number of transactions skipped: 20 (20.000%)
 - latency average = 5.940 ms
 - latency stddev = 1.000 ms
 - statement latencies in milliseconds:
         0.268  \\set x 1
         0.268  select 1;
SQL script 2: b
 - weight: 0 (targets 0.0% of total)
 - 0 transactions (0.0% of total, tps = 0.000000)
 - statement latencies in milliseconds:
"
    );
}

#[test]
fn reports_without_successes_end_early() {
    let mut run = plain_run();
    run.counts = Counts::default();
    let last_line =
        |major, run: &RunReport| report_at(major, run).lines().last().unwrap().to_owned();
    let none_processed = "number of transactions actually processed: 0/160";
    assert_eq!(last_line(14, &run), none_processed);
    let none_failed = "number of failed transactions: 0 (NaN%)";
    assert_eq!(last_line(15, &run), none_failed);
    assert_eq!(last_line(18, &run), none_processed);
    run.counts.deadlock_failures = 8;
    let all_failed = "number of failed transactions: 8 (100.000%)";
    assert_eq!(last_line(17, &run), all_failed);
    report_at(18, &run).assert_contains("latency average = 1000.000 ms (including failures)\n");
    let no_speed = "tps = 0.000000 (without initial connection time)";
    assert_eq!(last_line(18, &run), no_speed);
}

#[test]
fn percentiles_add_lines_and_change_no_others() {
    let before = full_run();
    let mut after = before.clone();
    after.counts.percentiles_ms = vec![(50.0, 1.5), (99.9, 12.3456)];
    after.scripts[0].counts.percentiles_ms = vec![(50.0, 1.25)];
    for major in 13..=19 {
        let text = report_at(major, &after);
        text.assert_contains("\nlatency p50 = 1.500 ms\nlatency p99.9 = 12.346 ms\nrate limit");
        text.assert_contains("\n - latency p50 = 1.250 ms\n");
        let without_percentiles: String = text
            .split_inclusive('\n')
            .filter(|line| !line.contains("latency p"))
            .collect();
        assert_eq!(without_percentiles, report_at(major, &before), "{major}");
    }
}

#[test]
fn the_banner_contains_the_server_version_if_it_differs() {
    let banner = |level: &str, server: &str| banner(&Level::parse(level).unwrap(), server);
    let debian = "15.18 (Debian 15.18-0+deb12u1)";
    assert_eq!(banner("13", "13.1"), "");
    for (level, server, expected) in [
        ("15", debian, debian),
        (debian, debian, debian),
        (
            "15.20",
            debian,
            "15.20, server 15.18 (Debian 15.18-0+deb12u1)",
        ),
        ("18", debian, "18.6, server 15.18 (Debian 15.18-0+deb12u1)"),
        ("18", "19devel", "18.6, server 19devel"),
        ("18", "something", "18.6, server something"),
    ] {
        assert_eq!(banner(level, server), format!("pgbench ({expected})\n"));
    }
}
