//! A parsed sysbench command line. `Debug` shows no password.

use super::bundled::{BundledTest, Command};
use super::compat::Compat;
use super::output::Output;
use prony_wire::Secret;
use prony_workload::sysbench::IgnoredErrors;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// The action that a command line requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Invocation {
    /// Print a text and exit.
    Print(Output),
    /// Run a bundled test with Prony's workload.
    Native(Box<NativeCommand>),
    Script(Box<ScriptCommand>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct NativeCommand {
    /// Printed first: warnings and the banner.
    pub preamble: Output,
    pub test: &'static BundledTest,
    /// The test's name on the command line, without the directory.
    pub name: String,
    /// Never [`Command::Help`].
    pub command: Command,
    pub settings: GeneralOptions,
    /// All options of the test, with defaults; options without a value are omitted.
    pub options: BTreeMap<&'static str, toml::Value>,
    /// The options of the test as written, for messages.
    pub extras: Vec<RawOption>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptSource {
    /// Standard input.
    Stdin,
    File(PathBuf),
    /// The bundled script with this name.
    Bundled(&'static str),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ScriptCommand {
    /// Printed first: warnings and the banner.
    pub preamble: Output,
    pub source: ScriptSource,
    pub name: String,
    /// The command: the second operand of the command line.
    pub command: Option<String>,
    pub settings: GeneralOptions,
    /// The values of all general options, by name with `_`, except the passwords, which `settings` contains.
    pub values: BTreeMap<String, String>,
    /// All options that are not general; the script decides which of them exist.
    pub extras: Vec<RawOption>,
}

/// An option of the command line or of a configuration file, before its value is parsed.
#[derive(Clone, PartialEq, Eq)]
pub struct RawOption {
    /// The name as written, without the dashes.
    pub raw_name: String,
    /// The key: the name with `_` for `-`.
    pub name: String,
    /// The value; `None` without `=`.
    pub value: Option<String>,
    /// Whether the option is from the file of `--config-file`; an unknown option then only causes a warning.
    pub from_file: bool,
}

impl RawOption {
    /// The option as written, for [`super::invalid_option`]; `***` replaces a value that may be a password.
    pub fn redacted(&self) -> String {
        match &self.value {
            None => format!("--{}", self.raw_name),
            Some(_) if self.is_secret() => format!("--{}=***", self.raw_name),
            Some(value) => format!("--{}={value}", self.raw_name),
        }
    }

    fn is_secret(&self) -> bool {
        ["pass", "pwd"].iter().any(|part| self.name.contains(part))
    }
}

impl fmt::Debug for RawOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct GeneralOptions {
    pub compat: Compat,
    /// `--threads`, at least 1.
    pub threads: u32,
    /// `--events`, of all threads together; `None` for no limit.
    pub events: Option<u64>,
    /// `--time`, seconds; `None` for no limit.
    pub time_s: Option<u32>,
    /// `--warmup-time`, seconds; 0 up to 1.0.
    pub warmup_s: u32,
    /// `--forced-shutdown`: seconds from the end of `--time` until the run is stopped.
    pub forced_shutdown_s: Option<u32>,
    /// `--thread-stack-size`, bytes. Unused, because Prony's users have no stack.
    pub thread_stack_bytes: u64,
    /// `--thread-init-timeout`, seconds.
    pub thread_init_timeout_s: u32,
    /// `--rate`, events per second; `None` for as fast as possible.
    pub rate_tps: Option<u32>,
    /// `--report-interval`, seconds.
    pub report_interval_s: Option<u32>,
    /// `--report-checkpoints`, seconds from the start, ascending.
    pub checkpoints_s: Vec<u32>,
    pub debug: bool,
    pub validate: bool,
    /// `--verbosity`, 0 to 5; 5 with `--debug`.
    pub verbosity: u8,
    /// `--percentile`, 0 to 100; 0 means none.
    pub percentile: u8,
    pub histogram: bool,
    /// `--rand-*`.
    pub random: RandomOptions,
    /// The options of drivers: where and how to connect.
    pub database: DatabaseOptions,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RandomOptions {
    /// `--rand-type`, a type that this version has.
    pub distribution: String,
    /// `--rand-seed`; `None` for the current time.
    pub seed: Option<i32>,
    /// `--rand-spec-iter`.
    pub spec_iterations: i32,
    pub spec_pct: i32,
    pub spec_res: i32,
    pub pareto_h: f64,
    /// `--rand-zipfian-exp`.
    pub zipfian_exponent: f64,
}

/// The options of drivers. Values that sysbench checks only when it connects are not checked here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseOptions {
    pub driver: String,
    pub ps_mode: String,
    pub debug: bool,
    /// `--mysql-*`.
    pub mysql: MysqlOptions,
    /// `--pgsql-*`.
    pub pgsql: PgsqlOptions,
}

/// `--mysql-*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MysqlOptions {
    /// The hosts, which connections use in rotation; never empty.
    pub hosts: Vec<String>,
    /// The ports of each host, which connections use in rotation; never empty.
    pub ports: Vec<u16>,
    /// The sockets. If there is one, hosts and ports are ignored.
    pub sockets: Vec<String>,
    pub user: String,
    pub password: Secret,
    pub database: String,
    /// `--mysql-ssl`: up to version 1.0 `on` or `off`, later a mode of the mysql client, in lower case.
    pub ssl: String,
    /// `--mysql-ssl-cipher`, if set.
    pub ssl_cipher: Option<String>,
    pub ssl_key: Option<String>,
    pub ssl_ca: Option<String>,
    pub ssl_cert: Option<String>,
    /// `--mysql-get-server-public-key`: whether to accept any RSA key from a server on another machine without TLS.
    pub get_server_public_key: bool,
    pub compression: bool,
    /// `--mysql-ignore-errors`.
    pub ignored_errors: IgnoredErrors,
    pub dry_run: bool,
}

/// `--pgsql-*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PgsqlOptions {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Secret,
    pub database: String,
    /// `--pgsql-sslmode`; `None` up to version 1.0, for libpq's default.
    pub sslmode: Option<String>,
}
