//! The command of a script's `os.execute`: a child process that runs while the worker serves its other users.
//!
//! In: a command. Out: its wait status, as `system` of the C library returns it. Must never: block the worker, not even
//! while the process starts, or change how this process handles signals. If the user ends first, the command runs on,
//! as it does when sysbench exits.

use crate::script::shell::sh_command;
use rustix::process::getpid;
use rustix::thread::{sched_getaffinity, sched_setaffinity};
use std::ffi::{OsString, c_int};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

/// The status that `system` returns if no process could be created. Here also if there can be no thread for it.
const NOT_CREATED: c_int = -1;
/// Limits of the pause between two looks at the command, which is a sixteenth of the time that it has run: the user
/// notices the end of the command up to this much late.
const PAUSE_MIN: Duration = Duration::from_micros(200);
const PAUSE_MAX: Duration = Duration::from_millis(50);
/// The stack of the thread that starts a command and waits for it.
const STACK_BYTES: usize = 256 * 1024;

pub struct ShellCommand {
    /// Delivers the status once. It comes from a thread that starts the process and waits for it: a process takes
    /// longer to start than a query to run.
    status: Receiver<c_int>,
    started: Instant,
}

impl ShellCommand {
    /// Starts a command; it shares this process's standard streams. As in C, the text ends at its first NUL.
    pub fn start(text: &[u8]) -> ShellCommand {
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        let line = OsString::from_vec(text.to_vec());
        let (sender, status) = mpsc::sync_channel(1);
        let run = move || {
            use_all_cpus();
            let result = sh_command(line).status();
            // Fails if the user has ended.
            let _ = sender.send(result.map_or(NOT_CREATED, ExitStatus::into_raw));
        };
        // If there can be no thread, the closure and its sender are dropped, and the receiver learns of it.
        let _ = thread::Builder::new()
            .name("os.execute".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(run);
        ShellCommand {
            started: Instant::now(),
            status,
        }
    }

    /// The status of the command if it has ended.
    pub fn status(&self) -> Option<c_int> {
        match self.status.try_recv() {
            Ok(status) => Some(status),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(NOT_CREATED),
        }
    }

    /// How long to wait before looking again.
    pub fn pause(&self) -> Duration {
        (self.started.elapsed() / 16).clamp(PAUSE_MIN, PAUSE_MAX)
    }
}

/// Lets the calling thread, and the processes that it starts, run on all CPUs that this process may use: it inherits
/// the one CPU of a pinned worker. The main thread is not pinned.
fn use_all_cpus() {
    if let Ok(cpus) = sched_getaffinity(Some(getpid())) {
        let _ = sched_setaffinity(None, &cpus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::CpuSet;

    /// The status of a command, and the pauses until it ended.
    fn run(text: &[u8]) -> (c_int, Vec<Duration>) {
        let command = ShellCommand::start(text);
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
    fn commands_of_a_pinned_worker_may_use_all_cpus() {
        let allowed = |status: &str| {
            let mut lines = status.lines();
            let line = lines.find(|line| line.starts_with("Cpus_allowed_list"));
            line.expect("the kernel lists CPUs").to_owned()
        };
        let own = std::fs::read_to_string("/proc/self/status").expect("a status");
        let worker = std::thread::spawn(move || {
            let all = sched_getaffinity(None).expect("the affinity");
            let mut one = CpuSet::new();
            one.set(
                (0..CpuSet::MAX_CPU)
                    .find(|cpu| all.is_set(*cpu))
                    .expect("a CPU"),
            );
            sched_setaffinity(None, &one).expect("pinned");
            let output = std::env::temp_dir().join(format!("prony-cpus-{}", std::process::id()));
            let command = format!("cat /proc/self/status > '{}'", output.display());
            assert_eq!(run(command.as_bytes()).0, 0);
            let status = std::fs::read_to_string(&output).expect("a status");
            std::fs::remove_file(&output).expect("removed");
            status
        });
        assert_eq!(allowed(&worker.join().expect("no panic")), allowed(&own));
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
