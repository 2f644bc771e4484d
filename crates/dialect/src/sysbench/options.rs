//! What was asked for, as plain data.
//!
//! In: nothing. Out: types. Must never: show a password.

use super::bundled::{Bundled, Command};
use super::compat::Compat;
use super::printed::Printed;
use prony_wire::Secret;
use prony_workload::sysbench::Ignored;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// What a command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Invocation {
    /// A text, and nothing else.
    Print(Printed),
    /// A bundled test, by Prony's own workload.
    Native(Box<Native>),
    /// A script.
    Script(Box<Script>),
}

/// A command of a bundled test.
#[derive(Clone, Debug, PartialEq)]
pub struct Native {
    /// What is printed before anything else: warnings and the banner.
    pub before: Printed,
    /// The test.
    pub test: &'static Bundled,
    /// As the command line calls it, without its folder.
    pub name: String,
    /// Never [`Command::Help`].
    pub command: Command,
    /// The general options.
    pub settings: Settings,
    /// The test's own options, all of them, with their defaults; those without a value are left out.
    pub options: BTreeMap<&'static str, toml::Value>,
    /// The texts of those that were given, for messages.
    pub typed: BTreeMap<&'static str, String>,
}

/// Where a script comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptSource {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

/// A command of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// What is printed before anything else: warnings and the banner.
    pub before: Printed,
    /// The script.
    pub source: ScriptSource,
    /// As the command line calls it.
    pub name: String,
    /// The second word.
    pub command: Option<String>,
    /// The general options.
    pub settings: Settings,
    /// General options by name with `_`, as they were given or by default; without the passwords,
    /// which are in the settings.
    pub values: BTreeMap<String, String>,
    /// Options that are not general: the script says whether it knows them.
    pub extras: Vec<Given>,
}

/// An option that no table of general options has.
#[derive(Clone, PartialEq, Eq)]
pub struct Given {
    /// The name as it was written, behind the dashes.
    pub written: String,
    /// With `_`.
    pub name: String,
    /// None without `=`.
    pub value: Option<String>,
    /// From `--config-file`: unknown ones are only warned of there.
    pub from_file: bool,
}

impl Given {
    /// As it was written, for [`super::invalid_option`], but for what may be a password.
    pub fn shown(&self) -> String {
        match &self.value {
            None => format!("--{}", self.written),
            Some(_) if self.is_secret() => format!("--{}=***", self.written),
            Some(value) => format!("--{}={value}", self.written),
        }
    }

    fn is_secret(&self) -> bool {
        ["pass", "pwd"].iter().any(|part| self.name.contains(part))
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// The general options, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Whose options they are.
    pub compat: Compat,
    /// `--threads`, at least 1.
    pub threads: u32,
    /// `--events` of all threads together; none is no limit.
    pub events: Option<u64>,
    /// `--time`, seconds; none is no limit.
    pub time_s: Option<u32>,
    /// `--warmup-time`, seconds; 0 up to 1.0.
    pub warmup_s: u32,
    /// `--forced-shutdown`: seconds from the end of `--time` to the end of everything.
    pub forced_shutdown_s: Option<u32>,
    /// `--thread-stack-size`, bytes. Prony's users have no stack of their own.
    pub thread_stack_bytes: u64,
    /// `--thread-init-timeout`, seconds.
    pub thread_init_timeout_s: u32,
    /// `--rate`, events a second; none is as fast as possible.
    pub rate_tps: Option<u32>,
    /// `--report-interval`, seconds.
    pub report_interval_s: Option<u32>,
    /// `--report-checkpoints`, seconds from the start, ascending.
    pub checkpoints_s: Vec<u32>,
    /// `--debug`.
    pub debug: bool,
    /// `--validate`.
    pub validate: bool,
    /// `--verbosity`, 0 to 5; 5 with `--debug`.
    pub verbosity: u8,
    /// `--percentile`, 0 to 100; 0 is none.
    pub percentile: u8,
    /// `--histogram`.
    pub histogram: bool,
    /// `--rand-*`.
    pub random: Random,
    /// Where to connect, and how.
    pub database: Database,
}

/// How numbers are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Random {
    /// `--rand-type`, one that this version has.
    pub kind: String,
    /// `--rand-seed`; none is the time.
    pub seed: Option<i32>,
    /// `--rand-spec-iter`.
    pub spec_iterations: i32,
    /// `--rand-spec-pct`.
    pub spec_pct: i32,
    /// `--rand-spec-res`.
    pub spec_res: i32,
    /// `--rand-pareto-h`.
    pub pareto_h: f64,
    /// `--rand-zipfian-exp`.
    pub zipfian_exponent: f64,
}

/// The options of drivers. Values that sysbench checks only when it connects are unchecked here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// `--db-driver`.
    pub driver: String,
    /// `--db-ps-mode`.
    pub ps_mode: String,
    /// `--db-debug`.
    pub debug: bool,
    /// `--mysql-*`.
    pub mysql: Mysql,
    /// `--pgsql-*`.
    pub pgsql: Pgsql,
}

/// `--mysql-*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mysql {
    /// Several take turns; never empty.
    pub hosts: Vec<String>,
    /// Several take turns at each host; never empty.
    pub ports: Vec<u16>,
    /// Where there is one, hosts and ports do not count.
    pub sockets: Vec<String>,
    /// The user.
    pub user: String,
    /// Its password.
    pub password: Secret,
    /// The database.
    pub database: String,
    /// `--mysql-ssl`: up to 1.0 `on` or `off`, then a mode of the mysql client, in lower case.
    pub ssl: String,
    /// `--mysql-ssl-cipher`, where given.
    pub ssl_cipher: Option<String>,
    /// `--mysql-ssl-key`.
    pub ssl_key: Option<String>,
    /// `--mysql-ssl-ca`.
    pub ssl_ca: Option<String>,
    /// `--mysql-ssl-cert`.
    pub ssl_cert: Option<String>,
    /// `--mysql-compression`.
    pub compression: bool,
    /// `--mysql-ignore-errors`.
    pub ignored: Ignored,
    /// `--mysql-dry-run`.
    pub dry_run: bool,
}

/// `--pgsql-*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pgsql {
    /// As libpq takes it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The user.
    pub user: String,
    /// Its password.
    pub password: Secret,
    /// The database.
    pub database: String,
    /// `--pgsql-sslmode`; none up to 1.0, which leaves it to libpq.
    pub sslmode: Option<String>,
}
