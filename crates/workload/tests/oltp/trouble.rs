//! Tables that are missing, of another size, or somebody else's.

use crate::support::{Base, plan, problem, ran, workload};
use prony_plan::QueryMode;
use prony_workload::State;

#[test]
fn what_is_not_there_is_named_with_what_to_do() {
    let base = Base::new("oltp_missing");
    let said = problem(base.program("oltp_read_only", &[("tables", "4")]));
    assert!(said.contains("table sbtest1 is missing"), "{said}");
    assert!(
        said.contains("hint: prony load oltp_read_only --scale 4"),
        "{said}"
    );
    base.load(
        "oltp_read_only",
        &[("tables", "2"), ("table_size", "200")],
        1,
    );
    let said = problem(base.program("oltp_read_only", &[("tables", "4")]));
    assert!(said.contains("table sbtest3 is missing"), "{said}");
    let said = problem(base.program("oltp_read_only", &[("table_size", "500")]));
    assert!(
        said.contains("sbtest1 was loaded with 200 rows, and 500 are wanted"),
        "{said}"
    );
    assert!(said.contains("-o table_size=500"), "{said}");
    let said = problem(base.program("hot-row", &[("row", "201")]));
    assert!(said.contains("and 201 are wanted"), "{said}");
    let said = problem(base.program("oltp_read_only", &[("table_size", "none")]));
    assert!(said.contains("table_size = none"), "{said}");
    // Fewer and smaller is what sysbench allows too.
    let loaded = base.program("oltp_read_only", &[("tables", "1"), ("table_size", "50")]);
    assert_eq!(loaded.expect("runs").scale, 1);
    assert_eq!(base.program("oltp_read_only", &[]).expect("runs").scale, 2);
    let loaded = base.program("select_random_points", &[]).expect("runs");
    assert_eq!(loaded.scale, 1, "the first of them");
    base.execute("drop table sbtest1");
    let said = problem(base.program("oltp_read_only", &[]));
    assert!(said.contains("table sbtest1 is missing"), "{said}");
    let wrong = base.wrong("oltp_read_only");
    assert!(
        wrong[0].contains("some are missing between them"),
        "{wrong:?}"
    );
}

#[test]
fn tables_of_others_are_left_alone() {
    let base = Base::new("oltp_foreign");
    base.execute("create table sbtest2 (id int, name text)");
    let options = [("tables", "2")];
    for said in [
        problem(base.load_with("oltp_insert", &options, 1, &(), &false.into())),
        problem(workload("oltp_insert").clean(&mut base.control())),
    ] {
        assert!(
            said.contains("sbtest2 exists and is not a table of this workload"),
            "{said}"
        );
    }
    base.execute("drop table sbtest2");
    base.load("bulk_insert", &options, 1);
    let said = problem(base.load_with("oltp_insert", &options, 1, &(), &false.into()));
    assert!(
        said.contains("`prony clean bulk_insert` drops it"),
        "{said}"
    );
    let said = problem(base.program("oltp_insert", &options));
    assert!(
        said.contains("columns (id,k) instead of (id,k,c,pad)"),
        "{said}"
    );
}

#[test]
fn tables_that_sysbench_made_are_taken_as_they_are() {
    let base = Base::new("oltp_theirs");
    base.execute(
        "create table sbtest1 (id serial primary key, k int not null default 0, \
           c char(120) not null default '', pad char(60) not null default ''); \
         insert into sbtest1 (k, c, pad) select 1 + n % 300, repeat('1', 119), repeat('2', 59) \
           from generate_series(1, 300) n; \
         create index k_1 on sbtest1 (k)",
    );
    let run = ran(&base, "oltp_read_write", &[], QueryMode::Prepared, (2, 20));
    assert_eq!((run.committed, run.failed), (40, 0), "{:?}", run.codes);
    let report = base.check("oltp_read_write");
    assert!(report.is_ok(), "{report:?}");
    let note = report.findings.iter().find(|one| one.id == "rows-unknown");
    assert_eq!(note.expect("noted").state, State::Note);
    let said = problem(base.program("oltp_read_write", &[("table_size", "301")]));
    assert!(said.contains("300 rows, and 301 are wanted"), "{said}");
}

#[test]
fn an_error_of_another_kind_is_a_failure_and_the_run_goes_on() {
    let base = Base::new("oltp_fails");
    base.load("oltp_write_only", &[("table_size", "500")], 1);
    base.execute("alter table sbtest1 add constraint few check (k < 100) not valid");
    let run = ran(&base, "oltp_write_only", &[], QueryMode::Prepared, (1, 40));
    assert!(run.failed > 0, "most rows have a larger k");
    assert!(
        run.codes.iter().all(|code| code == "23514"),
        "{:?}",
        run.codes
    );
    assert_eq!(run.committed + run.failed, 40);
    let options = plan("oltp_write_only", &[("tables", "x"), ("range_size", "0")]);
    let problems = workload("oltp_write_only").check_options(&options, QueryMode::Simple);
    assert_eq!(problems.len(), 2);
}
