//! Tests connections outside of threads, as in `init()`, which runs without an event loop.

use super::support::{RunOptions, RunResult, TestDatabase, run_default, run_script};
use prony_assertions::TextAssertions;
use prony_measure::QueryCounts;
use prony_plan::QueryMode;
use prony_test_servers::{MariaDb, MariaDbOptions};
use prony_workload::sysbench::IgnoredErrors;
use std::time::Duration;

/// The start of an `init()` in which the account rejects new connections between `shut()` and `open()`.
const SHUT_AND_OPEN_FUNCTIONS: &str = "local drv = sysbench.sql.driver()\nlocal one = drv:connect()\n\
                       local me = 'select connection_id()'\n\
                       local function shut() one:query(\"set password = password('x')\") end\n\
                       local function open() one:query(\"set password = ''\") end\n";

/// Returns the output of a script whose `init()` runs these statements as this account of MariaDB.
fn output_of_init(account: &str, init: &str) -> String {
    let database = TestDatabase::maria_as(account);
    let result = run_default(
        &database,
        &format!(
            "function event() return true end\nfunction init()\n{SHUT_AND_OPEN_FUNCTIONS}{init}\nend"
        ),
    );
    result.text
}

#[test]
fn after_a_refused_connection_the_previous_one_remains_current() {
    let output = output_of_init(
        "front_refused",
        "shut() print(pcall(drv.connect, drv)) print(one:query_row('select 7'))\n\
         open() local two = drv:connect() print(two:query_row(me) ~= one:query_row(me))",
    );
    output.assert_contains("connection creation failed\n7\ntrue\n");
}

#[test]
fn a_connection_keeps_its_number_after_a_failed_reconnect() {
    let output = output_of_init(
        "front_held",
        "local two = drv:connect() shut() print(pcall(two.reconnect, two)) open()\n\
         local three = drv:connect() print(pcall(two.query_row, two, me))\n\
         print(three:query_row(me) ~= one:query_row(me))\n\
         print(two:reconnect(), two:query_row(me) ~= three:query_row(me))\n\
         two:disconnect() two = drv:connect() print(two:query_row('select 8'), three:query_row('select 9'))",
    );
    let (reconnect_output, later_output) = output
        .split_once("there is no server to query here\n")
        .expect(&output);
    assert!(
        reconnect_output.contains("false\tSQL error, errno = 1045"),
        "{output}"
    );
    assert_eq!(later_output, "true\ntrue\ttrue\n8\t9\n", "{output}");
}

/// Runs a script with this `init()`, whose threads make no queries.
fn run_script_with_init(database: &TestDatabase, options: &RunOptions, init: &str) -> RunResult {
    let script = format!(
        "function event() return true end\nfunction init()\nlocal con = sysbench.sql.driver():connect()\n{init}\nend"
    );
    run_script(database, &script, "run", options)
}

#[test]
fn statements_are_prepared_and_counted_outside_of_threads() {
    let types = "local int, text = sysbench.sql.type.INT, sysbench.sql.type.VARCHAR\n";
    let init = types.to_owned()
        + "con:query('create table t (a int primary key, b varchar(20))')
           local put = con:prepare('insert into t values (?, ?)')
           local a, b = put:bind_create(int), put:bind_create(text, 20)
           put:bind_param(a, b)
           for i = 1, 4 do a:set(i) b:set(i < 4 and 'x' .. i or nil) put:execute() end
           put:close()
           local seek = con:prepare('select b, a from t where a >= ? order by a')
           local from = seek:bind_create(int)
           seek:bind_param(from)
           from:set(3)
           local rs = seek:execute()
           print(rs.nrows, rs.nfields, rs:fetch_row()[1], rs:fetch_row()[1], rs:fetch_row())
           from:set(9) print(seek:execute().nrows)
           print(con:query('update t set b = b where a > 5').nrows, con:query_row('select count(*) from t'))";
    for database in [TestDatabase::maria(), TestDatabase::postgres()] {
        for mode in [QueryMode::Prepared, QueryMode::Simple] {
            let options = RunOptions {
                query_mode: mode,
                ..RunOptions::default()
            };
            let result = run_script_with_init(
                &database,
                &options,
                &init.replace("create table", "drop table if exists t; create table"),
            );
            assert_eq!(result.text, "2\t2\tx3\tnil\tnil\n0\n0\t4\n", "{result:?}");
            let counts = QueryCounts {
                reads: 3,
                writes: 4,
                others: 2,
                ..QueryCounts::default()
            };
            assert_eq!(result.outside_queries, counts, "{mode:?}");
        }
    }
}

#[test]
fn errors_outside_of_threads_are_handled_as_in_threads() {
    let database = TestDatabase::maria();
    let duplicate_key_setup =
        "con:query('drop table if exists t') con:query('create table t (a int primary key)')
                 local put = con:prepare('insert into t values (?)')
                 local a = put:bind_create(sysbench.sql.type.INT)
                 put:bind_param(a) a:set(1) put:execute()\n";
    let run_with = |ignored: &[u32], init: &str| {
        let options = RunOptions {
            ignored_errors: IgnoredErrors::Codes(ignored.to_vec()),
            ..RunOptions::default()
        };
        let result = run_script_with_init(
            &database,
            &options,
            &(duplicate_key_setup.to_owned() + init),
        );
        (result.text, result.outside_queries.ignored_errors)
    };
    let catch_error = "local ok, problem = pcall(put.execute, put) print(ok, type(problem))";
    let (text, errors) = run_with(&[], "put:execute()");
    text.assert_starts_with("FATAL: Execute 1062: Duplicate entry '1'");
    text.assert_contains(
        "`init' function failed: ./t.lua:8: SQL error, errno = 1062, state = '23000'",
    );
    assert_eq!(errors, 1);
    let (text, errors) = run_with(&[], catch_error);
    text.assert_ends_with("false\tstring\n");
    assert_eq!(errors, 1);
    let expected = ("false\ttable\n".to_owned(), 1);
    assert_eq!(run_with(&[1062], catch_error), expected);
    let (text, errors) = run_with(&[], "con:prepare('select * from nosuch')");
    text.assert_starts_with("FATAL: Prepare 1146: ");
    text.assert_contains("SQL API error");
    // As in threads, a statement that could not be prepared is not counted.
    assert_eq!(errors, 0);
    let lose_connection =
        "pcall(con.query, con, 'kill connection_id()') print(con:query_row('select 7'))";
    let (text, errors) = run_with(&[2013], lose_connection);
    assert_eq!((text.as_str(), errors), ("7\n", 1));
}

#[test]
fn outside_of_threads_a_later_statement_fails_when_the_script_reaches_it() {
    let database = TestDatabase::maria();
    let v1_1 = RunOptions {
        is_v1_1: true,
        ..RunOptions::default()
    };
    let init = "local rs = con:query('select 5; select * from nosuch; select 6')
                print(rs:fetch_row()[1], con:more_results())
                print(pcall(con.next_result, con))
                print(con:more_results(), con:query_row('select 7'))";
    let result = run_script_with_init(&database, &v1_1, init);
    let lines: Vec<&str> = result.text.lines().collect();
    assert_eq!(lines[0], "5\ttrue", "{result:?}");
    assert!(
        lines[1].starts_with("FATAL: NextResult 1146: "),
        "{result:?}"
    );
    assert!(
        lines[2].starts_with("false\tSQL error, errno = 1146"),
        "{result:?}"
    );
    assert_eq!(lines[3..], ["false\t7"], "{result:?}");
    let result = run_script_with_init(&database, &RunOptions::default(), init);
    let expected = "5\tfalse\ntrue\tnil\nFATAL: NextResult 1146: ";
    result.text.assert_starts_with(expected);
}

#[test]
fn a_long_statement_is_not_interrupted_but_an_infinite_loop_is() {
    let options = RunOptions {
        max_query_gap_s: 1,
        ..RunOptions::default()
    };
    let init = "con:query('select sleep(3)') print('slept')";
    run_script_with_init(&TestDatabase::maria(), &options, init)
        .text
        .assert_equals("slept\n");
    let result = run_script_with_init(&TestDatabase::maria(), &options, "while true do end");
    result
        .text
        .assert_contains("the script has run too long without making a request");
}

#[test]
fn attempts_to_reconnect_to_a_dead_server_have_a_time_limit() {
    let server = MariaDb::start(MariaDbOptions::default()).expect("it starts");
    let database = TestDatabase::on_maria(&server, "root");
    let options = RunOptions {
        max_query_gap_s: 1,
        ignored_errors: IgnoredErrors::All,
        end_after: Some(Duration::from_secs(120)),
        ..RunOptions::default()
    };
    let script = format!(
        "function event() return true end
         function done()
            local con = sysbench.sql.driver():connect()
            os.execute('kill -9 {}')
            print('given up:', pcall(con.query, con, 'select 7'))
         end",
        server.pid().expect("it runs")
    );
    let result = run_script(&database, &script, "run", &options);
    result.text.assert_starts_with("FATAL: Query 20");
    result
        .text
        .assert_contains("given up:\tfalse\tSQL error, errno = 20");
}

#[test]
fn scripts_that_wait_for_the_server_at_the_end_are_reported() {
    let options = RunOptions {
        end_after: Some(Duration::from_millis(500)),
        ..RunOptions::default()
    };
    let script = "function waits()
           sysbench.sql.driver():connect():query('select sleep(10)')
        end
        sysbench.cmdline.commands = { waits = { waits } }";
    let result = run_script(&TestDatabase::maria(), script, "waits", &options);
    let stuck = result.text.lines().find(|line| line.starts_with("STUCK: "));
    let stuck = stuck.unwrap_or_else(|| panic!("{result:?}"));
    stuck.assert_contains("waiting for the server");
}
