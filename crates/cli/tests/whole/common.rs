//! What most tests need, which import all of it: a separate database and store for each test, the program started on them,
//! and the types that these tests handle.

pub use prony_assertions::{TestFolder, TextAssertions};
pub use prony_server::Control;
pub use prony_server::embedded::{EmbeddedOptions, EmbeddedPostgres, find};
pub use prony_store::{Figures, Run, RunFilter, RunState, RunStore, Severity};
pub use prony_test_servers::{
    MariaDb, MariaDbOptions, TestControl, shared_mariadb, shared_postgres,
};
pub use std::path::{Path, PathBuf};
pub use std::process::{Child, Command, Output, Stdio};
pub use std::time::{Duration, Instant};

use prony_server::{Environment, resolve};
use prony_store::KindFigures;
use prony_test_servers::restore_signals;
use std::borrow::BorrowMut;

/// The timeout of every wait in a test; long enough for a loaded machine.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// A database and a store for one test.
pub struct TestBench {
    /// URL over TCP that contains the password, the hardest case for hiding it.
    pub url: String,
    /// The store, and a folder for files of the test.
    pub home: TestFolder,
    /// The password of the URL, which must not appear in any output or file; empty if the server requires none.
    pub password: String,
    /// URL of the unix socket, which requires no password.
    pub socket_url: String,
}

impl TestBench {
    /// Creates a database of this name on the shared PostgreSQL.
    pub fn new(name: &str) -> TestBench {
        TestBench::on(shared_postgres(), name)
    }

    /// Creates a database of this name on the shared PostgreSQL, with the tables of tpcb.
    pub fn loaded(name: &str, scale: u32) -> TestBench {
        TestBench::loaded_on(shared_postgres(), name, scale)
    }

    pub fn loaded_on(server: &EmbeddedPostgres, name: &str, scale: u32) -> TestBench {
        let bench = TestBench::on(server, name);
        bench.ok(&format!("load tpcb --scale {scale}"));
        bench
    }

    pub fn on(server: &EmbeddedPostgres, name: &str) -> TestBench {
        restore_signals();
        connect(&server.url()).run(format!("CREATE DATABASE {name}"));
        let (port, password) = (server.port(), server.password().reveal());
        let url = format!("postgres://postgres:{password}@127.0.0.1:{port}/{name}");
        let mut bench = TestBench::at(url);
        bench.password = password.to_owned();
        bench.socket_url = server.url_for(name);
        bench
    }

    /// Creates a database of this name on the shared MariaDB.
    pub fn maria(name: &str) -> TestBench {
        TestBench::on_maria(shared_mariadb(), name)
    }

    pub fn on_maria(server: &MariaDb, name: &str) -> TestBench {
        connect(&server.url()).run(format!("create database {name}"));
        let (port, password) = (server.port(), server.password().reveal());
        let url = format!("mysql://prony:{password}@127.0.0.1:{port}/{name}");
        let mut bench = TestBench::at(url);
        bench.password = password.to_owned();
        bench.socket_url = server.url_for("root", name);
        bench
    }

    /// An existing database whose URL has no password.
    pub fn at(url: String) -> TestBench {
        TestBench {
            socket_url: url.clone(),
            password: String::new(),
            url,
            home: TestFolder::create(),
        }
    }

    /// Opens a separate connection for the test.
    pub fn control(&self) -> Control {
        connect(&self.socket_url)
    }

    /// The program with this store and these arguments, separated by spaces.
    pub fn command(&self, arguments: &str) -> Command {
        prony_command(arguments, &self.home)
    }

    /// The same, on this database.
    pub fn command_with_url(&self, arguments: &str) -> Command {
        let mut command = self.command(arguments);
        command.args(["--url", &self.url]);
        command
    }

    /// Runs a command to its end; asserts that its output contains no password.
    pub fn execute(&self, mut command: impl BorrowMut<Command>) -> Output {
        let output = command.borrow_mut().output();
        self.assert_no_password(output.expect("it starts"))
    }

    /// Waits for the end of a command; asserts that its output contains no password.
    pub fn finish(&self, child: Child) -> Output {
        self.assert_no_password(child.wait_with_output().expect("it ends"))
    }

    /// Runs the program to its end, on this database.
    pub fn prony(&self, arguments: &str) -> Output {
        self.prony_with(arguments, &["--url", &self.url])
    }

    /// Runs a command that must succeed, on this database; returns its stdout.
    #[track_caller]
    pub fn ok(&self, arguments: &str) -> String {
        ok_stdout(&self.prony(arguments))
    }

    /// Runs a command that must succeed, without a server; returns its stdout.
    #[track_caller]
    pub fn ok_without_server(&self, arguments: &str) -> String {
        ok_stdout(&self.prony_without_server(arguments))
    }

    /// Runs the program to its end, without a server.
    pub fn prony_without_server(&self, arguments: &str) -> Output {
        self.prony_with(arguments, &[])
    }

    /// Runs the program to its end, with additional arguments.
    pub fn prony_with(&self, arguments: &str, additional: &[&str]) -> Output {
        self.execute(self.command(arguments).args(additional))
    }

    /// Runs the program to its end, on this database; returns the Run document.
    pub fn run(&self, arguments: &str) -> Run {
        let output = self.prony(&format!("{arguments} --json"));
        parse_run(&output)
    }

    /// Starts a run on this database, as [`start_run`] does.
    pub fn start(&self, arguments: &str) -> Child {
        start_run(self.command_with_url(arguments)).0
    }

    /// Starts a long run and waits until one of its seconds has a commit.
    pub fn long_run(&self) -> Child {
        self.start_long_run(
            "run tpcb --clients 2 --duration 5m --warmup 0s",
            any_committed,
        )
    }

    /// Starts a run that would take very long on this database, and waits until its document
    /// satisfies `condition`.
    pub fn start_long_run(&self, arguments: &str, condition: impl FnMut(&Run) -> bool) -> Child {
        let child = self.start(arguments);
        wait_until(&self.home, condition);
        child
    }

    pub fn assert_no_password(&self, output: Output) -> Output {
        if !self.password.is_empty() {
            assert_hidden(&self.password, &output, &self.home);
        }
        output
    }
}

/// The program on the store in this folder, with no environment variables about servers.
pub fn prony_command(arguments: &str, home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command
        .args(arguments.split_whitespace())
        .env("PRONY_HOME", home)
        // Ignore the developer's own password file.
        .env("HOME", home)
        .stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("PG") || name.starts_with("MYSQL_") {
            command.env_remove(&*name);
        }
    }
    command
}

pub fn connect(url: &str) -> Control {
    let environment = Environment::without_home("postgres");
    let target = resolve(url, &environment).expect("its URL");
    Control::connect(&target).expect("it runs")
}

pub fn query_number(control: &mut Control, sql: &str) -> u64 {
    let value = control.query_value(sql).expect(sql);
    value.expect("not null").parse().expect("a number")
}

/// Starts a command whose output is kept.
pub fn spawn_piped(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

/// Starts a run and waits for two lines on stderr, the second of which reports progress; returns these lines.
pub fn start_run(command: Command) -> (Child, String) {
    let mut child = spawn_piped(command);
    let mut lines = Vec::new();
    let stderr = child.stderr.as_mut().expect("piped");
    let mut byte = [0];
    while lines.iter().filter(|&&byte| byte == b'\n').count() < 2 {
        let read = std::io::Read::read(stderr, &mut byte).expect("a pipe");
        assert!(read > 0, "it ended: {}", String::from_utf8_lossy(&lines));
        lines.push(byte[0]);
    }
    (child, String::from_utf8_lossy(&lines).into_owned())
}

/// Whether a transaction was committed in a completed second.
pub fn any_committed(run: &Run) -> bool {
    run.series.iter().any(|second| second.committed > 0)
}

/// Waits until `condition` holds; `what` is what does not happen otherwise.
#[track_caller]
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < WAIT_TIMEOUT, "timed out: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the document of a run in progress satisfies `condition`.
pub fn wait_until(home: &Path, mut condition: impl FnMut(&Run) -> bool) {
    let started = Instant::now();
    let store = RunStore::open(Some(home)).expect("a store");
    loop {
        let runs = store.list(&RunFilter::default()).expect("a listing").runs;
        let mut running = runs
            .iter()
            .filter(|run| run.state == RunState::Running)
            .filter_map(|run| store.load(&run.id).ok());
        if running.any(|run| condition(&run)) {
            return;
        }
        assert!(started.elapsed() < WAIT_TIMEOUT, "timed out: {runs:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

pub fn assert_hidden(password: &str, output: &Output, folder: &Path) {
    for text in [&output.stdout, &output.stderr] {
        let text = String::from_utf8_lossy(text);
        assert!(!text.contains(password), "in the output: {text}");
    }
    for path in files_below(folder) {
        // A file of a store in use may disappear meanwhile.
        let bytes = std::fs::read(&path).unwrap_or_default();
        let is_found = String::from_utf8_lossy(&bytes).contains(password);
        assert!(!is_found, "in {}", path.display());
    }
}

pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(file_type) if file_type.is_dir() => paths.extend(files_below(&entry.path())),
            _ => paths.push(entry.path()),
        }
    }
    paths
}

/// A server of its own for a test that the load of others would disturb.
pub fn own_postgres() -> EmbeddedPostgres {
    own_postgres_with(&EmbeddedOptions::default())
}

pub fn own_postgres_with(options: &EmbeddedOptions) -> EmbeddedPostgres {
    let installation = find().expect("PostgreSQL's programs");
    EmbeddedPostgres::start(&installation, options).expect("it starts")
}

/// A MariaDB of its own, with these arguments.
pub fn own_mariadb(arguments: &[&str]) -> MariaDb {
    let options = MariaDbOptions {
        arguments: arguments.iter().map(|&argument| argument.into()).collect(),
        ..MariaDbOptions::default()
    };
    MariaDb::start(options).expect("it starts")
}

/// All stored runs, in the order of execution.
pub fn stored_runs(home: &Path) -> Vec<Run> {
    let store = RunStore::open(Some(home)).expect("a store");
    let summaries = store.list(&RunFilter::default()).expect("a listing").runs;
    let mut runs: Vec<Run> = summaries
        .iter()
        .rev()
        .map(|summary| store.load(&summary.id).expect("a document"))
        .collect();
    // Short runs may start in the same second.
    runs.sort_by_key(|run| {
        let experiment = run.experiment.as_ref();
        experiment.map(|experiment| (experiment.id.clone(), experiment.position))
    });
    runs
}

/// Returns the stdout of a command that must succeed. Exit code 7 (invalid figures) is accepted too: on a
/// loaded machine, a check may reject the figures of a short run.
#[track_caller]
pub fn ok_stdout(output: &Output) -> String {
    let code = output.status.code();
    assert!(
        matches!(code, Some(0 | 7)),
        "{code:?}: {}",
        stderr_text(output)
    );
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Returns the stdout of a command that must succeed, parsed as a Run document.
pub fn parse_run(output: &Output) -> Run {
    serde_json::from_str(&ok_stdout(output)).expect("a document")
}

/// Asserts the exit code of a command; returns its stderr.
#[track_caller]
pub fn assert_code(output: &Output, code: i32) -> String {
    let stderr = stderr_text(output);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    stderr
}

pub fn stdout_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Sends a signal, given as an option of kill(1) such as `-INT`.
pub fn send_signal(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args([signal, &pid]).status();
    assert!(sent.expect("kill").success());
}

pub fn total_figures(figures: &Figures) -> &KindFigures {
    figures.all_kinds().expect("the run has figures")
}

pub fn last_run(bench: &TestBench) -> Run {
    parse_run(&bench.prony_without_server("show last --json"))
}

/// Returns the I/O engines that work on this machine; requires a loaded database. epoll always works; if
/// io_uring is forbidden, as in many containers, the program reports that.
pub fn io_engines(bench: &TestBench) -> Vec<&'static str> {
    let probe = bench.prony("run select-only --io ring --transactions 1 --no-store");
    if matches!(probe.status.code(), Some(0 | 7)) {
        return vec!["ring", "epoll"];
    }
    let stderr = assert_code(&probe, 2);
    stderr.assert_contains("--io ring: ");
    eprintln!("only epoll is tested: {stderr}");
    vec!["epoll"]
}

/// Asserts the severity of a check; absent if it has nothing to report.
#[track_caller]
pub fn assert_severity(run: &Run, id: &str, expected: Option<Severity>) {
    let severity = run.check(id).map(|check| check.severity);
    assert_eq!(severity, expected, "{:?}", run.checks);
}
