//! Arguments of `prony demo`.

use clap::{Args, ValueEnum};

/// Arguments of `prony demo`.
#[derive(Args, Debug)]
#[command(after_help = "\
Prony looks for PostgreSQL's programs in PATH, with pg_config, and in the distribution's usual
folders. If there are none, --download fetches them (about 15 MB, checksum verified) into the cache
folder.")]
pub struct DemoArgs {
    /// Another demo. failover: a primary and a standby, the primary is killed under load, and each acknowledged commit is
    /// accounted for
    #[arg(value_name = "failover")]
    pub kind: Option<DemoKind>,

    /// With failover: commits do not wait for the standby, which lags by three seconds when the primary is killed
    #[arg(long = "async", requires = "kind")]
    pub asynchronous: bool,

    /// Download PostgreSQL's programs if there are none on this machine
    #[arg(long)]
    pub download: bool,

    /// Length of the measured window [default: 22s; of failover: 30s]
    #[arg(long, short = 'T', value_name = "TIME", value_parser = prony_plan::parse_duration)]
    pub duration: Option<std::time::Duration>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    /// Print all figures, checks and settings of the result, not only the first screen
    #[arg(long, conflicts_with = "json")]
    pub full: bool,

    /// Do not store the run
    #[arg(long)]
    pub no_store: bool,
    /// Refused with a reason: the demo starts a server of its own.
    #[arg(long, hide = true)]
    pub url: Option<String>,
}

/// Demos other than that of a load.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum DemoKind {
    Failover,
}
