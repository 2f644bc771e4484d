//! The installed pgbench.

use crate::common::TestDatabase;
use prony_server::embedded;
use std::process::Command;

/// Runs the installed pgbench on a database, which must succeed.
pub fn pgbench(database: &TestDatabase, arguments: &[&str]) {
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
        .arg(&database.url)
        .output()
        .expect("pgbench is installed");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "pgbench {arguments:?}: {stderr}");
}
