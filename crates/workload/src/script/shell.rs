//! Runs the shell commands of scripts.
//!
//! In: a command line. Out: whether it ran, or the number that it printed. Must never: be called
//! where the plan does not allow it: the calling thread waits for the command, and all its clients
//! with it.

use super::error::EvalError;
use super::number::leading_int;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// Bytes of the first line of output that are read.
const LINE_MAX: u64 = 255;

fn could_not(word: &str, what: &str) -> EvalError {
    EvalError::new(format!("{word}: could not {what} shell command"))
}

fn sh(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]);
    command
}

/// Runs a command; `word` is its first, for messages.
pub(super) fn run(line: &str, word: &str) -> Result<(), EvalError> {
    match sh(line).status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(could_not(word, "launch")),
    }
}

/// Runs a command and gives the number on the first line of its output.
pub(super) fn number(line: &str, word: &str) -> Result<i64, EvalError> {
    let child = sh(line).stdout(Stdio::piped()).spawn();
    let mut child: Child = child.map_err(|_| could_not(word, "launch"))?;
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = BufReader::new(stdout.take(LINE_MAX)).read_until(b'\n', &mut output);
    }
    let ended = child.wait();
    if output.is_empty() {
        return Err(could_not(word, "read result of"));
    }
    ended.map_err(|_| could_not(word, "close"))?;
    let text = String::from_utf8_lossy(&output);
    whole_number(&text).ok_or_else(|| {
        EvalError::new(format!(
            "{word}: shell command must return an integer (not \"{text}\")"
        ))
    })
}

/// A number of C's `int`, with nothing but blanks around it.
fn whole_number(text: &str) -> Option<i64> {
    let digits = text.trim();
    let unsigned = digits.strip_prefix(['-', '+']).unwrap_or(digits);
    let number = !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit());
    // As C narrows a long.
    number.then(|| i64::from(leading_int(digits) as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_is_a_number() {
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
