//! The sysbench dialect, after 1.0.20, and 1.1 where asked for.
//!
//! In: arguments and a [`Compat`]; plain figures. Out: an [`Invocation`], what it means to the core;
//! the text of headers, progress, reports and messages. Must never: connect, measure, read a clock or
//! print; show a password.
//!
//! sysbench's words are its interface: scripts and parsers match them. They are facts here; the code
//! around them is Prony's. Where Prony differs on purpose: numbers below 0 and a percentile that is no
//! number are refused instead of running into nonsense; a test without a command says which there are;
//! tests that measure no database are not run.

mod advice;
mod args;
mod bundled;
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
mod plan;
mod printed;
mod progress;
mod reading;
mod report;
mod settings;
mod spec;

pub use advice::advice;
pub use args::{Host, read};
pub use bundled::{BUNDLED, Bundled, Command, Extra, OTHERS, Value};
pub use compat::{BadCompat, COMPAT_VARIABLE, Compat};
pub use connect::{Endpoint, driver, endpoints, ps_mode};
pub use header::{THREADS_STARTED, WORKERS, command_header, run_header};
pub use help::help;
pub use histogram::{BUCKETS, Histogram, bucket, bucket_value_ms};
pub use messages::*;
pub use options::{
    Database, Given, Invocation, Mysql, Native, Pgsql, Random, Script, ScriptSource, Settings,
};
pub use plan::{drive_plan, load_jobs, unsupported, unsupported_of_driver, workload_plan};
pub use printed::{Level, Printed, Refused, debug, fatal, warning};
pub use progress::{Counters, Progress, Queue, progress};
pub use prony_workload::sysbench::{Driver, Ignored};
pub use reading::read_output;
pub use report::{Fairness, Latency, Report, checkpoint, report};
pub use spec::{Sort, Spec, find as find_option, key};
