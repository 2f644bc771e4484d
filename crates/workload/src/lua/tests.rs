//! Tests of sysbench's Lua API without an event loop.

use super::listener::{Listener, Report};
use super::script::LuaScript;
use super::settings::{
    LoadedFile, RandomSettings, ScriptOption, ScriptOptionValue, ScriptSettings,
};
use super::{Command, LuaScriptError, bundled};
use crate::oltp::distribution::Distribution;
use crate::sysbench::Driver;
use prony_assertions::{TextAssertions, cases};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Recorder(Mutex<String>);

impl Recorder {
    fn record(&self, text: &str) {
        self.0.lock().expect("one thread").push_str(text);
    }
}

impl Listener for Recorder {
    fn report(&self, report: Report<'_>) {
        match report {
            Report::Output(text) => self.record(&String::from_utf8_lossy(&text)),
            Report::SqlFailed(failure) => self.record(&failure.message),
            Report::ThreadBlocked => {}
            Report::Fatal(text)
            | Report::Alert(text)
            | Report::Warning(text)
            | Report::ServerUnavailable(text)
            | Report::FunctionFailed { reason: text, .. }
            | Report::ThreadDoneFailed(text)
            | Report::Stuck(text) => self.record(&text),
        }
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
    output_with(&changed).assert_equals("3145728\t20\ta+b\tt\ttrue\t7\t4\t1\n");
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
    output.assert_equals(
        "false\ttrue\nmine!\tmine!\tmine!\nfalse\tbad\nfunction\t10000\ttrue\n\
         function\tnil\tcannot open /no/where/other.lua: No such file or directory\n1\tfunction\n",
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
    output.assert_equals(
        "true\t3\nsuspended\ttrue\t20\ntrue\tx\tnil\ndead\tfalse\tcannot resume dead coroutine\n\
         false\tinside\nnil\tfalse\tfalse\tbad argument #1 to '?' (coroutine expected)\n",
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

/// Reads a script as an agent does, with this file among those that it was sent; returns what it prints.
fn output_when_confined(text: &str, file: (&str, &str)) -> String {
    let recorder = Arc::new(Recorder::default());
    let settings = ScriptSettings {
        files: Some(vec![LoadedFile {
            name: file.0.to_owned(),
            text: file.1.into(),
        }]),
        ..settings(text, &[], &recorder)
    };
    if let Err(error) = LuaScript::open(settings) {
        recorder.record(&error.to_string());
    }
    recorder.0.lock().expect("one thread").clone()
}

#[test]
fn a_script_of_another_machine_has_lua_and_the_api_and_nothing_else() {
    let module = "return { add = function(a, b) return a + b end }";
    let works = r#"
        local lib = require("lib")
        ffi = require("ffi")
        ffi.cdef("int usleep(unsigned int); void sb_counter_inc(int, int);")
        io.write(lib.add(1, 2), " ", type(os.time()), " ", tostring(os.getenv("HOME")), "\n")
        print(loadstring("return 4")(), load(function() return nil end) ~= nil, ffi.C.SB_CNT_ERROR, type(sysbench.rand.string))
        print(require("oltp_common") ~= nil, debug.traceback("t"):sub(1, 1), pcall(ffi.C.usleep, 1))
    "#;
    let output = output_when_confined(works, ("lib", module));
    output.assert_equals("3 number nil\n4\ttrue\t4\tfunction\ntrue\tt\ttrue\t0\n");

    for [code, reason] in cases(
        r#"
            \nio.write(1, {}) => :2: bad argument #2 to 'write' (string
            \nio.stdout:write({}) => :2: bad argument #1 to 'write'
            os.execute('true') => agents have no os.execute
            os.exit() => agents have no os.exit
            os.remove('x') => agents have no os.remove
            io.open('/etc/passwd') => agents have no io.open
            io.popen('true') => agents have no io.popen
            io.lines('/etc/passwd') => agents have no io.lines
            dofile('/etc/passwd') => cannot open /etc/passwd
            assert(loadfile('/etc/passwd')) => cannot open /etc/passwd
            require('socket') => module 'socket' not found: agents have the files
            require('jit.util') => module 'jit.util' not found
            package.loadlib('libc.so.6', '*') => agents have no package.loadlib
            debug.getregistry() => agents have no debug.getregistry
            debug.getupvalue(print, 1) => agents have no debug.getupvalue
            require('ffi').new('char[1]') => attempt to call field 'new'
            ffi.C.system('true') => agents call no C functions: system
            ffi.C.sb_rand_str('#', 0) => agents call no C functions
            string.dump(print) => attempt to call field 'dump'
            newproxy(true) => attempt to call global 'newproxy'
            assert(loadstring('\27LJ')) => attempt to load chunk with wrong mode
            assert(load(coroutine.wrap(function() coroutine.yield('\27L') coroutine.yield('J') end)))
                => wrong mode
        "#,
    ) {
        let output = output_when_confined(code, ("lib", module));
        output.assert_contains(reason);
    }
    let compiled = output_when_confined("require('lib')", ("lib", "\u{1b}LJ"));
    compiled.assert_contains("attempt to load a binary chunk");
    output_when_confined("\u{1b}LJ", ("lib", module))
        .assert_contains("agents load no compiled scripts");
}

/// LuaJIT passes such a value to functions in C as an address.
#[test]
fn a_value_with_a_length_of_its_own_is_no_text() {
    let script = r#"
        local long = newproxy(true)
        getmetatable(long).__len = function() return 3000 end
        print(pcall(sysbench.rand.string, long))
        string.rep = function() return long end
        print(pcall(sysbench.rand.string, long))
    "#;
    let recorder = Arc::new(Recorder::default());
    let opened = LuaScript::open(settings(script, &[], &recorder));
    assert!(opened.is_ok());
    let output = recorder.0.lock().expect("one thread").clone();
    let refused = "bad format of a random string (string expected, got userdata)\n";
    assert_eq!(output.matches(refused).count(), 2, "{output}");
}

/// Through a value of `ffi` that can be indexed, a script would read and write all memory.
#[test]
fn no_value_of_ffi_can_be_reached_by_a_script_of_another_machine() {
    let walk = r#"
        local seen, found, count = {}, {}, 0
        local function walk(value, path)
            if type(value) == "cdata" or type(value) == "userdata" then
                found[#found + 1] = path
            end
            if type(value) ~= "table" and type(value) ~= "function" and type(value) ~= "string" or seen[value] then
                return
            end
            seen[value], count = true, count + 1
            if type(value) == "table" then
                for key, item in next, value do
                    walk(key, path .. ".key")
                    walk(item, path .. "." .. tostring(key))
                end
            end
            if type(value) == "function" then
                walk(getfenv(value), path .. ".env")
            end
            walk(getmetatable(value), path .. ".meta")
        end
        walk(_G, "_G")
        walk(sysbench.sql.driver(), "driver")
        print(count > 100, table.concat(found, " "))
    "#;
    assert_eq!(output_when_confined(walk, ("lib", "")), "true\t\n");
}

#[test]
fn settings_for_agents_have_the_loaded_files_and_no_passwords() {
    let folder = std::env::temp_dir().join(format!("prony-sent-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("own.lua"), "return 1").expect("a file");
    let recorder = Arc::new(Recorder::default());
    let password = ScriptOptionValue::Text("geheim".to_owned());
    let settings = ScriptSettings {
        search_path: format!("{}/?.lua", folder.display()),
        general_options: vec![("mysql_password".to_owned(), password)],
        ..settings(
            "require('own') require('own') require('oltp_common')",
            &[],
            &recorder,
        )
    };
    let script = LuaScript::open(settings).expect("a script");
    let sent = serde_json::to_string(&script.settings_for_agents().expect("its files"));
    let sent = sent.expect("JSON");
    assert!(!sent.contains("geheim"));
    let received: ScriptSettings = serde_json::from_str(&sent).expect("JSON");
    let files = received.files.expect("a list");
    assert_eq!(files.len(), 1);
    assert_eq!(
        (&*files[0].name, &*files[0].text),
        ("own", &b"return 1"[..])
    );
    std::fs::remove_dir_all(folder).expect("a folder");
}
