//! Runs the real pgbench, and compares it with Prony on one command line.

use crate::test_host::TestHost;
use prony_dialect::pgbench::{Invocation, Level, list_text, parse_args, show_text};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

pub struct RealPgbench {
    pub path: String,
    pub level: Level,
}

/// The soft and the hard limit of open files, from /proc; children inherit them.
fn own_open_file_limits() -> (u64, u64) {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .unwrap();
    let mut numbers = line
        .split_whitespace()
        .skip(3)
        .map(|number| number.parse().unwrap_or(u64::MAX));
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[derive(Debug, PartialEq)]
pub struct ProgramOutput {
    pub stdout: String,
    pub stderr: String,
    pub status: i32,
}

pub fn run_program(
    path: &str,
    arguments: &[&str],
    variables: &[(&'static str, &'static str)],
) -> ProgramOutput {
    let missing_directory =
        std::env::temp_dir().join(format!("prony-absent-{}", std::process::id()));
    let output = Command::new(path)
        .args(arguments)
        .env_clear()
        .env("PGHOST", &missing_directory)
        .env("LC_ALL", "C")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    ProgramOutput {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code().unwrap(),
    }
}

/// Prony's output; `None` if pgbench would connect, with the messages so far in `host`.
pub fn prony_output(
    real: &RealPgbench,
    arguments: &[&str],
    host: &mut TestHost,
) -> Option<ProgramOutput> {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let (stdout, stderr, status) = match parse_args(&real.path, &arguments, &real.level, host) {
        Ok(Invocation::Run(_) | Invocation::Initialize(_)) => return None,
        Ok(Invocation::Print(text)) => (text, String::new(), 0),
        Ok(Invocation::ListBuiltins) => (String::new(), list_text(), 0),
        Ok(Invocation::ShowScript(builtin)) => (String::new(), show_text(builtin), 0),
        Err(stderr) => (String::new(), stderr, 1),
    };
    Some(ProgramOutput {
        stdout,
        stderr: host.stderr.clone() + &stderr,
        status,
    })
}

/// Asserts that Prony's output equals pgbench's; returns whether the command line ends before connecting.
pub fn compare_with_pgbench(
    real: &RealPgbench,
    arguments: &[&str],
    variables: &[(&'static str, &'static str)],
) -> bool {
    let expected = run_program(&real.path, arguments, variables);
    let mut host = TestHost {
        variables: variables.to_vec(),
        open_files: own_open_file_limits(),
        ..TestHost::new(&real.path, &real.level)
    };
    match prony_output(real, arguments, &mut host) {
        Some(output) => {
            assert_eq!(output, expected, "{arguments:?} {variables:?}");
            true
        }
        None => {
            // The second message is that of pgbench 13.
            let connect_errors = ["could not create connection for", "connection to database"];
            let connect_error = expected.stderr.strip_prefix(host.stderr.as_str());
            assert!(
                connect_error
                    .is_some_and(|error| connect_errors.iter().any(|text| error.contains(text))),
                "{arguments:?} {variables:?}: Prony would connect after {:?}; pgbench: {expected:?}",
                host.stderr
            );
            false
        }
    }
}

pub fn installed_programs() -> Vec<RealPgbench> {
    let mut paths: Vec<String> = (13..=19)
        .map(|major| format!("/usr/lib/postgresql/{major}/bin/pgbench"))
        .collect();
    let additional = std::env::var("PRONY_TEST_PGBENCH").unwrap_or_default();
    paths.extend(
        additional
            .split(':')
            .filter(|path| !path.is_empty())
            .map(str::to_owned),
    );
    paths.retain(|path| Path::new(path).exists());
    if paths.is_empty() {
        eprintln!("skipped: there is no pgbench from 13 to 19 below /usr/lib/postgresql");
    }
    let program_at = |path: String| {
        let version = run_program(&path, &["--version"], &[]).stdout;
        let text = version
            .trim()
            .strip_prefix("pgbench (PostgreSQL) ")
            .unwrap();
        RealPgbench {
            level: Level::parse(text).unwrap(),
            path,
        }
    };
    paths.into_iter().map(program_at).collect()
}
