//! Runs that cannot be stored, and lines that are unusual.

use super::*;
use prony_assertions::TestFolder;
use prony_measure::{
    ErrorClass, Interval, Outcome, ProcessHealth, RecorderLayout, RunSchedule, Sample,
};

#[test]
fn the_journal_of_a_run_that_cannot_be_stored_stays_until_there_is_room() {
    let folder = TestFolder::create();
    let store = RunStore::open(Some(&folder)).unwrap();
    let mut run = Run::default();
    let mut writer = store.begin(&mut run).unwrap();
    writer.write_event(&Event::default()).unwrap();
    // No file can be renamed over this folder.
    let blocked = store.document_path(&run.id);
    fs::create_dir_all(blocked.join("blocked")).unwrap();
    let error = writer.finish(&run).unwrap_err();
    assert!(matches!(error, StoreError::NotStored { .. }), "{error:?}");
    let (journal, path) = store.load_from(&run.id).unwrap();
    assert_eq!(
        (journal.state, journal.events.len()),
        (RunState::Partial, 1)
    );
    assert_eq!(path, store.journal_path(&run.id));
    fs::remove_dir_all(&blocked).unwrap();
    assert_eq!(store.load_from(&run.id).unwrap(), (journal, blocked));
    assert!(!path.exists());
}

/// A journal with one second in which a transaction failed; `kinds` are the run's kinds of transaction.
fn journal_of_a_failure(kinds: &[&str]) -> Run {
    let folder = TestFolder::create();
    let store = RunStore::open(Some(&folder)).unwrap();
    let mut run = Run::default();
    run.workload.kinds = kinds.iter().map(|&kind| kind.to_owned()).collect();
    let mut writer = store.begin(&mut run).unwrap();
    let span = RunSchedule::seconds(0, 0, None).span(0);
    let mut interval = Interval::new(span, RecorderLayout::closed_loop(1));
    interval.record(&Sample {
        kind: 0,
        // A server may send any bytes; these are not UTF-8.
        outcome: Outcome::Failed(ErrorClass::Other, [b'X', 0xff, 0, 0xc3, b'1']),
        scheduled_ns: 0,
        started_ns: 0,
        ended_ns: 1_000,
        connect_ns: 0,
        retries: 0,
        parts: None,
    });
    let row = IntervalRow {
        interval: Box::new(interval),
        worker_cpu_ns: vec![None],
        process: ProcessHealth::default(),
    };
    writer.write_second(&row, 0).unwrap();
    store.load(&writer.id).unwrap()
}

#[test]
fn a_second_with_an_error_code_that_is_not_utf_8_is_read() {
    let run = journal_of_a_failure(&["transfer"]);
    assert_eq!(run.series.len(), 1);
    assert_eq!(run.measured.kinds[0].failed, 1);
    assert_eq!(run.measured.errors[0].count, 1);
}

#[test]
fn a_second_whose_kinds_differ_from_those_of_its_run_is_not_read() {
    let run = journal_of_a_failure(&["transfer", "read"]);
    assert_eq!(run.series.len(), 0);
}
