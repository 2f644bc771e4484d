//! Copies this program to the machine of an agent, by the command that reaches it.
//!
//! In: a command such as `ssh vm1`. Out: the command that starts the copy. Its words are plain, because `ssh` passes them
//! through a shell and `kubectl exec` does not. Must never: start a file whose checksum is another one.

use crate::error::Error;
use prony_document::hex;
use prony_plan::{ErrorParts, system_error};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::process::{Command, Stdio};

/// Copies the program into the folder in which the command begins, unless it is there; returns the command that starts
/// it, and what was done.
///
/// # Errors
/// The machine has another architecture, or the copy is not what was sent.
pub(crate) fn install(
    command: &str,
    agent: &str,
    program: &Path,
) -> Result<(String, String), Error> {
    let failed = |problem: String| Error::NotInstalled {
        agent: agent.to_owned(),
        parts: Box::new(ErrorParts::new(problem)),
    };
    let bytes = std::fs::read(program).map_err(|error| failed(system_error(&error)))?;
    let checksum = hex(&Sha256::digest(&bytes));
    let file = format!(".prony-{}", &checksum[..12]);
    let remote = |words: &str, input: Option<&Path>| {
        execute(&format!("{command} {words}"), input).map_err(&failed)
    };
    let architecture = remote("uname -m", None)?;
    if normalized(architecture.trim()) != std::env::consts::ARCH {
        return Err(failed(format!(
            "it is a machine of architecture {}, and this program is of {}",
            architecture.trim(),
            std::env::consts::ARCH
        )));
    }
    let is_there = |answer: Result<String, Error>| {
        answer.is_ok_and(|text| text.split_whitespace().next() == Some(&*checksum))
    };
    let starts_it = format!("{command} ./{file} agent --stdio");
    let sum = format!("sha256sum {file}");
    if is_there(remote(&sum, None)) {
        return Ok((
            starts_it,
            format!("{agent} has this program: {file}, SHA-256 {checksum}"),
        ));
    }
    remote(&format!("dd of={file}.new bs=1048576"), Some(program))?;
    remote(&format!("chmod 700 {file}.new"), None)?;
    remote(&format!("mv -f {file}.new {file}"), None)?;
    if !is_there(remote(&sum, None)) {
        return Err(failed("the copy has another checksum".to_owned()));
    }
    Ok((
        starts_it,
        format!("installed on {agent}: {file}, SHA-256 {checksum}"),
    ))
}

/// As Rust names it.
fn normalized(architecture: &str) -> &str {
    match architecture {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    }
}

/// Executes a command with a file as its input; returns its output.
///
/// # Errors
/// What it wrote to stderr.
fn execute(line: &str, input: Option<&Path>) -> Result<String, String> {
    let stdin = match input {
        Some(file) => std::fs::File::open(file).map(Stdio::from),
        None => Ok(Stdio::null()),
    };
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]);
    let output = stdin.and_then(|stdin| command.stdin(stdin).output());
    let output = output.map_err(|error| system_error(&error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("its command failed: {}", errors.trim()))
}
