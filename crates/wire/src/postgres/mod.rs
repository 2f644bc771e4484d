//! PostgreSQL, protocol version 3.0.

mod auth;
pub mod connector;
pub mod error;
pub mod handshake;
mod scram;

pub use auth::AuthMethods;
pub use connector::{Connector, Progress};
pub use error::{ConnectError, ServerError};
pub use handshake::{
    CancelKey, ChannelBinding, Handshake, Login, Parameters, Session, Step, TlsUse,
};
