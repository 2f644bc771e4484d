//! Logs as servers leave them: rotated, cut off, in other encodings, of pools and drivers, of very many sessions.

use super::{csv, folder_with, played, record, record_measured, statement, texts};
use crate::replay::file::SessionRecording;
use crate::replay::log::record_logs;
use crate::replay::recorder::Recorded;
use crate::replay::transactions::SessionReader;
use prony_assertions::TestFolder;
use prony_document::SqlDialect;
use std::path::Path;
use std::slice;

fn general(lines: &[(&str, &str)]) -> Vec<u8> {
    let lines = lines.iter().zip(10..).map(|((command, argument), ms)| {
        format!("2026-11-29T22:57:41.0{ms}000Z\t    8 {command}\t{argument}\n")
    });
    lines.collect::<String>().into_bytes()
}

#[test]
fn what_a_pool_resets_is_a_new_session_on_the_same_connection() {
    // MySQL and MariaDB write the names of commands with other letters.
    let log = general(&[
        ("Connect", "u@localhost on d using TCP/IP"),
        ("Reset Connection", ""),
        ("Query", "SET autocommit=0"),
        ("Query", "SELECT 1"),
        ("Ping", ""),
        ("Reset Connection", ""),
        ("Query", "SELECT 2"),
        ("Change user", "u@localhost on d using TCP/IP"),
        ("Query", "BEGIN"),
        ("Query", "UPDATE t SET a = 1"),
        ("Reset connection", ""),
        ("Query", "SELECT 3"),
        ("Binlog Dump GTID", "Log: '' Pos: 4"),
        ("Quit", ""),
    ]);
    let (_folder, log, out) = folder_with("general.log", log);
    let expected = [
        vec!["SET autocommit=0"],
        vec!["SELECT 1"],
        vec!["SELECT 2"],
        vec!["BEGIN", "UPDATE t SET a = 1"],
        vec!["SELECT 3"],
    ];
    assert_eq!(texts(&log, &out), expected);
    let recording = std::sync::Arc::new(SessionRecording::open(&out).expect("a recording"));
    let mut reader = SessionReader::new(recording, 0);
    let mut resets = Vec::new();
    while reader.next().expect("readable") {
        resets.push((reader.is_reset, reader.continues));
    }
    let expected = [
        (false, false),
        (false, false),
        (true, false),
        (true, false),
        (true, false),
    ];
    assert_eq!(resets, expected);
}

#[test]
fn a_slow_log_has_the_commands_of_pools_too() {
    let record_of = |second: u32, text: &str| {
        format!(
            "# Time: 2026-11-29T22:57:{second}.500000Z\r\n# User@Host: root[root] @ localhost []  Id:    12\r\n\
             # Query_time: 0.250000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\r\n\
             use test;\r\nSET timestamp=1796000000;\r\n{text};\r\n"
        )
    };
    let log = [
        record_of(40, "SET autocommit=0"),
        record_of(41, "# administrator command: Reset Connection"),
        record_of(42, "SELECT 1"),
        record_of(43, "# administrator command: Quit"),
        record_of(44, "SELECT 2"),
        // Without its end.
        record_of(45, "DELETE FROM t WHERE a = 1").replace(" = 1;\r\n", ""),
    ];
    let (_folder, log, out) = folder_with("slow.log", log.concat());
    let recorded = record(&[log], true, &out);
    assert_eq!((recorded.sessions, recorded.statements), (2, 3));
    assert_eq!(recorded.left_out.unreadable_records, 1);
    let sessions = played(SessionRecording::open(&out).expect("a recording"));
    assert_eq!(
        sessions,
        [
            vec![
                vec!["0 Some(250000) false SET autocommit=0 []"],
                vec!["2000000 Some(250000) false SELECT 1 []"],
            ],
            vec![vec!["4000000 Some(250000) false SELECT 2 []"]],
        ]
    );
}

#[test]
fn statements_that_are_not_utf8_are_made_hexadecimal_or_left_out() {
    let folder = TestFolder::create();
    let mut log = general(&[
        ("Execute", "INSERT INTO t VALUES (_binary'\u{1}')"),
        ("Query", "SELECT '\u{2}' AS \u{1}"),
        ("Query", "SELECT 'ä'"),
    ]);
    for byte in &mut log {
        *byte = if *byte == 1 { 0xff } else { *byte };
    }
    let path = folder.join("general.log");
    std::fs::write(&path, &log).expect("a file");
    let out = folder.join("out");
    let recorded = record(slice::from_ref(&path), true, &out);
    assert_eq!(recorded.left_out.not_utf8, 1);
    let expected = [
        vec!["INSERT INTO t VALUES (_binary X'FF')"],
        vec!["SELECT 'ä'"],
    ];
    assert_eq!(texts(&path, &out), expected);
    // Masked, no value matters.
    assert_eq!(record(&[path], false, &out).left_out.not_utf8, 0);
    let parameters = "parameters: $1 = 'Gr\u{1}\u{1}e'";
    let message = "duration: 1.000 ms  execute s: SELECT $1";
    let mut log = csv(1000, "a.1", "LOG", message, parameters, "").into_bytes();
    for byte in &mut log {
        *byte = if *byte == 1 { 0xfc } else { *byte };
    }
    log.extend(csv(1010, "a.1", "LOG", "statement: SELECT 1", "", "").bytes());
    let path = folder.join("log.csv");
    std::fs::write(&path, &log).expect("a file");
    let recorded = record(&[path], true, &out);
    assert_eq!((recorded.statements, recorded.left_out.not_utf8), (1, 1));
}

#[test]
fn drivers_drop_and_number_what_a_replay_names_itself() {
    let savepoints =
        (0..6000).map(|number| statement(3000, &format!("SAVEPOINT \"s140_x{number}\"")));
    let log = [
        statement(1000, "DEALLOCATE \"S_1\""),
        statement(1010, "PREPARE q AS SELECT 1"),
        statement(1020, "EXECUTE q"),
        statement(1030, "DEALLOCATE q"),
        statement(1040, "DEALLOCATE pdo_stmt_00000007"),
        statement(1050, "BEGIN"),
    ]
    .concat()
        + &savepoints.collect::<String>()
        + &statement(4000, "COMMIT");
    let (_folder, log, out) = folder_with("log.csv", log);
    let recorded = record(slice::from_ref(&log), true, &out);
    assert_eq!(recorded.left_out.of_drivers, 2);
    assert_eq!(recorded.different, 6);
    let texts = texts(&log, &out);
    let expected = [["PREPARE q AS SELECT 1"], ["EXECUTE q"], ["DEALLOCATE q"]];
    assert_eq!(texts[..3], expected);
    assert_eq!(texts[3][6000], "SAVEPOINT \"s140_x5999\"");
}

#[test]
fn only_what_drops_all_prepared_statements_makes_them_those_of_a_driver() {
    let line = |text: &str| statement(1000, text);
    let log = [
        line("PREPARE q AS SELECT 1"),
        line("DISCARD PLANS"),
        line("discard temp"),
        csv(1000, "a.1", "ERROR", "not in a block", "", "DISCARD ALL"),
        line("DEALLOCATE q"),
        line("PREPARE r AS SELECT 1"),
        line("DISCARD ALL"),
        line("DEALLOCATE r"),
        line("PREPARE s AS SELECT 1"),
        line("/* a */ DEALLOCATE PREPARE ALL"),
        line("DEALLOCATE s"),
    ];
    let (_folder, log, out) = folder_with("log.csv", log.concat());
    assert_eq!(
        record(slice::from_ref(&log), true, &out)
            .left_out
            .of_drivers,
        2
    );
    let texts = texts(&log, &out).concat();
    assert_eq!(texts.len(), 9);
    assert_eq!(texts[4], "DEALLOCATE q");
}

#[test]
fn rotated_logs_may_be_empty_or_begin_within_a_record() {
    let folder = TestFolder::create();
    let header = "mysqld, Version: 8.0.31 (x). started with:\nTcp port: 3306  Unix socket: s\n\
                  Time                 Id Command    Argument\n";
    let log = String::from_utf8(general(&[("Query", "SELECT 1"), ("Query", "SELECT 2")]));
    let log = log.expect("UTF-8");
    let paths = [
        folder.write("empty.log", ""),
        folder.write("new.log", header),
        folder.write("old.log", format!("WHERE a = 1\n{log}")),
    ];
    let recorded = record(&paths, true, &folder.join("out"));
    assert_eq!(
        (recorded.statements, recorded.left_out.unreadable_records),
        (2, 1)
    );
    let refusal = |path: &Path| {
        let error = record_logs(&[path.to_owned()], true, Vec::new());
        error.expect_err("refused").to_string()
    };
    assert!(refusal(&paths[1]).contains("the log is empty"));
    let compressed = folder.write("log.gz", "");
    std::fs::write(&compressed, [0x1f, 0x8b, 8, 0]).expect("a file");
    assert!(refusal(&compressed).contains("zcat"));
}

/// Records so many sessions of three statements, of which some execute a fourth one at the end; returns the most bytes that
/// were allocated at once.
fn peak_of_sessions(count: usize, out: &Path) -> (usize, Recorded) {
    let again = (0..count).step_by(10).map(|session| (session, 3));
    let first = (0..count).flat_map(|session| (0..3).map(move |number| (session, number)));
    let timed = first.chain(again).zip((0..).step_by(10));
    let statements = timed.map(|((session, number), at_us)| {
        let session = format!("session {session}");
        (session, at_us, Some(5), format!("SELECT {number}"))
    });
    record_measured(SqlDialect::PostgreSql, statements, out)
}

#[test]
fn memory_does_not_grow_with_sessions_that_the_log_does_not_end() {
    let folder = TestFolder::create();
    let out = folder.join("out");
    let (few, _) = peak_of_sessions(5_000, &out);
    let (many, recorded) = peak_of_sessions(20_000, &out);
    // A number of each session, while they grow twice, and a buffer of ended sessions.
    assert!(
        many < few + 15_000 * 24 + (1 << 20),
        "{few} and {many} bytes"
    );
    assert_eq!((recorded.sessions, recorded.statements), (20_000, 62_000));
    let sessions = played(SessionRecording::open(&out).expect("a recording"));
    assert_eq!(sessions.len(), 20_000);
    // The fourth statement is in the same session, at its time.
    for (session, transactions) in sessions.iter().enumerate().step_by(1_999) {
        let base = session * 30;
        let mut expected: Vec<String> = (0..3)
            .map(|number| format!("{} Some(5) false SELECT {number} []", base + number * 10))
            .collect();
        if session % 10 == 0 {
            let at_us = 600_000 + session;
            expected.push(format!("{at_us} Some(5) false SELECT 3 []"));
        }
        assert_eq!(transactions.concat(), expected);
    }
}

#[test]
fn open_transactions_of_many_sessions_are_written_in_parts() {
    let folder = TestFolder::create();
    let out = folder.join("out");
    let long = format!("INSERT INTO t VALUES ('{}')", "x".repeat(1000));
    let text = |round| match round {
        0 => "BEGIN",
        39 => "COMMIT",
        _ => &long,
    };
    let rounds = (0..40).flat_map(|round| (0..100).map(move |session| (round, session)));
    let statements = rounds.map(|(round, session)| (session, round, None, text(round)));
    let (peak, _) = record_measured(SqlDialect::MySql, statements, &out);
    // Of 3.8 MB at most the limit, twice while it is written.
    assert!(peak < 3 << 20, "{peak}");
    let sessions = played(SessionRecording::open(&out).expect("a recording"));
    assert!(sessions.iter().all(|session| session.concat().len() == 40));
}
