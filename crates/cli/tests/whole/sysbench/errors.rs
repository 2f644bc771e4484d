//! Errors of sysbench runs, fatal and ignored ones.

use super::{DRIVERS, Driver, Sysbench, count_tables, figure, query_counts};
use crate::common::*;
use std::io::{BufRead, BufReader, Read};
use std::process::ChildStdout;

#[test]
fn ignored_errors_restart_their_event_and_are_counted() {
    for driver in DRIVERS {
        let bench = Sysbench::new(driver, "sb_ignored");
        bench.ok("--table-size=20 oltp_write_only prepare");
        // Eight users on twenty rows conflict: without a transaction, other users see that a row is missing
        // between the delete and the insert of an event.
        let arguments = "--table-size=20 --skip-trx --threads=8 --events=1000 --time=0 \
                     --mysql-ignore-errors=1213,1020,1205,1062 oltp_write_only run";
        let out = bench.ok(arguments);
        assert_eq!(figure(&out, "transactions:"), 1000.0);
        let errors = figure(&out, "ignored errors:");
        assert!(errors > 0.0, "{driver:?} {out}");
        let (reads, writes, others) = query_counts(&out);
        assert_eq!(reads, 0.0);
        // Four statements per event, and at most three more per aborted attempt.
        let repeated = writes + others - 4_000.0;
        assert!((0.0..=3.0 * errors).contains(&repeated), "{out}");
        let duplicates = "select count(*) - count(distinct id) from sbtest1";
        assert_eq!(query_number(&mut bench.control(), duplicates), 0);
    }
}

#[test]
fn an_error_that_is_not_ignored_ends_the_run() {
    let bench = Sysbench::maria("sb_fatal");
    bench.ok("--table-size=20 oltp_write_only prepare");
    let arguments = "--table-size=20 --skip-trx --threads=8 --time=600 --mysql-ignore-errors= \
                 oltp_write_only run";
    let started = Instant::now();
    let out = bench.failed(arguments);
    assert!(started.elapsed() < 5 * WAIT_TIMEOUT, "the run did not end");
    out.assert_contains("FATAL: mysql_stmt_execute() returned error 1");
    out.assert_contains("FATAL: `thread_run' function failed: SQL error, errno = 1");
    out.assert_lacks("SQL statistics");
    let run = bench.last_run();
    assert_eq!(run.state, RunState::Partial);

    // Nobody interrupted the run, so what its commits added is counted.
    let trigger = "create trigger full after insert on sbtest1 for each row \
                   if new.id > 50 then signal sqlstate '45000'; end if";
    let mut control = bench.control();
    control.run(trigger);
    let arguments = "--table-size=20 --threads=3 --time=600 oltp_insert run";
    bench.failed(arguments);
    let run = bench.last_run();
    let [reading] = &run.growth[..] else {
        panic!("{:?}", run.growth);
    };
    let added = reading.after.expect("read") - reading.before.expect("read");
    let maximum = reading.committed + reading.ambiguous;
    assert!(
        (reading.committed..=maximum).contains(&added) && added > 0,
        "{reading:?}"
    );
}

/// A test whose first second was reported, when the connections that check and prepare the data are closed.
struct RunningTest {
    child: Child,
    out: BufReader<ChildStdout>,
    text: String,
}

impl RunningTest {
    fn start(bench: &Sysbench, arguments: &str) -> RunningTest {
        let mut child = spawn_piped(bench.command(arguments));
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let mut text = String::new();
        while !text.contains("[ 1s ]") {
            assert!(out.read_line(&mut text).expect("text") > 0, "{text}");
        }
        RunningTest { child, out, text }
    }

    /// The whole output, at the end of the test.
    fn into_output(mut self) -> Output {
        self.out.read_to_string(&mut self.text).expect("text");
        let mut output = self.child.wait_with_output().expect("it ends");
        output.stdout = self.text.into_bytes();
        output
    }
}

#[test]
fn killed_connections_reconnect_if_their_errors_are_ignored() {
    let bench = Sysbench::maria("sb_killed");
    bench.ok("--table-size=100 oltp_read_only prepare");
    let arguments = "--table-size=100 --threads=3 --rate=100 --time=12 --mysql-ignore-errors=1213,2013 \
                 --report-interval=1 oltp_read_only run";
    let run = RunningTest::start(&bench, arguments);
    let mut root = connect(&bench.url);
    let sessions = "select id from information_schema.processlist where user = 'prony' and db = \
                 'sb_killed'";
    let ids = root.query(sessions).expect("a list");
    assert!(ids.len() >= 3, "{}", run.text);
    for row in ids {
        let id = row[0].as_deref().expect("a number");
        // The session may have ended.
        let _ = root.execute(&format!("kill {id}"));
    }
    let out = bench.assert_no_password(run.into_output()).ok_stdout();
    let reconnects = figure(&out, "reconnects:");
    assert!((1.0..=3.0).contains(&reconnects), "{out}");
    assert!(figure(&out, "ignored errors:") >= reconnects, "{out}");
}

/// Users that would reconnect forever are stopped at the end of the run.
#[test]
fn a_run_ends_in_time_if_its_server_is_gone() {
    let mut bench = Sysbench::maria("sb_gone");
    let server = own_mariadb(&[]);
    let sql = "create database sb_gone";
    connect(&server.url()).run(sql);
    bench.password = server.password().reveal().to_owned();
    bench.login[2] = format!("--mysql-port={}", server.port());
    bench.login[4] = format!("--mysql-password={}", bench.password);
    let prepare = bench.sysbench("--table-size=100 oltp_read_only prepare");
    prepare.ok_stdout();
    let script = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                  function event() con:query('SELECT 1') end\n";
    bench.home.write("one.lua", script);
    for (ignored, test) in [
        ("all", "--table-size=100 oltp_read_only"),
        (
            "1213,2002,2003,2006,2013",
            "--table-size=100 oltp_read_only",
        ),
        ("all", "one.lua"),
    ] {
        let arguments = format!(
            "--mysql-ignore-errors={ignored} --threads=2 --time=4 --report-interval=1 {test} run"
        );
        let mut run = RunningTest::start(&bench, &arguments);
        server.kill();
        let started = Instant::now();
        while run.child.try_wait().expect("a state").is_none() {
            if started.elapsed() > WAIT_TIMEOUT {
                run.child.kill().expect("kills the run");
                panic!("{arguments}: the run does not end");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let out = bench.assert_no_password(run.into_output()).ok_stdout();
        let seconds = figure(&out, "total time:");
        assert!(
            (4.0..WAIT_TIMEOUT.as_secs_f64()).contains(&seconds),
            "{out}"
        );
        assert!(figure(&out, "ignored errors:") > 0.0, "{out}");
        server.restart().expect("it comes back");
    }
}

#[test]
fn missing_tables_and_refused_logins_are_printed_as_sysbench_prints_them() {
    for driver in DRIVERS {
        let bench = Sysbench::new(driver, "sb_missing");
        let run = |arguments: &str| bench.sysbench(&format!("{arguments} oltp_read_write run"));
        let no_table = run("").failed_stdout(1);
        no_table.assert_ends_with("FATAL: Thread initialization failed!\n");
        no_table.assert_contains("sbtest1");
        let text_mode = run("--db-ps-mode=disable").failed_stdout(1);
        let (prepared, text) = match driver {
            Driver::Mysql => (
                "FATAL: MySQL error: 1146 \"Table 'sb_missing.sbtest1' doesn't exist\"",
                "FATAL: mysql_drv_query() returned error 1146 (Table 'sb_missing.sbtest1' doesn't \
                 exist) for query 'SELECT c FROM sbtest1 WHERE id=",
            ),
            Driver::Pgsql => (
                "FATAL: PQprepare() failed: ERROR:  relation \"sbtest1\" does not exist\nLINE 1: ",
                "FATAL: PQexec() failed: 7 relation \"sbtest1\" does not exist\nFATAL: failed \
                 query was: SELECT c FROM sbtest1 WHERE id=",
            ),
        };
        no_table.assert_contains(prepared);
        text_mode.assert_contains(text);
        text_mode.assert_contains("Threads started!\n\nFATAL");

        let (password, expected, closed_port) = match driver {
            Driver::Mysql => (
                "--mysql-password=no",
                "FATAL: error 1045: Access denied for user 'prony'@",
                "--mysql-port=1",
            ),
            Driver::Pgsql => (
                "--pgsql-password=no",
                "FATAL:  password authentication failed for user \"postgres\"",
                "--pgsql-port=1",
            ),
        };
        for (command, function, last) in [
            (
                "run",
                "thread_init",
                "FATAL: Thread initialization failed!\n",
            ),
            (
                "prepare",
                "sysbench.cmdline.call_command",
                "connection creation failed\n",
            ),
            ("cleanup", "cleanup", "connection creation failed\n"),
        ] {
            let out = bench.failed(&format!("{password} oltp_read_write {command}"));
            out.assert_contains(expected);
            let line = format!("FATAL: `{function}' function failed: connection creation failed\n");
            out.assert_contains(&line).assert_ends_with(last);
        }
        let out = run(closed_port).failed_stdout(1);
        out.assert_contains("onnect");
    }
}

#[test]
fn existing_tables_are_not_replaced() {
    for driver in DRIVERS {
        let bench = Sysbench::new(driver, "sb_twice");
        bench.ok("--table-size=100 oltp_read_write prepare");
        bench
            .control()
            .execute("delete from sbtest1 where id = 7")
            .expect("deletes a row");
        let out = bench.failed("--table-size=100 oltp_read_write prepare");
        out.assert_contains("already exists");
        out.assert_contains("FATAL: `sysbench.cmdline.call_command' function failed");
        let count = "select count(*) from sbtest1";
        assert_eq!(query_number(&mut bench.control(), count), 99);
        // With fewer rows than requested, the run continues and prints a note to stderr.
        let run = bench.sysbench("--table-size=200 --events=10 --time=0 oltp_point_select run");
        run.stderr
            .assert_contains("sbtest1 was loaded with 100 rows");
        let hint = "hint: `sysbench oltp_read_write --tables=1 cleanup`, then `sysbench \
                    oltp_point_select --tables=1 --table-size=200 prepare`";
        run.stderr.assert_contains(hint);
        assert_eq!(query_counts(&run.ok_stdout()), (10.0, 0.0, 0.0));
    }
}

/// Without the privilege to read a table, its existence is still detected.
#[test]
fn an_unreadable_table_counts_as_existing() {
    let bench = Sysbench::postgres("sb_unread");
    let owner = "create role sb_unread login password 'sesame'; \
                 create table sbtest2 (x int); grant usage, create on schema public to sb_unread";
    bench.control().run(owner);
    let arguments = "--pgsql-user=sb_unread --pgsql-password=sesame --tables=2 --table-size=10 \
                 oltp_read_only prepare";
    let out = bench.failed(arguments);
    out.assert_contains("Creating table 'sbtest2'");
    out.assert_contains("relation \"sbtest2\" already exists");
    assert_eq!(count_tables(&bench), 1);
    let cleanup = "drop owned by sb_unread; drop role sb_unread";
    bench.control().run(cleanup);
}

#[test]
fn an_interrupted_prepare_names_sysbench_commands_once() {
    let bench = Sysbench::maria("sb_broken");
    let arguments = "--tables=4 --table-size=5000000 oltp_read_only prepare";
    let child = spawn_piped(bench.command(arguments));
    let rows_sql = "select count(*) from information_schema.tables where table_schema = database() \
                  and table_name = 'sbtest1' and data_length > 1000000";
    wait_for("it does not load", || {
        query_number(&mut bench.control(), rows_sql) != 0
    });
    send_signal(&child, "-INT");
    let result = bench.finish(child);
    let printed = format!("{}{}", result.stdout, result.stderr);
    printed.assert_lacks("prony load");
    printed.assert_lacks("prony clean");
    assert!(
        result
            .stdout
            .ends_with("function failed: the load was stopped\n"),
        "{printed}"
    );
    let drops = "`sysbench oltp_read_write --tables=4 cleanup` drops the existing tables";
    assert_eq!(printed.matches(drops).count(), 1, "{printed}");
    bench.ok("--tables=4 oltp_read_write cleanup");
    assert_eq!(count_tables(&bench), 0);
}

#[test]
fn a_hint_is_printed_once_and_only_to_stderr() {
    for driver in [Driver::Mysql, Driver::Pgsql] {
        let name = match driver {
            Driver::Mysql => "mysql",
            Driver::Pgsql => "pgsql",
        };
        let bench = Sysbench::new(driver, &format!("sb_hints_{name}"));
        // A script that names its tables itself, one that handles the error, and one with a bundled test's tables.
        let query = "function cleanup() db_query('drop table nosuch') end \
                     function thread_init() con = sysbench.sql.driver():connect() end \
                     function event() con:query('select * from nosuch') end";
        let handled = "function event() pcall(db_query, 'select * from sbtest1') end";
        let own = "function event() db_query('select * from sbtest1') end";
        let bundled = "require('oltp_point_select')";
        for (name, script) in [
            ("nosuch", query),
            ("handled", handled),
            ("own", own),
            ("bundled", bundled),
        ] {
            std::fs::write(bench.home.join(format!("{name}.lua")), script).expect("a file");
        }
        let prepare = "prony: hint: prepare the tables first";
        for (arguments, code) in [
            ("nosuch.lua run", 1),
            ("own.lua run", 1),
            ("--events=3 handled.lua run", 0),
            ("nosuch.lua cleanup", 1),
        ] {
            let result = bench.sysbench(arguments);
            assert_eq!(result.code, Some(code), "{result:?}");
            assert!(!result.stderr.contains("hint: "), "{arguments}: {result:?}");
        }
        let account = format!("prony: hint: check --{name}-user and --{name}-password");
        let wrong_login = format!("--{name}-password=wrong oltp_read_only");
        for (arguments, hint) in [
            ("--threads=4 oltp_read_only run".to_owned(), prepare),
            ("--threads=4 bundled.lua run".to_owned(), prepare),
            ("--events=1 oltp_insert run".to_owned(), prepare),
            (format!("--threads=4 {wrong_login} run"), &account),
            (format!("{wrong_login} prepare"), &account),
        ] {
            let result = bench.sysbench(&arguments);
            assert_eq!(result.code, Some(1), "{result:?}");
            assert_eq!(
                result.stderr.matches(hint).count(),
                1,
                "{arguments}: {result:?}"
            );
            result.stdout.assert_lacks("hint: ");
        }
    }
}

#[test]
fn connections_are_distributed_over_hosts_in_order() {
    let bench = Sysbench::maria("sb_turns");
    bench.ok("--table-size=100 oltp_point_select prepare");
    // The second host does not exist: a run with one thread does not use it, a run with two threads does.
    let run = |threads: u32| {
        bench.sysbench(&format!(
            "--mysql-host=127.0.0.1,127.0.0.255 --threads={threads} --table-size=100 --events=10 --time=0 \
             oltp_point_select run"
        ))
    };
    run(1).ok_stdout();
    let out = run(2).failed_stdout(1);
    let expected = "FATAL: unable to connect to MySQL server on host '127.0.0.255', port ";
    out.assert_contains(expected);
}

#[test]
fn a_full_queue_and_a_forced_shutdown_end_a_run() {
    let bench = Sysbench::postgres("sb_forced");
    bench.ok("--table-size=100 oltp_point_select prepare");
    let out = bench.failed("--table-size=100 --rate=10000000 oltp_point_select run");
    out.assert_contains("FATAL: The event queue is full.");
    out.assert_lacks("SQL statistics");
    let lock = "begin; update sbtest1 set k = k";
    let mut holder = bench.control();
    holder.run(lock);
    let arguments =
        "--table-size=100 --threads=2 --time=3 --forced-shutdown=1 oltp_update_index run";
    let out = bench.sysbench(arguments).failed_stdout(2);
    out.assert_contains("Forcing shutdown in 4 seconds");
    out.assert_contains("FATAL: The --max-time limit has expired, forcing shutdown...\n");
    let line = "Number of unfinished transactions on forced shutdown: 2\n\nGeneral statistics:";
    out.assert_contains(line);
    assert_eq!(figure(&out, "total number of events:"), 0.0);
}

#[test]
fn unsupported_options_and_commands_are_errors() {
    let bench = Sysbench::maria("sb_not");
    for (arguments, expected) in [
        ("cpu run", "'cpu' does not measure a database"),
        ("fileio prepare", "'fileio' does not measure a database"),
        ("--mysql-dry-run oltp_read_only run", "--mysql-dry-run"),
        (
            "--mysql-compression=on oltp_read_only run",
            "--mysql-compression",
        ),
        ("nosuch run", "Cannot find benchmark 'nosuch'"),
        ("oltp_read_only", "Command is required."),
        ("oltp_read_only dance", "Unknown command: dance"),
        ("oltp_read_only --sise=1 run", "invalid option: --sise=1"),
        (
            "--db-driver=foo oltp_read_only run",
            "invalid database driver name: 'foo'",
        ),
        (
            "--db-ps-mode=foo oltp_read_only run",
            "Invalid value for db-ps-mode: foo",
        ),
        (
            "--tables=0 oltp_read_only prepare",
            "FATAL: --tables=0 is not a valid number: 1 to ",
        ),
        (
            "--table-size=abc oltp_read_only run",
            "FATAL: --table-size=abc is not a valid number: 1 to ",
        ),
        (
            "--mysql-port=abc oltp_read_only run",
            "FATAL: Invalid value for --mysql-port: abc.",
        ),
        (
            "--mysql-port=99999 oltp_read_only prepare",
            "FATAL: Invalid value for --mysql-port: 99999.",
        ),
    ] {
        let result = bench.sysbench(arguments);
        let printed = format!("{}{}", result.stdout, result.stderr);
        assert_eq!(result.code, Some(1), "{arguments}: {printed}");
        assert!(printed.contains(expected), "{arguments}: {printed}");
    }
    assert_eq!(count_tables(&bench), 0);
    let mut command = bench.command("--version");
    command.env("PRONY_SYSBENCH_COMPAT", "0.5");
    let result = bench.execute(&mut command);
    result.stderr.assert_contains("use 1.0 or 1.1");
    assert_eq!(result.code, Some(1));
}

#[test]
fn thread_init_timeout_limits_the_wait_for_a_server() {
    let bench = Sysbench::maria("sb_silent");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let arguments = format!("--mysql-port={port} --thread-init-timeout=1 oltp_read_only run");
    let mut command = bench.command(&arguments);
    command.env("PRONY_SYSBENCH_COMPAT", "1.1");
    let out = bench
        .assert_no_password(command.output().expect("it starts"))
        .failed_stdout(2);
    let line = "FATAL: Worker threads failed to initialize within 1 seconds!\n";
    out.assert_ends_with(line);
}
