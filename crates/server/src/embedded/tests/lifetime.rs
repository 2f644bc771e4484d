//! Tests that no server or directory outlives Prony, even if Prony is killed.

use super::super::EmbeddedOptions;
use super::super::directory::{remove_contents, remove_stale_directories};
use super::{TestFolder, eventually, is_alive, process_tree, query, start_server};
use prony_test_servers::shared_postgres;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Environment variable that makes the test binary act as the process that is killed or exits.
const ROLE_VARIABLE: &str = "PRONY_TEST_ROLE";

/// Not a test: the code of the process that the tests of this file start.
#[test]
#[ignore = "the tests of this file run it in a separate process"]
fn child_process() {
    let parent_folder = std::env::var_os("PRONY_TEST_PARENT").map(PathBuf::from);
    match std::env::var(ROLE_VARIABLE).as_deref() {
        Ok("own") => {
            let server = start_server(EmbeddedOptions {
                parent_folder,
                ..EmbeddedOptions::default()
            });
            print_server(server.pid().unwrap(), server.directory());
            std::thread::sleep(std::time::Duration::from_secs(600));
        }
        Ok("shared") => print_server(
            shared_postgres().pid().unwrap(),
            shared_postgres().directory(),
        ),
        _ => {}
    }
}

fn print_server(pid: u32, directory: &Path) {
    // To stderr, which the test harness does not capture here.
    eprintln!("server {pid} {}", directory.display());
}

/// Starts this test binary again in a role. Returns the process, and the process id and directory of
/// its server.
fn start_child_process(role: &str, parent: &Path) -> (Child, u32, PathBuf) {
    let name = "embedded::tests::lifetime::child_process";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(ROLE_VARIABLE, role)
        .env("PRONY_TEST_PARENT", parent)
        .env("TMPDIR", parent)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines
        .find_map(|line| line.unwrap().strip_prefix("server ").map(str::to_owned))
        .expect("a line of print_server");
    let (pid, directory) = line.split_once(' ').unwrap();
    (child, pid.parse().unwrap(), PathBuf::from(directory))
}

#[test]
fn a_killed_process_leaves_no_server_and_the_next_start_removes_its_directory() {
    let scratch = TestFolder::new();
    let (mut child, pid, directory) = start_child_process("own", &scratch.0);
    eventually("a server has processes", || process_tree(pid).len() > 3);
    let servers = process_tree(pid);
    assert!(is_alive(pid), "the postmaster is alive");

    // The directory of a live process stays.
    remove_stale_directories(&scratch.0);
    assert!(directory.join("data/PG_VERSION").exists());

    child.kill().unwrap();
    child.wait().unwrap();
    if cfg!(target_os = "linux") {
        eventually("all processes of its server have ended", || {
            servers.iter().all(|&pid| !is_alive(pid))
        });
    }
    assert!(directory.exists(), "kill -9 leaves the directory");
    let next_server = start_server(EmbeddedOptions {
        parent_folder: Some(scratch.0.clone()),
        ..EmbeddedOptions::default()
    });
    assert!(!directory.exists(), "the next start removes it");
    assert!(next_server.directory().exists());
}

#[test]
fn the_shared_server_ends_with_a_process_that_exits() {
    let scratch = TestFolder::new();
    let (mut child, pid, directory) = start_child_process("shared", &scratch.0);
    assert!(child.wait().unwrap().success());
    assert!(!is_alive(pid));
    assert!(!directory.exists());
}

#[test]
fn a_server_outlives_the_thread_that_started_it() {
    let server = std::thread::spawn(|| start_server(EmbeddedOptions::default()))
        .join()
        .unwrap();
    // The kernel would send the parent-death signal when that thread ends.
    for _ in 0..10 {
        assert_eq!(query(&server, "select 1"), "1");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn only_directories_of_dead_processes_are_removed() {
    let scratch = TestFolder::new();
    let make_directory = |name: &str, has_lock_file: bool| {
        let path = scratch.0.join(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        if has_lock_file {
            std::fs::write(path.join("owner.lock"), "").unwrap();
        }
        path
    };
    let dead = make_directory("prony-pg-dead", true);
    let other_name = make_directory("something-else", true);
    let without_lock_file = make_directory("prony-pg-new", false);
    let locked = make_directory("prony-pg-held", true);
    let lock = std::fs::File::open(locked.join("owner.lock")).unwrap();
    lock.try_lock().unwrap();
    let link_target = make_directory("link-target", true);
    let link = scratch.0.join("prony-pg-link");
    std::os::unix::fs::symlink(&link_target, &link).unwrap();

    // A process that is killed while it removes its directory leaves the lock file.
    let killed = make_directory("prony-pg-killed", true);
    std::fs::create_dir_all(killed.join("data/base")).unwrap();
    std::fs::write(killed.join("log"), "").unwrap();
    remove_contents(&killed).unwrap();
    let left: Vec<_> = std::fs::read_dir(&killed).unwrap().flatten().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].file_name(), "owner.lock");

    remove_stale_directories(&scratch.0);
    assert!(!killed.exists());
    assert!(!dead.exists());
    for path in [other_name, without_lock_file, locked, link_target, link] {
        assert!(path.exists(), "{}", path.display());
    }
}
