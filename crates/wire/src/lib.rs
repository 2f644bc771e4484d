//! The bytes of database protocols.
//!
//! In: bytes of a server, values of a statement. Out: events and replies, bytes for a server.
//! Must never: open a socket or read a clock. One folder a protocol.

pub mod channel;
mod connect_error;
pub mod exchange;
pub mod log_in;
pub mod mysql;
pub mod postgres;
mod row;
pub mod secret;
mod server_error;
pub mod statement;
pub mod violation;

pub use channel::Channel;
pub use connect_error::ConnectError;
pub use exchange::{Block, Exchange, Fed};
pub use log_in::{Agreed, LogIn, LoggedIn, SessionKind};
pub use row::Row;
pub use secret::Secret;
pub use server_error::ServerError;
pub use statement::{Effect, QueryMode, Statement, Statements, Value};
pub use violation::Violation;
