//! SQL Server's protocol against a server written to its specification (`prony-tds-server`), with the
//! server's bytes split anywhere, and against servers that break it.

#[path = "../common/mod.rs"]
mod common;
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
