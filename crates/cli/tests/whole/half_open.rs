//! Connections that stop answering without being closed, servers that do not come back, and signals during
//! the wait: every command ends, and reports what it leaves on the server.

use crate::common::*;
use crate::relay::Relay;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;

/// A transaction that takes longer than any grace period.
const SLEEP_SCRIPT: &str = "SELECT pg_sleep(600);\n";

/// The number of bytes that a load sends before its connections are frozen.
const BYTES_BEFORE_FREEZE: u64 = 1_000_000;

/// A relay to each shared server, PostgreSQL and MariaDB, with the URL over it and a command that loads
/// long enough to be interrupted.
fn start_relays(bench: &TestBench, name: &str) -> [(Relay, String, &'static str); 2] {
    let postgres = Relay::to_port(shared_postgres().port());
    let url = bench.url.replace(
        &format!(":{}/", shared_postgres().port()),
        &format!(":{}/", postgres.port),
    );
    let server = shared_mariadb();
    let sql = format!("create database if not exists {name}");
    connect(&server.url()).run(sql);
    let maria = Relay::to_port(server.port());
    let password = server.password().reveal();
    let maria_url = format!("mysql://prony:{password}@127.0.0.1:{}/{name}", maria.port);
    [
        (postgres, url, "load tpcb --scale 400"),
        (
            maria,
            maria_url,
            "load oltp_read_write --scale 8 -o table_size=2000000",
        ),
    ]
}

/// The load of [`start_relays`] and the other commands on a server, of the same workload.
fn commands(load: &str) -> [String; 4] {
    let workload = load.split(' ').nth(1).expect("a workload");
    [
        format!("check {workload}"),
        format!("run {workload} --duration 1s"),
        format!("clean {workload}"),
        load.to_owned(),
    ]
}

/// A command in progress, killed at the end of its test.
struct RunningCommand(Option<Child>);

impl RunningCommand {
    fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it has not ended")
    }

    fn signal(&mut self, name: &str) {
        send_signal(self.child(), name);
    }

    fn is_running(&mut self) -> bool {
        self.child().try_wait().expect("a state").is_none()
    }

    /// Waits for the end of the command, which must happen within [`WAIT_TIMEOUT`].
    fn wait(mut self) -> Output {
        wait_for("it hangs", || !(self.is_running()));
        let child = self.0.take().expect("it was there");
        child.wait_with_output().expect("it ended")
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn start_command(bench: &TestBench, arguments: &str, url: &str) -> RunningCommand {
    let mut command = bench.command(arguments);
    command.args(["--url", url]).stdin(Stdio::null());
    start_piped(command)
}

/// Starts a command with its output captured.
fn start_piped(command: Command) -> RunningCommand {
    RunningCommand(Some(spawn_piped(command)))
}

/// Waits for the end of a command; asserts that its output contains no password.
fn wait_without_password(bench: &TestBench, command: RunningCommand) -> Output {
    bench.assert_no_password(command.wait())
}

#[test]
fn a_load_over_a_frozen_connection_ends_and_reports_remaining_tables() {
    let bench = TestBench::new("dead_link");
    for (relay, url, load) in start_relays(&bench, "dead_link") {
        let child = start_command(&bench, &format!("{load} --io-timeout 1s"), &url);
        relay.wait_until_sent(BYTES_BEFORE_FREEZE);
        relay.freeze();
        let stderr = assert_code(&wait_without_password(&bench, child), 6);
        stderr.assert_contains("the server stopped answering");
        stderr.assert_contains("timeout expired");
        stderr.assert_contains("left behind: ");
        stderr.assert_contains("check that the server is up");
    }
}

/// If a proxy drops a connection without closing it, client and server wait for each other.
#[test]
fn a_load_ends_if_only_its_own_connections_are_frozen() {
    for (name, closes_server_side, message) in [
        ("dead_flow", false, "waits for this client"),
        ("gone_flow", true, "no longer has this connection"),
    ] {
        let bench = TestBench::new(name);
        for (relay, url, load) in start_relays(&bench, name) {
            let child = start_command(&bench, &format!("{load} --io-timeout 1s"), &url);
            relay.wait_until_sent(BYTES_BEFORE_FREEZE);
            if closes_server_side {
                relay.freeze_and_close_at_server()
            } else {
                relay.freeze_open_connections()
            }
            let stderr = assert_code(&wait_without_password(&bench, child), 6);
            stderr.assert_contains(message);
            stderr.assert_contains("left behind: ");
        }
    }
}

/// The session of the load waits for a lock, and its client vanishes.
#[test]
fn the_server_ends_the_sessions_of_a_killed_load() {
    let bench = TestBench::new("killed_load");
    let mut control = bench.control();
    if control.server_version() < 140_000 {
        return eprintln!("skipped: client_connection_check_interval needs PostgreSQL 14");
    }
    let mut other = bench.control();
    let create = "begin; create table pgbench_accounts (aid int)";
    other.run(create);
    let child = start_command(&bench, "load tpcb --scale 1", &bench.url);
    let waiting = "select count(*) from pg_stat_activity \
                   where datname = current_database() and wait_event_type = 'Lock'";
    let started = Instant::now();
    for (count, child) in [(1, Some(child)), (0, None)] {
        while query_number(&mut control, waiting) != count {
            assert!(started.elapsed() < WAIT_TIMEOUT, "not {count} sessions");
            std::thread::sleep(Duration::from_millis(50));
        }
        // The load is killed.
        drop(child);
    }
}

/// `--io-timeout 0s` disables the timeout: only the signal can end the load.
#[test]
fn the_first_signal_ends_a_load_over_a_frozen_connection() {
    let bench = TestBench::new("dead_signal");
    for (relay, url, load) in start_relays(&bench, "dead_signal") {
        for (name, code) in [("-INT", 130), ("-TERM", 143)] {
            let mut child = start_command(&bench, &format!("{load} --io-timeout 0s"), &url);
            relay.wait_until_sent(BYTES_BEFORE_FREEZE);
            relay.freeze();
            child.signal(name);
            let stderr = assert_code(&wait_without_password(&bench, child), code);
            stderr.assert_contains("the load was stopped");
            stderr.assert_contains("left behind: ");
            if name == "-INT" {
                break;
            }
        }
    }
}

#[test]
fn commands_end_if_the_login_is_never_answered() {
    let bench = TestBench::new("never_answers");
    for (relay, url, load) in start_relays(&bench, "never_answers") {
        relay.freeze();
        let children = commands(load).map(|arguments| start_command(&bench, &arguments, &url));
        for child in children {
            let stderr = assert_code(&wait_without_password(&bench, child), 3);
            stderr.assert_contains("timeout expired");
        }
    }
}

/// A connection pooler answers logins but no statements while its server is down.
#[test]
fn commands_end_if_the_server_answers_logins_but_no_statements() {
    let bench = TestBench::new("admits_only");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let mut open_connections = Vec::new();
        for mut client in listener.incoming().flatten() {
            let mut length = [0; 4];
            client.read_exact(&mut length).expect("a start-up message");
            let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
            client.read_exact(&mut body).expect("a start-up message");
            // AuthenticationOk, ReadyForQuery.
            let login_replies = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
            client.write_all(login_replies).expect("it reads");
            open_connections.push(client);
        }
    });
    let url = format!("postgres://u@127.0.0.1:{port}/db?sslmode=disable");
    let output = wait_without_password(
        &bench,
        start_command(&bench, "check tpcb --io-timeout 1s", &url),
    );
    let stderr = assert_code(&output, 3);
    stderr.assert_contains("the server stopped answering");
    stderr.assert_contains("timeout expired");
}

#[test]
fn the_first_signal_ends_a_wait_for_a_login() {
    let bench = TestBench::new("no_log_in");
    for (relay, url, load) in start_relays(&bench, "no_log_in") {
        relay.freeze();
        let url = if url.contains('?') {
            format!("{url}&connect_timeout=600")
        } else {
            format!("{url}?connect_timeout=600")
        };
        for arguments in commands(load) {
            let mut child = start_command(&bench, &arguments, &url);
            // The signal handlers are installed before the command connects.
            wait_for("it does not connect", || {
                connects_to(child.child().id(), relay.port)
            });
            child.signal("-INT");
            let stderr = assert_code(&wait_without_password(&bench, child), 130);
            stderr.assert_contains("interrupted");
        }
    }
}

/// Whether process `pid` has an established connection to `port` on the loopback address.
fn connects_to(pid: u32, port: u16) -> bool {
    let table = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
    let address = format!("0100007F:{port:04X}");
    let mut lines = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.any(|fields| fields.get(2) == Some(&&*address) && fields.get(3) == Some(&"01"))
}

/// Commands wait for a busy server, however short `--io-timeout` is, because the server answers a second
/// connection. A signal ends the wait.
#[test]
fn commands_wait_for_a_busy_server_until_a_signal() {
    let bench = TestBench::new("busy");
    let [(relay, url, _), _] = start_relays(&bench, "busy");
    bench.ok("load tpcb --scale 1");
    let mut lock_holder = bench.control();
    let lock = "BEGIN; LOCK TABLE pgbench_accounts IN ACCESS EXCLUSIVE MODE";
    lock_holder.run(lock);
    let mut observer = connect(&format!("{}?application_name=observer", bench.url));
    let started = Instant::now();
    // The second is the check: `clean` refuses beside sessions that execute statements.
    let children = [
        ("clean tpcb", "`prony clean tpcb --url URL`", 1),
        ("check tpcb", "a check changes nothing", 2),
    ]
    .map(|(command, message, waiting)| {
        let arguments = format!("{command} --io-timeout 500ms");
        let child = start_command(&bench, &arguments, &url);
        // Other tests use other databases of the server.
        let waiting_sql = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database \
                           WHERE NOT l.granted AND d.datname = current_database()";
        while query_number(&mut observer, waiting_sql) < waiting {
            assert!(
                started.elapsed() < WAIT_TIMEOUT,
                "the commands do not wait for the lock"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        (child, message)
    });
    // Both commands open and close second connections during the wait.
    let connections_before = relay.accepted_connections();
    while relay.accepted_connections() < connections_before + 6 {
        assert!(
            started.elapsed() < 2 * WAIT_TIMEOUT,
            "no second connection is opened"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    for (mut child, message) in children {
        assert!(child.is_running(), "the command ended early");
        child.signal("-INT");
        let stderr = assert_code(&wait_without_password(&bench, child), 130);
        stderr.assert_contains("interrupted");
        stderr.assert_contains(message);
    }
    lock_holder.run("ROLLBACK");
    assert_eq!(
        query_number(&mut observer, "SELECT count(*) FROM pgbench_accounts"),
        100_000
    );
}

#[test]
fn a_run_over_a_frozen_connection_waits_only_for_the_grace() {
    let bench = TestBench::loaded("dead_end", 1);
    let [(relay, url, _), _] = start_relays(&bench, "dead_end");
    // Long enough for the freeze to happen during the run, even on a slow machine.
    let arguments = "run tpcb --clients 2 --duration 20s --warmup 0s --grace 2s";
    let child = start_command(&bench, arguments, &url);
    wait_until(&bench.home, any_committed);
    relay.freeze();
    let output = wait_without_password(&bench, child);
    let stderr = stderr_text(&output);
    stderr.assert_contains("have not ended yet, for at most 2.00 s");
    let run = last_run(&bench);
    assert_eq!(run.measured.unfinished, 2, "{stderr}");
    // The observation after the run does not wait another grace period.
    let missing = &run.observed.expect("an observation").missing;
    assert!(
        missing
            .iter()
            .any(|observation| observation.why.contains("did not answer in time")),
        "{missing:?}"
    );
}

#[test]
fn a_closed_terminal_ends_a_run_as_sigterm_does() {
    let bench = TestBench::loaded("hung_up", 1);
    // A closing terminal sends SIGHUP more than once; systemd also sends SIGTERM, before or after it.
    for (signals, code, name) in [
        (["-HUP", "-HUP"], 129, "SIGHUP"),
        (["-HUP", "-TERM"], 129, "SIGHUP"),
        (["-TERM", "-HUP"], 143, "SIGTERM"),
    ] {
        // The run does not end within the grace, because its users sleep.
        let arguments =
            "run script --file sleep.sql --clients 2 --duration 5m --warmup 0s --grace 2s";
        let mut command = bench.command(arguments);
        bench.home.write("sleep.sql", SLEEP_SCRIPT);
        command.current_dir(&bench.home).args(["--url", &bench.url]);
        let (child, _) = start_run(command);
        let mut child = RunningCommand(Some(child));
        for signal in signals {
            child.signal(signal);
            std::thread::sleep(Duration::from_millis(200));
        }
        let output = wait_without_password(&bench, child);
        let stderr = stderr_text(&output);
        assert_eq!(output.status.code(), Some(code), "{signals:?}: {stderr}");
        let run = last_run(&bench);
        assert_eq!(run.state, RunState::Partial, "{signals:?}");
        let reason = run.ended_because.expect("a reason");
        assert!(reason.contains(name), "{signals:?}: {reason}");
    }

    // nohup starts a command with SIGHUP ignored.
    let mut command = bench.command_with_url("run tpcb --clients 2 --duration 5m --warmup 0s");
    // SAFETY: signal is safe to call between fork and exec (signal-safety(7)).
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        });
    }
    let (child, _) = start_run(command);
    let mut child = RunningCommand(Some(child));
    child.signal("-HUP");
    let mut seconds = 0;
    wait_until(&bench.home, |run| {
        seconds = seconds.max(run.series.len());
        run.series.len() >= 4
    });
    assert!(child.is_running(), "it ended after {seconds} s");
    child.signal("-TERM");
    assert_eq!(
        wait_without_password(&bench, child).status.code(),
        Some(143)
    );
}

#[test]
fn a_run_ends_if_its_throw_away_server_dies() {
    let home = TestFolder::create();
    let command = prony_command(
        "run tpcb --embedded --clients 2 --duration 10m --warmup 0s",
        &home,
    );
    let mut child = start_piped(command);
    wait_until(&home, any_committed);
    let server = find_postmaster(child.child().id());
    let sent = Command::new("kill")
        .args(["-KILL", &server.to_string()])
        .status();
    assert!(sent.expect("kill").success());
    let output = child.wait();
    assert_code(&output, 5);
    let output = prony_command("show last --json", &home)
        .output()
        .expect("it starts");
    let run = parse_run(&output);
    let reason = run.ended_because.expect("a reason");
    assert_eq!(reason, "the throw-away server has ended");
}

/// The postmaster that process `parent` started.
fn find_postmaster(parent: u32) -> u32 {
    let entries = std::fs::read_dir("/proc").expect("Linux").flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
        let stat = stat.unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default();
        stat.contains("(postgres)") && fields.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    pids.find(is_child).expect("its server")
}

#[test]
fn an_interrupted_tpcc_load_gives_one_instruction() {
    let bench = TestBench::new("one_instruction");
    let mut child = start_command(&bench, "load tpcc --scale 40 --jobs 2", &bench.url);
    let mut observer = connect(&shared_postgres().url());
    let loading_sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'one_instruction' \
                   AND query ILIKE 'copy stock %'";
    wait_for("it does not load", || {
        query_number(&mut observer, loading_sql) != 0
    });
    child.signal("-INT");
    let output = wait_without_password(&bench, child);
    assert_code(&output, 130);
    let checked = bench.prony("check tpcc");
    assert_eq!(checked.status.code(), Some(4));
    let text = stdout_text(&checked) + &stderr_text(&checked);
    // Lines are wrapped at the width of the terminal.
    let text = text.unwrapped();
    text.assert_contains("continues it");
    text.assert_contains("see load-unfinished above");
    assert_eq!(text.matches("prony load").count(), 1, "{text}");
    text.assert_lacks("load again");
    text.assert_lacks("load it again");
    connect(&shared_postgres().url()).run("DROP DATABASE one_instruction WITH (FORCE)");
}
