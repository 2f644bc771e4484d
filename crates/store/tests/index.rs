//! The index: rebuilt if lost or damaged, untouched if foreign, shared by processes.

mod common;

use common::*;
use prony_store::*;
use std::path::Path;
use std::process::{Command, Stdio};

fn count(store: &RunStore) -> usize {
    let listing = store.list(&RunFilter::default()).unwrap();
    assert!(listing.unreadable.is_empty(), "{:?}", listing.unreadable);
    listing.runs.len()
}

#[test]
fn a_lost_or_corrupt_index_is_rebuilt() {
    let folder = Folder::new("broken");
    let store = folder.store();
    (0..5).for_each(|_| drop(stored(&store, |_| ())));
    let index = folder.path().join("index.sqlite");
    assert!(index.is_file());
    std::fs::remove_file(&index).unwrap();
    assert_eq!(count(&store), 5);
    assert!(index.is_file());
    for garbage in [&b"this is not a database"[..], b"", b"\0\0\0"] {
        std::fs::write(&index, garbage).unwrap();
        assert_eq!(count(&store), 5);
    }
    // The header is valid, and the pages after it are damaged.
    let mut bytes = std::fs::read(&index).unwrap();
    bytes[4_096..].fill(0xa5);
    std::fs::write(&index, &bytes).unwrap();
    assert_eq!(count(&store), 5);
    stored(&store, |_| ());
    assert_eq!(count(&store), 6);
    assert_eq!(store.reindex().unwrap(), 6);
    assert_eq!(&std::fs::read(&index).unwrap()[..15], b"SQLite format 3");
}

#[test]
fn the_store_works_without_an_index() {
    let folder = Folder::new("unusable");
    let store = folder.store();
    stored(&store, |_| ());
    let index = folder.path().join("index.sqlite");
    std::fs::remove_file(&index).unwrap();
    std::fs::create_dir(&index).unwrap();
    assert_eq!(count(&store), 1);
    let id = stored(&store, |_| ());
    assert_eq!(count(&store), 2);
    store.delete(&id).unwrap();
    assert_eq!(count(&store), 1);
}

#[test]
fn the_index_of_a_newer_prony_is_not_changed() {
    let folder = Folder::new("newer-index");
    let store = folder.store();
    stored(&store, |_| ());
    let index = folder.path().join("index.sqlite");
    let db = rusqlite::Connection::open(&index).unwrap();
    db.execute_batch(
        "DROP TABLE runs; CREATE TABLE later (x TEXT) STRICT; PRAGMA user_version = 9",
    )
    .unwrap();
    drop(db);
    assert_eq!(count(&store), 1);
    stored(&store, |_| ());
    assert_eq!(count(&store), 2);
    let db = rusqlite::Connection::open(&index).unwrap();
    let version: i64 = db
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 9);
    db.query_row("SELECT count(*) FROM later", [], |_| Ok(()))
        .unwrap();
}

/// Findings that limit the scope do not count, also for rows of a Prony that did not tell them from doubts.
#[test]
fn verdicts_count_doubts_and_rows_without_them_are_read_again() {
    let folder = Folder::new("doubts");
    let store = folder.store();
    let caveat = |kind| Check {
        id: "x".to_owned(),
        severity: Severity::Caveat,
        kind: Some(kind),
        finding: String::new(),
        advice: String::new(),
    };
    stored(&store, |run| run.checks = vec![caveat(FindingKind::Scope)]);
    let doubted = stored(&store, |run| {
        run.checks = vec![caveat(FindingKind::Scope), caveat(FindingKind::Doubt)];
    });
    let ids = |verdict| {
        let filter = RunFilter {
            verdict: Some(verdict),
            ..RunFilter::default()
        };
        let runs = store.list(&filter).unwrap().runs;
        runs.into_iter().map(|run| run.id).collect::<Vec<_>>()
    };
    let check = || {
        assert_eq!(ids(RunVerdict::Valid).len(), 1);
        assert_eq!(ids(RunVerdict::Doubts), [&*doubted]);
    };
    check();
    let index = folder.path().join("index.sqlite");
    let db = rusqlite::Connection::open(&index).unwrap();
    db.execute_batch("ALTER TABLE runs DROP COLUMN doubt; UPDATE runs SET worst = 'caveat'")
        .unwrap();
    drop(db);
    check();
}

const FOLDER: &str = "PRONY_TEST_INDEX_FOLDER";
const RUNS_PER_CHILD: usize = 12;

/// Not a test in itself: one of several processes that store and list at the same time.
#[test]
fn child_that_stores() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let store = RunStore::open(Some(Path::new(&folder))).unwrap();
    for _ in 0..RUNS_PER_CHILD {
        let id = stored(&store, |_| ());
        let listing = store.list(&RunFilter::default()).unwrap();
        assert!(listing.unreadable.is_empty(), "{:?}", listing.unreadable);
        let summary = listing.runs.iter().find(|run| run.id == id).unwrap();
        assert_eq!(summary.state, RunState::Complete);
    }
}

#[test]
fn several_processes_share_a_store() {
    let folder = Folder::new("shared");
    let children: Vec<_> = (0..4)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "child_that_stores", "--nocapture"])
                .env(FOLDER, folder.path())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = folder.store();
    assert_eq!(count(&store), 4 * RUNS_PER_CHILD);
    assert_eq!(store.reindex().unwrap(), 4 * RUNS_PER_CHILD);
}

/// An index of a Prony without experiments is upgraded, and that Prony can still use it.
#[test]
fn an_index_without_the_experiment_column_gets_it_and_keeps_its_rows() {
    let folder = Folder::new("older-index");
    let store = folder.store();
    stored(&store, |_| ());
    let index = folder.path().join("index.sqlite");
    let db = rusqlite::Connection::open(&index).unwrap();
    db.execute_batch("ALTER TABLE runs DROP COLUMN experiment")
        .unwrap();
    drop(db);
    let experiment = Experiment {
        variant: "new".into(),
        position: 3,
        runs: 4,
        ..Experiment::default()
    };
    let id = stored(&store, |run| run.experiment = Some(experiment.clone()));
    let listing = store.list(&RunFilter::default()).unwrap();
    let experiment_of = |summary: &RunSummary| summary.experiment.clone();
    let summary = listing.runs.iter().find(|run| run.id == id).unwrap();
    // The first run of an experiment gives it its id.
    assert_eq!(
        experiment_of(summary),
        Some(Experiment {
            id: id.clone(),
            ..experiment
        })
    );
    assert_eq!(listing.runs.iter().filter_map(experiment_of).count(), 1);
    let db = rusqlite::Connection::open(&index).unwrap();
    // Write the row as the older version does.
    db.execute_batch(
        "INSERT OR REPLACE INTO runs (id, bytes, changed_ns, started_ns, started_at, state, workload,
             scale, clients, rate_tps, tps, p99_ns, server, worst)
         VALUES ('x', 1, 1, 1, '', 'complete', 'w', 1, 1, NULL, NULL, NULL, 's', NULL)",
    )
    .unwrap();
    let version: i64 = db
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(
        (version, count(&store)),
        (1, 2),
        "a row without a document is removed"
    );
}
