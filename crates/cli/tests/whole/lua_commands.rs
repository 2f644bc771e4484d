//! Commands and other blocking calls of sysbench scripts, in threads that share a worker and in those that do not.

use crate::common::*;
use crate::lua_connections::without_server;
use crate::sysbench::Sysbench;

#[test]
fn a_script_that_blocks_its_thread_gets_one_warning() {
    let bench = without_server();
    bench.write(
        "waits.lua",
        // The call is assembled at run time, so that Prony cannot detect it in advance.
        "local start = io['pop' .. 'en']\nfunction event() start('sleep 0.8'):close() end",
    );
    let expected = "prony: the script ran for at least 0.1 s without a database query (io.popen";
    // More users than workers on any machine.
    let blocks = bench.sysbench("./waits.lua --threads=64 --events=3 --time=0 run");
    let (_, err) = blocks.texts(0);
    assert_eq!(err.matches(expected).count(), 1, "{err}");
    let alone = bench.sysbench("./waits.lua --threads=1 --events=2 --time=0 run");
    assert_eq!(alone.texts(0).1, "");
}

/// `init` calls LuaJIT's own `os.execute`; in threads the commands run beside the worker.
#[test]
fn commands_return_what_luajit_returns() {
    let bench = without_server();
    bench.write(
        "commands.lua",
        "local function try(name)
            print(name, os.execute('exit 3'), os.execute('kill -9 $$'), os.execute(404), os.execute() ~= 0,
                  (pcall(os.execute, {})))
         end
         function init() try('main') end
         function thread_init() try('begin') end
         function event() try('event') end
         function thread_done() try('end') end",
    );
    let lines = |options: &str, name: &str| {
        let out = bench.ok(&format!("./commands.lua {options} run"));
        out.matches(&format!("{name}\t768\t9\t32512\ttrue\tfalse\n"))
            .count()
    };
    for (name, count) in [("main", 1), ("begin", 3), ("event", 2), ("end", 3)] {
        assert_eq!(
            lines("--threads=3 --events=2 --time=0", name),
            count,
            "{name}"
        );
    }
    // Threads that wait for a start when the time is over run `thread_done` too.
    assert_eq!(lines("--threads=3 --rate=1 --time=1", "end"), 3);
}

/// Each thread executes a process that waits at most a minute until all threads have done so.
const WAIT_FOR_THREADS_SCRIPT: &str = r#"
local folder = "together"
function thread_init() con = sysbench.sql.driver():connect() end
function event(id)
    local wait = "mkdir -p %s; : >%s/%d; for i in $(seq 600); do [ $(ls %s | wc -l) -ge 40 ] && exit 0; sleep 0.1; done; exit 1"
    assert(os.execute(wait:format(folder, folder, id, folder)) == 0, "a thread waited for another one")
    con:query("SELECT 1")
    return true
end
"#;

#[test]
fn commands_of_threads_that_share_a_worker_run_in_parallel() {
    let bench = Sysbench::maria("api_together");
    bench.write("together.lua", WAIT_FOR_THREADS_SCRIPT);
    let arguments = "together.lua --threads=40 --events=0 --time=0 run";
    let (_, err) = bench
        .sysbench_with(arguments, &[("PRONY_LUA_PATIENCE", "600")])
        .texts(0);
    err.assert_lacks("had to wait");
}
