//! Child processes that do not outlive Prony.
//!
//! In: a program and its arguments. Out: a child in a session of its own that the kernel ends when
//! Prony ends, however Prony ends. Must never: signal a process it did not start.
//!
//! Linux sends the parent-death signal when the *thread* that forked the child ends, not when the
//! process does (prctl(2), PR_SET_PDEATHSIG). So one thread, which lives as long as the process,
//! starts all children: a server started in a test or in a short-lived thread survives it. Other
//! systems have no such signal; there a server left by `kill -9` runs on until it is ended by hand.

use super::privileges::ServerUser;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

type Job = Box<dyn FnOnce() + Send>;

/// Runs `job` on the thread that lives as long as the process.
fn on_parent_thread<T: Send + 'static>(
    job: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    static JOBS: OnceLock<Mutex<Sender<Job>>> = OnceLock::new();
    let jobs = JOBS.get_or_init(|| {
        let (sender, receiver) = channel::<Job>();
        std::thread::Builder::new()
            .name("server-parent".to_owned())
            .spawn(move || receiver.iter().for_each(|job| job()))
            .expect("a thread can be started");
        Mutex::new(sender)
    });
    let (answer, result) = channel();
    let gone = || io::Error::other("the thread that starts servers has ended");
    jobs.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send(Box::new(move || {
            // The receiver waits below; if it is gone nobody wants the child, and Child's owner is
            // dropped here.
            let _ = answer.send(job());
        }))
        .map_err(|_| gone())?;
    result.recv().map_err(|_| gone())?
}

/// A command with a clean environment, run in `dir` as `user` (`None`: as ourselves).
///
/// The environment holds nothing of PG* and no password: PGDATA, PGOPTIONS and their kin would
/// change what the server does. Messages are in English, because some are read by Prony.
pub(crate) fn command(program: &Path, user: Option<&ServerUser>, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in ["PATH", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("LC_ALL", "C").current_dir(dir);
    command.stdin(Stdio::null());
    if let Some(user) = user {
        user.apply(&mut command);
    }
    command
}

/// Starts `command` in a session of its own, so that Ctrl-C at the terminal reaches Prony alone;
/// the kernel sends the child `death_signal` when Prony ends (Linux).
pub(crate) fn spawn(mut command: Command, death_signal: i32) -> io::Result<Child> {
    let parent = std::process::id();
    // SAFETY: the closure calls only async-signal-safe functions and allocates nothing. It runs
    // after the change of user, which would clear the parent-death signal.
    unsafe {
        command.pre_exec(move || in_child(parent, death_signal));
    }
    on_parent_thread(move || command.spawn())
}

/// Runs in the child between fork and exec.
fn in_child(parent: u32, death_signal: i32) -> io::Result<()> {
    // SAFETY: setsid, prctl, getppid and umask are plain system calls on values.
    unsafe {
        if libc::setsid() == -1 {
            return Err(io::Error::last_os_error());
        }
        libc::umask(0o077);
        #[cfg(target_os = "linux")]
        {
            if libc::prctl(libc::PR_SET_PDEATHSIG, death_signal as libc::c_ulong) == -1 {
                return Err(io::Error::last_os_error());
            }
            // Prony may have died between fork and prctl: then no signal will come.
            if libc::getppid() as u32 != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (parent, death_signal);
    }
    Ok(())
}

/// Sends a signal to a process that we started and have not yet waited for.
pub(crate) fn signal(pid: u32, signal: i32) -> io::Result<()> {
    // SAFETY: kill is a plain system call on values.
    match unsafe { libc::kill(pid as libc::pid_t, signal) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The processes whose parent is `pid`, by /proc; empty on other systems.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|&candidate| parent_of(candidate) == Some(pid))
        .collect()
}

/// Parent of a process, by /proc/PID/stat: `pid (name) state ppid ...`, where name may hold blanks.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let rest = &stat[stat.rfind(')')? + 1..];
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}
