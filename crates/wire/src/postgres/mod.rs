//! PostgreSQL, protocol version 3.0.
//!
//! In: bytes of a server, statements. Out: replies, bytes for a server. Must never: do I/O.

pub mod codec;
pub mod error;
pub mod reply;
