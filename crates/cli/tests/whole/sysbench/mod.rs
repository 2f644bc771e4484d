//! Prony called as sysbench, on both shared servers: all bundled tests with their figures and texts.

mod errors;
mod flow;

use crate::common::*;
use std::os::unix::fs::symlink;

/// The driver of sysbench, which selects the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    Mysql,
    Pgsql,
}

pub const DRIVERS: [Driver; 2] = [Driver::Mysql, Driver::Pgsql];

/// The tests for which `prepare` creates the same tables.
pub const TESTS_ON_OLTP_TABLES: [&str; 10] = [
    "oltp_read_write",
    "oltp_read_only",
    "oltp_write_only",
    "oltp_point_select",
    "oltp_insert",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_delete",
    "select_random_points",
    "select_random_ranges",
];

/// Creates a database on the shared server of this driver; returns its URL, sysbench's options for server and login, and
/// the password in them.
pub fn create_database(driver: Driver, name: &str) -> (String, Vec<String>, String) {
    let (prefix, user, port, password, server_url, url) = match driver {
        Driver::Mysql => {
            let server = shared_mariadb();
            let (port, url) = (server.port(), server.url_for("root", name));
            ("mysql", "prony", port, server.password(), server.url(), url)
        }
        Driver::Pgsql => {
            let server = shared_postgres();
            let (port, url) = (server.port(), server.url_for(name));
            (
                "pgsql",
                "postgres",
                port,
                server.password(),
                server.url(),
                url,
            )
        }
    };
    connect(&server_url).run(format!("create database {name}"));
    let password = password.reveal();
    let login = [
        format!("--db-driver={prefix}"),
        format!("--{prefix}-host=127.0.0.1"),
        format!("--{prefix}-port={port}"),
        format!("--{prefix}-user={user}"),
        format!("--{prefix}-password={password}"),
        format!("--{prefix}-db={name}"),
    ];
    (url, login.to_vec(), password.to_owned())
}

/// A link named sysbench to Prony, and a database and a store for one test.
pub struct Sysbench {
    pub driver: Driver,
    pub home: TestFolder,
    pub url: String,
    pub login: Vec<String>,
    pub password: String,
    link: PathBuf,
}

impl Sysbench {
    pub fn new(driver: Driver, name: &str) -> Sysbench {
        let (url, login, password) = create_database(driver, name);
        Sysbench {
            driver,
            url,
            ..Sysbench::with_login(login, password)
        }
    }

    pub fn maria(name: &str) -> Sysbench {
        Sysbench::new(Driver::Mysql, name)
    }

    pub fn postgres(name: &str) -> Sysbench {
        Sysbench::new(Driver::Pgsql, name)
    }

    /// On a server that the test starts, or on none; `login`: sysbench's options for the server and the login.
    pub fn with_login(login: Vec<String>, password: String) -> Sysbench {
        let home = TestFolder::create();
        let link = home.join("sysbench");
        symlink(env!("CARGO_BIN_EXE_prony"), &link).expect("a link");
        Sysbench {
            driver: Driver::Mysql,
            home,
            url: String::new(),
            login,
            password,
            link,
        }
    }

    /// Opens a separate connection for the test.
    pub fn control(&self) -> Control {
        connect(&self.url)
    }

    pub fn write(&self, name: &str, text: &str) {
        self.home.write(name, text);
    }

    /// The program called through the link, with login options.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.link);
        command.args(&self.login);
        command.args(arguments.split_whitespace());
        self.isolate(&mut command);
        command
    }

    /// Removes the developer's settings from the environment of a command.
    fn isolate(&self, command: &mut Command) {
        command
            .env("PRONY_HOME", &self.home)
            .env("HOME", &self.home)
            .env_remove("PRONY_SYSBENCH_COMPAT")
            .env_remove("LUA_PATH")
            .current_dir(&self.home)
            .stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
    }

    /// Runs a command to its end; asserts that the output contains no password.
    pub fn sysbench(&self, arguments: &str) -> CommandResult {
        self.execute(&mut self.command(arguments))
    }

    /// Like [`Sysbench::sysbench`], with environment variables.
    pub fn sysbench_with(&self, arguments: &str, variables: &[(&str, &str)]) -> CommandResult {
        let variables = variables.iter().copied();
        self.execute(self.command(arguments).envs(variables))
    }

    /// Runs a command that must succeed; returns its stdout.
    pub fn ok(&self, arguments: &str) -> String {
        self.sysbench(arguments).ok_stdout()
    }

    /// Runs a command that must end with exit code 1; returns its stdout.
    pub fn failed(&self, arguments: &str) -> String {
        self.sysbench(arguments).failed_stdout(1)
    }

    /// Runs `prony` with these arguments.
    pub fn prony(&self, arguments: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(arguments.split_whitespace());
        self.isolate(&mut command);
        command.output().expect("it starts")
    }

    pub fn last_run(&self) -> Run {
        parse_run(&self.prony("show last --json"))
    }

    pub fn execute(&self, command: &mut Command) -> CommandResult {
        self.assert_no_password(command.output().expect("it starts"))
    }

    pub fn finish(&self, child: Child) -> CommandResult {
        self.assert_no_password(child.wait_with_output().expect("it ends"))
    }

    pub fn assert_no_password(&self, output: Output) -> CommandResult {
        assert_hidden(&self.password, &output, &self.home);
        CommandResult {
            code: output.status.code(),
            stdout: stdout_text(&output),
            stderr: stderr_text(&output),
        }
    }
}

/// The exit code and output of a command.
#[derive(Debug)]
pub struct CommandResult {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl CommandResult {
    /// Asserts that the command succeeded; returns its stdout.
    #[track_caller]
    pub fn ok_stdout(self) -> String {
        self.failed_stdout(0)
    }

    /// Asserts this exit code; returns the stdout.
    #[track_caller]
    pub fn failed_stdout(self, code: i32) -> String {
        self.texts(code).0
    }

    /// Asserts this exit code; returns stdout and stderr.
    #[track_caller]
    pub fn texts(self, code: i32) -> (String, String) {
        assert_eq!(self.code, Some(code), "{self:?}");
        (self.stdout, self.stderr)
    }
}

/// Returns the first number after a label of a report.
pub fn figure(text: &str, label: &str) -> f64 {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(label))
        .unwrap_or_else(|| panic!("no {label} in {text}"));
    let number = line.split_whitespace().next().unwrap_or_default();
    let number = number.trim_end_matches('s');
    number.parse().unwrap_or_else(|_| panic!("{label}{line}"))
}

/// Returns the numbers of reads, writes and other queries in a report.
pub fn query_counts(text: &str) -> (f64, f64, f64) {
    let value = |label| figure(text, label);
    (value("read:"), value("write:"), value("other:"))
}

pub fn count_tables(bench: &Sysbench) -> u64 {
    let schema = match bench.driver {
        Driver::Mysql => "database()",
        Driver::Pgsql => "current_schema()",
    };
    let sql = format!(
        "select count(*) from information_schema.tables where table_schema = {schema} and \
         table_name like 'sbtest%'"
    );
    query_number(&mut bench.control(), &sql)
}
