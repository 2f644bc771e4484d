//! A running throw-away server.
//!
//! In: an installation and options. Out: a server on a private unix socket and on 127.0.0.1. Must
//! never: outlive its value, or signal a process that it did not start.

use super::directory::{Directory, random_hex};
use super::privileges::{ServerUser, server_user};
use super::{Error, Installation, Options, process};
use prony_wire::Secret;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a free port may turn out to be taken.
const PORT_TRIES: u32 = 10;

/// How often the state of a starting or ending server is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A PostgreSQL of our own. Stopped and removed when dropped.
///
/// Superuser `postgres`, database `postgres`. The unix socket asks for no password (its directory
/// is closed to others); TCP asks for [`Server::password`] by SCRAM-SHA-256.
///
/// It ends with this process, also by `kill -9` (Linux), whichever thread started it; what that
/// leaves of its directory is removed by the next start.
#[derive(Debug)]
pub struct Server {
    installation: Installation,
    user: Option<ServerUser>,
    password: Secret,
    patience: Duration,
    state: Mutex<State>,
    // After `state`: the directory goes when the server has ended.
    directory: Directory,
}

#[derive(Debug)]
struct State {
    child: Option<Child>,
    port: u16,
    /// Processes that [`Server::freeze`] has stopped.
    frozen: Vec<u32>,
}

impl Server {
    /// Makes a data directory, starts a server on it, and waits until it is ready.
    ///
    /// # Errors
    /// Any [`Error`]; the end of the server's log is in it. Nothing is left behind then.
    pub fn start(installation: &Installation, options: &Options) -> Result<Server, Error> {
        let server = Server::prepare(installation, options)?;
        match options.port {
            Some(port) => {
                let mut state = server.state();
                state.port = port;
                server.run_once(&mut state)?;
            }
            None => server.launch(&mut free_port)?,
        }
        Ok(server)
    }

    /// Everything but the start.
    pub(super) fn prepare(installation: &Installation, options: &Options) -> Result<Server, Error> {
        let user = server_user()?;
        let directory = Directory::create(options.parent.as_deref(), user.as_ref())?;
        let password = random_hex(16).map_err(Error::io("read", "/dev/urandom"))?;
        let server = Server {
            installation: installation.clone(),
            user,
            password: Secret::new(password),
            patience: options.patience,
            state: Mutex::new(State {
                child: None,
                port: 0,
                frozen: Vec::new(),
            }),
            directory,
        };
        server.initdb()?;
        server.configure(options)?;
        Ok(server)
    }

    /// Connection URI over the unix socket, without a password.
    pub fn url(&self) -> String {
        self.url_for("postgres")
    }

    /// As [`Server::url`], for another database (its name plain letters, digits and `_`).
    pub fn url_for(&self, database: &str) -> String {
        let (host, port) = (self.socket_dir(), self.port());
        format!(
            "postgresql://postgres@/{database}?host={}&port={port}",
            host.display()
        )
    }

    /// Connection URI over TCP, without the password that it needs: see [`Server::password`].
    pub fn tcp_url(&self) -> String {
        let port = self.port();
        format!("postgresql://postgres@127.0.0.1:{port}/postgres")
    }

    /// Connection URI over TCP, password included: therefore a [`Secret`].
    pub fn tcp_url_with_password(&self) -> Secret {
        let (password, port) = (self.password.reveal(), self.port());
        Secret::new(format!(
            "postgresql://postgres:{password}@127.0.0.1:{port}/postgres"
        ))
    }

    /// Password of `postgres`: random letters and digits.
    pub fn password(&self) -> &Secret {
        &self.password
    }

    /// Directory of the unix socket: libpq's `host`.
    pub fn socket_dir(&self) -> PathBuf {
        self.directory.socket()
    }

    /// Data directory.
    pub fn data_dir(&self) -> PathBuf {
        self.directory.data()
    }

    /// The whole private directory, which is removed at the end.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The server's log.
    pub fn log_path(&self) -> PathBuf {
        self.directory.log()
    }

    /// Port, of the unix socket's name and on 127.0.0.1. Stays the same over [`Server::restart`].
    pub fn port(&self) -> u16 {
        self.state().port
    }

    /// Process number of the postmaster while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.state().child.as_ref().map(Child::id)
    }

    /// Whose programs these are.
    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    /// Fast shutdown; then, if it does not end, an immediate one; then a kill. The directory stays
    /// until the value is dropped, so that [`Server::restart`] finds it. Does nothing if stopped.
    pub fn stop(&self) {
        end(
            &mut self.state(),
            &[
                (libc::SIGINT, Duration::from_secs(20)),
                (libc::SIGQUIT, Duration::from_secs(10)),
                (libc::SIGKILL, Duration::from_secs(60)),
            ],
        );
    }

    /// Kills the postmaster by SIGKILL, for crash tests: its backends notice and end, nothing is
    /// flushed. Does nothing if stopped.
    pub fn kill(&self) {
        end(
            &mut self.state(),
            &[(libc::SIGKILL, Duration::from_secs(60))],
        );
    }

    /// Stops it if it runs, and starts it again on the same data and the same port.
    ///
    /// # Errors
    /// [`Error::Start`], [`Error::NotReady`], [`Error::Spawn`].
    pub fn restart(&self) -> Result<(), Error> {
        self.stop();
        let mut state = self.state();
        // Backends of a killed postmaster may hold the shared memory for a moment; PostgreSQL
        // refuses to start meanwhile.
        let end = Instant::now() + self.patience;
        loop {
            match self.run_once(&mut state) {
                Err(Error::Start { log, .. })
                    if log.contains("shared memory block") && Instant::now() < end =>
                {
                    std::thread::sleep(Duration::from_millis(100));
                }
                outcome => return outcome,
            }
        }
    }

    /// Stops all its processes by SIGSTOP: connections stay open and nothing answers. On systems
    /// without /proc only the postmaster: nothing new is accepted.
    ///
    /// # Errors
    /// [`Error::NotRunning`].
    pub fn freeze(&self) -> Result<(), Error> {
        let mut state = self.state();
        let postmaster = state.child.as_ref().ok_or(Error::NotRunning)?.id();
        // The postmaster first, so that it starts no more.
        let _ = process::signal(postmaster, libc::SIGSTOP);
        state.frozen.push(postmaster);
        for backend in process::children(postmaster) {
            let _ = process::signal(backend, libc::SIGSTOP);
            state.frozen.push(backend);
        }
        Ok(())
    }

    /// Ends [`Server::freeze`].
    pub fn thaw(&self) {
        thaw(&mut self.state());
    }

    /// Immediate shutdown, and the directory removed, for a process about to exit: statics are not
    /// dropped.
    pub(super) fn discard(&self) {
        end(
            &mut self.state(),
            &[
                (libc::SIGQUIT, Duration::from_secs(10)),
                (libc::SIGKILL, Duration::from_secs(10)),
            ],
        );
        self.directory.remove();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn initdb(&self) -> Result<(), Error> {
        let program = self.installation.bin_dir.join("initdb");
        let pwfile = self.directory.data().with_file_name("pw");
        let user = self.user.as_ref();
        let secret = format!("{}\n", self.password.reveal());
        self.directory.write(&pwfile, secret.as_bytes(), user)?;
        let log = self.open_log()?;
        let mut command = process::command(&program, user, self.directory.path());
        command
            .arg("--pgdata")
            .arg(self.directory.data())
            .arg("--pwfile")
            .arg(&pwfile)
            .args(["--username=postgres", "--encoding=UTF8", "--locale=C"])
            .args(["--auth-local=trust", "--auth-host=scram-sha-256"])
            // Only of the empty cluster's own files: the server syncs as in production.
            .arg("--no-sync")
            .stdout(
                log.try_clone()
                    .map_err(Error::io("open", self.log_path()))?,
            )
            .stderr(log);
        let outcome = process::spawn(command, libc::SIGKILL).and_then(|mut child| child.wait());
        fs::remove_file(&pwfile).map_err(Error::io("remove", &pwfile))?;
        match outcome {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(Error::Initdb {
                output: self.log_since(0),
            }),
            Err(problem) => Err(spawn_error(&program, &problem)),
        }
    }

    fn configure(&self, options: &Options) -> Result<(), Error> {
        let user = self.user.as_ref();
        let data = self.directory.data();
        let conf = data.join("postgresql.conf");
        let mut text = fs::read_to_string(&conf).map_err(Error::io("read", &conf))?;
        text.push_str(&options.postgresql_conf(&self.socket_dir())?);
        self.directory.write(&conf, text.as_bytes(), user)?;
        let hba = options.pg_hba_conf();
        let hba_path = data.join("pg_hba.conf");
        self.directory.write(&hba_path, hba.as_bytes(), user)?;
        for (name, contents) in &options.files {
            self.directory.write(&data.join(name), contents, user)?;
        }
        Ok(())
    }

    /// Starts on a port of `next_port`, and asks for another when somebody was faster.
    pub(super) fn launch(
        &self,
        next_port: &mut dyn FnMut() -> io::Result<u16>,
    ) -> Result<(), Error> {
        let mut state = self.state();
        let mut tries = 1;
        loop {
            state.port = next_port().map_err(Error::io("bind", "127.0.0.1"))?;
            match self.run_once(&mut state) {
                Err(Error::Start { log, .. })
                    if log.contains("Address already in use") && tries < PORT_TRIES =>
                {
                    tries += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Starts on the port of `state` and waits until ready.
    fn run_once(&self, state: &mut State) -> Result<(), Error> {
        let log = self.open_log()?;
        let log_start = log.metadata().map_or(0, |meta| meta.len());
        let program = self.installation.bin_dir.join("postgres");
        let mut command = process::command(&program, self.user.as_ref(), self.directory.path());
        command
            .arg("-D")
            .arg(self.directory.data())
            .arg("-p")
            .arg(state.port.to_string())
            .stdout(Stdio::from(
                log.try_clone()
                    .map_err(Error::io("open", self.log_path()))?,
            ))
            .stderr(log);
        // Immediate shutdown when Prony is gone: nobody will read the data again.
        let child = process::spawn(command, libc::SIGQUIT)
            .map_err(|problem| spawn_error(&program, &problem))?;
        let pid = child.id();
        state.child = Some(child);
        let give_up = Instant::now() + self.patience;
        loop {
            if self.is_ready(pid) {
                return Ok(());
            }
            if let Some(status) = exited(state) {
                state.child = None;
                return Err(Error::Start {
                    status: status.to_string(),
                    log: self.log_since(log_start),
                });
            }
            if Instant::now() > give_up {
                end(state, &[(libc::SIGKILL, Duration::from_secs(60))]);
                return Err(Error::NotReady {
                    seconds: self.patience.as_secs(),
                    log: self.log_since(log_start),
                });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// What pg_ctl waits for: the first line of postmaster.pid is the process, the eighth `ready`.
    fn is_ready(&self, pid: u32) -> bool {
        let path = self.directory.data().join("postmaster.pid");
        let Ok(text) = fs::read_to_string(path) else {
            return false;
        };
        let line = |number: usize| text.lines().nth(number).unwrap_or("").trim();
        line(0) == pid.to_string() && line(7) == "ready"
    }

    fn open_log(&self) -> Result<fs::File, Error> {
        let path = self.log_path();
        let open = OpenOptions::new().append(true).create(true).open(&path);
        open.map_err(Error::io("open", path))
    }

    /// The last lines of the log, from a place in it.
    fn log_since(&self, start: u64) -> String {
        let read = || -> io::Result<String> {
            let mut file = fs::File::open(self.log_path())?;
            let end = file.metadata()?.len();
            file.seek(SeekFrom::Start(start.max(end.saturating_sub(8192))))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let text = read().unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Sends one signal after the other until the postmaster has ended, giving each its time.
fn end(state: &mut State, steps: &[(i32, Duration)]) {
    thaw(state);
    for &(signal, patience) in steps {
        let Some(child) = state.child.as_mut() else {
            return;
        };
        if matches!(child.try_wait(), Ok(None)) {
            // Not waited for yet: the number is still this child's.
            let _ = process::signal(child.id(), signal);
        }
        let give_up = Instant::now() + patience;
        while Instant::now() < give_up {
            if exited(state).is_some() {
                state.child = None;
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
    state.child = None;
}

/// The exit status, once the child has ended.
fn exited(state: &mut State) -> Option<ExitStatus> {
    state.child.as_mut()?.try_wait().ok().flatten()
}

fn thaw(state: &mut State) {
    // The postmaster, first in the list, last: it would otherwise see its children stopped.
    while let Some(pid) = state.frozen.pop() {
        let _ = process::signal(pid, libc::SIGCONT);
    }
}

/// A port that was free a moment ago.
pub(super) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn spawn_error(program: &Path, problem: &io::Error) -> Error {
    Error::Spawn {
        program: program.to_path_buf(),
        reason: problem.to_string(),
    }
}
