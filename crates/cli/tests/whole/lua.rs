//! `prony sysbench` with Lua scripts.

use crate::common::*;
use crate::sysbench::Sysbench;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};

/// A 1 GB stack per thread and a 16 GB address space limit the number of threads, as `pids.max` does in
/// containers.
#[test]
fn threads_that_cannot_be_created_are_reported() {
    let bench = Sysbench::postgres("lua_threads");
    // With io.popen, each of the script's threads is an OS thread.
    let script = "function thread_init() io.popen('true'):close() end function event() end";
    bench.write("threads.lua", script);
    let arguments = "--threads=200 --events=1 --time=0 ./threads.lua run";
    let mut command = bench.command(arguments);
    command.env("RUST_MIN_STACK", "1073741824");
    // SAFETY: setrlimit is a system call and does not allocate.
    unsafe {
        command.pre_exec(|| {
            let max_bytes = 16 << 30;
            let limit = libc::rlimit {
                rlim_cur: max_bytes,
                rlim_max: max_bytes,
            };
            match libc::setrlimit(libc::RLIMIT_AS, &raw const limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let output = command.output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    let thread_number = printed.lines().find_map(|line| {
        let line = line.strip_prefix("FATAL: sb_thread_create() for thread #")?;
        line.strip_suffix(" failed. errno = 11 (Resource temporarily unavailable)")
    });
    let thread: u32 = thread_number.expect(&printed).parse().expect("a number");
    assert!((1..200).contains(&thread), "{printed}");
    printed.assert_lacks("panicked");
}

#[test]
fn queries_outside_of_threads_are_counted() {
    let script = "function init()
           local con = sysbench.sql.driver():connect()
           con:query('create table t (a int)')
           local put = con:prepare('insert into t values (?)')
           local a = put:bind_create(sysbench.sql.type.INT)
           put:bind_param(a)
           for i = 1, 9 do a:set(i) put:execute() end
           for i = 1, 100 do con:query('select 1') end
        end
        function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query('select 2') end
        function done()
           print('rows', sysbench.sql.driver():connect():query_row('select count(*) from t'))
        end";
    for bench in [
        Sysbench::maria("lua_outside_m"),
        Sysbench::postgres("lua_outside_p"),
    ] {
        bench.write("outside.lua", script);
        let out = bench.ok("--events=5 --time=0 ./outside.lua run");
        let counts = "        read:                            105\n        \
                      write:                           9\n        \
                      other:                           1\n";
        out.assert_contains(counts);
        out.assert_contains("transactions:                        5 ");
        out.assert_ends_with("rows\t9\n");
    }
}

const EXTENDED_SCRIPT: &str = r#"
require("oltp_common")
sysbench.cmdline.options.extra = { "An option of its own", 2 }
function prepare_statements() prepare_begin() prepare_commit() prepare_point_selects() end
function event()
    begin()
    for i = 1, sysbench.opt.extra do execute_point_selects() end
    commit()
end
"#;

#[test]
fn a_script_can_extend_the_bundled_ones() {
    for bench in [
        Sysbench::maria("lua_whole_my"),
        Sysbench::postgres("lua_whole_pg"),
    ] {
        bench.write("mine.lua", EXTENDED_SCRIPT);
        let sizes = "--tables=2 --table-size=100 --threads=2";
        let out = bench.ok(&format!("./mine.lua {sizes} prepare"));
        out.assert_contains("Initializing worker threads...\n\n");
        out.assert_contains("Creating a secondary index on 'sbtest2'...\n");
        let arguments =
            format!("./mine.lua {sizes} --events=20 --time=0 --extra=3 --point-selects=4 run");
        let out = bench.ok(&arguments);
        out.assert_contains_all([
            "Running the test with following options:\nNumber of threads: 2\n",
            "Initializing worker threads...\n\nThreads started!\n\nSQL statistics:\n",
            "        read:                            240\n",
            "        other:                           40\n",
            "    transactions:                        20     (",
            "    ignored errors:                      0      (0.00 per sec.)\n",
        ]);
        let out = bench.ok("./mine.lua help");
        out.assert_contains("mine.lua options:\n");
        out.assert_contains("  --extra=N                     An option of its own [2]\n");
        assert_eq!(
            bench.sysbench("./mine.lua --nosuch=1 run").texts(1).1,
            "invalid option: --nosuch=1\n"
        );
        let out = bench.ok(&format!("./mine.lua {sizes} cleanup"));
        out.assert_ends_with("Dropping table 'sbtest1'...\nDropping table 'sbtest2'...\n");
    }
}

const REPORTS_SCRIPT: &str = r#"
sysbench.hooks.report_intermediate = sysbench.report_csv
sysbench.hooks.report_cumulative = sysbench.report_json
function init() print("init", sysbench.tid) end
function thread_init() con = sysbench.sql.driver():connect() print("ready") end
function event() con:query("select 1") end
function done() print("done") end
"#;

#[test]
fn a_script_can_write_its_own_reports() {
    let bench = Sysbench::maria("lua_reports");
    bench.write("reports.lua", REPORTS_SCRIPT);
    let out = bench.ok("reports.lua --time=2 --report-interval=1 run");
    let started = out.find("Threads started!").expect("it starts");
    assert!(out.find("init\t0\n").expect("init") < out.find("Running the test").expect("runs"));
    assert!(out.find("ready\n").expect("ready") < started, "{out}");
    let lines: Vec<&str> = out[started..].lines().collect();
    assert!(lines.iter().any(|line| line.starts_with("1,1,")), "{out}");
    // Transactions in flight at the end may extend the time.
    let list = out.split("[\n  {\n    \"time\":    ").nth(1);
    let (seconds, report) = list.and_then(|list| list.split_once(",\n")).expect(&out);
    assert!(
        seconds.parse::<u64>().is_ok_and(|seconds| seconds >= 2),
        "{out}"
    );
    assert!(report.starts_with("    \"threads\": "), "{out}");
    out.assert_ends_with("  }\n]\ndone\n");
    out.assert_lacks("SQL statistics");
}

#[test]
fn queries_of_thread_init_are_counted() {
    let bench = Sysbench::maria("lua_early");
    let script = "function thread_init() con = sysbench.sql.driver():connect() con:query('SELECT 2') \
                  con:query('SET @b = 2') end function event() con:query('SELECT 3') end";
    bench.write("early.lua", script);
    let out = bench.ok("early.lua --threads=4 --events=12 --time=0 run");
    let out = out.unwrapped();
    // sysbench 1.0.20 counts the queries in the same way.
    let expected = "read: 16 write: 0 other: 4 total: 20 transactions: 12 ";
    out.assert_contains(expected);
}

const JSON_REPORTS_SCRIPT: &str = r#"
sysbench.hooks.report_intermediate = sysbench.report_json
function sysbench.hooks.report_cumulative(stat)
    local names = {}
    for name in pairs(stat) do names[#names + 1] = name end
    table.sort(names)
    print(table.concat(names, " "))
end
function event() end
function done() print(sysbench.version_string) end
"#;

#[test]
fn the_json_list_is_closed_before_the_final_report() {
    let bench = Sysbench::maria("lua_own_last");
    bench.write("own.lua", JSON_REPORTS_SCRIPT);
    let out = bench.ok("own.lua --time=2 --events=0 --report-interval=1 run");
    let tail = "\n  }\n]\nerrors events latency_avg latency_max latency_min latency_pct latency_sum other reads \
                reconnects threads_running time_interval time_total writes\nsysbench 1.0.20\n";
    out.assert_ends_with(tail);
    assert_eq!(out.matches("\n]\n").count(), 1, "{out}");
}

#[test]
fn errors_of_scripts_are_printed_as_sysbench_prints_them() {
    let bench = Sysbench::maria("lua_bad");
    let connect = "con = sysbench.sql.driver():connect() ";
    for (text, expected) in [
        (
            "function thread_init() error('no') end function event() end",
            "FATAL: `thread_init' function failed: ./bad.lua:1: no\nFATAL: Thread initialization failed!\n",
        ),
        (
            "function thread_init() con = sysbench.sql.driver():connect() end \
             function event() con:query('select * from nosuch') end",
            "Threads started!\n\nFATAL: mysql_drv_query() returned error 1146 (Table 'lua_bad.nosuch' doesn't \
             exist) for query 'select * from nosuch'\nFATAL: `thread_run' function failed: ./bad.lua:1: SQL \
             error, errno = 1146, state = '42S02': Table 'lua_bad.nosuch' doesn't exist\n",
        ),
        (
            "x = 1",
            "FATAL: cannot find the event() function in bad.lua\n",
        ),
        ("error('top')", "FATAL: ./bad.lua:1: top\n"),
    ] {
        bench.write("bad.lua", &format!("{text}\n-- {connect}"));
        // 16 threads share a worker. With several workers, two threads may print the error of their query before one of
        // them ends the run.
        let out = bench.failed("./bad.lua --threads=16 --time=10 run");
        out.assert_ends_with(expected);
    }
    // An error in thread_done does not suppress the report.
    bench.write(
        "late.lua",
        "function event() end function thread_done() error('late') end function done() print('all') end",
    );
    for arguments in ["--events=10 --time=0", "--events=0 --time=1"] {
        let out = bench.ok(&format!("./late.lua --threads=2 {arguments} run"));
        let expected = "Threads started!\n\nFATAL: `thread_done' function failed: ./late.lua:1: late\n\
                    (last message repeated 1 times)\n";
        out.assert_contains(expected).assert_ends_with("all\n");
        out.assert_contains("Threads fairness:");
    }
    bench.write("loop.lua", "function event()\n  while true do end\nend");
    let time_limit = [("PRONY_LUA_PATIENCE", "1")];
    let out = bench
        .sysbench_with("./loop.lua run", &time_limit)
        .failed_stdout(1);
    out.assert_ends_with("failed: ./loop.lua:2: the script has run too long without making a request; is this an infinite \
             loop? The limit is PRONY_LUA_PATIENCE, in seconds\n");
    let time_limit = [("PRONY_LUA_PATIENCE", "3")];
    let (out, err) = bench
        .sysbench_with("./loop.lua --time=1 run", &time_limit)
        .texts(1);
    let awaited = "the time is over; waiting for calls of event() to return: a statement at ";
    format!("{out}{err}").assert_contains(awaited);
    bench.write(
        "grow.lua",
        "function event()\n  local t = {} while true do t[#t + 1] = {} end\nend",
    );
    let limits = [("PRONY_LUA_MEMORY", "32"), ("PRONY_LUA_PATIENCE", "600")];
    let out = bench
        .sysbench_with("./grow.lua run", &limits)
        .failed_stdout(1);
    out.assert_ends_with(
        "not enough memory: a state of the script may use 32 MiB (PRONY_LUA_MEMORY)\n",
    );
    let missing = "'grow.lua' test does not implement the 'cleanup' command.\n";
    for (command, expected) in [
        ("nosuch", "Unknown command: nosuch\n"),
        ("cleanup", missing),
    ] {
        let (_, err) = bench.sysbench(&format!("./grow.lua {command}")).texts(1);
        assert_eq!(err, expected);
    }
}

#[test]
fn the_first_signal_ends_a_script_in_an_endless_loop() {
    let bench = Sysbench::maria("lua_signal");
    bench.write(
        "loop.lua",
        "function event() pcall(function() while true do end end) while true do end end",
    );
    // Without the signal, the script would run for a day.
    let mut command = bench.command("./loop.lua --threads=3 run");
    command.env("PRONY_LUA_PATIENCE", "86400");
    let mut child = spawn_piped(command);
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut printed = String::new();
    while !printed.ends_with("Threads started!\n") {
        assert!(out.read_line(&mut printed).expect("text") > 0, "{printed}");
    }
    send_signal(&child, "-TERM");
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut output = String::new();
        let read = out.read_to_string(&mut output);
        let _ = sender.send(read.map(|_| output));
    });
    let output = receiver.recv_timeout(WAIT_TIMEOUT);
    if output.is_err() {
        // A second signal ends the program in any case.
        send_signal(&child, "-TERM");
    }
    let status = child.wait().expect("it ends");
    let output = output.expect("it ends within a minute").expect("text");
    output.assert_lacks("FATAL");
    assert_eq!(status.signal(), Some(15));
}

#[test]
fn a_run_with_a_script_that_cannot_be_interrupted_is_stored() {
    let bench = Sysbench::maria("lua_stuck");
    bench.write(
        "stuck.lua",
        "ffi.cdef('int pause(void); int usleep(unsigned);')\nlocal n = 0\nfunction event()\n  n = n + 1\n  \
         ffi.C.usleep(10000)\n  if n > 300 then ffi.C.pause() end\nend",
    );
    let time_limit = [("PRONY_LUA_PATIENCE", "3")];
    let run = |arguments: &str| bench.sysbench_with(arguments, &time_limit).failed_stdout(1);
    let stored_files = || {
        let files = files_below(&bench.home.join("runs")).into_iter();
        files
            .map(|path| path.extension().map(|it| it.display().to_string()))
            .collect::<Vec<_>>()
    };
    let out = run("./stuck.lua --time=0 --events=0 run");
    out.assert_ends_with("FATAL: a script has run too long without making a request, and cannot be interrupted; the limit is \
             PRONY_LUA_PATIENCE, in seconds\n");
    assert_eq!(stored_files(), [Some("json".to_owned())]);
    bench.write(
        "early.lua",
        "ffi.cdef('int pause(void);')\nfunction thread_init() ffi.C.pause() end\nfunction event() end",
    );
    run("./early.lua run");
    // A run that did not start is not stored.
    assert_eq!(stored_files(), [Some("json".to_owned())]);
}

#[test]
fn the_hot_row_of_the_white_paper_runs() {
    let bench = Sysbench::maria("lua_hot");
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../workload/tests/whole/lua/scripts/hot.lua");
    let script = std::fs::read_to_string(script).expect("a script of the tests");
    let arguments =
        "--oltp-tables-count=1 --oltp-table-size=100 --num-threads=2 --max-requests=0 --max-time=1";
    for (name, pattern) in [("with.lua", "\"(.*/)\""), ("as-printed.lua", "\"(.*)\"")] {
        bench.write(name, &script.replace("\"(.*/)\"", pattern));
        let test = format!("--test={}/{name} {arguments}", bench.home.display());
        if name == "with.lua" {
            bench.ok(&format!("{test} prepare"));
        }
        let (out, err) = bench.sysbench(&format!("{test} run")).texts(0);
        err.assert_contains("the --test option is deprecated");
        out.assert_contains("    transactions:  ");
    }
}
