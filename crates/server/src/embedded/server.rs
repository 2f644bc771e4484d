//! A running throw-away server.
//!
//! In: an installation and options. Out: a server on a private unix socket and on 127.0.0.1. Must
//! never: outlive its value, or signal a process that it did not start.

use super::directory::{Directory, random_hex};
use super::launch::{end, free_port, thaw};
use super::privileges::{ServerUser, server_user};
use super::{Error, Installation, Options, process};
use prony_wire::Secret;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A PostgreSQL of our own. Stopped and removed when dropped.
///
/// Superuser `postgres`, database `postgres`. The unix socket asks for no password (its directory
/// is closed to others); TCP asks for [`Server::password`] by SCRAM-SHA-256.
///
/// It ends with this process, also by `kill -9` (Linux), whichever thread started it; what that
/// leaves of its directory is removed by the next start.
#[derive(Debug)]
pub struct Server {
    pub(super) installation: Installation,
    pub(super) user: Option<ServerUser>,
    pub(super) password: Secret,
    pub(super) patience: Duration,
    pub(super) state: Mutex<State>,
    // After `state`: the directory goes when the server has ended.
    pub(super) directory: Directory,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) child: Option<Child>,
    pub(super) port: u16,
    /// Processes that [`Server::freeze`] has stopped.
    pub(super) frozen: Vec<u32>,
    /// Its last postmaster was killed: shared memory is left behind.
    pub(super) killed: bool,
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
                killed: false,
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

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        if self.state().killed {
            // A killed postmaster leaves shared memory behind, which only the next start on the
            // same data finds and removes.
            self.patience = self.patience.min(Duration::from_secs(20));
            let _ = self.restart();
            self.stop();
        }
    }
}
