//! Records logs and reads the recordings, without a server.

mod logs;
mod simulated;

use super::file::{Index, SessionRecording, SessionWriter};
use super::log::record_logs;
use super::recorder::{LogEvent, Recorded, SessionRecorder};
use super::transactions::{Execution, SessionReader};
use super::workload::{REPLAY, load_of};
use crate::Workload;
use prony_allocations::allocated_bytes;
use prony_assertions::{TestFolder, TextAssertions, cases};
use prony_document::SqlDialect;
use prony_plan::WorkloadPlan;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

/// A record of csvlog.
fn csv(ms: u32, session: &str, severity: &str, message: &str, detail: &str, query: &str) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let (message, detail, query) = (quoted(message), quoted(detail), quoted(query));
    format!(
        "2026-11-29 22:57:{:02}.{:03} UTC,\"u\",\"d\",7,\"[local]\",{session},1,\"SELECT\",2026-11-29 22:57:00 UTC,3/4,0,\
         {severity},00000,{message},{detail},,,,,{query},,,\"app\",\"client backend\",,0\n",
        ms / 1000,
        ms % 1000
    )
}

fn sample_log() -> String {
    let records = cases(
        r#"
            1000 => a.1 => LOG => connection authorized: user=u => =>
            1010 => a.1 => LOG => duration: 0.100 ms  statement: BEGIN => =>
            1020 => b.2 => LOG => duration: 5.000 ms  statement: SELECT 'secret', 7 => =>
            1030 => a.1 => LOG => duration: 1.500 ms  statement: UPDATE t SET a = "b"\n + 1 WHERE id = 5 => =>
            1040 => b.2 => ERROR => no such column => => SELECT nothing
            1050 => a.1 => LOG => duration: 0.200 ms  statement: COMMIT => =>
            1060 => b.2 => LOG => duration: 0.300 ms  parse s1: SELECT $1::text, $2::int => =>
            1061 => b.2 => LOG => duration: 0.100 ms  bind s1: SELECT $1::text, $2::int => =>
            1062 => b.2 => LOG => duration: 0.600 ms  execute s1: SELECT $1::text, $2::int
                => parameters: $1 = 'it''s', $2 = NULL =>
            1063 => c.3 => ERROR => no such column => => SELECT $1, nothing
            1070 => b.2 => LOG => duration: 2.000 ms  statement: COPY t FROM STDIN => =>
            2000 => b.2 => LOG => disconnection: session time: 0:00:01.000 => =>
        "#,
    );
    let records = records
        .into_iter()
        .map(|[ms, session, severity, message, detail, query]| {
            let ms = ms.parse().expect("a number");
            csv(ms, session, severity, message, detail, query)
        });
    records.collect()
}

/// The record of a statement that took 1 ms.
fn statement(ms: u32, text: &str) -> String {
    let message = format!("duration: 1.000 ms  statement: {text}");
    csv(ms, "a.1", "LOG", &message, "", "")
}

/// A folder with this log, and the paths of the log and of its recording.
fn folder_with(name: &str, log: impl AsRef<[u8]>) -> (TestFolder, PathBuf, PathBuf) {
    let folder = TestFolder::create();
    let (log, out) = (folder.write(name, log), folder.join("out"));
    (folder, log, out)
}

fn record(paths: &[PathBuf], keeps_literals: bool, out: &Path) -> Recorded {
    let file = std::fs::File::create(out).expect("a file");
    record_logs(paths, keeps_literals, file).expect("a log")
}

/// The texts, values and times of each session's transactions.
fn played(recording: SessionRecording) -> Vec<Vec<Vec<String>>> {
    let recording = Arc::new(recording);
    let sessions = (0..recording.sessions.len()).map(|session| {
        let mut reader = SessionReader::new(Arc::clone(&recording), session);
        let mut transactions = Vec::new();
        while reader.next().expect("readable") {
            let executions = reader.executions.iter().map(|execution| {
                let Execution {
                    at_us,
                    duration_us,
                    has_failed,
                    ..
                } = execution;
                let entry = &recording.index.statements[execution.statement];
                let text = execution
                    .text
                    .as_ref()
                    .map_or(&*entry.text, |text| reader.text(text));
                let values: Vec<_> = reader.values(execution).collect();
                format!("{at_us} {duration_us:?} {has_failed} {text} {values:?}")
            });
            transactions.push(executions.collect());
        }
        transactions
    });
    sessions.collect()
}

#[test]
fn the_sessions_of_a_log_are_read_back_in_their_order_and_at_their_times() {
    let (_folder, log, out) = folder_with("log.csv", sample_log());
    let recorded = record(&[log], true, &out);
    assert_eq!(
        (
            recorded.sessions,
            recorded.transactions,
            recorded.statements
        ),
        (2, 4, 6)
    );
    assert_eq!((recorded.writes, recorded.errors), (1, 1));
    assert_eq!(
        (
            recorded.left_out.client_data,
            recorded.left_out.without_values
        ),
        (1, 1)
    );
    let recording = SessionRecording::open(&out).expect("a recording");
    assert!(!recording.has_unnamed_statements());
    assert_eq!(recording.concurrent_sessions(1), 2);
    // The first statement, which took 0.1 ms and was logged at 1010 ms, begins the recording.
    assert_eq!(
        played(recording),
        [
            vec![vec![
                "0 Some(100) false BEGIN []",
                "18600 Some(1500) false UPDATE t SET a = \"b\"\n + 1 WHERE id = 5 []",
                "39900 Some(200) false COMMIT []",
            ]],
            vec![
                vec!["5100 Some(5000) false SELECT 'secret', 7 []"],
                vec!["30100 None true SELECT nothing []"],
                // The steps before the execution are part of it.
                vec!["49800 Some(1000) false SELECT $1::text, $2::int [Some(\"it's\"), None]"],
            ],
        ]
    );
}

/// What a log has beside its records is told, not dropped without a word.
#[test]
fn records_that_cannot_be_read_are_counted() {
    let folder = TestFolder::create();
    let cut_off = "2026-11-29T, and the server was killed\n".repeat(3);
    let log = folder.write("log.csv", sample_log() + &cut_off);
    let recorded = record(&[log], true, &folder.join("out"));
    assert_eq!(recorded.left_out.unreadable_records, 3);
    let json = "{\"timestamp\":\"2026-11-29 22:57:41.123 UTC\",\"session_id\":\"a\",\"error_severity\":\"LOG\",\
                \"message\":\"duration: 1.0 ms  statement: select 1\"}\n{\"timestamp\":\"2026";
    let log = folder.write("log.json", json);
    let recorded = record(&[log], true, &folder.join("out"));
    let unreadable = recorded.left_out.unreadable_records;
    assert_eq!((recorded.statements, unreadable), (1, 1));
}

/// The texts of the statements of each transaction of the first session.
fn texts(log: &Path, out: &Path) -> Vec<Vec<String>> {
    record(&[log.to_owned()], true, out);
    let recording = SessionRecording::open(out).expect("a recording");
    let transactions = played(recording).swap_remove(0).into_iter();
    let text = |line: String| {
        let line = line.trim_end_matches(" []").splitn(4, ' ');
        line.last().unwrap_or_default().to_owned()
    };
    transactions
        .map(|lines| lines.into_iter().map(text).collect())
        .collect()
}

#[test]
fn a_block_that_the_server_rolled_back_is_rolled_back() {
    let mut ms = 1000;
    let mut line = |text: &str, failed: &str| {
        ms += 10;
        match failed {
            "" => statement(ms, text),
            failed => csv(ms, "a.1", "ERROR", failed, "", text),
        }
    };
    let log = [
        line("BEGIN", ""),
        line("INSERT INTO t VALUES (1)", ""),
        // The log does not have its parameter, so that it is left out.
        line("INSERT INTO t VALUES ($1)", "duplicate key"),
        line("COMMIT;", ""),
        line("BEGIN", ""),
        line("SAVEPOINT s", ""),
        line("INSERT INTO t VALUES (2)", "deadlock detected"),
        line("ROLLBACK TO s", ""),
        line("COMMIT", ""),
        line("BEGIN", ""),
        line("COMMIT", "duplicate key"),
        line("SELECT 1", ""),
        // What needs the client's data is left out too. A BEGIN that is refused is no COMMIT.
        line("BEGIN", ""),
        line("COPY t FROM STDIN", "no such column"),
        line("BEGIN", "the transaction is aborted"),
        line("COMMIT;\t", ""),
        // So is what a driver drops.
        line("BEGIN", ""),
        line("SELECT 2", ""),
        line("DEALLOCATE \"S_1\"", "it does not exist"),
        line("COMMIT", ""),
    ]
    .concat();
    let (_folder, log, out) = folder_with("log.csv", log);
    let expected = [
        vec!["BEGIN", "INSERT INTO t VALUES (1)", "ROLLBACK"],
        vec![
            "BEGIN",
            "SAVEPOINT s",
            "INSERT INTO t VALUES (2)",
            "ROLLBACK TO s",
            "COMMIT",
        ],
        vec!["BEGIN", "COMMIT"],
        vec!["SELECT 1"],
        vec!["BEGIN", "BEGIN", "ROLLBACK"],
        vec!["BEGIN", "SELECT 2", "ROLLBACK"],
    ];
    assert_eq!(texts(&log, &out), expected);
}

#[test]
fn without_autocommit_a_transaction_lasts_until_its_commit() {
    let statements = [
        "SET autocommit=1",
        "SELECT 1",
        "SET autocommit=0",
        "SELECT a FROM t",
        "UPDATE t SET a = 1",
        "COMMIT",
        "SELECT a FROM t",
        "SET autocommit=1",
        "SELECT 2",
    ];
    let lines = statements
        .iter()
        .map(|text| format!("2026-11-29T22:57:41.000002Z\t    8 Query\t{text}\n"));
    let (_folder, log, out) = folder_with("general.log", lines.collect::<String>());
    let expected = [
        vec!["SET autocommit=1"],
        vec!["SELECT 1"],
        vec!["SET autocommit=0"],
        vec!["SELECT a FROM t", "UPDATE t SET a = 1", "COMMIT"],
        vec!["SELECT a FROM t", "SET autocommit=1"],
        vec!["SELECT 2"],
    ];
    assert_eq!(texts(&log, &out), expected);
}

#[test]
fn the_log_on_stderr_is_refused() {
    let line = "2026-11-29 22:57:41.123 UTC [7] LOG:  duration: 1 ms  statement: select 1, 2, 3\n";
    let (_folder, log, _) = folder_with("postgresql.log", line);
    let error = record_logs(&[log], true, Vec::new()).expect_err("unknown");
    let message = error.to_string();
    message.assert_contains("no log that can be read");
}

#[test]
fn a_masked_recording_has_no_value_of_the_log() {
    let (_folder, log, out) = folder_with("log.csv", sample_log());
    record(&[log], false, &out);
    let recording = SessionRecording::open(&out).expect("a recording");
    assert!(recording.index.is_masked);
    let statements: Vec<_> = recording
        .index
        .statements
        .iter()
        .map(|entry| entry.text.clone())
        .collect();
    let all = format!("{statements:?} {:?}", played(recording));
    for value in ["secret", "it's", "= 5", " 7"] {
        assert!(!all.contains(value), "{value}: {all}");
    }
    assert!(all.contains("id = ?"), "{all}");
}

#[test]
fn a_log_of_beginnings_has_its_durations_in_records_of_their_own() {
    let json = |ms: u32, severity: &str, rest: &str| {
        format!(
            "{{\"timestamp\":\"2026-11-29 22:57:41.{ms:03} UTC\",\"pid\":1,\"session_id\":\"a.1\",\
             \"error_severity\":\"{severity}\",{rest},\"backend_type\":\"client backend\"}}\n"
        )
    };
    let log = [
        json(10, "LOG", "\"message\":\"statement: SELECT 1\""),
        json(12, "LOG", "\"message\":\"duration: 2.000 ms\""),
        json(20, "LOG", "\"message\":\"statement: SELECT x\""),
        json(21, "ERROR", "\"message\":\"no\",\"statement\":\"SELECT x\""),
        json(
            30,
            "LOG",
            "\"message\":\"execute <unnamed>: SELECT $1\",\"detail\":\"Parameters: $1 = '2'\"",
        ),
        json(31, "LOG", "\"message\":\"duration: 1.000 ms\""),
        // Prepared without parameters, and with some that the log does not have.
        json(40, "LOG", "\"message\":\"execute <unnamed>: SELECT 7\""),
        json(50, "LOG", "\"message\":\"execute <unnamed>: SELECT 8\""),
        json(
            60,
            "LOG",
            "\"message\":\"execute <unnamed>: SELECT $1, $2\",\"detail\":\"Parameters: $1 = '2'\"",
        ),
        json(70, "LOG", "\"message\":\"execute <unnamed>: SELECT $1\""),
    ]
    .concat();
    let (_folder, log, out) = folder_with("log.json", log);
    let recorded = record(&[log], true, &out);
    assert_eq!(recorded.left_out.without_values, 2);
    // The two without parameters are one statement.
    assert_eq!(recorded.different, 3);
    let recording = SessionRecording::open(&out).expect("a recording");
    assert!(recording.has_unnamed_statements());
    assert_eq!(
        played(recording),
        [[
            ["0 Some(2000) false SELECT 1 []"],
            ["10000 None true SELECT x []"],
            ["20000 Some(1000) false SELECT $1 [Some(\"2\")]"],
            ["30000 None false SELECT 7 []"],
            ["40000 None false SELECT 8 []"],
        ]]
    );
}

#[test]
fn damaged_recordings_are_refused_and_never_panic() {
    let (_folder, log, out) = folder_with("log.csv", sample_log());
    record(slice::from_ref(&log), true, &out);
    let whole = std::fs::read(&out).expect("a file");
    let problem = |path: &Path| {
        SessionRecording::open(path)
            .expect_err("refused")
            .to_string()
    };
    assert!(problem(&log).contains("not a recording"));
    for length in (0..whole.len()).step_by(7) {
        std::fs::write(&out, &whole[..length]).expect("a file");
        let problem = problem(&out);
        assert!(
            problem.contains("recording") || problem.contains("damaged"),
            "{problem}"
        );
    }
    // Numbers that no log has are added up later.
    std::fs::write(&out, &whole).expect("a file");
    let index = SessionRecording::open(&out).expect("whole").index;
    let forged = |change: fn(&mut Index)| {
        let mut index = index.clone();
        change(&mut index);
        let writer = SessionWriter::new(std::fs::File::create(&out).expect("a file"));
        writer.expect("writable").finish(&index).expect("writable");
        SessionRecording::open(&out)
    };
    assert!(forged(|_| ()).is_ok());
    let changes: [fn(&mut Index); 2] = [
        |index| {
            index
                .statements
                .iter_mut()
                .for_each(|statement| statement.calls = u64::MAX)
        },
        |index| index.kinds.resize(70_000, "kind".to_owned()),
    ];
    for change in changes {
        assert!(forged(change).is_err());
    }
    for index in 8..whole.len() {
        let mut bytes = whole.clone();
        bytes[index] ^= 0x55;
        std::fs::write(&out, &bytes).expect("a file");
        let Ok(recording) = SessionRecording::open(&out) else {
            continue;
        };
        let recording = Arc::new(recording);
        for session in 0..recording.sessions.len() {
            let mut reader = SessionReader::new(Arc::clone(&recording), session);
            while reader.next().is_ok_and(|has_next| has_next) {}
        }
    }
}

/// Records statements: the session, when it began, how long it took, and its text. Returns also the most bytes that were
/// allocated at once.
fn record_measured<S: Display, T: AsRef<str>>(
    dialect: SqlDialect,
    statements: impl Iterator<Item = (S, i64, Option<u64>, T)>,
    out: &Path,
) -> (usize, Recorded) {
    let file = std::fs::File::create(out).expect("a file");
    let recorder = SessionRecorder::new(file, dialect, true).expect("writable");
    let mut recorder = recorder.with_limits(1 << 20, 1000);
    let before = allocated_bytes();
    let mut peak = 0;
    for (session, at_us, duration_us, text) in statements {
        let event = LogEvent::of_text(at_us, duration_us, text.as_ref());
        let session = session.to_string();
        recorder.event(&session, event).expect("writable");
        peak = peak.max(allocated_bytes().saturating_sub(before));
    }
    (peak, recorder.finish().expect("writable"))
}

/// Records this many statements of a hundred sessions; returns the most bytes that were allocated at once.
fn peak_of(count: usize, out: &Path) -> usize {
    let statements = (0..count).map(|number| {
        let text = format!("SELECT a FROM t{} WHERE id = {number}", number % 10);
        (number % 100, number as i64 * 10, Some(5), text)
    });
    let (peak, recorded) = record_measured(SqlDialect::PostgreSql, statements, out);
    assert_eq!(recorded.statements, count as u64);
    peak
}

#[test]
fn memory_does_not_grow_with_the_log() {
    let folder = TestFolder::create();
    let out = folder.join("out");
    let (short, long) = (peak_of(50_000, &out), peak_of(400_000, &out));
    // Eight times the statements: only the positions of the chunks are more.
    assert!(long < short + (1 << 20), "{short} and {long} bytes");
    let recording = Arc::new(SessionRecording::open(&out).expect("a recording"));
    let sessions = recording.sessions.iter();
    let count = sessions.map(|session| session.transactions);
    assert_eq!(count.sum::<u64>(), 400_000);
}

#[test]
fn a_recording_is_opened_once_while_it_does_not_change() {
    let (_folder, log, out) = folder_with("log.csv", sample_log());
    let path = out.display().to_string();
    record(slice::from_ref(&log), true, &out);
    let [first, second] = [0, 1].map(|_| load_of(&path).expect("a recording"));
    assert!(Arc::ptr_eq(&first, &second));
    record(&[log], false, &out);
    assert!(load_of(&path).expect("a recording").index.is_masked);
}

#[test]
fn agents_do_not_replay() {
    let refused = REPLAY.with_texts_of_files(&WorkloadPlan::default());
    let error = refused.expect_err("it names a file").to_string();
    assert!(error.contains("agents cannot replay sessions"), "{error}");
}
