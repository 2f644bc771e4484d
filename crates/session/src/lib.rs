//! The seam between a virtual user and the loop.
//!
//! In: what a user's code asks of its [`Db`]. Out: a small record a connection that the worker
//! reads. Must never: know a workload, or a socket.

pub mod program;

pub use program::{Ended, Program, User, UserId};

/// The handle that a virtual user's code awaits.
pub struct Db {}
