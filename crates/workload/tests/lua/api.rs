//! Each call of the API.

use crate::support::{Base, How, plain, ran};

#[test]
fn statements_results_and_parameters() {
    for base in Base::both() {
        let script = include_str!("scripts/statements.lua");
        let ran = plain(&base, script);
        assert!(ran.failures.is_empty(), "{ran:?}");
        let name = base.driver.name();
        let expected = [
            format!("{name}\t<sql_connection>\t1.0.20\ttable"),
            "insert\t2\t0".to_owned(),
            "update\t0".to_owned(),
            "select\t2\t2".to_owned(),
            "row\t1\tx".to_owned(),
            "row\t2\tnil".to_owned(),
            "end\tnil".to_owned(),
            "row\t1\tx\t1.5".to_owned(),
            "none\tnil".to_owned(),
            "null\tnil\t2".to_owned(),
            "empty\t0".to_owned(),
            "inserted\t1".to_owned(),
            "7\t7\thello worl\t3".to_owned(),
            "8\t8\tnil\t0.25".to_owned(),
            "9\t##-@@".to_owned(),
            "closed\tfalse\tattempt to use an already closed statement".to_owned(),
        ];
        let mut lines = ran.text.lines();
        for wanted in expected {
            let line = lines.next().unwrap_or_default();
            assert_eq!(line, wanted, "{}", ran.text);
        }
        for wanted in [
            "FATAL: Wrong number of parameters to mysql_stmt_bind_param\nwrong\t1\n",
            "prepared\t2\t2\t1\n",
            "bad value\tfalse\t",
            "cannot convert 'table' to 'int64_t'",
            "bulk\t20\n",
            "many\t20\n",
            "bad argument #1 to 'query' (string expected, got nil)",
            "second\tfalse\t",
            "this thread has a connection already",
            "after\tfalse\t",
            "the connection is closed",
            "again\t1\nanew\t2\nprepared anew\t3\n",
        ] {
            assert!(ran.text.contains(wanted), "{wanted}\n{}", ran.text);
        }
        assert_eq!(ran.events, 3);
        // What threads do before the load starts is in no figure.
        assert_eq!((ran.queries.all(), ran.queries.reconnects), (3, 0));
    }
}

#[test]
fn closed_statements_are_closed_on_the_server() {
    for base in Base::both() {
        let ran = plain(&base, include_str!("scripts/closed.lua"));
        assert!(ran.failures.is_empty(), "{ran:?}");
        let lines = ran.text.lines().filter(|line| line.starts_with("held"));
        assert_eq!(lines.collect::<Vec<_>>(), ["held\t1\t0"; 3], "{}", ran.text);
    }
}

#[test]
fn numbers_histograms_ffi_and_coroutines() {
    let base = Base::maria();
    let script = include_str!("scripts/numbers.lua");
    let ran = plain(&base, script);
    assert!(ran.failures.is_empty(), "{ran:?}");
    for wanted in [
        "bad argument #1 to '?' (cannot convert 'nil' to 'double')",
        "0\t1\t2\t3\t4\t5\n",
        "       value  ------------- distribution ------------- count\n       1.000 |",
        "42\tb\n",
        "written 1\n1\t3\t3\ttrue\ttrue\n",
        "opt\t1\t1213\trun\t./t.lua\n",
    ] {
        assert!(ran.text.contains(wanted), "{wanted}\n{}", ran.text);
    }
    assert_eq!(
        (ran.events, ran.queries.errors, ran.queries.others),
        (3, 3, 3)
    );
    let newer = How {
        newer: true,
        ..How::default()
    };
    let script = "function event() local r = sysbench.rand assert(r.zipfian(1, 9) < 10 and r.special == nil \
                  and #r.varstring(3, 5) >= 3 and db_query == nil) return true end";
    let ran = crate::support::ran(&base, script, "run", &newer);
    assert!(
        ran.failures.is_empty() && ran.text.is_empty() && ran.events == 0,
        "{ran:?}"
    );
}

#[test]
fn options_commands_and_help() {
    let base = Base::postgres();
    let script = include_str!("scripts/options.lua");
    let how = How {
        threads: 3,
        options: vec![
            ("tables", "7"),
            ("on", "on"),
            ("list", "a,b,c"),
            ("size", "2k"),
        ],
        ..How::default()
    };
    let of = |command: &str| ran(&base, script, command, &how);
    let mine = of("mine");
    assert!(mine.failures.is_empty(), "{mine:?}");
    let mut lines: Vec<&str> = mine.text.lines().collect();
    lines.sort_unstable();
    let line = |tid| format!("mine\t{tid}\t8\ttrue\t3\ttrue\t5\t2048\tb");
    assert_eq!(lines, [line(0), line(1), line(2)]);
    assert_eq!(of("one").text, line(0) + "\n");
    assert_eq!(of("prepare").text, "made\n");
    assert_eq!(base.number("select count(*) from p"), 0);
    assert_eq!(of("cleanup").text, "missing\n");
    assert_eq!(of("nosuch").text, "unknown\n");
    assert_eq!(of("no").failures, ["the command failed"]);
    assert!(
        of("bad")
            .text
            .starts_with("FATAL: `sysbench.cmdline.call_command' function failed: ./t.lua:")
    );
    assert_eq!(
        of("help").text,
        "t.lua options:\n  --int=N             An int [5]\n  --list=[LIST,...]   A list []\n  \
         --name=STRING       A name [x]\n  --nodef=STRING      No default\n  \
         --on[=on|off]       A switch [off]\n  --second=[LIST,...] Two [a,b]\n  \
         --size=SIZE         A size [4k]\n  --tables=N          Number of tables [3]\n\n"
    );
    for (name, value, said) in [
        ("nosuch", "1", "invalid option: --nosuch=1\n"),
        ("on", "zz", "invalid option: --on=zz\n"),
        ("int", "3.7", "Invalid value for the 'int' option: '3.7'\n"),
    ] {
        let how = How {
            options: vec![(name, value)],
            ..How::default()
        };
        assert_eq!(ran(&base, script, "one", &how).text, said);
    }
}
