//! What the tests share: a database and a store of a test's own, and the program started on them.

use prony_server::embedded::{Server, shared};
use prony_server::{Control, Environment, resolve};
use prony_store::{Filter, Run, RunStore, State};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Whatever is waited for has come by then, even on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A database and a store of a test's own. The store is removed at the end.
pub struct Bench {
    /// Over TCP and with the password in it: the hardest place to keep it.
    pub url: String,
    /// The store, and a place for files of the test.
    pub home: PathBuf,
    /// What must appear in no output and no file.
    pub password: String,
    /// The unix socket, where no password is asked for.
    pub socket_url: String,
}

impl Bench {
    /// A new database of this name on the server that all tests share.
    pub fn new(name: &str) -> Bench {
        Bench::on(shared(), name)
    }

    /// A new database of this name on a server.
    pub fn on(server: &Server, name: &str) -> Bench {
        heed_interrupts();
        let mut control = control(&server.url());
        let sql = format!("CREATE DATABASE {name}");
        control.execute(&sql).expect("a database");
        let home = std::env::temp_dir().join(format!("prony-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&home).expect("a folder");
        let password = server.password().reveal().to_owned();
        let port = server.port();
        Bench {
            url: format!("postgres://postgres:{password}@127.0.0.1:{port}/{name}"),
            home,
            password,
            socket_url: server.url_for(name),
        }
    }

    /// A connection of the test's own.
    pub fn control(&self) -> Control {
        control(&self.socket_url)
    }

    /// The program, with no environment that speaks of servers.
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command
            .args(words.split_whitespace())
            .env("PRONY_HOME", &self.home)
            // No password file of whoever runs the tests.
            .env("HOME", &self.home)
            .stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        command
    }

    /// Runs to the end, on this database.
    pub fn prony(&self, words: &str) -> Output {
        let output = self.command(words).args(["--url", &self.url]).output();
        self.silent(output.expect("it starts"))
    }

    /// Runs to the end, without a server.
    pub fn local(&self, words: &str) -> Output {
        self.silent(self.command(words).output().expect("it starts"))
    }

    /// A run to the end, on this database, as its document.
    pub fn run(&self, words: &str) -> Run {
        let output = self.prony(&format!("{words} --json"));
        document(&output)
    }

    /// Starts a long run and waits until something was committed in a second of it.
    pub fn long_run(&self) -> Child {
        self.endless("run tpcb --clients 2 --duration 5m", any_committed)
    }

    /// Starts a run on this database that would go on for long, and waits until its document says so.
    pub fn endless(&self, words: &str, is_so: impl FnMut(&Run) -> bool) -> Child {
        let mut command = self.command(words);
        command.args(["--url", &self.url]);
        let (child, _) = under_way(command);
        until(&self.home, is_so);
        child
    }

    /// The password is in no output and in no file of the store.
    pub fn silent(&self, output: Output) -> Output {
        hidden(&self.password, &output, &self.home);
        output
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

/// Ctrl-C is heard by what the tests start: a shell's background job hands on that it is not, and
/// the program keeps to that.
fn heed_interrupts() {
    // SAFETY: the default of a signal is no handler of ours; nothing here counts on another.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
}

/// A connection of the test's own.
pub fn control(url: &str) -> Control {
    let environment = Environment::new("postgres", Path::new("/nonexistent"));
    let target = resolve(url, &environment).expect("its URL");
    Control::connect(&target).expect("it runs")
}

/// A whole number that the server tells.
pub fn number(control: &mut Control, sql: &str) -> u64 {
    let value = control.query_value(sql).expect(sql);
    value.expect("not null").parse().expect("a number")
}

/// Starts a run and waits until at least one second of it was shown on stderr; with what it said
/// until then.
pub fn under_way(mut command: Command) -> (Child, String) {
    let mut child = command
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
    (child, String::from_utf8_lossy(&lines).into_owned())
}

/// Something was committed, and its second is over.
pub fn any_committed(run: &Run) -> bool {
    run.series.iter().any(|second| second.committed > 0)
}

/// Waits until the document of a run that goes on says so.
pub fn until(home: &Path, mut is_so: impl FnMut(&Run) -> bool) {
    let began = Instant::now();
    let store = RunStore::open(Some(home)).expect("a store");
    loop {
        let mut listed = store.list(&Filter::default()).expect("a listing").runs;
        listed.retain(|run| run.state == State::Running);
        let mut under_way = listed.iter().filter_map(|run| store.load(&run.id).ok());
        if under_way.any(|run| is_so(&run)) {
            return;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "what is waited for does not come: {listed:?}"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Asserts that a password is in no output and in no file below a folder.
pub fn hidden(password: &str, output: &Output, folder: &Path) {
    for text in [&output.stdout, &output.stderr] {
        let text = String::from_utf8_lossy(text);
        assert!(!text.contains(password), "in the output: {text}");
    }
    for path in files(folder) {
        // A file of a store that is in use may go meanwhile.
        let bytes = std::fs::read(&path).unwrap_or_default();
        let shown = String::from_utf8_lossy(&bytes).contains(password);
        assert!(!shown, "in {}", path.display());
    }
}

/// All files below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            _ => found.push(entry.path()),
        }
    }
    found
}

/// What a command that must succeed printed. On a loaded machine a check may find that the figures
/// of a short run must not be used (7), and the run succeeded all the same.
pub fn ok(output: &Output) -> String {
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 7)), "{code:?}: {}", said(output));
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// What a command that must succeed printed, as a Run document.
pub fn document(output: &Output) -> Run {
    serde_json::from_str(&ok(output)).expect("a document")
}

/// Everything on stderr.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Sends a signal by its name.
pub fn signal(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args([signal, &pid]).status();
    assert!(sent.expect("kill").success());
}

/// The last stored run.
pub fn last(bench: &Bench) -> Run {
    document(&bench.local("show last --json"))
}

/// The I/O engines that work on this machine, asked on a loaded database. epoll always does; where
/// io_uring is forbidden, as in many containers, the program says so itself.
pub fn engines(bench: &Bench) -> Vec<&'static str> {
    let probe = bench.prony("run select-only --io ring --transactions 1 --no-store");
    if matches!(probe.status.code(), Some(0 | 7)) {
        return vec!["ring", "epoll"];
    }
    let said = said(&probe);
    assert_eq!(probe.status.code(), Some(2), "{said}");
    assert!(said.contains("--io ring: "), "{said}");
    eprintln!("only epoll is tested: {said}");
    vec!["epoll"]
}
