//! Tests with a real PostgreSQL of this machine, and with made-up archives.

mod archives;
mod lifetime;
mod servers;

use super::{Options, Server, find, process};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A server of the test's own, small.
fn start(options: Options) -> Server {
    let installation = find().expect("tests need a PostgreSQL");
    let options = Options {
        shared_buffers_mib: 16,
        ..options
    };
    Server::start(&installation, &options).expect("a server starts")
}

/// Runs one statement by psql.
fn psql(url: &str, password: Option<&str>, sql: &str) -> Output {
    let mut command = Command::new("psql");
    command.args(["-XAtq", "-d", url, "-c", sql]);
    command.env_remove("PGPASSWORD");
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    command.output().expect("tests need psql")
}

/// What a statement returns.
fn ask(server: &Server, sql: &str) -> String {
    let output = psql(&server.url(), None, sql);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{sql}: {errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Waits generously for something that another process does.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "in 60 s not: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process exists and is not just waiting to be buried.
fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat[stat.rfind(')').unwrap_or(0)..].starts_with(") Z"))
}

/// Effective user of a process.
fn owner(pid: u32) -> u32 {
    use std::os::unix::fs::MetadataExt;
    let path = format!("/proc/{pid}");
    std::fs::metadata(Path::new(&path)).expect("it lives").uid()
}

/// A folder of the test's own, removed at the end, that the server's user may enter.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new() -> Scratch {
        use std::os::unix::fs::PermissionsExt;
        let name = super::directory::random_hex(6).expect("random numbers");
        let path = Path::new("/var/tmp").join(format!("prony-test-{name}"));
        std::fs::create_dir(&path).expect("/var/tmp can be written");
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, open).expect("it is ours");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The children of a process and it itself.
fn family(pid: u32) -> Vec<u32> {
    let mut all = process::children(pid);
    all.push(pid);
    all
}
