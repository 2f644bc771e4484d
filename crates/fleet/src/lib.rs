//! Drives the clients of a run from several machines, and merges what they measure.
//!
//! A coordinator ([`Fleet`]) starts one command for each machine, such as `ssh vm1`, and speaks with the agent
//! ([`serve`]) that the command starts there over its standard input and output, in frames; or it calls agents that
//! wait at a NATS server ([`serve_nats`]). Each agent drives a slice of the run's workers; all begin at one moment, and
//! the coordinator merges their intervals as it would merge those of threads. Must never: print, read arguments, average
//! a percentile, or give a result of fewer machines that looks whole.

mod agent;
mod carrier;
mod clock;
mod command;
mod coordinator;
mod driving;
mod error;
mod frame;
mod install;
mod keep;
mod ledger;
mod link;
mod load;
mod loading;
mod login;
mod message;
#[cfg(feature = "nats")]
mod nats;
mod requests;
mod run_part;
mod tool;

pub use agent::{AgentError, AgentSetup, serve, serve_nats};
pub use clock::ClockReading;
pub use command::{AGENTS_VARIABLE, agents_of_environment, is_nats};
pub use coordinator::{AgentInfo, Fleet, FleetCommands};
pub use driving::{AgentResult, FleetJob, FleetResult};
pub use error::{Error, FailureKind};
pub use keep::{KeptEnd, KeptHeader, KeptPiece};
pub use ledger::FleetLedger;
pub use loading::FleetLoad;
pub use message::ServerProbe;
pub use tool::{
    MakeToolProgram, NewSampleListener, ToolCoordinator, ToolListening, ToolLoad, ToolOutput,
    ToolProgram, ToolRequest, ToolServer,
};
