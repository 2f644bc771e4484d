//! Loads of HammerDB's population, and into partitions.

use crate::common::{StopAt, TestDatabase, expect_error};
use prony_plan::WorkloadPlan;
use prony_server::Control;
use prony_workload::{Finding, LoadPhase, find};
use std::sync::atomic::AtomicBool;

fn workload_plan(
    database: &TestDatabase,
    scale: Option<u32>,
    options: &[(&str, &str)],
) -> WorkloadPlan {
    let mut plan = database.plan("tpcc", scale);
    let options = options.iter();
    plan.options = options
        .map(|(key, value)| ((*key).to_owned(), (*value).into()))
        .collect();
    plan
}

fn query_number(control: &mut Control, sql: &str) -> i64 {
    let value = control.query_value(sql).expect(sql).expect("not null");
    value.parse().expect("a number")
}

fn findings(control: &mut Control) -> Vec<Finding> {
    let report = find("tpcc")
        .expect("listed")
        .check(control)
        .expect("checks");
    assert!(report.is_ok(), "{report:?}");
    report.findings
}

fn finding_text<'a>(findings: &'a [Finding], id: &str) -> &'a str {
    let finding = findings.iter().find(|finding| finding.id == id);
    &finding.unwrap_or_else(|| panic!("no {id}")).text
}

fn settings(database: &TestDatabase, options: &[(&str, &str)]) -> Vec<(&'static str, String)> {
    let tpcc = find("tpcc").expect("listed");
    let ready = tpcc.program(
        &mut database.control(),
        &workload_plan(database, None, options),
    );
    ready.expect("ready for a run").program.settings()
}

#[test]
fn half_of_hammerdbs_customers_have_bad_credit() {
    let (database, stop) = (TestDatabase::new("tpcc_credit"), AtomicBool::new(false));
    for (profile, percent) in [("standard", 10), ("hammerdb-4.6", 50)] {
        let plan = workload_plan(&database, Some(1), &[("profile", profile)]);
        database.load_plan(&plan, 1, &(), &stop).expect("loads");
        let mut control = database.control();
        let count_bad_credit = "select count(*) from customer where c_credit = 'BC'";
        assert_eq!(
            query_number(&mut control, count_bad_credit),
            300 * percent,
            "{profile}"
        );
        let districts = "select count(*) from (select from customer where c_credit = 'BC' \
             group by c_d_id having count(*) = 30 * ";
        let districts = format!("{districts} {percent}) d");
        assert_eq!(query_number(&mut control, &districts), 10, "{profile}");
        let findings = findings(&mut control);
        let credit = format!("{percent} % have bad credit");
        assert!(
            finding_text(&findings, "population").contains(&credit),
            "{findings:?}"
        );
        // A run with a different profile works, and its settings contain the population of the data.
        let population = match percent {
            10 => "standard",
            _ => "hammerdb",
        };
        let settings = settings(&database, &[("profile", "hammerdb")]);
        assert!(
            settings.contains(&("population", population.to_owned())),
            "{settings:?}"
        );
    }
}

#[test]
fn a_partitioned_order_line_table_is_loaded_and_continued_like_a_plain_one() {
    let (database, plain) = (
        TestDatabase::new("tpcc_parts"),
        TestDatabase::new("tpcc_plain"),
    );
    plain.load("tpcc", 2, 2).expect("loads");
    let sum_order_lines =
        "select count(*) || ' ' || sum(ol_amount * ol_o_id + ol_i_id) from order_line";
    let expected = plain.control().query_value(sum_order_lines).expect("sums");
    let partitioned_plan = workload_plan(&database, Some(2), &[("partitions", "4")]);
    let stop = AtomicBool::new(false);
    for (jobs, phase) in [(2, LoadPhase::Rows), (2, LoadPhase::Keys)] {
        let stop = AtomicBool::new(false);
        let rows = if phase == LoadPhase::Rows { 600_000 } else { 0 };
        let result =
            database.load_plan(&partitioned_plan, jobs, &StopAt(phase, rows, &stop), &stop);
        let error = result.expect_err("stopped");
        assert!(error.is_stop(), "{error}");
        // Only the same load can continue it, and the message contains its command.
        let message = expect_error(database.load("tpcc", 3, 2));
        let command = "`prony load tpcc --scale 2 --seed 1 --partitions 4` continues it";
        assert!(message.contains(command), "{message}");
        let continued = database.load_plan(&partitioned_plan, 2, &(), &AtomicBool::new(false));
        let report = continued.expect("continues");
        assert!(report.method.contains("continued: "), "{}", report.method);
        let mut control = database.control();
        assert_eq!(
            control.query_value(sum_order_lines).expect("sums"),
            expected,
            "{phase:?}"
        );
        let findings = findings(&mut control);
        assert!(finding_text(&findings, "population").contains("order_line has 4 partitions"));
    }
    let mut control = database.control();
    // The rows of a warehouse are in one partition, and each partition has a key of its own under the
    // parent's key.
    let keys = "select count(*) from pg_inherits i join pg_index x on x.indexrelid = i.inhrelid \
         where i.inhparent = 'order_line_i1'::regclass and x.indisprimary and x.indisvalid";
    assert_eq!(query_number(&mut control, keys), 4);
    let partitions = "select count(distinct tableoid) from order_line where ol_w_id = 2";
    assert_eq!(query_number(&mut control, partitions), 1);
    let not_all_visible =
        "select count(*) from pg_class where relname like 'ol\\__' and relallvisible < relpages";
    assert_eq!(
        query_number(&mut control, not_all_visible),
        0,
        "all pages are all-visible"
    );
    assert!(settings(&database, &[]).contains(&("partitions", "4".to_owned())));
    let tpcc = find("tpcc").expect("listed");
    let program = tpcc.program(
        &mut control,
        &workload_plan(&database, None, &[("partitions", "2")]),
    );
    let message = expect_error(program);
    assert!(
        message.contains("has 4 partitions, but 2 were requested"),
        "{message}"
    );
    // Plain tables replace the partitioned ones and everything that belongs to them.
    database
        .load_plan(&database.plan("tpcc", Some(1)), 1, &(), &stop)
        .expect("loads");
    assert_eq!(
        query_number(&mut control, "select count(*) from pg_inherits"),
        0
    );
    tpcc.clean(&mut control).expect("drops");
    let remaining = "select count(*) from pg_class where relnamespace = 'public'::regnamespace";
    assert_eq!(query_number(&mut control, remaining), 0);
}

#[test]
fn invalid_options_are_refused_before_the_load_starts() {
    let (database, stop) = (TestDatabase::new("tpcc_options"), AtomicBool::new(false));
    for (key, value, expected) in [
        ("partitions", "-1", "0 to 1024"),
        ("partitions", "many", "0 to 1024"),
        ("profile", "oracle", "standard, hammerdb, hammerdb-4.6"),
    ] {
        let plan = workload_plan(&database, Some(1), &[(key, value)]);
        let message = expect_error(database.load_plan(&plan, 1, &(), &stop));
        assert!(message.contains(expected), "{message}");
    }
    let mut control = database.control();
    let tables = "select count(*) from pg_class where relnamespace = 'public'::regnamespace";
    assert_eq!(query_number(&mut control, tables), 0);
}
