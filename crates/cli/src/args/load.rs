//! Arguments of `load`, `check` and `clean`. The flags of a load become a plan input.

use super::plan_flags::{LoadFlags, PlanFlags, ServerFlags};
use super::{CachedArgs, TimeoutArgs};
use clap::Args;
use prony_plan::{PlanInput, value_from_flag};
use prony_workload::LoadRequest;

/// Arguments of `prony load`.
#[derive(Args, Debug)]
#[command(mut_arg("scale", |scale| scale.help_heading("Data").conflicts_with("cached")))]
#[command(mut_arg("option", |option| option.help_heading("Data")))]
#[command(after_help = "\
Replaces existing tables of the workload. With one job on PostgreSQL the load is one transaction: if
it fails or is interrupted (Ctrl-C), the old tables remain. Otherwise a failed load reports which
tables it leaves behind; start it again, or remove them with `prony clean`. An interrupted load of
tpcc resumes with the missing warehouses, and one of oltp_* with the missing tables.

Before it begins, a load says how many rows and bytes it writes and how long that may take. It is
refused if the data, with the server's log and sort files, may not fit into the free space of a
server on this machine. Above 100 GB or a day, it asks. --yes loads anyway.

Examples:
  prony load tpcb --url postgres://bench@db1/bench --scale 100
  prony load tpcc --scale 100 --jobs 4         100 warehouses
  prony load tpcc --scale 800 --jobs 8 --profile hammerdb --partitions 8
  prony load oltp_read_write --scale 10 -o table_size=25000 --jobs 2
  prony load oltp_read_write --url mysql://bench@db2/bench --scale 10
  prony load tpcb --cached 30% --jobs 8        30 % of the data fits into the server's memory
  prony load tpcc --scale 10000 --jobs 64 --agent 'ssh vm1' --agent 'ssh vm2'
  prony load tpcb --scale 1000 --jobs 8        server from the environment, eight connections")]
pub struct LoadArgs {
    /// Name of the workload; `prony workloads` lists them
    #[arg(value_name = "WORKLOAD")]
    pub workload: String,

    #[command(flatten)]
    pub flags: PlanFlags<LoadFlags>,

    #[command(flatten)]
    pub timeout: TimeoutArgs,

    #[command(flatten)]
    pub cached: CachedArgs,

    /// Connections that load at the same time, of all machines together
    #[arg(long, value_name = "N", default_value_t = LoadRequest::DEFAULT_JOBS, help_heading = "Data",
          value_parser = parse_jobs)]
    pub jobs: u32,

    /// Seed of random values in the data
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Data")]
    pub seed: u64,

    /// Load without a question, although it is above 100 GB, or takes longer than a day, or does not seem to fit
    #[arg(long, short = 'y', help_heading = "Data")]
    pub yes: bool,
}

/// Most connections that load at the same time.
const MAX_JOBS: u32 = 256;

/// Parses a number of connections that load at the same time.
pub(super) fn parse_jobs(text: &str) -> Result<u32, String> {
    let jobs = text.parse().ok();
    jobs.filter(|jobs| (1..=MAX_JOBS).contains(jobs))
        .ok_or_else(|| format!("give a number of connections from 1 to {MAX_JOBS}"))
}

impl LoadArgs {
    /// The plan input from the flags.
    pub fn input(&self) -> PlanInput {
        PlanInput {
            workload: value_from_flag("WORKLOAD", Some(self.workload.clone())),
            ..self.flags.input.clone()
        }
    }
}

/// Arguments of `prony check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    #[command(flatten)]
    pub tables: TablesArgs,

    /// Workload `tpcc`: before the check, set d_next_o_id to the next free number in districts where that number is
    /// already used, as HammerDB before 4.11 leaves it
    #[arg(long, help_heading = "Data")]
    pub repair_sequences: bool,

    /// With `ledger` in place of the workload: the run whose commits are looked for once more, as after a server that was
    /// down came back (its id, or last, or a label) [default: last]
    #[arg(long, value_name = "RUN", help_heading = "Data")]
    pub run: Option<String>,
}

/// Arguments that `prony check` and `prony clean` share.
#[derive(Args, Debug)]
pub struct TablesArgs {
    /// Name of the workload; `prony workloads` lists them
    #[arg(value_name = "WORKLOAD")]
    pub workload: String,

    #[command(flatten)]
    pub flags: PlanFlags<ServerFlags>,

    #[command(flatten)]
    pub timeout: TimeoutArgs,
}
