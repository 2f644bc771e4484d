//! Tests scripts for sysbench 0.5.

use super::support::{RunOptions, TestDatabase, run_script};
use prony_assertions::{TestFolder, TextAssertions};

#[test]
fn both_variants_of_the_hot_row_script_run() {
    let script = include_str!("scripts/hot.lua");
    let folder = TestFolder::create();
    let path = folder.write("hot.lua", script);
    for database in TestDatabase::for_both_drivers() {
        let options = RunOptions {
            path: path.to_str().expect("text").to_owned(),
            script_options: vec![("oltp_tables_count", "1"), ("oltp_table_size", "100")],
            threads: 2,
            events_per_thread: 10,
            ..RunOptions::default()
        };
        let prepared = run_script(&database, script, "prepare", &options);
        assert!(prepared.failures.is_empty(), "{prepared:?}");
        assert_eq!(database.query_number("select count(*) from sbtest1"), 100);
        let k_before = database.query_number("select k from sbtest1 where id = 100");
        // With the second pattern, which some copies of the script have, `pathtest` is the script's whole path.
        for pattern in [r#""(.*/)""#, r#""(.*)""#] {
            let script = script.replace(r#""(.*/)""#, pattern);
            let result = run_script(&database, &script, "run", &options);
            assert!(result.failures.is_empty(), "{pattern}: {result:?}");
            assert_eq!(result.events, 20);
            assert_eq!(
                (
                    result.queries.writes,
                    result.queries.others,
                    result.queries.reads
                ),
                (20, 40, 0)
            );
        }
        assert_eq!(
            database.query_number("select k from sbtest1 where id = 100"),
            k_before + 40
        );
        run_script(&database, script, "cleanup", &options);
    }
}

#[test]
fn legacy_api_works() {
    for database in TestDatabase::for_both_drivers() {
        let script = include_str!("scripts/legacy.lua");
        let options = RunOptions {
            script_options: vec![("my_option", "7")],
            ..RunOptions::default()
        };
        let result = run_script(&database, script, "run", &options);
        assert!(result.failures.is_empty(), "{result:?}");
        assert_eq!(
            result.text.lines().next(),
            Some("7\t7\t0\tinnodb\t./t.lua\t1")
        );
        result.text.assert_contains("caught\tdb_query() failed");
        assert_eq!(result.events, 3);
        assert_eq!(
            database.query_number("select count(*) from old where b = 'y'"),
            3
        );
    }
}
