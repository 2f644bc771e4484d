//! The index: rebuilt if lost, damaged or foreign, shared by processes.

mod common;

use common::*;
use prony_store::*;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

fn count(store: &RunStore) -> usize {
    let listing = store.list(&RunFilter::default()).unwrap();
    assert!(listing.unreadable.is_empty(), "{:?}", listing.unreadable);
    listing.runs.len()
}

#[test]
fn a_lost_or_corrupt_index_is_rebuilt() {
    let (folder, store) = Folder::with_store();
    (0..5).for_each(|_| drop(stored(&store, |_| ())));
    let index = folder.path().join("index.jsonl");
    assert_eq!(count(&store), 5);
    assert!(index.is_file());
    std::fs::remove_file(&index).unwrap();
    assert_eq!(count(&store), 5);
    for garbage in [&b"this is not a database"[..], b"", b"\0\0\0"] {
        std::fs::write(&index, garbage).unwrap();
        assert_eq!(count(&store), 5);
    }
    // A line in the middle is broken.
    let text = std::fs::read_to_string(&index).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6);
    lines[3] = "{\"stamp\":";
    std::fs::write(&index, lines.join("\n")).unwrap();
    assert_eq!(count(&store), 5);
    stored(&store, |_| ());
    assert_eq!(count(&store), 6);
}

#[test]
fn the_store_works_without_an_index() {
    let (folder, store) = Folder::with_store();
    stored(&store, |_| ());
    std::fs::create_dir(folder.path().join("index.jsonl")).unwrap();
    assert_eq!(count(&store), 1);
    let id = stored(&store, |_| ());
    assert_eq!(count(&store), 2);
    store.delete(&id).unwrap();
    assert_eq!(count(&store), 1);
}

/// Rows of another form, such as those of a newer Prony, are not used, whatever they contain.
#[test]
fn an_index_of_another_form_is_replaced() {
    let (folder, store) = Folder::with_store();
    stored(&store, |run| run.workload.name = "first".into());
    let index = folder.path().join("index.jsonl");
    count(&store);
    let text = std::fs::read_to_string(&index).unwrap();
    let newer = text
        .replacen("\"prony_index\":", "\"prony_index\":9", 1)
        .replace("\"first\"", "\"other\"");
    assert_ne!(text, newer);
    std::fs::write(&index, newer).unwrap();
    let listing = store.list(&RunFilter::default()).unwrap();
    assert_eq!(listing.runs[0].workload, "first");
    assert_eq!(std::fs::read_to_string(&index).unwrap(), text);
}

/// A listing opens no document that the index knows: what somebody wrote into the index would be shown.
#[test]
fn rows_that_somebody_edited_are_read_again_from_their_documents() {
    let (folder, store) = Folder::with_store();
    stored(&store, |run| run.workload.name = "honest".into());
    let index = folder.path().join("index.jsonl");
    let listed = store.list(&RunFilter::default()).unwrap();
    let text = std::fs::read_to_string(&index).unwrap();
    for (from, to) in [
        ("\"honest\"", "\"forged\""),
        ("\"is_judged\":true", "\"is_judged\":false"),
        ("\"is_verified\":false", "\"is_verified\":true"),
        ("\"tps\":null", "\"tps\":9.5"),
        ("\"worst_doubt\":null", "\"worst_doubt\":\"invalid\""),
    ] {
        let forged = text.replacen(from, to, 1);
        assert_ne!(forged, text, "{from}");
        std::fs::write(&index, forged).unwrap();
        assert_eq!(store.list(&RunFilter::default()).unwrap(), listed, "{from}");
        assert_eq!(std::fs::read_to_string(&index).unwrap(), text, "{from}");
    }
}

/// Findings that limit the scope do not count.
#[test]
fn verdicts_count_doubts() {
    let (_folder, store) = Folder::with_store();
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
    // By documents, and by rows of the index.
    for _ in 0..2 {
        assert_eq!(ids(RunVerdict::Valid).len(), 1);
        assert_eq!(ids(RunVerdict::Doubts), [&*doubted]);
    }
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
    let folder = Folder::new();
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
}

#[test]
fn a_listing_has_the_experiments_and_forgets_deleted_documents() {
    let (folder, store) = Folder::with_store();
    let other = stored(&store, |_| ());
    let experiment = Experiment {
        variant: "new".into(),
        position: 3,
        runs: 4,
        ..Experiment::default()
    };
    let id = stored(&store, |run| run.experiment = Some(experiment.clone()));
    // The first run of an experiment gives it its id.
    let experiment = Experiment {
        id: id.clone(),
        ..experiment
    };
    for _ in 0..2 {
        let runs = store.list(&RunFilter::default()).unwrap().runs;
        let of_experiments = runs.iter().filter_map(|run| run.experiment.clone());
        let expected = std::slice::from_ref(&experiment);
        assert_eq!(of_experiments.collect::<Vec<_>>(), expected);
    }
    std::fs::remove_file(folder.runs().join(format!("{other}.json"))).unwrap();
    assert_eq!((count(&store), count(&store)), (1, 1));
}

/// A document that was judged when it was indexed, and has the same findings, is not judged again.
#[test]
fn the_index_knows_which_documents_have_the_findings_of_the_rules() {
    static JUDGED: AtomicU32 = AtomicU32::new(0);
    // Finds nothing but that somebody wrote 7 clients.
    fn judge(run: &mut Run) {
        JUDGED.fetch_add(1, Ordering::Relaxed);
        let found = Check {
            id: "seven".to_owned(),
            severity: Severity::Note,
            kind: None,
            finding: String::new(),
            advice: String::new(),
        };
        run.checks = vec![found; usize::from(run.drive.clients == 7)];
    }
    let folder = Folder::new();
    let open = || folder.store().with_rules(Rules { version: 5, judge });
    let judged = |run: &mut Run| run.rules_version = Some(5);
    let right = stored(&open(), judged);
    let edited = stored(&open(), |run| {
        judged(run);
        run.drive.clients = 7;
    });
    let unjudged = stored(&open(), |_| ());
    let loads = |id: &str| {
        let before = JUDGED.load(Ordering::Relaxed);
        let run = open().load_judged(id).unwrap();
        (JUDGED.load(Ordering::Relaxed) - before, run.checks.len())
    };
    assert_eq!(loads(&right), (1, 0), "there is no index yet");
    count(&open());
    assert_eq!(loads(&right), (0, 0));
    assert_eq!(
        loads(&edited),
        (1, 1),
        "its findings are not those of its figures"
    );
    assert_eq!(loads(&unjudged), (1, 0));
    let other = folder.store().with_rules(Rules { version: 6, judge });
    let before = JUDGED.load(Ordering::Relaxed);
    other.load_judged(&right).unwrap();
    assert_eq!(JUDGED.load(Ordering::Relaxed), before + 1, "by other rules");
    // The size and the time of the content stay as they were.
    let path = folder.runs().join(format!("{right}.json"));
    let (text, time) = (
        std::fs::read_to_string(&path).unwrap(),
        path.metadata().unwrap().modified().unwrap(),
    );
    let clients = format!("\"clients\":{}", open().load(&right).unwrap().drive.clients);
    let forged = text.replace(&clients, "\"clients\":7");
    assert_eq!(forged.len(), text.len());
    std::fs::write(&path, forged).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(time).unwrap();
    assert_eq!(loads(&right), (1, 1));
}
