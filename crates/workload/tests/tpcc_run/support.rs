//! Databases with two loaded warehouses, and runs on them.

use crate::plans;
pub use crate::plans::drive_plan;
use prony_drive::{DriveJob, LoadStart, Observer, run};
use prony_plan::{DrivePlan, Stop, WorkloadPlan};
use prony_server::{Control, Environment, Target};
use prony_workload::tpcc::OrderEntryProgram;
use prony_workload::tpcc::counts::TpccCounts;
use prony_workload::tpcc::input::TpccTransaction;
use prony_workload::{FindingState, LoadRequest, find};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The index of new orders in counts by kind.
pub const NEW_ORDER: usize = TpccTransaction::NewOrder as usize;
/// The index of payments in counts by kind.
pub const PAYMENT: usize = TpccTransaction::Payment as usize;

/// Number of warehouses of each test database.
pub const WAREHOUSES: u32 = 2;

pub struct TestDatabase {
    pub target: Target,
    /// Name of the copy to drop at the end, because copies are large.
    copy: Option<String>,
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let Some(name) = &self.copy {
            let mut control = TestDatabase::on("postgres").control();
            // A failed test has already reported its failure.
            let _ = control.execute(&format!("drop database {name} with (force)"));
        }
    }
}

impl TestDatabase {
    fn on(name: &str) -> TestDatabase {
        let env = Environment::without_home("postgres");
        let target =
            prony_server::resolve(&prony_test_servers::shared_postgres().url_for(name), &env);
        TestDatabase {
            target: target.expect("a good URL"),
            copy: None,
        }
    }

    pub fn control(&self) -> Control {
        Control::connect(&self.target).expect("connects")
    }

    /// Executes a statement and ignores its result.
    pub fn execute(&self, sql: &str) {
        self.control().execute(sql).expect("a good statement");
    }
}

/// Creates a copy of a database that is loaded once for all tests.
pub fn loaded_copy(name: &str) -> TestDatabase {
    static IS_SOURCE_LOADED: Mutex<bool> = Mutex::new(false);
    const SOURCE_NAME: &str = "tpcc_source";
    // Make one copy at a time, because the source of a copy must have no connections.
    let mut is_loaded = IS_SOURCE_LOADED
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if !*is_loaded {
        TestDatabase::on("postgres").execute(&format!("create database {SOURCE_NAME}"));
        let request = LoadRequest {
            target: &TestDatabase::on(SOURCE_NAME).target,
            plan: &WorkloadPlan {
                scale: Some(WAREHOUSES),
                ..workload_plan(&[])
            },
            jobs: 2,
            seed: 1,
        };
        let workload = find("tpcc").expect("listed");
        let loaded = workload.load(&request, &(), &AtomicBool::new(false));
        loaded.expect("loads");
        *is_loaded = true;
    }
    TestDatabase::on("postgres").execute(&format!("create database {name} template {SOURCE_NAME}"));
    let mut database = TestDatabase::on(name);
    database.copy = Some(name.to_owned());
    database
}

/// The plan of the workload with these options.
pub fn workload_plan(options: &[(&str, &str)]) -> WorkloadPlan {
    plans::workload_plan("tpcc", options)
}

pub struct RunOutcome {
    pub counts: TpccCounts,
    /// Committed transactions by kind, in the order of `TpccTransaction`; the next two fields likewise.
    pub committed: Vec<u64>,
    pub rolled_back: Vec<u64>,
    pub failed: Vec<u64>,
    pub retries: u64,
    /// The SQLSTATEs of the failures.
    pub error_codes: Vec<String>,
}

struct SilentObserver;

impl Observer for SilentObserver {
    fn started(&mut self, _: &LoadStart) {}
    fn interval_ended(&mut self, _: &prony_measure::IntervalRow, _: &prony_measure::RunSchedule) {}
}

/// Runs the workload on a database.
pub fn run_workload(
    database: &TestDatabase,
    plan: &WorkloadPlan,
    drive_plan: &DrivePlan,
    seed: u64,
) -> RunOutcome {
    let program =
        OrderEntryProgram::prepare(&mut database.control(), plan).expect("the data is loaded");
    run_program(database, &program, drive_plan, seed)
}

/// Runs an existing program.
pub fn run_program(
    database: &TestDatabase,
    program: &OrderEntryProgram,
    drive_plan: &DrivePlan,
    seed: u64,
) -> RunOutcome {
    let job = DriveJob {
        program,
        target: &database.target,
        tcp_target: None,
        plan: drive_plan,
        seed,
        interrupt: &AtomicBool::new(false),
        new_sample_listener: None,
        service: None,
        on_connect_refused: None,
    };
    let driven = run(&job, &mut SilentObserver).expect("the run starts");
    assert!(driven.events.is_empty(), "{:?}", driven.events);
    assert_eq!(driven.failure, None);
    let measured = &driven.collected.measured;
    let by_kind = |count: fn(&prony_measure::Tally<u64>) -> u64| measured.kinds.iter().map(count);
    RunOutcome {
        counts: program.counts(),
        committed: by_kind(|kind| kind.committed).collect(),
        rolled_back: by_kind(|kind| kind.rolled_back).collect(),
        failed: by_kind(|kind| kind.failed).collect(),
        retries: by_kind(|kind| kind.retries).sum(),
        error_codes: distinct_error_codes(measured),
    }
}

fn distinct_error_codes(measured: &prony_measure::Totals) -> Vec<String> {
    let errors = measured.errors.entries();
    let code =
        |error: &prony_measure::ErrorEntry| String::from_utf8_lossy(&error.code).into_owned();
    let mut codes: Vec<String> = errors.iter().map(code).collect();
    codes.sort();
    codes.dedup();
    codes
}

/// The plan of a run with one client and this many transactions.
pub fn single_client_plan(transactions: u64) -> DrivePlan {
    drive_plan(1, Stop::Transactions(transactions))
}

/// The plan of a run with eight clients and this duration.
pub fn eight_client_plan(duration_s: u64) -> DrivePlan {
    drive_plan(8, Stop::After(Duration::from_secs(duration_s)))
}

/// The problems that `check` finds in the data.
pub fn problems(database: &TestDatabase) -> Vec<String> {
    let report = find("tpcc").expect("listed").check(&mut database.control());
    let report = report.expect("checks");
    let findings = report.findings.iter();
    findings
        .filter(|finding| finding.state == FindingState::Wrong)
        .map(|finding| format!("{finding:?}"))
        .collect()
}

/// The number that a query returns.
pub fn query_number(database: &TestDatabase, sql: &str) -> i64 {
    let value = database.control().query_value(sql).expect("a good query");
    value.and_then(|text| text.parse().ok()).expect("a number")
}
