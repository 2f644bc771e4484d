//! Runs a command of the user with `sh`.
//!
//! The command may contain a password, so it appears neither in an argument list nor in the environment of its
//! children. Its output is never mixed with a result.

use crate::signals::Signals;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::io::{self, IsTerminal, PipeReader, Read, stdin};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// How often a wait checks for signals.
pub const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Time between SIGTERM and SIGKILL for a command: Prony itself ends within two seconds of a signal.
const KILL_DELAY: Duration = Duration::from_secs(1);

/// How much of a command's output is kept.
const MAX_OUTPUT_BYTES: usize = 2_000;

/// How long to wait for a command's output after its end.
const OUTPUT_DELAY: Duration = Duration::from_millis(200);

/// The script that `sh` executes. It takes the command from the variable and unsets the variable first,
/// because a server that the command starts would inherit it.
const WRAPPER_SCRIPT: &str = "command=$PRONY_COMMAND; unset PRONY_COMMAND; eval \"$command\"";

/// Runs the command to its end, or until a signal ends Prony.
pub fn run(
    script: &str,
    variables: &[(&str, &str)],
    output: Stdio,
    signals: &Signals,
) -> io::Result<ExitStatus> {
    // On a terminal the command stays in our process group, so that it can prompt for a password, and Ctrl-C
    // reaches both processes.
    let has_own_group = !stdin().is_terminal();
    let mut command = shell_command(script, variables);
    command.stdout(output);
    if has_own_group {
        command.process_group(0);
    }
    wait_or_kill(command.spawn()?, has_own_group, &|| {
        signals.received().is_some()
    })
}

/// Runs the command to its end, or until `must_end`. Returns the last [`MAX_OUTPUT_BYTES`] of its output too.
pub(crate) fn run_captured(
    script: &str,
    variables: &[(&str, &str)],
    must_end: &dyn Fn() -> bool,
) -> io::Result<(ExitStatus, String)> {
    let (reader, writer) = io::pipe()?;
    let output = Arc::new(Mutex::new(Vec::new()));
    let child = shell_command(script, variables)
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    let collected = Arc::clone(&output);
    let collecting = spawn(move || collect_tail(reader, &collected));
    let status = wait_or_kill(child, true, must_end)?;
    // What the command leaves in the background keeps the pipe open, such as a server that it started.
    let deadline = Instant::now() + OUTPUT_DELAY;
    while !collecting.is_finished() && Instant::now() < deadline {
        sleep(POLL_INTERVAL);
    }
    let output = output.lock().unwrap_or_else(PoisonError::into_inner);
    let text = String::from_utf8_lossy(&output).trim().to_owned();
    Ok((status, text))
}

/// Reads to the end of the pipe, and keeps its last bytes.
fn collect_tail(mut reader: PipeReader, output: &Mutex<Vec<u8>>) {
    let mut buffer = [0; MAX_OUTPUT_BYTES];
    while let Ok(length @ 1..) = reader.read(&mut buffer) {
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        output.extend_from_slice(&buffer[..length]);
        let excess = output.len().saturating_sub(MAX_OUTPUT_BYTES);
        output.drain(..excess);
    }
}

fn shell_command(script: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", WRAPPER_SCRIPT])
        .env("PRONY_COMMAND", script)
        .envs(variables.iter().copied())
        .stdin(Stdio::null());
    command
}

/// Waits for the end of the command. Once it must end, terminates it, and kills it after [`KILL_DELAY`].
fn wait_or_kill(
    mut child: Child,
    has_own_group: bool,
    must_end: &dyn Fn() -> bool,
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
        } else if must_end() {
            terminated_at = Some(Instant::now());
            let _ = send_signal(Signal::TERM);
        }
        sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_command_gets_its_variables_and_its_children_do_not_see_its_text() {
        let signals = Signals::default();
        let script = "test \"$ONE\" = 1 && ! env | grep -q secret-in-the-text";
        let status = run(script, &[("ONE", "1")], Stdio::null(), &signals).expect("sh");
        assert!(status.success(), "{status}");
        assert_eq!(
            run("exit 3", &[], Stdio::null(), &signals)
                .expect("sh")
                .code(),
            Some(3)
        );
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
        let status = wait_or_kill(child, true, &|| true).expect("it ends");
        assert_eq!(status.signal(), Some(libc::SIGKILL), "{status}");
    }

    #[test]
    fn the_end_of_the_output_is_kept_and_background_processes_are_not_waited_for() {
        let script = "seq 1 100000; echo problem >&2; sleep 1000 & echo $!; exit 4";
        let (status, output) = run_captured(script, &[], &|| false).expect("sh");
        assert_eq!(status.code(), Some(4));
        let mut lines = output.lines().rev();
        let pid = lines.next().and_then(|pid| pid.parse().ok());
        let pid = pid.and_then(Pid::from_raw).expect("a pid");
        kill_process(pid, Signal::KILL).expect("it still runs");
        assert_eq!(
            (lines.next(), lines.next()),
            (Some("problem"), Some("100000"))
        );
        assert!(output.len() <= MAX_OUTPUT_BYTES, "{}", output.len());
    }
}
