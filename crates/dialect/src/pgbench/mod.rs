//! The pgbench dialect, for the majors 13 to 19.
//!
//! In: arguments and a [`Level`]; plain figures. Out: an [`Invocation`]; the texts of reports, progress
//! lines, logs and of `-i`. Must never: differ between levels except where pgbench itself changed. The
//! changes of a text are decided in one place, by [`Level::at_least`].
//!
//! Scripts and parsers match pgbench's texts, so these texts are its interface. The code around them is
//! Prony's.

mod args;
mod builtin;
mod check;
mod getopt;
mod help;
mod host;
mod init;
mod level;
mod load;
mod log;
mod messages;
mod moments;
pub(crate) mod number;
mod options;
mod plan;
mod pre_run;
mod progress;
mod reading;
mod report;
mod result;
mod settings;
mod table;

pub use args::parse_args;
pub use builtin::{list_text, show_text};
pub use host::Host;
pub use init::{Freeze, RELKIND_RELATION, RELKIND_SQL, SetupAction, copy_sql, step_actions};
pub use level::Level;
pub use load::{LoadProgress, done_line};
pub use log::{LogFormat, Logger, log_path};
pub use messages::Messages;
pub use moments::Moments;
pub use options::{
    ConnectionOptions, InitOptions, Invocation, Limit, LogOptions, PartitionMethod, RunOptions,
    ScriptChoice, ScriptSource,
};
pub use plan::{drive_plan, script_policy};
pub use pre_run::{
    PARTITIONS_SQL, SCALE_SQL, TableFacts, no_accounts_message, scale_ignored_warning,
    scale_query_message, vacuum_actions,
};
pub use progress::{ProgressTime, progress_line};
pub use reading::read_output;
pub use report::{CommandReport, Counts, RunReport, ScriptReport, banner, report_text};
pub use result::{MeasuredRun, run_counts, run_report};
pub use settings::{EnvSettings, parse_percentiles};
