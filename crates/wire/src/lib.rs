//! The bytes of database protocols.
//!
//! In: bytes of a server, values of a statement. Out: events and replies, bytes for a server.
//! Must never: open a socket or read a clock. One folder a protocol.

pub mod channel;
pub mod exchange;
pub mod log_in;
pub mod postgres;
pub mod secret;
pub mod statement;

pub use channel::Channel;
pub use exchange::{Block, Exchange, Fed};
pub use log_in::{LogIn, LoggedIn};
pub use postgres::reply::Row;
pub use secret::Secret;
pub use statement::{Effect, QueryMode, Statement, Statements, Value};
