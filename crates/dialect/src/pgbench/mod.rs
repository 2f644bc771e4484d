//! The pgbench dialect, for the majors 13 to 19.
//!
//! In: arguments and a [`Level`]; plain figures. Out: an [`Invocation`]; the text of reports, progress
//! lines, logs and of `-i`. Must never: differ between levels in anything but what pgbench itself
//! changed. What changed in which major is decided in one place a text, by [`Level::at_least`].
//!
//! pgbench's own words are its interface: scripts and parsers match them. They are facts here; the
//! code around them is Prony's.

mod args;
mod before;
mod builtin;
mod check;
mod getopt;
mod help;
mod host;
mod init;
mod level;
mod load;
mod log;
mod logger;
mod moments;
pub(crate) mod number;
mod options;
mod plan;
mod progress;
mod reading;
mod report;
mod result;
mod script_report;
mod settings;
mod table;
mod voice;

pub use args::read;
pub use before::{
    PARTITIONS_SQL, SCALE_SQL, TableFacts, count_failed, no_accounts, scale_ignored, vacuum,
};
pub use builtin::{list_text, show_text};
pub use host::{Host, Refused};
pub use init::{Freeze, ORDINARY, RELKIND_SQL, Work, copy_sql, step};
pub use level::{Level, NoLevel};
pub use load::{LoadProgress, done_line, step_name};
pub use log::{AggregateLine, LogFormat, Outcome, TransactionLine, log_path};
pub use logger::Logger;
pub use moments::Moments;
pub use options::{
    Connection, InitOptions, Invocation, Limit, Log, PartitionMethod, Protocol, RunOptions,
    ScriptChoice, ScriptSource,
};
pub use plan::{drive_plan, manner};
pub use progress::{At, Progress, progress_line};
pub use reading::read_output;
pub use report::{Counts, RunReport, banner, report};
pub use result::{Measured, progress, run_report};
pub use script_report::{CommandReport, ScriptReport};
pub use settings::{BadSetting, Settings, read_percentiles};
pub use voice::Voice;
