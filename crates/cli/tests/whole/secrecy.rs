//! Passwords, wherever they come from, appear in no output, no stored file and no process title;
//! neither the right one nor a wrong one.

use crate::common::{Bench, files, hidden, ok, said, signal, under_way};
use prony_server::embedded::shared;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Command;

/// Ways for a password to get to Prony.
#[derive(Clone, Copy, Debug)]
enum Way {
    Uri,
    Conninfo,
    Environment,
    Passfile,
}

const WAYS: [Way; 4] = [Way::Uri, Way::Conninfo, Way::Environment, Way::Passfile];

struct Asked<'a> {
    bench: &'a Bench,
    /// Holds the password file, and is no part of the store.
    home: PathBuf,
}

impl<'a> Asked<'a> {
    fn new(bench: &'a Bench) -> Asked<'a> {
        let home = bench.home.with_extension("passfile");
        std::fs::create_dir_all(&home).expect("a folder");
        Asked { bench, home }
    }

    /// The command, with the password on its way.
    fn command(&self, words: &str, way: Way, password: &str) -> Command {
        let port = shared().port();
        let rest = format!("127.0.0.1:{port}/secrecy");
        let mut command = self.bench.command(words);
        let url = match way {
            Way::Uri => format!("postgres://postgres:{password}@{rest}"),
            Way::Conninfo => format!(
                "host=127.0.0.1 port={port} dbname=secrecy user=postgres password='{password}'"
            ),
            Way::Environment => {
                command.env("PGPASSWORD", password);
                format!("postgres://postgres@{rest}")
            }
            Way::Passfile => {
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

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

#[test]
fn a_password_is_seen_nowhere() {
    let bench = Bench::new("secrecy");
    let asked = Asked::new(&bench);
    ok(&bench.prony("load tpcb --scale 1"));
    for way in WAYS {
        let words = "run select-only --clients 2 --transactions 5 --json";
        let output = asked.command(words, way, &bench.password).output();
        ok(&bench.silent(output.expect("it starts")));

        // Under way: the process title, the first lines, the journal. Then its partial result.
        let words = "run select-only --clients 2 --duration 5m";
        let (child, early) = under_way(asked.command(words, way, &bench.password));
        assert!(!early.contains(&bench.password), "{way:?}: {early}");
        let title = std::fs::read(format!("/proc/{}/cmdline", child.id())).expect("its title");
        let title = String::from_utf8_lossy(&title);
        assert!(title.contains("select-only\0"), "{title}");
        assert!(!title.contains(&bench.password), "{way:?}: {title}");
        let journal = files(&bench.home.join("runs"));
        assert!(!journal.is_empty(), "there is something to look at");
        signal(&child, "-INT");
        let output = bench.silent(child.wait_with_output().expect("it ends"));
        assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    }
    let stored = ok(&bench.local("runs"));
    assert_eq!(stored.lines().count(), 1 + 2 * WAYS.len(), "{stored}");
    for words in ["show last", "show last --json", "show last --csv"] {
        ok(&bench.local(words));
    }
}

#[test]
fn a_wrong_password_is_seen_nowhere_either() {
    let bench = Bench::new("secrecy_wrong");
    let asked = Asked::new(&bench);
    let wrong = "gehe1m-aus-Paris";
    for way in WAYS {
        for command in [
            "run tpcb --duration 1s",
            "run tpcb --duration 1s --json",
            "load tpcb",
        ] {
            let output = asked
                .command(command, way, wrong)
                .output()
                .expect("it starts");
            assert_eq!(output.status.code(), Some(3), "{way:?}: {}", said(&output));
            assert!(output.stdout.is_empty());
            hidden(wrong, &output, &bench.home);
            let said = said(&output);
            assert!(
                said.contains("password authentication failed"),
                "{way:?}: {said}"
            );
        }
    }
}
