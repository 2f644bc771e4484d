//! Executes a run: prepare, drive, observe, judge, store.
//!
//! In: a [`RunJob`]: a checked plan, the program of the virtual users, a connected server, and what the document says of
//! them. Out: a [`FinishedRun`], whose document is judged and stored, and calls of a [`RunObserver`] during the run. Must
//! never: print, format for a person, or depend on which command line started the run.
//!
//! - Before the load: `prepare` checks the data and reads the server, `document` begins the Run, `description` and [`host`]
//!   describe the workload and this machine.
//! - The load: `run` calls `prony_drive`, or `prony_fleet` for other machines; `recording` has the document meanwhile.
//! - Beside the load: `observing` reads the server every second, `endpoints` each of several servers, `server_tpm` the
//!   server's own count of transactions; `marks` runs commands. [`signals`], `refused` and `no_server` end a load early.
//! - After the load: `after_load`, `check_after`, `growth` and `ledger` read what became of the server and the data.
//! - Without a load: [`doctor`] reads the facts of this machine and a server, [`scenario_setup`] prepares a server.

mod after_load;
mod check_after;
mod client_timeouts;
mod cpu_frequency;
pub mod description;
pub mod doctor;
mod document;
mod endpoints;
mod error;
mod fleet;
mod growth;
pub mod host;
mod job;
mod ledger;
mod marks;
mod no_server;
mod observing;
mod prepare;
mod recording;
mod refused;
mod run;
pub mod scenario_setup;
mod server_tpm;
pub mod shell;
pub mod signals;
mod staleness;

pub use document::ConnectionInfo;
pub use error::Error;
pub use growth::GrowthBefore;
pub use job::{Interrupt, Purpose, RunJob, RunServer, StorePolicy};
pub use ledger::{Dropping, decide as decide_ledger, function_changed_by_ledger};
pub use observing::{Observation, ServerObserverOptions, WithOrigin, read_others};
pub use prepare::{RunPreparation, prepare};
pub use recording::{Recording, RecordingLock};
pub use refused::Refused;
pub use run::{FinishedRun, RunObserver, RunSecond, run};
pub use signals::{Signals, TerminationSignal};

use std::hash::{BuildHasher, Hasher, RandomState};

/// A random seed for a run without one. It has 32 bits, so that it is short to type and exact in
/// every JSON parser.
pub fn random_seed() -> u64 {
    // std seeds its hashers with random numbers of the system.
    RandomState::new().build_hasher().finish() & 0xffff_ffff
}
