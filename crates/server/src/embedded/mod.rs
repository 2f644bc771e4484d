//! Embedded throw-away servers, for the demo and for first steps; the parts of it with which tests start others.
//!
//! In: PostgreSQL programs found on this machine, or downloaded with the user's consent. Out: a
//! running [`EmbeddedPostgres`] with a private data directory that is removed at the end. Must never: touch a
//! server or a directory that Prony did not create; run a server as root; leave a server behind; print.
//!
//! ```no_run
//! use prony_server::embedded::{self, EmbeddedOptions, EmbeddedPostgres};
//! let installation = embedded::find()?;
//! let server = EmbeddedPostgres::start(&installation, &EmbeddedOptions::default())?;
//! println!("{}", server.url()); // postgresql://postgres@/postgres?host=...&port=...
//! # Ok::<(), embedded::Error>(())
//! ```

mod cache;
mod conf;
mod directory;
mod download;
mod error;
mod find;
mod launch;
mod privileges;
pub mod process;
mod server;
mod unpack;

#[cfg(test)]
mod tests;

pub use cache::cache_dir;
pub use conf::EmbeddedOptions;
pub use directory::{Directory, random_hex};
pub use download::{DownloadProgress, Package, download};
pub use error::Error;
pub use find::{Installation, InstallationSource, Version, find, find_all};
pub use launch::free_port;
pub use privileges::{ServerUser, server_user};
pub use server::EmbeddedPostgres;
