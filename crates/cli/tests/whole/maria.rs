//! load, run, check and clean on MariaDB, over a `mysql://` URL that contains a password.

use crate::common::*;
use prony_store::{Product, ServerSecond};

#[test]
fn mariadb_is_loaded_run_checked_and_cleaned() {
    let bench = TestBench::maria("whole");
    let loaded = bench.ok("load oltp_read_write --scale 2 -o table_size=3000 --jobs 2");
    loaded.assert_contains("Loaded oltp_read_write, scale 2: 6,000 rows");
    for protocol in ["simple", "prepared"] {
        let arguments = format!(
            "run oltp_read_write --clients 4 --transactions 25 --protocol {protocol} --json"
        );
        let run: Run = parse_run(&bench.prony(&arguments));
        assert_eq!(total_figures(&run.measured).committed, 100, "{protocol}");
        assert_eq!(total_figures(&run.measured).failed, 0, "{protocol}");
        assert_eq!(run.server.product, Some(Product::MARIADB));
        run.server.version.assert_contains("MariaDB");
        for name in [
            "sync_binlog",
            "innodb_flush_log_at_trx_commit",
            "innodb_doublewrite",
            "log_bin",
            "innodb_buffer_pool_size",
        ] {
            assert!(run.server.settings.contains_key(name), "{name}");
        }
        let reads = run.shares.iter().find(|share| share.name == "reads");
        assert_eq!(reads.expect("counted").count, 1_400);
        assert!(
            run.workload.statements.iter().all(|sql| !sql.contains('$')),
            "{:?}",
            run.workload.statements
        );
    }
    let stdout = ok_stdout(&bench.prony_with("show last --full", &[]));
    stdout.assert_contains("oltp_read_write, scale 2, on MariaDB ");
    stdout.assert_contains("innodb_flush_log_at_trx_commit 1");
    bench.ok("check oltp_read_write");
    // One of its transactions and the drop would wait for each other.
    let child = bench.start("run oltp_read_write --clients 4 --duration 5m --warmup 0s");
    wait_until(&bench.home, any_committed);
    let beside = bench.prony("clean oltp_read_write");
    assert_code(&beside, 6).assert_contains("a run may be using the tables: ");
    send_signal(&child, "-INT");
    child.wait_with_output().expect("it ends");
    // What the same user does elsewhere in the database is not in the way.
    let url = bench.url.clone();
    let other = std::thread::spawn(move || connect(&url).run("do sleep(10)"));
    let cleaned = bench.ok("clean oltp_read_write");
    assert_eq!(cleaned, "Dropped sbtest1, sbtest2.\n");
    other.join().expect("it slept");

    let text = format!(
        "[server]\nurl = \"{}\"\n[workload]\nname = \"hot-row\"\n[run]\nclients = 4\n\
         transactions = 5\n",
        bench.url.replace(&format!(":{}@", bench.password), "@")
    );
    let plan = bench.home.write("plan.toml", text);
    // The URL in the plan has no password; that of `--url` has.
    bench.ok("load hot-row");
    let output = bench.prony(&format!("run {} --json", plan.display()));
    assert_eq!(total_figures(&parse_run(&output).measured).committed, 20);
}

#[test]
fn a_run_on_mariadb_records_its_server() {
    let bench = TestBench::maria("watched");
    bench.ok("load oltp_read_write --scale 1 -o table_size=2000");
    let arguments = "run oltp_read_write --clients 4 --duration 3s --json";
    let run: Run = parse_run(&bench.prony(arguments));
    let observed = run.observed.as_ref().expect("an observation");
    assert_eq!(observed.missing, []);
    let (before, after) = (observed.before.as_ref(), observed.after.as_ref());
    let (before, after) = (before.expect("before"), after.expect("after"));
    assert!(
        after.commits.unwrap() - before.commits.unwrap() >= total_figures(&run.measured).committed
    );
    assert!(run.checks.iter().all(|check| check.id != "server-commits"));
    assert!(before.durability.is_some() && before.cache_bytes > Some(1 << 20));
    assert!(before.tables.iter().any(|table| table.name == "sbtest1"));
    assert_eq!(
        observed.machine.shared,
        Some(true),
        "{}",
        observed.machine.shared_because
    );
    assert!(
        observed
            .cost
            .as_ref()
            .expect("its cost")
            .server_cpu_s
            .is_some()
    );

    // Interrupt a run after two observed seconds, one of them with log writes and all connections.
    let child = bench.start("run oltp_read_write --clients 4 --duration 5m --warmup 0s");
    let is_loaded = |row: &ServerSecond| row.log_bytes > Some(0) && row.connections >= Some(4);
    wait_until(&bench.home, |run| {
        let observed = run.observed.as_ref();
        let rows = observed.map_or(&[][..], |observed| &observed.series);
        rows.len() >= 2 && rows.iter().any(is_loaded)
    });
    send_signal(&child, "-INT");
    let output = child.wait_with_output().expect("it ends");
    assert_hidden(&bench.password, &output, &bench.home);
    let run: Run = parse_run(&bench.prony_with("show last --json", &[]));
    for row in &run.observed.as_ref().expect("an observation").series {
        assert!(row.commits.is_some() && row.cache_hits.is_some(), "{row:?}");
        assert!(row.checkpoint_age_bytes.is_some() && row.history_length.is_some());
        let machine = row.machine.as_ref().expect("its machine");
        assert!(machine.server_cpu_s.is_some());
    }
}

#[test]
fn tpcc_on_mariadb_is_loaded_run_checked_and_cleaned() {
    let bench = TestBench::maria("orders");
    let loaded = bench.ok("load tpcc --scale 1 --jobs 1");
    loaded.assert_contains("Loaded tpcc, scale 1: 5");
    loaded.assert_contains("in one transaction per part");
    for mode in ["procedures", "statements", "pipelined"] {
        let arguments = format!("run tpcc --mode {mode} --clients 2 -T 5s --json");
        // Each transaction ends with one COMMIT or ROLLBACK; sessions of concurrent tests add to the count.
        // The server's counts are read near the ends of the window, so on a busy machine TPM may be too low.
        let mut attempts = Vec::new();
        let run = loop {
            let run: Run = parse_run(&bench.prony(&arguments));
            let names: Vec<&str> = run.rates.iter().map(|rate| rate.name.as_str()).collect();
            assert_eq!(names, ["NOPM", "TPM"], "{mode}");
            let committed_per_minute =
                total_figures(&run.measured).committed as f64 / run.window.measured_s * 60.0;
            if run.rates[1].value > 0.5 * committed_per_minute {
                break run;
            }
            attempts.push((run.rates, committed_per_minute));
            assert!(attempts.len() < 5, "{mode}: {attempts:?}");
        };
        assert_eq!(run.server.product, Some(Product::MARIADB), "{mode}");
        // The first entry is all kinds together.
        let committed = total_figures(&run.measured).committed;
        assert!(committed > 0, "{mode}: {committed}");
        assert_eq!(run.workload.setting("mode"), Some(mode));
    }
    let checked = bench.ok("check tpcc");
    checked.assert_contains("condition-12");
    let cleaned = bench.ok("clean tpcc");
    cleaned.assert_contains("order_line");
}

#[test]
fn errors_of_mariadb_are_reported() {
    let bench = TestBench::maria("refused");
    for arguments in ["load tpcb", "run tpcb", "check select-only", "clean tpcb"] {
        let output = bench.prony(arguments);
        let stderr = assert_code(&output, 2);
        assert!(
            stderr
                .contains("the URL is for MySQL or MariaDB, and this workload does not run there"),
            "{arguments}: {stderr}"
        );
    }
    let wrong_password = "gehe1m-aus-Paris";
    let url = bench.url.replace(&bench.password, wrong_password);
    let output = bench.prony_with("run oltp_insert", &["--url", &url]);
    assert_code(&output, 3).assert_contains("Access denied");
    assert_hidden(wrong_password, &output, &bench.home);
}

/// Sessions without autocommit executed one transaction that never ended, NULL was loaded as text where a backslash
/// is an ordinary character, and a table without a primary key was refused.
#[test]
fn defaults_of_the_servers_sessions_do_not_matter() {
    let arguments = [
        "--autocommit=0",
        "--completion-type=CHAIN",
        "--sql-mode=ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,ONLY_FULL_GROUP_BY",
        "--lower-case-table-names=1",
        "--innodb-force-primary-key=ON",
    ];
    let server = MariaDb::start(MariaDbOptions {
        arguments: arguments.map(str::to_owned).to_vec(),
        ..MariaDbOptions::default()
    });
    let server = server.expect("it starts");
    let bench = TestBench::on_maria(&server, "Odd");
    let mut control = connect(&bench.url);
    let set_time_limit = |control: &mut Control, seconds: &str| {
        let sql = format!("set global max_statement_time = {seconds}");
        control.run(sql);
    };
    set_time_limit(&mut control, "0.05");
    bench.ok("load tpcc --scale 1");
    let checked = bench.ok("check tpcc");
    set_time_limit(&mut control, "0");
    checked.assert_contains("history has a key");
    // The second run finds the procedures of the first.
    for _ in 0..2 {
        let output = bench.prony("run tpcc --clients 2 --transactions 20 --no-observe --json");
        let run = parse_run(&output);
        assert_eq!(total_figures(&run.measured).failed, 0, "{output:?}");
        assert_eq!(run.workload.setting("history_key"), Some("invisible"));
    }
    set_time_limit(&mut control, "0.05");
    bench.ok("check tpcc");
    bench.ok("clean tpcc");
    set_time_limit(&mut control, "0");
    let routines =
        "select count(*) from information_schema.routines where routine_schema = database()";
    assert_eq!(control.query_value(routines).unwrap().as_deref(), Some("0"));
    // These give statements another meaning, or hide rows.
    let usual = control
        .query_value("select @@global.sql_mode")
        .unwrap()
        .unwrap();
    control.run(
        "set global completion_type = 2, global sql_select_limit = 1, \
             global sql_mode = 'PAD_CHAR_TO_FULL_LENGTH,SIMULTANEOUS_ASSIGNMENT,ORACLE'",
    );
    bench.ok("load oltp_read_write -o table_size=100");
    for workload in ["oltp_point_select", "oltp_read_write"] {
        let arguments = "--clients 1 --transactions 50 --check-after --json";
        let run = parse_run(&bench.prony(&format!("run {workload} {arguments}")));
        assert_eq!(total_figures(&run.measured).committed, 50);
    }
    bench.ok("check oltp_read_write");
    control.run(format!(
        "set global completion_type = 1, global sql_select_limit = 18446744073709551615, \
             global sql_mode = '{usual}'"
    ));
    assert_independent_of_init_connect(bench, control);
}

/// The server executes `init_connect` after the login, except for administrators.
fn assert_independent_of_init_connect(bench: TestBench, mut control: Control) {
    let password = bench.password.as_str();
    for sql in [
        "set global autocommit = 1",
        "set global init_connect = 'set autocommit = 0, innodb_lock_wait_timeout = 7, \
         time_zone = ''+07:00''; set names latin1; set session transaction isolation level serializable'",
        &format!("create user plain@'127.0.0.1' identified by '{password}'"),
        "grant all on odd.* to plain@'127.0.0.1'",
        "grant all on hammer.* to plain@'127.0.0.1'",
        "grant process on *.* to plain@'127.0.0.1'",
    ] {
        control.execute(sql).expect(sql);
    }
    let plain = &["--url", &bench.url.replace("//prony:", "//plain:")];
    let run = parse_run(&bench.prony_with(
        "run oltp_read_write --clients 2 --transactions 50 --json",
        plain,
    ));
    assert_eq!(total_figures(&run.measured).committed, 100);
    for (name, value) in [
        ("autocommit", "ON"),
        ("character_set_client", "utf8mb4"),
        ("innodb_lock_wait_timeout", "7"),
        ("time_zone", "+07:00"),
        ("tx_isolation", "SERIALIZABLE"),
    ] {
        assert_eq!(run.server.settings[name], value, "{name}");
    }
    let output = bench.prony_with(
        "run oltp_insert --clients 2 --transactions 50 --json",
        plain,
    );
    assert_eq!(total_figures(&parse_run(&output).measured).committed, 100);

    let (_, port) = bench.url.rsplit_once(':').expect("a port");
    let port = port.split('/').next().expect("a port");
    let script = "function prepare() sysbench.sql.driver():connect():query('insert into sbtest1 values (9000000, 1, 2, 3)') end\n\
        function thread_init() con = sysbench.sql.driver():connect() end\n\
        function event() con:query('insert into sbtest1 (k) values (4)') end\n";
    bench.home.write("own.lua", script);
    let login = format!(
        "--mysql-host=127.0.0.1 --mysql-port={port} --mysql-user=plain --mysql-password={password} --mysql-db=odd"
    );
    let count_rows = |control: &mut Control| query_number(control, "select count(*) from sbtest1");
    let before = count_rows(&mut control);
    for arguments in [
        "own.lua prepare",
        "--events=20 own.lua run",
        "--events=20 --table-size=100 oltp_point_select run",
        "--events=20 --table-size=100 oltp_read_only run",
        "--events=20 --table-size=100 oltp_insert run",
    ] {
        let mut command = bench.command(&format!("sysbench {login} {arguments}"));
        ok_stdout(
            &command
                .current_dir(&bench.home)
                .output()
                .expect("it starts"),
        );
    }
    assert_eq!(count_rows(&mut control), before + 41);

    let hammer = format!(
        "dbset db maria\ndiset connection maria_host 127.0.0.1\ndiset connection maria_port {port}\n\
         diset connection maria_socket null\ndiset tpcc maria_user plain\ndiset tpcc maria_pass {password}\n\
         diset tpcc maria_dbase hammer\nbuildschema\nvudestroy\ndiset tpcc maria_driver timed\n\
         diset tpcc maria_rampup 1\ndiset tpcc maria_duration 1\nloadscript\nvuset vu 2\nvurun\nvudestroy\n"
    );
    let path = bench.home.write("script.tcl", hammer);
    let mut command = bench.command(&format!("hammerdbcli auto {}", path.display()));
    let output = command.env("PRONY_HAMMERDB_MINUTE", "2s").output();
    std::fs::remove_file(&path).expect("the file exists");
    let stdout = ok_stdout(&output.expect("it starts"));
    let rows = query_number(&mut control, "select count(*) from hammer.history");
    assert!(
        stdout.contains("System achieved") && rows > 30_000,
        "{rows} {stdout}"
    );
}
