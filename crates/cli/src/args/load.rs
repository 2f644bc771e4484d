//! Arguments of `load`, `check` and `clean`.
//!
//! In: clap. Out: plain values. Must never: decide what a value means.

use super::{CachedArgs, ServerArgs};
use clap::Args;
use prony_workload::LoadRequest;

/// Arguments of `prony load`.
#[derive(Args, Debug)]
#[command(after_help = "\
Tables of this workload that are there already are replaced. With one job on PostgreSQL that is one
transaction: a load that fails or is broken off (Ctrl-C) leaves them as they were. Else it says what
it leaves behind; start it again, or drop the rest with `prony clean`. A broken load of tpcc goes on
with the warehouses that are missing, one of oltp_* with the tables.

Examples:
  prony load tpcb --url postgres://bench@db1/bench --scale 100
  prony load tpcc --scale 100 --jobs 4         a hundred warehouses
  prony load tpcc --scale 800 --jobs 8 --profile hammerdb --partitions 8
  prony load oltp_read_write --scale 10 -o table_size=25000 --jobs 2
  prony load oltp_read_write --url mysql://bench@db2/bench --scale 10
  prony load tpcb --cached 30% --jobs 8        30 % of the data fit into the server's memory
  prony load tpcb --scale 1000 --jobs 8        server from the environment, eight connections")]
pub struct LoadArgs {
    /// Name of the workload; `prony workloads` lists them
    #[arg(value_name = "WORKLOAD")]
    pub workload: String,

    #[command(flatten)]
    pub server: ServerArgs,

    /// Scale factor: for tpcb the number of branches, each with 100,000 accounts; for tpcc the number
    /// of warehouses, each about 110 MB; for oltp_* the number of tables, each with table_size rows
    /// [default: 1]
    #[arg(
        long,
        short = 's',
        value_name = "N",
        help_heading = "Data",
        conflicts_with = "cached",
        allow_negative_numbers = true,
        value_parser = super::positive
    )]
    pub scale: Option<u64>,

    #[command(flatten)]
    pub cached: CachedArgs,

    /// An option of the workload, such as table_size=25000; those of oltp_* are sysbench's
    /// [repeatable]
    #[arg(long = "option", short = 'o', value_name = "NAME=VALUE", help_heading = "Data",
          value_parser = super::option)]
    pub options: Vec<super::WorkloadOption>,

    /// Connections that load at the same time
    #[arg(long, short = 'j', value_name = "N", default_value_t = LoadRequest::DEFAULT_JOBS, help_heading = "Data",
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: u32,

    /// Workload `tpcc`: the profile that the rows are for, standard or hammerdb (hammerdb-4.6): of
    /// HammerDB's customers half have bad credit, of the specification's a tenth [default: standard]
    #[arg(long, value_name = "PROFILE", help_heading = "Data")]
    pub profile: Option<String>,

    /// Workload `tpcc`: hash partitions of order_line by its warehouse; 0 is a plain table. HammerDB's
    /// pg_partition makes one for each 100 warehouses [default: 0]
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub partitions: Option<i64>,

    /// Seed of the data, where it has random values
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Data")]
    pub seed: u64,
}

/// Arguments of `prony check` and `prony clean`.
#[derive(Args, Debug)]
pub struct TablesArgs {
    /// Name of the workload; `prony workloads` lists them
    #[arg(value_name = "WORKLOAD")]
    pub workload: String,

    #[command(flatten)]
    pub server: ServerArgs,
}
