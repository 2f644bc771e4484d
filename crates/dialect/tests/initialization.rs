//! The statements of `-i` match the statements that a PostgreSQL 15 server logged (log_statement=all) for the
//! real pgbench 13, 15, 17 and 18 (`recorded/init-*.txt`); further tests cover other servers and options.

mod common;

use prony_assertions::TextAssertions;

use prony_dialect::pgbench::{
    Freeze, InitOptions, Invocation, Level, SetupAction, copy_sql, step_actions,
};

use common::{TestHost, parse_line};

const RECORDS: [(u16, &str); 4] = [
    (13, include_str!("recorded/init-13.txt")),
    (15, include_str!("recorded/init-15.txt")),
    (17, include_str!("recorded/init-17.txt")),
    (18, include_str!("recorded/init-18.txt")),
];

fn parse_options(level: &Level, command: &str) -> InitOptions {
    match parse_line(command, level, &mut TestHost::new("pgbench", level)) {
        Ok(Invocation::Initialize(options)) => options,
        other => panic!("{command}: {other:?}"),
    }
}

fn setup_actions(major: u16, command: &str, server: u32) -> Vec<SetupAction> {
    let level = Level::of_major(major).unwrap();
    let options = parse_options(&level, command);
    let steps = options.steps.clone();
    steps
        .chars()
        .flat_map(|letter| step_actions(&level, &options, letter, server))
        .collect()
}

/// The SQL statements of actions, for tables as the command line creates them.
fn sql_statements(actions: &[SetupAction], command: &str) -> Vec<String> {
    let is_partitioned = command.contains("--partitions=");
    let statement = |action: &SetupAction| match action {
        SetupAction::Print(_) => None,
        SetupAction::Sql(sql) => Some(sql.clone()),
        SetupAction::Copy { table, freeze } => {
            let is_ordinary = !(is_partitioned && table.name() == "pgbench_accounts");
            let freeze = *freeze == Freeze::Yes || (*freeze == Freeze::IfPlainTable && is_ordinary);
            Some(copy_sql(*table, freeze))
        }
    };
    actions.iter().filter_map(statement).collect()
}

#[test]
fn statements_match_pgbench() {
    let mut command_count = 0;
    for (major, records) in RECORDS {
        for record in records.split("$ ").filter(|record| !record.is_empty()) {
            let mut lines = record.lines();
            let command = lines.next().unwrap();
            let statement = |line: &str| line.strip_prefix("| ").unwrap().replace("\\n", "\n");
            let expected: Vec<String> = lines.map(statement).collect();
            let statements = sql_statements(&setup_actions(major, command, 150_018), command);
            assert_eq!(statements, expected, "pgbench {major} {command}");
            command_count += 1;
        }
    }
    assert_eq!(command_count, 48);
}

/// The SQL statements of a command line, one per line.
fn joined_statements(major: u16, command: &str, server: u32) -> String {
    sql_statements(&setup_actions(major, command, server), command).join("\n")
}

#[test]
fn copy_freezes_rows_only_where_pgbench_does() {
    let copy_statements = |major, command, server| {
        let statements = sql_statements(&setup_actions(major, command, server), command);
        statements
            .into_iter()
            .filter(|sql| sql.starts_with("copy"))
            .collect::<Vec<_>>()
    };
    let plain = "copy pgbench_accounts from stdin";
    let frozen = "copy pgbench_accounts from stdin with (freeze on)";
    assert_eq!(copy_statements(14, "-i", 150_000), [plain]);
    assert_eq!(copy_statements(15, "-i", 130_000), [plain]);
    assert_eq!(copy_statements(16, "-i", 160_000), [frozen]);
    assert_eq!(copy_statements(16, "-i --partitions=2", 160_000), [plain]);
    let level_18 = copy_statements(18, "-i --partitions=2", 150_000);
    assert_eq!(level_18.len(), 3);
    assert_eq!(
        level_18[0],
        "copy pgbench_branches from stdin with (freeze on)"
    );
    assert_eq!(level_18[2], plain);
    joined_statements(17, "-i", 150_000).assert_lacks("insert");
}

#[test]
fn tables_match_each_level() {
    let partitioned = "-i -I t --partitions=2 --unlogged-tables";
    joined_statements(17, partitioned, 0).assert_contains("create unlogged table pgbench_branches");
    let level_18 = joined_statements(18, partitioned, 0);
    level_18.assert_contains("create table pgbench_branches");
    level_18.assert_contains("create unlogged table pgbench_accounts_1\n");
    let hash_partitioned =
        joined_statements(13, "-i -I t --partitions=2 --partition-method=hash", 0);
    hash_partitioned.assert_ends_with("with (modulus 2, remainder 1) with (fillfactor=100)\n");
    let with_tablespaces =
        joined_statements(18, "-i -I tp --tablespace=a\"b --index-tablespace=I", 0);
    with_tablespaces.assert_contains(" tablespace \"a\"\"b\"\n");
    with_tablespaces.assert_contains("add primary key (bid) using index tablespace \"I\"");
}

#[test]
fn printed_messages_match_pgbench() {
    let actions = setup_actions(18, "-i --partitions=3 --foreign-keys", 180_000);
    let texts = actions.into_iter().filter_map(|action| match action {
        SetupAction::Print(text) => Some(text),
        _ => None,
    });
    let printed: String = texts.collect();
    assert_eq!(
        printed,
        "dropping old tables...\ncreating tables...\ncreating 3 partitions...\n\
         generating data (client-side)...\nvacuuming...\ncreating primary keys...\n\
         creating foreign keys...\n"
    );
}

/// The actions of the largest scale do not fit into memory at once.
#[test]
fn actions_are_made_one_at_a_time() {
    let level = Level::of_major(16).unwrap();
    let options = parse_options(&level, "-i -s 2000000000 --partitions=2000000000");
    let eighth_action = |step| step_actions(&level, &options, step, 150_000).nth(7);
    let sql = |text: &str| Some(SetupAction::Sql(text.to_owned()));
    assert_eq!(
        eighth_action('g'),
        sql("insert into pgbench_branches(bid,bbalance) values(5,0)")
    );
    assert_eq!(
        eighth_action('t'),
        sql(
            "create table pgbench_accounts_2\n  partition of pgbench_accounts\n  for values \
             from (100001) to (200001) with (fillfactor=100)"
        )
    );
}
