//! Runs are stored, loaded, listed, found and deleted.

mod common;

use common::*;
use prony_assertions::TextAssertions;
use prony_store::*;

#[test]
fn figures_survive_storing_and_loading() {
    let (folder, store) = Folder::with_store();
    let (rows, collected) = load(schedule(3 * S / 2, 3 * S));
    let mut header = run();
    let mut writer = store.begin(&mut header).unwrap();
    write_rows(&mut writer, &rows);
    let mut run = finished(&rows, &collected);
    run.id = header.id.clone();
    let path = writer.finish(&run).unwrap();
    assert_eq!(path, folder.runs().join(format!("{}.json", run.id)));
    assert_eq!(
        std::fs::read_dir(folder.runs()).unwrap().count(),
        1,
        "no journal left"
    );

    let loaded = store.load(&run.id).unwrap();
    assert_eq!(loaded, run, "every figure is exact");
    let [all, transfer, read] = &loaded.measured.kinds[..] else {
        panic!("{:?}", loaded.measured.kinds)
    };
    assert_eq!(
        [all.name(), transfer.name(), read.name()],
        ["all", "transfer", "read"]
    );
    // 3,000 samples in the window; of each hundred, one failed, one was rolled back, one was skipped.
    assert_eq!(
        (all.committed, all.failed, all.rolled_back, all.skipped),
        (2_910, 30, 30, 30)
    );
    assert_eq!(transfer.committed + read.committed, all.committed);
    assert_eq!(all.tps, 970.0);
    assert_eq!(all.response.samples, 2_910);
    assert!(all.response.p99_ns.is_some() && all.response.p999_ns.is_none());
    let split = all.parts.as_ref().unwrap();
    assert_eq!(split.client_wait.mean_ns, 1_500.0);
    let sum_ns = split.send_wait.mean_ns + split.server.mean_ns + split.client_wait.mean_ns;
    assert!((sum_ns - all.service.mean_ns).abs() < 0.01);
    assert_eq!(all.connect.as_ref().unwrap().mean_ns, 3_000.0);
    assert_eq!(loaded.measured.unfinished, 5);
    let in_flight = InFlight {
        committed: 5,
        ..InFlight::default()
    };
    assert_eq!(loaded.measured.in_flight, Some(in_flight));
    let warmup = loaded.warmup.as_ref().unwrap();
    assert_eq!((warmup.length_s, warmup.errors[0].count), (1.5, 15));
    let error = &warmup.errors[0];
    assert_eq!(
        (error.class, error.code.as_str()),
        (ErrorClass::Deadlock, "40P01")
    );
    assert_eq!(error.example, "deadlock detected");
    let parts: Vec<&str> = loaded.series.iter().map(|s| s.phase.name()).collect();
    assert_eq!(
        parts,
        ["warmup", "warmup", "measured", "measured", "measured"]
    );
    assert_eq!(
        (loaded.series[2].at_s, loaded.series[2].connections),
        (1.5, 4)
    );
}

#[test]
fn values_that_the_kernel_does_not_report_are_absent() {
    let (mut rows, mut collected) = load(schedule(0, 2 * S));
    let totals = &mut collected.measured;
    for health in [&mut totals.health, &mut rows[0].interval.health] {
        health.cpu_user_ns = None;
        health.cpu_system_ns = None;
        health.run_queue_ns = None;
    }
    totals.worker_cpu_ns.fill(None);
    totals.process = Default::default();
    let run = finished(&rows, &collected);
    assert_eq!(run.series[0].client_cpu_s, None);
    let text = serde_json::to_value(&run).unwrap();
    let names: Vec<&String> = text["machines"][0]["health"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(names, ["loop_delay_max_ns"]);
    assert!(text["series"][0].get("client_cpu_s").is_none());
}

/// All reported values are present, including real zeros.
#[test]
fn values_that_the_kernel_reports_are_in_the_document() {
    let (_, mut collected) = load(schedule(0, 2 * S));
    let totals = &mut collected.measured;
    totals.health.cpu_user_ns = Some(1_500_000_000);
    totals.health.cpu_system_ns = Some(0);
    totals.health.run_queue_ns = Some(0);
    totals.worker_cpu_ns = vec![Some(1_000_000_000), None];
    totals.process.steal_ticks = Some(0);
    totals.process.total_ticks = Some(400);
    totals.process.memory_peak_bytes = Some(8_000_000);
    totals.health.batch.reverted = 2;
    totals.health.pinned_workers = 4;
    let reported = client_health(totals);
    assert_eq!(reported.pinned_workers, Some(4));
    assert_eq!(
        reported.batch.map(|batch| (batch.active, batch.reverted)),
        Some((0, 2))
    );
    assert_eq!(reported.cpu_user_s, Some(1.5));
    assert_eq!(
        (reported.cpu_system_s, reported.run_queue_s),
        (Some(0.0), Some(0.0))
    );
    assert_eq!(
        (reported.busiest_thread_share, reported.steal_share),
        (Some(0.5), Some(0.0))
    );
    assert_eq!(reported.memory_peak_bytes, Some(8_000_000));
    let committed: u64 = totals.kinds.iter().map(|tally| tally.committed).sum();
    let expected_us = 1.5e6 / committed as f64;
    assert_eq!(reported.cpu_per_transaction_us, Some(expected_us));
    for tally in &mut totals.kinds {
        tally.committed = 0;
    }
    assert_eq!(
        client_health(totals).cpu_per_transaction_us,
        None,
        "none was committed"
    );
}

#[test]
fn percentiles_can_be_recomputed_from_a_stored_histogram() {
    let (_, collected) = load(schedule(0, 2 * S));
    let all = collected.measured.all_kinds();
    let stored = latency(&all.response);
    let times = stored.distribution().unwrap();
    assert_eq!(times.quantile_ns(0.99), stored.p99_ns);
    assert_eq!(times.histogram, all.response.histogram);
    let mut broken = stored.clone();
    broken.samples += 1;
    assert!(broken.distribution().is_err());
    assert_eq!(Latency::default().distribution().unwrap().samples, 0);
}

#[test]
fn a_document_with_nan_is_not_stored() {
    let (_folder, store) = Folder::with_store();
    let mut run = run();
    let writer = store.begin(&mut run).unwrap();
    run.window.drain_s = f64::NAN;
    assert!(writer.finish(&run).is_err());
    let stored = store.load(&run.id).unwrap();
    assert_eq!(
        stored.state,
        RunState::Partial,
        "the journal is still there"
    );
}

#[test]
fn runs_are_listed_newest_first_and_filtered() {
    let (_folder, store) = Folder::with_store();
    assert_eq!(
        store.list(&RunFilter::default()).unwrap(),
        Listing::default()
    );
    assert!(matches!(store.load("last"), Err(StoreError::Empty { .. })));
    let (rows, collected) = load(schedule(0, 2 * S));
    // 22:00 UTC is before 23:33 in Berlin's winter, but its digits sort after 21:59+00:00.
    let times = [
        "2026-11-20T22:59:00+02:00",
        "2026-11-20T21:30:00Z",
        "2026-11-20T22:00:00Z",
    ];
    let ids = times.map(|time| {
        stored(&store, |run| {
            run.started_at = time.into();
            run.measured = finished(&rows, &collected).measured;
        })
    });
    let oldest = stored(&store, |run| {
        run.started_at = "2020-01-01T00:00:00Z".into();
        run.workload.name = "select-only".into();
        run.checks = vec![Check {
            id: "x".into(),
            severity: Severity::Caveat,
            kind: None,
            finding: String::new(),
            advice: String::new(),
        }];
    });
    let listing = store.list(&RunFilter::default()).unwrap();
    let listed: Vec<&str> = listing.runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(listed, [&ids[2], &ids[1], &ids[0], &oldest]);
    assert!(listing.unreadable.is_empty());
    let newest = &listing.runs[0];
    assert_eq!(
        (newest.scale, newest.clients, newest.state),
        (7, 4, RunState::Complete)
    );
    assert_eq!(newest.tps, Some(970.0));
    assert!(newest.p99_ns.is_some());
    assert_eq!(newest.server, "postgresql 15.14");
    assert_eq!(
        (listing.runs[3].tps, listing.runs[3].worst_doubt),
        (None, Some(Severity::Caveat))
    );
    let filter = RunFilter {
        workload: Some("tpcb".into()),
        last: Some(2),
        ..RunFilter::default()
    };
    assert_eq!(store.list(&filter).unwrap().runs.len(), 2);
    assert_eq!(store.load("last").unwrap().id, ids[2]);
}

#[test]
fn runs_are_found_by_prefix_and_by_path() {
    let (folder, store) = Folder::with_store();
    let first = stored(&store, |run| run.started_at = "2026-01-02T03:04:05Z".into());
    let second = stored(&store, |run| run.started_at = "2026-01-03T03:04:05Z".into());
    assert_eq!(store.load("20260102").unwrap().id, first);
    assert_eq!(store.load(&second).unwrap().id, second);
    assert!(matches!(
        store.load("2026"),
        Err(StoreError::Ambiguous { count: 2, .. })
    ));
    for unknown in ["", "2027", "..", "../", "/nowhere", "\u{1b}[2J"] {
        let error = store.load(unknown).unwrap_err().to_string();
        assert!(!error.contains('\u{1b}'), "{error}");
    }
    let copy = folder.path().join("copy.json");
    std::fs::copy(folder.runs().join(format!("{first}.json")), &copy).unwrap();
    assert_eq!(store.load(copy.to_str().unwrap()).unwrap().id, first);
    // The result names the file that was read, not another file of the same run.
    let source_of = |name: &str| store.load_from(name).unwrap().1;
    assert_eq!(source_of(copy.to_str().unwrap()), copy);
    assert_eq!(
        source_of("20260102"),
        folder.runs().join(format!("{first}.json"))
    );
    let mut live = run();
    let _writer = store.begin(&mut live).unwrap();
    let journal = folder.runs().join(format!("{}.jsonl", live.id));
    assert_eq!(source_of(&live.id), journal);
}

#[test]
fn only_ended_runs_can_be_deleted() {
    let (_folder, store) = Folder::with_store();
    let ended = stored(&store, |_| ());
    let mut live = run();
    let writer = store.begin(&mut live).unwrap();
    assert!(matches!(
        store.delete(&live.id),
        Err(StoreError::Live { .. })
    ));
    store.delete(&ended).unwrap();
    assert!(matches!(
        store.delete(&ended),
        Err(StoreError::NotFound { .. })
    ));
    assert!(store.delete("../index").is_err());
    drop(writer);
    store.delete(&live.id).unwrap();
    assert!(store.list(&RunFilter::default()).unwrap().runs.is_empty());
}

#[test]
fn runs_that_start_in_the_same_second_have_different_ids() {
    let (folder, store) = Folder::with_store();
    let mut runs = vec![run(); 600];
    let writers: Vec<RunWriter> = runs
        .iter_mut()
        .map(|run| store.begin(run).unwrap())
        .collect();
    let mut ids: Vec<&str> = writers.iter().map(RunWriter::id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 600);
    writers.into_iter().for_each(RunWriter::discard);
    assert_eq!(std::fs::read_dir(folder.runs()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_with_the_path() {
    let folder = Folder::new();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    // Not even root can create a folder below a file.
    let store = RunStore::open(Some(&file.join("store"))).unwrap();
    let error = store.begin(&mut run()).unwrap_err().to_string();
    error.assert_contains_all(["cannot create the folder", "file/store", "set PRONY_HOME"]);
}

#[test]
fn the_folder_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let store = RunStore::open(Some(&folder.path().join("new"))).unwrap();
    stored(&store, |_| ());
    let mode = |path: &str| {
        let meta = std::fs::metadata(folder.path().join(path)).unwrap();
        meta.permissions().mode() & 0o777
    };
    assert_eq!((mode("new"), mode("new/runs")), (0o700, 0o700));
}

#[test]
fn a_scenario_survives_storing_and_other_runs_have_none() {
    use prony_store::scenario::{CachedShare, OriginalSetup, PublishedFigure, PublishedSetup};
    let without_scenario = serde_json::to_string(&Run::default()).unwrap();
    without_scenario.assert_contains("\"scenario\":null");
    let scenario = Scenario {
        id: "tpcb-cached".into(),
        published: vec![PublishedFigure {
            name: PublishedMetric::Tps,
            value: 20_359.0,
            high: None,
            unit: "transactions/s".into(),
        }],
        original: OriginalSetup {
            setup: PublishedSetup {
                cpus: Some(16),
                ..PublishedSetup::default()
            },
            ..OriginalSetup::default()
        },
        size_share: 0.001,
        ..Scenario::default()
    };
    let run = Run {
        scenario: Some(scenario),
        cached: Some(CachedShare {
            share: 0.3,
            ..CachedShare::default()
        }),
        ..Run::default()
    };
    let text = serde_json::to_string(&run).unwrap();
    assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), run);
    // A field that a later Prony omits, or an earlier one did not know, is not an error.
    let partial = without_scenario.replace("\"scenario\":null", "\"scenario\":{\"id\":\"x\"}");
    let read: Run = serde_json::from_str(&partial).unwrap();
    assert_eq!(read.scenario.unwrap().id, "x");
}
