//! Loads and runs of workloads on databases of tests.

pub mod rare_cases;

use prony_document::ObservedShare;
use prony_drive::{DriveJob, DriveResult, run};
use prony_measure::{Tally, Totals};
use prony_plan::{DrivePlan, QueryMode, Stop, WorkloadPlan};
use prony_server::embedded::{self, EmbeddedOptions, EmbeddedPostgres};
use prony_session::Program;
pub use prony_test_servers::TestDatabase;
use prony_test_servers::{MariaDb, MariaDbOptions};
use prony_workload::remedy::PronyCommands;
use prony_workload::{
    CheckReport, Error, FindingState, LoadDivision, LoadPhase, LoadReport, LoadRequest, Progress,
    ProgressUpdate, ReadyWorkload, Workload, find,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub const PROTOCOLS: [QueryMode; 3] = [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared];

pub fn workload(name: &str) -> &'static dyn Workload {
    find(name).expect("listed")
}

/// The plan of a workload with these options, of which `scale` is that of the plan. Without it, the scale is that of the
/// existing data.
pub fn workload_plan(name: &str, options: &[(&str, &str)]) -> WorkloadPlan {
    let (scale, options): (Vec<_>, Vec<_>) = options.iter().partition(|(key, _)| *key == "scale");
    let options = options.into_iter();
    WorkloadPlan {
        name: name.to_owned(),
        scale: scale
            .first()
            .map(|(_, scale)| scale.parse().expect("a scale")),
        options: options
            .map(|(key, value)| ((*key).to_owned(), (*value).into()))
            .collect(),
    }
}

/// Loads and checks of a test's database.
pub trait Loads {
    fn database(&self) -> &TestDatabase;

    fn load_with(
        &self,
        name: &str,
        options: &[(&str, &str)],
        jobs: u32,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<LoadReport, Error> {
        let request = LoadRequest {
            target: &self.database().target,
            plan: &workload_plan(name, options),
            jobs,
            seed: 1,
            division: LoadDivision::Undivided,
            progress,
            stop,
        };
        workload(name).load(&request)
    }

    fn load(&self, name: &str, options: &[(&str, &str)], jobs: u32) -> LoadReport {
        let report = self.load_with(name, options, jobs, &(), &AtomicBool::new(false));
        report.expect("loads")
    }

    fn load_error(&self, name: &str, options: &[(&str, &str)], jobs: u32) -> String {
        expect_error(self.load_with(name, options, jobs, &(), &AtomicBool::new(false)))
    }

    fn program(&self, name: &str, options: &[(&str, &str)]) -> Result<ReadyWorkload, Error> {
        workload(name).program(
            &mut self.database().control(),
            &workload_plan(name, options),
        )
    }

    /// Why a run of this plan is refused on the existing data.
    fn program_error(&self, name: &str, options: &[(&str, &str)]) -> String {
        expect_error(self.program(name, options))
    }

    fn check(&self, name: &str) -> CheckReport {
        let report = workload(name).check(&mut self.database().control());
        report.expect("checks")
    }

    /// The problems that the check reports, each as `id: text`.
    fn problems(&self, name: &str) -> Vec<String> {
        let findings = self.check(name).findings.into_iter();
        let wrong = findings.filter(|finding| finding.state == FindingState::Wrong);
        wrong
            .map(|finding| {
                let text = finding.render(&PronyCommands::default());
                format!("{}: {text}", finding.id)
            })
            .collect()
    }

    fn clean(&self, name: &str) -> Result<Vec<String>, Error> {
        workload(name).clean(&mut self.database().control())
    }
}

impl Loads for TestDatabase {
    fn database(&self) -> &TestDatabase {
        self
    }
}

pub fn expect_error<T>(result: Result<T, Error>) -> String {
    result.err().expect("a problem").to_string()
}

/// The plan of a closed loop on two threads, with prepared statements.
pub fn drive_plan(clients: u32, stop: Stop) -> DrivePlan {
    DrivePlan {
        clients,
        threads: 2,
        stop,
        grace: Duration::from_secs(60),
        describe: false,
        ..DrivePlan::default()
    }
}

/// Runs a program on a database.
pub fn drive(
    database: &TestDatabase,
    program: &dyn Program,
    plan: &DrivePlan,
    seed: u64,
) -> DriveResult {
    let interrupt = AtomicBool::new(false);
    let job = DriveJob {
        seed,
        ..DriveJob::new(program, &database.target, plan, &interrupt)
    };
    let driven = run(&job, &mut ()).expect("the run starts");
    assert_eq!(driven.failure, None);
    driven
}

/// The distinct codes under which failures are counted.
pub fn error_codes(measured: &Totals) -> Vec<String> {
    let errors = measured.errors.entries().iter();
    let codes = errors.map(|error| String::from_utf8_lossy(&error.code).into_owned());
    let mut codes: Vec<String> = codes.collect();
    codes.sort();
    codes.dedup();
    codes
}

pub struct RunOutcome {
    pub committed: u64,
    pub failed: u64,
    pub retries: u64,
    pub error_codes: Vec<String>,
    pub shares: Vec<ObservedShare>,
}

/// Runs a workload with this number of clients, and of transactions per client.
pub fn run_workload(
    database: &TestDatabase,
    name: &str,
    options: &[(&str, &str)],
    protocol: QueryMode,
    (clients, transactions): (u32, u64),
) -> RunOutcome {
    let loaded = database.program(name, options).expect("the data is loaded");
    let plan = DrivePlan {
        protocol,
        ..drive_plan(clients, Stop::Transactions(transactions))
    };
    let driven = drive(database, &*loaded.program, &plan, 5);
    assert!(driven.events.is_empty(), "{:?}", driven.events);
    let measured = &driven.collected.measured;
    let sum = |count: fn(&Tally<u64>) -> u64| measured.kinds.iter().map(count).sum();
    RunOutcome {
        committed: sum(|kind| kind.committed),
        failed: sum(|kind| kind.failed),
        retries: sum(|kind| kind.retries),
        error_codes: error_codes(measured),
        shares: loaded.program.action_shares(),
    }
}

/// Runs a workload with prepared statements, and asserts that all its transactions commit.
pub fn run_committed(
    database: &TestDatabase,
    name: &str,
    options: &[(&str, &str)],
    (clients, transactions): (u32, u64),
) -> RunOutcome {
    let size = (clients, transactions);
    let outcome = run_workload(database, name, options, QueryMode::Prepared, size);
    assert_all_committed(&outcome, u64::from(clients) * transactions, name);
    outcome
}

/// Asserts that no transaction failed, and that `committed` transactions were committed.
pub fn assert_all_committed(outcome: &RunOutcome, committed: u64, context: &str) {
    assert_eq!(outcome.failed, 0, "{context}: {:?}", outcome.error_codes);
    assert_eq!(outcome.committed, committed, "{context}");
}

/// A database of this name on each of the shared servers.
pub fn on_each_engine(name: &str) -> [TestDatabase; 2] {
    [TestDatabase::postgres(name), TestDatabase::maria(name)]
}

/// The database of the first SQL Server in `PRONY_TEST_SQLSERVER`. If the variable is not set, prints that the test is
/// skipped, and returns `None`.
pub fn sql_server() -> Option<TestDatabase> {
    let Ok(urls) = std::env::var("PRONY_TEST_SQLSERVER") else {
        eprintln!("skipped: PRONY_TEST_SQLSERVER names no SQL Server");
        return None;
    };
    Some(TestDatabase::at(urls.split_whitespace().next()?))
}

pub fn private_postgres() -> EmbeddedPostgres {
    let installation = embedded::find().expect("a PostgreSQL");
    EmbeddedPostgres::start(&installation, &EmbeddedOptions::default()).expect("starts")
}

pub fn private_maria(arguments: &[&str]) -> MariaDb {
    let arguments = arguments.iter().map(|argument| (*argument).to_owned());
    let options = MariaDbOptions {
        arguments: arguments.collect(),
        ..MariaDbOptions::default()
    };
    MariaDb::start(options).expect("a server")
}

/// Waits until `condition` holds, for up to a minute.
pub fn wait_until(mut condition: impl FnMut() -> bool) {
    for _ in 0..1200 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the condition did not hold within a minute");
}

/// Sets the stop flag in a phase, once this many rows have been sent.
pub struct StopAt<'a>(pub LoadPhase, pub u64, pub &'a AtomicBool);

impl Progress for StopAt<'_> {
    fn update(&self, step: &ProgressUpdate) {
        let StopAt(phase, rows, stop) = self;
        if step.phase == *phase && step.rows_done >= *rows {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Kills the server once this many rows have been sent.
pub struct KillAt<'a> {
    pub rows: u64,
    pub kill: &'a (dyn Fn() + Sync),
    pub is_killed: &'a AtomicBool,
}

impl Progress for KillAt<'_> {
    fn update(&self, step: &ProgressUpdate) {
        if step.rows_done > self.rows && !self.is_killed.swap(true, Ordering::Relaxed) {
            (self.kill)();
        }
    }
}
