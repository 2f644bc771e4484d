//! The observation of the server before, during and after a run; runs continue if parts of it are
//! unavailable.

use crate::common::*;
use prony_store::{DurabilityClass, EventKind, Observed, ObservedTopic, ServerSecond};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

fn observation_of(run: &Run) -> &Observed {
    run.observed.as_ref().expect("an observation")
}

/// Whether the run has at least `count` observed seconds.
fn has_seconds(run: &Run, count: usize) -> bool {
    run.observed
        .as_ref()
        .is_some_and(|observed| observed.series.len() >= count)
}

fn has_event(run: &Run, kind: EventKind) -> bool {
    let mut events = run.observed.iter().flat_map(|observed| &observed.events);
    events.any(|event| event.kind == kind)
}

#[test]
fn a_run_records_its_server() {
    let bench = TestBench::loaded("watched", 2);
    let run = bench.run("run tpcb --clients 2 --warmup 1s --duration 3s");
    let observed = observation_of(&run);
    assert_eq!((&observed.off, &observed.missing[..]), (&None, &[][..]));
    assert!(run.server.settings.len() > 300);

    let (before, after) = (
        observed.before.as_ref().unwrap(),
        observed.after.as_ref().unwrap(),
    );
    assert_eq!(
        before.durability.as_ref().unwrap().class,
        DurabilityClass::D3
    );
    assert_eq!(before.started_unix_s, after.started_unix_s);
    let history = |tables: &[prony_store::TableState]| {
        let table = tables.iter().find(|table| table.name == "pgbench_history");
        table.expect("a table").bytes
    };
    assert!(history(&after.tables) > history(&before.tables));
    // The server's own count includes all commits of the clients.
    let committed = |figures: &Figures| total_figures(figures).committed;
    let committed_by_clients = committed(&run.measured) + run.warmup.as_ref().map_or(0, committed);
    let server_commits = after.commits.unwrap() - before.commits.unwrap();
    assert!(
        server_commits >= committed_by_clients && server_commits < committed_by_clients + 2_000,
        "{server_commits} {committed_by_clients}"
    );
    assert_severity(&run, "server-commits", None);

    // The server runs on this machine, so its CPU and memory are observed.
    assert_eq!(observed.machine.shared, Some(true));
    assert_eq!(observed.machine.source.as_deref(), Some("/proc"));
    let trip = observed.round_trip.as_ref().expect("round trips");
    assert!(trip.samples > 0 && trip.p50_ns > 0);
    let cost = observed.cost.as_ref().expect("its cost");
    assert!(!observed.series.is_empty());
    assert!(cost.queries >= 6 * observed.series.len() as u64, "{cost:?}");
    assert!(cost.query_s > 0.0 && cost.client_cpu_s > Some(0.0) && cost.server_cpu_s.is_some());

    let text = bench.ok_without_server("show last --full");
    text.assert_contains("The server, in the measured window");
    text.assert_contains("durability class D3 (a crash loses no commit), replication not visible");
}

#[test]
fn a_run_records_seconds_and_events_of_its_server() {
    let bench = TestBench::loaded("watched_rows", 2);
    let arguments = "run tpcb --clients 2 --duration 5m --warmup 0s";
    let child = bench.start_long_run(arguments, |run| has_seconds(run, 1));
    bench.control().run("checkpoint");
    let is_observed = |run: &Run| has_event(run, EventKind::Checkpoint) && has_seconds(run, 3);
    wait_until(&bench.home, is_observed);
    send_signal(&child, "-INT");
    bench.finish(child);
    let run = last_run(&bench);
    let observed = observation_of(&run);

    // There are no gaps between the observed seconds.
    let rows = &observed.series;
    for pair in rows.windows(2) {
        let end_s = pair[0].at_s + pair[0].length_s;
        assert!((pair[1].at_s - end_s).abs() < 1e-6, "{pair:?}");
    }
    let last_row = rows.last().unwrap();
    assert!(rows[0].at_s >= 0.0 && last_row.at_s < 120.0, "{rows:?}");
    assert!(
        rows.iter()
            .all(|row| row.commits.is_some() && row.cache_hits.is_some())
    );
    assert!(rows.iter().any(|row| row.log_bytes > Some(0)));
    assert!(rows.iter().any(|row| row.connections >= Some(2)));
    for row in rows {
        let machine = row.machine.as_ref().expect("its machine");
        assert!(
            machine
                .busy_share
                .is_some_and(|busy| (0.0..=1.0).contains(&busy))
        );
        assert!(machine.server_cpu_s.is_some() && machine.memory_available_bytes.is_some());
        let client = row.client.as_ref().and_then(|client| client.busy_share);
        assert_eq!(client, None, "client and server share the machine");
    }

    let mut events = observed.events.iter();
    let checkpoint = events.find(|event| event.kind == EventKind::Checkpoint);
    let checkpoint = checkpoint.expect("a checkpoint");
    assert!(
        checkpoint.until_s.unwrap() >= checkpoint.at_s,
        "{checkpoint:?}"
    );
}

#[test]
fn observation_can_be_disabled() {
    let bench = TestBench::loaded("unwatched", 2);
    let arguments = "run select-only --clients 2 --duration 2s --no-observe";
    let run = bench.run(arguments);
    let observed = observation_of(&run);
    assert_eq!(observed.off.as_deref(), Some("--no-observe was given"));
    assert!(observed.before.is_none());
    assert_only_the_machine_is_read(&run);
    let stdout = bench.ok_without_server("show last");
    stdout.assert_lacks("no problems were found");
    let stdout = bench.ok_without_server("show last --full");
    stdout.assert_contains("not observed: --no-observe was given");
}

/// Checks that a run has the usage of its machine, by which neighbours are found, and nothing from a connection to the
/// server.
fn assert_only_the_machine_is_read(run: &Run) {
    let observed = observation_of(run);
    assert_severity(run, "unobserved", Some(Severity::Note));
    assert_eq!(observed.cost.as_ref().unwrap().queries, 0);
    assert!(observed.machine.cpus.is_some() && !observed.series.is_empty());
    // A row in which sessions of the server ended does not know the CPU time of its processes.
    let is_read = |row: &ServerSecond| {
        let machine = row.machine.as_ref();
        machine
            .is_some_and(|machine| machine.busy_share.is_some() && machine.server_cpu_s.is_some())
    };
    assert!(observed.series.iter().any(is_read), "{:?}", observed.series);
    for row in &observed.series {
        assert_eq!((row.commits, row.connections), (None, None));
    }
}

#[test]
fn runs_as_another_tool_read_the_machine_too() {
    let bench = TestBench::loaded("as_pgbench", 2);
    let mut command = bench.command("pgbench -n -S -c 2 -T 2");
    ok_stdout(&command.arg(&bench.socket_url).output().expect("it starts"));
    assert_only_the_machine_is_read(&last_run(&bench));
}

/// Four sessions of a program `rival` that execute a statement for 8 s, each with this pause after it.
fn start_rivals(bench: &TestBench, sql: &'static str, pause: Duration) -> Vec<JoinHandle<()>> {
    let until = Instant::now() + Duration::from_secs(8);
    let start = |_| {
        let mut session = bench.control();
        let rename = "set application_name = 'rival'";
        session.run(rename);
        std::thread::spawn(move || {
            while Instant::now() < until {
                session.query(sql).expect("it answers");
                std::thread::sleep(pause);
            }
        })
    };
    (0..4).map(start).collect()
}

#[test]
fn other_clients_are_named() {
    let (bench, other) = (
        TestBench::loaded("beside_others", 2),
        TestBench::new("foreign_clients"),
    );
    let mut idle = other.control();
    idle.run("select 1");
    let long = |bench: &TestBench| {
        start_rivals(
            bench,
            "select count(*) from generate_series(1, 200000)",
            Duration::ZERO,
        )
    };
    // Between two short statements a session is idle in most readings.
    let short = |bench: &TestBench| start_rivals(bench, "select 1", Duration::from_millis(3));
    type Start<'a> = &'a dyn Fn(&TestBench) -> Vec<JoinHandle<()>>;
    for (of, database, start) in [
        (&other, "foreign_clients", &long as Start<'_>),
        (&bench, "beside_others", &short),
    ] {
        let rivals = start(of);
        let run = bench.run("run tpcb --clients 2 --duration 5s");
        for rival in rivals {
            rival.join().expect("it ends");
        }
        let check = run.check("foreign-load");
        let check = check.expect("other clients are found");
        let expected = format!("database {database}, user postgres, program rival:");
        check.finding.assert_contains(&expected);
    }
    // A second run in the same database looks like this one.
    let rival = bench.start_long_run("run tpcb --clients 4 --duration 5m --warmup 0s", |run| {
        has_seconds(run, 1)
    });
    let output = bench.prony("run tpcb --clients 2 --duration 4s --json");
    send_signal(&rival, "-INT");
    rival.wait_with_output().expect("it ends");
    let run = parse_run(&output);
    let check = run.check("foreign-load");
    let check = check.expect("the other run is found");
    check.finding.assert_contains("as this run");
}

#[test]
fn a_killed_run_keeps_its_observations() {
    let bench = TestBench::loaded("watched_killed", 2);
    let arguments = "run tpcb --clients 2 --duration 5m --warmup 0s";
    let mut child = bench.start_long_run(arguments, |run| has_seconds(run, 1));
    send_signal(&child, "-KILL");
    child.wait().expect("it ends");
    let run = last_run(&bench);
    assert_eq!(run.state, RunState::Partial);
    assert!(!observation_of(&run).series.is_empty() && observation_of(&run).before.is_some());
    assert!(observation_of(&run).after.is_none());
}

/// Starts a node_exporter with one CPU that is 50 % busy; it ends after this number of requests and returns
/// their number.
fn start_exporter(requests: u64) -> (u16, std::thread::JoinHandle<u64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let answer = move || {
        let mut answered = 0;
        while answered < requests {
            let (mut socket, _) = listener.accept().expect("a request");
            let mut request = [0; 2048];
            if !matches!(socket.read(&mut request), Ok(1..)) {
                continue;
            }
            answered += 1;
            let half = answered as f64 * 0.5;
            let text = format!(
                "node_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} {half}\n\
                 node_cpu_seconds_total{{cpu=\"0\",mode=\"idle\"}} {half}\n\
                 node_memory_MemTotal_bytes 8e+09\n\
                 node_memory_MemAvailable_bytes 4e+09\n"
            );
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ";
            let _ = socket.write_all(format!("{head}{}\r\n\r\n{text}", text.len()).as_bytes());
        }
        answered
    };
    (port, std::thread::spawn(answer))
}

#[test]
fn a_remote_machine_is_observed_through_its_node_exporter() {
    let bench = TestBench::loaded("watched_far", 2);
    // The exporter ends after four requests, and the run continues.
    let (port, exporter) = start_exporter(4);
    let arguments = format!(
        "run select-only --clients 2 --rate 50 --duration 5m --warmup 0s --server-metrics http://127.0.0.1:{port}"
    );
    let last_busy_share = |run: &Run| {
        observation_of(run)
            .series
            .last()?
            .machine
            .as_ref()?
            .busy_share
    };
    let child = bench.start_long_run(&arguments, |run| {
        exporter.is_finished() && has_seconds(run, 2) && last_busy_share(run).is_none()
    });
    send_signal(&child, "-INT");
    bench.finish(child);
    assert_eq!(exporter.join().expect("it answered"), 4);
    let run = last_run(&bench);
    let observed = observation_of(&run);
    assert_eq!(
        observed.machine.source,
        Some(format!("node_exporter at 127.0.0.1:{port}"))
    );
    assert_eq!(
        (observed.machine.cpus, observed.machine.memory_bytes),
        (Some(1), Some(8_000_000_000))
    );
    let series = observed.series.iter();
    let machines = series.filter_map(|row| row.machine.as_ref());
    let busy: Vec<f64> = machines.filter_map(|machine| machine.busy_share).collect();
    assert!(
        !busy.is_empty() && busy.iter().all(|share| (share - 0.5).abs() < 1e-6),
        "{busy:?}"
    );
    assert_eq!(last_busy_share(&run), None, "absent, not zero");

    for (url, exit) in [("db1:9100", 2), ("http://127.0.0.1:1", 3)] {
        let arguments = format!("run select-only --duration 1s --server-metrics {url}");
        assert_code(&bench.prony(&arguments), exit).assert_contains("--server-metrics");
    }
}

#[test]
fn a_role_without_privileges_runs_and_missing_observations_are_listed() {
    let bench = TestBench::loaded("watched_poor", 2);
    bench
        .control()
        .execute(
            "create role watched_poor login password 'let-me-in'; \
             grant select on all tables in schema public to watched_poor; \
             revoke execute on function pg_control_checkpoint() from public",
        )
        .expect("a role");
    let url = bench.url.replace(
        &format!("postgres:{}@", bench.password),
        "watched_poor:let-me-in@",
    );
    let arguments = "run select-only --clients 2 --rate 50 --duration 3s --full";
    let text = ok_stdout(&bench.prony_with(arguments, &["--url", &url]));
    let unwrapped = text.unwrapped();
    assert!(
        unwrapped.contains("not observed: waits of other roles, replication lag ("),
        "{text}"
    );
    assert!(
        unwrapped.contains("checkpoints (ERROR:") || unwrapped.contains("checkpoints ("),
        "{text}"
    );
    let run = last_run(&bench);
    let observed = observation_of(&run);
    assert!(observed.series.iter().any(|row| row.commits.is_some()));
    let topics: Vec<ObservedTopic> = observed.missing.iter().map(|entry| entry.what).collect();
    assert_eq!(
        topics,
        [ObservedTopic::OtherRolesWaits, ObservedTopic::Checkpoints]
    );
    assert_severity(&run, "unobserved", Some(Severity::Note));
}

#[test]
fn a_restart_during_a_run_makes_it_invalid() {
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "watched_restart", 2);
    connect(&server.url()).run("checkpoint");
    // Server start times have a resolution of seconds; the loads above took longer.
    let arguments = "run tpcb --clients 2 --duration 5m --warmup 0s";
    let child = bench.start_long_run(arguments, |run| has_seconds(run, 5));
    server.restart().expect("it starts again");
    wait_until(&bench.home, |run| has_event(run, EventKind::Restart));
    send_signal(&child, "-INT");
    bench.finish(child);
    let run = last_run(&bench);
    let restart = run.check("restart");
    let restart = restart.unwrap_or_else(|| panic!("{:?}", run.checks));
    assert_eq!(restart.severity, Severity::Invalid);
    let text = bench.ok_without_server("show last --full");
    text.assert_contains("Invalid (restart");
}
