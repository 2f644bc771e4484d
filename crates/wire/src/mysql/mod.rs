//! The protocol of MySQL and MariaDB, version 10.
//!
//! In: bytes of a server, statements. Out: replies, bytes for a server. Must never: do I/O.

mod auth;
mod bind;
pub mod codec;
mod connector;
mod ed25519;
pub(crate) mod error;
pub(crate) mod exchange;
mod flags;
mod greeting;
mod packet;
pub(crate) mod reply;
pub(crate) mod row;
mod rsa;
pub mod session;
pub(crate) mod value;

pub use connector::Connector;
pub use session::{Login, MysqlOptions, SessionUse};
