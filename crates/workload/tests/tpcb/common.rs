//! Databases for tests, each of its own, and the system's pgbench.

use prony_plan::WorkloadPlan;
use prony_server::embedded::{self, Options, Server};
use prony_server::{Control, Environment, Target};
use prony_workload::{Error, LoadReport, LoadRequest, Progress, find};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// One database.
pub struct Base {
    target: Target,
    url: String,
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
        let plan = self.plan(name, Some(scale));
        let request = LoadRequest {
            target: &self.target,
            plan: &plan,
            jobs,
            seed: 1,
        };
        find(name).expect("listed").load(&request, progress, stop)
    }
}

/// A server that a test may stop.
pub fn own_server() -> Server {
    let installation = embedded::find().expect("a PostgreSQL");
    Server::start(&installation, &Options::default()).expect("starts")
}

/// Runs the system's pgbench on a database, which must succeed.
pub fn pgbench(base: &Base, arguments: &[&str]) {
    let beside = embedded::find()
        .expect("a PostgreSQL")
        .bin_dir
        .join("pgbench");
    let program = if beside.exists() {
        beside
    } else {
        "pgbench".into()
    };
    let output = Command::new(program)
        .args(arguments)
        .arg(&base.url)
        .output()
        .expect("pgbench is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "pgbench {arguments:?}: {said}");
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
