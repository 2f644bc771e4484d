//! Arguments of `init`.

use super::TimeoutArgs;
use super::plan_flags::{PlanFlags, ServerFlags};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `prony init`.
#[derive(Args, Debug)]
#[command(after_help = "\
The plan says in comments what was found on the server (product and version, the size of its data
against its memory, how many clients its limits allow), why each value was chosen, and which
commands run it. Nothing is changed on the server, and no file is replaced. A password is not
written: keep it where the server's usual clients find it, or give --url again.

Examples:
  prony init --url postgres://bench@db1/bench --goal capacity
  prony init --url mysql://bench@db2/bench --goal own --out app.toml
  prony find capacity.toml")]
pub struct InitArgs {
    #[command(flatten)]
    pub flags: PlanFlags<ServerFlags>,

    #[command(flatten)]
    pub timeout: TimeoutArgs,

    /// What the plan is for
    #[arg(long, value_enum, value_name = "GOAL")]
    pub goal: Goal,

    /// The plan to write [default: GOAL.toml]
    #[arg(long, short = 'o', value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// What a plan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Goal {
    /// Is one setting, version or server faster than another?
    Compare,
    /// How much can the server take?
    Capacity,
    /// Does a build meet its limits, in CI?
    Gate,
    /// What does the throughput cost?
    Price,
    /// How long can nobody commit when the server fails over, and is anything lost?
    Failover,
    /// How fast are the application's own statements?
    Own,
}

impl Goal {
    /// The name, as on the command line.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
