//! A killed run keeps its measurements; a full disk loses no result.
//!
//! The tests start this program again as a child that writes, and kill it.

mod common;

use common::*;
use prony_assertions::TextAssertions;
use prony_store::*;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const FOLDER: &str = "PRONY_TEST_STORE_FOLDER";

/// Runs one test of this program as a child with a folder to write to.
fn child(test: &str, folder: &Folder) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the child prints a line with this prefix; returns the remainder of the line. The child's
/// output stays open, so that it can print more.
fn wait_for_line(child: &mut Child, prefix: &str) -> String {
    let out = BufReader::new(child.stdout.as_mut().unwrap());
    let mut lines = out.lines().map(|line| line.unwrap());
    lines
        .find_map(|line| {
            line.split_once(prefix)
                .map(|(_, remainder)| remainder.trim().to_owned())
        })
        .expect("the child prints it before it ends")
}

/// Not a test in itself: the child that is killed. Writes four rows, then half a line more, and
/// waits to be killed.
#[test]
fn child_that_writes() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let store = RunStore::open(Some(Path::new(&folder))).unwrap();
    let (mut rows, _) = load(schedule(S, 9 * S));
    rows[3].interval.health.batch.reverted = 2;
    rows[3].interval.health.pinned_workers = 2;
    let mut run = run();
    let mut writer = store.begin(&mut run).unwrap();
    write_rows(&mut writer, &rows[..4]);
    writer
        .write_event(&Event {
            kind: EventKind::Outage,
            ..Event::default()
        })
        .unwrap();
    for at in 0..3 {
        let second = ServerSecond {
            at_s: f64::from(at),
            length_s: 1.0,
            commits: Some(1_000),
            waits: [("IO/WalSync".to_owned(), 3)].into(),
            ..ServerSecond::default()
        };
        writer.write_server_second(&second).unwrap();
    }
    let checkpoint = Event {
        kind: EventKind::Checkpoint,
        ..Event::default()
    };
    writer.write_server_event(&checkpoint).unwrap();
    let journal = store
        .folder()
        .join("runs")
        .join(format!("{}.jsonl", run.id));
    let mut journal = std::fs::OpenOptions::new()
        .append(true)
        .open(journal)
        .unwrap();
    journal
        .write_all(b"{\"second\":{\"index\":4,\"part\":\"meas")
        .unwrap();
    println!("wrote {}", run.id);
    loop {
        std::thread::park();
    }
}

#[test]
fn a_kill_loses_at_most_the_last_second() {
    let (folder, store) = Folder::with_store();
    let mut child = child("child_that_writes", &folder);
    let id = wait_for_line(&mut child, "wrote ");

    let live = store.list(&RunFilter::default()).unwrap();
    assert_eq!(
        (live.runs[0].id.as_str(), live.runs[0].state),
        (id.as_str(), RunState::Running)
    );
    assert!(live.unreadable.is_empty());
    let live = store.load(&id).unwrap();
    assert_eq!((live.state, live.series.len()), (RunState::Running, 4));
    assert!(matches!(store.delete(&id), Err(StoreError::Live { .. })));

    child.kill().unwrap();
    child.wait().unwrap();
    // The figures of the four rows, computed without the store.
    let (_, expected) = load(schedule(S, 3 * S));
    let kinds = run().workload.kinds;
    let measured = Figures {
        // The transactions in flight at the end of a killed run are unknown.
        unfinished: 0,
        in_flight: None,
        in_flight_s: None,
        in_flight_max_s: None,
        ..figures(&expected.measured, &kinds)
    };
    for listing in [
        store.list(&RunFilter::default()),
        store.list(&RunFilter::default()),
    ] {
        let listing = listing.unwrap();
        assert_eq!(listing.runs.len(), 1);
        assert_eq!(listing.runs[0].state, RunState::Partial);
        assert_eq!(listing.runs[0].tps, Some(measured.kinds[0].tps));
    }
    let run = store.load("last").unwrap();
    let observed = run.observed.as_ref().expect("the server was observed");
    assert_eq!((observed.series.len(), observed.events.len()), (3, 1));
    assert_eq!(observed.series[2].waits["IO/WalSync"], 3);
    assert_eq!(
        (observed.series[2].commits, observed.series[2].rollbacks),
        (Some(1_000), None)
    );
    assert_eq!(
        run.machine().health.batch.map(|batch| batch.reverted),
        Some(2)
    );
    assert_eq!(run.machine().health.pinned_workers, Some(2));
    assert_eq!(run.events.len(), 1, "events of the server are separate");
    assert_eq!(
        (run.id.as_str(), run.state),
        (id.as_str(), RunState::Partial)
    );
    run.ended_because
        .as_ref()
        .unwrap()
        .assert_starts_with("interrupted");
    assert_eq!(run.measured.length_s, 3.0);
    assert_eq!(
        run.measured.kinds, measured.kinds,
        "histograms and percentiles too"
    );
    assert_eq!(run.measured.errors, measured.errors);
    assert_eq!(run.warmup.as_ref().unwrap().length_s, 1.0);
    assert_eq!((run.window.warmup_s, run.window.measured_s), (1.0, 3.0));
    assert_eq!(run.series.len(), 4);
    assert_eq!(run.events[0].kind, EventKind::Outage);
    assert_eq!(
        run.timing.with_timestamp,
        expected.measured.timestamps.usable - 5,
        "without those of the drain"
    );
    assert_eq!(
        run.timing.parts_source,
        ServiceTimePartsSource::KernelTimestamps
    );
    let files = std::fs::read_dir(folder.runs()).unwrap().count();
    assert_eq!(files, 1, "the journal has become a document");
}

#[test]
fn a_document_takes_precedence_over_its_journal() {
    let (folder, store) = Folder::with_store();
    let mut run = run();
    let writer = store.begin(&mut run).unwrap();
    let journal = folder.runs().join(format!("{}.jsonl", run.id));
    let copy = std::fs::read(&journal).unwrap();
    run.state = RunState::Complete;
    writer.finish(&run).unwrap();
    std::fs::write(&journal, copy).unwrap();
    let listing = store.list(&RunFilter::default()).unwrap();
    assert_eq!(
        (listing.runs.len(), listing.runs[0].state),
        (1, RunState::Complete)
    );
    assert_eq!(store.load(&run.id).unwrap(), run);
    assert!(!journal.exists());
}

#[test]
fn a_broken_line_in_a_journal_loses_only_its_second() {
    let (folder, store) = Folder::with_store();
    let (rows, collected) = load(schedule(0, 4 * S));
    let mut run = run();
    let mut writer = store.begin(&mut run).unwrap();
    write_rows(&mut writer, &rows);
    drop(writer);
    let path = folder.runs().join(format!("{}.jsonl", run.id));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let half_line = &lines[2][..lines[2].len() / 2];
    lines[2] = half_line;
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let run = store.load(&run.id).unwrap();
    assert_eq!(run.series.len(), 3);
    assert_eq!(
        run.measured.length_s, 3.0,
        "the lost second does not lower the rate"
    );
    let all = collected.measured.all_kinds();
    let tps = all.committed as f64 / 4.0;
    assert!((run.measured.kinds[0].tps - tps).abs() < 0.02 * tps);
    let reason = run.ended_because.unwrap();
    reason.assert_contains("1 line of the journal could not be read");
}

#[test]
fn a_truncated_journal_never_panics_and_loses_no_complete_line() {
    let (folder, store) = Folder::with_store();
    let (rows, _) = load(schedule(0, 2 * S));
    let mut run = run();
    let mut writer = store.begin(&mut run).unwrap();
    write_rows(&mut writer, &rows);
    drop(writer);
    let bytes = std::fs::read(folder.runs().join(format!("{}.jsonl", run.id))).unwrap();
    let header = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let truncated = folder.path().join("cut.jsonl");
    for end in (0..bytes.len())
        .step_by(4_999)
        .chain([header - 1, header, bytes.len()])
    {
        std::fs::write(&truncated, &bytes[..end]).unwrap();
        let complete_lines = bytes[..end].iter().filter(|&&byte| byte == b'\n').count();
        match store.load(truncated.to_str().unwrap()) {
            Ok(run) => assert_eq!(run.series.len() + 1, complete_lines),
            Err(StoreError::NotARun { .. }) => assert!(end < header),
            Err(error) => panic!("{error}"),
        }
    }
    for index in (0..bytes.len()).step_by(1_009) {
        let mut flipped = bytes.clone();
        flipped[index] ^= 0x15;
        std::fs::write(&truncated, &flipped).unwrap();
        let _ = store.load(truncated.to_str().unwrap());
    }
}

/// Not a test in itself: the child whose disk is full for a while. A file size limit simulates the full disk.
#[test]
fn child_whose_disk_is_full() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let limit = |bytes: libc::rlim_t| {
        let limit = libc::rlimit {
            rlim_cur: bytes,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: ignoring a signal and passing a live struct by pointer.
        let failed = unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit)
        };
        assert_eq!(failed, 0);
    };
    let store = RunStore::open(Some(Path::new(&folder))).unwrap();
    let (rows, collected) = load(schedule(0, 6 * S));
    let mut run = run();
    let mut writer = store.begin(&mut run).unwrap();
    writer.write_second(&rows[0], LOAD_START_NS).unwrap();
    let journal = store
        .folder()
        .join("runs")
        .join(format!("{}.jsonl", run.id));
    let length = std::fs::metadata(&journal).unwrap().len();
    limit(length + 100);
    let error = writer.write_second(&rows[1], LOAD_START_NS).unwrap_err();
    assert!(matches!(error, StoreError::JournalEnded(_)));
    let error = error.to_string();
    error.assert_starts_with("cannot write ");
    error.assert_contains("the run continues in memory");
    // The full disk is reported once, and ends the journal.
    writer.write_second(&rows[2], LOAD_START_NS).unwrap();
    limit(libc::RLIM_INFINITY);
    writer.write_second(&rows[3], LOAD_START_NS).unwrap();
    assert_eq!(
        std::fs::metadata(&journal).unwrap().len(),
        length,
        "no torn line"
    );
    limit(2_000);
    let document = finished(&rows, &collected);
    let error = writer.finish(&document).unwrap_err().to_string();
    limit(libc::RLIM_INFINITY);
    error.assert_starts_with("cannot write ");
    error.assert_contains("its journal has 1 of 4 s");
    println!("failed {}", run.id);
}

#[test]
fn a_full_disk_ends_the_journal_with_its_last_complete_second() {
    let (folder, store) = Folder::with_store();
    let mut child = child("child_whose_disk_is_full", &folder);
    let id = wait_for_line(&mut child, "failed ");
    assert!(child.wait().unwrap().success());
    let run = store.load(&id).unwrap();
    assert_eq!((run.state, run.series.len()), (RunState::Partial, 1));
    assert_eq!(run.measured.length_s, 1.0);
    let reason = run.ended_because.unwrap();
    reason.assert_contains("or the disk was full");
    assert_eq!(
        std::fs::read_dir(folder.runs()).unwrap().count(),
        1,
        "no incomplete file"
    );
}
