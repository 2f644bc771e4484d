//! PostgreSQL, protocol version 3.0.
//!
//! In: bytes of a server, statements. Out: replies, bytes for a server. Must never: do I/O.

mod auth;
pub mod codec;
pub mod connector;
mod error;
pub mod handshake;
pub mod reply;
mod scram;
pub mod session;

pub use crate::log_in::TlsUse;
pub use crate::{ConnectError, ServerError};
pub use auth::{AuthMethods, stored_password};
pub use connector::{Connector, Progress};
pub use handshake::{Handshake, Step};
pub use session::{CancelKey, ChannelBinding, Login, Parameters, Session};
