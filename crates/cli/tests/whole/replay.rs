//! `prony capture --log` and `prony replay` on real servers: the log of a load, and its replay on a copy.

use crate::common::*;

/// What the load leaves behind. The times of the history are those of the run.
const ROWS: [&str; 4] = [
    "SELECT md5(string_agg(a::text, ',' ORDER BY aid)) FROM pgbench_accounts a",
    "SELECT md5(string_agg(b::text, ',' ORDER BY bid)) FROM pgbench_branches b",
    "SELECT md5(string_agg(t::text, ',' ORDER BY tid)) FROM pgbench_tellers t",
    "SELECT md5(string_agg(concat(tid, '/', bid, '/', aid, '/', delta), ',' ORDER BY tid, bid, aid, delta)) FROM pgbench_history",
];

fn rows(control: &mut Control) -> Vec<String> {
    let sums = ROWS.iter().map(|sql| {
        let value = control.query_value(sql).expect("a sum");
        value.expect("not NULL")
    });
    sums.collect()
}

/// A server that logs the statements of one database.
fn logging_server() -> EmbeddedPostgres {
    let options = EmbeddedOptions::default()
        .set("logging_collector", "on")
        .set("log_destination", "csvlog")
        .set("log_filename", "load.log")
        .set("max_connections", "60");
    own_postgres_with(&options)
}

/// Waits until the log has this text; returns its path.
fn wait_for_log(server: &EmbeddedPostgres, text: &str) -> PathBuf {
    let path = server.data_dir().join("log/load.csv");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !std::fs::read_to_string(&path).is_ok_and(|log| log.contains(text)) {
        assert!(Instant::now() < deadline, "the log has no {text}");
        std::thread::sleep(Duration::from_millis(50));
    }
    path
}

/// Asserts that the shares of the statements differ by less than 1 % from those of the log.
fn assert_same_mix(run: &Run) {
    let mut statements = 0;
    for share in run
        .shares
        .iter()
        .filter(|share| share.expected_share.is_some())
    {
        let here = share.count as f64 / share.total as f64;
        let recorded = share.expected_share.unwrap_or_default();
        assert!(
            (here - recorded).abs() < 0.01,
            "{}: {here} and {recorded}",
            share.name
        );
        statements += 1;
    }
    assert!(statements >= 7, "{:?}", run.shares);
}

/// Asserts that the server refuses a write that the text does not show, unless writes are allowed.
fn assert_read_only(server: &EmbeddedPostgres, home: &TestFolder) {
    let url = server.url_for("logged");
    let before = rows(&mut connect(&url));
    let line = |ms, text| {
        format!(
            "2026-11-29 22:57:41.{ms} UTC,\"u\",\"d\",7,\"[local]\",a.1,1,\"SELECT\",2026-11-29 22:57:00 UTC,3/4,0,\
             LOG,00000,\"duration: 1.000 ms  statement: {text}\",,,,,,,,,\"app\",\"client backend\",,0\n"
        )
    };
    // A pool's DISCARD ALL would end what makes the session read-only.
    let lines = [
        line(100, "DISCARD ALL"),
        line(200, "SELECT adds()"),
        line(300, "SELECT 1"),
    ];
    let log = home.write("hidden.csv", lines.concat());
    let recording = home.join("hidden.rec").display().to_string();
    let capture = format!(
        "capture --log {} --keep-literals --out {recording}",
        log.display()
    );
    ok_stdout(&prony_command(&capture, home).output().expect("it starts"));
    let line = format!("replay {recording} --json --no-observe --url {url}");
    let run = parse_run(&prony_command(&line, home).output().expect("it starts"));
    let totals = total_figures(&run.measured);
    assert_eq!((totals.committed, totals.failed), (2, 1));
    assert_eq!(run.measured.errors[0].code, "25006");
    assert_eq!(rows(&mut connect(&url)), before);
}

/// Asserts that a recording that writes has repeats only with a command that restores the copy.
fn assert_repeats_need_a_command(url: &str, home: &TestFolder, recording: &str) {
    let line =
        format!("replay {recording} --writes --repeats 2 --speed max --no-observe --url {url}");
    let refused = prony_command(&line, home).output().expect("it starts");
    stderr_text(&refused).assert_contains("each repeat would change the copy again");
    let (restored, plan) = (home.join("restored"), home.join("replay.toml"));
    let text = format!(
        "[workload]\nname = 'replay'\nfile = '{recording}'\nwrites = 'on'\nspeed = 'max'\n[server]\nurl = '{url}'\n\
         [observe]\nserver = false\n[experiment]\nrepeats = 2\nbetween = 'echo once >> {}'\n",
        restored.display()
    );
    std::fs::write(&plan, text).expect("a file");
    let line = format!("run {}", plan.display());
    let output = prony_command(&line, home).output().expect("it starts");
    // Others may make the runs invalid.
    let text = stdout_text(&output);
    text.assert_contains("2 runs");
    let count = std::fs::read_to_string(restored).expect("a file");
    assert_eq!(count.lines().count(), 2);
}

#[test]
fn a_replayed_load_leaves_the_same_rows() {
    let server = logging_server();
    let bench = TestBench::on(&server, "logged");
    let home = &bench.home;
    let pgbench = |arguments: &str| {
        let (socket, port) = (server.socket_dir(), server.port());
        let line = format!(
            "pgbench {arguments} -h {} -p {port} -U postgres logged",
            socket.display()
        );
        ok_stdout(&prony_command(&line, home).output().expect("it starts"))
    };
    pgbench("-i -q");
    let mut control = connect(&server.url());
    control
        .execute("CREATE DATABASE copied TEMPLATE logged")
        .expect("a copy");
    control
        .execute("CREATE DATABASE fast TEMPLATE logged")
        .expect("a copy");
    control
        .execute("ALTER DATABASE logged SET log_min_duration_statement = 0")
        .expect("a setting");
    // Literals in the text, and parameters beside it.
    pgbench("-n -c 4 -t 25 -M simple --random-seed=1");
    pgbench("-n -c 3 -t 20 -M prepared --random-seed=2");
    let mut original = bench.control();
    original
        .execute("CREATE FUNCTION adds() RETURNS int LANGUAGE sql AS 'INSERT INTO pgbench_history (tid) VALUES (0) RETURNING tid'")
        .expect("a function");
    let failure = original.execute("INSERT INTO pgbench_branches (bid) VALUES ('no number')");
    assert!(failure.is_err());
    // It fails, because there is no such table, so that COMMIT rolls back. The copies have it.
    for (text, succeeds) in [
        ("BEGIN", true),
        (
            "UPDATE pgbench_branches SET bbalance = bbalance + 1000",
            true,
        ),
        ("INSERT INTO later VALUES (1)", false),
        ("COMMIT", true),
    ] {
        assert_eq!(original.execute(text).is_ok(), succeeds, "{text}");
    }
    for database in ["copied", "fast"] {
        let mut copy = connect(&server.url_for(database));
        copy.execute("CREATE TABLE later (a int)").expect("a table");
    }
    let expected = rows(&mut original);
    original.execute("SELECT 'the end'").expect("a marker");
    let log = wait_for_log(&server, "the end").display().to_string();

    let recording = home.join("load.rec").display().to_string();
    let masked = home.join("masked.rec").display().to_string();
    let told = bench.prony_without_server(&format!("capture --log {log} --out {masked}"));
    stderr_text(&told).assert_contains("cannot be replayed");
    let kept = bench.prony_without_server(&format!(
        "capture --log {log} --keep-literals --out {recording}"
    ));
    ok_stdout(&kept);
    stderr_text(&kept).assert_contains("sessions with ");
    let refused = bench.prony(&format!("replay {masked}"));
    assert_code(&refused, 2).assert_contains("has no literals");
    let refused = bench.prony(&format!("replay {recording}"));
    assert_code(&refused, 2).assert_contains("give --writes if the server is a copy");

    assert_read_only(&server, home);
    for (database, speed) in [("copied", "1"), ("fast", "max")] {
        let url = server.url_for(database);
        let line =
            format!("replay {recording} --writes --speed {speed} --json --no-observe --url {url}");
        let run = parse_run(&prony_command(&line, home).output().expect("it starts"));
        assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
        let totals = total_figures(&run.measured);
        // 160 transactions; the reads of the test, and its error, which the log has too.
        assert_eq!(totals.failed, 0, "{:?}", run.measured.errors);
        assert!(totals.committed >= 160, "{}", totals.committed);
        assert_eq!(rows(&mut connect(&url)), expected, "{database}");
        assert_same_mix(&run);
        let mut shares = run.shares.iter();
        let again = shares.find(|share| share.name == "failed as recorded");
        assert_eq!(again.map(|share| share.count), Some(1));
        let other = run
            .shares
            .iter()
            .find(|share| share.name == "failed only in the recording");
        assert_eq!(other.map(|share| share.count), Some(1));
        // The sessions connect before the window.
        let lead_s = if speed == "1" { 1.0 } else { 0.0 };
        assert_eq!(run.window.warmup_s, lead_s);
        assert_eq!(run.drive.open_loop, speed == "1");
        let latencies = run.statements.as_ref().expect("measured");
        let update = latencies
            .iter()
            .find(|entry| entry.name == "update pgbench_tellers");
        let update = update.expect("a statement");
        assert_eq!(update.recorded.map(|recorded| recorded.samples), Some(100));
        assert_eq!(update.latency.samples, 100);
        let shown = bench.ok_without_server("show last");
        shown.assert_contains("times as long as the server logged");
    }
    assert_repeats_need_a_command(&server.url_for("fast"), home, &recording);
}

#[test]
fn the_logs_of_a_server_of_mysqls_family_are_replayed() {
    let server = own_mariadb(&[]);
    let bench = TestBench::on_maria(&server, "replayed");
    let mut control = connect(&bench.url);
    let table = "CREATE TABLE t (id int PRIMARY KEY, a int, b varchar(20))";
    let rows = "INSERT INTO t VALUES (1, 1, 'it''s'), (2, 2, 'a\\\\b')";
    control.execute(table).expect("a table");
    control.execute(rows).expect("rows");
    let [slow, general] = ["slow.log", "general.log"].map(|name| bench.home.join(name));
    // The server writes there as another user.
    for log in [&slow, &general] {
        std::fs::write(log, "").expect("a file");
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        std::fs::set_permissions(log, all).expect("a file");
    }
    let [slow, general] = [slow, general].map(|path| path.display().to_string());
    for setting in [
        format!(
            "SET GLOBAL slow_query_log_file = '{slow}', long_query_time = 0, slow_query_log = ON"
        ),
        format!("SET GLOBAL general_log_file = '{general}', general_log = ON"),
    ] {
        control.execute(&setting).expect("a setting");
    }
    let mut application = connect(&bench.url);
    for statement in [
        "BEGIN",
        "UPDATE t SET a = a + 10 WHERE id = 1",
        "UPDATE t SET a = a * 3, b = concat(b, ';') WHERE id = 1",
        "COMMIT",
        "INSERT INTO t VALUES (3, 30, 'line\nbreak')",
        // The server logs a statement after its reply, and before it reads the next one.
        "SELECT 1",
    ] {
        application.execute(statement).expect("a statement");
    }
    control
        .execute("SET GLOBAL slow_query_log = OFF, general_log = OFF")
        .expect("a setting");
    let state = "SELECT md5(group_concat(id, '/', a, '/', b ORDER BY id)) FROM t";
    let expected = control.query_value(state).expect("a sum");
    for log in [slow, general] {
        control.execute("DELETE FROM t").expect("no rows");
        control.execute(rows).expect("rows");
        let recording = bench.home.join("log.rec").display().to_string();
        let capture = format!("capture --log {log} --keep-literals --out {recording}");
        ok_stdout(
            &prony_command(&capture, &bench.home)
                .output()
                .expect("it starts"),
        );
        let run = bench.run(&format!("replay {recording} --writes --no-observe"));
        assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
        assert_eq!(
            total_figures(&run.measured).failed,
            0,
            "{:?}",
            run.measured.errors
        );
        assert_eq!(
            control.query_value(state).expect("a sum"),
            expected,
            "{log}"
        );
    }
}
