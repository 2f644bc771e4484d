//! The account workloads on a real server, beside the system's pgbench.

mod common;

use common::{Base, pgbench};
use prony_workload::{Control, Error, Phase, Progress, State, Step, find};
use std::sync::atomic::{AtomicBool, Ordering};

/// What of a database's state a run depends on; the same text for the same state.
const STATE: &str = "\
select c.relname, c.relkind, c.relpersistence, c.reloptions, c.relpages, c.reltuples, \
 c.relallvisible, pg_relation_size(c.oid), \
 (select string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || \
   case when a.attnotnull then ' not null' else '' end, ', ' order by a.attnum) \
   from pg_attribute a where a.attrelid = c.oid and a.attnum > 0), \
 (select string_agg(pg_get_constraintdef(k.oid), '; ') from pg_constraint k \
   where k.conrelid = c.oid and k.contype = 'p'), \
 (select count(*) from pg_statistic s where s.starelid = c.oid), \
 c.relkind = 'r' and pg_stat_get_last_analyze_time(c.oid) is null, \
 pg_stat_get_dead_tuples(c.oid) \
from pg_class c where c.relname like 'pgbench%' order by 1";

/// Pages that the visibility map calls all-visible and all-frozen.
const VISIBLE: &str = "\
select t, s.all_visible, s.all_frozen from (values ('pgbench_branches'), ('pgbench_tellers'), \
 ('pgbench_accounts')) v(t), pg_visibility_map_summary(t) s order by 1";

/// Every value of every row, in the order of the table's file.
const VALUES: &str = "\
select md5(string_agg(t::text, E'\\n' order by aid)) from pgbench_accounts t \
union all select string_agg(t::text, E'\\n' order by tid) from pgbench_tellers t \
union all select string_agg(t::text, E'\\n' order by bid) from pgbench_branches t";

fn control_version(control: &mut Control) -> u32 {
    let rows = control.query("show server_version_num").expect("shows");
    rows[0][0].as_deref().expect("a number").parse().expect("a number")
}

fn dump(control: &mut Control, sql: &str) -> Vec<String> {
    let rows = control.query(sql).expect(sql);
    rows.iter().map(|row| format!("{row:?}")).collect()
}

#[test]
fn a_load_leaves_the_database_state_of_pgbench() {
    let (ours, theirs) = (Base::new("state_prony"), Base::new("state_pgbench"));
    let report = ours.load("tpcb", 2, 1).expect("loads");
    assert_eq!(report.rows, 200_022);
    assert!(report.bytes_sent > 30 * 200_000);
    assert!(report.rows_per_s().expect("took time") > 0.0);
    assert_eq!(report.tables.iter().map(|t| t.rows).collect::<Vec<_>>(), [2, 20, 200_000, 0]);
    assert!(report.tables[2].table_bytes > 20_000_000 && report.tables[2].index_bytes > 4_000_000);
    pgbench(&theirs, &["-i", "-q", "-s", "2"]);
    let (mut ours, mut theirs) = (ours.control(), theirs.control());
    assert_eq!(dump(&mut ours, STATE), dump(&mut theirs, STATE));
    assert_eq!(dump(&mut ours, VALUES), dump(&mut theirs, VALUES));
    if control_version(&mut ours) >= 150_000 {
        // Nothing that would call autovacuum into the first run. (What pgbench leaves here depends
        // on timing.)
        let counts = "select pg_stat_get_live_tuples(c.oid), pg_stat_get_ins_since_vacuum(c.oid) \
             from pg_class c where c.relname = 'pgbench_accounts'";
        assert_eq!(ours.query(counts).expect("counts")[0], [Some("200000".into()), Some("0".into())]);
    }
    for control in [&mut ours, &mut theirs] {
        if control.execute("create extension if not exists pg_visibility").is_err() {
            eprintln!("pg_visibility is not installed: page marks compared by the catalog only");
            return;
        }
    }
    assert_eq!(dump(&mut ours, VISIBLE), dump(&mut theirs, VISIBLE));
}

#[test]
fn several_jobs_load_the_same_rows() {
    let (one, three) = (Base::new("jobs_one"), Base::new("jobs_three"));
    one.load("tpcb", 2, 1).expect("loads");
    let report = three.load("select-only", 2, 3).expect("loads");
    assert_eq!((report.rows, report.jobs), (200_022, 3));
    assert!(report.tables.iter().take(3).all(|table| table.all_visible == Some(1.0)), "{report:?}");
    let (mut one, mut three) = (one.control(), three.control());
    assert_eq!(dump(&mut one, VALUES), dump(&mut three, VALUES));
    let check = find("tpcb").expect("listed").check(&mut three).expect("checks");
    assert!(check.is_ok(), "{check:?}");
}

#[test]
fn pgbench_runs_on_our_tables_and_the_check_holds_after_it() {
    let base = Base::new("pgbench_runs");
    base.load("tpcb", 1, 1).expect("loads");
    let tpcb = find("tpcb").expect("listed");
    let mut control = base.control();
    // Without emptying the history first, it must match the balances exactly.
    pgbench(&base, &["-n", "-b", "tpcb-like", "-c", "4", "-t", "50"]);
    pgbench(&base, &["-n", "-N", "-c", "2", "-t", "20"]);
    pgbench(&base, &["-S", "-n", "-c", "2", "-t", "100"]);
    let report = tpcb.check(&mut control).expect("checks");
    assert!(report.is_ok(), "{report:?}");
    assert_eq!(report.scale, Some(1));
    assert_eq!(report.tables[3].rows, 240);
    let ids: Vec<_> = report.findings.iter().map(|finding| (finding.id, finding.state)).collect();
    assert!(ids.contains(&("balances-accounts-history", State::Ok)), "{ids:?}");
    // pgbench empties the history: now the two cannot be compared, and the check says so.
    pgbench(&base, &["-b", "tpcb-like", "-c", "1", "-t", "10"]);
    let report = tpcb.check(&mut control).expect("checks");
    assert!(report.is_ok(), "{report:?}");
    let finding = report.findings.iter().find(|f| f.id == "balances-accounts-history");
    let finding = finding.expect("always looked at");
    assert!(finding.state == State::Note && finding.text.contains("emptied"), "{finding:?}");
    // A lost update is found where it can be, and named.
    base.load("tpcb", 1, 1).expect("loads again");
    pgbench(&base, &["-n", "-b", "tpcb-like", "-t", "10"]);
    control.execute("update pgbench_accounts set abalance = abalance + 1 where aid = 7").expect("x");
    control.execute("update pgbench_tellers set tbalance = tbalance - 1 where tid = 7").expect("x");
    let report = tpcb.check(&mut control).expect("checks");
    let wrong: Vec<_> =
        report.findings.iter().filter(|f| f.state == State::Wrong).map(|f| f.id).collect();
    assert_eq!(wrong, ["balances-tellers-branches", "balances-accounts-history"]);
}

#[test]
fn a_program_runs_on_tables_of_pgbench_partitioned_or_not() {
    let base = Base::new("theirs");
    let tpcb = find("tpcb").expect("listed");
    let mut control = base.control();
    for extra in [&[][..], &["--partitions=3"][..], &["--foreign-keys"][..]] {
        pgbench(&base, &[&["-i", "-q", "-s", "1"], extra].concat());
        for name in ["tpcb", "simple-update", "select-only"] {
            let workload = find(name).expect("listed");
            let loaded = workload.program(&mut control, &base.plan(name, None)).expect("runs");
            assert_eq!(loaded.scale, 1);
            assert_eq!(loaded.program.kinds(), [name]);
        }
        let report = tpcb.check(&mut control).expect("checks");
        assert!(report.is_ok(), "{report:?}");
        assert!(report.tables[2].table_bytes > 10_000_000, "{:?}", report.tables);
    }
    let dropped = tpcb.clean(&mut control).expect("cleans");
    assert_eq!(dropped.len(), 4);
    assert!(tpcb.clean(&mut control).expect("nothing to do").is_empty());
}

fn problem<T>(result: Result<T, Error>) -> String {
    result.err().expect("a problem").to_string()
}

#[test]
fn missing_and_half_loaded_data_are_refused_in_words() {
    let base = Base::new("half");
    let mut control = base.control();
    let tpcb = find("tpcb").expect("listed");
    let plan = base.plan("tpcb", Some(4));
    let message = problem(tpcb.program(&mut control, &plan));
    assert!(message.contains("table pgbench_branches is missing"), "{message}");
    assert!(message.contains("hint: prony load tpcb --scale 4"), "{message}");
    assert!(!tpcb.check(&mut control).expect("checks").is_ok());

    base.load("tpcb", 2, 1).expect("loads");
    let message = problem(tpcb.program(&mut control, &plan));
    assert!(message.contains("scale 2, and scale 4"), "{message}");
    assert!(tpcb.program(&mut control, &base.plan("tpcb", Some(2))).is_ok());

    for (damage, said) in [
        ("delete from pgbench_accounts where aid > 150000", "has numbers 1 to 150000"),
        ("truncate pgbench_accounts", "pgbench_accounts is empty"),
        ("delete from pgbench_tellers where tid = 3", "pgbench_tellers has 19 rows"),
        ("alter table pgbench_accounts drop constraint pgbench_accounts_pkey", "no primary key"),
        ("delete from pgbench_branches", "pgbench_branches is empty"),
    ] {
        control.execute(damage).expect(damage);
        let message = problem(tpcb.program(&mut control, &base.plan("tpcb", None)));
        assert!(message.contains(said), "after {damage}: {message}");
        assert!(message.contains("hint: prony load tpcb"), "{message}");
        assert!(!tpcb.check(&mut control).expect("checks").is_ok(), "after {damage}");
    }
    // A load over the ruins makes all good again.
    base.load("tpcb", 2, 1).expect("loads");
    assert!(tpcb.check(&mut control).expect("checks").is_ok());
}

#[test]
fn a_table_of_somebody_else_is_never_dropped() {
    let base = Base::new("somebody");
    let mut control = base.control();
    control.execute("create table pgbench_history (precious text)").expect("creates");
    let tpcb = find("tpcb").expect("listed");
    for message in [
        problem(base.load("tpcb", 1, 1)),
        problem(tpcb.clean(&mut control)),
    ] {
        assert!(message.contains("pgbench_history exists and is not"), "{message}");
        assert!(message.contains("(precious)"), "{message}");
    }
    assert!(!tpcb.check(&mut control).expect("checks").is_ok());
    control.execute("select precious from pgbench_history").expect("is still there");
}

/// Sets the stop flag when a phase is reached; in that of rows, when it comes to the accounts.
struct StopAt<'a>(Phase, &'a AtomicBool);

impl Progress for StopAt<'_> {
    fn step(&self, step: &Step) {
        if step.phase == self.0 && step.rows_done >= 33 {
            self.1.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_stopped_load_says_what_is_left_and_can_be_repeated() {
    let base = Base::new("stopped");
    let tpcb = find("tpcb").expect("listed");
    base.load("tpcb", 1, 1).expect("loads");
    for (phase, jobs, left) in [
        (Phase::Rows, 1, "no tables: the old ones were dropped"),
        (Phase::Keys, 1, "nothing: the database is as it was"),
        (Phase::Rows, 2, "tables without all their rows or keys"),
        (Phase::Keys, 2, "tables without all their rows or keys"),
    ] {
        let stop = AtomicBool::new(false);
        let progress = StopAt(phase, &stop);
        let error = base.load_with("tpcb", 3, jobs, &progress, &stop).expect_err("stopped");
        assert!(error.is_stop(), "{error}");
        assert!(error.to_string().contains(left), "{phase:?} {jobs}: {error}");
        let mut control = base.control();
        let refused = problem(tpcb.program(&mut control, &base.plan("tpcb", None)));
        assert!(refused.contains("hint: prony load tpcb"), "{refused}");
        assert!(!tpcb.check(&mut control).expect("checks").is_ok());
    }
    base.load("tpcb", 3, 2).expect("loads");
    let mut control = base.control();
    let report = tpcb.check(&mut control).expect("checks");
    assert!(report.is_ok() && report.scale == Some(3), "{report:?}");
}

#[test]
fn a_stop_reaches_a_statement_that_waits() {
    let base = Base::new("waits");
    base.load("tpcb", 1, 1).expect("loads");
    let mut holder = base.control();
    holder.execute("begin; lock table pgbench_tellers in access share mode").expect("locks");
    let stop = AtomicBool::new(false);
    let error = std::thread::scope(|scope| {
        let loading = scope.spawn(|| base.load_with("tpcb", 1, 1, &(), &stop));
        let mut watcher = base.control();
        let waiting = "select count(*) from pg_locks where not granted and \
             database = (select oid from pg_database where datname = current_database())";
        common::until(|| watcher.query(waiting).expect("locks")[0][0].as_deref() == Some("1"));
        stop.store(true, Ordering::Relaxed);
        loading.join().expect("comes back").expect_err("stopped")
    });
    assert!(error.is_stop(), "{error}");
    assert!(error.to_string().contains("as it was before"), "{error}");
    holder.execute("rollback").expect("ends");
    assert!(find("tpcb").expect("listed").check(&mut holder).expect("checks").is_ok());
}

#[test]
fn a_server_killed_in_mid_load_leaves_nothing_half() {
    let server = common::own_server();
    let base = Base::on(&server, "postgres");
    for jobs in [1, 2] {
        let stop = AtomicBool::new(false);
        let killed = AtomicBool::new(false);
        let progress = Kill { server: &server, killed: &killed };
        let error = base.load_with("tpcb", 20, jobs, &progress, &stop).expect_err("killed");
        let message = error.to_string();
        assert!(message.contains("sending rows of pgbench_accounts"), "{message}");
        assert!(message.contains("left behind: ") && message.contains("server's log"), "{message}");
        server.restart().expect("restarts");
        let tpcb = find("tpcb").expect("listed");
        let mut control = base.control();
        assert!(!tpcb.check(&mut control).expect("checks").is_ok());
        problem(tpcb.program(&mut control, &base.plan("tpcb", None)));
        drop(control);
        base.load("tpcb", 1, jobs).expect("loads after all");
        assert!(tpcb.check(&mut base.control()).expect("checks").is_ok());
    }
}

/// Kills the server once some accounts are on the way.
struct Kill<'a> {
    server: &'a prony_server::embedded::Server,
    killed: &'a AtomicBool,
}

impl Progress for Kill<'_> {
    fn step(&self, step: &Step) {
        if step.rows_done > 1000 && !self.killed.swap(true, Ordering::Relaxed) {
            self.server.kill();
        }
    }
}

/// The server's own error for a full disk, raised while a key is built.
const FULL_DISK: &str = "\
create function full_disk() returns event_trigger language plpgsql as $$ begin \
 raise exception 'could not extend file \"base/1/2\": No space left on device' \
 using errcode = '53100'; end $$; \
create event trigger full_disk on ddl_command_end when tag in ('ALTER TABLE') \
 execute function full_disk()";

#[test]
fn a_full_disk_is_named_and_leaves_nothing_half() {
    let base = Base::new("full_disk");
    let mut control = base.control();
    control.execute(FULL_DISK).expect("a trigger");
    for (jobs, left) in [(1, "the database is as it was"), (3, "without all their rows or keys")] {
        let message = problem(base.load("tpcb", 2, jobs));
        assert!(message.contains("building the primary keys: "), "{message}");
        assert!(message.contains("No space left on device"), "{message}");
        assert!(message.contains(left), "{message}");
        assert!(message.contains("free space on the server's disk: scale 2 takes"), "{message}");
        let tpcb = find("tpcb").expect("listed");
        assert!(!tpcb.check(&mut control).expect("checks").is_ok());
        problem(tpcb.program(&mut control, &base.plan("tpcb", None)));
    }
    control.execute("drop event trigger full_disk").expect("drops");
    base.load("tpcb", 2, 3).expect("loads after all");
    assert!(find("tpcb").expect("listed").check(&mut control).expect("checks").is_ok());
}
