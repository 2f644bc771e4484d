//! Starts and stops a throw-away PostgreSQL.
//!
//! Must never: signal a process that it did not start.

use super::directory::random_hex;
use super::server::{EmbeddedPostgres, ProcessState};
use super::{EmbeddedOptions, Error, process};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Number of ports to try if a second process takes the chosen port first.
const PORT_TRIES: u32 = 10;

/// Poll interval while a server starts or stops.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl EmbeddedPostgres {
    pub(super) fn initdb(&self) -> Result<(), Error> {
        let program = self.installation.bin_dir.join("initdb");
        let pwfile = self.directory.data_dir().with_file_name("pw");
        let user = self.user.as_ref();
        let secret = format!("{}\n", self.password.reveal());
        self.directory.write(&pwfile, secret.as_bytes(), user)?;
        let log = self.open_log()?;
        let mut command = process::command(&program, user, self.directory.path());
        command
            .arg("--pgdata")
            .arg(self.directory.data_dir())
            .arg("--pwfile")
            .arg(&pwfile)
            .args(["--username=postgres", "--encoding=UTF8", "--locale=C"])
            .args(["--auth-local=trust", "--auth-host=scram-sha-256"])
            // This concerns only the files that initdb creates; the server syncs as in production.
            .arg("--no-sync")
            .stdout(
                log.try_clone()
                    .map_err(Error::io("open", self.log_path()))?,
            )
            .stderr(log);
        let outcome = self.run_program(&program, command);
        fs::remove_file(&pwfile).map_err(Error::io("remove", &pwfile))?;
        if outcome? {
            return Ok(());
        }
        Err(Error::Initdb {
            output: self.log_since(0),
        })
    }

    /// Copies the data of a running server, as its standby.
    pub(super) fn copy(&self, primary: &EmbeddedPostgres) -> Result<(), Error> {
        let program = self.installation.bin_dir.join("pg_basebackup");
        let log = self.open_log()?;
        let mut command = process::command(&program, self.user.as_ref(), self.directory.path());
        command
            .args([
                "--write-recovery-conf",
                "--wal-method=stream",
                "--checkpoint=fast",
            ])
            .args(["--no-password", "--no-sync", "--username=postgres"])
            .arg(format!("--port={}", primary.port()))
            .arg("--host")
            .arg(primary.socket_dir())
            .arg("--pgdata")
            .arg(self.directory.data_dir())
            .stdout(Stdio::null())
            .stderr(log);
        if self.run_program(&program, command)? {
            return Ok(());
        }
        Err(Error::BaseBackup {
            output: self.log_since(0),
        })
    }

    /// Runs a program to its end; returns whether it succeeded.
    fn run_program(&self, program: &Path, command: Command) -> Result<bool, Error> {
        let ended = process::spawn(command, libc::SIGKILL)
            .and_then(|child| self.wait_unless_stopped(child));
        match ended {
            Ok(status) if status.success() => Ok(true),
            Ok(_) if self.stop.is_requested() => Err(Error::Interrupted),
            Ok(_) => Ok(false),
            Err(problem) => Err(spawn_error(program, &problem)),
        }
    }

    /// Waits for a child to exit. If the user interrupts, kills it and its children.
    fn wait_unless_stopped(&self, mut child: Child) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if self.stop.is_requested() {
                // The child is not reaped yet, so the process id is still its own.
                process::kill_group(child.id())?;
                return child.wait();
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    pub(super) fn configure(&self, options: &EmbeddedOptions) -> Result<(), Error> {
        let user = self.user.as_ref();
        let data = self.directory.data_dir();
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

    /// Starts the server on a port from `next_port`; tries another one if the port is taken meanwhile.
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

    /// Starts the server on the port in `state` and waits until the server is ready.
    pub(super) fn run_once(&self, state: &mut ProcessState) -> Result<(), Error> {
        let log = self.open_log()?;
        let log_start = log.metadata().map_or(0, |meta| meta.len());
        let program = self.installation.bin_dir.join("postgres");
        let mut command = process::command(&program, self.user.as_ref(), self.directory.path());
        command
            .arg("-D")
            .arg(self.directory.data_dir())
            .arg("-p")
            .arg(state.port.to_string())
            .stdout(Stdio::from(
                log.try_clone()
                    .map_err(Error::io("open", self.log_path()))?,
            ))
            .stderr(log);
        // When Prony dies, an immediate shutdown is enough: the data is not used again.
        let child = process::spawn(command, libc::SIGQUIT)
            .map_err(|problem| spawn_error(&program, &problem))?;
        let pid = child.id();
        state.child = Some(child);
        let deadline = Instant::now() + self.start_timeout;
        loop {
            if self.is_ready(pid) {
                state.killed = false;
                return Ok(());
            }
            if let Some(status) = exit_status(state) {
                state.child = None;
                return Err(Error::Start {
                    status: status.to_string(),
                    log: self.log_since(log_start),
                });
            }
            let is_interrupted = self.stop.is_requested();
            if is_interrupted || Instant::now() > deadline {
                let timeout = Duration::from_secs(if is_interrupted { 1 } else { 10 });
                let steps = [
                    (libc::SIGQUIT, timeout),
                    (libc::SIGKILL, Duration::from_secs(60)),
                ];
                terminate(state, &steps);
                if is_interrupted {
                    return Err(Error::Interrupted);
                }
                return Err(Error::NotReady {
                    seconds: self.start_timeout.as_secs(),
                    log: self.log_since(log_start),
                });
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// The condition that pg_ctl waits for: the first line of postmaster.pid is the process id, the
    /// eighth is `ready`.
    fn is_ready(&self, pid: u32) -> bool {
        let path = self.directory.data_dir().join("postmaster.pid");
        let Ok(text) = fs::read_to_string(path) else {
            return false;
        };
        let line = |number: usize| text.lines().nth(number).unwrap_or("").trim();
        line(0) == pid.to_string() && line(7) == "ready"
    }

    fn open_log(&self) -> Result<fs::File, Error> {
        let path = self.log_path();
        let file = OpenOptions::new().append(true).create(true).open(&path);
        file.map_err(Error::io("open", path))
    }

    /// The last lines of the log after byte `start`.
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

/// Sends the signals in turn until the postmaster has ended, and waits the given time after each.
pub(super) fn terminate(state: &mut ProcessState, steps: &[(i32, Duration)]) {
    for &(signal, timeout) in steps {
        let Some(child) = state.child.as_mut() else {
            return;
        };
        match child.try_wait() {
            Ok(None) => {
                // The child is not reaped yet, so the process id is still its own.
                let _ = process::signal(child.id(), signal);
                state.killed |= signal == libc::SIGKILL;
            }
            // Somebody else killed it, such as a command of the user.
            Ok(Some(status)) => state.killed |= status.signal() == Some(libc::SIGKILL),
            Err(_) => {}
        }
        let deadline = Instant::now() + timeout;
        while Instant::now() < deadline {
            if exit_status(state).is_some() {
                state.child = None;
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    state.child = None;
}

/// The exit status, once the child has ended.
fn exit_status(state: &mut ProcessState) -> Option<ExitStatus> {
    state.child.as_mut()?.try_wait().ok().flatten()
}

/// A port that was free a moment ago.
///
/// It is below the range for outgoing connections (Linux: from 32768). In that range, one of the
/// thousands of connections of a load could take the port before a killed server restarts on it.
pub fn free_port() -> io::Result<u16> {
    for _ in 0..100 {
        let random = u16::from_str_radix(&random_hex(2)?, 16).map_err(io::Error::other)?;
        let port = 15_000 + random % 16_384;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn spawn_error(program: &Path, problem: &io::Error) -> Error {
    Error::Spawn {
        program: program.to_path_buf(),
        reason: problem.to_string(),
    }
}
