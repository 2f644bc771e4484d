//! The protocol of PostgreSQL, version 3.0.
//!
//! In: bytes of a server, statements. Out: replies, bytes for a server. Must never: do I/O.

mod auth;
pub mod codec;
pub mod connector;
pub(crate) mod error;
pub mod handshake;
pub mod login;
pub mod reply;
mod require_auth;
pub mod row;
mod scram;

pub use crate::login::TlsUse;
pub use crate::{CancelKey, ConnectError, Parameters, ServerError, Session};
pub use auth::stored_password;
pub use connector::Connector;
pub use error::parse_error;
pub use handshake::{Handshake, HandshakeStep};
pub use login::{ChannelBinding, Login};
pub use require_auth::{AuthMethod, RequireAuth};
