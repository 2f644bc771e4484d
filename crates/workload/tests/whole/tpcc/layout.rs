//! Loads of HammerDB's population, and into partitions.

use crate::common::*;
use prony_assertions::TextAssertions;
use prony_workload::{Finding, LoadPhase};
use std::sync::atomic::AtomicBool;

fn findings(database: &TestDatabase) -> Vec<Finding> {
    let report = database.check("tpcc");
    assert!(report.is_ok(), "{report:?}");
    report.findings
}

fn finding_text<'a>(findings: &'a [Finding], id: &str) -> &'a str {
    let finding = findings.iter().find(|finding| finding.id == id);
    &finding.unwrap_or_else(|| panic!("no {id}")).text
}

fn settings(database: &TestDatabase, options: &[(&str, &str)]) -> Vec<(&'static str, String)> {
    let ready = database.program("tpcc", options);
    ready.expect("ready for a run").program.settings()
}

#[test]
fn half_of_hammerdbs_customers_have_bad_credit() {
    let database = TestDatabase::postgres("tpcc_credit");
    for (profile, percent) in [("standard", 10), ("hammerdb-4.6", 50)] {
        database.load("tpcc", &[("scale", "1"), ("profile", profile)], 1);
        let count_bad_credit = "select count(*) from customer where c_credit = 'BC'";
        assert_eq!(
            database.query_number(count_bad_credit),
            300 * percent,
            "{profile}"
        );
        let districts = "select count(*) from (select from customer where c_credit = 'BC' \
             group by c_d_id having count(*) = 30 * ";
        let districts = format!("{districts} {percent}) d");
        assert_eq!(database.query_number(&districts), 10, "{profile}");
        let findings = findings(&database);
        let credit = format!("{percent} % have bad credit");
        finding_text(&findings, "population").assert_contains(&credit);
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
        TestDatabase::postgres("tpcc_parts"),
        TestDatabase::postgres("tpcc_plain"),
    );
    plain.load("tpcc", &[("scale", "2")], 2);
    let sum_order_lines =
        "select count(*) || ' ' || sum(ol_amount * ol_o_id + ol_i_id) from order_line";
    let expected = plain.query_text(sum_order_lines);
    let partitioned = [("scale", "2"), ("partitions", "4")];
    for (jobs, phase) in [(2, LoadPhase::Rows), (2, LoadPhase::Keys)] {
        let stop = AtomicBool::new(false);
        let rows = if phase == LoadPhase::Rows { 600_000 } else { 0 };
        let result = database.load_with(
            "tpcc",
            &partitioned,
            jobs,
            &StopAt(phase, rows, &stop),
            &stop,
        );
        let error = result.expect_err("stopped");
        assert!(error.is_stop(), "{error}");
        // Only the same load can continue it, and the message contains its command.
        let message = database.load_error("tpcc", &[("scale", "3")], 2);
        let command = "`prony load tpcc --scale 2 --seed 1 --partitions 4` continues it";
        message.assert_contains(command);
        let report = database.load("tpcc", &partitioned, 2);
        report.method.assert_contains("continued: ");
        assert_eq!(database.query_text(sum_order_lines), expected, "{phase:?}");
        let findings = findings(&database);
        finding_text(&findings, "population").assert_contains("order_line has 4 partitions");
    }
    // The rows of a warehouse are in one partition, and each partition has a key of its own under the
    // parent's key.
    let keys = "select count(*) from pg_inherits i join pg_index x on x.indexrelid = i.inhrelid \
         where i.inhparent = 'order_line_i1'::regclass and x.indisprimary and x.indisvalid";
    assert_eq!(database.query_number(keys), 4);
    let partitions = "select count(distinct tableoid) from order_line where ol_w_id = 2";
    assert_eq!(database.query_number(partitions), 1);
    let not_all_visible =
        "select count(*) from pg_class where relname like 'ol\\__' and relallvisible < relpages";
    assert_eq!(
        database.query_number(not_all_visible),
        0,
        "all pages are all-visible"
    );
    assert!(settings(&database, &[]).contains(&("partitions", "4".to_owned())));
    let message = database.program_error("tpcc", &[("partitions", "2")]);
    message.assert_contains("has 4 partitions, but 2 were requested");
    // Plain tables replace the partitioned ones and everything that belongs to them.
    database.load("tpcc", &[("scale", "1")], 1);
    assert_eq!(database.query_number("select count(*) from pg_inherits"), 0);
    database.clean("tpcc").expect("drops");
    let remaining = "select count(*) from pg_class where relnamespace = 'public'::regnamespace";
    assert_eq!(database.query_number(remaining), 0);
}

#[test]
fn invalid_options_are_refused_before_the_load_starts() {
    let database = TestDatabase::postgres("tpcc_options");
    for (key, value, expected) in [
        ("partitions", "-1", "0 to 1024"),
        ("partitions", "many", "0 to 1024"),
        ("profile", "oracle", "standard, hammerdb, hammerdb-4.6"),
    ] {
        let message = database.load_error("tpcc", &[("scale", "1"), (key, value)], 1);
        message.assert_contains(expected);
    }
    let tables = "select count(*) from pg_class where relnamespace = 'public'::regnamespace";
    assert_eq!(database.query_number(tables), 0);
}
