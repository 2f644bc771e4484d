//! A run with nothing against it, for tests to spoil.

use prony_store::{
    Build, Client, Drive, Figures, Host, KindFigures, Latency, Run, SCHEMA_VERSION, Server, Split,
    State, Timing, Window, Workload,
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
