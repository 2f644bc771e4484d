//! sysbench's Lua API: results and output of scripts equal those of sysbench 1.0.20.

use crate::common::*;
use crate::sysbench::Sysbench;

const VERSION_LINES: &str = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\n";

/// Asserts the exit code of a command, and its output after the version line.
#[track_caller]
fn assert_prints(bench: &Sysbench, arguments: &str, status: i32, text: &str) {
    let out = bench.sysbench(arguments).failed_stdout(status);
    let printed = out.strip_prefix(VERSION_LINES).unwrap_or(&out);
    assert_eq!(printed, text, "{arguments}");
}

const OPTIONS_SCRIPT: &str = r#"
local A = sysbench.cmdline
sysbench.cmdline.options = {
    ["my-opt"] = {"With a dash", 5}, flag = {"", nil, A.ARG_BOOL}, num = {"", nil, A.ARG_INT},
    real = {"", nil, A.ARG_DOUBLE}, size = {"", nil, A.ARG_SIZE}, list = {"", nil, A.ARG_LIST},
    text = {"", nil, A.ARG_STRING}, file = {"", nil, A.ARG_FILE}, plain = {""},
}
function prepare()
    local o, all = sysbench.opt, {}
    for _, name in ipairs({ "my_opt", "my-opt", "flag", "num", "real", "size", "text", "file", "plain" }) do
        all[#all + 1] = tostring(o[name])
    end
    print(table.concat(all, "|") .. "|" .. table.concat(o.list, "+") .. "|" .. #o.list)
end
"#;

#[test]
fn options_of_a_script_have_values_of_their_type() {
    let bench = Sysbench::maria("api_options");
    bench.write("options.lua", OPTIONS_SCRIPT);
    let defaults = "5|nil|true|0|0|0||nil|||0\n";
    assert_prints(&bench, "options.lua prepare", 0, defaults);
    let all_options =
        "--my-opt=9 --flag=off --num=4 --real=2.5 --size=3K --list=a,b --text=x --plain=y";
    let expected = "9|nil|false|4|2.5|3072|x|nil|y|a+b|2\n";
    assert_prints(
        &bench,
        &format!("options.lua {all_options} prepare"),
        0,
        expected,
    );
    assert_prints(
        &bench,
        "options.lua --my_opt=7 prepare",
        0,
        "7|nil|true|0|0|0||nil|||0\n",
    );
    // The help shows the script name as given on the command line, with or without its extension.
    let out = bench.sysbench("options help").stdout;
    out.assert_contains("options options:\n  --file=FILENAME");
}

const COMMANDS_SCRIPT: &str = r#"
print("read", sysbench.tid)
local function say() print("carried out", sysbench.tid) end
function prepare() say() end
function help() print("the script's help") end
function cleanup() error("no") end
function event() end
function done() error("late") end
sysbench.cmdline.commands = {
    one = { say }, all = { say, sysbench.cmdline.PARALLEL_COMMAND }, fails = { function() return false end },
    gives_up = { function() error("no") end },
}
"#;

#[test]
fn commands_run_in_the_lua_state_that_read_the_script() {
    let bench = Sysbench::maria("api_commands");
    bench.write("mine.lua", COMMANDS_SCRIPT);
    for command in ["prepare", "one"] {
        let expected = "read\t0\ncarried out\t0\n";
        assert_prints(&bench, &format!("mine.lua {command}"), 0, expected);
    }
    assert_prints(&bench, "mine.lua help", 0, "read\t0\nthe script's help\n");
    assert_prints(&bench, "mine.lua fails", 1, "read\t0\n");
    bench.write("helpless.lua", "function help() error('no') end\n");
    let failed = "FATAL: `help' function failed: ./helpless.lua:1: no\n";
    assert_prints(&bench, "./helpless.lua help", 0, failed);
    let failed = "read\t0\nFATAL: `cleanup' function failed: ./mine.lua:6: no\n";
    assert_prints(&bench, "./mine.lua cleanup", 1, failed);
    let failed =
        "read\t0\nFATAL: `sysbench.cmdline.call_command' function failed: mine.lua:11: no\n";
    assert_prints(&bench, "mine.lua gives_up", 1, failed);
    assert_prints(&bench, "mine.lua all", 0, "read\t0\ncarried out\t0\n");
    let out = bench.ok("mine.lua --threads=3 all");
    let count = |text: &str| out.matches(text).count();
    assert_eq!((count("read\t"), count("carried out\t")), (4, 3), "{out}");
    // An error in done() does not fail the run, because its figures were reported.
    let out = bench.ok("mine.lua --events=1 run");
    out.assert_ends_with("FATAL: `done' function failed: mine.lua:8: late\n");
    assert_eq!(out.matches("read\t0\n").count(), 2, "{out}");
    // A module's name is reported as it was typed.
    bench.write("empty.lua", "");
    let missing_event = "FATAL: cannot find the event() function in empty\n";
    assert_prints(&bench, "empty run", 1, missing_event);
}

#[test]
fn each_failing_hook_is_reported() {
    let bench = Sysbench::maria("api_hooks");
    bench.write(
        "hooks.lua",
        "sysbench.hooks.report_intermediate = function() error('one') end\n\
         sysbench.hooks.report_cumulative = function() error(from_init) end\n\
         function init() from_init = 'two' end\nfunction event() end",
    );
    let arguments = "hooks.lua --time=3 --events=0 --report-interval=1 run";
    let out = bench.ok(arguments);
    let (_, report) = out.split_once("Threads started!\n\n").expect(&out);
    let first_error =
        "FATAL: `report_intermediate' function failed: hooks.lua:1: one\n(last message repeated ";
    assert!(report.starts_with(first_error), "{out}");
    // report_cumulative runs in the Lua state that executed init().
    let last_error = " times)\nFATAL: `report_cumulative' function failed: hooks.lua:2: two\n";
    assert!(report.ends_with(last_error), "{out}");
    // The title of a checkpoint is printed for scripts' own report functions too.
    bench.write(
        "check.lua",
        "sysbench.hooks.report_cumulative = function(stat) print('mine', stat.threads_running) end\n\
         function event() end",
    );
    let arguments = "check.lua --time=2 --events=0 --report-checkpoints=1 run";
    let out = bench.sysbench(arguments).stdout;
    let expected = "Threads started!\n\n[ 1s ] Checkpoint report:\nmine\t1\nmine\t0\n";
    out.assert_ends_with(expected);
}

const CLOSED_SCRIPT: &str = r#"
local function try(...) print(select(2, pcall(...))) end
function prepare()
    local con = sysbench.sql.driver():connect()
    local rs = con:query("SELECT 1 UNION SELECT 2")
    print(rs:free())
    try(rs.fetch_row, rs)
    try(rs.free, rs)
    local st = con:prepare("SELECT ?")
    for _, kind in ipairs({ "DATE", "TIME", "DATETIME", "TIMESTAMP", "VARCHAR" }) do
        try(st.bind_create, st, sysbench.sql.type[kind], 10)
    end
    print(con:disconnect(), con:disconnect())
    try(con.query, con, "SELECT 1")
    try(con.prepare, con, "SELECT 1")
    print(con:bulk_insert_init("INSERT INTO t VALUES"))
    print(st:close())
    con = sysbench.sql.driver():connect()
    try(con.bulk_insert_next, con, "(1)")
    print(con:bulk_insert_init("INSERT INTO nosuch VALUES"), con:bulk_insert_next("(1)"))
    try(con.bulk_insert_done, con)
end
"#;

#[test]
fn using_a_closed_connection_prints_an_alert() {
    for (bench, failed) in [
        (
            Sysbench::maria("api_closed"),
            "FATAL: mysql_drv_query() returned error 1146 (Table 'api_closed.nosuch' doesn't exist) for query \
             'INSERT INTO nosuch VALUES(1)'\n",
        ),
        (
            Sysbench::postgres("api_closed_pg"),
            "FATAL: PQexec() failed: 7 relation \"nosuch\" does not exist\n\
             FATAL: failed query was: INSERT INTO nosuch VALUES(1)\n",
        ),
    ] {
        bench.write("closed.lua", CLOSED_SCRIPT);
        let expected = "true\tdb_free_results() failed\n\
                    ALERT: attempt to fetch row from an invalid result set\nnil\n\
                    ALERT: attempt to free an invalid result set\ndb_free_results() failed\n\
                    Unsupported argument type: 8\nUnsupported argument type: 7\nUnsupported argument type: 9\n\
                    Unsupported argument type: 10\n<sql_param>\n\
                    ALERT: attempt to close an already closed connection\ntrue\ttrue\n\
                    ALERT: attempt to use an already closed connection\n\
                    closed.lua:2: SQL API error\nSQL API error\ntrue\tdb_bulk_insert_init() failed\n0\n(last message repeated 3 times)\n\
                    ALERT: attempt to call bulk_insert_next() before bulk_insert_init()\n\
                    db_bulk_insert_next() failed\ntrue\ttrue\tdb_bulk_insert_next() failed\n";
        let expected = format!("{expected}{failed}db_bulk_insert_done() failed\n");
        let out = bench.ok("closed.lua prepare");
        let out = out.strip_prefix(VERSION_LINES).expect("the version");
        assert_eq!(out, expected);
    }
}

#[test]
fn legacy_calls_match_sysbench() {
    let bench = Sysbench::maria("api_legacy");
    let script = r#"
        function prepare()
            print("query", db_query("CREATE TABLE t(a INT)"))
            print("update", db_query("UPDATE t SET a = 1"))
            print("select", db_query("SELECT 1"))
            print("bulk", db_bulk_insert_init("INSERT INTO t VALUES"))
            db_bulk_insert_next("(1)")
            print("done", db_bulk_insert_done())
            print(pcall(db_query, "SELECT * FROM nosuch"))
            print(pcall(db_prepare, "SELECT * FROM nosuch"))
            db_bulk_insert_init("INSERT INTO nosuch VALUES")
            db_bulk_insert_next("(1)")
            print(pcall(db_bulk_insert_done))
            local seen, twice = {}, 0
            for i = 1, 20000 do
                local number = sb_rand_uniq(1, 20000)
                twice = twice + (seen[number] and 1 or 0)
                seen[number] = true
            end
            print("twice", twice, #seen, sysbench.db.query == db_query)
            db_query("SELECT * FROM nosuch")
        end
    "#;
    bench.write("legacy.lua", script);
    let unknown = "Table 'api_legacy.nosuch' doesn't exist";
    let failed = format!(
        "FATAL: mysql_drv_query() returned error 1146 ({unknown}) for query 'SELECT * FROM nosuch'\n"
    );
    let expected = format!(
        "query\nupdate\nselect\nbulk\ndone\n{failed}false\tdb_query() failed\n\
         FATAL: mysql_stmt_prepare() failed\nFATAL: MySQL error: 1146 \"{unknown}\"\n\
         false\tdb_prepare() failed\n\
         FATAL: mysql_drv_query() returned error 1146 (Table 'api_legacy.nosuch' doesn't exist) for query \
         'INSERT INTO nosuch VALUES(1)'\ntrue\ntwice\t0\t20000\ttrue\n\
         {failed}FATAL: `prepare' function failed: legacy.lua:21: db_query() failed\n"
    );
    assert_prints(&bench, "legacy.lua prepare", 1, &expected);
}

#[test]
fn errors_of_text_protocol_statements_show_the_statement() {
    let script = "function thread_init() con = sysbench.sql.driver():connect()\n\
         st = con:prepare('SELECT * FROM nosuch WHERE a=? AND b=?')\n\
         a, b = st:bind_create(sysbench.sql.type.INT), st:bind_create(sysbench.sql.type.CHAR, 9)\n\
         st:bind_param(a, b) a:set(3) b:set('x') end\nfunction event() st:execute() end";
    for (bench, expected) in [
        (
            Sysbench::maria("api_text"),
            "FATAL: mysql_drv_query() returned error 1146 (Table 'api_text.nosuch' doesn't exist) for query \
             'SELECT * FROM nosuch WHERE a=3 AND b='x''\n",
        ),
        (
            Sysbench::postgres("api_text_pg"),
            "FATAL: PQexec() failed: 7 relation \"nosuch\" does not exist\n\
             FATAL: failed query was: SELECT * FROM nosuch WHERE a=3 AND b='x'\n",
        ),
    ] {
        bench.write("text.lua", script);
        let out = bench.failed("text.lua --db-ps-mode=disable run");
        out.assert_contains(&format!("{expected}FATAL: `thread_run'"));
    }
}

#[test]
fn output_of_bundled_tests_ignores_verbosity() {
    let bench = Sysbench::maria("api_quiet");
    let size = "--verbosity=1 --table-size=10 oltp_read_write";
    assert_prints(
        &bench,
        &format!("{size} prepare"),
        0,
        "Creating table 'sbtest1'...\nInserting 10 records into 'sbtest1'\n\
         Creating a secondary index on 'sbtest1'...\n",
    );
    assert_prints(
        &bench,
        &format!("{size} cleanup"),
        0,
        "Dropping table 'sbtest1'...\n",
    );
}

#[test]
fn a_table_keeps_its_comment_option() {
    let bench = Sysbench::maria("api_comment");
    let version_1_1 = [("PRONY_SYSBENCH_COMPAT", "1.1")];
    let arguments = "--table-size=10 --tables=2 oltp_read_only";
    let prepare = format!("--create-table-options=COMMENT='foo' {arguments} prepare");
    bench.sysbench_with(&prepare, &version_1_1).ok_stdout();
    let sql = "select group_concat(distinct table_comment) from information_schema.tables \
               where table_schema = 'api_comment'";
    let rows = connect(&shared_mariadb().url()).query(sql).expect("rows");
    assert_eq!(rows, [[Some("foo".to_owned())]]);
    // The number of loaded rows is recognised, so no warning is printed.
    let run = format!("--events=5 {arguments} run");
    let (_, err) = bench.sysbench_with(&run, &version_1_1).texts(0);
    assert_eq!(err, "");
}

#[test]
fn version_1_1_has_additional_output_and_functions() {
    let bench = Sysbench::maria("api_newer");
    let run = |arguments: &str| bench.sysbench_with(arguments, &[("PRONY_SYSBENCH_COMPAT", "1.1")]);
    bench.write("empty.lua", "function event() end");
    let out = run("empty.lua --time=1 --warmup-time=1 run").ok_stdout();
    out.assert_contains("Threads started!\n\nWarming up for 1 seconds...\n\n\nThroughput:\n");
    let out = run("empty.lua --warmup-time=-1 run").stdout;
    out.assert_ends_with("FATAL: Invalid value for --warmup-time: -1.\n\n");
    bench.write("jit.lua", "print('jit', (jit.status()))");
    for (command, is_on) in [("off", false), ("on", true)] {
        let out = run(&format!("--luajit-cmd={command} jit.lua")).stdout;
        out.assert_ends_with(&format!("jit\t{is_on}\n"));
    }
    let out = run("--luajit-cmd=bogus jit.lua").failed_stdout(1);
    let expected = "unknown luaJIT command or jit.* modules not installed\n";
    out.assert_ends_with(expected).assert_lacks("jit.bogus");
    bench.write(
        "call.lua",
        "function prepare() local con = sysbench.sql.driver():connect()\n\
         con:query('CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END')\n\
         local rs = con:query('CALL p()') print(rs:fetch_row()[1])\n\
         rs = con:next_result() print(rs:fetch_row()[1])\n\
         print(con:more_results(), con:next_result(), con:more_results(), con:next_result())\n\
         print(con:query_row('SELECT 7')) end",
    );
    let out = run("call.lua prepare").ok_stdout();
    out.assert_ends_with("\n\n1\n2\ntrue\tnil\tfalse\tnil\n7\n");
}
