//! The one loop: users, pace and stop become samples.
//!
//! In: a program of virtual users, where the server is, how to drive. Out: figures, a second at a
//! time and in all. Must never: format, store or print them, or know what the users do.

pub mod affinity;
mod asking;
pub mod clock;
pub mod connections;
mod coordinate;
mod courtesy;
mod ending;
mod engine;
pub mod happening;
pub mod io;
pub mod link;
pub mod pace;
mod prefetch;
mod prologue;
mod queue;
pub mod run;
mod seat;
pub mod stamps;
mod thread;
mod timers;
pub mod worker;

pub use connections::ConnectError;
pub use happening::{Happening, Incident};
pub use run::{Driven, Error, Hear, Job, Observer, Start, Tap, clients_of, run, run_simulated};
