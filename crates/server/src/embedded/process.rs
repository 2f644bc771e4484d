//! Child processes that do not outlive Prony.
//!
//! A child runs in its own session, and the kernel ends it when Prony ends, even on `kill -9`.
//! Must never: signal a process it did not start.
//!
//! Linux sends the parent-death signal when the *thread* that forked the child ends, not when the
//! process does (prctl(2), PR_SET_PDEATHSIG). Therefore one thread, which lives as long as the process,
//! starts all children: a server started in a test or in a short-lived thread survives it. Other
//! systems have no such signal; there a server left by `kill -9` runs until the user ends it.

use super::privileges::ServerUser;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

type ParentJob = Box<dyn FnOnce() + Send>;

/// Runs `job` on a thread that lives as long as the process.
fn run_on_parent_thread<T: Send + 'static>(
    job: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    static JOBS: OnceLock<Mutex<Sender<ParentJob>>> = OnceLock::new();
    let jobs = JOBS.get_or_init(|| {
        let (sender, receiver) = channel::<ParentJob>();
        std::thread::Builder::new()
            .name("server-parent".to_owned())
            .spawn(move || receiver.iter().for_each(|job| job()))
            .expect("a thread can be started");
        Mutex::new(sender)
    });
    let (result_sender, result_receiver) = channel();
    let thread_ended = || io::Error::other("the thread that starts servers has ended");
    jobs.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send(Box::new(move || {
            // The receiver waits below. If it is gone, the result is not needed and is dropped
            // here.
            let _ = result_sender.send(job());
        }))
        .map_err(|_| thread_ended())?;
    result_receiver.recv().map_err(|_| thread_ended())?
}

/// A command with a clean environment, run in `dir` as `user` (`None`: as this process's user).
///
/// The environment has no PG* variables and no password: PGDATA, PGOPTIONS and the like would
/// change what the server does. Messages are in English, because Prony parses some of them.
pub fn command(program: &Path, user: Option<&ServerUser>, dir: &Path) -> Command {
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
        user.apply_to(&mut command);
    }
    command
}

/// Starts `command` in its own session, so that Ctrl-C at the terminal reaches only Prony. The
/// kernel sends the child `death_signal` when Prony ends (Linux).
pub fn spawn(mut command: Command, death_signal: i32) -> io::Result<Child> {
    let parent = std::process::id();
    // SAFETY: the closure calls only async-signal-safe functions and allocates nothing. It runs
    // after the change of user, which would otherwise clear the parent-death signal.
    unsafe {
        command.pre_exec(move || set_up_child(parent, death_signal));
    }
    run_on_parent_thread(move || command.spawn())
}

/// Runs in the child between fork and exec.
fn set_up_child(parent: u32, death_signal: i32) -> io::Result<()> {
    rustix::process::setsid()?;
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    #[cfg(target_os = "linux")]
    {
        let death_signal = Signal::from_named_raw(death_signal);
        rustix::process::set_parent_process_death_signal(death_signal)?;
        // If Prony died between fork and prctl, no signal will come: end this child now.
        let parent_now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
        if parent_now != i32::try_from(parent).ok() {
            return Err(Errno::SRCH.into());
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (parent, death_signal);
    Ok(())
}

/// Sends a signal to a process that we started and have not yet reaped.
pub fn signal(pid: u32, signal: i32) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal)) else {
        return Err(Errno::INVAL.into());
    };
    Ok(rustix::process::kill_process(pid, signal)?)
}

/// Kills a process that [`spawn`] started and that is not yet reaped, with its whole process group.
pub(crate) fn kill_group(pid: u32) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(Errno::INVAL)?;
    Ok(rustix::process::kill_process_group(pid, Signal::KILL)?)
}
