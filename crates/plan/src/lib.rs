//! Plans: the settings of a benchmark run.
//!
//! Turns TOML text, or values from a dialect or the command line, into a checked [`Plan`]; or reports all
//! problems at once, each with its location and a hint. A connection URL is never quoted in a problem, a
//! schema or a `Debug` text.
//!
//! [`PlanInput::from_toml`] reads a file and remembers where each value is; [`PlanInput::overlay`] applies
//! the command line's flags; [`PlanInput::check`] fills in the defaults and checks the values against each
//! other. [`PlanInput::check_experiment`] does the same for each variant. [`settings`] is the table of all
//! keys and flags.

mod check;
mod choice;
mod duration;
pub mod experiment;
mod input;
mod mark;
mod observe;
pub mod plan;
mod problem;
mod random;
mod rate;
mod read;
pub mod scenario;
mod section;
pub mod settings;
pub mod sheet;
mod shell;
pub mod suggest;
mod threads;
mod transaction_files;
mod user_error;
mod write;

pub use check::{
    MAX_CLIENTS, MAX_DURATION, MAX_RATE_TPS, MAX_SCALE, MAX_THREADS, OPEN_LOOP_CLIENTS,
    REPLAY_LEAD, REPLAY_WORKLOAD,
};
pub use choice::Choice;
pub use duration::{DurationError, format_duration, parse_duration};
pub use experiment::{Experiment, ExperimentRun, RunOrder, SweepInput, Variant, VariantInput};
pub use input::{FileInput, InputValue, Located, PlanInput, value_from_flag};
pub use mark::Mark;
pub use observe::{ListenAddress, ListenError, ObservePlan};
pub use plan::{
    Arrival, DrivePlan, IoEngine, Pace, Plan, QueryMode, ReplyWait, ServerPlan, Spread, Stop,
    WorkloadPlan,
};
pub use problem::{InputLocation, MAX_PROBLEMS, Problem, Problems};
pub use random::{SplitMix, splitmix64};
pub use rate::strip_rate_unit;
pub use sheet::{PriceDate, PriceSheet};
pub use shell::shell_word;
pub use threads::{cpu_count, default_threads};
pub use user_error::{ErrorParts, UserError, system_error};
pub use write::{json_schema, to_json, to_toml};
