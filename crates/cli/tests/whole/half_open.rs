//! Links that go dead without being closed, servers that go away for good, and signals meanwhile: every
//! command ends, and reports what it leaves behind.
//!
//! Longer than 400 lines: every command faces the same dead links.

use crate::common::{
    Bench, WAIT_TIMEOUT, control, document, last, number, ok, program, signal, stderr_text, until,
};
use crate::relay::Relay;
use prony_server::embedded::{shared_mariadb, shared_postgres};
use prony_store::RunState;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A transaction that takes longer than a grace.
const SLEEPS: &str = "SELECT pg_sleep(600);\n";

/// Bytes that a load sends before the link goes dead.
const SENT: u64 = 1_000_000;

/// The shared servers behind a relay: PostgreSQL and MariaDB. A load by either workload takes long.
fn relayed(bench: &Bench, name: &str) -> [(Relay, String, &'static str); 2] {
    let postgres = Relay::to(shared_postgres().port());
    let url = bench.url.replace(
        &format!(":{}/", shared_postgres().port()),
        &format!(":{}/", postgres.port),
    );
    let server = shared_mariadb();
    let sql = format!("create database if not exists {name}");
    control(&server.url()).execute(&sql).expect("a database");
    let maria = Relay::to(server.port());
    let password = server.password().reveal();
    let other = format!("mysql://prony:{password}@127.0.0.1:{}/{name}", maria.port);
    [
        (postgres, url, "load tpcb --scale 400"),
        (
            maria,
            other,
            "load oltp_read_write --scale 8 -o table_size=2000000",
        ),
    ]
}

/// A command in progress, killed at the end of its test.
struct Running(Option<Child>);

impl Running {
    fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it has not ended")
    }

    fn signal(&mut self, name: &str) {
        signal(self.child(), name);
    }

    /// Whether it is still running.
    fn goes_on(&mut self) -> bool {
        self.child().try_wait().expect("a state").is_none()
    }

    /// Waits for its end. One that runs longer than anything here may is killed.
    fn ended(mut self) -> Output {
        let begun = Instant::now();
        while self.goes_on() {
            assert!(begun.elapsed() < WAIT_TIMEOUT, "it hangs");
            std::thread::sleep(Duration::from_millis(50));
        }
        let child = self.0.take().expect("it was there");
        child.wait_with_output().expect("it ended")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn start(bench: &Bench, words: &str, url: &str) -> Running {
    let mut command = bench.command(words);
    command.args(["--url", url]).stdin(Stdio::null());
    piped(command)
}

fn piped(mut command: Command) -> Running {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Running(Some(command.spawn().expect("it starts")))
}

fn ended(bench: &Bench, running: Running) -> Output {
    bench.assert_no_password(running.ended())
}

#[test]
fn a_load_over_a_dead_link_ends_and_reports_what_it_left_behind() {
    let bench = Bench::new("dead_link");
    for (relay, url, load) in relayed(&bench, "dead_link") {
        let child = start(&bench, &format!("{load} --io-timeout 1s"), &url);
        relay.until_sent(SENT);
        relay.freeze();
        let output = ended(&bench, child);
        let stderr = stderr_text(&output);
        assert_eq!(output.status.code(), Some(6), "{stderr}");
        assert!(stderr.contains("the server stopped answering"), "{stderr}");
        assert!(stderr.contains("timeout expired"), "{stderr}");
        assert!(stderr.contains("left behind: "), "{stderr}");
        assert!(stderr.contains("check that the server is up"), "{stderr}");
    }
}

/// A proxy that drops one connection on one side leaves both ends waiting for each other.
#[test]
fn a_load_ends_if_only_its_own_connections_are_dead() {
    for (name, closes, words) in [
        ("dead_flow", false, "waits for this client"),
        ("gone_flow", true, "no longer has this connection"),
    ] {
        let bench = Bench::new(name);
        for (relay, url, load) in relayed(&bench, name) {
            let child = start(&bench, &format!("{load} --io-timeout 1s"), &url);
            relay.until_sent(SENT);
            match closes {
                false => relay.forget(),
                true => relay.forget_and_close(),
            }
            let output = ended(&bench, child);
            let stderr = stderr_text(&output);
            assert_eq!(output.status.code(), Some(6), "{stderr}");
            assert!(stderr.contains(words), "{stderr}");
            assert!(stderr.contains("left behind: "), "{stderr}");
        }
    }
}

/// Without a limit for silence, so that nothing else could end them.
#[test]
fn the_first_signal_ends_a_load_over_a_dead_link() {
    let bench = Bench::new("dead_signal");
    for (relay, url, load) in relayed(&bench, "dead_signal") {
        for (name, code) in [("-INT", 130), ("-TERM", 143)] {
            let mut child = start(&bench, &format!("{load} --io-timeout 0s"), &url);
            relay.until_sent(SENT);
            relay.freeze();
            child.signal(name);
            let output = ended(&bench, child);
            let stderr = stderr_text(&output);
            assert_eq!(output.status.code(), Some(code), "{stderr}");
            assert!(stderr.contains("the load was stopped"), "{stderr}");
            assert!(stderr.contains("left behind: "), "{stderr}");
            if name == "-INT" {
                break;
            }
        }
    }
}

#[test]
fn commands_give_up_on_a_relay_that_never_answers() {
    let bench = Bench::new("never_answers");
    for (relay, url, load) in relayed(&bench, "never_answers") {
        relay.freeze();
        let words = ["check tpcb", "run tpcb --duration 1s", "clean tpcb", load];
        let children = words.map(|words| start(&bench, words, &url));
        for child in children {
            let output = ended(&bench, child);
            let stderr = stderr_text(&output);
            assert_eq!(output.status.code(), Some(3), "{stderr}");
            assert!(stderr.contains("timeout expired"), "{stderr}");
        }
    }
}

/// Behaves like a pooler whose server is gone.
#[test]
fn commands_give_up_on_a_server_that_accepts_logins_but_no_statements() {
    let bench = Bench::new("admits_only");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for mut client in listener.incoming().flatten() {
            let mut length = [0; 4];
            client.read_exact(&mut length).expect("a start-up message");
            let mut rest = vec![0; u32::from_be_bytes(length) as usize - 4];
            client.read_exact(&mut rest).expect("a start-up message");
            // AuthenticationOk, ReadyForQuery.
            let admitted = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
            client.write_all(admitted).expect("it reads");
            open.push(client);
        }
    });
    let url = format!("postgres://u@127.0.0.1:{port}/db?sslmode=disable");
    let output = ended(&bench, start(&bench, "check tpcb --io-timeout 1s", &url));
    let stderr = stderr_text(&output);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("the server stopped answering"), "{stderr}");
    assert!(stderr.contains("timeout expired"), "{stderr}");
}

#[test]
fn the_first_signal_ends_a_wait_for_a_login() {
    let bench = Bench::new("no_log_in");
    for (relay, url, load) in relayed(&bench, "no_log_in") {
        relay.freeze();
        let url = match url.contains('?') {
            true => format!("{url}&connect_timeout=600"),
            false => format!("{url}?connect_timeout=600"),
        };
        for words in ["check tpcb", "run tpcb --duration 1s", "clean tpcb", load] {
            let mut child = start(&bench, words, &url);
            let begun = Instant::now();
            // It handles signals by the time that it connects.
            while !connects_to(child.child().id(), relay.port) {
                assert!(begun.elapsed() < WAIT_TIMEOUT, "it does not connect");
                std::thread::sleep(Duration::from_millis(20));
            }
            child.signal("-INT");
            let output = ended(&bench, child);
            let stderr = stderr_text(&output);
            assert_eq!(output.status.code(), Some(130), "{words}: {stderr}");
            assert!(stderr.contains("interrupted"), "{stderr}");
        }
    }
}

/// Whether a process has a connection to this port of the loopback address.
fn connects_to(pid: u32, port: u16) -> bool {
    let table = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
    let address = format!("0100007F:{port:04X}");
    let mut lines = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.any(|words| words.get(2) == Some(&&*address) && words.get(3) == Some(&"01"))
}

/// A server that works for long is waited for, however short the limit for silence: it answers a second
/// connection. A signal ends the wait.
#[test]
fn commands_wait_for_a_busy_server_until_a_signal() {
    let bench = Bench::new("busy");
    let [(relay, url, _), _] = relayed(&bench, "busy");
    ok(&bench.prony("load tpcb --scale 1"));
    let mut holder = bench.control();
    let lock = "BEGIN; LOCK TABLE pgbench_accounts IN ACCESS EXCLUSIVE MODE";
    holder.execute(lock).expect("a lock");
    let children = [
        ("check tpcb", "a check changes nothing"),
        ("clean tpcb", "`prony clean tpcb`"),
    ]
    .map(|(words, left)| {
        let words = format!("{words} --io-timeout 500ms");
        (start(&bench, &words, &url), left)
    });
    let mut look = bench.control();
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    let begun = Instant::now();
    while number(&mut look, waiting) < 2 {
        assert!(begun.elapsed() < WAIT_TIMEOUT, "they do not wait");
        std::thread::sleep(Duration::from_millis(50));
    }
    // The second connections of both come and go during the wait.
    let before = relay.connections();
    while relay.connections() < before + 6 {
        assert!(begun.elapsed() < 2 * WAIT_TIMEOUT, "nobody probes");
        std::thread::sleep(Duration::from_millis(50));
    }
    for (mut child, left) in children {
        assert!(child.goes_on(), "it was given up");
        child.signal("-INT");
        let output = ended(&bench, child);
        let stderr = stderr_text(&output);
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        assert!(stderr.contains("interrupted"), "{stderr}");
        assert!(stderr.contains(left), "{stderr}");
    }
    holder.execute("ROLLBACK").expect("it ends");
    assert_eq!(
        number(&mut look, "SELECT count(*) FROM pgbench_accounts"),
        100_000
    );
}

#[test]
fn a_run_over_a_dead_link_waits_only_for_the_announced_time() {
    let bench = Bench::new("dead_end");
    ok(&bench.prony("load tpcb --scale 1"));
    let [(relay, url, _), _] = relayed(&bench, "dead_end");
    // Long enough for the link to die during the run, even on a slow machine.
    let words = "run tpcb --clients 2 --duration 20s --grace 2s";
    let child = start(&bench, words, &url);
    until(&bench.home, crate::common::any_committed);
    relay.freeze();
    let output = ended(&bench, child);
    let stderr = stderr_text(&output);
    assert!(
        stderr.contains("have not ended yet, for at most 2.00 s"),
        "{stderr}"
    );
    let run = last(&bench);
    assert_eq!(run.measured.unfinished, 2, "{stderr}");
    // The state of the server after the run is not waited for as long again.
    let missing = &run.observed.expect("it looks").missing;
    assert!(
        missing
            .iter()
            .any(|one| one.why.contains("did not answer in time")),
        "{missing:?}"
    );
}

#[test]
fn a_closed_terminal_ends_a_run_as_sigterm_does() {
    let bench = Bench::new("hung_up");
    ok(&bench.prony("load tpcb --scale 1"));
    // A terminal that is closed sends SIGHUP more than once; systemd sends SIGTERM as well, before or after
    // it.
    for (signals, code, name) in [
        (["-HUP", "-HUP"], 129, "SIGHUP"),
        (["-HUP", "-TERM"], 129, "SIGHUP"),
        (["-TERM", "-HUP"], 143, "SIGTERM"),
    ] {
        // It has not ended during the grace: a user sleeps.
        let words = "run script --file sleep.sql --clients 2 --duration 5m --grace 2s";
        let mut command = bench.command(words);
        std::fs::write(bench.home.join("sleep.sql"), SLEEPS).expect("a script");
        command.current_dir(&bench.home).args(["--url", &bench.url]);
        let (child, _) = crate::common::start_run(command);
        let mut child = Running(Some(child));
        for signal in signals {
            child.signal(signal);
            std::thread::sleep(Duration::from_millis(200));
        }
        let output = ended(&bench, child);
        let stderr = stderr_text(&output);
        assert_eq!(output.status.code(), Some(code), "{signals:?}: {stderr}");
        let run = last(&bench);
        assert_eq!(run.state, RunState::Partial, "{signals:?}");
        let why = run.ended_because.expect("a reason");
        assert!(why.contains(name), "{signals:?}: {why}");
    }

    // As nohup starts it.
    let mut command = bench.command("run tpcb --clients 2 --duration 5m");
    command.args(["--url", &bench.url]);
    // SAFETY: a system call in the child only.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        });
    }
    let (child, _) = crate::common::start_run(command);
    let mut child = Running(Some(child));
    child.signal("-HUP");
    let mut seconds = 0;
    until(&bench.home, |run| {
        seconds = seconds.max(run.series.len());
        run.series.len() >= 4
    });
    assert!(child.goes_on(), "it went on for {seconds} s");
    child.signal("-TERM");
    assert_eq!(ended(&bench, child).status.code(), Some(143));
}

#[test]
fn a_throw_away_server_that_dies_ends_its_run() {
    let home = std::env::temp_dir().join(format!("prony-died-{}", std::process::id()));
    std::fs::create_dir_all(&home).expect("a folder");
    let command = program("run tpcb --embedded --clients 2 --duration 10m", &home);
    let mut child = piped(command);
    until(&home, crate::common::any_committed);
    let server = child_of(child.child().id());
    let sent = Command::new("kill")
        .args(["-KILL", &server.to_string()])
        .status();
    assert!(sent.expect("kill").success());
    let output = child.ended();
    assert_eq!(output.status.code(), Some(5), "{}", stderr_text(&output));
    let shown = program("show last --json", &home)
        .output()
        .expect("it starts");
    let run = document(&shown);
    let why = run.ended_because.expect("a reason");
    assert_eq!(why, "the throw-away server has ended");
    std::fs::remove_dir_all(&home).expect("it is ours");
}

/// The postmaster that process `parent` started.
fn child_of(parent: u32) -> u32 {
    let entries = std::fs::read_dir("/proc").expect("Linux").flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
        let stat = stat.unwrap_or_default();
        let rest = stat.rsplit(')').next().unwrap_or_default();
        stat.contains("(postgres)") && rest.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    pids.find(is_child).expect("its server")
}

#[test]
fn an_interrupted_tpcc_load_gives_one_instruction() {
    let bench = Bench::new("one_instruction");
    let mut child = start(&bench, "load tpcc --scale 40 --jobs 2", &bench.url);
    let mut look = control(&shared_postgres().url());
    let loading = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'one_instruction' \
                   AND query ILIKE 'copy stock %'";
    let begun = Instant::now();
    while number(&mut look, loading) == 0 {
        assert!(begun.elapsed() < WAIT_TIMEOUT, "it does not load");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.signal("-INT");
    let output = ended(&bench, child);
    assert_eq!(output.status.code(), Some(130), "{}", stderr_text(&output));
    let checked = bench.prony("check tpcc");
    assert_eq!(checked.status.code(), Some(4));
    let text = String::from_utf8_lossy(&checked.stdout).into_owned() + &stderr_text(&checked);
    // Lines are wrapped at the width of the terminal.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("continues it"), "{text}");
    assert!(text.contains("see load-unfinished above"), "{text}");
    assert_eq!(text.matches("prony load").count(), 1, "{text}");
    assert!(
        !text.contains("load again") && !text.contains("load it again"),
        "{text}"
    );
    control(&shared_postgres().url())
        .execute("DROP DATABASE one_instruction WITH (FORCE)")
        .expect("it goes");
}
