//! Sessions that a server logged, recorded in a compact file and replayed.
//!
//! `log` reads the logs of the engines, `recorder` collects their statements by session, `file` is the compact file
//! with its `transactions`, and `program` replays it.

pub mod file;
pub mod log;
pub mod recorder;

mod effect;
mod encoding;
mod program;
mod raw_bytes;
mod statements;
mod times;
mod timetable;
mod transactions;
mod workload;

#[cfg(test)]
mod tests;

pub use file::{SessionRecording, SessionRecordingError};
pub use workload::{REPLAY, ReplayWorkload, load_of};
