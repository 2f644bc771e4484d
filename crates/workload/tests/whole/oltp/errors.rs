//! Tests runs on tables that are missing, too small or foreign, and runs whose statements fail.

use super::support::*;
use prony_assertions::TextAssertions;
use prony_plan::QueryMode;
use prony_workload::FindingState;

#[test]
fn missing_tables_are_reported_with_a_remedy() {
    let database = TestDatabase::postgres("oltp_missing");
    let message = database.program_error("oltp_read_only", &[("tables", "4")]);
    message.assert_contains("table sbtest1 is missing");
    message.assert_contains("hint: prony load oltp_read_only --scale 4");
    database.load(
        "oltp_read_only",
        &[("tables", "2"), ("table_size", "200")],
        1,
    );
    let message = database.program_error("oltp_read_only", &[("tables", "4")]);
    message.assert_contains("table sbtest3 is missing");
    let message = database.program_error("oltp_read_only", &[("table_size", "500")]);
    message.assert_contains("sbtest1 was loaded with 200 rows, but 500 are requested");
    message.assert_contains("-o table_size=500");
    let message = database.program_error("hot-row", &[("row", "201")]);
    message.assert_contains("but 201 are requested");
    let message = database.program_error("oltp_read_only", &[("table_size", "none")]);
    message.assert_contains("table_size = none");
    // sysbench also allows fewer and smaller tables.
    let loaded = database.program("oltp_read_only", &[("tables", "1"), ("table_size", "50")]);
    assert_eq!(loaded.expect("runs").scale, 1);
    assert_eq!(
        database.program("oltp_read_only", &[]).expect("runs").scale,
        2
    );
    let loaded = database.program("select_random_points", &[]).expect("runs");
    assert_eq!(loaded.scale, 1, "the first table only");
    database.execute("drop table sbtest1");
    let message = database.program_error("oltp_read_only", &[]);
    message.assert_contains("table sbtest1 is missing");
    let problems = database.problems("oltp_read_only");
    problems[0].assert_contains("some of the tables between are missing");
}

#[test]
fn foreign_tables_are_never_changed() {
    let database = TestDatabase::postgres("oltp_foreign");
    database.execute("create table sbtest2 (id int, name text)");
    let options = [("tables", "2")];
    for message in [
        database.load_error("oltp_insert", &options, 1),
        expect_error(database.clean("oltp_insert")),
    ] {
        message.assert_contains("sbtest2 exists and is not a table of this workload");
    }
    database.execute("drop table sbtest2");
    database.load("bulk_insert", &options, 1);
    let message = database.load_error("oltp_insert", &options, 1);
    message.assert_contains("`prony clean bulk_insert` drops it");
    let message = database.program_error("oltp_insert", &options);
    message.assert_contains("it has no column c");
}

#[test]
fn tables_created_by_sysbench_are_accepted() {
    let [postgres, maria] = on_each_engine("oltp_theirs");
    for (database, id, numbers) in [
        (
            postgres,
            "id serial primary key",
            "generate_series(1, 300) n(seq)",
        ),
        (
            maria,
            "id int not null auto_increment primary key",
            "seq_1_to_300",
        ),
    ] {
        database.execute(&format!(
            "create table sbtest1 ({id}, k int not null default 0, \
               c char(120) not null default '', pad char(60) not null default ''); \
             insert into sbtest1 (k, c, pad) select 1 + seq % 300, repeat('1', 119), repeat('2', 59) \
               from {numbers}; \
             create index k_1 on sbtest1 (k)"
        ));
        run_committed(&database, "oltp_read_write", &[], (2, 20));
        let report = database.check("oltp_read_write");
        assert!(report.is_ok(), "{report:?}");
        let mut findings = report.findings.iter();
        let note = findings.find(|finding| finding.id == "rows-unknown");
        assert_eq!(note.expect("a finding").state, FindingState::Note);
        let message = database.program_error("oltp_read_write", &[("table_size", "301")]);
        message.assert_contains("300 rows, but 301 are requested");
    }
}

#[test]
fn run_continues_after_failed_transactions() {
    let [postgres, maria] = on_each_engine("oltp_fails");
    for (database, ddl, code, committed) in [
        (
            postgres,
            "alter table sbtest1 add constraint few check (k < 100) not valid",
            "23514",
            0,
        ),
        (
            maria,
            "create trigger few before insert on sbtest1 for each row \
               signal sqlstate '45000' set message_text = 'no more'",
            "45000",
            0,
        ),
    ] {
        database.load("oltp_write_only", &[("table_size", "500")], 1);
        database.execute(ddl);
        let (name, protocol) = ("oltp_write_only", QueryMode::Prepared);
        let outcome = run_workload(&database, name, &[], protocol, (1, 40));
        let counts = (outcome.committed, outcome.failed);
        assert_eq!(counts, (committed, 40 - committed), "{code}");
        assert_eq!(outcome.error_codes, [code]);
        let problems = database.problems(name);
        assert_eq!(problems, [""; 0], "failed transactions are rolled back");
    }
    let options = workload_plan("oltp_write_only", &[("tables", "x"), ("range_size", "0")]);
    let problems = workload("oltp_write_only").check_options(&options, QueryMode::Simple);
    assert_eq!(problems.len(), 2);
}
