//! Tests scripts with errors.

use super::support::{RunOptions, RunResult, TestDatabase, run_default, run_script};
use prony_assertions::{TextAssertions, cases};
use prony_workload::sysbench::IgnoredErrors;

fn run_on_maria(script: &str) -> RunResult {
    run_default(&TestDatabase::maria(), script)
}

/// As sysbench 1.0.20: `db_execute` and `db_bulk_insert_done` log an error, and the event goes on.
#[test]
fn legacy_functions_report_errors_as_sysbench_does() {
    let init = "function thread_init() db_query('create temporary table lt(a int primary key)') \
                db_query('insert into lt values(1)') st = db_prepare('insert into lt values(?)') end\n";
    for [event, output] in cases(
        r"
            db_bind_param(st, { 1 }) db_free_results(db_execute(st)) print('on')
                => FATAL: Execute 1062: Duplicate entry '1' for key 'PRIMARY' [insert into lt values(?)]\non\n
            db_bulk_insert_init('insert into lt values') db_bulk_insert_next('(1)') db_bulk_insert_done() print('on')
                => FATAL: Query 1062: Duplicate entry '1' for key 'PRIMARY' [insert into lt values(1)]\non\n
            db_bind_param(st, {}) => FATAL: `thread_run' function failed: ./t.lua:2: table is empty\n
            db_bind_param(st, { true })
                => FATAL: `thread_run' function failed: Unsupported variable type: boolean\n
            db_bind_param(st, { 1, 2 })
                => FATAL: Wrong number of parameters to mysql_stmt_bind_param\n\
                FATAL: `thread_run' function failed: 2\n
            db_store_results('x')
                => FATAL: `thread_run' function failed: ./t.lua:2: \
                bad argument #1 to 'db_store_results' (sysbench.rs expected, got string)\n
        ",
    ) {
        let script = format!("{init}function event() {event} return true end");
        assert_eq!(run_on_maria(&script).text, output, "{event}");
    }
}

#[test]
fn script_errors_are_reported_with_file_and_line() {
    let database = TestDatabase::maria();
    let con = "con = sysbench.sql.driver():connect() ";
    for [script, output] in cases(
        r#"
            x=1 => FATAL: cannot find the event() function in t.lua\n
            sysbench.cmdline.options = 5
                => FATAL: `sysbench.cmdline.read_cmdline_options' function failed: [string \
                "sysbench.cmdline.lua"]:120: wrong type for sysbench.cmdline.options: number\n
            sysbench.cmdline.options = { a = 5 }
                => FATAL: `sysbench.cmdline.read_cmdline_options' function failed: [string \
                "sysbench.cmdline.lua"]:132: wrong table structure in sysbench.cmdline.options\n
            x= => FATAL: ./t.lua:1: unexpected symbol near '<eof>'\n
            #!/usr/bin/sysbench\nerror('top') => FATAL: ./t.lua:2: top\n
            function event() nosuch() end
                => FATAL: `thread_run' function failed: ./t.lua:1: attempt to call global 'nosuch' (a nil value)\n
            function event() sysbench.sql.nosuch() end
                => FATAL: `thread_run' function failed: ./t.lua:1: attempt to call field 'nosuch' (a nil value)\n
            // The caller of `event` has no line.
            function event() error('two', 2) return end => FATAL: `thread_run' function failed: two\n
            n = 0 function event() n = n + 1 if n == 2 then event = nil end end
                => FATAL: `thread_run' function failed: attempt to call a nil value\n
            function event() error({ 1 }) end => FATAL: `thread_run' function failed: (not a string)\n
            function thread_init() error('ti') end function event() end
                => FATAL: `thread_init' function failed: ./t.lua:1: ti\n
            function thread_done() error('td') end function event() end
                => FATAL: `thread_done' function failed: ./t.lua:1: td\n
            function init() error('i') end function event() end => FATAL: `init' function failed: ./t.lua:1: i\n
            function done() error('d') end function event() end => FATAL: `done' function failed: ./t.lua:1: d\n
            function event() require('nosuch_module') end
                => FATAL: `thread_run' function failed: ./t.lua:1: module 'nosuch_module' not found:\n
            function event() coroutine.yield(1) end
                => FATAL: `thread_run' function failed: ./t.lua:1: attempt to yield across C-call boundary\n
            function event() sysbench.sql.driver('nope') end
                => FATAL: invalid database driver name: 'nope'\nFATAL: `thread_run' function failed: ./t.lua:1: \
                failed to initialize the DB driver\n
        "#,
    ) {
        let result = run_default(&database, script);
        assert!(result.text.starts_with(output), "{script}\n{}", result.text);
    }
    for [script, output] in cases(
        r#"
            // sysbench 1.0.20 reports the line of the failed call for these errors. For a query on a closed connection it
            // reports the line that called the function with the query; there is none if sysbench called it.
            local function query()\ncon:query('select 1')\nreturn 1\nend\nfunction event() con:disconnect()\n\
                query()\nreturn\nend
                => ALERT: attempt to use an already closed connection\n\
                FATAL: `thread_run' function failed: ./t.lua:6: SQL API error\n
            function event() con:disconnect() con:query('select 1') end
                => ALERT: attempt to use an already closed connection\n\
                FATAL: `thread_run' function failed: SQL API error\n
            function event() con:prepare('select ?'):bind_create(99) return end
                => FATAL: `thread_run' function failed: ./t.lua:1: Unsupported argument type: 99\n
            function event()\ncon:bulk_insert_next('(1)')\nend
                => ALERT: attempt to call bulk_insert_next() before bulk_insert_init()\n\
                FATAL: `thread_run' function failed: ./t.lua:2: db_bulk_insert_next() failed\n
            function event()\n\
                con:bulk_insert_init('insert into mysql.nosuch values') con:bulk_insert_next('(1)')\n\
                con:bulk_insert_done()\nend
                => FATAL: Query 1146: Table 'mysql.nosuch' doesn't exist [insert into mysql.nosuch values(1)]\n\
                FATAL: `thread_run' function failed: ./t.lua:3: db_bulk_insert_done() failed\n
            function event()\nlocal rs = con:query('select 1')\nrs:free()\nrs:free()\nend
                => ALERT: attempt to free an invalid result set\n\
                FATAL: `thread_run' function failed: ./t.lua:4: db_free_results() failed\n
            function event() con:query('select nosuch') end
                => FATAL: Query 1054: Unknown column 'nosuch' in 'SELECT' [select nosuch]\n\
                FATAL: `thread_run' function failed: ./t.lua:1: SQL error, errno = 1054, state = '42S22': \
                Unknown column 'nosuch' in 'SELECT'\n
            function event() con:prepare('select nosuch') end
                => FATAL: Prepare 1054: Unknown column 'nosuch' in 'SELECT' [select nosuch]\n\
                FATAL: `thread_run' function failed: ./t.lua:1: SQL API error\n
            function event() con:prepare('select ?'):execute() end
                => FATAL: `thread_run' function failed: ./t.lua:1: SQL API error: the statement has 1 \
                parameters, and 0 are bound\n
        "#,
    ) {
        let result = run_default(&database, &format!("{con} {script}"));
        assert_eq!(result.text, output, "{script}");
        assert_eq!(result.failures.len(), 1);
    }
    // A script that names no function for rows keeps 64 KiB of them: it cannot read more without an error.
    let long = "con:query(\"select repeat('x', 100000)\")";
    let reads = |name: &str| {
        format!("{con} function event() local rs = {long} print(#rs[{name}](rs)[1]) end")
    };
    let result = run_default(&database, &reads("'fetch_row'"));
    result.text.assert_contains("100000");
    let result = run_default(&database, &reads("'fe' .. 'tch_row'"));
    result
        .text
        .assert_contains("the rows of the result exceed 64 MiB");
    let wide = "function event() con:prepare('select ' .. string.rep('?,', 70000) .. '1') end";
    let result = run_default(&database, &format!("{con} {wide}"));
    assert!(
        result.text.starts_with("FATAL: Prepare 1390: "),
        "{}",
        result.text
    );
    let failing = "function event() con:query('select nosuch') end";
    let result = run_default(&TestDatabase::postgres(), &format!("{con} {failing}"));
    result.text.assert_ends_with(
        "./t.lua:1: SQL error, errno = 0, state = '42703': column \"nosuch\" does not exist\n",
    );
}

/// The end of the message for a script that the watchdog has interrupted.
const RAN_TOO_LONG_MESSAGE: &str = "the script has run too long without making a request; is this an infinite loop? The limit is \
     PRONY_LUA_PATIENCE, in seconds\n";

#[test]
fn infinite_loops_are_interrupted() {
    let database = TestDatabase::maria();
    let options = RunOptions {
        max_query_gap_s: 1,
        ..RunOptions::default()
    };
    for body in [
        "while true do end",
        "local n = 0\nwhile true do n = n + 1 end",
        "local t = {}\nfor i = 1, 1e15 do t[i % 10] = i end",
        "pcall(function() while true do end end)\nwhile true do end",
    ] {
        let script = format!("function event()\n{body}\nend");
        let result = run_script(&database, &script, "run", &options);
        assert!(
            result
                .text
                .starts_with("FATAL: `thread_run' function failed: ./t.lua:")
                && result.text.ends_with(RAN_TOO_LONG_MESSAGE),
            "{body}\n{}",
            result.text
        );
        assert_eq!(result.failures.len(), 1);
    }
    let result = run_script(&database, "while true do end", "run", &options);
    assert!(
        result
            .text
            .starts_with("FATAL: ./t.lua:1: the script has run too long"),
        "{}",
        result.text
    );
}

#[test]
fn no_thread_starts_after_a_failure() {
    let database = TestDatabase::maria();
    let options = RunOptions {
        max_query_gap_s: 1,
        threads: 8,
        ..RunOptions::default()
    };
    // Eight threads on two workers: on each worker, at most the first thread starts before the failure.
    for body in [
        "function event() print('begun') while true do end end",
        "function thread_init() print('begun') while true do end end function event() end",
    ] {
        let result = run_script(&database, body, "run", &options);
        assert!(
            result.text.matches("begun").count() <= 2,
            "{body}\n{}",
            result.text
        );
        let reports = result.text.matches(RAN_TOO_LONG_MESSAGE).count();
        assert!((1..=2).contains(&reports), "{body}\n{}", result.text);
    }
}

#[test]
fn memory_is_limited() {
    let database = TestDatabase::maria();
    let options = RunOptions {
        memory_limit_bytes: 32 << 20,
        ..RunOptions::default()
    };
    for body in [
        "local t = {} while true do t[#t + 1] = {} end",
        "local s = 'x' while true do s = s .. s end",
    ] {
        let result = run_script(
            &database,
            &format!("function event() {body} end"),
            "run",
            &options,
        );
        result.text.assert_equals("FATAL: `thread_run' function failed: not enough memory: a state of the script may use 32 MiB (PRONY_LUA_MEMORY)\n");
    }
}

#[test]
fn the_connection_works_after_rows_that_need_too_much_memory() {
    let options = RunOptions {
        memory_limit_bytes: 8 << 20,
        events_per_thread: 1,
        ..RunOptions::default()
    };
    let script = r#"
        function event()
            local con = sysbench.sql.driver():connect()
            local wide = {}
            for column = 1, 30 do wide[column] = "repeat('" .. column .. "', 500000)" end
            wide = "select " .. table.concat(wide, ", ")
            local rs = con:query(wide)
            print(pcall(rs.fetch_row, rs))
            print(pcall(con.query_row, con, wide))
            print(con:query_row("select 7, null, 'x'"))
        end"#;
    for database in TestDatabase::for_both_drivers() {
        let result = run_script(&database, script, "run", &options);
        assert!(result.failures.is_empty(), "{result:?}");
        let message = "false\tnot enough memory\n";
        assert_eq!(result.text, format!("{message}{message}7\tnil\tx\n"));
    }
}

#[test]
fn ignored_errors_restart_the_event() {
    let database = TestDatabase::maria();
    database.execute("create table once (a int primary key)");
    database.execute("insert into once values (1)");
    let script = include_str!("scripts/ignored.lua");
    let options = RunOptions {
        ignored_errors: IgnoredErrors::Codes(vec![1062]),
        ..RunOptions::default()
    };
    let code_ignored = run_script(&database, script, "run", &options);
    assert!(code_ignored.failures.is_empty(), "{code_ignored:?}");
    assert_eq!(
        (code_ignored.events, code_ignored.queries.ignored_errors),
        (3, 2)
    );
    assert!(
        code_ignored
            .text
            .contains("anew 1062 23000 1\nanew 1062 23000 1\n"),
        "{}",
        code_ignored.text
    );
    let all_ignored = run_script(
        &database,
        script,
        "run",
        &RunOptions {
            ignored_errors: IgnoredErrors::All,
            ..RunOptions::default()
        },
    );
    assert_eq!(
        (all_ignored.events, all_ignored.queries.ignored_errors),
        (3, 2)
    );
    // If the option does not name the error, the hook `sql_error_ignorable` decides whether the error is
    // ignored.
    let hook = format!(
        "{script}\nsysbench.hooks.sql_error_ignorable = function(e) return e.sql_errno == 1062 end"
    );
    let hooked = run_script(&database, &hook, "run", &RunOptions::default());
    assert_eq!(
        (hooked.events, hooked.queries.ignored_errors),
        (3, 2),
        "{hooked:?}"
    );
    let not_ignored = run_default(&database, script);
    assert!(
        not_ignored
            .text
            .contains("SQL error, errno = 1062, state = '23000': Duplicate entry '1'"),
        "{}",
        not_ignored.text
    );
    let postgres = TestDatabase::postgres();
    postgres.execute("create table once (a int primary key)");
    postgres.execute("insert into once values (1)");
    let result = run_default(&postgres, script);
    assert_eq!(
        (result.events, result.queries.ignored_errors),
        (3, 2),
        "{result:?}"
    );
}

#[test]
fn event_that_returns_true_ends_its_thread() {
    let result = run_on_maria(
        "n = 0 function event() n = n + 1 return n == 2 end function thread_done() print('done', n) end",
    );
    assert_eq!((result.events, result.text.as_str()), (1, "done\t2\n"));
}

#[test]
fn caught_errors_are_counted() {
    let script = "function thread_init() con = sysbench.sql.driver():connect() \
                  one = con:prepare('insert into held values (1, 2)') end \
                  function event() pcall(con.query, con, 'select nosuch') pcall(one.execute, one) \
                  pcall(con.prepare, con, 'select nosuch') end";
    for database in TestDatabase::for_both_drivers() {
        database.execute("create table held (a int, b int, check (a = b))");
        let result = run_default(&database, script);
        assert!(result.failures.is_empty(), "{result:?}");
        // As in sysbench, statements that could not be prepared are not counted.
        assert_eq!(
            (result.events, result.queries.ignored_errors),
            (3, 6),
            "{result:?}"
        );
        assert_eq!(
            result.text.matches("FATAL: Prepare ").count(),
            3,
            "{result:?}"
        );
    }
}

#[test]
fn error_in_thread_done_ends_only_its_thread() {
    let database = TestDatabase::maria();
    let script = "n = 0 function event() n = n + 1 return sysbench.tid == 0 and n == 2 end \
                  function thread_done() if sysbench.tid == 0 then error('td') end print('done') end \
                  function done() print('all') end";
    let options = RunOptions {
        threads: 2,
        ..RunOptions::default()
    };
    let result = run_script(&database, script, "run", &options);
    assert!(result.failures.is_empty(), "{result:?}");
    assert_eq!(result.events, 4);
    let message = "FATAL: `thread_done' function failed: ./t.lua:1: td\n";
    result.text.assert_contains(message);
    result.text.assert_contains("done\n");
    result.text.assert_ends_with("all\n");
}

#[test]
fn a_lost_connection_is_reopened_if_ignored_and_otherwise_ends_the_run() {
    let database = TestDatabase::maria();
    let script = include_str!("scripts/killed.lua");
    let ignored = RunOptions {
        ignored_errors: IgnoredErrors::Codes(vec![2013]),
        ..RunOptions::default()
    };
    let reconnected = run_script(&database, script, "run", &ignored);
    assert!(reconnected.failures.is_empty(), "{reconnected:?}");
    assert_eq!(
        (
            reconnected.events,
            reconnected.queries.ignored_errors,
            reconnected.queries.reconnects
        ),
        (3, 1, 1),
        "{reconnected:?}"
    );
    let lost = run_default(&database, script);
    lost.text.assert_contains("SQL error, errno = ");
    lost.text.assert_lacks("os error");
    // Placeholders are printed in each driver's syntax.
    let failing = "function thread_init() con = sysbench.sql.driver():connect() con:query('create table p (a int \
                   primary key)') s = con:prepare('insert into p values (1 + ?)') \
                   v = s:bind_create(sysbench.sql.type.INT) s:bind_param(v) v:set(1) s:execute() con:query('alter \
                   table p add check (a = 2)') v:set(5) end function event() s:execute() end";
    for (database, shown_end) in [
        (database, "(1 + ?)]"),
        (TestDatabase::postgres(), "(1 + $1)]"),
    ] {
        let result = run_default(&database, failing);
        result.text.assert_contains("FATAL: Execute ");
        result.text.assert_contains(shown_end);
    }
    assert_eq!(lost.events, 1);
}
