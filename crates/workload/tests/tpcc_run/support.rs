//! Databases of one loaded warehouse or two, and runs on them.

use crate::plans;
pub use crate::plans::drive;
use prony_drive::{Job, Observer, Start, run};
use prony_plan::{DrivePlan, Stop, WorkloadPlan};
use prony_server::{Control, Environment, Target, embedded};
use prony_workload::tpcc::OrderEntryProgram;
use prony_workload::tpcc::observed::Observed;
use prony_workload::{LoadRequest, State, find};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Warehouses of every database here.
pub const WAREHOUSES: u32 = 2;

/// One database.
pub struct Base {
    pub target: Target,
    /// To be dropped in the end: the copies are large, and many.
    copy: Option<String>,
}

impl Drop for Base {
    fn drop(&mut self) {
        if let Some(name) = &self.copy {
            let mut control = Base::on("postgres").control();
            // A test that failed has failed already.
            let _ = control.execute(&format!("drop database {name} with (force)"));
        }
    }
}

impl Base {
    fn on(name: &str) -> Base {
        let env = Environment::new("postgres", Path::new("/nonexistent"));
        let target = prony_server::resolve(&embedded::shared().url_for(name), &env);
        Base {
            target: target.expect("a good URL"),
            copy: None,
        }
    }

    pub fn control(&self) -> Control {
        Control::connect(&self.target).expect("connects")
    }

    /// Runs a statement for its effect.
    pub fn execute(&self, sql: &str) {
        self.control().execute(sql).expect("a good statement");
    }
}

/// A copy of a database that is loaded once for all tests.
pub fn loaded(name: &str) -> Base {
    static SOURCE: Mutex<bool> = Mutex::new(false);
    const NAME: &str = "tpcc_source";
    // One at a time: nobody may be connected to a database that is copied.
    let mut is_loaded = SOURCE.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_loaded {
        Base::on("postgres").execute(&format!("create database {NAME}"));
        let request = LoadRequest {
            target: &Base::on(NAME).target,
            plan: &WorkloadPlan {
                scale: Some(WAREHOUSES),
                ..plan(&[])
            },
            jobs: 2,
            seed: 1,
        };
        let workload = find("tpcc").expect("listed");
        let loaded = workload.load(&request, &(), &AtomicBool::new(false));
        loaded.expect("loads");
        *is_loaded = true;
    }
    Base::on("postgres").execute(&format!("create database {name} template {NAME}"));
    let mut base = Base::on(name);
    base.copy = Some(name.to_owned());
    base
}

/// A plan with these options.
pub fn plan(options: &[(&str, &str)]) -> WorkloadPlan {
    plans::plan("tpcc", options)
}

/// What became of a run.
pub struct Ran {
    pub observed: Observed,
    /// By kind.
    pub committed: Vec<u64>,
    pub rolled_back: Vec<u64>,
    pub failed: Vec<u64>,
    pub retries: u64,
    /// SQLSTATEs of what failed.
    pub codes: Vec<String>,
}

struct Silent;

impl Observer for Silent {
    fn started(&mut self, _: &Start) {}
    fn row(&mut self, _: &prony_measure::Row, _: &prony_measure::Schedule) {}
}

/// Runs the workload on a database.
pub fn ran(base: &Base, plan: &WorkloadPlan, drive: &DrivePlan, seed: u64) -> Ran {
    let program = OrderEntryProgram::ready(&mut base.control(), plan).expect("the data is there");
    ran_program(base, &program, drive, seed)
}

/// Runs a program that is ready.
pub fn ran_program(base: &Base, program: &OrderEntryProgram, drive: &DrivePlan, seed: u64) -> Ran {
    let job = Job {
        program,
        target: &base.target,
        tcp_target: None,
        plan: drive,
        seed,
        interrupt: &AtomicBool::new(false),
        tap: None,
    };
    let driven = run(&job, &mut Silent).expect("the run starts");
    assert!(driven.events.is_empty(), "{:?}", driven.events);
    assert_eq!(driven.failure, None);
    let measured = &driven.collected.measured;
    let of = |count: fn(&prony_measure::Tally<u64>) -> u64| measured.kinds.iter().map(count);
    Ran {
        observed: program.observed(),
        committed: of(|kind| kind.committed).collect(),
        rolled_back: of(|kind| kind.rolled_back).collect(),
        failed: of(|kind| kind.failed).collect(),
        retries: of(|kind| kind.retries).sum(),
        codes: codes(measured),
    }
}

fn codes(measured: &prony_measure::Totals) -> Vec<String> {
    let errors = measured.errors.entries();
    let code =
        |error: &prony_measure::ErrorEntry| String::from_utf8_lossy(&error.code).into_owned();
    let mut codes: Vec<String> = errors.iter().map(code).collect();
    codes.sort();
    codes.dedup();
    codes
}

/// A plan of so many transactions of one client.
pub fn transactions(count: u64) -> DrivePlan {
    drive(1, Stop::Transactions(count))
}

/// A plan of so long with eight clients.
pub fn crowd(seconds: u64) -> DrivePlan {
    drive(8, Stop::After(Duration::from_secs(seconds)))
}

/// All that the workload's own check has against the data.
pub fn findings(base: &Base) -> Vec<String> {
    let report = find("tpcc").expect("listed").check(&mut base.control());
    let report = report.expect("checks");
    let wrong = report.findings.iter();
    wrong
        .filter(|finding| finding.state == State::Wrong)
        .map(|finding| format!("{finding:?}"))
        .collect()
}

/// A number that a query gives.
pub fn number(base: &Base, sql: &str) -> i64 {
    let value = base.control().query_value(sql).expect("a good query");
    value.and_then(|text| text.parse().ok()).expect("a number")
}
