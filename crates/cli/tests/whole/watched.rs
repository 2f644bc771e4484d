//! What a run sees of its server: before, during and after it; and that it goes on where it sees less.

use crate::common::{Bench, control, last, ok, said, signal, until};
use prony_server::embedded::{Options, Server, find};
use prony_store::{Observed, Run, Severity, State};
use std::io::{Read, Write};
use std::net::TcpListener;

/// Two units of scale, two clients.
fn bench(name: &str) -> Bench {
    let bench = Bench::new(name);
    ok(&bench.prony("load tpcb --scale 2"));
    bench
}

fn seen(run: &Run) -> &Observed {
    run.observed.as_ref().expect("it was looked at")
}

/// It has been looked at so often while the load goes.
fn has_rows(run: &Run, count: usize) -> bool {
    run.observed
        .as_ref()
        .is_some_and(|seen| seen.series.len() >= count)
}

/// This has happened to its server.
fn happened(run: &Run, what: &str) -> bool {
    let mut events = run.observed.iter().flat_map(|seen| &seen.events);
    events.any(|event| event.what == what)
}

fn severity(run: &Run, id: &str) -> Option<Severity> {
    let check = run.checks.iter().find(|check| check.id == id);
    check.map(|check| check.severity)
}

#[test]
fn a_run_has_its_server_beside_it() {
    let bench = bench("watched");
    let run = bench.run("run tpcb --clients 2 --warmup 1s --duration 3s");
    let seen = seen(&run);
    assert_eq!((&seen.off, &seen.missing[..]), (&None, &[][..]));
    assert!(run.server.settings.len() > 300);

    let (before, after) = (seen.before.as_ref().unwrap(), seen.after.as_ref().unwrap());
    assert_eq!(before.durability.as_ref().unwrap().class, "D3");
    assert_eq!(before.started_unix_s, after.started_unix_s);
    let history = |tables: &[prony_store::TableState]| {
        let found = tables.iter().find(|table| table.name == "pgbench_history");
        found.expect("a table").bytes
    };
    assert!(history(&after.tables) > history(&before.tables));
    // All that the client committed is so on the server, by its own count.
    let of = |figures: &prony_store::Figures| figures.kinds[0].committed;
    let client = of(&run.measured) + run.warmup.as_ref().map_or(0, of);
    let server = after.commits.unwrap() - before.commits.unwrap();
    assert!(
        server >= client && server < client + 2_000,
        "{server} {client}"
    );
    assert_eq!(severity(&run, "server-commits"), None);

    // The server's process is on this machine, and so are its figures.
    assert_eq!(seen.machine.shared, Some(true));
    assert_eq!(seen.machine.source.as_deref(), Some("/proc"));
    let trip = seen.round_trip.as_ref().expect("round trips");
    assert!(trip.samples > 0 && trip.p50_ns > 0);
    let cost = seen.cost.as_ref().expect("its cost");
    assert!(!seen.series.is_empty());
    assert!(cost.queries >= 6 * seen.series.len() as u64, "{cost:?}");
    assert!(cost.query_s > 0.0 && cost.client_cpu_s > Some(0.0) && cost.server_cpu_s.is_some());

    let text = ok(&bench.local("show last"));
    assert!(
        text.contains("The server, in the measured window"),
        "{text}"
    );
    assert!(
        text.contains("durability class D3, replication none"),
        "{text}"
    );
}

#[test]
fn a_run_has_its_servers_seconds_and_events() {
    let bench = bench("watched_rows");
    let words = "run tpcb --clients 2 --duration 5m";
    let child = bench.endless(words, |run| has_rows(run, 1));
    bench.control().execute("checkpoint").expect("a checkpoint");
    let is_seen = |run: &Run| happened(run, "checkpoint") && has_rows(run, 3);
    until(&bench.home, is_seen);
    signal(&child, "-INT");
    bench.silent(child.wait_with_output().expect("it ends"));
    let run = last(&bench);
    let seen = seen(&run);

    // A row about each second, one after the other, in the time of the load.
    let rows = &seen.series;
    for pair in rows.windows(2) {
        let end_s = pair[0].at_s + pair[0].seconds;
        assert!((pair[1].at_s - end_s).abs() < 1e-6, "{pair:?}");
    }
    let end = rows.last().unwrap();
    assert!(rows[0].at_s >= 0.0 && end.at_s < 120.0, "{rows:?}");
    assert!(
        rows.iter()
            .all(|row| row.commits.is_some() && row.cache_hits.is_some())
    );
    assert!(rows.iter().any(|row| row.log_bytes > Some(0)));
    assert!(rows.iter().any(|row| row.connections >= Some(2)));
    for row in rows {
        let machine = row.machine.as_ref().expect("its machine");
        assert!(machine.busy.is_some_and(|busy| (0.0..=1.0).contains(&busy)));
        assert!(machine.server_cpu_s.is_some() && machine.memory_available_bytes.is_some());
        let client = row.client.as_ref().and_then(|client| client.busy);
        assert_eq!(client, None, "the same one");
    }

    let checkpoint = seen.events.iter().find(|event| event.what == "checkpoint");
    let checkpoint = checkpoint.expect("a checkpoint");
    assert!(
        checkpoint.until_s.unwrap() >= checkpoint.at_s,
        "{checkpoint:?}"
    );
}

#[test]
fn looking_can_be_switched_off() {
    let bench = bench("unwatched");
    let words = "run select-only --clients 2 --duration 2s --no-observe";
    let run = bench.run(words);
    let seen = seen(&run);
    assert_eq!(seen.off.as_deref(), Some("--no-observe was given"));
    assert!(seen.series.is_empty() && seen.before.is_none() && seen.cost.is_none());
    assert_eq!(severity(&run, "unobserved"), Some(Severity::Note));
    assert!(ok(&bench.prony(words)).contains("not observed: --no-observe was given"));
}

#[test]
fn a_killed_run_leaves_what_was_seen() {
    let bench = bench("watched_killed");
    let words = "run tpcb --clients 2 --duration 5m";
    let mut child = bench.endless(words, |run| has_rows(run, 1));
    signal(&child, "-KILL");
    child.wait().expect("it ends");
    let run = last(&bench);
    assert_eq!(run.state, State::Partial);
    assert!(!seen(&run).series.is_empty() && seen(&run).before.is_some());
    assert!(seen(&run).after.is_none());
}

/// Answers like a node_exporter whose one CPU is busy half of the time, for so many questions.
fn exporter(questions: u64) -> (u16, std::thread::JoinHandle<u64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let answer = move || {
        let mut asked = 0;
        while asked < questions {
            let (mut socket, _) = listener.accept().expect("a question");
            let mut request = [0; 2048];
            if !matches!(socket.read(&mut request), Ok(1..)) {
                continue;
            }
            asked += 1;
            let half = asked as f64 * 0.5;
            let text = format!(
                "node_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} {half}\n\
                 node_cpu_seconds_total{{cpu=\"0\",mode=\"idle\"}} {half}\n\
                 node_memory_MemTotal_bytes 8e+09\n\
                 node_memory_MemAvailable_bytes 4e+09\n"
            );
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ";
            let _ = socket.write_all(format!("{head}{}\r\n\r\n{text}", text.len()).as_bytes());
        }
        asked
    };
    (port, std::thread::spawn(answer))
}

#[test]
fn another_machine_is_read_by_its_node_exporter() {
    let bench = bench("watched_far");
    // Enough for the first look and some more; then it is gone, and the run goes on.
    let (port, exporter) = exporter(4);
    let words = format!(
        "run select-only --clients 2 --duration 5m --server-metrics http://127.0.0.1:{port}"
    );
    let busy_last = |run: &Run| seen(run).series.last()?.machine.as_ref()?.busy;
    let child = bench.endless(&words, |run| {
        exporter.is_finished() && has_rows(run, 2) && busy_last(run).is_none()
    });
    signal(&child, "-INT");
    bench.silent(child.wait_with_output().expect("it ends"));
    assert_eq!(exporter.join().expect("it answered"), 4);
    let run = last(&bench);
    let seen = seen(&run);
    assert_eq!(
        seen.machine.source,
        Some(format!("node_exporter at 127.0.0.1:{port}"))
    );
    assert_eq!(
        (seen.machine.cpus, seen.machine.memory_bytes),
        (Some(1), Some(8_000_000_000))
    );
    let machines = seen.series.iter().filter_map(|row| row.machine.as_ref());
    let busy: Vec<f64> = machines.filter_map(|machine| machine.busy).collect();
    assert!(
        !busy.is_empty() && busy.iter().all(|share| (share - 0.5).abs() < 1e-6),
        "{busy:?}"
    );
    assert_eq!(busy_last(&run), None, "absent, not zero");

    for (url, exit) in [("db1:9100", 2), ("http://127.0.0.1:1", 3)] {
        let words = format!("run select-only --duration 1s --server-metrics {url}");
        let output = bench.prony(&words);
        assert_eq!(output.status.code(), Some(exit), "{}", said(&output));
        assert!(
            said(&output).contains("--server-metrics"),
            "{}",
            said(&output)
        );
    }
}

#[test]
fn a_role_without_rights_runs_and_what_is_missing_is_listed() {
    let bench = bench("watched_poor");
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
    let words = "run select-only --clients 2 --duration 3s";
    let output = bench.command(words).args(["--url", &url]).output();
    let text = ok(&bench.silent(output.expect("it starts")));
    let plain: Vec<&str> = text.split_whitespace().collect();
    let plain = plain.join(" ");
    assert!(
        plain.contains("not seen: waits of other roles, replication lag ("),
        "{text}"
    );
    assert!(
        plain.contains("checkpoints (ERROR:") || plain.contains("checkpoints ("),
        "{text}"
    );
    let run = last(&bench);
    let seen = seen(&run);
    assert!(seen.series.iter().any(|row| row.commits.is_some()));
    let what: Vec<&str> = seen.missing.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(
        what,
        ["waits of other roles, replication lag", "checkpoints"]
    );
    assert_eq!(severity(&run, "unobserved"), Some(Severity::Note));
}

#[test]
fn a_restart_in_the_run_spoils_it() {
    let installation = find().expect("PostgreSQL's programs");
    let server = Server::start(&installation, &Options::default()).expect("it starts");
    let bench = Bench::on(&server, "watched_restart");
    ok(&bench.prony("load tpcb --scale 2"));
    control(&server.url())
        .execute("checkpoint")
        .expect("a checkpoint");
    // The loads above were long enough for the two starts to be told apart.
    let words = "run tpcb --clients 2 --duration 5m";
    let child = bench.endless(words, |run| has_rows(run, 5));
    server.restart().expect("it starts again");
    until(&bench.home, |run| happened(run, "restart"));
    signal(&child, "-INT");
    bench.silent(child.wait_with_output().expect("it ends"));
    let run = last(&bench);
    let restart = run.checks.iter().find(|check| check.id == "restart");
    let restart = restart.unwrap_or_else(|| panic!("{:?}", run.checks));
    assert_eq!(restart.severity, Severity::Invalid);
    let text = ok(&bench.local("show last"));
    assert!(text.contains("Invalid (restart"), "{text}");
}
