//! `prony pgbench`: exit codes, stored runs and figures. `scripts/tests/pgbench.sh` compares its output with
//! the real pgbench.

use crate::common::*;
use std::os::unix::process::{CommandExt, ExitStatusExt};

fn pgbench_command(bench: &TestBench, arguments: &str) -> Command {
    let mut command = bench.command(&format!("pgbench {arguments}"));
    command
        .arg(&bench.url)
        .current_dir(&bench.home)
        .env("PRONY_PGBENCH_COMPAT", "18");
    command
}

fn pgbench(bench: &TestBench, arguments: &str) -> Output {
    let output = pgbench_command(bench, arguments)
        .output()
        .expect("it starts");
    bench.assert_no_password(output)
}

#[test]
fn a_run_is_reported_and_stored() {
    let bench = TestBench::loaded("pgbench_kept", 1);
    let arguments = "-n -N -b se@3 -c 2 -t 40 --random-seed=5 --percentiles=50,100";
    let output = pgbench(&bench, arguments);
    assert_code(&output, 0);
    let report = ok_stdout(&output);
    for line in [
        "number of transactions actually processed: 80/80\n",
        "latency p50 = ",
        "latency p100 = ",
        "SQL script 2: <builtin: select only>\n",
    ] {
        assert!(report.contains(line), "no {line:?} in {report}");
    }
    let run = last_run(&bench);
    assert_eq!((run.state, run.drive.seed), (RunState::Complete, 5));
    assert_eq!(total_figures(&run.measured).committed, 80);
    let arguments = run.request["arguments"].to_string();
    arguments.assert_contains("--random-seed=5");
}

/// Before and after its run, a tool reads what others do.
#[test]
fn a_run_beside_other_clients_says_so() {
    // The other tests use the shared server at the same time.
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "beside", 1);
    let has_finding = |id: &str| {
        let run = last_run(&bench);
        let after = run.observed.as_ref().expect("read").after.as_ref();
        let after = after.expect("read");
        assert!(after.commits.is_some());
        run.check(id).is_some()
    };
    let arguments = "-n -S -c 2 -T 2";
    pgbench(&bench, arguments);
    assert!(!has_finding("foreign-load"));
    let mut rival = bench.control();
    let canceller = rival.canceller();
    let thread = std::thread::spawn(move || {
        rival.execute("select count(*) from generate_series(1, 1000000000000)")
    });
    let busy = "select count(*) from pg_stat_activity where state = 'active' and query ~ '^select count.*generate'";
    let mut control = bench.control();
    let started = Instant::now();
    while query_number(&mut control, busy) == 0 {
        assert!(started.elapsed() < WAIT_TIMEOUT);
    }
    pgbench(&bench, arguments);
    canceller.cancel().expect("it is canceled");
    assert!(thread.join().expect("no panic").is_err());
    assert!(has_finding("foreign-load"));
}

/// An error or a result, but no panic, of which a debug build makes one for each overflow. The exit codes are those of
/// the replaced tools; 2 is that of a wrong command line of Prony.
#[test]
fn numbers_at_the_limits_of_their_types_are_errors_or_work() {
    let bench = TestBench::loaded("extreme_numbers", 1);
    let write = |name: &str, text: &str| bench.home.write(name, text);
    write(
        "many.tcl",
        "dbset db pg\nvuset vu 2147483647\nvucreate\nvurun\n",
    );
    write("add.sql", "\\set x 9223372036854775807 + 1\n");
    write(
        "nan.toml",
        "[workload]\nname = \"tpcb\"\n[run]\nrate = nan\n",
    );
    let cases = [
        ("pgbench -n -S -t 1 -L 1e300", 0, ""),
        ("pgbench -n -S -T 1 -R 1e308 -L 9e15 -c 2", 0, ""),
        ("pgbench -n -S -t 1 -R 1e-300 -T 1", 1, "not both"),
        ("pgbench -n -S -T 1 -R 1e-300", 0, ""),
        ("pgbench -n -S -t 1 -R nan", 0, ""),
        ("pgbench -n -S -t 1 -L nan", 0, ""),
        (
            "pgbench -n -S -T 99999999999",
            1,
            "-T/--time must be in range",
        ),
        ("pgbench -n -f add.sql -t 1", 2, "bigint add out of range"),
        (
            "hammerdbcli auto many.tcl",
            0,
            "at most 1000000 Virtual Users can be created",
        ),
        (
            "sysbench --db-driver=pgsql oltp_read_only --table_size=1e300 --time=99999999999 run",
            1,
            "'time' option",
        ),
        ("run tpcb --clients 100000000", 2, "from 1 to 1000000"),
        ("run tpcb --duration 1e300s", 2, "invalid value '1e300s'"),
        (
            "run tpcb --duration 18446744073709551615",
            2,
            "at most 366d",
        ),
        ("run tpcb --rate 1e308", 2, "--rate"),
        ("run nan.toml", 2, "rate"),
        ("load tpcb --scale 2147483647", 2, "scale"),
        ("load tpcb --jobs 4294967296", 2, "--jobs"),
    ];
    for (line, expected, sentence) in cases {
        let mut command = bench.command(line);
        command.current_dir(&bench.home);
        match line.split(' ').next() {
            Some("pgbench") => command.arg(&bench.url),
            Some("run" | "load") => command.args(["--url", &bench.url]),
            _ => &mut command,
        };
        let output = bench.execute(&mut command);
        let texts = [&output.stdout, &output.stderr]
            .map(|text| String::from_utf8_lossy(text))
            .concat();
        assert_eq!(output.status.code(), Some(expected), "{line}: {texts}");
        assert!(texts.contains(sentence), "{line}: {texts}");
    }
}

#[test]
fn an_interrupted_run_prints_its_report_and_dies_from_the_signal() {
    let bench = TestBench::loaded("pgbench_signal", 1);
    for (name, number) in [("-INT", 2), ("-TERM", 15)] {
        let (child, _) = start_run(pgbench_command(&bench, "-n -S -c 2 -T 300 -P 1"));
        wait_until(&bench.home, any_committed);
        send_signal(&child, name);
        let output = bench.finish(child);
        assert_eq!(
            output.status.signal(),
            Some(number),
            "{}",
            stderr_text(&output)
        );
        let report = stdout_text(&output);
        report.assert_contains("\ntps = ");
        stderr_text(&output).assert_contains("the above results are incomplete");
        let run = last_run(&bench);
        assert_eq!(run.state, RunState::Partial);
        assert!(total_figures(&run.measured).committed > 0);
    }
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let bench = TestBench::loaded("pgbench_ignored", 1);
    let mut command = pgbench_command(&bench, "-n -S -T 3 -P 1");
    // SAFETY: signal is safe to call between fork and exec (signal-safety(7)).
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_IGN);
            Ok(())
        });
    }
    let (child, _) = start_run(command);
    send_signal(&child, "-INT");
    let output = child.wait_with_output().expect("it ends");
    assert_code(&output, 0);
}

#[test]
fn latency_does_not_include_connecting() {
    let bench = TestBench::loaded("pgbench_connect", 1);
    ok_stdout(&pgbench(&bench, "-n -S -C -t 40 -L 10000"));
    let run = last_run(&bench);
    let totals = total_figures(&run.measured);
    let connect = totals.connect.as_ref().expect("connect times");
    assert_eq!(connect.samples, 40);
    // A new session takes the server many times longer than reading one row. The minima are compared because
    // other times may include waits on a busy machine.
    assert!(
        totals.response.min_ns < connect.min_ns,
        "{} of {}",
        totals.response.min_ns,
        connect.min_ns
    );
}

#[test]
fn exit_on_abort_ends_the_run_and_names_the_thread() {
    let bench = TestBench::loaded("pgbench_abort", 1);
    let script = "\\if :client_id = 1\nselect 1/0;\n\\else\nselect pg_sleep(0.01);\n\\endif\n";
    bench.home.write("one.sql", script);
    let stderr = assert_code(
        &pgbench(&bench, "-n -c 2 -j 2 -T 300 --exit-on-abort -f one.sql"),
        2,
    );
    stderr.assert_contains("error in thread 1\n");
    stderr.assert_contains("division by zero");
    let run = last_run(&bench);
    let reason = run.ended_because.unwrap_or_default();
    reason.assert_contains("could not continue");
}

#[test]
fn invalid_utf_8_is_refused() {
    let bench = TestBench::loaded("pgbench_bytes", 1);
    bench.home.write("raw.sql", b"select '\xe9';\n");
    let stderr = assert_code(&pgbench(&bench, "-n -t 1 -f raw.sql"), 1);
    stderr.assert_contains("file \"raw.sql\": it is not text");
}

#[test]
fn a_run_works_without_a_store() {
    let bench = TestBench::loaded("pgbench_nowhere", 1);
    let output = pgbench_command(&bench, "-n -S -t 5")
        .env("PRONY_HOME", "/dev/full/nowhere")
        .output()
        .expect("it starts");
    assert_code(&output, 0);
    assert_eq!(stderr_text(&output), "");
}
