//! The statements of `-i`: those that a server 15 logged (log_statement=all) under the real pgbench 13,
//! 15, 17 and 18, in `recorded/init-*.txt`, and what differs with other servers and options.

mod common;

use std::ffi::OsString;

use prony_dialect::pgbench::{Freeze, InitOptions, Invocation, Level, Work, copy_sql, read, step};

use common::Nothing;

const RECORDS: [(u16, &str); 4] = [
    (13, include_str!("recorded/init-13.txt")),
    (15, include_str!("recorded/init-15.txt")),
    (17, include_str!("recorded/init-17.txt")),
    (18, include_str!("recorded/init-18.txt")),
];

fn options(level: &Level, command: &str) -> InitOptions {
    let words: Vec<OsString> = command.split(' ').map(OsString::from).collect();
    match read("pgbench", &words, level, &mut Nothing) {
        Ok(Invocation::Initialize(options)) => options,
        other => panic!("{command}: {other:?}"),
    }
}

fn work(major: u16, command: &str, server: u32) -> Vec<Work> {
    let level = Level::of_major(major).unwrap();
    let options = options(&level, command);
    let steps = options.steps.clone();
    steps
        .chars()
        .flat_map(|letter| step(&level, &options, letter, server))
        .collect()
}

/// The statements among the work, on tables as the command line makes them.
fn sql(work: &[Work], command: &str) -> Vec<String> {
    let partitioned = command.contains("--partitions=");
    let statement = |piece: &Work| match piece {
        Work::Say(_) => None,
        Work::Sql(sql) => Some(sql.clone()),
        Work::Copy { table, freeze } => {
            let ordinary = !(partitioned && table.name() == "pgbench_accounts");
            let freeze = *freeze == Freeze::Yes || (*freeze == Freeze::IfOrdinary && ordinary);
            Some(copy_sql(*table, freeze))
        }
    };
    work.iter().filter_map(statement).collect()
}

#[test]
fn statements_are_pgbenchs() {
    let mut commands = 0;
    for (major, records) in RECORDS {
        for record in records.split("$ ").filter(|record| !record.is_empty()) {
            let mut lines = record.lines();
            let command = lines.next().unwrap();
            let statement = |line: &str| line.strip_prefix("| ").unwrap().replace("\\n", "\n");
            let expected: Vec<String> = lines.map(statement).collect();
            let found = sql(&work(major, command, 150_018), command);
            assert_eq!(found, expected, "pgbench {major} {command}");
            commands += 1;
        }
    }
    assert_eq!(commands, 48);
}

fn statements(major: u16, command: &str, server: u32) -> String {
    sql(&work(major, command, server), command).join("\n")
}

#[test]
fn what_is_copied_and_frozen() {
    let copies = |major, command, server| {
        let all = sql(&work(major, command, server), command);
        all.into_iter()
            .filter(|sql| sql.starts_with("copy"))
            .collect::<Vec<_>>()
    };
    let plain = "copy pgbench_accounts from stdin";
    let frozen = "copy pgbench_accounts from stdin with (freeze on)";
    assert_eq!(copies(14, "-i", 150_000), [plain]);
    assert_eq!(copies(15, "-i", 130_000), [plain]);
    assert_eq!(copies(16, "-i", 160_000), [frozen]);
    assert_eq!(copies(16, "-i --partitions=2", 160_000), [plain]);
    let of_18 = copies(18, "-i --partitions=2", 150_000);
    assert_eq!(of_18.len(), 3);
    assert_eq!(
        of_18[0],
        "copy pgbench_branches from stdin with (freeze on)"
    );
    assert_eq!(of_18[2], plain);
    assert!(!statements(17, "-i", 150_000).contains("insert"));
}

#[test]
fn tables_of_other_levels() {
    let partitioned = "-i -I t --partitions=2 --unlogged-tables";
    assert!(statements(17, partitioned, 0).contains("create unlogged table pgbench_branches"));
    let of_18 = statements(18, partitioned, 0);
    assert!(of_18.contains("create table pgbench_branches"));
    assert!(of_18.contains("create unlogged table pgbench_accounts_1\n"));
    let hash = statements(13, "-i -I t --partitions=2 --partition-method=hash", 0);
    assert!(hash.ends_with("with (modulus 2, remainder 1) with (fillfactor=100)\n"));
    let space = statements(18, "-i -I tp --tablespace=a\"b --index-tablespace=I", 0);
    assert!(space.contains(" tablespace \"a\"\"b\"\n"));
    assert!(space.contains("add primary key (bid) using index tablespace \"I\""));
}

#[test]
fn what_is_said() {
    let said: String = work(18, "-i --partitions=3 --foreign-keys", 180_000)
        .into_iter()
        .filter_map(|work| {
            if let Work::Say(text) = work {
                Some(text)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(
        said,
        "dropping old tables...\ncreating tables...\ncreating 3 partitions...\n\
         generating data (client-side)...\nvacuuming...\ncreating primary keys...\n\
         creating foreign keys...\n"
    );
}
