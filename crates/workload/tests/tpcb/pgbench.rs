//! The system's pgbench.

use crate::common::Base;
use prony_server::embedded;
use std::process::Command;

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
