//! The replaced tools with agents: their output, and what they leave, is that of one machine.

use crate::common::{
    TestBench, any_committed, assert_code, last_run, ok_stdout, query_number, stderr_text,
    stored_runs, wait_until,
};
use crate::fleet::{agent, assert_all_end, kill, processes, rows};
use crate::hammerdb::{HammerdbCli, parse_result};
use crate::sysbench::{DRIVERS, SysbenchTestBench, figure, query_counts};
use prony_assertions::TextAssertions;
use prony_store::{Run, RunState};
use prony_test_servers::shared_postgres;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

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

fn output(bench: &TestBench, mut command: Command) -> Output {
    bench.assert_no_password(command.output().expect("it starts"))
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
    let lines = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

fn committed(run: &Run) -> Vec<u64> {
    let parts = run
        .machines
        .iter()
        .filter_map(|machine| machine.part.as_ref());
    parts.map(|part| part.committed).collect()
}

#[test]
fn pgbench_with_agents_prints_and_leaves_what_one_machine_would() {
    let bench = TestBench::new("tools_pgbench");
    let (mut expected_rows, mut expected_text) = (None, None);
    for count in [0, 1, 2] {
        ok_stdout(&output(&bench, pgbench(&bench, count, "-i -q -s 2")));
        let arguments = "-n -c 4 -j 2 -t 30 --random-seed=7 -r -M prepared";
        let text = ok_stdout(&output(&bench, pgbench(&bench, count, arguments)));
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
    // Scripts of files at a rate, with progress: each agent has its part.
    let text =
        "\\set aid random(1, 100000)\nselect abalance from pgbench_accounts where aid = :aid;\n";
    let script = bench.home.write("own.sql", text);
    let arguments = format!(
        "-n -c 4 -j 2 -T 3 -R 200 -P 1 -f {}@3 -b select-only@1",
        script.display()
    );
    let timed = output(&bench, pgbench(&bench, 2, &arguments));
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
    ok_stdout(&output(&bench, pgbench(&bench, 0, "-i -q")));
    let script = |name: &str, text: &str| {
        let file = bench.home.write(name, text);
        file.display().to_string()
    };
    let shell = script("shell.sql", "\\setshell x echo 1\nselect :x;\n");
    for (arguments, problem) in [
        (
            "-n -c 2 -j 2 -t 1 -l".to_owned(),
            "agents write no transaction log (-l)",
        ),
        (
            "-n -c 2 -t 1".to_owned(),
            "1 threads are fewer than the 2 machines of PRONY_AGENTS: set -j",
        ),
        (
            format!("-n -c 2 -j 2 -t 1 -f {shell}"),
            "agents execute no \\shell or \\setshell",
        ),
    ] {
        let refused = output(&bench, pgbench(&bench, 2, &arguments));
        assert_eq!(refused.status.code(), Some(1), "{arguments}");
        stderr_text(&refused).assert_contains(problem);
        assert_eq!(String::from_utf8_lossy(&refused.stdout), "");
    }
    let mut missing = pgbench(&bench, 1, "-n -t 1");
    missing.env("PRONY_AGENTS", "no_such_command_of_prony");
    let missing = output(&bench, missing);
    assert_code(&missing, 1).assert_contains("its command ended with exit code 127");
    assert!(stored_runs(&bench.home).is_empty());

    // What a client prints, it prints at the agent; the user sees it here.
    let broken = script("broken.sql", "select 1 / 0;\n");
    let texts = [0, 2].map(|count| {
        let arguments = format!("-n -c 2 -j 2 -t 5 -f {broken}");
        let stderr = assert_code(&output(&bench, pgbench(&bench, count, &arguments)), 2);
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
    let lost = bench.assert_no_password(child.wait_with_output().expect("it ends"));
    assert_code(&lost, 1).assert_contains("was lost: ");
    assert!(!String::from_utf8_lossy(&lost.stdout).contains("tps ="));
    assert_eq!(last_run(&bench).state, RunState::Partial);
    assert_all_end(&name_of(&bench), 2, Duration::from_secs(10));
}

#[test]
fn sysbench_with_agents_prints_and_leaves_what_one_machine_would() {
    for driver in DRIVERS {
        let bench = SysbenchTestBench::new(driver, "sb_agents");
        let name = format!("sb{driver:?}");
        let run = |count: usize, arguments: &str| {
            let mut command = bench.command(arguments);
            command.env("PRONY_AGENTS", agents(&name, count));
            bench.assert_no_password(command.output().expect("it starts"))
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
        let script = bench.home.write("own.lua", "function event() end\n");
        let refused = run(
            2,
            &format!("{} --threads=2 --events=1 run", script.display()),
        );
        refused
            .failed_stdout(1)
            .assert_contains("agents run no Lua scripts, which can execute commands of a machine");
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
        hammer.assert_no_password(child.wait_with_output().expect("it ends"))
    };
    let refused = execute(&script);
    let text = stderr_text(&refused) + &String::from_utf8_lossy(&refused.stdout);
    text.assert_contains("agents keep no time profile");
    let orders = "SELECT sum(d_next_o_id) FROM district";
    let mut control = crate::common::connect(&shared_postgres().url_for("hammer_agents"));
    let before = query_number(&mut control, orders);
    let stdout = ok_stdout(&execute(
        &script.replace("pg_timeprofile true", "pg_timeprofile false"),
    ));
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
