//! Tests the queries of the bundled scripts, and their counts.

use super::support::{RunOptions, TestDatabase, run_script};
use prony_assertions::TextAssertions;
use prony_plan::QueryMode;

#[test]
fn bundled_scripts_make_the_queries_of_sysbench() {
    for database in TestDatabase::for_both_drivers() {
        let options = RunOptions {
            script_options: vec![("tables", "2"), ("table_size", "1000")],
            threads: 2,
            events_per_thread: 20,
            ..RunOptions::default()
        };
        let run_bundled = |name: &str, command: &str, options: &RunOptions| {
            let result = run_script(&database, &format!("require('{name}')"), command, options);
            assert!(result.failures.is_empty(), "{name}: {result:?}");
            result
        };
        let prepared = run_bundled("oltp_read_write", "prepare", &options);
        for line in [
            "Creating table 'sbtest1'...\n",
            "Inserting 1000 records into 'sbtest2'\n",
            "Creating a secondary index on 'sbtest2'...\n",
        ] {
            prepared.text.assert_contains(line);
        }
        assert_eq!(
            database.query_number("select count(*) from sbtest2 where k between 1 and 1000"),
            1000
        );
        for mode in [QueryMode::Prepared, QueryMode::Simple] {
            let options = RunOptions {
                query_mode: mode,
                ..options.clone()
            };
            for (name, reads, writes, others) in [
                ("oltp_read_write", 14, 4, 2),
                ("oltp_read_only", 14, 0, 2),
                ("oltp_write_only", 0, 4, 2),
                ("oltp_point_select", 1, 0, 0),
                ("oltp_update_index", 0, 1, 0),
                ("oltp_update_non_index", 0, 1, 0),
            ] {
                let result = run_bundled(name, "run", &options);
                let queries = result.queries;
                assert_eq!(result.events, 40, "{name}");
                // A restarted event counts its statements again.
                assert!(
                    queries.reads >= reads * 40
                        && queries.reads <= reads * (40 + queries.ignored_errors),
                    "{name} {queries:?}"
                );
                assert!(
                    queries.writes + queries.others >= (writes + others) * 40,
                    "{name} {queries:?}"
                );
                assert!(
                    queries.all() <= (reads + writes + others) * (40 + queries.ignored_errors),
                    "{name} {queries:?}"
                );
            }
        }
        for name in ["oltp_insert", "oltp_delete"] {
            let result = run_bundled(name, "run", &options);
            assert_eq!(result.queries.all(), 40, "{name}: {result:?}");
        }
        let one_table = RunOptions {
            script_options: vec![("table_size", "1000")],
            ..options.clone()
        };
        for name in ["select_random_points", "select_random_ranges"] {
            let result = run_bundled(name, "run", &one_table);
            assert_eq!(result.queries.reads, 40, "{name}: {result:?}");
        }
        let cleaned = run_bundled("oltp_read_write", "cleanup", &options);
        cleaned
            .text
            .assert_equals("Dropping table 'sbtest1'...\nDropping table 'sbtest2'...\n");
        run_bundled("bulk_insert", "prepare", &options);
        let bulk = run_bundled("bulk_insert", "run", &options);
        assert_eq!((bulk.events, bulk.queries.writes), (40, 2));
        assert_eq!(database.query_number("select count(*) from sbtest2"), 20);
        run_bundled("bulk_insert", "cleanup", &options);
    }
    let maria = TestDatabase::maria();
    let options = RunOptions {
        script_options: vec![("tables", "1")],
        ..RunOptions::default()
    };
    let run = |command| run_script(&maria, "require('oltp_read_only')", command, &options);
    run("prepare");
    let prewarmed = run("prewarm");
    assert!(
        prewarmed.failures.is_empty() && prewarmed.text.contains("Prewarming table sbtest1\n"),
        "{prewarmed:?}"
    );
    let help = run("help").text;
    help.assert_contains(
        "  --range_size=N                Range size for range SELECT queries [100]\n",
    );
    let unsupported = run_script(
        &TestDatabase::postgres(),
        "require('oltp_read_only')",
        "prewarm",
        &options,
    );
    unsupported
        .text
        .assert_contains("prewarm is currently MySQL only");
}
