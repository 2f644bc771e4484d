//! Synthetic runs for the tests of the views.

use prony_store::Product;
use prony_store::*;

fn latency(samples: u64, mean_ns: f64) -> Latency {
    let percentile =
        |factor: f64, needed: u64| (samples >= needed).then_some((mean_ns * factor) as u64);
    Latency {
        samples,
        mean_ns,
        min_ns: (mean_ns * 0.2) as u64,
        max_ns: (mean_ns * 20.0) as u64,
        p50_ns: percentile(0.9, 20),
        p90_ns: percentile(1.5, 100),
        p95_ns: percentile(2.0, 200),
        p99_ns: percentile(4.0, 1_000),
        p999_ns: percentile(9.0, 10_000),
        histogram: String::new(),
    }
}

fn kind(name: Option<&str>, committed: u64, seconds: f64) -> KindFigures {
    KindFigures {
        kind: name.map(str::to_owned),
        committed,
        failed: 3,
        tps: committed as f64 / seconds,
        response: latency(committed, 2_310_000.0),
        service: latency(committed, 2_310_000.0),
        parts: Some(PartLatencies {
            send_wait: latency(committed, 40_000.0),
            server: latency(committed, 170_000.0),
            client_wait: latency(committed, 2_100_000.0),
            server_times_upper_bound: 12,
        }),
        busy_s: 63.9,
        ..KindFigures::default()
    }
}

/// The TOML of a price sheet: lines of its head, and configurations with their prices per month.
pub fn price_sheet(head: &str, configurations: &[(&str, f64)]) -> String {
    let mut text =
        format!("[sheet]\nregion = \"r\"\nterm = \"on demand\"\nentered_by = \"dba\"\n{head}");
    for (name, price) in configurations {
        // JSON strings are valid TOML.
        let name = serde_json::to_string(name).unwrap();
        text += &format!(
            "[[configuration]]\nname = {name}\n[[configuration.item]]\nname = \"i\"\nquantity = 1\n\
             unit_price = {price:.2}\nper = \"month\"\n"
        );
    }
    text
}

/// The text that a view writes.
pub fn written(view: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    view(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub fn test_build() -> Build {
    Build {
        version: "0.1.0".to_owned(),
        commit: Some("01234567".to_owned()),
        ..Build::default()
    }
}

/// A complete closed-loop run of one kind of transaction, with a split of the service time.
pub fn closed() -> Run {
    let seconds = 4.0;
    let series = (0..5_u32)
        .map(|i| Second {
            at_s: f64::from(i),
            length_s: 1.0,
            phase: match i {
                0 => SecondPhase::Warmup,
                _ => SecondPhase::Measured,
            },
            committed: if i == 0 { 27_000 } else { 27_200 + 200 * u64::from(i) },
            failed: if i == 4 { 3 } else { 0 },
            mean_ns: 2_310_000.0,
            p50_ns: Some(2_100_000),
            p95_ns: Some(4_000_000),
            p99_ns: Some(9_000_000),
            max_ns: 40_000_000,
            server_mean_ns: Some(170_000.0),
            client_cpu_s: Some(0.8),
            loop_delay_max_ns: 900_000,
            connections: 64,
            ..Second::default()
        })
        .collect();
    Run {
        id: "20261120-233342-tpcb-7f3a".into(),
        started_at: "2026-11-20T23:33:42+01:00".into(),
        state: RunState::Complete,
        build: Build {
            version: "0.1.0".into(),
            target: "x86_64-linux".into(),
            profile: BuildProfile::Release,
            commit: None,
        },
        machines: vec![ClientMachine {
            part: None,
        host: Host {
                name: "bench1".into(),
                kernel: "Linux 6.1.0".into(),
                cpu: "Some CPU 3.0 GHz".into(),
                cpus: 8,
                memory_bytes: 34_000_000_000,
                cpu_frequency: None,
            },
        health: ClientHealth {
            cpu_user_s: Some(3.2),
            cpu_system_s: Some(2.1),
            busiest_thread_share: Some(0.97),
            cpu_per_transaction_us: Some(47.8),
            loop_delay_max_ns: 900_000,
            run_queue_s: Some(0.02),
            steal_share: Some(0.0),
            memory_peak_bytes: Some(34_000_000),
            ..ClientHealth::default()
        },
        }],
        request: serde_json::json!({"arguments": ["run", "tpcb"]}),
        plan: serde_json::json!({"workload": {"name": "tpcb"}}),
        server: Server {
            product: Some(Product::POSTGRESQL),
            service: None,
            pooler: None,
            version: "17.2".into(),
            address: Some(ServerAddress::Tcp("127.0.0.1:5432".into())),
            database: "bench".into(),
            user: "bench".into(),
            tls: None,
            embedded: false,
            declared: Default::default(),
            settings: serde_json::json!({"fsync": "on", "shared_buffers": "128MB"})
                .as_object()
                .unwrap()
                .clone(),
        },
        workload: Workload {
            name: "tpcb".into(),
            title: "bank accounts: update an account, its teller and its branch, add to the history (7 statements)".into(),
            scale: 100,
            settings: vec![Setting::new("mode", "statements")],
            kinds: vec!["tpcb".into()],
            statements: vec!["SELECT 1".into()],
            ..Workload::default()
        },
        rules_version: Some(prony_judge::RULES_VERSION),
        drive: Drive {
            clients: 64,
            threads: 2,
            protocol: Some(QueryMode::Prepared),
            io: "ring".into(),
            io_reason: "the probe found io_uring usable".into(),
            network: Some(Network::Tcp),
            seed: 42,
            ..Drive::default()
        },
        window: Window {
            connect_s: 0.1,
            warmup_s: 1.0,
            measured_s: seconds,
            drain_s: 0.01,
            warmup_end: None,
        },
        measured: Figures {
            length_s: seconds,
            kinds: vec![
                kind(None, 110_800, seconds),
                kind(Some("tpcb"), 110_800, seconds),
            ],
            errors: vec![ErrorCount {
                kind: Some("tpcb".into()),
                class: ErrorClass::Deadlock,
                code: "40P01".into(),
                count: 3,
                example: "deadlock detected\x1b[31m".into(),
            }],
            unfinished: 7,
            in_flight: Some(InFlight {
                committed: 5,
                ambiguous: 1,
                cut_off: 1,
                ..InFlight::default()
            }),
            in_flight_s: Some(0.01),
            in_flight_max_s: Some(0.01),
            ..Figures::default()
        },
        series,
        events: vec![Event {
            at_s: 2.0,
            until_s: Some(2.4),
            kind: EventKind::Outage,
            detail: "connections lost until restored".into(),
            count: 64,
            ..Event::default()
        }],
        timing: Timing {
            parts_source: ServiceTimePartsSource::KernelTimestamps,
            with_timestamp: 554_000,
            without_timestamp: 2,
            impossible: 1,
            send_cost_ns: 1_800.0,
            transmit_timestamps: 400,
            ..Timing::default()
        },
        checks: vec![
            Check {
                id: "littles-law".into(),
                severity: Severity::Note,
                kind: None,
                finding: "64 clients, 64.0 by TPS × mean latency".into(),
                advice: String::new(),
            },
            Check {
                id: "client-limit".into(),
                severity: Severity::Caveat,
                kind: None,
                finding: "replies waited 2.1 ms of 2.3 ms in this client".into(),
                advice: "Use more threads, or fewer clients per thread.".into(),
            },
        ],
        ..Run::default()
    }
}

/// [`closed`], whose findings are of former rules, so that its readers keep them.
pub fn formerly_judged() -> Run {
    Run {
        rules_version: Some(prony_judge::RULES_VERSION - 1),
        ..closed()
    }
}

/// A run of this throughput, with the counts, seconds and CPU time per transaction that follow from it.
pub fn with_tps(mut run: Run, tps: u64) -> Run {
    let committed = (tps as f64 * run.measured.length_s) as u64;
    for figures in &mut run.measured.kinds {
        let name = figures.kind.take();
        *figures = kind(name.as_deref(), committed, run.measured.length_s);
    }
    for second in &mut run.series {
        second.committed = tps;
    }
    let health = &mut run.machine_mut().health;
    let cpu_s = health.cpu_user_s.zip(health.cpu_system_s);
    health.cpu_per_transaction_us =
        cpu_s.map(|(user_s, system_s)| (user_s + system_s) * 1e6 / committed as f64);
    run
}

/// A histogram with the bounds that a run uses, of times in nanoseconds with their counts.
pub fn histogram(times: impl IntoIterator<Item = (u64, u64)>) -> hdrhistogram::Histogram<u64> {
    let histogram = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3);
    let mut histogram = histogram.unwrap();
    for (time_ns, count) in times {
        histogram.record_n(time_ns, count).unwrap();
    }
    histogram
}

/// A latency with the histogram of these times, in nanoseconds with their counts.
pub fn latency_of(times: impl IntoIterator<Item = (u64, u64)>) -> Latency {
    let histogram = histogram(times);
    Latency {
        samples: histogram.len(),
        min_ns: histogram.min(),
        max_ns: histogram.max(),
        mean_ns: histogram.mean(),
        histogram: encode_histogram(&histogram),
        ..Latency::default()
    }
}

/// A histogram of one interval, of times in nanoseconds with their counts.
pub fn coarse_histogram(times: impl IntoIterator<Item = (u64, u64)>) -> CoarseHistogram {
    CoarseHistogram::of(&latency_of(times).distribution().unwrap())
}

pub fn time_histograms(
    time: TransactionTime,
    kind: Option<&str>,
    intervals: impl IntoIterator<Item = CoarseHistogram>,
) -> TimeHistograms {
    let mut bytes = Vec::new();
    for histogram in intervals {
        histogram.append_to(&mut bytes);
    }
    TimeHistograms {
        time,
        kind: kind.map(str::to_owned),
        counts: encode_series(&bytes),
    }
}

/// A closed-loop run with histograms over time: in every transaction the server takes 1 ms, the client wait
/// 200 µs and the send wait 50 µs.
pub fn with_part_histograms() -> Run {
    let mut run = closed();
    let times = [
        (TransactionTime::Response, 1_250_000),
        (TransactionTime::SendWait, 50_000),
        (TransactionTime::Server, 1_000_000),
        (TransactionTime::ClientWait, 200_000),
    ];
    let times = times.map(|(time, time_ns)| {
        let seconds = run.series.iter();
        let seconds = seconds.map(|second| coarse_histogram([(time_ns, second.committed)]));
        time_histograms(time, None, seconds)
    });
    run.histograms = Some(HistogramSeries {
        rows: vec![1; run.series.len()],
        times: times.into(),
    });
    run
}

/// A short open-loop run of two kinds of transaction over a unix socket, ended by a signal.
pub fn open_partial() -> Run {
    let mut run = closed();
    run.state = RunState::Partial;
    run.ended_because = Some("SIGINT".into());
    run.drive.open_loop = true;
    run.drive.rate_tps = Some(5_000.0);
    run.drive.arrival = Some(Arrival::Poisson);
    run.drive.network = Some(Network::Unix);
    run.timing = Timing {
        parts_source: ServiceTimePartsSource::unavailable(
            "unix sockets have no receive timestamps; --tcp-sample N estimates it",
        ),
        ..Timing::default()
    };
    run.measured.kinds = vec![
        kind(None, 150, 4.0),
        kind(Some("payment"), 130, 4.0),
        kind(Some("stock-level"), 20, 4.0),
    ];
    run.measured.kinds[2].failed = 0;
    for kind in &mut run.measured.kinds {
        kind.parts = None;
        kind.service = latency(kind.committed, 1_000_000.0);
    }
    run.measured.never_started = 11;
    run
}
