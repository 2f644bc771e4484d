//! The seam between a virtual user and the loop.
//!
//! In: what a user's code asks of its [`Db`]. Out: a small record a connection that the worker
//! reads. Must never: know a workload, or a socket.

pub mod budget;
pub mod conn;
pub mod db;
pub mod desk;
pub mod error;
pub mod program;

pub use budget::Budget;
pub use conn::{Ask, Conn};
pub use db::{Db, Rows};
pub use desk::{Desk, Rules};
pub use error::DbError;
pub use program::{Ended, Limit, Program, Share, User, UserId};
pub use prony_measure::{ErrorClass, Kind, Outcome, Parts, Queries, Query, Sample};
