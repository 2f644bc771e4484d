//! Fixtures for the tests of the store: a temporary folder, a run, and rows of figures.
#![allow(dead_code, reason = "each test file uses a part of it")]

use prony_assertions::TestFolder;
use prony_document::Product;
use prony_measure::{
    CollectedFigures, Collector, ErrorClass, ExcludedTransactions, IntervalRow, Outcome, Recorder,
    RecorderLayout, RunSchedule, Sample, ServiceTimeParts,
};
use prony_store::*;
use std::path::{Path, PathBuf};

pub const S: u64 = 1_000_000_000;
/// The time of the tests' clock at the start of the load.
pub const LOAD_START_NS: u64 = 77 * S + 5;

pub struct Folder(TestFolder);

impl Folder {
    pub fn new() -> Folder {
        Folder(TestFolder::create())
    }

    /// A folder with a store in it.
    pub fn with_store() -> (Folder, RunStore) {
        let folder = Folder::new();
        let store = folder.store();
        (folder, store)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn store(&self) -> RunStore {
        RunStore::open(Some(&self.0)).unwrap()
    }

    pub fn runs(&self) -> PathBuf {
        self.0.join("runs")
    }
}

/// Writes the seconds of a load.
pub fn write_rows<'a>(writer: &mut RunWriter, rows: impl IntoIterator<Item = &'a IntervalRow>) {
    for row in rows {
        writer.write_second(row, LOAD_START_NS).unwrap();
    }
}

/// A run with a value in each section except the figures.
pub fn run() -> Run {
    Run {
        started_at: "2026-11-20T23:33:42.125+01:00".into(),
        request: serde_json::json!({"clients": 4, "rate": 0.1}),
        server: Server {
            product: Some(Product::POSTGRESQL),
            version: "15.14".into(),
            ..Server::default()
        },
        workload: Workload {
            name: "tpcb".into(),
            scale: 7,
            kinds: vec!["transfer".into(), "read".into()],
            ..Workload::default()
        },
        drive: Drive {
            clients: 4,
            rate_tps: Some(1_000.1),
            ..Drive::default()
        },
        timing: Timing {
            parts_source: ServiceTimePartsSource::KernelTimestamps,
            ..Timing::default()
        },
        ..Run::default()
    }
}

pub fn layout() -> RecorderLayout {
    RecorderLayout {
        kinds: 2,
        open_loop: true,
        has_parts: true,
        has_connect_time: true,
        ..RecorderLayout::closed_loop(2)
    }
}

pub fn schedule(warmup_ns: u64, window_ns: u64) -> RunSchedule {
    RunSchedule::seconds(LOAD_START_NS, warmup_ns, Some(window_ns))
}

/// Sample number `number`, a millisecond after the previous one.
pub fn sample(number: u64) -> Sample {
    let service_ns = 90_000 + number * 7_919 % 100_000;
    let ended_ns = LOAD_START_NS + number * 1_000_000;
    Sample {
        kind: u16::from(number % 4 == 3),
        outcome: match number % 100 {
            7 => Outcome::Failed(ErrorClass::Deadlock, *b"40P01"),
            8 => Outcome::RolledBack,
            9 => Outcome::Skipped,
            _ => Outcome::Committed,
        },
        scheduled_ns: ended_ns - service_ns - 1_000,
        started_ns: ended_ns - service_ns,
        ended_ns,
        connect_ns: 3_000,
        retries: u32::from(number % 50 == 1),
        parts: Some(ServiceTimeParts {
            send_wait_ns: 500,
            server_ns: service_ns - 2_000,
            client_wait_ns: 1_500,
            server_is_upper_bound: number.is_multiple_of(10),
        }),
    }
}

/// All rows of a load of two workers with a sample every millisecond, and its totals.
pub fn load(schedule: RunSchedule) -> (Vec<IntervalRow>, CollectedFigures) {
    let samples = schedule.window_end_ns().saturating_sub(LOAD_START_NS) / 1_000_000;
    load_of(schedule, layout(), samples, sample)
}

/// Like [`load`], with this number of samples and this function of their numbers.
pub fn load_of(
    schedule: RunSchedule,
    layout: RecorderLayout,
    samples: u64,
    sample: impl Fn(u64) -> Sample,
) -> (Vec<IntervalRow>, CollectedFigures) {
    let mut collector = Collector::new(schedule, layout, 2);
    for worker in 0..2u64 {
        let mut recorder = Recorder::new(schedule, layout);
        recorder.set_connections(2, 0);
        recorder.record_error_example(1, ErrorClass::Deadlock, *b"40P01", "deadlock detected");
        for number in (worker..samples + 5).step_by(2) {
            recorder.record(&sample(number));
            recorder.record_iteration(1_000 + number, 1);
            recorder.timestamps().usable += 1;
            while let Some(interval) = recorder.take_finished() {
                collector.add(worker as usize, interval);
            }
        }
        recorder.finish(
            schedule.window_end_ns() + S / 4,
            ExcludedTransactions::default(),
        );
        while let Some(interval) = recorder.take_finished() {
            collector.add(worker as usize, interval);
        }
    }
    let rows: Vec<IntervalRow> = std::iter::from_fn(|| collector.next_row()).collect();
    (rows, collector.finish())
}

pub fn finished(rows: &[IntervalRow], collected: &CollectedFigures) -> Run {
    let run = run();
    let kinds = run.workload.kinds.clone();
    Run {
        state: RunState::Complete,
        window: Window {
            warmup_s: collected.warmup.as_ref().map_or(0.0, |w| w.seconds()),
            measured_s: collected.measured.seconds(),
            drain_s: collected.drain_s,
            warmup_end: None,
            connect_s: 0.1,
        },
        warmup: collected.warmup.as_ref().map(|w| figures(w, &kinds)),
        measured: figures(&collected.measured, &kinds),
        series: rows.iter().map(|row| second(row, LOAD_START_NS)).collect(),
        machines: vec![ClientMachine {
            health: client_health(&collected.measured),
            ..ClientMachine::default()
        }],
        timing: timing(
            &collected.measured.timestamps,
            ServiceTimePartsSource::KernelTimestamps,
        ),
        ..run
    }
}

pub fn stored(store: &RunStore, change: impl FnOnce(&mut Run)) -> String {
    let mut run = run();
    run.state = RunState::Complete;
    run.rules_version = Some(1);
    change(&mut run);
    let writer = store.begin(&mut run).unwrap();
    let id = writer.id().to_owned();
    writer.finish(&run).unwrap();
    id
}
