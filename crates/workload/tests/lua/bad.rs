//! Scripts that are wrong.

use crate::support::{Base, How, Ran, plain, ran};
use prony_workload::sysbench::Ignored;

fn only(text: &str) -> Ran {
    plain(&Base::maria(), text)
}

#[test]
fn mistakes_are_named_with_file_and_line() {
    let base = Base::maria();
    let con = "con = sysbench.sql.driver():connect() ";
    for (script, said) in [
        ("x=1", "FATAL: cannot find the event() function in t.lua\n"),
        ("x=", "FATAL: ./t.lua:1: unexpected symbol near '<eof>'\n"),
        (
            "#!/usr/bin/sysbench\nerror('top')",
            "FATAL: ./t.lua:2: top\n",
        ),
        (
            "function event() nosuch() end",
            "FATAL: `thread_run' function failed: ./t.lua:1: attempt to call global 'nosuch' (a nil value)\n",
        ),
        (
            "function event() sysbench.sql.nosuch() end",
            "FATAL: `thread_run' function failed: ./t.lua:1: attempt to call field 'nosuch' (a nil value)\n",
        ),
        (
            "local con\nfunction thread_init() con = sysbench.sql.driver():connect() end\nfunction event()\n\
             ('a'):gsub('a', function() con:query('select 1') end)\nend",
            "FATAL: `thread_run' function failed: ./t.lua:4: attempt to yield across C-call boundary\n",
        ),
        (
            "function event() error({ 1 }) end",
            "FATAL: `thread_run' function failed: (not a string)\n",
        ),
        (
            "function thread_init() error('ti') end function event() end",
            "FATAL: `thread_init' function failed: ./t.lua:1: ti\n",
        ),
        (
            "function thread_done() error('td') end function event() end",
            "FATAL: `thread_done' function failed: ./t.lua:1: td\n",
        ),
        (
            "function init() error('i') end function event() end",
            "FATAL: `init' function failed: ./t.lua:1: i\n",
        ),
        (
            "function done() error('d') end function event() end",
            "FATAL: `done' function failed: ./t.lua:1: d\n",
        ),
        (
            "function event() require('nosuch_module') end",
            "FATAL: `thread_run' function failed: ./t.lua:1: module 'nosuch_module' not found:\n",
        ),
        (
            "function event() coroutine.yield(1) end",
            "FATAL: `thread_run' function failed: ./t.lua:1: attempt to yield across C-call boundary\n",
        ),
        (
            "function event() sysbench.sql.driver('nope') end",
            "FATAL: invalid database driver name: 'nope'\n\
             FATAL: `thread_run' function failed: ./t.lua:1: failed to initialize the DB driver\n",
        ),
    ] {
        let ran = plain(&base, script);
        assert!(ran.text.starts_with(said), "{script}\n{}", ran.text);
    }
    for (script, said) in [
        (
            "function event() con:query('select nosuch') end",
            "FATAL: Query 1054: Unknown column 'nosuch' in 'SELECT' [select nosuch]\n\
             FATAL: `thread_run' function failed: ./t.lua:1: SQL error, errno = 1054, state = '42S22': \
             Unknown column 'nosuch' in 'SELECT'\n",
        ),
        (
            "function event() con:prepare('select nosuch') end",
            "FATAL: Prepare 1054: Unknown column 'nosuch' in 'SELECT' [select nosuch]\n\
             FATAL: `thread_run' function failed: ./t.lua:1: SQL API error\n",
        ),
        (
            "function event() con:prepare('select ?'):execute() end",
            "FATAL: `thread_run' function failed: ./t.lua:1: SQL API error: the statement has 1 parameters, \
             and 0 are bound\n",
        ),
    ] {
        let ran = plain(&base, &format!("{con} {script}"));
        assert_eq!(ran.text, said, "{script}");
        assert_eq!(ran.failures.len(), 1);
    }
    let refused = "function event() con:query('select nosuch') end";
    let ran = plain(&Base::postgres(), &format!("{con} {refused}"));
    assert!(
        ran.text.ends_with(
            "./t.lua:1: SQL error, errno = 0, state = '42703': column \"nosuch\" does not exist\n"
        ),
        "{}",
        ran.text
    );
}

const RUN_ON: &str = "the script has run on without asking for anything; is this a loop without an end? How \
                      long it may is PRONY_LUA_PATIENCE, in seconds\n";

#[test]
fn a_loop_without_an_end_is_stopped_where_it_is() {
    let base = Base::maria();
    let how = How {
        patience_s: 1,
        ..How::default()
    };
    for body in [
        "while true do end",
        "local n = 0\nwhile true do n = n + 1 end",
        "local t = {}\nfor i = 1, 1e15 do t[i % 10] = i end",
        "pcall(function() while true do end end)\nwhile true do end",
    ] {
        let script = format!("function event()\n{body}\nend");
        let ran = ran(&base, &script, "run", &how);
        assert!(
            ran.text
                .starts_with("FATAL: `thread_run' function failed: ./t.lua:")
                && ran.text.ends_with(RUN_ON),
            "{body}\n{}",
            ran.text
        );
        assert_eq!(ran.failures.len(), 1);
    }
    let ran = ran(&base, "while true do end", "run", &how);
    assert!(
        ran.text
            .starts_with("FATAL: ./t.lua:1: the script has run on"),
        "{}",
        ran.text
    );
}

#[test]
fn a_failed_run_lets_no_other_thread_begin() {
    let base = Base::maria();
    let how = How {
        patience_s: 1,
        threads: 8,
        ..How::default()
    };
    // Eight threads on two workers: each worker is stopped once at most.
    for body in [
        "function event() print('begun') while true do end end",
        "function thread_init() print('begun') while true do end end function event() end",
    ] {
        let ran = ran(&base, body, "run", &how);
        assert!(
            ran.text.matches("begun").count() <= 2,
            "{body}\n{}",
            ran.text
        );
        let told = ran.text.matches(RUN_ON).count();
        assert!((1..=2).contains(&told), "{body}\n{}", ran.text);
    }
}

#[test]
fn memory_without_an_end_is_refused() {
    let base = Base::maria();
    let how = How {
        memory_limit_bytes: 32 << 20,
        ..How::default()
    };
    for body in [
        "local t = {} while true do t[#t + 1] = {} end",
        "local s = 'x' while true do s = s .. s end",
    ] {
        let ran = ran(&base, &format!("function event() {body} end"), "run", &how);
        assert_eq!(
            ran.text,
            "FATAL: `thread_run' function failed: not enough memory: a state of the script may use 32 MiB (PRONY_LUA_MEMORY)\n"
        );
    }
}

#[test]
fn ignored_errors_begin_the_event_anew() {
    let base = Base::maria();
    base.execute("create table once (a int primary key)");
    base.execute("insert into once values (1)");
    let script = include_str!("scripts/ignored.lua");
    let how = How {
        ignored: Ignored::Codes(vec![1062]),
        ..How::default()
    };
    let first = ran(&base, script, "run", &how);
    assert!(first.failures.is_empty(), "{first:?}");
    assert_eq!((first.events, first.queries.errors), (3, 2));
    assert!(
        first
            .text
            .contains("anew 1062 23000 1\nanew 1062 23000 1\n"),
        "{}",
        first.text
    );
    let all = ran(
        &base,
        script,
        "run",
        &How {
            ignored: Ignored::All,
            ..How::default()
        },
    );
    assert_eq!((all.events, all.queries.errors), (3, 2));
    // Without the option the hook decides, and hears of it first.
    let hook = format!(
        "{script}\nsysbench.hooks.sql_error_ignorable = function(e) return e.sql_errno == 1062 end"
    );
    let hooked = ran(&base, &hook, "run", &How::default());
    assert_eq!((hooked.events, hooked.queries.errors), (3, 2), "{hooked:?}");
    let none = plain(&base, script);
    assert!(
        none.text
            .contains("SQL error, errno = 1062, state = '23000': Duplicate entry '1'"),
        "{}",
        none.text
    );
    let postgres = Base::postgres();
    postgres.execute("create table once (a int primary key)");
    postgres.execute("insert into once values (1)");
    let ran = plain(&postgres, script);
    assert_eq!((ran.events, ran.queries.errors), (3, 2), "{ran:?}");
}

#[test]
fn an_event_that_says_so_ends_its_thread() {
    let ran = only(
        "n = 0 function event() n = n + 1 return n == 2 end function thread_done() print('done', n) end",
    );
    assert_eq!((ran.events, ran.text.as_str()), (1, "done\t2\n"));
}

#[test]
fn errors_that_a_script_catches_are_counted() {
    let script = "function thread_init() con = sysbench.sql.driver():connect() \
                  one = con:prepare('insert into held values (1, 2)') end \
                  function event() pcall(con.query, con, 'select nosuch') pcall(one.execute, one) \
                  pcall(con.prepare, con, 'select nosuch') end";
    for base in Base::both() {
        base.execute("create table held (a int, b int, check (a = b))");
        let ran = plain(&base, script);
        assert!(ran.failures.is_empty(), "{ran:?}");
        // As sysbench counts them: not what could not be prepared.
        assert_eq!((ran.events, ran.queries.errors), (3, 6), "{ran:?}");
        assert_eq!(ran.text.matches("FATAL: Prepare ").count(), 3, "{ran:?}");
    }
}

#[test]
fn an_error_in_thread_done_ends_its_thread_alone() {
    let base = Base::maria();
    let script = "n = 0 function event() n = n + 1 return sysbench.tid == 0 and n == 2 end \
                  function thread_done() if sysbench.tid == 0 then error('td') end print('done') end \
                  function done() print('all') end";
    let how = How {
        threads: 2,
        ..How::default()
    };
    let ran = ran(&base, script, "run", &how);
    assert!(ran.failures.is_empty(), "{ran:?}");
    assert_eq!(ran.events, 4);
    let failed = "FATAL: `thread_done' function failed: ./t.lua:1: td\n";
    assert!(
        ran.text.contains(failed) && ran.text.contains("done\n"),
        "{}",
        ran.text
    );
    assert!(ran.text.ends_with("all\n"), "{}", ran.text);
}

#[test]
fn a_lost_connection_is_ignored_or_ends_the_run() {
    let base = Base::maria();
    let script = include_str!("scripts/killed.lua");
    let ignored = How {
        ignored: Ignored::Codes(vec![2013]),
        ..How::default()
    };
    let back = ran(&base, script, "run", &ignored);
    assert!(back.failures.is_empty(), "{back:?}");
    assert_eq!(
        (back.events, back.queries.errors, back.queries.reconnects),
        (3, 1, 1),
        "{back:?}"
    );
    let lost = plain(&base, script);
    assert!(lost.text.contains("SQL error, errno = "), "{}", lost.text);
    assert!(!lost.text.contains("os error"), "{}", lost.text);
    // Placeholders are shown as each driver has them.
    let failing = "function thread_init() con = sysbench.sql.driver():connect() con:query('create table p (a int \
                   primary key)') s = con:prepare('insert into p values (1 + ?)') \
                   v = s:bind_create(sysbench.sql.type.INT) s:bind_param(v) v:set(1) s:execute() con:query('alter \
                   table p add check (a = 2)') v:set(5) end function event() s:execute() end";
    for (base, shown) in [(base, "(1 + ?)]"), (Base::postgres(), "(1 + $1)]")] {
        let ran = plain(&base, failing);
        assert!(
            ran.text.contains("FATAL: Execute ") && ran.text.contains(shown),
            "{ran:?}"
        );
    }
    assert_eq!(lost.events, 1);
}
