//! A command of the user's, run by `sh`.
//!
//! In: its text, what it may know, the signals. Out: how it ended. Must never: show its text, which may
//! hold a password, neither in an argument list nor to what it starts; or let its output into a result.

use crate::signals::Signals;
use signal_hook::consts::SIGTERM;
use std::io::{self, IsTerminal, stderr, stdin};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// How often a wait looks whether the end was asked for.
pub const LOOK: Duration = Duration::from_millis(20);

/// The shell finds its text in its environment, and takes it out before it begins: a server that it
/// restarts keeps what it is given as long as it lives.
const BEGIN: &str = "command=$PRONY_COMMAND; unset PRONY_COMMAND; eval \"$command\"";

/// Runs it to its end, or until a signal asks for the end of all; its output goes to standard error.
///
/// # Errors
/// If it cannot be started.
pub fn run(script: &str, variables: &[(&str, &str)], signals: &Signals) -> io::Result<ExitStatus> {
    // At a terminal it stays in its group, so that it can ask there for a password; Ctrl-C reaches all.
    let grouped = !stdin().is_terminal();
    let mut command = Command::new("sh");
    command
        .args(["-c", BEGIN])
        .env("PRONY_COMMAND", script)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(stderr());
    if grouped {
        command.process_group(0);
    }
    wait(command.spawn()?, grouped, signals)
}

fn wait(mut child: Child, grouped: bool, signals: &Signals) -> io::Result<ExitStatus> {
    let mut told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if signals.asked().is_some() && !told {
            told = true;
            if let Ok(pid) = i32::try_from(child.id()) {
                // SAFETY: sends a signal to our own child, or the group that it leads; it has not been
                // waited for yet, so that its id is no other process's.
                unsafe { libc::kill(if grouped { -pid } else { pid }, SIGTERM) };
            }
        }
        sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_knows_what_it_may_and_what_it_starts_does_not_see_its_text() {
        let none = Signals::default();
        let script = "test \"$ONE\" = 1 && ! env | grep -q secret-in-the-text";
        let status = run(script, &[("ONE", "1")], &none).expect("sh");
        assert!(status.success(), "{status}");
        assert_eq!(run("exit 3", &[], &none).expect("sh").code(), Some(3));
    }
}
