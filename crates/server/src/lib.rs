//! Where the database is, how to reach it, and what it says of itself.
//!
//! In: a connection URL and the customary environment. Out: a [`Target`]; a blocking control
//! connection; a throw-away server of our own. Must never: drive load.

pub mod control;
pub mod target;

pub use control::{Control, CopyIn};
pub use target::{Address, ChannelBinding, Endpoint, SessionAttrs, SslMode, Target, Tls};
