//! The commands around a run: load, check, run, show, clean; interrupted and killed runs.

use crate::common::*;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

#[test]
fn the_main_commands_work_in_sequence() {
    let bench = TestBench::new("whole");
    let without_tables = bench.prony("run tpcb --duration 1s");
    assert_eq!(without_tables.status.code(), Some(4), "no tables yet");
    bench
        .ok("load tpcb --scale 2 --jobs 2")
        .assert_contains("pgbench_accounts");
    let different_scale = bench.prony("run tpcb --scale 3 --duration 1s");
    assert_eq!(different_scale.status.code(), Some(4), "a different scale");
    assert_eq!(
        bench.prony("check tpcb").status.code(),
        Some(0),
        "the data is intact"
    );

    // stdout holds only the document.
    let json = bench.ok("run tpcb --clients 3 --transactions 50 --seed 7 --json");
    let run: Run = serde_json::from_str(&json).expect("a document");
    assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
    assert_eq!(total_figures(&run.measured).committed, 150);
    assert_eq!((run.drive.seed, run.workload.scale), (7, 2));
    assert!(run.server.settings.contains_key("fsync"));
    assert!(
        total_figures(&run.measured).parts.is_some(),
        "{}",
        run.timing.parts_source
    );
    assert_eq!(
        last_run(&bench),
        run,
        "the stored and the printed document are equal"
    );

    let open_loop_report = bench.ok("run select-only --rate 200 --duration 2s --warmup 1s --full");
    open_loop_report.assert_contains("from the scheduled start");
    open_loop_report.assert_contains("Stored in");
    bench
        .ok("check tpcb")
        .assert_contains("balances-accounts-history");
    assert_eq!(
        bench.ok_without_server("runs").lines().count(),
        3,
        "a header and two runs"
    );
    assert_eq!(
        bench.ok_without_server("show last --csv").lines().count(),
        4,
        "three seconds"
    );
    let stdout = bench.ok_without_server(&format!("show {} --full", run.id));
    stdout.assert_contains("transactions/s committed");
    bench.ok("clean tpcb").assert_contains("pgbench_accounts");
}

#[test]
fn a_signal_ends_a_run_with_its_partial_result() {
    let bench = TestBench::loaded("signals", 1);
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let child = bench.long_run();
        // One of its transactions and the drop would wait for each other.
        let beside = bench.prony("clean tpcb");
        assert_code(&beside, 6).assert_contains("a run may be using the tables: ");
        send_signal(&child, name);
        let output = bench.finish(child);
        assert_eq!(output.status.code(), Some(code));
        let stdout = stdout_text(&output);
        stdout.assert_contains("PARTIAL RESULT");
        let run = last_run(&bench);
        assert_eq!(run.state, RunState::Partial);
        assert!(total_figures(&run.measured).committed > 0);
    }
    bench
        .ok("clean tpcb")
        .assert_contains("Dropped pgbench_branches");
}

/// Scripts must be able to detect a run that cannot succeed, and one with invalid figures.
#[test]
fn refused_and_invalid_runs_have_their_own_exit_codes() {
    let bench = TestBench::loaded("read_only", 1);
    let mistyped = bench.home.write(
        "mistyped.sql",
        "select 1;\nselect balance from pgbench_acounts;\n",
    );
    let script = format!(
        "run script -b select-only -f {} --duration 1m --warmup 0s",
        mistyped.display()
    );
    let refused = |arguments: &str, options: &str| {
        let mut command = bench.command(arguments);
        command
            .args(["--url", &bench.url])
            .env("PGOPTIONS", options);
        let output = bench.execute(&mut command);
        (output.status.code(), stderr_text(&output))
    };
    let read_only = "-c default_transaction_read_only=on";
    for (arguments, options, expected) in [
        (
            "run tpcb --clients 2 --duration 1m --warmup 0s",
            read_only,
            "read-only transaction (25006; ",
        ),
        ("run tpcb --transactions 10", read_only, "name the primary"),
        (
            &script,
            "",
            "mistyped.sql:2: relation \"pgbench_acounts\" does not exist; command 2 (select balance",
        ),
    ] {
        let (code, stderr) = refused(arguments, options);
        assert_eq!(code, Some(4), "{arguments}: {stderr}");
        assert!(stderr.contains(expected), "{arguments}: {stderr}");
    }
    let runs = bench.ok_without_server("runs");
    assert!(!runs.contains("tpcb"), "a refused run is stored: {runs}");

    // Read-only sessions may become writable again if an outage is expected.
    let mut command =
        bench.command_with_url("run tpcb --clients 2 --transactions 10 --expect-outage");
    command.env("PGOPTIONS", read_only);
    let output = bench.execute(&mut command);
    assert_code(&output, 7);
    let stdout = stdout_text(&output);
    stdout.assert_contains("this figure must not be");
    stdout.assert_contains("failed: cannot execute UPDATE");
    let run = last_run(&bench);
    assert_eq!(run.state, RunState::Complete);
    assert_eq!(run.checks[0].id, "nothing-committed");
    assert_eq!(run.measured.errors[0].code, "25006", "read only");
}

#[test]
fn a_killed_run_keeps_its_measurements() {
    let bench = TestBench::loaded("killed", 1);
    let mut child = bench.long_run();
    send_signal(&child, "-KILL");
    child.wait().expect("it ends");
    let run = last_run(&bench);
    assert_eq!(run.state, RunState::Partial);
    assert!(!run.series.is_empty() && total_figures(&run.measured).committed > 0);
    bench.ok_without_server("runs").assert_contains("partial");
    // The run was killed before its checks, so they are computed when it is read.
    let ids: Vec<&str> = run.checks.iter().map(|check| check.id.as_str()).collect();
    assert!(
        ids.contains(&"partial-run") && ids.contains(&"one-host"),
        "{ids:?}"
    );
    let expected = ["partial-run", "short-run", "debug-build", "one-host"];
    assert!(!ids.contains(&"nothing-committed"), "{ids:?}");
    assert!(expected.iter().all(|id| ids.contains(id)), "{ids:?}");
    let stdout = bench.ok_without_server("show last --full");
    stdout.assert_contains("PARTIAL RESULT");
    stdout.assert_lacks("Valid: nothing");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let bench = TestBench::loaded("pipes", 1);
    bench.ok("run select-only --transactions 10");
    for arguments in ["show last --full", "show last --json", "--help"] {
        let mut child = spawn_piped(bench.command(arguments));
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && stderr.is_empty(),
            "{arguments}: {stderr}"
        );
    }
}

/// The tables are removed with the server, so they are not reported.
#[test]
fn an_interrupted_load_of_a_throw_away_server_leaves_nothing() {
    let bench = TestBench::new("throwaway_load");
    let arguments = "run tpcb --embedded --scale 200 --clients 2 --duration 1s";
    let (child, first_lines) = start_run(bench.command(arguments));
    first_lines.assert_starts_with("Started ");
    send_signal(&child, "-INT");
    let output = bench.finish(child);
    let stderr = assert_code(&output, 130);
    let message = "left behind: nothing (the throw-away server is removed)";
    stderr.assert_contains(message).assert_lacks("tables with");
    assert_eq!(stderr.matches("left behind").count(), 1, "{stderr}");
}

/// Prony does not wait for initdb to end, which may be slow.
#[test]
fn a_signal_ends_the_start_of_a_throw_away_server() {
    let bench = TestBench::new("throwaway_start");
    let programs = bench.home.join("bin");
    std::fs::create_dir(&programs).expect("a folder");
    let permissions = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(&programs, permissions.clone()).expect("sets permissions");
    let start_marker = programs.join("begun");
    let version_script = "#!/bin/sh\ntest \"$1\" = --version && echo 'postgres (PostgreSQL) 17.2'";
    // This initdb ends after a minute, so that it does not outlive a failed test for long.
    let initdb = format!(
        "{version_script} && exit\n: >{}\nfor i in $(seq 600); do sleep 0.1; done\nexit 1\n",
        start_marker.display()
    );
    let postgres = format!("{version_script}\n");
    for (name, text) in [("initdb", initdb), ("postgres", postgres)] {
        std::fs::write(programs.join(name), text).expect("a file");
        std::fs::set_permissions(programs.join(name), permissions.clone())
            .expect("sets permissions");
    }
    let mut command = bench.command("run tpcb --embedded --duration 1s");
    command.env("PRONY_PG_BINDIR", &programs);
    let child = spawn_piped(command);
    wait_for("initdb is not run", || start_marker.exists());
    send_signal(&child, "-INT");
    let output = bench.finish(child);
    let stderr = assert_code(&output, 130);
    stderr.assert_contains("interrupted while preparing");
}

/// The embedded server and its directory are removed when the command ends.
#[test]
fn a_run_on_a_throw_away_server_leaves_nothing() {
    let bench = TestBench::new("throwaway");
    let arguments = "run tpcb --embedded --scale 1 --clients 2 --duration 1s --tcp-sample 1 --full";
    let output = bench.prony_without_server(arguments);
    let stdout = ok_stdout(&output);
    stdout.assert_contains("kernel timestamps on 1 of 2 clients");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let line = stderr
        .lines()
        .find(|line| line.starts_with("Started "))
        .expect("a start message");
    let directory = line
        .split(" in ")
        .nth(1)
        .and_then(|text| text.split(';').next());
    let directory = Path::new(directory.expect("a directory"));
    assert!(directory.is_absolute(), "{line}");
    let started = Instant::now();
    while directory.exists() && started.elapsed() < WAIT_TIMEOUT {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!directory.exists(), "{}", directory.display());
}

/// io_uring's rings count as locked memory, whose limit per user is small.
#[test]
fn all_threads_use_epoll_if_the_rings_exceed_locked_memory() {
    const CAP_IPC_LOCK: libc::c_ulong = 14;
    const LOCKED_BYTES: u64 = 256 * 1024;
    let bench = TestBench::loaded("locked_memory", 1);
    let arguments = "run select-only --clients 64 --threads 64 --transactions 10 --json";
    let mut command = bench.command_with_url(arguments);
    let limit = libc::rlimit {
        rlim_cur: LOCKED_BYTES,
        rlim_max: LOCKED_BYTES,
    };
    // SAFETY: two system calls on the child's own limits; the first removes root's exemption.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0);
            match libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let run = parse_run(&bench.execute(&mut command));
    assert_eq!(total_figures(&run.measured).committed, 640);
    // Kernels before 6.13 do not count the rings, so io_uring may be used.
    if run.drive.io == "epoll" {
        let reason = &run.drive.io_reason;
        reason.assert_contains("more locked memory");
    }
}
