//! Where the database is, how to reach it, and what it says of itself.
//!
//! In: a connection URL and the customary environment. Out: a [`Target`]; a blocking control
//! connection; a throw-away server of our own. Must never: drive load.

pub mod control;
pub mod embedded;
pub mod ended;
pub mod error;
mod mysql;
pub mod observe;
pub mod postgres;
pub mod target;
mod url;

pub use control::{Control, CopyIn, Product};
pub use ended::{Ended, ended, ended_per_minute};
pub use error::Error;
pub use mysql::resolve_mysql;
pub use observe::{Facts, observe};
pub use postgres::{Environment, resolve_over};
pub use target::{
    Address, AuthMethod, ChannelBinding, Endpoint, MysqlOptions, Protocol, RequireAuth,
    SessionAttrs, SslMode, Target, TcpOptions, Tls,
};
pub use url::{redact, resolve};
