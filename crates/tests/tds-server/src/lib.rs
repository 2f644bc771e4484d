//! For tests: a server that speaks SQL Server's protocol, TDS 7.4 and 8.0.
//!
//! In: bytes of a client; replies to statements, from a [`Handler`]. Out: bytes for the client, and a
//! record of what the client sent. Written to the specification MS-TDS, without code of Prony's client, so
//! that both do not share a misunderstanding. Panics when a client violates the protocol, so that a test
//! fails. Implements logins, encryption, routing, packet sizes, transactions, prepared statements,
//! attention and bulk load, but no SQL. Must only be a dev-dependency.

mod bulk;
mod config;
mod connection;
mod datum;
mod listen;
mod login;
mod packet;
mod reply;
mod request;
mod syntax;
mod tls;
mod types;

pub use bulk::BulkRows;
pub use config::{Config, Encryption, Handler, Outcome, Received};
pub use connection::Connection;
pub use datum::Datum;
pub use listen::Listener;
pub use login::LoginRecord;
pub use packet::{encode_message, take_messages};
pub use reply::{Column, ReplyWriter};
pub use request::{Parameter, Procedure, Request, Rpc};
pub use syntax::syntax_error;
pub use tls::{TestCertificate, client_config};
pub use types::Type;
