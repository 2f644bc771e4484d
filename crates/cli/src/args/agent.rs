//! Arguments of `prony agent` and `prony fleet`.

use super::plan_flags::{FleetFlags, PlanFlags};

/// Arguments of `prony agent`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A command of `--agent` starts `prony agent --stdio` by itself. Over NATS, start agents first, for example by
a service or as pods; they wait, drive one load after the other, and are named by `--agent` as they are here:

  vm1$ prony agent --nats nats://bus:4222/vm1
  laptop$ prony run tpcb --url ... --agent nats://bus:4222/vm1

The log-in at NATS is that of the nats command: NATS_USER and NATS_PASSWORD, NATS_TOKEN, NATS_NKEY, NATS_CREDS,
NATS_CA, NATS_CERT and NATS_KEY. The password of the database is that of the agent's own machine.")]
pub struct AgentArgs {
    /// Speak with the coordinator over standard input and output
    #[arg(long, required_unless_present = "nats", conflicts_with = "nats")]
    pub stdio: bool,

    /// Wait for coordinators at this NATS server, under this name; without one, that of the machine
    #[arg(long, value_name = "nats://HOST:PORT/NAME")]
    pub nats: Option<String>,
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
