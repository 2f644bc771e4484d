//! Tests the oltp workloads on a real MariaDB server: the tables after a load, and errors.

use super::support::*;
use prony_assertions::TextAssertions;
use prony_test_servers::TestControl;
use prony_workload::list;

fn digest(database: &TestDatabase, table: u32) -> String {
    database.query_text(&format!(
        "select concat(count(*), ' ', sum(crc32(concat_ws('|', id, k, c, pad)))) from sbtest{table}"
    ))
}

/// Returns the columns of a table with types and defaults, and its indexes.
fn table_definition(database: &TestDatabase, table: u32) -> String {
    let list = |expressions: &str, view: &str, order: &str| {
        database.query_text(&format!(
            "select group_concat(concat_ws(' ', {expressions}) order by {order} separator ', ') \
             from information_schema.{view} \
             where table_schema = database() and table_name = 'sbtest{table}'"
        ))
    };
    let columns = "column_name, column_type, is_nullable, column_default, nullif(extra, '')";
    let indexes = "index_name, column_name, non_unique";
    format!(
        "{}; {}",
        list(columns, "columns", "ordinal_position"),
        list(indexes, "statistics", "index_name")
    )
}

#[test]
fn every_load_method_produces_the_same_rows_as_on_postgres() {
    let options = [("tables", "3"), ("table_size", "5000")];
    let mut first_tables = None;
    // One and two loaders send whole tables by LOAD DATA; four loaders share tables and send INSERTs.
    for (jobs, method) in [(1, "LOAD DATA"), (2, "LOAD DATA"), (4, "INSERTs")] {
        let database = TestDatabase::maria(&format!("jobs_{jobs}"));
        let report = database.load("oltp_read_write", &options, jobs);
        assert_eq!((report.scale, report.jobs, report.rows), (3, jobs, 15_000));
        assert!(report.method.contains(method), "{jobs}: {}", report.method);
        assert!(report.tables.iter().all(|table| table.rows == 5_000));
        assert_eq!(database.problems("oltp_read_write"), [""; 0]);
        let tables: Vec<_> = (1..=3)
            .map(|table| (table_definition(&database, table), digest(&database, table)))
            .collect();
        let expected_tables = first_tables.get_or_insert_with(|| tables.clone());
        assert_eq!(*expected_tables, tables, "{jobs} jobs");
        assert_ne!(tables[0].1, tables[1].1, "each table has different rows");
        let insert = "insert into sbtest2 (k, c, pad) values (1, '', '')";
        database.execute(insert);
        assert_eq!(database.query_number("select max(id) from sbtest2"), 5_001);
    }
    let (definition, _) = &first_tables.expect("three loads")[1];
    definition.assert_equals(
        "id int(11) NO auto_increment, k int(11) NO 0, c char(120) NO '', pad char(60) NO ''; \
         k_2 k 1, PRIMARY id 0",
    );
    let (maria, postgres) = (
        TestDatabase::maria("alike"),
        TestDatabase::postgres("oltp_alike"),
    );
    let rows = |database: &TestDatabase| {
        database.load("oltp_read_only", &[("table_size", "300")], 1);
        let rows = database
            .control()
            .query("select id, k, trim(c), trim(pad) from sbtest1 order by id");
        rows.expect("rows")
    };
    assert!(rows(&maria) == rows(&postgres), "the rows differ");
}

#[test]
fn server_with_low_limits_is_loaded_by_small_inserts() {
    let arguments = ["--local-infile=0", "--max-allowed-packet=64K"];
    let server = private_maria(&arguments);
    let restricted = TestDatabase::on_maria(&server, "small");
    let unrestricted = TestDatabase::maria("usual");
    let options = [("tables", "2"), ("table_size", "2000")];
    let report = restricted.load("oltp_read_write", &options, 2);
    report.method.assert_contains("INSERTs");
    unrestricted.load("oltp_read_write", &options, 2);
    for table in [1, 2] {
        assert_eq!(digest(&restricted, table), digest(&unrestricted, table));
    }
    assert_eq!(restricted.problems("oltp_read_write"), [""; 0]);
}

#[test]
fn statements_have_the_placeholders_of_mysql() {
    let database = TestDatabase::maria("placeholders");
    database.load("oltp_read_write", &[("table_size", "100")], 1);
    let program = database.program("oltp_read_write", &[]).expect("the data");
    let texts = program.program.statements();
    let text = "SELECT c FROM sbtest1 WHERE id=?".to_owned();
    assert!(texts.contains(&text), "{texts:?}");
}

#[test]
fn options_determine_keys_indexes_and_rows() {
    let database = TestDatabase::maria("options");
    let options = [
        ("table_size", "1000"),
        ("secondary", "on"),
        ("create_secondary", "off"),
        ("auto_inc", "off"),
        (
            "create_table_options",
            "comment 'it''s \\\\ mine' avg_row_length=200",
        ),
    ];
    for jobs in [1, 2] {
        let report = database.load("oltp_read_only", &options, jobs);
        // The server assigns no numbers to rows, so loaders do not block each other even with LOAD DATA.
        report.method.assert_contains("LOAD DATA");
        table_definition(&database, 1).assert_equals(
            "id int(11) NO, k int(11) NO 0, c char(120) NO '', pad char(60) NO ''; xid id 1",
        );
        assert_eq!(database.problems("oltp_read_only"), [""; 0]);
        assert_eq!(database.query_number("select count(*) from sbtest1"), 1_000);
    }
    database.load("oltp_insert", &[("auto_inc", "off"), ("tables", "2")], 2);
    let dropped = database.clean("oltp_delete");
    assert_eq!(dropped.expect("cleans"), ["sbtest1", "sbtest2"]);
    assert!(
        !database.problems("oltp_delete").is_empty(),
        "no tables exist"
    );
}

#[test]
fn interrupted_load_continues_with_the_missing_tables() {
    let [database, uninterrupted] = ["broken", "unbroken"].map(TestDatabase::maria);
    test_interrupted_load(
        (&database, &uninterrupted),
        40_000,
        &digest,
        &table_definition,
        || {},
    );
}

#[test]
fn missing_foreign_and_locked_tables_are_reported() {
    let database = TestDatabase::maria("in_the_way");
    let message = database.program_error("oltp_read_only", &[("tables", "4")]);
    message.assert_contains("table sbtest1 is missing");
    database.execute("create table sbtest2 (id int, name text)");
    let options = [("tables", "2"), ("table_size", "100")];
    let load = || database.load_with("oltp_insert", &options, 1, &(), &false.into());
    for message in [
        expect_error(load()),
        expect_error(database.clean("oltp_insert")),
    ] {
        message.assert_contains("sbtest2 exists and is not a table of this workload");
    }
    database.execute("drop table sbtest2");
    let mut lock_holder = database.control();
    let lock_name =
        "concat('prony load oltp_read_write ', crc32(database()), ' ', left(database(), 16))";
    let lock = &format!("select get_lock({lock_name}, 60)");
    assert_eq!(
        lock_holder.query_value(lock).expect("a lock").as_deref(),
        Some("1")
    );
    let message = expect_error(load());
    message.assert_contains("another load of oltp_read_write is under way");
    drop(lock_holder);
    load().expect("loads");
    let message = database.program_error("oltp_read_only", &[("table_size", "500")]);
    message.assert_contains("sbtest1 was loaded with 100 rows, but 500 are requested");
    let mut no_database = TestDatabase::on_maria(prony_test_servers::shared_mariadb(), "nowhere");
    let mut control = no_database.control();
    control.run("drop database nowhere");
    let message = expect_error(workload("oltp_insert").clean(&mut control));
    message.assert_contains("mysql://user@host/database");
    no_database.target.database.clear();
    let message =
        expect_error(no_database.load_with("oltp_insert", &options, 1, &(), &false.into()));
    message.assert_contains("mysql://user@host/database");
}

#[test]
fn workloads_that_run_only_on_postgresql_are_refused() {
    let database = TestDatabase::maria("others");
    for workload in list() {
        let name = workload.name();
        if workload
            .dialects()
            .contains(&prony_document::SqlDialect::MySql)
        {
            continue;
        }
        let mut messages = vec![
            database.load_error(name, &[], 1),
            expect_error(workload.check(&mut database.control())),
            expect_error(workload.clean(&mut database.control())),
        ];
        if name == "script" {
            // The script workload has no tables.
            messages.clear();
            let plan = workload_plan(name, &[("builtin", "select-only")]);
            messages.push(expect_error(
                workload.program(&mut database.control(), &plan),
            ));
        } else {
            messages.push(database.program_error(name, &[]));
        }
        for message in messages {
            assert!(
                message.contains("runs only on PostgreSQL, but the server is MariaDB "),
                "{name}: {message}"
            );
        }
    }
}
