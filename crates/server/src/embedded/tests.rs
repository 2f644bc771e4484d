//! Tests with a real PostgreSQL of this machine, and with synthetic archives.

mod archives;
mod lifetime;
mod servers;

use super::{EmbeddedOptions, EmbeddedPostgres, find};
use prony_test_servers::children;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

fn start_server(options: EmbeddedOptions) -> EmbeddedPostgres {
    let installation = find().expect("tests need a PostgreSQL");
    let options = EmbeddedOptions {
        shared_buffers_mib: 16,
        ..options
    };
    EmbeddedPostgres::start(&installation, &options).expect("a server starts")
}

fn psql(url: &str, password: Option<&str>, sql: &str) -> Output {
    let mut command = Command::new("psql");
    command.args(["-XAtq", "-d", url, "-c", sql]);
    command.env_remove("PGPASSWORD");
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    command.output().expect("tests need psql")
}

/// Runs one statement with psql and returns its output.
fn query(server: &EmbeddedPostgres, sql: &str) -> String {
    let output = psql(&server.url(), None, sql);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{sql}: {errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Waits up to 60 s for a condition that depends on a second process.
fn eventually(condition: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "not within 60 s: {condition}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process exists and is not a zombie.
fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat[stat.rfind(')').unwrap_or(0)..].starts_with(") Z"))
}

/// Effective user of a process.
fn owner(pid: u32) -> u32 {
    use std::os::unix::fs::MetadataExt;
    let path = format!("/proc/{pid}");
    std::fs::metadata(Path::new(&path))
        .expect("the process is alive")
        .uid()
}

/// A temporary folder for one test, which the server's user may enter.
struct TestFolder(std::path::PathBuf);

impl TestFolder {
    fn new() -> TestFolder {
        use std::os::unix::fs::PermissionsExt;
        let name = super::directory::random_hex(6).expect("random numbers");
        let path = Path::new("/var/tmp").join(format!("prony-test-{name}"));
        std::fs::create_dir(&path).expect("/var/tmp can be written");
        let readable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, readable).expect("this process owns it");
        TestFolder(path)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn process_tree(pid: u32) -> Vec<u32> {
    let mut processes = children(pid);
    processes.push(pid);
    processes
}
