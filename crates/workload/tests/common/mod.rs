//! Test support: a separate database for each test, and interrupted loads.

mod stop;

use prony_plan::WorkloadPlan;
use prony_server::embedded::{self, EmbeddedOptions, EmbeddedPostgres};
use prony_server::{Control, Environment, Target};
use prony_workload::{Error, LoadReport, LoadRequest, Progress, ProgressUpdate, find};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
pub use stop::StopAt;

pub struct TestDatabase {
    target: Target,
    pub url: String,
}

impl TestDatabase {
    /// Creates a database with this name on the server that all tests share.
    pub fn new(name: &str) -> TestDatabase {
        let server = prony_test_servers::shared_postgres();
        let mut control = TestDatabase::on(server, "postgres").control();
        control
            .execute(&format!("create database {name}"))
            .expect("creates a database");
        TestDatabase::on(server, name)
    }

    /// An existing database with this name.
    pub fn on(server: &EmbeddedPostgres, name: &str) -> TestDatabase {
        let url = server.url_for(name);
        let env = Environment::without_home("postgres");
        let target = prony_server::resolve(&url, &env).expect("a good URL");
        TestDatabase { target, url }
    }

    /// Connects to the database.
    pub fn control(&self) -> Control {
        Control::connect(&self.target).expect("connects")
    }

    pub fn plan(&self, name: &str, scale: Option<u32>) -> WorkloadPlan {
        WorkloadPlan {
            name: name.to_owned(),
            scale,
            options: Default::default(),
        }
    }

    pub fn load(&self, name: &str, scale: u32, jobs: u32) -> Result<LoadReport, Error> {
        self.load_with(name, scale, jobs, &(), &AtomicBool::new(false))
    }

    pub fn load_with(
        &self,
        name: &str,
        scale: u32,
        jobs: u32,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<LoadReport, Error> {
        self.load_plan(&self.plan(name, Some(scale)), jobs, progress, stop)
    }

    /// Loads the tables of a plan.
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
            seed: 1,
        };
        let workload = find(&plan.name).expect("listed");
        workload.load(&request, progress, stop)
    }
}

/// A server that a test may stop.
pub fn private_server() -> EmbeddedPostgres {
    let installation = embedded::find().expect("a PostgreSQL");
    EmbeddedPostgres::start(&installation, &EmbeddedOptions::default()).expect("starts")
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

/// Returns the message of the error.
pub fn expect_error<T>(result: Result<T, Error>) -> String {
    result.err().expect("a problem").to_string()
}

/// Kills the server once this many rows have been sent.
pub struct KillAt<'a> {
    pub rows: u64,
    pub server: &'a EmbeddedPostgres,
    pub is_killed: &'a AtomicBool,
}

impl Progress for KillAt<'_> {
    fn update(&self, step: &ProgressUpdate) {
        if step.rows_done > self.rows && !self.is_killed.swap(true, Ordering::Relaxed) {
            self.server.kill();
        }
    }
}
