//! Tests YCSB on PostgreSQL and on MariaDB alike: each workload in each protocol mode, loads that are stopped, and damage.

use super::support::*;
use super::{maria, postgres};
use prony_assertions::TextAssertions;
use prony_plan::QueryMode;

#[test]
fn every_workload_runs_in_every_protocol() {
    for database in on_each_engine("ycsb_runs") {
        let report = load(&database, 2, 2);
        assert_eq!((report.scale, report.rows), (2, 2_000));
        assert_eq!(report.tables[0].name, "usertable");
        for protocol in PROTOCOLS {
            run_all_workloads(&database, protocol);
        }
        let report = database.check("ycsb");
        assert_eq!(report.scale, Some(2));
        let mut findings = report.findings.iter();
        let added = findings.find(|finding| finding.id == "records-added");
        let added = &added.expect("a finding").text;
        let count = count_records(&database) - 2_000;
        assert!(count > 20, "{count}");
        added.assert_starts_with(&format!("{count} records"));
        assert_mismatches_are_refused(&database);
        let options = [("writeallfields", "on"), ("readallfields", "off")];
        let run = run_workload(&database, "ycsb", &options, QueryMode::Prepared, (2, 40));
        assert_all_committed(&run, 80, "all fields");
        assert_eq!(database.problems("ycsb"), [""; 0]);
        let dropped = database.clean("ycsb");
        assert_eq!(dropped.expect("cleans"), ["usertable"]);
        let message = database.program_error("ycsb", &[]);
        message.assert_contains("table usertable is missing");
        message.assert_contains("prony load ycsb --scale N");
    }
}

#[test]
fn concurrent_runs_insert_different_keys() {
    for database in on_each_engine("ycsb_side_by_side") {
        load(&database, 2, 1);
        for protocol in PROTOCOLS {
            assert_concurrent_runs_succeed(&database, protocol);
        }
    }
}

#[test]
fn stopped_load_is_continued() {
    let databases = on_each_engine("ycsb_broken").into_iter();
    let digests: [&dyn Fn(&TestDatabase) -> String; 2] = [&postgres::digest, &maria::digest];
    for ((database, uninterrupted), digest) in
        databases.zip(on_each_engine("ycsb_whole")).zip(digests)
    {
        assert_stopped_load_continues(&database, &uninterrupted, digest);
    }
}

#[test]
fn damaged_records_are_detected() {
    for database in on_each_engine("ycsb_damage") {
        assert_damage_is_detected(&database);
    }
}
