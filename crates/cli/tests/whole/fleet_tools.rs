//! The replaced tools with agents: their output, and what they leave, is that of one machine.

use crate::common::*;
use crate::fleet::{agent, assert_all_end, kill, processes, rows};
use crate::hammerdb::{HammerdbCli, assert_time_profile, parse_result};
use crate::sysbench::{DRIVERS, Sysbench, figure, query_counts};

/// So many agents of this name, for `PRONY_AGENTS`.
fn agents(name: &str, count: usize) -> String {
    let agents = (1..=count).map(|number| agent(name, number) + "; ");
    agents.collect()
}

/// `prony pgbench` with so many agents, which have the name of the test's folder.
fn pgbench(bench: &TestBench, count: usize, arguments: &str) -> Command {
    let name = name_of(bench);
    let mut command = bench.command(&format!("pgbench {arguments}"));
    command
        .arg(&bench.url)
        .env("PRONY_AGENTS", agents(&name, count))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn name_of(bench: &TestBench) -> String {
    let name = bench.home.file_name().expect("a folder");
    format!("{}-", name.to_string_lossy())
}

/// A text with `N` for each number.
fn without_numbers(text: &str) -> String {
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let mut masked = String::new();
    for letter in text.chars() {
        match is_of_number(letter) {
            true if !masked.ends_with('N') => masked.push('N'),
            true => {}
            false => masked.push(letter),
        }
    }
    // Columns are aligned by blanks.
    let lines = masked.lines();
    let lines = lines.map(|line| line.unwrapped());
    lines.collect::<Vec<_>>().join("\n")
}

/// Client and number of the transactions in each file of a log, which is removed.
fn log_lines(bench: &TestBench, prefix: &str) -> Vec<Vec<String>> {
    let files = std::fs::read_dir(&bench.home).expect("a folder");
    let names = files.map(|file| file.expect("a file").path());
    let is_log = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(prefix))
    };
    let mut paths: Vec<PathBuf> = names.filter(is_log).collect();
    // That of the first thread is the shortest name.
    paths.sort_by_key(|path| path.as_os_str().len());
    let lines = paths.iter().map(|path| {
        let text = std::fs::read_to_string(path).expect("a log");
        std::fs::remove_file(path).expect("a log");
        let mut lines: Vec<String> = text
            .lines()
            .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
            .collect();
        lines.sort();
        lines
    });
    lines.collect()
}

fn committed(run: &Run) -> Vec<u64> {
    let machines = run.machines.iter();
    let parts = machines.filter_map(|machine| machine.part.as_ref());
    parts.map(|part| part.committed).collect()
}

#[test]
fn pgbench_with_agents_prints_and_leaves_what_one_machine_would() {
    let bench = TestBench::new("tools_pgbench");
    let (mut expected_rows, mut expected_text) = (None, None);
    for count in [0, 1, 2] {
        ok_stdout(&bench.execute(pgbench(&bench, count, "-i -q -s 2")));
        let arguments = "-n -c 4 -j 2 -t 30 --random-seed=7 -r -M prepared";
        let text = ok_stdout(&bench.execute(pgbench(&bench, count, arguments)));
        text.assert_contains("number of transactions actually processed: 120/120");
        let rows = rows(&bench);
        assert_eq!(expected_rows.get_or_insert(rows.clone()), &rows, "{count}");
        let text = without_numbers(&text);
        text.assert_contains("END;");
        assert_eq!(expected_text.get_or_insert(text.clone()), &text, "{count}");
        let run = last_run(&bench);
        assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
        let parts = committed(&run);
        assert_eq!(parts.len(), count);
        assert!(count == 0 || parts.iter().sum::<u64>() == 120, "{parts:?}");
    }
    // A log has the lines that one machine would write, in a file for each thread: of the transactions that the thread's
    // random numbers choose. With one client a thread these are always the same.
    let mut expected_lines = None;
    for count in [0, 2] {
        let arguments =
            "-n -c 2 -j 2 -t 60 --random-seed=7 -l --sampling-rate=0.5 --log-prefix=log";
        let mut command = pgbench(&bench, count, arguments);
        command.current_dir(&bench.home);
        ok_stdout(&bench.execute(command));
        let lines = log_lines(&bench, "log.");
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines.iter().all(|lines| (10..50).contains(&lines.len())));
        assert_eq!(expected_lines.get_or_insert(lines.clone()), &lines);
    }
    // Scripts of files at a rate, with progress: each agent has its part.
    let text =
        "\\set aid random(1, 100000)\nselect abalance from pgbench_accounts where aid = :aid;\n";
    let script = bench.home.write("own.sql", text);
    let arguments = format!(
        "-n -c 4 -j 2 -T 3 -R 200 -P 1 -f {}@3 -b select-only@1",
        script.display()
    );
    let timed = bench.execute(pgbench(&bench, 2, &arguments));
    let text = ok_stdout(&timed);
    text.assert_contains("own.sql")
        .assert_contains("(targets 75.0% of total)");
    stderr_text(&timed).assert_contains("progress: 1.0 s, ");
    let parts = committed(&last_run(&bench));
    // 600 are expected, plus or minus 25.
    let all: u64 = parts.iter().sum();
    assert!(
        (450..750).contains(&all) && parts.iter().all(|part| *part > 100),
        "{parts:?}"
    );
    text.assert_contains(&format!("actually processed: {all}\n"));
    assert_all_end(&name_of(&bench), 2, Duration::from_secs(5));
}

#[test]
fn pgbench_says_what_agents_cannot_do_and_that_one_was_lost() {
    let bench = TestBench::new("tools_refused");
    ok_stdout(&bench.execute(pgbench(&bench, 0, "-i -q")));
    let script = |name: &str, text: &str| {
        let file = bench.home.write(name, text);
        file.display().to_string()
    };
    let shell = script("shell.sql", "\\setshell x echo 1\nselect :x;\n");
    for (arguments, problem) in [
        (
            "-n -c 2 -t 1".to_owned(),
            "1 threads are fewer than the 2 machines of PRONY_AGENTS: set -j",
        ),
        (
            format!("-n -c 2 -j 2 -t 1 -f {shell}"),
            "agents execute no \\shell or \\setshell",
        ),
    ] {
        let refused = bench.execute(pgbench(&bench, 2, &arguments));
        assert_eq!(refused.status.code(), Some(1), "{arguments}");
        stderr_text(&refused).assert_contains(problem);
        assert_eq!(stdout_text(&refused), "");
    }
    let mut missing = pgbench(&bench, 1, "-n -t 1");
    missing.env("PRONY_AGENTS", "no_such_command_of_prony");
    let missing = bench.execute(missing);
    assert_code(&missing, 1).assert_contains("its command ended with exit code 127");
    assert!(stored_runs(&bench.home).is_empty());

    // What a client prints, it prints at the agent; the user sees it here.
    let broken = script("broken.sql", "select 1 / 0;\n");
    let texts = [0, 2].map(|count| {
        let arguments = format!("-n -c 2 -j 2 -t 5 -f {broken}");
        let stderr = assert_code(&bench.execute(pgbench(&bench, count, &arguments)), 2);
        let mut lines: Vec<String> = stderr.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    });
    assert_eq!(texts[0], texts[1]);
    texts[0].join("\n").assert_contains("division by zero");

    let child = pgbench(&bench, 2, "-n -c 4 -j 2 -T 300")
        .spawn()
        .expect("it starts");
    wait_until(&bench.home, any_committed);
    kill(&processes(&name_of(&bench), 2), "-KILL");
    let lost = bench.finish(child);
    assert_code(&lost, 1).assert_contains("was lost: ");
    assert!(!stdout_text(&lost).contains("tps ="));
    assert_eq!(last_run(&bench).state, RunState::Partial);
    assert_all_end(&name_of(&bench), 2, Duration::from_secs(10));
}

#[test]
fn sysbench_with_agents_prints_and_leaves_what_one_machine_would() {
    for driver in DRIVERS {
        let bench = Sysbench::new(driver, "sb_agents");
        let name = format!("sb{driver:?}");
        let run = |count: usize, arguments: &str| {
            let mut command = bench.command(arguments);
            command.env("PRONY_AGENTS", agents(&name, count));
            bench.execute(&mut command)
        };
        let tables = "--tables=2 --table-size=2000";
        // Which rows were updated, in whatever order.
        let sums = "select sum(id * k) from (select id, k from sbtest1 union all select id, k from sbtest2) s";
        let (mut expected_text, mut expected_sum) = (None, None);
        for count in [0, 2, 2] {
            run(2, &format!("oltp_read_write {tables} prepare")).ok_stdout();
            let update = format!(
                "oltp_update_index {tables} --threads=2 --events=60 --time=0 --rand-seed=5 run"
            );
            run(count, &update).ok_stdout();
            let sum = query_number(&mut bench.control(), sums);
            let arguments = format!(
                "oltp_read_write {tables} --threads=2 --events=60 --time=0 --rand-seed=5 run"
            );
            let text = run(count, &arguments).ok_stdout();
            assert_eq!(figure(&text, "total number of events:"), 60.0);
            // A deadlock restarts an event.
            assert!(query_counts(&text).0 >= 60.0 * 14.0, "{text}");
            let masked = without_numbers(&text);
            assert_eq!(expected_text.get_or_insert(masked.clone()), &masked);
            // One machine gives its 60 events to whichever thread is free.
            if count > 0 {
                text.assert_contains("events (avg/stddev):           30.0000/0.00");
                assert_eq!(*expected_sum.get_or_insert(sum), sum);
            }
            run(2, &format!("oltp_read_write {tables} cleanup")).ok_stdout();
        }
        // The first error ends the run on all machines, and is printed once.
        let missing = run(
            2,
            "oltp_point_select --threads=2 --time=60 --db-ps-mode=disable run",
        );
        missing.stderr.assert_lacks("panicked");
        let text = missing.failed_stdout(1);
        text.assert_contains("FATAL: ").assert_contains("sbtest1");
        let few = run(2, "oltp_read_only --threads=1 run").failed_stdout(1);
        few.assert_contains("1 threads are fewer than the 2 machines of PRONY_AGENTS");
        assert_all_end(&name, 2, Duration::from_secs(5));
    }
}

#[test]
fn hammerdbcli_with_agents_has_a_result_of_all_machines() {
    let hammer = HammerdbCli::new("hammer_agents");
    ok_stdout(&hammer.execute(&hammer.build_script(2, 2)));
    let script = hammer.test_script(1, 4);
    let execute = |script: &str| {
        let mut command = hammer.command();
        command.env("PRONY_AGENTS", agents("hammer", 2));
        let child = hammer.start(command, script);
        hammer.finish(child)
    };
    let refused = execute(&script.replace("pg_driver timed", "pg_driver test"));
    let text = stderr_text(&refused) + &stdout_text(&refused);
    text.assert_contains("agents have no test driver");
    let orders = "SELECT sum(d_next_o_id) FROM district";
    let mut control = connect(&shared_postgres().url_for("hammer_agents"));
    let before = query_number(&mut control, orders);
    let stdout = ok_stdout(&execute(&script));
    // The virtual users of both machines, and all together.
    assert_time_profile(&hammer, 4);
    let (nopm, tpm) = parse_result(&stdout);
    let ordered = query_number(&mut control, orders) - before;
    assert!(
        nopm > 0 && tpm > 0 && nopm / 30 <= ordered,
        "{nopm} {tpm} {ordered}"
    );
    stdout.assert_contains("Vuser 1:4 Active Virtual Users configured");
    stdout.assert_contains("Vuser 5:FINISHED SUCCESS");
    let run = last_run(&hammer.bench);
    assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
    let parts = committed(&run);
    assert!(
        parts.len() == 2 && parts.iter().all(|part| *part > 0),
        "{parts:?}"
    );
    assert_all_end("hammer", 2, Duration::from_secs(5));
}

/// A script that writes who executed what, with a module that only this machine has.
const OWN_SCRIPT: &str = r#"
    local own = require("own_module")
    sysbench.cmdline.options = { amount = { "What is added", 1 } }

    function prepare()
        local con = sysbench.sql.driver():connect()
        con:query("CREATE TABLE marks (thread INT, number INT, amount INT)")
    end

    function init()
        print("init of " .. sysbench.opt.threads)
    end

    function thread_init()
        con, number = sysbench.sql.driver():connect(), 0
        -- An agent has no file of its machine.
        if pcall(io.open, "own.lua") then
            print("it has files")
        end
    end

    function event()
        number = number + 1
        con:query(own.statement(sysbench.tid, number, sysbench.opt.amount))
    end

    function thread_done()
        print("done " .. sysbench.tid)
        con:disconnect()
    end

    function done()
        print("end")
    end
"#;

const OWN_MODULE: &str = r#"
    return {
        statement = function(...)
            return ("INSERT INTO marks VALUES (%d, %d, %d)"):format(...)
        end,
    }
"#;

/// Writes the scripts of the test into the folder in which it calls sysbench.
fn write_scripts(bench: &Sysbench) {
    for (file, text) in [
        ("own.lua", OWN_SCRIPT),
        ("own_module.lua", OWN_MODULE),
        (
            "evil.lua",
            "function event() os.execute('touch made') end\n",
        ),
        (
            "loud.lua",
            "function event() print('loud') end\nfunction thread_init() sysbench.sql.driver():connect() end\n",
        ),
    ] {
        std::fs::write(bench.home.join(file), text).expect("a file");
    }
}

#[test]
fn lua_scripts_run_on_agents_with_their_modules_and_nothing_else() {
    for driver in DRIVERS {
        let bench = Sysbench::new(driver, "sb_lua_agents");
        let name = format!("lua{driver:?}");
        write_scripts(&bench);
        std::fs::create_dir(bench.home.join("elsewhere")).expect("a folder");
        // They begin in another folder.
        let agents = |count: usize| -> String {
            let agent = |number| format!("env -C elsewhere FLEET_OF_TEST={name}{number}; ");
            (1..=count).map(agent).collect()
        };
        let command = |count: usize, arguments: &str| {
            let mut command = bench.command(arguments);
            command.env("PRONY_AGENTS", agents(count));
            command
        };
        let run = |count: usize, arguments: &str| {
            bench.assert_no_password(command(count, arguments).output().expect("it starts"))
        };
        run(2, "own.lua prepare").ok_stdout();
        let sums = "select sum(thread * 1000 + number * amount) from marks";
        let mut expected_lines = None;
        for count in [0, 2] {
            bench.control().run("delete from marks");
            let text = run(
                count,
                "own.lua --threads=2 --events=40 --time=0 --amount=3 run",
            );
            let text = text.ok_stdout();
            assert_eq!(figure(&text, "total number of events:"), 40.0);
            assert_eq!(query_counts(&text).1, 40.0, "{text}");
            assert_eq!(
                query_number(&mut bench.control(), "select count(*) from marks"),
                40
            );
            let mut lines: Vec<String> =
                without_numbers(&text).lines().map(str::to_owned).collect();
            lines.retain(|line| !line.contains("it has files"));
            lines.sort();
            assert_eq!(expected_lines.get_or_insert(lines.clone()), &lines);
            if count > 0 {
                text.assert_lacks("it has files");
                text.assert_contains("init of 2\n")
                    .assert_contains("done 1\n");
                // Each thread has its share: twenty events with the amount 3.
                let sum = (0..2).map(|thread| thread * 20_000 + 210 * 3).sum::<u64>();
                assert_eq!(query_number(&mut bench.control(), sums), sum);
                let parts = committed(&last_sysbench_run(&bench));
                assert_eq!(parts, [20, 20]);
            }
        }
        let refused = run(2, "evil.lua --threads=2 --events=2 run").failed_stdout(1);
        refused
            .assert_contains("FATAL: ")
            .assert_contains("agents have no os.execute");
        assert!(!bench.home.join("elsewhere/made").exists());

        // One machine says much, and the other nothing.
        let loud = "loud.lua --threads=2 --time=300 --rate=400 run";
        let child = command(2, loud)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let child = child.expect("it starts");
        wait_until(&bench.home, any_committed);
        kill(&processes(&name, 2), "-STOP");
        bench.finish(child);
        last_sysbench_run(&bench)
            .ended_because
            .unwrap_or_default()
            .assert_contains("it has not answered for 3 s");
        assert_all_end(&name, 2, Duration::from_secs(10));
    }
}

fn last_sysbench_run(bench: &Sysbench) -> Run {
    stored_runs(&bench.home).pop().expect("a run")
}
