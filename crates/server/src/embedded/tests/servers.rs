//! Tests of starting, restarting and stopping servers, and of failed starts.

use super::super::download::{VERSION, download_package};
use super::super::find::{InstallationSource, inspect, inspect_all};
use super::super::launch::free_port;
use super::super::privileges::{effective_uid, server_user};
use super::super::{EmbeddedOptions, EmbeddedPostgres, Error, Installation, Package, find};
use super::{TestFolder, eventually, is_alive, owner, psql, query, start_server};
use crate::control::StopSignal;
use prony_assertions::TextAssertions;
use prony_test_servers::{FrozenServer, children, shared_postgres};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn a_server_listens_on_socket_and_tcp_with_durable_defaults() {
    let server = start_server(EmbeddedOptions::default());
    assert_eq!(query(&server, "show server_encoding"), "UTF8");
    assert_eq!(query(&server, "show lc_collate"), "C");
    for name in ["fsync", "synchronous_commit", "full_page_writes"] {
        assert_eq!(query(&server, &format!("show {name}")), "on", "{name}");
    }
    let password = Some(server.password().reveal());
    let url = format!("postgresql://postgres@127.0.0.1:{}/postgres", server.port());
    let output = psql(&url, password, "select inet_server_addr()");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "127.0.0.1");
    let rejected = psql(&url, Some("wrong"), "select 1");
    assert!(!rejected.status.success(), "TCP must require the password");
    let secret = server.tcp_url_with_password();
    assert!(psql(secret.reveal(), None, "select 1").status.success());
    assert!(!format!("{server:?}").contains(server.password().reveal()));
    assert!(!server.url().contains(server.password().reveal()));
}

#[test]
fn options_reach_the_server() {
    let mut options = EmbeddedOptions::default()
        .set("work_mem", "7MB")
        .set("application_name", "it's");
    options.max_connections = 17;
    options
        .hba_lines
        .push("host all nobody 127.0.0.1/32 reject".into());
    options.files.push(("extra.txt".into(), b"hello".to_vec()));
    let server = start_server(options);
    assert_eq!(query(&server, "show max_connections"), "17");
    assert_eq!(query(&server, "show work_mem"), "7MB");
    assert_eq!(query(&server, "show shared_buffers"), "16MB");
    assert_eq!(query(&server, "select pg_read_file('extra.txt')"), "hello");
    let method = "select auth_method from pg_hba_file_rules order by line_number limit 1";
    assert_eq!(query(&server, method), "reject");
}

#[test]
fn a_server_does_not_run_as_root() {
    let server = start_server(EmbeddedOptions::default());
    let pid = server.pid().expect("it runs");
    match server_user().expect("a user") {
        None => assert_eq!(owner(pid), effective_uid()),
        Some(user) => {
            assert_ne!(user.uid, 0);
            assert_eq!(owner(pid), user.uid);
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let groups = status.lines().find(|l| l.starts_with("Groups:")).unwrap();
            assert_eq!(groups.trim_end(), "Groups:", "root's groups must be gone");
        }
    }
}

#[test]
fn a_server_runs_in_its_own_session() {
    let server = start_server(EmbeddedOptions::default());
    let pid = server.pid().expect("it runs") as i32;
    // SAFETY: plain system calls on values.
    let (session, own_session) = unsafe { (libc::getsid(pid), libc::getsid(0)) };
    assert_eq!(session, pid, "Ctrl-C must not reach the server");
    assert_ne!(session, own_session);
}

#[test]
fn process_and_directory_are_gone_after_drop() {
    let server = start_server(EmbeddedOptions::default());
    let (pid, directory) = (server.pid().unwrap(), server.directory().to_path_buf());
    assert!(directory.join("data/PG_VERSION").exists());
    drop(server);
    assert!(!is_alive(pid));
    assert!(!directory.exists());
}

#[test]
fn a_restart_keeps_data_port_and_url() {
    let server = start_server(EmbeddedOptions::default());
    let url = server.url();
    query(&server, "create table t as select 42 as a");
    server.restart().expect("it restarts");
    assert_eq!(query(&server, "select a from t"), "42");
    let pid = server.pid().unwrap();
    server.kill();
    assert!(!is_alive(pid));
    assert_eq!(server.pid(), None);
    assert!(!psql(&url, None, "select 1").status.success());
    server.restart().expect("it recovers");
    assert_eq!(query(&server, "select a from t"), "42");
    assert_eq!(server.url(), url);
    server.stop();
    server.stop();
}

/// Files of a server's shared memory, and the id of its System V segment.
#[cfg(target_os = "linux")]
fn shared_memory(server: &EmbeddedPostgres) -> (Vec<std::path::PathBuf>, i32) {
    let maps = format!("/proc/{}/maps", server.pid().unwrap());
    let mut files: Vec<_> = std::fs::read_to_string(maps)
        .unwrap()
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .filter(|path| path.starts_with("/dev/shm/PostgreSQL"))
        .map(std::path::PathBuf::from)
        .collect();
    files.dedup();
    let pid_file = std::fs::read_to_string(server.data_dir().join("postmaster.pid")).unwrap();
    let key_and_id = pid_file.lines().nth(6).unwrap();
    let id = key_and_id.split_whitespace().nth(1).unwrap();
    (files, id.parse().unwrap())
}

#[cfg(target_os = "linux")]
fn shared_memory_segment_exists(id: i32) -> bool {
    // SAFETY: shmid_ds is plain data, and IPC_STAT only fills it.
    unsafe {
        let mut info: libc::shmid_ds = std::mem::zeroed();
        libc::shmctl(id, libc::IPC_STAT, &mut info) == 0
    }
}

#[test]
#[cfg(target_os = "linux")]
fn dropping_a_killed_server_removes_its_shared_memory() {
    let server = start_server(EmbeddedOptions::default());
    let (files, segment) = shared_memory(&server);
    assert!(!files.is_empty());
    server.kill();
    assert!(files.iter().all(|file| file.exists()), "they remain");
    assert!(shared_memory_segment_exists(segment));
    drop(server);
    assert!(files.iter().all(|file| !file.exists()), "{files:?}");
    assert!(!shared_memory_segment_exists(segment));
}

#[test]
fn a_frozen_server_does_not_answer_until_thawed() {
    let server = start_server(EmbeddedOptions::default());
    let postmaster = server.pid().unwrap();
    let frozen = FrozenServer::new(postmaster);
    let state = || std::fs::read_to_string(format!("/proc/{postmaster}/stat")).unwrap();
    eventually("the server stops", || state().contains(") T "));
    assert!(!children(postmaster).is_empty());
    drop(frozen);
    assert_eq!(query(&server, "select 1"), "1");
    drop(server);
    assert!(!is_alive(postmaster));
}

#[test]
fn a_requested_port_in_use_is_an_error_and_a_random_one_is_replaced() {
    let first_server = start_server(EmbeddedOptions::default());
    let options = EmbeddedOptions {
        port: Some(first_server.port()),
        ..EmbeddedOptions::default()
    };
    let installation = find().unwrap();
    let problem = EmbeddedPostgres::start(&installation, &options).expect_err("the port is taken");
    let text = problem.to_string();
    text.assert_contains("Address already in use");

    // The port that is tried first is taken.
    let second_server =
        EmbeddedPostgres::prepare(&installation, &EmbeddedOptions::default()).unwrap();
    let mut ports_tried = 0;
    let outcome = second_server.launch(&mut || {
        ports_tried += 1;
        if ports_tried == 1 { Ok(first_server.port()) } else { free_port() }
    });
    outcome.expect("it tries another port");
    assert!(ports_tried >= 2, "{ports_tried}");
    assert_ne!(first_server.port(), second_server.port());
    assert_eq!(query(&second_server, "select 1"), "1");
}

#[test]
fn an_invalid_setting_shows_the_servers_message() {
    let installation = find().unwrap();
    let options = EmbeddedOptions::default().set("shared_buffers", "a lot");
    let problem = EmbeddedPostgres::start(&installation, &options).expect_err("not a size");
    let text = problem.to_string();
    text.assert_contains("shared_buffers");
    text.assert_contains("a lot");
}

#[test]
fn an_unusable_parent_folder_is_reported() {
    let installation = find().unwrap();
    for parent in ["/no/such/place", "relative", "/var/tmp/with blank"] {
        let options = EmbeddedOptions {
            parent_folder: Some(parent.into()),
            ..EmbeddedOptions::default()
        };
        let problem = EmbeddedPostgres::start(&installation, &options).expect_err(parent);
        problem.to_string().assert_contains(parent);
    }
    let long_path = format!("/var/tmp/{}", "x".repeat(80));
    let options = EmbeddedOptions {
        parent_folder: Some(long_path.into()),
        ..EmbeddedOptions::default()
    };
    let problem = EmbeddedPostgres::start(&installation, &options).expect_err("too long");
    problem.to_string().assert_contains("too long");
}

/// Writes shell scripts in place of the two programs.
fn write_scripts(folder: &Path, initdb: &str, postgres: &str) {
    for (name, body) in [("initdb", initdb), ("postgres", postgres)] {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_broken_installation_is_reported() {
    let scratch = TestFolder::new();
    let user = server_user().unwrap();
    let inspect_scripts = || inspect(&scratch.0, InstallationSource::Path, user.as_ref());
    assert_eq!(
        inspect_scripts(),
        Err("it does not contain postgres".to_owned())
    );

    let version = "echo 'postgres (PostgreSQL) 17.2'";
    write_scripts(
        &scratch.0,
        version,
        "echo 'libfoo.so: missing' >&2; exit 127",
    );
    let reason = inspect_scripts().expect_err("it does not run");
    reason.assert_contains("libfoo.so: missing");

    write_scripts(&scratch.0, version, "echo 'postgres (PostgreSQL) 9.6.24'");
    let reason = inspect_scripts().expect_err("too old");
    reason.assert_contains("9.6 is too old");

    let broken = "test \"$1\" = --version && echo 'postgres (PostgreSQL) 17.2' && exit; echo 'no disk' >&2; exit 1";
    write_scripts(&scratch.0, broken, version);
    let installation = inspect_scripts().expect("it prints its version");
    let problem = EmbeddedPostgres::start(&installation, &EmbeddedOptions::default())
        .expect_err("initdb fails");
    assert!(matches!(problem, Error::Initdb { .. }), "{problem}");
    problem.to_string().assert_contains("no disk");

    let removed = Installation {
        bin_dir: scratch.0.join("gone"),
        ..installation
    };
    let problem =
        EmbeddedPostgres::start(&removed, &EmbeddedOptions::default()).expect_err("no programs");
    assert!(matches!(problem, Error::Spawn { .. }), "{problem}");
}

/// The signal arrives while initdb runs, or while the server starts.
#[test]
fn a_signal_interrupts_a_start() {
    let print_version = "test \"$1\" = --version && echo 'postgres (PostgreSQL) 17.2' && exit";
    let wait_forever = format!("{print_version}; : >${{0%/*}}/ready; while :; do sleep 0.1; done");
    let create_data = format!("{print_version}; mkdir -p \"$2\" && : >\"$2/postgresql.conf\"");
    for (initdb, postgres) in [
        (&wait_forever, print_version),
        (&create_data, wait_forever.as_str()),
    ] {
        let scratch = TestFolder::new();
        std::fs::set_permissions(&scratch.0, std::fs::Permissions::from_mode(0o777)).unwrap();
        write_scripts(&scratch.0, initdb, postgres);
        let user = server_user().unwrap();
        let installation = inspect(&scratch.0, InstallationSource::Path, user.as_ref()).unwrap();
        let parent = TestFolder::new();
        let signal = Arc::new(AtomicUsize::new(0));
        let options = EmbeddedOptions {
            stop: StopSignal::watching(Arc::clone(&signal)),
            parent_folder: Some(parent.0.clone()),
            start_timeout: Duration::from_secs(600),
            ..EmbeddedOptions::default()
        };
        let ready = scratch.0.join("ready");
        let starter = std::thread::spawn(move || EmbeddedPostgres::start(&installation, &options));
        eventually("the program runs", || ready.exists());
        signal.store(15, Ordering::Relaxed);
        eventually("the start ends", || starter.is_finished());
        let problem = starter.join().unwrap().expect_err("it was never ready");
        assert!(matches!(problem, Error::Interrupted), "{problem}");
        assert_eq!(std::fs::read_dir(&parent.0).unwrap().count(), 0);
    }
}

#[test]
fn a_folder_closed_to_the_servers_user_is_reported() {
    let Some(user) = server_user().unwrap() else {
        return; // Only root runs the server as a different user.
    };
    let scratch = TestFolder::new();
    let closed = scratch.0.join("closed");
    std::fs::create_dir(&closed).unwrap();
    write_scripts(&closed, "echo x", "echo x");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut unusable = Vec::new();
    let installations = inspect_all(
        vec![(closed.clone(), InstallationSource::Path)],
        Some(&user),
        &mut unusable,
    );
    assert!(installations.is_empty());
    assert_eq!(unusable.len(), 1);
    unusable[0].assert_contains("must be able to access every folder");
    assert!(unusable[0].contains(&user.name), "{unusable:?}");
}

#[test]
fn the_newest_version_comes_first_and_links_are_not_duplicates() {
    let scratch = TestFolder::new();
    let mut folders = Vec::new();
    for (name, version) in [("a", "14.9"), ("b", "17.1"), ("c", "16.3"), ("d", "17.1")] {
        let folder = scratch.0.join(name);
        std::fs::create_dir(&folder).unwrap();
        let script = format!("echo 'postgres (PostgreSQL) {version}'");
        write_scripts(&folder, &script, &script);
        folders.push((folder, InstallationSource::KnownFolder));
    }
    let links = scratch.0.join("links");
    std::fs::create_dir(&links).unwrap();
    for name in ["postgres", "initdb"] {
        std::os::unix::fs::symlink(scratch.0.join("b").join(name), links.join(name)).unwrap();
    }
    folders.insert(0, (links, InstallationSource::Path));
    let mut unusable = Vec::new();
    let installations = inspect_all(folders, server_user().unwrap().as_ref(), &mut unusable);
    let order: Vec<&str> = installations
        .iter()
        .map(|i| i.bin_dir.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(order, ["b", "d", "c", "a"], "{unusable:?}");
    assert_eq!(installations[0].source, InstallationSource::Path);
}

#[test]
fn threads_share_one_server() {
    let pid_in_this_thread = shared_postgres().pid();
    let pid_in_other_thread = std::thread::spawn(|| shared_postgres().pid())
        .join()
        .unwrap();
    assert_eq!(pid_in_this_thread, pid_in_other_thread);
}

#[test]
#[ignore = "downloads 15 to 33 MB: run it by hand after changing the pinned version"]
fn the_real_download_runs() {
    let scratch = TestFolder::new();
    let package = Package::for_this_machine().expect("a known machine");
    let mut calls = 0_u64;
    let installation = download_package(
        &package,
        &package.url(),
        &scratch.0,
        &StopSignal::default(),
        &mut |_| calls += 1,
    )
    .expect("a valid download");
    assert!(calls > 0);
    let server =
        EmbeddedPostgres::start(&installation, &EmbeddedOptions::default()).expect("it starts");
    let version = query(&server, "show server_version");
    assert_eq!(version, installation.version.to_string());
    assert_eq!(format!("{version}.0"), VERSION);
}
