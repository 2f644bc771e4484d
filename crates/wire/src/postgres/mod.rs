//! PostgreSQL, protocol version 3.0.
//!
//! In: bytes of a server, statements. Out: replies, bytes for a server. Must never: do I/O.

mod auth;
pub mod codec;
pub mod connector;
pub mod error;
pub mod handshake;
pub mod reply;
mod scram;
pub mod session;
pub mod violation;

pub use auth::AuthMethods;
pub use connector::{Connector, Progress};
pub use error::{ConnectError, ServerError};
pub use handshake::{Handshake, Step};
pub use session::{CancelKey, ChannelBinding, Login, Parameters, Session, TlsUse};
