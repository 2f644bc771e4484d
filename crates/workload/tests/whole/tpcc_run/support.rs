//! Databases with two loaded warehouses, and runs on them.

pub use crate::common::*;
use prony_drive::RunEvent;
use prony_plan::{DrivePlan, Stop};
use prony_workload::tpcc::OrderEntryProgram;
use prony_workload::tpcc::counts::TpccCounts;
use prony_workload::tpcc::input::TpccTransaction;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub const NEW_ORDER: usize = TpccTransaction::NewOrder as usize;
pub const PAYMENT: usize = TpccTransaction::Payment as usize;

pub const WAREHOUSES: u32 = 2;

/// Creates a copy of a database that is loaded once for all tests, and drops it at the end, because it is large.
pub fn loaded_copy(name: &str) -> TestDatabase {
    static IS_SOURCE_LOADED: Mutex<bool> = Mutex::new(false);
    const SOURCE_NAME: &str = "tpcc_source";
    // Make one copy at a time, because the source of a copy must have no connections.
    let mut is_loaded = IS_SOURCE_LOADED
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if !*is_loaded {
        let scale = [("scale", &*WAREHOUSES.to_string())];
        TestDatabase::postgres(SOURCE_NAME).load("tpcc", &scale, 2);
        *is_loaded = true;
    }
    let server = prony_test_servers::shared_postgres();
    let other = TestDatabase::on_postgres(server, "postgres");
    other.execute(&format!("create database {name} template {SOURCE_NAME}"));
    let copy = TestDatabase::on_postgres(server, name);
    copy.dropped_by(&other, format!("drop database {name} with (force)"))
}

pub struct TpccOutcome {
    pub counts: TpccCounts,
    /// Committed transactions by kind, in the order of `TpccTransaction`; the next two fields likewise.
    pub committed: Vec<u64>,
    pub rolled_back: Vec<u64>,
    pub failed: Vec<u64>,
    pub retries: u64,
    /// The distinct codes under which the failures are counted.
    pub error_codes: Vec<String>,
    pub events: Vec<RunEvent>,
}

pub fn prepare(database: &TestDatabase, options: &[(&str, &str)]) -> OrderEntryProgram {
    let plan = workload_plan("tpcc", options);
    let program = OrderEntryProgram::prepare(&mut database.control(), &plan);
    program.expect("the data is loaded")
}

pub fn run_tpcc(
    database: &TestDatabase,
    options: &[(&str, &str)],
    drive_plan: &DrivePlan,
    seed: u64,
) -> TpccOutcome {
    let program = prepare(database, options);
    run_program(database, &program, drive_plan, seed)
}

/// Runs a program, and asserts that no connection was lost.
pub fn run_program(
    database: &TestDatabase,
    program: &OrderEntryProgram,
    drive_plan: &DrivePlan,
    seed: u64,
) -> TpccOutcome {
    let outcome = run_despite_outages(database, program, drive_plan, seed);
    assert!(outcome.events.is_empty(), "{:?}", outcome.events);
    outcome
}

pub fn run_despite_outages(
    database: &TestDatabase,
    program: &OrderEntryProgram,
    drive_plan: &DrivePlan,
    seed: u64,
) -> TpccOutcome {
    let driven = drive(database, program, drive_plan, seed);
    let measured = &driven.collected.measured;
    let by_kind = |count: fn(&prony_measure::Tally<u64>) -> u64| measured.kinds.iter().map(count);
    TpccOutcome {
        counts: program.counts(),
        committed: by_kind(|kind| kind.committed).collect(),
        rolled_back: by_kind(|kind| kind.rolled_back).collect(),
        failed: by_kind(|kind| kind.failed).collect(),
        retries: by_kind(|kind| kind.retries).sum(),
        error_codes: error_codes(measured),
        events: driven.events,
    }
}

pub fn single_client_plan(transactions: u64) -> DrivePlan {
    drive_plan(1, Stop::Transactions(transactions))
}

pub fn eight_client_plan(duration_s: u64) -> DrivePlan {
    drive_plan(8, Stop::After(Duration::from_secs(duration_s)))
}
