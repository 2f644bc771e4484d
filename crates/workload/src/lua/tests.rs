//! Tests of sysbench's Lua API without an event loop.

use super::listener::{Listener, SqlFailure};
use super::script::LuaScript;
use super::settings::{RandomSettings, ScriptOption, ScriptSettings};
use super::{Command, LuaScriptError, bundled};
use crate::oltp::distribution::Distribution;
use crate::sysbench::Driver;
use prony_assertions::TextAssertions;
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Recorder(Mutex<String>);

impl Recorder {
    fn record(&self, text: &str) {
        self.0.lock().expect("one thread").push_str(text);
    }
}

impl Listener for Recorder {
    fn output(&self, text: &[u8]) {
        self.record(&String::from_utf8_lossy(text));
    }
    fn server_unavailable(&self, lines: &str) {
        self.record(lines);
    }
    fn connection_refused(&self, error: &prony_server::control::Error) {
        self.record(&error.to_string());
    }
    fn thread_blocked(&self) {}
    fn fatal(&self, text: &str) {
        self.record(text);
    }
    fn alert(&self, text: &str) {
        self.record(text);
    }
    fn warning(&self, text: &str) {
        self.record(text);
    }
    fn sql_failed(&self, failure: &SqlFailure<'_>) {
        self.record(failure.message);
    }
    fn function_failed(&self, _: &str, reason: &str) {
        self.record(reason);
    }
    fn thread_done_failed(&self, reason: &str) {
        self.record(reason);
    }
    fn script_stuck(&self, reason: &str) {
        self.record(reason);
    }
}

fn settings(text: &str, options: &[(&str, &str)], recorder: &Arc<Recorder>) -> ScriptSettings {
    let script_options = options.iter().map(|(name, value)| ScriptOption {
        name: (*name).to_owned(),
        value: Some((*value).to_owned()),
        display_text: format!("--{name}={value}"),
        is_from_file: false,
    });
    let listener = Arc::clone(recorder) as Arc<dyn Listener>;
    ScriptSettings {
        script_options: script_options.collect(),
        random: RandomSettings {
            default_distribution: Distribution::Uniform,
            ..RandomSettings::default()
        },
        ..ScriptSettings::new("./unit.lua", text.into(), Driver::Mysql, listener)
    }
}

fn open_script(
    text: &str,
    options: &[(&str, &str)],
) -> (Result<LuaScript, LuaScriptError>, String) {
    let recorder = Arc::new(Recorder::default());
    let script = LuaScript::open(settings(text, options, &recorder));
    let output = recorder.0.lock().expect("one thread").clone();
    (script, output)
}

/// Returns what a script prints while it is read.
fn output_of(text: &str) -> String {
    let (script, output) = open_script(text, &[]);
    if let Err(error) = script {
        panic!("{error}\n{output}");
    }
    output
}

#[test]
fn options_are_converted_to_their_type() {
    let script_text = r#"
        local c = sysbench.cmdline
        c.options = {
            size = { "", "1k", c.ARG_SIZE }, double = { "", 1.5 }, list = { "", {} }, text = { "" },
            on = { "", false }, int = { "", 1, c.ARG_INT },
            checked = { "", 1, nil, function(name, text) return name == "checked" and text == "4" end },
        }
        function init()
            local o = sysbench.opt
            print(o.size, o.double, table.concat(o.list, "+"), o.text, o.on, o.int, o.checked, o.threads)
        end
    "#;
    let output_with = |options: &[(&str, &str)]| {
        let recorder = Arc::new(Recorder::default());
        let script = LuaScript::open(settings(script_text, options, &recorder));
        script
            .expect("a valid script")
            .run_init()
            .expect("a valid script");
        recorder.0.lock().expect("one thread").clone()
    };
    assert_eq!(output_with(&[]), "1024\t1.5\t\t\tfalse\t1\t1\t1\n");
    let changed = [
        ("size", "3M"),
        ("double", "2e1x"),
        ("list", "a,b"),
        ("text", "t"),
        ("on", "TRUE"),
        ("int", " 7"),
        ("checked", "4"),
    ];
    assert_eq!(
        output_with(&changed),
        "3145728\t20\ta+b\tt\ttrue\t7\t4\t1\n"
    );
}

#[test]
fn command_words_are_classified() {
    let (script, _) = open_script(
        "function prepare() end function help() end \
         sysbench.cmdline.commands = { run = { prepare }, all = { prepare, sysbench.cmdline.PARALLEL_COMMAND } }",
        &[],
    );
    let script = script.expect("a valid script");
    for (word, command) in [
        // A command that the script declares takes precedence over the built-in one.
        ("run", Command::Once),
        ("all", Command::Parallel),
        ("prepare", Command::Once),
        ("cleanup", Command::Missing),
        ("help", Command::Help),
        ("nosuch", Command::Unknown),
    ] {
        assert_eq!(script.classify_command(word), Ok(command), "{word}");
    }
}

#[test]
fn modules_are_found_on_the_path_and_among_bundled_scripts() {
    let output = output_of(
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
        -- A path without its last "/" merges with the name (see prelude/files.lua).
        dofile("/some/hot.luacommon.lua")
        set_vars()
        print(oltp_tables_count, type(create_insert))
        "#,
    );
    assert_eq!(
        output,
        "false\ttrue\nmine!\tmine!\tmine!\nfalse\tbad\nfunction\t10000\ttrue\n\
         function\tnil\tcannot open /no/where/other.lua: No such file or directory\n1\tfunction\n"
    );
}

#[test]
fn coroutines_of_scripts_behave_as_in_lua() {
    let output = output_of(
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
        output,
        "true\t3\nsuspended\ttrue\t20\ntrue\tx\tnil\ndead\tfalse\tcannot resume dead coroutine\n\
         false\tinside\nnil\tfalse\tfalse\tbad argument #1 to '?' (coroutine expected)\n"
    );
}

#[test]
fn built_in_reports_have_the_format_of_sysbench() {
    let output = output_of(
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
    output.assert_starts_with("[ 10s ] thds: 2 tps: 5.00 qps: 14.00 (r/w/o: 10.00/2.50/1.50) lat (ms,95%): 12.30 err/s 0.50 \
             reconn/s: 0.00\n10,2,5.00,14.00,10.00,2.50,1.50,12.30,0.50,0.00\n[\n  {\n    \"time\":   10,\n");
}

#[test]
fn users_with_the_same_seed_draw_the_same_numbers() {
    let draw_three = "local rand = sysbench.rand \
                      print(rand.uniform(1, 1e6), rand.string('####@@@@'), rand.unique())";
    assert_eq!(output_of(draw_three), output_of(draw_three));
    let output = output_of("for i = 1, 2000 do io.write(sysbench.rand.string('#@'), ' ') end");
    let pairs: Vec<&[u8]> = output.split(' ').map(str::as_bytes).collect();
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
        let text = bundled::script_text(name).expect(name);
        let (script, output) = open_script(text, &[]);
        let script = script.unwrap_or_else(|error| panic!("{name}: {error} {output}"));
        assert_eq!(script.classify_command("run"), Ok(Command::Run), "{name}");
        assert!(script.run_init().is_ok(), "{name}");
    }
    // oltp_common is a library and cannot be run by itself.
    let (script, _) = open_script("require('oltp_common')", &[]);
    let error = script.expect("a valid script").run_init();
    assert!(
        matches!(&error, Err(LuaScriptError::Function { function, reason }) if function == "init"
            && reason.contains("oltp_common is a library")),
        "{error:?}"
    );
}
