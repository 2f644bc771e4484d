//! Drives virtual users against a server and records a sample of each of their transactions.
//!
//! In: a program of virtual users, the address of the server, a plan of the load. Out: figures, second by
//! second and in total. Must never: format, store or print them, or depend on what the users do.

pub mod affinity;
mod assignment;
mod attempts;
mod clients;
pub mod clock;
mod connection_counts;
pub mod connections;
mod coordinate;
mod ending;
mod error;
pub mod io;
mod io_engine;
pub mod link;
pub mod pace;
mod prefetch;
mod prologue;
mod queue;
mod ready;
mod reply_wait;
mod requests;
pub mod run;
pub mod run_event;
mod scheduling;
mod slice;
pub mod stamps;
mod thread;
mod timers;
mod users;
pub mod worker;

pub use error::{ConnectError, Error};
pub use ready::ReadySlice;
pub use run::{
    DriveJob, DriveResult, LoadStart, Observer, OnConnectRefused, SampleListener,
    clients_of_thread, connect, run, run_simulated,
};
pub use run_event::{RunEvent, RunEventKind};
pub use slice::RunSlice;
