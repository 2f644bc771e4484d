//! For tests: a server that speaks SQL Server's protocol, TDS 7.4 and 8.0.
//!
//! In: bytes of a client; what a statement answers, from a [`Handler`]. Out: bytes for the client, and what
//! it sent. Written to MS-TDS and not to Prony's client: it shares no code with it, and panics when a client
//! breaks the protocol, so that a test fails. It knows logins, encryption, routing, packet sizes,
//! transactions, prepared statements, attention and bulk load, but no SQL. Must only be a dev-dependency.

mod bulk;
mod config;
mod connection;
mod datum;
mod listen;
mod login;
mod packet;
mod reply;
mod request;
mod tls;
mod types;

pub use bulk::BulkRows;
pub use config::{Config, Encryption, Handler, Outcome, Received};
pub use connection::Connection;
pub use datum::Datum;
pub use listen::Listener;
pub use login::LoginRecord;
pub use packet::{message, messages};
pub use reply::{Column, ReplyWriter};
pub use request::{Parameter, Procedure, Request, Rpc};
pub use tls::{TestCertificate, client_config};
pub use types::Type;
