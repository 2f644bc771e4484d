//! The plans that command lines of sysbench produce, and the messages of commands and errors.

use crate::support::{parse, parse_native, parse_native_of};
use prony_assertions::TextAssertions;
use prony_dialect::sysbench::{
    BUNDLED_TESTS, Command, Compat, DatabaseOptions, Driver, Endpoint, IgnoredErrors, LogLevel,
    ProgramCost, command_header, creating_index, creating_table, drive_plan, dropping_table,
    endpoints, failing_function, function_failed, inserting_rows, mysql_unreachable, parse_driver,
    parse_ps_mode, pgsql_unreachable, prepare_failed, prewarm_mysql_only, prewarming_table,
    repetitions_line, sql_error, statement_failed, threads_failed, unsupported_driver_option,
    workload_plan,
};
use prony_plan::{Arrival, DrivePlan, MAX_DURATION, Pace, QueryMode, Stop};
use std::time::Duration;

/// The options of drivers in a command line with these options.
fn database(options: &str) -> DatabaseOptions {
    let command = parse_native(&format!("{options} oltp_write_only run"));
    command.settings.database
}

fn parse_drive_plan(line: &str) -> DrivePlan {
    drive_plan(&parse_native(line).settings, 4, ProgramCost::Low).expect(line)
}

#[test]
fn few_users_get_a_worker_each_and_many_share_workers() {
    let workers = |threads: u32, processors, cost| {
        let line = format!("--threads={threads} oltp_read_only run");
        let plan = drive_plan(&parse_native(&line).settings, processors, cost);
        plan.expect("a plan").threads
    };
    for cost in [ProgramCost::Low, ProgramCost::High] {
        assert_eq!(
            [1, 2, 5, 8, 9, 32].map(|n| workers(n, 8, cost)),
            [1, 2, 5, 8, 4, 4]
        );
        assert_eq!(
            [1, 2, 8, 9, 32].map(|n| workers(n, 2, cost)),
            [1, 2, 2, 1, 1]
        );
        assert_eq!(workers(4, 0, cost), 1, "an unknown number of processors");
    }
    assert_eq!(
        [33, 64, 1000].map(|n| workers(n, 4, ProgramCost::High)),
        [2, 2, 4]
    );
    assert_eq!(
        [33, 64, 1000].map(|n| workers(n, 4, ProgramCost::Low)),
        [2, 2, 2]
    );
    assert_eq!(workers(1000, 1, ProgramCost::Low), 1);
}

#[test]
fn options_determine_the_drive_plan() {
    let closed_loop = parse_drive_plan("--threads=16 --time=60 oltp_read_write run");
    assert_eq!((closed_loop.clients, closed_loop.threads), (16, 2));
    assert_eq!(
        (closed_loop.pace, closed_loop.protocol),
        (Pace::Closed, QueryMode::Prepared)
    );
    // The run waits for all events that have started.
    assert_eq!(
        closed_loop.stop,
        Stop::NoStartsAfter(Duration::from_secs(60))
    );
    assert_eq!(
        (closed_loop.seed, closed_loop.warmup),
        (None, Duration::ZERO)
    );
    assert!(!closed_loop.reconnect && closed_loop.latency_limit.is_none());
    let open_loop = parse_drive_plan(
        "--threads=1000 --rate=50 --rand-seed=7 --events=500 --forced-shutdown=5 --db-ps-mode=disable --mysql-ignore-errors=1213,2013 oltp_insert run",
    );
    let pace = Pace::Rate {
        rate_tps: 50.0,
        arrival: Arrival::Poisson,
        queue_max: Some(131_072),
    };
    assert_eq!(
        (open_loop.pace, open_loop.protocol),
        (pace, QueryMode::Simple)
    );
    assert_eq!((open_loop.threads, open_loop.seed), (2, Some(7)));
    let shared = Stop::SharedTransactions {
        transactions: 500,
        within: Duration::from_secs(10),
    };
    assert_eq!(open_loop.stop, shared);
    assert_eq!(closed_loop.grace, Duration::MAX);
    assert_eq!(open_loop.grace, Duration::from_secs(5));
    assert!(open_loop.reconnect);
    assert!(
        !parse_drive_plan("--db-driver=pgsql --mysql-ignore-errors=2013 oltp_insert run").reconnect
    );
    let endless = parse_drive_plan("--time=0 oltp_insert run");
    assert_eq!(endless.stop, Stop::NoStartsAfter(MAX_DURATION));
    let with_warmup = parse_native_of(Compat::V1_1, "--warmup-time=30 oltp_insert run");
    assert_eq!(
        drive_plan(&with_warmup.settings, 1, ProgramCost::Low)
            .unwrap()
            .warmup,
        Duration::from_secs(30)
    );
    let invalid = parse_native("--db-ps-mode=foo oltp_insert run");
    let text = "FATAL: Invalid value for db-ps-mode: foo\n";
    assert_eq!(
        drive_plan(&invalid.settings, 1, ProgramCost::Low).unwrap_err(),
        text
    );
    assert_eq!(parse_ps_mode(&invalid.settings.database).unwrap_err(), text);
}

#[test]
fn options_are_passed_to_the_workload() {
    let plan = workload_plan(&parse_native(
        "--tables=250 --table-size=25000 --skip-trx=on --range_selects=off --rand-type=pareto --rand-pareto-h=0.3 oltp_read_only run",
    ));
    assert_eq!((plan.name.as_str(), plan.scale), ("oltp_read_only", None));
    let option = |name: &str| plan.options.get(name).map(ToString::to_string);
    for (name, expected) in [
        ("tables", Some("250")),
        ("table_size", Some("25000")),
        ("skip_trx", Some("true")),
        ("range_selects", Some("false")),
        ("range_size", Some("100")),
        ("point_selects", Some("10")),
        ("mysql_storage_engine", Some("\"innodb\"")),
        ("rand_type", Some("\"pareto\"")),
        ("rand_pareto_h", Some("0.3")),
        ("rand_spec_pct", None),
        ("pgsql_variant", None),
    ] {
        assert_eq!(option(name).as_deref(), expected, "{name}");
    }
    let special = workload_plan(&parse_native("--rand-spec-pct=2 oltp_point_select run"));
    assert_eq!(special.options["rand_type"], "special".into());
    assert_eq!(special.options["rand_spec_pct"], 2.into());
    assert_eq!(special.options["rand_spec_iter"], 12.into());
    assert_eq!(special.options["point_selects"], 1.into());
    let bulk = workload_plan(&parse_native("--threads=3 --table-size=9 bulk_insert run"));
    assert_eq!(bulk.options.len(), 1);
    assert_eq!(bulk.options["tables"], 3.into());
}

/// Runs would fail at the start if these options were invalid.
#[test]
fn bundled_tests_map_to_workloads_and_valid_options() {
    for compat in [Compat::V1_0, Compat::V1_1] {
        for test in BUNDLED_TESTS {
            let plan = workload_plan(&parse_native_of(compat, &format!("{} run", test.name)));
            let workload = prony_workload::find(&plan.name).expect(test.name);
            let problems = prony_workload::unknown_option_problems(workload, &plan);
            assert!(problems.is_empty(), "{}: {problems:?}", test.name);
        }
    }
}

#[test]
fn unsupported_options_are_reported() {
    let reason = |compat, line: &str| {
        unsupported_driver_option(&parse_native_of(compat, line).settings.database.mysql)
    };
    assert_eq!(reason(Compat::V1_0, "oltp_insert run"), None);
    for (line, part) in [
        ("--mysql-dry-run oltp_insert run", "--mysql-dry-run"),
        ("--mysql-compression oltp_insert run", "not compressed"),
    ] {
        reason(Compat::V1_1, line)
            .expect(line)
            .assert_contains(part);
    }
}

#[test]
fn connections_use_endpoints_in_rotation() {
    let addresses = |options: &str| -> Vec<String> {
        let endpoints = endpoints(&database(options).mysql);
        endpoints.iter().map(Endpoint::to_string).collect()
    };
    for (options, expected) in [
        ("", "host 'localhost', port 3306"),
        (
            "--mysql-host=a,b --mysql-port=1,2",
            "host 'a', port 1; host 'a', port 2; host 'b', port 1; host 'b', port 2",
        ),
        (
            "--mysql-host=a --mysql-socket=/x,/y",
            "socket '/x'; socket '/y'",
        ),
        ("--mysql-host= --mysql-port=abc", "host 'localhost', port 0"),
    ] {
        assert_eq!(addresses(options).join("; "), expected);
    }
    assert_eq!(parse_driver(&database("")), Ok(Driver::Mysql));
    let pgsql = parse_driver(&database("--db-driver=pgsql"));
    assert_eq!(pgsql, Ok(Driver::Pgsql));
    let error = parse_driver(&database("--db-driver=help")).unwrap_err();
    assert_eq!(error, "FATAL: invalid database driver name: 'help'\n");
}

#[test]
fn ports_must_be_numbers() {
    let ports = |list: &str| database(&format!("--mysql-port={list}")).mysql.ports;
    assert_eq!(ports("0"), [0]);
    assert_eq!(ports("3x,65535"), [3, 65_535]);
    for (invalid, reported) in [("abc", "abc"), ("1,99999", "99999"), ("-1", "-1")] {
        let line = format!("--mysql-host=h --mysql-port={invalid} oltp_insert run");
        let error = parse(Compat::V1_0, &line).expect_err("no port");
        let message = format!("FATAL: Invalid value for --mysql-port: {reported}.\n");
        error.0.stdout.assert_ends_with(&message);
        // PostgreSQL's driver and sockets do not use the port.
        for option in ["--db-driver=pgsql", "--mysql-socket=/x"] {
            database(&format!("{option} --mysql-host=h --mysql-port={invalid}"));
        }
    }
}

#[test]
fn ignored_errors_are_a_list_of_numbers() {
    let ignored = |list: &str| {
        database(&format!("--mysql-ignore-errors={list}"))
            .mysql
            .ignored_errors
    };
    assert!(ignored("all").contains(1) && ignored("all").ignores_lost_connection());
    assert!(ignored("1,all").contains(7));
    assert_eq!(
        ignored("1213,x,1205"),
        IgnoredErrors::Codes(vec![1213, 1205])
    );
    assert!(
        ignored("2006").ignores_lost_connection() && !ignored("1213").ignores_lost_connection()
    );
    assert!(!ignored("").contains(1213));
}

#[test]
fn command_headers_match_sysbench() {
    let header = |line: &str| command_header(&parse_native(line));
    let workers = "Initializing worker threads...\n\n";
    assert_eq!(header("--threads=2 oltp_insert prepare"), workers);
    assert_eq!(header("--threads=2 oltp_insert prewarm"), workers);
    assert_eq!(header("oltp_insert prepare"), "");
    assert_eq!(header("--threads=2 oltp_insert cleanup"), "");
    assert_eq!(header("--threads=2 bulk_insert prepare"), "");
    header("oltp_insert run").assert_ends_with(workers);
    assert_eq!(creating_table("sbtest1"), "Creating table 'sbtest1'...\n");
    assert_eq!(
        inserting_rows(1000, "sbtest1"),
        "Inserting 1000 records into 'sbtest1'\n"
    );
    assert_eq!(
        creating_index("sbtest1"),
        "Creating a secondary index on 'sbtest1'...\n"
    );
    assert_eq!(dropping_table("sbtest3"), "Dropping table 'sbtest3'...\n");
    for (compat, verb, command, threads) in [
        (Compat::V1_0, "Prewarming", "prewarm", "Thread"),
        (Compat::V1_1, "Preloading", "warmup", "Threads"),
    ] {
        let table = prewarming_table("sbtest1", compat);
        assert_eq!(table, format!("{verb} table sbtest1\n"));
        let refused = format!("{command} is currently MySQL only");
        assert_eq!(prewarm_mysql_only(compat), refused);
        let failed = format!("FATAL: {threads} initialization failed!\n");
        assert_eq!(threads_failed(compat), failed);
    }
    assert!(
        LogLevel::Notice.is_printed_at(3)
            && !LogLevel::Notice.is_printed_at(2)
            && LogLevel::Fatal.is_printed_at(0)
    );
}

#[test]
fn server_errors_have_sysbenchs_text() {
    let endpoint = Endpoint::Host("127.0.0.1".to_owned(), 1).to_string();
    let missing = "Table 'x' doesn't exist";
    let reason = sql_error(1146, "42S02", missing);
    let no_relation = "relation \"x\" does not exist";
    let (mysql, pgsql) = (Driver::Mysql, Driver::Pgsql);
    let lines = [
        mysql_unreachable(&endpoint, 2002, "Can't connect"),
        pgsql_unreachable("connection refused\n"),
        statement_failed(mysql, false, 1146, missing, "select 1"),
        statement_failed(mysql, true, 1062, "Duplicate entry '5'", "INSERT"),
        statement_failed(pgsql, false, 0, no_relation, "select 1"),
        statement_failed(pgsql, true, 0, "division by zero", "select 1"),
        prepare_failed(mysql, 1146, missing),
        prepare_failed(pgsql, 0, "ERROR:  no relation\nLINE 1: SELECT\n"),
        function_failed("thread_run", &reason),
        repetitions_line(1),
    ];
    let expected = "\
FATAL: unable to connect to MySQL server on host '127.0.0.1', port 1, aborting...
FATAL: error 2002: Can't connect
--
FATAL: Connection to database failed: connection refused

--
FATAL: mysql_drv_query() returned error 1146 (Table 'x' doesn't exist) for query 'select 1'
--
FATAL: mysql_stmt_execute() returned error 1062 (Duplicate entry '5') for query 'INSERT'
--
FATAL: PQexec() failed: 7 relation \"x\" does not exist
FATAL: failed query was: select 1
--
FATAL: PQexecPrepared() failed: 7 division by zero
--
FATAL: mysql_stmt_prepare() failed
FATAL: MySQL error: 1146 \"Table 'x' doesn't exist\"
--
FATAL: PQprepare() failed: ERROR:  no relation
LINE 1: SELECT

--
FATAL: `thread_run' function failed: SQL error, errno = 1146, state = '42S02': Table 'x' doesn't exist
--
(last message repeated 1 times)
";
    assert_eq!(lines.join("--\n"), expected);
    for (command, events_started, expected) in [
        (Command::Run, false, "thread_init"),
        (Command::Run, true, "thread_run"),
        (Command::Cleanup, false, "cleanup"),
        (Command::Prepare, true, "sysbench.cmdline.call_command"),
    ] {
        assert_eq!(failing_function(command, events_started), expected);
    }
}
