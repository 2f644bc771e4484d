//! Arguments of `prony agent` and `prony fleet`.

use super::plan_flags::{CollectFlags, FleetFlags, PlanFlags};
use std::path::PathBuf;

/// Arguments of `prony agent`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A command of `--agent` starts `prony agent --stdio` by itself. Over NATS, start agents first, for
example by a service or as pods; they wait, drive one load after the other, and are named by
`--agent` as they are here:

  vm1$ prony agent --nats nats://bus:4222/vm1
  laptop$ prony run tpcb --url ... --agent nats://bus:4222/vm1

The log-in at NATS is that of the nats command: NATS_USER and NATS_PASSWORD, NATS_TOKEN, NATS_NKEY,
NATS_CREDS, NATS_CA, NATS_CERT and NATS_KEY. The password of the database is that of the agent's own
machine.")]
#[command(group = clap::ArgGroup::new("carrier").required(true))]
pub struct AgentArgs {
    /// Speak with the coordinator over standard input and output
    #[arg(long, group = "carrier")]
    pub stdio: bool,

    /// Wait for coordinators at this NATS server, under this name; without one, that of the machine
    #[arg(long, value_name = "nats://HOST:PORT/NAME", group = "carrier")]
    pub nats: Option<String>,
}

/// Commands of `prony fleet`.
#[derive(Debug, clap::Subcommand)]
pub enum FleetCommand {
    /// Reach each machine, and show its CPUs, its clock, its way to the server, and what `prony doctor` finds there
    Check(FleetCheckArgs),
    /// Fetch what agents measured whose coordinator was lost
    Collect(FleetCollectArgs),
    /// Print a manifest of agents for `kubectl apply -f -`
    Kubernetes(FleetKubernetesArgs),
}

/// Arguments of `prony fleet check`.
#[derive(Debug, clap::Args)]
pub struct FleetCheckArgs {
    #[command(flatten)]
    pub flags: PlanFlags<FleetFlags>,
}

/// Arguments of `prony fleet collect`.
#[derive(Debug, clap::Args)]
pub struct FleetCollectArgs {
    #[command(flatten)]
    pub flags: PlanFlags<CollectFlags>,

    /// The folder for the files; an agent then removes its own
    #[arg(long, short = 'o', value_name = "FOLDER", default_value = ".")]
    pub output: PathBuf,
}

/// Arguments of `prony fleet kubernetes`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
An Indexed Job of pods that wait at a NATS server, on different nodes where possible. Then name its
agents:

  prony fleet kubernetes --agents 8 --image registry/prony --nats nats://nats:4222 | kubectl apply -f -
  prony run tpcb --url ... --agent=nats://nats:4222/prony-{0..7}       bash makes eight flags of it

The secret's keys become variables of the pods: PGPASSWORD, NATS_USER and NATS_PASSWORD. A pod that
has this build can also be named by --agent 'kubectl exec -i POD --', without NATS.")]
pub struct FleetKubernetesArgs {
    /// Number of agents
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub agents: u32,

    /// Image that has this build as /usr/bin/prony, as that of the Containerfile
    #[arg(long, value_name = "IMAGE")]
    pub image: String,

    /// The NATS server as the pods reach it
    #[arg(long, value_name = "nats://HOST:PORT")]
    pub nats: String,

    /// Name of the job, of which those of the agents are made
    #[arg(long, value_name = "NAME", default_value = "prony")]
    pub name: String,

    /// Secret whose keys are variables of the pods
    #[arg(long, value_name = "NAME")]
    pub secret: Option<String>,

    /// CPUs of each pod, requested and at most
    #[arg(long, value_name = "N", default_value = "2")]
    pub cpus: String,

    /// Memory of each pod, requested and at most
    #[arg(long, value_name = "SIZE", default_value = "1Gi")]
    pub memory: String,
}
