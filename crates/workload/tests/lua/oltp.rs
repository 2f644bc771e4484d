//! The bundled scripts: what they send, and what counts as what.

use crate::support::{Base, How, ran};
use prony_plan::QueryMode;

#[test]
fn each_bundled_script_sends_what_sysbench_sends() {
    for base in Base::both() {
        let how = How {
            options: vec![("tables", "2"), ("table_size", "1000")],
            threads: 2,
            events: 20,
            ..How::default()
        };
        let of = |name: &str, command: &str, how: &How| {
            let ran = ran(&base, &format!("require('{name}')"), command, how);
            assert!(ran.failures.is_empty(), "{name}: {ran:?}");
            ran
        };
        let prepared = of("oltp_read_write", "prepare", &how);
        for line in [
            "Creating table 'sbtest1'...\n",
            "Inserting 1000 records into 'sbtest2'\n",
            "Creating a secondary index on 'sbtest2'...\n",
        ] {
            assert!(prepared.text.contains(line), "{}", prepared.text);
        }
        assert_eq!(
            base.number("select count(*) from sbtest2 where k between 1 and 1000"),
            1000
        );
        for mode in [QueryMode::Prepared, QueryMode::Simple] {
            let how = How {
                mode,
                ..how.clone()
            };
            for (name, reads, writes, others) in [
                ("oltp_read_write", 14, 4, 2),
                ("oltp_read_only", 14, 0, 2),
                ("oltp_write_only", 0, 4, 2),
                ("oltp_point_select", 1, 0, 0),
                ("oltp_update_index", 0, 1, 0),
                ("oltp_update_non_index", 0, 1, 0),
            ] {
                let ran = of(name, "run", &how);
                let q = ran.queries;
                assert_eq!(ran.events, 40, "{name}");
                // An event that begins anew counts its statements again.
                assert!(
                    q.reads >= reads * 40 && q.reads <= reads * (40 + q.errors),
                    "{name} {q:?}"
                );
                assert!(
                    q.writes + q.others >= (writes + others) * 40,
                    "{name} {q:?}"
                );
                assert!(
                    q.all() <= (reads + writes + others) * (40 + q.errors),
                    "{name} {q:?}"
                );
            }
        }
        for name in ["oltp_insert", "oltp_delete"] {
            let ran = of(name, "run", &how);
            assert_eq!(ran.queries.all(), 40, "{name}: {ran:?}");
        }
        let one = How {
            options: vec![("table_size", "1000")],
            ..how.clone()
        };
        for name in ["select_random_points", "select_random_ranges"] {
            let ran = of(name, "run", &one);
            assert_eq!(ran.queries.reads, 40, "{name}: {ran:?}");
        }
        let cleaned = of("oltp_read_write", "cleanup", &how);
        assert_eq!(
            cleaned.text,
            "Dropping table 'sbtest1'...\nDropping table 'sbtest2'...\n"
        );
        of("bulk_insert", "prepare", &how);
        let bulk = of("bulk_insert", "run", &how);
        assert_eq!((bulk.events, bulk.queries.writes), (40, 2));
        assert_eq!(base.number("select count(*) from sbtest2"), 20);
        of("bulk_insert", "cleanup", &how);
    }
    let maria = Base::maria();
    let how = How {
        options: vec![("tables", "1")],
        ..How::default()
    };
    let run = |command| ran(&maria, "require('oltp_read_only')", command, &how);
    run("prepare");
    let warm = run("prewarm");
    assert!(
        warm.failures.is_empty() && warm.text.contains("Prewarming table sbtest1\n"),
        "{warm:?}"
    );
    let help = run("help").text;
    assert!(
        help.contains(
            "  --range_size=N                Range size for range SELECT queries [100]\n"
        ),
        "{help}"
    );
    let refused = ran(
        &Base::postgres(),
        "require('oltp_read_only')",
        "prewarm",
        &how,
    );
    assert!(
        refused.text.contains("prewarm is currently MySQL only"),
        "{refused:?}"
    );
}
