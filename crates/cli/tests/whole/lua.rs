//! `prony sysbench` with Lua scripts.

use crate::common::assert_hidden;
use crate::sysbench::{Driver, create_database};
use prony_assertions::{TestFolder, TextAssertions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A database, and a folder for scripts and the store.
pub struct LuaBench {
    arguments: Vec<String>,
    password: String,
    pub home: TestFolder,
}

impl LuaBench {
    /// A database on the shared MariaDB.
    pub fn maria(name: &str) -> LuaBench {
        let (_, arguments, password) = create_database(Driver::Mysql, name);
        LuaBench::new(arguments, password)
    }

    pub fn postgres(name: &str) -> LuaBench {
        let (_, arguments, password) = create_database(Driver::Pgsql, name);
        LuaBench::new(arguments, password)
    }

    /// Creates the folder; `arguments` are sysbench's options for the server and the login.
    pub fn new(arguments: Vec<String>, password: String) -> LuaBench {
        LuaBench {
            arguments,
            password,
            home: TestFolder::create(),
        }
    }

    pub fn write(&self, name: &str, text: &str) {
        self.home.write(name, text);
    }

    /// Runs `prony sysbench`; returns the exit code (-1 after a signal), stdout and stderr.
    pub fn sysbench(&self, arguments: &str) -> (i32, String, String) {
        self.sysbench_with(arguments, &[])
    }

    /// Like [`LuaBench::sysbench`], with environment variables.
    pub fn sysbench_with(
        &self,
        arguments: &str,
        variables: &[(&str, &str)],
    ) -> (i32, String, String) {
        let output: Output = self
            .command(arguments, variables)
            .output()
            .expect("it starts");
        assert_hidden(&self.password, &output, &self.home);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code().unwrap_or(-1),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    fn command(&self, arguments: &str, variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command
            .arg("sysbench")
            .args(&self.arguments)
            .args(arguments.split_whitespace())
            .current_dir(&self.home)
            .env("PRONY_HOME", self.home.join("store"))
            .env("HOME", &self.home)
            .env_remove("LUA_PATH")
            .envs(variables.iter().copied())
            .stdin(Stdio::null());
        command
    }

    pub fn stored_extensions(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.home.join("store/runs")).expect("a store");
        let extension = |path: PathBuf| Some(path.extension()?.to_str()?.to_owned());
        files
            .filter_map(|file| extension(file.expect("a file").path()))
            .collect()
    }
}

/// A 1 GB stack per thread and a 16 GB address space limit the number of threads, as `pids.max` does in
/// containers.
#[test]
fn threads_that_cannot_be_created_are_reported() {
    let bench = LuaBench::postgres("lua_threads");
    // With io.popen, each of the script's threads is an OS thread.
    let script = "function thread_init() io.popen('true'):close() end function event() end";
    bench.write("threads.lua", script);
    let arguments = "--threads=200 --events=1 --time=0 ./threads.lua run";
    let mut command = bench.command(arguments, &[("RUST_MIN_STACK", "1073741824")]);
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
        LuaBench::maria("lua_outside_m"),
        LuaBench::postgres("lua_outside_p"),
    ] {
        bench.write("outside.lua", script);
        let (status, out, err) = bench.sysbench("--events=5 --time=0 ./outside.lua run");
        assert_eq!(status, 0, "{out}{err}");
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
        LuaBench::maria("lua_whole_my"),
        LuaBench::postgres("lua_whole_pg"),
    ] {
        bench.write("mine.lua", EXTENDED_SCRIPT);
        let sizes = "--tables=2 --table-size=100 --threads=2";
        let (status, out, _) = bench.sysbench(&format!("./mine.lua {sizes} prepare"));
        assert_eq!(status, 0, "{out}");
        out.assert_contains("Initializing worker threads...\n\n");
        out.assert_contains("Creating a secondary index on 'sbtest2'...\n");
        let arguments =
            format!("./mine.lua {sizes} --events=20 --time=0 --extra=3 --point-selects=4 run");
        let (status, out, _) = bench.sysbench(&arguments);
        assert_eq!(status, 0, "{out}");
        for line in [
            "Running the test with following options:\nNumber of threads: 2\n",
            "Initializing worker threads...\n\nThreads started!\n\nSQL statistics:\n",
            "        read:                            240\n",
            "        other:                           40\n",
            "    transactions:                        20     (",
            "    ignored errors:                      0      (0.00 per sec.)\n",
        ] {
            out.assert_contains(line);
        }
        let (status, out, _) = bench.sysbench("./mine.lua help");
        assert_eq!(status, 0);
        out.assert_contains("mine.lua options:\n");
        out.assert_contains("  --extra=N                     An option of its own [2]\n");
        let (status, _, err) = bench.sysbench("./mine.lua --nosuch=1 run");
        assert_eq!((status, err.as_str()), (1, "invalid option: --nosuch=1\n"));
        let (status, out, _) = bench.sysbench(&format!("./mine.lua {sizes} cleanup"));
        assert_eq!(status, 0);
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
    let bench = LuaBench::maria("lua_reports");
    bench.write("reports.lua", REPORTS_SCRIPT);
    let (status, out, _) = bench.sysbench("reports.lua --time=2 --report-interval=1 run");
    assert_eq!(status, 0, "{out}");
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
    let bench = LuaBench::maria("lua_early");
    let script = "function thread_init() con = sysbench.sql.driver():connect() con:query('SELECT 2') \
                  con:query('SET @b = 2') end function event() con:query('SELECT 3') end";
    bench.write("early.lua", script);
    let (status, out, _) = bench.sysbench("early.lua --threads=4 --events=12 --time=0 run");
    assert_eq!(status, 0, "{out}");
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
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
    let bench = LuaBench::maria("lua_own_last");
    bench.write("own.lua", JSON_REPORTS_SCRIPT);
    let (status, out, _) = bench.sysbench("own.lua --time=2 --events=0 --report-interval=1 run");
    assert_eq!(status, 0, "{out}");
    let tail = "\n  }\n]\nerrors events latency_avg latency_max latency_min latency_pct latency_sum other reads \
                reconnects threads_running time_interval time_total writes\nsysbench 1.0.20\n";
    out.assert_ends_with(tail);
    assert_eq!(out.matches("\n]\n").count(), 1, "{out}");
}

#[test]
fn errors_of_scripts_are_printed_as_sysbench_prints_them() {
    let bench = LuaBench::maria("lua_bad");
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
        let (status, out, _) = bench.sysbench("./bad.lua --threads=16 --time=10 run");
        assert_eq!(status, 1);
        out.assert_ends_with(expected);
    }
    // An error in thread_done does not suppress the report.
    bench.write(
        "late.lua",
        "function event() end function thread_done() error('late') end function done() print('all') end",
    );
    for arguments in ["--events=10 --time=0", "--events=0 --time=1"] {
        let (status, out, _) = bench.sysbench(&format!("./late.lua --threads=2 {arguments} run"));
        assert_eq!(status, 0, "{out}");
        let expected = "Threads started!\n\nFATAL: `thread_done' function failed: ./late.lua:1: late\n\
                    (last message repeated 1 times)\n";
        out.assert_contains(expected).assert_ends_with("all\n");
        out.assert_contains("Threads fairness:");
    }
    bench.write("loop.lua", "function event()\n  while true do end\nend");
    let time_limit = [("PRONY_LUA_PATIENCE", "1")];
    let (status, out, _) = bench.sysbench_with("./loop.lua run", &time_limit);
    assert_eq!(status, 1);
    out.assert_ends_with("failed: ./loop.lua:2: the script has run too long without making a request; is this an infinite \
             loop? The limit is PRONY_LUA_PATIENCE, in seconds\n");
    let time_limit = [("PRONY_LUA_PATIENCE", "3")];
    let (status, out, err) = bench.sysbench_with("./loop.lua --time=1 run", &time_limit);
    assert_eq!(status, 1, "{out}");
    let awaited = "the time is over; waiting for calls of event() to return: a statement at ";
    format!("{out}{err}").assert_contains(awaited);
    bench.write(
        "grow.lua",
        "function event()\n  local t = {} while true do t[#t + 1] = {} end\nend",
    );
    let limits = [("PRONY_LUA_MEMORY", "32"), ("PRONY_LUA_PATIENCE", "600")];
    let (status, out, _) = bench.sysbench_with("./grow.lua run", &limits);
    assert_eq!(status, 1);
    out.assert_ends_with(
        "not enough memory: a state of the script may use 32 MiB (PRONY_LUA_MEMORY)\n",
    );
    let (status, _, err) = bench.sysbench("./grow.lua nosuch");
    assert_eq!((status, err.as_str()), (1, "Unknown command: nosuch\n"));
    let (status, _, err) = bench.sysbench("./grow.lua cleanup");
    let missing = "'grow.lua' test does not implement the 'cleanup' command.\n";
    assert_eq!((status, err.as_str()), (1, missing));
}

#[test]
fn the_first_signal_ends_a_script_in_an_endless_loop() {
    let bench = LuaBench::maria("lua_signal");
    bench.write(
        "loop.lua",
        "function event() pcall(function() while true do end end) while true do end end",
    );
    // Without the signal, the script would run for a day.
    let mut child = bench
        .command(
            "./loop.lua --threads=3 run",
            &[("PRONY_LUA_PATIENCE", "86400")],
        )
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut printed = String::new();
    while !printed.ends_with("Threads started!\n") {
        assert!(out.read_line(&mut printed).expect("text") > 0, "{printed}");
    }
    let kill = Command::new("kill").arg(child.id().to_string()).status();
    assert!(kill.expect("kill").success());
    let (sender, receiver) = std::sync::mpsc::channel();
    let id = child.id().to_string();
    std::thread::spawn(move || {
        let mut output = String::new();
        let read = out.read_to_string(&mut output);
        let _ = sender.send(read.map(|_| output));
    });
    let output = receiver.recv_timeout(Duration::from_secs(60));
    if output.is_err() {
        // A second signal ends the program in any case.
        let _ = Command::new("kill").arg(&id).status();
    }
    let status = child.wait().expect("it ends");
    let output = output.expect("it ends within a minute").expect("text");
    output.assert_lacks("FATAL");
    assert_eq!(status.signal(), Some(15));
}

#[test]
fn a_run_with_a_script_that_cannot_be_interrupted_is_stored() {
    let bench = LuaBench::maria("lua_stuck");
    bench.write(
        "stuck.lua",
        "ffi.cdef('int pause(void); int usleep(unsigned);')\nlocal n = 0\nfunction event()\n  n = n + 1\n  \
         ffi.C.usleep(10000)\n  if n > 300 then ffi.C.pause() end\nend",
    );
    let time_limit = [("PRONY_LUA_PATIENCE", "3")];
    let (status, out, _) = bench.sysbench_with("./stuck.lua --time=0 --events=0 run", &time_limit);
    assert_eq!(status, 1, "{out}");
    out.assert_ends_with("FATAL: a script has run too long without making a request, and cannot be interrupted; the limit is \
             PRONY_LUA_PATIENCE, in seconds\n");
    assert_eq!(bench.stored_extensions(), ["json"]);
    bench.write(
        "early.lua",
        "ffi.cdef('int pause(void);')\nfunction thread_init() ffi.C.pause() end\nfunction event() end",
    );
    let (status, out, _) = bench.sysbench_with("./early.lua run", &time_limit);
    assert_eq!(status, 1, "{out}");
    // A run that did not start is not stored.
    assert_eq!(bench.stored_extensions(), ["json"]);
}

#[test]
fn the_hot_row_of_the_white_paper_runs() {
    let bench = LuaBench::maria("lua_hot");
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../workload/tests/whole/lua/scripts/hot.lua");
    let script = std::fs::read_to_string(script).expect("a script of the tests");
    let arguments =
        "--oltp-tables-count=1 --oltp-table-size=100 --num-threads=2 --max-requests=0 --max-time=1";
    for (name, pattern) in [("with.lua", "\"(.*/)\""), ("as-printed.lua", "\"(.*)\"")] {
        bench.write(name, &script.replace("\"(.*/)\"", pattern));
        let test = format!("--test={}/{name} {arguments}", bench.home.display());
        if name == "with.lua" {
            let (status, out, _) = bench.sysbench(&format!("{test} prepare"));
            assert_eq!(status, 0, "{out}");
        }
        let (status, out, err) = bench.sysbench(&format!("{test} run"));
        assert_eq!(status, 0, "{out}{err}");
        err.assert_contains("the --test option is deprecated");
        out.assert_contains("    transactions:  ");
    }
}
