//! Scripts as people write them.

use crate::support::{Base, How, plain, ran};
use std::time::Duration;

#[test]
fn a_script_extends_oltp_common() {
    for base in Base::both() {
        let script = include_str!("scripts/extended.lua");
        let how = How {
            options: vec![
                ("tables", "2"),
                ("table_size", "50"),
                ("extra_selects", "2"),
            ],
            threads: 2,
            events: 5,
            ..How::default()
        };
        let prepared = ran(&base, script, "prepare", &how);
        assert!(prepared.failures.is_empty(), "{prepared:?}");
        assert_eq!(base.number("select count(*) from extra2"), 50);
        let run = ran(&base, script, "run", &how);
        assert!(run.failures.is_empty(), "{run:?}");
        assert_eq!(
            (run.events, run.queries.reads, run.queries.others),
            (10, 30, 20)
        );
        let checked = ran(&base, script, "check", &how);
        let mut lines: Vec<&str> = checked.text.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["extra1\t50", "extra2\t50"]);
    }
}

#[test]
fn a_script_brings_its_own_main_loop_and_counters() {
    let base = Base::maria();
    let ran = plain(&base, include_str!("scripts/counters.lua"));
    assert!(ran.failures.is_empty(), "{ran:?}");
    assert_eq!(
        (ran.events, ran.queries.errors, ran.queries.reads),
        (3, 6, 10)
    );
    assert_eq!(ran.text, "init 1\n3 rows in 0\ndone 2\n");
}

#[test]
fn threads_end_in_their_own_words_when_the_time_is_over() {
    let base = Base::maria();
    let script = "function thread_init() con = sysbench.sql.driver():connect() end \
                  function event() con:query('select 1') end \
                  function thread_done() print('ended', (con:query_row('select 7'))) end";
    let how = How {
        threads: 3,
        time: Some(Duration::from_secs(1)),
        ..How::default()
    };
    let ran = ran(&base, script, "run", &how);
    assert!(ran.failures.is_empty() && ran.events > 0, "{ran:?}");
    assert_eq!(ran.text, "ended\t7\n".repeat(3));
}
