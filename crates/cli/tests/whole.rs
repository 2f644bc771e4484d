//! The whole house from outside: the program on a real server, as a user runs it.
//!
//! Needs PostgreSQL's programs on this machine, as all tests on a real server do.

use prony_server::embedded::{Server, shared};
use prony_server::{Control, Environment, resolve};
use prony_store::{Run, State};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Whatever is waited for has come by then, even on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A database and a store of a test's own. The store is removed at the end.
struct Bench {
    url: String,
    home: PathBuf,
}

impl Bench {
    fn new(name: &str) -> Bench {
        let server: &Server = shared();
        let environment = Environment::new("postgres", Path::new("/nonexistent"));
        let target = resolve(&server.url(), &environment).expect("its URL");
        let mut control = Control::connect(&target).expect("it runs");
        let sql = format!("CREATE DATABASE {name}");
        control.execute(&sql).expect("a database");
        let home = std::env::temp_dir().join(format!("prony-{name}-{}", std::process::id()));
        // Over TCP and with the password in the URL: the hardest place to keep it.
        let password = server.password().reveal();
        let port = server.port();
        Bench {
            url: format!("postgres://postgres:{password}@127.0.0.1:{port}/{name}"),
            home,
        }
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command
            .args(words.split_whitespace())
            .env("PRONY_HOME", &self.home)
            .stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        command
    }

    /// Runs to the end, on this database.
    fn prony(&self, words: &str) -> Output {
        let output = self.command(words).args(["--url", &self.url]).output();
        self.silent(output.expect("it starts"))
    }

    /// Runs to the end, without a server.
    fn local(&self, words: &str) -> Output {
        self.silent(self.command(words).output().expect("it starts"))
    }

    /// Starts a long run and waits until at least one second of it was shown.
    fn long_run(&self) -> Child {
        let mut child = self
            .command("run tpcb --clients 2 --duration 5m")
            .args(["--url", &self.url])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = Vec::new();
        let stderr = child.stderr.as_mut().expect("piped");
        let mut byte = [0];
        while lines.iter().filter(|&&byte| byte == b'\n').count() < 2 {
            let read = std::io::Read::read(stderr, &mut byte).expect("a pipe");
            assert!(read > 0, "it ended: {}", String::from_utf8_lossy(&lines));
            lines.push(byte[0]);
        }
        child
    }

    /// The password is in no output and in no file of the store.
    fn silent(&self, output: Output) -> Output {
        let password = shared().password().reveal();
        for text in [&output.stdout, &output.stderr] {
            assert!(!String::from_utf8_lossy(text).contains(password));
        }
        for entry in std::fs::read_dir(self.home.join("runs"))
            .into_iter()
            .flatten()
        {
            let path = entry.expect("an entry").path();
            let bytes = std::fs::read(&path).unwrap_or_default();
            assert!(
                !String::from_utf8_lossy(&bytes).contains(password),
                "{}",
                path.display()
            );
        }
        output
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

fn ok(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn signal(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args([signal, &pid]).status();
    assert!(sent.expect("kill").success());
}

fn last(bench: &Bench) -> Run {
    serde_json::from_str(&ok(&bench.local("show last --json"))).expect("a document")
}

#[test]
fn load_check_run_show_clean() {
    let bench = Bench::new("whole");
    let nothing = bench.prony("run tpcb --duration 1s");
    assert_eq!(nothing.status.code(), Some(4), "no tables yet");
    assert!(ok(&bench.prony("load tpcb --scale 2 --jobs 2")).contains("pgbench_accounts"));
    let other = bench.prony("run tpcb --scale 3 --duration 1s");
    assert_eq!(other.status.code(), Some(4), "another scale");

    // stdout is the document alone.
    let json = ok(&bench.prony("run tpcb --clients 3 --transactions 50 --seed 7 --json"));
    let run: Run = serde_json::from_str(&json).expect("a document");
    assert_eq!(run.state, State::Complete, "{:?}", run.ended_because);
    assert_eq!(run.measured.kinds[0].committed, 150);
    assert_eq!((run.drive.seed, run.workload.scale), (7, 2));
    assert!(run.server.settings.contains_key("fsync"));
    assert!(
        run.measured.kinds[0].split.is_some(),
        "{}",
        run.timing.split
    );
    assert_eq!(last(&bench), run, "what is stored is what was printed");

    let open = ok(&bench.prony("run select-only --rate 200 --duration 2s --warmup 1s"));
    assert!(
        open.contains("from the scheduled start") && open.contains("Stored in"),
        "{open}"
    );
    assert!(ok(&bench.prony("check tpcb")).contains("balances-accounts-history"));
    assert_eq!(
        ok(&bench.local("runs")).lines().count(),
        3,
        "a header and two runs"
    );
    assert_eq!(
        ok(&bench.local("show last --csv")).lines().count(),
        4,
        "three seconds"
    );
    let shown = ok(&bench.local(&format!("show {}", run.id)));
    assert!(shown.contains("transactions/s committed"), "{shown}");
    assert!(ok(&bench.prony("clean tpcb")).contains("pgbench_accounts"));
}

#[test]
fn a_signal_ends_a_run_with_its_partial_result() {
    let bench = Bench::new("signals");
    ok(&bench.prony("load tpcb --scale 1"));
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let child = bench.long_run();
        signal(&child, name);
        let output = bench.silent(child.wait_with_output().expect("it ends"));
        assert_eq!(output.status.code(), Some(code));
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("PARTIAL RESULT"), "{shown}");
        let run = last(&bench);
        assert_eq!(run.state, State::Partial);
        assert!(run.measured.kinds[0].committed > 0);
    }
}

#[test]
fn a_killed_run_leaves_what_it_measured() {
    let bench = Bench::new("killed");
    ok(&bench.prony("load tpcb --scale 1"));
    let mut child = bench.long_run();
    signal(&child, "-KILL");
    child.wait().expect("it ends");
    let run = last(&bench);
    assert_eq!(run.state, State::Partial);
    assert!(!run.series.is_empty() && run.measured.kinds[0].committed > 0);
    assert!(ok(&bench.local("runs")).contains("partial"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new("pipes");
    ok(&bench.prony("load tpcb --scale 1"));
    ok(&bench.prony("run select-only --transactions 10"));
    for words in ["show last", "show last --json", "--help"] {
        let mut child = bench
            .command(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && said.is_empty(),
            "{words}: {said}"
        );
    }
}

/// The throw-away server and its directory are gone when the command has ended.
#[test]
fn a_run_on_a_throw_away_server_leaves_nothing() {
    let bench = Bench::new("throwaway");
    let output = bench.local("run tpcb --embedded --scale 1 --clients 2 --duration 1s");
    ok(&output);
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said
        .lines()
        .find(|line| line.starts_with("Started "))
        .expect("it says so");
    let directory = line
        .split(" in ")
        .nth(1)
        .and_then(|rest| rest.split(';').next());
    let directory = Path::new(directory.expect("it names its directory"));
    assert!(directory.is_absolute(), "{line}");
    let began = Instant::now();
    while directory.exists() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!directory.exists(), "{}", directory.display());
}
