//! The machines of a fleet: how they are reached and examined, and how the program gets there.

use crate::common::*;
use crate::fleet::{command, command_with_path, kill, parts};
use prony_test_servers::KillOnDrop;

/// The processes of `ssh` whose arguments have all of these texts.
fn processes_with(arguments: &[&str]) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("Linux").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter(|pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.starts_with("ssh\0") && arguments.iter().all(|text| line.contains(text))
        })
        .collect()
}

/// A time namespace is a machine with another clock.
#[test]
fn the_offset_of_another_clock_is_measured() {
    let bench = TestBench::loaded("fleet_clock", 1);
    let unshare = "unshare --time --monotonic 100";
    let works = Command::new("sh")
        .args(["-c", &format!("{unshare} true")])
        .status();
    if !works.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: time namespaces are not allowed here");
    }
    let arguments = "run select-only --clients 4 --threads 2 --duration 2s --json";
    let command = command_with_path(&bench, &[unshare, "env"], arguments);
    let run = parse_run(&bench.execute(command));
    assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
    let parts = parts(&run);
    for (part, offset_ns) in parts.iter().zip([100_000_000_000, 0]) {
        let bound_ns = part.round_trip_ns.div_ceil(2);
        assert!(
            part.clock_offset_ns.abs_diff(offset_ns) <= bound_ns,
            "{part:?}"
        );
        assert!(part.committed > 0);
    }
    let seconds = run.series.iter().filter(|second| second.committed > 0);
    assert_eq!(seconds.count(), 2);
}

/// An ssh server of this user on loopback, and a configuration of its clients.
struct SshServer {
    process: KillOnDrop,
    config: PathBuf,
}

impl SshServer {
    /// `None` if there is no sshd on this machine, or it does not start: as root it needs a user `sshd`.
    fn start(folder: &Path) -> Option<SshServer> {
        let program = std::env::var("PRONY_TEST_SSHD").unwrap_or("/usr/sbin/sshd".to_owned());
        let key = |name: &str| {
            let file = folder.join(name);
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(&file)
                .status();
            made.is_ok_and(|status| status.success()).then_some(file)
        };
        let (host_key, user_key) = (key("host_key")?, key("user_key")?);
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .ok()?
            .local_addr()
            .ok()?
            .port();
        let prony = Path::new(env!("CARGO_BIN_EXE_prony")).parent()?;
        let write = |name: &str, text: String| {
            let file = folder.join(name);
            std::fs::write(&file, text).expect("a file");
            file
        };
        let server_config = write(
            "sshd_config",
            format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nPidFile none\nAuthorizedKeysFile {}.pub\n\
                 StrictModes no\nPasswordAuthentication no\nSetEnv PATH={}:/usr/bin:/bin\n",
                host_key.display(),
                user_key.display(),
                prony.display()
            ),
        );
        let config = write(
            "ssh_config",
            format!(
                "Host vm*\nHostName 127.0.0.1\nPort {port}\nIdentityFile {}\nUserKnownHostsFile {}\n\
                 StrictHostKeyChecking accept-new\nBatchMode yes\n",
                user_key.display(),
                folder.join("known_hosts").display()
            ),
        );
        let process = Command::new(program)
            .args(["-D", "-e", "-f"])
            .arg(server_config)
            .spawn();
        let mut server = SshServer {
            process: KillOnDrop(process.ok()?),
            config,
        };
        for _ in 0..100 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(server);
            }
            if server.process.0.try_wait().ok()?.is_some() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        None
    }
}

#[test]
fn agents_are_reached_by_ssh() {
    let bench = TestBench::new("fleet_ssh");
    let Some(server) = SshServer::start(&bench.home) else {
        return eprintln!("skipped: no ssh server starts here");
    };
    bench.ok("load tpcb --scale 1");
    let agent = |host: &str| format!("ssh -F {} {host}", server.config.display());
    let arguments = "run tpcb --clients 4 --threads 2 --transactions 20 --json";
    let command = command_with_path(&bench, &[&agent("vm1"), &agent("vm2")], arguments);
    let run = parse_run(&bench.execute(command));
    assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
    assert_eq!(
        parts(&run).iter().map(|part| part.committed).sum::<u64>(),
        80
    );
    // The carrier of one of them ends, and is there again for the next run.
    let long = "run tpcb --clients 4 --threads 2 --warmup 0s --duration 5m";
    let mut long = command_with_path(&bench, &[&agent("vm1"), &agent("vm-lost")], long);
    let child = long.stdout(Stdio::piped()).spawn();
    wait_until(&bench.home, any_committed);
    let config = server.config.display().to_string();
    kill(&processes_with(&[&config, "vm-lost"]), "-KILL");
    let output = bench.finish(child.expect("it starts"));
    assert_eq!(output.status.code(), Some(5));
    let lost = last_run(&bench);
    assert_eq!(lost.state, RunState::Partial);
    lost.ended_because
        .unwrap_or_default()
        .assert_contains("agent 2 (")
        .assert_contains("its command was ended by signal 9");
    let again = command_with_path(&bench, &[&agent("vm1"), &agent("vm-lost")], arguments);
    ok_stdout(&bench.execute(again));
    let unknown = command_with_path(&bench, &[&agent("elsewhere.invalid")], arguments);
    assert_code(&bench.execute(unknown), 3).assert_contains("elsewhere.invalid");
}

#[test]
fn the_machines_of_a_fleet_are_examined() {
    let bench = TestBench::new("fleet_check");
    let output = bench.execute(command(&bench, "examined", 2, "fleet check"));
    // 7 if this machine is not fit for a load.
    assert!(
        matches!(output.status.code(), Some(0 | 7)),
        "{}",
        stderr_text(&output)
    );
    let stdout = stdout_text(&output);
    let rows = stdout.lines().skip(1).take_while(|line| !line.is_empty());
    let rows: Vec<&str> = rows.collect();
    assert_eq!(rows.len(), 2, "{stdout}");
    for number in [1, 2] {
        stdout.assert_contains(&format!(
            "agent {number} (env FLEET_OF_TEST=examined{number})"
        ));
    }
    assert_eq!(stdout.matches("open-files").count(), 2, "{stdout}");
    for row in rows {
        row.assert_contains("±").assert_contains("µs");
    }
    assert_code(&bench.prony("fleet check"), 2).assert_contains("no machine is named");
}

/// A folder is another machine for the program: it is not in the PATH there.
#[test]
fn the_program_is_installed_where_it_is_missing() {
    let bench = TestBench::loaded("fleet_install", 1);
    let folder = bench.home.join("vm1");
    std::fs::create_dir(&folder).expect("a folder");
    let agent = format!("env -C {} FLEET_OF_TEST=install1", folder.display());
    let run = |variable: Option<&str>| {
        let mut command =
            bench.command_with_url("run tpcb --clients 2 --transactions 5 --json --install");
        match variable {
            Some(agents) => command.env("PRONY_AGENTS", agents),
            None => command.args(["--agent", &agent]),
        };
        bench.execute(command)
    };
    for (variable, expected) in [
        (None, "installed on agent 1 (env -C"),
        // The second time it is there; the environment names the agents.
        (Some(&*agent), "agent 1 (env -C"),
    ] {
        let output = run(variable);
        let run = parse_run(&output);
        assert_eq!(parts(&run)[0].committed, 10);
        stderr_text(&output)
            .assert_contains(expected)
            .assert_contains("SHA-256 ");
    }
    let installed = std::fs::read_dir(&folder).expect("a folder").count();
    assert_eq!(installed, 1, "one copy");
    // A machine that says it is another one.
    let mut command = bench.command("run tpcb --clients 2 --transactions 5 --install");
    command.args(["--url", &bench.url, "--agent", "echo s390x;true"]);
    let output = bench.execute(command);
    assert_code(&output, 3).assert_contains("it is a machine of architecture s390x");
}
