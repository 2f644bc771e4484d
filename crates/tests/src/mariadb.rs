//! A throw-away MariaDB.
//!
//! Must never: run as root; touch a server or a directory that Prony did not create; outlive this
//! process; accept a login over TCP without a password.

use crate::daemon::{POLL_INTERVAL, end};
use prony_server::embedded::{Directory, ServerUser, free_port, process, random_hex, server_user};
use prony_wire::Secret;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The signal that ends a server in any case, and how long to wait for its end.
const KILL: (i32, Duration) = (libc::SIGKILL, Duration::from_secs(60));

/// Number of ports to try if a second process takes the chosen port first.
const PORT_TRIES: u32 = 10;

/// Why a MariaDB could not be started, with the end of its log.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    pub(crate) fn of(what: &str, problem: impl std::fmt::Display) -> Error {
        Error(format!("{what}: {problem}"))
    }
}

impl From<prony_server::embedded::Error> for Error {
    fn from(error: prony_server::embedded::Error) -> Error {
        Error(error.to_string())
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

#[derive(Clone, Debug)]
pub struct MariaDbOptions {
    /// Further arguments of `mariadbd`.
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
    /// Options of `mariadbd` that name a file, with the contents of that file: `("ssl-cert", PEM)`.
    pub files: Vec<(String, Vec<u8>)>,
    /// Statements that the server runs at each start before it accepts connections; one line each.
    pub statements: Vec<String>,
    /// How long to wait until the server is ready.
    pub start_timeout: Duration,
}

impl Default for MariaDbOptions {
    fn default() -> Self {
        MariaDbOptions {
            arguments: Vec::new(),
            environment: Vec::new(),
            files: Vec::new(),
            statements: Vec::new(),
            start_timeout: Duration::from_secs(60),
        }
    }
}

/// A throw-away MariaDB. Stopped and removed when dropped.
///
/// `root` logs in without a password over the unix socket, whose directory is closed to others;
/// `prony` has all rights over TCP, with [`MariaDb::password`]. There is a database `test`.
#[derive(Debug)]
pub struct MariaDb {
    user: Option<ServerUser>,
    password: Secret,
    options: MariaDbOptions,
    state: Mutex<ProcessState>,
    // After `state`: fields drop in this order, and the server must end before its directory.
    directory: Directory,
}

#[derive(Debug, Default)]
struct ProcessState {
    child: Option<Child>,
    port: u16,
    /// Arguments of the last [`MariaDb::restart_with`].
    arguments: Vec<String>,
}

impl MariaDb {
    /// Creates a data directory, starts a server on it, and waits until it is ready.
    ///
    /// # Errors
    /// Any [`Error`], with the end of the server's log. Nothing is left behind.
    pub fn start(options: MariaDbOptions) -> Result<MariaDb, Error> {
        let user = server_user()?;
        let directory = Directory::create(None, user.as_ref())?;
        let password = random_hex(16).map_err(|error| Error::of("/dev/urandom", error))?;
        let server = MariaDb {
            user,
            password: Secret::new(password),
            options,
            state: Mutex::default(),
            directory,
        };
        server.create_data_dir()?;
        let mut state = server.state();
        let mut tries = 1;
        loop {
            state.port = free_port().map_err(|error| Error::of("binding 127.0.0.1", error))?;
            match server.run_once(&mut state) {
                Err(Error(text))
                    if text.contains("Address already in use") && tries < PORT_TRIES =>
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

    /// As [`MariaDb::url`], for the given account and database.
    pub fn url_for(&self, account: &str, database: &str) -> String {
        let socket = self.socket_path();
        format!(
            "mysql://{account}@localhost/{database}?socket={}",
            socket.display()
        )
    }

    /// Connection URL over TCP. It contains the password, so it is a [`Secret`].
    pub fn tcp_url_with_password(&self) -> Secret {
        let (password, port) = (self.password.reveal(), self.port());
        Secret::new(format!("mysql://prony:{password}@127.0.0.1:{port}/test"))
    }

    /// Password of `prony`.
    pub fn password(&self) -> &Secret {
        &self.password
    }

    pub fn data_dir(&self) -> PathBuf {
        self.directory.data_dir()
    }

    pub fn socket_path(&self) -> PathBuf {
        self.directory.socket_dir().join("m.sock")
    }

    /// Port on 127.0.0.1, which stays the same after [`MariaDb::restart`].
    pub fn port(&self) -> u16 {
        self.state().port
    }

    /// Process id while the server runs.
    pub fn pid(&self) -> Option<u32> {
        self.state().child.as_ref().map(Child::id)
    }

    /// The end of its log, if it has ended by itself.
    pub fn log_of_crash(&self) -> Option<String> {
        let mut state = self.state();
        state.child.as_mut()?.try_wait().ok()??;
        let log = fs::read(self.directory.log_path()).unwrap_or_default();
        Some(last_lines(&String::from_utf8_lossy(&log)))
    }

    /// Shuts the server down cleanly, and kills it if it does not end. Does nothing if stopped.
    pub fn stop(&self) {
        let first = (libc::SIGTERM, Duration::from_secs(30));
        terminate(&mut self.state(), &[first, KILL]);
    }

    /// Kills the server with SIGKILL. Does nothing if stopped.
    pub fn kill(&self) {
        terminate(&mut self.state(), &[KILL]);
    }

    /// Stops the server if it runs, then starts it with the same data and port.
    pub fn restart(&self) -> Result<(), Error> {
        self.stop();
        self.run_once(&mut self.state())
    }

    /// As [`MariaDb::restart`], with these arguments too, as if they were in its option file.
    pub fn restart_with(&self, arguments: &[&str]) -> Result<(), Error> {
        self.state().arguments = arguments.iter().map(|text| (*text).to_owned()).collect();
        self.restart()
    }

    fn state(&self) -> MutexGuard<'_, ProcessState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn create_data_dir(&self) -> Result<(), Error> {
        let program = find_program("mariadb-install-db")?;
        let mut command = process::command(&program, self.user.as_ref(), self.directory.path());
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", self.directory.data_dir().display()))
            .args([
                "--auth-root-authentication-method=normal",
                "--skip-name-resolve",
            ])
            .arg("--skip-test-db")
            .arg(self.tmpdir_argument())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = process::spawn(command, libc::SIGKILL);
        let output = child.and_then(Child::wait_with_output);
        let output = output.map_err(|problem| spawn_error(&program, &problem))?;
        if output.status.success() {
            return Ok(());
        }
        let printed = [output.stdout, output.stderr].concat();
        let log = last_lines(&String::from_utf8_lossy(&printed));
        Err(Error::of("it could not create its data directory", log))
    }

    /// Starts the server on the port of `state` and waits until the server is ready.
    fn run_once(&self, state: &mut ProcessState) -> Result<(), Error> {
        let program = find_program("mariadbd")?;
        let log = self.directory.log_path();
        let file = OpenOptions::new().append(true).create(true).open(&log);
        let file = file.map_err(|error| Error::of("opening its log", error))?;
        let log_start = file.metadata().map_or(0, |meta| meta.len()) as usize;
        let folder = self.directory.socket_dir();
        let init_file = folder.join("init.sql");
        self.directory.write(
            &init_file,
            self.init_file_text().as_bytes(),
            self.user.as_ref(),
        )?;
        let mut command = process::command(&program, self.user.as_ref(), self.directory.path());
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", self.directory.data_dir().display()))
            .arg(format!("--socket={}", self.socket_path().display()))
            .arg(format!("--pid-file={}", folder.join("pid").display()))
            .arg(format!("--init-file={}", init_file.display()))
            .arg(format!("--port={}", state.port))
            .arg(self.tmpdir_argument())
            .args(["--bind-address=127.0.0.1", "--skip-name-resolve"])
            .args(["--innodb-buffer-pool-size=64M", "--max-connections=500"])
            .args(&self.options.arguments)
            .args(&state.arguments)
            .envs(self.options.environment.iter().cloned());
        for (option, contents) in &self.options.files {
            let path = folder.join(option);
            self.directory.write(&path, contents, self.user.as_ref())?;
            command.arg(format!("--{option}={}", path.display()));
        }
        let errors = file
            .try_clone()
            .map_err(|error| Error::of("opening its log", error))?;
        command.stdout(Stdio::from(file)).stderr(errors);
        let child = process::spawn(command, libc::SIGKILL)
            .map_err(|problem| spawn_error(&program, &problem))?;
        state.child = Some(child);
        let mariadb_error = |problem: String| {
            let text = fs::read(&log).unwrap_or_default();
            let text = String::from_utf8_lossy(text.get(log_start..).unwrap_or_default());
            Error::of(&problem, last_lines(&text))
        };
        let deadline = Instant::now() + self.options.start_timeout;
        loop {
            if self.sends_greeting() {
                return Ok(());
            }
            let child = state.child.as_mut();
            if let Some(status) = child.and_then(|child| child.try_wait().ok().flatten()) {
                state.child = None;
                return Err(mariadb_error(format!("it did not start ({status})")));
            }
            if Instant::now() > deadline {
                terminate(state, &[KILL]);
                let seconds = self.options.start_timeout.as_secs();
                return Err(mariadb_error(format!("it was not ready after {seconds} s")));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// The argument that names a private folder for temporary files: a starting server deletes the
    /// temporary files of other servers in the same folder.
    fn tmpdir_argument(&self) -> String {
        format!("--tmpdir={}", self.directory.socket_dir().display())
    }

    /// Contents of the init file, which the server runs at each start.
    fn init_file_text(&self) -> String {
        let password = self.password.reveal();
        let setup = [
            "CREATE DATABASE IF NOT EXISTS test;".to_owned(),
            "DROP USER IF EXISTS root@'127.0.0.1';".to_owned(),
            "DROP USER IF EXISTS root@'::1';".to_owned(),
            format!("CREATE USER IF NOT EXISTS prony@'127.0.0.1' IDENTIFIED BY '{password}';"),
            "GRANT ALL PRIVILEGES ON *.* TO prony@'127.0.0.1' WITH GRANT OPTION;".to_owned(),
        ];
        let mut text = String::new();
        for statement in setup.iter().chain(&self.options.statements) {
            text.push_str(statement);
            text.push('\n');
        }
        text
    }

    /// Whether the server sends its greeting over the unix socket. Without a server the connection
    /// is refused at once; a server that still runs its init file accepts the connection and
    /// sends its greeting later.
    fn sends_greeting(&self) -> bool {
        let Ok(mut stream) = UnixStream::connect(self.socket_path()) else {
            return false;
        };
        let has_timeout = stream.set_read_timeout(Some(Duration::from_secs(5)));
        has_timeout.is_ok() && matches!(stream.read(&mut [0; 1]), Ok(1))
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends the signals in turn until the server has ended, and waits the given time after each.
fn terminate(state: &mut ProcessState, steps: &[(i32, Duration)]) {
    if let Some(mut child) = state.child.take() {
        let mut steps = steps.iter();
        steps.any(|&(signal, limit)| end(&mut child, signal, limit));
    }
}

/// Finds a MariaDB program in PRONY_MARIADB_BINDIR, in PATH or in the usual folders of packages.
fn find_program(name: &str) -> Result<PathBuf, Error> {
    let configured = std::env::var_os("PRONY_MARIADB_BINDIR").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let package_folders =
        ["/usr/sbin", "/usr/bin", "/usr/libexec", "/usr/local/bin"].map(PathBuf::from);
    configured
        .into_iter()
        .chain(std::env::split_paths(&path))
        .chain(package_folders)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
        .ok_or_else(|| {
            let hint = "install MariaDB's server (apt install mariadb-server), or name its folder in PRONY_MARIADB_BINDIR";
            Error::of(&format!("no {name} found on this machine"), hint)
        })
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

fn spawn_error(program: &Path, problem: &std::io::Error) -> Error {
    Error::of(&format!("starting {}", program.display()), problem)
}

static SHARED_SERVER: OnceLock<MariaDb> = OnceLock::new();

/// One MariaDB for the whole process, for tests: it is started on first use and stopped when the process
/// exits. Tests share it, so each creates its own database.
///
/// # Panics
/// If there is no MariaDB; the message says what to install.
pub fn shared_mariadb() -> &'static MariaDb {
    let start = || {
        let server = MariaDb::start(MariaDbOptions::default());
        server.unwrap_or_else(|problem| panic!("tests need a MariaDB: {problem}"))
    };
    crate::shared(&SHARED_SERVER, start, stop_at_exit)
}

extern "C" fn stop_at_exit() {
    if let Some(server) = SHARED_SERVER.get() {
        server.kill();
        server.directory.remove();
    }
}
