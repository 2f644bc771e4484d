//! The real programs, and both on one command line.

use crate::world::World;
use prony_dialect::pgbench::{Invocation, Level, list_text, read, show_text};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// A real pgbench.
pub struct Real {
    pub path: String,
    pub level: Level,
}

/// The soft and the hard limit of open files, from /proc; children inherit them.
fn open_files() -> (u64, u64) {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .unwrap();
    let mut numbers = line
        .split_whitespace()
        .skip(3)
        .map(|word| word.parse().unwrap_or(u64::MAX));
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[derive(Debug, PartialEq)]
pub struct Spoken {
    pub stdout: String,
    pub stderr: String,
    pub status: i32,
}

pub fn spoken(
    path: &str,
    arguments: &[&str],
    variables: &[(&'static str, &'static str)],
) -> Spoken {
    let output = Command::new(path)
        .args(arguments)
        .env_clear()
        .env("PGHOST", "/nonexistent")
        .env("LC_ALL", "C")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Spoken {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code().unwrap(),
    }
}

/// What Prony says, or `None` and what it said so far where pgbench would connect.
pub fn ours(real: &Real, arguments: &[&str], world: &mut World) -> Option<Spoken> {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let (stdout, stderr, status) = match read(&real.path, &arguments, &real.level, world) {
        Ok(Invocation::Run(_) | Invocation::Initialize(_)) => return None,
        Ok(Invocation::Help(text) | Invocation::Version(text)) => (text, String::new(), 0),
        Ok(Invocation::ListBuiltins) => (String::new(), list_text(), 0),
        Ok(Invocation::ShowScript(builtin)) => (String::new(), show_text(builtin), 0),
        Err(refused) => (
            String::new(),
            refused.stderr,
            i32::from(refused.exit_status),
        ),
    };
    Some(Spoken {
        stdout,
        stderr: world.said.clone() + &stderr,
        status,
    })
}

/// Whether Prony refuses or does this before connecting; panics where it differs from pgbench.
pub fn compare(
    real: &Real,
    arguments: &[&str],
    variables: &[(&'static str, &'static str)],
) -> bool {
    let expected = spoken(&real.path, arguments, variables);
    let mut world = World {
        variables: variables.to_vec(),
        open_files: open_files(),
        ..World::new(&real.path, &real.level)
    };
    match ours(real, arguments, &mut world) {
        Some(spoken) => {
            assert_eq!(spoken, expected, "{arguments:?} {variables:?}");
            true
        }
        None => {
            // 13 says the second.
            let tries = ["could not create connection for", "connection to database"];
            let connected = expected.stderr.strip_prefix(world.said.as_str());
            assert!(
                connected.is_some_and(|rest| tries.iter().any(|words| rest.contains(words))),
                "{arguments:?} {variables:?}: Prony would connect after {:?}; pgbench: {expected:?}",
                world.said
            );
            false
        }
    }
}

/// Those that are installed.
pub fn installed() -> Vec<Real> {
    let mut paths: Vec<String> = (13..=19)
        .map(|major| format!("/usr/lib/postgresql/{major}/bin/pgbench"))
        .collect();
    let more = std::env::var("PRONY_TEST_PGBENCH").unwrap_or_default();
    paths.extend(
        more.split(':')
            .filter(|path| !path.is_empty())
            .map(str::to_owned),
    );
    paths.retain(|path| Path::new(path).exists());
    if paths.is_empty() {
        eprintln!("skipped: there is no pgbench from 13 to 19 below /usr/lib/postgresql");
    }
    let with_level = |path: String| {
        let version = spoken(&path, &["--version"], &[]).stdout;
        let text = version
            .trim()
            .strip_prefix("pgbench (PostgreSQL) ")
            .unwrap();
        Real {
            level: Level::parse(text).unwrap(),
            path,
        }
    };
    paths.into_iter().map(with_level).collect()
}
