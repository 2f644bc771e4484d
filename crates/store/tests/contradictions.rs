//! Documents whose figures contradict one another.

mod common;

use common::*;
use prony_measure::{Outcome, RecorderLayout, Sample};
use prony_store::*;
use serde_json::json;

fn document(layout: RecorderLayout, seconds: u64, sample: impl Fn(u64) -> Sample) -> Run {
    let (rows, collected) = load_of(
        schedule(S, (seconds - 1) * S),
        layout,
        seconds * 1_000,
        sample,
    );
    let mut run = finished(&rows, &collected);
    run.workload.kinds.truncate(layout.kinds);
    run.measured = figures(&collected.measured, &run.workload.kinds);
    run.warmup = collected
        .warmup
        .as_ref()
        .map(|warmup| figures(warmup, &run.workload.kinds));
    let mut histograms = HistogramRecorder::default();
    rows.iter().for_each(|row| histograms.add(row));
    run.histograms = histograms.finish(&run.workload.kinds);
    run.drive.open_loop = layout.open_loop;
    run.window.measured_s = run.measured.length_s;
    run.observed = Some(Observed {
        series: vec![ServerSecond {
            length_s: 1.0,
            machine: Some(MachineSecond {
                busy_share: Some(0.5),
                disk_busy_share: Some(0.1),
                server_cpu_s: Some(0.4),
                ..MachineSecond::default()
            }),
            ..ServerSecond::default()
        }],
        ..Observed::default()
    });
    run.rates = vec![IndustryMetric {
        name: NOPM.to_owned(),
        value: run.measured.kinds[1].tps * 60.0,
        per_scale: run.measured.kinds[1].tps * 60.0 / 7.0,
        ..IndustryMetric::default()
    }];
    run
}

fn open() -> Run {
    document(layout(), 4, sample)
}

/// A closed loop of one kind of transaction, whose figures are those of all kinds.
fn closed() -> Run {
    let layout = RecorderLayout {
        has_parts: true,
        ..RecorderLayout::closed_loop(1)
    };
    document(layout, 4, |number| Sample {
        kind: 0,
        outcome: match number % 50 {
            0 => Outcome::RolledBack,
            _ => Outcome::Committed,
        },
        scheduled_ns: sample(number).started_ns,
        ..sample(number)
    })
}

#[test]
fn healthy_documents_do_not_contradict_themselves() {
    let mut partial = open();
    partial.state = RunState::Partial;
    let mut running = open();
    running.state = RunState::Running;
    let runs = [open(), closed(), partial, running, Run::default(), run()];
    for run in runs {
        assert_eq!(contradictions(&run), [""; 0]);
    }
}

#[test]
fn a_killed_run_does_not_contradict_itself() {
    let (_folder, store) = Folder::with_store();
    let (rows, _) = load(schedule(2 * S, 6 * S));
    let mut header = run();
    let mut writer = store.begin(&mut header).unwrap();
    for (index, row) in rows.iter().enumerate() {
        if index != 5 {
            writer.write_second(row, LOAD_START_NS).unwrap();
        }
    }
    let running = store.load(&header.id).unwrap();
    assert_eq!(contradictions(&running), [""; 0]);
    drop(writer);
    let killed = store.load(&header.id).unwrap();
    assert_eq!(contradictions(&killed), [""; 0]);
}

#[test]
fn a_changed_figure_is_named() {
    let figures = [
        "/measured/length_s",
        "/measured/kinds/0/tps",
        "/measured/kinds/0/committed",
        "/measured/kinds/0/rolled_back",
        "/measured/kinds/0/failed",
        "/measured/kinds/0/response/samples",
        "/measured/kinds/0/response/mean_ns",
        "/measured/kinds/0/response/p50_ns",
        "/measured/kinds/0/response/p99_ns",
        "/measured/kinds/0/response/max_ns",
        "/measured/kinds/0/service/p99_ns",
        "/measured/kinds/0/parts/send_wait/mean_ns",
        "/measured/kinds/0/parts/server/max_ns",
        "/measured/kinds/0/parts/client_wait/p99_ns",
        "/measured/kinds/1/response/mean_ns",
        "/measured/kinds/1/response/max_ns",
        "/measured/kinds/1/parts/server/mean_ns",
        "/measured/kinds/1/tps",
        "/measured/kinds/1/committed",
        "/measured/kinds/1/response/p99_ns",
        "/warmup/kinds/0/tps",
        "/rates/0/value",
        "/rates/0/per_scale",
        "/window/measured_s",
        "/series/2/p99_ns",
        "/series/2/committed",
        "/series/2/rolled_back",
        "/series/2/mean_ns",
        "/series/2/length_s",
        "/series/2/max_ns",
    ];
    // Nothing else in the document says how large they were.
    let loads = [
        "/machines/0/health/cpu_user_s",
        "/machines/0/health/busiest_thread_share",
        "/machines/0/health/run_queue_s",
        "/observed/series/0/length_s",
        "/observed/series/0/machine/busy_share",
        "/observed/series/0/machine/disk_busy_share",
        "/observed/series/0/machine/server_cpu_s",
    ];
    for run in [open(), closed()] {
        let document = serde_json::to_value(&run).unwrap();
        for path in figures.into_iter().chain(loads) {
            let Some(number) = document.pointer(path).filter(|number| number.is_number()) else {
                // The kinds of a closed loop of one kind repeat its figures.
                continue;
            };
            let changes = match number.as_u64() {
                Some(count) => vec![json!(count * 10 + 7), json!(u64::MAX)],
                None if loads.contains(&path) => vec![json!(-1e308), json!(1e308)],
                None => vec![
                    json!(number.as_f64().unwrap() * 10.0),
                    json!(-1e308),
                    json!(1e308),
                ],
            };
            for change in changes {
                let mut changed = document.clone();
                *changed.pointer_mut(path).unwrap() = change.clone();
                let run = parse_document(changed.to_string().as_bytes()).unwrap();
                assert_ne!(
                    contradictions(&run),
                    [""; 0],
                    "{path}: {number} to {change}"
                );
            }
        }
    }
}
