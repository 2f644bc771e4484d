//! How a server comes up and goes down.
//!
//! In: a private directory and options. Out: a postmaster that is ready, or the reason from its log;
//! and its end. Must never: signal a process that it did not start.

use super::directory::random_hex;
use super::server::{Server, State};
use super::{Error, Options, process};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::TcpListener;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a free port may turn out to be taken.
const PORT_TRIES: u32 = 10;

/// How often the state of a starting or ending server is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

impl Server {
    pub(super) fn initdb(&self) -> Result<(), Error> {
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

    pub(super) fn configure(&self, options: &Options) -> Result<(), Error> {
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
    pub(super) fn run_once(&self, state: &mut State) -> Result<(), Error> {
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
                state.killed = false;
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
                let steps = [
                    (libc::SIGQUIT, Duration::from_secs(10)),
                    (libc::SIGKILL, Duration::from_secs(60)),
                ];
                end(state, &steps);
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

/// Sends one signal after the other until the postmaster has ended, giving each its time.
pub(super) fn end(state: &mut State, steps: &[(i32, Duration)]) {
    thaw(state);
    for &(signal, patience) in steps {
        let Some(child) = state.child.as_mut() else {
            return;
        };
        if matches!(child.try_wait(), Ok(None)) {
            // Not waited for yet: the number is still this child's.
            let _ = process::signal(child.id(), signal);
            state.killed |= signal == libc::SIGKILL;
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

pub(super) fn thaw(state: &mut State) {
    // The postmaster, first in the list, last: it would otherwise see its children stopped.
    while let Some(pid) = state.frozen.pop() {
        let _ = process::signal(pid, libc::SIGCONT);
    }
}

/// A port that was free a moment ago.
///
/// From below the range that systems take for outgoing connections (Linux: from 32768): there, one
/// of the thousands that a load makes could sit on the port when a killed server wants it back.
pub(super) fn free_port() -> io::Result<u16> {
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
