//! A running throw-away PostgreSQL.
//!
//! It listens on a private unix socket and on 127.0.0.1. Must never: outlive its `EmbeddedPostgres`
//! value, or signal a process that it did not start.

use super::directory::{Directory, random_hex};
use super::launch::{free_port, terminate};
use super::privileges::{ServerUser, server_user};
use super::{EmbeddedOptions, Error, Installation};
use crate::control::StopSignal;
use prony_wire::Secret;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A throw-away PostgreSQL. Stopped and removed when dropped.
///
/// Superuser `postgres`, database `postgres`. The unix socket needs no password, as its directory
/// is closed to other users; TCP needs [`EmbeddedPostgres::password`], by SCRAM-SHA-256.
///
/// It ends with this process even on `kill -9` (Linux), whichever thread started it; the next start
/// then removes its directory.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    pub(super) installation: Installation,
    pub(super) user: Option<ServerUser>,
    pub(super) password: Secret,
    pub(super) start_timeout: Duration,
    pub(super) stop: StopSignal,
    pub(super) state: Mutex<ProcessState>,
    // After `state`: fields drop in this order, and the server must end before its directory.
    pub(super) directory: Directory,
}

#[derive(Debug)]
pub(super) struct ProcessState {
    pub(super) child: Option<Child>,
    pub(super) port: u16,
    /// Whether the last postmaster was killed, and so left its shared memory behind.
    pub(super) killed: bool,
}

impl EmbeddedPostgres {
    /// Creates a data directory, starts a server on it, and waits until it is ready.
    ///
    /// # Errors
    /// Any [`Error`], with the end of the server's log. Nothing is left behind.
    pub fn start(
        installation: &Installation,
        options: &EmbeddedOptions,
    ) -> Result<EmbeddedPostgres, Error> {
        let server = EmbeddedPostgres::prepare(installation, options)?;
        server.run_first(options)?;
        Ok(server)
    }

    /// Starts a standby of this server, which must run, with its data, its password and settings of its own.
    ///
    /// # Errors
    /// Any [`Error`], with the end of the log. Nothing is left behind.
    pub fn start_standby(&self, options: &EmbeddedOptions) -> Result<EmbeddedPostgres, Error> {
        let standby =
            EmbeddedPostgres::with_directory(&self.installation, options, self.password.clone())?;
        standby.copy(self)?;
        standby.configure(options)?;
        standby.run_first(options)?;
        Ok(standby)
    }

    fn run_first(&self, options: &EmbeddedOptions) -> Result<(), Error> {
        let Some(port) = options.port else {
            return self.launch(&mut free_port);
        };
        let mut state = self.state();
        state.port = port;
        self.run_once(&mut state)
    }

    /// Creates and configures the data directory, without starting the server.
    pub(super) fn prepare(
        installation: &Installation,
        options: &EmbeddedOptions,
    ) -> Result<EmbeddedPostgres, Error> {
        let password = random_hex(16).map_err(Error::io("read", "/dev/urandom"))?;
        let server =
            EmbeddedPostgres::with_directory(installation, options, Secret::new(password))?;
        server.initdb()?;
        server.configure(options)?;
        Ok(server)
    }

    fn with_directory(
        installation: &Installation,
        options: &EmbeddedOptions,
        password: Secret,
    ) -> Result<EmbeddedPostgres, Error> {
        let user = server_user()?;
        let directory = Directory::create(options.parent_folder.as_deref(), user.as_ref())?;
        Ok(EmbeddedPostgres {
            installation: installation.clone(),
            user,
            password,
            start_timeout: options.start_timeout,
            stop: options.stop.clone(),
            state: Mutex::new(ProcessState {
                child: None,
                port: 0,
                killed: false,
            }),
            directory,
        })
    }

    /// Connection URI over the unix socket, without a password.
    pub fn url(&self) -> String {
        self.url_for("postgres")
    }

    /// As [`EmbeddedPostgres::url`], for the given database, whose name must be letters, digits and `_`.
    pub fn url_for(&self, database: &str) -> String {
        let (host, port) = (self.socket_dir(), self.port());
        format!(
            "postgresql://postgres@/{database}?host={}&port={port}",
            host.display()
        )
    }

    /// Connection URI over TCP. It contains the password, so it is a [`Secret`].
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

    /// Directory of the unix socket, for libpq's `host`.
    pub fn socket_dir(&self) -> PathBuf {
        self.directory.socket_dir()
    }

    pub fn data_dir(&self) -> PathBuf {
        self.directory.data_dir()
    }

    /// The private directory, which is removed on drop.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn log_path(&self) -> PathBuf {
        self.directory.log_path()
    }

    /// Port, both in the unix socket's name and on 127.0.0.1, which stays the same after
    /// [`EmbeddedPostgres::restart`].
    pub fn port(&self) -> u16 {
        self.state().port
    }

    /// Process id of the postmaster while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.state().child.as_ref().map(Child::id)
    }

    /// Whether the postmaster has exited without being stopped.
    pub fn has_ended(&self) -> bool {
        let mut state = self.state();
        let child = state.child.as_mut();
        child.is_some_and(|child| matches!(child.try_wait(), Ok(Some(_))))
    }

    /// Requests a fast shutdown, then an immediate one, then kills the server. The directory stays
    /// until the value is dropped, for [`EmbeddedPostgres::restart`]. Does nothing if stopped.
    pub fn stop(&self) {
        terminate(
            &mut self.state(),
            &[
                (libc::SIGINT, Duration::from_secs(20)),
                (libc::SIGQUIT, Duration::from_secs(10)),
                (libc::SIGKILL, Duration::from_secs(60)),
            ],
        );
    }

    /// Kills the postmaster with SIGKILL, for crash tests: its backends notice and exit without
    /// flushing anything. Does nothing if stopped.
    pub fn kill(&self) {
        terminate(
            &mut self.state(),
            &[(libc::SIGKILL, Duration::from_secs(60))],
        );
    }

    /// Stops the server if it runs, then starts it with the same data and port.
    pub fn restart(&self) -> Result<(), Error> {
        self.stop();
        let mut state = self.state();
        // PostgreSQL refuses to start while backends of a killed postmaster still hold the shared
        // memory, which takes a moment.
        let deadline = Instant::now() + self.start_timeout;
        loop {
            match self.run_once(&mut state) {
                Err(Error::Start { log, .. })
                    if log.contains("shared memory block") && Instant::now() < deadline =>
                {
                    std::thread::sleep(Duration::from_millis(100));
                }
                outcome => return outcome,
            }
        }
    }

    /// Shuts down immediately and removes the directory, for a process about to exit, which does
    /// not drop statics.
    pub fn discard(&self) {
        self.stop_immediately();
        self.directory.remove();
    }

    /// Stops the server without a checkpoint.
    fn stop_immediately(&self) {
        terminate(
            &mut self.state(),
            &[
                (libc::SIGQUIT, Duration::from_secs(10)),
                (libc::SIGKILL, Duration::from_secs(10)),
            ],
        );
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ProcessState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for EmbeddedPostgres {
    fn drop(&mut self) {
        // The data is not used again, so a checkpoint would only delay the end.
        self.stop_immediately();
        if self.state().killed {
            // A killed postmaster leaves shared memory behind; only a start on the same data
            // directory removes it.
            self.start_timeout = self.start_timeout.min(Duration::from_secs(20));
            let _ = self.restart();
            self.stop();
        }
    }
}
