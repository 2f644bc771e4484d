//! Encodes and decodes database protocols. One folder for each protocol.
//!
//! In: bytes of a server, values of a statement. Out: events and replies, bytes for a server. Must
//! never: open a socket or read a clock.

pub mod channel;
mod connect_error;
mod error_class;
pub mod exchange;
pub mod login;
pub mod mysql;
mod parameter_type;
pub mod postgres;
mod protocol;
mod reader;
mod reply_buffer;
mod row;
pub mod secret;
mod server_error;
pub mod session;
pub mod statement;
pub mod tds;
mod tls_error;
mod value;
pub mod violation;

pub use channel::Channel;
pub use connect_error::ConnectError;
pub use error_class::{Classification, ErrorClass};
pub use exchange::{BlockState, Exchange, FeedStatus};
pub use login::{PendingLogin, SessionFlags};
pub use parameter_type::{ParameterType, ParseParameterTypeError};
pub use protocol::Protocol;
pub use row::WireRow;
pub use secret::Secret;
pub use server_error::{ErrorSummary, ServerError};
pub use session::{CancelKey, Parameters, Session};
pub use statement::{Effect, FirstWord, QueryMode, Statement, StatementIds};
pub use tls_error::describe_tls_error;
pub use value::Value;
pub use violation::Violation;
