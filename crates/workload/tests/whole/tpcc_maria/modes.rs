//! The three modes of each profile have the same effect, and the same as on PostgreSQL.

use super::support::*;
use crate::common::rare_cases::seed_with_rare_cases;
use prony_document::SqlDialect;
use prony_plan::{QueryMode, Stop};
use prony_workload::tpcc::profile::Profile;

const TRANSACTIONS: u64 = 400;

#[test]
fn every_mode_leaves_the_same_data_and_counts() {
    let prepared_and_simple = &[QueryMode::Prepared, QueryMode::Simple][..];
    let all_modes = &["procedures", "statements", "pipelined"][..];
    for (profile, protocols, modes) in [
        ("standard", prepared_and_simple, all_modes),
        ("hammerdb", &prepared_and_simple[..1], all_modes),
        // On MySQL, this profile differs from `hammerdb` only in its name, so one mode is enough.
        ("hammerdb-4.6", &[QueryMode::Extended], &all_modes[..1]),
    ] {
        let seed_profile = Profile::find(profile)
            .expect("listed")
            .on(SqlDialect::MySql);
        let seed = seed_with_rare_cases(seed_profile, 2, TRANSACTIONS);
        let mut first_result = None;
        for protocol in protocols {
            for mode in modes {
                if (*mode, *protocol) == ("pipelined", QueryMode::Simple) {
                    continue;
                }
                let label = format!("{profile} {mode} {protocol:?}");
                let database = large_database("tpcc_modes");
                database.load("tpcc", &[("scale", "2"), ("profile", profile)], 2);
                let options = [("profile", profile), ("mode", mode), ("home", "all")];
                let mut drive_plan = drive_plan(1, Stop::Transactions(TRANSACTIONS));
                drive_plan.protocol = *protocol;
                let outcome = run_tpcc(&database, &options, &drive_plan, seed);
                assert_eq!(
                    (outcome.failed, outcome.retries),
                    (vec![0; 5], 0),
                    "{label}: {:?}",
                    outcome.error_codes
                );
                let counts = outcome.counts;
                assert!(
                    counts.outcomes_by_kind[NEW_ORDER].rolled_back > 0,
                    "{label}: {counts:?}"
                );
                assert!(
                    counts.remote_lines > 0 && counts.remote_payments > 0,
                    "{label}"
                );
                assert!(counts.delivered > 0 && counts.shown_lines > 0, "{label}");
                let problems = database.problems("tpcc");
                assert_eq!(problems, [""; 0], "{label}");
                let count_bad_credit = "select count(*) from customer where c_credit = 'BC' \
                           and c_data like '%|%'";
                assert!(
                    database.query_number(count_bad_credit) > 0,
                    "{label}: bad credit is recorded"
                );
                let result = (checksums(&database), counts);
                let expected_result = first_result.get_or_insert_with(|| result.clone());
                for (actual, expected) in result.0.iter().zip(&expected_result.0) {
                    assert_eq!(actual, expected, "{label}");
                }
                assert_eq!(result.1, expected_result.1, "{label}");
            }
        }
        if profile == "standard" {
            let on_postgres = TestDatabase::postgres("tpcc_maria_modes");
            on_postgres.load("tpcc", &[("scale", "2")], 1);
            let options = [("home", "all")];
            let drive_plan = drive_plan(1, Stop::Transactions(TRANSACTIONS));
            let outcome = run_tpcc(&on_postgres, &options, &drive_plan, seed);
            assert_eq!(
                first_result.expect("it ran").1,
                outcome.counts,
                "on PostgreSQL"
            );
        }
    }
}

#[test]
fn procedures_are_installed_once_and_dropped_by_clean() {
    let database = large_database("tpcc_procedures");
    // A foreign procedure with the name of one of HammerDB's: it must not be changed.
    database.execute("create procedure delivery() select 1");
    database.load("tpcc", &[("scale", "1")], 1);
    let count_own_procedures = "select count(*) from information_schema.routines \
         where routine_schema = database() and routine_name like 'prony%'";
    let count_of_older_version = "select count(*) from information_schema.routines \
         where routine_schema = database() and routine_definition like '%of an older version%'";
    let short_run = drive_plan(1, Stop::Transactions(30));
    run_tpcc(&database, &[("mode", "statements")], &short_run, 3);
    assert_eq!(
        database.query_number(count_own_procedures),
        0,
        "no procedure is needed"
    );
    run_tpcc(&database, &[], &short_run, 3);
    run_tpcc(&database, &[("profile", "hammerdb")], &short_run, 3);
    assert_eq!(database.query_number(count_own_procedures), 10);
    // A procedure with a different text is replaced.
    database.execute(
        "drop procedure prony_tpcc_standard_delivery; \
         create procedure prony_tpcc_standard_delivery() select 'of an older version'",
    );
    assert_eq!(database.query_number(count_of_older_version), 1);
    let outcome = run_tpcc(&database, &[], &short_run, 3);
    assert_eq!(outcome.failed, [0; 5], "{:?}", outcome.error_codes);
    assert_eq!(database.query_number(count_own_procedures), 10);
    assert_eq!(database.query_number(count_of_older_version), 0);
    database.clean("tpcc").expect("cleans");
    assert_eq!(database.query_number(count_own_procedures), 0);
    database.execute("call delivery()");
}
