//! Tests complete scripts in the styles in which users write them.

use super::support::{RunOptions, TestDatabase, run_default, run_script};
use std::time::Duration;

#[test]
fn scripts_can_extend_oltp_common() {
    for database in TestDatabase::for_both_drivers() {
        let script = include_str!("scripts/extended.lua");
        let options = RunOptions {
            script_options: vec![
                ("tables", "2"),
                ("table_size", "50"),
                ("extra_selects", "2"),
            ],
            threads: 2,
            events_per_thread: 5,
            ..RunOptions::default()
        };
        let prepared = run_script(&database, script, "prepare", &options);
        assert!(prepared.failures.is_empty(), "{prepared:?}");
        assert_eq!(database.query_number("select count(*) from extra2"), 50);
        let run = run_script(&database, script, "run", &options);
        assert!(run.failures.is_empty(), "{run:?}");
        assert_eq!(
            (run.events, run.queries.reads, run.queries.others),
            (10, 30, 20)
        );
        let checked = run_script(&database, script, "check", &options);
        let mut lines: Vec<&str> = checked.text.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["extra1\t50", "extra2\t50"]);
    }
}

#[test]
fn scripts_can_have_a_main_loop_and_counters() {
    let database = TestDatabase::maria();
    let result = run_default(&database, include_str!("scripts/counters.lua"));
    assert!(result.failures.is_empty(), "{result:?}");
    assert_eq!(
        (
            result.events,
            result.queries.ignored_errors,
            result.queries.reads
        ),
        (3, 6, 10)
    );
    assert_eq!(result.text, "init 1\n3 rows in 0\ndone 2\n");
}

#[test]
fn thread_done_runs_when_the_run_time_is_over() {
    let database = TestDatabase::maria();
    let script = "function thread_init() con = sysbench.sql.driver():connect() end \
                  function event() con:query('select 1') end \
                  function thread_done() print('ended', (con:query_row('select 7'))) end";
    let options = RunOptions {
        threads: 3,
        run_time: Some(Duration::from_secs(1)),
        ..RunOptions::default()
    };
    let result = run_script(&database, script, "run", &options);
    assert!(
        result.failures.is_empty() && result.events > 0,
        "{result:?}"
    );
    assert_eq!(result.text, "ended\t7\n".repeat(3));
}
