//! Databases for tests, each of its own; loads that are broken off.

mod stop;

use prony_plan::WorkloadPlan;
use prony_server::embedded::{self, Options, Server};
use prony_server::{Control, Environment, Target};
use prony_workload::{Error, LoadReport, LoadRequest, Progress, Step, find};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
pub use stop::StopAt;

/// One database.
pub struct Base {
    target: Target,
    pub url: String,
}

impl Base {
    /// A new database of this name on the server that all tests share.
    pub fn new(name: &str) -> Base {
        let server = embedded::shared();
        let mut control = Base::on(server, "postgres").control();
        control
            .execute(&format!("create database {name}"))
            .expect("creates a database");
        Base::on(server, name)
    }

    /// A database that is there.
    pub fn on(server: &Server, name: &str) -> Base {
        let url = server.url_for(name);
        let env = Environment::new("postgres", Path::new("/nonexistent"));
        let target = prony_server::resolve(&url, &env).expect("a good URL");
        Base { target, url }
    }

    /// A connection to it.
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

    /// As a plan with options asks for.
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
pub fn own_server() -> Server {
    let installation = embedded::find().expect("a PostgreSQL");
    Server::start(&installation, &Options::default()).expect("starts")
}

/// Waits until something is so; a minute at most.
pub fn until(mut so: impl FnMut() -> bool) {
    for _ in 0..1200 {
        if so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("did not come about within a minute");
}

/// What it says.
pub fn problem<T>(result: Result<T, Error>) -> String {
    result.err().expect("a problem").to_string()
}

/// Kills the server once so many rows are on the way.
pub struct KillAt<'a> {
    pub rows: u64,
    pub server: &'a Server,
    pub killed: &'a AtomicBool,
}

impl Progress for KillAt<'_> {
    fn step(&self, step: &Step) {
        if step.rows_done > self.rows && !self.killed.swap(true, Ordering::Relaxed) {
            self.server.kill();
        }
    }
}
