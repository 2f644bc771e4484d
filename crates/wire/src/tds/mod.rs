//! TDS, the protocol of SQL Server: versions 7.2 to 7.4, and 8.0.
//!
//! In: bytes of a server, statements. Out: replies, bytes for a server. Must never: do I/O.

#![allow(dead_code)]

mod connector;
pub(crate) mod error;
mod login7;
mod packet;
mod prelogin;
pub mod session;
mod token;
mod utf16;

pub use connector::Connector;
pub use session::{Authentication, Login, Route};
