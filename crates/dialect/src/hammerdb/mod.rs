//! The hammerdbcli dialect, after HammerDB 4.6.
//!
//! In: arguments, scripts and stored settings; plain figures. Out: requests to a [`Backend`] and their plans;
//! the texts of commands, builds, runs and time profiles. Must never: connect, measure, read a clock or
//! print; print or store a password.
//!
//! Scripts grep HammerDB's texts, so these texts are its interface. The code is Prony's. Deliberate
//! differences: `print dict` and `diset` hide passwords; the summary of a time profile counts each call once;
//! there is no script for `print script` to print.

mod backend;
mod build_progress;
mod commands;
mod console;
mod counter;
mod dictionary;
pub mod plan;
mod print;
mod profile;
mod reading;
mod request;
mod server_commands;
mod session;
mod set;
mod settings;
pub mod tcl;
pub mod text;
mod time_profile;
mod timeline;

pub use backend::{Backend, VuserOutcome};
pub use build_progress::BuildProgress;
pub use commands::HammerdbCommands;
pub use console::{
    COMPAT_VARIABLE, Console, Invocation, PROFILES, USAGE, banner, parse_args, select_profile,
};
pub use profile::{ProcTiming, TimeProfile, TimingSection, UserTiming};
pub use reading::read_output;
pub use request::{
    BuildRequest, Driver, Login, OutputOptions, RunRequest, SchemaRequest, SqlServerConnection,
    Ssl, TransactionCounter,
};
pub use session::{Session, VERSION};
pub use settings::Settings;
pub use timeline::{Timeline, TimelineEvent};
