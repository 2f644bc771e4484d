//! Runs a command of the user with `sh`.
//!
//! The command may contain a password, so it appears neither in an argument list nor in the environment of its
//! children. Its output is never mixed with a result.

use prony_runner::Signals;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::io::{self, IsTerminal, stderr, stdin};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often a wait checks for signals.
pub const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long after SIGTERM a command is killed: Prony itself ends within two seconds of a signal.
const KILL_AFTER: Duration = Duration::from_secs(1);

/// The shell reads the text from its environment and removes it first, because a server that the command restarts
/// would keep it.
const WRAPPER: &str = "command=$PRONY_COMMAND; unset PRONY_COMMAND; eval \"$command\"";

/// Runs the command to its end, or until a signal ends Prony. Its output goes to standard error.
///
/// # Errors
/// If it cannot be started.
pub fn run(script: &str, variables: &[(&str, &str)], signals: &Signals) -> io::Result<ExitStatus> {
    // On a terminal it stays in our process group, so that it can prompt for a password; Ctrl-C reaches both.
    let has_own_group = !stdin().is_terminal();
    let mut command = Command::new("sh");
    command
        .args(["-c", WRAPPER])
        .env("PRONY_COMMAND", script)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(stderr());
    if has_own_group {
        command.process_group(0);
    }
    wait(command.spawn()?, has_own_group, signals)
}

fn wait(mut child: Child, has_own_group: bool, signals: &Signals) -> io::Result<ExitStatus> {
    let mut terminated: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        // The child was not reaped yet, so its id cannot belong to another process.
        let send = |signal| match has_own_group {
            true => kill_process_group(Pid::from_child(&child), signal),
            false => kill_process(Pid::from_child(&child), signal),
        };
        if let Some(at) = terminated {
            if at.elapsed() >= KILL_AFTER {
                let _ = send(Signal::KILL);
            }
        } else if signals.received().is_some() {
            terminated = Some(Instant::now());
            let _ = send(Signal::TERM);
        }
        sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_command_gets_its_variables_and_its_children_do_not_see_its_text() {
        let signals = Signals::default();
        let script = "test \"$ONE\" = 1 && ! env | grep -q secret-in-the-text";
        let status = run(script, &[("ONE", "1")], &signals).expect("sh");
        assert!(status.success(), "{status}");
        assert_eq!(run("exit 3", &[], &signals).expect("sh").code(), Some(3));
    }

    #[test]
    fn a_command_that_ignores_sigterm_is_killed() {
        let script = "trap '' TERM; echo ready; while :; do sleep 0.1; done";
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("sh");
        // The signal comes when the shell ignores it.
        let mut ready = [0; 6];
        let out = child.stdout.as_mut().expect("a pipe");
        out.read_exact(&mut ready).expect("it prints ready");
        let status = wait(child, true, &Signals::after(libc::SIGTERM)).expect("it ends");
        assert_eq!(status.signal(), Some(libc::SIGKILL), "{status}");
    }
}
