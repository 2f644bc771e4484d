//! Databases for tests on MariaDB and PostgreSQL, and loads and runs on them.

use crate::plans;
pub use crate::plans::drive_plan;
use prony_drive::{DriveJob, LoadStart, Observer, run};
use prony_plan::{DrivePlan, WorkloadPlan};
use prony_server::{Control, Environment, Target};
use prony_test_servers::{MariaDb, MariaDbOptions};
use prony_workload::remedy::PronyCommands;
use prony_workload::tpcc::OrderEntryProgram;
use prony_workload::tpcc::counts::TpccCounts;
use prony_workload::tpcc::input::TpccTransaction;
use prony_workload::{CheckReport, Error, FindingState, LoadReport, LoadRequest, Progress, find};
use std::sync::atomic::AtomicBool;

/// The index of new orders in counts by kind.
pub const NEW_ORDER: usize = TpccTransaction::NewOrder as usize;

/// A database for one test. Databases of tests are dropped at the end, because they are large.
pub struct TestDatabase {
    pub target: Target,
    name: String,
    /// Whether to drop the database at the end of the test.
    drops_at_end: bool,
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // A failed test has already reported its failure, and a stopped server keeps the database.
        if self.drops_at_end
            && let Ok(mut control) = Control::connect(&self.target)
        {
            let _ = control.execute(&format!("drop database if exists {}", self.name));
        }
    }
}

impl TestDatabase {
    /// Creates a database on the MariaDB that all tests share.
    pub fn new(name: &str) -> TestDatabase {
        TestDatabase::create_on(prony_test_servers::shared_mariadb(), name)
    }

    /// Creates a database on this MariaDB.
    pub fn create_on(server: &MariaDb, name: &str) -> TestDatabase {
        TestDatabase::existing(server, "test").execute(&format!("create database {name}"));
        TestDatabase::existing(server, name)
    }

    fn existing(server: &MariaDb, name: &str) -> TestDatabase {
        TestDatabase {
            target: resolve_target(&server.url_for("root", name)),
            name: name.to_owned(),
            drops_at_end: name != "test",
        }
    }

    /// The target for a different user.
    pub fn target_for(&self, server: &MariaDb, user: &str) -> Target {
        resolve_target(&server.url_for(user, &self.name))
    }

    /// Creates a database on the PostgreSQL that all tests share.
    pub fn postgres(name: &str) -> TestDatabase {
        let database = |name: &str| TestDatabase {
            target: resolve_target(&prony_test_servers::shared_postgres().url_for(name)),
            name: name.to_owned(),
            drops_at_end: false,
        };
        database("postgres").execute(&format!("create database {name}"));
        database(name)
    }

    /// An existing database, which is not dropped.
    pub fn from_target(target: Target) -> TestDatabase {
        TestDatabase {
            target,
            name: String::new(),
            drops_at_end: false,
        }
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
        let value = self.control().query_value(sql).expect(sql);
        value.and_then(|text| text.parse().ok()).expect("a number")
    }

    pub fn load(&self, scale: u32, jobs: u32, options: &[(&str, &str)]) -> LoadReport {
        let loaded = self.load_with(scale, jobs, options, &(), &AtomicBool::new(false));
        loaded.expect("loads")
    }

    pub fn load_with(
        &self,
        scale: u32,
        jobs: u32,
        options: &[(&str, &str)],
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<LoadReport, Error> {
        let request = LoadRequest {
            target: &self.target,
            plan: &WorkloadPlan {
                scale: Some(scale),
                ..workload_plan(options)
            },
            jobs,
            seed: 1,
        };
        find("tpcc").expect("listed").load(&request, progress, stop)
    }

    pub fn check(&self) -> CheckReport {
        let tpcc = find("tpcc").expect("listed");
        tpcc.check(&mut self.control()).expect("checks")
    }

    /// The problems that `check` finds in the data, each as `id: text`.
    pub fn problems(&self) -> Vec<String> {
        let findings = self.check().findings.into_iter();
        let wrong_findings = findings.filter(|finding| finding.state == FindingState::Wrong);
        wrong_findings
            .map(|finding| {
                format!(
                    "{}: {}",
                    finding.id,
                    finding.render(&PronyCommands::default())
                )
            })
            .collect()
    }

    /// The error message of a run that is refused.
    pub fn prepare_error(&self, options: &[(&str, &str)], scale: Option<u32>) -> String {
        let plan = WorkloadPlan {
            scale,
            ..workload_plan(options)
        };
        let prepared = OrderEntryProgram::prepare(&mut self.control(), &plan);
        prepared.map(drop).expect_err("refused").to_string()
    }
}

fn resolve_target(url: &str) -> Target {
    let env = Environment::without_home("postgres");
    prony_server::resolve(url, &env).expect("a good URL")
}

/// A separate MariaDB for a test.
pub fn private_server(arguments: &[&str]) -> MariaDb {
    let arguments = arguments.iter().map(|argument| (*argument).to_owned());
    let options = MariaDbOptions {
        arguments: arguments.collect(),
        ..MariaDbOptions::default()
    };
    MariaDb::start(options).expect("a server")
}

/// The plan of the workload with these options.
pub fn workload_plan(options: &[(&str, &str)]) -> WorkloadPlan {
    plans::workload_plan("tpcc", options)
}

pub struct RunOutcome {
    pub counts: TpccCounts,
    pub failed: u64,
    pub retries: u64,
    /// The distinct codes under which the failures are counted.
    pub error_codes: Vec<String>,
    /// Number of outages.
    pub outages: usize,
}

struct SilentObserver;

impl Observer for SilentObserver {
    fn started(&mut self, _: &LoadStart) {}
    fn interval_ended(&mut self, _: &prony_measure::IntervalRow, _: &prony_measure::RunSchedule) {}
}

/// Runs the workload on a database.
pub fn run_workload(
    database: &TestDatabase,
    options: &[(&str, &str)],
    drive_plan: &DrivePlan,
    seed: u64,
) -> RunOutcome {
    let program = OrderEntryProgram::prepare(&mut database.control(), &workload_plan(options));
    let program = program.expect("the data is loaded");
    let job = DriveJob {
        program: &program,
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
    assert_eq!(driven.failure, None);
    let measured = &driven.collected.measured;
    let errors = measured.errors.entries();
    let mut codes: Vec<String> = errors
        .iter()
        .map(|error| String::from_utf8_lossy(&error.code).into_owned())
        .collect();
    codes.sort();
    codes.dedup();
    RunOutcome {
        counts: program.counts(),
        failed: measured.kinds.iter().map(|kind| kind.failed).sum(),
        retries: measured.kinds.iter().map(|kind| kind.retries).sum(),
        error_codes: codes,
        outages: driven.events.len(),
    }
}

/// The timestamp columns, whose values depend on when the load and the run took place.
const TIMESTAMP_COLUMNS: [&str; 5] = ["c_since", "h_date", "o_entry_d", "ol_delivery_d", "began"];

/// A checksum of each table over all values; of timestamps, only whether they are NULL.
pub fn checksums(database: &TestDatabase) -> Vec<String> {
    let mut control = database.control();
    let tables = prony_workload::tpcc::schema::Table::ALL
        .iter()
        .map(|table| {
            let columns = table.columns(prony_document::SqlDialect::MySql).into_iter();
            let values: Vec<String> = columns
                .map(|(name, _)| {
                    if TIMESTAMP_COLUMNS.contains(&name) {
                        format!("{name} is null")
                    } else {
                        format!("ifnull({name}, '-')")
                    }
                })
                .collect();
            let sql = format!(
                "select concat(count(*), ' ', sum(crc32(concat_ws('|', {})))) from {}",
                values.join(", "),
                table.name()
            );
            let sum = control.query_value(&sql).expect(&sql).expect("rows");
            format!("{}: {sum}", table.name())
        });
    tables.collect()
}
