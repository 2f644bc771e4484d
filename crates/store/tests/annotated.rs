//! Labels and notes, filters, and file permissions.

mod common;

use common::*;
use prony_assertions::TextAssertions;
use prony_document::Product;
use prony_store::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn an_annotation_does_not_change_the_document() {
    let (folder, store) = Folder::with_store();
    let id = stored(&store, |_| {});
    let document = folder.runs().join(format!("{id}.json"));
    let before = std::fs::read(&document).unwrap();
    assert!(store.annotation(&id).is_empty());
    let annotation = Annotation {
        label: Some("before vacuum".into()),
        note: Some("Odd: <b>\u{1b}[2J".into()),
    };
    store.annotate(&id, &annotation).unwrap();
    assert_eq!(store.annotation(&id), annotation);
    assert_eq!(
        store.list(&RunFilter::default()).unwrap().runs[0].annotation,
        annotation
    );
    assert_eq!(std::fs::read(&document).unwrap(), before);
    let unknown = store.annotate("20000101-000000-none-0000", &annotation);
    assert!(matches!(unknown, Err(StoreError::NotFound { .. })));
    store.delete(&id).unwrap();
    assert_eq!(std::fs::read_dir(folder.runs()).unwrap().count(), 0);
    let second_id = stored(&store, |_| {});
    store.annotate(&second_id, &annotation).unwrap();
    store.annotate(&second_id, &Annotation::default()).unwrap();
    assert_eq!(std::fs::read_dir(folder.runs()).unwrap().count(), 1);
}

#[test]
fn filters_select_by_verdict_workload_server_label_and_start() {
    let (_folder, store) = Folder::with_store();
    let check = |severity| Check {
        id: "x".into(),
        severity,
        kind: None,
        finding: String::new(),
        advice: String::new(),
    };
    let valid = stored(&store, |run| run.workload.name = "tpcc".into());
    let caveat = stored(&store, |run| {
        run.started_at = "2026-11-22T08:00:00+00:00".into();
        run.checks = vec![check(Severity::Note), check(Severity::Caveat)];
    });
    let invalid = stored(&store, |run| {
        run.server.product = Some(Product::MARIADB);
        run.checks = vec![check(Severity::Invalid)];
    });
    let partial = stored(&store, |run| run.state = RunState::Partial);
    let mut live = run();
    let writer = store.begin(&mut live).unwrap();
    store
        .annotate(
            &invalid,
            &Annotation {
                label: Some("a".into()),
                note: None,
            },
        )
        .unwrap();
    let ids_of = |filter: RunFilter| -> Vec<String> {
        let runs = store.list(&filter).unwrap().runs.into_iter();
        let mut ids: Vec<String> = runs.map(|run| run.id).collect();
        ids.sort();
        ids
    };
    let with_verdict = |verdict| {
        ids_of(RunFilter {
            verdict: Some(verdict),
            ..RunFilter::default()
        })
    };
    assert_eq!(with_verdict(RunVerdict::Valid), [valid.as_str()]);
    assert_eq!(with_verdict(RunVerdict::Doubts), [caveat.as_str()]);
    assert_eq!(with_verdict(RunVerdict::Invalid), [invalid.as_str()]);
    assert_eq!(with_verdict(RunVerdict::Partial), [partial]);
    assert_eq!(with_verdict(RunVerdict::Running), [live.id]);
    let text = |text: &str| Some(text.to_owned());
    let workload = RunFilter {
        workload: text("tpcc"),
        ..RunFilter::default()
    };
    assert_eq!(ids_of(workload), [valid]);
    let server = RunFilter {
        server: text("mariadb"),
        ..RunFilter::default()
    };
    assert_eq!(ids_of(server), [invalid.as_str()]);
    let label = RunFilter {
        label: text("a"),
        ..RunFilter::default()
    };
    assert_eq!(ids_of(label), [invalid]);
    let since = RunFilter {
        since_ns: Some(1_795_334_400_000_000_000),
        ..RunFilter::default()
    };
    assert_eq!(ids_of(since), [caveat], "at that time or later");
    drop(writer);
}

#[test]
fn a_run_is_found_by_a_label_that_looks_like_a_path_and_labels_are_lines() {
    let (_folder, store) = Folder::with_store();
    let id = stored(&store, |_| {});
    let label = "feature/x";
    let annotation = Annotation {
        label: Some(label.into()),
        note: None,
    };
    store.annotate(&id, &annotation).unwrap();
    assert_eq!(store.load(label).unwrap().id, id);
    let error = store.load("feature/y").unwrap_err().to_string();
    error.assert_contains("feature/y");
    prony_store::check_label(label).expect("a label");
    for wrong in ["", "last", "a\nb", " a", &"a".repeat(101)] {
        assert!(prony_store::check_label(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn stored_files_are_private() {
    let (folder, store) = Folder::with_store();
    let mut live = run();
    let writer = store.begin(&mut live).unwrap();
    let id = stored(&store, |_| {});
    let annotation = Annotation {
        label: Some("a".into()),
        note: None,
    };
    store.annotate(&id, &annotation).unwrap();
    store.list(&RunFilter::default()).unwrap();
    let mut files = 0;
    for directory in [folder.path().to_owned(), folder.runs()] {
        for entry in std::fs::read_dir(directory).unwrap() {
            let meta = entry.as_ref().unwrap().metadata().unwrap();
            if meta.is_file() {
                files += 1;
                let path = entry.unwrap().path();
                assert_eq!(meta.permissions().mode() & 0o777, 0o600, "{path:?}");
            }
        }
    }
    assert!(
        files >= 4,
        "a journal, a document, a label, an index: {files}"
    );
    drop(writer);
}

#[test]
fn runs_of_own_transactions_have_the_name_of_their_plan() {
    let (_folder, store) = Folder::with_store();
    stored(&store, |_| ());
    let own = stored(&store, |run| {
        run.workload.name = "sql".to_owned();
        run.workload.own_name = Some("Check out".to_owned());
    });
    assert!(own.contains("-check-out-"), "{own}");
    for workload in ["sql", "Check out"] {
        let filter = RunFilter {
            workload: Some(workload.to_owned()),
            ..RunFilter::default()
        };
        let runs = store.list(&filter).unwrap().runs;
        let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(ids, [own.as_str()]);
    }
}
