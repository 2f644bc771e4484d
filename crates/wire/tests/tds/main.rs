//! Tests of SQL Server's protocol with a server that is written after the specification (`prony-tds-server`),
//! whose bytes are split anywhere, and with servers that violate the protocol.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/exchanges.rs"]
mod exchanges;
mod support;

mod anything;
mod bulk;
mod login;
mod oracle;
mod parameters;
mod replies;
mod requests;
mod transactions;
mod types;
