//! A throw-away MariaDB of our own, for tests.
//!
//! In: MariaDB's programs on this machine. Out: a running [`MariaDb`] with a private data directory
//! that is removed at the end. Must never: run as root; touch a server or a directory that Prony did
//! not make; outlive this process; log in over TCP without a password.

use super::directory::{Directory, random_hex};
use super::launch::free_port;
use super::privileges::{ServerUser, server_user};
use super::{Error, process};
use prony_wire::Secret;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often the state of a starting or ending server is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How often a free port may turn out to be taken.
const PORT_TRIES: u32 = 10;

/// What a throw-away MariaDB is asked to be.
#[derive(Clone, Debug)]
pub struct MariaDbOptions {
    /// Further arguments of `mariadbd`.
    pub arguments: Vec<String>,
    /// Options whose value is a file, and what is in it: `("ssl-cert", PEM)`.
    pub files: Vec<(String, Vec<u8>)>,
    /// Statements that it runs before it takes connections, each without a line end.
    pub statements: Vec<String>,
    /// How long to wait until the server is ready.
    pub patience: Duration,
}

impl Default for MariaDbOptions {
    fn default() -> Self {
        MariaDbOptions {
            arguments: Vec::new(),
            files: Vec::new(),
            statements: Vec::new(),
            patience: Duration::from_secs(60),
        }
    }
}

/// A MariaDB of our own. Stopped and removed when dropped.
///
/// `root` logs in without a password over the unix socket, whose directory is closed to others;
/// `prony` has all rights over TCP, with [`MariaDb::password`]. There is a database `test`.
#[derive(Debug)]
pub struct MariaDb {
    user: Option<ServerUser>,
    password: Secret,
    options: MariaDbOptions,
    state: Mutex<State>,
    // After `state`: the directory goes when the server has ended.
    directory: Directory,
}

#[derive(Debug, Default)]
struct State {
    child: Option<Child>,
    port: u16,
}

impl MariaDb {
    /// Makes a data directory, starts a server on it, and waits until it is ready.
    ///
    /// # Errors
    /// Any [`Error`]; the end of the server's log is in it. Nothing is left behind then.
    pub fn start(options: MariaDbOptions) -> Result<MariaDb, Error> {
        let user = server_user()?;
        let directory = Directory::create(None, user.as_ref())?;
        let password = random_hex(16).map_err(Error::io("read", "/dev/urandom"))?;
        let server = MariaDb {
            user,
            password: Secret::new(password),
            options,
            state: Mutex::default(),
            directory,
        };
        server.install()?;
        let mut state = server.state();
        let mut tries = 1;
        loop {
            state.port = free_port().map_err(Error::io("bind", "127.0.0.1"))?;
            match server.run(&mut state) {
                Err(Error::MariaDb { log, .. })
                    if log.contains("Address already in use") && tries < PORT_TRIES =>
                {
                    tries += 1;
                }
                outcome => {
                    outcome?;
                    break;
                }
            }
        }
        drop(state);
        Ok(server)
    }

    /// Connection URL over the unix socket, as `root`, without a password.
    pub fn url(&self) -> String {
        self.url_for("root", "test")
    }

    /// As [`MariaDb::url`], for another account and database.
    pub fn url_for(&self, account: &str, database: &str) -> String {
        let socket = self.socket();
        format!(
            "mysql://{account}@localhost/{database}?socket={}",
            socket.display()
        )
    }

    /// Connection URL over TCP, password included: therefore a [`Secret`].
    pub fn tcp_url_with_password(&self) -> Secret {
        let (password, port) = (self.password.reveal(), self.port());
        Secret::new(format!("mysql://prony:{password}@127.0.0.1:{port}/test"))
    }

    /// Password of `prony`.
    pub fn password(&self) -> &Secret {
        &self.password
    }

    /// Path of the unix socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.socket().join("m.sock")
    }

    /// Port on 127.0.0.1. Stays the same over [`MariaDb::restart`].
    pub fn port(&self) -> u16 {
        self.state().port
    }

    /// Process number while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.state().child.as_ref().map(Child::id)
    }

    /// Shuts it down in order; kills it if it does not end. Does nothing if stopped.
    pub fn stop(&self) {
        end(
            &mut self.state(),
            &[
                (libc::SIGTERM, Duration::from_secs(30)),
                (libc::SIGKILL, Duration::from_secs(60)),
            ],
        );
    }

    /// Kills it by SIGKILL. Does nothing if stopped.
    pub fn kill(&self) {
        end(
            &mut self.state(),
            &[(libc::SIGKILL, Duration::from_secs(60))],
        );
    }

    /// Stops it if it runs, and starts it again on the same data and the same port.
    ///
    /// # Errors
    /// As for [`MariaDb::start`].
    pub fn restart(&self) -> Result<(), Error> {
        self.stop();
        self.run(&mut self.state())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the data directory.
    fn install(&self) -> Result<(), Error> {
        let program = find("mariadb-install-db")?;
        let mut command = process::command(&program, self.user.as_ref(), self.directory.path());
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", self.directory.data().display()))
            .args([
                "--auth-root-authentication-method=normal",
                "--skip-name-resolve",
            ])
            .arg("--skip-test-db")
            .arg(self.tmpdir())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = process::spawn(command, libc::SIGKILL);
        let output = child.and_then(Child::wait_with_output);
        let output = output.map_err(|problem| spawn_error(&program, &problem))?;
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stdout, output.stderr].concat();
        Err(Error::MariaDb {
            what: "could not make its data directory".to_owned(),
            log: last_lines(&String::from_utf8_lossy(&said)),
        })
    }

    /// Starts on the port of `state` and waits until ready.
    fn run(&self, state: &mut State) -> Result<(), Error> {
        let program = find("mariadbd")?;
        let log = self.directory.log();
        let file = OpenOptions::new().append(true).create(true).open(&log);
        let file = file.map_err(Error::io("open", &log))?;
        let log_start = file.metadata().map_or(0, |meta| meta.len()) as usize;
        let folder = self.directory.socket();
        let init = folder.join("init.sql");
        self.directory
            .write(&init, self.statements().as_bytes(), self.user.as_ref())?;
        let mut command = process::command(&program, self.user.as_ref(), self.directory.path());
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", self.directory.data().display()))
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--pid-file={}", folder.join("pid").display()))
            .arg(format!("--init-file={}", init.display()))
            .arg(format!("--port={}", state.port))
            .arg(self.tmpdir())
            .args(["--bind-address=127.0.0.1", "--skip-name-resolve"])
            .args(["--innodb-buffer-pool-size=64M", "--max-connections=500"])
            .args(&self.options.arguments);
        for (option, contents) in &self.options.files {
            let path = folder.join(option);
            self.directory.write(&path, contents, self.user.as_ref())?;
            command.arg(format!("--{option}={}", path.display()));
        }
        let errors = file.try_clone().map_err(Error::io("open", &log))?;
        command.stdout(Stdio::from(file)).stderr(errors);
        let child = process::spawn(command, libc::SIGKILL)
            .map_err(|problem| spawn_error(&program, &problem))?;
        state.child = Some(child);
        let failed = |what: String| {
            let text = fs::read(&log).unwrap_or_default();
            let text = String::from_utf8_lossy(text.get(log_start..).unwrap_or_default());
            Error::MariaDb {
                what,
                log: last_lines(&text),
            }
        };
        let give_up = Instant::now() + self.options.patience;
        loop {
            if self.greets() {
                return Ok(());
            }
            let child = state.child.as_mut();
            if let Some(status) = child.and_then(|child| child.try_wait().ok().flatten()) {
                state.child = None;
                return Err(failed(format!("did not start ({status})")));
            }
            if Instant::now() > give_up {
                end(state, &[(libc::SIGKILL, Duration::from_secs(60))]);
                let seconds = self.options.patience.as_secs();
                return Err(failed(format!("was not ready after {seconds} s")));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Temporary files of its own: a server that starts removes those of others in a folder that
    /// they share.
    fn tmpdir(&self) -> String {
        format!("--tmpdir={}", self.directory.socket().display())
    }

    /// What it runs at each start.
    fn statements(&self) -> String {
        let password = self.password.reveal();
        let own = [
            "CREATE DATABASE IF NOT EXISTS test;".to_owned(),
            "DROP USER IF EXISTS root@'127.0.0.1';".to_owned(),
            "DROP USER IF EXISTS root@'::1';".to_owned(),
            format!("CREATE USER IF NOT EXISTS prony@'127.0.0.1' IDENTIFIED BY '{password}';"),
            "GRANT ALL PRIVILEGES ON *.* TO prony@'127.0.0.1' WITH GRANT OPTION;".to_owned(),
        ];
        let mut text = String::new();
        for statement in own.iter().chain(&self.options.statements) {
            text.push_str(statement);
            text.push('\n');
        }
        text
    }

    /// Whether it greets over its socket. A socket without a server behind it refuses at once; one
    /// that is busy with its init file takes the connection and is waited for.
    fn greets(&self) -> bool {
        let Ok(mut stream) = UnixStream::connect(self.socket()) else {
            return false;
        };
        let limited = stream.set_read_timeout(Some(Duration::from_secs(5)));
        limited.is_ok() && matches!(stream.read(&mut [0; 1]), Ok(1))
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends one signal after the other until the server has ended, giving each its time.
fn end(state: &mut State, steps: &[(i32, Duration)]) {
    let Some(mut child) = state.child.take() else {
        return;
    };
    for &(signal, patience) in steps {
        if matches!(child.try_wait(), Ok(None)) {
            // Not waited for yet: the number is still this child's.
            let _ = process::signal(child.id(), signal);
        }
        let give_up = Instant::now() + patience;
        while Instant::now() < give_up {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// A program of MariaDB's, in PRONY_MARIADB_BINDIR, PATH or where packages put it.
fn find(name: &str) -> Result<PathBuf, Error> {
    let given = std::env::var_os("PRONY_MARIADB_BINDIR").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/bin", "/usr/libexec", "/usr/local/bin"].map(PathBuf::from);
    given
        .into_iter()
        .chain(std::env::split_paths(&path))
        .chain(usual)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
        .ok_or_else(|| Error::NoMariaDb {
            program: name.to_owned(),
        })
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

fn spawn_error(program: &Path, problem: &std::io::Error) -> Error {
    Error::Spawn {
        program: program.to_path_buf(),
        reason: problem.to_string(),
    }
}

static SHARED: OnceLock<MariaDb> = OnceLock::new();

/// One MariaDB for the whole process, for tests: started on first use, ended when the process exits.
/// Tests share it, so each makes a database of its own.
///
/// # Panics
/// With what to install, if there is no MariaDB.
pub fn shared_mariadb() -> &'static MariaDb {
    static STARTING: Mutex<()> = Mutex::new(());
    let _guard = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = SHARED.get() {
        return server;
    }
    let server = MariaDb::start(MariaDbOptions::default());
    let server = server.unwrap_or_else(|problem| panic!("tests need a MariaDB: {problem}"));
    // SAFETY: the handler is a plain function; it takes no lock that a running test could hold
    // for ever, and uses no thread-local value.
    unsafe {
        libc::atexit(stop_at_exit);
    }
    SHARED.get_or_init(|| server)
}

extern "C" fn stop_at_exit() {
    if let Some(server) = SHARED.get() {
        server.kill();
        server.directory.remove();
    }
}
