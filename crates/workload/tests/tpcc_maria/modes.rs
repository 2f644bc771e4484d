//! The three modes of each profile have the same effect, and the same as on PostgreSQL.

use crate::rare_cases::seed_with_rare_cases;
use crate::support::{TestDatabase, checksums, drive_plan, run_workload};
use prony_plan::{QueryMode, Stop};
use prony_workload::SqlDialect;
use prony_workload::tpcc::profile::Profile;

const TRANSACTIONS: u64 = 400;

#[test]
fn every_mode_leaves_the_same_data_and_counts() {
    let both = &[QueryMode::Prepared, QueryMode::Simple][..];
    let modes = &["procedures", "statements", "pipelined"][..];
    for (profile, protocols, modes) in [
        ("standard", both, modes),
        ("hammerdb", &both[..1], modes),
        // On MySQL, the same as `hammerdb` except for its name.
        ("hammerdb-4.6", &[QueryMode::Extended], &modes[..1]),
    ] {
        let seed_profile = Profile::find(profile)
            .expect("listed")
            .on(SqlDialect::MySql);
        let seed = seed_with_rare_cases(seed_profile, 2, TRANSACTIONS);
        let mut first = None;
        for protocol in protocols {
            for mode in modes {
                if (*mode, *protocol) == ("pipelined", QueryMode::Simple) {
                    continue;
                }
                let label = format!("{profile} {mode} {protocol:?}");
                let database = TestDatabase::new("tpcc_modes");
                database.load(2, 2, &[("profile", profile)]);
                let options = [("profile", profile), ("mode", mode), ("home", "all")];
                let mut drive_plan = drive_plan(1, Stop::Transactions(TRANSACTIONS));
                drive_plan.protocol = *protocol;
                let outcome = run_workload(&database, &options, &drive_plan, seed);
                assert_eq!(
                    (outcome.failed, outcome.retries),
                    (0, 0),
                    "{label}: {:?}",
                    outcome.codes
                );
                let counts = outcome.counts;
                assert!(
                    counts.outcomes_by_kind[0].rolled_back > 0,
                    "{label}: {counts:?}"
                );
                assert!(
                    counts.remote_lines > 0 && counts.remote_payments > 0,
                    "{label}"
                );
                assert!(counts.delivered > 0 && counts.shown_lines > 0, "{label}");
                let problems = database.problems();
                assert_eq!(problems, [""; 0], "{label}");
                let bad = "select count(*) from customer where c_credit = 'BC' \
                           and c_data like '%|%'";
                assert!(database.number(bad) > 0, "{label}: bad credit is recorded");
                let result = (checksums(&database), counts);
                let first = first.get_or_insert_with(|| result.clone());
                for (actual, expected) in result.0.iter().zip(&first.0) {
                    assert_eq!(actual, expected, "{label}");
                }
                assert_eq!(result.1, first.1, "{label}");
            }
        }
        if profile == "standard" {
            let on_postgres = TestDatabase::postgres("tpcc_maria_modes");
            on_postgres.load(2, 1, &[]);
            let options = [("home", "all")];
            let drive_plan = drive_plan(1, Stop::Transactions(TRANSACTIONS));
            let outcome = run_workload(&on_postgres, &options, &drive_plan, seed);
            assert_eq!(first.expect("it ran").1, outcome.counts, "on PostgreSQL");
        }
    }
}

#[test]
fn procedures_are_installed_once_and_dropped_by_clean() {
    let database = TestDatabase::new("tpcc_procedures");
    // A foreign procedure with the name of one of HammerDB's: it must not be changed.
    database.execute("create procedure delivery() select 1");
    database.load(1, 1, &[]);
    let own_procedures = "select count(*) from information_schema.routines \
         where routine_schema = database() and routine_name like 'prony%'";
    let creation_times = "select sum(to_seconds(created) + microsecond(created)) from \
         information_schema.routines where routine_schema = database()";
    let short_run = drive_plan(1, Stop::Transactions(30));
    run_workload(&database, &[("mode", "statements")], &short_run, 3);
    assert_eq!(database.number(own_procedures), 0, "no procedure is needed");
    run_workload(&database, &[], &short_run, 3);
    run_workload(&database, &[("profile", "hammerdb")], &short_run, 3);
    assert_eq!(database.number(own_procedures), 10);
    let before = database.number(creation_times);
    // A procedure with a different text is replaced, the others are not.
    database.execute(
        "drop procedure prony_tpcc_standard_delivery; \
         create procedure prony_tpcc_standard_delivery() select 'of an older version'",
    );
    let outcome = run_workload(&database, &[], &short_run, 3);
    assert_eq!(outcome.failed, 0, "{:?}", outcome.codes);
    assert_eq!(database.number(own_procedures), 10);
    assert!(database.number(creation_times) > before);
    prony_workload::find("tpcc")
        .expect("listed")
        .clean(&mut database.control())
        .expect("cleans");
    assert_eq!(database.number(own_procedures), 0);
    database.execute("call delivery()");
}
