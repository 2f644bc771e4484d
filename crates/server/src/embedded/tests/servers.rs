//! Servers start, answer, refuse, restart and explain themselves.

use super::super::download::fetch;
use super::super::find::{Source, inspect, survey};
use super::super::launch::free_port;
use super::super::privileges::{effective_uid, server_user};
use super::super::{Error, Installation, Options, Package, Server, find, shared};
use super::{Scratch, ask, eventually, lives, owner, process, psql, start};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

#[test]
fn it_answers_by_socket_and_by_tcp_and_keeps_the_durable_defaults() {
    let server = start(Options::default());
    assert_eq!(ask(&server, "show server_encoding"), "UTF8");
    assert_eq!(ask(&server, "show lc_collate"), "C");
    for name in ["fsync", "synchronous_commit", "full_page_writes"] {
        assert_eq!(ask(&server, &format!("show {name}")), "on", "{name}");
    }
    let password = Some(server.password().reveal());
    let output = psql(&server.tcp_url(), password, "select inet_server_addr()");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "127.0.0.1");
    let wrong = psql(&server.tcp_url(), Some("wrong"), "select 1");
    assert!(!wrong.status.success(), "TCP must ask for the password");
    let secret = server.tcp_url_with_password();
    assert!(psql(secret.reveal(), None, "select 1").status.success());
    assert!(!format!("{server:?}").contains(server.password().reveal()));
    assert!(!server.url().contains(server.password().reveal()));
}

#[test]
fn options_reach_the_server() {
    let mut options = Options::default()
        .set("work_mem", "7MB")
        .set("application_name", "it's");
    options.max_connections = 17;
    options
        .hba
        .push("host all nobody 127.0.0.1/32 reject".into());
    options.files.push(("extra.txt".into(), b"hello".to_vec()));
    let server = start(options);
    assert_eq!(ask(&server, "show max_connections"), "17");
    assert_eq!(ask(&server, "show work_mem"), "7MB");
    assert_eq!(ask(&server, "show shared_buffers"), "16MB");
    assert_eq!(ask(&server, "select pg_read_file('extra.txt')"), "hello");
    let first = "select auth_method from pg_hba_file_rules order by line_number limit 1";
    assert_eq!(ask(&server, first), "reject");
}

#[test]
fn as_root_it_runs_as_another_user() {
    let server = start(Options::default());
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
fn it_leads_a_session_of_its_own() {
    let server = start(Options::default());
    let pid = server.pid().expect("it runs") as i32;
    // SAFETY: plain system calls on values.
    let (session, ours) = unsafe { (libc::getsid(pid), libc::getsid(0)) };
    assert_eq!(session, pid, "Ctrl-C at the terminal must not reach it");
    assert_ne!(session, ours);
}

#[test]
fn nothing_is_left_after_drop() {
    let server = start(Options::default());
    let (pid, directory) = (server.pid().unwrap(), server.directory().to_path_buf());
    assert!(directory.join("data/PG_VERSION").exists());
    drop(server);
    assert!(!lives(pid));
    assert!(!directory.exists());
}

#[test]
fn a_restart_keeps_data_port_and_url() {
    let server = start(Options::default());
    let url = server.url();
    ask(&server, "create table t as select 42 as a");
    server.restart().expect("it restarts");
    assert_eq!(ask(&server, "select a from t"), "42");
    let before = server.pid().unwrap();
    server.kill();
    assert!(!lives(before));
    assert_eq!(server.pid(), None);
    assert!(!psql(&url, None, "select 1").status.success());
    server.restart().expect("it recovers");
    assert_eq!(ask(&server, "select a from t"), "42");
    assert_eq!(server.url(), url);
    server.stop();
    server.stop();
    assert!(matches!(server.freeze(), Err(Error::NotRunning)));
}

/// Shared memory of a server by name, and whether the System V segment of its lock exists.
#[cfg(target_os = "linux")]
fn shared_memory(server: &Server) -> (Vec<std::path::PathBuf>, i32) {
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
fn segment_exists(id: i32) -> bool {
    // SAFETY: shmid_ds is plain data, and IPC_STAT only fills it.
    unsafe {
        let mut about: libc::shmid_ds = std::mem::zeroed();
        libc::shmctl(id, libc::IPC_STAT, &mut about) == 0
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_server_leaves_no_shared_memory_in_the_end() {
    let server = start(Options::default());
    let (files, segment) = shared_memory(&server);
    assert!(!files.is_empty());
    server.kill();
    assert!(files.iter().all(|file| file.exists()), "a kill leaves it");
    assert!(segment_exists(segment));
    drop(server);
    assert!(files.iter().all(|file| !file.exists()), "{files:?}");
    assert!(!segment_exists(segment));
}

#[test]
fn a_frozen_server_says_nothing_until_thawed() {
    let server = start(Options::default());
    server.freeze().expect("it runs");
    let postmaster = server.pid().unwrap();
    let state = || std::fs::read_to_string(format!("/proc/{postmaster}/stat")).unwrap();
    if Path::new("/proc/self").exists() {
        eventually("stopped", || state().contains(") T "));
        assert!(!process::children(postmaster).is_empty());
    }
    server.thaw();
    assert_eq!(ask(&server, "select 1"), "1");
    // A frozen one is also stopped in good time.
    server.freeze().expect("it runs");
    drop(server);
    assert!(!lives(postmaster));
}

#[test]
fn a_taken_port_is_told_when_asked_for_and_avoided_when_not() {
    let first = start(Options::default());
    let options = Options {
        port: Some(first.port()),
        ..Options::default()
    };
    let installation = find().unwrap();
    let problem = Server::start(&installation, &options).expect_err("the port is taken");
    let text = problem.to_string();
    assert!(text.contains("Address already in use"), "{text}");

    // The first port on offer is taken in the moment between choice and use.
    let second = Server::prepare(&installation, &Options::default()).unwrap();
    let mut offers = 0;
    let outcome = second.launch(&mut || {
        offers += 1;
        if offers == 1 {
            Ok(first.port())
        } else {
            free_port()
        }
    });
    outcome.expect("it tries another port");
    assert!(offers >= 2, "{offers}");
    assert_ne!(first.port(), second.port());
    assert_eq!(ask(&second, "select 1"), "1");
}

#[test]
fn a_bad_setting_shows_what_the_server_said() {
    let installation = find().unwrap();
    let options = Options::default().set("shared_buffers", "a lot");
    let problem = Server::start(&installation, &options).expect_err("not a size");
    let text = problem.to_string();
    assert!(text.contains("shared_buffers"), "{text}");
    assert!(text.contains("a lot"), "{text}");
}

#[test]
fn an_impossible_place_is_told() {
    let installation = find().unwrap();
    for parent in ["/no/such/place", "relative", "/var/tmp/with blank"] {
        let options = Options {
            parent: Some(parent.into()),
            ..Options::default()
        };
        let problem = Server::start(&installation, &options).expect_err(parent);
        assert!(problem.to_string().contains(parent), "{problem}");
    }
    let long = format!("/var/tmp/{}", "x".repeat(80));
    let options = Options {
        parent: Some(long.into()),
        ..Options::default()
    };
    let problem = Server::start(&installation, &options).expect_err("too long");
    assert!(problem.to_string().contains("too long"), "{problem}");
}

/// A folder with scripts in place of the programs.
fn made_up(folder: &Path, initdb: &str, postgres: &str) {
    for (name, body) in [("initdb", initdb), ("postgres", postgres)] {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_broken_installation_is_told_clearly() {
    let scratch = Scratch::new();
    let user = server_user().unwrap();
    let look = || inspect(&scratch.0, Source::Path, user.as_ref());
    assert_eq!(look(), Err("it holds no postgres".to_owned()));

    let version = "echo 'postgres (PostgreSQL) 17.2'";
    made_up(
        &scratch.0,
        version,
        "echo 'libfoo.so: missing' >&2; exit 127",
    );
    let reason = look().expect_err("it does not run");
    assert!(reason.contains("libfoo.so: missing"), "{reason}");

    made_up(&scratch.0, version, "echo 'postgres (PostgreSQL) 9.6.24'");
    let reason = look().expect_err("too old");
    assert!(reason.contains("9.6 is too old"), "{reason}");

    let broken = "test \"$1\" = --version && echo 'postgres (PostgreSQL) 17.2' && exit; echo 'no disk' >&2; exit 1";
    made_up(&scratch.0, broken, version);
    let installation = look().expect("it says its version");
    let problem = Server::start(&installation, &Options::default()).expect_err("initdb fails");
    assert!(matches!(problem, Error::Initdb { .. }), "{problem}");
    assert!(problem.to_string().contains("no disk"), "{problem}");

    let gone = Installation {
        bin_dir: scratch.0.join("gone"),
        ..installation
    };
    let problem = Server::start(&gone, &Options::default()).expect_err("no programs");
    assert!(matches!(problem, Error::Spawn { .. }), "{problem}");
}

#[test]
fn a_folder_closed_to_the_servers_user_is_told() {
    let Some(user) = server_user().unwrap() else {
        return; // Only root has another user to give the server to.
    };
    let scratch = Scratch::new();
    let closed = scratch.0.join("closed");
    std::fs::create_dir(&closed).unwrap();
    made_up(&closed, "echo x", "echo x");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut tried = Vec::new();
    let found = survey(
        vec![(closed.clone(), Source::Path)],
        Some(&user),
        &mut tried,
    );
    assert!(found.is_empty());
    assert_eq!(tried.len(), 1);
    assert!(tried[0].contains("must be open to that user"), "{tried:?}");
    assert!(tried[0].contains(&user.name), "{tried:?}");
}

#[test]
fn the_newest_comes_first_and_links_count_once() {
    let scratch = Scratch::new();
    let mut folders = Vec::new();
    for (name, version) in [("a", "14.9"), ("b", "17.1"), ("c", "16.3"), ("d", "17.1")] {
        let folder = scratch.0.join(name);
        std::fs::create_dir(&folder).unwrap();
        let say = format!("echo 'postgres (PostgreSQL) {version}'");
        made_up(&folder, &say, &say);
        folders.push((folder, Source::UsualFolder));
    }
    let links = scratch.0.join("links");
    std::fs::create_dir(&links).unwrap();
    for name in ["postgres", "initdb"] {
        std::os::unix::fs::symlink(scratch.0.join("b").join(name), links.join(name)).unwrap();
    }
    folders.insert(0, (links, Source::Path));
    let mut tried = Vec::new();
    let found = survey(folders, server_user().unwrap().as_ref(), &mut tried);
    let order: Vec<&str> = found
        .iter()
        .map(|i| i.bin_dir.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(order, ["b", "d", "c", "a"], "{tried:?}");
    assert_eq!(found[0].source, Source::Path);
}

#[test]
fn the_shared_server_is_one() {
    let here = shared().pid();
    let there = std::thread::spawn(|| shared().pid()).join().unwrap();
    assert_eq!(here, there);
    assert_eq!(ask(shared(), "select 1"), "1");
}

#[test]
#[ignore = "needs the network and 15 to 33 MB: run it by hand after a change of the pinned version"]
fn the_real_download_runs() {
    let scratch = Scratch::new();
    let package = Package::for_this_machine().expect("a known machine");
    let mut calls = 0_u64;
    let installation = fetch(&package, &package.url(), &scratch.0, &mut |_| calls += 1)
        .expect("it arrives, is the one we know, and unpacks");
    assert!(calls > 0);
    let server = Server::start(&installation, &Options::default()).expect("it starts");
    let said = ask(&server, "show server_version");
    assert_eq!(said, installation.version.to_string());
    assert_eq!(format!("{said}.0"), package.version);
}
