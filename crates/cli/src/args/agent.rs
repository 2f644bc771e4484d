//! Arguments of `prony agent` and `prony fleet`.

use super::plan_flags::{FleetFlags, PlanFlags};

/// Arguments of `prony agent`.
#[derive(Debug, clap::Args)]
pub struct AgentArgs {
    /// Speak with the coordinator over standard input and output
    #[arg(long, required = true)]
    pub stdio: bool,
}

/// Commands of `prony fleet`.
#[derive(Debug, clap::Subcommand)]
pub enum FleetCommand {
    /// Reach each machine, and show its build, CPUs, clock and way to the server
    Check(FleetCheckArgs),
}

/// Arguments of `prony fleet check`.
#[derive(Debug, clap::Args)]
pub struct FleetCheckArgs {
    #[command(flatten)]
    pub flags: PlanFlags<FleetFlags>,
}
