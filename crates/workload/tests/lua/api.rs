//! Each call of the API.

use crate::support::{Base, How, plain, ran};
use prony_plan::QueryMode;
use prony_workload::sysbench::Ignored;

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
            "after\tfalse\t",
            "the connection is closed",
            "again\t1\nanew\t2\nprepared anew\t3\n",
        ] {
            assert!(ran.text.contains(wanted), "{wanted}\n{}", ran.text);
        }
        assert_eq!(ran.events, 3);
        // Those of `thread_init` too, as sysbench has it.
        assert_eq!((ran.queries.all(), ran.queries.reconnects), (24, 1));
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
fn a_thread_has_as_many_connections_as_it_asks_for() {
    for base in Base::both() {
        for mode in [QueryMode::Prepared, QueryMode::Simple] {
            let how = How {
                threads: 3,
                events: 20,
                mode,
                ..How::default()
            };
            let ran = ran(&base, include_str!("scripts/several.lua"), "run", &how);
            assert!(ran.failures.is_empty(), "{ran:?}");
            for wanted in [
                "differ\ttrue\ttrue\n",
                "prepared\ttrue\ttrue\n",
                "rows\t1\t2\n",
                "open\t",
                "after\tfalse\t",
                "stale\tfalse\t",
                "gone\t0\n",
                "back\ttrue\n",
                "anew\t5\tfalse\t",
            ] {
                assert_eq!(
                    ran.text.matches(wanted).count(),
                    3,
                    "{wanted}\n{}",
                    ran.text
                );
            }
            assert!(
                ran.text.contains("the connection is closed"),
                "{}",
                ran.text
            );
            // Of each event: one on every connection; and of each `thread_init` 12 and its looks.
            let looks = ran
                .text
                .lines()
                .filter_map(|line| line.strip_prefix("looks\t"));
            let looks: u64 = looks
                .map(|count| count.parse::<u64>().expect("a count"))
                .sum();
            let reads = 180 + 3 * 12 + looks;
            assert_eq!((ran.events, ran.queries.reads), (60, reads), "{ran:?}");
            base.execute("drop table several_0, several_1, several_2");
        }
    }
}

#[test]
fn what_is_not_utf_8_goes_as_it_is() {
    let base = Base::maria();
    for mode in [QueryMode::Prepared, QueryMode::Simple] {
        let how = How {
            mode,
            ..How::default()
        };
        let ran = ran(&base, include_str!("scripts/bytes.lua"), "run", &how);
        assert!(ran.failures.is_empty(), "{ran:?}");
        for wanted in [
            "text\t636166C3A9\tFFFE\t5\n",
            "back\ttrue\n",
            "bound\t1\n",
            "same\ttrue\t6E61C3AF7665\n",
            "wrong\tfalse\t",
            "[select '\u{fffd}' from nosuch]\n",
            "shown \u{fffd}\n",
        ] {
            assert!(ran.text.contains(wanted), "{mode:?} {wanted}\n{}", ran.text);
        }
        base.execute("drop table bytes");
    }
    // PostgreSQL says itself what it does not take, and takes what is right in its encoding.
    let base = Base::postgres();
    let script = "function thread_init() con = sysbench.sql.driver():connect() \
                  con:query(\"set client_encoding = 'latin1'\") \
                  print(con:query_row(\"select length('caf\\233')\")) \
                  local s = con:prepare('select length(?)') \
                  local p = s:bind_create(sysbench.sql.type.VARCHAR) s:bind_param(p) p:set('\\228\\246\\252') \
                  print(s:execute():fetch_row()[1]) end function event() return true end";
    let ran = plain(&base, script);
    assert_eq!(
        (ran.text.as_str(), ran.failures.len()),
        ("4\n3\n", 0),
        "{ran:?}"
    );
}

#[test]
fn further_results_come_one_by_one_in_the_newer_version() {
    let base = Base::maria();
    let how = How {
        newer: true,
        ..How::default()
    };
    let ran = ran(&base, include_str!("scripts/results.lua"), "run", &how);
    assert!(ran.failures.is_empty(), "{ran:?}");
    assert_eq!(
        ran.text,
        "1:1:1:true 0:0:-:true 1:2:5:false\n\
         2:1:1:true 1:1:x:true 3:0:-:false\n\
         2:1:1:true 1:1:x:true 3:0:-:false\n\
         1:1:7:false\n"
    );
}

#[test]
fn a_later_statement_of_a_text_fails_where_the_script_gets_there() {
    let base = Base::maria();
    let script = include_str!("scripts/later.lua");
    let seen = |newer, ignored: Vec<u32>| {
        let how = How {
            newer,
            ignored: Ignored::Codes(ignored),
            ..How::default()
        };
        ran(&base, script, "run", &how)
    };
    let newer = seen(true, Vec::new());
    let lines: Vec<&str> = newer.text.lines().collect();
    let wanted = [
        "first\t1\ttrue",
        "FATAL: Next 1146: ",
        "next\tfalse\tSQL error, errno = 1146",
        "none\tfalse\t7",
        "call\t1\ttrue",
        "FATAL: NextExecuted 1146: ",
        "next\tfalse\tSQL error, errno = 1146",
        // Nobody looked: the next statement on that connection has it.
        "first\t1",
        "FATAL: Next 1146: ",
        "late\tfalse\tSQL error, errno = 1146",
        "good\t8",
    ];
    assert_eq!(lines.len(), wanted.len(), "{newer:?}");
    for (line, start) in lines.iter().zip(wanted) {
        assert!(line.starts_with(start), "{start}: {newer:?}");
    }
    assert_eq!(newer.queries.errors, 3, "{newer:?}");
    // An error that is ignored begins the event anew.
    let ignored = seen(true, vec![1146]);
    assert!(ignored.text.contains("next\tfalse\ttable: "), "{ignored:?}");
    assert!(!ignored.text.contains("FATAL"), "{ignored:?}");
    let older = seen(false, Vec::new());
    assert!(older.text.starts_with("FATAL: Query 1146: "), "{older:?}");
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
