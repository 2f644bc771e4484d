//! The document of a run, for tests that write runs by hand.

use prony_store::{Build, Drive, Host, Product, QueryMode, Run, Server, ServerAddress, Workload};
use serde_json::Value;

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
