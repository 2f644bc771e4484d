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
mod mix;
mod number;
mod options;
mod output;
mod plan;
mod progress;
mod reading;
mod report;
mod settings;
mod spec;

pub use advice::{advice, advice_of_test};
pub use args::{Host, parse_args};
pub use bundled::{BUNDLED_TESTS, BundledTest, Command, NON_DATABASE_TESTS};
pub use commands::SysbenchCommands;
pub use compat::{COMPAT_VARIABLE, Compat};
pub use connect::{
    Endpoint, describe_connect_failure, endpoints, login_failure_lines, parse_driver, parse_ps_mode,
};
pub use header::{INITIALIZING_WORKERS, THREADS_STARTED, command_header, run_header, warming_up};
pub use help::help;
pub use histogram::{Histogram, bucket_value_ms};
pub use messages::*;
pub use options::{
    DatabaseOptions, GeneralOptions, Invocation, MysqlOptions, NativeCommand, PgsqlOptions,
    RandomOptions, RawOption, ScriptCommand, ScriptSource,
};
pub use output::{LogLevel, Output, UsageError, debug_line, fatal_line, warning_line};
pub use plan::{ProgramCost, drive_plan, unsupported_driver_option, workload_plan};
pub use progress::{Counters, Progress, QueueState, progress_text};
pub use prony_workload::sysbench::{Driver, IgnoredErrors};
pub use reading::read_output;
pub use report::{Fairness, Latency, Report, checkpoint_header, checkpoint_text, report_text};
pub use spec::{OptionSpec, ValueType, find_general_option, option_key};
