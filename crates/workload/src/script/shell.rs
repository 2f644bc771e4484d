//! Runs the shell commands of scripts. Callers of `run` and `run_for_number` must check that the policy allows them,
//! because the calling thread, and with it all its clients, waits for the command.

use super::error::EvalError;
use super::number::parse_leading_int;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Maximum number of bytes that are read from the first line of output.
const LINE_BYTES_MAX: u64 = 255;

fn shell_error(word: &str, action: &str) -> EvalError {
    EvalError::new(format!("{word}: could not {action} shell command"))
}

pub(crate) fn sh_command(line: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("/bin/sh");
    // As with system(3): the name is part of the shell's messages.
    command.arg0("sh").arg("-c").arg(line);
    command
}

/// Runs a command; `word` is the command's first word, for messages.
pub(super) fn run(line: &str, word: &str) -> Result<(), EvalError> {
    match sh_command(line).status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(shell_error(word, "launch")),
    }
}

/// Runs a command and returns the number on the first line of its output.
pub(super) fn run_for_number(line: &str, word: &str) -> Result<i64, EvalError> {
    let child = sh_command(line).stdout(Stdio::piped()).spawn();
    let mut child: Child = child.map_err(|_| shell_error(word, "launch"))?;
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = BufReader::new(stdout.take(LINE_BYTES_MAX)).read_until(b'\n', &mut output);
    }
    let status = child.wait();
    if output.is_empty() {
        return Err(shell_error(word, "read result of"));
    }
    status.map_err(|_| shell_error(word, "close"))?;
    let text = String::from_utf8_lossy(&output);
    parse_c_int(&text).ok_or_else(|| {
        EvalError::new(format!(
            "{word}: shell command must return an integer (not \"{text}\")"
        ))
    })
}

/// Parses a C `int`, surrounded by blanks only.
fn parse_c_int(text: &str) -> Option<i64> {
    let digits = text.trim();
    let unsigned = digits.strip_prefix(['-', '+']).unwrap_or(digits);
    let is_number = !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit());
    // Truncate as C does when it converts a long to an int.
    is_number.then(|| i64::from(parse_leading_int(digits) as i32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn only_integers_are_accepted() {
        assert_eq!(parse_c_int(" -17 \n"), Some(-17));
        for text in ["", "-", "1 2", "x", "1.5"] {
            assert_eq!(parse_c_int(text), None, "{text:?}");
        }
    }

    #[test]
    fn successful_and_failed_commands_are_distinguished() {
        assert!(run("true", "true").is_ok());
        let error = run("exit 3", "exit").unwrap_err().to_string();
        assert_eq!(error, "exit: could not launch shell command");
        assert_eq!(run_for_number("echo 42; echo more", "echo").unwrap(), 42);
        let error = run_for_number("echo no", "echo").unwrap_err().to_string();
        error.assert_equals("echo: shell command must return an integer (not \"no\n\")");
        assert!(run_for_number("true", "true").is_err());
    }
}
