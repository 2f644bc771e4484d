//! Passwords, from whatever source, appear in no output, no stored file and no process title;
//! neither the right one nor a wrong one.

use crate::common::{Bench, assert_hidden, files, ok, signal, start_run, stderr_text};
use prony_server::embedded::shared_postgres;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Command;

/// The ways to pass a password to Prony.
#[derive(Clone, Copy, Debug)]
enum PasswordSource {
    Uri,
    Conninfo,
    Environment,
    Passfile,
}

const PASSWORD_SOURCES: [PasswordSource; 4] = [
    PasswordSource::Uri,
    PasswordSource::Conninfo,
    PasswordSource::Environment,
    PasswordSource::Passfile,
];

struct PasswordBench<'a> {
    bench: &'a Bench,
    /// Holds the password file, and is not part of the store.
    home: PathBuf,
}

impl<'a> PasswordBench<'a> {
    fn new(bench: &'a Bench) -> PasswordBench<'a> {
        let home = bench.home.with_extension("passfile");
        std::fs::create_dir_all(&home).expect("a folder");
        PasswordBench { bench, home }
    }

    /// The command, with the password from this source.
    fn command(&self, words: &str, source: PasswordSource, password: &str) -> Command {
        let port = shared_postgres().port();
        let rest = format!("127.0.0.1:{port}/secrecy");
        let mut command = self.bench.command(words);
        let url = match source {
            PasswordSource::Uri => format!("postgres://postgres:{password}@{rest}"),
            PasswordSource::Conninfo => format!(
                "host=127.0.0.1 port={port} dbname=secrecy user=postgres password='{password}'"
            ),
            PasswordSource::Environment => {
                command.env("PGPASSWORD", password);
                format!("postgres://postgres@{rest}")
            }
            PasswordSource::Passfile => {
                let path = self.home.join(".pgpass");
                let mut file = std::fs::OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(true)
                    .mode(0o600)
                    .open(path)
                    .expect("a file");
                writeln!(file, "127.0.0.1:{port}:*:postgres:{password}").expect("writes");
                command.env("HOME", &self.home);
                format!("postgres://postgres@{rest}")
            }
        };
        command.args(["--url", &url]);
        command
    }
}

impl Drop for PasswordBench<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

#[test]
fn a_password_appears_nowhere() {
    let bench = Bench::new("secrecy");
    let logins = PasswordBench::new(&bench);
    ok(&bench.prony("load tpcb --scale 1"));
    for source in PASSWORD_SOURCES {
        let words = "run select-only --clients 2 --transactions 5 --json";
        let output = logins.command(words, source, &bench.password).output();
        ok(&bench.assert_no_password(output.expect("it starts")));

        // During the run: the process title, the first lines, the journal. Then its partial result.
        let words = "run select-only --clients 2 --duration 5m";
        let (child, early) = start_run(logins.command(words, source, &bench.password));
        assert!(!early.contains(&bench.password), "{source:?}: {early}");
        let title = std::fs::read(format!("/proc/{}/cmdline", child.id())).expect("its title");
        let title = String::from_utf8_lossy(&title);
        assert!(title.contains("select-only\0"), "{title}");
        assert!(!title.contains(&bench.password), "{source:?}: {title}");
        let journal = files(&bench.home.join("runs"));
        assert!(!journal.is_empty(), "there is something to look at");
        signal(&child, "-INT");
        let output = bench.assert_no_password(child.wait_with_output().expect("it ends"));
        assert_eq!(output.status.code(), Some(130), "{}", stderr_text(&output));
    }
    let stored = ok(&bench.local("runs"));
    assert_eq!(
        stored.lines().count(),
        1 + 2 * PASSWORD_SOURCES.len(),
        "{stored}"
    );
    for words in ["show last", "show last --json", "show last --csv"] {
        ok(&bench.local(words));
    }
}

#[test]
fn a_wrong_password_appears_nowhere() {
    let bench = Bench::new("secrecy_wrong");
    let logins = PasswordBench::new(&bench);
    let wrong = "gehe1m-aus-Paris";
    for source in PASSWORD_SOURCES {
        for command in [
            "run tpcb --duration 1s",
            "run tpcb --duration 1s --json",
            "load tpcb",
        ] {
            let output = logins
                .command(command, source, wrong)
                .output()
                .expect("it starts");
            assert_eq!(
                output.status.code(),
                Some(3),
                "{source:?}: {}",
                stderr_text(&output)
            );
            assert!(output.stdout.is_empty());
            assert_hidden(wrong, &output, &bench.home);
            let stderr = stderr_text(&output);
            assert!(
                stderr.contains("password authentication failed"),
                "{source:?}: {stderr}"
            );
        }
    }
}
