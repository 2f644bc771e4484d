//! A healthy run, which tests then modify.

use prony_store::Product;
use prony_store::*;

fn latency(samples: u64, mean_ns: f64) -> Latency {
    Latency {
        samples,
        mean_ns,
        min_ns: 10_000,
        max_ns: 50_000_000,
        ..Latency::default()
    }
}

fn tpcb_description() -> Description {
    let table = |name: &str, rows_per_scale, grows_per_scale| ScaledTable {
        name: name.to_owned(),
        rows_per_scale,
        grows_per_scale,
    };
    Description {
        scale_unit: Some(ScaleUnit::new("branch", "branches")),
        tables: vec![
            table("pgbench_accounts", 100_000, None),
            table("pgbench_branches", 1, None),
            table("pgbench_history", 0, Some(100_000)),
        ],
        table_names: ["accounts", "branches", "history", "tellers"]
            .map(|name| format!("pgbench_{name}"))
            .to_vec(),
        contention: Some(Contention {
            clients_per_scale: 1,
            because: "each transaction locks the row of its branch".into(),
        }),
        commits_once: true,
        ..Description::default()
    }
}

/// 64 clients for 60 s after 10 s of warm-up: 960,000 transactions of 4 ms.
pub(crate) fn healthy() -> Run {
    let committed = 960_000;
    let all = KindFigures {
        kind: None,
        committed,
        tps: 16_000.0,
        response: latency(committed, 4e6),
        service: latency(committed, 4e6),
        parts: Some(PartLatencies {
            send_wait: latency(committed, 1e5),
            server: latency(committed, 3.7e6),
            client_wait: latency(committed, 2e5),
            server_times_upper_bound: 0,
        }),
        busy_s: 3840.0,
        ..KindFigures::default()
    };
    Run {
        id: "20261120-233342-tpcb-7f3a".to_owned(),
        started_at: "2026-11-20T23:33:42+00:00".to_owned(),
        state: RunState::Complete,
        server: Server {
            product: Some(Product::POSTGRESQL),
            address: Some(ServerAddress::Tcp("192.0.2.7:5432".to_owned())),
            ..Server::default()
        },
        workload: Workload {
            name: "tpcb".to_owned(),
            scale: 100,
            description: Some(tpcb_description()),
            ..Workload::default()
        },
        drive: Drive {
            clients: 64,
            threads: 2,
            protocol: Some(QueryMode::Prepared),
            network: Some(Network::Tcp),
            ..Drive::default()
        },
        window: Window {
            connect_s: 0.2,
            warmup_s: 10.0,
            measured_s: 60.0,
            drain_s: 0.01,
            warmup_end: None,
        },
        measured: Figures {
            length_s: 60.0,
            kinds: vec![all],
            ..Figures::default()
        },
        machines: vec![ClientMachine {
            health: ClientHealth {
                busiest_thread_share: Some(0.45),
                run_queue_s: Some(0.5),
                ..ClientHealth::default()
            },
            ..ClientMachine::default()
        }],
        timing: Timing {
            parts_source: ServiceTimePartsSource::KernelTimestamps,
            with_timestamp: 6_720_000,
            ..Timing::default()
        },
        ..Run::default()
    }
}

/// The healthy run at a rate of 16,000 transactions per second.
pub(crate) fn healthy_at_rate() -> Run {
    let mut run = healthy();
    run.drive.open_loop = true;
    run.drive.rate_tps = Some(16_000.0);
    run.drive.arrival = Some(Arrival::Poisson);
    run
}

/// The healthy run with these counts in its measured seconds, after 10 s of warm-up.
pub(crate) fn with_series(counts: &[u64]) -> Run {
    let mut run = healthy();
    let second = |(at, &committed): (usize, &u64)| Second {
        at_s: 10.0 + at as f64,
        length_s: 1.0,
        phase: SecondPhase::Measured,
        committed,
        ..Second::default()
    };
    run.series = counts.iter().enumerate().map(second).collect();
    run
}

/// The observations of a run, to be modified.
pub(crate) fn observed_mut(run: &mut Run) -> &mut Observed {
    run.observed.get_or_insert_default()
}

pub(crate) fn set(run: &mut Run, name: &str, value: impl Into<serde_json::Value>) {
    run.server.settings.insert(name.to_owned(), value.into());
}

/// A finding of this id, without a text.
pub(crate) fn found(id: &str, severity: Severity) -> Check {
    Check {
        id: id.to_owned(),
        severity,
        kind: None,
        finding: String::new(),
        advice: String::new(),
    }
}

/// A healthy run of ten minutes whose server was observed, on another machine of 16 CPUs.
pub(crate) fn observed_run() -> Run {
    let mut run = healthy();
    run.measured.length_s = 600.0;
    run.window.measured_s = 600.0;
    let all = &mut run.measured.kinds[0];
    (all.committed, all.busy_s) = (9_600_000, 38_400.0);
    (all.response.samples, all.service.samples) = (all.committed, all.committed);
    run.warmup = Some(Figures {
        length_s: 10.0,
        kinds: vec![KindFigures {
            kind: None,
            committed: 160_000,
            tps: 16_000.0,
            ..KindFigures::default()
        }],
        ..Figures::default()
    });
    run.observed = Some(healthy_observations());
    run.machine_mut().health.cpu_user_s = Some(300.0);
    run.machine_mut().health.cpu_system_s = Some(300.0);
    run
}

/// The observations of a server: ten minutes without a fault, with one checkpoint.
fn healthy_observations() -> Observed {
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
            class: DurabilityClass::D3,
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
    Observed {
        before: Some(before),
        after: Some(after),
        round_trip: Some(RoundTrip {
            samples: 200,
            min_ns: 150_000,
            p50_ns: 200_000,
            p99_ns: Some(400_000),
        }),
        machine: ServerMachine {
            source: Some("node_exporter at db1:9100".to_owned()),
            shared: Some(false),
            cpus: Some(16),
            ..ServerMachine::default()
        },
        series: (0..610).map(observed_second).collect(),
        events: vec![Event {
            at_s: 100.0,
            until_s: Some(370.0),
            kind: EventKind::Checkpoint,
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
    }
}

fn observed_second(at: u32) -> ServerSecond {
    ServerSecond {
        at_s: f64::from(at),
        length_s: 1.0,
        commits: Some(16_000),
        log_bytes: Some(10_000_000),
        active: Some(60),
        waits: [("CPU".to_owned(), 40), ("IO/WalSync".to_owned(), 20)].into(),
        machine: Some(MachineSecond {
            busy_share: Some(0.7),
            steal_share: Some(0.0),
            disk_busy_share: Some(0.5),
            ..MachineSecond::default()
        }),
        client: Some(MachineSecond {
            busy_share: Some(0.2),
            throttled_s: Some(0.0),
            ..MachineSecond::default()
        }),
        ..ServerSecond::default()
    }
}
