//! TDS, the protocol of SQL Server: versions 7.2 to 7.4, and 8.0.
//!
//! In: statements, bytes from a server. Out: bytes for the server, replies. Must never: do I/O.

pub mod bulk;
mod calendar;
pub(crate) mod code_page;
mod codec;
mod connector;
mod encode;
pub(crate) mod error;
pub(crate) mod exchange;
mod login7;
mod packet;
mod prelogin;
pub(crate) mod reply;
pub(crate) mod row;
pub mod rpc;
pub mod session;
mod sql_type;
mod token;
mod type_info;
mod utf16;
mod value;

pub(crate) use codec::StatementForm;

pub use bulk::{BulkColumn, BulkError, BulkLoad, BulkOptions};
pub use connector::Connector;
pub use session::{Login, Route};
pub use sql_type::SqlType;
