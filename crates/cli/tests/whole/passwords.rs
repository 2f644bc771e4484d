//! Right and wrong passwords from any source appear in no output, stored file or process title.

use crate::common::*;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

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

/// Builds commands that get a password from one of the sources.
struct PasswordCommands<'a> {
    bench: &'a TestBench,
    /// The home directory with the password file; not part of the store.
    home: TestFolder,
}

impl<'a> PasswordCommands<'a> {
    fn new(bench: &'a TestBench) -> PasswordCommands<'a> {
        PasswordCommands {
            bench,
            home: TestFolder::create(),
        }
    }

    fn command(&self, arguments: &str, source: PasswordSource, password: &str) -> Command {
        let port = shared_postgres().port();
        let address = format!("127.0.0.1:{port}/secrecy");
        let mut command = self.bench.command(arguments);
        let url = match source {
            PasswordSource::Uri => format!("postgres://postgres:{password}@{address}"),
            PasswordSource::Conninfo => format!(
                "host=127.0.0.1 port={port} dbname=secrecy user=postgres password='{password}'"
            ),
            PasswordSource::Environment => {
                command.env("PGPASSWORD", password);
                format!("postgres://postgres@{address}")
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
                format!("postgres://postgres@{address}")
            }
        };
        command.args(["--url", &url]);
        command
    }
}

#[test]
fn a_right_password_appears_nowhere() {
    let bench = TestBench::new("secrecy");
    let password_commands = PasswordCommands::new(&bench);
    bench.ok("load tpcb --scale 1");
    for source in PASSWORD_SOURCES {
        let arguments = "run select-only --clients 2 --transactions 5 --json";
        let output = password_commands
            .command(arguments, source, &bench.password)
            .output();
        ok_stdout(&bench.assert_no_password(output.expect("it starts")));

        // Check the process title, the first lines and the journal during the run, then its partial result.
        let arguments = "run select-only --clients 2 --duration 5m --warmup 0s";
        let (child, first_lines) =
            start_run(password_commands.command(arguments, source, &bench.password));
        assert!(
            !first_lines.contains(&bench.password),
            "{source:?}: {first_lines}"
        );
        let title = std::fs::read(format!("/proc/{}/cmdline", child.id())).expect("its title");
        let title = String::from_utf8_lossy(&title);
        title.assert_contains("select-only\0");
        assert!(!title.contains(&bench.password), "{source:?}: {title}");
        let journals = files_below(&bench.home.join("runs"));
        assert!(!journals.is_empty(), "there is no journal");
        send_signal(&child, "-INT");
        let output = bench.finish(child);
        assert_code(&output, 130);
    }
    let stored = bench.ok_without_server("runs");
    assert_eq!(
        stored.lines().count(),
        1 + 2 * PASSWORD_SOURCES.len(),
        "a header and two runs per source: {stored}"
    );
    for arguments in ["show last --full", "show last --json", "show last --csv"] {
        bench.ok_without_server(arguments);
    }
}

#[test]
fn a_wrong_password_appears_nowhere() {
    let bench = TestBench::new("secrecy_wrong");
    let password_commands = PasswordCommands::new(&bench);
    let wrong_password = "gehe1m-aus-Paris";
    for source in PASSWORD_SOURCES {
        for command in [
            "run tpcb --duration 1s",
            "run tpcb --duration 1s --json",
            "load tpcb",
        ] {
            let output = password_commands
                .command(command, source, wrong_password)
                .output()
                .expect("it starts");
            assert_eq!(
                output.status.code(),
                Some(3),
                "{source:?}: {}",
                stderr_text(&output)
            );
            assert!(output.stdout.is_empty());
            assert_hidden(wrong_password, &output, &bench.home);
            let stderr = stderr_text(&output);
            assert!(
                stderr.contains("password authentication failed"),
                "{source:?}: {stderr}"
            );
        }
    }
}

#[test]
fn pgbench_names_the_file_of_a_refused_password() {
    let bench = TestBench::new("secrecy_file");
    let home = TestFolder::create();
    let path = home.write(".pgpass", "*:*:*:postgres:gehe1m-aus-Rom\n");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&path, mode).expect("set");
    let port = shared_postgres().port();
    let arguments = format!("pgbench -n -S -h 127.0.0.1 -p {port} -U postgres secrecy_file");
    let output = bench.command(&arguments).env("HOME", &home).output();
    let stderr = assert_code(&output.expect("it starts"), 1);
    let line = format!("\npassword retrieved from file \"{}\"\n", path.display());
    stderr.assert_contains(&line);
}
