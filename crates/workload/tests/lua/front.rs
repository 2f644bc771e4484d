//! Connections of `init()`, which has no loop.

use crate::support::{Base, How, Ran, plain, ran};
use prony_plan::QueryMode;
use prony_workload::lua::Outside;
use prony_workload::sysbench::Ignored;

/// A script whose account lets no further connection in between `shut()` and `open()`.
const ACCOUNT: &str = "local drv = sysbench.sql.driver()\nlocal one = drv:connect()\n\
                       local me = 'select connection_id()'\n\
                       local function shut() one:query(\"set password = password('x')\") end\n\
                       local function open() one:query(\"set password = ''\") end\n";

fn printed(account: &str, init: &str) -> String {
    let base = Base::maria_as(account);
    let ran = plain(
        &base,
        &format!("function event() return true end\nfunction init()\n{ACCOUNT}{init}\nend"),
    );
    ran.text
}

#[test]
fn a_refused_connection_leaves_the_one_before_it_in_place() {
    let said = printed(
        "front_refused",
        "shut() print(pcall(drv.connect, drv)) print(one:query_row('select 7'))\n\
         open() local two = drv:connect() print(two:query_row(me) ~= one:query_row(me))",
    );
    assert!(
        said.contains("connection creation failed\n7\ntrue\n"),
        "{said}"
    );
}

#[test]
fn what_could_not_reconnect_stays_a_connection_of_its_own() {
    let said = printed(
        "front_held",
        "local two = drv:connect() shut() print(pcall(two.reconnect, two)) open()\n\
         local three = drv:connect() print(pcall(two.query_row, two, me))\n\
         print(three:query_row(me) ~= one:query_row(me))\n\
         print(two:reconnect(), two:query_row(me) ~= three:query_row(me))\n\
         two:disconnect() two = drv:connect() print(two:query_row('select 8'), three:query_row('select 9'))",
    );
    let (reconnect, after) = said
        .split_once("there is no server to ask here\n")
        .expect(&said);
    assert!(
        reconnect.contains("false\tSQL error, errno = 1045"),
        "{said}"
    );
    assert_eq!(after, "true\n0\ttrue\n8\t9\n", "{said}");
}

/// A run of a script with this `init()`, whose threads ask for nothing.
fn asked(base: &Base, how: &How, init: &str) -> Ran {
    let script = format!(
        "function event() return true end\nfunction init()\nlocal con = sysbench.sql.driver():connect()\n{init}\nend"
    );
    ran(base, &script, "run", how)
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
    for base in [Base::maria(), Base::postgres()] {
        for mode in [QueryMode::Prepared, QueryMode::Simple] {
            let how = How {
                mode,
                ..How::default()
            };
            let ran = asked(
                &base,
                &how,
                &init.replace("create table", "drop table if exists t; create table"),
            );
            assert_eq!(ran.text, "2\t2\tx3\tnil\tnil\n0\n0\t4\n", "{ran:?}");
            let counts = Outside {
                reads: 3,
                writes: 4,
                others: 2,
                ..Outside::default()
            };
            assert_eq!(ran.outside, counts, "{mode:?}");
        }
    }
}

#[test]
fn errors_outside_of_threads_are_told_ignored_and_counted_as_in_threads() {
    let base = Base::maria();
    let twice =
        "con:query('drop table if exists t') con:query('create table t (a int primary key)')
                 local put = con:prepare('insert into t values (?)')
                 local a = put:bind_create(sysbench.sql.type.INT)
                 put:bind_param(a) a:set(1) put:execute()\n";
    let seen = |ignored: &[u32], init: &str| {
        let how = How {
            ignored: Ignored::Codes(ignored.to_vec()),
            ..How::default()
        };
        let ran = asked(&base, &how, &(twice.to_owned() + init));
        (ran.text, ran.outside.errors)
    };
    let caught = "local ok, problem = pcall(put.execute, put) print(ok, type(problem))";
    let (text, errors) = seen(&[], "put:execute()");
    assert!(
        text.starts_with("FATAL: Execute 1062: Duplicate entry '1'")
            && text.contains(
                "`init' function failed: ./t.lua:8: SQL error, errno = 1062, state = '23000'"
            ),
        "{text}"
    );
    assert_eq!(errors, 1);
    let (text, errors) = seen(&[], caught);
    assert!(text.ends_with("false\tstring\n"), "{text}");
    assert_eq!(errors, 1);
    let quiet = ("false\ttable\n".to_owned(), 1);
    assert_eq!(seen(&[1062], caught), quiet);
    let (text, errors) = seen(&[], "con:prepare('select * from nosuch')");
    assert!(text.starts_with("FATAL: Prepare 1146: "), "{text}");
    assert!(text.contains("SQL API error"), "{text}");
    // As in threads: a statement that was not made is none of the counts.
    assert_eq!(errors, 0);
    let lost = "pcall(con.query, con, 'kill connection_id()') print(con:query_row('select 7'))";
    let (text, errors) = seen(&[2013], lost);
    assert_eq!((text.as_str(), errors), ("7\n", 1));
}

#[test]
fn a_later_result_outside_of_threads_may_be_an_error() {
    let base = Base::maria();
    let newer = How {
        newer: true,
        ..How::default()
    };
    let init = "local rs = con:query('select 5; select * from nosuch; select 6')
                print(rs:fetch_row()[1], con:more_results())
                print(pcall(con.next_result, con))
                print(con:more_results(), con:query_row('select 7'))";
    let ran = asked(&base, &newer, init);
    let lines: Vec<&str> = ran.text.lines().collect();
    assert_eq!(lines[0], "5\ttrue", "{ran:?}");
    assert!(lines[1].starts_with("FATAL: Next 1146: "), "{ran:?}");
    assert!(
        lines[2].starts_with("false\tSQL error, errno = 1146"),
        "{ran:?}"
    );
    assert_eq!(lines[3..], ["false\t7"], "{ran:?}");
    // In 1.0 the whole text fails.
    let ran = asked(&base, &How::default(), init);
    assert!(ran.text.starts_with("FATAL: Query 1146: "), "{ran:?}");
}

#[test]
fn a_long_statement_is_no_script_that_runs_on() {
    let how = How {
        patience_s: 1,
        ..How::default()
    };
    let init = "con:query('select sleep(3)') print('slept')";
    assert_eq!(asked(&Base::maria(), &how, init).text, "slept\n");
    let ran = asked(&Base::maria(), &how, "while true do end");
    assert!(
        ran.text.contains("the script has run on without asking"),
        "{ran:?}"
    );
}
