//! Compares the tables of the account workloads with those of the installed pgbench.

use super::pgbench::pgbench;
use crate::common::*;
use prony_server::Control;
use prony_test_servers::TestControl;
use prony_workload::FindingState;

/// Selects the parts of a database's state that affect a run.
const SELECT_STATE: &str = "\
select c.relname, c.relkind, c.relpersistence, c.reloptions, c.relpages, c.reltuples, \
 c.relallvisible, pg_relation_size(c.oid), \
 (select string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || \
   case when a.attnotnull then ' not null' else '' end, ', ' order by a.attnum) \
   from pg_attribute a where a.attrelid = c.oid and a.attnum > 0), \
 (select string_agg(pg_get_constraintdef(k.oid), '; ') from pg_constraint k \
   where k.conrelid = c.oid and k.contype = 'p'), \
 (select count(*) from pg_statistic s where s.starelid = c.oid), \
 pg_stat_get_dead_tuples(c.oid) \
from pg_class c where c.relname like 'pgbench%' order by 1";

/// Selects the number of all-visible pages. All-frozen pages differ: pgbench freezes accounts from
/// PostgreSQL 14 and the small tables from 17; Prony freezes all tables.
const SELECT_ALL_VISIBLE: &str = "\
select t, s.all_visible from (values ('pgbench_branches'), ('pgbench_tellers'), \
 ('pgbench_accounts')) v(t), pg_visibility_map_summary(t) s order by 1";

/// Selects the values of all rows, as digest or text, in key order.
const SELECT_VALUES: &str = "\
select md5(string_agg(t::text, E'\\n' order by aid)) from pgbench_accounts t \
union all select string_agg(t::text, E'\\n' order by tid) from pgbench_tellers t \
union all select string_agg(t::text, E'\\n' order by bid) from pgbench_branches t";

fn server_version(control: &mut Control) -> u32 {
    let rows = control.query("show server_version_num").expect("shows");
    rows[0][0]
        .as_deref()
        .expect("a number")
        .parse()
        .expect("a number")
}

fn dump(control: &mut Control, sql: &str) -> Vec<String> {
    let rows = control.query(sql).expect(sql);
    rows.iter().map(|row| format!("{row:?}")).collect()
}

#[test]
fn load_leaves_the_same_database_state_as_pgbench() {
    let (prony, pgbench_database) = (
        TestDatabase::postgres("state_prony"),
        TestDatabase::postgres("state_pgbench"),
    );
    let report = prony.load("tpcb", &[("scale", "2")], 1);
    assert_eq!(report.rows, 200_022);
    assert!(report.bytes_sent > 10 * 200_000);
    assert!(report.rows_per_s().expect("took time") > 0.0);
    assert_eq!(
        report
            .tables
            .iter()
            .map(|table| table.rows)
            .collect::<Vec<_>>(),
        [2, 20, 200_000, 0]
    );
    assert!(report.tables[2].table_bytes > 20_000_000 && report.tables[2].index_bytes > 4_000_000);
    pgbench(&pgbench_database, &["-i", "-q", "-s", "2"]);
    let (mut prony, mut pgbench_database) = (prony.control(), pgbench_database.control());
    assert_eq!(
        dump(&mut prony, SELECT_STATE),
        dump(&mut pgbench_database, SELECT_STATE)
    );
    assert_eq!(
        dump(&mut prony, SELECT_VALUES),
        dump(&mut pgbench_database, SELECT_VALUES)
    );
    if server_version(&mut prony) >= 150_000 {
        // Nothing may trigger autovacuum during the first run. (The counts after pgbench depend on
        // timing.)
        let counts = "select pg_stat_get_live_tuples(c.oid), pg_stat_get_ins_since_vacuum(c.oid) \
             from pg_class c where c.relname = 'pgbench_accounts'";
        assert_eq!(
            prony.query(counts).expect("counts")[0],
            [Some("200000".into()), Some("0".into())]
        );
    }
    for control in [&mut prony, &mut pgbench_database] {
        if control
            .execute("create extension if not exists pg_visibility")
            .is_err()
        {
            eprintln!(
                "pg_visibility is not installed: only the catalog's page counts are compared"
            );
            return;
        }
    }
    assert_eq!(
        dump(&mut prony, SELECT_ALL_VISIBLE),
        dump(&mut pgbench_database, SELECT_ALL_VISIBLE)
    );
    let not_frozen = "select all_visible - all_frozen \
         from pg_visibility_map_summary('pgbench_accounts')";
    let not_frozen = prony.query_value(not_frozen).expect("reads");
    assert_eq!(not_frozen.as_deref(), Some("0"));
}

#[test]
fn several_jobs_load_the_same_rows() {
    let (one_job, three_jobs) = (
        TestDatabase::postgres("jobs_one"),
        TestDatabase::postgres("jobs_three"),
    );
    one_job.load("tpcb", &[("scale", "2")], 1);
    // Snapshots are as old as the oldest transaction of any database.
    let mut long_transaction = one_job.control();
    long_transaction.run("begin; create table open_transaction ()");
    let report = three_jobs.load("select-only", &[("scale", "2")], 3);
    long_transaction.run("rollback");
    assert_eq!((report.rows, report.jobs), (200_022, 3));
    // From PostgreSQL 16, each loader may leave a few empty pages, which the map does not mark.
    let visible = report
        .tables
        .iter()
        .filter_map(|table| table.all_visible_share);
    assert!(visible.clone().all(|share| share > 0.99), "{report:?}");
    assert_eq!(visible.count(), 3);
    let values = |database: &TestDatabase| dump(&mut database.control(), SELECT_VALUES);
    assert_eq!(values(&one_job), values(&three_jobs));
    let check = three_jobs.check("tpcb");
    assert!(check.is_ok(), "{check:?}");
}

#[test]
fn check_passes_after_pgbench_ran_on_the_tables() {
    let database = TestDatabase::postgres("pgbench_runs");
    database.load("tpcb", &[("scale", "1")], 1);
    let mut control = database.control();
    // With -n, pgbench does not truncate the history, which must match the balances exactly.
    pgbench(&database, &["-n", "-b", "tpcb-like", "-c", "4", "-t", "50"]);
    pgbench(&database, &["-n", "-N", "-c", "2", "-t", "20"]);
    pgbench(&database, &["-S", "-n", "-c", "2", "-t", "100"]);
    let report = database.check("tpcb");
    assert!(report.is_ok(), "{report:?}");
    assert_eq!(report.scale, Some(1));
    assert_eq!(report.tables[3].rows, 240);
    let ids: Vec<_> = report
        .findings
        .iter()
        .map(|finding| (finding.id.as_str(), finding.state))
        .collect();
    assert!(
        ids.contains(&("balances-accounts-history", FindingState::Ok)),
        "{ids:?}"
    );
    // Without -n, pgbench truncates the history, and the check reports that it cannot be compared.
    pgbench(&database, &["-b", "tpcb-like", "-c", "1", "-t", "10"]);
    let report = database.check("tpcb");
    assert!(report.is_ok(), "{report:?}");
    let finding = report
        .findings
        .iter()
        .find(|finding| finding.id == "balances-accounts-history");
    let finding = finding.expect("a finding");
    assert!(
        finding.state == FindingState::Note && finding.text.contains("emptied"),
        "{finding:?}"
    );
    // Lost updates are reported.
    database.load("tpcb", &[("scale", "1")], 1);
    pgbench(&database, &["-n", "-b", "tpcb-like", "-t", "10"]);
    control.run("update pgbench_accounts set abalance = abalance + 1 where aid = 7");
    control.run("update pgbench_tellers set tbalance = tbalance - 1 where tid = 7");
    let report = database.check("tpcb");
    let problems: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.state == FindingState::Wrong)
        .map(|finding| finding.id.as_str())
        .collect();
    let expected = ["balances-tellers-branches", "balances-accounts-history"];
    assert_eq!(problems, expected);
}

#[test]
fn programs_run_on_tables_of_pgbench_with_any_options() {
    let database = TestDatabase::postgres("theirs");
    for extra in [&[][..], &["--partitions=3"][..], &["--foreign-keys"][..]] {
        pgbench(&database, &[&["-i", "-q", "-s", "1"], extra].concat());
        for name in ["tpcb", "simple-update", "select-only"] {
            let loaded = database.program(name, &[]).expect("runs");
            assert_eq!(loaded.scale, 1);
            assert_eq!(loaded.program.kinds(), [name]);
        }
        let report = database.check("tpcb");
        assert!(report.is_ok(), "{report:?}");
        assert!(
            report.tables[2].table_bytes > 10_000_000,
            "{:?}",
            report.tables
        );
    }
    let dropped = database.clean("tpcb").expect("cleans");
    assert_eq!(dropped.len(), 4);
    assert!(database.clean("tpcb").expect("nothing to do").is_empty());
}
