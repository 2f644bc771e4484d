//! An installed program, such as a pooler, that a test runs beside its servers. It never runs as root, and ends with the
//! test.

use prony_server::embedded::{Directory, ServerUser, free_port, process, server_user};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program that does not answer within this time has failed.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A program with a folder of its own, before and after its start. Dropping it kills the program.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Option<Child>,
    port: u16,
    user: Option<ServerUser>,
    directory: Directory,
}

impl Daemon {
    /// # Panics
    /// If no folder can be created.
    pub(crate) fn new() -> Daemon {
        let user = server_user().expect("a user for servers");
        Daemon {
            child: None,
            port: 0,
            directory: Directory::create(None, user.as_ref()).expect("a folder"),
            user,
        }
    }

    /// The port on which it listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.directory.data_dir()
    }

    /// Writes a file that only the program's user can read.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.socket_dir().join(name);
        let written = self
            .directory
            .write(&path, text.as_bytes(), self.user.as_ref());
        written.expect("its own folder");
        path
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        process::command(Path::new(program), self.user.as_ref(), &self.folder())
    }

    /// Starts the program, which gets `death_signal` if the test ends, and waits until it listens on this port.
    ///
    /// # Panics
    /// As [`Daemon::wait_until`] does.
    pub(crate) fn start(&mut self, mut command: Command, port: u16, death_signal: i32) {
        let log = std::fs::File::create(self.directory.log_path()).expect("its own folder");
        let errors = log.try_clone().expect("a file");
        command.stdout(Stdio::from(log)).stderr(errors);
        self.child = Some(process::spawn(command, death_signal).expect("it starts"));
        self.port = port;
        self.wait_until("it listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
    }

    /// Waits until `is_true` returns true; `what` describes that in failures.
    ///
    /// # Panics
    /// If the program ends before, or after [`START_TIMEOUT`].
    pub(crate) fn wait_until(&mut self, what: &str, mut is_true: impl FnMut() -> bool) {
        let started = Instant::now();
        while !is_true() {
            let log = || std::fs::read_to_string(self.directory.log_path()).unwrap_or_default();
            let child = self.child.as_mut().expect("it was started");
            let ended = child.try_wait().expect("its state");
            assert_eq!(ended, None, "until {what}: {}", log());
            let is_in_time = started.elapsed() < START_TIMEOUT;
            assert!(is_in_time, "waiting until {what}: {}", log());
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Sends a signal, and waits at most this long for the program's end; returns whether it has ended.
    pub(crate) fn end(&mut self, signal: i32, limit: Duration) -> bool {
        let child = self.child.as_mut();
        let has_ended = child.is_none_or(|child| end(child, signal, limit));
        self.child.take_if(|_| has_ended);
        has_ended
    }
}

/// Sends a program a signal, and waits at most this long for its end; returns whether it has ended.
pub(crate) fn end(child: &mut Child, signal: i32, limit: Duration) -> bool {
    let started = Instant::now();
    let pid = child.id();
    let mut has_ended = || !matches!(child.try_wait(), Ok(None));
    // Until it is reaped, the process id is still its own.
    if !has_ended() {
        let _ = process::signal(pid, signal);
    }
    while started.elapsed() < limit {
        if has_ended() {
            return true;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    false
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end(libc::SIGKILL, START_TIMEOUT);
    }
}

/// Ports that are free and differ from each other.
pub(crate) fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    let mut ports = [0; COUNT];
    for index in 0..COUNT {
        while ports[index] == 0 || ports[..index].contains(&ports[index]) {
            ports[index] = free_port().expect("a free port");
        }
    }
    ports
}
