//! Foreign, truncated, newer and hostile files cause a clear error, never a panic, and never hide
//! other runs.

mod common;

use common::*;
use prony_assertions::TextAssertions;
use prony_store::*;
use serde_json::Value;

fn document() -> Vec<u8> {
    let (rows, collected) = load(schedule(0, S));
    let mut run = finished(&rows, &collected);
    run.id = "20260101-000000-tpcb-0000".into();
    serde_json::to_vec(&run).unwrap()
}

fn load_bytes(folder: &Folder, name: &str, bytes: &[u8]) -> Result<Run, StoreError> {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    folder.store().load(path.to_str().unwrap())
}

#[test]
fn a_truncated_document_is_an_error_wherever_it_ends() {
    let folder = Folder::new();
    let bytes = document();
    for end in (0..bytes.len()).step_by(311).chain([bytes.len() - 1]) {
        let error = load_bytes(&folder, "a.json", &bytes[..end])
            .unwrap_err()
            .to_string();
        error.assert_contains("a.json is not a run of Prony");
        assert!(
            error.contains("ends in the middle"),
            "cut at {end}: {error}"
        );
    }
    assert!(load_bytes(&folder, "a.json", &bytes).is_ok());
}

#[test]
fn a_newer_document_is_refused_even_if_its_structure_is_unknown() {
    let folder = Folder::new();
    let mut value: Value = serde_json::from_slice(&document()).unwrap();
    for (version, is_newer) in [("3.0", true), ("10.3", true), ("1.7", false)] {
        value["schema_version"] = version.into();
        value["a_new_field"] = "of a later minor version".into();
        let result = load_bytes(&folder, "a.json", value.to_string().as_bytes());
        match result {
            Err(StoreError::Newer {
                version: refused, ..
            }) => assert!(is_newer && refused == version),
            result => assert!(!is_newer && result.is_ok(), "{version}: {result:?}"),
        }
    }
    let foreign = br#"{"schema_version": "3.0", "all": "different"}"#;
    let error = load_bytes(&folder, "a.json", foreign).unwrap_err();
    error.to_string().assert_contains("newer Prony");
    let text = error.to_string();
    let (message, hint) = text.split_once("; ").expect("a hint");
    assert!(message.contains("this one reads"), "{text}");
    assert_eq!(hint, "use that one to read it");
}

#[test]
fn foreign_files_are_reported_as_such() {
    let folder = Folder::new();
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    let cases: [&[u8]; 9] = [
        b"",
        b"pgbench (15.14)\ntps = 12",
        b"[1, 2]",
        b"{}",
        b"{\"schema_version\": 1}",
        b"{\"schema_version\": \"\x1b[2J\"}",
        b"{\"schema_version\": \"1.0\"}",
        b"\xff\xfe\x00",
        &deep,
    ];
    for bytes in cases {
        for name in ["a.json", "a.jsonl"] {
            let error = load_bytes(&folder, name, bytes).unwrap_err();
            assert!(matches!(error, StoreError::NotARun { .. }), "{error:?}");
            assert!(!error.to_string().contains('\u{1b}'));
        }
    }
    let error = folder
        .store()
        .load(folder.path().to_str().unwrap())
        .unwrap_err();
    error.to_string().assert_contains("regular file");
    assert!(folder.store().load("/dev/zero").is_err());
}

#[test]
fn every_field_of_a_wrong_type_is_an_error_not_a_panic() {
    let folder = Folder::new();
    let value: Value = serde_json::from_slice(&document()).unwrap();
    let mut pointers = Vec::new();
    collect(&value, String::new(), &mut pointers);
    // A struct whose fields all have defaults accepts any object, and no struct accepts a boolean.
    let wrong_values = [serde_json::json!({"x": [null]}), Value::Bool(true)];
    for pointer in pointers {
        let is_refused = wrong_values.iter().any(|wrong_value| {
            let mut broken = value.clone();
            *broken.pointer_mut(&pointer).unwrap() = wrong_value.clone();
            load_bytes(&folder, "a.json", broken.to_string().as_bytes()).is_err()
        });
        // These fields accept any value.
        let mut unchecked = ["/request", "/plan"].iter();
        let is_free = unchecked.any(|prefix| pointer.starts_with(prefix));
        assert!(is_free || is_refused, "{pointer}");
    }
}

/// JSON pointers to the fields; only the first entry of an array.
fn collect(value: &Value, path: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                collect(value, format!("{path}/{key}"), pointers);
            }
        }
        Value::Array(list) => {
            if let Some(first) = list.first() {
                collect(first, format!("{path}/0"), pointers);
            }
        }
        _ => {}
    }
    if !path.is_empty() {
        pointers.push(path);
    }
}

#[test]
fn hostile_strings_are_stored_as_data() {
    let (_folder, store) = Folder::with_store();
    let hostile = "'; DROP TABLE runs; --\u{0}\u{1b}]0;x\u{7}</script>\u{202e}";
    let id = stored(&store, |run| {
        run.workload.name = hostile.into();
        run.server.version = hostile.into();
        run.workload.kinds = vec![hostile.into()];
        run.started_at = hostile.into();
    });
    let listing = store.list(&RunFilter::default()).unwrap();
    assert_eq!(listing.runs[0].id, id);
    assert_eq!(listing.runs[0].workload, hostile);
    assert!(
        id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
        "{id}"
    );
    assert_eq!(store.load(&id).unwrap().workload.name, hostile);
}

#[test]
fn a_broken_file_does_not_hide_other_runs() {
    let (folder, store) = Folder::with_store();
    let intact = stored(&store, |_| ());
    let runs = folder.runs();
    std::fs::write(runs.join("broken.json"), "{").unwrap();
    std::fs::write(runs.join("foreign.jsonl"), "hello\nworld\n").unwrap();
    std::fs::write(runs.join("empty.jsonl"), "").unwrap();
    std::fs::write(runs.join("no-line.jsonl"), "{\"run\":").unwrap();
    std::fs::write(runs.join(".hidden.json.tmp"), "{").unwrap();
    std::fs::write(runs.join("notes.txt"), "mine").unwrap();
    std::fs::create_dir(runs.join("folder.json")).unwrap();
    // Reading a pipe would wait for its writer forever.
    for name in ["pipe.json", "pipe.jsonl"] {
        let status = std::process::Command::new("mkfifo")
            .arg(runs.join(name))
            .status();
        assert!(status.unwrap().success());
    }
    for _ in 0..2 {
        let listing = store.list(&RunFilter::default()).unwrap();
        let ids: Vec<&str> = listing.runs.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(ids, [intact.as_str()]);
        let mut names: Vec<String> = listing
            .unreadable
            .iter()
            .map(|(path, _)| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "broken.json",
                "folder.json",
                "foreign.jsonl",
                "no-line.jsonl",
                "pipe.json",
                "pipe.jsonl"
            ]
        );
    }
    assert!(runs.join("foreign.jsonl").exists() && runs.join("notes.txt").exists());
}

#[test]
fn changed_and_removed_documents_are_noticed() {
    let (folder, store) = Folder::with_store();
    let id = stored(&store, |_| ());
    let path = folder.runs().join(format!("{id}.json"));
    assert_eq!(store.list(&RunFilter::default()).unwrap().runs.len(), 1);
    let mut run = read_document(&path).unwrap();
    run.workload.name = "another-one".into();
    std::fs::write(&path, serde_json::to_vec(&run).unwrap()).unwrap();
    let listing = store.list(&RunFilter::default()).unwrap();
    assert_eq!(listing.runs[0].workload, "another-one");
    std::fs::copy(
        &path,
        folder.runs().join("20200101-000000-copied-0000.json"),
    )
    .unwrap();
    assert_eq!(store.list(&RunFilter::default()).unwrap().runs.len(), 2);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(store.list(&RunFilter::default()).unwrap().runs.len(), 1);
}
