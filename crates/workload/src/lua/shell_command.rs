//! The command of a script's `os.execute`: a child process that runs while the worker serves its other users.
//!
//! In: a command. Out: its wait status, as `system` of the C library returns it. Must never: block the worker while
//! the command runs, or change how this process handles signals. The worker still waits until the process has started.
//! If the user ends first, the command runs on, as it does when sysbench exits.

use crate::script::shell::sh_command;
use std::ffi::{OsStr, c_int};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// The status that `system` returns if no process could be created.
const NOT_CREATED: c_int = -1;
/// Limits of the pause between two looks at the command, which is a sixteenth of the time that it has run: the end of
/// the command is noticed that much too late.
const PAUSE_MIN: Duration = Duration::from_micros(500);
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// A command that was started.
pub struct ShellCommand {
    child: io::Result<Child>,
    started: Instant,
}

impl ShellCommand {
    /// Starts a command; it shares this process's standard streams. As in C, the text ends at its first NUL.
    pub fn start(text: &[u8]) -> ShellCommand {
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        ShellCommand {
            started: Instant::now(),
            child: sh_command(OsStr::from_bytes(text)).spawn(),
        }
    }

    /// The status of the command if it has ended.
    pub fn status(&mut self) -> Option<c_int> {
        match self.child.as_mut().map(Child::try_wait) {
            Ok(Ok(status)) => status.map(ExitStatus::into_raw),
            Ok(Err(_)) | Err(_) => Some(NOT_CREATED),
        }
    }

    /// How long to wait before looking again.
    pub fn pause(&self) -> Duration {
        (self.started.elapsed() / 16).clamp(PAUSE_MIN, PAUSE_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The status of a command, and the pauses until it ended.
    fn run(text: &[u8]) -> (c_int, Vec<Duration>) {
        let mut command = ShellCommand::start(text);
        let mut pauses = Vec::new();
        loop {
            if let Some(status) = command.status() {
                return (status, pauses);
            }
            pauses.push(command.pause());
            std::thread::sleep(command.pause());
        }
    }

    #[test]
    fn the_status_is_that_of_system() {
        assert_eq!(run(b"exit 3").0, 3 << 8);
        assert_eq!(run(b"kill -9 $$").0, 9, "SIGKILL");
        assert_eq!(run(b"true\0 && exit 1").0, 0);
        assert_eq!(run(b"/dev/null").0, 126 << 8);
    }

    #[test]
    fn the_pauses_grow_with_the_time_of_the_command() {
        let (status, pauses) = run(b"sleep 0.2");
        assert_eq!(status, 0);
        assert!(pauses.len() > 2 && pauses.is_sorted(), "{pauses:?}");
        assert!(
            pauses
                .iter()
                .all(|pause| (PAUSE_MIN..=PAUSE_MAX).contains(pause))
        );
    }
}
