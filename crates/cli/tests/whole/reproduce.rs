//! `prony reproduce` on real servers, at a small fraction of the scenarios' size.

use crate::common::*;
use prony_store::Choice;

fn stored_scenario(run: &Run) -> &prony_store::Scenario {
    run.scenario.as_ref().expect("a scenario")
}

#[track_caller]
fn assert_workload(run: &Run, name: &str, scale: u32) {
    let workload = &run.workload;
    assert_eq!((&*workload.name, workload.scale), (name, scale));
}

/// Runs a command with additional arguments that may contain spaces.
fn prony_with(bench: &TestBench, arguments: &str, additional: &[&str]) -> Output {
    bench.execute(bench.command_with_url(arguments).args(additional))
}

#[test]
fn a_pgbench_scenario_is_loaded_run_compared_and_cleaned_up() {
    let bench = TestBench::new("scenario_tpcb");
    let call_log = bench.home.join("called");
    let restart = format!("echo called >> '{}' && echo heard", call_log.display());
    let arguments = "reproduce tpcb-cached --shrink 1/2000 --duration 3s --clients 3 --cleanup";
    let output = prony_with(&bench, arguments, &["--restart-command", &restart]);
    let (result, progress) = (ok_stdout(&output), stderr_text(&output));
    let calls = std::fs::read_to_string(&call_log).expect("it was called");
    assert_eq!(calls, "called\n");
    // Prony detects that the command did not restart the server. The command's output is not part of the
    // result.
    progress.assert_contains("heard\n");
    result.assert_lacks("heard");
    progress.assert_contains("The restart command did not restart the server");
    progress.assert_contains("prony load tpcb --url postgres://");
    progress.assert_contains("--scale 2 --clients 3 ");
    progress.assert_contains("Checked the loaded data");
    progress.assert_contains("Dropped pgbench_");
    let stdout = result.unwrapped();
    stdout.assert_contains("Compared with the scenario tpcb-cached");
    stdout.assert_contains("TPS 20,359 ");
    stdout.assert_contains("latency stddev 13.6 ");
    stdout.assert_contains_all([
        "high availability multi-zone unknown",
        "region us-central1 unknown",
        "client's machine E2-standard-16, 64 GB, 16 CPUs",
    ]);
    stdout.assert_contains("clients 256 clients 3 clients");
    stdout.assert_contains("measured 65 min 3 s");
    // Only the size of the workload's tables is reported.
    stdout.assert_contains("scale 2, 3");
    stdout.assert_lacks("whole database");
    stdout.assert_contains("caches restarted before the load not restarted");
    let stored_view = bench.ok_without_server("show last --full").unwrapped();
    stored_view.assert_contains("Compared with the scenario tpcb-cached");
    let run = last_run(&bench);
    assert_workload(&run, "tpcb", 2);
    assert_eq!(run.drive.protocol, Some(prony_store::QueryMode::Simple));
    let scenario = stored_scenario(&run);
    assert_eq!(
        (scenario.size_share, scenario.original.setup.cpus),
        (0.0005, Some(16))
    );
    assert!(scenario.loaded && scenario.prewarmed && scenario.cold && !scenario.restarted);
    // The load is compared with the published one, phase by phase.
    let load = scenario.load.as_ref().expect("it was loaded");
    assert_eq!((load.rows, load.jobs), (200_000 + 2 + 20, 1));
    assert!(
        load.seconds >= load.phases["rows"] && load.bytes > Some(20_000_000),
        "{load:?}"
    );
    for phase in [
        "load time 1,482 ",
        "load: rows 541 ",
        "load: vacuum 615 ",
        "load: keys 326 ",
    ] {
        stdout.assert_contains(phase);
        stdout.assert_lacks(&format!("{phase}not known"));
    }
    let tables_sql = "SELECT count(*) FROM pg_class WHERE relname LIKE 'pgbench%'";
    assert_eq!(query_number(&mut bench.control(), tables_sql), 0);
}

#[test]
fn a_scenario_of_a_cloud_machine_lists_the_settings_that_differ() {
    let bench = TestBench::new("scenario_aiven");
    let listed = bench.ok_without_server("scenarios aiven");
    // 23 machines and two suites of them.
    assert_eq!(listed.matches("Aiven-2019").count(), 25, "{listed}");
    let listed = listed.unwrapped();
    listed.assert_contains("100 11 to 13 TPS per dollar");
    let details = bench.ok_without_server("scenarios aiven-450-gcp-20x120");
    let details = details.unwrapped();
    details.assert_contains("shared_buffers 20% of memory, wal_level replica, work_mem 32MB");
    details.assert_contains("backup overhead 10 %");
    let arguments =
        "reproduce aiven-450-gcp-20x120 --shrink 1/25000 --duration 2s --clients 2 --cleanup";
    let stdout = bench.ok(arguments).unwrapped();
    stdout.assert_contains_all([
        "TPS per dollar 11 to 13 not known",
        "backup overhead 10 not known",
        "disks local unknown",
        "measured 60 min 2 s",
        "setting work_mem 32MB work_mem 4MB",
    ]);
    stdout.assert_lacks("setting wal_level");
    let run = last_run(&bench);
    assert_eq!(run.drive.protocol, Some(prony_store::QueryMode::Simple));
    let original = &stored_scenario(&run).original;
    assert_eq!(
        (original.clients, original.setup.settings.len()),
        (Some(100), 4)
    );
}

#[test]
fn a_tpcc_scenario_is_compared_with_published_metrics() {
    let bench = TestBench::new("scenario_tpcc");
    let arguments = "reproduce tpcc-16vcpu-30pct --shrink 1/3200 --duration 4s --clients 2 --json";
    let run = parse_run(&bench.prony(arguments));
    assert_workload(&run, "tpcc", 1);
    assert_eq!(run.workload.setting("profile"), Some("hammerdb-4.6"));
    assert_eq!(run.workload.setting("home"), Some("all"));
    assert_eq!(run.window.warmup_s.round(), 1.0);
    let scenario = stored_scenario(&run);
    let names: Vec<&str> = scenario
        .published
        .iter()
        .map(|figure| figure.name.name())
        .collect();
    assert_eq!(names, ["NOPM", "TPM", "TPS"]);
    let stdout = bench.ok_without_server("show last --full").unwrapped();
    stdout.assert_contains("NOPM 252,970 ");
    stdout.assert_contains("data 3,200 warehouses scale 1");
    stdout.assert_lacks("whole database");
}

#[test]
fn a_hot_set_scenario_counts_statements() {
    let bench = TestBench::new("scenario_hot");
    let arguments =
        "reproduce hotset-2c16g-0.05b-rw --shrink 1/1000 --duration 3s --clients 2 --json";
    let output = bench.prony(arguments);
    let run = parse_run(&output);
    stderr_text(&output).assert_contains("Vacuuming.");
    assert_workload(&run, "script", 1);
    assert_eq!(stored_scenario(&run).qps_statements_per_txn, Some(5));
    let statements = &run.workload.statements;
    assert_eq!(statements.len(), 7, "{statements:?}");
    run.plan.to_string().assert_contains("range=50000");
    // The published figure is compared with five statements per transaction.
    let qps = total_figures(&run.measured).tps * 5.0;
    let figure = format!(
        "QPS 24,520 {} – statements/s",
        prony_report::units::rate(qps)
    );
    let stdout = bench.ok_without_server("show last --full").unwrapped();
    assert!(stdout.contains(&figure), "{figure}: {stdout}");
    let reason = "this run had less data, fewer clients, a shorter window than published";
    stdout.assert_contains(reason);
    stdout.assert_lacks("whole database");
    // Transactions use only accounts of the hot set.
    let outside_sql = "SELECT count(*) FROM pgbench_history WHERE aid > 50000";
    assert_eq!(query_number(&mut bench.control(), outside_sql), 0);
    // --no-load uses the existing data; the script is stored at the path in the plan.
    let arguments = "reproduce hotset-2c16g-0.05b-ro --shrink 1/1000 --duration 1s --clients 2 --no-load --json";
    let run = parse_run(&bench.prony(arguments));
    assert!(!stored_scenario(&run).loaded);
    assert!(bench.home.join("scenarios/hot-set-ro.sql").is_file());
}

#[test]
fn the_index_insert_scenario_has_five_indexes() {
    let bench = TestBench::new("scenario_index");
    let arguments = "reproduce index-insert-only --shrink 1/25000 --duration 1s --clients 2 --json";
    let run = parse_run(&bench.prony(arguments));
    assert!(total_figures(&run.measured).committed > 0);
    let mut control = bench.control();
    let sql = "SELECT count(*) FROM pg_indexes WHERE tablename = 'pgbench_history'";
    assert_eq!(query_number(&mut control, sql), 5);
    let sql = "SELECT count(*) FROM pgbench_history WHERE tid > 1000 AND bid > 1000";
    assert!(query_number(&mut control, sql) > 0);
}

#[test]
fn a_mysql_scenario_runs_on_mariadb() {
    let bench = TestBench::maria("scenario");
    let arguments = "reproduce mysql80-rw-1c1g-cached --shrink 1/400 --duration 3s --clients 2";
    let output = bench.prony(arguments);
    let stdout = ok_stdout(&output).unwrapped();
    stdout.assert_contains("reads 432,922 ");
    stdout.assert_contains("server ApsaraDB RDS for MySQL, MariaDB 10.");
    stdout.assert_contains("32 tables of 25,000 rows scale 1 of 2,000 rows");
    stdout.assert_lacks("whole database");
    let run = parse_run(&bench.prony_with("show last --json", &[]));
    let queries = run.measured.queries.as_ref().expect("counted");
    assert!(queries.reads > 0 && stored_scenario(&run).prewarmed);
}

#[test]
fn the_server_limits_clients_and_the_option_cached_determines_the_scale() {
    let options = EmbeddedOptions {
        max_connections: 20,
        ..EmbeddedOptions::default()
    };
    let server = own_postgres_with(&options);
    let bench = TestBench::on(&server, "scenario_cap");
    let arguments = "reproduce select-only-64vcpu --cached 100% --cached-of cache --duration 3s";
    let output = bench.prony(arguments);
    let (stdout, progress) = (ok_stdout(&output).unwrapped(), stderr_text(&output));
    progress.assert_contains("instead of 256: the server has no more free connections");
    progress.assert_contains("of which 100 % fits into shared_buffers");
    let run = last_run(&bench);
    assert!(
        (5..20).contains(&run.drive.clients),
        "{}",
        run.drive.clients
    );
    let cached = run.cached.clone().expect("a cached share");
    assert_eq!((cached.share, cached.of.as_str()), (1.0, "shared_buffers"));
    assert_eq!(
        u64::from(run.workload.scale),
        (cached.of_bytes as f64 / 15.7e6).floor() as u64
    );
    let sentence = "Requested cached share 100.0 % was requested.";
    stdout.assert_contains(sentence);
    stdout.assert_contains(" of the pages were found. ");
    // The data has the expected size within 10 %.
    let sql = "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relname ~ '^pgbench_[a-z]*$'";
    let size = query_number(&mut bench.control(), sql) as f64;
    assert!(
        (size / (f64::from(run.workload.scale) * 15.7e6) - 1.0).abs() < 0.1,
        "{size} {cached:?}"
    );
    // `prony run` reports the cached share of existing data in the same way.
    let arguments =
        "run select-only --clients 2 --duration 3s --expect-cached 30% --expect-cached-of cache";
    let stdout = bench.ok(arguments).unwrapped();
    stdout.assert_contains("Requested cached share 30.0 % was requested.");
    stdout.assert_contains("That does not match the request.");
    stdout.assert_lacks("Compared with the scenario");
    // Invalid options are refused before the tables are replaced.
    for (option, expected) in [
        ("--threads 0", "--threads"),
        ("--clients 5000", "the server has connections for"),
        ("--server-metrics foo", "--server-metrics"),
    ] {
        let arguments = format!("reproduce select-only-64vcpu --shrink 1/15000 {option}");
        let output = bench.prony(&arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{option}: {}",
            stderr_text(&output)
        );
        stderr_text(&output).assert_contains(expected);
    }
    let branches = query_number(
        &mut bench.control(),
        "SELECT count(*) FROM pgbench_branches",
    );
    assert_eq!(branches, u64::from(run.workload.scale));
    assert_restart_detected(&bench, &server);
}

/// Asserts that a run records a restart of the server by the restart command.
fn assert_restart_detected(bench: &TestBench, server: &EmbeddedPostgres) {
    let (request_file, done_file) = (bench.home.join("requested"), bench.home.join("done"));
    let wait = format!(
        "touch '{}'; until [ -e '{}' ]; do sleep 0.05; done",
        request_file.display(),
        done_file.display()
    );
    let arguments = "reproduce tpcb-cached --shrink 1/4000 --duration 1s --clients 2 --json";
    let mut command = bench.command(arguments);
    command.args(["--url", &bench.url, "--restart-command", &wait]);
    let child = spawn_piped(command);
    wait_for("the command is not called", || request_file.exists());
    // The tables of the previous run were dropped first.
    let tables_sql = "SELECT count(*) FROM pg_class WHERE relname LIKE 'pgbench%'";
    assert_eq!(query_number(&mut bench.control(), tables_sql), 0);
    server.restart().expect("it restarts");
    std::fs::write(&done_file, "").expect("a file");
    let output = child.wait_with_output().expect("it ends");
    let run = parse_run(&bench.assert_no_password(output));
    assert!(stored_scenario(&run).restarted && stored_scenario(&run).loaded);
    let stdout = bench.ok_without_server("show last --full").unwrapped();
    stdout.assert_lacks("caches restarted before the load");
}

#[test]
fn requests_that_no_scenario_fits_are_errors() {
    let bench = TestBench::new("scenario_none");
    let script = bench.ok_without_server("scenarios hotset-2c16g-0.1b-ro --script");
    script.assert_contains("\n\\set aid random_gaussian(1, :range, 10.0)\n");
    let output = bench.prony("reproduce mssql-2012-s2.large");
    let error = assert_code(&output, 2);
    error.assert_contains("does not state the scale of mssql-2012-s2.large");
    let output = bench.prony("reproduce tpcc-16vcpu-cached --scale 3");
    let error = assert_code(&output, 2);
    error.assert_contains("--scale: the scale of tpcc-16vcpu-cached is published");
    let output = bench.prony("reproduce tpbc-cached");
    assert_code(&output, 2).assert_contains("did you mean tpcb-cached");
    assert_code(&bench.prony("load hot-row --cached 30%"), 2).assert_contains("give --scale");
}
