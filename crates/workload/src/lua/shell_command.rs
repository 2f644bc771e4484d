//! The command of a script's `os.execute`: a child process that runs while the worker serves its other users.
//!
//! In: a command. Out: its wait status, as `system` of the C library returns it. Must never: block the worker while
//! the command runs, or change how this process handles signals.

use std::ffi::{OsStr, c_int};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// The status that `system` returns if no process can be started.
const NOT_STARTED: c_int = -1;
/// The shortest and the longest time between two polls. In between, a poll is late by at most a sixteenth of the
/// command's time.
const POLL_MIN: Duration = Duration::from_micros(500);
const POLL_MAX: Duration = Duration::from_millis(50);

/// A command that was started.
pub struct ShellCommand {
    child: io::Result<Child>,
    started: Instant,
}

impl ShellCommand {
    /// Starts a command; it shares this process's standard streams. As in C, the text ends at its first NUL.
    pub fn start(text: &[u8]) -> ShellCommand {
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        let mut command = Command::new("/bin/sh");
        ShellCommand {
            started: Instant::now(),
            child: command.arg("-c").arg(OsStr::from_bytes(text)).spawn(),
        }
    }

    /// The status of the command if it has ended, else the time after which to ask again.
    ///
    /// # Errors
    /// The command still runs.
    pub fn poll(&mut self) -> Result<c_int, Duration> {
        let status = self.child.as_mut().map(Child::try_wait);
        match status {
            Ok(Ok(None)) => Err((self.started.elapsed() / 16).clamp(POLL_MIN, POLL_MAX)),
            Ok(Ok(Some(status))) => Ok(status.into_raw()),
            Ok(Err(_)) | Err(_) => Ok(NOT_STARTED),
        }
    }

    /// Waits until the command has ended. Returns its status.
    pub fn wait(self) -> c_int {
        let status = self.child.and_then(|mut child| child.wait());
        status.map_or(NOT_STARTED, ExitStatus::into_raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_that_of_system() {
        assert_eq!(ShellCommand::start(b"exit 3").wait(), 3 << 8);
        assert_eq!(ShellCommand::start(b"kill -9 $$").wait(), 9, "SIGKILL");
        assert_eq!(ShellCommand::start(b"true\0 && exit 1").wait(), 0);
        assert_eq!(ShellCommand::start(b"/dev/null").wait(), 126 << 8);
    }

    #[test]
    fn a_running_command_is_polled_less_often_the_longer_it_runs() {
        let mut command = ShellCommand::start(b"sleep 0.2");
        let mut waits = Vec::new();
        let status = loop {
            match command.poll() {
                Ok(status) => break status,
                Err(wait) => {
                    std::thread::sleep(wait);
                    waits.push(wait);
                }
            }
        };
        assert_eq!(status, 0);
        assert!(waits.is_sorted() && waits.len() > 2, "{waits:?}");
    }
}
