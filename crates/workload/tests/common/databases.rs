//! Separate databases for tests, and loads and runs on them.

pub use crate::plans::{drive_plan, workload_plan};
use prony_drive::{DriveJob, DriveResult, LoadStart, Observer, run};
use prony_measure::{ErrorEntry, Tally};
use prony_plan::{DrivePlan, QueryMode, Stop, WorkloadPlan};
use prony_server::{Control, Environment, Target};
use prony_session::ActionShare;
use prony_workload::{
    CheckReport, Error, FindingState, LoadReport, LoadRequest, Progress, ReadyWorkload, Workload,
    find,
};
use std::sync::atomic::AtomicBool;

pub struct TestDatabase {
    pub target: Target,
}

impl TestDatabase {
    /// Creates a database with this name on the PostgreSQL server that all tests share.
    pub fn new(name: &str) -> TestDatabase {
        let mut control = TestDatabase::on("postgres").control();
        let create = format!("create database {name}");
        control.execute(&create).expect("creates a database");
        TestDatabase::on(name)
    }

    fn on(name: &str) -> TestDatabase {
        let env = Environment::without_home("postgres");
        let target =
            prony_server::resolve(&prony_test_servers::shared_postgres().url_for(name), &env);
        TestDatabase {
            target: target.expect("a good URL"),
        }
    }

    /// Creates a database with this name on the MariaDB server that all tests share.
    pub fn maria(name: &str) -> TestDatabase {
        TestDatabase::maria_on(prony_test_servers::shared_mariadb(), name)
    }

    /// Creates a database with this name on a MariaDB server.
    pub fn maria_on(server: &prony_test_servers::MariaDb, name: &str) -> TestDatabase {
        let env = Environment::without_home("tester");
        let target = |database| {
            let url = server.url_for("root", database);
            prony_server::resolve(&url, &env).expect("a good URL")
        };
        let database = TestDatabase {
            target: target("test"),
        };
        database.execute(&format!("create database {name}"));
        TestDatabase {
            target: target(name),
        }
    }

    /// The database of the SQL Server at the URL in `PRONY_TEST_SQLSERVER`. If the variable is not set,
    /// prints that the test is skipped, and returns `None`.
    #[allow(dead_code, reason = "not every binary of tests uses it")]
    pub fn sql_server() -> Option<TestDatabase> {
        let Ok(url) = std::env::var("PRONY_TEST_SQLSERVER") else {
            eprintln!("skipped: PRONY_TEST_SQLSERVER names no SQL Server");
            return None;
        };
        let target = prony_server::resolve(&url, &Environment::without_home("tester"));
        Some(TestDatabase {
            target: target.expect("a good URL"),
        })
    }

    pub fn control(&self) -> Control {
        Control::connect(&self.target).expect("connects")
    }

    /// Executes a statement and ignores its result.
    pub fn execute(&self, sql: &str) {
        self.control().execute(sql).expect("a good statement");
    }

    /// The number that a query returns.
    pub fn query_number(&self, sql: &str) -> i64 {
        let value = self.query_text(sql);
        value.parse().expect("a number")
    }

    /// The text that a query returns.
    pub fn query_text(&self, sql: &str) -> String {
        let value = self.control().query_value(sql).expect("a good query");
        value.expect("not null")
    }

    pub fn load_plan(
        &self,
        plan: &WorkloadPlan,
        jobs: u32,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<LoadReport, Error> {
        let request = LoadRequest {
            target: &self.target,
            plan,
            jobs,
            seed: 7,
        };
        workload(&plan.name).load(&request, progress, stop)
    }

    pub fn program(&self, name: &str, options: &[(&str, &str)]) -> Result<ReadyWorkload, Error> {
        workload(name).program(&mut self.control(), &workload_plan(name, options))
    }

    pub fn check(&self, name: &str) -> CheckReport {
        workload(name).check(&mut self.control()).expect("checks")
    }

    /// The problems that the check reports, each as `id: text`.
    pub fn problems(&self, name: &str) -> Vec<String> {
        let report = self.check(name);
        let findings = report.findings.into_iter();
        findings
            .filter(|finding| finding.state == FindingState::Wrong)
            .map(|finding| format!("{}: {}", finding.id, finding.text))
            .collect()
    }
}

pub fn workload(name: &str) -> &'static dyn Workload {
    find(name).expect("listed")
}

pub struct RunOutcome {
    pub committed: u64,
    pub failed: u64,
    pub retries: u64,
    /// The SQLSTATEs of the failures.
    pub error_codes: Vec<String>,
    pub shares: Vec<ActionShare>,
}

struct SilentObserver;

impl Observer for SilentObserver {
    fn started(&mut self, _: &LoadStart) {}
    fn interval_ended(&mut self, _: &prony_measure::IntervalRow, _: &prony_measure::RunSchedule) {}
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
    let drive_plan = DrivePlan {
        protocol,
        ..drive_plan(clients, Stop::Transactions(transactions))
    };
    let job = DriveJob {
        program: &*loaded.program,
        target: &database.target,
        tcp_target: None,
        plan: &drive_plan,
        seed: 5,
        interrupt: &AtomicBool::new(false),
        new_sample_listener: None,
        service: None,
        on_connect_refused: None,
    };
    let DriveResult {
        collected,
        events,
        failure,
        ..
    } = run(&job, &mut SilentObserver).expect("the run starts");
    assert!(events.is_empty(), "{events:?}");
    assert_eq!(failure, None);
    let sum = |count: fn(&Tally<u64>) -> u64| collected.measured.kinds.iter().map(count).sum();
    let entries = collected.measured.errors.entries();
    let code = |error: &ErrorEntry| String::from_utf8_lossy(&error.code).into_owned();
    RunOutcome {
        committed: sum(|kind| kind.committed),
        failed: sum(|kind| kind.failed),
        retries: sum(|kind| kind.retries),
        error_codes: entries.iter().map(code).collect(),
        shares: loaded.program.action_shares(),
    }
}

/// Returns the message of the error.
pub fn expect_error<T>(result: Result<T, Error>) -> String {
    result.err().expect("a problem").to_string()
}

pub const PROTOCOLS: [QueryMode; 3] = [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared];

/// Asserts that no transaction failed, and that `committed` transactions were committed.
pub fn assert_all_committed(outcome: &RunOutcome, committed: u64, context: &str) {
    assert_eq!(outcome.failed, 0, "{context}: {:?}", outcome.error_codes);
    assert_eq!(outcome.committed, committed, "{context}");
}
