//! Scripts for sysbench 0.5.

use crate::support::{Base, How, ran};

#[test]
fn the_hot_row_runs_in_both_spellings() {
    let script = include_str!("scripts/hot.lua");
    let folder = std::env::temp_dir().join(format!("prony-lua-hot-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("hot.lua");
    std::fs::write(&path, script).expect("a file");
    for base in Base::both() {
        let how = How {
            path: path.to_str().expect("text").to_owned(),
            options: vec![("oltp_tables_count", "1"), ("oltp_table_size", "100")],
            threads: 2,
            events: 10,
            ..How::default()
        };
        let prepared = ran(&base, script, "prepare", &how);
        assert!(prepared.failures.is_empty(), "{prepared:?}");
        assert_eq!(base.number("select count(*) from sbtest1"), 100);
        let before = base.number("select k from sbtest1 where id = 100");
        for pattern in [r#""(.*/)""#, r#""(.*)""#] {
            let script = script.replace(r#""(.*/)""#, pattern);
            let ran = ran(&base, &script, "run", &how);
            assert!(ran.failures.is_empty(), "{pattern}: {ran:?}");
            assert_eq!(ran.events, 20);
            assert_eq!(
                (ran.queries.writes, ran.queries.others, ran.queries.reads),
                (20, 40, 0)
            );
        }
        assert_eq!(
            base.number("select k from sbtest1 where id = 100"),
            before + 40
        );
        ran(&base, script, "cleanup", &how);
    }
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn all_of_the_old_api() {
    for base in Base::both() {
        let script = include_str!("scripts/legacy.lua");
        let how = How {
            options: vec![("my_option", "7")],
            ..How::default()
        };
        let ran = ran(&base, script, "run", &how);
        assert!(ran.failures.is_empty(), "{ran:?}");
        assert_eq!(ran.text.lines().next(), Some("7\t7\t0\tinnodb\t./t.lua\t1"));
        assert!(ran.text.contains("caught\tSQL error"), "{}", ran.text);
        assert_eq!(ran.events, 3);
        assert_eq!(base.number("select count(*) from old where b = 'y'"), 3);
    }
}
