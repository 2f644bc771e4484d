//! A run with nothing against it, for tests to spoil.

use prony_store::{
    Build, Client, Drive, Durability, Event, Figures, Host, KindFigures, Latency, Machine,
    MachineSecond, Observed, ObserverCost, RoundTrip, Run, SCHEMA_VERSION, Second, Server,
    ServerSecond, ServerState, Split, State, TableState, Timing, Window, Workload,
};

fn latency(samples: u64, mean_ns: f64) -> Latency {
    Latency {
        samples,
        mean_ns,
        min_ns: 10_000,
        max_ns: 50_000_000,
        ..Latency::default()
    }
}

/// 64 clients for 60 s after 10 s of warm-up: 960,000 transactions of 4 ms.
pub(crate) fn healthy() -> Run {
    let committed = 960_000;
    let all = KindFigures {
        kind: "all".to_owned(),
        committed,
        tps: 16_000.0,
        response: latency(committed, 4e6),
        service: latency(committed, 4e6),
        split: Some(Split {
            send_wait: latency(committed, 1e5),
            server: latency(committed, 3.7e6),
            client_wait: latency(committed, 2e5),
            upper_bounds: 0,
        }),
        busy_s: 3840.0,
        ..KindFigures::default()
    };
    Run {
        schema_version: SCHEMA_VERSION.to_owned(),
        id: "20261120-233342-tpcb-7f3a".to_owned(),
        started_at: "2026-11-20T23:33:42+00:00".to_owned(),
        state: State::Complete,
        ended_because: None,
        imported: None,
        experiment: None,
        scenario: None,
        cached: None,
        build: Build {
            profile: "release".to_owned(),
            ..Build::default()
        },
        host: Host::default(),
        asked: serde_json::Value::Null,
        plan: serde_json::Value::Null,
        server: Server {
            engine: "postgresql".to_owned(),
            address: "tcp:192.0.2.7:5432".to_owned(),
            ..Server::default()
        },
        workload: Workload {
            name: "tpcb".to_owned(),
            scale: 100,
            ..Workload::default()
        },
        drive: Drive {
            clients: 64,
            threads: 2,
            pace: "closed".to_owned(),
            network: "tcp".to_owned(),
            ..Drive::default()
        },
        window: Window {
            connect_s: 0.2,
            warmup_s: 10.0,
            measured_s: 60.0,
            drain_s: 0.01,
        },
        warmup: None,
        rates: Vec::new(),
        shares: Vec::new(),
        measured: Figures {
            seconds: 60.0,
            kinds: vec![all],
            ..Figures::default()
        },
        series: Vec::new(),
        events: Vec::new(),
        observed: None,
        client: Client {
            busiest_thread: Some(0.5),
            run_queue_s: Some(0.5),
            ..Client::default()
        },
        timing: Timing {
            split: "kernel stamps".to_owned(),
            stamped: 6_720_000,
            ..Timing::default()
        },
        checks: Vec::new(),
    }
}

/// The same at a rate of 16,000 transactions a second.
pub(crate) fn healthy_at_rate() -> Run {
    let mut run = healthy();
    run.drive.pace = "rate".to_owned();
    run.drive.rate_tps = Some(16_000.0);
    run.drive.arrival = Some("poisson".to_owned());
    run
}

/// The healthy run with these counts in its measured seconds, after 10 s of warm-up.
pub(crate) fn with_series(counts: &[u64]) -> Run {
    let mut run = healthy();
    let second = |(at, &committed): (usize, &u64)| Second {
        at_s: 10.0 + at as f64,
        seconds: 1.0,
        part: "measured".to_owned(),
        committed,
        ..Second::default()
    };
    run.series = counts.iter().enumerate().map(second).collect();
    run
}

/// What was observed, to spoil.
pub(crate) fn observed_mut(run: &mut Run) -> &mut Observed {
    run.observed.get_or_insert_default()
}

/// A healthy run of ten minutes whose server was looked at, on another machine of 16 CPUs.
pub(crate) fn watched() -> Run {
    let mut run = healthy();
    run.measured.seconds = 600.0;
    run.window.measured_s = 600.0;
    let all = &mut run.measured.kinds[0];
    (all.committed, all.busy_s) = (9_600_000, 38_400.0);
    run.warmup = Some(Figures {
        seconds: 10.0,
        kinds: vec![KindFigures {
            kind: "all".to_owned(),
            committed: 160_000,
            ..KindFigures::default()
        }],
        ..Figures::default()
    });
    let table = |name: &str, rows| TableState {
        name: name.to_owned(),
        rows: Some(rows),
        dead_rows: Some(0),
        statistics_age_s: Some(60.0),
        vacuums: Some(1),
        analyses: Some(1),
        ..TableState::default()
    };
    let before = ServerState {
        started_unix_s: Some(1_795_000_000.0),
        is_replica: Some(false),
        durability: Some(Durability {
            class: "D3".to_owned(),
            because: Vec::new(),
            tables_unknown: false,
        }),
        tables: vec![
            table("pgbench_accounts", 10_000_000),
            table("pgbench_history", 0),
        ],
        commits: Some(1_000),
        ..ServerState::default()
    };
    let after = ServerState {
        commits: Some(9_762_000),
        ..before.clone()
    };
    let row = |at: u32| ServerSecond {
        at_s: f64::from(at),
        seconds: 1.0,
        commits: Some(16_000),
        log_bytes: Some(10_000_000),
        active: Some(60),
        waits: [("CPU".to_owned(), 40), ("IO/WalSync".to_owned(), 20)].into(),
        machine: Some(MachineSecond {
            busy: Some(0.7),
            steal: Some(0.0),
            disk_busy: Some(0.5),
            ..MachineSecond::default()
        }),
        client: Some(MachineSecond {
            busy: Some(0.2),
            throttled_s: Some(0.0),
            ..MachineSecond::default()
        }),
        ..ServerSecond::default()
    };
    run.observed = Some(Observed {
        before: Some(before),
        after: Some(after),
        round_trip: Some(RoundTrip {
            samples: 200,
            min_ns: 150_000,
            p50_ns: 200_000,
            p99_ns: Some(400_000),
        }),
        machine: Machine {
            source: Some("node_exporter at db1:9100".to_owned()),
            shared: Some(false),
            cpus: Some(16),
            ..Machine::default()
        },
        series: (0..610).map(row).collect(),
        events: vec![Event {
            at_s: 100.0,
            until_s: Some(370.0),
            what: "checkpoint".to_owned(),
            ..Event::default()
        }],
        cost: Some(ObserverCost {
            queries: 3_660,
            query_s: 2.0,
            longest_round_s: 0.01,
            client_cpu_s: Some(0.5),
            server_cpu_s: Some(1.5),
        }),
        ..Observed::default()
    });
    run.client.cpu_user_s = Some(300.0);
    run.client.cpu_system_s = Some(300.0);
    run
}
