//! Arguments of `serve`.

use clap::Args;
use prony_plan::{ListenAddress, ListenError};

/// Arguments of `prony serve`.
#[derive(Args, Debug)]
#[command(after_help = "\
The pages list the stored runs, experiments, trends and drills, and have the page of prony report
for each run and for the runs that are ticked. A run in progress is shown second by second. The
store is only read. There is no password and no encryption: whoever reaches the address reads all of
it.

Examples:
  prony serve
  prony serve --listen 9000
  ssh -L 8080:127.0.0.1:8080 db1 prony serve   the store of another machine")]
pub struct ServeArgs {
    /// Where to listen: a port of this machine's loopback interface, or an address with a port; 0 is any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = parse_address)]
    pub listen: ListenAddress,
}

fn parse_address(text: &str) -> Result<ListenAddress, String> {
    text.parse().map_err(|error: ListenError| error.to_string())
}
