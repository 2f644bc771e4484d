//! Arguments of `doctor`.

use super::TimeoutArgs;
use super::plan_flags::{DoctorFlags, PlanFlags};
use clap::Args;
use prony_plan::{PlanInput, Problems, parse_duration, value_from_flag};
use prony_runner::doctor::DoctorLoad;
use std::time::Duration;

/// Arguments of `prony doctor`.
#[derive(Args, Debug)]
#[command(after_help = "\
Without --clients and --threads, the load is that of prony run: 8 clients.
Each line is ok, caution, bad or unknown, with the reason and the command that mends it. The command
changes nothing itself. Exit code 7 means that something is bad; with --fix-script the code is 0.

Examples:
  prony doctor --clients 256                   this machine
  prony doctor --clients 256 --url postgres://bench@db1/bench
  prony doctor --probe-storage --url postgres://bench@db1/bench
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

    /// Probe the server's storage over SQL: commits of single rows to a table that is dropped again, and reads of
    /// the largest table that this user may read
    #[arg(long, requires = "url")]
    pub probe_storage: bool,

    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,

    /// Print the commands that mend the findings as a script
    #[arg(long, conflicts_with = "json")]
    pub fix_script: bool,
}

impl DoctorArgs {
    /// The load for which to examine the machine; without flags that of `prony run`.
    ///
    /// # Errors
    /// `prony run` would refuse the numbers of clients and threads.
    pub fn load(&self) -> Result<DoctorLoad, Problems> {
        // The limits do not depend on the workload, which a plan must have.
        let input = PlanInput {
            clients: self.flags.input.clients.clone(),
            threads: self.flags.input.threads.clone(),
            workload: value_from_flag("tpcb", Some("tpcb".to_owned())),
            ..PlanInput::default()
        };
        let drive = input.check()?.drive;
        Ok(DoctorLoad {
            clients: drive.clients,
            threads: drive.threads,
            has_read_server: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::args::{Cli, Command};
    use clap::Parser;
    use prony_assertions::TextAssertions;
    use prony_plan::{cpu_count, default_threads};

    #[test]
    fn the_load_is_that_of_the_flags_or_the_default_of_a_run() {
        let load = |arguments: &[&str]| -> Result<(u32, u32), String> {
            let line = ["prony", "doctor"].iter().chain(arguments);
            match Cli::try_parse_from(line).unwrap().command {
                Command::Doctor(args) => {
                    let load = args.load().map_err(|problems| problems.to_string())?;
                    Ok((load.clients, load.threads))
                }
                _ => unreachable!(),
            }
        };
        assert_eq!(load(&["--clients", "64", "--threads", "2"]), Ok((64, 2)));
        assert_eq!(load(&[]), Ok((8, default_threads(8, cpu_count()))));
        for (arguments, message) in [
            (
                ["--clients", "0"],
                "--clients: must be from 1 to 1000000, is 0",
            ),
            (
                ["--threads", "0"],
                "--threads: must be from 1 to 1024, is 0",
            ),
            (["--threads", "9"], "9 threads are more than the 8 clients"),
        ] {
            let problems = load(&arguments).unwrap_err();
            problems.assert_contains(message);
        }
    }
}
