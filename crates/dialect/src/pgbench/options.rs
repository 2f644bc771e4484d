//! What a pgbench command line asks for, as plain data.
//!
//! In: nothing. Out: types. Must never: hold a default that pgbench does not have.

use std::path::PathBuf;

use prony_workload::script::Builtin;

/// What one call of pgbench is to do.
#[derive(Debug, PartialEq)]
pub enum Invocation {
    /// Print this on standard output and end with 0.
    Help(String),
    /// Print this on standard output and end with 0.
    Version(String),
    /// Print [`super::list_text`] on standard error and end with 0.
    ListBuiltins,
    /// Print [`super::show_text`] of it on standard error and end with 0.
    ShowScript(&'static Builtin),
    /// `-i`.
    Initialize(InitOptions),
    /// A benchmark.
    Run(RunOptions),
}

/// Where to connect, as far as the command line says; the rest is libpq's environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// `-h`.
    pub host: Option<String>,
    /// `-p`.
    pub port: Option<String>,
    /// `-U`.
    pub user: Option<String>,
    /// Name, conninfo string or URI; the operand, `-d` (17+), PGDATABASE, PGUSER or the user's name.
    pub dbname: String,
}

/// How statements are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Simple query protocol.
    #[default]
    Simple,
    /// Extended, on the unnamed statement.
    Extended,
    /// Extended, on named statements prepared once a connection.
    Prepared,
}

impl Protocol {
    /// The name in `-M` and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Extended => "extended",
            Self::Prepared => "prepared",
        }
    }

    /// The protocol of a name; names are not abbreviated.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Simple, Self::Extended, Self::Prepared]
            .into_iter()
            .find(|protocol| protocol.name() == name)
    }
}

/// When a client or the run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `-t`: transactions each client runs.
    Transactions(u32),
    /// `-T`: seconds.
    Seconds(u32),
}

/// How pgbench_accounts is partitioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionMethod {
    /// Ranges of aid.
    Range,
    /// Hash of aid.
    Hash,
}

impl PartitionMethod {
    /// The word in SQL and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::Hash => "hash",
        }
    }
}

/// Where a script comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptSource {
    /// A builtin.
    Builtin(&'static Builtin),
    /// A file, `-` for standard input; reports name it as it was typed.
    File(PathBuf),
}

/// A script to run; they are numbered in the order given, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptChoice {
    /// The script.
    pub source: ScriptSource,
    /// Its share of the sum of all weights; may be 0.
    pub weight: u32,
}

impl ScriptChoice {
    /// What reports call the script.
    pub fn description(&self) -> String {
        match &self.source {
            ScriptSource::Builtin(builtin) => builtin.description.to_owned(),
            ScriptSource::File(path) => path.to_string_lossy().into_owned(),
        }
    }
}

/// `-l` and what goes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// Beginning of the files' names: `--log-prefix`, or `pgbench_log`.
    pub prefix: String,
    /// `--sampling-rate`: share of transactions that are logged, above 0 up to 1.
    pub sampling_rate: Option<f64>,
    /// `--aggregate-interval`, seconds.
    pub aggregate_interval_s: Option<u32>,
}

/// A benchmark as asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOptions {
    /// Where to connect.
    pub connection: Connection,
    /// `-c`.
    pub clients: u32,
    /// `-j`, not more than clients.
    pub threads: u32,
    /// `-C`: a connection for each transaction.
    pub reconnect: bool,
    /// `-D`, in order; of the same name the last counts.
    pub defines: Vec<(String, String)>,
    /// What to run; never empty.
    pub scripts: Vec<ScriptChoice>,
    /// Whether a builtin is among the scripts: then the scale is counted and partitions are looked up.
    pub uses_builtin: bool,
    /// `-l`.
    pub log: Option<Log>,
    /// `-L`, µs. Finer values than 1 µs are no limit, as in pgbench.
    pub latency_limit_us: Option<u64>,
    /// `-M`.
    pub protocol: Protocol,
    /// `-P`, seconds.
    pub progress_s: Option<u32>,
    /// `--progress-timestamp`.
    pub progress_timestamp: bool,
    /// `-r`.
    pub report_per_command: bool,
    /// `-R`, transactions per second of all clients together.
    pub rate_tps: Option<f64>,
    /// `-t` or `-T`.
    pub limit: Limit,
    /// False with `-n`: pgbench_branches and so on are vacuumed before the run.
    pub vacuum: bool,
    /// `-v`: pgbench_accounts too.
    pub vacuum_accounts: bool,
    /// `--max-tries`; 0 is without limit. Always 1 up to 14.
    pub max_tries: u32,
    /// `--failures-detailed`.
    pub failures_detailed: bool,
    /// `--verbose-errors`.
    pub verbose_errors: bool,
    /// `--exit-on-abort`.
    pub exit_on_abort: bool,
    /// `--continue-on-error`.
    pub continue_on_error: bool,
    /// Seed of all random numbers.
    pub random_seed: u64,
    /// `-s`, if given.
    pub scale: Option<u32>,
    /// `--debug`, and `-d` up to 16.
    pub debug: bool,
    /// `--percentiles`, Prony's own: in per cent, ascending.
    pub percentiles: Vec<f64>,
}

/// An initialization as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitOptions {
    /// Where to connect.
    pub connection: Connection,
    /// Letters of `dtgGvpf` and blanks; `-n` and `--foreign-keys` are already worked in.
    pub steps: String,
    /// `-s`.
    pub scale: u32,
    /// `-F`, per cent.
    pub fillfactor: u32,
    /// `-q`.
    pub quiet: bool,
    /// `--tablespace`.
    pub tablespace: Option<String>,
    /// `--index-tablespace`.
    pub index_tablespace: Option<String>,
    /// `--partitions` and `--partition-method`.
    pub partitions: Option<(PartitionMethod, u32)>,
    /// `--unlogged-tables`.
    pub unlogged: bool,
    /// `--debug`, and `-d` up to 16.
    pub debug: bool,
}
