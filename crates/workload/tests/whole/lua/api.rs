//! Tests every function of the API.

use super::support::{RunOptions, TestDatabase, run_default, run_script};
use prony_assertions::TextAssertions;
use prony_plan::QueryMode;
use prony_workload::sysbench::IgnoredErrors;

#[test]
fn statements_results_and_parameters_work() {
    for database in TestDatabase::for_both_drivers() {
        let script = include_str!("scripts/statements.lua");
        let result = run_default(&database, script);
        assert!(result.failures.is_empty(), "{result:?}");
        let name = database.driver.name();
        let expected = [
            format!("{name}\t<sql_connection>\t1.0.20\ttable"),
            "insert\t2\t0\ttrue\t<sql_result>".to_owned(),
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
        let mut lines = result.text.lines();
        for expected in expected {
            let line = lines.next().unwrap_or_default();
            assert_eq!(line, expected, "{}", result.text);
        }
        for expected in [
            "FATAL: Wrong number of parameters to mysql_stmt_bind_param\nwrong\t1\n",
            "prepared\t2\t2\t1\n",
            "bad value\tfalse\t",
            "cannot convert 'table' to 'int64_t'",
            "bulk\t20\n",
            "many\t20\n",
            "bad argument #1 to 'query' (string expected, got nil)",
            "after\tfalse\t",
            "attempt to use an already closed connection\n",
            "again\t1\nanew\t2\nprepared anew\t3\n",
        ] {
            result.text.assert_contains(expected);
        }
        assert_eq!(result.events, 3);
        // The counts include queries of `thread_init`, as in sysbench.
        assert_eq!((result.queries.all(), result.queries.reconnects), (24, 1));
    }
}

#[test]
fn closed_statements_are_closed_on_the_server() {
    for database in TestDatabase::for_both_drivers() {
        let result = run_default(&database, include_str!("scripts/closed.lua"));
        assert!(result.failures.is_empty(), "{result:?}");
        let lines = result.text.lines().filter(|line| line.starts_with("held"));
        assert_eq!(
            lines.collect::<Vec<_>>(),
            ["held\t1\t0"; 3],
            "{}",
            result.text
        );
    }
}

#[test]
fn threads_can_open_several_connections() {
    for database in TestDatabase::for_both_drivers() {
        for mode in [QueryMode::Prepared, QueryMode::Simple] {
            let options = RunOptions {
                threads: 3,
                events_per_thread: 20,
                query_mode: mode,
                ..RunOptions::default()
            };
            let result = run_script(
                &database,
                include_str!("scripts/several.lua"),
                "run",
                &options,
            );
            assert!(result.failures.is_empty(), "{result:?}");
            for expected in [
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
                    result.text.matches(expected).count(),
                    3,
                    "{expected}\n{}",
                    result.text
                );
            }
            assert!(
                result
                    .text
                    .contains("attempt to use an already closed connection"),
                "{}",
                result.text
            );
            // Each of the 60 events reads once on each of 3 connections. Each `thread_init` makes 12 reads,
            // and one for each check; it prints the number of checks.
            let check_counts = result
                .text
                .lines()
                .filter_map(|line| line.strip_prefix("looks\t"));
            let checks: u64 = check_counts
                .map(|count| count.parse::<u64>().expect("a count"))
                .sum();
            let reads = 180 + 3 * 12 + checks;
            assert_eq!(
                (result.events, result.queries.reads),
                (60, reads),
                "{result:?}"
            );
            database.execute("drop table several_0, several_1, several_2");
        }
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_passed_unchanged() {
    let database = TestDatabase::maria();
    for mode in [QueryMode::Prepared, QueryMode::Simple] {
        let options = RunOptions {
            query_mode: mode,
            ..RunOptions::default()
        };
        let result = run_script(
            &database,
            include_str!("scripts/bytes.lua"),
            "run",
            &options,
        );
        assert!(result.failures.is_empty(), "{result:?}");
        for expected in [
            "text\t636166C3A9\tFFFE\t5\n",
            "back\ttrue\n",
            "bound\t1\n",
            "same\ttrue\t6E61C3AF7665\n",
            "wrong\tfalse\t",
            "[select '\u{fffd}' from nosuch]\n",
            "shown \u{fffd}\n",
        ] {
            assert!(
                result.text.contains(expected),
                "{mode:?} {expected}\n{}",
                result.text
            );
        }
        database.execute("drop table bytes");
    }
    // PostgreSQL rejects invalid text, and accepts text that is valid in the client encoding.
    let database = TestDatabase::postgres();
    let script = "function thread_init() con = sysbench.sql.driver():connect() \
                  con:query(\"set client_encoding = 'latin1'\") \
                  print(con:query_row(\"select length('caf\\233')\")) \
                  local s = con:prepare('select length(?)') \
                  local p = s:bind_create(sysbench.sql.type.VARCHAR) s:bind_param(p) p:set('\\228\\246\\252') \
                  print(s:execute():fetch_row()[1]) end function event() return true end";
    let result = run_default(&database, script);
    assert_eq!(
        (result.text.as_str(), result.failures.len()),
        ("4\n3\n", 0),
        "{result:?}"
    );
}

#[test]
fn version_1_1_returns_further_results_one_by_one() {
    let database = TestDatabase::maria();
    let options = RunOptions {
        is_v1_1: true,
        ..RunOptions::default()
    };
    let result = run_script(
        &database,
        include_str!("scripts/results.lua"),
        "run",
        &options,
    );
    assert!(result.failures.is_empty(), "{result:?}");
    result.text.assert_equals(
        "1:1:1:true none:true 1:2:5:false\n\
         2:1:1:true 1:1:x:true none:false\n\
         2:1:1:true 1:1:x:true none:false\n\
         1:1:7:false\n",
    );
}

#[test]
fn later_statements_of_a_text_fail_when_the_script_reaches_them() {
    let database = TestDatabase::maria();
    let script = include_str!("scripts/later.lua");
    let run_with = |is_v1_1, ignored_codes: Vec<u32>| {
        let options = RunOptions {
            is_v1_1,
            ignored_errors: IgnoredErrors::Codes(ignored_codes),
            ..RunOptions::default()
        };
        run_script(&database, script, "run", &options)
    };
    let v1_1 = run_with(true, Vec::new());
    let lines: Vec<&str> = v1_1.text.lines().collect();
    let expected = [
        "first\t1\ttrue",
        "FATAL: NextResult 1146: ",
        "next\tfalse\tSQL error, errno = 1146",
        "none\tfalse\t7",
        "call\t1\ttrue",
        "FATAL: NextExecutedResult 1146: ",
        "next\tfalse\tSQL error, errno = 1146",
        // The script did not fetch the error, so the next statement on that connection returns it.
        "first\t1",
        "FATAL: NextResult 1146: ",
        "late\tfalse\tSQL error, errno = 1146",
        "good\t8",
    ];
    assert_eq!(lines.len(), expected.len(), "{v1_1:?}");
    for (line, line_start) in lines.iter().zip(expected) {
        assert!(line.starts_with(line_start), "{line_start}: {v1_1:?}");
    }
    assert_eq!(v1_1.queries.ignored_errors, 3, "{v1_1:?}");
    // An ignored error restarts the event.
    let ignored = run_with(true, vec![1146]);
    ignored.text.assert_contains("next\tfalse\ttable: ");
    ignored.text.assert_lacks("FATAL");
    // Version 1.0 has no function for the next result, but also returns the first.
    let v1_0 = run_with(false, Vec::new());
    let expected = "first\t1\tfalse\nnext\ttrue\tnil\nFATAL: NextResult 1146: ";
    v1_0.text.assert_starts_with(expected);
}

/// As sysbench 1.0.20 returns them. PostgreSQL's tags of SHOW, EXPLAIN and CALL have no number of rows, and a CALL on MariaDB
/// has several results.
#[test]
fn every_statement_returns_its_rows() {
    for (database, setup, statements, expected) in [
        (
            TestDatabase::postgres(),
            "create or replace procedure pp(inout x int) language plpgsql as 'begin x := x + 1; end'",
            "'show server_encoding', 'explain (costs off) select 1', 'call pp(4)', 'values (1), (2)'",
            "1\tUTF8\tUTF8\n1\tResult\tResult\n1\t5\t5\n2\t1\t1\n",
        ),
        (
            TestDatabase::maria(),
            "create or replace procedure p3() begin select 11; select 21 union select 22; end",
            "'show character set like \"utf8mb4\"', 'explain select 1', 'call p3()', 'select 1; select 2'",
            "1\tutf8mb4\tutf8mb4\n1\t1\t1\n1\t11\t11\n1\t1\t1\n",
        ),
    ] {
        database.execute(setup);
        let script = format!(
            "function rows()
                 local con = sysbench.sql.driver():connect()
                 for _, sql in ipairs({{ {statements} }}) do
                     local rs = con:query(sql)
                     print(rs.nrows, rs:fetch_row()[1], (con:query_row(sql)))
                 end
             end
             init = rows
             thread_init = rows
             function event() return true end"
        );
        let result = run_default(&database, &script);
        assert_eq!(result.text, expected.repeat(2), "{result:?}");
    }
}

#[test]
fn numbers_histograms_ffi_and_coroutines_work() {
    let database = TestDatabase::maria();
    let script = include_str!("scripts/numbers.lua");
    let result = run_default(&database, script);
    assert!(result.failures.is_empty(), "{result:?}");
    for expected in [
        "bad argument #1 to '?' (cannot convert 'nil' to 'double')",
        "0\t1\t2\t3\t4\t5\n",
        "       value  ------------- distribution ------------- count\n       1.000 |",
        "42\tb\n",
        "written 1\n1\t3\t3\ttrue\ttrue\n",
        "opt\t1\t1213\trun\t./t.lua\n",
    ] {
        result.text.assert_contains(expected);
    }
    assert_eq!(
        (
            result.events,
            result.queries.ignored_errors,
            result.queries.others
        ),
        (3, 3, 3)
    );
    let v1_1 = RunOptions {
        is_v1_1: true,
        ..RunOptions::default()
    };
    let script = "function event() local r = sysbench.rand assert(r.zipfian(1, 9) < 10 and r.special == nil \
                  and #r.varstring(3, 5) >= 3 and db_query == nil) return true end";
    let result = super::support::run_script(&database, script, "run", &v1_1);
    assert!(
        result.failures.is_empty() && result.text.is_empty() && result.events == 0,
        "{result:?}"
    );
}

#[test]
fn queries_work_wherever_a_script_makes_them() {
    let script = r#"
        function thread_init() con = sysbench.sql.driver():connect() end
        function event()
            local sum = 0
            local function value(number) return tonumber(con:query_row("select " .. number)) end;
            ("12"):gsub(".", function(digit) sum = sum + value(digit) end)
            local list = { 3, 1, 2 }
            table.sort(list, function(a, b) return value(a) < value(b) end)
            local each = coroutine.wrap(function() for i = 7, 8 do coroutine.yield(value(i)) end end)
            local class = setmetatable({}, { __index = function(_, key) return value(#key) end })
            local rs = con:query("select 'kept'")
            print(sum, table.concat(list), each(), each(), class.four, pcall(value, 5), rs:fetch_row()[1])
        end"#;
    for database in TestDatabase::for_both_drivers() {
        let result = run_default(&database, script);
        assert!(result.failures.is_empty(), "{result:?}");
        // As in sysbench, a result has the rows of the connection's last query.
        assert_eq!(result.text, "3\t123\t7\t8\t4\ttrue\t5\n".repeat(3));
    }
}

#[test]
fn options_commands_and_help_work() {
    let database = TestDatabase::postgres();
    let script = include_str!("scripts/options.lua");
    let options = RunOptions {
        threads: 3,
        script_options: vec![
            ("tables", "7"),
            ("on", "on"),
            ("list", "a,b,c"),
            ("size", "2k"),
        ],
        ..RunOptions::default()
    };
    let run_command = |command: &str| run_script(&database, script, command, &options);
    let parallel = run_command("mine");
    assert!(parallel.failures.is_empty(), "{parallel:?}");
    let mut lines: Vec<&str> = parallel.text.lines().collect();
    lines.sort_unstable();
    let line_of_thread = |tid| format!("mine\t{tid}\t8\ttrue\t3\ttrue\t5\t2048\tb");
    assert_eq!(
        lines,
        [line_of_thread(0), line_of_thread(1), line_of_thread(2)]
    );
    assert_eq!(run_command("one").text, line_of_thread(0) + "\n");
    assert_eq!(run_command("prepare").text, "made\n");
    assert_eq!(database.query_number("select count(*) from p"), 0);
    assert_eq!(run_command("cleanup").text, "missing\n");
    assert_eq!(run_command("nosuch").text, "unknown\n");
    assert_eq!(run_command("no").text, "failed\n");
    run_command("bad")
        .text
        .assert_starts_with("FATAL: `sysbench.cmdline.call_command' function failed: ./t.lua:");
    run_command("help").text.assert_equals(
        "t.lua options:\n  --int=N             An int [5]\n  --list=[LIST,...]   A list []\n  \
         --name=STRING       A name [x]\n  --nodef=STRING      No default\n  \
         --on[=on|off]       A switch [off]\n  --second=[LIST,...] Two [a,b]\n  \
         --size=SIZE         A size [4k]\n  --tables=N          Number of tables [3]\n\n",
    );
    for (name, value, output) in [
        ("nosuch", "1", "invalid option: --nosuch=1\n"),
        ("on", "zz", "invalid option: --on=zz\n"),
        ("int", "3.7", "Invalid value for the 'int' option: '3.7'\n"),
    ] {
        let options = RunOptions {
            script_options: vec![(name, value)],
            ..RunOptions::default()
        };
        assert_eq!(run_script(&database, script, "one", &options).text, output);
    }
}
