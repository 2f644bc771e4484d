//! `prony pgbench -i`: tables, messages and exit codes.

use crate::common::*;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;

/// `prony pgbench -i` with these options, loading over `jobs` connections.
fn initialize_command(bench: &TestBench, options: &str, jobs: &str) -> Command {
    let mut command = bench.command(&format!("pgbench -i {options}"));
    command
        .arg(&bench.url)
        .env("PRONY_PGBENCH_COMPAT", "15")
        .env("PRONY_LOAD_JOBS", jobs);
    command
}

fn initialize(bench: &TestBench, options: &str, jobs: &str) -> Output {
    let output = initialize_command(bench, options, jobs)
        .output()
        .expect("it starts");
    bench.assert_no_password(output)
}

/// Replaces each time in a text by `N`.
fn without_times(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let number = word.trim_start_matches('(');
        if number.contains('.') && number.parse::<f64>().is_ok() {
            word.replace(number, "N")
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

const EXPECTED_MESSAGES: &str = "\
dropping old tables...
NOTICE:  table \"pgbench_accounts\" does not exist, skipping
NOTICE:  table \"pgbench_branches\" does not exist, skipping
NOTICE:  table \"pgbench_history\" does not exist, skipping
NOTICE:  table \"pgbench_tellers\" does not exist, skipping
creating tables...
generating data (client-side)...
100000 of 200000 tuples (50%) done (elapsed N s, remaining N s)
200000 of 200000 tuples (100%) done (elapsed N s, remaining N s)
vacuuming...
creating primary keys...
done in N s (drop tables N s, create tables N s, client-side generate N s, vacuum N s, primary keys N s).
";

#[test]
fn tables_and_messages_do_not_depend_on_the_number_of_connections() {
    for (jobs, name) in [("1", "init_one"), ("3", "init_three")] {
        let bench = TestBench::new(name);
        let output = initialize(&bench, "-s 2", jobs);
        ok_stdout(&output);
        assert_eq!(
            without_times(&stderr_text(&output)),
            EXPECTED_MESSAGES,
            "{jobs}"
        );
        bench.ok("check tpcb");
        // Replace the tables by partitioned ones with foreign keys, and generate the data twice.
        let options = "-s 2 -I dtpfgg --foreign-keys --partitions=3";
        let output = initialize(&bench, options, jobs);
        ok_stdout(&output);
        stderr_text(&output).assert_contains("creating 3 partitions...\n");
        bench.ok("check tpcb");
        let rows = query_number(
            &mut bench.control(),
            "SELECT count(DISTINCT aid) + count(*) FROM pgbench_accounts",
        );
        assert_eq!(rows, 400_000, "{jobs}");
    }
}

#[test]
fn compatibility_with_18_detects_partitioned_tables() {
    let bench = TestBench::new("init_newest");
    for options in ["-n", "-n --partitions=2"] {
        let mut command = initialize_command(&bench, options, "1");
        let output = command.env("PRONY_PGBENCH_COMPAT", "18").output();
        let output = bench.assert_no_password(output.expect("it starts"));
        ok_stdout(&output);
        stderr_text(&output).assert_contains("tuples (100%) of pgbench_accounts done");
        bench.ok("check tpcb");
    }
}

#[test]
fn errors_of_the_server_are_printed_as_pgbench_prints_them() {
    let bench = TestBench::new("init_refused");
    let output = initialize(&bench, "-I g", "1");
    assert_eq!(output.status.code(), Some(1));
    let truncate_sql =
        "truncate table pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";
    let expected = format!(
        "generating data (client-side)...\n\
         pgbench: error: query failed: ERROR:  relation \"pgbench_accounts\" does not exist\n\
         pgbench: detail: Query was: {truncate_sql}\n"
    );
    assert_eq!(stderr_text(&output), expected);
    for jobs in ["1", "3"] {
        ok_stdout(&initialize(&bench, "-I dt", jobs));
        let constraint_sql = "ALTER TABLE pgbench_accounts ADD CHECK (aid < 90000)";
        bench
            .control()
            .execute(constraint_sql)
            .expect("a constraint");
        let messages = assert_code(&initialize(&bench, "-I g", jobs), 1);
        messages.assert_contains("\nERROR:  new row for relation");
        messages.assert_ends_with("\npgbench: error: PQendcopy failed\n");
    }
}

#[test]
fn a_signal_cancels_the_load_and_leaves_no_connection() {
    let bench = TestBench::new("init_stopped");
    let sessions_sql = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = 'init_stopped' AND application_name = 'pgbench'";
    for (jobs, name, code) in [("1", "-INT", 130), ("3", "-INT", 130), ("1", "-TERM", 143)] {
        let mut child = spawn_piped(initialize_command(&bench, "-s 500", jobs));
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        while !line.contains("tuples (0%)") {
            line.clear();
            assert!(stderr.read_line(&mut line).expect("a pipe") > 0, "it ended");
        }
        send_signal(&child, name);
        let mut messages = String::new();
        stderr.read_to_string(&mut messages).expect("text");
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(code), "{jobs} {name}: {messages}");
        messages.assert_contains("Cancel request sent\n");
        wait_for("a session remains", || {
            query_number(&mut bench.control(), sessions_sql) == 0
        });
        if jobs == "1" {
            let rows = query_number(
                &mut bench.control(),
                "SELECT count(*) FROM pgbench_accounts",
            );
            assert_eq!(rows, 0, "the load was one transaction");
        }
    }
}

/// Without a terminal the password is read from standard input, as in pgbench.
#[test]
fn a_required_password_is_prompted_for() {
    let bench = TestBench::new("init_prompt");
    let url_without_password = bench.url.replace(&format!(":{}@", bench.password), "@");
    for (typed_password, code) in [(bench.password.as_str(), 0), ("", 1)] {
        let mut command = bench.command("pgbench -i -I dt");
        command
            .arg(&url_without_password)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // SAFETY: setsid is safe to call between fork and exec (signal-safety(7)).
        unsafe {
            // Without a controlling terminal, the password is read from standard input.
            command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into));
        }
        let mut child = command.spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("piped");
        writeln!(stdin, "{typed_password}").expect("it reads");
        drop(stdin);
        let output = bench.finish(child);
        let messages = assert_code(&output, code);
        messages.assert_starts_with("Password: ");
        let is_missing = messages.contains("fe_sendauth: no password supplied");
        assert_eq!(is_missing, typed_password.is_empty(), "{messages}");
    }
}
