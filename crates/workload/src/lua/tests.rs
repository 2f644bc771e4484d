//! The API in a state without a loop.

use super::listener::{Listener, SqlFailure};
use super::script::Script;
use super::settings::{Given, Random, Settings, Value};
use super::{Command, Refused, bundled, search_path};
use crate::oltp::distribution::Distribution;
use crate::sysbench::{Driver, Ignored};
use std::sync::{Arc, Mutex};

/// Keeps what scripts write.
#[derive(Default)]
struct Heard(Mutex<String>);

impl Heard {
    fn say(&self, text: &str) {
        self.0.lock().expect("whole").push_str(text);
    }
}

impl Listener for Heard {
    fn shown(&self, text: &[u8]) {
        self.say(&String::from_utf8_lossy(text));
    }
    fn unreachable(&self, lines: &str) {
        self.say(lines);
    }
    fn refused(&self, error: &prony_server::control::Error) {
        self.say(&error.to_string());
    }
    fn kept_waiting(&self) {}
    fn fatal(&self, text: &str) {
        self.say(text);
    }
    fn alert(&self, text: &str) {
        self.say(text);
    }
    fn warning(&self, text: &str) {
        self.say(text);
    }
    fn sql_failed(&self, failure: &SqlFailure<'_>) {
        self.say(failure.said);
    }
    fn failed(&self, _: &str, reason: &str) {
        self.say(reason);
    }
    fn done_failed(&self, reason: &str) {
        self.say(reason);
    }
    fn stuck(&self, reason: &str) {
        self.say(reason);
    }
}

fn settings(text: &str, options: &[(&str, &str)], heard: &Arc<Heard>) -> Settings {
    let given = options.iter().map(|(name, value)| Given {
        name: (*name).to_owned(),
        value: Some((*value).to_owned()),
        shown: format!("--{name}={value}"),
        from_file: false,
    });
    Settings {
        text: text.as_bytes().to_vec(),
        path: "./unit.lua".to_owned(),
        newer: false,
        version: "1.0.20".to_owned(),
        version_string: "sysbench 1.0.20".to_owned(),
        argv: vec!["sysbench".to_owned(), "./unit.lua".to_owned()],
        command: Some("run".to_owned()),
        general: vec![("threads".to_owned(), Value::Number(1.0))],
        given: given.collect(),
        threads: 1,
        driver: Driver::Mysql,
        server: None,
        mode: prony_plan::QueryMode::Prepared,
        no_driver: None,
        no_server: None,
        ignored: Ignored::Codes(Vec::new()),
        random: Random {
            default: Distribution::Uniform,
            iterations: 12,
            part_pct: 1,
            share_pct: 75,
            pareto_h: 0.2,
            zipfian_exponent: 0.8,
        },
        search_path: search_path(None, None),
        c_search_path: None,
        memory_limit_bytes: Settings::MEMORY_LIMIT_BYTES,
        patience_s: Settings::PATIENCE_S,
        end: Arc::default(),
        listener: Arc::clone(heard) as Arc<dyn Listener>,
    }
}

fn opened(text: &str, options: &[(&str, &str)]) -> (Result<Script, Refused>, String) {
    let heard = Arc::new(Heard::default());
    let script = Script::open(settings(text, options, &heard));
    let said = heard.0.lock().expect("whole").clone();
    (script, said)
}

/// What a script prints while it is read.
fn printed(text: &str) -> String {
    let (script, said) = opened(text, &[]);
    if let Err(refused) = script {
        panic!("{refused}\n{said}");
    }
    said
}

#[test]
fn options_are_read_by_their_sort() {
    let declared = r#"
        local c = sysbench.cmdline
        c.options = {
            size = { "", "1k", c.ARG_SIZE }, double = { "", 1.5 }, list = { "", {} }, text = { "" },
            on = { "", false }, int = { "", 1, c.ARG_INT }, checked = { "", 1, nil, function(x) return x * 2 end },
        }
        function init()
            local o = sysbench.opt
            print(o.size, o.double, table.concat(o.list, "+"), o.text, o.on, o.int, o.checked, o.threads)
        end
    "#;
    let of = |options: &[(&str, &str)]| {
        let heard = Arc::new(Heard::default());
        let script = Script::open(settings(declared, options, &heard));
        script.expect("whole").init().expect("whole");
        heard.0.lock().expect("whole").clone()
    };
    assert_eq!(of(&[]), "1024\t1.5\t\t\tfalse\t1\t1\t1\n");
    let given = [
        ("size", "3M"),
        ("double", "2e1x"),
        ("list", "a,b"),
        ("text", "t"),
        ("on", "TRUE"),
        ("int", " 7"),
        ("checked", "4"),
    ];
    assert_eq!(of(&given), "3145728\t20\ta+b\tt\ttrue\t7\t8\t1\n");
}

#[test]
fn words_of_the_command_line_have_a_meaning() {
    let (script, _) = opened(
        "function prepare() end function help() end \
         sysbench.cmdline.commands = { run = { prepare }, all = { prepare, sysbench.cmdline.PARALLEL_COMMAND } }",
        &[],
    );
    let script = script.expect("whole");
    for (word, meaning) in [
        // A command of the script's own goes before what every script has.
        ("run", Command::Once),
        ("all", Command::Parallel),
        ("prepare", Command::Function),
        ("cleanup", Command::Missing),
        ("help", Command::Help),
        ("nosuch", Command::Unknown),
    ] {
        assert_eq!(script.command(word), Ok(meaning), "{word}");
    }
}

#[test]
fn modules_are_found_on_the_path_and_among_the_bundled() {
    let said = printed(
        r#"
        local ok, problem = pcall(require, "no.such")
        print(ok, problem:match("no file '%./no/such%.lua'") ~= nil)
        package.preload.mine = function(name) return name .. "!" end
        print(require("mine"), require("mine"), package.loaded.mine)
        package.preload.bad = function() error("bad", 0) end
        print(pcall(require, "bad"))
        require("oltp_common")
        print(type(cmd_prepare), sysbench.cmdline.options.table_size[2], package.loaded.oltp_common)
        local chunk = loadfile("/no/where/common.lua")
        print(type(chunk), loadfile("/no/where/other.lua"))
        dofile("/some/hot.luacommon.lua")
        set_vars()
        print(oltp_tables_count, type(create_insert))
        "#,
    );
    assert_eq!(
        said,
        "false\ttrue\nmine!\tmine!\tmine!\nfalse\tbad\nfunction\t10000\ttrue\n\
         function\tnil\tcannot open /no/where/other.lua: No such file or directory\n1\tfunction\n"
    );
}

#[test]
fn coroutines_of_a_script_are_as_lua_has_them() {
    let said = printed(
        r#"
        local co = coroutine.create(function(a, b)
            local c = coroutine.yield(a + b)
            local d, e = coroutine.yield(c * 2)
            return d, e
        end)
        print(coroutine.resume(co, 1, 2))
        print(coroutine.status(co), coroutine.resume(co, 10))
        print(coroutine.resume(co, "x", nil))
        print(coroutine.status(co), coroutine.resume(co))
        print(pcall(coroutine.wrap(function() error("inside", 0) end)))
        print(coroutine.running(), pcall(coroutine.yield), pcall(coroutine.resume, 1))
        "#,
    );
    assert_eq!(
        said,
        "true\t3\nsuspended\ttrue\t20\ntrue\tx\tnil\ndead\tfalse\tcannot resume dead coroutine\n\
         false\tinside\nnil\tfalse\tfalse\tbad argument #1 to 'resume' (coroutine expected)\n"
    );
}

#[test]
fn ready_made_reports_are_in_sysbench_form() {
    let said = printed(
        r#"
        local stat = {
            threads_running = 2, time_interval = 2, time_total = 10, latency_pct = 0.0123, events = 10, reads = 20,
            writes = 5, other = 3, errors = 1, reconnects = 0,
        }
        sysbench.opt = { percentile = 95 }
        sysbench.report_default(stat)
        sysbench.report_csv(stat)
        sysbench.report_json(stat)
        "#,
    );
    assert!(
        said.starts_with(
            "[ 10s ] thds: 2 tps: 5.00 qps: 14.00 (r/w/o: 10.00/2.50/1.50) lat (ms,95%): 12.30 err/s 0.50 \
             reconn/s: 0.00\n10,2,5.00,14.00,10.00,2.50,1.50,12.30,0.50,0.00\n[\n  {\n    \"time\":   10,\n"
        ),
        "{said}"
    );
}

#[test]
fn a_user_of_the_same_seed_draws_the_same() {
    let draws = "print(sysbench.rand.uniform(1, 1e6), sysbench.rand.string('####@@@@'), sysbench.rand.unique())";
    assert_eq!(printed(draws), printed(draws));
    let said = printed("for i = 1, 2000 do io.write(sysbench.rand.string('#@'), ' ') end");
    let pairs: Vec<&[u8]> = said.split(' ').map(str::as_bytes).collect();
    for digit in b'0'..=b'9' {
        assert!(pairs.iter().any(|pair| pair.first() == Some(&digit)));
    }
    for letter in b'a'..=b'z' {
        assert!(pairs.iter().any(|pair| pair.get(1) == Some(&letter)));
    }
}

#[test]
fn all_bundled_scripts_can_be_read() {
    for name in [
        "oltp_read_write",
        "oltp_read_only",
        "oltp_write_only",
        "oltp_point_select",
        "oltp_insert",
        "oltp_delete",
        "oltp_update_index",
        "oltp_update_non_index",
        "select_random_points",
        "select_random_ranges",
        "bulk_insert",
    ] {
        let text = bundled::text(name).expect(name);
        let (script, said) = opened(text, &[]);
        let script = script.unwrap_or_else(|refused| panic!("{name}: {refused} {said}"));
        assert_eq!(script.command("run"), Ok(Command::Run), "{name}");
        assert!(script.init().is_ok(), "{name}");
    }
    // The library is none that can be run.
    let (script, _) = opened("require('oltp_common')", &[]);
    let refused = script.expect("whole").init();
    assert!(
        matches!(&refused, Err(Refused::Function { function, reason }) if function == "init"
            && reason.contains("oltp_common is a library")),
        "{refused:?}"
    );
}
