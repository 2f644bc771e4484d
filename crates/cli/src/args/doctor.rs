//! Arguments of `doctor`.

use super::TimeoutArgs;
use super::plan_flags::{DoctorFlags, PlanFlags};
use clap::Args;
use prony_plan::{DrivePlan, parse_duration};
use prony_runner::doctor::DoctorLoad;
use std::time::Duration;

/// Arguments of `prony doctor`.
#[derive(Args, Debug)]
#[command(after_help = "\
Each line is ok, caution, bad or unknown, with the reason and the command that mends it. The command
changes nothing itself. Exit code 7 means that something is bad.

Examples:
  prony doctor --clients 256                   this machine
  prony doctor --clients 256 --url postgres://bench@db1/bench
  prony doctor --clients 256 --fix-script > fix.sh
  prony run tpcb --clients 256 --doctor        store the findings with a run")]
pub struct DoctorArgs {
    #[command(flatten)]
    pub flags: PlanFlags<DoctorFlags>,

    #[command(flatten)]
    pub timeout: TimeoutArgs,

    /// How long to watch the machine for CPU time that the hypervisor or other programs take; 0s: not at all
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub watch: Duration,

    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,

    /// Print the commands that mend the findings as a script
    #[arg(long, conflicts_with = "json")]
    pub fix_script: bool,
}

impl DoctorArgs {
    /// The load for which to examine the machine; without flags that of `prony run`.
    pub fn load(&self) -> DoctorLoad {
        let (input, default) = (&self.flags.input, DrivePlan::default());
        let count = |value: Option<u64>, default: u32| {
            value.map_or(default, |value| u32::try_from(value).unwrap_or(u32::MAX))
        };
        DoctorLoad {
            clients: count(input.clients.as_ref().map(|c| c.value), default.clients),
            threads: count(input.threads.as_ref().map(|t| t.value), default.threads),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::args::{Cli, Command};
    use clap::Parser;

    #[test]
    fn the_load_is_that_of_the_flags_or_the_default_of_a_run() {
        let load = |arguments: &[&str]| {
            let line = ["prony", "doctor"].iter().chain(arguments);
            match Cli::try_parse_from(line).unwrap().command {
                Command::Doctor(args) => (args.load().clients, args.load().threads),
                _ => unreachable!(),
            }
        };
        assert_eq!(load(&["--clients", "64", "--threads", "2"]), (64, 2));
        assert_eq!(load(&[]), (8, 1));
    }
}
