//! A parsed pgbench command line.

use std::path::PathBuf;

use prony_plan::QueryMode;
use prony_workload::script::Builtin;
use serde::{Deserialize, Serialize};

/// The action that a command line requests.
#[derive(Debug, PartialEq)]
pub enum Invocation {
    /// Print this on standard output and exit with 0.
    Print(String),
    /// Print [`super::list_text`] on standard error and exit with 0.
    ListBuiltins,
    /// Print [`super::show_text`] of this script on standard error and exit with 0.
    ShowScript(&'static Builtin),
    /// `-i`.
    Initialize(InitOptions),
    Run(RunOptions),
}

/// The connection options of the command line; libpq's environment variables supply missing values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionOptions {
    /// `-h`.
    pub host: Option<String>,
    /// `-p`.
    pub port: Option<String>,
    /// `-U`.
    pub user: Option<String>,
    /// Database name, conninfo string or URI: the operand, `-d` (17+), PGDATABASE, PGUSER or the user's name.
    pub dbname: String,
    /// Whether the name was given with `-d`, which means `--debug` up to version 16.
    pub named_by_short_d: bool,
}

/// What ends a client or the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// `-t`: transactions per client.
    Transactions(u32),
    /// `-T`: seconds of the run.
    Seconds(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionMethod {
    /// By ranges of aid.
    Range,
    /// By a hash of aid.
    Hash,
}

impl PartitionMethod {
    /// The keyword in SQL and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::Hash => "hash",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptSource {
    Builtin(&'static Builtin),
    /// A file, or standard input for `-`; reports print the name as typed.
    File(PathBuf),
}

/// A script to run. Scripts are numbered from 0 in the order of the options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptChoice {
    pub source: ScriptSource,
    /// Its weight, relative to the sum of all weights; may be 0.
    pub weight: u32,
}

impl ScriptChoice {
    /// Its name in reports.
    pub fn description(&self) -> String {
        match &self.source {
            ScriptSource::Builtin(builtin) => builtin.description.to_owned(),
            ScriptSource::File(path) => path.to_string_lossy().into_owned(),
        }
    }
}

/// `-l` and its options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogOptions {
    /// Prefix of the files' names: `--log-prefix`, or `pgbench_log`.
    pub prefix: String,
    /// `--sampling-rate`: the share of transactions to log, above 0 and at most 1.
    pub sampling_rate: Option<f64>,
    /// `--aggregate-interval`, seconds.
    pub aggregate_interval_s: Option<u32>,
}

/// The options of a benchmark. Agents of a fleet receive them without the connection, which may contain a password, and
/// without the scripts, of which some are in files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOptions {
    #[serde(skip)]
    pub connection: ConnectionOptions,
    /// `-c`.
    pub clients: u32,
    /// `-j`, at most the number of clients.
    pub threads: u32,
    /// `-C`: connect for each transaction.
    pub reconnect: bool,
    /// `-D`, in order; the last definition of a name applies.
    pub defines: Vec<(String, String)>,
    /// The scripts; never empty.
    #[serde(skip)]
    pub scripts: Vec<ScriptChoice>,
    /// `-l`.
    pub log: Option<LogOptions>,
    /// `-L`, in µs. As in pgbench, a limit below 1 µs is no limit.
    pub latency_limit_us: Option<u64>,
    /// `-M`: the protocol mode.
    pub protocol: QueryMode,
    /// `-P`, seconds.
    pub progress_s: Option<u32>,
    pub progress_timestamp: bool,
    /// `-r`.
    pub report_per_command: bool,
    /// `-R`: transactions per second of all clients together.
    pub rate_tps: Option<f64>,
    /// `-t` or `-T`.
    pub limit: Limit,
    /// Whether to vacuum pgbench_branches and pgbench_tellers, and to empty pgbench_history, before the run;
    /// false with `-n`.
    pub vacuum: bool,
    /// `-v`: vacuum pgbench_accounts too.
    pub vacuum_accounts: bool,
    /// `--max-tries`; 0 means no limit. Always 1 up to level 14, which has no such option.
    pub max_tries: u32,
    pub failures_detailed: bool,
    pub verbose_errors: bool,
    pub exit_on_abort: bool,
    pub continue_on_error: bool,
    pub random_seed: u64,
    /// `-s`, if set.
    pub scale: Option<u32>,
    /// `--debug`, and `-d` up to 16.
    pub debug: bool,
    /// `--percentiles`, an option of Prony: per cent, ascending.
    pub percentiles: Vec<f64>,
}

impl RunOptions {
    /// Whether a builtin script runs. If so, the scale and the partitions are queried.
    pub fn uses_builtin(&self) -> bool {
        let is_builtin = |choice: &ScriptChoice| matches!(choice.source, ScriptSource::Builtin(_));
        self.scripts.iter().any(is_builtin)
    }

    /// Whether transactions that are too late are skipped.
    pub fn can_skip(&self) -> bool {
        self.rate_tps.is_some() && self.latency_limit_us.is_some()
    }
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            connection: ConnectionOptions::default(),
            clients: 1,
            threads: 1,
            reconnect: false,
            defines: Vec::new(),
            scripts: Vec::new(),
            log: None,
            latency_limit_us: None,
            protocol: QueryMode::Simple,
            progress_s: None,
            progress_timestamp: false,
            report_per_command: false,
            rate_tps: None,
            limit: Limit::Transactions(10),
            vacuum: true,
            vacuum_accounts: false,
            max_tries: 1,
            failures_detailed: false,
            verbose_errors: false,
            exit_on_abort: false,
            continue_on_error: false,
            random_seed: 0,
            scale: None,
            debug: false,
            percentiles: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitOptions {
    pub connection: ConnectionOptions,
    /// Letters of `dtgGvpf` and blanks, after `-n` and `--foreign-keys` are applied.
    pub steps: String,
    /// `-s`.
    pub scale: u32,
    /// `-F`, per cent.
    pub fillfactor: u32,
    /// `-q`.
    pub quiet: bool,
    pub tablespace: Option<String>,
    pub index_tablespace: Option<String>,
    /// `--partition-method` and `--partitions`; `None` for a table without partitions.
    pub partitions: Option<(PartitionMethod, u32)>,
    /// `--unlogged-tables`.
    pub unlogged: bool,
}

impl Default for InitOptions {
    fn default() -> InitOptions {
        InitOptions {
            connection: ConnectionOptions::default(),
            steps: "dtgvp".to_owned(),
            scale: 1,
            fillfactor: 100,
            quiet: false,
            tablespace: None,
            index_tablespace: None,
            partitions: None,
            unlogged: false,
        }
    }
}
