//! The document of a run, for tests that write runs by hand.

use prony_store::{Build, Drive, Host, Product, QueryMode, Run, Server, ServerAddress, Workload};
use serde_json::{Value, json};

/// The run in the first line of a journal, which has measured nothing yet.
pub fn new_run() -> Value {
    let mut run = Run {
        started_at: "2026-11-21T10:00:00+00:00".to_owned(),
        build: Build {
            version: "0.1.0".to_owned(),
            target: "x".to_owned(),
            ..Build::default()
        },
        server: Server {
            product: Some(Product::POSTGRESQL),
            version: "17".to_owned(),
            address: Some(ServerAddress::Unix("/run/.s.PGSQL.5432".to_owned())),
            database: "d".to_owned(),
            user: "u".to_owned(),
            ..Server::default()
        },
        workload: Workload {
            name: "tpcb".to_owned(),
            title: "t".to_owned(),
            scale: 10,
            kinds: vec!["tpcb".to_owned()],
            ..Workload::default()
        },
        drive: Drive {
            clients: 8,
            threads: 1,
            protocol: Some(QueryMode::Prepared),
            seed: 1,
            ..Drive::default()
        },
        ..Run::default()
    };
    run.machine_mut().host = Host {
        name: "h".to_owned(),
        kernel: "k".to_owned(),
        cpu: "c".to_owned(),
        cpus: 2,
        memory_bytes: 1,
        ..Host::default()
    };
    serde_json::to_value(run).expect("a document")
}

/// A run that is complete, without figures.
pub fn complete_run(id: &str, started_at: &str) -> Value {
    let mut run = new_run();
    run["id"] = json!(id);
    run["state"] = json!("complete");
    run["rules_version"] = json!(1);
    run["started_at"] = json!(started_at);
    run
}

/// Gives a run the figures of this time.
pub fn set_figures(
    run: &mut Value,
    length_s: f64,
    tps: f64,
    [mean_ns, p99_ns]: [f64; 2],
    busy_s: f64,
) {
    let committed = (tps * length_s) as u64;
    let latency = json!({
        "samples": committed, "mean_ns": mean_ns, "min_ns": 1000, "max_ns": 90_000_000, "p99_ns": p99_ns as u64,
    });
    run["measured"]["length_s"] = json!(length_s);
    run["measured"]["kinds"] = json!([{
        "kind": null, "committed": committed, "rolled_back": 0, "failed": 0, "skipped": 0, "retries": 0,
        "tps": tps, "response": latency, "service": latency, "busy_s": busy_s,
    }]);
}

/// A complete run of 60 s over a network.
pub fn run_of_a_minute(
    id: &str,
    started_at: &str,
    tps: f64,
    times_ns: [f64; 2],
    busy_s: f64,
) -> Value {
    let mut run = complete_run(id, started_at);
    run["server"]["address"] = json!({"tcp": "192.0.2.7:5432"});
    run["drive"]["io"] = json!("ring");
    run["drive"]["network"] = json!("tcp");
    run["window"] = json!({"connect_s": 0.1, "warmup_s": 1.0, "measured_s": 60.0, "drain_s": 0.0});
    set_figures(&mut run, 60.0, tps, times_ns, busy_s);
    run
}
