//! Loads by HammerDB's rules, and in partitions.

use crate::common::{Base, StopAt, problem};
use prony_plan::WorkloadPlan;
use prony_server::Control;
use prony_workload::{Finding, Phase, State, find};
use std::sync::atomic::AtomicBool;

fn plan(base: &Base, scale: Option<u32>, options: &[(&str, &str)]) -> WorkloadPlan {
    let mut plan = base.plan("tpcc", scale);
    let options = options.iter();
    plan.options = options
        .map(|(key, value)| ((*key).to_owned(), (*value).into()))
        .collect();
    plan
}

fn number(control: &mut Control, sql: &str) -> i64 {
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

fn said<'a>(findings: &'a [Finding], id: &str) -> &'a str {
    let found = findings.iter().find(|finding| finding.id == id);
    &found.unwrap_or_else(|| panic!("no {id}")).text
}

fn settings(base: &Base, options: &[(&str, &str)]) -> Vec<(&'static str, String)> {
    let loaded = find("tpcc").expect("listed");
    let loaded = loaded.program(&mut base.control(), &plan(base, None, options));
    loaded.expect("fit for a run").program.settings()
}

#[test]
fn half_of_hammerdb_s_customers_have_bad_credit() {
    let (base, stop) = (Base::new("tpcc_credit"), AtomicBool::new(false));
    for (profile, percent) in [("standard", 10), ("hammerdb-4.6", 50)] {
        let plan = plan(&base, Some(1), &[("profile", profile)]);
        base.load_plan(&plan, 1, &(), &stop).expect("loads");
        let mut control = base.control();
        let bad = "select count(*) from customer where c_credit = 'BC'";
        assert_eq!(number(&mut control, bad), 300 * percent, "{profile}");
        let districts = "select count(*) from (select from customer where c_credit = 'BC' \
             group by c_d_id having count(*) = 30 * ";
        let districts = format!("{districts} {percent}) d");
        assert_eq!(number(&mut control, &districts), 10, "{profile}");
        let findings = findings(&mut control);
        let words = format!("{percent} % have bad credit");
        assert!(
            said(&findings, "population").contains(&words),
            "{findings:?}"
        );
        // A run on any of them goes, and names what it found.
        let population = (
            "population",
            if percent == 10 {
                "standard"
            } else {
                "hammerdb"
            },
        );
        let named = settings(&base, &[("profile", "hammerdb")]);
        assert!(
            named.contains(&(population.0, population.1.to_owned())),
            "{named:?}"
        );
    }
}

#[test]
fn order_line_in_partitions_is_loaded_continued_and_run_like_a_plain_one() {
    let (base, plain) = (Base::new("tpcc_parts"), Base::new("tpcc_plain"));
    plain.load("tpcc", 2, 2).expect("loads");
    let lines = "select count(*) || ' ' || sum(ol_amount * ol_o_id + ol_i_id) from order_line";
    let expected = plain.control().query_value(lines).expect("sums");
    let parts = plan(&base, Some(2), &[("partitions", "4")]);
    let stop = AtomicBool::new(false);
    for (jobs, phase) in [(2, Phase::Rows), (1, Phase::Keys)] {
        let stop = AtomicBool::new(false);
        let rows = if phase == Phase::Rows { 600_000 } else { 0 };
        let stopped = base.load_plan(&parts, jobs, &StopAt(phase, rows, &stop), &stop);
        let error = stopped.expect_err("stopped");
        assert!(error.is_stop(), "{error}");
        // Only the same is continued, and the words name it.
        let refused = problem(base.load("tpcc", 3, 2));
        let command = "`prony load tpcc --scale 2 --seed 1 --partitions 4` continues it";
        assert!(refused.contains(command), "{refused}");
        let again = base.load_plan(&parts, 2, &(), &AtomicBool::new(false));
        let report = again.expect("goes on");
        assert!(report.method.contains("continued: "), "{}", report.method);
        let mut control = base.control();
        assert_eq!(
            control.query_value(lines).expect("sums"),
            expected,
            "{phase:?}"
        );
        let findings = findings(&mut control);
        assert!(said(&findings, "population").contains("order_line has 4 partitions"));
    }
    let mut control = base.control();
    // Each partition has rows of a warehouse or of none, and a key of its own below that of all.
    let keys = "select count(*) from pg_inherits i join pg_index x on x.indexrelid = i.inhrelid \
         where i.inhparent = 'order_line_i1'::regclass and x.indisprimary and x.indisvalid";
    assert_eq!(number(&mut control, keys), 4);
    let table = "select count(distinct tableoid) from order_line where ol_w_id = 2";
    assert_eq!(number(&mut control, table), 1);
    let dead =
        "select count(*) from pg_class where relname like 'ol\\__' and relallvisible < relpages";
    assert_eq!(number(&mut control, dead), 0, "all pages are all-visible");
    assert!(settings(&base, &[]).contains(&("partitions", "4".to_owned())));
    let tpcc = find("tpcc").expect("listed");
    let other = tpcc.program(&mut control, &plan(&base, None, &[("partitions", "2")]));
    let said = problem(other);
    assert!(
        said.contains("has 4 partitions, and 2 were asked for"),
        "{said}"
    );
    // In their place a plain one, with all that goes with it.
    base.load_plan(&base.plan("tpcc", Some(1)), 1, &(), &stop)
        .expect("loads");
    assert_eq!(number(&mut control, "select count(*) from pg_inherits"), 0);
    tpcc.clean(&mut control).expect("drops");
    let left = "select count(*) from pg_class where relnamespace = 'public'::regnamespace";
    assert_eq!(number(&mut control, left), 0);
}

#[test]
fn options_that_are_wrong_are_told_before_anything_is_begun() {
    let (base, stop) = (Base::new("tpcc_asked"), AtomicBool::new(false));
    for (key, value, words) in [
        ("partitions", "-1", "0 to 1024"),
        ("partitions", "many", "0 to 1024"),
        ("profile", "oracle", "standard, hammerdb, hammerdb-4.6"),
    ] {
        let plan = plan(&base, Some(1), &[(key, value)]);
        let said = problem(base.load_plan(&plan, 1, &(), &stop));
        assert!(said.contains(words), "{said}");
    }
    let mut control = base.control();
    let tables = "select count(*) from pg_class where relnamespace = 'public'::regnamespace";
    assert_eq!(number(&mut control, tables), 0);
}

/// A note of a version that knew neither profiles nor partitions is continued.
#[test]
fn an_older_note_is_understood() {
    let base = Base::new("tpcc_older");
    let stop = AtomicBool::new(false);
    let stopped = base.load_with("tpcc", 2, 2, &StopAt(Phase::Rows, 500_000, &stop), &stop);
    stopped.expect_err("stopped");
    let mut control = base.control();
    let older = "alter table prony_tpcc_load drop column population, drop column partitions";
    control.execute(older).expect("an older note");
    base.load("tpcc", 2, 2).expect("goes on");
    let findings = findings(&mut control);
    assert!(findings.iter().all(|finding| finding.state != State::Wrong));
}
