//! The script workload on a real server: the builtin scripts compared with the native workloads,
//! and user-written scripts.

use crate::common::*;
use std::io::{BufRead, BufReader};

const MODES: [&str; 3] = ["simple", "extended", "prepared"];

const HISTORY_SQL: &str = "SELECT tid, bid, aid, delta FROM pgbench_history ORDER BY ctid";

/// Writes a script; returns its path.
fn write_script(bench: &TestBench, name: &str, text: &str) -> String {
    let path = bench.home.write(name, text);
    path.display().to_string()
}

fn query_rows(bench: &TestBench, sql: &str) -> Vec<Vec<Option<String>>> {
    bench.control().query(sql).expect(sql)
}

/// Executes a run in which no client can continue; returns the run and the text of its first event.
fn run_until_aborted(bench: &TestBench, arguments: &str) -> (Run, String) {
    let output = bench.prony(&format!("{arguments} --json"));
    assert_code(&output, 5);
    let run: Run = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(run.state, RunState::Partial);
    let detail = run.events[0].detail.clone();
    (run, detail)
}

#[test]
fn builtin_scripts_equal_the_native_workloads() {
    let bench = TestBench::loaded("script_builtin", 2);
    for (native, builtin) in [
        ("tpcb", "tpcb-like"),
        ("simple-update", "simple-update"),
        ("select-only", "select-only"),
    ] {
        for mode in MODES {
            let options = format!("--clients 1 --transactions 30 --seed 42 --protocol {mode}");
            let run_and_read_history = |program: &str| {
                let mut control = bench.control();
                control.run("TRUNCATE pgbench_history");
                let run = bench.run(&format!("run {program} {options}"));
                assert_eq!(
                    total_figures(&run.measured).committed,
                    30,
                    "{program} {mode}"
                );
                assert_eq!((run.state, run.workload.scale), (RunState::Complete, 2));
                let rows = query_rows(&bench, HISTORY_SQL);
                let expected = if native == "select-only" { 0 } else { 30 };
                assert_eq!(rows.len(), expected, "{program} {mode}");
                (rows, run.workload.statements.len())
            };
            let (native_result, script_result) = (
                run_and_read_history(native),
                run_and_read_history(&format!("script -b {builtin}")),
            );
            assert_eq!(script_result, native_result, "{builtin} {mode}");
        }
    }
}

#[test]
fn variables_conditions_gset_and_sleep_work() {
    let bench = TestBench::new("script_language");
    let mut control = bench.control();
    control.run(
        "CREATE TABLE seen (mode text, n bigint, half double precision, flag boolean, txt text)",
    );
    let path = write_script(
        &bench,
        "all.sql",
        "-- a comment\n\
         \\set half 1.0 / :parts\n\
         \\set flag :client_id = 0\n\
         SELECT 40 + :scale AS n, 'it' AS word \\gset got_\n\
         \\sleep 1 ms\n\
         \\if :got_n = 41\n\
         INSERT INTO seen VALUES (:mode, :got_n, :half, :flag, :got_word);\n\
         \\else\n\
         INSERT INTO nowhere VALUES (1);\n\
         \\endif\n",
    );
    for mode in MODES {
        // In simple mode values are inserted into the text verbatim, so they need quotes.
        let word = format!("'{mode}'");
        let quoted = if mode == "simple" { &word } else { mode };
        let script = match mode {
            "simple" => write_script(
                &bench,
                "simple.sql",
                &std::fs::read_to_string(&path)
                    .expect("written")
                    .replace("'it'", "'''it'''"),
            ),
            _ => path.clone(),
        };
        let run = bench.run(&format!(
            "run script --file {script} -D parts=4 -D mode={quoted} --clients 1 --transactions 3 \
             --protocol {mode} --no-describe"
        ));
        assert_eq!(
            total_figures(&run.measured).committed,
            3,
            "{mode}: {:?}",
            run.events
        );
        assert_eq!(run.workload.kinds, [script]);
        assert_eq!(run.workload.scale, 1);
        let sql = format!("SELECT DISTINCT n, half, flag, txt FROM seen WHERE mode = '{mode}'");
        let row = ["41", "0.25", "t", "it"].map(|text| Some(text.to_owned()));
        assert_eq!(query_rows(&bench, &sql), [row], "{mode}");
    }
    assert_eq!(query_number(&mut control, "SELECT count(*) FROM seen"), 9);
}

#[test]
fn combined_statements_and_pipelines_work() {
    let bench = TestBench::new("script_batches");
    let mut control = bench.control();
    control
        .execute("CREATE TABLE sums (n bigint CHECK (n < 6))")
        .expect("a table");
    let joined = write_script(
        &bench,
        "joined.sql",
        "SELECT 1 AS a \\; SELECT 9 AS a WHERE false \\; SELECT generate_series(2, 3) AS b \\aset\n\
         INSERT INTO sums VALUES (:a + :b);\n",
    );
    let run = bench.run(&format!(
        "run script -f {joined} --clients 1 --transactions 2 --protocol simple"
    ));
    assert_eq!(
        total_figures(&run.measured).committed,
        2,
        "{:?}",
        run.events
    );
    assert_eq!(query_number(&mut control, "SELECT sum(n) FROM sums"), 8);
    // The second INSERT of client 1 violates the constraint, which rolls back its transaction.
    let pipeline = write_script(
        &bench,
        "pipeline.sql",
        "\\set n 5 + :client_id\n\
         \\startpipeline\nBEGIN;\nINSERT INTO sums VALUES (:n - 1);\n\
         INSERT INTO sums VALUES (:n);\nEND;\n\\endpipeline\n",
    );
    for mode in ["extended", "prepared"] {
        control.run("TRUNCATE sums");
        let run = bench.run(&format!(
            "run script -f {pipeline} --clients 2 --transactions 4 --protocol {mode}"
        ));
        let totals = total_figures(&run.measured);
        assert_eq!((totals.committed, totals.failed), (4, 4), "{mode}");
        assert_eq!(query_number(&mut control, "SELECT count(*) FROM sums"), 8);
        assert_eq!(query_number(&mut control, "SELECT sum(n) FROM sums"), 36);
    }
}

#[test]
fn scripts_are_chosen_by_their_weights() {
    let bench = TestBench::new("script_weights");
    let (often, never, seldom) = (
        write_script(&bench, "often.sql", "SELECT 1;"),
        write_script(&bench, "never.sql", "SELECT 2;"),
        write_script(&bench, "seldom.sql", "SELECT 3;"),
    );
    let run = bench.run(&format!(
        "run script -f {often}@3 -f {never}@0 -f {seldom} --clients 4 --transactions 500 --seed 1"
    ));
    // The first entry is all kinds together.
    let kinds = &run.measured.kinds[1..];
    let counts: Vec<u64> = kinds.iter().map(|kind| kind.committed).collect();
    assert_eq!(counts.iter().sum::<u64>(), 2000);
    assert_eq!(counts[1], 0);
    // 1500 are expected; the standard deviation is 19.
    assert!((1400..1600).contains(&counts[0]), "{counts:?}");
}

#[test]
fn errors_that_end_a_user_are_reported() {
    let bench = TestBench::new("script_stuck");
    for (text, expected) in [
        (
            "SELECT 1;\n\\set x 5 / 0\n",
            ":2: division by zero; command 2 (\\set x 5 / 0): evaluation of meta-command failed",
        ),
        (
            "SELECT 1 AS a WHERE false \\gset\n",
            ":1: expected one row, got 0; command 1 (SELECT 1 AS a WHERE false): execution of \
             meta-command failed",
        ),
        (
            "BEGIN;\nSELECT 1;\n",
            ": end of script reached without completing the last transaction",
        ),
    ] {
        let path = write_script(&bench, "stuck.sql", text);
        for options in ["--transactions 5", "--duration 2s --protocol simple"] {
            let (run, detail) = run_until_aborted(
                &bench,
                &format!("run script -f {path} --clients 3 {options}"),
            );
            assert_eq!(detail, format!("{path}{expected}"));
            assert_eq!(run.events.iter().map(|event| event.count).sum::<u64>(), 3);
            let reason = run.ended_because.expect("a reason");
            assert!(reason.contains("could continue") || reason.contains("could not continue"));
        }
    }
    // Which variables \gset sets is known only at run time.
    let path = write_script(
        &bench,
        "unset.sql",
        "SELECT 1 AS x \\gset got_\nSELECT :got_y;\n",
    );
    let (_, detail) = run_until_aborted(&bench, &format!("run script -f {path} -c 1 -t 1"));
    detail.assert_contains(":2: undefined variable \"got_y\"");
    // A failed statement is a failed transaction, and the user continues.
    let path = write_script(&bench, "fails.sql", "BEGIN;\nSELECT 1 / 0;\nEND;\n");
    let run = bench.run(&format!(
        "run script -f {path} --clients 2 --transactions 5"
    ));
    let totals = total_figures(&run.measured);
    assert_eq!((totals.committed, totals.failed), (0, 10));
    let expected =
        format!("{path}:2: division by zero; command 2 (SELECT 1 / 0;): statement failed");
    assert_eq!(run.measured.errors[0].example, expected);
}

/// The connection ends at such a statement, and a new one would meet it again.
#[test]
fn a_statement_that_no_run_can_execute_ends_the_run() {
    let bench = TestBench::new("script_copy");
    bench
        .control()
        .execute("CREATE TABLE t (a int)")
        .expect("a table");
    for (text, options) in [
        ("COPY t FROM STDIN;\n", "--duration 5m --warmup 0s"),
        ("SELECT 1;\nCOPY t TO STDOUT;\n", "--transactions 2"),
    ] {
        let path = write_script(&bench, "copy.sql", text);
        let output = bench.prony(&format!("run script -f {path} --clients 3 {options}"));
        let stderr = assert_code(&output, 4);
        let expected = format!("Prony cannot execute {path}: ");
        stderr.assert_contains(&expected);
        stderr.assert_contains("COPY is not supported");
    }
}

#[test]
fn the_script_workload_has_no_tables() {
    let bench = TestBench::new("script_tables");
    for (arguments, hint) in [
        (
            "load script",
            "prony load tpcb creates the tables of the builtin",
        ),
        (
            "check script",
            "prony check tpcb checks the tables of the builtin",
        ),
        (
            "clean script",
            "prony clean tpcb drops the tables of the builtin",
        ),
    ] {
        let output = bench.prony(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        let stderr = stderr_text(&output).unwrapped();
        stderr.assert_contains("the script workload has no tables of its own");
        stderr.assert_contains(hint);
    }
    let output = bench.prony("run script -b select-only --transactions 1");
    stderr_text(&output).assert_contains("prony load tpcb");
}

#[test]
fn a_script_may_have_more_statements_than_16_bits_number() {
    let bench = TestBench::new("many_statements");
    let script = write_script(&bench, "many.sql", &"SELECT 1;\n".repeat(65_537));
    let mut pgbench = bench.command("pgbench -n -t 1 -f");
    let output = pgbench.args([&script, &bench.socket_url]).output();
    let stdout = ok_stdout(&output.expect("it runs"));
    stdout.assert_contains("processed: 1/1\n");
    let run = bench.run(&format!(
        "run script --file {script} --transactions 1 --clients 1 --protocol extended"
    ));
    assert_eq!(total_figures(&run.measured).committed, 1);
}

#[test]
fn a_dialect_that_waits_after_its_time_says_for_whom() {
    let bench = TestBench::new("waits_for");
    let script = write_script(&bench, "sleep.sql", "SELECT pg_sleep(600);\n");
    let mut pgbench = bench.command("pgbench -n -T 1 -f");
    let pgbench = pgbench.arg(script).arg(&bench.socket_url);
    let mut child = pgbench.stderr(Stdio::piped()).spawn().expect("it starts");
    let stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut lines = stderr.lines().map_while(Result::ok);
    let line = lines.find(|line| line.contains("the time is over; waiting"));
    child.kill().expect("it still waits");
    child.wait().expect("it ends");
    line.expect("a line").assert_contains("the server at ");
}
