//! PostgreSQL, protocol version 3.0.

mod auth;
pub mod connector;
pub mod error;
pub mod handshake;
mod scram;
pub mod session;

pub use auth::AuthMethods;
pub use connector::{Connector, Progress};
pub use error::{ConnectError, ServerError};
pub use handshake::{Handshake, Step};
pub use session::{CancelKey, ChannelBinding, Login, Parameters, Session, TlsUse};
