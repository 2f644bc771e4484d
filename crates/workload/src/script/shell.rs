//! Runs the shell commands of scripts. Never call it unless the plan allows it: the calling thread waits
//! for the command, and all its clients wait too.

use super::error::EvalError;
use super::number::leading_int;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// Maximum length of the first output line, in bytes.
const LINE_MAX: u64 = 255;

fn shell_error(word: &str, what: &str) -> EvalError {
    EvalError::new(format!("{word}: could not {what} shell command"))
}

fn sh(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]);
    command
}

/// Runs a command; `word` is its first word, for messages.
pub(super) fn run(line: &str, word: &str) -> Result<(), EvalError> {
    match sh(line).status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(shell_error(word, "launch")),
    }
}

/// Runs a command and returns the number on the first line of its output.
pub(super) fn number(line: &str, word: &str) -> Result<i64, EvalError> {
    let child = sh(line).stdout(Stdio::piped()).spawn();
    let mut child: Child = child.map_err(|_| shell_error(word, "launch"))?;
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = BufReader::new(stdout.take(LINE_MAX)).read_until(b'\n', &mut output);
    }
    let ended = child.wait();
    if output.is_empty() {
        return Err(shell_error(word, "read result of"));
    }
    ended.map_err(|_| shell_error(word, "close"))?;
    let text = String::from_utf8_lossy(&output);
    whole_number(&text).ok_or_else(|| {
        EvalError::new(format!(
            "{word}: shell command must return an integer (not \"{text}\")"
        ))
    })
}

/// Parses a C `int` with nothing but blanks around it.
fn whole_number(text: &str) -> Option<i64> {
    let digits = text.trim();
    let unsigned = digits.strip_prefix(['-', '+']).unwrap_or(digits);
    let number = !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit());
    // Truncated as C converts a long to an int.
    number.then(|| i64::from(leading_int(digits) as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_are_accepted() {
        assert_eq!(whole_number(" -17 \n"), Some(-17));
        for text in ["", "-", "1 2", "x", "1.5"] {
            assert_eq!(whole_number(text), None, "{text:?}");
        }
    }

    #[test]
    fn commands_run_and_fail() {
        assert!(run("true", "true").is_ok());
        let error = run("exit 3", "exit").unwrap_err().to_string();
        assert_eq!(error, "exit: could not launch shell command");
        assert_eq!(number("echo 42; echo more", "echo").unwrap(), 42);
        let error = number("echo no", "echo").unwrap_err().to_string();
        assert_eq!(
            error,
            "echo: shell command must return an integer (not \"no\n\")"
        );
        assert!(number("true", "true").is_err());
    }
}
