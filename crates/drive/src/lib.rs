//! Drives virtual users against a server and records a sample of each of their transactions.
//!
//! In: a program of virtual users, the address of the server, a plan of the load. Out: figures, second by
//! second and in total. Must never: format, store or print them, or depend on what the users do.

pub mod affinity;
mod attempts;
pub mod clock;
mod connection_counts;
mod connections;
mod coordinate;
mod error;
mod hosts;
pub mod io;
mod io_engine;
mod job;
mod kept;
mod link;
mod messages;
mod pace;
mod prefetch;
mod reply_wait;
mod run;
mod run_event;
mod scheduling;
mod slice;
mod stamps;
mod thread;
mod timers;
mod timing;
mod users;
mod worker;

pub use coordinate::drain_report_ns;
pub use error::{ConnectError, Error};
pub use hosts::{HostConnections, HostSecond, HostTotals};
pub use io_engine::EngineKind;
pub use job::{
    DriveJob, DriveResult, LoadStart, Observer, OnConnectRefused, SampleListener, gap_listener,
};
pub use kept::KeptConnections;
pub use run::{ReadySlice, connect, run, run_schedule, run_simulated};
pub use run_event::{RunEvent, RunEventKind};
pub use slice::{RunSlice, clients_of_thread};
