//! Arguments of `prony demo`.

use clap::Args;

/// Arguments of `prony demo`.
#[derive(Args, Debug)]
#[command(after_help = "\
Prony looks for PostgreSQL's programs in PATH, with pg_config, and in the distribution's usual
folders. If there are none, --download fetches them (about 15 MB, checksum verified) into the cache
folder.")]
pub struct DemoArgs {
    /// Download PostgreSQL's programs if there are none on this machine
    #[arg(long)]
    pub download: bool,

    /// Length of the measured window
    #[arg(long, short = 'T', value_name = "TIME", default_value = "22s",
          value_parser = prony_plan::parse_duration)]
    pub duration: std::time::Duration,

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
