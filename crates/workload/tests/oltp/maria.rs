//! The same workloads on a real MariaDB: what a load leaves, each workload in each protocol, trouble.

use crate::support::{
    Base, PROTOCOLS, broken_load_goes_on, is_whole, parts, plan, problem, ran, run_what_keeps_rows,
    workload,
};
use prony_plan::QueryMode;
use prony_server::embedded::{MariaDb, MariaDbOptions};
use prony_workload::{State, list};

/// All rows of a table.
fn digest(base: &Base, table: u32) -> String {
    base.text(&format!(
        "select concat(count(*), ' ', sum(crc32(concat_ws('|', id, k, c, pad)))) from sbtest{table}"
    ))
}

/// Columns with types and defaults, and indexes, of a table.
fn shape(base: &Base, table: u32) -> String {
    let of = |what: &str, view: &str, order: &str| {
        base.text(&format!(
            "select group_concat(concat_ws(' ', {what}) order by {order} separator ', ') \
             from information_schema.{view} \
             where table_schema = database() and table_name = 'sbtest{table}'"
        ))
    };
    let columns = "column_name, column_type, is_nullable, column_default, nullif(extra, '')";
    let indexes = "index_name, column_name, non_unique";
    format!(
        "{}; {}",
        of(columns, "columns", "ordinal_position"),
        of(indexes, "statistics", "index_name")
    )
}

#[test]
fn all_ways_make_the_same_rows_as_on_postgres() {
    let options = [("tables", "3"), ("table_size", "5000")];
    let mut first = None;
    // Whole tables by LOAD DATA, one loader and two; tables shared by INSERTs.
    for (jobs, way) in [(1, "LOAD DATA"), (2, "LOAD DATA"), (4, "INSERTs")] {
        let base = Base::maria(&format!("jobs_{jobs}"));
        let report = base.load("oltp_read_write", &options, jobs);
        assert_eq!((report.scale, report.jobs, report.rows), (3, jobs, 15_000));
        assert!(report.method.contains(way), "{jobs}: {}", report.method);
        assert!(report.tables.iter().all(|table| table.rows == 5_000));
        assert_eq!(base.wrong("oltp_read_write"), [""; 0]);
        let now: Vec<_> = (1..=3)
            .map(|table| (shape(&base, table), digest(&base, table)))
            .collect();
        let first = first.get_or_insert_with(|| now.clone());
        assert_eq!(*first, now, "{jobs} jobs");
        assert_ne!(now[0].1, now[1].1, "each table has rows of its own");
        let next = "insert into sbtest2 (k, c, pad) values (1, '', '')";
        base.execute(next);
        assert_eq!(base.number("select max(id) from sbtest2"), 5_001);
    }
    let (shape, _) = &first.expect("three of them")[1];
    assert_eq!(
        shape,
        "id int(11) NO auto_increment, k int(11) NO 0, c char(120) NO '', pad char(60) NO ''; \
         k_2 k 1, PRIMARY id 0"
    );
    let (ours, theirs) = (Base::maria("alike"), Base::new("oltp_alike"));
    let rows = |base: &Base| {
        base.load("oltp_read_only", &[("table_size", "300")], 1);
        let rows = base
            .control()
            .query("select id, k, trim(c), trim(pad) from sbtest1 order by id");
        rows.expect("rows")
    };
    assert!(rows(&ours) == rows(&theirs), "they differ");
}

#[test]
fn a_server_that_allows_little_is_loaded_by_small_inserts() {
    let arguments = ["--local-infile=0", "--max-allowed-packet=64K"];
    let server = MariaDb::start(MariaDbOptions {
        arguments: arguments.map(str::to_owned).to_vec(),
        ..MariaDbOptions::default()
    });
    let server = server.expect("a server");
    let small = Base::maria_on(&server, "small");
    let usual = Base::maria("usual");
    let options = [("tables", "2"), ("table_size", "2000")];
    let report = small.load("oltp_read_write", &options, 2);
    assert!(report.method.contains("INSERTs"), "{}", report.method);
    usual.load("oltp_read_write", &options, 2);
    for table in [1, 2] {
        assert_eq!(digest(&small, table), digest(&usual, table));
    }
    assert_eq!(small.wrong("oltp_read_write"), [""; 0]);
}

#[test]
fn options_decide_keys_indexes_and_rows() {
    let base = Base::maria("options");
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
        let report = base.load("oltp_read_only", &options, jobs);
        // Nothing is numbered by the server, so loaders do not lock each other out.
        assert!(report.method.contains("LOAD DATA"), "{}", report.method);
        assert_eq!(
            shape(&base, 1),
            "id int(11) NO, k int(11) NO 0, c char(120) NO '', pad char(60) NO ''; xid id 1"
        );
        assert_eq!(base.wrong("oltp_read_only"), [""; 0]);
        assert_eq!(base.number("select count(*) from sbtest1"), 1_000);
    }
    base.load("oltp_insert", &[("auto_inc", "off"), ("tables", "2")], 2);
    let run = ran(
        &base,
        "oltp_insert",
        &[("auto_inc", "off")],
        QueryMode::Prepared,
        (4, 50),
    );
    is_whole(&run, 200, "rows that the client numbers");
    let dropped = workload("oltp_delete").clean(&mut base.control());
    assert_eq!(dropped.expect("cleans"), ["sbtest1", "sbtest2"]);
    assert!(!base.wrong("oltp_delete").is_empty(), "there is nothing");
}

#[test]
fn transactions_leave_as_many_rows_as_they_found() {
    let base = Base::maria("transactions");
    let options = [("tables", "2"), ("table_size", "2000")];
    for protocol in PROTOCOLS {
        // Anew: the same seed brings the same texts, and to MySQL a row that gets the value it has
        // is not changed.
        base.load("oltp_read_write", &options, 2);
        run_what_keeps_rows(&base, protocol);
        assert_eq!(base.wrong("oltp_read_write"), [""; 0], "{protocol:?}");
    }
    let program = base.program("oltp_read_write", &[]).expect("the data");
    let texts = program.program.statements();
    assert!(
        texts.contains(&"SELECT c FROM sbtest1 WHERE id=?".to_owned()),
        "{texts:?}"
    );
}

#[test]
fn rows_come_and_go_where_that_is_the_workload() {
    let base = Base::maria("come_and_go");
    base.load("oltp_insert", &[("tables", "2"), ("table_size", "300")], 2);
    let count = "select (select count(*) from sbtest1) + (select count(*) from sbtest2)";
    for protocol in PROTOCOLS {
        let before = base.number(count);
        let run = ran(&base, "oltp_insert", &[], protocol, (3, 20));
        is_whole(&run, 60, "oltp_insert");
        assert_eq!(parts(&run), [0, 60, 0]);
        assert_eq!(base.number(count), before + 60);
    }
    assert!(base.check("oltp_insert").is_ok());
    let before = base.number(count);
    let run = ran(&base, "oltp_delete", &[], QueryMode::Prepared, (3, 100));
    is_whole(&run, 300, "oltp_delete");
    let [_, deleted, missed] = parts(&run);
    assert_eq!(deleted + missed, 300);
    assert_eq!(base.number(count), before - deleted as i64);
    assert!(base.wrong("oltp_read_write")[0].contains("has lost"));

    let base = Base::maria("bulk");
    base.load("bulk_insert", &[("tables", "2")], 2);
    for _ in 0..2 {
        let run = ran(&base, "bulk_insert", &[], QueryMode::Prepared, (3, 2));
        is_whole(&run, 6, "bulk_insert");
        assert_eq!(parts(&run), [0, 6, 0]);
    }
    let report = base.check("bulk_insert");
    assert!(report.is_ok() && report.scale == Some(2), "{report:?}");

    let base = Base::maria("hot");
    base.load("hot-row", &[], 1);
    let row = "select k from sbtest1 where id = 100";
    let before = base.number(row);
    for (hint, protocol) in [("off", QueryMode::Prepared), ("on", QueryMode::Simple)] {
        let run = ran(&base, "hot-row", &[("hint", hint)], protocol, (8, 25));
        is_whole(&run, 200, "hot-row");
        assert_eq!(parts(&run), [0, 200, 400]);
    }
    assert_eq!(base.number(row), before + 400);
}

#[test]
fn deadlocks_on_few_rows_are_tried_again() {
    let base = Base::maria("few_rows");
    base.load("oltp_read_write", &[("table_size", "4")], 1);
    let options = [("rand_type", "uniform"), ("index_updates", "3")];
    let run = ran(
        &base,
        "oltp_write_only",
        &options,
        QueryMode::Prepared,
        (8, 100),
    );
    is_whole(&run, 800, "in blocks");
    assert!(run.retries > 0, "eight users on four rows");
    assert_eq!(base.wrong("oltp_read_write"), [""; 0]);
}

#[test]
fn a_broken_load_goes_on_with_the_tables_that_are_missing() {
    let (base, whole) = (Base::maria("broken"), Base::maria("unbroken"));
    broken_load_goes_on((&base, &whole), 40_000, &digest, &shape, || {});
}

#[test]
fn what_is_in_the_way_is_named() {
    let base = Base::maria("in_the_way");
    let said = problem(base.program("oltp_read_only", &[("tables", "4")]));
    assert!(said.contains("table sbtest1 is missing"), "{said}");
    base.execute("create table sbtest2 (id int, name text)");
    let options = [("tables", "2"), ("table_size", "100")];
    let load = || base.load_with("oltp_insert", &options, 1, &(), &false.into());
    for said in [
        problem(load()),
        problem(workload("oltp_insert").clean(&mut base.control())),
    ] {
        assert!(
            said.contains("sbtest2 exists and is not a table of this workload"),
            "{said}"
        );
    }
    base.execute("drop table sbtest2");
    let mut other = base.control();
    let name =
        "concat('prony load oltp_read_write ', crc32(database()), ' ', left(database(), 16))";
    let lock = &format!("select get_lock({name}, 60)");
    assert_eq!(
        other.query_value(lock).expect("a lock").as_deref(),
        Some("1")
    );
    let said = problem(load());
    assert!(
        said.contains("another `prony load oltp_read_write` is under way"),
        "{said}"
    );
    drop(other);
    load().expect("loads");
    let said = problem(base.program("oltp_read_only", &[("table_size", "500")]));
    assert!(
        said.contains("sbtest1 was loaded with 100 rows, and 500 are wanted"),
        "{said}"
    );
    let nowhere = Base::maria_on(prony_server::embedded::shared_mariadb(), "nowhere");
    let mut control = nowhere.control();
    control.execute("drop database nowhere").expect("drops");
    let said = problem(workload("oltp_insert").clean(&mut control));
    assert!(said.contains("mysql://user@host/database"), "{said}");
}

#[test]
fn tables_that_sysbench_made_are_taken_as_they_are() {
    let base = Base::maria("theirs");
    base.execute(
        "create table sbtest1 (id int not null auto_increment, k int not null default '0', \
           c char(120) not null default '', pad char(60) not null default '', primary key (id)) \
           engine = innodb; \
         insert into sbtest1 (k, c, pad) select 1 + seq % 300, repeat('1', 119), repeat('2', 59) \
           from seq_1_to_300; \
         create index k_1 on sbtest1 (k)",
    );
    let run = ran(&base, "oltp_read_write", &[], QueryMode::Prepared, (2, 20));
    is_whole(&run, 40, "oltp_read_write");
    let report = base.check("oltp_read_write");
    assert!(report.is_ok(), "{report:?}");
    let note = report.findings.iter().find(|one| one.id == "rows-unknown");
    assert_eq!(note.expect("noted").state, State::Note);
    let said = problem(base.program("oltp_read_write", &[("table_size", "301")]));
    assert!(said.contains("300 rows, and 301 are wanted"), "{said}");
}

#[test]
fn an_error_of_another_kind_is_a_failure_and_the_run_goes_on() {
    let base = Base::maria("fails");
    base.load("oltp_write_only", &[("table_size", "500")], 1);
    base.execute(
        "create trigger few before insert on sbtest1 for each row \
           signal sqlstate '45000' set message_text = 'no more'",
    );
    let run = ran(&base, "oltp_write_only", &[], QueryMode::Prepared, (1, 40));
    assert_eq!((run.committed, run.failed), (0, 40));
    assert_eq!(run.codes, ["45000"]);
    assert_eq!(base.wrong("oltp_write_only"), [""; 0], "all rolled back");
}

#[test]
fn other_workloads_say_that_they_do_not_run_there() {
    let base = Base::maria("others");
    for workload in list() {
        let name = workload.name();
        if workload.data() == "oltp_read_write" || ["bulk_insert", "tpcc"].contains(&name) {
            continue;
        }
        let mut said = vec![
            problem(base.load_with(name, &[], 1, &(), &false.into())),
            problem(workload.check(&mut base.control())),
            problem(workload.clean(&mut base.control())),
        ];
        if name == "script" {
            // It has no tables anywhere.
            said.clear();
            let plan = plan(name, &[("builtin", "select-only")]);
            said.push(problem(workload.program(&mut base.control(), &plan)));
        } else {
            said.push(problem(base.program(name, &[])));
        }
        for said in said {
            assert!(
                said.contains("runs on PostgreSQL alone, and the server is MariaDB "),
                "{name}: {said}"
            );
        }
    }
}
