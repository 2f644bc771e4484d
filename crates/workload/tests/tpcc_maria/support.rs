//! Databases of a test's own on MariaDB and PostgreSQL, loads and runs on them.

use crate::plans;
pub use crate::plans::drive;
use prony_drive::{Job, Observer, Start, run};
use prony_plan::{DrivePlan, WorkloadPlan};
use prony_server::embedded::{self, MariaDb, MariaDbOptions};
use prony_server::{Control, Environment, Target};
use prony_workload::tpcc::OrderEntryProgram;
use prony_workload::tpcc::observed::Observed;
use prony_workload::{CheckReport, Error, LoadReport, LoadRequest, Progress, State, find};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// One database. It is dropped in the end: it is large.
pub struct Base {
    pub target: Target,
    name: String,
    is_maria: bool,
}

impl Drop for Base {
    fn drop(&mut self) {
        // A test that failed has failed already, and a server that was stopped keeps it.
        if self.is_maria
            && let Ok(mut control) = Control::connect(&self.target)
        {
            let _ = control.execute(&format!("drop database if exists {}", self.name));
        }
    }
}

impl Base {
    /// A new one on the MariaDB that all tests share.
    pub fn new(name: &str) -> Base {
        Base::on(embedded::shared_mariadb(), name)
    }

    /// A new one on a MariaDB.
    pub fn on(server: &MariaDb, name: &str) -> Base {
        Base::of(server, "test").execute(&format!("create database {name}"));
        Base::of(server, name)
    }

    fn of(server: &MariaDb, name: &str) -> Base {
        Base {
            target: target(&server.url_for("root", name)),
            name: name.to_owned(),
            is_maria: name != "test",
        }
    }

    /// The same as another user.
    pub fn by(&self, server: &MariaDb, user: &str) -> Target {
        target(&server.url_for(user, &self.name))
    }

    /// A new one on the PostgreSQL that all tests share.
    pub fn postgres(name: &str) -> Base {
        let of = |name: &str| Base {
            target: target(&embedded::shared().url_for(name)),
            name: name.to_owned(),
            is_maria: false,
        };
        of("postgres").execute(&format!("create database {name}"));
        of(name)
    }

    /// One that is there, which stays.
    pub fn with(target: Target) -> Base {
        Base {
            target,
            name: String::new(),
            is_maria: false,
        }
    }

    pub fn control(&self) -> Control {
        Control::connect(&self.target).expect("connects")
    }

    /// Runs a statement for its effect.
    pub fn execute(&self, sql: &str) {
        self.control().execute(sql).expect("a good statement");
    }

    /// A number that a query gives.
    pub fn number(&self, sql: &str) -> i64 {
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
                ..plan(options)
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

    /// All that the workload's own check has against the data.
    pub fn wrong(&self) -> Vec<String> {
        let wrong = self.check().findings.into_iter();
        let wrong = wrong.filter(|finding| finding.state == State::Wrong);
        wrong
            .map(|one| format!("{}: {}", one.id, one.text))
            .collect()
    }

    /// Why there can be no run.
    pub fn refused(&self, options: &[(&str, &str)], scale: Option<u32>) -> String {
        let plan = WorkloadPlan {
            scale,
            ..plan(options)
        };
        let ready = OrderEntryProgram::ready(&mut self.control(), &plan);
        ready.map(drop).expect_err("refused").to_string()
    }
}

fn target(url: &str) -> Target {
    let env = Environment::new("postgres", Path::new("/nonexistent"));
    prony_server::resolve(url, &env).expect("a good URL")
}

/// A MariaDB of a test's own.
pub fn own_server(arguments: &[&str]) -> MariaDb {
    let arguments = arguments.iter().map(|argument| (*argument).to_owned());
    let options = MariaDbOptions {
        arguments: arguments.collect(),
        ..MariaDbOptions::default()
    };
    MariaDb::start(options).expect("a server")
}

/// A plan with these options.
pub fn plan(options: &[(&str, &str)]) -> WorkloadPlan {
    plans::plan("tpcc", options)
}

/// What became of a run.
pub struct Ran {
    pub observed: Observed,
    pub failed: u64,
    pub retries: u64,
    /// Under what the failures are counted.
    pub codes: Vec<String>,
    /// Outages.
    pub events: usize,
}

struct Silent;

impl Observer for Silent {
    fn started(&mut self, _: &Start) {}
    fn row(&mut self, _: &prony_measure::Row, _: &prony_measure::Schedule) {}
}

/// Runs the workload on a database.
pub fn ran(base: &Base, options: &[(&str, &str)], drive: &DrivePlan, seed: u64) -> Ran {
    let program = OrderEntryProgram::ready(&mut base.control(), &plan(options));
    let program = program.expect("the data is there");
    let job = Job {
        program: &program,
        target: &base.target,
        tcp_target: None,
        plan: drive,
        seed,
        interrupt: &AtomicBool::new(false),
        tap: None,
    };
    let driven = run(&job, &mut Silent).expect("the run starts");
    assert_eq!(driven.failure, None);
    let measured = &driven.collected.measured;
    let errors = measured.errors.entries();
    let mut codes: Vec<String> = errors
        .iter()
        .map(|error| String::from_utf8_lossy(&error.code).into_owned())
        .collect();
    codes.sort();
    codes.dedup();
    Ran {
        observed: program.observed(),
        failed: measured.kinds.iter().map(|kind| kind.failed).sum(),
        retries: measured.kinds.iter().map(|kind| kind.retries).sum(),
        codes,
        events: driven.events.len(),
    }
}

/// Times are those of the load and the run.
const TIMES: [&str; 5] = ["c_since", "h_date", "o_entry_d", "ol_delivery_d", "began"];

/// A sum over all values of all rows of each table; of times whether they are there.
pub fn sums(base: &Base) -> Vec<String> {
    let mut control = base.control();
    let tables = prony_workload::tpcc::schema::Table::ALL
        .iter()
        .map(|table| {
            let columns = prony_workload::tpcc::schema_mysql::columns(*table).iter();
            let values: Vec<String> = columns
                .map(|(name, _)| match TIMES.contains(name) {
                    true => format!("{name} is null"),
                    false => format!("ifnull({name}, '-')"),
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
