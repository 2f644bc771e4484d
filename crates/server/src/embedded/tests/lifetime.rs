//! Nothing outlives Prony: neither a killed process, nor a thread's end, nor a leftover directory.

use super::super::directory::sweep;
use super::super::{Options, shared};
use super::{Scratch, ask, eventually, family, lives, start};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Set for the test binary when it plays the process that is killed.
const ROLE: &str = "PRONY_TEST_ROLE";

/// Not a test of itself: what the other process does.
#[test]
#[ignore = "run by the other tests of this file, in a process of its own"]
fn other_process() {
    let parent = std::env::var_os("PRONY_TEST_PARENT").map(PathBuf::from);
    match std::env::var(ROLE).as_deref() {
        Ok("own") => {
            let server = start(Options {
                parent,
                ..Options::default()
            });
            tell(server.pid().unwrap(), server.directory());
            std::thread::sleep(std::time::Duration::from_secs(600));
        }
        Ok("shared") => tell(shared().pid().unwrap(), shared().directory()),
        _ => {}
    }
}

fn tell(pid: u32, directory: &Path) {
    // To the standard error, which the test harness does not hold back.
    eprintln!("server {pid} {}", directory.display());
}

/// Starts this test binary again in a role; returns it with its server's number and directory.
fn other(role: &str, parent: &Path) -> (Child, u32, PathBuf) {
    let name = "embedded::tests::lifetime::other_process";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(ROLE, role)
        .env("PRONY_TEST_PARENT", parent)
        .env("TMPDIR", parent)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let told = lines
        .find_map(|line| line.unwrap().strip_prefix("server ").map(str::to_owned))
        .expect("it names its server");
    let (pid, directory) = told.split_once(' ').unwrap();
    (child, pid.parse().unwrap(), PathBuf::from(directory))
}

#[test]
fn a_killed_process_leaves_no_server_and_the_next_start_removes_its_directory() {
    let scratch = Scratch::new();
    let (mut child, pid, directory) = other("own", &scratch.0);
    eventually("a server has processes", || family(pid).len() > 3);
    let servers = family(pid);
    assert!(lives(pid), "some of the others come and go");

    // While it lives its directory is safe.
    sweep(&scratch.0);
    assert!(directory.join("data/PG_VERSION").exists());

    child.kill().unwrap();
    child.wait().unwrap();
    if cfg!(target_os = "linux") {
        eventually("all processes of its server have ended", || {
            servers.iter().all(|&pid| !lives(pid))
        });
    }
    assert!(directory.exists(), "kill -9 leaves the directory");
    let next = start(Options {
        parent: Some(scratch.0.clone()),
        ..Options::default()
    });
    assert!(!directory.exists(), "the next start removes it");
    assert!(next.directory().exists());
}

#[test]
fn the_shared_server_ends_with_a_process_that_exits() {
    let scratch = Scratch::new();
    let (mut child, pid, directory) = other("shared", &scratch.0);
    assert!(child.wait().unwrap().success());
    assert!(!lives(pid));
    assert!(!directory.exists());
}

#[test]
fn a_server_outlives_the_thread_that_started_it() {
    let server = std::thread::spawn(|| start(Options::default()))
        .join()
        .unwrap();
    // The kernel would have sent its signal when that thread ended.
    for _ in 0..10 {
        assert_eq!(ask(&server, "select 1"), "1");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn the_sweep_leaves_alone_what_is_not_a_dead_pronys() {
    let scratch = Scratch::new();
    let make = |name: &str, lock: bool| {
        let path = scratch.0.join(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        if lock {
            std::fs::write(path.join("owner.lock"), "").unwrap();
        }
        path
    };
    let dead = make("prony-pg-dead", true);
    let other_name = make("something-else", true);
    let being_made = make("prony-pg-new", false);
    let held = make("prony-pg-held", true);
    let lock = std::fs::File::open(held.join("owner.lock")).unwrap();
    lock.try_lock().unwrap();
    let aim = make("aim", true);
    let link = scratch.0.join("prony-pg-link");
    std::os::unix::fs::symlink(&aim, &link).unwrap();

    sweep(&scratch.0);
    assert!(!dead.exists());
    for path in [other_name, being_made, held, aim, link] {
        assert!(path.exists(), "{}", path.display());
    }
}
