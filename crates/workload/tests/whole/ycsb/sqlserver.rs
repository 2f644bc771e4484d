//! Tests YCSB on the SQL Server that the environment names.

use super::support::*;
use prony_assertions::TextAssertions;
use prony_plan::QueryMode;

#[test]
fn every_workload_runs_in_every_protocol_on_sql_server() {
    let Some(database) = sql_server() else {
        return;
    };
    let report = load(&database, 2, 2);
    assert_eq!((report.scale, report.rows), (2, 2_000));
    report.method.assert_contains("bulk streams");
    for protocol in PROTOCOLS {
        run_all_workloads(&database, protocol);
    }
    assert_concurrent_runs_succeed(&database, QueryMode::Prepared);
    assert_mismatches_are_refused(&database);
    let options = [("writeallfields", "on"), ("readallfields", "off")];
    let run = run_workload(&database, "ycsb", &options, QueryMode::Prepared, (2, 40));
    assert_all_committed(&run, 80, "all fields");
    assert_eq!(database.problems("ycsb"), [""; 0]);
    assert_damage_is_detected(&database);
    let dropped = database.clean("ycsb");
    assert_eq!(dropped.expect("cleans"), ["usertable"]);
    let message = database.program_error("ycsb", &[]);
    message.assert_contains("table usertable is missing");
}
