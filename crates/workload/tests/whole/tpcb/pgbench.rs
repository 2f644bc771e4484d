//! Runs the installed pgbench.

use crate::common::*;
use prony_server::embedded;
use std::process::Command;

/// Runs pgbench on a database, and asserts that it succeeds.
pub fn pgbench(database: &TestDatabase, arguments: &[&str]) {
    let same_installation = embedded::find()
        .expect("a PostgreSQL")
        .bin_dir
        .join("pgbench");
    let program = if same_installation.exists() { same_installation } else { "pgbench".into() };
    let output = Command::new(program)
        .args(arguments)
        .arg(&database.url)
        .output()
        .expect("pgbench is installed");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "pgbench {arguments:?}: {stderr}");
}
