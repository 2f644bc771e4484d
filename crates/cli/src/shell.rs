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

/// Time between SIGTERM and SIGKILL for a command: Prony itself ends within two seconds of a signal.
const KILL_DELAY: Duration = Duration::from_secs(1);

/// The script that `sh` executes. It takes the command from the variable and unsets the variable first,
/// because a server that the command starts would inherit it.
const WRAPPER_SCRIPT: &str = "command=$PRONY_COMMAND; unset PRONY_COMMAND; eval \"$command\"";

/// Runs the command to its end, or until a signal ends Prony. Its output goes to standard error.
///
/// # Errors
/// If `sh` cannot be started.
pub fn run(script: &str, variables: &[(&str, &str)], signals: &Signals) -> io::Result<ExitStatus> {
    // On a terminal the command stays in our process group, so that it can prompt for a password, and Ctrl-C
    // reaches both processes.
    let has_own_group = !stdin().is_terminal();
    let mut command = Command::new("sh");
    command
        .args(["-c", WRAPPER_SCRIPT])
        .env("PRONY_COMMAND", script)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(stderr());
    if has_own_group {
        command.process_group(0);
    }
    wait_or_kill(command.spawn()?, has_own_group, signals)
}

/// Waits for the end of the command. After a signal to Prony, terminates it, and kills it after
/// [`KILL_DELAY`].
fn wait_or_kill(
    mut child: Child,
    has_own_group: bool,
    signals: &Signals,
) -> io::Result<ExitStatus> {
    let mut terminated_at: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        // The child was not reaped yet, so its id cannot belong to another process.
        let send_signal = |signal| {
            if has_own_group {
                kill_process_group(Pid::from_child(&child), signal)
            } else {
                kill_process(Pid::from_child(&child), signal)
            }
        };
        if let Some(terminated_at) = terminated_at {
            if terminated_at.elapsed() >= KILL_DELAY {
                let _ = send_signal(Signal::KILL);
            }
        } else if signals.received().is_some() {
            terminated_at = Some(Instant::now());
            let _ = send_signal(Signal::TERM);
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
        // Wait until the shell ignores SIGTERM.
        let mut ready_line = [0; 6];
        let stdout = child.stdout.as_mut().expect("a pipe");
        stdout.read_exact(&mut ready_line).expect("it prints ready");
        let status =
            wait_or_kill(child, true, &Signals::already_received(libc::SIGTERM)).expect("it ends");
        assert_eq!(status.signal(), Some(libc::SIGKILL), "{status}");
    }
}
