//! Journals on a full disk, and how they are read.

use super::*;
use prony_measure::{
    ErrorClass, Interval, Outcome, ProcessHealth, RecorderLayout, RunSchedule, Sample,
};
use std::os::unix::fs::PermissionsExt;

fn event(detail: &str) -> Event {
    Event {
        detail: detail.to_owned(),
        ..Event::default()
    }
}

/// A writer whose store filled up after its first event.
fn writer_with_full_disk(name: &str) -> (PathBuf, (RunWriter, File), StoreError) {
    let folder = std::env::temp_dir().join(format!("prony-full-{name}-{}", std::process::id()));
    let store = RunStore::open(Some(&folder)).unwrap();
    let mut writer = store.begin(&mut Run::default()).unwrap();
    writer.write_event(&event("before")).unwrap();
    let lock = writer.journal.fill_disk();
    let error = writer.write_event(&event("after")).unwrap_err();
    writer
        .write_event(&event("later"))
        .expect("it is reported once");
    (folder, (writer, lock), error)
}

#[test]
fn a_journal_on_a_full_disk_continues_in_the_temporary_folder() {
    let (folder, (writer, lock), error) = writer_with_full_disk("killed");
    let StoreError::Diverted {
        fallback: Some(fallback),
        ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert!(error.is_full(), "{error}");
    let text = error.to_string();
    assert!(text.contains("No space left on device"), "{text}");
    assert!(text.contains(&fallback.display().to_string()), "{text}");
    let mode = fs::metadata(fallback).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (store, id) = (writer.store.clone(), writer.id.clone());
    let live = store.load(&id).unwrap();
    assert_eq!((live.state, live.events.len()), (RunState::Running, 3));
    // Dropping the writer leaves the files as a kill does.
    drop((writer, lock));
    let (run, path) = store.load_from(&id).unwrap();
    assert_eq!((run.state, run.events.len()), (RunState::Partial, 3));
    let reason = run.ended_because.unwrap();
    assert!(
        reason.starts_with("interrupted: Prony was killed"),
        "{reason}"
    );
    assert!(reason.contains("No space left on device"), "{reason}");
    assert_eq!(path, store.document_path(&id), "it is in the store now");
    assert!(!fallback.exists() && !store.journal_path(&id).exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_document_that_cannot_be_stored_is_saved_elsewhere_and_moved_later() {
    let (folder, (writer, _), _) = writer_with_full_disk("refused");
    let (store, id) = (writer.store.clone(), writer.id.clone());
    // A path over which no file can be renamed simulates a disk that is still full.
    let blocked = store.document_path(&id);
    fs::create_dir_all(blocked.join("blocked")).unwrap();
    let mut run = Run {
        id: id.clone(),
        state: RunState::Complete,
        ..Run::default()
    };
    run.workload.name = "complete".into();
    let error = writer.finish(&run).unwrap_err();
    let StoreError::StoredElsewhere { path, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(error.to_string().contains(&path.display().to_string()));
    let (loaded, source) = store.load_from(&id).unwrap();
    assert_eq!((&loaded, &source), (&run, path));
    fs::remove_dir_all(&blocked).unwrap();
    let listed = store.list(&crate::RunFilter::default()).unwrap();
    assert_eq!(listed.runs[0].state, RunState::Complete);
    assert_eq!(store.load_from(&id).unwrap(), (run, blocked));
    assert!(!path.exists() && !store.journal_path(&id).exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn files_that_the_journal_could_not_name_are_found_in_the_temporary_folder() {
    let folder = std::env::temp_dir().join(format!("prony-unnoted-{}", std::process::id()));
    let store = RunStore::open(Some(&folder)).unwrap();
    let diverted = || {
        let mut writer = store.begin(&mut Run::default()).unwrap();
        writer.journal.refuse_overwrites();
        let lock = writer.journal.fill_disk();
        writer.write_event(&event("after")).unwrap_err();
        let journal = writer.journal.diverted_path().unwrap().to_owned();
        (writer, lock, journal)
    };
    let (writer, lock, journal) = diverted();
    let id = writer.id.clone();
    drop((writer, lock));
    assert_eq!(store.load(&id).unwrap().events.len(), 1, "as after a kill");
    assert!(!journal.exists() && store.document_path(&id).exists());

    let (writer, lock, journal) = diverted();
    let id = writer.id.clone();
    fs::create_dir_all(store.document_path(&id).join("blocked")).unwrap();
    let mut run = Run {
        id: id.clone(),
        state: RunState::Complete,
        ..Run::default()
    };
    run.workload.name = "complete".into();
    let error = writer.finish(&run).unwrap_err();
    drop(lock);
    let StoreError::StoredElsewhere {
        path,
        is_path_in_journal,
        ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert!(
        !is_path_in_journal && error.to_string().contains("keep that file"),
        "{error}"
    );
    assert!(journal.exists(), "the journal may name it");
    fs::remove_dir_all(store.document_path(&id)).unwrap();
    assert_eq!(store.load(&id).unwrap(), run);
    assert!(!path.exists() && !journal.exists() && !store.journal_path(&id).exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn dropped_lines_are_counted() {
    let folder = std::env::temp_dir().join(format!("prony-hole-{}", std::process::id()));
    let store = RunStore::open(Some(&folder)).unwrap();
    let mut writer = store.begin(&mut Run::default()).unwrap();
    let id = writer.id.clone();
    let line = writer
        .serialize(&JournalLine::Event(event("1")))
        .unwrap()
        .len()
        + 1;
    writer.journal.limit_memory(2 * line);
    let blocked = fallback_path(&id, "jsonl");
    fs::create_dir(&blocked).unwrap();
    let file = writer.journal.fill_disk();
    writer.write_event(&event("1")).unwrap_err();
    for name in ["2", "3", "4", "5"] {
        writer.write_event(&event(name)).unwrap();
    }
    writer.journal.free_disk(file);
    // The buffer is still full at the first of these events.
    writer.write_event(&event("6")).unwrap();
    writer.write_event(&event("7")).unwrap();
    drop(writer);
    let run = store.load(&id).unwrap();
    let names: Vec<&str> = run
        .events
        .iter()
        .map(|event| event.detail.as_str())
        .collect();
    assert_eq!(names, ["1", "2", "7"]);
    let reason = run.ended_because.unwrap();
    assert!(
        reason.contains("4 lines before that are missing"),
        "{reason}"
    );
    fs::remove_dir(blocked).unwrap();
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_that_others_can_write_is_not_trusted() {
    let (folder, (writer, _), error) = writer_with_full_disk("foreign");
    let StoreError::Diverted {
        fallback: Some(fallback),
        ..
    } = error
    else {
        panic!("{error:?}");
    };
    let (store, id) = (writer.store.clone(), writer.id.clone());
    drop(writer);
    fs::set_permissions(&fallback, fs::Permissions::from_mode(0o666)).unwrap();
    // Another user, another host or a container cannot read the remaining lines either: the shorter run must
    // not become final.
    let run = store.load(&id).unwrap();
    assert_eq!((run.state, run.events.len()), (RunState::Partial, 1));
    let reason = run.ended_because.unwrap();
    let expected = format!("the rest is in {}", fallback.display());
    assert!(reason.contains(&expected), "{reason}");
    let listed = store.list(&crate::RunFilter::default()).unwrap();
    assert_eq!(listed.runs.len(), 1);
    assert!(fallback.exists() && store.journal_path(&id).exists());
    assert!(!store.document_path(&id).exists());
    fs::set_permissions(&fallback, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(store.load(&id).unwrap().events.len(), 3);
    assert!(!fallback.exists() && store.document_path(&id).exists());
    fs::remove_dir_all(folder).unwrap();
}

/// A journal with one second in which a transaction failed; `kinds` are the run's kinds of transaction.
fn journal_of_a_failure(name: &str, kinds: &[&str]) -> (PathBuf, Run) {
    let folder = std::env::temp_dir().join(format!("prony-second-{name}-{}", std::process::id()));
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
    let live = store.load(&writer.id).unwrap();
    (folder, live)
}

#[test]
fn a_second_with_an_error_code_that_is_not_utf_8_is_read() {
    let (folder, run) = journal_of_a_failure("code", &["transfer"]);
    assert_eq!(run.series.len(), 1);
    assert_eq!(run.measured.kinds[0].failed, 1);
    assert_eq!(run.measured.errors[0].count, 1);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_second_whose_kinds_differ_from_those_of_its_run_is_not_read() {
    let (folder, run) = journal_of_a_failure("kinds", &["transfer", "read"]);
    assert_eq!(run.series.len(), 0);
    fs::remove_dir_all(folder).unwrap();
}
