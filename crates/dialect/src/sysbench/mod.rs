//! The sysbench dialect: 1.0.20, or 1.1 if selected.
//!
//! In: arguments and a [`Compat`]; plain figures. Out: an [`Invocation`] and its plans; the texts of headers,
//! progress, reports and messages. Must never: connect, measure, read a clock or print; print a password.
//!
//! Scripts and parsers match sysbench's texts, so these texts are its interface. The code around them is
//! Prony's. Deliberate differences: negative numbers and a percentile that is not a number are errors, while
//! sysbench misbehaves; a test without a command lists the commands; tests that do not measure a database do
//! not run.

mod advice;
mod args;
mod bundled;
mod commands;
mod compat;
mod config;
mod connect;
mod header;
mod help;
mod histogram;
mod messages;
pub mod mix;
mod number;
mod options;
mod output;
mod plan;
mod progress;
mod reading;
mod report;
mod settings;
mod spec;

pub use advice::advice;
pub use args::{Host, parse_args};
pub use bundled::{BUNDLED, Bundled, Command, NON_DATABASE_TESTS};
pub use commands::SysbenchCommands;
pub use compat::{COMPAT_VARIABLE, Compat, UnknownCompat};
pub use connect::{Endpoint, connect_failure, driver, endpoints, lost_at_login, ps_mode};
pub use header::{THREADS_STARTED, WORKERS, command_header, run_header, warming_up};
pub use help::help;
pub use histogram::{BUCKETS, Histogram, bucket, bucket_value_ms};
pub use messages::*;
pub use options::{
    Database, GeneralOptions, Invocation, Mysql, NativeCommand, Pgsql, RandomOptions, RawOption,
    ScriptCommand, ScriptSource,
};
pub use output::{LogLevel, Output, UsageError, debug, fatal, warning};
pub use plan::{drive_plan, load_jobs, unsupported, unsupported_driver_option, workload_plan};
pub use progress::{Counters, Progress, QueueState, progress};
pub use prony_workload::sysbench::{Driver, IgnoredErrors};
pub use reading::read_output;
pub use report::{Fairness, Latency, Report, checkpoint, checkpoint_header, report};
pub use spec::{OptionSpec, ValueType, find as find_option, key};
